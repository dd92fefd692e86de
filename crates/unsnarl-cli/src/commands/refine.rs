//! `unsnarl refine`: smooth cloth that still does not intersect, from a mesh or from a cache.

pub mod alongside;
mod cache;
pub mod frames;
mod size;

use crate::gaps::length;
use crate::inputs::{Inputs, MeshFlags};
use crate::session::{Failure, Session, check_folder};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use unsnarl::analysis::{self, Assembly, Verdict};
use unsnarl::output::{
    Collisions, Depth, Finest, LevelReport, RefineError, RefineSettings, Refined, StartPairs, refine_once,
};
use unsnarl_geometry::subdivision::{self, OldVertices, Scheme, Smoothing};
use unsnarl_geometry::{DVec3, TriMesh, VertexId};
use unsnarl_io::garment_file;
use unsnarl_io::mesh::{self, Format, KeepSource, MeshFile};

/// Refine cloth by subdivision that does not intersect: each level turns one triangle into four and smooths.
///
/// Exit status: 0 refined and certified, 1 refined with --force and not certified, 2 unusable input.
#[derive(Args)]
#[command(after_help = "Examples:\n  unsnarl refine samples/tshirt_rest.obj -o smooth.obj --levels 2\n  \
                        unsnarl refine hanging -o hanging_fine --levels 2 --frames 0..24")]
pub struct Flags {
    /// Garments, refined together, or one folder that `unsnarl sim` wrote
    #[arg(required = true, value_name = "MESH-or-CACHE")]
    inputs: Vec<PathBuf>,
    /// Where to write: a file for one garment, a folder for several and for a cache
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// How often each triangle becomes four, 1 to 10 as memory allows
    #[arg(long, default_value_t = 2, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10))]
    levels: u32,
    /// As many levels as it takes until smoothing moves no vertex by as much as this any more, at most 6: metres, or a
    /// number with mm or cm, such as `0.1mm`
    #[arg(long, value_name = "D", conflicts_with = "levels", allow_hyphen_values = true)]
    until: Option<String>,
    /// A body that cloth may not enter; it is not refined. Caches bring their own
    #[arg(long, value_name = "MESH")]
    body: Vec<PathBuf>,
    #[command(flatten)]
    mesh: MeshFlags,
    /// The masks: Loop's, or a variant whose curvature stays bounded at vertices of valence 4 and more
    #[arg(long, value_enum, default_value_t = SchemeChoice::Loop)]
    scheme: SchemeChoice,
    /// Keep the vertices of the input where they are; new ones are put on a surface through them
    #[arg(long)]
    interpolate: bool,
    /// Keep edges sharp that are bent by more than this many degrees (meshes only; creases of a sidecar are always kept)
    #[arg(long, value_name = "DEGREES")]
    crease_angle: Option<f64>,
    /// Frames of a cache: FIRST..LAST, both included; either may be left out
    #[arg(long, value_name = "A..B")]
    frames: Option<FrameRange>,
    /// Refine input that is not clean too: pairs that meet are left out, and the result is not certified
    #[arg(long)]
    force: bool,
    /// Also find the smallest gap at every level
    #[arg(long)]
    gap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemeChoice {
    Loop,
    Bounded,
}

/// Frames from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameRange {
    first: u32,
    last: u32,
}

impl std::str::FromStr for FrameRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected FIRST..LAST, such as 10..20, ..20 or 10..".to_owned();
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |word: &str, missing: u32| {
            if word.is_empty() { Ok(missing) } else { word.parse::<u32>().map_err(|_| wrong()) }
        };
        let range = Self { first: number(first, 0)?, last: number(last, u32::MAX)? };
        if range.first > range.last { Err(format!("frame {first} comes after {last}")) } else { Ok(range) }
    }
}

/// One level, with the time it took.
#[derive(Serialize)]
struct LevelLine {
    #[serde(flatten)]
    report: LevelReport,
    /// With `--gap` only.
    smallest_gap: Option<f64>,
    seconds: f64,
}

#[derive(Serialize)]
struct MeshReport {
    schema: &'static str,
    certified: bool,
    scheme: &'static str,
    interpolated: bool,
    vertices: usize,
    triangles: usize,
    /// Pairs of triangles that met before; with `--force` only.
    pairs_at_start: usize,
    intersecting_triangle_pairs: usize,
    touching_triangle_pairs: usize,
    smallest_gap: Option<f64>,
    levels: Vec<LevelLine>,
    seconds: f64,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    match &flags.inputs[..] {
        [folder] if folder.is_dir() => cache::run(flags, folder, session),
        inputs => {
            if let Some(folder) = inputs.iter().find(|path| path.is_dir()) {
                let folder = folder.display();
                return Err(Failure::usage(format!("{folder}: a folder; give one cache alone, or mesh files")));
            }
            if flags.frames.is_some() {
                return Err(Failure::usage("--frames goes with a cache; a mesh has one frame"));
            }
            of_meshes(flags, session)
        }
    }
}

