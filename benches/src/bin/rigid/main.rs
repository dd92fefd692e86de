//! Rigid bodies at the sizes of the chapter that they come from, and a pyramid beside rapier. (Bridson 2003, 4.10)
//!
//! `rigid rings COUNT FRAMES`, `rigid bones COUNT FRAMES FEMUR BONES`, `rigid pyramid [MUJOCO.json]`, `rigid
//! ablations`; all take `--threads N` (2), `--obj FILE` for the last frame and `--settings FILE.json`. Prints a row per
//! measure, with the bar and whether it is met.

mod scenes;

use rapier3d_f64::prelude as rapier;
use scenes::{Scene, bones, pyramid, rings};
use std::error::Error;
use std::time::Instant;
use unsnarl::geometry::DVec3;
use unsnarl::rigid::{Placement, Settings, Stopping, Switch, advance, deepest};

const FRAME: f64 = 1.0 / 24.0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = take(&mut arguments, "--threads").map_or(Ok(2), |count| count.parse())?;
    let obj = take(&mut arguments, "--obj");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let settings = match take(&mut arguments, "--settings") {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => Settings::default(),
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    println!("| {} threads | ours | bar | |\n|---|---|---|---|", threads);
    match words.as_slice() {
        ["rings", count, frames] => {
            let (count, frames) = (count.parse()?, frames.parse()?);
            let scene = pool.install(|| run_rings(count, frames, &settings));
            save(&scene, obj)
        }
        ["bones", count, frames, femur, other] => {
            let (count, frames) = (count.parse()?, frames.parse()?);
            let meshes =
                [femur, other].map(|path| unsnarl_io::mesh::read(std::path::Path::new(path), &Default::default()));
            let [femur, other] = meshes;
            let meshes = [femur?.mesh, other?.mesh];
            let scene =
                pool.install(|| run_bones(count, frames, &meshes, &settings)).map_err(|error| error.to_string())?;
            save(&scene, obj)
        }
        ["pyramid", rest @ ..] => {
            let mujoco = rest.first().map(std::fs::read_to_string).transpose()?;
            let scene =
                pool.install(|| run_pyramids(mujoco.as_deref(), &settings)).map_err(|error| error.to_string())?;
            save(&scene, obj)
        }
        ["ablations"] => {
            pool.install(run_ablations);
            Ok(())
        }
        _ => {
            Err("usage: rigid rings COUNT FRAMES | bones COUNT FRAMES FEMUR BONES | pyramid [MUJOCO.json] | ablations"
                .into())
        }
    }
}

fn take(arguments: &mut Vec<String>, flag: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == flag)?;
    arguments.remove(at);
    (at < arguments.len()).then(|| arguments.remove(at))
}

fn row(name: &str, found: f64, bar: f64, unit: &str) {
    let verdict = if found < bar { "met" } else { "missed" };
    println!("| {name} | {found:.4} {unit} | under {bar} {unit} | {verdict} |");
}

/// Seconds of all threads of this process.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// What many frames took.
struct Run {
    seconds: f64,
    slowest: f64,
    processor: f64,
    deepest: f64,
    fastest: f64,
    lost: usize,
}

fn run(scene: &mut Scene, frames: usize, settings: &Settings) -> Run {
    let mut run =
        Run { seconds: 0.0, slowest: 0.0, processor: -processor_seconds(), deepest: 0.0, fastest: 0.0, lost: 0 };
    for frame in 1..=frames {
        let begun = Instant::now();
        let gravity = DVec3::NEG_Y * 9.81;
        let report = advance(&scene.bodies, &mut scene.state, FRAME, gravity, &[], settings, &mut scene.workspace);
        let seconds = begun.elapsed().as_secs_f64();
        run.seconds += seconds;
        run.slowest = run.slowest.max(seconds);
        run.deepest = run.deepest.max(report.deepest);
        run.fastest = report.fastest;
        run.lost += report.lost;
        if frame % 12 == 0 {
            eprintln!(
                "frame {frame}: {seconds:.3} s, {} steps, {} pairs, {} points, {} levels, {} + {} + {} impulses, depth {:.2e}, fastest {:.2e}",
                report.steps,
                report.pairs,
                report.points,
                report.levels,
                report.collision_impulses,
                report.contact_impulses,
                report.shock_impulses,
                report.deepest,
                report.fastest
            );
        }
    }
    run.processor += processor_seconds();
    run
}

fn run_rings(count: usize, frames: usize, settings: &Settings) -> Scene {
    let mut scene = rings(count);
    let run = run(&mut scene, frames, settings);
    let bar = if count <= 500 { 0.5 } else { 1.0 };
    row(&format!("{count} rings, {frames} frames: a frame"), run.seconds / frames as f64, bar, "s");
    row("slowest frame", run.slowest, bar, "s");
    println!("| processor seconds a frame | {:.4} | | |", run.processor / frames as f64);
    row("largest depth, share of the ring's thickness", run.deepest / scenes::RING_THICKNESS, 0.02, "");
    row("fastest point at the end", run.fastest, 0.01, "m/s");
    row("lost", run.lost as f64, 0.5, "");
    scene
}

