//! `unsnarl tet`: a tetrahedral mesh of any surface or level set, and the quality of any tetrahedral file.

use crate::commands::tet_measure::{self, MeasureArgs, Quality};
use crate::commands::tet_picture;
use crate::inputs::MeshFlags;
use crate::session::{Failure, Session, check_folder};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::mesh::{self, KeepSource, MeshFile, ReadOptions};
use unsnarl_io::{level_set_file, tet_file};
use unsnarl_volume::tet_mesh::compress::Method;
use unsnarl_volume::tet_mesh::exact_distance::{SignedMesh, Source};
use unsnarl_volume::tet_mesh::fit::Lies;
use unsnarl_volume::tet_mesh::{self, Body, Criterion, Settings, Size, Sizing, Stage, TetMesh, TetReport, measure};

/// Fill a body with tetrahedra.
///
/// The body is a mesh, watertight or with holes and self-intersections, or a level set. Every tetrahedron that is written
/// is positive by exact predicates, and the connectivity suits large deformations.
///
/// Exit status: 0 done, 1 stopped early (what is written is valid), 2 unusable input.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:\n  unsnarl tet assets/cgal_cc0/femur.off -o femur.msh --count 20000 --picture cut.png\n  unsnarl tet measure femur.msh"
)]
pub struct Flags {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    fill: Fill,
}

#[derive(Subcommand)]
enum Action {
    Measure(MeasureArgs),
}

#[derive(Args)]
struct Fill {
    /// The body: a mesh, or a level set made by `unsnarl levelset`
    #[arg(required = true)]
    body: Option<PathBuf>,
    /// The file to write: .msh (Gmsh), .vtk, .node (with .ele and .face) or .mesh (Medit)
    #[arg(short, long, value_name = "FILE", required = true)]
    output: Option<PathBuf>,
    /// The longest edge of the finest elements, metres
    #[arg(long, value_name = "METRES", conflicts_with = "count", allow_negative_numbers = true)]
    edge: Option<f64>,
    /// About so many tetrahedra, within a tenth where the body allows [default: 50000]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// How often the coarsest elements may be halved, 0 to 10
    #[arg(long, value_name = "N", default_value_t = 6)]
    levels: u8,
    /// Where elements are refined
    #[arg(long, value_enum, default_value_t = CriterionName::Error)]
    criterion: CriterionName,
    /// What the criterion bears: a fraction of the finest edge for error [default: 0.1], edge times curvature for curvature
    /// [default: 0.5]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Elements with edges of at most E metres within R metres of a point, inside the body too; may be repeated; needs
    /// --edge, which E may not be below
    #[arg(long, value_name = "X,Y,Z,R,E", value_parser = parse_ball, requires = "edge", allow_hyphen_values = true)]
    size_at: Vec<Ball>,
    /// How the boundary is moved to the surface
    #[arg(long, value_enum, default_value_t = MethodName::Optimise)]
    compress: MethodName,
    /// Write the boundary as a triangle mesh too
    #[arg(long, value_name = "MESH")]
    surface: Option<PathBuf>,
    /// Draw the mesh, whole and cut open
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    mesh_flags: MeshFlags,
}

/// A place where elements are to be small.
#[derive(Clone, Copy, Debug)]
struct Ball {
    center: DVec3,
    radius: f64,
    edge: f64,
}

