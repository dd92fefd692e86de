//! Collision impulses: the second stage, in rounds. (Bridson 2003, 2.8)
//!
//! Guarantees: an empty answer means that the whole motion is clear.
//! Does not: always settle; what collides after the last round goes to the impact zones.
//! Departs: collisions of a round are handled one after the other, in order of time, and each also makes up for what
//! was missing of the separation at the start. After the first round only pairs with a vertex that moved are looked at.

use super::detect::{Collision, Moved, collisions};
use super::proximity::side_mean;
use super::report::ContactReport;
use super::response::{Contact, Given};
use super::settings::ContactSettings;
use super::{ContactInput, Path, SUPPORT_ROUNDS, Workspace};
use crate::geometry::VertexId;

/// Stops colliding pairs by impulses; returns what still collides.
pub(super) fn collide(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
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
        let mut moved = vec![false; path.end.len()];
        for collision in &found {
            stop(input, path, collision);
            for vertex in collision.stencil.vertices {
                moved[vertex.index()] |= input.inverse_mass[vertex.index()] > 0.0;
            }
        }
        let vertices: Vec<VertexId> = (0..moved.len()).filter(|&at| moved[at]).map(VertexId::new).collect();
        path.follow(&vertices);
        found = collisions(input, settings, path, Moved::Marked(&moved), workspace, report);
        report.collisions += found.len();
    }
    found
}

/// A completely inelastic impulse at the point of contact, with friction.
fn stop(input: &ContactInput, path: &mut Path, collision: &Collision) {
    let contact = Contact {
        stencil: collision.stencil,
        normal: collision.normal,
        friction: side_mean(&collision.stencil, input.friction),
    };
    let gap_at_start = collision.stencil.apply(input.start).dot(collision.normal);
    let missing = 1.1 * collision.separation - gap_at_start;
    let target = (missing / input.step).max(0.0);
    if contact.push(target, None, &mut Given::default(), input.inverse_mass, &mut path.velocities) > 0.0 {
        let thickness = side_mean(&collision.stencil, input.thickness);
        path.note_push(collision.pair, &contact, gap_at_start.min(thickness).max(1.1 * collision.separation));
    }
}
