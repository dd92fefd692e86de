//! USD files, read and written by hand: text (`.usda`), binary (`.usdc`), packages (`.usdz`), and `.usd`, which may
//! be any of them.
//!
//! Read: `Mesh` prims with `points`, `faceVertexCounts`, `faceVertexIndices`, `orientation`, `primvars:st` (per vertex
//! or per corner, indexed or not), `primvars:displayColor` ([`colours`]), `GeomSubset` children and material bindings
//! as labels, transforms of all parents, `metersPerUnit` (0.01 unless said, as USD has it) and `upAxis`. Of time
//! samples the first is read; [`read_motion`] reads all of points and transforms. Rest fields of the deformable-body
//! draft are read where meshes have them.
//!
//! Guarantees: points are rounded to the type that the file declares, as other readers do. Written back, only moved
//! points and the extents of meshes differ from the original text.
//! Does not: write binary USD, nor follow references, payloads and variants.

mod binary;
mod colours;
mod lexer;
mod motion;
mod parser;
mod rest;
mod write;
mod xform;

pub(super) use motion::read_motion;
pub(super) use write::{encode, encode_motion};

use super::draft::Draft;
use super::error::{Flaw, Place};
use super::findings::{Finding, FindingKind};
use super::source::{Patches, PositionPlace, Spelling};
use super::text::{Precision, push_point, shown};
use super::{Format, KeepSource, LengthUnit, MeshFile, ReadOptions, UpAxis, Weld};
use parser::{Layer, MeshData, Prim, PrimKind, Samples, parse};
use std::collections::HashMap;
use unsnarl_geometry::math::DAffine3;
use unsnarl_geometry::{DVec2, DVec3};

pub(super) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshFile, Flaw> {
    let bytes = unpacked(bytes)?;
    let layer = layer_of(&bytes, Samples::First)?;
    let mut reader = Reader {
        draft: Draft::new(options.conversion(unit(&layer)?, up_axis(&layer)?)),
        layer: &layer,
        worlds: worlds(&layer),
        subsets: subsets(&layer),
        frames: Vec::new(),
        precision: None,
    };
    for prim in (0..layer.prims.len()).filter(|&prim| layer.prims[prim].kind == PrimKind::Mesh) {
        reader.mesh(prim)?;
    }
    let Reader { mut draft, frames, precision, .. } = reader;
    // Where some meshes have colours, the points of others are white.
    if !draft.colours.is_empty() {
        draft.colours.resize(draft.positions.len(), DVec3::ONE);
    }
    for (count, what) in
        [(layer.not_followed, "a reference, payload or variant"), (layer.time_sampled, "time samples after the first")]
    {
        if count > 0 {
            draft.findings.push(Finding::new(FindingKind::LeftOut, count, what));
        }
    }
    if options.weld == Weld::Always {
        draft.weld();
    }
    let invertible = frames.iter().all(|frame| frame.matrix3.determinant().abs() > 1e-30);
    let patches = precision
        .flatten()
        .filter(|_| invertible && layer.time_sampled == 0 && !binary::is_crate(&bytes))
        .map(|precision| Patches { frames, ..draft.take_patches(Spelling::Text { separator: ", ", precision }) });
    drop(layer);
    // It is written as text.
    let keep = if binary::is_crate(&bytes) { KeepSource::Forget } else { options.keep_source };
    draft.finish(Format::Usda, keep, bytes, patches)
}

/// The layer of a package; other files as they are.
fn unpacked(mut bytes: Vec<u8>) -> Result<Vec<u8>, Flaw> {
    if binary::is_package(&bytes) {
        let own = binary::first_file(&bytes)?;
        bytes.truncate(own.end);
        bytes.drain(..own.start);
    }
    Ok(bytes)
}

/// Reads a layer, text or binary.
fn layer_of(bytes: &[u8], samples: Samples) -> Result<Layer, Flaw> {
    if binary::is_crate(bytes) {
        return binary::read_layer(bytes, samples);
    }
    if !bytes.starts_with(b"#usda") {
        return Err(Flaw::syntax(Place::Line(1), "expected `#usda 1.0` in the first line, or binary USD"));
    }
    parse(bytes, samples)
}

fn unit(layer: &Layer) -> Result<LengthUnit, Flaw> {
    match layer.metres_per_unit {
        Some(metres) if !(metres.is_finite() && metres > 0.0) => {
            Err(Flaw::syntax(Place::Whole, format!("metersPerUnit is {metres}; expected a number above 0")))
        }
        Some(1.0) => Ok(LengthUnit::Metre),
        Some(0.1) => Ok(LengthUnit::Decimetre),
        Some(0.01) | None => Ok(LengthUnit::Centimetre),
        Some(0.001) => Ok(LengthUnit::Millimetre),
        Some(metres) => Ok(LengthUnit::Metres(metres)),
    }
}

fn up_axis(layer: &Layer) -> Result<UpAxis, Flaw> {
    match layer.up_axis.as_deref() {
        None => Ok(UpAxis::Y),
        Some(axis) => {
            UpAxis::from_name(axis).ok_or_else(|| Flaw::syntax(Place::Whole, "upAxis must be \"Y\" or \"Z\""))
        }
    }
}

