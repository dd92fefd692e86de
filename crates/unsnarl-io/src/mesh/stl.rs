//! STL, text and binary, read and written by hand.
//!
//! The format repeats every vertex for every facet, so vertices at the very same position become one, unless the
//! caller says otherwise; they are numbered by first use.
//!
//! Guarantees: a binary file keeps its header and its attribute bytes; normals of changed facets are computed anew.
//! Does not: keep 64 bits in a binary file: the format has 32.

use super::draft::Draft;
use super::error::{Flaw, Place};
use super::findings::FindingKind;
use super::source::{ByteOrder, PositionPlace, Spelling, decode};
use super::text::{Continuation, Lines, Precision, Words, name, number, push_point, shown};
use super::units::Conversion;
use super::{Format, LengthUnit, MeshFile, ReadOptions, StlEncoding, UpAxis, Weld};
use unsnarl_geometry::DVec3;

const HEADER_BYTES: usize = 84;
const FACET_BYTES: usize = 50;

pub(super) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshFile, Flaw> {
    let mut draft = Draft::new(options.conversion(LengthUnit::Metre, UpAxis::Y));
    let encoding = encoding_of(&bytes);
    match encoding {
        StlEncoding::Text => read_text(&bytes, &mut draft)?,
        StlEncoding::Binary => read_binary(&bytes, &mut draft)?,
    }
    if options.weld != Weld::Never {
        draft.weld();
    }
    let patches = (encoding == StlEncoding::Binary)
        .then(|| draft.take_patches(Spelling::Binary { order: ByteOrder::Little, precision: Precision::Single }));
    draft.finish(Format::Stl(encoding), options.keep_source, bytes, patches)
}

/// A file whose size fits its facet count, or with a zero byte, is binary, even if it begins with `solid`, as some do.
fn encoding_of(bytes: &[u8]) -> StlEncoding {
    let begins_as_text = bytes.trim_ascii_start().starts_with(b"solid");
    let fits = promised_facets(bytes).is_some_and(|facets| bytes.len() == HEADER_BYTES + FACET_BYTES * facets);
    if begins_as_text && !fits && !bytes.contains(&0) { StlEncoding::Text } else { StlEncoding::Binary }
}

fn promised_facets(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(80..HEADER_BYTES)?.try_into().ok()?;
    Some(u32::from_le_bytes(count) as usize)
}

fn read_binary(bytes: &[u8], draft: &mut Draft) -> Result<(), Flaw> {
    let Some(facets) = promised_facets(bytes) else {
        let detail = format!("{} bytes; a binary STL file has a header of {HEADER_BYTES}", bytes.len());
        let kind = if bytes.is_empty() { FindingKind::Empty } else { FindingKind::Truncated };
        return Err(Flaw::new(Place::Whole, kind, detail));
    };
    let held = (bytes.len() - HEADER_BYTES) / FACET_BYTES;
    if facets > held {
        let detail = format!("promises {facets} facets, the file holds {held}");
        return Err(Flaw::new(Place::Byte(80), FindingKind::PromisesTooMuch, detail));
    }
    for facet in 0..facets {
        for corner in 0..3 {
            let start = HEADER_BYTES + FACET_BYTES * facet + 12 * (corner + 1);
            let vertex = draft.positions.len() as u32;
            draft.push_position(point_at(bytes, start), Place::Byte(start))?;
            draft.places.push(PositionPlace { start, length: 12, vertex, frame: 0 });
        }
        push_last_three(draft, Place::Byte(HEADER_BYTES + FACET_BYTES * facet))?;
    }
    Ok(())
}

/// The point of three 32-bit numbers; the caller has checked the length.
fn point_at(bytes: &[u8], start: usize) -> DVec3 {
    let value = |at: usize| {
        let bytes = bytes.get(start + 4 * at..start + 4 * at + 4).unwrap_or_default();
        decode(bytes, ByteOrder::Little, Precision::Single).unwrap_or(f64::NAN)
    };
    DVec3::new(value(0), value(1), value(2))
}

fn push_last_three(draft: &mut Draft, place: Place) -> Result<(), Flaw> {
    let end = draft.positions.len() as u32;
    draft.push_face(&[end - 3, end - 2, end - 1], &[], place)
}

