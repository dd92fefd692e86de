//! Closing a mesh for the inside test: fans over its holes, and the way its triangles face.
//!
//! The winding number of a point is a whole number only if the mesh is closed: if every edge is walked as often one way
//! as the other. Edges out of balance are grouped into connected loops and each loop gets a fan to the mean of its
//! vertices. What results has a winding number at every point, however much it intersects itself.
//!
//! Guarantees: the closed mesh balances at every edge; nothing happens to a mesh that balances already.
//! Departs: the generalised winding number counts an open mesh in fractions and cuts at one half; closing it first
//! gives the same side away from the holes, whole numbers everywhere, and a lid to measure the distance to.

use std::collections::BTreeMap;
use unsnarl_geometry::DVec3;

/// The lids of a mesh's holes.
pub(crate) struct Lids {
    /// The middles of the holes.
    pub(crate) middles: Vec<DVec3>,
    /// Triangles that close the mesh; an index from `positions.len()` on is a middle.
    pub(crate) triangles: Vec<[u32; 3]>,
}

/// The fans that close a mesh.
pub(crate) fn close(positions: &[DVec3], triangles: &[[u32; 3]]) -> Lids {
    let open = open_edges(triangles);
    let mut loops = Loops::default();
    for &(from, to, _) in &open {
        loops.join(from, to);
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let vertices: Vec<u32> = loops.parent.keys().copied().collect();
    for vertex in vertices {
        members.entry(loops.root(vertex)).or_default().push(vertex);
    }
    let mut middle_of: BTreeMap<u32, u32> = BTreeMap::new();
    let mut middles = Vec::new();
    for (root, vertices) in &members {
        middle_of.insert(*root, (positions.len() + middles.len()) as u32);
        let sum: DVec3 = vertices.iter().map(|&v| positions[v as usize]).sum();
        middles.push(sum / vertices.len() as f64);
    }
    let mut lids = Vec::new();
    for (from, to, times) in open {
        let middle = middle_of[&loops.root(from)];
        lids.extend(std::iter::repeat_n([to, from, middle], times));
    }
    Lids { middles, triangles: lids }
}

/// Edges walked more often from the first vertex to the second than back, and by how much.
fn open_edges(triangles: &[[u32; 3]]) -> Vec<(u32, u32, usize)> {
    let mut walks: Vec<(u32, u32, i32)> = triangles
        .iter()
        .flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])])
        .filter(|(from, to)| from != to)
        .map(|(from, to)| if from < to { (from, to, 1) } else { (to, from, -1) })
        .collect();
    walks.sort_unstable();
    walks
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .filter_map(|same| {
            let (low, high, _) = same[0];
            match same.iter().map(|walk| walk.2).sum::<i32>() {
                0 => None,
                more if more > 0 => Some((low, high, more as usize)),
                less => Some((high, low, -less as usize)),
            }
        })
        .collect()
}

#[derive(Default)]
struct Loops {
    parent: BTreeMap<u32, u32>,
}

impl Loops {
    fn root(&mut self, vertex: u32) -> u32 {
        let mut at = vertex;
        loop {
            let up = *self.parent.entry(at).or_insert(at);
            if up == at {
                break;
            }
            at = up;
        }
        self.parent.insert(vertex, at);
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent.insert(a.max(b), a.min(b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_tetrahedron_needs_no_lid() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let lids = close(&positions, &[[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]);
        assert!(lids.triangles.is_empty() && lids.middles.is_empty());
    }

    #[test]
    fn a_tetrahedron_without_one_face_gets_a_fan_of_three_that_balances_every_edge() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let open = [[0, 2, 1], [0, 1, 3], [1, 2, 3]];
        let lids = close(&positions, &open);
        assert_eq!(lids.triangles.len(), 3);
        let closed: Vec<_> = open.into_iter().chain(lids.triangles).collect();
        assert!(open_edges(&closed).is_empty());
        assert!((lids.middles[0] - (DVec3::Y + DVec3::Z) / 3.0).length() < 1e-15);
    }

    #[test]
    fn two_holes_get_two_lids() {
        let positions = [DVec3::ZERO; 6];
        let lids = close(&positions, &[[0, 1, 2], [3, 4, 5]]);
        assert_eq!(lids.middles.len(), 2);
        assert_eq!(lids.triangles.len(), 6);
    }
}
