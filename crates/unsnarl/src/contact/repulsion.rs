//! Repulsions: the first stage. Pairs within thickness stop approaching and are pushed apart gently. (Bridson 2003, 2.6)
//!
//! Guarantees: repulsion never makes two points separate faster than `recovery` times their overlap per step, so cloth in
//! contact stays in contact and feels friction in the next step too.
//! Does not: prevent every collision; the later stages do.
//! Departs: the cap is a fraction of the overlap `d`, as in the printed formula, with the factor 1/2 that the
//! distribution of 2.5 asks for. Pairs are handled one after the other, in pair order, in several passes; the spring acts
//! in the first. Pairs that had a cushion in the implicit solve have no other spring, and their friction knows what it pushed.

use super::constraints::{Constraint, Constraints};
use super::proximity::Nearby;
use super::report::ContactReport;
use super::response::{Manner, Spring};
use super::settings::{ContactSettings, LayerMethod};
use super::{ContactInput, Path, Workspace};

/// Changes of a relative velocity that move by less than this part of the separation in a step are not made.
const NEGLIGIBLE: f64 = 0.02;

/// The part of its gap by which a pair with a cushion may approach: the cushion knows the load.
const YIELD: f64 = 0.75;

/// Repels all pairs within thickness; returns them as the first contacts of the step.
pub(super) fn repel(
    input: &ContactInput,
    settings: &ContactSettings,
    path: &mut Path,
    workspace: &mut Workspace,
    report: &mut ContactReport,
) -> Constraints {
    let found;
    let nearby = match path.nearby {
        Some(nearby) => nearby,
        None => {
            found = Nearby::find(input, workspace);
            &found
        }
    };
    let proximities = &nearby.proximities;
    report.proximities = proximities.len();
    report.smallest_gap = proximities.iter().map(|proximity| proximity.distance).reduce(f64::min);
    let manner = match settings.layers {
        LayerMethod::Impulses => Manner::default(),
        LayerMethod::Implicit => Manner { gives_back: true, negligible: NEGLIGIBLE * settings.separation / input.step },
    };
    let mut constraints = Constraints::new(path.end.len(), manner);
    for (proximity, cushioned) in proximities.iter().zip(&nearby.cushioned) {
        let contact = proximity.contact(input);
        let target = if cushioned.is_some() { -YIELD * proximity.distance / input.step } else { 0.0 };
        let mut constraint = Constraint::new(proximity.pair, contact, target, proximity.distance);
        constraint.given.sprung = cushioned.unwrap_or(0.0) * proximity.stencil.compliance(input.inverse_mass);
        constraints.add(constraint);
    }
    let before = constraints.now();
    constraints.spring(input, path, |at| {
        let overlap = proximities[at].thickness - proximities[at].distance;
        let stiffness_step = settings.stiffness * input.step;
        let spring = Spring { overlap, stiffness_step, speed_limit: settings.recovery * overlap / input.step };
        nearby.cushioned[at].is_none().then_some(spring)
    });
    constraints.settle(input, path, settings.repulsion_passes.saturating_sub(1));
    for constraint in constraints.pushed() {
        path.note_push(constraint);
    }
    report.repulsions = constraints.pushed().count();
    path.follow(&constraints.changed_since(before));
    constraints
}