fn parse_ball(text: &str) -> Result<Ball, String> {
    let numbers: Vec<f64> = text.split(',').map_while(|word| word.trim().parse().ok()).collect();
    match numbers[..] {
        [x, y, z, radius, edge]
            if text.split(',').count() == 5
                && numbers.iter().all(|number| number.is_finite())
                && radius > 0.0
                && edge > 0.0 =>
        {
            Ok(Ball { center: DVec3::new(x, y, z), radius, edge })
        }
        _ => {
            Err("expected five numbers X,Y,Z,R,E in metres, R and E positive, such as 0,1.2,0.1,0.05,0.002".to_owned())
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum CriterionName {
    /// Where the distance is not linear: curved and thin places
    Error,
    /// Where the surface is curved
    Curvature,
    /// Everywhere at the surface
    Uniform,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    /// Sweeps of pattern search: best and fastest
    Optimise,
    /// Masses and springs
    Springs,
    /// Finite elements
    Elements,
}

/// The report of the command.
#[derive(Serialize)]
pub struct Report {
    schema: &'static str,
    finished: bool,
    source: &'static str,
    finest_edge: f64,
    coarsest_edge: Option<f64>,
    lattices_tried: usize,
    envelope_passes: usize,
    refined_by_repair: usize,
    enveloped_by_repair: usize,
    rounds_again: usize,
    refined_again: usize,
    yielded_nodes: usize,
    euler_characteristic: i64,
    surfaces: usize,
    crossing_boundary_pairs: usize,
    fit: Fit,
    #[serde(flatten)]
    quality: Quality,
    sweeps: Vec<SweepReport>,
    guarded_moves: usize,
    seconds: Seconds,
}

/// How well the boundary meets the surface.
#[derive(Serialize)]
pub struct Fit {
    /// The largest distance of a boundary node, metres.
    largest_distance: f64,
    /// The largest distance of a point of the boundary, in mean edges of its triangle.
    farthest_in_edges: f64,
    boundary_nodes: usize,
    /// Boundary nodes farther than a hundredth of the mean of their boundary edges.
    nodes_beyond_one_percent: usize,
    /// Where that point is.
    farthest_at: [f64; 3],
    /// Boundary triangles that are somewhere farther than half their mean edge.
    triangles_beyond_half_an_edge: usize,
    /// ... of these, triangles that bridge a gap: their farthest points lie outside the body.
    triangles_across_gaps: usize,
    /// ... of these, triangles that cut off a thin part of the body.
    triangles_across_thin_parts: usize,
    /// The volume of the body, cubic metres.
    volume_of_body: f64,
}

#[derive(Serialize)]
struct SweepReport {
    share_of_nodes: f64,
    worst_quality: f64,
    largest_distance: f64,
}

/// How long the stages took.
#[derive(Default, Serialize)]
pub struct Seconds {
    /// Reading the body.
    pub read: f64,
    /// Making its distance.
    pub distance: f64,
    /// Refining lattices and choosing elements.
    pub lattice: f64,
    /// Moving the boundary to the surface.
    pub compress: f64,
    /// Measuring and writing.
    pub write: f64,
    /// Everything.
    pub total: f64,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    if let Some(Action::Measure(arguments)) = &flags.action {
        return tet_measure::run(arguments, session);
    }
    let (Some(input), Some(output)) = (&flags.fill.body, &flags.fill.output) else {
        return Err(Failure::usage("give a body and an output with -o"));
    };
    fill(&flags.fill, input, output, session)
}

fn fill(flags: &Fill, input: &Path, output: &Path, session: &Session) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    let size_at = |point: DVec3| {
        let wanted = flags.size_at.iter().filter(|ball| point.distance(ball.center) <= ball.radius);
        wanted.map(|ball| ball.edge).fold(f64::INFINITY, f64::min)
    };
    let sizing: Option<Sizing<'_>> = if flags.size_at.is_empty() { None } else { Some(&size_at) };
    let settings = Settings { sizing, ..settings(flags)? };
    if tet_file::TetFormat::from_path(output).is_none() {
        let line = "the name does not say a kind of tetrahedral file; expected .msh, .vtk, .node, .ele or .mesh";
        return Err(Failure::usage(format!("{}: {line}", output.display())));
    }
    let paths = [Some(output), flags.surface.as_deref(), flags.picture.as_deref()];
    paths.into_iter().flatten().try_for_each(check_folder)?;
    let read = read_body(input, flags)?;
    let read_seconds = begun.elapsed().as_secs_f64();
    let (signed, source) = distance(read, input, &settings, session)?;
    let distance_seconds = begun.elapsed().as_secs_f64();
    let stop = stop_flag()?;
    let mut lattice_seconds = distance_seconds;
    let bar = session.progress(SWEEPS, "compress");
    let body = Body { field: &signed, bounds: signed.bounds(), area: signed.area(), volume: signed.volume() };
    let made = tet_mesh::make(body, &settings, &mut |stage| {
        match stage {
            Stage::Chosen(count) => {
                lattice_seconds = begun.elapsed().as_secs_f64();
                session.log(format!("lattice with {count} elements"));
            }
            Stage::Again(nodes, count) => {
                session.log(format!("{nodes} boundary nodes lag: refined there, {count} elements"));
            }
            Stage::Swept(sweep) => {
                bar.inc(1);
                session.note(format!(
                    "sweep: {:.0} % of the nodes, worst quality {:.3}, farthest boundary node {:.3e} m",
                    100.0 * sweep.share,
                    sweep.worst_quality,
                    sweep.largest_distance
                ));
            }
        }
        if stop.load(Ordering::SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let (mesh, made) = made.map_err(|error| Failure::input(format!("{}: {error}", input.display())))?;
    let finished = !stop.load(Ordering::SeqCst);
    let compress_seconds = begun.elapsed().as_secs_f64();
    let measures = measure::measure(&mesh);
    write(flags, output, &mesh)?;
    let total = begun.elapsed().as_secs_f64();
    let fit = fit(&mesh, &signed);
    session.say(text(&measures, &fit, &made, source, total).trim_end());
    warn_of_what_is_lost(flags, &made, &measures, &fit, session);
    warn_of_fit(&fit, session);
    if made.crossings > 0 {
        let line = "pairs of boundary triangles cross, in gaps thinner than an element: use more elements";
        session.warn(format!("{} {line}", made.crossings));
    }
    if !finished {
        session.warn("stopped early: the mesh is valid, but its boundary may not have reached the surface");
    }
    let seconds = Seconds {
        read: read_seconds,
        distance: distance_seconds - read_seconds,
        lattice: lattice_seconds - distance_seconds,
        compress: compress_seconds - lattice_seconds,
        write: total - compress_seconds,
        total,
    };
    session.report(&report(made, Quality::new(&measures), fit, source, finished, seconds))?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Elements may be this many times more or fewer than asked for without a word.
const COUNT_FACTOR: f64 = 2.0;
/// The share of the body's volume that may be missing or too much without a word: a coarse mesh rounds edges off.
const VOLUME_SHARE: f64 = 0.1;

/// Says where the mesh is not what was asked for: thin bodies need elements as small as they are thin.
fn warn_of_what_is_lost(flags: &Fill, made: &TetReport, found: &measure::TetMeasures, fit: &Fit, session: &Session) {
    if let (None, Some(count)) = (flags.edge, flags.count) {
        let ratio = found.tets as f64 / count as f64;
        let said = format!("{} elements for --count {count}", found.tets);
        match made.coarsest_edge {
            Some(edge) if ratio > COUNT_FACTOR => {
                session.warn(format!(
                    "{said}: the body is too thin for fewer; with edges of {edge:.2e} m it is not filled"
                ));
            }
            _ if !(COUNT_FACTOR.recip()..=COUNT_FACTOR).contains(&ratio) => {
                session.warn(format!("{said}: no other size fits this body better"));
            }
            _ => {}
        }
    }
    let share = found.shapes.volume / fit.volume_of_body;
    if (share - 1.0).abs() > VOLUME_SHARE {
        let line = "parts thinner than an element are lost or joined: use more elements";
        session.warn(format!("the mesh has {:.0} % of the body's volume: {line}", 100.0 * share));
    }
}

/// Says where the boundary does not follow the surface.
fn warn_of_fit(fit: &Fit, session: &Session) {
    let finer = "use more elements, or smaller ones there (--size-at)";
    if fit.nodes_beyond_one_percent > 0 {
        session.warn(format!(
            "{} of {} boundary nodes stay farther than 1 % of their edges from the surface: {finer}",
            fit.nodes_beyond_one_percent, fit.boundary_nodes
        ));
    }
    if fit.triangles_beyond_half_an_edge > 0 {
        let [x, y, z] = fit.farthest_at;
        session.warn(format!(
            "{} boundary triangles are farther than half an edge from the surface, the farthest at {x:.4},{y:.4},{z:.4}: {} \
             bridge gaps and {} cut off parts of about an element's size; {finer}",
            fit.triangles_beyond_half_an_edge, fit.triangles_across_gaps, fit.triangles_across_thin_parts
        ));
    }
}

/// Sweeps of the usual compression, for the progress bar.
const SWEEPS: u64 = 30;

/// Bytes of memory to an element while a mesh is made, about.
const BYTES_PER_ELEMENT: usize = 1500;

/// Elements at most: what the system says that memory is there for, where it says so.
fn most_elements(most: usize) -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.map_or(most, |kilobytes| most.min(kilobytes.saturating_mul(1024) / BYTES_PER_ELEMENT))
}

fn settings(flags: &Fill) -> Result<Settings<'static>, Failure> {
    let size = match (flags.edge, flags.count) {
        (Some(edge), _) if !(edge.is_finite() && edge > 0.0) => {
            return Err(Failure::usage("--edge takes a positive number of metres"));
        }
        (Some(edge), _) => Size::Edge(edge),
        (None, Some(0)) => return Err(Failure::usage("--count takes a number from 1 on")),
        (None, count) => Size::Count(count.unwrap_or(50_000)),
    };
    if let (Some(edge), Some(ball)) = (flags.edge, flags.size_at.iter().find(|ball| Some(ball.edge) < flags.edge)) {
        let line = format!("--size-at asks for edges of {} m, below --edge {edge}: use a smaller --edge", ball.edge);
        return Err(Failure::usage(line));
    }
    if flags.levels > 10 {
        return Err(Failure::usage("--levels takes a number from 0 to 10"));
    }
    if flags.tolerance.is_some_and(|tolerance| !(tolerance.is_finite() && tolerance > 0.0)) {
        return Err(Failure::usage("--tolerance takes a positive number"));
    }
    let criterion = match flags.criterion {
        CriterionName::Error => Criterion::Error(flags.tolerance.unwrap_or(Criterion::DEFAULT_ERROR)),
        CriterionName::Curvature => Criterion::Curvature(flags.tolerance.unwrap_or(Criterion::DEFAULT_CURVATURE)),
        CriterionName::Uniform => Criterion::Uniform,
    };
    let method = match flags.compress {
        MethodName::Optimise => Method::Optimise,
        MethodName::Springs => Method::Springs,
        MethodName::Elements => Method::Elements,
    };
    let usual = Settings::with_size(size);
    let most_elements = most_elements(usual.most_elements);
    Ok(Settings { levels: flags.levels, criterion, method, most_elements, ..usual })
}

/// What a file holds.
enum Read {
    Mesh(TriMesh),
    LevelSet(Box<unsnarl_volume::LevelSet>),
}

fn read_body(input: &Path, flags: &Fill) -> Result<Read, Failure> {
    let mut start = [0; 8];
    let is_level_set = std::fs::File::open(input).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && &start == level_set_file::MAGIC;
    if is_level_set {
        return Ok(Read::LevelSet(Box::new(level_set_file::read(input).map_err(Failure::input)?)));
    }
    let options = ReadOptions {
        units: flags.mesh_flags.units,
        up_axis: flags.mesh_flags.up,
        keep_source: KeepSource::Forget,
        ..ReadOptions::default()
    };
    Ok(Read::Mesh(mesh::read(input, &options).map_err(Failure::input)?.mesh))
}

/// Samples of a level set to an edge, where a mesh has to go through one.
pub const SAMPLES_PER_EDGE: f64 = 3.0;

fn distance(
    read: Read,
    input: &Path,
    settings: &Settings<'_>,
    session: &Session,
) -> Result<(SignedMesh, Source), Failure> {
    let in_file = |line: String| Failure::input(format!("{}: {line}", input.display()));
    let nothing = || in_file("the body has no inside: give a closed surface, or one with small holes".to_owned());
    match read {
        Read::LevelSet(level_set) => {
            SignedMesh::of_level_set(&level_set).map(|signed| (signed, Source::LevelSet)).ok_or_else(nothing)
        }
        Read::Mesh(mesh) => {
            let (edge, from) = match settings.size {
                Size::Edge(edge) => (edge, " (a third of --edge)"),
                Size::Count(count) => (edge_guess(&mesh, count), ""),
            };
            let found = SignedMesh::of_any(&mesh, edge / SAMPLES_PER_EDGE)
                .map_err(|error| in_file(format!("{error}{from}")))?;
            let (signed, source) = found.ok_or_else(nothing)?;
            if source == Source::Repaired {
                session.log("the mesh is open or meets itself: its inside is found by winding numbers");
            }
            Ok((signed, source))
        }
    }
}

/// About the edge for a number of elements: a dozen for each triangle of the surface.
pub fn edge_guess(mesh: &TriMesh, count: usize) -> f64 {
    let area = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| mesh.positions.get(vertex as usize).copied().unwrap_or(DVec3::ZERO));
        0.5 * (b - a).cross(c - a).length()
    };
    let area: f64 = mesh.triangles.iter().map(area).sum();
    let extent = mesh.bounds().extent().max_element();
    (area * 14.0 / count as f64).sqrt().clamp(extent / 2000.0, extent / 10.0)
}

fn write(flags: &Fill, output: &Path, mesh: &TetMesh) -> Result<(), Failure> {
    tet_file::write(output, mesh).map_err(Failure::input)?;
    if let Some(path) = &flags.surface {
        mesh::write(path, &MeshFile::new(surface_of(mesh), None)).map_err(Failure::input)?;
    }
    if let Some(path) = &flags.picture {
        unsnarl_io::write_atomically(path, &tet_picture::picture(mesh).encode_png()).map_err(Failure::input)?;
    }
    Ok(())
}

/// The boundary with its own numbering of nodes.
fn surface_of(mesh: &TetMesh) -> TriMesh {
    let mut triangles = mesh.boundary();
    let mut number = vec![u32::MAX; mesh.positions.len()];
    let mut positions = Vec::new();
    for node in triangles.iter_mut().flatten() {
        let place = &mut number[*node as usize];
        if *place == u32::MAX {
            *place = positions.len() as u32;
            positions.push(mesh.positions[*node as usize]);
        }
        *node = *place;
    }
    TriMesh { positions, triangles }
}

/// Measures how well the boundary meets the surface.
pub fn fit(mesh: &TetMesh, signed: &SignedMesh) -> Fit {
    let found = tet_mesh::fit::Fit::of(signed, &mesh.positions, &mesh.boundary());
    let across_gaps = found.far.iter().filter(|far| far.lies == Lies::Outside).count();
    Fit {
        largest_distance: found.largest_distance,
        farthest_in_edges: found.farthest_in_edges,
        farthest_at: found.farthest_at.to_array(),
        boundary_nodes: found.boundary_nodes,
        nodes_beyond_one_percent: found.lagging.len(),
        triangles_beyond_half_an_edge: found.far.len(),
        triangles_across_gaps: across_gaps,
        triangles_across_thin_parts: found.far.len() - across_gaps,
        volume_of_body: signed.volume(),
    }
}

/// Set by Ctrl-C.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    ctrlc::set_handler(move || shared.store(true, Ordering::SeqCst))
        .map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(flag)
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Mesh => "mesh",
        Source::Repaired => "mesh, by winding numbers",
        Source::LevelSet => "level set",
    }
}

