//! The file of one frame or mesh: named arrays with checksums. The format is described in `docs/cache.md`.
//!
//! Guarantees: what is read back is what was written, bit for bit; a file that is cut short, damaged or not one of ours is
//! refused with its reason, before anything is allocated for what its header promises.

use thiserror::Error;

const MAGIC: &[u8; 8] = b"UNSNARL\0";
const VERSION: u32 = 1;
const ENTRY: usize = 48;
const HEADER: usize = 24;
const LARGEST_TABLE: usize = 4096;

/// Why bytes are not a container.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ContainerError {
    /// It does not begin like one.
    #[error("not an Unsnarl cache file")]
    Magic,
    /// It is from another version.
    #[error("version {0} of the cache format; this program reads version {VERSION}")]
    Version(u32),
    /// It ends too early.
    #[error("cut short: {have} bytes of {need}")]
    Short {
        /// Bytes that are there.
        have: usize,
        /// Bytes that are needed.
        need: u64,
    },
    /// A checksum does not fit.
    #[error("damaged: the checksum of {0} does not fit")]
    Checksum(String),
    /// A section is missing, or not of the expected kind.
    #[error("no section {name} of {kind}")]
    Missing {
        /// The section.
        name: String,
        /// What was expected.
        kind: &'static str,
    },
}

/// Element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Real = 1,
    Index = 2,
}

#[derive(Clone, Debug, PartialEq)]
struct Section {
    name: String,
    kind: u32,
    components: u32,
    bytes: Vec<u8>,
}

/// A number that changes with the bytes.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Named arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    sections: Vec<Section>,
}

impl Container {
    /// Adds rows of 64-bit numbers.
    pub fn push_reals<const N: usize>(&mut self, name: &str, rows: impl Iterator<Item = [f64; N]>) {
        let bytes = rows.flat_map(|row| row.into_iter().flat_map(f64::to_le_bytes)).collect();
        self.push(name, Kind::Real, N, bytes);
    }

    /// Adds rows of indices.
    pub fn push_indices<const N: usize>(&mut self, name: &str, rows: impl Iterator<Item = [u32; N]>) {
        let bytes = rows.flat_map(|row| row.into_iter().flat_map(u32::to_le_bytes)).collect();
        self.push(name, Kind::Index, N, bytes);
    }

    fn push(&mut self, name: &str, kind: Kind, components: usize, bytes: Vec<u8>) {
        debug_assert!(name.len() <= 16);
        self.sections.push(Section { name: name.to_owned(), kind: kind as u32, components: components as u32, bytes });
    }

    /// Whether a section is there.
    pub fn has(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// Rows of 64-bit numbers.
    pub fn reals<const N: usize>(&self, name: &str) -> Result<Vec<[f64; N]>, ContainerError> {
        let bytes = self.find(name, Kind::Real, N)?;
        let number = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().expect("chunks have eight bytes"));
        Ok(bytes.chunks_exact(8 * N).map(|row| std::array::from_fn(|k| number(&row[8 * k..8 * k + 8]))).collect())
    }

