//! `unsnarl make`: sample garments and tangles.

mod sheet;

use crate::inputs::MeshFlags;
use crate::session::{Failure, Session};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unsnarl::analysis::{Assembly, Workspace, analyze};
use unsnarl::samples::torture::{self, TortureCase, torture};
use unsnarl::samples::{self, Case, Cut, Recipe, Sample};
use unsnarl_io::garment_file;
use unsnarl_io::mesh::{self, Labels, MeshFile, ReadOptions};

const EXAMPLES: &str = "Examples:
  unsnarl make --list --picture samples.png
  unsnarl make bli -o bli.obj --resolution 30
  unsnarl make exploded-whole -o hanky.obj --triangulation irregular --seed 7
  unsnarl make nested-tubes -o tubes/        one file per piece
  unsnarl make tortured-scrunched --garment shirt.obj -o scrunched.obj";

/// Make sample garments and tangles: the seven types, exploded handkerchiefs, folds, layers, hard cases.
///
/// Exit status: 0 made, 2 unusable input.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Flags {
    /// Which sample; `--list` names them
    #[arg(value_name = "CASE", required_unless_present = "list")]
    case: Option<String>,
    /// The mesh file to write, or a folder for one file per piece of cloth
    #[arg(short, long, value_name = "OUT", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Name the samples and what is in them
    #[arg(long, conflicts_with_all = ["case", "out"])]
    list: bool,
    /// With `--list`: draw all of them into this PNG
    #[arg(long, value_name = "PNG", requires = "list")]
    picture: Option<PathBuf>,
    /// Squares along the shorter side of a sheet [default: the sample's own]
    #[arg(long, value_name = "N")]
    resolution: Option<usize>,
    /// How sheets are cut into triangles
    #[arg(long, value_enum, default_value_t = TriangulationFlag::Regular)]
    triangulation: TriangulationFlag,
    /// Determines everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The garment that a `tortured-` sample is made from
    #[arg(long, value_name = "MESH")]
    garment: Option<PathBuf>,
    #[command(flatten)]
    mesh: MeshFlags,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum TriangulationFlag {
    Regular,
    Alternating,
    Irregular,
}

impl TriangulationFlag {
    fn cut(self) -> Cut {
        match self {
            Self::Regular => Cut::Regular,
            Self::Alternating => Cut::Alternating,
            Self::Irregular => Cut::Irregular,
        }
    }
}

#[derive(Serialize)]
struct MakeReport {
    schema: &'static str,
    case: String,
    resolution: Option<usize>,
    triangulation: TriangulationFlag,
    seed: u64,
    vertices: usize,
    triangles: usize,
    promises: std::collections::BTreeMap<&'static str, usize>,
    files: Vec<String>,
}

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let (Some(name), Some(out)) = (&flags.case, &flags.out) else {
        session.say(list().trim_end());
        if let Some(path) = &flags.picture {
            unsnarl_io::write_atomically(path, &sheet::picture_of_all().encode_png()).map_err(Failure::input)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let report = match torture::CASES.iter().find(|case| case.name == name) {
        Some(case) => make_tortured(case, out, flags)?,
        None => make_case(named_case(name)?, out, flags)?,
    };
    for file in &report.files {
        session.say(format!("wrote {file}"));
    }
    session.say(format!("{} vertices, {} triangles", report.vertices, report.triangles));
    session.report(&report)?;
    Ok(ExitCode::SUCCESS)
}

fn named_case(name: &str) -> Result<&'static Case, Failure> {
    samples::find(name)
        .ok_or_else(|| Failure::usage(format!("there is no sample `{name}`; `unsnarl make --list` names them")))
}

