//! Collisions: impulses on the velocities of before the step, at placements predicted with the velocities of after it.
//!
//! Rounds over all pairs that meet; bodies stand still within a pair, and its points are treated deepest first until
//! each has separated once. Rounds go on while a shock still travels through elastic bodies. (Bridson 2003, 4.6)

use super::broad::Broad;
use super::interference::{Point, View, points};
use super::motion::{Frame, Step};
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
    /// Bodies whose velocity changed after their points were found.
    pub is_off: Vec<bool>,
}

/// Treats all collisions of a step; `kicks` are what velocities and angular momenta gain afterwards.
pub(super) fn collide(step: &mut Step<'_>, kicks: &[(DVec3, DVec3)], broad: &mut Broad) -> Collided {
    let mut then: Vec<Frame> = (0..kicks.len()).map(|body| step.ahead(body, kicks[body])).collect();
    let mut found: Vec<Vec<Point>> = Vec::new();
    let mut changed = vec![true; kicks.len()];
    let (mut impulses, mut first_approach) = (0, 0.0f64);
    let mut touched = vec![false; kicks.len()];
    let rounds = step.settings.collision_rounds;
    for round in 0..rounds + kicks.len() {
        if broad.ensure(step, &then) || round == 0 {
            found = vec![Vec::new(); broad.pairs().len()];
            changed.fill(true);
        }
        let (pairs, near) = broad.with_near();
        let all = found.par_iter_mut().zip(pairs).zip(near).with_min_len(16);
        all.for_each(|((found, &[a, b]), near)| {
            if changed[a] || changed[b] {
                let margin = step.slack(a) + step.slack(b);
                *found = points(step, [View::of(step, &then, a), View::of(step, &then, b)], margin, near);
            }
        });
        changed.fill(false);
        let (mut approach, mut elastic) = (0.0f64, false);
        for (points, &pair) in found.iter().zip(pairs).filter(|(points, _)| !points.is_empty()) {
            let (count, fastest) = separate(step, pair, points);
            if count > 0 {
                impulses += count;
                pair.iter().for_each(|&body| (changed[body], touched[body]) = (true, true));
                approach = approach.max(fastest);
                elastic |= restitution(step, pair) > 0.0;
            }
        }
        first_approach = first_approach.max(approach);
        let group = touched.iter().filter(|&&touched| touched).count();
        let travels = elastic && approach > TRAVELLING * first_approach && round < rounds + group;
        if approach == 0.0 || (round + 1 >= rounds && !travels) {
            break;
        }
        for body in (0..kicks.len()).filter(|&body| changed[body]) {
            then[body] = step.ahead(body, kicks[body]);
        }
    }
    Collided { impulses, points: found, is_off: changed }
}

fn restitution(step: &Step<'_>, [a, b]: [usize; 2]) -> f64 {
    step.bodies.bodies[a].restitution.min(step.bodies.bodies[b].restitution)
}

/// Impulses at the points of a pair until each has separated once; how many, and the fastest approach.
fn separate(step: &mut Step<'_>, [a, b]: [usize; 2], points: &[Point]) -> (usize, f64) {
    let restitution = restitution(step, [a, b]);
    let friction = step.bodies.bodies[a].friction.max(step.bodies.bodies[b].friction);
    let mut open: Vec<usize> = (0..points.len()).filter(|&at| points[at].gap < 0.0).collect();
    let (mut count, mut fastest) = (0, 0.0f64);
    for _ in 0..4 * points.len() {
        let relative = |at: usize| step.moving[a].at(points[at].arms[0]) - step.moving[b].at(points[at].arms[1]);
        open.retain(|&at| relative(at).dot(facing(&points[at], relative(at), step.fall)) < -step.negligible);
        let Some(&deepest) = open.iter().min_by(|&&k, &&l| points[k].gap.total_cmp(&points[l].gap)) else { break };
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
