//! Tetrahedral meshes of a body: lattice, refinement, choice of elements, compression to the surface.
//! (Bridson 2003, chapter 5)

pub mod measure;

use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// Tetrahedra over nodes. Positive orientation: `(b - a) x (c - a) . (d - a) > 0`.
///
/// Unchecked, as files hold it: indices may be out of range and volumes anything until somebody looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// One point per node, metres.
    pub positions: Vec<DVec3>,
    /// Four node indices per tetrahedron.
    pub tets: Vec<[u32; 4]>,
    /// The refinement level of each tetrahedron, 0 the coarsest; empty where it is not known.
    pub levels: Vec<u8>,
}

/// The corners of the face opposite each corner of a positive tetrahedron, counter-clockwise seen from outside.
pub const OUTWARD_FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// The six edges of a tetrahedron by its corners; edge `i` lies opposite edge `5 - i`.
pub const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

impl TetMesh {
    /// The triangles that belong to one tetrahedron only, outward, in the order of the tetrahedra and of
    /// [`OUTWARD_FACES`]. Every index must be that of a position.
    pub fn boundary(&self) -> Vec<[u32; 3]> {
        let mut ranked = self.faces_by_least_node(boundary_of_bucket).concat();
        ranked.par_sort_unstable();
        let corners = |[tet, face]: [u32; 2]| OUTWARD_FACES[face as usize].map(|at| self.tets[tet as usize][at]);
        ranked.into_iter().map(corners).collect()
    }

    /// The corners of a tetrahedron.
    pub fn corners(&self, tet: usize) -> [DVec3; 4] {
        self.tets[tet].map(|node| self.positions[node as usize])
    }

    /// Sorts the faces into buckets by their least node and maps the buckets, in parallel and in order.
    fn faces_by_least_node<T: Send>(&self, map: impl Fn(&mut [SortedFace]) -> T + Sync + Send) -> Vec<T> {
        let mut starts = vec![0_u32; self.positions.len() + 1];
        let least = |tet: &[u32; 4], face: [usize; 3]| face.map(|at| tet[at]).into_iter().fold(u32::MAX, u32::min);
        for tet in &self.tets {
            for face in OUTWARD_FACES {
                starts[least(tet, face) as usize + 1] += 1;
            }
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = starts.clone();
        let mut faces = vec![SortedFace::default(); 4 * self.tets.len()];
        for (number, tet) in self.tets.iter().enumerate() {
            for (place, face) in OUTWARD_FACES.into_iter().enumerate() {
                let mut nodes = face.map(|at| tet[at]);
                nodes.sort_unstable();
                let slot = &mut next[nodes[0] as usize];
                faces[*slot as usize] =
                    SortedFace { rest: [nodes[1], nodes[2]], tet: number as u32, place: place as u32 };
                *slot += 1;
            }
        }
        let mut buckets = Vec::with_capacity(self.positions.len());
        let mut rest = faces.as_mut_slice();
        for node in 0..self.positions.len() {
            let (bucket, others) = rest.split_at_mut((starts[node + 1] - starts[node]) as usize);
            rest = others;
            buckets.push(bucket);
        }
        buckets.into_par_iter().with_min_len(1024).map(map).collect()
    }
}

/// A face of a tetrahedron in the bucket of its least node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SortedFace {
    rest: [u32; 2],
    tet: u32,
    place: u32,
}

/// The faces of a bucket that nobody shares: tetrahedron and place of the face.
fn boundary_of_bucket(bucket: &mut [SortedFace]) -> Vec<[u32; 2]> {
    bucket.sort_unstable();
    let alone = |run: &[SortedFace]| (run.len() == 1).then(|| [run[0].tet, run[0].place]);
    bucket.chunk_by(|a, b| a.rest == b.rest).filter_map(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tets() -> TetMesh {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE];
        TetMesh { positions, tets: vec![[0, 1, 2, 3], [1, 2, 3, 4]], levels: Vec::new() }
    }

    #[test]
    fn every_face_of_one_tetrahedron_points_outward() {
        let mesh = TetMesh { tets: vec![[0, 1, 2, 3]], ..two_tets() };
        let center = DVec3::splat(0.25);
        let boundary = mesh.boundary();
        assert_eq!(boundary.len(), 4);
        for triangle in boundary {
            let [a, b, c] = triangle.map(|node| mesh.positions[node as usize]);
            assert!((b - a).cross(c - a).dot(a - center) > 0.0);
        }
    }

    #[test]
    fn a_shared_face_is_no_boundary_and_the_rest_closes() {
        let mesh = two_tets();
        let boundary = mesh.boundary();
        assert_eq!(boundary.len(), 6);
        assert!(!boundary.iter().any(|triangle| triangle.iter().all(|node| (1..4).contains(node))));
        let edge = |triangle: &[u32; 3], i: usize| (triangle[i], triangle[(i + 1) % 3]);
        let edges: Vec<_> = boundary.iter().flat_map(|triangle| [0, 1, 2].map(|i| edge(triangle, i))).collect();
        assert!(edges.iter().all(|&(a, b)| edges.iter().filter(|&&other| other == (b, a)).count() == 1));
    }

    #[test]
    fn triangles_come_in_the_order_of_the_tetrahedra() {
        let mesh = two_tets();
        assert_eq!(mesh.boundary()[..3], [[0, 3, 2], [0, 1, 3], [0, 2, 1]]);
        assert!(mesh.boundary()[3..].iter().all(|triangle| triangle.contains(&4)));
    }

    #[test]
    fn an_empty_mesh_has_no_boundary() {
        assert!(TetMesh::default().boundary().is_empty());
    }
}
