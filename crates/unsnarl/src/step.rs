//! One step: the only place that calls the stages, in the order in which data flows.
//!
//! rigid -> bodies -> analysis -> untangle -> dynamics (propose) -> contact -> dynamics (finish)
//!
//! Where cloth presses simulated bodies harder or softer than expected, the whole is done again with a better guess; see
//! `coupling.rs`.

use crate::analyses::Analyses;
use crate::analysis::Tangle;
use crate::bodies::{self, Moment, Moved, Obstacle, Press};
use crate::contact::{self, CollisionMethod, ContactReport, LayerMethod, Part, Proposal, Purpose, Push, Resolved};
use crate::coupling::{self, Guess};
use crate::dynamics::{self, Guidance, Hold, Start, Support};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, VertexId};
use crate::model::Model;
use crate::near::{Near, PULLED};
use crate::report::StepReport;
use crate::rest_shape::principal_stretches;
use crate::rigid::{self, RigidState, Wrench};
use crate::settings::{ClothModel, Flypaper, Settings};
use crate::simulation::World;
use crate::state::State;
use crate::untangle::calming::{Calm, Surroundings};
use crate::untangle::esef::Pull;
use crate::untangle::pinch::{self, Covered, PinchRules};
use crate::untangle::shortening::{self, Shortening};
use crate::untangle::{self, Method, Remedy, Situation, flypaper, mainland};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// The stages, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Simulated bodies have moved.
    Rigid,
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
    /// Memory of simulated bodies.
    pub rigid: rigid::Workspace,
    /// Memory of dynamics.
    pub dynamics: dynamics::Workspace,
    /// Memory of analysis.
    pub analysis: Analyses,
    /// Memory of contact.
    pub contact: contact::Workspace,
    /// Memory of the search for pinches.
    pub pinch: Analyses,
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
    let rigid_bodies = &world.rigid.bodies;
    if rigid_bodies.bodies.is_empty() {
        let Clothed { next, report, .. } = step_cloth(world, state, &state.rigid, settings, length, workspace, observe);
        return (next, report);
    }
    let mut guess = Guess::from_loads(&state.loads, rigid_bodies.bodies.len(), length);
    let cloth_mass = world.model.masses.iter().sum();
    let mut best: Option<(f64, Clothed, Vec<Wrench>)> = None;
    for round in 1..=settings.coupling.rounds.max(1) {
        let mut moved = state.rigid.clone();
        world.rigid.prescribe(&world.bodies, &mut moved, state.time, length);
        let gravity = world.environment.gravity;
        let rigid_memory = &mut workspace.rigid;
        let done =
            rigid::advance(rigid_bodies, &mut moved, length, gravity, &guess.given, &settings.rigid, rigid_memory);
        world.rigid.arrive(&world.bodies, &mut moved, state.time + length);
        observe(Stage::Rigid);
        let mut clothed = step_cloth(world, state, &moved, settings, length, workspace, observe);
        clothed.report.rigid = Some(done);
        clothed.report.coupling_rounds = round;
        clothed.next.rigid = moved;
        let missing = guess.missing(&clothed.pressed);
        let kick = coupling::largest_kick(rigid_bodies, &missing);
        guess.correct(&missing, rigid_bodies, cloth_mass);
        let is_settled = kick <= settings.coupling.tolerance;
        if best.as_ref().is_none_or(|(least, ..)| kick < *least) {
            best = Some((kick, clothed, missing));
        }
        if is_settled {
            break;
        }
    }
    let (_, Clothed { mut next, report, pressed }, missing) = best.expect("there is at least one round");
    coupling::give(&mut next.rigid, rigid_bodies, &missing);
    next.loads = coupling::loads(&pressed, length);
    (next, report)
}

/// A step of cloth among bodies whose motion is known.
struct Clothed {
    next: State,
    report: StepReport,
    /// What every rigid body received from cloth.
    pressed: Vec<Wrench>,
}

