//! One step: the only place that calls the stages, in the order in which data flows.
//!
//! rigid -> bodies -> analysis -> untangle -> dynamics (propose) -> contact -> dynamics (finish)
//!
//! Where cloth presses simulated bodies harder or softer than expected, the whole is done again with a better guess;
//! see `coupling.rs`.

mod analyses;
mod trial;
mod unstrain;

pub use analyses::Analyses;

use crate::analysis::Tangle;
use crate::bodies::{self, Moment, Obstacle};
use crate::contact::{self, Part};
use crate::coupling::{self, Guess};
use crate::dynamics::{self, Guidance, Hold, Start};
use crate::geometry::{DVec3, TriangleId, VertexId};
use crate::model::Model;
use crate::report::StepReport;
use crate::rest_shape::{RestShape, principal_stretches};
use crate::rigid::{self, RigidState, Wrench};
use crate::settings::{Flypaper, Settings};
use crate::simulation::World;
use crate::state::State;
use crate::untangle::bodies::damping::{Calm, Surroundings};
use crate::untangle::bodies::flypaper;
use crate::untangle::bodies::pinch::{self, Covered, Excused, PinchRules};
use crate::untangle::resolvers::main_component;
use crate::untangle::{self, ColourRules, Flips, InBodies, Method, Remedy, Situation, StepContext, StepMemory, Tears};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;
use trial::{Outcome, Trial};

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
    if world.model.masses.is_empty() {
        let pressed = vec![Wrench::default(); moved.placements.len()];
        let next = State { time: state.time + length, ..state.clone() };
        return Clothed { next, report: StepReport::default(), pressed };
    }
    let places = Places::new(world, state, moved, settings, length);
    observe(Stage::Bodies);
    let whole = crossing(world, &places.positions, settings, &mut workspace.analysis);
    observe(Stage::Analysis);
    let stuck = Stuck::find(world, &state.positions, &places.surfaces, settings, &mut workspace.pinch);
    let tangle = stuck.treated(world, &whole, settings);
    let (remedy, state) = treatment(world, state, &tangle, (&places, &stuck), settings);
    let guidance = stuck.guidance(world, &remedy, state.time + length);
    observe(Stage::Untangle);
    let start = Start { model: &world.model, state: &state, environment: &world.environment, step: length };
    let rules = stuck.rules(world, &remedy.rules);
    let trial = Trial {
        world,
        solids: &places.solids,
        surfaces: &places.surfaces,
        start,
        guidance: &guidance,
        rules: &rules,
        pinched: &stuck.held,
        is_led: led([&whole, &tangle], &remedy, &state),
        calm: places.calm(world, &state, &stuck, settings),
        settings,
    };
    let Outcome { proposed, contacts, collision, pushes, field } = trial.run(workspace, observe);
    let mut report = StepReport {
        dynamics: proposed.report,
        contacts,
        collision,
        field,
        contours: whole.contours.len(),
        red_vertices: tangle.colours.red_vertices.len(),
        pulls: state.pulls.len(),
        pinched: stuck.held.clone(),
        ..StepReport::default()
    };
    let pressed = coupling::wrenches(&world.riders, &pushes, &places.positions, &state.rigid);
    let next = dynamics::finish(&start, proposed, &settings.dynamics, &mut workspace.dynamics);
    observe(Stage::Finish);
    report.largest_stretch = largest_stretch(&world.model, &next);
    Clothed { next, report, pressed }
}

/// Where everything is in a step.
struct Places<'a> {
    solids: Vec<Obstacle<'a>>,
    /// The vertices of all bodies at both ends of the step.
    surfaces: [Vec<DVec3>; 2],
    /// All vertices at the start.
    positions: Vec<DVec3>,
    /// Length of the step, seconds.
    length: f64,
}

impl<'a> Places<'a> {
    fn new(world: &'a World, state: &State, moved: &RigidState, settings: &Settings, length: f64) -> Self {
        let mut solids = bodies::place(&world.bodies, state.time, length);
        solids.extend(world.surfaces.place_tips(&world.bodies, state.time, length, settings.collision.tip_radius));
        let end = Moment { time: state.time + length, poses: &moved.placements };
        let surfaces = [state.moment(), end].map(|moment| world.surfaces.positions_at(&world.bodies, moment));
        let positions = [state.positions.as_slice(), &surfaces[0]].concat();
        Self { solids, surfaces, positions, length }
    }

