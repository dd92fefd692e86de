//! The command `unsnarl`, as the package's entry point calls it.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command with its arguments, the name of the program first; gives the exit status.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let status = py.detach(|| unsnarl_cli::run(arguments));
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == status).unwrap_or(2)
}
