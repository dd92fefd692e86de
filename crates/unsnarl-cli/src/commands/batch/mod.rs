//! `unsnarl batch`: many samples, each as a process of its own, each committed exactly once.
//!
//! Data flows one way: `rows` reads the jobs, `plan` turns every row into the arguments of a child, `store` knows what the folder holds, `runner`
//! runs what is pending, `progress` tells how far it is.
//!
//! Guarantees: a sample's folder appears by one rename when everything in it is there, whenever the run is killed; a run that is started again skips
//! what is there; a sample that fails is recorded and does not stop the others; several runners may share the folder.
//! Does not: survive a loss of power (nothing is flushed to the disk); keep two runners of the same jobs from working on one sample at once (the first
//! that finishes counts).

pub mod child;
mod plan;
mod progress;
mod rows;
mod runner;
mod serve;
mod store;

use crate::session::{Failure, Session};
use clap::Args;
use plan::{Defaults, Limits, Sample};
use progress::Progress;
use serde::Serialize;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use store::{Status, Store};

/// Run many samples: resumable, each exactly once.
///
/// JOBS is a folder of meshes, a pattern such as 'meshes/*.obj', or a manifest: JSON lines (.jsonl) or CSV whose rows name the command, its inputs, a
/// body and options. Every sample gets a folder of its own in DIR, and a row in DIR/report.jsonl. Start the same line again after an interruption:
/// it goes on.
///
/// Exit status: 0 all done, 1 some failed or are left, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl batch 'samples/hanky_b*.obj' -o fixed --jobs 2 --time-limit 60\n\n\
    A manifest (docs/batch.md has all keys):\n  {\"name\": \"a\", \"command\": \"fix\", \"inputs\": \"a.obj\", \"body\": \"body.obj\", \"max-seconds\": 60}")]
pub struct Flags {
    /// A folder, a pattern, or a manifest (.jsonl or .csv)
    #[arg(value_name = "JOBS")]
    jobs_source: PathBuf,
    /// The folder for the samples; it may hold finished ones
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// How many samples run at once [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Only every n-th sample, beginning with the i-th: 1/4, 2/4, 3/4 and 4/4 share the work
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    shard: Option<Shard>,
    /// What to run where a row or a file does not say
    #[arg(long, value_name = "NAME", default_value = "fix", value_parser = plan::RUNNABLE)]
    command: String,
    /// A key of the manifest for all rows that do not have it, such as body=body.obj
    #[arg(long = "with", value_name = "KEY=VALUE")]
    defaults: Vec<String>,
    /// End a sample after this many seconds
    #[arg(long, value_name = "S", value_parser = plan::parse_seconds)]
    time_limit: Option<f64>,
    /// End a sample that uses more memory than this: 500M, 2G
    #[arg(long, value_name = "SIZE", value_parser = plan::parse_bytes)]
    memory_limit: Option<u64>,
    /// Run samples again that failed before
    #[arg(long)]
    retry_failed: bool,
    /// Print the samples that are pending as JSON lines and run nothing
    #[arg(long, hide = true, conflicts_with_all = ["only", "gather"])]
    list: bool,
    /// Run just these samples, by their index
    #[arg(long, hide = true, value_name = "INDEX,...", value_delimiter = ',', conflicts_with = "shard")]
    only: Option<Vec<usize>>,
    /// Run samples as lines of indices come in on standard input, and answer each with a line of JSON
    #[arg(long, hide = true, conflicts_with_all = ["list", "only", "gather"])]
    serve: bool,
    /// Write the report of what is there and run nothing
    #[arg(long, hide = true)]
    gather: bool,
}

/// Which of the samples are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    /// From 0 on.
    index: usize,
    count: usize,
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let wrong = || "expected I/N with I from 1 to N, such as 2/4".to_owned();
    let (index, count) = text.split_once('/').ok_or_else(wrong)?;
    let (index, count) = (index.parse::<usize>().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
    if index == 0 || index > count { Err(wrong()) } else { Ok(Shard { index: index - 1, count }) }
}

#[derive(Serialize)]
struct Listed<'a> {
    index: usize,
    name: &'a str,
}

#[derive(Serialize)]
struct BatchReport {
    schema: &'static str,
    samples: usize,
    done: usize,
    failed: usize,
    pending: usize,
    run_now: usize,
    seconds: f64,
    failures: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    name: String,
    reason: String,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let rows = rows::read(&flags.jobs_source, &flags.command).map_err(|problems| refusal(problems, session))?;
    let limits = Limits { seconds: flags.time_limit, bytes: flags.memory_limit };
    let defaults = Defaults { command: &flags.command, keys: &flags.defaults, limits };
    let samples = plan::plan(rows, &defaults).map_err(|problems| refusal(problems, session))?;
    let ours = chosen(flags, &samples)?;
    let store = Store::open(&flags.output).map_err(Failure::input)?;
    let stop = Arc::new(AtomicBool::new(false));
    if flags.serve {
        listen_for_ctrl_c(&stop)?;
        return serve::serve(flags, &samples, &store, &stop, session);
    }
    let pending = pending(flags, &ours, &store)?;
    if flags.list {
        list(&pending);
        return Ok(ExitCode::SUCCESS);
    }
    if !flags.gather && !pending.is_empty() {
        listen_for_ctrl_c(&stop)?;
        let progress = Progress::new(session, ours.len(), ours.len() - pending.len());
        let outcome = crew(flags, pending.len(), &store, (&stop, &progress), session)?.run(&pending);
        progress.end();
        outcome.map_err(Failure::input)?;
    }
    finish(flags, (&samples, &ours), &store, (begun, pending.len()), session)
}

