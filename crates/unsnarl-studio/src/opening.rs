//! Opening: from the bytes of files, or from a made sample, to the parts that a workpiece is made of.
//!
//! A garment of the folder comes with its sidecar (`NAME.garment.toml`), where there is one: rest shapes and pins.
//! Uploaded files and samples have none.

use crate::folder::{Folder, PathError};
use std::path::Path;
use thiserror::Error;
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl::fix::FoldStyle;
use unsnarl::model::{Model, RestAngles};
use unsnarl::samples::{self, Cut, Recipe};
use unsnarl::scene::garment::{Garment, GarmentDescription};
use unsnarl::scene::workpiece::{Setup, Workpiece};
use unsnarl::state::State;
use unsnarl_geometry::{DVec3, TriMesh, TriangleId};
use unsnarl_io::cache::{Cache, CacheError};
use unsnarl_io::garment_file::{self, GarmentFile};
use unsnarl_io::mesh::{self, Format, Labels, MeshFile, ReadOptions, Severity};

/// The most triangles that the studio opens, all parts together.
pub const MOST_TRIANGLES: usize = 1_000_000;

/// What a tab shows first.
#[derive(Clone, Debug)]
pub enum Opening {
    /// A choice of files and samples.
    Nothing,
    /// A mesh or cache of the folder.
    File {
        /// Path within the folder.
        path: String,
        /// A body of the folder, as an obstacle.
        body: Option<String>,
    },
    /// A mesh of the folder, as a volume to sculpt.
    Volume {
        /// Path within the folder.
        path: String,
        /// Samples across its longest side.
        resolution: Option<u32>,
    },
}

/// Why something cannot be opened: one line for a person.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The path is refused.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file is no usable mesh.
    #[error("{0}")]
    Unusable(String),
    /// There are too many triangles.
    #[error("{0}: {1} triangles; the studio opens up to {MOST_TRIANGLES}. unsnarl fix has no such limit")]
    TooLarge(String, usize),
    /// There is no such sample.
    #[error("{0}: no such sample")]
    NoSample(String),
}

/// Garments, then bodies, read and joined.
pub struct Opened {
    /// What to call it.
    pub name: String,
    /// The files, garments first.
    pub files: Vec<MeshFile>,
    /// How many of them are garments.
    pub garment_count: usize,
    /// All joined.
    pub assembly: Assembly,
    /// The cloth.
    pub model: Model,
    /// The cloth at load.
    pub state: State,
    /// What becomes of folds that bite into themselves, by vertex of cloth, as the garments are designed.
    pub styles: Vec<Option<FoldStyle>>,
    /// Where the bodies are.
    pub body_positions: Vec<DVec3>,
    /// What is odd about the files, for a person to read.
    pub remarks: Vec<String>,
}

/// What cloth is like when nothing pulls on it.
struct AtRest {
    description: GarmentDescription,
    angles: RestAngles,
    /// What is written beside the first garment; it goes before the description.
    sidecar: Option<GarmentFile>,
}

impl AtRest {
    fn as_loaded() -> Self {
        Self { description: GarmentDescription::default(), angles: RestAngles::AsLoaded, sidecar: None }
    }
}

/// A file of the folder.
pub fn from_folder(folder: &Folder, path: &str, body: Option<&str>) -> Result<Opened, OpenError> {
    let mut remarks = Vec::new();
    let mut files = vec![read(path, folder.read(path)?, &mut remarks)?];
    if let Some(body) = body {
        files.push(read(body, folder.read(body)?, &mut remarks)?);
    }
    let names = [Some(path), body].into_iter().flatten().map(str::to_owned).collect();
    join(files, names, 1, &AtRest { sidecar: sidecar(folder, path)?, ..AtRest::as_loaded() }, remarks)
}

/// The sidecar of a garment of the folder.
fn sidecar(folder: &Folder, mesh: &str) -> Result<Option<GarmentFile>, OpenError> {
    let path = garment_file::sidecar_path(Path::new(mesh)).display().to_string();
    let bytes = match folder.read(&path) {
        Ok(bytes) => bytes,
        Err(PathError::Unreadable(_, error)) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let unusable = |line: String| OpenError::Unusable(line);
    let text = String::from_utf8(bytes).map_err(|_| unusable(format!("{path}: not a text file; expected TOML")))?;
    garment_file::parse(&path, &text).map(Some).map_err(|error| unusable(error.to_string()))
}

/// An uploaded file.
pub fn from_upload(name: &str, bytes: Vec<u8>) -> Result<Opened, OpenError> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let mut remarks = Vec::new();
    let file = read(name, bytes, &mut remarks)?;
    join(vec![file], vec![name.to_owned()], 1, &AtRest::as_loaded(), remarks)
}

