//! Exact closed tests between points, segments and triangles that may lie in one plane or on one line.
//!
//! Coplanar sets are projected along an axis on which the projection is one-to-one, so the two-dimensional answer is the
//! three-dimensional one and no coordinate is ever rounded.

use crate::math::{DVec2, DVec3};
use crate::predicates::{Sign, orient2d, orient3d};

/// A projection that drops one coordinate.
#[derive(Clone, Copy)]
pub(super) struct Projection {
    dropped_axis: usize,
}

impl Projection {
    /// A projection under which three points do not become collinear, or `None` if they are collinear in space.
    pub(super) fn of_triangle([a, b, c]: [DVec3; 3]) -> Option<Self> {
        let normal = (b - a).cross(c - a).abs();
        let first = if normal.x >= normal.y && normal.x >= normal.z {
            0
        } else if normal.y >= normal.z {
            1
        } else {
            2
        };
        [first, (first + 1) % 3, (first + 2) % 3]
            .map(|dropped_axis| Self { dropped_axis })
            .into_iter()
            .find(|projection| projection.orient(a, b, c) != Sign::Zero)
    }

    fn flat(self, point: DVec3) -> DVec2 {
        match self.dropped_axis {
            0 => DVec2::new(point.y, point.z),
            1 => DVec2::new(point.z, point.x),
            _ => DVec2::new(point.x, point.y),
        }
    }

    /// [`orient2d`] of the projected points.
    pub(super) fn orient(self, a: DVec3, b: DVec3, c: DVec3) -> Sign {
        orient2d(self.flat(a), self.flat(b), self.flat(c))
    }

    /// Whether a point lies in a closed triangle of the same plane.
    pub(super) fn point_in_triangle(self, point: DVec3, [a, b, c]: [DVec3; 3]) -> bool {
        one_sign([self.orient(a, b, point), self.orient(b, c, point), self.orient(c, a, point)])
    }

    /// Whether two closed segments of one plane share a point.
    pub(super) fn segments_meet(self, [p, q]: [DVec3; 2], [r, s]: [DVec3; 2]) -> bool {
        let (pq_r, pq_s) = (self.orient(p, q, r), self.orient(p, q, s));
        let (rs_p, rs_q) = (self.orient(r, s, p), self.orient(r, s, q));
        if pq_r == Sign::Zero && pq_s == Sign::Zero && rs_p == Sign::Zero && rs_q == Sign::Zero {
            return collinear_segments_meet([p, q], [r, s]);
        }
        not_both_strictly_on_one_side(pq_r, pq_s) && not_both_strictly_on_one_side(rs_p, rs_q)
    }

    /// Whether a closed segment and a closed triangle of one plane share a point.
    pub(super) fn segment_meets_triangle(self, [p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
        self.point_in_triangle(p, [a, b, c])
            || [[a, b], [b, c], [c, a]].into_iter().any(|side| self.segments_meet([p, q], side))
    }
}

/// Whether a closed segment and a closed triangle with an area share a point.
pub(super) fn segment_meets_triangle(segment: [DVec3; 2], triangle: [DVec3; 3], projection: Projection) -> bool {
    let [p, q] = segment;
    let [a, b, c] = triangle;
    match (orient3d(a, b, c, p), orient3d(a, b, c, q)) {
        (Sign::Zero, Sign::Zero) => projection.segment_meets_triangle(segment, triangle),
        (Sign::Positive, Sign::Positive) | (Sign::Negative, Sign::Negative) => false,
        _ => one_sign([orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)]),
    }
}

/// Whether two closed segments in space share a point.
pub(super) fn segments_meet([p, q]: [DVec3; 2], [r, s]: [DVec3; 2]) -> bool {
    if orient3d(p, q, r, s) != Sign::Zero {
        return false;
    }
    let spanned = [[p, q, r], [p, q, s], [r, s, p], [r, s, q]].into_iter().find_map(Projection::of_triangle);
    match spanned {
        Some(projection) => projection.segments_meet([p, q], [r, s]),
        None => collinear_segments_meet([p, q], [r, s]),
    }
}

/// Whether two closed segments on one line (or shrunk to points) share a point: along a line the order of points is that
/// of their coordinates, compared one after the other.
fn collinear_segments_meet([p, q]: [DVec3; 2], [r, s]: [DVec3; 2]) -> bool {
    let before = |a: DVec3, b: DVec3| (a.x, a.y, a.z) <= (b.x, b.y, b.z);
    let sorted = |a, b| if before(a, b) { (a, b) } else { (b, a) };
    let ((low, high), (other_low, other_high)) = (sorted(p, q), sorted(r, s));
    before(low, other_high) && before(other_low, high)
}

/// Whether no two of the signs are opposite.
fn one_sign(signs: [Sign; 3]) -> bool {
    !(signs.contains(&Sign::Positive) && signs.contains(&Sign::Negative))
}

fn not_both_strictly_on_one_side(a: Sign, b: Sign) -> bool {
    a != b || a == Sign::Zero
}