fn make_case(case: &Case, out: &Path, flags: &Flags) -> Result<MakeReport, Failure> {
    if flags.garment.is_some() {
        return Err(Failure::usage(format!(
            "--garment: `{}` is made from nothing, only `tortured-` samples take one",
            case.name
        )));
    }
    let resolution = flags.resolution.unwrap_or(case.default_resolution);
    let allowed = case.smallest_resolution..=samples::LARGEST_RESOLUTION;
    if !allowed.contains(&resolution) {
        return Err(Failure::usage(format!(
            "--resolution {resolution}: `{}` takes {} to {}",
            case.name,
            allowed.start(),
            allowed.end()
        )));
    }
    let sample = case.make(&Recipe { resolution, cut: flags.triangulation.cut(), seed: flags.seed });
    let files = if is_folder(out) { write_pieces(&sample, out)? } else { write_sample(&sample, out)? };
    Ok(MakeReport {
        schema: "unsnarl.make/1",
        case: case.name.to_owned(),
        resolution: Some(resolution),
        triangulation: flags.triangulation,
        seed: flags.seed,
        vertices: sample.mesh.positions.len(),
        triangles: sample.mesh.triangles.len(),
        promises: case.promises.iter().map(|&(kind, count)| (kind.name(), count)).collect(),
        files,
    })
}

fn make_tortured(case: &TortureCase, out: &Path, flags: &Flags) -> Result<MakeReport, Failure> {
    let name = case.name;
    let Some(garment) = &flags.garment else {
        return Err(Failure::usage(format!("`{name}` needs a garment: add --garment MESH")));
    };
    if flags.resolution.is_some() {
        return Err(Failure::usage(format!("--resolution: `{name}` has the resolution of its garment")));
    }
    let about_garment = |what: String| Failure::input(format!("{}: {what}", garment.display()));
    let options = ReadOptions { units: flags.mesh.units, up_axis: flags.mesh.up, ..ReadOptions::default() };
    let file = mesh::read(garment, &options).map_err(Failure::input)?;
    let positions = torture(&file.mesh, case.kind, flags.seed).map_err(|error| about_garment(error.to_string()))?;
    let assembly = Assembly::of_cloth(name, &file.mesh).map_err(|error| about_garment(error.to_string()))?;
    if analyze(&assembly, &positions, &mut Workspace::default()).count(case.promise) == 0 {
        let kind = case.promise.name();
        return Err(about_garment(format!("`{name}` leaves no {kind} in it; try another --seed or another garment")));
    }
    let tortured = file.with_positions(positions);
    mesh::write(out, &tortured).map_err(Failure::input)?;
    Ok(MakeReport {
        schema: "unsnarl.make/1",
        case: name.to_owned(),
        resolution: None,
        triangulation: flags.triangulation,
        seed: flags.seed,
        vertices: file.mesh.positions.len(),
        triangles: file.mesh.triangles.len(),
        promises: [(case.promise.name(), 1)].into(),
        files: vec![out.display().to_string()],
    })
}

/// A path that is a folder or is written like one: with a slash at its end or without an extension.
fn is_folder(out: &Path) -> bool {
    let written_so = out.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]);
    out.is_dir() || written_so || out.extension().is_none()
}

fn write_pieces(sample: &Sample, folder: &Path) -> Result<Vec<String>, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::input(format!("{}: cannot make the folder: {error}", folder.display())))?;
    let mut files = Vec::new();
    for piece in sample.pieces() {
        files.extend(write_sample(&piece, &folder.join(format!("{}.obj", piece.parts[0].name)))?);
    }
    Ok(files)
}

/// Writes the mesh, and beside it what the design says: rest shapes, labels, creases, the layer.
fn write_sample(sample: &Sample, path: &Path) -> Result<Vec<String>, Failure> {
    let mut file = MeshFile::new(sample.mesh.clone(), Some(sample.uv.clone()));
    file.groups = Labels {
        names: sample.parts.iter().map(|part| part.name.clone()).collect(),
        of_triangle: sample.part_of_triangle(),
    };
    mesh::write(path, &file).map_err(Failure::input)?;
    let sidecar = garment_file::sidecar_path(path);
    let text = garment_file::encode(&sample.description);
    unsnarl_io::write_atomically(&sidecar, text.as_bytes()).map_err(Failure::input)?;
    Ok([path, &sidecar].map(|path| path.display().to_string()).to_vec())
}

/// The samples, family by family.
fn list() -> String {
    let mut out = String::new();
    let mut family = None;
    for case in samples::cases() {
        if family != Some(case.family) {
            family = Some(case.family);
            let _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, case.family.heading());
        }
        let _ = writeln!(out, "  {:<22} {}", case.name, case.about);
    }
    let _ = writeln!(out, "\ntortured garments (with --garment MESH)");
    for case in torture::CASES {
        let _ = writeln!(out, "  {:<22} {}", case.name, case.about);
    }
    out
}