    /// How far cloth beside a pinch may go.
    fn calm(&self, world: &World, state: &State, stuck: &Stuck, settings: &Settings) -> Calm {
        let around = Surroundings {
            topology: &world.model.topology,
            positions: &state.positions,
            sizes: &world.sizes,
            bodies: world.body_meshes.topology(),
            surfaces: [&self.surfaces[0], &self.surfaces[1]],
            step: self.length,
        };
        Calm::around(&stuck.held, &around, settings.untangle.pinch.calm_speed)
    }
}

/// What crosses at the start of the step, where somebody wants to know.
fn crossing(world: &World, positions: &[DVec3], settings: &Settings, memory: &mut Analyses) -> Arc<Tangle> {
    let wanted = settings.untangle.method != Method::Off && settings.collision.is_proved();
    if wanted { memory.at(&world.assembly, positions) } else { Arc::default() }
}

/// Which vertices of cloth are being untangled: what is red in the whole tangle or in what is treated of it, pulled or
/// led out of bodies; nothing where there are none. What is only wished to go elsewhere still lies on bodies.
fn led(tangles: [&Tangle; 2], remedy: &Remedy, state: &State) -> Vec<bool> {
    if tangles.iter().all(|tangle| tangle.is_empty()) && state.pulls.is_empty() {
        return Vec::new();
    }
    let mut is_led = vec![false; state.positions.len()];
    let pulled = state.pulls.iter().flat_map(|pull| pull.subjects.iter().copied());
    let red = tangles.into_iter().flat_map(|tangle| tangle.colours.red_vertices.iter().copied());
    for vertex in red.chain(pulled).chain(remedy.leads.iter().copied()) {
        if let Some(is_led) = is_led.get_mut(vertex.index()) {
            *is_led = true;
        }
    }
    is_led
}

/// What the untangler asks for, and the state with the rest shapes and stiffnesses that it asks for.
fn treatment<'a>(
    world: &World,
    state: &'a State,
    tangle: &Tangle,
    (places, stuck): (&Places, &Stuck),
    settings: &Settings,
) -> (Remedy, Cow<'a, State>) {
    let context = StepContext {
        model: &world.model,
        situation: Situation {
            assembly: &world.assembly,
            positions: &places.positions,
            tangle,
            local_size: &world.sizes,
            masses: &world.model.masses,
            step: places.length,
            separation: settings.collision.separation,
            bodies_at_end: &places.surfaces[1],
            pinched: &stuck.held,
        },
        settings: &settings.untangle,
        bodies: InBodies::LedOut,
        tears: Tears::Yielding,
        flips: Flips::On,
        design: world.design.as_ref(),
        rest_angles: &state.rest_angles,
    };
    let mut memory = StepMemory {
        pulls: state.pulls.clone(),
        tearing: state.tearing.clone(),
        flips: state.flips.clone(),
        ..StepMemory::default()
    };
    let remedy = untangle::plan_step(&context, &mut memory).remedy;
    if remedy.rest_shapes.is_empty() {
        return (remedy, Cow::Borrowed(state));
    }
    let mut treated = state.clone();
    treated.rest_shapes.clone_from(&remedy.rest_shapes);
    treated.triangle_stiffness.clone_from(&remedy.triangle_stiffness);
    treated.rest_angles.clone_from(&remedy.rest_angles);
    treated.hinge_stiffness.clone_from(&remedy.hinge_stiffness);
    treated.pulls = memory.pulls;
    treated.tearing = memory.tearing;
    treated.flips = memory.flips;
    (remedy, Cow::Owned(treated))
}

/// What bodies that cross do to cloth.
#[derive(Default)]
struct Stuck {
    /// The vertices that they pinch, in order.
    held: Vec<VertexId>,
    /// Where they carry them.
    pinched: Vec<(VertexId, Hold)>,
    /// What of them keeps no cloth out.
    covered: Covered,
}

