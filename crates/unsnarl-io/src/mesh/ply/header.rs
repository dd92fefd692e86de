//! The header of a PLY file.

use super::super::error::Flaw;
use super::super::findings::FindingKind;
use super::super::source::ByteOrder;
use super::super::text::{Continuation, Line, Lines, Words, name, parse_integer, shown};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Binary(ByteOrder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Float32,
    Float64,
}

impl Number {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"char" | b"int8" => Self::Int8,
            b"uchar" | b"uint8" => Self::Uint8,
            b"short" | b"int16" => Self::Int16,
            b"ushort" | b"uint16" => Self::Uint16,
            b"int" | b"int32" => Self::Int32,
            b"uint" | b"uint32" => Self::Uint32,
            b"float" | b"float32" => Self::Float32,
            b"double" | b"float64" => Self::Float64,
            _ => return None,
        })
    }

    /// Bytes in a binary file.
    pub fn width(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One(Number),
    /// The type of the count, and of the items.
    List(Number, Number),
}

#[derive(Debug)]
pub(super) struct Property {
    pub name: String,
    pub shape: Shape,
    /// Where the header says the type of the value.
    pub type_word: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Element {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
    pub line: usize,
}

impl Element {
    pub fn property(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name)
    }

    /// How many rows to read: rows without properties take no room, so there is nothing to read.
    pub fn rows(&self) -> usize {
        if self.properties.is_empty() { 0 } else { self.count }
    }
}

#[derive(Debug)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Where the data start: the byte and the line.
    pub end: usize,
    pub end_line: usize,
}

impl Header {
    pub fn parse(bytes: &[u8]) -> Result<Self, Flaw> {
        let mut lines = Lines::new(bytes, Continuation::None);
        let magic = lines.next().filter(|line| bytes[line.range.clone()].trim_ascii() == b"ply");
        let Some(magic) = magic else {
            return Err(Flaw::syntax(super::Place::Line(1), "expected `ply` in the first line"));
        };
        let mut header = Self { encoding: Encoding::Text, elements: Vec::new(), end: 0, end_line: magic.number };
        let mut encoding = None;
        for line in &mut lines {
            let mut words = Words::new(bytes, line.range.clone());
            let Some(keyword) = words.next() else { continue };
            match &bytes[keyword] {
                b"format" => encoding = Some(parse_format(bytes, words, &line)?),
                b"comment" | b"obj_info" => {}
                b"element" => header.elements.push(parse_element(bytes, words, &line)?),
                b"property" => {
                    let property = parse_property(bytes, words, &line)?;
                    let Some(element) = header.elements.last_mut() else {
                        return Err(Flaw::syntax(line.place(), "expected `element` before `property`"));
                    };
                    element.properties.push(property);
                }
                b"end_header" => {
                    header.end = after_line(bytes, line.range.end);
                    header.end_line = line.number;
                    header.encoding = encoding
                        .ok_or_else(|| Flaw::syntax(line.place(), "expected a line `format` before `end_header`"))?;
                    return Ok(header);
                }
                other => {
                    let detail = format!("expected a header line, found `{}`", shown(other));
                    return Err(Flaw::syntax(line.place(), detail));
                }
            }
        }
        Err(Flaw::new(super::Place::Whole, FindingKind::Truncated, "the header has no `end_header`"))
    }

    /// The words that declare x, y and z as 32-bit, in the order of the file.
    pub fn float_positions(&self) -> Vec<Range<usize>> {
        let vertex = self.elements.iter().filter(|element| element.name == "vertex");
        let axes = vertex.flat_map(|element| &element.properties).filter(|property| {
            ["x", "y", "z"].contains(&property.name.as_str()) && property.shape == Shape::One(Number::Float32)
        });
        axes.map(|property| property.type_word.clone()).collect()
    }
}

/// The byte after the line end at `end`.
fn after_line(bytes: &[u8], end: usize) -> usize {
    match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([_, ..]) => end + 1,
        _ => end,
    }
}

fn parse_format(bytes: &[u8], mut words: Words<'_>, line: &Line) -> Result<Encoding, Flaw> {
    let word = words.next().map_or(&b""[..], |word| &bytes[word]);
    match word {
        b"ascii" => Ok(Encoding::Text),
        b"binary_little_endian" => Ok(Encoding::Binary(ByteOrder::Little)),
        b"binary_big_endian" => Ok(Encoding::Binary(ByteOrder::Big)),
        other => {
            let expected = "expected `ascii`, `binary_little_endian` or `binary_big_endian`";
            Err(Flaw::syntax(line.place(), format!("{expected}, found `{}`", shown(other))))
        }
    }
}

fn parse_element(bytes: &[u8], mut words: Words<'_>, line: &Line) -> Result<Element, Flaw> {
    let own_name = words.next().map(|word| name(&bytes[word]));
    let count = words.next().and_then(|word| parse_integer(&bytes[word])).and_then(|count| usize::try_from(count).ok());
    match (own_name, count) {
        (Some(name), Some(count)) => Ok(Element { name, count, properties: Vec::new(), line: line.number }),
        _ => Err(Flaw::syntax(line.place(), "expected `element NAME COUNT`")),
    }
}

fn parse_property(bytes: &[u8], mut words: Words<'_>, line: &Line) -> Result<Property, Flaw> {
    let fail = || Flaw::syntax(line.place(), "expected `property TYPE NAME` or `property list TYPE TYPE NAME`");
    let first = words.next().ok_or_else(fail)?;
    let (shape, type_word) = if &bytes[first.clone()] == b"list" {
        let count = words.next().and_then(|word| Number::from_name(&bytes[word])).ok_or_else(fail)?;
        let word = words.next().ok_or_else(fail)?;
        let item = Number::from_name(&bytes[word.clone()]).ok_or_else(fail)?;
        if matches!(count, Number::Float32 | Number::Float64) {
            return Err(Flaw::syntax(line.place(), "expected a whole number type for the length of a list"));
        }
        (Shape::List(count, item), word)
    } else {
        (Shape::One(Number::from_name(&bytes[first.clone()]).ok_or_else(fail)?), first)
    };
    let name = words.next().map(|word| name(&bytes[word])).ok_or_else(fail)?;
    Ok(Property { name, shape, type_word })
}
