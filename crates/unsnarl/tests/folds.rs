//! Folds that bite into themselves by one resolver alone, in repairs and in simulations: each without the fallback that
//! would hide its failure.

#![allow(clippy::unwrap_used)]

use unsnarl::analysis::{self, Assembly, ContourKind, Tangle, Workspace};
use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::bodies::moving_mesh::{MeshKey, MovingMesh};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{self, Continue, FixMethod, FixSettings, FoldStyle, Outcome, Patient, VertexSettings};
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::model::{Cloth, Model, Rest, RestAngles};
use unsnarl::samples::{self, Cut, Recipe};
use unsnarl::scene::environment::Environment;
use unsnarl::scene::garment::{Garment, GarmentInput, TriangleGroups};
use unsnarl::settings::{Integration, Settings};
use unsnarl::simulation::{Flow, FoldDesign, Simulation, World};
use unsnarl::state::State;
use unsnarl::untangle::Method;

const STEP: f64 = 0.02;

/// A made fold with its design.
struct Made {
    model: Model,
    state: State,
    assembly: Assembly,
    design: FoldDesign,
}

fn made(name: &str, cut: Cut, seed: u64, rest_angles: RestAngles) -> Made {
    let case = samples::find(name).unwrap();
    let sample = case.make(&Recipe { resolution: case.default_resolution, cut, seed });
    let assembly = Assembly::of_cloth(name, &sample.mesh).unwrap();
    let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
    let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
    let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
    let garment = Garment::build(&input, &sample.description).unwrap();
    let creases = garment.creases.iter().map(|crease| (garment.topology.edge(crease.edge), crease.rest_angle));
    let design = FoldDesign { styles: FoldStyle::chart(&garment), creases: creases.collect() };
    let rest = Rest::Panels(sample.uv.clone());
    let (model, mut state) = Model::build(&[Cloth { rest, rest_angles, ..Cloth::new(name, sample.mesh) }]).unwrap();
    for crease in &garment.creases {
        state.rest_angles[model.hinge_at(crease.edge).unwrap()] = crease.rest_angle;
    }
    Made { model, state, assembly, design }
}

fn repaired(made: &Made, method: FixMethod) -> Outcome {
    let FoldDesign { styles, creases } = made.design.clone();
    let vertices = VertexSettings { styles, creases, ..VertexSettings::default() };
    let patient = Patient {
        model: made.model.clone(),
        state: made.state.clone(),
        assembly: made.assembly.clone(),
        body_positions: Vec::new(),
    };
    fix::untangle(patient, &FixSettings { vertices, ..FixSettings::with_method(method) }, &mut |_| Continue::Yes)
}

/// Only steps wrote, but for separating what touches and for going back to a better state of the same run.
fn wrote_steps_alone(outcome: &Outcome) -> bool {
    outcome.writers.count("step") > 0
        && outcome.writers.names().all(|writer| ["step", "touching", "return"].contains(&writer))
}

#[test]
fn edge_shortening_alone_leaves_folds_as_they_are() {
    for name in ["bli", "sleeve"] {
        let made = made(name, Cut::Irregular, 3, RestAngles::AsLoaded);
        let before = analysis::analyze(&made.assembly, &made.state.positions, &mut Workspace::default());
        let outcome = repaired(&made, FixMethod::Esef);
        assert_eq!(outcome.tangle.count(ContourKind::Bli), before.count(ContourKind::Bli), "{name}");
        assert_eq!(outcome.resolvers.tearing, 0, "{name}");
    }
}

#[test]
fn tearing_alone_undoes_every_fold() {
    for name in ["bli", "collar", "lapel", "sleeve", "skirt"] {
        for cut in [Cut::Regular, Cut::Irregular] {
            let made = made(name, cut, 3, RestAngles::AsLoaded);
            let outcome = repaired(&made, FixMethod::Tear);
            let row = format!("{name} {cut:?}: {:?}", outcome.writers);
            assert_eq!(outcome.tangle.count(ContourKind::Bli), 0, "{row}");
            assert!(wrote_steps_alone(&outcome) && outcome.resolvers.tearing > 0, "{row}");
            assert_eq!(outcome.resolvers.esef, 0, "{row}");
        }
    }
}

fn simulation(made: &Made, method: Method, integration: Integration) -> Simulation {
    let mut settings = Settings::default();
    settings.time.step = STEP;
    settings.dynamics.integration = integration;
    settings.untangle.method = method;
    let mut world = World::new(made.model.clone(), Environment::NOTHING, Vec::new(), Vec::new()).unwrap();
    world.design = made.design.clone();
    Simulation::new(world, made.state.clone(), settings)
}

fn advance(simulation: &mut Simulation, steps: usize) {
    for _ in 0..steps {
        simulation.advance(STEP, &mut |_| Flow::GoOn).unwrap();
    }
}

fn crossing(made: &Made, state: &State) -> Tangle {
    analysis::analyze(&made.assembly, &state.positions, &mut Workspace::default())
}

