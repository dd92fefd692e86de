//! Mesh files: OBJ, PLY, STL, OFF, glTF, USD.
//!
//! [`read`] chooses the reader by the file's extension, [`write`] the writer. A [`MeshFile`] is the mesh (metres, Y up)
//! with everything else that its file carries; written to the same kind of file, only the positions that changed differ.
//!
//! Guarantees: vertex order and face order are the file's (STL and glTF repeat vertices and are welded); numbers are
//! written so that they read back the same; nothing is half-written; a bad file is a [`MeshFileError`] of one line,
//! never a panic, and memory stays within a small multiple of the file's size.
//! Does not: read textures; animation and skins of bodies are read by [`read_character`].

mod draft;
mod error;
mod faces;
mod findings;
mod gltf;
mod labels;
mod obj;
mod off;
mod ply;
mod refined;
mod source;
mod stl;
mod text;
mod units;
mod usda;

pub use error::{MeshFileError, Place};
pub use faces::Faces;
pub use findings::{
    Finding, FindingKind, LARGEST_COORDINATE, LARGEST_USUAL_EXTENT, SMALLEST_USUAL_EXTENT, Severity, VertexCount,
    inspect,
};
pub use gltf::character::{Character, Clip};
pub use labels::Labels;
pub use units::{Conversion, LengthUnit, UpAxis};

use error::Flaw;
use source::{Source, settle, triangle_fingerprint};
use std::path::Path;
use std::sync::Arc;
use text::Precision;
use unsnarl_geometry::{DVec3, TriMesh, UvMap};

/// The kinds of mesh files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Wavefront text.
    Obj,
    /// Stanford polygons, text or binary.
    Ply,
    /// Stereolithography facets.
    Stl(StlEncoding),
    /// Object file format, text.
    Off,
    /// glTF 2.0 as JSON text.
    Gltf,
    /// glTF 2.0 as one binary file.
    Glb,
    /// Universal scene description; binary files are read too.
    Usda,
}

/// The two kinds of STL files; one extension serves both, and a reader finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StlEncoding {
    /// Words and numbers.
    Text,
    /// 32-bit numbers.
    Binary,
}

impl Format {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Obj,
        Self::Ply,
        Self::Stl(StlEncoding::Binary),
        Self::Stl(StlEncoding::Text),
        Self::Off,
        Self::Gltf,
        Self::Glb,
        Self::Usda,
    ];

    /// The kind of a file to write at a path; binary USD is read only.
    pub fn for_output(path: &Path) -> Option<Self> {
        let is_binary =
            path.extension().is_some_and(|own| ["usdc", "usdz"].iter().any(|kind| own.eq_ignore_ascii_case(kind)));
        Self::from_path(path).filter(|_| !is_binary)
    }

    /// The kind of a file to read, by the extension of its path, in either case.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if matches!(extension.as_str(), "usd" | "usdc" | "usdz") {
            return Some(Self::Usda);
        }
        Self::ALL.iter().copied().find(|format| format.extension() == extension)
    }

    /// The extension, in lower case, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Obj => "obj",
            Self::Ply => "ply",
            Self::Stl(_) => "stl",
            Self::Off => "off",
            Self::Gltf => "gltf",
            Self::Glb => "glb",
            Self::Usda => "usda",
        }
    }

    /// How many digits of a position a file of this kind keeps.
    fn precision(self) -> Precision {
        match self {
            Self::Obj | Self::Ply | Self::Off | Self::Stl(StlEncoding::Text) => Precision::Double,
            Self::Stl(StlEncoding::Binary) | Self::Gltf | Self::Glb | Self::Usda => Precision::Single,
        }
    }
}

/// Whether a mesh remembers the bytes of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepSource {
    /// Remember them, so that [`write`] gives everything back.
    #[default]
    ForWriting,
    /// Forget them: less memory, for a mesh that is only looked at.
    Forget,
}

/// Whether vertices at the very same position become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weld {
    /// Where the format cannot share vertices between faces (STL) or across seams (glTF).
    #[default]
    WhereTheFormatRepeats,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How to understand a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The file's length unit; unless given, what the file says, or metres.
    pub units: Option<LengthUnit>,
    /// The file's up axis; unless given, what the file says, or Y.
    pub up_axis: Option<UpAxis>,
    /// Which vertices to join.
    pub weld: Weld,
    /// Whether the mesh will be written again.
    pub keep_source: KeepSource,
}

impl ReadOptions {
    /// The conversion for a file that says `unit` and `up_axis` of itself.
    fn conversion(&self, unit: LengthUnit, up_axis: UpAxis) -> Conversion {
        Conversion { unit: self.units.unwrap_or(unit), up_axis: self.up_axis.unwrap_or(up_axis) }
    }
}

