//! The collision pipeline on a folded sheet in heavy self-contact: time per step, and how it grows.
//!
//! `contact VERTICES THREADS [STEPS]`: a sheet folded into 20 layers, the layers within thickness, pressed together and
//! stirred. Prints one line a step and a line of JSON: seconds of proximity alone and of the whole stage, mean of the
//! steps; counts; intersections by the exact check, which must be 0.

use serde_json::json;
use std::error::Error;
use std::time::Instant;
use unsnarl::contact::{
    ContactInput, ContactMesh, ContactSettings, OrdinaryRules, Workspace, find_proximities, resolve,
};
use unsnarl_benches::meshes::Layers;
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{DVec3, Topology, VertexId};

const THICKNESS: f64 = Layers::THICKNESS;
const STEP: f64 = 1.0 / 240.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (vertices, threads, steps): (usize, usize, usize) = match arguments.as_slice() {
        [vertices, threads] => (vertices.parse()?, threads.parse()?, 4),
        [vertices, threads, steps] => (vertices.parse()?, threads.parse()?, steps.parse()?),
        _ => return Err("usage: contact VERTICES THREADS [STEPS]".into()),
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let Layers { mesh, uv } = Layers::new(vertices);
    let topology = Topology::new(mesh.positions.len(), &mesh.triangles)?;
    let length = |[a, b]: &[VertexId; 2]| uv[a.index()].distance(uv[b.index()]);
    let rest_lengths: Vec<f64> = topology.edges().iter().map(length).collect();
    let mut positions = mesh.positions;
    let count = positions.len();
    let (thickness, friction, inverse_mass) = (vec![THICKNESS; count], vec![0.4; count], vec![1e4; count]);
    let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
    let mut workspace = Workspace::default();
    let (mut proximity_seconds, mut seconds, mut intersections) = (0.0, 0.0, 0);
    let (mut proximities, mut collisions) = (0, 0);
    for step in 0..steps {
        let end: Vec<DVec3> = positions.iter().map(|&p| p + STEP * Layers::stirring(p, step as f64)).collect();
        let input = ContactInput {
            mesh: &mesh,
            start: &positions,
            end: &end,
            step: STEP,
            inverse_mass: &inverse_mass,
            thickness: &thickness,
            friction: &friction,
            rules: &OrdinaryRules,
        };
        let clock = Instant::now();
        find_proximities(&input, &mut workspace);
        let looked = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let resolved = resolve(&input, &ContactSettings::default(), &mut workspace);
        let resolving = clock.elapsed().as_secs_f64();
        println!("step {step}: {resolving:.3} s, {looked:.3} s of it proximity; {:?}", resolved.report);
        (proximity_seconds, seconds) = (proximity_seconds + looked, seconds + resolving);
        (proximities, collisions) =
            (proximities + resolved.report.proximities, collisions + resolved.report.collisions);
        positions = resolved.positions;
        let tree = triangle_tree(mesh.topology(), &positions);
        intersections += find_intersecting_pairs(mesh.topology(), &positions, &tree, |_, _| true).len();
    }
    let each = |sum: f64| sum / steps as f64;
    println!(
        "{}",
        json!({ "schema": "unsnarl.bench.contact/1", "vertices": count, "threads": threads,
            "seconds_per_step": each(seconds), "proximity_seconds_per_step": each(proximity_seconds),
            "proximities": proximities, "collisions": collisions, "intersections": intersections })
    );
    Ok(())
}
