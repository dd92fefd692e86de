//! `unsnarl export`: from a cache to files that other tools open.

use crate::session::{Failure, Session};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use unsnarl_io::cache::Cache;
use unsnarl_io::export::{Selection, export};

/// Export a cache: USD (.usda), glTF (.glb), OBJ sequence (.obj) or point cache (.pc2).
///
/// Exit status: 0 done, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl export hanging -o hanging.usda")]
pub struct Flags {
    /// The folder that `unsnarl sim` wrote
    #[arg(value_name = "CACHE")]
    cache: PathBuf,
    /// The file to write; its ending chooses the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The first frame
    #[arg(long, value_name = "FRAME", default_value_t = 0)]
    first: u32,
    /// The last frame [default: all]
    #[arg(long, value_name = "FRAME")]
    last: Option<u32>,
    /// Every how many frames
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: u32,
}

#[derive(Serialize)]
struct ExportReport {
    schema: &'static str,
    file: String,
    frames: usize,
    vertices: usize,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let cache = Cache::open(&flags.cache).map_err(Failure::input)?;
    let selection = Selection { first: flags.first, last: flags.last.unwrap_or(u32::MAX), every: flags.every.max(1) };
    let frames = export(&cache, &flags.output, selection).map_err(Failure::input)?;
    session.say(format!("{}: {frames} frames", flags.output.display()));
    session.report(&ExportReport {
        schema: "unsnarl.export/1",
        file: flags.output.display().to_string(),
        frames,
        vertices: cache.info.vertices,
    })?;
    Ok(ExitCode::SUCCESS)
}
