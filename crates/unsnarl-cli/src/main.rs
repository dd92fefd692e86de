//! The program `unsnarl`; everything is in the library.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Keeps freed memory for the next step, which asks for as much again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    unsnarl_cli::run(std::env::args_os())
}
