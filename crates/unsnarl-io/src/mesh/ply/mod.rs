//! Stanford PLY: text, little-endian and big-endian, read and written by hand.
//!
//! Read: `x`, `y`, `z` of element `vertex` in any number type; the list `vertex_indices` or `vertex_index` of element
//! `face`; colours from `red`, `green` and `blue` per vertex; uv from `s t`, `u v` or `texture_u texture_v` per
//! vertex, or from the list `texcoord` per face. Every other property and element is stepped over, and kept for
//! writing.
//!
//! Guarantees: a header that promises more than the file holds is refused before memory is taken; text is rounded to
//! the number type that the header declares, as other readers do.
//! Does not: read triangle strips.

mod body;
mod header;

use super::draft::Draft;
use super::error::{Flaw, Place};
use super::findings::{Finding, FindingKind};
use super::source::{ByteOrder, PositionPlace, Spelling};
use super::text::Precision;
use super::units::Conversion;
use super::{Format, LengthUnit, MeshFile, ReadOptions, UpAxis, Weld};
use body::{Cursor, Row};
use header::{Element, Encoding, Header, Number, Shape};
use std::collections::HashMap;
use unsnarl_geometry::{DVec2, DVec3, UvMap};

pub(super) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshFile, Flaw> {
    let header = Header::parse(&bytes)?;
    let mut reader = Reader {
        draft: Draft::new(options.conversion(LengthUnit::Metre, UpAxis::Y)),
        vertex_uv: VertexUv::None,
        known_uv: HashMap::new(),
        corners: Vec::new(),
        uv_corners: Vec::new(),
    };
    let mut cursor = Cursor::new(&bytes, &header);
    for element in &header.elements {
        cursor.check_promise(element)?;
        match element.name.as_str() {
            "vertex" => reader.vertices(&mut cursor, element)?,
            "face" => reader.faces(&mut cursor, element)?,
            other => {
                if other == "tristrips" {
                    let finding = Finding::new(FindingKind::LeftOut, element.count, "a triangle strip");
                    reader.draft.findings.push(finding);
                }
                let mut row = Row::default();
                for _ in 0..element.rows() {
                    cursor.row(element, &mut row)?;
                }
            }
        }
    }
    let mut draft = reader.draft;
    if options.weld == Weld::Always {
        draft.weld();
    }
    let patches = patch_spelling(&header).map(|spelling| {
        let mut patches = draft.take_patches(spelling);
        patches.widening = header.float_positions();
        patches
    });
    draft.finish(Format::Ply, options.keep_source, bytes, patches)
}

/// How positions can be replaced in place: only where x, y, z stand together in one floating type.
fn patch_spelling(header: &Header) -> Option<Spelling> {
    let mut vertices = header.elements.iter().filter(|element| element.name == "vertex");
    let vertex = vertices.next().filter(|_| vertices.next().is_none())?;
    let first = vertex.property("x")?;
    let together = ["x", "y", "z"].iter().enumerate().all(|(at, name)| {
        vertex
            .properties
            .get(first + at)
            .is_some_and(|own| own.name == *name && own.shape == vertex.properties[first].shape)
    });
    let precision = match vertex.properties[first].shape {
        Shape::One(Number::Float32) => Precision::Single,
        Shape::One(Number::Float64) => Precision::Double,
        _ => return None,
    };
    together.then_some(match header.encoding {
        Encoding::Text => Spelling::Text { separator: " ", precision },
        Encoding::Binary(order) => Spelling::Binary { order, precision },
    })
}

enum VertexUv {
    None,
    PerVertex,
}

struct Reader {
    draft: Draft,
    vertex_uv: VertexUv,
    /// Uv vertices made for corners, by vertex and coordinates.
    known_uv: HashMap<(u32, [u64; 2]), u32>,
    corners: Vec<u32>,
    uv_corners: Vec<u32>,
}

