//! `unsnarl levelset`: mesh to sparse level set and back, CSG, smoothing, sculpting, pictures, measures.

mod render;
mod sculpt;

use crate::inputs::MeshFlags;
use crate::session::{Failure, Session};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use unsnarl_io::level_set_file;
use unsnarl_io::mesh::{self, KeepSource, MeshFile, ReadOptions};
use unsnarl_volume::level_set::{Beyond, Csg, Doubling, Extent, Extraction, MeshSettings, Reinitialization};
use unsnarl_volume::{BlockWidth, LevelSet};

/// Make, edit, measure and mesh sparse level sets.
///
/// Exit status: 0 done, 2 unusable input.
#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl levelset from body.obj -o body.level --resolution 256\n  unsnarl levelset to-mesh body.level -o body_remeshed.obj"
)]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a level set from a closed mesh (self-intersections and small holes are accepted)
    From(From),
    /// Mesh the surface of a level set: closed and manifold
    ToMesh(ToMesh),
    /// Combine two level sets
    Csg(CsgFlags),
    /// Smooth a level set by mean curvature
    Smooth(Smooth),
    /// Move the surface outward, or inward
    Offset(Offset),
    /// Halve the spacing
    Refine(Refine),
    /// Make the strokes of a file
    Sculpt(sculpt::Sculpt),
    /// Take a ray-traced picture
    Render(render::Render),
    /// Write a dense NRRD file for other programs
    Export(Export),
    /// Measure a level set
    Info(Info),
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset from body.obj -o body.level --resolution 256")]
struct From {
    /// The mesh
    mesh: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Samples across the longest side of the mesh [default: 256]
    #[arg(long, value_name = "N", conflicts_with = "spacing")]
    resolution: Option<u32>,
    /// Distance between samples, metres
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    spacing: Option<f64>,
    /// Half the width of the band of exact distances, samples
    #[arg(long, value_name = "SAMPLES", default_value_t = 3.0)]
    half_width: f64,
    /// Samples along the side of a block, 5 to 32
    #[arg(long, value_name = "SAMPLES", default_value_t = 8)]
    block_width: u32,
    #[command(flatten)]
    mesh_flags: MeshFlags,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset to-mesh body.level -o body.obj")]
struct ToMesh {
    /// The level set
    level_set: PathBuf,
    /// The mesh to write; the extension says its kind
    #[arg(short, long, value_name = "MESH")]
    output: PathBuf,
    /// How to mesh
    #[arg(long, value_enum, default_value_t = Method::SurfaceNets)]
    method: Method,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    /// A vertex in each cell: even triangles
    SurfaceNets,
    /// A vertex on each crossed edge
    Marching,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset csg difference body.level tool.level -o cut.level --blend 0.01")]
struct CsgFlags {
    /// What to make of the two
    #[arg(value_enum)]
    operation: Operation,
    /// The first level set; the result has its spacing
    first: PathBuf,
    /// The second level set
    second: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Radius of rounding where the surfaces meet, metres
    #[arg(long, value_name = "METRES", default_value_t = 0.0)]
    blend: f64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    /// What is in either
    Union,
    /// What is in both
    Intersection,
    /// What is in the first and not in the second
    Difference,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset smooth body.level -o smooth.level --size 0.01")]
struct Smooth {
    /// The level set
    level_set: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The size of features that go, metres: curvature acts for a time of a quarter of its square
    #[arg(long, value_name = "METRES")]
    size: f64,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset offset body.level -o thicker.level --by 0.005")]
struct Offset {
    /// The level set
    level_set: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How far outward, metres; negative for inward
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    by: f64,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset refine body.level -o fine.level")]
struct Refine {
    /// The level set
    level_set: PathBuf,
    /// The level set to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset export body.level -o body.nrrd")]
struct Export {
    /// The level set
    level_set: PathBuf,
    /// The NRRD file to write
    #[arg(short, long, value_name = "NRRD")]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Example:\n  unsnarl levelset info body.level --json -")]
struct Info {
    /// The level set
    level_set: PathBuf,
}

/// What every action reports.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    action: &'static str,
    spacing: f64,
    half_width: f64,
    block_width: usize,
    blocks: usize,
    inside_blocks: usize,
    bytes: usize,
    bounds: Option<[[f64; 3]; 2]>,
    volume: f64,
    area: f64,
    components: usize,
    seconds: f64,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let (action, level_set) = match &flags.action {
        Action::From(flags) => ("from", make(flags)?),
        Action::ToMesh(flags) => ("to-mesh", to_mesh(flags, session)?),
        Action::Csg(flags) => ("csg", combine(flags)?),
        Action::Smooth(flags) => ("smooth", smooth(flags)?),
        Action::Offset(flags) => {
            let mut level_set = read(&flags.level_set)?;
            level_set.offset(flags.by).map_err(|error| Failure::usage(format!("--by: {error}")))?;
            write(&flags.output, &level_set)?;
            ("offset", level_set)
        }
        Action::Refine(flags) => {
            let fine = read(&flags.level_set)?.refined(Doubling::Automatic);
            write(&flags.output, &fine)?;
            ("refine", fine)
        }
        Action::Sculpt(flags) => ("sculpt", sculpt::sculpt(flags)?),
        Action::Render(flags) => ("render", render::render(flags, session)?),
        Action::Export(flags) => {
            let level_set = read(&flags.level_set)?;
            level_set_file::write_nrrd(&flags.output, &level_set).map_err(Failure::input)?;
            ("export", level_set)
        }
        Action::Info(flags) => ("info", read(&flags.level_set)?),
    };
    let seconds = start.elapsed().as_secs_f64();
    let report = measure(action, &level_set, seconds);
    session.say(text(&report));
    session.report(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn make(flags: &From) -> Result<LevelSet, Failure> {
    let options = ReadOptions {
        units: flags.mesh_flags.units,
        up_axis: flags.mesh_flags.up,
        keep_source: KeepSource::Forget,
        ..ReadOptions::default()
    };
    let file = mesh::read(&flags.mesh, &options).map_err(Failure::input)?;
    let in_file = |line: String| Failure::input(format!("{}: {line}", flags.mesh.display()));
    let mut settings = match flags.spacing {
        Some(spacing) => MeshSettings::with_spacing(spacing),
        None if flags.resolution == Some(0) => return Err(Failure::usage("--resolution takes a number from 1 on")),
        None => MeshSettings::with_resolution(&file.mesh, flags.resolution.unwrap_or(256)),
    };
    settings.half_width = flags.half_width;
    settings.block_width =
        BlockWidth::new(flags.block_width).map_err(|error| Failure::usage(format!("--block-width: {error}")))?;
    settings.beyond = Beyond::Side;
    settings.extent = Extent::Bounded;
    let level_set = LevelSet::from_mesh(&file.mesh, &settings).map_err(|error| in_file(error.to_string()))?;
    write(&flags.output, &level_set)?;
    Ok(level_set)
}

fn to_mesh(flags: &ToMesh, session: &Session) -> Result<LevelSet, Failure> {
    let level_set = read(&flags.level_set)?;
    let extraction = match flags.method {
        Method::SurfaceNets => Extraction::SurfaceNets,
        Method::Marching => Extraction::Marching,
    };
    let surface = level_set.to_mesh(extraction);
    if surface.triangles.is_empty() {
        return Err(Failure::input(format!("{}: the level set has no surface to mesh", flags.level_set.display())));
    }
    session.note(format!("{} vertices, {} triangles", surface.positions.len(), surface.triangles.len()));
    mesh::write(&flags.output, &MeshFile::new(surface, None)).map_err(Failure::input)?;
    Ok(level_set)
}

fn combine(flags: &CsgFlags) -> Result<LevelSet, Failure> {
    if !(flags.blend.is_finite() && flags.blend >= 0.0) {
        return Err(Failure::usage("--blend takes a radius in metres, 0 for sharp edges"));
    }
    let (mut first, second) = (read(&flags.first)?, read(&flags.second)?);
    let operation = match flags.operation {
        Operation::Union => Csg::Union,
        Operation::Intersection => Csg::Intersection,
        Operation::Difference => Csg::Difference,
    };
    first.combine(&second, operation, flags.blend);
    first.reinitialize(Reinitialization::FifthOrder);
    write(&flags.output, &first)?;
    Ok(first)
}

fn smooth(flags: &Smooth) -> Result<LevelSet, Failure> {
    if !(flags.size.is_finite() && flags.size > 0.0) {
        return Err(Failure::usage("--size takes a positive number of metres"));
    }
    let mut level_set = read(&flags.level_set)?;
    level_set.smooth(0.25 * flags.size * flags.size).map_err(|error| Failure::usage(format!("--size: {error}")))?;
    write(&flags.output, &level_set)?;
    Ok(level_set)
}

fn read(path: &Path) -> Result<LevelSet, Failure> {
    level_set_file::read(path).map_err(Failure::input)
}

fn write(path: &Path, level_set: &LevelSet) -> Result<(), Failure> {
    level_set_file::write(path, level_set).map_err(Failure::input)
}

fn measure(action: &'static str, level_set: &LevelSet, seconds: f64) -> Report {
    let measures = level_set.measures();
    let bounds =
        (!measures.bounds.is_empty()).then(|| [measures.bounds.min.to_array(), measures.bounds.max.to_array()]);
    Report {
        schema: "unsnarl.levelset/1",
        action,
        spacing: level_set.frame().spacing,
        half_width: level_set.half_width(),
        block_width: level_set.grid().width().samples(),
        blocks: level_set.grid().blocks().len(),
        inside_blocks: level_set.grid().inside_blocks().len(),
        bytes: level_set.memory_bytes(),
        bounds,
        volume: measures.volume,
        area: measures.area,
        components: measures.components,
        seconds,
    }
}

fn text(report: &Report) -> String {
    let size = match report.bounds {
        Some([low, high]) => format!("{:.4} x {:.4} x {:.4} m", high[0] - low[0], high[1] - low[1], high[2] - low[2]),
        None => "empty".to_owned(),
    };
    format!(
        "{size}, {} {}, volume {:.6} m3, area {:.5} m2\nspacing {} m, {} blocks of {}^3 samples, {:.1} MB",
        report.components,
        if report.components == 1 { "component" } else { "components" },
        report.volume,
        report.area,
        report.spacing,
        report.blocks,
        report.block_width,
        report.bytes as f64 * 1e-6,
    )
}
