//! The sections of a crate file: tokens, strings, fields, paths and specs.

use super::{damaged, packed};
use crate::mesh::error::{Flaw, Place};
use crate::mesh::findings::FindingKind;
use std::collections::HashMap;

pub(super) const MAGIC: &[u8] = b"PXR-USDC";
/// Bytes of a section's entry in the table: its name, start and size.
const ENTRY: usize = 32;
const MOST_SECTIONS: usize = 64;
/// Ends a set of fields.
const NO_FIELD: u32 = u32::MAX;

/// A cursor over the bytes of a file.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let own = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let own = *own.ok_or_else(|| damaged(self.at, "the file ends too early"))?;
        self.at += N;
        Ok(own)
    }

    pub fn u32(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn i64(&mut self) -> Result<i64, Flaw> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Flaw> {
        self.array().map(u64::from_le_bytes)
    }

    /// A count, of things that take so many bytes each here.
    pub fn count(&mut self, width: usize) -> Result<usize, Flaw> {
        let at = self.at;
        let count = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        if count.saturating_mul(width) > self.bytes.len().saturating_sub(self.at) {
            return Err(damaged(at, "a count that is larger than the file"));
        }
        Ok(count)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Flaw> {
        let own = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let own = own.ok_or_else(|| damaged(self.at, "the file ends too early"))?;
        self.at += length;
        Ok(own)
    }

    /// Packed integers behind the number of their bytes.
    pub fn packed(&mut self, count: usize) -> Result<Vec<i32>, Flaw> {
        let length = self.count(1)?;
        let at = self.at;
        packed::integers(self.take(length)?, count, at)
    }

    fn packed_indices(&mut self, count: usize) -> Result<Vec<u32>, Flaw> {
        Ok(self.packed(count)?.into_iter().map(|value| value as u32).collect())
    }
}

/// A crate file, opened.
pub(super) struct Container<'a> {
    pub bytes: &'a [u8],
    /// Major, minor.
    pub version: [u8; 2],
    pub tokens: Vec<String>,
    pub strings: Vec<u32>,
    /// Name and value of every field.
    fields: Vec<(u32, u64)>,
    field_sets: Vec<u32>,
    /// Path, set of fields and kind of every spec.
    specs: HashMap<u32, (u32, u32)>,
    /// The path below a path by the name of its element.
    children: HashMap<(u32, u32), u32>,
    properties: HashMap<(u32, u32), u32>,
    /// The name of every path's last element.
    pub path_names: HashMap<u32, u32>,
    pub root: Option<u32>,
}

