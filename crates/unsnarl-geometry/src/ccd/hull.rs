//! The moving hull of differences whose contact with the origin is the contact of two elements, and proofs of absence.
//!
//! Guarantees: [`Sweep::clear_until`] returns a time only if the direction separates the hull from the ball around the
//! origin at every time up to it, with every rounding error on the safe side. Any direction may be offered: a poor one
//! proves less, never something false.

use crate::math::DVec3;
use std::marker::PhantomData;

/// A flat shape spanned by `N` points, which knows good directions for a proof.
pub(super) trait Shape<const N: usize> {
    /// Directions that may separate the shape from the origin, the most promising first.
    fn directions(points: [DVec3; N]) -> [DVec3; 2];

    /// The smallest of the quantities that are positive when the origin lies above the inside, each of the form
    /// `(u cross v) . (x cross y)` with sides `u` and `v` and points or sides `x` and `y`.
    fn least_inside(points: [DVec3; N]) -> f64;
}

/// Vertex minus each corner of a triangle.
pub(super) struct Triangle;

/// The four differences of two edges' ends: `a0 - b0`, `a1 - b0`, `a0 - b1`, `a1 - b1`.
pub(super) struct Parallelogram;

/// A hull that moves linearly during [0, 1], and a ball around the origin that it should not touch.
pub(super) struct Sweep<S, const N: usize> {
    start: [DVec3; N],
    end: [DVec3; N],
    separation: f64,
    /// Rounding of a projection on a direction, in units of the sum of the direction's absolute coordinates.
    rounding: f64,
    shape: PhantomData<S>,
}

/// Rounding of the differences, of their projection and of the time found from it, in units of the largest coordinate.
const ROUNDING: f64 = 20.0 * (0.5 * f64::EPSILON);
/// Projections below this lose relative precision to underflow.
const UNDERFLOW: f64 = 1e-250;

/// Tilts tried before a time is given up.
const MENDING_ROUNDS: usize = 16;

impl<S: Shape<N>, const N: usize> Sweep<S, N> {
    pub(super) fn new(start: [DVec3; N], end: [DVec3; N], separation: f64) -> Self {
        let sum = (0..N).fold(DVec3::ZERO, |sum, k| sum + (start[k] + end[k]));
        let size = (0..N).fold(DVec3::ZERO, |size, k| size.max(start[k].abs()).max(end[k].abs())).max_element();
        // Not a number anywhere makes every proof below fail.
        let rounding = if sum.is_finite() { ROUNDING * size } else { f64::INFINITY };
        Self { start, end, separation: separation.max(0.0), rounding, shape: PhantomData }
    }

    /// Whether the box of the swept hull keeps clear of the ball, along some axis.
    pub(super) fn box_is_clear(&self) -> bool {
        let margin = self.separation * (1.0 + 1e-15) + self.rounding;
        let (mut low, mut high) = (self.start[0].min(self.end[0]), self.start[0].max(self.end[0]));
        for k in 1..N {
            low = low.min(self.start[k]).min(self.end[k]);
            high = high.max(self.start[k]).max(self.end[k]);
        }
        low.max_element() > margin || high.min_element() < -margin
    }

    /// Whether the origin provably lies above the inside of the hull at all times within `window` of `time`.
    ///
    /// A quantity of [`Shape::least_inside`] is linear in each of four vectors, none longer than `length`. While they
    /// change by at most `change` it changes by at most `(length + change)^4 - length^4`.
    pub(super) fn covers_origin_during(&self, time: f64, window: f64) -> bool {
        let points: [DVec3; N] = std::array::from_fn(|k| self.start[k] * (1.0 - time) + self.end[k] * time);
        let (mut reach, mut speed) = (0.0f64, 0.0f64);
        for k in 0..N {
            reach = reach.max(points[k].length());
            speed = speed.max((self.end[k] - self.start[k]).length());
        }
        let length = 2.0 * reach;
        let change = 2.0 * speed * window * (1.0 + 1e-9) + 2.0 * self.rounding;
        let least = (length + change).powi(4) - length.powi(4) * (1.0 - 64.0 * f64::EPSILON);
        S::least_inside(points) > least && least > UNDERFLOW
    }

    /// The direction to the middle of all points.
    pub(super) fn middle(&self) -> DVec3 {
        self.start.iter().chain(&self.end).copied().sum()
    }

    /// How long, from `time` on, the best of the shape's directions at that time proves the hull clear, and that direction.
    pub(super) fn clear_from(&self, time: f64) -> Option<(f64, DVec3)> {
        let points = std::array::from_fn(|k| self.start[k] * (1.0 - time) + self.end[k] * time);
        let [first, second] = S::directions(points);
        let proof = |direction: DVec3| self.clear_until(direction, time).map(|until| (until, direction));
        let one = proof(first);
        if one.is_some_and(|(until, _)| until >= 1.0) {
            return one;
        }
        let other = proof(second);
        // Options order `None` first.
        let best = if other.map(|proof| proof.0) > one.map(|proof| proof.0) { other } else { one };
        best.or_else(|| proof(self.mended(first, points))).or_else(|| proof(self.mended(second, points)))
    }

