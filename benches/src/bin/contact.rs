//! The collision pipeline on a folded sheet in heavy self-contact: time per step, and how it grows.
//!
//! `contact VERTICES THREADS [STEPS]`: a sheet folded into 20 layers, the layers within thickness, pressed together and
//! stirred. Prints one line a step and a line of JSON: seconds of proximity alone and of the whole stage, mean of the
//! steps; counts; intersections by the exact check, which must be 0.

use serde_json::json;
use std::error::Error;
use std::f64::consts::PI;
use std::time::Instant;
use unsnarl::contact::{
    ContactInput, ContactMesh, ContactSettings, OrdinaryRules, Workspace, find_proximities, resolve,
};
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{DVec3, Topology};

const LAYERS: usize = 20;
const THICKNESS: f64 = 1e-3;
const STEP: f64 = 1.0 / 240.0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (vertices, threads, steps): (usize, usize, usize) = match arguments.as_slice() {
        [vertices, threads] => (vertices.parse()?, threads.parse()?, 4),
        [vertices, threads, steps] => (vertices.parse()?, threads.parse()?, steps.parse()?),
        _ => return Err("usage: contact VERTICES THREADS [STEPS]".into()),
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let (topology, mut positions, rest_lengths) = folded_sheet(vertices)?;
    let count = positions.len();
    let (thickness, friction, inverse_mass) = (vec![THICKNESS; count], vec![0.4; count], vec![1e4; count]);
    let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
    let mut workspace = Workspace::default();
    let (mut proximity_seconds, mut seconds, mut intersections) = (0.0, 0.0, 0);
    let (mut proximities, mut collisions) = (0, 0);
    for step in 0..steps {
        let end: Vec<DVec3> = positions.iter().map(|&p| p + STEP * stirring(p, step as f64)).collect();
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

type Sheet = (Topology, Vec<DVec3>, Vec<f64>);

/// A sheet folded to and fro along x, its layers 0.8 thicknesses apart, with round folds.
fn folded_sheet(vertices: usize) -> Result<Sheet, Box<dyn Error>> {
    let rows = ((vertices as f64 / LAYERS as f64).sqrt() as usize).max(4);
    let columns = vertices / rows;
    let radius = 0.4 * THICKNESS;
    let straight = 0.4;
    let layer_length = straight + PI * radius;
    let along = |column: usize| column as f64 / (columns - 1) as f64 * (LAYERS as f64 * layer_length - PI * radius);
    let place = |distance: f64, y: f64| {
        let layer = (distance / layer_length) as usize;
        let rest = distance - layer as f64 * layer_length;
        let (x, lift) = if rest <= straight {
            (rest, 0.0)
        } else {
            let angle = (rest - straight) / radius;
            (straight + radius * angle.sin(), radius * (1.0 - angle.cos()))
        };
        DVec3::new(if layer.is_multiple_of(2) { x } else { straight - x }, y, 2.0 * radius * layer as f64 + lift)
    };
    let mut positions = Vec::new();
    for row in 0..rows {
        let y = 0.4 * row as f64 / (rows - 1) as f64;
        positions.extend((0..columns).map(|column| place(along(column), y)));
    }
    let mut triangles = Vec::new();
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let corner = (row * columns + column) as u32;
            let above = corner + columns as u32;
            triangles.extend([[corner, corner + 1, above], [corner + 1, above + 1, above]]);
        }
    }
    let topology = Topology::new(positions.len(), &triangles)?;
    let length = |a: usize, b: usize| {
        let steps = [(a % columns).abs_diff(b % columns) as f64, (a / columns).abs_diff(b / columns) as f64];
        (steps[0] * along(1)).hypot(steps[1] * 0.4 / (rows - 1) as f64)
    };
    let rest_lengths = topology.edges().iter().map(|[a, b]| length(a.index(), b.index())).collect();
    Ok((topology, positions, rest_lengths))
}

/// Presses the layers together and stirs them.
fn stirring(point: DVec3, seed: f64) -> DVec3 {
    let wave = |a: f64, b: f64, phase: f64| (a * point.x + b * point.y + 400.0 * point.z + phase + seed).sin();
    let stir = DVec3::new(wave(20.0, 13.0, 0.0), wave(-17.0, 11.0, 1.0), 2.0 * wave(25.0, 31.0, 2.0));
    0.2 * stir + DVec3::new(0.0, 0.0, -20.0 * (point.z - 8e-3))
}