fn step_cloth(
    world: &World,
    state: &State,
    moved: &RigidState,
    settings: &Settings,
    length: f64,
    workspace: &mut Workspace,
    observe: &mut dyn FnMut(Stage),
) -> Clothed {
    let model = &world.model;
    if model.masses.is_empty() {
        let pressed = vec![Wrench::default(); moved.placements.len()];
        let next = State { time: state.time + length, ..state.clone() };
        return Clothed { next, report: StepReport::default(), pressed };
    }
    let mut solids = bodies::place(&world.bodies, state.time, length);
    solids.extend(world.surfaces.place_tips(&world.bodies, state.time, length, settings.collision.tip_radius));
    let end = Moment { time: state.time + length, poses: &moved.placements };
    let surfaces = [state.moment(), end].map(|moment| world.surfaces.positions_at(&world.bodies, moment));
    observe(Stage::Bodies);
    let positions = [state.positions.as_slice(), &surfaces[0]].concat();
    let tangle = tangle(world, &positions, settings, &mut workspace.analysis);
    let whole = Arc::clone(&tangle);
    observe(Stage::Analysis);
    let Stuck { pinched, covered } = stuck(world, &state.positions, &surfaces, settings, &mut workspace.pinch);
    let held: Vec<VertexId> = pinched.iter().map(|hold| hold.0).collect();
    let mut tangle = pinch::without_pinched(&world.assembly, &tangle, &held);
    if !tangle.is_empty() && !settings.untangle.method.is_classic() {
        mainland::recolour(world.assembly.topology(), state.positions.len(), tangle.to_mut());
    }
    let bodies_at_end = &surfaces[1];
    let place = Place { positions: &positions, bodies_at_end, pinched: &held, length };
    let Shortening { remedy, pulls } = remedy(world, state, &tangle, &place, settings);
    let treated = treated(state, &remedy, pulls);
    let state = &*treated;
    let mut guidance = remedy.guidance.clone();
    guidance.holds.extend(&pinched);
    guidance.holds.extend(world.guidance(state.time + length).holds);
    observe(Stage::Untangle);
    let start = Start { model, state, environment: &world.environment, step: length };
    let topology = world.contact.mesh().topology();
    let rules = PinchRules::new(&remedy.rules, topology, state.positions.len(), &held, covered);
    let around = Surroundings {
        topology: &model.topology,
        positions: &state.positions,
        sizes: &world.sizes,
        bodies: world.body_meshes.topology(),
        surfaces: [&surfaces[0], &surfaces[1]],
        step: length,
    };
    let trial = Trial {
        world,
        solids: &solids,
        surfaces: &surfaces,
        start,
        guidance: &guidance,
        rules: &rules,
        is_led: led([&whole, &tangle], &remedy, state),
        calm: Calm::around(&held, &around, settings.untangle.pinch.calm_speed),
        settings,
    };
    let Outcome { proposed, contacts, collision, pushes } = trial.run(workspace, observe);
    let mut report = StepReport {
        dynamics: proposed.report,
        contacts,
        collision,
        contours: whole.contours.len(),
        red_vertices: tangle.colours.red_vertices.len(),
        pulls: state.pulls.len(),
        pinched: held,
        ..StepReport::default()
    };
    let pressed = coupling::wrenches(&world.riders, &pushes, &positions, &state.rigid);
    let next = dynamics::finish(&start, proposed, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Finish);
    report.largest_stretch = largest_stretch(model, &next);
    Clothed { next, report, pressed }
}

/// Rounds in which supports that pull are dropped.
const SUPPORT_ROUNDS: usize = 3;
/// What a proposal of the step is made from.
struct Trial<'a> {
    world: &'a World,
    solids: &'a [Obstacle<'a>],
    /// The vertices of all bodies at both ends of the step.
    surfaces: &'a [Vec<DVec3>; 2],
    start: Start<'a>,
    guidance: &'a Guidance,
    /// Which pairs are treated differently: around pinched vertices, and as the remedy says.
    rules: &'a PinchRules<'a>,
    /// Which vertices of cloth are being untangled: they may be on the wrong side of a body, so bodies do not support them. All
    /// others hang and lie as always, outside corners of triangles that cross a body among them.
    is_led: Vec<bool>,
    /// How far cloth beside a pinch may go.
    calm: Calm,
    settings: &'a Settings,
}

/// An end of the step that crosses nothing new.
struct Outcome {
    proposed: dynamics::Proposal,
    contacts: usize,
    collision: ContactReport,
    /// What vertices of bodies took from cloth.
    pushes: Vec<(VertexId, Push)>,
}