impl Reader {
    fn vertices(&mut self, cursor: &mut Cursor<'_>, element: &Element) -> Result<(), Flaw> {
        let missing = |name: &str| {
            Flaw::syntax(Place::Whole, format!("expected the property `{name}` in element `vertex` of the header"))
        };
        let mut axes = [0; 3];
        for (axis, name) in axes.iter_mut().zip(["x", "y", "z"]) {
            let found = element.property(name).filter(|&at| matches!(element.properties[at].shape, Shape::One(_)));
            *axis = found.ok_or_else(|| missing(name))?;
        }
        let uv_names = [["s", "t"], ["u", "v"], ["texture_u", "texture_v"]];
        let uv = uv_names.iter().find_map(|[u, v]| Some([element.property(u)?, element.property(v)?]));
        let colour = Colour::of(element);
        let mut row = Row::default();
        for _ in 0..element.rows() {
            let place = cursor.place();
            cursor.row(element, &mut row)?;
            self.draft.colours.extend(colour.as_ref().and_then(|colour| colour.in_row(&row)));
            let point = axes.map(|axis| row.numbers[axis]);
            let start = row.spans[axes[0]].start;
            let end = row.spans[axes[2]].end;
            let vertex = self.draft.positions.len() as u32;
            self.draft.push_position(DVec3::from_array(point), place)?;
            let length = u32::try_from(end.saturating_sub(start)).unwrap_or_default();
            self.draft.places.push(PositionPlace { start, length, vertex, frame: 0 });
            if let Some(uv) = uv {
                let flat = uv.map(|axis| row.numbers[axis]);
                check_uv(flat, place)?;
                self.draft.uv_coordinates.push(DVec2::from_array(flat));
                self.vertex_uv = VertexUv::PerVertex;
            }
        }
        Ok(())
    }

    fn faces(&mut self, cursor: &mut Cursor<'_>, element: &Element) -> Result<(), Flaw> {
        let indices = element.property("vertex_indices").or_else(|| element.property("vertex_index"));
        let Some(indices) = indices.filter(|&at| matches!(element.properties[at].shape, Shape::List(..))) else {
            let detail = "expected the list `vertex_indices` in element `face` of the header";
            return Err(Flaw::syntax(Place::Whole, detail));
        };
        let texcoord = element.property("texcoord");
        let mut row = Row::default();
        for _ in 0..element.rows() {
            let place = cursor.place();
            cursor.row(element, &mut row)?;
            let count = self.draft.positions.len();
            let outside = |index: &&f64| !(0.0..count as f64).contains(*index) || index.fract() != 0.0;
            if let Some(index) = row.lists[indices].iter().find(outside) {
                let detail = format!("a face names vertex {index} (counted from 0), the file has {count} before it");
                return Err(Flaw::new(place, FindingKind::IndexOutOfRange, detail));
            }
            self.corners.clear();
            self.corners.extend(row.lists[indices].iter().map(|&index| index as u32));
            self.push_face(texcoord.map_or(&[], |at| row.lists[at].as_slice()), place)?;
        }
        Ok(())
    }

    fn push_face(&mut self, flat: &[f64], place: Place) -> Result<(), Flaw> {
        self.uv_corners.clear();
        if flat.len() == 2 * self.corners.len() && matches!(self.vertex_uv, VertexUv::None) {
            for (&corner, flat) in self.corners.iter().zip(flat.chunks_exact(2)) {
                let flat = [flat[0], flat[1]];
                check_uv(flat, place)?;
                let next = self.draft.uv_coordinates.len() as u32;
                let uv = *self.known_uv.entry((corner, flat.map(f64::to_bits))).or_insert(next);
                if uv == next {
                    self.draft.uv_coordinates.push(DVec2::from_array(flat));
                }
                self.uv_corners.push(uv);
            }
        } else if matches!(self.vertex_uv, VertexUv::PerVertex) {
            self.uv_corners.extend_from_slice(&self.corners);
        }
        self.draft.push_face(&self.corners, &self.uv_corners, place)
    }
}

/// The properties of a vertex that hold its colour.
struct Colour {
    properties: [usize; 3],
    /// What stands for a full colour.
    full: [f64; 3],
}

