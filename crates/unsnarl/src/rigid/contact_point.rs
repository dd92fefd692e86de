//! One point of contact: what it presses with so far, and the next impulse. Which points of a pair are watched.
//!
//! Sticking if the sum of impulses stays in the cone of friction, else sliding; rolling and spinning are resisted where
//! it sticks. (Bridson 2003, 4.7, 4.9)

use super::interference::Point;
use super::motion::{Moving, Seen, Step};
use super::response::{compliance, widest};
use super::rolling::{CoupleCompliance, CoupleLengths};
use crate::geometry::DVec3;
use crate::geometry::math::DMat3;

/// Points of a pair that contact watches at most.
const POINTS: usize = 16;

/// A point and what it has done so far.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    pub(super) point: Point,
    /// The approach at which its gap was predicted.
    speed: f64,
    /// Approach that closes the gap within the step, where that is wider than a fall; else it ends at once.
    allowed: f64,
    /// The sum of impulses on the first body.
    pub(super) impulse: DVec3,
    pub(super) couple: DVec3,
    pub(super) k: DMat3,
    k_inverse: DMat3,
    k_normal: f64,
    k_widest: f64,
    /// Where rolling or spinning is resisted.
    couples: Option<Box<CoupleCompliance>>,
}

impl Contact {
    pub(super) fn new(
        point: Point,
        step: &Step<'_>,
        moving: [&Moving; 2],
        seen: [&Seen; 2],
        lengths: CoupleLengths,
    ) -> Self {
        let at = |side: usize| seen[side].velocity + seen[side].spin.cross(point.arms[side]);
        let speed = (at(0) - at(1)).dot(point.normal);
        let (impulse, couple, k) = (DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
        // The gap at the end if the bodies stood still against each other.
        let standing = point.gap - step.look * speed;
        let is_wide = standing > step.fall.length() && step.look > 0.0;
        let allowed = if is_wide { standing / step.look } else { 0.0 };
        let (k_inverse, k_normal, k_widest, couples) = (k, 0.0, 0.0, None);
        let mut new = Self { point, speed, allowed, impulse, couple, k, k_inverse, k_normal, k_widest, couples };
        new.prepare(moving, lengths);
        new
    }

    /// Takes the masses of the bodies as they are now.
    pub(super) fn prepare(&mut self, moving: [&Moving; 2], lengths: CoupleLengths) {
        self.k = compliance(moving, self.point.arms);
        self.k_inverse = self.k.inverse();
        self.k_normal = self.k.mul_vec3(self.point.normal).dot(self.point.normal);
        self.k_widest = widest(&self.k);
        let couples = || Box::new(CoupleCompliance::of(moving, self.point.arms, &self.k_inverse));
        self.couples = (!lengths.is_none()).then(couples);
    }

    pub(super) fn relative(&self, [a, b]: [&Moving; 2]) -> DVec3 {
        a.at(self.point.arms[0]) - b.at(self.point.arms[1])
    }

    /// The gap at the end of the step, at an approach.
    pub(super) fn gap(&self, speed: f64, look: f64) -> f64 {
        self.point.gap + look * (speed - self.speed)
    }

    /// The change of velocity that an impulse would make now; infinite where turning is resisted, which is not judged.
    pub(super) fn pending(&self, moving: [&Moving; 2], look: f64, friction: f64, lengths: CoupleLengths) -> f64 {
        let velocity = self.relative(moving);
        if self.is_idle(velocity.dot(self.point.normal), look) {
            return 0.0;
        }
        if !lengths.is_none() {
            return f64::INFINITY;
        }
        (self.k * (self.total_impulse(velocity, 1.0, friction).0 - self.impulse)).length()
    }

    /// Whether it neither presses nor meets.
    fn is_idle(&self, speed: f64, look: f64) -> bool {
        let pressing = self.impulse.dot(self.point.normal);
        (pressing <= 0.0 && (speed + self.allowed >= 0.0 || self.gap(speed, look) >= 0.0)) || self.k_normal <= 0.0
    }

    /// One impulse, if it is needed: ends a share of the approach. Returns the change of velocity at the point.
    pub(super) fn act(
        &mut self,
        [a, b]: [&mut Moving; 2],
        share: f64,
        look: f64,
        friction: f64,
        lengths: CoupleLengths,
    ) -> f64 {
        let velocity = self.relative([&*a, &*b]);
        if self.is_idle(velocity.dot(self.point.normal), look) {
            return 0.0;
        }
        let (total, sticks) = self.total_impulse(velocity, share, friction);
        let change = total - self.impulse;
        if !change.is_finite() {
            return 0.0;
        }
        self.impulse = total;
        push([&mut *a, &mut *b], &self.point.arms, change);
        let mut moved = (self.k * change).length();
        if sticks && !lengths.is_none() {
            moved = moved.max(self.resist_turning([&mut *a, &mut *b], lengths));
        }
        moved
    }

    /// What the point should have given in all: sticking if that lies in the cone, else sliding.
    fn total_impulse(&self, velocity: DVec3, share: f64, friction: f64) -> (DVec3, bool) {
        let normal = self.point.normal;
        let velocity = velocity + self.allowed * normal;
        let speed = velocity.dot(normal);
        let stick = self.impulse + self.k_inverse * ((1.0 - share) * speed * normal - velocity);
        let along = stick.dot(normal);
        if along >= 0.0 && (stick - along * normal).length() <= friction * along {
            return (stick, true);
        }
        let pressing = self.impulse.dot(normal);
        let pressed = (pressing - share * speed / self.k_normal).max(0.0);
        let after = velocity + self.k * ((pressed - pressing) * normal);
        let sliding = after - after.dot(normal) * normal;
        let rubbing = self.impulse - pressing * normal - sliding / self.k_widest;
        let rubbing = rubbing - rubbing.dot(normal) * normal;
        (pressed * normal + rubbing.clamp_length_max(friction * pressed), false)
    }

    /// Rolling and spinning friction.
    fn resist_turning(&mut self, [a, b]: [&mut Moving; 2], lengths: CoupleLengths) -> f64 {
        let Some(couples) = &self.couples else { return 0.0 };
        let normal = self.point.normal;
        let spin = a.spin - b.spin;
        let total = couples.couple(self.couple, spin, normal, self.impulse.dot(normal).max(0.0), lengths);
        let change = total - self.couple;
        let holding = couples.holding_impulse(change, &self.k_inverse);
        if !(change.is_finite() && holding.is_finite()) || change == DVec3::ZERO {
            return 0.0;
        }
        self.couple = total;
        self.impulse += holding;
        a.turn(change);
        b.turn(-change);
        push([&mut *a, &mut *b], &self.point.arms, holding);
        let reach = self.point.arms[0].length().min(self.point.arms[1].length());
        couples.turn_by(change) * reach
    }
}

pub(super) fn push([a, b]: [&mut Moving; 2], arms: &[DVec3; 2], impulse: DVec3) {
    a.push(arms[0], impulse);
    b.push(arms[1], -impulse);
}

/// Keeps the deepest point, those that pressed before, and those farthest from each other, in place and direction.
pub(super) fn thin_out(points: &mut Vec<Point>, pressed: impl Fn(&Point) -> bool) {
    if points.len() <= POINTS {
        return;
    }
    let size_squared = points.iter().map(|point| point.arms[0].distance_squared(points[0].arms[0])).fold(0.0, f64::max);
    let apart = |k: &Point, l: &Point| {
        let way = k.arms[0].distance_squared(l.arms[0]) / size_squared.max(f64::MIN_POSITIVE);
        // Points that only come near count less than those that meet.
        (way + k.normal.distance_squared(l.normal)) * if k.gap < 0.0 { 1.0 } else { 0.1 }
    };
    let first = (0..points.len()).min_by(|&k, &l| points[k].gap.total_cmp(&points[l].gap)).unwrap_or(0);
    let before = (0..points.len()).filter(|&at| at != first && pressed(&points[at]));
    let mut chosen: Vec<usize> = std::iter::once(first).chain(before).take(POINTS).collect();
    let from_chosen = |point: &Point| chosen.iter().map(|&at| apart(point, &points[at])).fold(f64::INFINITY, f64::min);
    let mut least: Vec<f64> = points.iter().map(from_chosen).collect();
    while chosen.len() < POINTS {
        let next = (0..points.len()).max_by(|&k, &l| least[k].total_cmp(&least[l])).unwrap_or(0);
        chosen.push(next);
        for (least, point) in least.iter_mut().zip(points.iter()) {
            *least = least.min(apart(point, &points[next]));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    *points = chosen.into_iter().map(|at| points[at]).collect();
}
