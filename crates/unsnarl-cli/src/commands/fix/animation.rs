//! `unsnarl fix` on an animation: every frame clean and certified, with corrections that fade in and out.
//!
//! First frames are followed in blocks, in order within a block; blocks run side by side, each on one thread, and
//! overlap. Then every frame gets what fades in from later ones; jumps that are left become ramps; at last every frame
//! is checked as it is written.

use super::Flags;
use super::records::{Records, Resume};
use crate::gaps::{self, GapPlan};
use crate::inputs::Inputs;
use crate::session::{Failure, Session};
use indicatif::ProgressBar;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use unsnarl::analysis::{self, SmallestGap, Workspace};
use unsnarl::fix::animation::{Axes, Blend, Correction, Followed, Follower, Frame, GivesWay, Pace, Way, blend, pace};
use unsnarl::fix::{FixSettings, Patient, Stop};
use unsnarl::scene::workpiece::WorkpieceError;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::animation::body::BodyMotion;
use unsnarl_io::animation::output::Output;
use unsnarl_io::animation::{Animation, OpenOptions};
use unsnarl_io::mesh::{self, MeshFile, ReadOptions, Severity};

/// Frames of a block. It does not depend on the number of threads, so neither do results.
const BLOCK: usize = 24;
/// Frames before a block that it follows too, and within which two blocks go over into each other.
const OVERLAP: usize = 6;

/// How often corrections of neighbouring frames are drawn together at most, the larger ones and the smaller ones.
const SWEEPS: usize = 12;

/// One frame of the report.
#[derive(Clone, Debug, Serialize)]
struct FrameLine {
    frame: u32,
    clean: bool,
    pairs_before: usize,
    pairs_after: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs_below_gap: Option<usize>,
    way: Way,
    steps: usize,
    moved_vertices: usize,
    /// The largest move, metres.
    largest_move: f64,
    /// How much corrections change against the frame before, carried along with the cloth, metres.
    change: f64,
}

#[derive(Serialize)]
struct AnimationReport {
    schema: &'static str,
    clean: bool,
    frames: Vec<FrameLine>,
    frames_tangled_before: usize,
    frames_not_clean: usize,
    frames_untouched: usize,
    largest_change: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    fade: u32,
    vertices: usize,
    written: bool,
    seconds: f64,
}

/// Whether the garments of a command are an animation.
pub fn is_one(flags: &Flags) -> bool {
    let options = ReadOptions { units: flags.mesh.units, up_axis: flags.mesh.up, ..ReadOptions::default() };
    match &flags.meshes[..] {
        [path] => Animation::is_one(path, &options),
        [_, _] => point_cache(flags).is_some(),
        _ => false,
    }
}

/// A PC2 file and its mesh, given side by side.
fn point_cache(flags: &Flags) -> Option<(PathBuf, PathBuf)> {
    let is_cache = |path: &PathBuf| unsnarl_io::animation::pc2::is_named_so(path);
    match &flags.meshes[..] {
        [one, other] if is_cache(one) && !is_cache(other) => Some((one.clone(), other.clone())),
        [one, other] if is_cache(other) && !is_cache(one) => Some((other.clone(), one.clone())),
        _ => None,
    }
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let job = Job::open(flags, session)?;
    let records = Records::open(&flags.output, &job.words()?, if flags.resume { Resume::Yes } else { Resume::No })?;
    let blocks = Block::all(job.animation.frames.len());
    let count: usize = blocks.iter().map(|block| block.end - block.warm_up).sum();
    let bar = session.progress((count + job.animation.frames.len()) as u64, "frames");
    side_by_side(blocks.len(), |at| job.follow(&blocks, at, &records, &bar))?;

    let followed = job.followed(&blocks, &records)?;
    let all_done = followed.iter().all(Followed::is_done);
    let is_written = all_done || flags.keep_partial;
    let mut corrections: Vec<Correction> = followed.iter().map(Followed::correction).collect();
    let is_clean: Vec<AtomicBool> = followed.iter().map(|frame| AtomicBool::new(frame.is_done())).collect();
    if is_written {
        job.output.begin(&job.animation).map_err(Failure::input)?;
        let wanted = job.wanted(&blocks, &records, &followed)?;
        let moved: Vec<Mutex<Correction>> = followed.iter().map(|_| Mutex::new(Correction::new())).collect();
        side_by_side(followed.len(), |at| {
            *held(&moved[at]) = job.faded(at, &followed, &wanted)?;
            bar.inc(1);
            Ok(())
        })?;
        let moved = moved.into_iter().map(|own| std::mem::take(&mut *held(&own))).collect();
        corrections = job.draw_together(&followed, moved)?;
        side_by_side(followed.len(), |at| {
            is_clean[at].store(job.write(at, &corrections[at], &records)?, Ordering::SeqCst);
            Ok(())
        })?;
        let read = |at: usize| match records.read_final(at) {
            Some(positions) => Ok(positions),
            None => job.animation.positions(at),
        };
        job.output.finish(&job.animation, &read).map_err(Failure::input)?;
    }
    bar.finish_and_clear();
    let is_clean = is_clean.into_iter().map(AtomicBool::into_inner).collect();
    let report = job.report((&followed, is_clean), &corrections, is_written, start)?;
    if is_written {
        let lines: Vec<String> =
            report.frames.iter().filter_map(|line| serde_json::to_string(line).ok()).map(|line| line + "\n").collect();
        unsnarl_io::write_atomically(&lines_path(&flags.output), lines.concat().as_bytes()).map_err(Failure::input)?;
        records.remove()?;
    }
    session.say(text(&report, flags));
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.clean)))
}

