//! `unsnarl tet`: tetrahedral meshes.

use crate::commands::tet_measure::{self, MeasureArgs};
use crate::session::{Failure, Session};
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Measure tetrahedral meshes.
///
/// Exit status: 0 done, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl tet measure body.msh")]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Measure(MeasureArgs),
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    match &flags.action {
        Action::Measure(arguments) => tet_measure::run(arguments, session),
    }
}
