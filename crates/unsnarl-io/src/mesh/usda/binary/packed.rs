//! Packed integers: differences of one, two or four bytes behind codes of two bits each, then compressed.

use super::damaged;
use crate::mesh::error::Flaw;

/// The most bytes of one chunk before compression.
const LARGEST_CHUNK: usize = 0x7E00_0000;
/// A byte of compressed data stands for so many bytes at most.
const BEST_RATIO: usize = 255;

/// Undoes the compression: one chunk, or several that are counted by the first byte.
pub(super) fn decompress(bytes: &[u8], largest: usize, at: usize) -> Result<Vec<u8>, Flaw> {
    let wrong = || damaged(at, "compressed data that cannot be unpacked");
    let (&chunks, mut rest) = bytes.split_first().ok_or_else(wrong)?;
    // What is claimed may be more than these bytes can hold.
    let largest = largest.min(rest.len().saturating_mul(BEST_RATIO).saturating_add(64));
    let mut out = vec![0; largest];
    let mut done = 0;
    if chunks == 0 {
        done = lz4_flex::block::decompress_into(rest, &mut out).map_err(|_| wrong())?;
    }
    for _ in 0..chunks {
        let (size, after) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        let size = usize::try_from(i32::from_le_bytes(*size)).map_err(|_| wrong())?;
        let chunk = after.get(..size).ok_or_else(wrong)?;
        rest = &after[size..];
        let room = done + (out.len() - done).min(LARGEST_CHUNK);
        done += lz4_flex::block::decompress_into(chunk, &mut out[done..room]).map_err(|_| wrong())?;
    }
    out.truncate(done);
    Ok(out)
}

/// Unpacks so many 32-bit integers.
pub(super) fn integers(bytes: &[u8], count: usize, at: usize) -> Result<Vec<i32>, Flaw> {
    let wrong = || damaged(at, "packed integers that end too early");
    if count == 0 {
        return Ok(Vec::new());
    }
    let codes_length = count.div_ceil(4);
    if codes_length > bytes.len().saturating_mul(BEST_RATIO) {
        return Err(damaged(at, "more packed integers than their bytes can hold"));
    }
    let largest = 4 + codes_length + 4 * count;
    let data = decompress(bytes, largest, at)?;
    let (common, rest) = data.split_first_chunk::<4>().ok_or_else(wrong)?;
    let common = i32::from_le_bytes(*common);
    let codes = rest.get(..codes_length).ok_or_else(wrong)?;
    let mut rest = &rest[codes_length..];
    let mut out = Vec::with_capacity(count);
    let mut value = 0i32;
    for index in 0..count {
        let step = match codes[index / 4] >> (2 * (index % 4)) & 3 {
            0 => common,
            1 => i32::from(i8::from_le_bytes(take(&mut rest).ok_or_else(wrong)?)),
            2 => i32::from(i16::from_le_bytes(take(&mut rest).ok_or_else(wrong)?)),
            _ => i32::from_le_bytes(take(&mut rest).ok_or_else(wrong)?),
        };
        value = value.wrapping_add(step);
        out.push(value);
    }
    Ok(out)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (own, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*own)
}