/// Frames that are followed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// The first frame that it looks at.
    warm_up: usize,
    /// The first of its own.
    start: usize,
    end: usize,
}

impl Block {
    fn all(frames: usize) -> Vec<Self> {
        let block = |start: usize| Self {
            warm_up: if start == 0 { 0 } else { start - OVERLAP },
            start,
            end: frames.min(start + BLOCK),
        };
        (0..frames).step_by(BLOCK).map(block).collect()
    }
}

/// All that does not change from frame to frame.
struct Job<'a> {
    flags: &'a Flags,
    session: &'a Session,
    animation: Animation,
    bodies: Vec<BodyMotion>,
    output: Output,
    plan: GapPlan,
    /// The most that corrections should change from frame to frame, metres.
    change: f64,
}

/// One frame, read and put together.
struct Prepared {
    files: Vec<MeshFile>,
    patient: Patient,
    settings: FixSettings,
    /// Changes with the positions of cloth and bodies.
    fingerprint: u32,
}

impl<'a> Job<'a> {
    fn open(flags: &'a Flags, session: &'a Session) -> Result<Self, Failure> {
        let plan = flags.gap.plan()?;
        if flags.picture.is_some() || flags.trace.is_some() || plan.output_unit.is_some() {
            let what = "--picture, --trace, --for and --output-units go with single meshes; an animation takes --gap";
            return Err(Failure::usage(what));
        }
        if !(flags.frame_rate.is_finite() && flags.frame_rate > 0.0) {
            return Err(Failure::usage(format!("--frame-rate {}: expected a number above 0", flags.frame_rate)));
        }
        let read = ReadOptions { units: flags.mesh.units, up_axis: flags.mesh.up, ..ReadOptions::default() };
        let (path, beside) = match point_cache(flags) {
            Some((cache, mesh)) => (cache, Some(mesh)),
            None => (flags.meshes[0].clone(), None),
        };
        let mesh = flags.mesh_of_points.clone().or(beside);
        let options = OpenOptions { read, mesh, frame_rate: flags.frame_rate };
        let animation = Animation::open(&path, &options).map_err(Failure::input)?;
        let output = Output::plan(&animation, &flags.output).map_err(Failure::input)?;
        if animation.cache().is_some() && !flags.body.is_empty() {
            return Err(Failure::usage("--body goes with files; a cache brings its own bodies"));
        }
        let body = |path: &PathBuf| BodyMotion::open(path, flags.clip.as_deref(), &options).map_err(Failure::input);
        let bodies = flags.body.iter().map(body).collect::<Result<Vec<_>, Failure>>()?;
        let change = gaps::length("--change", &flags.change)?;
        let job = Self { flags, session, animation, bodies, output, plan, change };
        job.look_over()?;
        Ok(job)
    }