/// From every prim to the world of the file (`None` when they are the same), or the transform that is not known.
fn worlds(layer: &Layer) -> Vec<Result<Option<DAffine3>, String>> {
    let mut worlds: Vec<Result<Option<DAffine3>, String>> = Vec::with_capacity(layer.prims.len());
    for prim in &layer.prims {
        let world = prim.xform.local().and_then(|local| {
            let parent = match prim.parent.filter(|_| local.inherits) {
                Some(parent) => worlds[parent].clone()?,
                None => None,
            };
            Ok(match (parent, local.transform) {
                (Some(parent), Some(local)) => Some(parent * local),
                (parent, local) => parent.or(local),
            })
        });
        worlds.push(world);
    }
    worlds
}

/// The subsets of faces of every mesh.
fn subsets(layer: &Layer) -> HashMap<usize, Vec<&Prim>> {
    let mut subsets: HashMap<usize, Vec<&Prim>> = HashMap::new();
    for prim in layer.prims.iter().filter(|prim| prim.kind == PrimKind::Subset) {
        if let Some(parent) = prim.parent {
            subsets.entry(parent).or_default().push(prim);
        }
    }
    subsets
}

struct Reader<'a> {
    draft: Draft,
    layer: &'a Layer,
    worlds: Vec<Result<Option<DAffine3>, String>>,
    subsets: HashMap<usize, Vec<&'a Prim>>,
    frames: Vec<DAffine3>,
    /// What all meshes declare; the inner option is empty when they differ.
    precision: Option<Option<Precision>>,
}

impl<'a> Reader<'a> {
    fn mesh(&mut self, index: usize) -> Result<(), Flaw> {
        let prim = &self.layer.prims[index];
        let mesh = &prim.mesh;
        let place = place_of(prim);
        let world = self.worlds[index].clone().map_err(|operation| {
            let operation = shown(operation.as_bytes());
            Flaw::syntax(place, format!("expected known transforms with their values, found `{operation}`"))
        })?;
        let frame = self.frames.len() as u32;
        self.frames.push(world.unwrap_or(DAffine3::IDENTITY));
        let precision = point_precision(mesh);
        if !mesh.points.is_empty() {
            let same = self.precision.is_none_or(|known| known == Some(precision));
            self.precision = Some(Some(precision).filter(|_| same));
        }
        let first = self.draft.positions.len() as u32;
        for (&point, range) in mesh.points.iter().zip(&mesh.point_ranges) {
            let mut point = precision.round_point(DVec3::from_array(point));
            if let Some(world) = world {
                point = world.transform_point3(point);
            }
            let vertex = self.draft.positions.len() as u32;
            self.draft.push_position(point, place)?;
            let length = u32::try_from(range.len()).unwrap_or_default();
            self.draft.places.push(PositionPlace { start: range.start, length, vertex, frame });
        }
        if let Some(colours) = colours::of_points(mesh) {
            self.draft.colours.resize(first as usize, DVec3::ONE);
            self.draft.colours.extend(colours);
        }
        self.faces(index, first, place)
    }

    fn faces(&mut self, index: usize, first: u32, place: Place) -> Result<(), Flaw> {
        let prim = &self.layer.prims[index];
        let mesh = &prim.mesh;
        let total =
            mesh.face_counts.iter().try_fold(0i64, |total, &count| total.checked_add(count).filter(|_| count >= 0));
        if total != Some(mesh.face_indices.len() as i64) {
            let detail = format!("faceVertexCounts do not add up to the {} faceVertexIndices", mesh.face_indices.len());
            return Err(Flaw::syntax(place, detail));
        }
        let count = mesh.points.len() as i64;
        if let Some(index) = mesh.face_indices.iter().find(|index| !(0..count).contains(index)) {
            let detail = format!("a face names point {index} (counted from 0), the mesh has {count}");
            return Err(Flaw::new(place, FindingKind::IndexOutOfRange, detail));
        }
        let uv_corners = self.uv_corners(mesh, place)?;
        let labels = self.face_labels(index, mesh.face_counts.len());
        self.start_labels(prim);
        let mut start = 0;
        let (mut corners, mut uv) = (Vec::new(), Vec::new());
        for (face, &count) in mesh.face_counts.iter().enumerate() {
            let range = start..start + count as usize;
            start = range.end;
            corners.clear();
            corners.extend(mesh.face_indices[range.clone()].iter().map(|&corner| first + corner as u32));
            uv.clear();
            uv.extend_from_slice(uv_corners.get(range).unwrap_or_default());
            if mesh.left_handed {
                corners.reverse();
                uv.reverse();
            }
            self.label_face(prim, labels.get(&face).copied());
            self.draft.push_face(&corners, &uv, place)?;
        }
        let world = self.worlds[index].clone().ok().flatten();
        rest::take(&mut self.draft, mesh, world, place)
    }

    fn start_labels(&mut self, prim: &Prim) {
        let faces = self.draft.face_count();
        self.draft.objects.set(prim.name.clone(), faces);
    }

