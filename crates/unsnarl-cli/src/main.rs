//! The command `unsnarl`: thin. It converts and calls; every subcommand is one file of `commands`.

mod commands;
mod drawing;
mod fold_styles;
mod inputs;
mod session;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use session::{Failure, Session};
use std::process::ExitCode;

/// Keeps freed memory for the next step, which asks for as much again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Untangles cloth and keeps it untangled.
#[derive(Parser)]
#[command(
    name = "unsnarl",
    version,
    about,
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
    Check(commands::check::Flags),
    Fix(commands::fix::Flags),
    Levelset(commands::levelset::Flags),
    Make(commands::make::Flags),
    Sim(commands::sim::Flags),
    Export(commands::export::Flags),
    Studio(commands::studio::Flags),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = match Session::start(cli.session) {
        Ok(session) => session,
        Err(failure) => return failure.exit(),
    };
    let outcome: Result<ExitCode, Failure> = match &cli.command {
        // It waits for requests, and would take a thread from those who answer them.
        Command::Studio(flags) => commands::studio::run(flags, &session),
        // On a thread of the pool: from outside, every loop in parallel would begin and end with a change of threads.
        command => rayon::scope(|_| run(command, &session)),
    };
    outcome.unwrap_or_else(Failure::exit)
}

fn run(command: &Command, session: &Session) -> Result<ExitCode, Failure> {
    match command {
        Command::Check(flags) => commands::check::run(flags, session),
        Command::Fix(flags) => commands::fix::run(flags, session),
        Command::Levelset(flags) => commands::levelset::run(flags, session),
        Command::Make(flags) => commands::make::run(flags, session),
        Command::Sim(flags) => commands::sim::run(flags, session),
        Command::Export(flags) => commands::export::run(flags, session),
        Command::Studio(flags) => commands::studio::run(flags, session),
    }
}
