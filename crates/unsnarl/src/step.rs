//! One step: the only place that calls the stages, in the order in which data flows.
//!
//! bodies -> analysis -> untangle -> dynamics (propose) -> contact -> dynamics (finish)

use crate::bodies::{self, Moved};
use crate::dynamics::{self, Start};
use crate::geometry::VertexId;
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
    /// Contact has changed it.
    Contact,
    /// The next state is made.
    Finish,
}

/// Memory of all stages. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Memory of dynamics.
    pub dynamics: dynamics::Workspace,
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
    let obstacles = bodies::place(&world.bodies, state.time, length);
    let guidance = world.guidance(state.time + length);
    observe(Stage::Bodies);
    let start = Start { model, state, environment: &world.environment, step: length };
    let mut proposed = dynamics::propose(&start, &guidance, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Propose);
    let contacts = bodies::keep_out(
        &obstacles,
        model,
        &guidance,
        Moved {
            start: &state.positions,
            positions: &mut proposed.positions,
            velocities: &mut proposed.velocities,
            step: length,
        },
    );
    observe(Stage::Contact);
    let report = proposed.report;
    let next = dynamics::finish(&start, proposed, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Finish);
    let largest_stretch = largest_stretch(model, &next);
    (next, StepReport { dynamics: report, contacts, largest_stretch })
}

/// The largest stretch of a triangle over all directions; 1 is unstretched, 0 where there is no triangle.
pub fn largest_stretch(model: &Model, state: &State) -> f64 {
    let corner = |vertex: VertexId| state.positions[vertex.index()];
    (model.topology.triangles().par_iter().zip(&state.rest_shapes))
        .filter_map(|(corners, shape)| principal_stretches(shape, corners.map(corner)))
        .map(|[largest, _]| largest)
        .reduce(|| 0.0, f64::max)
}
