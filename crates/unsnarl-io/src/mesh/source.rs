//! The bytes of the file a mesh came from, with the places of its positions.
//!
//! Writing a mesh back to the same kind of file copies these bytes and replaces only the positions that changed, so
//! that everything else in the file (normals, colours, comments, materials, polygons) survives untouched.
//!
//! Guarantees: a file whose positions did not change is written back byte for byte.
//! Does not: follow changes of connectivity; [`super::MeshFile`] then writes a file from scratch.

use super::text::{Precision, parse_number, push_point};
use super::units::Conversion;
use unsnarl_geometry::DVec3;

/// Where the bytes of a file hold the position of a vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionPlace {
    pub start: usize,
    pub length: u32,
    pub vertex: u32,
}

/// How a file spells its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Three numbers with something between them.
    Text { separator: &'static str, precision: Precision },
    /// Three little-endian 32-bit numbers.
    SingleLittleEndian,
}

#[derive(Debug)]
pub(super) struct Source {
    pub bytes: Vec<u8>,
    pub places: Vec<PositionPlace>,
    pub spelling: Spelling,
    /// Of the triangles at load.
    pub fingerprint: u64,
    pub vertex_count: usize,
}

impl Source {
    /// The position that the file holds at a place.
    pub fn held(&self, place: &PositionPlace, conversion: &Conversion) -> Option<DVec3> {
        let bytes = &self.bytes[place.start..place.start + place.length as usize];
        let point = match self.spelling {
            Spelling::SingleLittleEndian => {
                let (numbers, _) = bytes.as_chunks::<4>();
                let mut values = numbers.iter().map(|number| f64::from(f32::from_le_bytes(*number)));
                DVec3::new(values.next()?, values.next()?, values.next()?)
            }
            Spelling::Text { precision, .. } => {
                let mut values = bytes
                    .split(|byte| byte.is_ascii_whitespace() || *byte == b',' || *byte == b'\\')
                    .filter(|word| !word.is_empty())
                    .filter_map(parse_number)
                    .map(|value| if precision == Precision::Single { f64::from(value as f32) } else { value });
                DVec3::new(values.next()?, values.next()?, values.next()?)
            }
        };
        Some(conversion.from_file(point))
    }

    /// The file with other positions.
    pub fn patched(&self, positions: &[DVec3], conversion: &Conversion) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 8 * positions.len());
        let mut copied = 0;
        for place in &self.places {
            let position = positions[place.vertex as usize];
            if self.held(place, conversion) == Some(position) {
                continue;
            }
            out.extend_from_slice(&self.bytes[copied..place.start]);
            let point = conversion.to_file(position);
            match self.spelling {
                Spelling::Text { separator, precision } => push_point(&mut out, point, separator, precision),
                Spelling::SingleLittleEndian => {
                    point.to_array().iter().for_each(|&value| out.extend((value as f32).to_le_bytes()));
                }
            }
            copied = place.start + place.length as usize;
        }
        out.extend_from_slice(&self.bytes[copied..]);
        out
    }
}

/// A number that changes when triangles do.
pub(super) fn fingerprint(triangles: &[[u32; 3]]) -> u64 {
    triangles.iter().flatten().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &vertex| {
        (hash ^ u64::from(vertex)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
    })
}
