//! The folder of a batch: which samples are committed, and how one comes to be.
//!
//! `DIR/NAME` is a finished sample with its row in `sample.json`. Work goes on in `DIR/.NAME.RUN.tmp`, where RUN is
//! the runner's own name; the runner holds a lock on `DIR/.run-RUN.lock` as long as it lives. `DIR/report.jsonl` has
//! one row for every finished sample.
//!
//! Guarantees: a folder without a dot is a whole sample; of two runners with the same sample one commits; what dead
//! runners left is removed, what living ones work on is not; after the last runner has ended, the report has every
//! sample once, in the order of the jobs.
//! Departs: where the file system has no locks, what is left of dead runners stays.

use super::plan::Sample;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The report, in the folder.
pub const REPORT: &str = "report.jsonl";
/// The row of a sample, in its folder.
const ROW: &str = "sample.json";

/// What became of a sample: its line in the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleRow {
    pub schema: String,
    pub index: usize,
    pub name: String,
    pub command: String,
    /// `done` or `failed`.
    pub status: String,
    pub reason: Option<String>,
    /// The child's exit status, if it had one.
    pub exit: Option<i32>,
    pub seconds: f64,
    /// The most memory that was seen, in bytes; short samples may end unseen.
    pub peak_bytes: Option<u64>,
    pub clean: Option<bool>,
    pub pairs_before: Option<u64>,
    pub pairs_after: Option<u64>,
    pub vertices: Option<u64>,
    pub triangles: Option<u64>,
    /// Files and folders of the sample.
    pub outputs: Vec<String>,
    /// The row of the jobs.
    pub row: Map<String, Value>,
}

impl SampleRow {
    pub fn failed(&self) -> bool {
        self.status != "done"
    }
}

/// Whether a sample has to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    Committed { failed: bool },
}

/// The folder, as one runner sees it.
pub struct Store {
    folder: PathBuf,
    run: String,
    /// Held as long as the runner lives.
    _lock: File,
}

impl Store {
    /// Opens or makes the folder, and removes what dead runners left in it.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let fail = |error: std::io::Error| format!("{}: cannot be used as the folder: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(fail)?;
        let since = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        let run = format!("{}-{since:x}", std::process::id());
        // Runners that begin at the same time take turns, so that none takes a lock away that another is about to hold.
        let turn = File::open(folder).map_err(fail)?;
        let _ = turn.lock();
        let lock = File::create(folder.join(lock_name(&run))).map_err(fail)?;
        let _ = lock.try_lock();
        let store = Self { folder: folder.to_path_buf(), run, _lock: lock };
        store.clean_up().map_err(fail)?;
        Ok(store)
    }

    fn clean_up(&self) -> std::io::Result<()> {
        let mut is_dead: HashMap<String, bool> = HashMap::new();
        let mut locks = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(run) = name.strip_prefix(".run-").and_then(|name| name.strip_suffix(".lock")) {
                locks.push(run.to_owned());
            } else if let Some(run) = run_of_work(&name) {
                let dead = *is_dead.entry(run.to_owned()).or_insert_with(|| self.is_dead(run));
                if dead {
                    remove(&self.folder.join(&name))?;
                }
            }
        }
        for run in locks.iter().filter(|run| self.is_dead(run)) {
            remove(&self.folder.join(lock_name(run)))?;
        }
        Ok(())
    }

    /// Whether a runner has ended: nobody holds its lock.
    fn is_dead(&self, run: &str) -> bool {
        if run == self.run {
            return false;
        }
        match File::open(self.folder.join(lock_name(run))) {
            Ok(lock) => match lock.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            },
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    fn place(&self, sample: &Sample) -> PathBuf {
        self.folder.join(&sample.name)
    }

    fn work(&self, sample: &Sample) -> PathBuf {
        self.folder.join(format!(".{}.{}.tmp", sample.name, self.run))
    }

    /// Whether a sample is there; what is there under its name must be this very sample.
    pub fn status(&self, sample: &Sample) -> Result<Status, String> {
        let place = self.place(sample);
        if !place.exists() {
            return Ok(Status::Pending);
        }
        let shown = place.display();
        let Some(row) = self.row(sample) else {
            return Err(format!("{shown}: is there and is not a finished sample; give another folder"));
        };
        if row.row != sample.row || row.command != sample.command {
            return Err(format!("{shown}: was made from another row of this name; remove it or give another folder"));
        }
        Ok(Status::Committed { failed: row.failed() })
    }

    /// The row of a finished sample.
    pub fn row(&self, sample: &Sample) -> Option<SampleRow> {
        let text = std::fs::read_to_string(self.place(sample).join(ROW)).ok()?;
        let mut row: SampleRow = serde_json::from_str(&text).ok()?;
        row.index = sample.index;
        Some(row)
    }

    /// Takes a committed sample out of the folder.
    pub fn take_back(&self, sample: &Sample) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("{}: cannot remove: {error}", self.place(sample).display());
        let work = self.work(sample);
        std::fs::rename(self.place(sample), &work).map_err(fail)?;
        remove(&work).map_err(fail)
    }

    /// A new folder to work in, beside the sample's own.
    pub fn begin(&self, sample: &Sample) -> Result<PathBuf, String> {
        let work = self.work(sample);
        let made = remove(&work).and_then(|()| std::fs::create_dir(&work));
        made.map(|()| work.clone()).map_err(|error| format!("{}: cannot make this folder: {error}", work.display()))
    }

    /// Makes a folder the sample's, all at once. Where another runner was faster, its result stays and ours goes.
    pub fn commit(&self, sample: &Sample, work: &Path, row: &SampleRow) -> Result<(), String> {
        let place = self.place(sample);
        let fail = |error: std::io::Error| format!("{}: cannot write: {error}", place.display());
        let text = serde_json::to_string(row).map_err(|error| format!("{}: {error}", place.display()))? + "\n";
        std::fs::write(work.join(ROW), &text).map_err(fail)?;
        match std::fs::rename(work, &place) {
            Ok(()) => self.append(&text).map_err(fail),
            Err(_) if self.row(sample).is_some() => remove(work).map_err(fail),
            Err(error) => Err(fail(error)),
        }
    }

    /// Gives up a folder in which the work was not ended.
    pub fn abandon(&self, work: &Path) {
        let _ = remove(work);
    }

    fn append(&self, line: &str) -> std::io::Result<()> {
        let mut report = OpenOptions::new().create(true).append(true).open(self.folder.join(REPORT))?;
        report.write_all(line.as_bytes())
    }

    /// Writes the report anew from what is committed: every sample once, in the order of the jobs.
    pub fn write_report(&self, samples: &[Sample]) -> Result<(), String> {
        // One runner at a time: the last one to write has seen every commit before it.
        let turn = File::open(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let _ = turn.lock();
        let mut text = String::new();
        for row in samples.iter().filter_map(|sample| self.row(sample)) {
            text.push_str(&serde_json::to_string(&row).map_err(|error| error.to_string())?);
            text.push('\n');
        }
        unsnarl_io::write_atomically(&self.folder.join(REPORT), text.as_bytes()).map_err(|error| error.to_string())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.join(lock_name(&self.run)));
    }
}

fn lock_name(run: &str) -> String {
    format!(".run-{run}.lock")
}

/// The runner of a folder that is worked in.
fn run_of_work(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.').map(|(_, run)| run)
}

/// Removes a file or a folder, or nothing.
fn remove(path: &Path) -> std::io::Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
