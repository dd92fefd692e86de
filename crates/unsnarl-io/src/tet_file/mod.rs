//! Tetrahedral mesh files: Gmsh `.msh`, legacy `.vtk`, TetGen `.node`/`.ele`/`.face`, Medit `.mesh`.
//!
//! [`read`] chooses by the extension and, within a format, by what the file says of itself: versions, text or binary,
//! numbering. [`write`] writes text. Every written file has the nodes in their order, the boundary triangles (outward,
//! tag [`BOUNDARY_TAG`]) and the tetrahedra (tag [`VOLUME_TAG`]) with their aspect and level where the format has room.
//!
//! Guarantees: positions read back bit for bit; tetrahedra are read and written in the order and orientation of the
//! mesh, positive being `(b-a) x (c-a) . (d-a) > 0` in all four formats; a bad file is one line, never a panic; no
//! header makes a reader allocate what the file cannot hold; every file is written beside its target and renamed.
//! Does not: keep elements other than tetrahedra (counted in [`TetFile::left_out`]), or curved edges: of ten-node
//! tetrahedra the corners are read.

mod medit;
mod msh;
mod node_ele;
mod scan;
mod vtk;

use scan::{Flaw, Place};
use std::path::{Path, PathBuf};
use thiserror::Error;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::is_finite;
use unsnarl_volume::tet_mesh::{TetMesh, measure};

/// The tag (physical group, region, marker, reference) of boundary triangles.
pub const BOUNDARY_TAG: u32 = 1;
/// The tag of tetrahedra.
pub const VOLUME_TAG: u32 = 2;
/// Coordinates beyond this are refused: products of them leave the range in which geometry is exact.
const LARGEST_COORDINATE: f64 = crate::mesh::LARGEST_COORDINATE;

/// The kinds of tetrahedral files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TetFormat {
    /// Gmsh, version 2.2 or 4.1.
    Msh,
    /// Legacy VTK, unstructured grid.
    Vtk,
    /// TetGen: `NAME.node` with `NAME.ele` and, when written, `NAME.face`.
    NodeEle,
    /// Medit text.
    Medit,
}

impl TetFormat {
    /// By the extension of a path, in either case.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "msh" => Some(Self::Msh),
            "vtk" => Some(Self::Vtk),
            "node" | "ele" => Some(Self::NodeEle),
            "mesh" => Some(Self::Medit),
            _ => None,
        }
    }
}

/// Which version of `.msh` to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MshVersion {
    /// 2.2, which most solvers read.
    #[default]
    V2,
    /// 4.1, what Gmsh writes today.
    V4,
}

/// A mesh from a file, and what was passed over.
#[derive(Clone, Debug, PartialEq)]
pub struct TetFile {
    /// The mesh; its levels are empty unless the file has them (`.ele` and `.vtk` written here do).
    pub mesh: TetMesh,
    /// Elements of the file that are neither tetrahedra nor triangles, nor lines nor points.
    pub left_out: usize,
    /// In words: the format, its version and encoding.
    pub kind: String,
}

/// Why a file cannot be read or written.
#[derive(Debug, Error)]
#[error("{path}{place}: {what}")]
pub struct TetFileError {
    path: String,
    place: Place,
    what: String,
}

fn in_file(path: &Path) -> impl Fn(Flaw) -> TetFileError {
    let path = path.display().to_string();
    move |Flaw { place, what }| TetFileError { path: path.clone(), place, what }
}

/// Reads a file; of `.node` and `.ele` either name will do.
pub fn read(path: &Path) -> Result<TetFile, TetFileError> {
    let format = format_of(path)?;
    if format == TetFormat::NodeEle {
        let (nodes, elements) = (path.with_extension("node"), path.with_extension("ele"));
        let [node_bytes, element_bytes] = [load(&nodes)?, load(&elements)?];
        let (positions, numbering) = node_ele::read_nodes(&node_bytes).map_err(in_file(&nodes))?;
        return node_ele::read_elements(&element_bytes, positions, numbering).map_err(in_file(&elements));
    }
    read_bytes(format, &load(path)?, path)
}

/// Reads a mesh from the bytes of a file; the path is for messages. Of [`TetFormat::NodeEle`] these are the nodes, a
/// line `%`, and the elements.
pub fn read_bytes(format: TetFormat, bytes: &[u8], path: &Path) -> Result<TetFile, TetFileError> {
    let outcome = match format {
        TetFormat::Msh => msh::read(bytes),
        TetFormat::Vtk => vtk::read(bytes),
        TetFormat::Medit => medit::read(bytes),
        TetFormat::NodeEle => {
            let split = bytes.windows(3).position(|window| window == b"\n%\n").unwrap_or(bytes.len());
            let elements = bytes.get(split + 3..).unwrap_or_default();
            node_ele::read_nodes(&bytes[..split])
                .and_then(|(positions, numbering)| node_ele::read_elements(elements, positions, numbering))
        }
    };
    outcome.map_err(in_file(path))
}

fn load(path: &Path) -> Result<Vec<u8>, TetFileError> {
    std::fs::read(path).map_err(|error| in_file(path)(Flaw::whole(format!("cannot read: {error}; check the path"))))
}

fn format_of(path: &Path) -> Result<TetFormat, TetFileError> {
    TetFormat::from_path(path).ok_or_else(|| {
        let what = "the name does not say a kind of tetrahedral file; expected .msh, .vtk, .node, .ele or .mesh";
        in_file(path)(Flaw::whole(what))
    })
}

