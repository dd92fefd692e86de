//! One step: the only place that calls the stages, in the order in which data flows.
//!
//! bodies -> analysis -> untangle -> dynamics (propose) -> contact -> dynamics (finish)

use crate::analysis::{self, Tangle};
use crate::bodies::{self, Moved, Press};
use crate::contact::{self, CollisionMethod, ContactReport, Part, Proposal, Resolved};
use crate::dynamics::{self, Hold, Start};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, VertexId};
use crate::model::Model;
use crate::report::StepReport;
use crate::rest_shape::principal_stretches;
use crate::settings::{Flypaper, Settings};
use crate::simulation::World;
use crate::state::State;
use crate::untangle::esef::Pull;
use crate::untangle::pinch;
use crate::untangle::shortening::{self, Shortening};
use crate::untangle::{self, Method, Remedy, Situation, flypaper};
use rayon::prelude::*;
use std::borrow::Cow;

/// The stages, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Obstacles have been placed.
    Bodies,
    /// What crosses at the start is known.
    Analysis,
    /// What to do about it is decided.
    Untangle,
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
    /// Memory of analysis.
    pub analysis: analysis::Workspace,
    /// Memory of contact.
    pub contact: contact::Workspace,
    /// Memory of the search for pinches.
    pub pinch: analysis::Workspace,
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
    observe(Stage::Bodies);
    let positions = [state.positions.as_slice(), &surfaces[0]].concat();
    let tangle = tangle(world, &positions, settings, &mut workspace.analysis);
    let contours = tangle.contours.len();
    observe(Stage::Analysis);
    let pinched = stuck(world, &state.positions, &surfaces, settings, &mut workspace.pinch);
    let held: Vec<VertexId> = pinched.iter().map(|hold| hold.0).collect();
    let tangle = pinch::without_pinched(world.assembly.topology(), tangle, &held);
    let Shortening { remedy, pulls } = remedy(world, state, &positions, &tangle, length, settings);
    let treated = treated(state, &remedy, pulls);
    let state = &*treated;
    let mut guidance = remedy.guidance.clone();
    guidance.holds.extend(&pinched);
    guidance.holds.extend(world.guidance(state.time + length).holds);
    observe(Stage::Untangle);
    let start = Start { model, state, environment: &world.environment, step: length };
    let mut proposed = dynamics::propose(&start, &guidance, &settings.dynamics, &mut workspace.dynamics);
    let presses = bodies::presses(&solids, model, &guidance, &state.positions, &proposed.positions, length);
    if !presses.is_empty() {
        let mut pressed = guidance.clone();
        pressed.holds.extend(presses.iter().map(Press::hold));
        let free = proposed.report;
        proposed = dynamics::propose(&start, &pressed, &settings.dynamics, &mut workspace.dynamics);
        proposed.report.join(free);
    }
    observe(Stage::Propose);
    let mut moved = Moved {
        start: &state.positions,
        positions: &mut proposed.positions,
        velocities: &mut proposed.velocities,
        step: length,
    };
    bodies::rub_presses(&presses, &mut moved);
    let contacts = bodies::keep_out(&solids, model, &guidance, moved).max(presses.len());
    observe(Stage::KeepOut);
    let collision = match settings.collision.method {
        CollisionMethod::Pipeline => {
            let held: Vec<VertexId> = guidance.holds.iter().map(|hold| hold.0).collect();
            let proposal = Proposal {
                cloth: Motion { start: &state.positions, end: &proposed.positions },
                obstacles: Motion { start: &surfaces[0], end: &surfaces[1] },
                step: length,
                held: &held,
                rules: &remedy.rules,
            };
            let mut listen = |part| observe(Stage::Contact(part));
            let memory = &mut workspace.contact;
            let resolved = world.contact.resolve_observed(&proposal, &settings.collision, memory, &mut listen);
            take_over(resolved, &mut proposed)
        }
        CollisionMethod::Solids => ContactReport::default(),
    };
    let mut report = StepReport {
        dynamics: proposed.report,
        contacts,
        collision,
        contours,
        red_vertices: tangle.colours.red_vertices.len(),
        pulls: state.pulls.len(),
        pinched: pinched.len(),
        largest_stretch: 0.0,
    };
    let next = dynamics::finish(&start, proposed, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Finish);
    report.largest_stretch = largest_stretch(model, &next);
    (next, report)
}

/// What crosses at the start of the step, where somebody wants to know.
fn tangle(world: &World, positions: &[DVec3], settings: &Settings, memory: &mut analysis::Workspace) -> Tangle {
    let wanted = settings.untangle.method != Method::Off && settings.collision.method == CollisionMethod::Pipeline;
    if wanted { analysis::analyze(&world.assembly, positions, memory) } else { Tangle::default() }
}

/// What the untangler asks for, and what it remembers.
fn remedy(
    world: &World,
    state: &State,
    positions: &[DVec3],
    tangle: &Tangle,
    length: f64,
    settings: &Settings,
) -> Shortening {
    let untangle = &settings.untangle;
    if tangle.is_empty() || !untangle.method.is_classic() {
        let around = (world.assembly.topology(), world.sizes.as_slice());
        return shortening::shorten(&world.model, around, &state.pulls, tangle, length, untangle);
    }
    let situation = Situation {
        assembly: &world.assembly,
        positions,
        tangle,
        local_size: &world.sizes,
        masses: &world.model.masses,
        step: length,
        separation: settings.collision.separation,
    };
    let remedy = untangle::plan(untangle.method, &situation, &untangle.classic).remedy;
    Shortening { remedy, pulls: state.pulls.clone() }
}

/// The vertices that bodies pinch, and where they carry them.
fn stuck(
    world: &World,
    cloth: &[DVec3],
    [start, end]: &[Vec<DVec3>; 2],
    settings: &Settings,
    memory: &mut analysis::Workspace,
) -> Vec<(VertexId, Hold)> {
    if settings.untangle.flypaper == Flypaper::Off || start.is_empty() {
        return Vec::new();
    }
    let meshes = &world.body_meshes;
    let tangle = analysis::analyze(meshes.assembly(), start, memory);
    let pinches = pinch::find(meshes, start, &tangle, cloth, &settings.untangle.pinch);
    flypaper::goals(meshes, [start, end], cloth, &pinches, &world.flypaper_weights)
}

/// The state with the rest shapes and stiffnesses that the remedy asks for.
fn treated<'a>(state: &'a State, remedy: &Remedy, pulls: Vec<Pull>) -> Cow<'a, State> {
    if remedy.rest_shapes.is_empty() && remedy.hinge_stiffness.is_empty() {
        return Cow::Borrowed(state);
    }
    let mut treated = state.clone();
    treated.rest_shapes.clone_from(&remedy.rest_shapes);
    treated.pulls = pulls;
    if remedy.hinge_stiffness.is_empty() {
        treated.hinge_stiffness.fill(1.0);
    } else {
        treated.hinge_stiffness.clone_from(&remedy.hinge_stiffness);
    }
    Cow::Owned(treated)
}

/// What contact changed takes the mean velocity of the step, from which dynamics finishes.
fn take_over(resolved: Resolved, proposed: &mut dynamics::Proposal) -> ContactReport {
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
