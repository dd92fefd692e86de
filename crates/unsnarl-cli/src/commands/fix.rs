//! `unsnarl fix`: untangle one garment, or several together, or every frame of an animation, and prove it.

mod animation;
mod records;

use crate::drawing;
use crate::gaps::{self, GapFlags, GapPlan, SolverReport};
use crate::inputs::{Inputs, MeshFlags};
use crate::session::{Failure, Session};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use unsnarl::analysis::report::CheckReport;
use unsnarl::analysis::{self, Examination, GapReport, SmallestGap, Workspace};
use unsnarl::fix::report::FixReport;
use unsnarl::fix::{self, Continue, FixSettings, LeftOut, Outcome, Patient, Progress};
use unsnarl::model::RestAngles;
use unsnarl::scene::workpiece::{RestWish, Setup, StyleWish, Workpiece, WorkpieceError};
use unsnarl::untangle::Method;
use unsnarl_geometry::DVec3;
use unsnarl_io::mesh::{self, Format, KeepSource, MeshFile, ReadOptions};

/// Untangle garments and certify the result.
///
/// Exit status: 0 clean and certified (with the gap, if one is asked for), 1 something is left (also where only a body that crosses itself pinches cloth), 2 unusable input.
#[derive(Args)]
#[command(after_help = "Examples:\n  unsnarl fix samples/hanky_bli.obj -o fixed.obj --picture fixed.png --json -\n  \
                        unsnarl fix 'walk_####.obj' --body 'body_####.obj' -o fixed")]
pub struct Flags {
    /// Garments, untangled together; or one animation: `walk_####.obj`, a folder of frames, a cache, a PC2 file with its mesh, or USD with time samples
    #[arg(required = true, value_name = "MESH-or-FRAMES")]
    meshes: Vec<PathBuf>,
    /// Where to write: a file for one garment, a folder for several; an animation becomes one of the same kind
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// A body, as an obstacle; with an animation also a sequence, USD with time samples, or glTF with `--clip`
    #[arg(long, value_name = "MESH")]
    body: Vec<PathBuf>,
    #[command(flatten)]
    mesh: MeshFlags,
    /// Rest shape: `auto` (the sidecar, or a rule), `uv` (panels in metres), `input`, or a mesh file with the same triangles, whose shape cloth takes where nothing else helps
    #[arg(long, default_value = "auto", value_name = "CHOICE")]
    rest: String,
    /// Who untangles: `auto`; alone and without fallback: `blir`, `esef`, `tear`, `flip`; `retreat`; a method without history: `gia`, `icm`, `repulsive-icm`, `uir`, `sim-prev`; `off`
    #[arg(long, default_value = "auto", value_name = "NAME")]
    method: Method,
    /// Leave a measure out, to see what it is for: `contour-minimisation`, `places`, `steps`, `previous-methods`,
    /// `laying-out`, or a rung of steps
    #[arg(long, value_name = "MEASURE")]
    without: Vec<LeftOut>,
    /// What becomes of folds that bite into themselves: `unfold`, `fold-out`, `fold-in` or `crease`; WHERE=STYLE for a
    /// garment, a labelled panel or a contour of the report. By default creases and labels decide
    #[arg(long, value_name = "[WHERE=]STYLE")]
    style: Vec<StyleWish>,
    /// The order of the garments from the inside out: one number for each, or none to use their sidecars
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', allow_hyphen_values = true)]
    layers: Vec<i32>,
    #[command(flatten)]
    gap: GapFlags,
    /// Animations: over how many frames corrections fade in and out; 0 leaves every clean frame as it is
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    fade: u32,
    /// Animations: the most that a correction changes from frame to frame, as far as cloth lets it: metres, or a number
    /// with mm or cm. Larger jumps become ramps
    #[arg(long, default_value = "2mm", value_name = "D", allow_hyphen_values = true)]
    change: String,
    /// Animations: go on where a run with the same flags was stopped
    #[arg(long)]
    resume: bool,
    /// Animations: the mesh of a PC2 file
    #[arg(long = "mesh", value_name = "MESH")]
    mesh_of_points: Option<PathBuf>,
    /// Animations: the clip that glTF bodies play
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Animations: frames per second of files that do not say it, for clips and time samples of bodies
    #[arg(long, default_value_t = 24.0, value_name = "N", allow_hyphen_values = true)]
    frame_rate: f64,
    /// Stop after this many seconds with the best so far; for animations: of each frame
    #[arg(long, default_value_t = 300.0, value_name = "S")]
    max_seconds: f64,
    /// Write the result even if something is left
    #[arg(long)]
    keep_partial: bool,
    /// Draw before and after into this PNG
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Write every state on the way into this folder, numbered, as OBJ
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    if animation::is_one(flags) {
        return animation::run(flags, session);
    }
    let plan = flags.gap.plan()?;
    let inputs = Inputs::read(&flags.meshes, &flags.body, &flags.mesh, KeepSource::ForWriting, session)?;
    let targets = targets(flags, &plan)?;
    let start = Instant::now();
    let mut workspace = Workspace::default();
    let before = examine(&inputs, &inputs.positions, start, &mut workspace);