/// Many lines become one failure; all but the last are printed here.
fn refusal(mut problems: Vec<String>, session: &Session) -> Failure {
    const SHOWN: usize = 20;
    let last = match problems.len() {
        0 => "nothing to run".to_owned(),
        count if count > SHOWN => {
            problems.truncate(SHOWN);
            format!("and {} more mistakes; nothing was run", count - SHOWN)
        }
        _ => problems.pop().unwrap_or_default(),
    };
    for problem in problems {
        session.complain(problem);
    }
    Failure::usage(last)
}

/// The samples that this run is for.
fn chosen<'a>(flags: &Flags, samples: &'a [Sample]) -> Result<Vec<&'a Sample>, Failure> {
    if let Some(only) = &flags.only {
        let find = |&index: &usize| {
            let count = samples.len();
            samples.get(index).ok_or_else(|| Failure::usage(format!("--only {index}: there are {count} samples")))
        };
        return only.iter().map(find).collect();
    }
    let shard = flags.shard.unwrap_or(Shard { index: 0, count: 1 });
    Ok(samples.iter().filter(|sample| sample.index % shard.count == shard.index).collect())
}

fn list(pending: &[&Sample]) {
    let mut out = std::io::stdout().lock();
    for sample in pending {
        let line = serde_json::to_string(&Listed { index: sample.index, name: &sample.name });
        if writeln!(out, "{}", line.unwrap_or_default()).is_err() {
            return;
        }
    }
}

/// Those that have to be run. Failed ones are among them if they are to be tried again, and then taken out of the folder,
/// unless they are only listed.
fn pending<'a>(flags: &Flags, ours: &[&'a Sample], store: &Store) -> Result<Vec<&'a Sample>, Failure> {
    let mut pending = Vec::new();
    for sample in ours {
        match store.status(sample).map_err(Failure::input)? {
            Status::Committed { failed: true } if flags.retry_failed && !flags.gather => {
                if !flags.list {
                    store.take_back(sample).map_err(Failure::input)?;
                }
                pending.push(*sample);
            }
            Status::Committed { .. } => {}
            Status::Pending => pending.push(*sample),
        }
    }
    Ok(pending)
}

fn listen_for_ctrl_c(stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let heard = Arc::clone(stop);
    ctrlc::set_handler(move || heard.store(true, Ordering::SeqCst))
        .map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}")))
}

/// Workers for so many samples.
fn crew<'a>(
    flags: &Flags,
    samples: usize,
    store: &'a Store,
    (stop, progress): (&'a AtomicBool, &'a Progress<'a>),
    session: &Session,
) -> Result<runner::Crew<'a>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = flags.jobs.map_or(cores, NonZeroUsize::get).min(samples);
    let threads = session.threads().unwrap_or((cores / workers).max(1));
    Ok(runner::Crew { program: child::program()?, store, workers, threads, stop, progress })
}

/// Writes the report and says what there is.
fn finish(
    flags: &Flags,
    (samples, ours): (&[Sample], &[&Sample]),
    store: &Store,
    (begun, run_now): (Instant, usize),
    session: &Session,
) -> Result<ExitCode, Failure> {
    if flags.only.is_none() {
        store.write_report(samples).map_err(Failure::input)?;
    }
    let mut report = BatchReport {
        schema: "unsnarl.batch/1",
        samples: ours.len(),
        done: 0,
        failed: 0,
        pending: 0,
        run_now,
        seconds: begun.elapsed().as_secs_f64(),
        failures: Vec::new(),
    };
    for sample in ours {
        match store.row(sample) {
            Some(row) if row.failed() => {
                report.failed += 1;
                report.failures.push(Failed { name: sample.name.clone(), reason: row.reason.unwrap_or_default() });
            }
            Some(_) => report.done += 1,
            None => report.pending += 1,
        }
    }
    session.report(&report)?;
    session.say(words(&report, flags));
    Ok(ExitCode::from(u8::from(report.failed + report.pending > 0)))
}

fn words(report: &BatchReport, flags: &Flags) -> String {
    const SHOWN: usize = 10;
    let mut lines = Vec::new();
    for failed in report.failures.iter().take(SHOWN) {
        lines.push(format!("failed: {}: {}", failed.name, failed.reason));
    }
    if report.failures.len() > SHOWN {
        lines.push(format!("and {} more that failed", report.failures.len() - SHOWN));
    }
    let folder = flags.output.display();
    let left =
        if report.pending > 0 { format!(", {} left: start again to go on", report.pending) } else { String::new() };
    lines.push(format!(
        "{folder}: {} of {} done, {} failed{left}; {:.1} s, rows in {folder}/{}",
        report.done,
        report.samples,
        report.failed,
        report.seconds,
        store::REPORT
    ));
    lines.join("\n")
}