impl Stuck {
    /// Looks for what bodies pinch during a step.
    fn find(
        world: &World,
        cloth: &[DVec3],
        [start, end]: &[Vec<DVec3>; 2],
        settings: &Settings,
        memory: &mut Analyses,
    ) -> Self {
        let meshes = &world.body_meshes;
        // Simulated bodies come after those on rails.
        let count = meshes.topology().vertex_count();
        let (start, end) = (&start[..count], &end[..count]);
        let pinch = &settings.untangle.pinch;
        if settings.untangle.flypaper == Flypaper::Off || !meshes.may_pinch([start, end], pinch.reach) {
            return Self::default();
        }
        let at_start = memory.at(meshes.assembly(), start);
        let at_end = memory.at(meshes.assembly(), end);
        let pinches = pinch::find_during(meshes, [start, end], [&at_start, &at_end], cloth, pinch);
        let pinched = flypaper::goals(meshes, [start, end], cloth, &pinches, &world.flypaper_weights);
        let held = pinched.iter().map(|hold| hold.0).collect();
        Self { held, pinched, covered: Covered::new(meshes, [&*at_start, &*at_end]) }
    }

    /// What of a tangle is treated, coloured as the method wants it.
    fn treated<'a>(&self, world: &World, whole: &'a Tangle, settings: &Settings) -> Cow<'a, Tangle> {
        let is_pinched = |vertex: VertexId| self.held.binary_search(&vertex).is_ok();
        let mut tangle = pinch::without_pinched(&world.assembly, whole, is_pinched, Excused::WithCloth);
        if !tangle.is_empty() && !settings.untangle.method.is_classic() {
            main_component::recolour(world.assembly.topology(), world.model.masses.len(), tangle.to_mut());
        }
        tangle
    }

    /// What the untangler, pinches and handles ask for at the end of a step.
    fn guidance(&self, world: &World, remedy: &Remedy, time: f64) -> Guidance {
        let mut guidance = remedy.guidance.clone();
        guidance.holds.extend(&self.pinched);
        guidance.holds.extend(world.guidance(time).holds);
        guidance
    }

    /// The rules of a remedy, and those around pinched vertices.
    fn rules<'a>(&self, world: &'a World, rules: &'a ColourRules) -> PinchRules<'a> {
        let topology = world.contact.mesh().topology();
        PinchRules::new(rules, topology, world.model.masses.len(), &self.held, self.covered.clone())
    }
}

/// The largest stretch of a triangle over all directions, against the rest shapes that are in force; 1 is unstretched,
/// 0 where there is no triangle. Torn triangles and those on their way back do not count.
pub fn largest_stretch(model: &Model, state: &State) -> f64 {
    counted(model, state, &state.rest_shapes).reduce(|| 0.0, f64::max)
}

/// The stretch of every triangle that counts, in order, each in its longest direction, against undisturbed rest shapes:
/// what the untangler shortens for a while is not strained when it follows.
pub fn stretches(model: &Model, state: &State) -> Vec<f64> {
    counted(model, state, &model.rest_shapes).collect()
}

fn counted<'a>(model: &'a Model, state: &'a State, shapes: &'a [RestShape]) -> impl ParallelIterator<Item = f64> + 'a {
    let corner = move |vertex: VertexId| state.positions[vertex.index()];
    let counts = move |at: usize| !state.tearing.yielded.contains_key(&TriangleId::new(at));
    (model.topology.triangles().par_iter().zip(shapes).enumerate())
        .filter(move |(at, _)| state.tearing.yielded.is_empty() || counts(*at))
        .filter_map(move |(_, (corners, shape))| principal_stretches(shape, corners.map(corner)))
        .map(|[largest, _]| largest)
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
        let (lead, wish) = (4, 5);
        let mut remedy = Remedy { leads: vec![VertexId::new(lead)], ..Remedy::default() };
        // A wish alone leads nobody: such cloth still lies on bodies.
        remedy.guidance.stiffness = (0..9).map(|vertex| if vertex == wish { 1.0 } else { 0.0 }).collect();
        let expected: Vec<bool> = (0..9).map(|vertex| red(vertex) || vertex == lead).collect();
        assert_eq!(led([&tangle, &tangle], &remedy, &state), expected);
        // Corners of triangles that cross are not led for that alone.
        assert!(expected[..6].contains(&false) && !expected[6..].contains(&true));
        assert!(led([&Tangle::default(); 2], &Remedy::default(), &state).is_empty());
    }
}