    let workpiece = workpiece(flags, &inputs)?;
    plan.fits(inputs.assembly.topology(), &workpiece.state.positions)?;
    let wrong = |error: WorkpieceError| Failure::usage(format!("--{error}"));
    let mut settings = workpiece.settings().using(flags.method);
    settings.without = flags.without.clone();
    settings.vertices.styles = workpiece.styles(&flags.style, &before).map_err(wrong)?;
    settings.vertices.layers = workpiece.layers(&flags.layers).map_err(wrong)?;
    let outcome = untangle(flags, &inputs, workpiece.patient(), &settings, (start, session))?;
    let outcome = spaced((flags, &inputs), &workpiece, outcome, (&plan, &targets), start);

    let fixed = stored(&inputs, &outcome.positions, (&plan, &targets));
    let cloth: Vec<DVec3> = fixed.iter().flat_map(|file| file.mesh.positions.iter().copied()).collect();
    let all = workpiece.with_bodies(&cloth);
    let after = examine(&inputs, &all, start, &mut workspace);
    let before_drawn = flags.picture.as_ref().map(|path| (path, before.clone()));
    let mut report = workpiece.report(before, &after, &outcome, &all);
    report.effort.seconds = start.elapsed().as_secs_f64();
    let gap = plan.wish.map(|wish| {
        let findings = fix::examine_gap(&workpiece.patient(), &all, wish, &after.verdict);
        GapReport::new(&findings, (&inputs.assembly, &all), |triangle| inputs.sheet_name(triangle))
    });
    let report = GappedReport { report, gap, solver: plan.solver };
    if is_written(&report, flags) {
        write_all(flags, &targets, &fixed)?;
    }
    if let Some((path, before)) = before_drawn {
        let was = (&before.tangle, &before.verdict);
        let picture = drawing::before_and_after(&inputs, was, &all, (&after.tangle, &after.verdict));
        unsnarl_io::write_atomically(path, &picture.encode_png()).map_err(Failure::input)?;
    }
    session.say(text(&report, (flags, &targets)).trim_end());
    session.report(&report)?;
    Ok(ExitCode::from(u8::from(!report.is_done())))
}

/// The report, with the gap if one was asked for.
#[derive(Serialize)]
struct GappedReport {
    #[serde(flatten)]
    report: FixReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<GapReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    solver: Option<SolverReport>,
}

impl GappedReport {
    /// Whether the result is clean and keeps the gap.
    fn is_done(&self) -> bool {
        self.report.clean && self.gap.as_ref().is_none_or(|gap| gap.pairs_below == 0)
    }
}

/// The outcome with the gap opened, if one is asked for.
fn spaced(
    (flags, inputs): (&Flags, &Inputs),
    workpiece: &Workpiece,
    outcome: Outcome,
    (plan, targets): (&GapPlan, &[PathBuf]),
    start: Instant,
) -> Outcome {
    let Some(wish) = plan.wish else { return outcome };
    let most_seconds = flags.max_seconds;
    let is_late = || start.elapsed().as_secs_f64() > most_seconds;
    let as_stored = |positions: &[DVec3]| -> Vec<DVec3> {
        let files = stored(inputs, positions, (plan, targets));
        files.into_iter().flat_map(|file| file.mesh.positions).collect()
    };
    fix::open_gap(&workpiece.patient(), outcome, wish, &as_stored, &is_late)
}

fn examine(inputs: &Inputs, positions: &[DVec3], start: Instant, workspace: &mut Workspace) -> Examination {
    let name_of = |triangle| inputs.sheet_name(triangle);
    let mut found = analysis::examine(&inputs.assembly, positions, SmallestGap::Measured, name_of, workspace);
    found.report.seconds = start.elapsed().as_secs_f64();
    found
}