/// A vertex sewn to a point of an edge: the OBJ line `stitch vertex edge edge weight`, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stitch {
    /// The vertex.
    pub vertex: u32,
    /// The edge.
    pub edge: [u32; 2],
    /// 0 at the first vertex of the edge, 1 at the second.
    pub weight: f64,
}

/// How triangles are at rest, where a file says so (USD). One entry per triangle but for `bends`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestFields {
    /// The corners of the triangle at rest, metres; `None` where the file does not say.
    pub corners: Vec<Option<[DVec3; 3]>>,
    /// Two triangles and the angle between them at rest, radians; positive for a ridge seen from the front.
    pub bends: Vec<([u32; 2], f64)>,
    /// Whether the triangle is bent against its neighbours as its corners at rest say; flat else.
    pub bent_as_shape: Vec<bool>,
}

/// A mesh and where its vertices are at some times.
#[derive(Clone, Debug)]
pub struct MeshMotion {
    /// The mesh as it is at the first sample.
    pub file: MeshFile,
    /// Seconds, and one position per vertex; empty where nothing moves.
    pub frames: Vec<(f64, Vec<DVec3>)>,
    /// Time codes in a second.
    pub rate: f64,
}

/// A mesh and everything else that its file carries.
#[derive(Clone, Debug)]
pub struct MeshFile {
    /// Positions in metres with Y up, and triangles; faces that repeat a vertex are not among them.
    pub mesh: TriMesh,
    /// Panel coordinates, in the file's own numbers; `None` unless every face has them.
    pub uv: Option<UvMap>,
    /// The faces as the file has them; `None` when they are the triangles. Clear it when the triangles change.
    pub faces: Option<Faces>,
    /// Names of objects (OBJ `o`, glTF nodes, USD prims).
    pub objects: Labels,
    /// Names of groups (OBJ `g`).
    pub groups: Labels,
    /// Names of materials.
    pub materials: Labels,
    /// Smoothing groups (OBJ `s`).
    pub smoothing: Labels,
    /// Files that describe the materials (OBJ `mtllib`).
    pub material_libraries: Vec<String>,
    /// Sewn vertices (OBJ `stitch`).
    pub stitches: Vec<Stitch>,
    /// Line segments (OBJ `l`), which some programs use for sewing edges.
    pub lines: Vec<[u32; 2]>,
    /// How triangles are at rest (USD).
    pub rest: Option<RestFields>,
    /// A colour for every vertex, red, green and blue from 0 to 1 (OBJ, PLY, glTF, USD); `None` unless every vertex has one.
    pub colours: Option<Vec<DVec3>>,
    /// A normal for every vertex, Y up, to be written to OBJ, glTF and USD; those of a file that is read are not kept.
    pub normals: Option<Vec<DVec3>>,
    /// The kind of file that this came from.
    pub format: Format,
    /// From the file's unit and up axis to ours.
    pub conversion: Conversion,
    reader_findings: Vec<Finding>,
    source: Option<Arc<Source>>,
}

impl MeshFile {
    /// A mesh that comes from no file.
    pub fn new(mesh: TriMesh, uv: Option<UvMap>) -> Self {
        Self {
            mesh,
            uv,
            faces: None,
            objects: Labels::default(),
            groups: Labels::default(),
            materials: Labels::default(),
            smoothing: Labels::default(),
            material_libraries: Vec::new(),
            stitches: Vec::new(),
            lines: Vec::new(),
            rest: None,
            colours: None,
            normals: None,
            format: Format::Obj,
            conversion: Conversion::IDENTITY,
            reader_findings: Vec::new(),
            source: None,
        }
    }

    /// The same file with other positions, in metres with Y up, one for each vertex.
    ///
    /// # Panics
    /// When the number of positions is another.
    pub fn with_positions(&self, positions: Vec<DVec3>) -> Self {
        assert_eq!(positions.len(), self.mesh.positions.len(), "one position for each vertex");
        let mut file = self.clone();
        file.mesh.positions = positions;
        file
    }

    /// The names to use for parts in a report: groups, or else objects, or else materials.
    pub fn parts(&self) -> &Labels {
        [&self.groups, &self.objects].into_iter().find(|labels| !labels.is_empty()).unwrap_or(&self.materials)
    }