fn run_bones(
    count: usize,
    frames: usize,
    meshes: &[unsnarl::geometry::TriMesh; 2],
    settings: &Settings,
) -> Result<Scene, Box<dyn Error + Send + Sync>> {
    let mut scene = bones(count, meshes)?;
    let triangles: usize = (0..scene.bodies.bodies.len()).map(|at| scene.bodies.shape(at).mesh().triangles.len()).sum();
    println!("| triangles | {triangles} | | |");
    let run = run(&mut scene, frames, settings);
    row(&format!("{count} bones, {frames} frames: a frame"), run.seconds / frames as f64, 2.0, "s");
    row("slowest frame", run.slowest, 2.0, "s");
    println!("| processor seconds a frame | {:.4} | | |", run.processor / frames as f64);
    println!("| largest depth | {:.5} m | | |", run.deepest);
    row("lost", run.lost as f64, 0.5, "");
    row("outside the funnel's wall or below the floor", scenes::escaped(&scene) as f64, 0.5, "");
    Ok(scene)
}

/// Ours, rapier at its own step and at ours, and mujoco if somebody ran it: five seconds of a pyramid of 55 boxes.
fn run_pyramids(mujoco: Option<&str>, settings: &Settings) -> Result<Scene, Box<dyn Error + Send + Sync>> {
    const SECONDS: f64 = 5.0;
    let start = pyramid();
    let mut ours = pyramid();
    let begun = processor_seconds();
    let frames = (SECONDS / FRAME).round() as usize;
    let ran = run(&mut ours, frames, settings);
    let our_seconds = processor_seconds() - begun;
    println!(
        "| 55 boxes, {SECONDS} s | processor s | drift m | depth m | energy J | fastest m/s |\n|---|---|---|---|---|---|"
    );
    report_pyramid("unsnarl, step 1/240", our_seconds, &start, &ours, ran.fastest);
    let mut rapiers = Vec::new();
    for step in [1.0 / 60.0, 1.0 / 240.0] {
        let begun = processor_seconds();
        let (end, fastest) = run_rapier(&start, SECONDS, step);
        let seconds = processor_seconds() - begun;
        report_pyramid(&format!("rapier3d-f64, step 1/{:.0}", 1.0 / step), seconds, &start, &end, fastest);
        rapiers.push((seconds, drift(&start, &end)));
    }
    let mut drifts: Vec<f64> = rapiers.iter().map(|&(_, drift)| drift).collect();
    if let Some(text) = mujoco {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
        let mut end = pyramid();
        for (at, pose) in value["poses"].as_array().into_iter().flatten().enumerate() {
            let p: Vec<f64> = pose.as_array().into_iter().flatten().map(number).collect();
            let rotation = unsnarl::geometry::math::DQuat::from_xyzw(p[4], p[5], p[6], p[3]).normalize();
            end.state.placements[at + 1] = Placement { position: DVec3::new(p[0], p[1], p[2]), rotation };
        }
        report_pyramid("mujoco", number(&value["seconds"]), &start, &end, number(&value["fastest"]));
        drifts.push(drift(&start, &end));
    }
    println!("\n| bar | found | bar | |\n|---|---|---|---|");
    row("time beside rapier at the same step", our_seconds / rapiers[1].0, 2.0, "times");
    row(
        "drift beside the least of the peers",
        drift(&start, &ours) / drifts.into_iter().fold(f64::INFINITY, f64::min),
        1.0,
        "times",
    );
    Ok(ours)
}

fn drift(start: &Scene, end: &Scene) -> f64 {
    let pairs = start.state.placements.iter().zip(&end.state.placements);
    pairs.map(|(a, b)| a.position.distance(b.position)).fold(0.0, f64::max)
}

fn report_pyramid(name: &str, seconds: f64, start: &Scene, end: &Scene, fastest: f64) {
    let height = |scene: &Scene| -> f64 {
        let bodies = scene.bodies.bodies.iter().zip(&scene.state.placements).skip(1);
        bodies.map(|(body, placement)| 9.81 * body.mass * placement.position.y).sum()
    };
    let depth = deepest(&end.bodies, &end.state, &Settings::default());
    println!(
        "| {name} | {seconds:.3} | {:.2e} | {depth:.2e} | {:.2e} | {fastest:.1e} |",
        drift(start, end),
        height(end) - height(start)
    );
}