impl Trial<'_> {
    /// Proposes and resolves. What bodies stop is held there while dynamics solves again, so that cloth hangs on it; else
    /// the rest would fall on, and bodies would take the momentum of the stopped vertices alone.
    fn run(&self, workspace: &mut Workspace, observe: &mut dyn FnMut(Stage)) -> Outcome {
        let Start { model, state, step, .. } = self.start;
        let settings = &self.settings.dynamics;
        let is_pipeline = self.settings.collision.method == CollisionMethod::Pipeline;
        let mut near = if is_pipeline { self.near(workspace) } else { Near::default() };
        observe(Stage::Contact(Part::Repulsion));
        let guidance = near.guided(self.guidance);
        let mut proposed = dynamics::propose(&self.start, &guidance, settings, &mut workspace.dynamics);
        self.calm.limit(&state.positions, step, &mut proposed.positions, &mut proposed.velocities);
        let presses = bodies::presses(self.solids, model, self.guidance, &state.positions, &proposed.positions, step);
        let holds: Vec<(VertexId, Hold)> = presses.iter().map(Press::hold).collect();
        if near.drop_pulling(&proposed.positions, settings.solver) || !holds.is_empty() {
            self.propose_again(&holds, &[], &near, &mut proposed, workspace);
        }
        observe(Stage::Propose);
        let mut contacts = self.keep_out(&presses, &mut proposed);
        observe(Stage::KeepOut);
        if !is_pipeline {
            let pushes = coupling::pushes_of_supports(&proposed.borne).collect();
            return Outcome { proposed, contacts, collision: ContactReport::default(), pushes };
        }
        let mut pushes = Vec::new();
        let mut resolved = self.resolve(Purpose::FindSupports, &proposed, &mut near, workspace, observe);
        if !resolved.supports.is_empty() {
            let first = resolved.report;
            resolved.supports.retain(|support| !self.leads(&support.vertices));
            let supports = self.lean(&holds, resolved.supports, &near, &mut proposed, workspace);
            observe(Stage::Propose);
            contacts = self.keep_out(&presses, &mut proposed);
            pushes = self.rub(&supports, &mut proposed);
            observe(Stage::KeepOut);
            resolved = self.resolve(Purpose::Resolve, &proposed, &mut near, workspace, observe);
            resolved.report.join(&first);
        }
        pushes.extend(coupling::pushes_of_supports(&proposed.borne));
        pushes.append(&mut resolved.taken);
        let collision = take_over(resolved, &mut proposed);
        Outcome { proposed, contacts, collision, pushes }
    }

    /// What lies within thickness, and the springs between it that dynamics takes over.
    fn near(&self, workspace: &mut Workspace) -> Near {
        let Start { state, step, .. } = self.start;
        let held: Vec<VertexId> = self.guidance.holds.iter().map(|hold| hold.0).collect();
        let nearby = self.world.contact.nearby(&self.motion(&state.positions, &held), &mut workspace.contact);
        let is_implicit = self.settings.dynamics.model == ClothModel::BaraffWitkin
            && self.settings.collision.layers == LayerMethod::Implicit;
        let stiffness = self.settings.collision.stiffness;
        let mut cushions = if is_implicit { nearby.cushions(&state.velocities, step, stiffness) } else { Vec::new() };
        cushions.retain(|(_, cushion)| !self.leads(&cushion.stencil.vertices));
        let mut pads = if is_implicit { nearby.pads(&state.velocities, step, stiffness) } else { Vec::new() };
        pads.retain(|(_, pad)| !self.leads(&pad.vertices));
        Near { nearby, cushions, pads }
    }

    /// Whether one of some vertices is being untangled.
    fn leads(&self, vertices: &[VertexId]) -> bool {
        vertices.iter().any(|vertex| self.is_led.get(vertex.index()).copied().unwrap_or(false))
    }

    /// Proposes with supports under the cloth; those that would pull are dropped. Returns the others, and how far cloth would have sunk
    /// below each.
    fn lean(
        &self,
        holds: &[(VertexId, Hold)],
        supports: Vec<Support>,
        near: &Near,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
    ) -> Vec<(Support, f64)> {
        let mut supports: Vec<(Support, f64)> =
            supports.into_iter().map(|support| (support, support.depth(&proposed.positions))).collect();
        for _ in 0..SUPPORT_ROUNDS {
            if supports.is_empty() {
                break;
            }
            let given: Vec<Support> = supports.iter().map(|support| support.0).collect();
            self.propose_again(holds, &given, near, proposed, workspace);
            supports.retain(|(support, _)| support.depth(&proposed.positions) > -PULLED);
            if supports.len() == given.len() {
                break;
            }
        }
        supports
    }

    /// Lets supported points rub by Coulomb's law; returns what bodies take.
    fn rub(&self, supports: &[(Support, f64)], proposed: &mut dynamics::Proposal) -> Vec<(VertexId, Push)> {
        let (start, step) = (&self.start.state.positions, self.start.step);
        let mut pushes = Vec::new();
        for (support, pressed) in supports {
            let motion = support.apply(&proposed.positions) - support.apply(start) - support.carried;
            let slide = motion - support.normal * motion.dot(support.normal);
            let rubbed = bodies::rub(slide, support.friction * pressed.max(0.0));
            support.shift(-rubbed, &mut proposed.positions);
            support.shift(-rubbed / step, &mut proposed.velocities);
            pushes.extend(coupling::pushes_of_friction(support, -rubbed / step, &self.start.model.masses));
        }
        pushes
    }

    fn propose_again(
        &self,
        holds: &[(VertexId, Hold)],
        supports: &[Support],
        near: &Near,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
    ) {
        let mut guidance = near.guided(self.guidance);
        guidance.holds.extend(holds);
        guidance.supports.extend(supports);
        guidance.guess.clone_from(&proposed.velocities);
        let before = proposed.report;
        let Start { state, step, .. } = self.start;
        *proposed = dynamics::propose(&self.start, &guidance, &self.settings.dynamics, &mut workspace.dynamics);
        self.calm.limit(&state.positions, step, &mut proposed.positions, &mut proposed.velocities);
        proposed.report.join(before);
    }

    fn keep_out(&self, presses: &[Press], proposed: &mut dynamics::Proposal) -> usize {
        let mut moved = Moved {
            start: &self.start.state.positions,
            positions: &mut proposed.positions,
            velocities: &mut proposed.velocities,
            step: self.start.step,
        };
        bodies::rub_presses(presses, &mut moved);
        bodies::keep_out(self.solids, self.start.model, self.guidance, moved).max(presses.len())
    }

    fn resolve(
        &self,
        purpose: Purpose,
        proposed: &dynamics::Proposal,
        near: &mut Near,
        workspace: &mut Workspace,
        observe: &mut dyn FnMut(Stage),
    ) -> Resolved {
        let held: Vec<VertexId> = self.guidance.holds.iter().map(|hold| hold.0).collect();
        near.nearby.note(&near.forces(&proposed.positions), self.start.step);
        let mut listen = |part| observe(Stage::Contact(part));
        let (contact, settings) = (&self.world.contact, &self.settings.collision);
        let proposal = self.motion(&proposed.positions, &held);
        contact.resolve_for(purpose, &proposal, &near.nearby, settings, &mut workspace.contact, &mut listen)
    }

    /// The motion of everything to where cloth would go.
    fn motion<'a>(&'a self, end: &'a [DVec3], held: &'a [VertexId]) -> Proposal<'a> {
        let [from, to] = self.surfaces;
        Proposal {
            cloth: Motion { start: &self.start.state.positions, end },
            obstacles: Motion { start: from, end: to },
            step: self.start.step,
            held,
            rules: self.rules,
        }
    }
}

