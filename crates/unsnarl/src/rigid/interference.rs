//! Where two bodies meet at their predicted placements: samples of each that are inside the other.
//!
//! Normals and arms come from the current placements. Both bodies' arms end in one point, so an impulse and its
//! opposite keep angular momentum. (Bridson 2003, 4.4, 4.6, 4.8)
//!
//! Guarantees: the predicted gap of a point whose bodies keep their velocities is the distance itself, the same for
//! collisions and contact; after a change it follows to first order.
//! Does not: find what lies between samples of a mesh that is finer than its level set.

use super::motion::{Frame, Seen, Step};
use super::samples::{INSET, Sample};
use super::shape::Shape;
use crate::geometry::DVec3;

/// A place where one body meets another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// From the centres of both bodies to the point, now.
    pub arms: [DVec3; 2],
    /// Away from the second body, now.
    pub normal: DVec3,
    /// The same at the predicted placement.
    pub predicted_normal: DVec3,
    /// The distance now.
    pub gap_now: f64,
    /// The distance at the predicted placement.
    pub gap: f64,
    /// Whether the first body meets the second when it alone falls for a step, and the other way round.
    pub falls: [bool; 2],
    /// The sample, to know it again.
    pub key: u64,
}

/// One body of a pair.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub shape: &'a Shape,
    pub now: &'a Frame,
    pub seen: &'a Seen,
}

impl<'a> View<'a> {
    pub(super) fn of(step: &'a Step<'_>, seen: &'a [Seen], body: usize) -> Self {
        Self { shape: step.bodies.shape(body), now: &step.now[body], seen: &seen[body] }
    }
}

/// Samples of both bodies of a pair that were near the other, and how near; kept while the bodies hardly move against
/// each other.
///
/// The lists may hold more than is needed, never less, so points do not depend on when they were made. Each sample has
/// a lower bound of its distance then, so that most are passed over while bodies rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Near {
    ways: [Option<Way>; 2],
}

impl Near {
    /// For the bodies in the other order.
    pub(super) fn swapped(self) -> Self {
        let [first, second] = self.ways;
        Self { ways: [second, first] }
    }
}

#[derive(Clone, Debug)]
struct Way {
    /// The sampled body, seen from the other.
    seen: Frame,
    reach: f64,
    samples: Vec<(u32, f64)>,
}

/// Interpolated distances change at most this much faster than the way.
const FASTER: f64 = 1.25;
/// How often a segment is halved to bound its distance.
const HALVINGS: usize = 4;
/// Room in a list of near samples, as a share of the sampled body's radius.
const ROOM: f64 = 0.02;

/// All points of a pair whose predicted gap is below a margin.
pub(super) fn points(step: &Step<'_>, [a, b]: [View<'_>; 2], margin: f64, near: &mut Near) -> Vec<Point> {
    let mut found = Vec::new();
    let [first, second] = &mut near.ways;
    one_way(step, a, b, margin, false, first, &mut found);
    one_way(step, b, a, margin, true, second, &mut found);
    found
}

/// Samples of a body that may be nearer to another than a margin, at the predicted placements: a list, and the bound
/// that a sample must not exceed.
fn near_samples<'n>(
    a: View<'_>,
    b: View<'_>,
    seen: Frame,
    margin: f64,
    way: &'n mut Option<Way>,
) -> (&'n [(u32, f64)], f64) {
    let apart = |way: &Way| {
        let turned = seen.rotation - way.seen.rotation;
        let columns = [turned.x_axis, turned.y_axis, turned.z_axis];
        let turn = columns.iter().map(|column| column.length_squared()).sum::<f64>().sqrt();
        turn * a.shape.radius() + seen.position.distance(way.seen.position)
    };
    // Interpolated distances change a little faster than the way.
    let needed = |way: &Way| FASTER * (margin + apart(way));
    if !way.as_ref().is_some_and(|way| needed(way) <= way.reach) {
        let reach = 2.0 * margin + ROOM * if a.shape.is_unbounded() { 0.0 } else { a.shape.radius() };
        *way = Some(Way { seen, reach, samples: within(a.shape, b.shape, &seen, reach) });
    }
    way.as_ref().map_or((&[], 0.0), |way| (&way.samples, needed(way)))
}

/// Samples of a shape nearer to another than a reach, each with a lower bound of its distance.
fn within(shape: &Shape, field: &Shape, seen: &Frame, reach: f64) -> Vec<(u32, f64)> {
    let wanted = |center: DVec3, radius: f64| {
        let at = seen.apply(center);
        let to_box = if field.is_unbounded() { 0.0 } else { field.bounds().distance_squared(at).sqrt() };
        to_box <= radius + reach && field.least_distance(at) <= radius + reach
    };
    let mut samples = Vec::new();
    shape.samples.visit(wanted, |index, sample| {
        let ends = [sample.start, sample.end].map(|end| seen.apply(end));
        let bound = if sample.is_point() {
            field.least_distance(ends[0])
        } else {
            let distances = ends.map(|end| field.least_distance(end));
            least_along(field, ends, distances, reach + sample.radius, HALVINGS)
        };
        if bound - sample.radius <= reach {
            samples.push((index, bound - sample.radius));
        }
    });
    samples.sort_unstable_by_key(|&(index, _)| index);
    samples
}

