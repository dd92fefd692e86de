//! What the intersection analysis costs as crossings grow: exploded handkerchiefs, from crossings to colours, one thread.
//!
//! `cargo run --release -p unsnarl-benches --bin analysis` prints a table and one line of JSON. The first part throws a
//! growing share of one handkerchief of 392 triangles about (Cha 2022, 6.3, has about 390 triangles and 7,801 crossing
//! pairs); the second throws all of larger and larger ones. The exponent is the slope of time over crossing pairs
//! between the first and the last row in logarithms: 1 is linear, 2 would be quadratic.

use serde_json::{Value, json};
use std::error::Error;
use unsnarl::analysis::{self, Assembly, Workspace};
use unsnarl::samples::{Cut, Explosion, Recipe, explode};
use unsnarl_benches::timing::measure;

/// The radius of the ball that vertices are thrown into, in metres: a quarter of the side.
const RADIUS: f64 = 0.1;
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    println!("one handkerchief of 392 triangles, a growing share thrown about");
    let shares = [0.25, 0.4, 0.55, 0.7, 0.85, 1.0];
    let mut grown = table(shares.map(|share| (14, Explosion::Central { share })))?;
    grown.push(row(14, Explosion::Whole)?);
    print_row(grown.last().unwrap_or(&Value::Null));
    println!("exponent {:.2}\n", exponent(&grown));
    println!("larger and larger handkerchiefs, all of each thrown about");
    let larger = table([8, 12, 16, 20, 26, 32].map(|resolution| (resolution, Explosion::Whole)))?;
    println!("exponent {:.2}\n", exponent(&larger));
    let report = json!({
        "schema": "unsnarl.bench.analysis/1",
        "one_size": { "rows": grown, "exponent": exponent(&grown) },
        "growing_size": { "rows": larger, "exponent": exponent(&larger) },
    });
    println!("{report}");
    Ok(())
}

fn table<const N: usize>(cases: [(usize, Explosion); N]) -> Result<Vec<Value>, Box<dyn Error>> {
    println!(
        "{:>9} {:>15} {:>9} {:>12} {:>14}",
        "triangles", "crossing pairs", "contours", "milliseconds", "microseconds/pair"
    );
    let mut rows = Vec::new();
    for (resolution, explosion) in cases {
        let row = row(resolution, explosion)?;
        print_row(&row);
        rows.push(row);
    }
    Ok(rows)
}

fn row(resolution: usize, explosion: Explosion) -> Result<Value, Box<dyn Error>> {
    let sample = explode(&Recipe { resolution, cut: Cut::Regular, seed: 1 }, explosion, RADIUS);
    let assembly = Assembly::of_cloth("handkerchief", &sample.mesh)?;
    let mut workspace = Workspace::default();
    let tangle = analysis::analyze(&assembly, &sample.mesh.positions, &mut workspace);
    let timing = measure(ROUNDS, || analysis::analyze(&assembly, &sample.mesh.positions, &mut workspace));
    let pairs: usize = tangle.contours.iter().map(|tangled| tangled.contour.segments.len()).sum();
    Ok(json!({
        "triangles": sample.mesh.triangles.len(),
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
        "{:>9} {:>15} {:>9} {:>12.3} {:>14.3}",
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