    /// A direction tilted just enough towards the points that it leaves behind.
    ///
    /// Where the nearest point is near a border of the hull, the direction from it has lost its digits to
    /// cancellation; far points then want a tilt that near points hardly feel.
    fn mended(&self, direction: DVec3, points: [DVec3; N]) -> DVec3 {
        let Some(mut direction) = direction.try_normalize() else { return direction };
        let target = 4.0 * (self.separation + 3.0 * self.rounding);
        for _ in 0..MENDING_ROUNDS {
            let mut worst = (target, DVec3::ZERO);
            for point in points {
                let projection = direction.dot(point);
                if projection < worst.0 {
                    worst = (projection, point);
                }
            }
            let (projection, point) = worst;
            let length_squared = point.length_squared();
            if length_squared <= 0.0 {
                break;
            }
            direction += point * ((1.5 * target - projection) / length_squared);
        }
        direction
    }

    /// Until when a direction proves the hull clear, if it does so at `time`; at most 1.
    ///
    /// Along the direction each point is a linear function of time, and it must stay above the separation.
    pub(super) fn clear_until(&self, direction: DVec3, time: f64) -> Option<f64> {
        let absolute = direction.abs();
        let weight = absolute.x + absolute.y + absolute.z;
        let projection_rounding = weight * self.rounding;
        let margin = self.separation * direction.length() * (1.0 + 1e-15) + projection_rounding;
        let mut until = 1.0f64;
        for k in 0..N {
            let from = direction.dot(self.start[k]) - margin;
            let to = direction.dot(self.end[k]) - margin;
            let clear = from + time * (to - from) > 0.0;
            if !clear {
                return None;
            }
            if to <= 0.0 {
                until = until.min(from / (from - to));
            }
        }
        (projection_rounding > UNDERFLOW).then_some(until.max(time))
    }
}

impl Shape<3> for Triangle {
    fn directions(points: [DVec3; 3]) -> [DVec3; 2] {
        let [a, b, c] = points;
        let normal = (b - a).cross(c - a);
        let outward = if normal.dot(a) < 0.0 { -normal } else { normal };
        let inside = normal.dot(a.cross(b)) >= 0.0 && normal.dot(b.cross(c)) >= 0.0 && normal.dot(c.cross(a)) >= 0.0;
        if inside {
            return [outward, nearest_on_sides(points)];
        }
        [nearest_on_sides(points), outward]
    }

    fn least_inside(points: [DVec3; 3]) -> f64 {
        let [a, b, c] = points;
        let normal = (b - a).cross(c - a);
        normal.dot(a.cross(b)).min(normal.dot(b.cross(c))).min(normal.dot(c.cross(a)))
    }
}

fn nearest_on_sides(points: [DVec3; 3]) -> DVec3 {
    let [a, b, c] = points;
    let nearer = |x: DVec3, y: DVec3| if y.length_squared() < x.length_squared() { y } else { x };
    nearer(nearer(nearest_on_segment(a, b), nearest_on_segment(b, c)), nearest_on_segment(c, a))
}

/// The point of a segment nearest the origin; made square to the segment when it lies inside.
fn nearest_on_segment(from: DVec3, to: DVec3) -> DVec3 {
    let along = to - from;
    let length_squared = along.length_squared();
    let reach = -from.dot(along);
    if reach <= 0.0 {
        from
    } else if reach >= length_squared {
        to
    } else {
        let point = from + along * (reach / length_squared);
        point - along * (point.dot(along) / length_squared)
    }
}

impl Shape<4> for Parallelogram {
    fn directions(points: [DVec3; 4]) -> [DVec3; 2] {
        let [corner, right, up, across] = points;
        let (u, v) = (right - corner, up - corner);
        let normal = u.cross(v);
        let outward = if normal.dot(corner) < 0.0 { -normal } else { normal };
        // The origin is above the inside when it lies between the two pairs of parallel sides.
        let (s, t) = (normal.dot(v.cross(corner)), normal.dot(corner.cross(u)));
        let area_squared = normal.length_squared();
        let inside = s >= 0.0 && s <= area_squared && t >= 0.0 && t <= area_squared;
        let nearer = |x: DVec3, y: DVec3| if y.length_squared() < x.length_squared() { y } else { x };
        let sides = nearer(
            nearer(nearest_on_segment(corner, right), nearest_on_segment(right, across)),
            nearer(nearest_on_segment(across, up), nearest_on_segment(up, corner)),
        );
        if inside { [outward, sides] } else { [sides, outward] }
    }

    fn least_inside(points: [DVec3; 4]) -> f64 {
        let [corner, right, up, across] = points;
        let (u, v) = (right - corner, up - corner);
        let normal = u.cross(v);
        let near = normal.dot(v.cross(corner)).min(normal.dot(corner.cross(u)));
        // Seen from the opposite corner both sides point back.
        let far = normal.dot(across.cross(v)).min(normal.dot(u.cross(across)));
        near.min(far)
    }
}
