//! Reads a mesh file and writes it again, as another kind or as the same: `convert IN OUT [--stretch FACTOR]`.
//!
//! With `--stretch` every position is multiplied by a factor first, so that a file of the same kind is changed.

use std::path::Path;
use std::process::ExitCode;
use unsnarl_io::mesh::{self, ReadOptions};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (input, output, factor) = match arguments.as_slice() {
        [input, output] => (input, output, None),
        [input, output, flag, factor] if flag == "--stretch" => match factor.parse::<f64>() {
            Ok(factor) => (input, output, Some(factor)),
            Err(error) => return fail(format!("--stretch {factor}: {error}")),
        },
        _ => return fail("usage: convert IN OUT [--stretch FACTOR]"),
    };
    match convert(Path::new(input), Path::new(output), factor) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

fn convert(input: &Path, output: &Path, factor: Option<f64>) -> Result<(), mesh::MeshFileError> {
    let mut file = mesh::read(input, &ReadOptions::default())?;
    for finding in mesh::inspect(&file) {
        eprintln!("{}: {finding}", input.display());
    }
    if let Some(factor) = factor {
        file = file.with_positions(file.mesh.positions.iter().map(|&position| position * factor).collect());
    }
    mesh::write(output, &file)
}

fn fail(line: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {line}");
    ExitCode::from(2)
}