    /// Rows of indices.
    pub fn indices<const N: usize>(&self, name: &str) -> Result<Vec<[u32; N]>, ContainerError> {
        let bytes = self.find(name, Kind::Index, N)?;
        let number = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().expect("chunks have four bytes"));
        Ok(bytes.chunks_exact(4 * N).map(|row| std::array::from_fn(|k| number(&row[4 * k..4 * k + 4]))).collect())
    }

    fn find(&self, name: &str, kind: Kind, components: usize) -> Result<&[u8], ContainerError> {
        let fits = |section: &&Section| {
            section.name == name && section.kind == kind as u32 && section.components == components as u32
        };
        let kind = if kind == Kind::Real { "64-bit numbers" } else { "indices" };
        let missing = || ContainerError::Missing { name: name.to_owned(), kind };
        Ok(&self.sections.iter().find(fits).ok_or_else(missing)?.bytes)
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let table_end = HEADER + ENTRY * self.sections.len();
        let mut table = Vec::with_capacity(ENTRY * self.sections.len());
        let mut offset = table_end;
        for section in &self.sections {
            let mut name = [0u8; 16];
            name[..section.name.len()].copy_from_slice(section.name.as_bytes());
            table.extend_from_slice(&name);
            table.extend_from_slice(&section.kind.to_le_bytes());
            table.extend_from_slice(&section.components.to_le_bytes());
            table.extend_from_slice(&(offset as u64).to_le_bytes());
            table.extend_from_slice(&(section.bytes.len() as u64).to_le_bytes());
            table.extend_from_slice(&crc32fast::hash(&section.bytes).to_le_bytes());
            table.extend_from_slice(&[0; 4]);
            offset = (offset + section.bytes.len()).next_multiple_of(8);
        }
        let mut out = Vec::with_capacity(offset);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&table).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&table);
        for section in &self.sections {
            out.extend_from_slice(&section.bytes);
            out.resize(out.len().next_multiple_of(8), 0);
        }
        out
    }

    /// Reads a file's bytes and checks them all.
    pub fn decode(bytes: &[u8]) -> Result<Self, ContainerError> {
        let short = |need: u64| ContainerError::Short { have: bytes.len(), need };
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        if !bytes.starts_with(MAGIC) {
            return Err(ContainerError::Magic);
        }
        if bytes.len() < HEADER {
            return Err(short(HEADER as u64));
        }
        if word(8) != VERSION {
            return Err(ContainerError::Version(word(8)));
        }
        let count = word(12) as usize;
        let table_end = HEADER + ENTRY * count.min(LARGEST_TABLE + 1);
        if count > LARGEST_TABLE || bytes.len() < table_end {
            return Err(short(table_end as u64));
        }
        if crc32fast::hash(&bytes[HEADER..table_end]) != word(16) {
            return Err(ContainerError::Checksum("the table".into()));
        }
        let mut sections = Vec::new();
        for at in (0..count).map(|index| HEADER + ENTRY * index) {
            let (start, length) = (long(at + 24), long(at + 32));
            let end = start.checked_add(length).filter(|&end| end <= bytes.len() as u64);
            let end = end.ok_or_else(|| short(start.saturating_add(length)))?;
            let name = String::from_utf8_lossy(&bytes[at..at + 16]).trim_end_matches('\0').to_owned();
            let data = &bytes[start as usize..end as usize];
            if crc32fast::hash(data) != word(at + 40) {
                return Err(ContainerError::Checksum(name));
            }
            sections.push(Section { name, kind: word(at + 16), components: word(at + 20), bytes: data.to_vec() });
        }
        Ok(Self { sections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Container {
        let mut container = Container::default();
        container.push_reals("positions", [[0.1, -0.0, 1e300], [f64::MIN_POSITIVE, 3.0, 4.0]].into_iter());
        container.push_indices("triangles", [[0, 1, 2]].into_iter());
        container
    }

    #[test]
    fn arrays_come_back_bit_for_bit() {
        let bytes = sample().encode();
        let back = Container::decode(&bytes).unwrap();
        assert_eq!(back, sample());
        assert_eq!(back.encode(), bytes);
        let rows: Vec<[f64; 3]> = back.reals("positions").unwrap();
        assert!(rows[0][1].is_sign_negative() && rows[0][2] == 1e300);
        assert_eq!(back.indices::<3>("triangles").unwrap(), [[0, 1, 2]]);
        assert!(back.reals::<2>("positions").is_err() && back.reals::<3>("velocities").is_err());
    }

    #[test]
    fn every_cut_and_every_flipped_byte_is_noticed() {
        let bytes = sample().encode();
        for length in 0..bytes.len() - 4 {
            assert!(Container::decode(&bytes[..length]).is_err(), "{length}");
        }
        let padding = |at: usize| {
            (20..24).contains(&at) || at >= bytes.len() - 4 || ((24..120).contains(&at) && (at - 24) % 48 >= 44)
        };
        for at in (0..bytes.len()).filter(|&at| !(20..24).contains(&at)) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x40;
            assert!(Container::decode(&broken).is_err() || padding(at), "{at}");
        }
    }

    #[test]
    fn a_header_that_promises_too_much_is_refused() {
        let mut bytes = sample().encode();
        bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(Container::decode(&bytes), Err(ContainerError::Short { .. })));
    }
}
