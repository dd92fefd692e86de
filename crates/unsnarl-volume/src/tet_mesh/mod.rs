//! Tetrahedral meshes of a body. (Bridson 2003, chapter 5)
//!
//! The lattice tiles space, is refined near the surface, and a well-connected part of it is chosen; its boundary is
//! then pushed to the surface: [`lattice`], [`red_green`] with [`criteria`], [`envelope`], [`compress`].
//!
//! Guarantees: every tetrahedron of the result is positive by exact predicates and the conditions of [`boundary`] hold,
//! whatever the body; the same bits on any number of threads.
//! Does not: keep sharp edges or gaps thinner than an element.

mod again;
pub mod boundary;
pub mod compress;
pub mod criteria;
pub mod envelope;
pub mod exact_distance;
pub mod fit;
pub mod lattice;
mod make;
pub mod measure;
pub mod quality;
pub mod red_green;

pub use criteria::{Criterion, Sizing};
pub use make::{Body, Settings, Size, Stage, TetError, TetReport, make};

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
        boundary::boundary_of(self.positions.len(), &self.tets)
    }

    /// The corners of a tetrahedron.
    pub fn corners(&self, tet: usize) -> [DVec3; 4] {
        self.tets[tet].map(|node| self.positions[node as usize])
    }
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
