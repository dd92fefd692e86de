//! Continuous collision detection: do two elements meet while their vertices move along straight lines?
//!
//! Seen from one element the other is a flat convex hull of 3 or 4 points (the differences vertex minus corner, or end
//! minus end) that moves; they meet when the hull contains the origin. A direction in which all its points stay
//! positive from one time to a later one proves the time between clear, because the points move linearly. The times at
//! which the four vertices are coplanar are roots of a cubic; its Bernstein form says where none can be.
//! (Bridson 2003, 2.4; the certificates are ours.)
//!
//! Guarantees: no miss, and with separation 0 no false alarm either. [`vertex_triangle`] and [`edge_edge`] answer `None` only if the elements provably stay farther
//! apart than the separation at every time in [0, 1], for the numbers as given and whatever was rounded on the way. A time
//! that is returned has no contact before it.
//! Does not: with a separation, promise that a returned time is a contact; the distance there may exceed the separation
//! by some 1e-14 of the elements' size.
//! Numbers that are not finite are always reported, at time 0.
//! Departs: roots of the cubic are not computed and no tolerance on time or distance is used. Touching that rounding hides
//! is decided in integers.

mod advance;
pub mod candidates;
mod coplanarity;
pub mod element_tree;
pub mod end_boxes;
pub mod exact;
mod hull;
pub mod lean_tree;
mod packs;
#[cfg(test)]
mod tests;

pub use candidates::{ElementPair, Motion};
pub use element_tree::{ElementTree, Ownership};
pub use end_boxes::EndBoxes;
pub use lean_tree::LeanElementTree;

use crate::distance;
use crate::math::DVec3;
use coplanarity::Coplanarity;
use hull::{Parallelogram, Triangle};

/// The first time in [0, 1] at which a moving vertex may be within `separation` of a moving triangle.
///
/// Points: the vertex, then the three corners. `None` is a proof that they stay apart.
pub fn vertex_triangle(start: [DVec3; 4], end: [DVec3; 4], separation: f64) -> Option<f64> {
    vertex_triangle_hinted(start, end, separation, &mut no_hint())
}

fn vertex_triangle_hinted(start: [DVec3; 4], end: [DVec3; 4], separation: f64, hint: &mut DVec3) -> Option<f64> {
    let time = vertex_triangle_filtered(&start, &end, separation, hint)?;
    let decided = separation > 0.0 || !all_finite(&start, &end);
    match time {
        Doubt::Certain(time) => Some(time),
        Doubt::Possible(time) => (decided || exact::vertex_triangle(&start, &end)).then_some(time),
    }
}

/// The first time in [0, 1] at which two moving edges may be within `separation` of each other.
///
/// Points: the ends of the first edge, then the ends of the second. `None` is a proof that they stay apart.
pub fn edge_edge(start: [DVec3; 4], end: [DVec3; 4], separation: f64) -> Option<f64> {
    edge_edge_hinted(start, end, separation, &mut no_hint())
}

fn edge_edge_hinted(start: [DVec3; 4], end: [DVec3; 4], separation: f64, hint: &mut DVec3) -> Option<f64> {
    let time = edge_edge_filtered(&start, &end, separation, hint)?;
    let decided = separation > 0.0 || !all_finite(&start, &end);
    match time {
        Doubt::Certain(time) => Some(time),
        Doubt::Possible(time) => (decided || exact::edge_edge(&start, &end)).then_some(time),
    }
}

fn vertex_triangle_filtered(start: &[DVec3; 4], end: &[DVec3; 4], separation: f64, hint: &mut DVec3) -> Option<Doubt> {
    let difference = |points: &[DVec3; 4]| [points[0] - points[1], points[0] - points[2], points[0] - points[3]];
    let hull = hull::Sweep::<Triangle, 3>::new(difference(start), difference(end), separation);
    advance::first_contact(&hull, hint, || {
        let columns = |points: &[DVec3; 4]| [points[2] - points[1], points[3] - points[1], points[0] - points[1]];
        Coplanarity::new(columns(start), columns(end), separation)
    })
}

fn edge_edge_filtered(start: &[DVec3; 4], end: &[DVec3; 4], separation: f64, hint: &mut DVec3) -> Option<Doubt> {
    let difference = |p: &[DVec3; 4]| [p[0] - p[2], p[1] - p[2], p[0] - p[3], p[1] - p[3]];
    let hull = hull::Sweep::<Parallelogram, 4>::new(difference(start), difference(end), separation);
    advance::first_contact(&hull, hint, || {
        let columns = |p: &[DVec3; 4]| [p[1] - p[0], p[3] - p[2], p[0] - p[2]];
        Coplanarity::new(columns(start), columns(end), separation)
    })
}

/// A direction that proves nothing.
fn no_hint() -> DVec3 {
    DVec3::ZERO
}

/// What the search in floating point knows about the time that it could not prove clear.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubt {
    /// Contact follows at or right after this time.
    Certain(f64),
    /// Contact is possible from this time on.
    Possible(f64),
}

fn all_finite(start: &[DVec3; 4], end: &[DVec3; 4]) -> bool {
    start.iter().chain(end).all(|point| point.is_finite())
}

/// Positions of four vertices at a time between 0 (start) and 1 (end).
pub fn positions_at(start: [DVec3; 4], end: [DVec3; 4], time: f64) -> [DVec3; 4] {
    std::array::from_fn(|k| start[k] + (end[k] - start[k]) * time)
}

/// How far a vertex is from a triangle, given as in [`vertex_triangle`], with the barycentric coordinates.
pub fn vertex_triangle_gap(points: [DVec3; 4]) -> distance::ClosestOnTriangle {
    distance::point_triangle(points[0], [points[1], points[2], points[3]])
}

/// How far two edges are apart, given as in [`edge_edge`], with the places along them.
pub fn edge_edge_gap(points: [DVec3; 4]) -> distance::ClosestOnEdges {
    distance::edge_edge([points[0], points[1]], [points[2], points[3]])
}
