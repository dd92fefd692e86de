//! Runs continuous collision queries from files and counts misses and false positives.
//!
//!     cargo run --release -p unsnarl-geometry --example ccd_queries -- FOLDER...
//!
//! A folder holds `vertex-face` and `edge-edge` folders of CSV files at any depth: eight rows a query, three rational
//! coordinates `numerator,denominator` a row, the truth (0 or 1) in the last column. Truth means contact of the closed
//! elements at some time in [0, 1], in exact arithmetic.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use unsnarl_geometry::{DVec3, ccd};

fn main() -> std::process::ExitCode {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match run(&folders) {
        Ok(report) => {
            print!("{report}");
            std::process::ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("ccd_queries: {message}");
            std::process::ExitCode::from(2)
        }
    }
}

/// Which pair of elements a query moves.
#[derive(Clone, Copy, PartialEq)]
enum Elements {
    VertexTriangle,
    EdgeEdge,
}

struct Query {
    elements: Elements,
    start: [DVec3; 4],
    end: [DVec3; 4],
    truth: bool,
}

fn run(folders: &[PathBuf]) -> Result<String, String> {
    if folders.is_empty() {
        return Err("no folder given; name one or more folders of query files".into());
    }
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, &mut files)?;
    }
    files.sort();
    let mut report = String::new();
    for elements in [Elements::VertexTriangle, Elements::EdgeEdge] {
        let mut queries = Vec::new();
        for file in &files {
            let is_edges = file.components().any(|part| part.as_os_str() == "edge-edge");
            if is_edges == (elements == Elements::EdgeEdge) {
                read(file, elements, &mut queries)?;
            }
        }
        let name = if elements == Elements::EdgeEdge { "edge-edge" } else { "vertex-triangle" };
        let _ = writeln!(report, "{name}: {}", measure(&queries));
    }
    Ok(report)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "csv") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(file: &Path, elements: Elements, queries: &mut Vec<Query>) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut points = Vec::new();
    for (row, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", file.display(), row + 1);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != 7 {
            return Err(format!("{}: {} columns where 7 were expected", place(), cells.len()));
        }
        let mut point = [0.0; 3];
        for axis in 0..3 {
            point[axis] = rational(cells[2 * axis], cells[2 * axis + 1])
                .ok_or_else(|| format!("{}: '{}/{}' is not a double", place(), cells[2 * axis], cells[2 * axis + 1]))?;
        }
        points.push(DVec3::from_array(point));
        if let &[a, b, c, d, e, f, g, h] = points.as_slice() {
            queries.push(Query { elements, start: [a, b, c, d], end: [e, f, g, h], truth: cells[6] == "1" });
            points.clear();
        }
    }
    if !points.is_empty() {
        return Err(format!("{}: ends inside a query; eight rows make one", file.display()));
    }
    Ok(())
}

/// A rational as a double, if one holds it exactly.
fn rational(numerator: &str, denominator: &str) -> Option<f64> {
    let (above, below): (f64, f64) = (numerator.parse().ok()?, denominator.parse().ok()?);
    let is_integer = |value: f64, text: &str| format!("{value:.0}") == text.trim_start_matches('+');
    let is_power_of_two = below > 0.0 && below.to_bits().trailing_zeros() >= 52;
    let exact = is_integer(above, numerator) && is_integer(below, denominator) && is_power_of_two;
    (exact && (above == 0.0 || (above / below).is_normal())).then(|| above / below)
}

fn measure(queries: &[Query]) -> String {
    let mut seconds = f64::INFINITY;
    let mut answers = Vec::new();
    for _ in 0..20 {
        let clock = Instant::now();
        answers = queries
            .iter()
            .map(|query| match query.elements {
                Elements::VertexTriangle => ccd::vertex_triangle(query.start, query.end, 0.0),
                Elements::EdgeEdge => ccd::edge_edge(query.start, query.end, 0.0),
            })
            .collect::<Vec<_>>();
        seconds = seconds.min(clock.elapsed().as_secs_f64());
    }
    let count = |wanted: bool, found: bool| {
        queries
            .iter()
            .zip(&answers)
            .filter(|(query, answer)| query.truth == wanted && answer.is_some() == found)
            .count()
    };
    format!(
        "{} queries, {} contacts, {} misses, {} false positives, {:.0} ns a query",
        queries.len(),
        count(true, true) + count(true, false),
        count(true, false),
        count(false, true),
        1e9 * seconds / queries.len().max(1) as f64
    )
}