/// In simulations the hinges around the last loop vertex stayed stiff for ever.
#[test]
fn after_the_last_fold_cloth_is_as_stiff_as_before_and_bent_as_before() {
    let made = made("bli", Cut::Irregular, 1, RestAngles::Flat);
    let mut simulation = simulation(&made, Method::Tear, Integration::QuasiStatic);
    let mut was_stiff = false;
    for _ in 0..150 {
        advance(&mut simulation, 1);
        was_stiff |= simulation.state.hinge_stiffness.iter().any(|&factor| factor > 1.0);
    }
    assert!(was_stiff);
    let state = &simulation.state;
    assert_eq!(crossing(&made, state).count(ContourKind::Bli), 0);
    assert!(state.hinge_stiffness.iter().chain(&state.triangle_stiffness).all(|&factor| factor == 1.0));
    assert_eq!(state.rest_angles, made.state.rest_angles);
    assert_eq!(state.rest_shapes, made.model.rest_shapes);
    assert!(state.tearing.is_idle());
}

#[test]
fn a_simulation_goes_on_from_a_state_in_the_middle_of_a_tear_and_on_any_number_of_threads() {
    let made = made("sleeve", Cut::Irregular, 2, RestAngles::Flat);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = simulation(&made, Method::Blir, Integration::BackwardEuler);
            advance(&mut simulation, 6);
            assert!(!simulation.state.tearing.is_idle());
            let mut again = simulation.clone();
            again = Simulation::new(again.world, again.state, again.settings);
            advance(&mut simulation, 6);
            advance(&mut again, 6);
            assert!(simulation.state == again.state);
            simulation.state
        })
    };
    assert!(run(1) == run(2));
}

/// A ball as a mesh.
fn ball(center: DVec3, radius: f64) -> Body {
    let (rings, sectors) = (10u32, 16u32);
    let mut mesh = TriMesh::default();
    mesh.positions.push(center + radius * DVec3::Y);
    for ring in 1..rings {
        let down = f64::from(ring) / f64::from(rings) * std::f64::consts::PI;
        for sector in 0..sectors {
            let around = f64::from(sector) / f64::from(sectors) * std::f64::consts::TAU;
            let out = DVec3::new(down.sin() * around.sin(), down.cos(), down.sin() * around.cos());
            mesh.positions.push(center + radius * out);
        }
    }
    mesh.positions.push(center - radius * DVec3::Y);
    let last = mesh.positions.len() as u32 - 1;
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    for sector in 0..sectors {
        mesh.triangles.push([0, at(1, sector), at(1, sector + 1)]);
        mesh.triangles.push([last, at(rings - 1, sector + 1), at(rings - 1, sector)]);
        for ring in 1..rings - 1 {
            let [a, b, c, d] = [at(ring, sector), at(ring + 1, sector), at(ring + 1, sector + 1), at(ring, sector + 1)];
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let key = MeshKey { time: 0.0, positions: mesh.positions.clone() };
    let moving = MovingMesh::new(mesh.triangles, vec![key], Keyframes::fixed(DVec3::ZERO)).unwrap();
    Body::mesh("ball", moving, 0.3, 1e-3)
}

/// In simulations torn strips passed through bodies.
#[test]
fn a_torn_strip_never_enters_a_ball() {
    let made = made("bli", Cut::Irregular, 1, RestAngles::Flat);
    let tangle = crossing(&made, &made.state);
    let strip = &unsnarl::untangle::folds::bli::find(&tangle, made.model.topology.triangle_count())[0].strip;
    let corners = strip.iter().flat_map(|&triangle| made.model.topology.triangle(triangle));
    let strip: Vec<DVec3> = corners.map(|corner| made.state.positions[corner.index()]).collect();
    let low = made.state.positions.iter().map(|place| place.y).fold(f64::INFINITY, f64::min);
    let middle = strip.iter().copied().sum::<DVec3>() / strip.len() as f64;
    let radius = 0.1;
    let center = DVec3::new(middle.x, low - radius - 0.01, middle.z);
    let mut settings = Settings::default();
    settings.time.step = STEP;
    settings.untangle.method = Method::Tear;
    let environment = Environment::default();
    let world = World::new(made.model.clone(), environment, vec![ball(center, radius)], Vec::new()).unwrap();
    let mut simulation = Simulation::new(world, made.state.clone(), settings);
    for step in 0..30 {
        advance(&mut simulation, 1);
        let world = &simulation.world;
        let all = world.all_positions(&simulation.state);
        let verdict = analysis::verdict(world.assembly(), &all, &mut Workspace::default());
        let count = made.model.topology.triangle_count();
        let is_with_ball = |pair: &&unsnarl::geometry::intersection::IntersectingPair| pair.second.index() >= count;
        assert_eq!(verdict.pairs.iter().filter(is_with_ball).count(), 0, "step {step}");
    }
}

/// By the crease flip and edge shortening, without tearing: hardly strained, and only steps moved it.
#[test]
fn a_crease_flip_puts_a_lapel_right() {
    for cut in [Cut::Regular, Cut::Irregular] {
        let made = made("lapel", cut, 3, RestAngles::AsLoaded);
        let outcome = repaired(&made, FixMethod::Blir);
        let row = format!("{cut:?}: {:?} {:?}", outcome.resolvers, outcome.writers);
        assert!(outcome.verdict.is_clean(), "{row}");
        assert!(outcome.resolvers.flips.crease > 0 && outcome.resolvers.tearing == 0, "{row}");
        assert!(wrote_steps_alone(&outcome), "{row}");
        let edges = Spread::of_edges(&made.model, &outcome.positions);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{row} {edges:?}");
    }
}
