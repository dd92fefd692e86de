//! The bytes of the file a mesh came from, with the places of its positions.
//!
//! Writing a mesh back to the same kind of file copies these bytes and replaces only the positions that changed, so
//! that everything else in the file (normals, colours, comments, materials, polygons) survives untouched.
//!
//! Guarantees: a file whose positions did not change is written back byte for byte. A file that declares 32-bit
//! positions is declared 64-bit when the new positions need it and the format allows it.
//! Does not: follow changes of connectivity; [`super::MeshFile`] then writes a file from scratch.

use super::text::{Precision, parse_number, push_point};
use super::units::Conversion;
use std::ops::Range;
use unsnarl_geometry::DVec3;
use unsnarl_geometry::math::DAffine3;

#[derive(Debug)]
pub(super) struct Source {
    pub bytes: Vec<u8>,
    /// Where positions are; `None` when the file has to be written from scratch once a position changes.
    pub patches: Option<Patches>,
    pub vertex_count: usize,
    pub triangles_at_load: u64,
    pub positions_at_load: u64,
}

/// Where and how a file spells its positions.
#[derive(Debug)]
pub(super) struct Patches {
    /// In the order of the file.
    pub places: Vec<PositionPlace>,
    pub spelling: Spelling,
    /// From the coordinates at a place to the file's world; empty when they are the same.
    pub frames: Vec<DAffine3>,
    /// The words that declare 32-bit positions and can be replaced by `double`; before the first place.
    pub widening: Vec<Range<usize>>,
}

/// Where the bytes of a file hold the position of a vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionPlace {
    pub start: usize,
    pub length: u32,
    pub vertex: u32,
    pub frame: u32,
}

/// How a file spells three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Text { separator: &'static str, precision: Precision },
    Binary { order: ByteOrder, precision: Precision },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl Spelling {
    fn precision(self) -> Precision {
        match self {
            Self::Text { precision, .. } | Self::Binary { precision, .. } => precision,
        }
    }

    fn parse(self, bytes: &[u8]) -> Option<DVec3> {
        let mut point = [0.0; 3];
        match self {
            Self::Text { precision, .. } => {
                let words = bytes.split(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'\\'));
                let mut values = words.filter(|word| !word.is_empty()).filter_map(parse_number);
                for value in &mut point {
                    *value = precision.round(values.next()?);
                }
            }
            Self::Binary { order, precision } => {
                let width = precision.width();
                for (at, value) in point.iter_mut().enumerate() {
                    *value = decode(bytes.get(at * width..(at + 1) * width)?, order, precision)?;
                }
            }
        }
        Some(DVec3::from_array(point))
    }

    pub fn push(self, out: &mut Vec<u8>, point: DVec3) {
        match self {
            Self::Text { separator, precision } => push_point(out, point, separator, precision),
            Self::Binary { order, precision } => {
                for value in point.to_array() {
                    match (precision, order) {
                        (Precision::Single, ByteOrder::Little) => out.extend((value as f32).to_le_bytes()),
                        (Precision::Single, ByteOrder::Big) => out.extend((value as f32).to_be_bytes()),
                        (Precision::Double, ByteOrder::Little) => out.extend(value.to_le_bytes()),
                        (Precision::Double, ByteOrder::Big) => out.extend(value.to_be_bytes()),
                    }
                }
            }
        }
    }

    fn widened(self) -> Self {
        match self {
            Self::Text { separator, .. } => Self::Text { separator, precision: Precision::Double },
            Self::Binary { order, .. } => Self::Binary { order, precision: Precision::Double },
        }
    }
}

/// A number of 4 or 8 bytes.
pub(super) fn decode(bytes: &[u8], order: ByteOrder, precision: Precision) -> Option<f64> {
    Some(match (precision, order) {
        (Precision::Single, ByteOrder::Little) => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        (Precision::Single, ByteOrder::Big) => f64::from(f32::from_be_bytes(bytes.try_into().ok()?)),
        (Precision::Double, ByteOrder::Little) => f64::from_le_bytes(bytes.try_into().ok()?),
        (Precision::Double, ByteOrder::Big) => f64::from_be_bytes(bytes.try_into().ok()?),
    })
}

impl Source {
    /// The file with other positions; `None` when it has to be written from scratch.
    pub fn with_positions(&self, positions: &[DVec3], conversion: &Conversion) -> Option<Vec<u8>> {
        if position_fingerprint(positions) == self.positions_at_load {
            return Some(self.bytes.clone());
        }
        Some(self.patches.as_ref()?.apply(&self.bytes, positions, conversion))
    }

