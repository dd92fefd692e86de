//! The data of a PLY file, row by row, in any of its three encodings.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use super::super::source::ByteOrder;
use super::super::text::{Words, parse_number, shown};
use super::header::{Element, Encoding, Header, Number, Shape};
use std::ops::Range;

/// The values of one row, by property; kept from row to row to spare memory.
#[derive(Default)]
pub(super) struct Row {
    /// Plain numbers; 0 for lists.
    pub numbers: Vec<f64>,
    /// Where the plain numbers are in the file.
    pub spans: Vec<Range<usize>>,
    /// Lists; empty for plain numbers.
    pub lists: Vec<Vec<f64>>,
}

/// Goes through the data of a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
    at: usize,
    /// Line of `line_start`, for messages about text files.
    line: usize,
    line_start: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], header: &Header) -> Self {
        let (at, line) = (header.end, header.end_line + 1);
        Self { bytes, encoding: header.encoding, at, line, line_start: at }
    }

    /// Where reading stands.
    pub fn place(&mut self) -> Place {
        if self.encoding != Encoding::Text {
            return Place::Byte(self.at);
        }
        let mut end = self.at;
        while self.bytes.get(end).is_some_and(u8::is_ascii_whitespace) {
            end += 1;
        }
        self.line += self.bytes[self.line_start..end].iter().filter(|&&byte| byte == b'\n').count();
        self.line_start = end;
        Place::Line(self.line)
    }

    /// Refuses an element whose rows cannot fit into what is left of the file.
    pub fn check_promise(&self, element: &Element) -> Result<(), Flaw> {
        let row_bytes: usize = match self.encoding {
            // A number and the space after it; the last one may end the file.
            Encoding::Text => 2 * element.properties.len(),
            Encoding::Binary(_) => element.properties.iter().map(|property| smallest_width(property.shape)).sum(),
        };
        let left = self.bytes.len() - self.at;
        if element.count.checked_mul(row_bytes).is_some_and(|promised| promised <= left + 1) {
            return Ok(());
        }
        let detail = format!(
            "promises {} rows of `{}`, at least {row_bytes} bytes each; {left} bytes are left",
            element.count, element.name
        );
        Err(Flaw::new(Place::Line(element.line), FindingKind::PromisesTooMuch, detail))
    }

    /// Reads the next row of an element.
    pub fn row(&mut self, element: &Element, row: &mut Row) -> Result<(), Flaw> {
        row.numbers.clear();
        row.spans.clear();
        row.lists.resize_with(element.properties.len(), Vec::new);
        for (property, list) in element.properties.iter().zip(&mut row.lists) {
            list.clear();
            match property.shape {
                Shape::One(number) => {
                    let (value, span) = self.number(number)?;
                    row.numbers.push(value);
                    row.spans.push(span);
                }
                Shape::List(count, item) => {
                    self.list(count, item, list)?;
                    row.numbers.push(0.0);
                    row.spans.push(self.at..self.at);
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, count: Number, item: Number, list: &mut Vec<f64>) -> Result<(), Flaw> {
        let place = self.place();
        let (count, _) = self.number(count)?;
        let width = if self.encoding == Encoding::Text { 1 } else { item.width() };
        let left = (self.bytes.len() - self.at) / width;
        if count < 0.0 || count.fract() != 0.0 {
            return Err(Flaw::syntax(place, format!("expected the length of a list, found {count}")));
        }
        if count > left as f64 {
            let detail = format!("a list promises {count} numbers, the file has room for {left}");
            return Err(Flaw::new(place, FindingKind::PromisesTooMuch, detail));
        }
        for _ in 0..count as usize {
            list.push(self.number(item)?.0);
        }
        Ok(())
    }

    /// The next number and where it is.
    fn number(&mut self, number: Number) -> Result<(f64, Range<usize>), Flaw> {
        match self.encoding {
            Encoding::Text => {
                let mut words = Words::new(self.bytes, self.at..self.bytes.len());
                let Some(word) = words.next() else { return Err(self.truncated()) };
                let text = &self.bytes[word.clone()];
                let Some(value) = parse_number(text) else {
                    let detail = format!("expected a number, found `{}`", shown(text));
                    return Err(Flaw::syntax(self.place(), detail));
                };
                self.at = word.end;
                let value = if number == Number::Float32 { f64::from(value as f32) } else { value };
                Ok((value, word))
            }
            Encoding::Binary(order) => {
                let span = self.at..self.at + number.width();
                let Some(bytes) = self.bytes.get(span.clone()) else { return Err(self.truncated()) };
                self.at = span.end;
                Ok((decode(bytes, number, order), span))
            }
        }
    }

    fn truncated(&mut self) -> Flaw {
        let place = self.place();
        Flaw::new(place, FindingKind::Truncated, "the file ends in the middle of its data")
    }
}

/// The least room that a value takes in a binary file.
fn smallest_width(shape: Shape) -> usize {
    match shape {
        Shape::One(number) | Shape::List(number, _) => number.width(),
    }
}

/// A number of as many bytes as its type has.
fn decode(bytes: &[u8], number: Number, order: ByteOrder) -> f64 {
    let mut raw = [0u8; 8];
    for (at, &byte) in bytes.iter().enumerate() {
        match order {
            ByteOrder::Little => raw[at] = byte,
            ByteOrder::Big => raw[bytes.len() - 1 - at] = byte,
        }
    }
    let value = u64::from_le_bytes(raw);
    match number {
        Number::Int8 => f64::from(value as i8),
        Number::Uint8 => f64::from(value as u8),
        Number::Int16 => f64::from(value as i16),
        Number::Uint16 => f64::from(value as u16),
        Number::Int32 => f64::from(value as i32),
        Number::Uint32 => f64::from(value as u32),
        Number::Float32 => f64::from(f32::from_bits(value as u32)),
        Number::Float64 => f64::from_bits(value),
    }
}
