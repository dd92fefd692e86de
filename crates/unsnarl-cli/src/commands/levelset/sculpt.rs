//! `unsnarl levelset sculpt`: the strokes of a file, made on a level set.

use super::{read, write};
use crate::session::Failure;
use clap::Args;
use std::path::{Path, PathBuf};
use unsnarl_io::stroke_file;
use unsnarl_volume::LevelSet;

#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl levelset sculpt body.level --strokes session.json -o shaped.level\n\nStrokes are recorded by `unsnarl studio body.level`; docs/sculpting.md describes the file."
)]
pub(super) struct Sculpt {
    /// The level set
    level_set: PathBuf,
    /// The strokes to make
    #[arg(long, value_name = "JSON")]
    strokes: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Memory that a refinement may need, gigabytes
    #[arg(long, value_name = "GB", default_value_t = 8.0)]
    memory_limit: f64,
}

pub(super) fn sculpt(flags: &Sculpt) -> Result<LevelSet, Failure> {
    if !(flags.memory_limit.is_finite() && flags.memory_limit > 0.0) {
        return Err(Failure::usage("--memory-limit takes a positive number of gigabytes"));
    }
    let file = stroke_file::read(&flags.strokes).map_err(Failure::input)?;
    let mut level_set = read(&flags.level_set)?;
    let name = flags.strokes.display().to_string();
    let folder = flags.strokes.parent().unwrap_or(Path::new("."));
    let limit = (flags.memory_limit * 1e9) as usize;
    stroke_file::replay(&file, &name, folder, &mut level_set, limit).map_err(Failure::input)?;
    write(&flags.output, &level_set)?;
    Ok(level_set)
}
