//! Shock propagation: one last sweep from the ground up; what is done with a level does not move any more for those
//! above. (Bridson 2003, 4.8.2)
//!
//! Departs: bodies that rest on nothing fixed keep their mass, so that groups in free flight keep their momentum.

use super::contact::{Contacts, Island};
use super::motion::Step;
use rayon::prelude::*;

/// Stops what approach is left; velocities of the step are those afterwards. Returns the impulses.
pub(super) fn propagate(contacts: &mut Contacts, step: &mut Step<'_>) -> usize {
    let before: usize = contacts.islands.iter().map(|island| island.impulses).sum();
    let levels = &contacts.levels;
    let moving = contacts.islands.par_iter_mut().filter(|island| !island.is_at_rest);
    moving.for_each(|island| sweep(island, step, &levels.level, &levels.is_held));
    contacts.store(step);
    contacts.islands.iter().map(|island| island.impulses).sum::<usize>() - before
}

fn sweep(island: &mut Island, step: &Step<'_>, levels: &[u32], is_held: &[bool]) {
    let masses: Vec<_> = island.moving.iter().map(|moving| (moving.inverse_mass, moving.inverse_inertia)).collect();
    island.start_sweep(step.look);
    for range in island.level_ranges() {
        let level = island.pairs[range.start].level;
        for (moving, &body) in island.moving.iter_mut().zip(&island.bodies) {
            if is_held[body] && levels[body] < level {
                moving.freeze();
            }
        }
        range.clone().for_each(|pair| island.prepare(pair));
        island.passes(range, 1.0, step.look, step.settings.shock_passes, step.settings.tolerance);
    }
    for (moving, mass) in island.moving.iter_mut().zip(masses) {
        (moving.inverse_mass, moving.inverse_inertia) = mass;
    }
}
