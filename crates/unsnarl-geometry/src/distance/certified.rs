//! Distances that are proved: a number that the true distance does not fall below, whatever was rounded.
//!
//! Two convex elements are at least `min n.(p - q) / |n|` apart, over their corners `p` and `q`, for any direction `n`.
//! Each product is computed with a bound on its rounding, so the quotient is a proof for the numbers as given. The
//! directions tried are the computed gap and the normal of the triangle, or of both edges. Where neither proves enough,
//! because the gap is tiny beside the elements, the distance is computed in integers ([`exact`]).
//!
//! Guarantees: never above the true distance of the closed elements; at least 0.9999 of it, for finite coordinates
//! whose size is 0 or between 1e-95 and 1e30; 0 where the elements touch. Coordinates that are not finite give 0.
//! Does not: say where the nearest points are; [`super::point_triangle`] and [`super::edge_edge`] do.

mod exact;

use super::{edge_edge, point_triangle};
use crate::math::DVec3;

/// A proof in floating point is enough if it leaves no more than this share open.
const OPEN: f64 = 5e-5;
/// Relative rounding of a product of a direction with a difference, summed: four roundings of half a unit, and as much
/// again for the bound itself.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Gaps below this share of the elements' extent are left to integers.
const TINY: f64 = 1e-10;

/// A lower bound of the distance of a point from a triangle.
pub fn point_triangle_at_least(point: DVec3, triangle: [DVec3; 3]) -> f64 {
    let closest = point_triangle(point, triangle);
    let normal = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
    let differences = triangle.map(|corner| point - corner);
    proved(&differences, closest.offset, normal).unwrap_or_else(|| exact::point_triangle(point, triangle))
}

/// A lower bound of the distance of two edges.
pub fn edge_edge_at_least(first: [DVec3; 2], second: [DVec3; 2]) -> f64 {
    let closest = edge_edge(first, second);
    let normal = (first[1] - first[0]).cross(second[1] - second[0]);
    let [a, b] = first;
    let differences = [a - second[0], a - second[1], b - second[0], b - second[1]];
    proved(&differences, closest.offset, normal).unwrap_or_else(|| exact::edge_edge(first, second))
}

/// What the directions prove, if that is nearly the computed distance. `differences` are all differences of corners,
/// the first element's minus the second's.
fn proved(differences: &[DVec3], offset: DVec3, normal: DVec3) -> Option<f64> {
    let distance = offset.length();
    let normal = if normal.dot(offset) < 0.0 { -normal } else { normal };
    let enough = (1.0 - OPEN) * distance;
    let farthest = differences.iter().map(|difference| difference.abs().max_element()).fold(0.0, f64::max);
    // Far above where products of what is left could become subnormal, and where the computed distance says little.
    if !(1e-100..1e100).contains(&distance) || distance < TINY * farthest {
        return None;
    }
    let along = along(differences, offset);
    if along >= enough {
        return Some(along);
    }
    let across = along_or_zero(differences, normal);
    (across >= enough).then_some(across)
}

fn along_or_zero(differences: &[DVec3], direction: DVec3) -> f64 {
    direction.try_normalize().map_or(0.0, |direction| along(differences, direction))
}

/// The distance that a direction proves; not positive where it proves nothing.
fn along(differences: &[DVec3], direction: DVec3) -> f64 {
    let least = |difference: &DVec3| {
        let [x, y, z] = (direction * *difference).to_array();
        ((x + y) + z) - ROUNDING * ((x.abs() + y.abs()) + z.abs())
    };
    let low = differences.iter().map(least).fold(f64::INFINITY, f64::min);
    // The length, the quotient and the last subtraction round by less than this.
    low / (direction.length() * (1.0 + 16.0 * f64::EPSILON))
}