fn run_rapier(scene: &Scene, seconds: f64, step: f64) -> (Scene, f64) {
    let mut bodies = rapier::RigidBodySet::new();
    let mut colliders = rapier::ColliderSet::new();
    let ground = rapier::ColliderBuilder::cuboid(50.0, 1.0, 50.0).translation(rapier::Vector::new(0.0, -1.0, 0.0));
    colliders.insert(ground.friction(0.5).build());
    let half = scenes::BOX_HALF;
    let mut handles = Vec::new();
    for placement in &scene.state.placements[1..] {
        let at = placement.position;
        let body =
            rapier::RigidBodyBuilder::dynamic().translation(rapier::Vector::new(at.x, at.y, at.z)).can_sleep(false);
        let handle = bodies.insert(body.build());
        let collider = rapier::ColliderBuilder::cuboid(half, half, half).density(1000.0).friction(0.5).restitution(0.0);
        colliders.insert_with_parent(collider.build(), handle, &mut bodies);
        handles.push(handle);
    }
    let parameters = rapier::IntegrationParameters { dt: step, ..Default::default() };
    let mut pipeline = rapier::PhysicsPipeline::new();
    let (mut islands, mut broad, mut narrow) =
        (rapier::IslandManager::new(), rapier::DefaultBroadPhase::new(), rapier::NarrowPhase::new());
    let (mut joints, mut multibody) = (rapier::ImpulseJointSet::new(), rapier::MultibodyJointSet::new());
    let (mut ccd, mut soft) = (rapier::CCDSolver::new(), rapier::SoftBodySet::new());
    for _ in 0..(seconds / step).round() as usize {
        pipeline.step(
            rapier::Vector::new(0.0, -9.81, 0.0),
            &parameters,
            &mut islands,
            &mut broad,
            &mut narrow,
            &mut bodies,
            &mut colliders,
            &mut joints,
            &mut multibody,
            &mut soft,
            &mut ccd,
            &(),
            &(),
        );
    }
    let mut end = pyramid();
    let mut fastest = 0.0f64;
    for (at, &handle) in handles.iter().enumerate() {
        let body = &bodies[handle];
        let (p, q) = (body.translation(), body.rotation());
        let rotation = unsnarl::geometry::math::DQuat::from_xyzw(q.x, q.y, q.z, q.w).normalize();
        end.state.placements[at + 1] = Placement { position: DVec3::new(p.x, p.y, p.z), rotation };
        let v = body.linvel();
        fastest = fastest.max(DVec3::new(v.x, v.y, v.z).length());
    }
    (end, fastest)
}

/// Each part of the method left out, on a pyramid and on rings.
fn run_ablations() {
    let full = Settings::default;
    let rows = [
        ("all parts", full()),
        ("stopping at once", Settings { stopping: Stopping::AtOnce, ..full() }),
        ("no contact graph", Settings { contact_graph: Switch::Off, ..full() }),
        ("no starting guess", Settings { starting_guess: Switch::Off, ..full() }),
        ("no shock", Settings { shock: Switch::Off, ..full() }),
        ("no shock, one sweep of one pass", Settings { shock: Switch::Off, contact_sweeps: 1, passes: 1, ..full() }),
        ("shock only", Settings { contact_sweeps: 0, ..full() }),
        ("fixed list", Settings { shuffle: Switch::Off, ..full() }),
        ("no separation", Settings { separation: Switch::Off, ..full() }),
    ];
    println!("| left out | pyramid: s a frame | drift m | depth m | 100 rings: s a frame | depth m | fastest m/s |");
    for (name, settings) in rows {
        let (start, mut boxes, mut loops) = (pyramid(), pyramid(), rings(100));
        let pile = run(&mut boxes, 48, &settings);
        let rings = run(&mut loops, 72, &settings);
        println!(
            "| {name} | {:.4} | {:.2e} | {:.2e} | {:.4} | {:.2e} | {:.2e} |",
            pile.processor / 48.0,
            drift(&start, &boxes),
            pile.deepest,
            rings.processor / 72.0,
            rings.deepest,
            rings.fastest
        );
    }
}

fn save(scene: &Scene, path: Option<String>) -> Result<(), Box<dyn Error>> {
    let Some(path) = path else { return Ok(()) };
    let mut text = String::new();
    let mut first = 1;
    for (at, placement) in scene.state.placements.iter().enumerate() {
        let shape = scene.bodies.shape(at);
        if shape.is_unbounded() || Some(at) == scene.hidden {
            continue;
        }
        for &vertex in &shape.mesh().positions {
            let p = placement.to_world(vertex);
            text += &format!("v {} {} {}\n", p.x, p.y, p.z);
        }
        for triangle in &shape.mesh().triangles {
            let [a, b, c] = triangle.map(|vertex| vertex + first);
            text += &format!("f {a} {b} {c}\n");
        }
        first += shape.mesh().positions.len() as u32;
    }
    Ok(std::fs::write(path, text)?)
}