    /// Everything that can be wrong is wrong now, before anything is written.
    fn look_over(&self) -> Result<(), Failure> {
        for (name, file) in &self.animation.pieces {
            for finding in mesh::inspect(file) {
                let line = format!("{name}: {finding}");
                match finding.severity() {
                    Severity::Note => self.session.note(line),
                    Severity::Warning => self.session.warn(line),
                    Severity::Refusal => return Err(Failure::input(line)),
                }
            }
        }
        for info in &self.animation.frames {
            for body in &self.bodies {
                body.positions(info.number, info.seconds - self.animation.frames[0].seconds).map_err(Failure::input)?;
            }
        }
        let first = self.prepare(0)?;
        self.plan.fits(first.patient.assembly.topology(), &first.patient.state.positions)
    }

    /// What a run that goes on has to have in common with the one before.
    fn words(&self) -> Result<String, Failure> {
        let flags = self.flags;
        let words = serde_json::json!({
            "program": env!("CARGO_PKG_VERSION"),
            "input": flags.meshes, "output": flags.output, "body": flags.body, "clip": flags.clip,
            "frames": self.animation.frames.iter().map(|frame| frame.number).collect::<Vec<_>>(),
            "vertices": self.animation.vertex_count(), "rest": flags.rest, "method": format!("{:?}", flags.method),
            "without": format!("{:?}", flags.without), "style": format!("{:?}", flags.style), "layers": flags.layers,
            "gap": format!("{:?}", self.plan.wish), "fade": flags.fade, "change": self.change, "frame_rate": flags.frame_rate,
            "max_seconds": flags.max_seconds,
        });
        serde_json::to_string_pretty(&words).map_err(|error| Failure::usage(error.to_string()))
    }

    /// Reads a frame with its bodies.
    fn prepare(&self, at: usize) -> Result<Prepared, Failure> {
        let files = self.animation.files(at).map_err(Failure::input)?;
        let place = || self.animation.place(at);
        let refused = |file: &MeshFile| {
            let findings = mesh::inspect(file).into_iter();
            findings.filter(|finding| finding.severity() == Severity::Refusal).map(|finding| finding.to_string()).next()
        };
        if let Some(line) = files.iter().find_map(refused) {
            return Err(Failure::input(format!("{}: {line}", place())));
        }
        let mut all = files.clone();
        let mut names: Vec<String> = self.animation.pieces.iter().map(|piece| piece.0.clone()).collect();
        let mut paths: Vec<PathBuf> = (0..files.len()).map(|piece| self.animation.sidecar_of(piece)).collect();
        for (body, path) in self.body_files(at)?.into_iter().zip(self.body_names()) {
            all.push(body);
            names.push(path.clone());
            paths.push(PathBuf::from(path));
        }
        let inputs = Inputs::join(all, paths, names, files.len())?;
        let mut bytes = Vec::with_capacity(24 * inputs.positions.len());
        inputs.positions.iter().flat_map(|point| point.to_array()).for_each(|x| bytes.extend(x.to_le_bytes()));
        let workpiece = super::workpiece(self.flags, &inputs)?;
        let wrong = |error: WorkpieceError| Failure::usage(format!("--{error}"));
        let mut settings = workpiece.settings().using(self.flags.method);
        settings.without = self.flags.without.clone();
        settings.vertices.layers = workpiece.layers(&self.flags.layers).map_err(wrong)?;
        if !self.flags.style.is_empty() {
            let (name_of, gap) = (|triangle| inputs.sheet_name(triangle), SmallestGap::LeftOut);
            let before =
                analysis::examine(&inputs.assembly, &inputs.positions, gap, name_of, &mut Workspace::default());
            settings.vertices.styles = workpiece.styles(&self.flags.style, &before).map_err(wrong)?;
        }
        Ok(Prepared { files, patient: workpiece.patient(), settings, fingerprint: checksum(&bytes) })
    }

    fn body_names(&self) -> Vec<String> {
        match self.animation.cache() {
            Some(_) => vec!["bodies".to_owned()],
            None => self.flags.body.iter().map(|path| path.display().to_string()).collect(),
        }
    }

