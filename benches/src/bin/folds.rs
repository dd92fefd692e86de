//! Folds that bite into themselves, by one resolver alone: what is left, who moved cloth, and how strained it is.
//!
//! `cargo run --release -p unsnarl-benches --bin folds -- fix METHOD CASE SEEDS [STRIP]` repairs made folds without
//! gravity;
//! `... -- sim METHOD CASE SEEDS [STRIP] [STEPS]` simulates them without gravity and inertia, step by step. CASE is
//! `all` or one
//! of bli, collar, lapel, sleeve, skirt; both cuts are run for each seed. STRIP is what is left of the stiffness of
//! torn triangles. A sixth word of `sim`, `log`, tells every step. One row for each mesh, then how many lost every
//! BLI and how many are clean by the exact check.

use rayon::prelude::*;
use unsnarl::analysis::{self, Assembly, ContourKind, Tangle, Workspace};
use unsnarl::fix::report::Spread;
use unsnarl::fix::{self, Continue, FixSettings, FoldStyle, Patient, VertexSettings};
use unsnarl::geometry::DVec3;
use unsnarl::model::{Cloth, Model, Rest, RestAngles};
use unsnarl::samples::{self, Cut, Recipe, Sample};
use unsnarl::scene::environment::Environment;
use unsnarl::scene::garment::{Garment, GarmentInput, TriangleGroups};
use unsnarl::settings::{Integration, Settings};
use unsnarl::simulation::{Flow, FoldDesign, Simulation, World};
use unsnarl::state::State;
use unsnarl::untangle::Method;

const CASES: [&str; 5] = ["bli", "collar", "lapel", "sleeve", "skirt"];
const STEP: f64 = 0.02;

/// What to run.
struct Task {
    is_sim: bool,
    method: Method,
    strip: f64,
    steps: usize,
    is_logged: bool,
}

/// What came of a mesh.
struct Row {
    text: String,
    folds_left: usize,
    pairs: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| arguments.get(at).map(String::as_str).unwrap_or_default();
    let number = |at: usize, usual: f64| word(at).parse().unwrap_or(usual);
    let method: Method = word(1).parse().unwrap_or(Method::Blir);
    let task = Task {
        is_sim: word(0) == "sim",
        method,
        strip: number(4, 0.0),
        steps: number(5, 150.0) as usize,
        is_logged: word(6) == "log",
    };
    let cases = CASES.into_iter().filter(|case| word(2) == "all" || word(2).is_empty() || word(2) == *case);
    let seeds = number(3, 3.0) as u64;
    let mut meshes = Vec::new();
    for case in cases {
        for cut in [Cut::Regular, Cut::Irregular] {
            let seeds = if cut == Cut::Regular { 1 } else { seeds };
            meshes.extend((0..seeds).map(|seed| (case, cut, seed)));
        }
    }
    let rows: Vec<Row> = meshes.par_iter().map(|&(case, cut, seed)| run(&task, case, cut, seed)).collect();
    rows.iter().for_each(|row| println!("{}", row.text));
    let without = rows.iter().filter(|row| row.folds_left == 0).count();
    let clean = rows.iter().filter(|row| row.pairs == 0).count();
    println!("of {}: {without} without BLI, {clean} clean", rows.len());
}

fn run(task: &Task, name: &str, cut: Cut, seed: u64) -> Row {
    let case = samples::find(name).expect("the cases are named above");
    let sample = case.make(&Recipe { resolution: case.default_resolution, cut, seed });
    let assembly = Assembly::of_cloth(name, &sample.mesh).expect("samples are sound");
    let rest = Rest::Panels(sample.uv.clone());
    let rest_angles = if task.is_sim { RestAngles::Flat } else { RestAngles::AsLoaded };
    let cloth = Cloth { rest, rest_angles, ..Cloth::new(name, sample.mesh.clone()) };
    let (model, mut state) = Model::build(&[cloth]).expect("samples are sound");
    let garment = garment(&sample);
    for crease in &garment.creases {
        if let Some(hinge) = model.hinge_at(crease.edge) {
            state.rest_angles[hinge] = crease.rest_angle;
        }
    }
    let topology = &garment.topology;
    let design = FoldDesign {
        styles: FoldStyle::chart(&garment),
        creases: garment.creases.iter().map(|crease| (topology.edge(crease.edge), crease.rest_angle)).collect(),
    };
    let (positions, told) = match task.is_sim {
        true => simulate(task, &assembly, (model.clone(), state), design),
        false => repair(task, &assembly, (model.clone(), state), design),
    };
    let mut workspace = Workspace::default();
    let tangle = analysis::analyze(&assembly, &positions, &mut workspace);
    let pairs = analysis::verdict(&assembly, &positions, &mut workspace).pairs.len();
    let edges = Spread::of_edges(&model, &positions);
    let text = format!(
        "{name:<7} {:<9} {seed:>2}: {} left, {pairs} pairs, {told}; edges {:.2} {:.2} {:.2} {:.2}",
        format!("{cut:?}"),
        kinds(&tangle),
        edges.min,
        edges.p01,
        edges.p99,
        edges.max
    );
    Row { text, folds_left: tangle.count(ContourKind::Bli), pairs }
}

