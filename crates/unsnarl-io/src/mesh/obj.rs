//! Wavefront OBJ, read and written by hand.
//!
//! Read: `v` (with a colour, if every vertex has one), `vt`, `f` (any number of corners, `v`, `v/vt`, `v//vn`,
//! `v/vt/vn`, negative indices), `o`, `g`, `usemtl`, `mtllib`, `s`, `l`, and `stitch`, the sewing line of
//! codimensional IPC (`stitch vertex edge edge weight`, counted from 0). Every other line is kept for writing and
//! otherwise passed
//! over.
//!
//! Guarantees: vertex and face order; indices may point forward; every refusal names the line.
//! Does not: read free-form curves and surfaces.

use super::draft::{Draft, NO_UV};
use super::error::{Flaw, Place};
use super::findings::{Finding, FindingKind};
use super::source::{PositionPlace, Spelling};
use super::text::{
    Continuation, Line, Lines, Precision, Words, name, number, parse_integer, parse_number, push_number, shown,
};
use super::units::Conversion;
use super::{Format, LengthUnit, MeshFile, ReadOptions, Stitch, UpAxis, Weld};
use unsnarl_geometry::{DVec2, DVec3};

pub(super) fn read(bytes: Vec<u8>, options: &ReadOptions) -> Result<MeshFile, Flaw> {
    let mut reader = Reader::new(&bytes, options.conversion(LengthUnit::Metre, UpAxis::Y));
    for line in Lines::new(&bytes, Continuation::Backslash) {
        reader.line(&line)?;
    }
    let mut draft = reader.finish()?;
    if options.weld == Weld::Always {
        draft.weld();
    }
    let spelling = Spelling::Text { separator: " ", precision: Precision::Double };
    let patches = draft.take_patches(spelling);
    draft.finish(Format::Obj, options.keep_source, bytes, Some(patches))
}

struct Reader<'a> {
    bytes: &'a [u8],
    draft: Draft,
    normal_count: usize,
    /// Indices beyond what had been read, with the line that names them, to be looked at again at the end.
    ahead: Vec<(usize, Array, u32)>,
    corners: Vec<u32>,
    uv_corners: Vec<u32>,
    freeform_count: usize,
}

/// The arrays that a corner of a face points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Vertices,
    Uvs,
    Normals,
}

