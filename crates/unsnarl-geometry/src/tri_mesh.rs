//! A triangle mesh as files hold it: unchecked.

use crate::aabb::Aabb;
use crate::math::{DVec2, DVec3};

/// Positions and triangles, unchecked: indices may be out of range and coordinates may be anything.
///
/// [`crate::Topology::new`] is the door through which a mesh becomes trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriMesh {
    /// One point per vertex, in metres.
    pub positions: Vec<DVec3>,
    /// Three vertex indices per triangle, counter-clockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
}

/// A second set of vertices for the same triangles: the panels of a garment.
///
/// A world vertex with several uv vertices lies on a seam.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UvMap {
    /// Panel coordinates, one per uv vertex.
    pub coordinates: Vec<DVec2>,
    /// Three uv indices per triangle, in the order of the triangle's corners.
    pub triangles: Vec<[u32; 3]>,
}

impl TriMesh {
    /// The smallest box around all positions.
    pub fn bounds(&self) -> Aabb {
        Aabb::of_points(self.positions.iter().copied())
    }

    /// Adds another mesh after this one; returns the number of vertices and triangles that were there before.
    pub fn append(&mut self, other: &TriMesh) -> (usize, usize) {
        let before = (self.positions.len(), self.triangles.len());
        let offset = before.0 as u32;
        self.positions.extend_from_slice(&other.positions);
        self.triangles.extend(other.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + offset)));
        before
    }
}
