//! The closest points of two edges.

use super::point_segment;
use crate::math::DVec3;

/// The closest points of two edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestOnEdges {
    /// How far along the first and the second edge the points lie: 0 at the start, 1 at the end.
    pub along: [f64; 2],
    /// From the point of the second edge to the point of the first.
    pub offset: DVec3,
}

impl ClosestOnEdges {
    /// The distance, squared.
    pub fn distance_squared(&self) -> f64 {
        self.offset.length_squared()
    }
}

/// The closest points of two edges.
///
/// Either both points lie inside their edges, where the gap is square to both, or one of them is an end.
pub fn edge_edge(first: [DVec3; 2], second: [DVec3; 2]) -> ClosestOnEdges {
    let (start, end) = (first[0] - second[0], first[1] - second[0]);
    let (u, v) = (first[1] - first[0], second[1] - second[0]);
    let at = |s: f64, t: f64| ClosestOnEdges { along: [s, t], offset: start * (1.0 - s) + end * s - v * t };
    let towards_second = |s: f64| at(s, point_segment(start * (1.0 - s) + end * s, DVec3::ZERO, v));
    let towards_first = |t: f64| at(point_segment(v * t, start, end), t);
    let mut best = towards_second(0.0);
    let mut offer = |candidate: ClosestOnEdges| {
        if candidate.distance_squared() < best.distance_squared() {
            best = candidate;
        }
    };
    offer(towards_second(1.0));
    offer(towards_first(0.0));
    offer(towards_first(1.0));
    let normal = u.cross(v);
    let area_squared = normal.length_squared();
    if area_squared > 0.0 {
        let s = (-normal.dot(start.cross(v)) / area_squared).clamp(0.0, 1.0);
        // One projection each way removes most of the error of nearly parallel edges.
        let inner = towards_second(s);
        offer(inner);
        offer(towards_first(inner.along[1]));
    }
    best
}
