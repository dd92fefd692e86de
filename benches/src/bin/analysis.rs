//! What the intersection analysis costs as crossings grow, from crossings to colours, on one thread.
//!
//! `cargo run --release -p unsnarl-benches --bin analysis` prints two tables and one line of JSON. The first table throws
//! a growing share of one handkerchief of 392 triangles about (Cha 2022, 6.3, has about 390 triangles and 7,801 crossing
//! pairs), the second all of larger and larger ones. The exponent is the slope of time over crossing pairs between the
//! first and the last row in logarithms: 1 is linear, 2 would be quadratic.

use serde_json::{Value, json};
use std::error::Error;
use unsnarl::analysis::{self, Assembly, Workspace};
use unsnarl::samples::{Cut, Explosion, Recipe, explode};
use unsnarl_benches::timing::measure;
use unsnarl_geometry::TriMesh;

/// The radius of the ball that vertices are thrown into, in metres: a quarter of the side.
const RADIUS: f64 = 0.1;
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let thrown =
        |resolution, explosion| explode(&Recipe { resolution, cut: Cut::Regular, seed: 1 }, explosion, RADIUS).mesh;
    let shares = [0.25, 0.4, 0.55, 0.7, 1.0].map(|share| thrown(14, Explosion::Square { share }));
    let one_size = table(
        "one handkerchief, a growing share thrown about, all of it in the last row",
        shares.into_iter().chain([thrown(14, Explosion::Whole)]),
    )?;
    let growing_size = table(
        "larger and larger handkerchiefs, all of each thrown about",
        [8, 12, 16, 20, 26, 32].map(|resolution| thrown(resolution, Explosion::Whole)),
    )?;
    let report = json!({
        "schema": "unsnarl.bench.analysis/1",
        "one_size": one_size,
        "growing_size": growing_size,
    });
    println!("{report}");
    Ok(())
}

fn table(title: &str, meshes: impl IntoIterator<Item = TriMesh>) -> Result<Value, Box<dyn Error>> {
    println!("{title}");
    println!(
        "{:>9} {:>14} {:>9} {:>12} {:>21}",
        "triangles", "crossing pairs", "contours", "milliseconds", "microseconds per pair"
    );
    let mut rows = Vec::new();
    for mesh in meshes {
        let row = row(&mesh)?;
        print_row(&row);
        rows.push(row);
    }
    println!("exponent {:.2}\n", exponent(&rows));
    Ok(json!({ "rows": rows, "exponent": exponent(&rows) }))
}

fn row(mesh: &TriMesh) -> Result<Value, Box<dyn Error>> {
    let assembly = Assembly::of_cloth("handkerchief", mesh)?;
    let mut workspace = Workspace::default();
    let tangle = analysis::analyze(&assembly, &mesh.positions, &mut workspace);
    let timing = measure(ROUNDS, || analysis::analyze(&assembly, &mesh.positions, &mut workspace));
    let pairs: usize = tangle.contours.iter().map(|tangled| tangled.contour.segments.len()).sum();
    Ok(json!({
        "triangles": mesh.triangles.len(),
        "crossing_pairs": pairs,
        "contours": tangle.contours.len(),
        "seconds": timing.best,
        "seconds_median": timing.median,
    }))
}

fn print_row(row: &Value) {
    let number = |key: &str| row[key].as_f64().unwrap_or(0.0);
    let (pairs, seconds) = (number("crossing_pairs"), number("seconds"));
    println!(
        "{:>9} {:>14} {:>9} {:>12.3} {:>21.3}",
        number("triangles"),
        pairs,
        number("contours"),
        seconds * 1e3,
        seconds * 1e6 / pairs.max(1.0)
    );
}

fn exponent(rows: &[Value]) -> f64 {
    let logarithm = |row: Option<&Value>, key: &str| row.and_then(|row| row[key].as_f64()).unwrap_or(1.0).ln();
    let change = |key: &str| logarithm(rows.last(), key) - logarithm(rows.first(), key);
    change("seconds") / change("crossing_pairs")
}
