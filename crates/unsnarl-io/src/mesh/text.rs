//! Scanning text files as bytes: lines with their numbers, words with their places, numbers in and out.
//!
//! Guarantees: numbers written here read back bit-identical; a file may hold any bytes outside the words that are read.

use super::error::{Flaw, Place};
use std::ops::Range;
use unsnarl_geometry::DVec3;

/// A logical line: its number and its bytes, without the line end.
#[derive(Clone)]
pub(super) struct Line {
    pub number: usize,
    pub range: Range<usize>,
}

impl Line {
    pub fn place(&self) -> Place {
        Place::Line(self.number)
    }
}

/// The lines of a text; `\n`, `\r\n` and `\r` end a line.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
    continuation: Continuation,
}

/// Whether a backslash at the end of a line joins it to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Continuation {
    Backslash,
    None,
}

impl<'a> Lines<'a> {
    pub fn new(bytes: &'a [u8], continuation: Continuation) -> Self {
        Self { bytes, at: 0, number: 0, continuation }
    }

    fn end_of_line(&self, from: usize) -> (usize, usize) {
        let length = self.bytes[from..].iter().position(|&byte| byte == b'\n' || byte == b'\r');
        match length.map(|length| from + length) {
            None => (self.bytes.len(), self.bytes.len()),
            Some(end) if self.bytes[end] == b'\r' && self.bytes.get(end + 1) == Some(&b'\n') => (end, end + 2),
            Some(end) => (end, end + 1),
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        self.number += 1;
        let number = self.number;
        let (mut end, mut next) = self.end_of_line(start);
        while self.continuation == Continuation::Backslash
            && end > start
            && self.bytes[end - 1] == b'\\'
            && next < self.bytes.len()
        {
            self.number += 1;
            (end, next) = self.end_of_line(next);
        }
        self.at = next;
        Some(Line { number, range: start..end })
    }
}

/// The words of a stretch of text, with their places in it; a lone backslash is space.
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Words<'a> {
    pub fn new(bytes: &'a [u8], range: Range<usize>) -> Self {
        Self { bytes, at: range.start, end: range.end }
    }

    /// What is left of the text, without space around it.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes[self.at..self.end].trim_ascii()
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            while self.at < self.end && self.bytes[self.at].is_ascii_whitespace() {
                self.at += 1;
            }
            let start = self.at;
            while self.at < self.end && !self.bytes[self.at].is_ascii_whitespace() {
                self.at += 1;
            }
            match &self.bytes[start..self.at] {
                b"" => return None,
                b"\\" => continue,
                _ => return Some(start..self.at),
            }
        }
    }
}

/// A number, or a flaw that shows the word.
pub(super) fn number(word: &[u8], place: Place) -> Result<f64, Flaw> {
    parse_number(word).ok_or_else(|| Flaw::syntax(place, format!("expected a number, found `{}`", shown(word))))
}

pub(super) fn parse_number(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

pub(super) fn parse_integer(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A few bytes of a file for a message: one line, printable, short.
pub(super) fn shown(word: &[u8]) -> String {
    let cut = &word[..word.len().min(40)];
    let mut text: String = String::from_utf8_lossy(cut).chars().flat_map(char::escape_debug).collect();
    if word.len() > 40 {
        text.push('…');
    }
    text
}

/// A name from a file; bytes that are not UTF-8 are replaced.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How many digits a format keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Bytes of a number.
    pub fn width(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The nearest number that the format can hold.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::Single => f64::from(value as f32),
            Self::Double => value,
        }
    }

    pub fn round_point(self, point: DVec3) -> DVec3 {
        DVec3::from_array(point.to_array().map(|value| self.round(value)))
    }
}

/// Appends the shortest text that reads back as the same number.
pub(super) fn push_number(out: &mut Vec<u8>, value: f64, precision: Precision) {
    use std::io::Write;
    let magnitude = value.abs();
    let plain = magnitude == 0.0 || (1e-5..1e16).contains(&magnitude);
    let written = match (precision, plain) {
        (Precision::Double, true) => write!(out, "{value}"),
        (Precision::Double, false) => write!(out, "{value:e}"),
        (Precision::Single, true) => write!(out, "{}", value as f32),
        (Precision::Single, false) => write!(out, "{:e}", value as f32),
    };
    written.expect("memory takes every byte");
}

/// Appends three numbers.
pub(super) fn push_point(out: &mut Vec<u8>, point: DVec3, separator: &str, precision: Precision) {
    push_number(out, point.x, precision);
    out.extend_from_slice(separator.as_bytes());
    push_number(out, point.y, precision);
    out.extend_from_slice(separator.as_bytes());
    push_number(out, point.z, precision);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_end_in_three_ways_and_continue_after_a_backslash() {
        let text = b"a\nb\r\nc\rd \\\ne\n";
        let lines: Vec<_> = Lines::new(text, Continuation::Backslash).collect();
        let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        let words: Vec<_> = Words::new(text, lines[3].range.clone()).map(|word| text[word].to_vec()).collect();
        assert_eq!(words, [b"d".to_vec(), b"e".to_vec()]);
    }

    proptest! {
        #[test]
        fn numbers_read_back_bit_identical(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let mut out = Vec::new();
            push_number(&mut out, value, Precision::Double);
            prop_assert_eq!(parse_number(&out).map(f64::to_bits), Some(bits));
        }
    }
}
