//! A whole cache: frames in parallel, each on one thread; frames that a killed run finished are kept.

use super::frames::{Coarse, FrameFailure, FrameLine, FrameRefiner, popping};
use super::{Flags, FrameRange, size};
use crate::session::{Failure, Session};
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
use unsnarl::output::Depth;
use unsnarl_geometry::DVec3;
use unsnarl_io::cache::Cache;

#[derive(Serialize)]
struct CacheReport {
    schema: &'static str,
    certified: bool,
    scheme: &'static str,
    interpolated: bool,
    vertices: usize,
    triangles: usize,
    first_frame: u32,
    last_frame: u32,
    /// How often each triangle became four.
    levels: u32,
    /// Frames that were there already.
    kept_frames: usize,
    /// Frames with intersections; with `--force` only.
    frames_not_certified: usize,
    /// The largest change of the offset from plain subdivision from one frame to the next, metres.
    largest_popping: f64,
    frames: Vec<Value>,
    seconds: f64,
}

pub(super) fn run(flags: &Flags, folder: &Path, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    if !flags.body.is_empty() || flags.crease_angle.is_some() || flags.gap {
        return Err(Failure::usage("--body, --crease-angle and --gap go with meshes; a cache brings its own bodies"));
    }
    let source = Cache::open(folder).map_err(Failure::input)?;
    let range = frames_of(flags, &source, folder)?;
    let coarse = read_coarse(&source, range.first)?;
    let refiner = refiner(flags, &source, (&coarse, folder), range)?;
    let name = folder.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_string_lossy().into()));
    let info = refiner.info(&source.info, name.unwrap_or_default(), flags.scheme_name(), [range.first, range.last]);
    let target = Cache::create_refined(&flags.output, info, &refiner.mesh(&coarse)).map_err(Failure::input)?;
    let mut lines = finished(&target, range);
    let kept_frames = lines.len();
    let work = Work {
        refiner: &refiner,
        source: &source,
        target: &target,
        has_bodies: !coarse.body_triangles.is_empty(),
        pending: (range.first..=range.last).filter(|frame| !lines.contains_key(frame)).collect(),
        next: AtomicUsize::new(0),
        has_failed: AtomicBool::new(false),
        lines: Mutex::new(Vec::new()),
        bar: session.progress(u64::from(range.last - range.first) + 1, "frames"),
    };
    work.bar.inc(kept_frames as u64);
    work.run()?;
    work.bar.finish_and_clear();
    for line in work.lines.into_inner().unwrap_or_default() {
        lines.insert(line.frame, serde_json::to_value(&line).unwrap_or_default());
    }
    let largest_popping = add_popping(&target, &mut lines)?;
    let frames: Vec<Value> = lines.into_values().collect();
    target.write_reports(&frames).map_err(Failure::input)?;
    let not_certified = frames.iter().filter(|line| line["certified"] != Value::Bool(true)).count();
    let report = CacheReport {
        schema: "unsnarl.refine/1",
        certified: not_certified == 0,
        scheme: flags.scheme_name(),
        interpolated: flags.interpolate,
        vertices: target.info.vertices,
        triangles: target.info.triangles,
        first_frame: range.first,
        last_frame: range.last,
        levels: refiner.levels(),
        kept_frames,
        frames_not_certified: not_certified,
        largest_popping,
        frames,
        seconds: start.elapsed().as_secs_f64(),
    };
    session.say(text(&report, flags));
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.certified)))
}

/// The frames to refine: those asked for that the cache has.
fn frames_of(flags: &Flags, source: &Cache, folder: &Path) -> Result<FrameRange, Failure> {
    let Some(end) = source.last_frame() else {
        return Err(Failure::input(format!("{}: no whole frame; run unsnarl sim first", folder.display())));
    };
    let FrameRange { first, last } = flags.frames.unwrap_or(FrameRange { first: 0, last: u32::MAX });
    let (first, last) = (first.max(source.info.first_frame), last.min(end));
    if first > last {
        let (there, folder) = (source.info.first_frame, folder.display());
        return Err(Failure::usage(format!("--frames: {folder} has frames {there} to {end}")));
    }
    Ok(FrameRange { first, last })
}

/// As many levels as are asked for, or as the frame that needs most of them needs.
fn refiner(
    flags: &Flags,
    source: &Cache,
    (coarse, folder): (&Coarse, &Path),
    range: FrameRange,
) -> Result<FrameRefiner, Failure> {
    let new = |levels: u32| FrameRefiner::new(coarse, levels, flags.settings(), folder);
    let triangles = coarse.pieces.iter().map(|piece| piece.triangles.len()).sum();
    let frames_at_once = rayon::current_num_threads().min((range.last - range.first) as usize + 1);
    let size = size::Coarse { triangles, frames_at_once };
    let (displacement, most) = match size::fitting(flags.depth()?, &size, &folder.display().to_string())? {
        Depth::Levels(levels) => return new(levels),
        Depth::Until { displacement, most } => (displacement, most),
    };
    for levels in 1..most {
        let refiner = new(levels)?;
        let is_enough = |frame: u32| -> Result<bool, Failure> {
            let (_, cloth) = source.read_positions(frame).map_err(Failure::input)?;
            let has_bodies = !coarse.body_triangles.is_empty();
            let bodies = if has_bodies { source.read_bodies(frame).map_err(Failure::input)? } else { Vec::new() };
            let last = refiner.last_displacement(&cloth, &bodies);
            Ok(last.map_err(|error| Failure::input(format!("frame {frame}: {error}")))? < displacement)
        };
        let frames: Vec<u32> = (range.first..=range.last).collect();
        let enough = frames.par_iter().map(|&frame| is_enough(frame)).collect::<Result<Vec<bool>, Failure>>()?;
        if enough.into_iter().all(|is| is) {
            return Ok(refiner);
        }
    }
    new(most)
}