/// The most levels of `--until`.
const MOST_LEVELS: u32 = 6;

impl Flags {
    fn depth(&self) -> Result<Depth, Failure> {
        let Some(text) = &self.until else { return Ok(Depth::Levels(self.levels)) };
        let displacement = length("--until", text)?;
        Ok(Depth::Until { displacement, most: MOST_LEVELS })
    }

    fn settings(&self) -> RefineSettings {
        let scheme = match self.scheme {
            SchemeChoice::Loop => Scheme::Loop,
            SchemeChoice::Bounded => Scheme::BoundedCurvature,
        };
        let old_vertices = if self.interpolate { OldVertices::Kept } else { OldVertices::Smoothed };
        RefineSettings {
            smoothing: Smoothing { scheme, old_vertices },
            start_pairs: if self.force { StartPairs::LeaveOut } else { StartPairs::Refuse },
            ..RefineSettings::default()
        }
    }

    fn scheme_name(&self) -> &'static str {
        match self.scheme {
            SchemeChoice::Loop => "loop",
            SchemeChoice::Bounded => "bounded",
        }
    }
}

fn of_meshes(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let targets = targets(flags)?;
    let inputs = Inputs::read(&flags.inputs, &flags.body, &flags.mesh, KeepSource::Forget, session)?;
    let triangles = inputs.files[..inputs.garment_count].iter().map(|file| file.mesh.triangles.len()).sum();
    let depth = size::fitting(flags.depth()?, &size::Coarse { triangles, frames_at_once: 1 }, &names(flags))?;
    let creases = creases(flags, &inputs)?;
    let (refined, finest, levels) = climb(&inputs, &creases, (flags, depth), start)?;
    let stored = stored(&inputs, &targets, &finest.assembly, &refined.positions);
    let (verdict, smallest_gap) = certify(&finest.assembly, &refined, &stored, flags)?;
    let report = MeshReport {
        schema: "unsnarl.refine/1",
        certified: verdict.is_clean() && refined.start.is_clean(),
        scheme: flags.scheme_name(),
        interpolated: flags.interpolate,
        vertices: levels.last().map_or(0, |level| level.report.vertices),
        triangles: levels.last().map_or(0, |level| level.report.triangles),
        pairs_at_start: refined.start.pairs.len(),
        intersecting_triangle_pairs: verdict.pairs.len(),
        touching_triangle_pairs: verdict.touching_count(),
        smallest_gap,
        levels,
        seconds: start.elapsed().as_secs_f64(),
    };
    let normals = subdivision::limit::normals(finest.assembly.topology(), &refined.positions, &finest.creases);
    drop((refined, verdict));
    let mut files = files(&inputs, &finest, &stored, &normals);
    let level_count = finest.levels;
    drop((finest, stored, normals));
    add_colours(&mut files, &inputs, &creases, (flags, level_count))?;
    if flags.inputs.len() > 1 {
        std::fs::create_dir_all(&flags.output)
            .map_err(|error| Failure::input(format!("{}: cannot make this folder: {error}", flags.output.display())))?;
    }
    for ((target, file), source) in targets.iter().zip(&files).zip(&flags.inputs) {
        mesh::write(target, file).map_err(Failure::input)?;
        write_sidecar(source, target, &inputs, (flags, level_count))?;
    }
    session.say(text(&report, flags, depth).trim_end());
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.certified)))
}

/// Edges that stay sharp: creases of sidecars, and those that are bent beyond the angle.
fn creases(flags: &Flags, inputs: &Inputs) -> Result<Vec<[VertexId; 2]>, Failure> {
    let mut creases = Vec::new();
    for (path, (part, file)) in flags.inputs.iter().zip(inputs.assembly.parts().iter().zip(&inputs.files)) {
        let Some(sidecar) = garment_file::read_beside(path).map_err(Failure::input)? else { continue };
        let garment = sidecar.build(path, file).map_err(Failure::input)?;
        let joined = |vertex: VertexId| VertexId::new(vertex.index() + part.vertices.start);
        creases.extend(garment.creases.iter().map(|crease| garment.topology.edge(crease.edge).map(joined)));
    }
    if let Some(degrees) = flags.crease_angle {
        if !(0.0..=180.0).contains(&degrees) {
            return Err(Failure::usage(format!("--crease-angle {degrees}: expected 0 to 180 degrees")));
        }
        let bent = subdivision::edges_bent_beyond(inputs.assembly.topology(), &inputs.positions, degrees.to_radians());
        creases.extend(bent);
    }
    Ok(creases)
}