/// What crosses at the start of the step, where somebody wants to know.
fn tangle(world: &World, positions: &[DVec3], settings: &Settings, memory: &mut Analyses) -> Arc<Tangle> {
    let wanted = settings.untangle.method != Method::Off && settings.collision.method == CollisionMethod::Pipeline;
    if wanted { memory.at(&world.assembly, positions) } else { Arc::default() }
}

/// Which vertices of cloth are being untangled: what is red in the whole tangle or in what is treated of it, pulled or wished to go
/// elsewhere; nothing where there are none.
fn led(tangles: [&Tangle; 2], remedy: &Remedy, state: &State) -> Vec<bool> {
    if tangles.iter().all(|tangle| tangle.is_empty()) && state.pulls.is_empty() {
        return Vec::new();
    }
    let mut is_led = vec![false; state.positions.len()];
    let pulled = state.pulls.iter().flat_map(|pull| pull.subjects.iter().copied());
    let red = tangles.into_iter().flat_map(|tangle| tangle.colours.red_vertices.iter().copied());
    for vertex in red.chain(pulled) {
        if let Some(is_led) = is_led.get_mut(vertex.index()) {
            *is_led = true;
        }
    }
    for (is_led, &stiffness) in is_led.iter_mut().zip(&remedy.guidance.stiffness) {
        *is_led |= stiffness > 0.0;
    }
    is_led
}

/// Where everything is in a step.
struct Place<'a> {
    /// All vertices at the start.
    positions: &'a [DVec3],
    /// The vertices of bodies at the end.
    bodies_at_end: &'a [DVec3],
    /// Vertices that bodies carry.
    pinched: &'a [VertexId],
    /// Length of the step, seconds.
    length: f64,
}

