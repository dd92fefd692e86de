//! One step: the only place that calls the stages, in the order in which data flows.
//!
//! bodies -> analysis -> untangle -> dynamics (propose) -> contact -> dynamics (finish)

use crate::bodies::{self, Moved};
use crate::contact::{self, CollisionMethod, ContactReport, OrdinaryRules, Part, Proposal};
use crate::dynamics::{self, Guidance, Start};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, VertexId};
use crate::model::Model;
use crate::report::StepReport;
use crate::rest_shape::principal_stretches;
use crate::settings::Settings;
use crate::simulation::World;
use crate::state::State;
use rayon::prelude::*;

/// The stages, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Obstacles have been placed.
    Bodies,
    /// Dynamics has proposed an end of the step.
    Propose,
    /// Vertices have been kept out of solids.
    KeepOut,
    /// A part of contact has changed the proposal.
    Contact(Part),
    /// The next state is made.
    Finish,
}

/// Memory of all stages. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Memory of dynamics.
    pub dynamics: dynamics::Workspace,
    /// Memory of contact.
    pub contact: contact::Workspace,
}

/// Takes one step. `observe` hears of every stage as it ends.
pub fn step(
    world: &World,
    state: &State,
    settings: &Settings,
    length: f64,
    workspace: &mut Workspace,
    observe: &mut dyn FnMut(Stage),
) -> (State, StepReport) {
    let model = &world.model;
    let solids = bodies::place(&world.bodies, state.time, length);
    let surfaces = [state.time, state.time + length].map(|time| world.surfaces.positions_at(&world.bodies, time));
    let guidance = world.guidance(state.time + length);
    observe(Stage::Bodies);
    let start = Start { model, state, environment: &world.environment, step: length };
    let mut proposed = dynamics::propose(&start, &guidance, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Propose);
    let moved = Moved {
        start: &state.positions,
        positions: &mut proposed.positions,
        velocities: &mut proposed.velocities,
        step: length,
    };
    let contacts = bodies::keep_out(&solids, model, &guidance, moved);
    observe(Stage::KeepOut);
    let collision = match settings.collision.method {
        CollisionMethod::Pipeline => {
            keep_apart(&start, world, settings, &guidance, &surfaces, &mut proposed, workspace, observe)
        }
        CollisionMethod::Solids => ContactReport::default(),
    };
    let report = proposed.report;
    let next = dynamics::finish(&start, proposed, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Finish);
    let largest_stretch = largest_stretch(model, &next);
    (next, StepReport { dynamics: report, contacts, collision, largest_stretch })
}

/// The collision pipeline: what it changes takes the mean velocity of the step, from which dynamics finishes.
#[expect(clippy::too_many_arguments, reason = "the values of one step, for one caller")]
fn keep_apart(
    start: &Start,
    world: &World,
    settings: &Settings,
    guidance: &Guidance,
    surfaces: &[Vec<DVec3>; 2],
    proposed: &mut dynamics::Proposal,
    workspace: &mut Workspace,
    observe: &mut dyn FnMut(Stage),
) -> ContactReport {
    let held: Vec<VertexId> = guidance.holds.iter().map(|hold| hold.0).collect();
    let proposal = Proposal {
        cloth: Motion { start: &start.state.positions, end: &proposed.positions },
        obstacles: Motion { start: &surfaces[0], end: &surfaces[1] },
        step: start.step,
        held: &held,
        rules: &OrdinaryRules,
    };
    let resolved =
        world.contact.resolve_observed(&proposal, &settings.collision, &mut workspace.contact, &mut |part| {
            observe(Stage::Contact(part));
        });
    for vertex in resolved.changed.iter().map(|vertex| vertex.index()) {
        proposed.velocities[vertex] = resolved.velocities[vertex];
    }
    proposed.positions = resolved.positions;
    resolved.report
}

/// The largest stretch of a triangle over all directions; 1 is unstretched, 0 where there is no triangle.
pub fn largest_stretch(model: &Model, state: &State) -> f64 {
    let corner = |vertex: VertexId| state.positions[vertex.index()];
    (model.topology.triangles().par_iter().zip(&state.rest_shapes))
        .filter_map(|(corners, shape)| principal_stretches(shape, corners.map(corner)))
        .map(|[largest, _]| largest)
        .reduce(|| 0.0, f64::max)
}
