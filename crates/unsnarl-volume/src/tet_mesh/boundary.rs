//! The boundary of a set of tetrahedra and the three conditions on it. (Bridson 2003, 5.4)
//!
//! (A) the boundary is a manifold; (B) no tetrahedron has four boundary nodes; (C) no inner edge joins two boundary
//! nodes. With them no element is trapped when the surface is pressed flat.
//!
//! Guarantees: [`Conditions::of`] looks at nothing but the tetrahedra, whoever made them.

use super::{EDGES, OUTWARD_FACES, TetMesh};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use unsnarl_geometry::predicates::{Sign, orient3d};

/// A face of a tetrahedron in the bucket of its least node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SortedFace {
    rest: [u32; 2],
    tet: u32,
    place: u32,
}

/// The faces that belong to one tetrahedron only, outward, in the order of the tetrahedra and of [`OUTWARD_FACES`].
pub fn boundary_of(node_count: usize, tets: &[[u32; 4]]) -> Vec<[u32; 3]> {
    let mut starts = vec![0_u32; node_count + 1];
    let least = |tet: &[u32; 4], face: [usize; 3]| face.map(|at| tet[at]).into_iter().fold(u32::MAX, u32::min);
    for tet in tets {
        for face in OUTWARD_FACES {
            starts[least(tet, face) as usize + 1] += 1;
        }
    }
    for node in 1..starts.len() {
        starts[node] += starts[node - 1];
    }
    let mut next = starts.clone();
    let mut faces = vec![SortedFace::default(); 4 * tets.len()];
    for (number, tet) in tets.iter().enumerate() {
        for (place, face) in OUTWARD_FACES.into_iter().enumerate() {
            let mut nodes = face.map(|at| tet[at]);
            nodes.sort_unstable();
            let slot = &mut next[nodes[0] as usize];
            faces[*slot as usize] = SortedFace { rest: [nodes[1], nodes[2]], tet: number as u32, place: place as u32 };
            *slot += 1;
        }
    }
    let mut buckets = Vec::with_capacity(node_count);
    let mut rest = faces.as_mut_slice();
    for node in 0..node_count {
        let (bucket, others) = rest.split_at_mut((starts[node + 1] - starts[node]) as usize);
        rest = others;
        buckets.push(bucket);
    }
    let mut ranked: Vec<[u32; 2]> = buckets.into_par_iter().with_min_len(1024).flat_map_iter(lone_faces).collect();
    ranked.par_sort_unstable();
    let corners = |[tet, face]: [u32; 2]| OUTWARD_FACES[face as usize].map(|at| tets[tet as usize][at]);
    ranked.into_iter().map(corners).collect()
}

/// The faces of a bucket that nobody shares: tetrahedron and place of the face.
fn lone_faces(bucket: &mut [SortedFace]) -> Vec<[u32; 2]> {
    bucket.sort_unstable();
    let alone = |run: &[SortedFace]| (run.len() == 1).then(|| [run[0].tet, run[0].place]);
    bucket.chunk_by(|a, b| a.rest == b.rest).filter_map(alone).collect()
}

