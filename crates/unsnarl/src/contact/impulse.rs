//! Collision impulses: the second stage, in rounds. (Bridson 2003, 2.8)
//!
//! Guarantees: an empty answer means that the whole motion is clear.
//! Does not: always settle; what collides after the last round goes to the impact zones.
//! Departs: collisions of a round are handled one after the other, in order of time, and each also makes up for what was
//! missing of the separation at the start. Where layers press inside the solve, a round adds what it finds to all contacts of the step,
//! proximities included, and impulses go round among them until they settle. After the first round only pairs with a vertex that
//! moved are looked at.

use super::constraints::{Constraint, Constraints};
use super::detect::{Collision, Moved, collisions};
use super::proximity::side_mean;
use super::report::ContactReport;
use super::response::Contact;
use super::settings::{ContactSettings, LayerMethod};
use super::{ContactInput, Path, SUPPORT_ROUNDS, Workspace};

/// Sweeps through all contacts after which a round ends.
const SWEEPS: u32 = 16;

/// Stops colliding pairs by impulses; returns what still collides.
pub(super) fn collide(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    constraints: &mut Constraints,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) -> Vec<Collision> {
    let mut found = collisions(input, settings, path, Moved::All, workspace, report);
    report.collisions += found.len();
    for round in 0..settings.impulse_rounds {
        let is_known = round >= SUPPORT_ROUNDS && path.has_found_supports();
        if found.is_empty() || is_known || path.asks_to_stop() {
            break;
        }
        report.impulse_rounds += 1;
        let before = constraints.now();
        let sweeps = match settings.layers {
            LayerMethod::Impulses => {
                constraints.clear();
                1
            }
            LayerMethod::Implicit => SWEEPS,
        };
        found.iter().for_each(|collision| constraints.add(constraint(input, collision)));
        constraints.settle(input, path, sweeps);
        for constraint in constraints.pushed() {
            path.note_push(constraint);
        }
        let vertices = constraints.changed_since(before);
        path.follow(&vertices);
        // What collides is looked at again even if no impulse could help it.
        let mut moved = vec![false; path.end.len()];
        let colliding = found.iter().flat_map(|collision| collision.stencil.vertices);
        for vertex in vertices.into_iter().chain(colliding) {
            moved[vertex.index()] = input.inverse_mass[vertex.index()] > 0.0;
        }
        found = collisions(input, settings, path, Moved::Marked(&moved), workspace, report);
        report.collisions += found.len();
    }
    found
}

/// A completely inelastic impulse at the point of contact, with friction.
fn constraint(input: &ContactInput, collision: &Collision) -> Constraint {
    let contact = Contact {
        stencil: collision.stencil,
        normal: collision.normal,
        friction: side_mean(&collision.stencil, input.friction),
    };
    let gap_at_start = collision.stencil.apply(input.start).dot(collision.normal);
    let missing = 1.1 * collision.separation - gap_at_start;
    let thickness = side_mean(&collision.stencil, input.thickness);
    let gap = gap_at_start.min(thickness).max(1.1 * collision.separation);
    Constraint::new(collision.pair, contact, (missing / input.step).max(0.0), gap)
}
