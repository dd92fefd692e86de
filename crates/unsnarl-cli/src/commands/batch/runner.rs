//! Runs samples, several at once, each in a process of its own, within its limits.
//!
//! Guarantees: a sample that crashes, takes too long or too much memory is recorded with its reason and changes
//! nothing for the others; when the run is interrupted, children are ended and their folders removed.
//! Departs: memory is what the system says is resident, looked at every 20 ms: a child may be a little over its limit
//! for as long.

use super::child;
use super::plan::{COMMAND_REPORT, Sample};
use super::progress::Progress;
use super::store::{SampleRow, Store};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a child printed, in the sample's folder.
const LOG: &str = "log.txt";
/// How often limits, memory and interruptions are looked at.
const INTERVAL: Duration = Duration::from_millis(20);
/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 400;

/// Workers that share a list of samples.
pub struct Crew<'a> {
    pub program: PathBuf,
    pub store: &'a Store,
    pub workers: usize,
    /// Threads of each child.
    pub threads: usize,
    pub stop: &'a AtomicBool,
    pub progress: &'a Progress<'a>,
}

/// How a child ended.
enum End {
    Exit(ExitStatus),
    OutOfTime(f64),
    OutOfMemory { used: u64, limit: u64 },
    Interrupted,
}

struct Watched {
    end: End,
    seconds: f64,
    peak_bytes: Option<u64>,
}

impl Crew<'_> {
    /// Runs all samples in their order; ends early when told to, or when the folder cannot be written.
    pub fn run(&self, samples: &[&Sample]) -> Result<(), String> {
        let next = AtomicUsize::new(0);
        let trouble = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| {
                    while !self.stop.load(Ordering::SeqCst) {
                        let Some(sample) = samples.get(next.fetch_add(1, Ordering::SeqCst)) else { break };
                        match self.run_one(sample) {
                            Ok(Some(failed)) => self.progress.count(failed),
                            Ok(None) => break,
                            Err(problem) => {
                                self.stop.store(true, Ordering::SeqCst);
                                trouble
                                    .lock()
                                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                                    .get_or_insert(problem);
                            }
                        }
                    }
                });
            }
        });
        trouble.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Runs and commits one sample; whether it failed, or nothing when it was interrupted.
    fn run_one(&self, sample: &Sample) -> Result<Option<bool>, String> {
        // Another runner may have been here since the run began.
        if let Some(row) = self.store.row(sample) {
            return Ok(Some(row.failed()));
        }
        let work = self.store.begin(sample)?;
        let watched = self.start(sample, &work).map(|child| self.watch(child, sample));
        let watched = watched.inspect_err(|_| self.store.abandon(&work))?;
        if matches!(watched.end, End::Interrupted) {
            self.store.abandon(&work);
            return Ok(None);
        }
        let row = row(sample, &work, &watched);
        self.store.commit(sample, &work, &row).inspect_err(|_| self.store.abandon(&work))?;
        Ok(Some(row.failed()))
    }

    fn start(&self, sample: &Sample, work: &Path) -> Result<Child, String> {
        let path = work.join(LOG);
        let fail = |error: std::io::Error| format!("{}: cannot write: {error}", path.display());
        let log = File::create(&path).map_err(fail)?;
        let (mark, runner) = child::runner_mark();
        let mut command = Command::new(&self.program);
        command.args(sample.arguments(work, self.threads)).env(mark, runner).stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(fail)?).stderr(log);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|error| format!("{}: cannot be started: {error}", self.program.display()))
    }

    fn watch(&self, mut child: Child, sample: &Sample) -> Watched {
        let begun = Instant::now();
        let waiter = child::Waiter::new(&child);
        let mut peak_bytes = None;
        let end = loop {
            waiter.wait(INTERVAL);
            if let Ok(Some(status)) = child.try_wait() {
                break End::Exit(status);
            }
            let seconds = begun.elapsed().as_secs_f64();
            if self.stop.load(Ordering::SeqCst) {
                child::end(&mut child);
                break End::Interrupted;
            }
            if let Some(limit) = sample.limits.seconds.filter(|&limit| seconds > limit) {
                child::end(&mut child);
                break End::OutOfTime(limit);
            }
            if let Some((used, most)) = child::memory(&child) {
                peak_bytes = Some(most);
                if let Some(limit) = sample.limits.bytes.filter(|&limit| used > limit) {
                    child::end(&mut child);
                    break End::OutOfMemory { used, limit };
                }
            }
        };
        Watched { end, seconds: begun.elapsed().as_secs_f64(), peak_bytes }
    }
}

/// What is to be told about a sample that has ended.
fn row(sample: &Sample, work: &Path, watched: &Watched) -> SampleRow {
    let report = std::fs::read_to_string(work.join(COMMAND_REPORT)).ok();
    let report: Value = report.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    // A fix reports checks before and after; a check reports itself.
    let before = if report["before"].is_object() { &report["before"] } else { &report };
    let pairs = |report: &Value| report["intersecting_triangle_pairs"].as_u64();
    let exit = if let End::Exit(status) = watched.end { status.code() } else { None };
    let reason = reason(sample, work, watched, &report);
    let mut outputs: Vec<String> = std::fs::read_dir(work)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    outputs.sort();
    SampleRow {
        schema: "unsnarl.batch-sample/1".to_owned(),
        index: sample.index,
        name: sample.name.clone(),
        command: sample.command.clone(),
        status: if reason.is_none() { "done" } else { "failed" }.to_owned(),
        reason,
        exit,
        seconds: watched.seconds,
        peak_bytes: watched.peak_bytes,
        clean: report["clean"].as_bool(),
        pairs_before: pairs(before),
        pairs_after: pairs(&report["after"]),
        vertices: before["vertices"].as_u64(),
        triangles: before["triangles"].as_u64(),
        outputs,
        row: sample.row.clone(),
    }
}

/// Why a sample failed; nothing if it did not. A check that finds intersections has done its job.
fn reason(sample: &Sample, work: &Path, watched: &Watched, report: &Value) -> Option<String> {
    match watched.end {
        End::Exit(status) => match (status.code(), sample.command.as_str()) {
            (Some(0), _) | (Some(1), "check") => None,
            (Some(1), _) if report["after"]["intersecting_triangle_pairs"].is_u64() => {
                let pairs = &report["after"]["intersecting_triangle_pairs"];
                Some(if pairs == 0 { last_words(work) } else { format!("not clean: {pairs} triangle pairs are left") })
            }
            (Some(_), _) => Some(last_words(work)),
            (None, _) => Some(format!("ended by the system: {status}")),
        },
        End::OutOfTime(limit) => Some(format!("took more than {limit} s")),
        End::OutOfMemory { used, limit } => {
            Some(format!("used {} MiB, more than the limit of {} MiB", used >> 20, limit >> 20))
        }
        End::Interrupted => Some("interrupted".to_owned()),
    }
}

/// The last line that a child printed.
fn last_words(work: &Path) -> String {
    let text = std::fs::read(work.join(LOG)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gave no reason");
    let last = last.strip_prefix("error: ").unwrap_or(last);
    let own = format!("{}/", work.display());
    last.replace(&own, "").chars().take(LONGEST_REASON).collect()
}
