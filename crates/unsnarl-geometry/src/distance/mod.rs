//! Closest points of simple elements, with weights: point to segment, point to triangle, edge to edge.
//!
//! The elements of proximity (Bridson 2003, 2.4), for any input: parallel edges, needles, triangles that are points.
//!
//! Guarantees: weights lie in [0, 1] and sum to 1, so the answer is always a point of the element; the distance is never
//! smaller than the true one and exceeds it by a few roundings of the elements' size.
//! Does not: choose among several closest points in any particular way.
//! What is proved whatever was rounded is in [`certified`].
//! Departs: no tolerance decides what is parallel or degenerate; every boundary candidate is tried instead.

pub mod certified;
mod edge_edge;
mod point_triangle;
#[cfg(test)]
mod tests;

pub use edge_edge::{ClosestOnEdges, edge_edge};
pub use point_triangle::{ClosestOnTriangle, point_triangle};

use crate::math::DVec3;

/// How far along a segment the point closest to `point` lies: 0 at its start, 1 at its end.
///
/// A segment without length answers 0.
pub fn point_segment(point: DVec3, start: DVec3, end: DVec3) -> f64 {
    let along = end - start;
    let length_squared = along.length_squared();
    if length_squared > 0.0 { ((point - start).dot(along) / length_squared).clamp(0.0, 1.0) } else { 0.0 }
}