impl Array {
    fn what(self) -> &'static str {
        match self {
            Self::Vertices => "vertex",
            Self::Uvs => "uv vertex",
            Self::Normals => "normal",
        }
    }
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], conversion: Conversion) -> Self {
        Self {
            bytes,
            draft: Draft::new(conversion),
            normal_count: 0,
            ahead: Vec::new(),
            corners: Vec::new(),
            uv_corners: Vec::new(),
            freeform_count: 0,
        }
    }

    fn line(&mut self, line: &Line) -> Result<(), Flaw> {
        let mut words = Words::new(self.bytes, line.range.clone());
        let Some(keyword) = words.next() else { return Ok(()) };
        let faces = self.draft.face_count();
        match &self.bytes[keyword] {
            b"v" => self.vertex(line, words)?,
            b"vt" => self.uv(line, words)?,
            b"vn" => self.normal_count += 1,
            b"f" | b"fo" => self.face(line, words)?,
            b"o" => self.draft.objects.set(name(words.rest()), faces),
            b"g" => self.draft.groups.set(name(words.rest()), faces),
            b"usemtl" => self.draft.materials.set(name(words.rest()), faces),
            b"s" => self.draft.smoothing.set(name(words.rest()), faces),
            b"mtllib" => self.draft.material_libraries.push(name(words.rest())),
            b"l" => self.segments(line, words)?,
            b"stitch" => self.stitch(line, words)?,
            b"curv" | b"curv2" | b"surf" => self.freeform_count += 1,
            _ => {}
        }
        Ok(())
    }

    fn vertex(&mut self, line: &Line, mut words: Words<'_>) -> Result<(), Flaw> {
        let mut point = [0.0; 3];
        let mut span = None;
        for value in &mut point {
            let Some(word) = words.next() else {
                return Err(Flaw::syntax(line.place(), "expected three numbers after `v`"));
            };
            *value = number(&self.bytes[word.clone()], line.place())?;
            span = Some((span.map_or(word.start, |(start, _)| start), word.end));
        }
        let vertex = self.draft.positions.len() as u32;
        self.draft.push_position(DVec3::from_array(point), line.place())?;
        if let Some((start, end)) = span {
            let length = u32::try_from(end - start)
                .map_err(|_| Flaw::syntax(line.place(), "expected three numbers close together after `v`"))?;
            self.draft.places.push(PositionPlace { start, length, vertex, frame: 0 });
        }
        self.colour(words);
        Ok(())
    }

    /// Three numbers after the coordinates are a colour; one alone is a weight.
    fn colour(&mut self, mut words: Words<'_>) {
        let mut next = || words.next().and_then(|word| parse_number(&self.bytes[word]));
        if let (Some(red), Some(green), Some(blue)) = (next(), next(), next()) {
            let colour = DVec3::new(red, green, blue);
            if colour.is_finite() {
                self.draft.colours.push(colour);
            }
        }
    }

    fn uv(&mut self, line: &Line, mut words: Words<'_>) -> Result<(), Flaw> {
        let Some(first) = words.next() else {
            return Err(Flaw::syntax(line.place(), "expected two numbers after `vt`"));
        };
        let u = number(&self.bytes[first], line.place())?;
        let v = words.next().map_or(Ok(0.0), |word| number(&self.bytes[word], line.place()))?;
        if !u.is_finite() || !v.is_finite() {
            let detail = "a uv coordinate is not a finite number";
            return Err(Flaw::new(line.place(), FindingKind::NotFinite, detail));
        }
        self.draft.uv_coordinates.push(DVec2::new(u, v));
        Ok(())
    }

    fn face(&mut self, line: &Line, words: Words<'_>) -> Result<(), Flaw> {
        self.corners.clear();
        self.uv_corners.clear();
        let mut any_uv = false;
        for word in words {
            let word = &self.bytes[word];
            if word.starts_with(b"#") {
                break;
            }
            let mut parts = word.split(|&byte| byte == b'/');
            let vertex = parts.next().unwrap_or_default();
            let vertex = self.index(vertex, Array::Vertices, line)?;
            self.corners.push(vertex);
            let uv = match parts.next() {
                None | Some(b"") => NO_UV,
                Some(uv) => self.index(uv, Array::Uvs, line)?,
            };
            any_uv |= uv != NO_UV;
            self.uv_corners.push(uv);
            match parts.next() {
                None | Some(b"") => {}
                Some(normal) => {
                    self.index(normal, Array::Normals, line)?;
                }
            }
        }
        if self.corners.len() < 3 {
            let detail = format!("expected three or more corners after `f`, found {}", self.corners.len());
            return Err(Flaw::syntax(line.place(), detail));
        }
        let uv: &[u32] = if any_uv { &self.uv_corners } else { &[] };
        self.draft.push_face(&self.corners, uv, line.place())
    }

    /// An index counted from 0, from one counted from 1, or from -1 backwards.
    fn index(&mut self, word: &[u8], array: Array, line: &Line) -> Result<u32, Flaw> {
        let count = self.count(array);
        let value = parse_integer(word).filter(|&value| value != 0).ok_or_else(|| {
            let detail = format!("expected the number of a {} from 1 on, found `{}`", array.what(), shown(word));
            Flaw::syntax(line.place(), detail)
        })?;
        let index = if value > 0 { value - 1 } else { count as i64 + value };
        match u32::try_from(index) {
            Ok(index) if index != NO_UV => {
                if index as usize >= count {
                    self.ahead.push((line.number, array, index));
                }
                Ok(index)
            }
            _ => Err(out_of_range(line.number, array, value, count)),
        }
    }

    fn count(&self, array: Array) -> usize {
        match array {
            Array::Vertices => self.draft.positions.len(),
            Array::Uvs => self.draft.uv_coordinates.len(),
            Array::Normals => self.normal_count,
        }
    }

    fn segments(&mut self, line: &Line, words: Words<'_>) -> Result<(), Flaw> {
        let mut last = None;
        for word in words {
            let word = self.bytes[word].split(|&byte| byte == b'/').next().unwrap_or_default();
            let vertex = self.index(word, Array::Vertices, line)?;
            if let Some(last) = last.replace(vertex) {
                self.draft.lines.push([last, vertex]);
            }
        }
        Ok(())
    }

    fn stitch(&mut self, line: &Line, mut words: Words<'_>) -> Result<(), Flaw> {
        let mut next = || words.next().map(|word| &self.bytes[word]);
        let mut vertices = [0; 3];
        for vertex in &mut vertices {
            let index = next().and_then(parse_integer).and_then(|value| u32::try_from(value).ok());
            *vertex = index.ok_or_else(|| {
                Flaw::syntax(line.place(), "expected `stitch vertex edge edge weight`, vertices counted from 0")
            })?;
        }
        let weight = next().map_or(Ok(0.0), |word| number(word, line.place()))?;
        for vertex in vertices {
            self.ahead.push((line.number, Array::Vertices, vertex));
        }
        self.draft.stitches.push(Stitch { vertex: vertices[0], edge: [vertices[1], vertices[2]], weight });
        Ok(())
    }

    fn finish(mut self) -> Result<Draft, Flaw> {
        for &(line, array, index) in &self.ahead {
            let count = self.count(array);
            if index as usize >= count {
                return Err(out_of_range(line, array, i64::from(index) + 1, count));
            }
        }
        if self.freeform_count > 0 {
            let finding = Finding::new(FindingKind::LeftOut, self.freeform_count, "a free-form curve or surface");
            self.draft.findings.push(finding);
        }
        Ok(self.draft)
    }
}