fn read_text(bytes: &[u8], draft: &mut Draft) -> Result<(), Flaw> {
    let mut corners = 0;
    let mut last_line = Place::Line(1);
    for line in Lines::new(bytes, Continuation::None) {
        last_line = line.place();
        let mut words = Words::new(bytes, line.range.clone());
        let Some(keyword) = words.next() else { continue };
        match &bytes[keyword] {
            b"vertex" => {
                let mut point = [0.0; 3];
                for value in &mut point {
                    let word = words
                        .next()
                        .ok_or_else(|| Flaw::syntax(line.place(), "expected three numbers after `vertex`"))?;
                    *value = number(&bytes[word], line.place())?;
                }
                draft.push_position(DVec3::from_array(point), line.place())?;
                corners += 1;
            }
            b"endfacet" => {
                if corners != 3 {
                    let detail = format!("expected three vertices in a facet, found {corners}");
                    return Err(Flaw::syntax(line.place(), detail));
                }
                push_last_three(draft, line.place())?;
                corners = 0;
            }
            b"solid" => {
                let faces = draft.face_count();
                draft.objects.set(name(words.rest()), faces);
            }
            b"facet" | b"outer" | b"endloop" | b"endsolid" => {}
            other => {
                let detail = format!("expected a line of an STL file, found `{}`", shown(other));
                return Err(Flaw::syntax(line.place(), detail));
            }
        }
    }
    if corners != 0 {
        return Err(Flaw::new(last_line, FindingKind::Truncated, "the file ends in the middle of a facet"));
    }
    Ok(())
}

/// Computes the normals of all facets whose corners differ from those of the original file.
pub(super) fn renew_normals(original: &[u8], bytes: &mut [u8]) {
    let Some(facets) = promised_facets(bytes) else { return };
    for facet in 0..facets {
        let start = HEADER_BYTES + FACET_BYTES * facet;
        let corners = start + 12..start + 48;
        if bytes.get(corners.clone()) == original.get(corners) {
            continue;
        }
        let normal = facet_normal([1, 2, 3].map(|corner| point_at(bytes, start + 12 * corner)));
        for (axis, value) in normal.to_array().into_iter().enumerate() {
            if let Some(place) = bytes.get_mut(start + 4 * axis..start + 4 * axis + 4) {
                place.copy_from_slice(&(value as f32).to_le_bytes());
            }
        }
    }
}

/// The unit normal, or zero for a facet without area, as the format asks.
fn facet_normal([a, b, c]: [DVec3; 3]) -> DVec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

/// An STL file from scratch.
pub(super) fn encode(file: &MeshFile, encoding: StlEncoding, conversion: &Conversion) -> Vec<u8> {
    let facets = file
        .mesh
        .triangles
        .iter()
        .map(|corners| corners.map(|corner| conversion.to_file(file.mesh.positions[corner as usize])));
    match encoding {
        StlEncoding::Binary => {
            let mut out = b"Unsnarl".to_vec();
            out.resize(80, 0);
            out.extend((file.mesh.triangles.len() as u32).to_le_bytes());
            let spelling = Spelling::Binary { order: ByteOrder::Little, precision: Precision::Single };
            for corners in facets {
                let corners = corners.map(|corner| Precision::Single.round_point(corner));
                spelling.push(&mut out, facet_normal(corners));
                corners.iter().for_each(|&corner| spelling.push(&mut out, corner));
                out.extend([0, 0]);
            }
            out
        }
        StlEncoding::Text => encode_text(file, facets),
    }
}

fn encode_text(file: &MeshFile, facets: impl Iterator<Item = [DVec3; 3]>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut solid: Option<&str> = None;
    for (triangle, corners) in facets.enumerate() {
        let name = file.objects.name(triangle);
        if solid != Some(name) {
            if let Some(last) = solid {
                out.extend(format!("endsolid {last}\n").into_bytes());
            }
            out.extend(format!("solid {name}\n").into_bytes());
            solid = Some(name);
        }
        out.extend_from_slice(b"facet normal ");
        push_point(&mut out, facet_normal(corners), " ", Precision::Single);
        out.extend_from_slice(b"\nouter loop\n");
        for corner in corners {
            out.extend_from_slice(b"vertex ");
            push_point(&mut out, corner, " ", Precision::Double);
            out.push(b'\n');
        }
        out.extend_from_slice(b"endloop\nendfacet\n");
    }
    out.extend(format!("endsolid {}\n", solid.unwrap_or_default()).into_bytes());
    out
}
