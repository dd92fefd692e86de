//! Cheap proofs that two triangles do not meet beyond what they share. `true` is certain, `false` says nothing.
//!
//! Almost all pairs whose boxes overlap are neighbours in one sheet or lie in two layers; plain floats with an error
//! bound settle nearly all of them, so that exact arithmetic is left for pairs that are really close.
//!
//! Guarantees: each proof holds for the coordinates as stored. Every quantity is compared with a bound on its rounding
//! error, and anything small enough to have lost digits to underflow proves nothing.

use crate::aabb::Aabb;
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::predicates::BoundedOrientation;

/// Products of three or four coordinates below this may have lost digits to underflow.
const UNDERFLOW: f64 = 1e-290;

/// A bound on all differences of coordinates of a mesh, and so on the rounding of all heights: the quickest proofs
/// compare with that, and give up on triangles that are very small beside the mesh.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Rounding of `w . d` for sums `w` of up to four differences, and a difference `d`.
    dot_error: f64,
    /// Rounding of `(u x v) . d` for three differences.
    triple_error: f64,
    /// Rounding of a coordinate of `u x v` for two differences.
    planar_error: f64,
    /// Exact orientation, faster for points within the reach.
    pub(super) orientation: BoundedOrientation,
}

impl Reach {
    /// Nothing is known: nothing is proved.
    pub(super) const UNKNOWN: Self = Self {
        dot_error: f64::INFINITY,
        triple_error: f64::INFINITY,
        planar_error: f64::INFINITY,
        orientation: BoundedOrientation::UNBOUNDED,
    };

    /// For points in a box.
    pub(super) fn within(bounds: &Aabb) -> Self {
        let extent = largest(bounds.extent());
        if bounds.is_empty() || !extent.is_finite() {
            return Self::UNKNOWN;
        }
        Self {
            dot_error: 4.0 * DOT_ERROR * extent * extent + UNDERFLOW,
            triple_error: TRIPLE_ERROR * extent * extent * extent + UNDERFLOW,
            planar_error: PLANAR_ERROR * extent * extent + UNDERFLOW,
            orientation: BoundedOrientation::within(bounds),
        }
    }

    /// A bound on the rounding of a coordinate of a triangle's normal.
    #[inline(always)]
    pub(super) fn planar_error(self) -> f64 {
        self.planar_error
    }

