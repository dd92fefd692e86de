//! Packages (`.usdz`): archives without compression whose first file is the layer.

use super::damaged;
use crate::mesh::error::Flaw;
use std::ops::Range;

pub(super) const MAGIC: &[u8] = b"PK\x03\x04";
const DIRECTORY_END: &[u8] = b"PK\x05\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
/// Bytes of the end of the directory without its comment, of an entry, and of the head of a file, without names.
const END: usize = 22;
const ENTRY: usize = 46;
const HEAD: usize = 30;

/// Where the first file of an archive is.
pub(in super::super) fn first_file(bytes: &[u8]) -> Result<Range<usize>, Flaw> {
    let search = bytes.len().saturating_sub(END + usize::from(u16::MAX));
    let tail = &bytes[search..];
    let end = (tail.windows(4).rposition(|window| window == DIRECTORY_END))
        .map(|at| at + search)
        .ok_or_else(|| damaged(bytes.len(), "the archive has no directory at its end"))?;
    let count = number(bytes, end + 10, 2)?;
    let mut at = number(bytes, end + 16, 4)?;
    let mut first: Option<(usize, usize, usize)> = None;
    for _ in 0..count {
        if bytes.get(at..at.saturating_add(4)) != Some(DIRECTORY_ENTRY) {
            return Err(damaged(at, "expected an entry of the archive's directory"));
        }
        let (method, size, place) =
            (number(bytes, at + 10, 2)?, number(bytes, at + 20, 4)?, number(bytes, at + 42, 4)?);
        if first.is_none_or(|(_, _, known)| place < known) {
            first = Some((method, size, place));
        }
        at += ENTRY + number(bytes, at + 28, 2)? + number(bytes, at + 30, 2)? + number(bytes, at + 32, 2)?;
    }
    let (method, size, place) = first.ok_or_else(|| damaged(end, "the archive is empty"))?;
    if method != 0 {
        return Err(damaged(place, "the archive is compressed; packages of USD are not"));
    }
    let start = place + HEAD + number(bytes, place + 26, 2)? + number(bytes, place + 28, 2)?;
    let range = start..start.saturating_add(size);
    if range.end > bytes.len() {
        return Err(damaged(start, "the archive ends within its first file"));
    }
    Ok(range)
}

fn number(bytes: &[u8], at: usize, width: usize) -> Result<usize, Flaw> {
    let own = at.checked_add(width).and_then(|end| bytes.get(at..end));
    let own = own.ok_or_else(|| damaged(at, "the archive ends too early"))?;
    Ok(own.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}