    /// Every face, in the order of the file.
    fn for_each_face<'a>(&'a self, mut visit: impl FnMut(FaceView<'a>)) {
        let fits = |faces: &&Faces| faces.triangle_face.len() == self.mesh.triangles.len();
        let Some(faces) = self.faces.as_ref().filter(fits) else {
            for (triangle, corners) in self.mesh.triangles.iter().enumerate() {
                let uv_corners: &[u32] =
                    self.uv.as_ref().and_then(|uv| uv.triangles.get(triangle)).map_or(&[], |uv| uv);
                visit(FaceView { corners, uv_corners, triangle: Some(triangle) });
            }
            return;
        };
        let mut triangle = 0;
        for face in 0..faces.len() {
            let own = (faces.triangle_face.get(triangle) == Some(&(face as u32))).then_some(triangle);
            visit(FaceView { corners: faces.corners(face), uv_corners: faces.uv_corners(face), triangle: own });
            while faces.triangle_face.get(triangle) == Some(&(face as u32)) {
                triangle += 1;
            }
        }
    }

    /// The positions that a file of the given kind would hold, read back: rounded to 32 bits where the format is.
    ///
    /// Certify these, not the positions before writing.
    pub fn stored_positions(&self, format: Format) -> Vec<DVec3> {
        let source = self.source_for(format);
        let stored = source.and_then(|source| source.stored(&self.mesh.positions, &self.conversion_in(format)));
        if let Some(stored) = stored {
            return stored;
        }
        self.rounded_positions(&self.mesh.positions, format)
    }

    /// Other positions, as a new file of the given kind with the unit and up axis of this one would hold them.
    pub fn rounded_positions(&self, positions: &[DVec3], format: Format) -> Vec<DVec3> {
        let conversion = self.conversion_in(format);
        let stored = |position: &DVec3| {
            settle(*position, |position| {
                conversion.from_file(format.precision().round_point(conversion.to_file(position)))
            })
        };
        positions.iter().map(stored).collect()
    }

    /// The colours as 32 bits hold them, if there is one for every vertex.
    fn single_colours(&self) -> Option<Vec<DVec3>> {
        let largest = DVec3::splat(f64::from(f32::MAX));
        Some(self.whole_colours()?.iter().map(|colour| colour.clamp(-largest, largest)).collect())
    }

    /// The colours, if there is one for every vertex.
    fn whole_colours(&self) -> Option<&[DVec3]> {
        self.colours.as_deref().filter(|colours| colours.len() == self.mesh.positions.len())
    }

    /// The kind of file that [`write`] makes at a path: by its extension, and an STL file in the encoding of the input.
    pub fn format_for(&self, path: &Path) -> Option<Format> {
        match (Format::for_output(path)?, self.format) {
            (Format::Stl(_), Format::Stl(encoding)) => Some(Format::Stl(encoding)),
            (format, _) => Some(format),
        }
    }

    /// The unit and up axis of a file of the given kind made from this mesh: the input's own, unless the format fixes them.
    fn conversion_in(&self, format: Format) -> Conversion {
        match format {
            Format::Gltf | Format::Glb if !matches!(self.format, Format::Gltf | Format::Glb) => Conversion::IDENTITY,
            _ => self.conversion,
        }
    }

    /// The normal of a vertex as a file with this conversion holds it, if there are normals.
    fn normal_in(&self, conversion: &Conversion, vertex: u32) -> Option<DVec3> {
        let normal = self.normals.as_ref()?.get(vertex as usize)?;
        Some(conversion.to_file(*normal).normalize_or(DVec3::Y))
    }

    /// The bytes to patch when writing a file of the given kind, if they still fit the mesh.
    fn source_for(&self, format: Format) -> Option<&Source> {
        self.source.as_deref().filter(|source| {
            format == self.format
                && source.vertex_count == self.mesh.positions.len()
                && source.triangles_at_load == triangle_fingerprint(&self.mesh.triangles)
        })
    }
}

/// A face of a file, with the first of its triangles, if it has any.
struct FaceView<'a> {
    corners: &'a [u32],
    uv_corners: &'a [u32],
    triangle: Option<usize>,
}

/// Reads a mesh file; the extension says its kind.
pub fn read(path: &Path, options: &ReadOptions) -> Result<MeshFile, MeshFileError> {
    let name = path.display().to_string();
    let Some(format) = Format::from_path(path) else { return Err(unknown_kind(path).in_file(name)) };
    let bytes = std::fs::read(path).map_err(|error| {
        Flaw::new(Place::Whole, FindingKind::Unreadable, format!("cannot read: {error}")).in_file(name.clone())
    })?;
    decode(format, bytes, options, Some(path.parent().unwrap_or(Path::new("")))).map_err(|flaw| flaw.in_file(name))
}

/// Reads a mesh from the bytes of a file; `name` is for messages. Nothing beside the bytes is read.
pub fn read_bytes(
    format: Format,
    name: &str,
    bytes: Vec<u8>,
    options: &ReadOptions,
) -> Result<MeshFile, MeshFileError> {
    decode(format, bytes, options, None).map_err(|flaw| flaw.in_file(name))
}

