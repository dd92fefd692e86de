//! Runs the command on files in a temporary folder. Each test file uses a part of this.

#![allow(clippy::unwrap_used)]
#![allow(dead_code, unused_imports)]

#[path = "../../../../tests/rust/real_data.rs"]
mod real;

pub use real::real_data;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A temporary folder with the files of one test.
pub struct Folder {
    folder: TempDir,
}

/// What a run of the command gave.
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub fn with(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    /// Runs `unsnarl` inside the folder.
    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::from(self.command(arguments).output().unwrap())
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unsnarl"));
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    /// Runs `unsnarl check ... --json -` and reads the report.
    pub fn check(&self, arguments: &[&str]) -> (i32, Value) {
        let arguments: Vec<&str> = ["check"].iter().chain(arguments).chain(&["--json", "-"]).copied().collect();
        let run = self.run(&arguments);
        let report = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}{}", run.out, run.err));
        (run.status, report)
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("it was not killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The OBJ text of a mesh.
pub fn obj(positions: &[[f64; 3]], triangles: &[[usize; 3]]) -> String {
    let vertices = positions.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    let faces = triangles.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1));
    vertices.chain(faces).collect()
}

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
