//! Cheap proofs that two triangles do not meet beyond what they share. `true` is certain, `false` says nothing.
//!
//! Almost all pairs whose boxes overlap are neighbours in one sheet or lie in two layers; plain floats with an error
//! bound settle nearly all of them, so that exact arithmetic is left for pairs that are really close.
//!
//! Guarantees: each proof holds for the coordinates as stored. Every quantity is compared with a bound on its rounding
//! error, and anything small enough to have lost digits to underflow proves nothing.

use crate::math::DVec3;

/// Products of three or four coordinates below this may have lost digits to underflow.
const UNDERFLOW: f64 = 1e-290;

/// Proves two triangles without a common vertex apart.
#[inline]
pub fn surely_apart(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    surely_on_one_side(a, b) || surely_parted(a, b) || surely_on_one_side(b, a)
}

/// Proves that two triangles with a common first corner have only that point in common.
///
/// A plane through the corner with the rest of one triangle strictly on one side and the rest of the other strictly on
/// the other: square to the difference of the directions in which the two triangles lie, or the plane of one of them.
#[inline]
pub(super) fn surely_only_corner([corner, a1, a2]: [DVec3; 3], [_, b1, b2]: [DVec3; 3]) -> bool {
    let (a, b) = ([a1 - corner, a2 - corner], [b1 - corner, b2 - corner]);
    let (toward_a, toward_b) = (a[0] + a[1], b[0] + b[1]);
    let direction = toward_a * largest(toward_b) - toward_b * largest(toward_a);
    let reach = a[0].abs().max(a[1].abs()).max(b[0].abs()).max(b[1].abs()).max_element();
    let bound = DOT_ERROR * largest(direction) * reach + UNDERFLOW;
    let heights = [a[0], a[1], -b[0], -b[1]].map(|offset| direction.dot(offset));
    if heights[0].min(heights[1]).min(heights[2].min(heights[3])) > bound {
        return true;
    }
    surely_beside_plane(a, b, reach) || surely_beside_plane(b, a, reach)
}

/// Proves that two triangles with a common edge `u v` and third corners `a`, `b` are not folded flat on each other: the
/// normals with which they turn about the edge point away from each other.
#[inline]
pub(super) fn surely_unfolded([u, v]: [DVec3; 2], a: DVec3, b: DVec3) -> bool {
    // A sum of three products of two differences of products: below 256 roundings of the largest of them.
    const ERROR: f64 = 256.0 * f64::EPSILON;
    let (edge, to_a, to_b) = (v - u, a - u, b - u);
    let agreement = edge.cross(to_a).dot(edge.cross(to_b));
    let length = largest(edge);
    agreement < -(ERROR * length * length * largest(to_a) * largest(to_b) + UNDERFLOW)
}

/// The float error of `w . d` for a float `w` and a rounded difference `d` is below 16 roundings of the product of the
/// largest coordinates.
const DOT_ERROR: f64 = 16.0 * f64::EPSILON;
/// The float error of `(u x v) . d` for rounded differences is below 32 roundings of that product.
const TRIPLE_ERROR: f64 = 32.0 * f64::EPSILON;

/// All corners of one lie strictly on one side of the other's plane.
#[inline]
fn surely_on_one_side([origin, first, second]: [DVec3; 3], points: [DVec3; 3]) -> bool {
    let (u, v) = (first - origin, second - origin);
    let normal = u.cross(v);
    let offsets = points.map(|point| point - origin);
    let reach = offsets[0].abs().max(offsets[1].abs()).max(offsets[2].abs()).max_element();
    let bound = TRIPLE_ERROR * largest(u) * largest(v) * reach + UNDERFLOW;
    let heights = offsets.map(|offset| normal.dot(offset));
    let lowest = heights[0].min(heights[1]).min(heights[2]);
    let highest = heights[0].max(heights[1]).max(heights[2]);
    lowest > bound || highest < -bound
}

/// A plane square to the line between the middles has one triangle on either side.
#[inline]
fn surely_parted(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    let origin = a[0];
    let (from_a, from_b) = ([a[1] - origin, a[2] - origin], b.map(|point| point - origin));
    let direction = (from_a[0] + from_a[1]) - (from_b[0] + from_b[1] + from_b[2]);
    let reach = from_a[0].abs().max(from_a[1].abs());
    let reach = reach.max(from_b[0].abs()).max(from_b[1].abs()).max(from_b[2].abs()).max_element();
    let bound = DOT_ERROR * largest(direction) * reach + UNDERFLOW;
    let lowest = direction.dot(from_a[0]).min(direction.dot(from_a[1])).min(0.0);
    let heights = from_b.map(|offset| direction.dot(offset));
    lowest - heights[0].max(heights[1]).max(heights[2]) > 2.0 * bound
}

/// Both points lie strictly on one side of the plane through the origin and two others.
#[inline]
fn surely_beside_plane([u, v]: [DVec3; 2], points: [DVec3; 2], reach: f64) -> bool {
    let normal = u.cross(v);
    let bound = TRIPLE_ERROR * largest(u) * largest(v) * reach + UNDERFLOW;
    let [first, second] = points.map(|point| normal.dot(point));
    first.min(second) > bound || first.max(second) < -bound
}

#[inline]
fn largest(vector: DVec3) -> f64 {
    vector.abs().max_element()
}