fn decode(format: Format, bytes: Vec<u8>, options: &ReadOptions, folder: Option<&Path>) -> Result<MeshFile, Flaw> {
    match format {
        Format::Obj => obj::read(bytes, options),
        Format::Ply => ply::read(bytes, options),
        Format::Stl(_) => stl::read(bytes, options),
        Format::Off => off::read(bytes, options),
        Format::Gltf | Format::Glb => gltf::read(bytes, format, options, folder),
        Format::Usda => usda::read(bytes, options),
    }
}

/// Reads a character: a glTF file whose mesh follows joints through clips of animation.
///
/// The mesh of a file without skins stands still, or moves with its nodes.
pub fn read_character(path: &Path, options: &ReadOptions) -> Result<Character, MeshFileError> {
    let name = path.display().to_string();
    let format = Format::from_path(path).filter(|format| matches!(format, Format::Gltf | Format::Glb));
    let Some(format) = format else {
        let detail = "a character needs joints and clips; expected a .gltf or .glb file";
        return Err(Flaw::new(Place::Whole, FindingKind::UnknownKind, detail).in_file(name));
    };
    let bytes = std::fs::read(path).map_err(|error| {
        Flaw::new(Place::Whole, FindingKind::Unreadable, format!("cannot read: {error}")).in_file(name.clone())
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    gltf::character::read(&bytes, format, options, Some(folder)).map_err(|flaw| flaw.in_file(name))
}

/// Reads a USD file with all time samples of its points and transforms.
pub fn read_motion(path: &Path, options: &ReadOptions) -> Result<MeshMotion, MeshFileError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        Flaw::new(Place::Whole, FindingKind::Unreadable, format!("cannot read: {error}")).in_file(name.clone())
    })?;
    usda::read_motion(bytes, options).map_err(|flaw| flaw.in_file(name))
}

/// The bytes of a USD file whose mesh moves: seconds and positions of every sample, and time codes in a second.
pub fn encode_motion(file: &MeshFile, samples: &[(f64, Vec<DVec3>)], rate: f64) -> Vec<u8> {
    usda::encode_motion(file, &file.conversion_in(Format::Usda), samples, rate)
}

/// Writes a mesh file beside its target and renames it; the extension says its kind.
///
/// Numbers are in the unit and up axis of the file that the mesh came from.
pub fn write(path: &Path, file: &MeshFile) -> Result<(), MeshFileError> {
    let name = path.display().to_string();
    let Some(format) = file.format_for(path) else { return Err(unknown_kind(path).in_file(name)) };
    let bytes = encode(format, file);
    crate::write_atomically(path, &bytes).map_err(|error| {
        let detail = error.to_string();
        let detail = detail.strip_prefix(&format!("{name}: ")).unwrap_or(&detail);
        Flaw::new(Place::Whole, FindingKind::Unreadable, detail).in_file(name.clone())
    })
}

/// The bytes of a file of the given kind.
pub fn encode(format: Format, file: &MeshFile) -> Vec<u8> {
    let conversion = file.conversion_in(format);
    let source = file.source_for(format);
    if let Some((source, mut bytes)) =
        source.and_then(|source| Some((source, source.with_positions(&file.mesh.positions, &conversion)?)))
    {
        match format {
            Format::Stl(StlEncoding::Binary) => stl::renew_normals(&source.bytes, &mut bytes),
            Format::Glb if bytes != source.bytes => bytes = gltf::renew_bounds(&bytes).unwrap_or(bytes),
            Format::Usda if bytes != source.bytes => bytes = usda::renew_extents(&bytes).unwrap_or(bytes),
            _ => {}
        }
        return bytes;
    }
    match format {
        Format::Obj => obj::encode(file, &conversion),
        Format::Ply => ply::encode(file, &conversion),
        Format::Stl(encoding) => stl::encode(file, encoding, &conversion),
        Format::Off => off::encode(file, &conversion),
        Format::Gltf | Format::Glb => gltf::encode(file, format, &conversion),
        Format::Usda => usda::encode(file, &conversion),
    }
}

fn unknown_kind(path: &Path) -> Flaw {
    let detail = match path.extension() {
        Some(_) if Format::from_path(path).is_some() => "binary USD is read, not written here; write .usda".to_owned(),
        None => "the name has no extension that says its kind".to_owned(),
        Some(extension) => format!("`.{}` is not a kind of mesh file known here", extension.to_string_lossy()),
    };
    Flaw::new(Place::Whole, FindingKind::UnknownKind, detail)
}
