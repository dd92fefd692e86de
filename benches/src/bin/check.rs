//! Our side of the bench `benches/check`; `benches/python/check.py` calls it and compares.
//!
//! `check make CASE OUT.ply` writes a mesh; `check dump MESH OUT` writes its positions and triangles as plain numbers for
//! the peers; `check time MESH ROUNDS THREADS` times the verdict, tree included, positions in memory; `check analysis
//! MESH ROUNDS` times the whole analysis on one thread, beside parry's traversal of the same triangles.

use parry3d_f64::bounding_volume::Aabb as ParryBox;
use parry3d_f64::partitioning::{Bvh as ParryTree, BvhBuildStrategy, BvhWorkspace};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use unsnarl::analysis::{self, Assembly, Workspace};
use unsnarl_benches::meshes::{SkirtState, folded_sheet, skirt};
use unsnarl_benches::timing::{Timing, measure};
use unsnarl_geometry::intersection::triangle_box;
use unsnarl_geometry::{Aabb, DVec3, TriMesh};
use unsnarl_io::mesh::{self, MeshFile, ReadOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["make", case, out] => make(case, Path::new(out)),
        ["dump", from, out] => dump(&read(from)?, Path::new(out)),
        ["time", from, rounds, threads] => {
            rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
            println!("{}", time_verdict(&read(from)?, rounds.parse()?)?);
            Ok(())
        }
        ["analysis", from, rounds] => {
            rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
            println!("{}", time_analysis(&read(from)?, rounds.parse()?)?);
            Ok(())
        }
        _ => Err("usage: check make CASE OUT | dump MESH OUT | time MESH ROUNDS THREADS | analysis MESH ROUNDS".into()),
    }
}

fn read(path: &str) -> Outcome<TriMesh> {
    Ok(mesh::read(Path::new(path), &ReadOptions::default())?.mesh)
}

fn make(case: &str, out: &Path) -> Outcome<()> {
    let made = match case {
        "folded-sheet" => folded_sheet(),
        "skirt" => skirt(SkirtState::Clean),
        "tangled-skirt" => skirt(SkirtState::Tangled),
        _ => return Err(format!("no such case: {case}; there are folded-sheet, skirt and tangled-skirt").into()),
    };
    Ok(mesh::write(out, &MeshFile::new(made, None))?)
}

/// Two counts as 64-bit integers, then positions as doubles, then triangles as 32-bit integers, little-endian.
fn dump(mesh: &TriMesh, out: &Path) -> Outcome<()> {
    let mut bytes = Vec::new();
    for count in [mesh.positions.len(), mesh.triangles.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    bytes.extend(mesh.positions.iter().flat_map(|position| position.to_array()).flat_map(f64::to_le_bytes));
    bytes.extend(mesh.triangles.iter().flatten().flat_map(|vertex| vertex.to_le_bytes()));
    Ok(std::fs::write(out, bytes)?)
}

fn time_verdict(mesh: &TriMesh, rounds: usize) -> Outcome<Value> {
    let assembly = Assembly::of_cloth("mesh", mesh)?;
    let verdict = analysis::verdict(&assembly, &mesh.positions, &mut Workspace::default());
    let fresh = measure(rounds, || analysis::verdict(&assembly, &mesh.positions, &mut Workspace::default()));
    let mut workspace = Workspace::default();
    let refitted = measure(rounds, || analysis::verdict(&assembly, &mesh.positions, &mut workspace));
    Ok(json!({
        "vertices": mesh.positions.len(),
        "triangles": mesh.triangles.len(),
        "intersecting_triangle_pairs": verdict.pairs.len(),
        "touching_triangle_pairs": verdict.touching_count(),
        "seconds": seconds(fresh),
        "seconds_refitted": seconds(refitted),
    }))
}

fn time_analysis(mesh: &TriMesh, rounds: usize) -> Outcome<Value> {
    let assembly = Assembly::of_cloth("mesh", mesh)?;
    let tangle = analysis::analyze(&assembly, &mesh.positions, &mut Workspace::default());
    let fresh = measure(rounds, || analysis::analyze(&assembly, &mesh.positions, &mut Workspace::default()));
    let mut workspace = Workspace::default();
    let repeated = measure(rounds, || analysis::analyze(&assembly, &mesh.positions, &mut workspace));
    let states = swaying(&mesh.positions);
    let mut round = 0;
    let moved = measure(rounds, || {
        round += 1;
        analysis::analyze(&assembly, &states[round % states.len()], &mut workspace)
    });

    let boxes = (0..mesh.triangles.len()).map(|triangle| {
        let bounds = triangle_box(assembly.topology(), &mesh.positions, triangle);
        (triangle, ParryBox::new(bounds.min, bounds.max))
    });
    let parry = ParryTree::from_iter(BvhBuildStrategy::Binned, boxes);
    let mut parry_workspace = BvhWorkspace::default();
    let mut overlap_count = 0usize;
    let traversal = measure(rounds, || {
        overlap_count = 0;
        parry.traverse_bvtt_single_tree::<false>(&mut parry_workspace, &mut |_, _| overlap_count += 1);
    });
    Ok(json!({
        "vertices": mesh.positions.len(),
        "triangles": mesh.triangles.len(),
        "contours": tangle.contours.len(),
        "red_vertices": tangle.colours.red_vertices.len(),
        "seconds": seconds(fresh),
        "seconds_repeated": seconds(repeated),
        "seconds_moved": seconds(moved),
        "parry_traversal_seconds": seconds(traversal),
        "parry_overlapping_pairs": overlap_count,
    }))
}

/// States that differ from each other in every vertex, as steps of a simulation do: a wave of a thousandth of the size
/// of the mesh runs over it.
fn swaying(positions: &[DVec3]) -> Vec<Vec<DVec3>> {
    const STATES: usize = 5;
    let bounds = Aabb::of_points(positions.iter().copied());
    let size = bounds.extent().length();
    let sway = |phase: f64, position: &DVec3| {
        let angle = (*position * (20.0 / size)).dot(DVec3::new(1.0, 0.7, 0.4)) + phase;
        *position + DVec3::new(angle.sin(), (1.3 * angle).cos(), (0.9 * angle).sin()) * (1e-3 * size)
    };
    let phases = (0..STATES).map(|state| state as f64 * std::f64::consts::TAU / STATES as f64);
    phases.map(|phase| positions.iter().map(|position| sway(phase, position)).collect()).collect()
}

fn seconds(timing: Timing) -> Value {
    json!({"best": timing.best, "median": timing.median})
}
