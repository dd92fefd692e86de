//! OFF text files, read and written by hand.
//!
//! Read: `OFF` with any of the prefixes `ST`, `C`, `N` (their extra numbers are stepped over and kept for writing), one
//! vertex or face to a line, comments and empty lines anywhere.
//!
//! Guarantees: vertex and face order; counts that the file cannot hold are refused before memory is taken.
//! Does not: read binary OFF, or the prefixes `4` and `n` (other dimensions).

use super::draft::Draft;
use super::error::{Flaw, Place};
use super::findings::FindingKind;
use super::source::{PositionPlace, Spelling};
use super::text::{Continuation, Line, Lines, Precision, Words, number, parse_integer, push_point, shown};
use super::units::Conversion;
use super::{Format, LengthUnit, MeshFile, ReadOptions, UpAxis, Weld};
use std::ops::Range;
use unsnarl_geometry::DVec3;

pub(super) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshFile, Flaw> {
    let mut draft = Draft::new(options.conversion(LengthUnit::Metre, UpAxis::Y));
    read_lines(&bytes, &mut draft)?;
    if options.weld == Weld::Always {
        draft.weld();
    }
    let patches = draft.take_patches(Spelling::Text { separator: " ", precision: Precision::Double });
    draft.finish(Format::Off, options.keep_source, bytes, Some(patches))
}

/// Lines that say something, without their comments.
struct Rows<'a> {
    bytes: &'a [u8],
    lines: Lines<'a>,
}

impl Rows<'_> {
    fn next(&mut self) -> Option<Line> {
        loop {
            let line = self.lines.next()?;
            let text = &self.bytes[line.range.clone()];
            let length = text.iter().position(|&byte| byte == b'#').unwrap_or(text.len());
            if !text[..length].trim_ascii().is_empty() {
                return Some(Line { number: line.number, range: line.range.start..line.range.start + length });
            }
        }
    }

    fn expect(&mut self, what: &str) -> Result<Line, Flaw> {
        self.next().ok_or_else(|| {
            let detail = format!("the file ends where {what} should stand");
            Flaw::new(Place::Whole, FindingKind::Truncated, detail)
        })
    }
}

fn read_lines(bytes: &[u8], draft: &mut Draft) -> Result<(), Flaw> {
    let mut rows = Rows { bytes, lines: Lines::new(bytes, Continuation::None) };
    let Some(first) = rows.next() else {
        return Err(Flaw::new(Place::Whole, FindingKind::Empty, "the file holds nothing"));
    };
    let mut words = Words::new(bytes, first.range.clone());
    let magic = words.next().map_or(&b""[..], |word| &bytes[word]);
    let prefix = magic
        .strip_suffix(b"OFF")
        .ok_or_else(|| Flaw::syntax(first.place(), format!("expected `OFF`, found `{}`", shown(magic))))?;
    if !matches!(prefix, b"" | b"C" | b"N" | b"CN" | b"ST" | b"STC" | b"STN" | b"STCN") || words.rest() == b"BINARY" {
        let detail =
            format!("expected a text OFF file in three dimensions, found `{}`", shown(&bytes[first.range.clone()]));
        return Err(Flaw::new(first.place(), FindingKind::UnknownKind, detail));
    }
    let counts_line = if words.rest().is_empty() { rows.expect("the counts")? } else { first.clone() };
    let counts_words =
        if counts_line.number == first.number { words } else { Words::new(bytes, counts_line.range.clone()) };
    let [vertex_count, face_count] = counts(bytes, counts_words, &counts_line)?;
    for _ in 0..vertex_count {
        let line = rows.expect("a vertex")?;
        let (point, span) = vertex(bytes, &line)?;
        let vertex = draft.positions.len() as u32;
        draft.push_position(point, line.place())?;
        let length = u32::try_from(span.len()).unwrap_or_default();
        draft.places.push(PositionPlace { start: span.start, length, vertex, frame: 0 });
    }
    let mut corners = Vec::new();
    for _ in 0..face_count {
        let line = rows.expect("a face")?;
        face(bytes, &line, vertex_count, &mut corners)?;
        draft.push_face(&corners, &[], line.place())?;
    }
    Ok(())
}

fn counts(bytes: &[u8], words: Words<'_>, line: &Line) -> Result<[usize; 2], Flaw> {
    let mut values = words.map(|word| parse_integer(&bytes[word]).and_then(|count| usize::try_from(count).ok()));
    let (Some(Some(vertices)), Some(Some(faces))) = (values.next(), values.next()) else {
        return Err(Flaw::syntax(line.place(), "expected the numbers of vertices, faces and edges"));
    };
    // The shortest vertex is `0 0 0` and the shortest face `0`, each with a line end but for the last.
    let needed = vertices.checked_mul(6).zip(faces.checked_mul(2)).and_then(|(a, b)| a.checked_add(b));
    let left = bytes.len() - line.range.end;
    if needed.is_some_and(|needed| needed <= left + 1) {
        return Ok([vertices, faces]);
    }
    let detail = format!("promises {vertices} vertices and {faces} faces; {left} bytes are left");
    Err(Flaw::new(line.place(), FindingKind::PromisesTooMuch, detail))
}

fn vertex(bytes: &[u8], line: &Line) -> Result<(DVec3, Range<usize>), Flaw> {
    let mut words = Words::new(bytes, line.range.clone());
    let mut point = [0.0; 3];
    let mut span = line.range.end..line.range.start;
    for value in &mut point {
        let word = words.next().ok_or_else(|| Flaw::syntax(line.place(), "expected three numbers of a vertex"))?;
        span = span.start.min(word.start)..word.end;
        *value = number(&bytes[word], line.place())?;
    }
    Ok((DVec3::from_array(point), span))
}

fn face(bytes: &[u8], line: &Line, vertex_count: usize, corners: &mut Vec<u32>) -> Result<(), Flaw> {
    corners.clear();
    let mut words = Words::new(bytes, line.range.clone());
    let count = words.next().and_then(|word| parse_integer(&bytes[word])).filter(|&count| count >= 0);
    let count = count.ok_or_else(|| Flaw::syntax(line.place(), "expected the number of corners of a face"))?;
    for _ in 0..count {
        let word = words.next().ok_or_else(|| {
            Flaw::syntax(line.place(), format!("expected {count} corners of a face, found {}", corners.len()))
        })?;
        let text = &bytes[word];
        let index = parse_integer(text).ok_or_else(|| {
            Flaw::syntax(line.place(), format!("expected the number of a vertex, found `{}`", shown(text)))
        })?;
        match u32::try_from(index) {
            Ok(corner) if (corner as usize) < vertex_count => corners.push(corner),
            _ => {
                let detail = format!("names vertex {index} (counted from 0), the file has {vertex_count}");
                return Err(Flaw::new(line.place(), FindingKind::IndexOutOfRange, detail));
            }
        }
    }
    Ok(())
}

/// An OFF file from scratch.
pub(super) fn encode(file: &MeshFile, conversion: &Conversion) -> Vec<u8> {
    let mut faces = Vec::new();
    let mut face_count = 0;
    file.for_each_face(|face| {
        face_count += 1;
        faces.extend(face.corners.len().to_string().into_bytes());
        face.corners.iter().for_each(|corner| faces.extend(format!(" {corner}").into_bytes()));
        faces.push(b'\n');
    });
    let mut out = format!("OFF\n{} {face_count} 0\n", file.mesh.positions.len()).into_bytes();
    for &position in &file.mesh.positions {
        push_point(&mut out, conversion.to_file(position), " ", Precision::Double);
        out.push(b'\n');
    }
    out.extend(faces);
    out
}