fn out_of_range(line: usize, array: Array, value: i64, count: usize) -> Flaw {
    let detail = format!("names {} {value}, the file has {count}", array.what());
    Flaw::new(Place::Line(line), FindingKind::IndexOutOfRange, detail)
}

/// An OBJ file from scratch.
pub(super) fn encode(file: &MeshFile, conversion: &Conversion) -> Vec<u8> {
    let mut out = Vec::new();
    for library in &file.material_libraries {
        push_words(&mut out, "mtllib", library);
    }
    let colours = file.whole_colours();
    for (vertex, &position) in file.mesh.positions.iter().enumerate() {
        let place = conversion.to_file(position).to_array();
        match colours {
            None => push_numbers(&mut out, "v", &place),
            Some(colours) => {
                let [x, y, z] = place;
                let [red, green, blue] = colours[vertex].as_vec3().to_array().map(f64::from);
                push_numbers(&mut out, "v", &[x, y, z, red, green, blue]);
            }
        }
    }
    for uv in file.uv.iter().flat_map(|uv| &uv.coordinates) {
        push_numbers(&mut out, "vt", &uv.to_array());
    }
    let normal_count = file.normals.as_ref().map_or(0, Vec::len);
    for normal in (0..normal_count).filter_map(|vertex| file.normal_in(conversion, vertex as u32)) {
        push_numbers(&mut out, "vn", &normal.as_vec3().to_array().map(f64::from));
    }
    let mut names: [Option<&str>; 4] = [None; 4];
    file.for_each_face(|face| {
        // Other kinds of files may hold faces that OBJ cannot.
        if face.corners.len() < 3 {
            return;
        }
        let labels = [&file.objects, &file.groups, &file.materials, &file.smoothing];
        for ((labels, keyword), last) in labels.into_iter().zip(["o", "g", "usemtl", "s"]).zip(&mut names) {
            let Some(triangle) = face.triangle.filter(|_| !labels.is_empty()) else { continue };
            let name = labels.name(triangle);
            if *last != Some(name) && !(name.is_empty() && last.is_none()) {
                push_words(&mut out, keyword, name);
                *last = Some(name);
            }
        }
        out.push(b'f');
        for (at, &corner) in face.corners.iter().enumerate() {
            push_index(&mut out, b' ', corner);
            let uv = face.uv_corners.get(at);
            if let Some(&uv) = uv {
                push_index(&mut out, b'/', uv);
            }
            if (corner as usize) < normal_count {
                if uv.is_none() {
                    out.push(b'/');
                }
                push_index(&mut out, b'/', corner);
            }
        }
        out.push(b'\n');
    });
    for [a, b] in &file.lines {
        out.extend(format!("l {} {}\n", u64::from(*a) + 1, u64::from(*b) + 1).into_bytes());
    }
    for Stitch { vertex, edge: [a, b], weight } in &file.stitches {
        out.extend(format!("stitch {vertex} {a} {b} ").into_bytes());
        push_number(&mut out, *weight, Precision::Double);
        out.push(b'\n');
    }
    out
}

/// A sign and an index, which OBJ counts from 1.
fn push_index(out: &mut Vec<u8>, sign: u8, index: u32) {
    out.push(sign);
    let mut digits = [0; 10];
    let mut left = u64::from(index) + 1;
    let mut first = digits.len();
    while left > 0 {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&digits[first..]);
}

fn push_words(out: &mut Vec<u8>, keyword: &str, rest: &str) {
    out.extend_from_slice(keyword.as_bytes());
    if !rest.is_empty() {
        out.push(b' ');
        out.extend(rest.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte }));
        // A backslash at the very end would join the next line to this one.
        if rest.ends_with('\\') {
            out.push(b' ');
        }
    }
    out.push(b'\n');
}

fn push_numbers(out: &mut Vec<u8>, keyword: &str, values: &[f64]) {
    out.extend_from_slice(keyword.as_bytes());
    for &value in values {
        out.push(b' ');
        push_number(out, value, Precision::Double);
    }
    out.push(b'\n');
}