/// A lower bound of the distance along a segment: it changes by no more than the way. Halved where that is too little.
fn least_along(field: &Shape, ends: [DVec3; 2], distances: [f64; 2], reach: f64, halvings: usize) -> f64 {
    let length = ends[0].distance(ends[1]);
    let bound = 0.5 * (distances[0] + distances[1] - length);
    if bound > reach || halvings == 0 || distances[0].min(distances[1]) <= bound + 0.1 * reach {
        return bound;
    }
    let middle = ends[0].midpoint(ends[1]);
    let between = field.least_distance(middle);
    let half = |end: usize| least_along(field, [ends[end], middle], [distances[end], between], reach, halvings - 1);
    half(0).min(half(1))
}

/// Steps of a search along a segment at most.
const ROUNDS: usize = 16;

/// A face below a point faces the way the point is pushed, up to this (the cosine).
const SAME_FACE: f64 = 0.9;

/// Samples of one body in the other; `reversed` if the sampled body is the second of the pair.
///
/// A vertex or edge that lies on an edge of the other body is left out: the distance does not say which face it
/// touches, and faces of both sides would hold it like a vice. Points inside the corners of faces are there for that.
fn one_way(
    step: &Step<'_>,
    a: View<'_>,
    b: View<'_>,
    margin: f64,
    reversed: bool,
    way: &mut Option<Way>,
    found: &mut Vec<Point>,
) {
    let [then, now] = [a.seen.then.seen_from(&b.seen.then), a.now.seen_from(b.now)];
    let field = b.shape;
    let local_fall = b.now.rotation.transpose() * step.fall;
    // Narrower than points inside corners are from edges.
    let side = |shape: &Shape| if shape.is_unbounded() { f64::INFINITY } else { shape.bounds().extent().min_element() };
    let narrow = 0.25 * INSET * side(a.shape).min(side(field));
    let edge_width = (2.0 * step.fall.length()).min(narrow).max(field.resolution());
    let mut add = |core: DVec3, radius: f64, key: u64| {
        let (distance, outward) = field.distance(then.apply(core));
        let gap = distance - radius;
        if gap >= margin {
            return;
        }
        let at = now.apply(core);
        let (distance_now, outward_now) = field.distance(at);
        let normal = b.now.rotation * outward_now;
        let point = a.now.apply(core) - radius * normal;
        let arms = [point - a.now.position, point - b.now.position];
        let gap_now = distance_now - radius;
        let is_corner = radius == 0.0 && gap_now.abs() <= edge_width && {
            let below = field.distance(at - (gap_now + edge_width) * outward_now).1;
            below.dot(outward_now) < SAME_FACE
        };
        if is_corner {
            return;
        }
        let meets = |shift: DVec3| {
            // To first order, and by the distance itself where that leaves doubt.
            let expected = gap_now + shift.dot(outward_now);
            let is_near = gap_now < local_fall.length();
            let in_doubt = expected.abs() < 0.1 * local_fall.length();
            is_near && if in_doubt { field.distance(at + shift).0 - radius < 0.0 } else { expected < 0.0 }
        };
        let falls = [meets(local_fall), meets(-local_fall)];
        let predicted_normal = b.seen.then.rotation * outward;
        let point = Point { arms, normal, predicted_normal, gap_now, gap, falls, key };
        found.push(if reversed { point.reversed() } else { point });
    };
    let (near, most) = near_samples(a, b, then, margin, way);
    for &(index, _) in near.iter().filter(|&&(_, bound)| bound <= most) {
        let sample = a.shape.samples.get(index);
        let key = (u64::from(index) << 3) | if reversed { Point::OF_SECOND } else { 0 };
        if sample.is_point() {
            add(sample.start, sample.radius, key);
        } else {
            let ends = deepest_stretch(field, &then, sample, step.fall.length(), margin);
            let along = |share: f64| sample.start.lerp(sample.end, share);
            for (place, share) in ends.into_iter().enumerate() {
                if let Some(share) = share {
                    add(along(share), sample.radius, key | (place as u64 + 1));
                }
            }
        }
    }
}

impl Point {
    /// The bit of the key that says that the sample belongs to the second body of the pair.
    pub(super) const OF_SECOND: u64 = 1 << 2;

    fn reversed(self) -> Self {
        Self {
            arms: [self.arms[1], self.arms[0]],
            normal: -self.normal,
            predicted_normal: -self.predicted_normal,
            falls: [self.falls[1], self.falls[0]],
            ..self
        }
    }
}