fn read_coarse(source: &Cache, first: u32) -> Result<Coarse, Failure> {
    let mesh = source.mesh().map_err(Failure::input)?;
    let pieces = source.pieces(&mesh).map_err(Failure::input)?;
    let body_triangles = source.body_triangles().map_err(Failure::input)?;
    let body_count =
        if body_triangles.is_empty() { 0 } else { source.read_bodies(first).map_err(Failure::input)?.len() };
    Ok(Coarse { pieces, panels: mesh.panels, body_triangles, body_count })
}

/// Reports of frames that an earlier run finished.
fn finished(target: &Cache, range: FrameRange) -> BTreeMap<u32, Value> {
    let frame_of = |line: &Value| line["frame"].as_u64().and_then(|frame| u32::try_from(frame).ok());
    (target.reports().into_iter())
        .filter_map(|line| Some((frame_of(&line)?, line)))
        .filter(|(frame, _)| (range.first..=range.last).contains(frame) && target.has_whole_frame(*frame))
        .collect()
}

/// What the threads share.
struct Work<'a> {
    refiner: &'a FrameRefiner,
    source: &'a Cache,
    target: &'a Cache,
    has_bodies: bool,
    pending: Vec<u32>,
    next: AtomicUsize,
    has_failed: AtomicBool,
    lines: Mutex<Vec<FrameLine>>,
    bar: ProgressBar,
}

impl Work<'_> {
    /// Several frames at once, each on a thread of its own; a single one on all threads.
    fn run(&self) -> Result<(), Failure> {
        let workers = rayon::current_num_threads().min(self.pending.len());
        if workers <= 1 {
            return self.take_frames();
        }
        std::thread::scope(|scope| {
            let alone = || {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(8 << 20).build();
                let pool = pool.map_err(|error| Failure::usage(format!("cannot start the threads: {error}")))?;
                pool.install(|| self.take_frames())
            };
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(alone)).collect();
            let ends = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Failure::usage("a thread stopped; run it again to go on")))
            });
            ends.collect::<Vec<_>>().into_iter().collect()
        })
    }

    fn take_frames(&self) -> Result<(), Failure> {
        while !self.has_failed.load(Ordering::SeqCst) {
            let Some(&frame) = self.pending.get(self.next.fetch_add(1, Ordering::SeqCst)) else { break };
            if let Err(failure) = self.one(frame) {
                self.has_failed.store(true, Ordering::SeqCst);
                return Err(failure);
            }
            self.bar.inc(1);
        }
        Ok(())
    }

    fn one(&self, frame: u32) -> Result<(), Failure> {
        let (time, cloth) = self.source.read_positions(frame).map_err(Failure::input)?;
        let bodies: Vec<DVec3> =
            if self.has_bodies { self.source.read_bodies(frame).map_err(Failure::input)? } else { Vec::new() };
        let line =
            self.refiner.refine(frame, (time, &cloth), &bodies, self.target).map_err(|failure| match failure {
                FrameFailure::NotClean(what) => Failure::input(format!("{what}; give --force to leave them out")),
                FrameFailure::Other(failure) => failure,
            })?;
        let mut lines = self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.target.append_report(&line).map_err(Failure::input)?;
        lines.push(line);
        Ok(())
    }
}

/// Adds to every report how far offsets from plain subdivision change against the frame before; the largest.
fn add_popping(target: &Cache, lines: &mut BTreeMap<u32, Value>) -> Result<f64, Failure> {
    let mut largest = 0.0_f64;
    let mut last: Option<(u32, Vec<(u32, DVec3)>)> = None;
    for (&frame, line) in lines.iter_mut() {
        let offsets = target.read_offsets(frame).map_err(Failure::input)?;
        let change = match &last {
            Some((before, old)) if before + 1 == frame => popping(old, &offsets),
            _ => 0.0,
        };
        line["popping"] = Value::from(change);
        largest = largest.max(change);
        last = Some((frame, offsets));
    }
    Ok(largest)
}

fn text(report: &CacheReport, flags: &Flags) -> String {
    let verdict = if report.certified {
        "CLEAN: no two triangles meet in any frame".to_owned()
    } else {
        format!("NOT CERTIFIED: {} frames have intersections", report.frames_not_certified)
    };
    let kept = if report.kept_frames > 0 { format!(" ({} were there)", report.kept_frames) } else { String::new() };
    format!(
        "frames {} to {}{kept}: {} vertices, {} triangles each, {:.1} s\n{verdict}\nwritten: {}",
        report.first_frame,
        report.last_frame,
        report.vertices,
        report.triangles,
        report.seconds,
        flags.output.display()
    )
}
