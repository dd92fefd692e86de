//! First-order separation: bodies that would end the step inside each other are pushed apart, without a change of
//! velocity.
//!
//! Level by level as in shock propagation, by gradually more of the depth; levels below stand still. (Bridson 2003,
//! 4.11)
//!
//! Guarantees: bodies no deeper than [`ALLOWED`] stay where they are, so that what is at rest stays so.

use super::contact::{Contacts, Island};
use super::contact_point::Contact;
use super::motion::{Moving, Step};
use super::response::compliance;
use crate::geometry::DVec3;
use rayon::prelude::*;

/// Depth that is left alone, as a share of the smaller body's radius.
pub(super) const ALLOWED: f64 = 1e-4;
/// Share of the depth that one step takes away at most.
const SHARE: f64 = 0.5;
const ROUNDS: usize = 8;

/// How far each body moves and turns; `None` if nothing is too deep.
pub(super) fn shifts(contacts: &Contacts, step: &Step<'_>) -> Vec<(usize, DVec3, DVec3)> {
    let of = |island: &Island| push_apart(island, step, &contacts.levels.level, &contacts.levels.is_held);
    let lists: Vec<Vec<(usize, DVec3, DVec3)>> = contacts.islands.par_iter().map(of).collect();
    lists.concat()
}

/// A point that is too deep.
struct Deep {
    local: [usize; 2],
    level: u32,
    arms: [DVec3; 2],
    normal: DVec3,
    /// How much of the depth is to go, and the impulse so far.
    excess: f64,
    pressed: f64,
}

fn push_apart(island: &Island, step: &Step<'_>, levels: &[u32], is_held: &[bool]) -> Vec<(usize, DVec3, DVec3)> {
    let mut deep = too_deep(island, step);
    if !deep.iter().any(|point| point.excess > 0.0) {
        return Vec::new();
    }
    let still = |moving: &Moving| Moving { velocity: DVec3::ZERO, spin: DVec3::ZERO, ..*moving };
    let mut moving: Vec<Moving> = island.moving.iter().map(still).collect();
    for chunk in deep.chunk_by_mut(|a, b| a.level == b.level) {
        for (moving, &body) in moving.iter_mut().zip(&island.bodies) {
            if is_held[body] && levels[body] < chunk[0].level {
                moving.freeze();
            }
        }
        for round in 1..=ROUNDS {
            let share = SHARE * round as f64 / ROUNDS as f64;
            for point in chunk.iter_mut() {
                let [a, b] = point.local;
                let k = compliance([&moving[a], &moving[b]], point.arms);
                let k_normal = k.mul_vec3(point.normal).dot(point.normal);
                if k_normal <= 0.0 {
                    continue;
                }
                let apart = (moving[a].at(point.arms[0]) - moving[b].at(point.arms[1])).dot(point.normal);
                let wanted = if point.excess > 0.0 { share * point.excess } else { point.excess };
                let pressed = (point.pressed + (wanted - apart) / k_normal).max(0.0);
                let impulse = (pressed - point.pressed) * point.normal;
                point.pressed = pressed;
                moving[a].push(point.arms[0], impulse);
                moving[b].push(point.arms[1], -impulse);
            }
        }
    }
    let shift = |(moving, &body): (&Moving, &usize)| (body, moving.velocity, moving.spin);
    let moved = |&(_, shift, turn): &(usize, DVec3, DVec3)| shift != DVec3::ZERO || turn != DVec3::ZERO;
    moving.iter().zip(&island.bodies).map(shift).filter(moved).collect()
}

/// Every point with its depth at the end of the step beyond what is allowed; negative where there is room.
fn too_deep(island: &Island, step: &Step<'_>) -> Vec<Deep> {
    let size = |body: usize| step.bodies.shape(body).radius();
    island
        .pairs
        .iter()
        .flat_map(|pair| {
            let allowed = ALLOWED * size(pair.global[0]).min(size(pair.global[1]));
            let moving = pair.local.map(|body| &island.moving[body]);
            pair.contacts.iter().map(move |contact: &Contact| {
                let gap = contact.gap(contact.relative(moving).dot(contact.point.normal), step.look);
                let (arms, normal) = (contact.point.arms, contact.point.normal);
                Deep { local: pair.local, level: pair.level, arms, normal, excess: -gap - allowed, pressed: 0.0 }
            })
        })
        .collect()
}