fn text(found: &measure::TetMeasures, fit: &Fit, made: &TetReport, source: Source, seconds: f64) -> String {
    format!(
        "{}surface from {}: {} of {} boundary nodes farther than 1 % of their edges, at most {:.2e} m; finest edge {:.4e} m, \
         {seconds:.2} s",
        tet_measure::table(found),
        source_name(source),
        fit.nodes_beyond_one_percent,
        fit.boundary_nodes,
        fit.largest_distance,
        made.edge,
    )
}

/// Puts everything into a report.
pub fn report(made: TetReport, quality: Quality, fit: Fit, source: Source, finished: bool, seconds: Seconds) -> Report {
    let sweep = |sweep: &tet_mesh::compress::Sweep| SweepReport {
        share_of_nodes: sweep.share,
        worst_quality: sweep.worst_quality,
        largest_distance: sweep.largest_distance,
    };
    Report {
        schema: "unsnarl.tet/1",
        finished,
        source: source_name(source),
        finest_edge: made.edge,
        coarsest_edge: made.coarsest_edge,
        lattices_tried: made.tries,
        envelope_passes: made.envelope.passes,
        refined_by_repair: made.envelope.refined,
        enveloped_by_repair: made.envelope.enveloped,
        rounds_again: made.rounds_again,
        refined_again: made.refined_again,
        yielded_nodes: made.yielded,
        euler_characteristic: made.euler,
        surfaces: made.surfaces,
        crossing_boundary_pairs: made.crossings,
        fit,
        quality,
        sweeps: made.compress.sweeps.iter().map(sweep).collect(),
        guarded_moves: made.compress.guarded_moves,
        seconds,
    }
}