    /// Proves two triangles without a common vertex apart: all of the second lies on one side of the first.
    #[inline(always)]
    pub(super) fn parts(self, a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> bool {
        let at = |vertex: VertexId| positions[vertex.index()];
        let origin = at(a[0]);
        let normal = (at(a[1]) - origin).cross(at(a[2]) - origin);
        let height = |vertex: VertexId| normal.dot(at(vertex) - origin);
        let (first, second, third) = (height(b[0]), height(b[1]), height(b[2]));
        let lowest = smaller(first, smaller(second, third));
        let highest = larger(first, larger(second, third));
        (lowest > self.triple_error) | (highest < -self.triple_error)
    }

    /// Proves two triangles without a common vertex apart: a plane square to the line between their middles parts them.
    #[inline(always)]
    pub(super) fn parts_between(self, a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> bool {
        let at = |vertex: VertexId| positions[vertex.index()];
        let origin = at(a[0]);
        let [a1, a2] = [at(a[1]) - origin, at(a[2]) - origin];
        let [b0, b1, b2] = b.map(|vertex| at(vertex) - origin);
        let direction = 0.25 * ((a1 + a2) - (b0 + b1 + b2));
        let lowest = smaller(smaller(direction.dot(a1), direction.dot(a2)), 0.0);
        let highest = larger(direction.dot(b0), larger(direction.dot(b1), direction.dot(b2)));
        lowest - highest > 2.0 * self.dot_error
    }

    /// Proves that two triangles with a common first corner have only that point in common, as [`surely_only_corner`]
    /// does, for triangles of like size.
    #[inline(always)]
    pub(super) fn parts_at_corner(self, a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> bool {
        let at = |vertex: VertexId| positions[vertex.index()];
        let corner = at(a[0]);
        let (a1, a2, b1, b2) = (at(a[1]) - corner, at(a[2]) - corner, at(b[1]) - corner, at(b[2]) - corner);
        let direction = (a1 + a2) - (b1 + b2);
        let above = smaller(direction.dot(a1), direction.dot(a2));
        let below = larger(direction.dot(b1), direction.dot(b2));
        (above > self.dot_error) & (below < -self.dot_error)
    }
}

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
    let reach = larger(larger(largest(a[0]), largest(a[1])), larger(largest(b[0]), largest(b[1])));
    let bound = DOT_ERROR * largest(direction) * reach + UNDERFLOW;
    let above = smaller(direction.dot(a[0]), direction.dot(a[1]));
    let below = larger(direction.dot(b[0]), direction.dot(b[1]));
    if (above > bound) & (below < -bound) {
        return true;
    }
    surely_beside_plane(a, b, reach) || surely_beside_plane(b, a, reach)
}

/// Proves that two triangles with a common edge `u v` and third corners `a`, `b` are not folded flat on each other: the
/// normals with which they turn about the edge point away from each other.
#[inline(always)]
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
/// The float error of a coordinate of `u x v` for rounded differences is below 8 roundings of that product.
const PLANAR_ERROR: f64 = 8.0 * f64::EPSILON;
/// The float error of `(u x v) . d` for rounded differences is below 32 roundings of that product.
const TRIPLE_ERROR: f64 = 32.0 * f64::EPSILON;

/// All corners of one lie strictly on one side of the other's plane.
#[inline(always)]
fn surely_on_one_side([origin, first, second]: [DVec3; 3], points: [DVec3; 3]) -> bool {
    let (u, v) = (first - origin, second - origin);
    let normal = u.cross(v);
    let offsets = points.map(|point| point - origin);
    let reach = larger(largest(offsets[0]), larger(largest(offsets[1]), largest(offsets[2])));
    let bound = TRIPLE_ERROR * largest(u) * largest(v) * reach + UNDERFLOW;
    let heights = offsets.map(|offset| normal.dot(offset));
    let lowest = smaller(heights[0], smaller(heights[1], heights[2]));
    let highest = larger(heights[0], larger(heights[1], heights[2]));
    (lowest > bound) | (highest < -bound)
}

/// A plane square to the line between the middles has one triangle on either side.
#[inline(always)]
fn surely_parted(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    let origin = a[0];
    let (from_a, from_b) = ([a[1] - origin, a[2] - origin], b.map(|point| point - origin));
    let direction = (from_a[0] + from_a[1]) - (from_b[0] + from_b[1] + from_b[2]);
    let reach_a = larger(largest(from_a[0]), largest(from_a[1]));
    let reach_b = larger(largest(from_b[0]), larger(largest(from_b[1]), largest(from_b[2])));
    let reach = larger(reach_a, reach_b);
    let bound = DOT_ERROR * largest(direction) * reach + UNDERFLOW;
    let lowest = smaller(smaller(direction.dot(from_a[0]), direction.dot(from_a[1])), 0.0);
    let heights = from_b.map(|offset| direction.dot(offset));
    lowest - larger(heights[0], larger(heights[1], heights[2])) > 2.0 * bound
}

/// Both points lie strictly on one side of the plane through the origin and two others.
#[inline(always)]
fn surely_beside_plane([u, v]: [DVec3; 2], points: [DVec3; 2], reach: f64) -> bool {
    let normal = u.cross(v);
    let bound = TRIPLE_ERROR * largest(u) * largest(v) * reach + UNDERFLOW;
    let [first, second] = points.map(|point| normal.dot(point));
    (smaller(first, second) > bound) | (larger(first, second) < -bound)
}

#[inline(always)]
fn largest(vector: DVec3) -> f64 {
    larger(vector.x.abs(), larger(vector.y.abs(), vector.z.abs()))
}

/// One instruction, where `f64::max` takes care of numbers that are none and takes four.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