impl<'a> Container<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Flaw> {
        let mut head = Cursor { bytes, at: MAGIC.len() };
        let version: [u8; 8] = head.array()?;
        if version[0] != 0 || version[1] < 4 {
            let detail = format!("binary USD of version {}.{}; expected 0.4 or later", version[0], version[1]);
            return Err(Flaw::new(Place::Byte(MAGIC.len()), FindingKind::UnknownKind, detail));
        }
        let table = usize::try_from(head.i64()?).map_err(|_| damaged(16, "no table of sections"))?;
        let mut table = Cursor { bytes, at: table };
        let count = table.count(ENTRY)?;
        if count > MOST_SECTIONS {
            return Err(damaged(table.at, "too many sections"));
        }
        let mut sections = HashMap::new();
        for _ in 0..count {
            let name: [u8; 16] = table.array()?;
            let (start, size) = (table.i64()?, table.i64()?);
            let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
            let range = range.and_then(|(start, size)| Some(start..start.checked_add(size)?));
            let range = range.filter(|range| range.end <= bytes.len());
            sections.insert(name, range.ok_or_else(|| damaged(table.at, "a section that is not in the file"))?);
        }
        let section = |name: &str| {
            let mut key = [0; 16];
            key[..name.len()].copy_from_slice(name.as_bytes());
            let range = sections.get(&key).ok_or_else(|| damaged(table.at, &format!("no section {name}")))?;
            Ok::<_, Flaw>(Cursor { bytes: &bytes[..range.end], at: range.start })
        };
        let mut container = Self {
            bytes,
            version: [version[0], version[1]],
            tokens: tokens(section("TOKENS")?)?,
            strings: strings(section("STRINGS")?)?,
            fields: fields(section("FIELDS")?)?,
            field_sets: field_sets(section("FIELDSETS")?)?,
            specs: specs(section("SPECS")?)?,
            children: HashMap::new(),
            properties: HashMap::new(),
            path_names: HashMap::new(),
            root: None,
        };
        container.paths(section("PATHS")?)?;
        Ok(container)
    }

    pub fn token(&self, index: u32) -> Result<&str, Flaw> {
        let token = self.tokens.get(index as usize);
        token.map(String::as_str).ok_or_else(|| damaged(0, "a token that is not there"))
    }

    /// The value of a field of the spec at a path.
    pub fn field(&self, path: u32, name: &str) -> Option<u64> {
        let &(set, _) = self.specs.get(&path)?;
        let own = self.field_sets.get(set as usize..)?.iter().take_while(|&&field| field != NO_FIELD);
        let mut own = own.filter_map(|&field| self.fields.get(field as usize));
        own.find(|(token, _)| self.tokens.get(*token as usize).is_some_and(|token| token == name)).map(|own| own.1)
    }

    pub fn child(&self, path: u32, token: u32) -> Option<u32> {
        self.children.get(&(path, token)).copied()
    }

    pub fn property(&self, path: u32, token: u32) -> Option<u32> {
        self.properties.get(&(path, token)).copied()
    }

    /// Unfolds the tree of paths: a jump of -1 leads to a child alone, 0 to a sibling alone, -2 to neither, more to
    /// both.
    fn paths(&mut self, mut section: Cursor<'_>) -> Result<(), Flaw> {
        let at = section.at;
        let wrong = |what: &str| damaged(at, what);
        let total = section.u64()?;
        let count = usize::try_from(section.u64()?).unwrap_or(usize::MAX);
        if total > u64::from(u32::MAX) || count > total as usize {
            return Err(wrong("more paths than can be numbered"));
        }
        let indices = section.packed_indices(count)?;
        let elements = section.packed(count)?;
        let jumps = section.packed(count)?;
        let mut seen = vec![false; count];
        let mut open: Vec<(usize, Option<u32>)> = if count == 0 { Vec::new() } else { vec![(0, None)] };
        while let Some((first, first_parent)) = open.pop() {
            let (mut current, mut parent) = (first, first_parent);
            loop {
                let this = current;
                if this >= count || std::mem::replace(&mut seen[this], true) {
                    return Err(wrong("paths that are not a tree"));
                }
                current += 1;
                let path = indices[this];
                match parent {
                    None => self.root = Some(path),
                    Some(parent) => {
                        let token = elements[this].unsigned_abs();
                        self.path_names.insert(path, token);
                        let family = if elements[this] < 0 { &mut self.properties } else { &mut self.children };
                        family.insert((parent, token), path);
                    }
                }
                let jump = jumps[this];
                let (has_child, has_sibling) = (jump > 0 || jump == -1, jump >= 0);
                if has_child && has_sibling {
                    open.push((this + jump as usize, parent));
                }
                if has_child || parent.is_none() {
                    parent = Some(path);
                }
                if !has_child && !has_sibling {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn tokens(mut section: Cursor<'_>) -> Result<Vec<String>, Flaw> {
    let (count, whole) = (section.u64()?, section.u64()?);
    let length = section.count(1)?;
    let at = section.at;
    let text = packed::decompress(section.take(length)?, usize::try_from(whole).unwrap_or(usize::MAX), at)?;
    let words = text.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let tokens: Vec<String> = words.take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
    if tokens.len() as u64 != count {
        return Err(damaged(at, "fewer tokens than it says"));
    }
    Ok(tokens)
}

fn strings(mut section: Cursor<'_>) -> Result<Vec<u32>, Flaw> {
    let count = section.count(4)?;
    (0..count).map(|_| section.u32()).collect()
}

fn fields(mut section: Cursor<'_>) -> Result<Vec<(u32, u64)>, Flaw> {
    let count = plausible(&mut section)?;
    let names = section.packed_indices(count)?;
    let length = section.count(1)?;
    let at = section.at;
    let values = packed::decompress(section.take(length)?, 8 * count, at)?;
    if values.len() != 8 * count {
        return Err(damaged(at, "fewer fields than it says"));
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    Ok(names.into_iter().zip(values.chunks_exact(8).map(number)).collect())
}

fn field_sets(mut section: Cursor<'_>) -> Result<Vec<u32>, Flaw> {
    let count = plausible(&mut section)?;
    section.packed_indices(count)
}

fn specs(mut section: Cursor<'_>) -> Result<HashMap<u32, (u32, u32)>, Flaw> {
    let count = plausible(&mut section)?;
    let paths = section.packed_indices(count)?;
    let sets = section.packed_indices(count)?;
    let kinds = section.packed_indices(count)?;
    Ok(paths.into_iter().zip(sets.into_iter().zip(kinds)).collect())
}

/// A count of packed things: their bytes may be far fewer, but are checked when they are unpacked.
fn plausible(section: &mut Cursor<'_>) -> Result<usize, Flaw> {
    let at = section.at;
    let count = section.u64()?;
    let most = (section.bytes.len() as u64).saturating_mul(1024);
    usize::try_from(count).ok().filter(|_| count <= most).ok_or_else(|| damaged(at, "a count beyond the file"))
}
