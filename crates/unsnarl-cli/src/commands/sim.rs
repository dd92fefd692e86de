//! `unsnarl sim`: simulate a scene into a cache, frame by frame.

use super::refine::alongside::Alongside;
use crate::session::{Failure, Session};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unsnarl::bodies::{Body, Form};
use unsnarl::contact::{CollisionMethod, FieldPart, Part};
use unsnarl::report::FrameReport;
use unsnarl::simulation::{Flow, Simulation};
use unsnarl::step::Stage;
use unsnarl_geometry::{Aabb, DVec3};
use unsnarl_io::cache::Cache;
use unsnarl_io::field_file;
use unsnarl_io::picture::{Colour, Frame, MeshStyle, Paint, Picture, View, Wireframe};
use unsnarl_io::scene_file::{self, Scene};

/// Simulate a scene into a cache: one file per frame.
///
/// Exit status: 0 done, 1 stopped early, 2 unusable input.
#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl sim scenes/hanging_sheet.toml -o hanging --set scene.frames=24 --picture hanging.png"
)]
pub struct Flags {
    /// The scene: a TOML file
    #[arg(value_name = "SCENE", required_unless_present = "schema")]
    scene: Option<PathBuf>,
    /// The folder to write
    #[arg(short, long, value_name = "CACHE", required_unless_present = "schema")]
    output: Option<PathBuf>,
    /// Go on where a stopped or killed run ended
    #[arg(long)]
    resume: bool,
    /// With --resume: go on from this frame; the scene may have been edited
    #[arg(long, value_name = "FRAME", requires = "resume")]
    from: Option<u32>,
    /// Change the scene: a path such as settings.time.step, `=`, and a TOML value
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<String>,
    /// Draw the last frame into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Write the velocity grid of a frame's last step into an NRRD file; for scenes with method = "field"
    #[arg(long, value_name = "FRAME=NRRD")]
    field_dump: Option<String>,
    /// Print the JSON schema of scene files and do nothing else
    #[arg(long)]
    schema: bool,
}

/// Time between lines of progress where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct FrameLine {
    frame: u32,
    time: f64,
    seconds: f64,
    stages: StageSeconds,
    #[serde(flatten)]
    report: FrameReport,
}

#[derive(Clone, Copy, Default, Serialize)]
struct StageSeconds {
    rigid: f64,
    bodies: f64,
    analysis: f64,
    untangle: f64,
    propose: f64,
    keep_out: f64,
    field: FieldSeconds,
    repulsion: f64,
    impulses: f64,
    zones: f64,
    finish: f64,
}

/// The parts of the field.
#[derive(Clone, Copy, Default, Serialize)]
struct FieldSeconds {
    rasterise: f64,
    density: f64,
    solve: f64,
    carry: f64,
}

impl FieldSeconds {
    fn total(&self) -> f64 {
        self.rasterise + self.density + self.solve + self.carry
    }
}