/// Writes a mesh as the extension says: `.msh` (version 2.2), `.vtk`, `.node` with `.ele` and `.face`, or `.mesh`.
pub fn write(path: &Path, mesh: &TetMesh) -> Result<(), TetFileError> {
    write_as(path, mesh, MshVersion::default())
}

/// As [`write`], with a choice of the version of `.msh`.
pub fn write_as(path: &Path, mesh: &TetMesh, version: MshVersion) -> Result<(), TetFileError> {
    for (path, bytes) in encode(path, mesh, version)? {
        crate::write_atomically(&path, &bytes).map_err(|error| {
            let text = error.to_string();
            let what = text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&text).to_owned();
            in_file(&path)(Flaw::whole(what))
        })?;
    }
    Ok(())
}

/// The files that [`write_as`] makes: names and bytes.
pub fn encode(path: &Path, mesh: &TetMesh, version: MshVersion) -> Result<Vec<(PathBuf, Vec<u8>)>, TetFileError> {
    let format = format_of(path)?;
    let cells = Cells { mesh, boundary: mesh.boundary(), aspects: measure::aspects(mesh) };
    Ok(match format {
        TetFormat::Msh => vec![(path.to_path_buf(), msh::encode(&cells, version))],
        TetFormat::Vtk => vec![(path.to_path_buf(), vtk::encode(&cells))],
        TetFormat::Medit => vec![(path.to_path_buf(), medit::encode(&cells))],
        TetFormat::NodeEle => node_ele::encode(&cells)
            .into_iter()
            .map(|(extension, bytes)| (path.with_extension(extension), bytes))
            .collect(),
    })
}

/// What a writer writes.
struct Cells<'a> {
    mesh: &'a TetMesh,
    boundary: Vec<[u32; 3]>,
    aspects: Vec<f64>,
}

impl Cells<'_> {
    /// The level of every tetrahedron, if known.
    fn levels(&self) -> Option<&[u8]> {
        (self.mesh.levels.len() == self.mesh.tets.len() && !self.mesh.levels.is_empty()).then_some(&self.mesh.levels)
    }

    /// The aspect of a tetrahedron as text files keep it: finite.
    fn aspect(&self, tet: usize) -> f64 {
        self.aspects[tet].min(1e30)
    }
}

/// Nodes with the numbers that a file gives them.
struct Nodes {
    positions: Vec<DVec3>,
    tags: Vec<u64>,
}

impl Nodes {
    fn with_capacity(count: usize) -> Self {
        Self { positions: Vec::with_capacity(count), tags: Vec::with_capacity(count) }
    }

    fn push(&mut self, tag: u64, position: DVec3, place: Place) -> Result<(), Flaw> {
        self.positions.push(checked(position, self.positions.len(), place)?);
        self.tags.push(tag);
        Ok(())
    }

    /// A way from the file's numbers to places in the list.
    fn numbering(&self) -> Result<TagMap, Flaw> {
        let Some(&first) = self.tags.first() else { return Ok(TagMap::Run { first: 1, count: 0 }) };
        let count = self.tags.len() as u64;
        if self.tags.iter().enumerate().all(|(at, &tag)| tag.checked_sub(at as u64) == Some(first)) {
            return Ok(TagMap::Run { first, count });
        }
        let mut sorted: Vec<(u64, u32)> = self.tags.iter().zip(0..).map(|(&tag, at)| (tag, at)).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Flaw::whole(format!("node number {} appears twice; expected it once", pair[0].0))),
            None => Ok(TagMap::Sorted(sorted)),
        }
    }
}

/// From numbers of nodes in a file to their places.
enum TagMap {
    /// One number after the other.
    Run { first: u64, count: u64 },
    /// Any numbers, sorted.
    Sorted(Vec<(u64, u32)>),
}

impl TagMap {
    fn find(&self, tag: u64, place: Place) -> Result<u32, Flaw> {
        let found = match self {
            Self::Run { first, count } => {
                tag.checked_sub(*first).filter(|at| at < count).and_then(|at| u32::try_from(at).ok())
            }
            Self::Sorted(sorted) => sorted.binary_search_by_key(&tag, |pair| pair.0).ok().map(|at| sorted[at].1),
        };
        found.ok_or_else(|| {
            Flaw::new(place, format!("an element names node {tag}, which the file does not have: it was cut or edited"))
        })
    }
}

fn checked(position: DVec3, node: usize, place: Place) -> Result<DVec3, Flaw> {
    if is_finite(position) && position.abs().max_element() <= LARGEST_COORDINATE {
        return Ok(position);
    }
    let what = format!("node {node} (counted from 0) has a coordinate that is no number below 1e30; export it again");
    Err(Flaw::new(place, what))
}

/// Hands out a mesh, unless it has no tetrahedron.
fn finished(mesh: TetMesh, left_out: usize, kind: String) -> Result<TetFile, Flaw> {
    if mesh.tets.is_empty() {
        let what = format!(
            "no tetrahedron ({} nodes, {left_out} elements of other kinds); expected a tetrahedral mesh",
            mesh.positions.len()
        );
        return Err(Flaw::whole(what));
    }
    Ok(TetFile { mesh, left_out, kind })
}