/// A made sample.
pub fn from_sample(name: &str, resolution: Option<usize>) -> Result<Opened, OpenError> {
    let case = samples::find(name).ok_or_else(|| OpenError::NoSample(name.chars().take(80).collect()))?;
    let resolution = resolution.unwrap_or(case.default_resolution).min(300);
    let sample = case.make(&Recipe { resolution, cut: Cut::Regular, seed: 1 });
    let groups = Labels {
        names: sample.parts.iter().map(|part| part.name.clone()).collect(),
        of_triangle: sample.part_of_triangle(),
    };
    let mut file = MeshFile::new(sample.mesh, Some(sample.uv));
    file.groups = groups;
    let flat = AtRest { description: sample.description, angles: RestAngles::Flat, sidecar: None };
    join(vec![file], vec![format!("{name}.obj")], 1, &flat, Vec::new())
}

/// The cloth of a simulation cache, at its first frame, and its rigid bodies as bodies. Obstacles are not shown.
pub fn from_cache(name: &str, cache: &Cache) -> Result<Opened, OpenError> {
    let unusable = |error: CacheError| OpenError::Unusable(error.to_string());
    let mesh = cache.mesh().map_err(unusable)?;
    let (_, positions) = cache.read_positions(cache.info.first_frame).map_err(unusable)?;
    let outside = || OpenError::Unusable(format!("{name}: cache.json names pieces that its mesh does not have"));
    let mut files = Vec::new();
    let mut names = Vec::new();
    for (piece, uv) in cache.info.pieces.iter().zip(mesh.panels) {
        let [first, count] = piece.vertices;
        let points = first.checked_add(count).and_then(|end| positions.get(first..end)).ok_or_else(outside)?;
        let [from, length] = piece.triangles;
        let triangles = from.checked_add(length).and_then(|end| mesh.triangles.get(from..end)).ok_or_else(outside)?;
        let own = |corner: u32| corner.checked_sub(first as u32).filter(|&own| (own as usize) < count);
        let mut part = TriMesh { positions: points.to_vec(), triangles: Vec::with_capacity(length) };
        for corners in triangles {
            let [Some(a), Some(b), Some(c)] = corners.map(own) else { return Err(outside()) };
            part.triangles.push([a, b, c]);
        }
        files.push(MeshFile::new(part, uv));
        names.push(piece.name.clone());
    }
    let garment_count = files.len();
    let shapes = cache.rigid_shapes().map_err(unusable)?;
    let placed = cache.rigid_placements(cache.info.first_frame).map_err(unusable)?;
    for ((group, placements), shape) in cache.info.rigid.iter().zip(placed).zip(&shapes) {
        let mut part = TriMesh::default();
        for placement in placements {
            let positions = shape.positions.iter().map(|&point| placement.to_world(point)).collect();
            part.append(&TriMesh { positions, triangles: shape.triangles.clone() });
        }
        files.push(MeshFile::new(part, None));
        names.push(group.name.clone());
    }
    let mut opened = join(files, names, garment_count, &AtRest::as_loaded(), Vec::new())?;
    opened.name = name.to_owned();
    Ok(opened)
}

fn read(name: &str, bytes: Vec<u8>, remarks: &mut Vec<String>) -> Result<MeshFile, OpenError> {
    let unusable = |line: String| OpenError::Unusable(line);
    let Some(format) = Format::from_path(Path::new(name)) else {
        let kinds = "expected .obj, .ply, .stl, .off, .gltf, .glb, .usda, .usdc or .usdz";
        return Err(unusable(format!("{name}: not a kind of mesh that is known; {kinds}")));
    };
    let file =
        mesh::read_bytes(format, name, bytes, &ReadOptions::default()).map_err(|error| unusable(error.to_string()))?;
    for finding in mesh::inspect(&file) {
        match finding.severity() {
            Severity::Note => {}
            Severity::Warning => remarks.push(finding.to_string()),
            Severity::Refusal => return Err(unusable(format!("{name}: {finding}"))),
        }
    }
    Ok(file)
}