    /// The positions that the file of [`Source::with_positions`] holds; `None` when it is written from scratch.
    pub fn stored(&self, positions: &[DVec3], conversion: &Conversion) -> Option<Vec<DVec3>> {
        let mut stored = positions.to_vec();
        if position_fingerprint(positions) == self.positions_at_load {
            return Some(stored);
        }
        let patches = self.patches.as_ref()?;
        let widen = patches.must_widen(positions, conversion);
        for place in &patches.places {
            let vertex = place.vertex as usize;
            if widen || patches.held(&self.bytes, place, conversion) != Some(positions[vertex]) {
                let point = patches.written(place, positions[vertex], conversion, widen);
                stored[vertex] = patches.to_world(place, point, conversion);
            }
        }
        Some(stored)
    }
}

impl Patches {
    /// The position that the file holds at a place.
    fn held(&self, bytes: &[u8], place: &PositionPlace, conversion: &Conversion) -> Option<DVec3> {
        let point = self.spelling.parse(bytes.get(place.start..place.start + place.length as usize)?)?;
        Some(self.to_world(place, point, conversion))
    }

    fn to_world(&self, place: &PositionPlace, point: DVec3, conversion: &Conversion) -> DVec3 {
        match self.frames.get(place.frame as usize) {
            None => conversion.from_file(point),
            Some(frame) => conversion.from_file(frame.transform_point3(point)),
        }
    }

    fn to_local(&self, place: &PositionPlace, position: DVec3, conversion: &Conversion) -> DVec3 {
        let point = conversion.to_file(position);
        match self.frames.get(place.frame as usize) {
            None => point,
            Some(frame) => frame.inverse().transform_point3(point),
        }
    }

    /// Whether positions need more digits than the file declares, and the file can be declared otherwise.
    fn must_widen(&self, positions: &[DVec3], conversion: &Conversion) -> bool {
        self.spelling.precision() == Precision::Single
            && !self.widening.is_empty()
            && positions.iter().any(|&position| {
                let point = conversion.to_file(position);
                Precision::Single.round_point(point) != point
            })
    }

    /// The point that the file gets for a position: a position that was read from such a file keeps its point, whatever
    /// rounding the frame and the units bring.
    fn written(&self, place: &PositionPlace, position: DVec3, conversion: &Conversion, widen: bool) -> DVec3 {
        let precision = if widen { Precision::Double } else { self.spelling.precision() };
        let rounded = |position: DVec3| precision.round_point(self.to_local(place, position, conversion));
        let settled = settle(position, |position| self.to_world(place, rounded(position), conversion));
        rounded(settled)
    }

    fn apply(&self, bytes: &[u8], positions: &[DVec3], conversion: &Conversion) -> Vec<u8> {
        let widen = self.must_widen(positions, conversion);
        let spelling = if widen { self.spelling.widened() } else { self.spelling };
        let mut out = Vec::with_capacity(bytes.len() + 8 * positions.len());
        let mut copied = 0;
        if widen {
            for word in &self.widening {
                out.extend_from_slice(&bytes[copied..word.start]);
                out.extend_from_slice(b"double");
                copied = word.end;
            }
        }
        for place in &self.places {
            let position = positions[place.vertex as usize];
            if !widen && self.held(bytes, place, conversion) == Some(position) {
                continue;
            }
            out.extend_from_slice(&bytes[copied..place.start]);
            spelling.push(&mut out, self.written(place, position, conversion, widen));
            copied = place.start + place.length as usize;
        }
        out.extend_from_slice(&bytes[copied..]);
        out
    }
}

/// Writing and reading can move the last bit when units are scaled; a few rounds reach a value that stays.
pub(super) fn settle(position: DVec3, write_and_read: impl Fn(DVec3) -> DVec3) -> DVec3 {
    let mut position = position;
    for _ in 0..4 {
        let again = write_and_read(position);
        if again == position {
            break;
        }
        position = again;
    }
    position
}

/// A number that changes when triangles do.
pub(super) fn triangle_fingerprint(triangles: &[[u32; 3]]) -> u64 {
    fingerprint(triangles.iter().flatten().map(|&vertex| u64::from(vertex)))
}

/// A number that changes when any bit of a position does.
pub(super) fn position_fingerprint(positions: &[DVec3]) -> u64 {
    fingerprint(positions.iter().flat_map(|position| position.to_array()).map(f64::to_bits))
}

fn fingerprint(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}
