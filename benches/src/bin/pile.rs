//! A sheet folded into 20 layers lies on the floor: heavy self-contact in a whole simulation.
//!
//! `pile VERTICES THREADS [FRAMES]`: frames of 1/24 s in steps of 1/120 s. Prints a line a frame and a line of JSON: seconds per frame, the share of
//! every stage, counts, and frames with an intersection by the exact check, which must be 0.

use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;
use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::bodies::shape::Shape;
use unsnarl::geometry::{DVec3, UvMap};
use unsnarl::model::{Cloth, Model, Rest};
use unsnarl::scene::environment::Environment;
use unsnarl::settings::Settings;
use unsnarl::simulation::{Flow, Simulation, World};
use unsnarl_benches::meshes::Layers;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (vertices, threads, frames): (usize, usize, u32) = match arguments.as_slice() {
        [vertices, threads] => (vertices.parse()?, threads.parse()?, 2),
        [vertices, threads, frames] => (vertices.parse()?, threads.parse()?, frames.parse()?),
        _ => return Err("usage: pile VERTICES THREADS [FRAMES]".into()),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let line = pool.install(|| run(vertices, threads, frames)).map_err(|error| error.to_string())?;
    println!("{line}");
    Ok(())
}

fn run(vertices: usize, threads: usize, frames: u32) -> Result<serde_json::Value, String> {
    let mut simulation = pile(vertices)?;
    let mut stages: BTreeMap<String, f64> = BTreeMap::new();
    let (mut seconds, mut dirty, mut collisions, mut zones, mut proximities) = (0.0, 0, 0, 0, 0);
    for frame in 1..=frames {
        let begun = Instant::now();
        let mut last = Instant::now();
        let mut observe = |stage| {
            *stages.entry(format!("{stage:?}")).or_default() += last.elapsed().as_secs_f64();
            last = Instant::now();
            Flow::GoOn
        };
        let report = simulation.advance(1.0 / 24.0, &mut observe).map_err(|error| error.to_string())?;
        let spent = begun.elapsed().as_secs_f64();
        println!(
            "frame {frame}: {spent:.1} s, {} steps, stretch {:.2}, {:?}",
            report.steps, report.largest_stretch, report.collision
        );
        seconds += spent;
        dirty += u32::from(report.intersecting_triangle_pairs > 0);
        collisions += report.collision.collisions;
        zones += report.collision.zones;
        proximities = report.collision.proximities;
    }
    let share = |spent: f64| (1000.0 * spent / seconds).round() / 1000.0;
    let shares: BTreeMap<&str, f64> = stages.iter().map(|(stage, spent)| (stage.as_str(), share(*spent))).collect();
    Ok(json!({ "schema": "unsnarl.bench.pile/1", "vertices": simulation.state.positions.len(), "threads": threads,
        "seconds_per_frame": seconds / f64::from(frames), "shares": shares, "collisions": collisions, "zones": zones,
        "proximities": proximities, "frames_with_intersections": dirty }))
}

/// The layers stacked upwards, a little above the floor, stirred at the start.
fn pile(vertices: usize) -> Result<Simulation, String> {
    let layers = Layers::new(vertices);
    let stirred: Vec<DVec3> = layers.mesh.positions.iter().map(|&point| Layers::stirring(point, 0.0)).collect();
    let upwards = |point: DVec3| DVec3::new(point.x, point.z, -point.y);
    let flat = UvMap { coordinates: layers.uv, triangles: layers.mesh.triangles.clone() };
    let mut cloth = Cloth { rest: Rest::Panels(flat), ..Cloth::new("pile", layers.mesh) };
    cloth.fabric.thickness = Layers::THICKNESS;
    let lift = DVec3::Y * Layers::THICKNESS;
    cloth.mesh.positions.iter_mut().for_each(|point| *point = upwards(*point) + lift);
    let (model, mut state) = Model::build(&[cloth]).map_err(|error| error.to_string())?;
    state.velocities = stirred.into_iter().map(upwards).collect();
    let floor = Body::solid("floor", Shape::Plane, Keyframes::fixed(DVec3::ZERO), 0.5);
    let world =
        World::new(model, Environment::default(), vec![floor], Vec::new()).map_err(|error| error.to_string())?;
    Ok(Simulation::new(world, state, Settings::default()))
}