    fn label_face(&mut self, prim: &Prim, subset: Option<&Prim>) {
        let faces = self.draft.face_count();
        let group = subset.map_or(String::new(), |subset| subset.name.clone());
        if !group.is_empty() || self.draft.groups.is_used() {
            self.draft.groups.set(group, faces);
        }
        let material = subset.and_then(|subset| subset.mesh.material.clone()).or_else(|| prim.mesh.material.clone());
        if material.is_some() || self.draft.materials.is_used() {
            self.draft.materials.set(material.unwrap_or_default(), faces);
        }
    }

    /// The subset of every face that is in one; the first of several counts.
    fn face_labels(&self, mesh: usize, face_count: usize) -> HashMap<usize, &'a Prim> {
        let mut labels = HashMap::new();
        for &subset in self.subsets.get(&mesh).into_iter().flatten() {
            let faces = subset.mesh.subset.iter().filter_map(|&face| usize::try_from(face).ok());
            for face in faces.filter(|&face| face < face_count) {
                labels.entry(face).or_insert(subset);
            }
        }
        labels
    }

    /// The uv vertex of every corner of a mesh; empty without uv.
    fn uv_corners(&mut self, mesh: &MeshData, place: Place) -> Result<Vec<u32>, Flaw> {
        if mesh.uv.is_empty() {
            return Ok(Vec::new());
        }
        if !mesh.uv.len().is_multiple_of(2) || mesh.uv.iter().any(|value| !value.is_finite()) {
            return Err(Flaw::new(
                place,
                FindingKind::NotFinite,
                "expected two finite numbers for every uv coordinate",
            ));
        }
        let value_count = mesh.uv.len() / 2;
        let value_of = |at: usize| -> Option<usize> {
            let value = match &mesh.uv_indices {
                None => at,
                Some(indices) => usize::try_from(*indices.get(at)?).ok()?,
            };
            (value < value_count).then_some(value)
        };
        let values: Option<Vec<usize>> = match mesh.uv_interpolation.as_str() {
            "faceVarying" => (0..mesh.face_indices.len()).map(value_of).collect(),
            "vertex" | "varying" => mesh.face_indices.iter().map(|&vertex| value_of(vertex as usize)).collect(),
            _ => return Ok(Vec::new()),
        };
        let Some(values) = values else {
            let detail = format!("{} does not have a value for every corner", mesh.uv_name);
            return Err(Flaw::new(place, FindingKind::IndexOutOfRange, detail));
        };
        let coordinate = |value: usize| DVec2::new(mesh.uv[2 * value], mesh.uv[2 * value + 1]);
        let first = self.draft.uv_coordinates.len() as u32;
        if mesh.uv_indices.is_some() || mesh.uv_interpolation != "faceVarying" {
            self.draft.uv_coordinates.extend((0..value_count).map(coordinate));
            return Ok(values.into_iter().map(|value| first + value as u32).collect());
        }
        let mut known: HashMap<(i64, [u64; 2]), u32> = HashMap::new();
        let mut corners = Vec::with_capacity(values.len());
        for (value, &vertex) in values.into_iter().zip(&mesh.face_indices) {
            let next = self.draft.uv_coordinates.len() as u32;
            let place = coordinate(value);
            let uv = *known.entry((vertex, place.to_array().map(f64::to_bits))).or_insert(next);
            if uv == next {
                self.draft.uv_coordinates.push(place);
            }
            corners.push(uv);
        }
        Ok(corners)
    }
}

/// Where a prim is in its file; binary files have no lines.
fn place_of(prim: &Prim) -> Place {
    if prim.line == 0 { Place::Whole } else { Place::Line(prim.line) }
}

/// How exactly the points of a mesh are declared.
fn point_precision(mesh: &MeshData) -> Precision {
    if mesh.point_type.ends_with('d') || mesh.point_type == "double3" { Precision::Double } else { Precision::Single }
}

/// Brings the extents of all meshes up to date.
pub(super) fn renew_extents(bytes: &[u8]) -> Option<Vec<u8>> {
    let layer = parse(bytes, Samples::First).ok()?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    let mut meshes: Vec<&MeshData> = layer.prims.iter().map(|prim| &prim.mesh).collect();
    meshes.sort_by_key(|mesh| mesh.extent.as_ref().map_or(usize::MAX, |extent| extent.start));
    for mesh in meshes {
        let Some(extent) = mesh.extent.clone().filter(|_| !mesh.points.is_empty()) else { continue };
        let points = || mesh.points.iter().map(|&point| DVec3::from_array(point));
        out.extend_from_slice(bytes.get(copied..extent.start)?);
        out.extend_from_slice(b"[(");
        push_point(&mut out, points().fold(DVec3::INFINITY, DVec3::min), ", ", Precision::Single);
        out.extend_from_slice(b"), (");
        push_point(&mut out, points().fold(DVec3::NEG_INFINITY, DVec3::max), ", ", Precision::Single);
        out.extend_from_slice(b")]");
        copied = extent.end;
    }
    out.extend_from_slice(bytes.get(copied..)?);
    Some(out)
}