/// What the untangler asks for, and what it remembers.
fn remedy(world: &World, state: &State, tangle: &Tangle, place: &Place, settings: &Settings) -> Shortening {
    let Place { positions, bodies_at_end, pinched, length } = *place;
    let untangle = &settings.untangle;
    let around = (world.assembly.topology(), world.sizes.as_slice());
    if tangle.is_empty() {
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
        bodies_at_end,
        pinched,
    };
    if untangle.method.is_classic() {
        let remedy = untangle::plan(untangle.method, &situation, &untangle.classic).remedy;
        return Shortening { remedy, pulls: state.pulls.clone() };
    }
    let (plan, mut left) = untangle::plan_for_bodies(&situation, &untangle.classic);
    if let Cow::Owned(left) = &mut left {
        mainland::recolour(world.assembly.topology(), state.positions.len(), left);
    }
    let mut shortening = shortening::shorten(&world.model, around, &state.pulls, &left, length, untangle);
    shortening.remedy.guidance = plan.remedy.guidance;
    shortening.remedy.rules.let_through_as(plan.remedy.rules);
    shortening
}

/// What bodies that cross do to cloth.
#[derive(Default)]
struct Stuck {
    /// The vertices that they pinch, and where they carry them.
    pinched: Vec<(VertexId, Hold)>,
    /// What of them keeps no cloth out.
    covered: Covered,
}

/// Looks for what bodies pinch during a step.
fn stuck(
    world: &World,
    cloth: &[DVec3],
    [start, end]: &[Vec<DVec3>; 2],
    settings: &Settings,
    memory: &mut Analyses,
) -> Stuck {
    let meshes = &world.body_meshes;
    // Simulated bodies come after those on rails.
    let count = meshes.topology().vertex_count();
    let (start, end) = (&start[..count], &end[..count]);
    if settings.untangle.flypaper == Flypaper::Off || !meshes.may_pinch([start, end], settings.untangle.pinch.reach) {
        return Stuck::default();
    }
    let at_start = memory.at(meshes.assembly(), start);
    let at_end = memory.at(meshes.assembly(), end);
    let settings = &settings.untangle.pinch;
    let pinches = pinch::find_during(meshes, [start, end], [&at_start, &at_end], cloth, settings);
    let pinched = flypaper::goals(meshes, [start, end], cloth, &pinches, &world.flypaper_weights);
    Stuck { pinched, covered: Covered::new(meshes, [&*at_start, &*at_end]) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{self, Assembly};
    use crate::geometry::TriMesh;
    use crate::model::Cloth;

    /// A tangle in one place may not take the support of bodies from cloth in another: the whole garment would flutter.
    #[test]
    fn only_what_is_untangled_is_led() {
        let triangle =
            |x: f64, tilt: f64| [DVec3::new(x, 0.0, 0.0), DVec3::new(x + 1.0, 0.0, 0.1), DVec3::new(x, 1.0, tilt)];
        let mut through = triangle(0.0, 0.0).map(|corner| corner + DVec3::new(0.2, 0.2, -0.5));
        through[2].z = 0.7;
        let positions = [triangle(0.0, 0.0), through, triangle(5.0, 0.3)].concat();
        let mesh = TriMesh { positions, triangles: vec![[0, 1, 2], [3, 4, 5], [6, 7, 8]] };
        let assembly = Assembly::of_cloth("cloth", &mesh).unwrap();
        let tangle = analysis::analyze(&assembly, &mesh.positions, &mut analysis::Workspace::default());
        assert!(!tangle.is_empty());
        let (_, state) = Model::build(&[Cloth::new("cloth", mesh)]).unwrap();
        let red = |vertex: usize| tangle.colours.red_vertices.contains(&VertexId::new(vertex));
        let wanted = 4;
        let mut remedy = Remedy::default();
        remedy.guidance.stiffness = (0..9).map(|vertex| if vertex == wanted { 1.0 } else { 0.0 }).collect();
        let expected: Vec<bool> = (0..9).map(|vertex| red(vertex) || vertex == wanted).collect();
        assert_eq!(led([&tangle, &tangle], &remedy, &state), expected);
        // Corners of triangles that cross are not led for that alone.
        assert!(expected[..6].contains(&false) && !expected[6..].contains(&true));
        assert!(led([&Tangle::default(); 2], &Remedy::default(), &state).is_empty());
    }
}
