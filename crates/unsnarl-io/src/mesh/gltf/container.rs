//! The outside of a glTF file: the chunks of a GLB, data URIs, and buffers in files beside it.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use super::document::Document;
use std::ops::Range;
use std::path::Path;

const GLB_MAGIC: u32 = 0x4654_6C67;
const JSON_CHUNK: u32 = 0x4E4F_534A;
const BIN_CHUNK: u32 = 0x004E_4942;

/// Where the JSON text and the binary chunk are in a file.
pub(super) struct Chunks {
    pub json: Range<usize>,
    pub binary: Option<Range<usize>>,
}

/// Takes a file apart: a GLB by its chunks, anything else is all JSON.
pub(super) fn chunks(bytes: &[u8]) -> Result<Chunks, Flaw> {
    if word(bytes, 0) != Some(GLB_MAGIC) {
        return Ok(Chunks { json: 0..bytes.len(), binary: None });
    }
    let truncated = |at: usize| Flaw::new(Place::Byte(at), FindingKind::Truncated, "the GLB file ends in its header");
    let version = word(bytes, 4).ok_or_else(|| truncated(4))?;
    if version != 2 {
        let detail = format!("expected GLB version 2, found {version}");
        return Err(Flaw::new(Place::Byte(4), FindingKind::UnknownKind, detail));
    }
    let length = word(bytes, 8).ok_or_else(|| truncated(8))? as usize;
    if length > bytes.len() {
        let detail = format!("promises {length} bytes, the file has {}", bytes.len());
        return Err(Flaw::new(Place::Byte(8), FindingKind::PromisesTooMuch, detail));
    }
    let (kind, json) = chunk(bytes, 12)?;
    if kind != JSON_CHUNK {
        return Err(Flaw::syntax(Place::Byte(16), "expected the JSON chunk first"));
    }
    let binary = match word(bytes, json.end) {
        None => None,
        Some(_) => Some(chunk(bytes, json.end)?).filter(|(kind, _)| *kind == BIN_CHUNK).map(|(_, range)| range),
    };
    Ok(Chunks { json, binary })
}

fn chunk(bytes: &[u8], at: usize) -> Result<(u32, Range<usize>), Flaw> {
    let header = word(bytes, at).zip(word(bytes, at + 4));
    let Some((length, kind)) = header else {
        return Err(Flaw::new(Place::Byte(at), FindingKind::Truncated, "the GLB file ends in the header of a chunk"));
    };
    let left = bytes.len() - (at + 8);
    if length as usize > left {
        let detail = format!("a chunk promises {length} bytes, {left} are left");
        return Err(Flaw::new(Place::Byte(at), FindingKind::PromisesTooMuch, detail));
    }
    Ok((kind, at + 8..at + 8 + length as usize))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A GLB file from its JSON text and its binary data.
pub(super) fn glb(json: &[u8], binary: &[u8]) -> Vec<u8> {
    let padded = |length: usize| length.next_multiple_of(4);
    let total = 12 + 8 + padded(json.len()) + 8 + padded(binary.len());
    let mut out = Vec::with_capacity(total);
    for value in [GLB_MAGIC, 2, total as u32, padded(json.len()) as u32, JSON_CHUNK] {
        out.extend(value.to_le_bytes());
    }
    out.extend_from_slice(json);
    out.resize(20 + padded(json.len()), b' ');
    for value in [padded(binary.len()) as u32, BIN_CHUNK] {
        out.extend(value.to_le_bytes());
    }
    out.extend_from_slice(binary);
    out.resize(total, 0);
    out
}

/// The bytes of a buffer.
pub(super) enum BufferBytes {
    /// In the file itself, from this byte on.
    InFile(Range<usize>),
    /// Decoded or read from elsewhere.
    Own(Vec<u8>),
}

impl BufferBytes {
    pub fn slice<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        match self {
            Self::InFile(range) => &file[range.clone()],
            Self::Own(bytes) => bytes,
        }
    }
}

/// Fetches all buffers. `folder` is where relative names start; without it only data inside the file is read.
pub(super) fn buffers(document: &Document, chunks: &Chunks, folder: Option<&Path>) -> Result<Vec<BufferBytes>, Flaw> {
    document
        .buffers
        .iter()
        .enumerate()
        .map(|(index, buffer)| {
            let bytes = match &buffer.uri {
                None => match &chunks.binary {
                    Some(range) if index == 0 => BufferBytes::InFile(range.clone()),
                    _ => return Err(Flaw::syntax(Place::Whole, format!("buffer {index} has no data and no uri"))),
                },
                Some(uri) => BufferBytes::Own(fetch(uri, index, folder)?),
            };
            let held = match &bytes {
                BufferBytes::InFile(range) => range.len(),
                BufferBytes::Own(bytes) => bytes.len(),
            };
            if buffer.byte_length > held {
                let detail = format!("buffer {index} promises {} bytes, there are {held}", buffer.byte_length);
                return Err(Flaw::new(Place::Whole, FindingKind::PromisesTooMuch, detail));
            }
            Ok(bytes)
        })
        .collect()
}

fn fetch(uri: &str, index: usize, folder: Option<&Path>) -> Result<Vec<u8>, Flaw> {
    if let Some(data) = uri.strip_prefix("data:") {
        let text = data.split_once(";base64,").map(|(_, text)| text);
        return text
            .and_then(decode_base64)
            .ok_or_else(|| Flaw::syntax(Place::Whole, format!("expected base64 data in the uri of buffer {index}")));
    }
    let unreadable = |detail: String| Flaw::new(Place::Whole, FindingKind::Unreadable, detail);
    let name = percent_decoded(uri);
    let path = Path::new(&name);
    let Some(folder) = folder.filter(|_| path.is_relative() && !name.contains("://")) else {
        return Err(unreadable(format!("buffer {index} lies outside the file, at `{}`", super::shown(uri.as_bytes()))));
    };
    std::fs::read(folder.join(path)).map_err(|error| {
        unreadable(format!("cannot read buffer {index} from `{}`: {error}", super::shown(uri.as_bytes())))
    })
}

fn percent_decoded(uri: &str) -> String {
    let mut out = Vec::with_capacity(uri.len());
    let bytes = uri.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                out.push(byte);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut value = 0u32;
        for at in 0..3 {
            value = value << 8 | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let digit = BASE64[(value >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= group.len() { digit as char } else { '=' });
        }
    }
    out
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() * 3 / 4 + 3);
    let (mut value, mut bits) = (0u32, 0);
    for &byte in text {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        value = value << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((value >> bits) as u8);
            value &= (1 << bits) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_examples_of_its_standard() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode_base64(plain.as_bytes()), coded);
            assert_eq!(decode_base64(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(decode_base64("a b"), None);
    }

    #[test]
    fn names_of_buffers_may_be_percent_coded() {
        assert_eq!(percent_decoded("a%20b%2.bin"), "a b%2.bin");
    }
}