fn garment(sample: &Sample) -> Garment {
    let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
    let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
    let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
    Garment::build(&input, &sample.description).expect("samples are sound")
}

fn repair(
    task: &Task,
    assembly: &Assembly,
    (model, state): (Model, State),
    FoldDesign { styles, creases }: FoldDesign,
) -> (Vec<DVec3>, String) {
    let mut settings = FixSettings::with_method(task.method);
    settings.untangle.tear.strip_stiffness = task.strip;
    settings.vertices = VertexSettings { styles, creases, ..VertexSettings::default() };
    let patient = Patient { model, state, assembly: assembly.clone(), body_positions: Vec::new() };
    let (mut last, mut step) = (None, 0);
    let outcome = fix::untangle(patient, &settings, &mut |progress| {
        step = progress.step;
        if progress.tangle.count(ContourKind::Bli) > 0 {
            last = Some(progress.step);
        }
        Continue::Yes
    });
    let text =
        format!("{} steps, last BLI at {last:?}, wrote {:?}, {:?}", outcome.steps, outcome.writers, acted(&outcome));
    (outcome.positions, text)
}

/// The resolvers of folds that acted.
fn acted(outcome: &fix::Outcome) -> Vec<(&'static str, usize)> {
    let of = &outcome.resolvers;
    let counts = [("tear", of.tearing), ("region", of.flips.regional), ("crease", of.flips.crease)];
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn simulate(
    task: &Task,
    assembly: &Assembly,
    (model, state): (Model, State),
    design: FoldDesign,
) -> (Vec<DVec3>, String) {
    let mut settings = Settings::default();
    settings.time.step = STEP;
    settings.dynamics.integration = Integration::QuasiStatic;
    settings.untangle.method = task.method;
    settings.untangle.tear.strip_stiffness = task.strip;
    let mut world = World::new(model, Environment::NOTHING, Vec::new(), Vec::new()).expect("samples are sound");
    world.design = design;
    let mut simulation = Simulation::new(world, state, settings);
    let mut workspace = Workspace::default();
    let (mut last, mut halved, mut clean) = (None, 0, None);
    for step in 0..task.steps {
        let tangle = analysis::analyze(assembly, &simulation.state.positions, &mut workspace);
        if tangle.count(ContourKind::Bli) > 0 {
            last = Some(step);
        }
        clean = clean.filter(|_| tangle.is_empty()).or(tangle.is_empty().then_some(step));
        if task.is_logged {
            let state = &simulation.state;
            let tears: Vec<String> =
                state.tearing.jobs.iter().map(|job| format!("{} {:.0}", job.strip.len(), job.waited)).collect();
            let flips: Vec<String> = (state.flips.iter())
                .map(|job| format!("wrong {} of {} waited {:.0}", job.least_wrong, job.flap.len(), job.waited))
                .collect();
            println!("{step}: {}; tears {tears:?} flips {flips:?}", kinds(&tangle));
        }
        if let Ok(report) = simulation.advance(STEP, &mut |_| Flow::GoOn) {
            halved += report.halved_steps;
        }
    }
    let text = format!("last BLI at {last:?}, clean from {clean:?}, {halved} halved");
    (simulation.state.positions, text)
}

fn kinds(tangle: &Tangle) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for kind in tangle.contours.iter().map(|tangled| format!("{:?}", tangled.kind)) {
        match counts.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let text: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if text.is_empty() { "nothing".to_owned() } else { text.join(" ") }
}