/// The stretch of a segment that is deepest in a body: up to two points strictly inside the segment, as shares of it.
///
/// Both ends of the stretch count: an edge that lies flat on a face is held at both, not in the middle. Bodies that
/// are not convex give one point: the lowest between ends from which the distance falls.
fn deepest_stretch(field: &Shape, then: &Frame, sample: &Sample, fall: f64, margin: f64) -> [Option<f64>; 2] {
    const LEVEL: f64 = 1e-3;
    let [start, end] = [then.apply(sample.start), then.apply(sample.end)];
    let along = end - start;
    let length = along.length();
    let at = |share: f64| field.distance(start.lerp(end, share));
    let slope = |outward: DVec3| outward.dot(along) / length;
    let [(first, first_normal), (last, last_normal)] = [at(0.0), at(1.0)];
    let [first_slope, last_slope] = [slope(first_normal), slope(last_normal)];
    // The distance changes by no more than the way.
    let is_far = 0.5 * (first + last - length) - sample.radius > margin;
    // From an end where it rises inward the lowest place is that end, which is a sample of its own.
    if is_far || first_slope > LEVEL || last_slope < -LEVEL || (first_slope > -LEVEL && last_slope < LEVEL) {
        return [None; 2];
    }
    if !field.is_convex() {
        return [lowest_between(&at, &slope, [first_slope, last_slope]), None];
    }
    let ends = [(first - sample.radius, first_slope * length), (last - sample.radius, last_slope * length)];
    let depth = |share: f64| {
        let (distance, outward) = at(share);
        (distance - sample.radius, slope(outward) * length)
    };
    let (lowest, deepest) = lowest_of_convex(&depth, ends, LEVEL * length, 1e-3 * fall, margin);
    if deepest >= margin {
        return [None; 2];
    }
    let level = deepest + (0.5 * (-deepest)).max(0.5 * fall);
    let [first, last] = [0usize, 1].map(|end| border(&depth, lowest, (end as f64, ends[end]), level));
    let inner = |share: f64| (share > 1e-3 && share < 1.0 - 1e-3).then_some(share);
    if last - first < 0.05 {
        return [inner(lowest), None];
    }
    // Off the border, where the distance may be to another face.
    let inset = 0.03 * (last - first);
    [inner(first).map(|share| share + inset), inner(last).map(|share| share - inset)]
}

/// Where the slope changes sign between ends from which the distance falls: three steps of regula falsi.
fn lowest_between(
    at: &impl Fn(f64) -> (f64, DVec3),
    slope: &impl Fn(DVec3) -> f64,
    [mut low_slope, mut high_slope]: [f64; 2],
) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    let mut share = 0.5;
    for _ in 0..3 {
        let across = high_slope - low_slope;
        let secant = if across > 0.0 { low - low_slope * (high - low) / across } else { 0.5 * (low + high) };
        // Not too near an end: slopes of a level set jump.
        share = secant.clamp(low + 0.1 * (high - low), high - 0.1 * (high - low));
        let found = slope(at(share).1);
        if found < 0.0 { (low, low_slope) = (share, found) } else { (high, high_slope) = (share, found) }
    }
    Some(share)
}

/// The lowest place of a convex function on 0 to 1, and its value, from values and slopes: where tangents meet.
///
/// Ends early, with a lower bound, where the function stays above a margin.
fn lowest_of_convex(
    f: &impl Fn(f64) -> (f64, f64),
    [(first, first_slope), (last, last_slope)]: [(f64, f64); 2],
    flat: f64,
    tolerance: f64,
    margin: f64,
) -> (f64, f64) {
    if first_slope > -flat || last_slope < flat {
        return if first_slope > -flat { (0.0, first) } else { (1.0, last) };
    }
    let (mut low, mut high) = ((0.0, first, first_slope), (1.0, last, last_slope));
    for _ in 0..ROUNDS {
        let (from, to) = (low.1 - low.2 * low.0, high.1 - high.2 * high.0);
        let share = ((from - to) / (high.2 - low.2)).clamp(low.0, high.0);
        let bound = from + low.2 * share;
        if bound >= margin {
            return (share, bound);
        }
        let (value, slope) = f(share);
        if value - bound <= tolerance || slope.abs() <= flat {
            return (share, value);
        }
        if slope < 0.0 { low = (share, value, slope) } else { high = (share, value, slope) }
    }
    if low.1 < high.1 { (low.0, low.1) } else { (high.0, high.1) }
}

/// Where a convex function passes a level between its lowest place and an end: Newton's method from the end.
fn border(
    f: &impl Fn(f64) -> (f64, f64),
    lowest: f64,
    (end, (mut value, mut slope)): (f64, (f64, f64)),
    level: f64,
) -> f64 {
    let mut share = end;
    for _ in 0..ROUNDS {
        if value <= level || slope == 0.0 || (lowest - share) * slope >= 0.0 {
            break;
        }
        let next = share - (value - level) / slope;
        if (next - share).abs() < 1e-4 || (next - lowest) * (end - lowest) <= 0.0 {
            break;
        }
        share = next;
        (value, slope) = f(share);
    }
    share
}
