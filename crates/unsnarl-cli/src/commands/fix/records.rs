//! The working folder of an animation that is being repaired: one record for every frame of every block, so that a run
//! that was killed goes on where it stopped. It lies beside the output and is removed at the end.

use crate::session::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use unsnarl::fix::animation::{Followed, Trace, Way};
use unsnarl_geometry::DVec3;
use unsnarl_io::cache::container::{Container, ContainerError};

const JOB: &str = "job.json";

/// The folder.
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Opens the folder for a job. Without `resume`, or with records of another job, it begins empty.
    pub fn open(output: &Path, job: &str, resume: Resume) -> Result<Self, Failure> {
        let name = output.file_name().map(|name| name.to_string_lossy().replace(['#', '*'], "")).unwrap_or_default();
        let folder = output.with_file_name(format!(".{name}.unsnarl-work"));
        let records = Self { folder };
        let there = std::fs::read_to_string(records.folder.join(JOB)).ok();
        if resume == Resume::No || there.as_deref() != Some(job) {
            if records.folder.exists() {
                records.remove()?;
            }
            let cannot = |error: std::io::Error| {
                Failure::input(format!("{}: cannot make this folder: {error}", records.folder.display()))
            };
            std::fs::create_dir_all(&records.folder).map_err(cannot)?;
            unsnarl_io::write_atomically(&records.folder.join(JOB), job.as_bytes()).map_err(Failure::input)?;
        }
        Ok(records)
    }

    /// Removes the folder with all that is in it.
    pub fn remove(&self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.folder)
            .map_err(|error| Failure::input(format!("{}: cannot remove it: {error}", self.folder.display())))
    }

    fn path(&self, block: usize, frame: usize) -> PathBuf {
        self.folder.join(format!("block_{block:05}_frame_{frame:06}.unsnarl"))
    }

    /// Keeps what became of a frame in a block; `input` is a number that changes with the frame.
    pub fn write(&self, (block, frame): (usize, usize), input: u32, followed: &Followed) -> Result<(), Failure> {
        let mut container = Container::default();
        let counts = [followed.pairs_before, followed.pairs_after, followed.pairs_below_gap, followed.steps];
        let counts = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        container.push_indices("counts", std::iter::once(counts));
        container.push_indices("way", std::iter::once([way_number(followed.way), input]));
        let traces = || followed.traces.iter();
        container.push_indices("vertices", traces().map(|(&vertex, trace)| [vertex, trace.age]));
        container.push_reals("offsets", traces().map(|(_, trace)| trace.offset.to_array()));
        container.push_reals("full", traces().map(|(_, trace)| trace.full.to_array()));
        unsnarl_io::write_atomically(&self.path(block, frame), &container.encode()).map_err(Failure::input)
    }

    /// What became of a frame, if it is kept, whole, and of this input.
    pub fn read(&self, (block, frame): (usize, usize), input: Option<u32>, vertices: usize) -> Option<Followed> {
        let bytes = std::fs::read(self.path(block, frame)).ok()?;
        decode(&Container::decode(&bytes).ok()?, input, vertices).ok()?
    }

    /// Keeps the positions of a frame that goes into one file with all others.
    pub fn write_final(&self, frame: usize, positions: &[DVec3]) -> Result<(), Failure> {
        let mut container = Container::default();
        container.push_reals("positions", positions.iter().map(DVec3::to_array));
        unsnarl_io::write_atomically(&self.final_path(frame), &container.encode()).map_err(Failure::input)
    }

    /// The positions that were kept.
    pub fn read_final(&self, frame: usize) -> Option<Vec<DVec3>> {
        let bytes = std::fs::read(self.final_path(frame)).ok()?;
        let rows: Vec<[f64; 3]> = Container::decode(&bytes).ok()?.reals("positions").ok()?;
        Some(rows.into_iter().map(DVec3::from_array).collect())
    }

    fn final_path(&self, frame: usize) -> PathBuf {
        self.folder.join(format!("final_{frame:06}.unsnarl"))
    }
}

/// Whether to go on where a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    Yes,
    No,
}

const WAYS: [Way; 4] = [Way::Untouched, Way::Carried, Way::Continued, Way::Afresh];

fn way_number(way: Way) -> u32 {
    WAYS.iter().position(|&own| own == way).unwrap_or(0) as u32
}

fn decode(container: &Container, input: Option<u32>, vertices: usize) -> Result<Option<Followed>, ContainerError> {
    let counts: Vec<[u32; 4]> = container.indices("counts")?;
    let way: Vec<[u32; 2]> = container.indices("way")?;
    let rows: Vec<[u32; 2]> = container.indices("vertices")?;
    let offsets: Vec<[f64; 3]> = container.reals("offsets")?;
    let full: Vec<[f64; 3]> = container.reals("full")?;
    let (Some(&[pairs_before, pairs_after, below, steps]), Some(&[way, own_input])) = (counts.first(), way.first())
    else {
        return Ok(None);
    };
    let fits = rows.len() == offsets.len()
        && rows.len() == full.len()
        && rows.iter().all(|row| (row[0] as usize) < vertices)
        && input.is_none_or(|input| input == own_input);
    let Some(&way) = WAYS.get(way as usize).filter(|_| fits) else { return Ok(None) };
    let trace = |((row, offset), full): ((&[u32; 2], &[f64; 3]), &[f64; 3])| {
        (row[0], Trace { offset: DVec3::from_array(*offset), full: DVec3::from_array(*full), age: row[1] })
    };
    let traces: BTreeMap<u32, Trace> = rows.iter().zip(&offsets).zip(&full).map(trace).collect();
    Ok(Some(Followed {
        traces,
        pairs_before: pairs_before as usize,
        pairs_after: pairs_after as usize,
        pairs_below_gap: below as usize,
        way,
        steps: steps as usize,
    }))
}