#[derive(Serialize)]
struct SimReport {
    schema: &'static str,
    finished: bool,
    first_frame: u32,
    last_frame: u32,
    vertices: usize,
    triangles: usize,
    steps: u64,
    solver_iterations: u64,
    halved_steps: u64,
    forced_steps: u64,
    collisions: u64,
    impact_zones: u64,
    unresolved_collisions: u64,
    tangled_steps: u64,
    tangled_frames: u64,
    /// As they are shown: cloth inside bodies is taken out.
    tangled_shown_frames: u64,
    /// Of all frames.
    largest_stretch: f64,
    stretch_99: f64,
    stretch_99_9: f64,
    seconds: f64,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    if flags.schema {
        session.say(scene_file::schema().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(path), Some(folder)) = (&flags.scene, &flags.output) else {
        return Err(Failure::usage("expected a scene and -o CACHE"));
    };
    let scene = scene_file::read(path, &flags.changes).map_err(Failure::input)?;
    for remark in &scene.remarks {
        session.note(remark);
    }
    let dump = flags.field_dump.as_deref().map(|asked| FieldDump::new(asked, &scene)).transpose()?;
    let (cache, first, simulation) = open(flags, folder, scene.clone())?;
    let stop = stop_flag()?;
    let alongside = Alongside::open(&scene, &cache, folder, first)?;
    let outcome = simulate(&scene, (&cache, alongside.as_ref(), dump.as_ref()), first, simulation, &stop, session)?;
    if let Some(png) = &flags.picture {
        draw(&cache, outcome.last_frame, &scene, png)?;
    }
    session.report(&outcome)?;
    if outcome.tangled_shown_frames > 0 {
        session.warn(format!("{} frames have intersections; see frames.jsonl", outcome.tangled_shown_frames));
    }
    if outcome.finished {
        session.say(format!(
            "{}: frames {} to {} in {:.1} s",
            folder.display(),
            outcome.first_frame,
            outcome.last_frame,
            outcome.seconds
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let changes: String = flags.changes.iter().map(|change| format!(" --set {}", quoted(change))).collect();
    session.say(format!(
        "stopped after frame {}; go on with: unsnarl sim {} -o {}{changes} --resume",
        outcome.last_frame,
        quoted(&path.display().to_string()),
        quoted(&folder.display().to_string())
    ));
    Ok(ExitCode::from(1))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// A new cache, or one that goes on: with the frame that it stands at.
fn open(flags: &Flags, folder: &Path, scene: Scene) -> Result<(Cache, u32, Simulation), Failure> {
    let Scene { world, state, settings, .. } = scene.clone();
    if !flags.resume || !folder.join("cache.json").exists() {
        let cache = Cache::create(folder, &scene).map_err(Failure::input)?;
        cache.write_bodies(0, &world, state.time, &[]).map_err(Failure::input)?;
        cache.write_frame(0, &world.model, &state, None).map_err(Failure::input)?;
        return Ok((cache, 0, Simulation::new(world, state, settings)));
    }
    let mut cache = Cache::open(folder).map_err(Failure::input)?;
    let last = cache.last_frame();
    let Some(last) = last else {
        if !cache.is_of(&scene) {
            return Err(Failure::input(format!("{}: belongs to another scene; give another folder", folder.display())));
        }
        cache.truncate(0).map_err(Failure::input)?;
        cache.write_bodies(0, &world, state.time, &[]).map_err(Failure::input)?;
        cache.write_frame(0, &world.model, &state, None).map_err(Failure::input)?;
        return Ok((cache, 0, Simulation::new(world, state, settings)));
    };
    let first = flags.from.unwrap_or(last);
    if first > last {
        return Err(Failure::usage(format!("--from {first}: the last whole frame of {} is {last}", folder.display())));
    }
    if !cache.fits(&scene) {
        return Err(Failure::input(format!(
            "{}: its cloth, its rigid bodies or its frame rate is not the scene's; give another folder",
            folder.display()
        )));
    }
    if !cache.is_of(&scene) {
        if flags.from.is_none() {
            return Err(Failure::input(format!(
                "{}: the scene has changed since; give --resume --from FRAME to go on with the new one",
                folder.display()
            )));
        }
        cache.adopt(&scene).map_err(Failure::input)?;
    }
    cache.truncate(first).map_err(Failure::input)?;
    let state = cache.read_state(first, &world).map_err(Failure::input)?;
    Ok((cache, first, Simulation::new(world, state, settings)))
}

/// Set by Ctrl-C.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    ctrlc::set_handler(move || shared.store(true, Ordering::SeqCst))
        .map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(flag)
}

fn simulate(
    scene: &Scene,
    (cache, alongside, dump): (&Cache, Option<&Alongside>, Option<&FieldDump>),
    first: u32,
    mut simulation: Simulation,
    stop: &AtomicBool,
    session: &Session,
) -> Result<SimReport, Failure> {
    let begun = Instant::now();
    let model = &scene.world.model;
    let mut total = SimReport {
        schema: "unsnarl.sim/1",
        finished: false,
        first_frame: first,
        last_frame: first,
        vertices: model.masses.len(),
        triangles: model.topology.triangle_count(),
        steps: 0,
        solver_iterations: 0,
        halved_steps: 0,
        forced_steps: 0,
        collisions: 0,
        impact_zones: 0,
        unresolved_collisions: 0,
        tangled_steps: 0,
        tangled_frames: 0,
        tangled_shown_frames: 0,
        largest_stretch: 0.0,
        stretch_99: 0.0,
        stretch_99_9: 0.0,
        seconds: 0.0,
    };
    let bar = session.progress(u64::from(scene.frames.saturating_sub(first)), "frames");
    let mut log_at = LOG_INTERVAL;
    for frame in first + 1..=scene.frames {
        let start = Instant::now();
        let dump = dump.filter(|dump| dump.frame == frame);
        simulation.keep_field_grid(dump.is_some());
        let mut clock = StageClock::default();
        let mut observe = |stage| {
            clock.hear(stage);
            if stop.load(Ordering::SeqCst) { Flow::Stop } else { Flow::GoOn }
        };
        let Ok(report) = simulation.advance(1.0 / scene.frame_rate, &mut observe) else { break };
        (cache.write_bodies(frame, &scene.world, simulation.state.time, &simulation.pinched))
            .map_err(Failure::input)?;
        cache.write_frame(frame, model, &simulation.state, simulation.shown.as_deref()).map_err(Failure::input)?;
        if let Some(dump) = dump {
            dump.write(&simulation)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let line = FrameLine { frame, time: simulation.state.time, seconds, stages: clock.seconds, report };
        cache.append_report(&line).map_err(Failure::input)?;
        if let Some(what) = alongside.map_or(Ok(None), |refined| refined.write(frame, cache))? {
            session.warn(what);
        }
        total.last_frame = frame;
        total.steps += u64::from(report.steps);
        total.solver_iterations += u64::from(report.solver_iterations);
        total.halved_steps += u64::from(report.halved_steps);
        total.forced_steps += u64::from(report.forced_steps);
        total.collisions += report.collision.collisions as u64;
        total.impact_zones += report.collision.zones as u64;
        total.unresolved_collisions += report.collision.unresolved as u64;
        total.tangled_steps += u64::from(report.tangled_steps);
        total.tangled_frames += u64::from(report.intersecting_triangle_pairs > 0);
        total.tangled_shown_frames += u64::from(report.shown_triangle_pairs > 0);
        total.largest_stretch = total.largest_stretch.max(report.largest_stretch);
        total.stretch_99 = total.stretch_99.max(report.stretch_99);
        total.stretch_99_9 = total.stretch_99_9.max(report.stretch_99_9);
        bar.inc(1);
        bar.set_message(format!("frame {frame}, {} steps, {:.0} ms", report.steps, 1e3 * seconds));
        let left = begun.elapsed().as_secs_f64() / f64::from(frame - first) * f64::from(scene.frames - frame);
        let StageSeconds { rigid, propose, keep_out, field, repulsion, impulses, zones, finish, .. } = clock.seconds;
        let contact = keep_out + field.total() + repulsion + impulses + zones;
        let line = format!(
            "frame {frame} of {}: {} steps in {:.0} ms (rigid {:.0}, propose {:.0}, contact {:.0}, finish {:.0}), {left:.0} s left",
            scene.frames,
            report.steps,
            1e3 * seconds,
            1e3 * rigid,
            1e3 * propose,
            1e3 * contact,
            1e3 * finish
        );
        if begun.elapsed() >= log_at {
            log_at = begun.elapsed() + LOG_INTERVAL;
            session.log(&line);
        } else {
            session.note(&line);
        }
        if let Some(field) = report.field.filter(|field| field.refused > 0) {
            session.warn(format!("frame {frame}: {} passes went on without the field: too many voxels", field.refused));
        }
        if report.forced_steps > 0 {
            session.warn(format!("frame {frame}: {} steps distorted cloth too far", report.forced_steps));
        }
    }
    bar.finish_and_clear();
    total.finished = total.last_frame >= scene.frames;
    total.seconds = begun.elapsed().as_secs_f64();
    Ok(total)
}

/// The frame whose grid is written, and where.
struct FieldDump {
    frame: u32,
    path: PathBuf,
}

impl FieldDump {
    fn new(asked: &str, scene: &Scene) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::usage(format!("--field-dump {asked}: {what}"));
        let (frame, path) = asked.split_once('=').ok_or_else(|| wrong("expected FRAME=FILE, such as 24=field.nrrd"))?;
        let frame: u32 = frame.parse().map_err(|_| wrong("expected the number of a frame before ="))?;
        if path.is_empty() || frame == 0 || frame > scene.frames {
            return Err(wrong(&format!("expected a frame from 1 to {}, and a file", scene.frames)));
        }
        if scene.settings.collision.method != CollisionMethod::Field {
            return Err(wrong("the scene has no field; set collision.method to \"field\""));
        }
        Ok(Self { frame, path: PathBuf::from(path) })
    }

    fn write(&self, simulation: &Simulation) -> Result<(), Failure> {
        let Some(grid) = simulation.field_grid() else {
            let text = format!("{}: frame {} has no field: too many voxels", self.path.display(), self.frame);
            return Err(Failure::input(text));
        };
        field_file::write_nrrd(&self.path, grid).map_err(Failure::input)
    }
}

/// Time between the ends of stages.
struct StageClock {
    last: Instant,
    seconds: StageSeconds,
}

impl Default for StageClock {
    fn default() -> Self {
        Self { last: Instant::now(), seconds: StageSeconds::default() }
    }
}

impl StageClock {
    fn hear(&mut self, stage: Stage) {
        let spent: Duration = self.last.elapsed();
        self.last = Instant::now();
        let slot = match stage {
            Stage::Rigid => &mut self.seconds.rigid,
            Stage::Bodies => &mut self.seconds.bodies,
            Stage::Propose => &mut self.seconds.propose,
            Stage::Analysis => &mut self.seconds.analysis,
            Stage::Untangle => &mut self.seconds.untangle,
            Stage::KeepOut => &mut self.seconds.keep_out,
            Stage::Contact(Part::Field(FieldPart::Rasterise)) => &mut self.seconds.field.rasterise,
            Stage::Contact(Part::Field(FieldPart::Density)) => &mut self.seconds.field.density,
            Stage::Contact(Part::Field(FieldPart::Solve)) => &mut self.seconds.field.solve,
            Stage::Contact(Part::Field(FieldPart::Carry)) => &mut self.seconds.field.carry,
            Stage::Contact(Part::Repulsion) => &mut self.seconds.repulsion,
            Stage::Contact(Part::Impulses) => &mut self.seconds.impulses,
            Stage::Contact(Part::Zones) => &mut self.seconds.zones,
            Stage::Finish => &mut self.seconds.finish,
        };
        *slot += spent.as_secs_f64();
    }
}

fn draw(cache: &Cache, frame: u32, scene: &Scene, png: &Path) -> Result<(), Failure> {
    let (time, positions) = cache.read_positions(frame).map_err(Failure::input)?;
    let mesh = cache.mesh().map_err(Failure::input)?;
    let world = &scene.world;
    let state = cache.read_state(frame, world).map_err(Failure::input)?;
    let mut picture = Picture::new(1280, 800);
    let surfaces = world.surfaces.positions_at(&world.bodies, state.moment());
    let mut first = 0;
    let drawn: Vec<Drawn> = (world.bodies.iter().zip(world.surfaces.meshes()))
        .map(|(body, surface)| {
            let points = &surfaces[first..first + surface.positions.len()];
            first += points.len();
            Drawn { points, triangles: &surface.triangles, group: group_of(scene, body) }
        })
        // A half space has no edge that a picture could show.
        .filter(|drawn| drawn.triangles.len() > 2)
        .collect();
    let shown = framed(&positions, &mesh.triangles, &drawn);
    picture.title(&format!("{} frame {frame}, {time:.2} s{}", scene.title, shown.remark()));
    let area = picture.area();
    let plain = MeshStyle { wireframe: Wireframe::Off, ..MeshStyle::CLOTH };
    let painted = |colour: Colour| MeshStyle { paint: Paint::TwoSided { front: colour, back: colour }, ..plain };
    let of_group = |group: usize| Colour::DISTINCT[(group + world.model.pieces.len()) % Colour::DISTINCT.len()];
    let triangles: Vec<Vec<[u32; 3]>> =
        world.model.pieces.iter().map(|piece| mesh.triangles[piece.triangles.clone()].to_vec()).collect();
    for (column, toward) in [DVec3::new(0.4, 0.5, 1.0), DVec3::new(-0.9, 0.25, 0.3)].into_iter().enumerate() {
        let view = View::framing(shown.bounds, toward, area.column(column, 2));
        for Drawn { points, triangles, group } in &drawn {
            picture.draw_mesh(&view, points, triangles, &painted(group.map_or(Colour::BODY, of_group)));
        }
        for (piece, triangles) in triangles.iter().enumerate() {
            let colour = Colour::DISTINCT[piece % Colour::DISTINCT.len()];
            let style = if piece == 0 { plain } else { painted(colour) };
            picture.draw_mesh(&view, &positions, triangles, &style);
        }
    }
    unsnarl_io::write_atomically(png, &picture.encode_png()).map_err(Failure::input)
}

/// A body in a picture.
struct Drawn<'a> {
    points: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    /// Which group of rigid bodies it is of, unless it is an obstacle.
    group: Option<usize>,
}

fn group_of(scene: &Scene, body: &Body) -> Option<usize> {
    let Form::Simulated { number, .. } = body.form else { return None };
    scene.rigid.iter().position(|group| group.bodies.contains(&number))
}

/// What matters is cloth and rigid bodies; obstacles are surroundings.
fn framed(positions: &[DVec3], triangles: &[[u32; 3]], drawn: &[Drawn]) -> Frame {
    let bounds = |drawn: &Drawn| Aabb::of_points(drawn.points.iter().copied());
    let rigid = drawn.iter().filter(|drawn| drawn.group.is_some()).map(bounds).reduce(Aabb::union);
    let cloth = (!positions.is_empty()).then(|| Frame::of_mesh(positions, triangles, |_| false));
    let rigid = rigid.map(|bounds| Frame { bounds, pieces_outside: 0 });
    let shown = match (cloth, rigid) {
        (Some(cloth), Some(rigid)) => cloth.with(rigid),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => Frame::of_mesh(positions, triangles, |_| false),
    };
    let surroundings = drawn.iter().filter(|drawn| drawn.group.is_none()).map(bounds);
    surroundings.fold(shown, Frame::with_surroundings)
}
