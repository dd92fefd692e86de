//! Corrections carried along with cloth: local axes at every vertex of a frame.
//!
//! The axes of a vertex are its normal, the direction of its first edge along the surface, and their product. An offset
//! keeps its coordinates in them from frame to frame, so it turns as the cloth turns.
//!
//! Guarantees: carrying there and back gives the offset again but for rounding; lengths are kept; a zero offset stays
//! zero. Where a vertex has no axes (no triangles, no area) offsets keep their direction in the world.

use crate::geometry::math::DMat3;
use crate::geometry::{DVec3, Topology, VertexId};
use rayon::prelude::*;

/// Local axes at the vertices of cloth in one frame.
#[derive(Clone, Debug)]
pub struct Axes {
    of_vertex: Vec<Option<DMat3>>,
}

/// Fewer vertices than this are not worth another thread.
const VERTICES_PER_TASK: usize = 1024;

impl Axes {
    /// The axes of all vertices of a mesh at some positions.
    pub fn of(topology: &Topology, positions: &[DVec3]) -> Self {
        let axes = |vertex: usize| axes_at(topology, positions, VertexId::new(vertex));
        let vertices = (0..topology.vertex_count()).into_par_iter().with_min_len(VERTICES_PER_TASK);
        Self { of_vertex: vertices.map(axes).collect() }
    }

    /// An offset of a vertex in this frame, as it is in another.
    pub fn carry(&self, other: &Self, vertex: usize, offset: DVec3) -> DVec3 {
        match (self.of_vertex[vertex], other.of_vertex[vertex]) {
            (Some(from), Some(to)) => to * (from.transpose() * offset),
            _ => offset,
        }
    }
}

fn axes_at(topology: &Topology, positions: &[DVec3], vertex: VertexId) -> Option<DMat3> {
    let at = |vertex: VertexId| positions[vertex.index()];
    let normal: DVec3 = (topology.vertex_triangles(vertex).iter())
        .map(|&triangle| {
            let [a, b, c] = topology.triangle(triangle).map(at);
            (b - a).cross(c - a)
        })
        .fold(DVec3::ZERO, |sum, normal| sum + normal);
    let normal = normal.try_normalize()?;
    let along = at(topology.ring(vertex).next()?) - at(vertex);
    let along = (along - normal * along.dot(normal)).try_normalize()?;
    Some(DMat3::from_cols(along, normal.cross(along), normal))
}