    /// The bodies of a frame.
    fn body_files(&self, at: usize) -> Result<Vec<MeshFile>, Failure> {
        let info = self.animation.frames[at];
        if let Some(cache) = self.animation.cache() {
            let triangles = cache.body_triangles().map_err(Failure::input)?;
            if triangles.is_empty() {
                return Ok(Vec::new());
            }
            let positions = cache.read_bodies(info.number).map_err(Failure::input)?;
            return Ok(vec![MeshFile::new(TriMesh { positions, triangles }, None)]);
        }
        let seconds = info.seconds - self.animation.frames[0].seconds;
        let body = |body: &BodyMotion| {
            let positions = body.positions(info.number, seconds).map_err(Failure::input)?;
            Ok(MeshFile::new(TriMesh { positions, triangles: body.mesh.triangles.clone() }, None))
        };
        self.bodies.iter().map(body).collect()
    }

    /// Follows the frames of a block, from the last record on.
    fn follow(&self, blocks: &[Block], at: usize, records: &Records, bar: &ProgressBar) -> Result<(), Failure> {
        let block = blocks[at];
        let mut follower = Follower::new(self.flags.fade);
        let mut is_kept = true;
        for frame in block.warm_up..block.end {
            let prepared = self.prepare(frame)?;
            let place = (at, frame);
            let count = self.animation.vertex_count();
            let kept = if is_kept { records.read(place, Some(prepared.fingerprint), count) } else { None };
            if let Some(kept) = kept {
                let (topology, positions) = (&prepared.patient.model.topology, &prepared.patient.state.positions);
                follower = Follower::resume(self.flags.fade, topology, positions, kept.traces);
            } else {
                is_kept = false;
                let stored = |positions: &[DVec3]| self.output.stored(frame, &prepared.files, positions);
                let followed = follower.next(&self.view(&prepared, &stored), &self.stop());
                records.write(place, prepared.fingerprint, &followed)?;
                if followed.pairs_before > 0 {
                    let (before, after) = (followed.pairs_before, followed.pairs_after);
                    let number = self.animation.frames[frame].number;
                    self.session.note(format!("frame {number}: {before} pairs, {after} left, {:?}", followed.way));
                }
            }
            bar.inc(1);
        }
        Ok(())
    }

    fn view<'b>(&self, prepared: &'b Prepared, stored: &'b dyn Fn(&[DVec3]) -> Vec<DVec3>) -> Frame<'b> {
        Frame { patient: &prepared.patient, settings: &prepared.settings, gap: self.plan.wish, stored }
    }

    fn stop(&self) -> Stop {
        let (start, most) = (Instant::now(), self.flags.max_seconds);
        Arc::new(move || start.elapsed().as_secs_f64() > most)
    }

