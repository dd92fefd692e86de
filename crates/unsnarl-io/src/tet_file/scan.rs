//! Going through a file of text, of numbers in binary, or of both in turn.
//!
//! Guarantees: every step checks what is left; a count is believed only if the rest of the file can hold it.

use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A line, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, ":{line}"),
            Self::Byte(byte) => write!(f, ": byte {byte}"),
            Self::Whole => Ok(()),
        }
    }
}

/// What is wrong, before the file's name is added.
#[derive(Debug)]
pub(super) struct Flaw {
    pub place: Place,
    pub what: String,
}

impl Flaw {
    pub fn new(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }

    pub fn whole(what: impl Into<String>) -> Self {
        Self::new(Place::Whole, what)
    }
}

/// The order of bytes of binary numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

/// A place that moves through the bytes of a file.
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Lines ended so far; counted while text is read.
    lines: usize,
    /// From this sign to the end of its line is no text.
    comment: Option<u8>,
    binary: bool,
}

impl<'a> Scanner<'a> {
    pub fn new(bytes: &'a [u8], comment: Option<u8>) -> Self {
        Self { bytes, at: 0, lines: 0, comment, binary: false }
    }

    /// From here on places are told as bytes.
    pub fn has_binary(&mut self) {
        self.binary = true;
    }

    pub fn place(&self) -> Place {
        if self.binary { Place::Byte(self.at) } else { Place::Line(self.lines + 1) }
    }

    pub fn flaw(&self, what: impl Into<String>) -> Flaw {
        Flaw::new(self.place(), what)
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Passes over space and comments.
    fn skip_space(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\n' {
                self.lines += 1;
            } else if Some(byte) == self.comment {
                let length = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
                self.at = length.map_or(self.bytes.len(), |length| self.at + length);
                continue;
            } else if !byte.is_ascii_whitespace() {
                return;
            }
            self.at += 1;
        }
    }

    /// The next word, if there is one.
    pub fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| !byte.is_ascii_whitespace() && Some(*byte) != self.comment) {
            self.at += 1;
        }
        (self.at > start).then(|| &self.bytes[start..self.at])
    }

    /// The next word, left where it is.
    pub fn peek(&mut self) -> Option<&'a [u8]> {
        let (at, lines) = (self.at, self.lines);
        let word = self.word();
        (self.at, self.lines) = (at, lines);
        word
    }

    /// The rest of this line, and on to the next.
    pub fn line(&mut self) -> Option<&'a [u8]> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.bytes.len());
        self.lines += 1;
        Some(rest[..length].trim_ascii())
    }

    /// On to the words of the same line only.
    pub fn words_of_line(&mut self) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        self.skip_space();
        let comment = self.comment;
        let line = self.line()?;
        let text = line.split(move |&byte| Some(byte) == comment).next().unwrap_or_default();
        Some(text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()))
    }

    pub fn number(&mut self, of: &str) -> Result<f64, Flaw> {
        let word = self.word();
        parse(word).ok_or_else(|| self.flaw(format!("expected {of} (a number), found {}", shown(word))))
    }

    pub fn integer(&mut self, of: &str) -> Result<u64, Flaw> {
        let word = self.word();
        parse(word).ok_or_else(|| self.flaw(format!("expected {of} (a whole number), found {}", shown(word))))
    }

    /// How many of something follow, each of at least so many bytes.
    pub fn count(&mut self, of: &str, bytes_each: usize) -> Result<usize, Flaw> {
        let count = self.integer(&format!("the number of {of}"))?;
        self.believe(count, of, bytes_each)
    }

    /// A count, if the rest of the file can hold as many.
    pub fn believe(&self, count: u64, of: &str, bytes_each: usize) -> Result<usize, Flaw> {
        let held = self.left() as u64 / bytes_each.max(1) as u64 + 1;
        if count > held || count > u64::from(u32::MAX) {
            let left = self.left();
            return Err(self.flaw(format!("{count} {of} are promised, {left} bytes are left: the file was cut")));
        }
        Ok(count as usize)
    }

    /// So many bytes.
    pub fn take(&mut self, length: usize, of: &str) -> Result<&'a [u8], Flaw> {
        if length > self.left() {
            let left = self.left();
            return Err(self.flaw(format!("{of} need {length} bytes, {left} are left: the file was cut")));
        }
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    /// Goes just behind a text that comes later, if it does.
    pub fn find(&mut self, text: &[u8]) -> bool {
        let found = self.bytes[self.at..].windows(text.len()).position(|window| window == text);
        if let Some(offset) = found {
            let end = self.at + offset + text.len();
            self.lines += self.bytes[self.at..end].iter().filter(|&&byte| byte == b'\n').count();
            self.at = end;
        }
        found.is_some()
    }
}

/// A word as a number.
pub(super) fn parse<T: std::str::FromStr>(word: Option<&[u8]>) -> Option<T> {
    std::str::from_utf8(word?).ok()?.parse().ok()
}

/// A few bytes of a file for a message: one line, printable, short.
pub(super) fn shown(word: Option<&[u8]>) -> String {
    let Some(word) = word else { return "the end of the file".to_owned() };
    let cut = &word[..word.len().min(24)];
    let text: String = String::from_utf8_lossy(cut).chars().flat_map(char::escape_debug).collect();
    format!("`{text}{}`", if word.len() > 24 { "…" } else { "" })
}

/// A binary number of 4 or 8 bytes as a whole number; negative ones become huge and name no node.
pub(super) fn whole(bytes: &[u8], endian: Endian) -> u64 {
    let mut eight = [0; 8];
    match endian {
        Endian::Little => eight[..bytes.len()].copy_from_slice(bytes),
        Endian::Big => eight[8 - bytes.len()..].copy_from_slice(bytes),
    }
    match endian {
        Endian::Little => u64::from_le_bytes(eight),
        Endian::Big => u64::from_be_bytes(eight),
    }
}

/// A binary number of 4 or 8 bytes as a float.
pub(super) fn float(bytes: &[u8], endian: Endian) -> f64 {
    let bits = whole(bytes, endian);
    if bytes.len() == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Appends the shortest text that reads back as the same number.
pub(super) fn push_number(out: &mut Vec<u8>, value: f64) {
    use std::io::Write;
    let magnitude = value.abs();
    let written = if magnitude == 0.0 || (1e-5..1e16).contains(&magnitude) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
    written.expect("memory takes every byte");
}

/// Appends three numbers with space between them.
pub(super) fn push_point(out: &mut Vec<u8>, point: unsnarl_geometry::DVec3) {
    push_number(out, point.x);
    out.push(b' ');
    push_number(out, point.y);
    out.push(b' ');
    push_number(out, point.z);
}

/// Appends whole numbers with a space before each.
pub(super) fn push_wholes(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = u64>) {
    use std::io::Write;
    for number in numbers {
        write!(out, " {number}").expect("memory takes every byte");
    }
}