/// Garments and bodies with rest shapes as the flags ask for them.
fn workpiece(flags: &Flags, inputs: &Inputs) -> Result<Workpiece, Failure> {
    let rest_mesh = rest_mesh(flags)?;
    let mut rest = Vec::new();
    for (file, part) in inputs.files.iter().zip(inputs.assembly.parts()).take(inputs.garment_count) {
        rest.push(match (&rest_mesh, flags.rest.as_str(), &file.uv) {
            (Some(rest), ..) => RestWish::Mesh(&rest.mesh),
            (None, "input", _) => RestWish::AsLoaded,
            (None, "uv", Some(uv)) => RestWish::Panels(uv),
            (None, "uv", None) => return Err(Failure::usage(format!("{}: --rest uv, but it has no uv", part.name))),
            (None, ..) => RestWish::Garment,
        });
    }
    let setup = Setup {
        assembly: inputs.assembly.clone(),
        positions: &inputs.positions,
        garments: inputs.garments()?,
        rest,
        rest_angles: RestAngles::AsLoaded,
    };
    Workpiece::build(setup).map_err(|error| match error {
        WorkpieceError::RestTriangles { .. } => Failure::input(format!("{}: {error}", flags.rest)),
        error => Failure::input(error),
    })
}

/// The file to write for every garment.
fn targets(flags: &Flags, plan: &GapPlan) -> Result<Vec<PathBuf>, Failure> {
    let known = |path: &Path| {
        Format::for_output(path).map(|_| ()).ok_or_else(|| {
            let what = "the name does not say a kind of mesh file that is written, such as .obj or .usda";
            Failure::usage(format!("{}: {what}", path.display()))
        })
    };
    if let [_] = flags.meshes[..] {
        let target = plan.target(&flags.output);
        known(&target)?;
        return Ok(vec![target]);
    }
    let mut targets = Vec::new();
    for mesh in &flags.meshes {
        let name = mesh.file_name().ok_or_else(|| Failure::usage(format!("{}: not a file", mesh.display())))?;
        let mut target = flags.output.join(name);
        if Format::for_output(&target).is_none() {
            target.set_extension("usda");
        }
        if targets.contains(&target) {
            let name = name.to_string_lossy();
            return Err(Failure::usage(format!("two garments are called {name}: give them different names")));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// The mesh that `--rest` names, if it names one.
fn rest_mesh(flags: &Flags) -> Result<Option<MeshFile>, Failure> {
    match flags.rest.as_str() {
        "auto" | "uv" | "input" => Ok(None),
        path => {
            let options = ReadOptions { units: flags.mesh.units, up_axis: flags.mesh.up, ..ReadOptions::default() };
            mesh::read(Path::new(path), &options).map(Some).map_err(Failure::input)
        }
    }
}

fn untangle(
    flags: &Flags,
    inputs: &Inputs,
    patient: Patient,
    settings: &FixSettings,
    (start, session): (Instant, &Session),
) -> Result<Outcome, Failure> {
    if let Some(folder) = &flags.trace {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::input(format!("{}: cannot make this folder: {error}", folder.display())))?;
    }
    let bar = session.progress(0, "untangling");
    let mut most_red = 0;
    let (mut trouble, mut states) = (None, 0);
    let most_seconds = flags.max_seconds;
    let is_late = move || start.elapsed().as_secs_f64() > most_seconds;
    let outcome = fix::untangle_unless(patient, settings, Arc::new(is_late), &mut |progress: &Progress| {
        let red = progress.tangle.colours.red_triangles.len() as u64;
        most_red = most_red.max(red);
        bar.set_length(most_red);
        bar.set_position(most_red - red);
        session.note(format!(
            "step {}: {} contours, {} red vertices",
            progress.step,
            progress.tangle.contours.len(),
            progress.tangle.colours.red_vertices.len()
        ));
        if let Some(folder) = &flags.trace {
            trouble = write_state(folder, inputs, progress, states).err();
            states += 1;
        }
        if is_late() || trouble.is_some() { Continue::No } else { Continue::Yes }
    });
    bar.finish_and_clear();
    trouble.map_or(Ok(outcome), Err)
}

/// Writes one state of the trace. States are numbered by themselves: some measures move cloth without a step.
fn write_state(folder: &Path, inputs: &Inputs, progress: &Progress, number: usize) -> Result<(), Failure> {
    for (part, file) in inputs.assembly.parts().iter().zip(&inputs.files).take(inputs.garment_count) {
        let positions = progress.positions[part.vertices.clone()].to_vec();
        let stem = Path::new(&part.name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let path = folder.join(format!("{stem}_{number:05}.obj"));
        mesh::write(&path, &file.with_positions(positions)).map_err(Failure::input)?;
    }
    Ok(())
}

/// The garments as their files will hold them: what is certified is what is written.
fn stored(inputs: &Inputs, positions: &[DVec3], (plan, targets): (&GapPlan, &[PathBuf])) -> Vec<MeshFile> {
    let garments = inputs.assembly.parts().iter().zip(&inputs.files).take(inputs.garment_count);
    garments
        .zip(targets)
        .map(|((part, file), target)| {
            let mut moved = file.with_positions(positions[part.vertices.clone()].to_vec());
            moved.conversion.unit = plan.output_unit.unwrap_or(moved.conversion.unit);
            match Format::for_output(target) {
                Some(format) => moved.with_positions(moved.stored_positions(format)),
                None => moved,
            }
        })
        .collect()
}

fn write_all(flags: &Flags, targets: &[PathBuf], files: &[MeshFile]) -> Result<(), Failure> {
    if flags.meshes.len() > 1 {
        std::fs::create_dir_all(&flags.output)
            .map_err(|error| Failure::input(format!("{}: cannot make this folder: {error}", flags.output.display())))?;
    }
    for (target, file) in targets.iter().zip(files) {
        mesh::write(target, file).map_err(Failure::input)?;
    }
    Ok(())
}

/// What is clean is written, and so is what could not be cleaner because bodies pinch it.
fn is_written(report: &GappedReport, flags: &Flags) -> bool {
    report.is_done() || flags.keep_partial || !report.report.clean && report.report.pairs_not_pinched == 0
}

fn text(whole: &GappedReport, (flags, targets): (&Flags, &[PathBuf])) -> String {
    let report = &whole.report;
    let counts = |check: &CheckReport| {
        format!("{} triangle pairs meet in {} contours", check.intersecting_triangle_pairs, check.contours.len())
    };
    let verdict = if report.clean {
        format!("CLEAN after {} steps, {:.1} s", report.effort.steps, report.effort.seconds)
    } else {
        format!(
            "NOT CLEAN after {} steps, {:.1} s: {}",
            report.effort.steps,
            report.effort.seconds,
            counts(&report.after)
        )
    };
    let mut lines = vec![format!("before: {}", counts(&report.before)), verdict];
    for contour in report.after.contours.iter().filter(|_| report.pairs_not_pinched > 0).take(10) {
        let [x, y, z] = contour.center;
        lines.push(format!(
            "  left: {} near ({x:.3}, {y:.3}, {z:.3}), {:.4} m long, {} with {}",
            contour.kind.name(),
            contour.length,
            contour.sheets[0],
            contour.sheets[1]
        ));
    }
    for place in &report.pinched {
        let [x, y, z] = place.center;
        lines.push(format!(
            "  pinched: {} vertices near ({x:.3}, {y:.3}, {z:.3}), where the body crosses itself, {} pairs",
            place.vertices, place.pairs
        ));
    }
    if !report.clean && report.pairs_not_pinched == 0 {
        lines.push("nothing else is left: cloth against cloth is clean".to_owned());
    }
    lines.push(format!(
        "moved {} of {} vertices, at most {:.4} m; stretch up to {:.3} (99th percentile {:.3}, before {:.3})",
        report.moved_vertices,
        report.cloth_vertices,
        report.displacement.max,
        report.stretch.max,
        report.stretch.p99,
        report.stretch_before.p99
    ));
    if let Some(gap) = report.after.smallest_gap.filter(|_| report.clean) {
        lines.push(format!("smallest gap: {gap:.3e} m"));
    }
    lines.extend(whole.gap.iter().flat_map(gaps::lines));
    if let Some(solver) = &whole.solver {
        let thickness = gaps::shown(solver.thickness);
        lines.push(format!("for {}: {} of {thickness}, in {}", solver.name, solver.thickness_name, solver.units));
    }
    if is_written(whole, flags) {
        let output = if let [target] = targets { target } else { &flags.output };
        lines.push(format!("written: {}", output.display()));
    } else {
        lines.push("nothing written; --keep-partial writes the best state".to_owned());
    }
    lines.join("\n")
}