/// Lists by node, in one array.
#[derive(Clone, Debug, Default)]
pub struct ByNode {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl ByNode {
    /// Which of the simplices name each node, in order.
    pub fn of<const N: usize>(node_count: usize, simplices: &[[u32; N]]) -> Self {
        let mut starts = vec![0_u32; node_count + 1];
        for node in simplices.iter().flatten() {
            starts[*node as usize + 1] += 1;
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = starts.clone();
        let mut items = vec![0; N * simplices.len()];
        for (number, simplex) in simplices.iter().enumerate() {
            for node in simplex {
                items[next[*node as usize] as usize] = number as u32;
                next[*node as usize] += 1;
            }
        }
        Self { starts, items }
    }

    /// The list of a node.
    #[inline]
    pub fn at(&self, node: u32) -> &[u32] {
        &self.items[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// What stands against the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// (A) Boundary nodes whose triangles are not one ring.
    pub pinched_nodes: Vec<u32>,
    /// (B) Tetrahedra with four boundary nodes.
    pub trapped_tets: Vec<u32>,
    /// (C) Inner edges between boundary nodes.
    pub chords: Vec<[u32; 2]>,
    /// Inner triangles with three boundary nodes and no chord: allowed, but counted.
    pub trapped_triangles: usize,
}

impl Conditions {
    /// Whether (A), (B) and (C) hold.
    pub fn hold(&self) -> bool {
        self.pinched_nodes.is_empty() && self.trapped_tets.is_empty() && self.chords.is_empty()
    }

    /// Looks at some tetrahedra and their boundary.
    pub fn of(node_count: usize, tets: &[[u32; 4]], boundary: &[[u32; 3]]) -> Self {
        let triangles = ByNode::of(node_count, boundary);
        let pinched = |node: u32| !triangles.at(node).is_empty() && !is_one_ring(node, triangles.at(node), boundary);
        let pinched_nodes = (0..node_count as u32).into_par_iter().filter(|&node| pinched(node)).collect();
        let on_boundary = |node: u32| !triangles.at(node).is_empty();
        let is_side = |a: u32, b: u32| triangles.at(a).iter().any(|&t| boundary[t as usize].contains(&b));
        let is_chord = |a: u32, b: u32| on_boundary(a) && on_boundary(b) && !is_side(a, b);
        let trapped_tets =
            (0..tets.len() as u32).filter(|&tet| tets[tet as usize].iter().all(|&node| on_boundary(node))).collect();
        let chords_of = |tet: &[u32; 4]| {
            let tet = *tet;
            let ends = EDGES.into_iter().map(move |[i, j]| [tet[i].min(tet[j]), tet[i].max(tet[j])]);
            ends.filter(|&[a, b]| is_chord(a, b)).collect::<Vec<_>>()
        };
        let mut chords: Vec<[u32; 2]> = tets.par_iter().with_min_len(4096).flat_map_iter(chords_of).collect();
        chords.par_sort_unstable();
        chords.dedup();
        let is_face = |nodes: [u32; 3]| {
            triangles.at(nodes[0]).iter().any(|&t| nodes.iter().all(|node| boundary[t as usize].contains(node)))
        };
        let trapped = |tet: &[u32; 4]| {
            let faces = OUTWARD_FACES.map(|face| face.map(|at| tet[at]));
            let inner = |face: &[u32; 3]| face.iter().all(|&node| on_boundary(node)) && !is_face(*face);
            faces.iter().filter(|face| inner(face)).count()
        };
        let trapped_triangles = tets.par_iter().with_min_len(4096).map(trapped).sum::<usize>() / 2;
        Self { pinched_nodes, trapped_tets, chords, trapped_triangles }
    }
}

/// Whether the triangles around a node form one closed fan.
fn is_one_ring(node: u32, around: &[u32], boundary: &[[u32; 3]]) -> bool {
    let side = |triangle: u32| {
        let corners = boundary[triangle as usize];
        let at = corners.iter().position(|&corner| corner == node).unwrap_or(0);
        (corners[(at + 1) % 3], corners[(at + 2) % 3])
    };
    let (first, mut here) = side(around[0]);
    for walked in 1..=around.len() {
        if here == first {
            return walked == around.len();
        }
        let mut next = around.iter().map(|&triangle| side(triangle)).filter(|&(from, _)| from == here);
        match (next.next(), next.next()) {
            (Some((_, to)), None) => here = to,
            _ => return false,
        }
    }
    false
}

/// The Euler characteristic and the number of connected closed surfaces of a boundary.
pub fn surface_numbers(node_count: usize, boundary: &[[u32; 3]]) -> (i64, usize) {
    let mut parent: Vec<u32> = (0..node_count as u32).collect();
    let mut used = vec![false; node_count];
    let mut edges: FxHashSet<[u32; 2]> = FxHashSet::default();
    for triangle in boundary {
        for i in 0..3 {
            let (a, b) = (triangle[i], triangle[(i + 1) % 3]);
            edges.insert([a.min(b), a.max(b)]);
            used[a as usize] = true;
            let (p, q) = (root(&mut parent, a), root(&mut parent, b));
            parent[p.max(q) as usize] = p.min(q);
        }
    }
    let nodes = used.iter().filter(|used| **used).count();
    let components = (0..node_count).filter(|&node| used[node] && parent[node] == node as u32).count();
    (nodes as i64 - edges.len() as i64 + boundary.len() as i64, components)
}

fn root(parent: &mut [u32], node: u32) -> u32 {
    let mut at = node;
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

/// The tetrahedra that are flat or negative by exact predicates.
pub fn inverted_tets(mesh: &TetMesh) -> Vec<u32> {
    let positive = |tet: usize| {
        let [a, b, c, d] = mesh.corners(tet);
        orient3d(b, c, d, a) == Sign::Positive
    };
    (0..mesh.tets.len()).into_par_iter().filter(|&tet| !positive(tet)).map(|tet| tet as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::DVec3;

    /// A node in the middle of an octahedron.
    fn ball() -> Vec<[u32; 4]> {
        let ring = [2, 4, 3, 5];
        (0..4).flat_map(|i| [[0, 1, ring[i], ring[(i + 1) % 4]], [0, 6, ring[(i + 1) % 4], ring[i]]]).collect()
    }

    #[test]
    fn a_ball_around_one_node_meets_all_conditions_and_has_one_sphere() {
        let tets = ball();
        let boundary = boundary_of(7, &tets);
        assert_eq!(boundary.len(), 8);
        assert!(Conditions::of(7, &tets, &boundary).hold());
        assert_eq!(surface_numbers(7, &boundary), (2, 1));
    }

    #[test]
    fn two_balls_that_share_a_node_are_pinched_there() {
        let mut tets = ball();
        tets.extend(ball().into_iter().map(|tet| tet.map(|node| if node == 6 { 6 } else { node + 7 })));
        let boundary = boundary_of(14, &tets);
        assert_eq!(Conditions::of(14, &tets, &boundary).pinched_nodes, [6]);
    }

    #[test]
    fn a_lone_tetrahedron_is_trapped_and_two_around_an_edge_make_a_chord() {
        let boundary = boundary_of(4, &[[0, 1, 2, 3]]);
        assert_eq!(Conditions::of(4, &[[0, 1, 2, 3]], &boundary).trapped_tets, [0]);
        let ring = [2, 4, 3, 5];
        let around: Vec<[u32; 4]> = (0..4).map(|i| [0, 1, ring[i], ring[(i + 1) % 4]]).collect();
        let boundary = boundary_of(6, &around);
        assert_eq!(Conditions::of(6, &around, &boundary).chords, [[0, 1]]);
    }

    #[test]
    fn only_positive_tetrahedra_pass() {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::X + DVec3::Y];
        let tets = vec![[0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 2, 4]];
        assert_eq!(inverted_tets(&TetMesh { positions, tets, levels: Vec::new() }), [1, 2]);
    }
}
