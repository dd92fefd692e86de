//! Mesh files of a command, read, looked over and joined into one assembly.

use crate::session::{Failure, Session};
use clap::Args;
use std::path::{Path, PathBuf};
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::scene::garment::Garment;
use unsnarl_geometry::{DVec3, TriangleId};
use unsnarl_io::garment_file;
use unsnarl_io::mesh::{self, KeepSource, LengthUnit, MeshFile, ReadOptions, Severity, UpAxis};

/// How to understand mesh files.
#[derive(Args, Clone)]
pub struct MeshFlags {
    /// Length unit of the files: mm, cm, dm or m [default: what the file says, or m]
    #[arg(long, value_parser = parse_units)]
    pub units: Option<LengthUnit>,
    /// Up axis of the files: y or z [default: what the file says, or y]
    #[arg(long, value_parser = parse_up_axis)]
    pub up: Option<UpAxis>,
}

fn parse_units(name: &str) -> Result<LengthUnit, String> {
    LengthUnit::from_name(name).ok_or_else(|| "expected mm, cm, dm or m".to_owned())
}

fn parse_up_axis(name: &str) -> Result<UpAxis, String> {
    UpAxis::from_name(name).ok_or_else(|| "expected y or z".to_owned())
}

/// Garments and bodies, in the order in which they were given.
pub struct Inputs {
    /// The files, garments first.
    pub files: Vec<MeshFile>,
    /// Where they came from.
    paths: Vec<PathBuf>,
    /// How many of them are garments.
    pub garment_count: usize,
    /// All joined.
    pub assembly: Assembly,
    /// Where everything is.
    pub positions: Vec<DVec3>,
}

impl Inputs {
    /// Reads garments and bodies; says what is odd about them.
    pub fn read(
        garments: &[PathBuf],
        bodies: &[PathBuf],
        flags: &MeshFlags,
        keep_source: KeepSource,
        session: &Session,
    ) -> Result<Self, Failure> {
        let options = ReadOptions { units: flags.units, up_axis: flags.up, keep_source, ..ReadOptions::default() };
        let mut files = Vec::new();
        let mut names = Vec::new();
        for path in garments.iter().chain(bodies) {
            let file = mesh::read(path, &options).map_err(Failure::input)?;
            for finding in mesh::inspect(&file) {
                let line = format!("{}: {finding}", path.display());
                match finding.severity() {
                    Severity::Note => session.note(line),
                    Severity::Warning => session.warn(line),
                    Severity::Refusal => return Err(Failure::input(line)),
                }
            }
            names.push(part_name(path));
            files.push(file);
        }
        let paths = garments.iter().chain(bodies).cloned().collect();
        Self::join(files, paths, names, garments.len())
    }

    /// Joins files that were read: garments first, with the paths beside which their sidecars lie, and names.
    pub fn join(
        files: Vec<MeshFile>,
        paths: Vec<PathBuf>,
        names: Vec<String>,
        garment_count: usize,
    ) -> Result<Self, Failure> {
        let parts = files.iter().zip(&names).enumerate().map(|(index, (file, name))| {
            let kind = if index < garment_count { PartKind::Cloth } else { PartKind::Body };
            (name.clone(), kind, file.mesh.positions.len(), file.mesh.triangles.as_slice())
        });
        let assembly =
            Assembly::new(parts).map_err(|error| Failure::input(format!("{}: {error}", names.join(", "))))?;
        let positions = files.iter().flat_map(|file| file.mesh.positions.iter().copied()).collect();
        Ok(Self { files, paths, garment_count, assembly, positions })
    }

    /// The rest shapes and pins of every garment, from its sidecar where there is one, else by the rule of its uv coordinates:
    /// panels in true size, or its shape at load.
    pub fn garments(&self) -> Result<Vec<Garment>, Failure> {
        let files = self.paths.iter().zip(&self.files).take(self.garment_count);
        files.map(|(path, file)| garment_file::build_garment(path, file).map_err(Failure::input)).collect()
    }

    /// The name of the sheet that a triangle belongs to: the group in its file, or the file.
    pub fn sheet_name(&self, triangle: TriangleId) -> String {
        let index = self.assembly.part_of_triangle(triangle);
        let part = &self.assembly.parts()[index];
        let label = self.files[index].parts().name(triangle.index() - part.triangles.start);
        match (label, self.files.len()) {
            ("", _) => part.name.clone(),
            (label, 1) => label.to_owned(),
            (label, _) => format!("{}:{label}", part.name),
        }
    }
}

fn part_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
