//! Query files: eight rows a query, three rational coordinates `numerator,denominator` a row, the truth in the last column.
//!
//! Truth means contact of the closed elements at some time in [0, 1], in exact arithmetic. Coordinates must be doubles:
//! a rational that is not one would be another query.

use super::verdict::{Elements, Query, tally};
use super::{Outcome, say};
use serde_json::json;
use std::path::{Path, PathBuf};
use unsnarl_geometry::DVec3;

/// Runs all files of some folders; returns the number of misses.
pub fn run(folders: &[&str]) -> Outcome<usize> {
    let mut rows = Vec::new();
    let mut misses = 0;
    for folder in folders {
        let mut files = Vec::new();
        collect(Path::new(folder), &mut files)?;
        files.sort();
        if !files.iter().any(|file| elements_of(file).is_some()) {
            let text = "no CSV file in a folder named vertex-face or edge-edge at any depth";
            return Err(format!("{folder}: {text}").into());
        }
        for elements in Elements::BOTH {
            let mut queries = Vec::new();
            for file in files.iter().filter(|file| elements_of(file) == Some(elements)) {
                read(file, &mut queries)?;
            }
            let tally = tally(elements, &queries);
            tally.print(folder, elements);
            misses += tally.misses;
            rows.push(tally.json(folder, elements));
        }
    }
    say(json!({ "schema": "unsnarl.bench.ccd/1", "sets": rows }));
    Ok(misses)
}

/// The kind of a file's queries, by the folder it is in.
fn elements_of(file: &Path) -> Option<Elements> {
    let folder = file.parent()?.file_name()?.to_str()?;
    match folder {
        "vertex-face" => Some(Elements::VertexTriangle),
        "edge-edge" => Some(Elements::EdgeEdge),
        _ => None,
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "csv") {
            files.push(path);
        }
    }
    Ok(())
}

fn read(file: &Path, queries: &mut Vec<Query>) -> Outcome<()> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut points = Vec::new();
    for (row, line) in text.lines().enumerate() {
        let place = || format!("{}:{}", file.display(), row + 1);
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let Some(&truth) = cells.last() else { continue };
        if cells.len() != 7 {
            return Err(
                format!("{}: {} columns, expected 7: three rationals and the truth", place(), cells.len()).into()
            );
        }
        let mut point = [0.0; 3];
        for axis in 0..3 {
            let (above, below) = (cells[2 * axis], cells[2 * axis + 1]);
            point[axis] = rational(above, below).ok_or_else(|| {
                format!("{}: {above}/{below} is not a double; expected an integer over a power of two", place())
            })?;
        }
        if truth != "0" && truth != "1" {
            return Err(format!("{}: the truth is {truth}; expected 0 or 1", place()).into());
        }
        points.push(DVec3::from_array(point));
        if let &[a, b, c, d, e, f, g, h] = points.as_slice() {
            queries.push(Query { start: [a, b, c, d], end: [e, f, g, h], truth: truth == "1" });
            points.clear();
        }
    }
    if !points.is_empty() {
        return Err(format!("{}: ends inside a query; expected a multiple of eight rows", file.display()).into());
    }
    Ok(())
}

/// A rational as a double, if one holds it exactly.
fn rational(numerator: &str, denominator: &str) -> Option<f64> {
    let (above, below): (f64, f64) = (numerator.parse().ok()?, denominator.parse().ok()?);
    let is_written = |value: f64, text: &str| format!("{value:.0}") == text;
    let is_power_of_two = below >= 1.0 && below.is_finite() && below.to_bits().trailing_zeros() >= 52;
    let quotient = above / below;
    let exact = is_written(above, numerator) && is_written(below, denominator) && is_power_of_two;
    (exact && (quotient == 0.0 || quotient.is_normal())).then_some(quotient)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Runs one file of vertex-triangle queries.
    fn run_on(name: &str, text: &str) -> Outcome<usize> {
        let folder = std::env::temp_dir().join(format!("unsnarl-ccd-{}-{name}", std::process::id()));
        let own = folder.join("vertex-face");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("a.csv"), text).unwrap();
        let outcome = run(&[folder.to_str().unwrap()]);
        std::fs::remove_dir_all(&folder).unwrap();
        outcome
    }

    /// A vertex that falls through a triangle, with a truth.
    fn falling(truth: u8) -> String {
        let corners = [[0, 0, 0], [4, 0, 0], [0, 4, 0]];
        let rows = [[[1, 1, 1]].as_slice(), &corners, &[[1, 1, -1]], &corners].concat();
        rows.iter().map(|[x, y, z]| format!("{x},1,{y},1,{z},1,{truth}\n")).collect()
    }

    #[test]
    fn recorded_contacts_are_found_and_unusable_files_are_named() {
        assert_eq!(run_on("found", &falling(1)).unwrap(), 0);
        assert_eq!(run_on("false", &falling(0)).unwrap(), 0);
        let rows = [
            ("columns", "1,2,3".to_owned(), "a.csv:1: 3 columns, expected 7: three rationals and the truth"),
            ("third", falling(1).replace("4,1", "4,3"), "4/3 is not a double; expected an integer over a power of two"),
            ("truth", falling(1).replace(",1\n", ",yes\n"), "a.csv:1: the truth is yes; expected 0 or 1"),
            ("short", falling(1).lines().take(5).collect::<Vec<_>>().join("\n"), "expected a multiple of eight rows"),
        ];
        for (name, text, expected) in rows {
            let error = run_on(name, &text).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
        let error = run(&["no/such/folder"]).unwrap_err().to_string();
        assert!(error.starts_with("no/such/folder: "), "{error}");
    }
}
