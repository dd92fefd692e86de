//! The command `unsnarl`: thin. It converts and calls; every subcommand is one file of `commands`.
//!
//! A library so that the Python package carries the very same command ([`run`]) and gives the same reports
//! ([`reports`]).

mod commands;
mod drawing;
mod gaps;
mod inputs;
mod session;

use clap::{CommandFactory, Parser, Subcommand};
use session::{Failure, Session};
use std::ffi::OsString;
use std::process::ExitCode;

/// Untangles cloth and keeps it untangled.
#[derive(Parser)]
#[command(
    name = "unsnarl",
    version,
    about = "Untangles cloth, proves that it did, and dresses, simulates and refines it without intersections",
    after_help = "Example:\n  unsnarl check samples/hanky_bli.obj --picture out.png"
)]
struct Cli {
    #[command(flatten)]
    session: session::Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Batch(commands::batch::Flags),
    Check(commands::check::Flags),
    Dress(commands::dress::Flags),
    Fix(Box<commands::fix::Flags>),
    Levelset(commands::levelset::Flags),
    Make(commands::make::Flags),
    Sim(commands::sim::Flags),
    Export(commands::export::Flags),
    Refine(commands::refine::Flags),
    Tet(commands::tet::Flags),
    Trim(commands::trim::Flags),
    Studio(commands::studio::Flags),
}

/// Runs the command with its arguments, the name of the program first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    commands::batch::child::end_with_runner();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let session = match Session::start(cli.session) {
        Ok(session) => session,
        Err(failure) => return failure.exit(),
    };
    let outcome: Result<ExitCode, Failure> = match &cli.command {
        // They wait for others, and would take a thread from those who work.
        Command::Batch(flags) => commands::batch::run(flags, &session),
        Command::Studio(flags) => commands::studio::run(flags, &session),
        // On a thread of the pool: from outside, every loop in parallel would begin and end with a change of threads.
        command => rayon::scope(|_| dispatch(command, &session)),
    };
    outcome.unwrap_or_else(Failure::exit)
}

fn dispatch(command: &Command, session: &Session) -> Result<ExitCode, Failure> {
    match command {
        Command::Batch(flags) => commands::batch::run(flags, session),
        Command::Check(flags) => commands::check::run(flags, session),
        Command::Dress(flags) => commands::dress::run(flags, session),
        Command::Fix(flags) => commands::fix::run(flags, session),
        Command::Levelset(flags) => commands::levelset::run(flags, session),
        Command::Make(flags) => commands::make::run(flags, session),
        Command::Sim(flags) => commands::sim::run(flags, session),
        Command::Export(flags) => commands::export::run(flags, session),
        Command::Refine(flags) => commands::refine::run(flags, session),
        Command::Tet(flags) => commands::tet::run(flags, session),
        Command::Trim(flags) => commands::trim::run(flags, session),
        Command::Studio(flags) => commands::studio::run(flags, session),
    }
}

/// Reports of commands, and what they measure on the way in, for those who have arrays instead of files.
pub mod reports {
    /// `unsnarl tet`.
    pub mod tet {
        pub use crate::commands::tet::{Report, SAMPLES_PER_EDGE, Seconds, edge_guess, fit, report};
        pub use crate::commands::tet_measure::Quality;
    }
    /// `unsnarl trim`.
    pub mod trim {
        pub use crate::commands::trim::{Report, SPACING_PER_EDGE, mean_edge, reach_beyond, report};
    }
}

/// The command line, for those who need to know its flags.
fn definition() -> clap::Command {
    Cli::command()
}

/// What is wrong with arguments (without the name of the program), in one line; nothing if they can be run.
fn refusal(arguments: Vec<OsString>) -> Option<String> {
    let error = Cli::try_parse_from(std::iter::once(OsString::from("unsnarl")).chain(arguments)).err()?;
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("cannot be run");
    Some(line.strip_prefix("error: ").unwrap_or(line).to_owned())
}
