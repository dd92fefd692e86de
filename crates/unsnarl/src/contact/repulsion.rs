//! Repulsions: the first stage. Pairs within thickness stop approaching and are pushed apart gently. (Bridson 2003, 2.6)
//!
//! Guarantees: repulsion never makes two points separate faster than `recovery` times their overlap per step, so cloth in
//! contact stays in contact and feels friction in the next step too.
//! Does not: prevent every collision; the later stages do.
//! Departs: the cap is a fraction of the overlap `d`, as in the printed formula, with the factor 1/2 that the
//! distribution of 2.5 asks for. Pairs are handled one after the other, in pair order, in several passes; the spring acts
//! in the first.

use super::proximity::{find_proximities, side_mean};
use super::report::ContactReport;
use super::response::{Contact, Given, Spring};
use super::settings::ContactSettings;
use super::{ContactInput, Path, Workspace};
use crate::geometry::VertexId;

/// Repels all pairs within thickness.
pub(super) fn repel(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) {
    let proximities = find_proximities(input, workspace);
    report.proximities = proximities.len();
    report.smallest_gap = proximities.iter().map(|proximity| proximity.distance).reduce(f64::min);
    let mut given = vec![Given::default(); proximities.len()];
    let mut moved = vec![false; path.end.len()];
    for pass in 0..settings.repulsion_passes {
        for (proximity, given) in proximities.iter().zip(&mut given) {
            let overlap = proximity.thickness - proximity.distance;
            let spring = (pass == 0).then(|| Spring {
                overlap,
                stiffness_step: settings.stiffness * input.step,
                speed_limit: settings.recovery * overlap / input.step,
            });
            let contact = Contact {
                stencil: proximity.stencil,
                normal: proximity.normal,
                friction: side_mean(&proximity.stencil, input.friction),
            };
            contact.push(0.0, spring, given, input.inverse_mass, &mut path.velocities);
            if given.pushed > 0.0 {
                path.note_push(proximity.pair, &contact, proximity.distance);
                for vertex in proximity.stencil.vertices {
                    moved[vertex.index()] |= input.inverse_mass[vertex.index()] > 0.0;
                }
            }
        }
    }
    report.repulsions = given.iter().filter(|given| given.pushed > 0.0).count();
    let moved: Vec<VertexId> = (0..moved.len()).filter(|&at| moved[at]).map(VertexId::new).collect();
    path.follow(&moved);
}
