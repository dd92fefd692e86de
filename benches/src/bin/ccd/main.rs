//! Continuous collision detection on recorded queries and meshes, and against exact arithmetic.
//!
//! `ccd queries FOLDER...` runs folders of query files: `vertex-face` and `edge-edge` folders of CSV at any depth.
//! `ccd frames SCENE...` runs pair lists of two frames: a folder with `frames`, `boxes` and `mma_bool`.
//! `ccd broad FRAME FRAME THREADS` times the broad phase between two meshes of the same triangles.
//! `ccd random COUNT SEED` compares that many random and adversarial queries with exact arithmetic.
//!
//! Each prints a line a set and ends with one line of JSON. Exit status 0: no miss; 1: misses; 2: unusable input.
//! `benches/python/ccd.py` runs all of it beside Tight-Inclusion and the broad phases of its toolkit.

mod broad;
mod frames;
mod queries;
mod random;
mod verdict;

use std::path::Path;
use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Writes a line. Nobody has to read to the end.
fn say(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A number of the command line.
fn number<T: std::str::FromStr>(name: &str, text: &str) -> Outcome<T> {
    text.parse().map_err(|_| format!("{name} is {text}; expected a whole number").into())
}

const USAGE: &str = "usage: ccd queries FOLDER... | frames SCENE... | broad FRAME FRAME THREADS | random COUNT SEED";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["queries", _, ..] => queries::run(&arguments[1..]),
        ["frames", _, ..] => frames::run(&arguments[1..]),
        ["broad", from, to, threads] => broad::run(Path::new(from), Path::new(to), threads),
        ["random", count, seed] => random::run(count, seed),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("ccd: {error}");
            ExitCode::from(2)
        }
    }
}