fn climb(
    inputs: &Inputs,
    creases: &[[VertexId; 2]],
    (flags, depth): (&Flags, Depth),
    start: Instant,
) -> Result<(Refined, Finest, Vec<LevelLine>), Failure> {
    let mut levels: Vec<LevelLine> = Vec::new();
    let mut last = start;
    let mut hear = |report: LevelReport, assembly: &Assembly, positions: &[DVec3]| {
        let smallest_gap = flags.gap.then(|| gap(assembly, positions)).flatten();
        levels.push(LevelLine { report, smallest_gap, seconds: last.elapsed().as_secs_f64() });
        last = Instant::now();
    };
    let settings = flags.settings();
    let refined = refine_once(inputs.assembly.clone(), creases, &inputs.positions, depth, &settings, &mut hear);
    let (refined, finest) = refined.map_err(|error| refusal(&names(flags), &error))?;
    Ok((refined, finest, levels))
}

fn names(flags: &Flags) -> String {
    flags.inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What to say of input that is not clean.
fn refusal(name: &str, error: &RefineError) -> Failure {
    let advice = match error {
        RefineError::NotClean { .. } => "; run unsnarl fix first, or give --force to leave them out",
        RefineError::Positions { .. } | RefineError::Split(_) => "",
    };
    Failure::input(format!("{name}: {error}{advice}"))
}

fn gap(assembly: &Assembly, positions: &[DVec3]) -> Option<f64> {
    analysis::smallest_gap(assembly, positions, &Verdict::default(), &mut analysis::Workspace::default())
}

/// All positions as files will hold them; bodies stay as they are.
fn stored(inputs: &Inputs, targets: &[PathBuf], finest: &Assembly, positions: &[DVec3]) -> Vec<DVec3> {
    let mut stored = Vec::with_capacity(positions.len());
    for ((part, file), target) in finest.parts().iter().zip(&inputs.files).zip(targets) {
        let own = &positions[part.vertices.clone()];
        match file.format_for(target) {
            Some(format) => stored.extend(file.rounded_positions(own, format)),
            None => stored.extend_from_slice(own),
        }
    }
    stored.extend_from_slice(&positions[stored.len()..]);
    stored
}

/// The garments as their files will hold them.
fn files(inputs: &Inputs, finest: &Finest, positions: &[DVec3], normals: &[DVec3]) -> Vec<MeshFile> {
    let (levels, finest) = (finest.levels, &finest.assembly);
    let file = |(part, file): (&analysis::Part, &MeshFile)| {
        let own = part.vertices.clone();
        let triangles = finest.topology().own_triangles(part.triangles.clone(), own.start);
        let mesh = TriMesh { positions: positions[own.clone()].to_vec(), triangles };
        file.refined(mesh, normals[own].to_vec(), levels)
    };
    finest.parts().iter().zip(&inputs.files[..inputs.garment_count]).map(file).collect()
}

/// Colours of vertices, by the masks of their positions.
fn add_colours(
    files: &mut [MeshFile],
    inputs: &Inputs,
    creases: &[[VertexId; 2]],
    (flags, levels): (&Flags, u32),
) -> Result<(), Failure> {
    let parts = inputs.assembly.parts().iter().zip(&inputs.files);
    if inputs.files[..inputs.garment_count].iter().all(|file| file.colours.is_none()) {
        return Ok(());
    }
    let mut colours = vec![DVec3::ZERO; inputs.positions.len()];
    for (part, own) in parts.filter_map(|(part, file)| Some((part, file.colours.as_ref()?))) {
        if part.vertices.len() == own.len() {
            colours[part.vertices.clone()].copy_from_slice(own);
        }
    }
    let settings = RefineSettings { collisions: Collisions::Ignore, ..flags.settings() };
    let depth = Depth::Levels(levels);
    let refined = refine_once(inputs.assembly.clone(), creases, &colours, depth, &settings, &mut |_, _, _| {});
    let (refined, finest) = refined.map_err(|error| refusal(&names(flags), &error))?;
    for ((file, coarse), part) in files.iter_mut().zip(&inputs.files).zip(finest.assembly.parts()) {
        // The butterfly has negative weights.
        let clamped = |colour: &DVec3| colour.clamp(DVec3::ZERO, DVec3::ONE);
        let has_any = coarse.colours.is_some();
        file.colours = has_any.then(|| refined.positions[part.vertices.clone()].iter().map(clamped).collect());
    }
    Ok(())
}

/// An exact check of the very numbers that will be written.
fn certify(
    finest: &Assembly,
    refined: &Refined,
    stored: &[DVec3],
    flags: &Flags,
) -> Result<(Verdict, Option<f64>), Failure> {
    let mut workspace = analysis::Workspace::default();
    let verdict = analysis::verdict(finest, stored, &mut workspace);
    if !verdict.is_clean() && !flags.force {
        let pairs = verdict.pairs.len();
        let exact = analysis::verdict(finest, &refined.positions, &mut workspace);
        let reason = if exact.is_clean() {
            "rounded to the 32 bits that this kind of file holds; write .obj or .ply instead"
        } else {
            "gaps are too small to be split without rounding, or triangles have no area; give fewer levels or --force"
        };
        return Err(Failure::input(format!(
            "{}: {pairs} triangle pairs meet after refinement, {reason}; nothing written",
            flags.output.display()
        )));
    }
    let asked = flags.gap && verdict.is_clean();
    let gap = asked.then(|| analysis::smallest_gap(finest, stored, &verdict, &mut workspace)).flatten();
    Ok((verdict, gap))
}

/// The sidecar of a refined garment: what it says of panels, pins and layers holds on; creases run along the halves of their edges.
fn write_sidecar(source: &Path, target: &Path, inputs: &Inputs, (flags, levels): (&Flags, u32)) -> Result<(), Failure> {
    let at = flags.inputs.iter().position(|path| path == source).unwrap_or(0);
    let Some(sidecar) = garment_file::read_beside(source).map_err(Failure::input)? else { return Ok(()) };
    let path = garment_file::sidecar_path(target);
    if path == garment_file::sidecar_path(source) {
        return Ok(());
    }
    let refined = garment_file::refined_description(&sidecar.description, &inputs.files[at].mesh, levels);
    let text = garment_file::encode(&refined.map_err(Failure::input)?);
    unsnarl_io::write_atomically(&path, text.as_bytes()).map_err(Failure::input)
}

/// The file to write for every garment.
fn targets(flags: &Flags) -> Result<Vec<PathBuf>, Failure> {
    if let [_] = flags.inputs[..] {
        if Format::from_path(&flags.output).is_none() {
            let name = flags.output.display();
            return Err(Failure::usage(format!("{name}: the name does not say a kind of mesh file, such as .obj")));
        }
        check_folder(&flags.output)?;
        return Ok(vec![flags.output.clone()]);
    }
    let mut targets = Vec::new();
    for input in &flags.inputs {
        let name = input.file_name().ok_or_else(|| Failure::usage(format!("{}: not a file", input.display())))?;
        let target = flags.output.join(name);
        if targets.contains(&target) {
            let name = name.to_string_lossy();
            return Err(Failure::usage(format!("two garments are called {name}: give them different names")));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn text(report: &MeshReport, flags: &Flags, depth: Depth) -> String {
    let mut lines: Vec<String> = report.levels.iter().map(|line| level_text(&line.report)).collect();
    lines.push(if report.certified {
        format!("CLEAN: no two triangles meet, {:.2} s", report.seconds)
    } else {
        format!(
            "NOT CERTIFIED: {} triangle pairs met before and {} after, {} of them touching, {:.2} s",
            report.pairs_at_start, report.intersecting_triangle_pairs, report.touching_triangle_pairs, report.seconds
        )
    });
    if let (Depth::Until { displacement, most }, Some(last)) = (depth, report.levels.last())
        && last.report.displacement.max >= displacement
    {
        lines.push(format!(
            "{most} levels are the most: smoothing still moves a vertex by more than {displacement:e} m"
        ));
    }
    if let Some(gap) = report.smallest_gap {
        lines.push(format!("smallest gap: {gap:.3e} m"));
    }
    lines.push(format!("written: {}", flags.output.display()));
    lines.join("\n")
}

fn level_text(level: &LevelReport) -> String {
    let stopped = match (level.stopped_by_cloth, level.stopped_by_bodies) {
        (0, 0) => "none stopped".to_owned(),
        (cloth, bodies) => format!("{cloth} stopped by cloth and {bodies} by bodies"),
    };
    format!(
        "level {}: {} vertices, {} triangles; smoothed by at most {:.3e} m, {stopped}",
        level.level, level.vertices, level.triangles, level.displacement.max
    )
}