impl Colour {
    fn of(element: &Element) -> Option<Self> {
        let mut colour = Self { properties: [0; 3], full: [1.0; 3] };
        for (at, name) in ["red", "green", "blue"].iter().enumerate() {
            colour.properties[at] = element.property(name)?;
            colour.full[at] = match element.properties[colour.properties[at]].shape {
                Shape::One(Number::Uint8) => 255.0,
                Shape::One(Number::Uint16) => 65535.0,
                Shape::One(Number::Float32 | Number::Float64) => 1.0,
                Shape::One(_) | Shape::List(..) => return None,
            };
        }
        Some(colour)
    }

    fn in_row(&self, row: &Row) -> Option<DVec3> {
        let channel = |at: usize| row.numbers[self.properties[at]] / self.full[at];
        Some(DVec3::new(channel(0), channel(1), channel(2))).filter(|colour| colour.is_finite())
    }
}

fn check_uv(flat: [f64; 2], place: Place) -> Result<(), Flaw> {
    if flat.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(Flaw::new(place, FindingKind::NotFinite, "a uv coordinate is not a finite number"))
}

/// A PLY file from scratch: little-endian, 64-bit positions.
pub(super) fn encode(file: &MeshFile, conversion: &Conversion) -> Vec<u8> {
    let mut largest_face = 3;
    let mut face_count = 0;
    file.for_each_face(|face| {
        largest_face = largest_face.max(face.corners.len());
        face_count += 1;
    });
    let uv = file.uv.as_ref();
    let per_vertex = uv.and_then(|uv| uv_per_vertex(file.mesh.positions.len(), file, uv));
    let count_type = if largest_face < 128 { "uchar" } else { "uint" };
    let mut out = Vec::new();
    out.extend_from_slice(b"ply\nformat binary_little_endian 1.0\n");
    out.extend(format!("element vertex {}\n", file.mesh.positions.len()).into_bytes());
    out.extend_from_slice(b"property double x\nproperty double y\nproperty double z\n");
    if per_vertex.is_some() {
        out.extend_from_slice(b"property double s\nproperty double t\n");
    }
    let colours = file.whole_colours();
    if colours.is_some() {
        out.extend_from_slice(b"property uchar red\nproperty uchar green\nproperty uchar blue\n");
    }
    out.extend(format!("element face {face_count}\nproperty list {count_type} int vertex_indices\n").into_bytes());
    let per_corner = uv.filter(|_| per_vertex.is_none());
    if per_corner.is_some() {
        out.extend(format!("property list {count_type} double texcoord\n").into_bytes());
    }
    out.extend_from_slice(b"end_header\n");
    let spelling = Spelling::Binary { order: ByteOrder::Little, precision: Precision::Double };
    for (vertex, &position) in file.mesh.positions.iter().enumerate() {
        spelling.push(&mut out, conversion.to_file(position));
        if let Some(per_vertex) = &per_vertex {
            per_vertex[vertex].to_array().iter().for_each(|value| out.extend(value.to_le_bytes()));
        }
        if let Some(colours) = colours {
            out.extend(colours[vertex].to_array().map(|channel| (255.0 * channel).round().clamp(0.0, 255.0) as u8));
        }
    }
    let push_count = |out: &mut Vec<u8>, count: usize| match count_type {
        "uchar" => out.push(count as u8),
        _ => out.extend((count as u32).to_le_bytes()),
    };
    file.for_each_face(|face| {
        push_count(&mut out, face.corners.len());
        face.corners.iter().for_each(|corner| out.extend(corner.to_le_bytes()));
        if let Some(uv) = per_corner {
            push_count(&mut out, 2 * face.uv_corners.len());
            for &corner in face.uv_corners {
                let place = uv.coordinates[corner as usize].to_array();
                place.iter().for_each(|value| out.extend(value.to_le_bytes()));
            }
        }
    });
    out
}

/// The uv coordinates of every vertex, if every vertex has one uv vertex with the same index.
fn uv_per_vertex(vertex_count: usize, file: &MeshFile, uv: &UvMap) -> Option<Vec<DVec2>> {
    let same = uv.coordinates.len() == vertex_count && uv.triangles == file.mesh.triangles;
    same.then(|| uv.coordinates.clone())
}