fn join(
    files: Vec<MeshFile>,
    names: Vec<String>,
    garment_count: usize,
    at_rest: &AtRest,
    remarks: Vec<String>,
) -> Result<Opened, OpenError> {
    let name = names.join(" + ");
    let triangle_count = files.iter().map(|file| file.mesh.triangles.len()).sum();
    if triangle_count > MOST_TRIANGLES {
        return Err(OpenError::TooLarge(name, triangle_count));
    }
    let unusable = |error: &dyn std::fmt::Display| OpenError::Unusable(format!("{name}: {error}"));
    let parts = files.iter().zip(&names).enumerate().map(|(index, (file, name))| {
        let kind = if index < garment_count { PartKind::Cloth } else { PartKind::Body };
        (name.clone(), kind, file.mesh.positions.len(), file.mesh.triangles.as_slice())
    });
    let assembly = Assembly::new(parts).map_err(|error| unusable(&error))?;
    let mut garments = Vec::new();
    for (index, (file, name)) in files.iter().zip(&names).take(garment_count).enumerate() {
        garments.push(match at_rest.sidecar.as_ref().filter(|_| index == 0) {
            Some(sidecar) => {
                sidecar.build(Path::new(name), file).map_err(|error| OpenError::Unusable(error.to_string()))
            }
            None => {
                let input = garment_file::garment_input(file);
                Garment::build(&input, &at_rest.description).map_err(|error| unusable(&error))
            }
        }?);
    }
    let positions: Vec<DVec3> = files.iter().flat_map(|file| file.mesh.positions.iter().copied()).collect();
    let rest_angles = at_rest.angles.clone();
    let setup = Setup { assembly, positions: &positions, garments, rest: Vec::new(), rest_angles };
    let workpiece = Workpiece::build(setup).map_err(|error| unusable(&error))?;
    let styles = workpiece.settings().vertices.styles;
    let Workpiece { assembly, model, state, body_positions, .. } = workpiece;
    Ok(Opened { name, files, garment_count, assembly, model, state, styles, body_positions, remarks })
}

impl Opened {
    /// The name of the sheet that a triangle belongs to: the group in its file, or the file.
    pub fn sheet_name(&self, triangle: TriangleId) -> String {
        let index = self.assembly.part_of_triangle(triangle);
        let part = &self.assembly.parts()[index];
        match self.files[index].parts().name(triangle.index() - part.triangles.start) {
            "" => part.name.clone(),
            label => label.to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use unsnarl_geometry::VertexId;

    const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";

    fn opened(sidecar: &str) -> Result<Opened, OpenError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.obj"), SQUARE).unwrap();
        std::fs::write(folder.path().join("a.garment.toml"), sidecar).unwrap();
        from_folder(&Folder::open(folder.path()).unwrap(), "a.obj", None)
    }

    #[test]
    fn the_sidecar_of_a_garment_pins_its_vertices() {
        let pinned = opened("[[pin]]\nvertices = [2, 0]\n").unwrap();
        assert_eq!(pinned.model.pins, [VertexId(0), VertexId(2)]);
    }

    #[test]
    fn a_sample_brings_the_styles_of_its_design() {
        let count = |name: &str, style: FoldStyle| {
            let styles = from_sample(name, None).unwrap().styles;
            styles.iter().filter(|own| **own == Some(style)).count()
        };
        assert!(count("lapel", FoldStyle::Crease) > 0);
        assert!(count("collar", FoldStyle::FoldOut) > 0);
        assert_eq!(from_sample("closed", None).unwrap().styles.iter().flatten().count(), 0);
    }

    /// They were dropped once, and the page relaxed a lapel flat.
    #[test]
    fn the_creases_of_a_sample_keep_their_angles_at_rest() {
        let lapel = from_sample("lapel", None).unwrap();
        assert!(lapel.state.rest_angles.iter().any(|angle| *angle != 0.0));
    }

    #[test]
    fn a_wrong_sidecar_is_refused_by_name_and_line() {
        let error = opened("\n[[pin]]\nvertices = [9]\n").err().unwrap().to_string();
        assert!(error.starts_with("a.garment.toml:2: "), "{error}");
    }
}
