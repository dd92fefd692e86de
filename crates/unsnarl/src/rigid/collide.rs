//! Collisions: impulses on the velocities of before the step, at placements predicted with the velocities of after it.
//!
//! Rounds over all pairs that meet; bodies stand still within a pair, and its points are treated deepest first until
//! each has separated once. Rounds go on while a shock still travels through elastic bodies. Between rounds gaps follow
//! velocities to first order; points are looked for again where bodies leave what was foreseen. (Bridson 2003, 4.6)

use super::broad::Broad;
use super::groups::Groups;
use super::interference::{Point, View, points};
use super::motion::{Seen, Step};
use super::response::{collision_impulse, compliance};
use crate::geometry::DVec3;
use rayon::prelude::*;

/// A round after the usual number is worth its time while it treats approach above this share of the first round's.
const TRAVELLING: f64 = 0.01;

/// What collisions did, and what they found.
pub(super) struct Collided {
    pub impulses: usize,
    /// Points of each pair, those included that are only near.
    pub points: Vec<Vec<Point>>,
    /// With what velocities they were found.
    pub seen: Vec<Seen>,
}

/// Treats all collisions of a step; `kicks` are what velocities and angular momenta gain afterwards.
pub(super) fn collide(step: &mut Step<'_>, kicks: &[(DVec3, DVec3)], broad: &mut Broad) -> Collided {
    let count = kicks.len();
    let mut seen: Vec<Seen> = (0..count).map(|body| step.ahead(body, kicks[body])).collect();
    let mut found: Vec<Vec<Point>> = Vec::new();
    let mut is_off = vec![true; count];
    let (mut impulses, mut first_approach) = (0, 0.0f64);
    let mut groups = Groups::new(count);
    let rounds = step.settings.collision_rounds;
    // A bounce slower than what gravity adds in a step is over within the next one.
    let resting = step.fall.length() / step.duration;
    for round in 0..rounds + count {
        if broad.ensure(step, &seen) || round == 0 {
            found = vec![Vec::new(); broad.pairs().len()];
            is_off.fill(true);
        }
        look(step, broad, &seen, &is_off, &mut found);
        let mut changed = vec![false; count];
        let (mut approach, mut elastic) = (0.0f64, false);
        for (points, &pair) in found.iter().zip(broad.pairs()).filter(|(points, _)| !points.is_empty()) {
            let (count, fastest) = separate(step, pair, points, kicks, &seen);
            if count > 0 {
                impulses += count;
                pair.iter().for_each(|&body| changed[body] = true);
                if pair.iter().all(|&body| step.moving[body].inverse_mass > 0.0) {
                    groups.join(pair);
                }
                approach = approach.max(fastest);
                elastic |= restitution(step, pair) > 0.0;
            }
        }
        first_approach = first_approach.max(approach);
        for body in 0..count {
            let (velocity, spin) = step.kicked(body, kicks[body]);
            is_off[body] = changed[body] && step.is_off(body, velocity, spin, &seen[body]);
        }
        let is_last = round + 1 >= rounds && {
            let travels = elastic && approach > (TRAVELLING * first_approach).max(resting);
            !travels || round >= rounds + groups.largest()
        };
        if approach == 0.0 || is_last {
            break;
        }
        for body in (0..count).filter(|&body| is_off[body]) {
            seen[body] = step.ahead(body, kicks[body]);
        }
    }
    Collided { impulses, points: found, seen }
}

/// Looks for the points of all pairs with a body that left what was foreseen.
fn look(step: &Step<'_>, broad: &mut Broad, seen: &[Seen], is_off: &[bool], found: &mut [Vec<Point>]) {
    let (pairs, near) = broad.with_near();
    let all = found.par_iter_mut().zip(pairs).zip(near).with_min_len(16);
    all.for_each(|((found, &[a, b]), near)| {
        if is_off[a] || is_off[b] {
            let margin = step.slack(a) + step.slack(b);
            *found = points(step, [View::of(step, seen, a), View::of(step, seen, b)], margin, near);
        }
    });
}

fn restitution(step: &Step<'_>, [a, b]: [usize; 2]) -> f64 {
    step.bodies.bodies[a].restitution.min(step.bodies.bodies[b].restitution)
}

/// Impulses at the points of a pair until each has separated once; how many, and the fastest approach.
fn separate(
    step: &mut Step<'_>,
    [a, b]: [usize; 2],
    points: &[Point],
    kicks: &[(DVec3, DVec3)],
    seen: &[Seen],
) -> (usize, f64) {
    let restitution = restitution(step, [a, b]);
    let friction = step.bodies.bodies[a].friction.max(step.bodies.bodies[b].friction);
    let kicked = [a, b].map(|body| step.kicked(body, kicks[body]));
    let gap = |point: &Point| {
        let change = |side: usize, body: usize| seen[body].change(kicked[side].0, kicked[side].1, point.arms[side]);
        point.gap + step.look * (change(0, a) - change(1, b)).dot(point.predicted_normal)
    };
    let mut open: Vec<(f64, usize)> = points.iter().map(gap).zip(0..).filter(|&(gap, _)| gap < 0.0).collect();
    open.sort_by(|k, l| k.0.total_cmp(&l.0));
    let (mut count, mut fastest) = (0, 0.0f64);
    for _ in 0..4 * points.len() {
        let relative = |at: usize| step.moving[a].at(points[at].arms[0]) - step.moving[b].at(points[at].arms[1]);
        open.retain(|&(_, at)| relative(at).dot(facing(&points[at], relative(at), step.fall)) < -step.negligible);
        let Some(&(_, deepest)) = open.first() else { break };
        let point = &points[deepest];
        let velocity = relative(deepest);
        let normal = facing(point, velocity, step.fall);
        let k = compliance([&step.moving[a], &step.moving[b]], point.arms);
        let impulse = collision_impulse(&k, velocity, normal, restitution, friction);
        if !impulse.is_finite() {
            break;
        }
        step.moving[a].push(point.arms[0], impulse);
        step.moving[b].push(point.arms[1], -impulse);
        fastest = fastest.max(-velocity.dot(normal));
        count += 1;
    }
    (count, fastest)
}

/// The normal now; that of the prediction where a point still outside comes in through another side.
fn facing(point: &Point, velocity: DVec3, fall: DVec3) -> DVec3 {
    let enters = point.gap_now > fall.length() && velocity.dot(point.normal) >= 0.0;
    if enters { point.predicted_normal } else { point.normal }
}
