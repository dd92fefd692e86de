//! What every subcommand shares: flags, threads, log lines, reports, and the one line that a failure prints.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags that every subcommand takes.
#[derive(Args, Clone)]
pub struct Flags {
    /// Write a machine-readable report here (`-` for standard output)
    #[arg(long, global = true, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Number of threads (results do not depend on it) [default: one per core]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// The running command: where its words and its report go.
pub struct Session {
    flags: Flags,
}

/// Bytes of stack for every thread: whole commands run on them.
const STACK: usize = 8 << 20;

impl Session {
    /// Checks the shared flags and sets up the threads.
    pub fn start(flags: Flags) -> Result<Self, Failure> {
        if flags.threads == Some(0) || flags.threads.is_some_and(|threads| threads > 1024) {
            return Err(Failure::usage("--threads takes a number from 1 to 1024"));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(flags.threads.unwrap_or(0))
            .stack_size(STACK)
            .build_global()
            .map_err(|error| Failure::usage(format!("cannot start the threads: {error}; try fewer with --threads")))?;
        Ok(Self { flags })
    }

    /// A result for people, on standard output, unless the report goes there or `-q` is given.
    pub fn say(&self, text: impl AsRef<str>) {
        if !self.flags.quiet && self.flags.json.as_deref() != Some(Path::new("-")) {
            write_out(&format!("{}\n", text.as_ref()));
        }
    }

    /// One of several mistakes, on standard error.
    pub fn complain(&self, text: impl AsRef<str>) {
        eprintln!("error: {}", text.as_ref());
    }

    /// The number of threads that was asked for.
    pub fn threads(&self) -> Option<usize> {
        self.flags.threads
    }

    /// A remark that matters, on standard error, unless `-q` is given.
    pub fn warn(&self, text: impl AsRef<str>) {
        if !self.flags.quiet {
            eprintln!("warning: {}", text.as_ref());
        }
    }

    /// A remark for the curious, on standard error, with `-v` only.
    pub fn note(&self, text: impl AsRef<str>) {
        if self.flags.verbose {
            eprintln!("note: {}", text.as_ref());
        }
    }

    /// A line of progress, on standard error, where no bar is to be seen, unless `-q` is given.
    pub fn log(&self, text: impl AsRef<str>) {
        if self.flags.verbose || !self.flags.quiet && !std::io::stderr().is_terminal() {
            eprintln!("{}{}", if self.flags.verbose { "note: " } else { "" }, text.as_ref());
        }
    }

    /// Writes the report where `--json` says.
    pub fn report(&self, report: &impl serde::Serialize) -> Result<(), Failure> {
        let Some(path) = &self.flags.json else { return Ok(()) };
        let mut text = serde_json::to_string_pretty(report).map_err(|error| Failure::usage(error.to_string()))?;
        text.push('\n');
        if path == Path::new("-") {
            write_out(&text);
            return Ok(());
        }
        unsnarl_io::write_atomically(path, text.as_bytes()).map_err(Failure::input)
    }

    /// A bar on a terminal; nothing to see elsewhere.
    pub fn progress(&self, length: u64, what: &str) -> ProgressBar {
        if self.flags.quiet || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(length).with_style(style).with_message(what.to_owned())
    }
}

/// Writes to standard output; a reader that went away is not an error.
fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Why a command could not do its job: one line and exit status 2.
#[derive(Debug)]
pub struct Failure {
    line: String,
}

impl Failure {
    /// A flag or a combination of flags that makes no sense.
    pub fn usage(line: impl Into<String>) -> Self {
        Self { line: line.into() }
    }

    /// A file that cannot be used; the error names the file and the place.
    pub fn input(error: impl std::fmt::Display) -> Self {
        Self { line: error.to_string() }
    }

    /// Prints the line and gives the status.
    pub fn exit(self) -> ExitCode {
        eprintln!("error: {}", self.line);
        ExitCode::from(2)
    }
}

/// Refuses a file in a folder that is not there before work is done for it.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => Err(Failure::usage(format!("{}: there is no such folder", path.display()))),
        _ => Ok(()),
    }
}