    /// What became of every frame, in the block that it belongs to.
    fn followed(&self, blocks: &[Block], records: &Records) -> Result<Vec<Followed>, Failure> {
        let mut all = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            for frame in block.start..block.end {
                all.push(self.record(records, (at, frame))?);
            }
        }
        Ok(all)
    }

    fn record(&self, records: &Records, place: (usize, usize)) -> Result<Followed, Failure> {
        let missing = || Failure::usage("a record of the working folder is gone; run it again");
        records.read(place, None, self.animation.vertex_count()).ok_or_else(missing)
    }

    /// The corrections that frames should have: those of their block, going over into the next one's before it begins.
    fn wanted(&self, blocks: &[Block], records: &Records, followed: &[Followed]) -> Result<Vec<Correction>, Failure> {
        let mut wanted: Vec<Correction> = followed.iter().map(Followed::correction).collect();
        for (at, block) in blocks.iter().enumerate().skip(1) {
            for frame in block.warm_up..block.start {
                let next = self.record(records, (at, frame))?;
                let share = (frame - block.warm_up + 1) as f64 / (OVERLAP + 1) as f64;
                wanted[frame] = blend::between(&wanted[frame], &next.correction(), share);
            }
        }
        Ok(wanted)
    }

    /// The correction of a frame with what fades in from later ones, certified.
    fn faded(&self, at: usize, followed: &[Followed], wanted: &[Correction]) -> Result<Correction, Failure> {
        let last = wanted.len().min(at + 1 + self.flags.fade as usize);
        let certified = followed[at].correction();
        let is_still = certified.is_empty() && wanted[at..last].iter().all(Correction::is_empty);
        if is_still || !followed[at].is_done() {
            return Ok(certified);
        }
        let prepared = self.prepare(at)?;
        let stored = |positions: &[DVec3]| self.output.stored(at, &prepared.files, positions);
        let mut later = Vec::new();
        for other in at + 1..last {
            later.push(self.animation.positions(other).map_err(Failure::input)?);
        }
        let neighbour = |(positions, correction)| blend::Neighbour { positions, correction };
        let later: Vec<_> = later.iter().map(Vec::as_slice).zip(&wanted[at + 1..last]).map(neighbour).collect();
        let blend = Blend { fade: self.flags.fade };
        let frame = self.view(&prepared, &stored);
        let positions = blend.resolve(&frame, &certified, &wanted[at], &later);
        Ok(frame.correction_to(&positions))
    }

    /// Turns jumps of corrections into ramps: blocks of frames side by side, every other one at a time, so that no frame
    /// is read while it changes.
    fn draw_together(&self, followed: &[Followed], corrections: Vec<Correction>) -> Result<Vec<Correction>, Failure> {
        if self.flags.fade == 0 || corrections.iter().all(Correction::is_empty) {
            return Ok(corrections);
        }
        let pace = Pace::new(self.prepare(0)?.patient.assembly, self.change);
        let count = corrections.len();
        let corrections: Vec<_> = corrections.into_iter().map(|own| Mutex::new(Arc::new(own))).collect();
        let has_changed = AtomicBool::new(true);
        let draw = |at: usize, other: usize, gives_way: GivesWay| {
            let (own, theirs) = (held(&corrections[at]).clone(), held(&corrections[other]).clone());
            let is_nothing = own.is_empty() && theirs.is_empty();
            if is_nothing || !followed[at].is_done() || !followed[other].is_done() {
                return Ok(());
            }
            let prepared = self.prepare(at)?;
            let stored = |positions: &[DVec3]| self.output.stored(at, &prepared.files, positions);
            let positions = self.animation.positions(other).map_err(Failure::input)?;
            let neighbour = blend::Neighbour { positions: &positions, correction: &theirs };
            if let Some(drawn) = pace.drawn(&self.view(&prepared, &stored), &own, &neighbour, gives_way) {
                *held(&corrections[at]) = Arc::new(drawn);
                has_changed.store(true, Ordering::SeqCst);
            }
            Ok(())
        };
        let mut sweeps = 0;
        while sweeps < SWEEPS && has_changed.swap(false, Ordering::SeqCst) {
            for gives_way in [GivesWay::Larger, GivesWay::Smaller] {
                for parity in 0..2 {
                    let blocks: Vec<usize> = (parity..count.div_ceil(BLOCK)).step_by(2).collect();
                    side_by_side(blocks.len(), |k| {
                        let block = blocks[k] * BLOCK..count.min((blocks[k] + 1) * BLOCK);
                        pace::visits(block, count).try_for_each(|(at, other)| draw(at, other, gives_way))
                    })?;
                }
            }
            sweeps += 1;
        }
        let kept = |own: &Mutex<Arc<Correction>>| Correction::clone(&held(own));
        Ok(corrections.iter().map(kept).collect())
    }

    /// Writes a frame as it is corrected. Whether it is clean, by a check of the numbers that are written.
    fn write(&self, at: usize, correction: &Correction, records: &Records) -> Result<bool, Failure> {
        let prepared = self.prepare(at)?;
        let stored = |positions: &[DVec3]| self.output.stored(at, &prepared.files, positions);
        let frame = self.view(&prepared, &stored);
        let positions = frame.moved(correction);
        if self.output.is_by_frame() {
            self.output.write_frame(&self.animation, at, &prepared.files, &positions).map_err(Failure::input)?;
        } else {
            records.write_final(at, &positions)?;
        }
        Ok(frame.keeps(correction))
    }

    fn report(
        &self,
        (followed, is_clean): (&[Followed], Vec<bool>),
        corrections: &[Correction],
        written: bool,
        start: Instant,
    ) -> Result<AnimationReport, Failure> {
        let mut frames: Vec<FrameLine> = Vec::new();
        let changes = self.changes(corrections)?;
        for (at, (followed, correction)) in followed.iter().zip(corrections).enumerate() {
            frames.push(FrameLine {
                frame: self.animation.frames[at].number,
                clean: is_clean[at],
                pairs_before: followed.pairs_before,
                pairs_after: followed.pairs_after,
                pairs_below_gap: self.plan.wish.map(|_| followed.pairs_below_gap),
                way: followed.way,
                steps: followed.steps,
                moved_vertices: correction.len(),
                largest_move: correction.values().map(|offset| offset.length()).fold(0.0, f64::max),
                change: changes[at],
            });
        }
        Ok(AnimationReport {
            schema: "unsnarl.fix-animation/1",
            clean: frames.iter().all(|line| line.clean),
            frames_tangled_before: frames.iter().filter(|line| line.pairs_before > 0).count(),
            frames_not_clean: frames.iter().filter(|line| !line.clean).count(),
            frames_untouched: frames.iter().filter(|line| line.moved_vertices == 0).count(),
            largest_change: changes.iter().copied().fold(0.0, f64::max),
            gap: self.plan.wish.map(|wish| wish.gap),
            fade: self.flags.fade,
            vertices: self.animation.vertex_count(),
            written,
            frames,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// How much corrections change from frame to frame, carried along with the cloth; 0 for the first.
    fn changes(&self, corrections: &[Correction]) -> Result<Vec<f64>, Failure> {
        let mut changes = vec![0.0_f64; corrections.len()];
        if corrections.iter().all(Correction::is_empty) {
            return Ok(changes);
        }
        let topology = self.prepare(0)?.patient.model.topology;
        let axes_of = |at: usize| -> Result<Axes, Failure> {
            Ok(Axes::of(&topology, &self.animation.positions(at).map_err(Failure::input)?))
        };
        for at in 1..corrections.len() {
            let (before, now) = (&corrections[at - 1], &corrections[at]);
            if before.is_empty() && now.is_empty() {
                continue;
            }
            let (old, new) = (axes_of(at - 1)?, axes_of(at)?);
            for &vertex in before.keys().chain(now.keys()) {
                let was = before.get(&vertex).copied().unwrap_or_default();
                let is = now.get(&vertex).copied().unwrap_or_default();
                changes[at] = changes[at].max((is - old.carry(&new, vertex as usize, was)).length());
            }
        }
        Ok(changes)
    }
}

fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `count` pieces of work, as many at once as there are threads, each on one; a single one on all threads.
fn side_by_side(count: usize, work: impl Fn(usize) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    let workers = rayon::current_num_threads().min(count);
    if workers <= 1 {
        return (0..count).try_for_each(work);
    }
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let take = || {
        while !has_failed.load(Ordering::SeqCst) {
            let at = next.fetch_add(1, Ordering::SeqCst);
            if at >= count {
                break;
            }
            if let Err(failure) = work(at) {
                has_failed.store(true, Ordering::SeqCst);
                return Err(failure);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let alone = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(8 << 20).build();
            let pool = pool.map_err(|error| Failure::usage(format!("cannot start the threads: {error}")))?;
            pool.install(take)
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(alone)).collect();
        let ends = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::usage("a thread stopped; --resume goes on"))));
        ends.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Where the lines of all frames go: into a folder that is written, else beside the file.
fn lines_path(output: &Path) -> PathBuf {
    if output.is_dir() {
        return output.join("frames.jsonl");
    }
    let stem = output.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.replace(['#', '*'], "").replace("{}", "");
    output.with_file_name(format!("{}.frames.jsonl", stem.trim_end_matches(['_', '-', '.'])))
}

fn checksum(bytes: &[u8]) -> u32 {
    unsnarl_io::cache::container::checksum(bytes)
}

fn text(report: &AnimationReport, flags: &Flags) -> String {
    let mut lines = vec![format!(
        "{} frames of {} vertices: {} tangled before, {} untouched, {:.1} s",
        report.frames.len(),
        report.vertices,
        report.frames_tangled_before,
        report.frames_untouched,
        report.seconds
    )];
    lines.push(if report.clean {
        format!("CLEAN: every frame; corrections change by at most {:.2e} m a frame", report.largest_change)
    } else {
        format!("NOT CLEAN: {} frames", report.frames_not_clean)
    });
    for line in report.frames.iter().filter(|line| !line.clean).take(10) {
        let below = line.pairs_below_gap.filter(|&below| below > 0);
        let below = below.map_or_else(String::new, |below| format!(", {below} pairs below the gap"));
        lines.push(format!("  frame {}: {} triangle pairs meet{below}", line.frame, line.pairs_after));
    }
    lines.push(if report.written {
        format!("written: {}", flags.output.display())
    } else {
        "nothing written; --keep-partial --resume writes the best states".to_owned()
    });
    lines.join("\n")
}
