//! Level set files: our own format with checksums, and NRRD for other programs.
//!
//! A file is a header, three arrays and a checksum (CRC-32) after each of the four parts; everything is little-endian.
//! `docs/level-sets.md` has the table. NRRD files are dense: the box of the stored blocks, one `f32` per sample.
//!
//! Guarantees: what is read is what was written, bit for bit; a damaged or foreign file gives one line that names the
//! file, the part and what was expected; nothing is allocated on the word of a header alone.
//! Does not: store the distances beyond the band; ask for them anew after reading.

use crate::{WriteError, write_atomically};
use std::path::Path;
use thiserror::Error;
use unsnarl_geometry::DVec3;
use unsnarl_volume::grid::{Background, BlockCoordinates, BlockGrid, BlockWidth, COORDINATE_LIMIT, Domain, Side};
use unsnarl_volume::{Frame, LevelSet};

/// The first bytes of a level set file.
pub const MAGIC: &[u8; 8] = b"UNSNARLS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 100;

/// A level set file that cannot be read or written.
#[derive(Debug, Error)]
pub enum LevelSetFileError {
    /// The file cannot be opened or read.
    #[error("{path}: cannot read: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}: {place}: {what}")]
    Content {
        /// The file.
        path: String,
        /// Which part.
        place: &'static str,
        /// What was found, what was expected, what to do.
        what: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A dense file would be too large.
    #[error("{path}: a dense file of {samples} samples is too large, at most {DENSE_LIMIT}: use a larger spacing")]
    TooDense {
        /// The file.
        path: String,
        /// The samples it would have.
        samples: u64,
    },
}

/// The largest number of samples of a dense file.
pub const DENSE_LIMIT: u64 = 1 << 30;

/// What is wrong, before the file's name is added.
struct Flaw {
    place: &'static str,
    what: String,
}

/// Reads a level set.
pub fn read(path: &Path) -> Result<LevelSet, LevelSetFileError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| LevelSetFileError::Read { path: name.clone(), source })?;
    decode(&bytes).map_err(|Flaw { place, what }| LevelSetFileError::Content { path: name, place, what })
}

/// Reads a level set from the bytes of a file; `name` is for messages.
pub fn read_bytes(bytes: &[u8], name: &str) -> Result<LevelSet, LevelSetFileError> {
    decode(bytes).map_err(|Flaw { place, what }| LevelSetFileError::Content { path: name.to_owned(), place, what })
}

/// Writes a level set.
pub fn write(path: &Path, level_set: &LevelSet) -> Result<(), LevelSetFileError> {
    Ok(write_atomically(path, &encode(level_set))?)
}

/// The bytes of a level set's file.
pub fn encode(level_set: &LevelSet) -> Vec<u8> {
    let grid = level_set.grid();
    let inside = grid.inside_blocks();
    let mut bytes =
        Vec::with_capacity(HEADER_BYTES + 16 + 12 * (grid.blocks().len() + inside.len()) + 4 * grid.samples().len());
    let (kind, first, extent) = match grid.domain() {
        Domain::Bounded { first, extent } => (0_u32, first, extent),
        Domain::Unbounded => (1, [0; 3], [0; 3]),
    };
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((grid.width().samples() as u32).to_le_bytes());
    let frame = level_set.frame();
    for number in [frame.spacing, frame.origin.x, frame.origin.y, frame.origin.z] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(grid.background().outside.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    first.iter().for_each(|c| bytes.extend(c.to_le_bytes()));
    extent.iter().for_each(|c| bytes.extend(c.to_le_bytes()));
    bytes.extend((grid.blocks().len() as u64).to_le_bytes());
    bytes.extend((inside.len() as u64).to_le_bytes());
    bytes.extend([0; 4]);
    debug_assert_eq!(bytes.len(), HEADER_BYTES);
    push_checksum(&mut bytes, 0);
    for blocks in [grid.blocks(), &inside] {
        let start = bytes.len();
        blocks.iter().flatten().for_each(|c| bytes.extend(c.to_le_bytes()));
        push_checksum(&mut bytes, start);
    }
    let start = bytes.len();
    grid.samples().iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    push_checksum(&mut bytes, start);
    bytes
}

fn push_checksum(bytes: &mut Vec<u8>, start: usize) {
    let sum = crc32fast::hash(&bytes[start..]);
    bytes.extend(sum.to_le_bytes());
}

struct Header {
    width: BlockWidth,
    frame: Frame,
    outside: f32,
    domain: Domain,
    block_count: usize,
    inside_count: usize,
}

fn decode(bytes: &[u8]) -> Result<LevelSet, Flaw> {
    let mut rest = bytes;
    if !bytes.starts_with(MAGIC) {
        let what = "not a level set file: it starts with other bytes; make one with `unsnarl levelset from`".to_owned();
        return Err(Flaw { place: "header", what });
    }
    let header = parse_header(section(&mut rest, HEADER_BYTES, "header")?)?;
    let volume = header.width.volume();
    let sizes = (header.block_count, header.inside_count);
    let expected = 12_usize
        .checked_mul(sizes.0.saturating_add(sizes.1))
        .and_then(|lists| sizes.0.checked_mul(4 * volume).and_then(|samples| samples.checked_add(lists)))
        .and_then(|total| total.checked_add(12));
    if expected != Some(rest.len()) {
        let what = format!(
            "{} bytes follow the header, {} blocks and {} inside blocks need {}: the file was cut or changed",
            rest.len(),
            sizes.0,
            sizes.1,
            expected.map_or_else(|| "more than can be counted".to_owned(), |n| n.to_string())
        );
        return Err(Flaw { place: "header", what });
    }
    let blocks = parse_blocks(section(&mut rest, 12 * sizes.0, "blocks")?, "blocks")?;
    let inside = parse_blocks(section(&mut rest, 12 * sizes.1, "inside blocks")?, "inside blocks")?;
    let samples: Vec<f32> = section(&mut rest, 4 * volume * sizes.0, "samples")?
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    if let Some(number) = samples.iter().position(|value| !value.is_finite()) {
        let what = format!("sample {number} is {}: expected a finite distance", samples[number]);
        return Err(Flaw { place: "samples", what });
    }
    check_distinct(&blocks, &inside)?;
    let background = Background { outside: header.outside, inside: -header.outside };
    let mut grid = BlockGrid::from_blocks(header.width, header.domain, background, blocks, samples);
    inside.into_iter().for_each(|block| grid.set_side(block, Side::Inside));
    Ok(LevelSet::from_parts(grid, header.frame))
}

/// Takes a part of known length and its checksum off the front.
fn section<'a>(rest: &mut &'a [u8], length: usize, place: &'static str) -> Result<&'a [u8], Flaw> {
    let Some(end) = length.checked_add(4).filter(|&end| end <= rest.len()) else {
        let what = format!("{} bytes, expected {length} and a checksum: the file was cut", rest.len());
        return Err(Flaw { place, what });
    };
    let (part, sum) = rest[..end].split_at(length);
    let [stored, computed] = [u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]), crc32fast::hash(part)];
    if stored != computed {
        let what = format!("checksum {computed:08x}, expected {stored:08x}: the file is damaged; make it again");
        return Err(Flaw { place, what });
    }
    *rest = &rest[end..];
    Ok(part)
}

fn parse_header(bytes: &[u8]) -> Result<Header, Flaw> {
    let flaw = |what: String| Flaw { place: "header", what };
    let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let word = |at: usize| u32::from_le_bytes(four(at));
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let number = |at: usize| f64::from_bits(long(at));
    if word(8) != VERSION {
        return Err(flaw(format!("version {}, expected {VERSION}: use the Unsnarl that wrote the file", word(8))));
    }
    let width = BlockWidth::new(word(12)).map_err(|error| flaw(error.to_string()))?;
    let frame = Frame { spacing: number(16), origin: DVec3::new(number(24), number(32), number(40)) };
    if !(frame.spacing.is_finite() && frame.spacing > 0.0 && frame.origin.is_finite()) {
        return Err(flaw(format!(
            "spacing {}, origin {}: expected finite, positive spacing",
            frame.spacing, frame.origin
        )));
    }
    let outside = f32::from_le_bytes(four(48));
    if !(outside.is_finite() && outside > 0.0) {
        return Err(flaw(format!("half width {outside}: expected a positive number")));
    }
    let count = |at: usize, what: &str| {
        usize::try_from(long(at))
            .ok()
            .filter(|&n| n < u32::MAX as usize - 1)
            .ok_or_else(|| flaw(format!("{} {what}: too many", long(at))))
    };
    let (block_count, inside_count) = (count(80, "blocks")?, count(88, "inside blocks")?);
    let first = [0, 1, 2].map(|axis| word(56 + 4 * axis) as i32);
    let extent = [0, 1, 2].map(|axis| word(68 + 4 * axis));
    let within = (0..3).all(|axis| {
        first[axis].abs() <= COORDINATE_LIMIT
            && i64::from(first[axis]) + i64::from(extent[axis]) <= i64::from(COORDINATE_LIMIT)
    });
    // An array much larger than what the file holds is kept as a map instead: the header alone is no reason to allocate.
    let volume: u64 = extent.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let held = 64 * (block_count as u64 + inside_count as u64) + (1 << 20);
    let domain = match word(52) {
        0 if within && volume <= held => Domain::Bounded { first, extent },
        0 | 1 => Domain::Unbounded,
        kind => return Err(flaw(format!("domain kind {kind}: expected 0 (bounded) or 1 (unbounded)"))),
    };
    Ok(Header { width, frame, outside, domain, block_count, inside_count })
}

fn parse_blocks(bytes: &[u8], place: &'static str) -> Result<Vec<BlockCoordinates>, Flaw> {
    let blocks: Vec<BlockCoordinates> = bytes
        .chunks_exact(12)
        .map(|b| [0, 4, 8].map(|at| i32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])))
        .collect();
    let limit = COORDINATE_LIMIT / 32;
    match blocks.iter().position(|block| block.iter().any(|c| c.abs() > limit)) {
        Some(number) => Err(Flaw {
            place,
            what: format!("block {number} lies at {:?}: expected at most {limit} from 0", blocks[number]),
        }),
        None => Ok(blocks),
    }
}

fn check_distinct(blocks: &[BlockCoordinates], inside: &[BlockCoordinates]) -> Result<(), Flaw> {
    let mut sorted: Vec<BlockCoordinates> = blocks.iter().chain(inside).copied().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Flaw { place: "blocks", what: format!("block {:?} appears twice: expected once", pair[0]) }),
        None => Ok(()),
    }
}

/// Writes the box of the stored blocks as a dense NRRD file, which ParaView, Slicer and others open.
pub fn write_nrrd(path: &Path, level_set: &LevelSet) -> Result<(), LevelSetFileError> {
    let grid = level_set.grid();
    let width = grid.width();
    let mut low = [i32::MAX; 3];
    let mut high = [i32::MIN; 3];
    for block in grid.blocks() {
        for axis in 0..3 {
            low[axis] = low[axis].min(width.first_sample(block[axis]));
            high[axis] = high[axis].max(width.first_sample(block[axis] + 1));
        }
    }
    if grid.blocks().is_empty() {
        (low, high) = ([0; 3], [1; 3]);
    }
    let sizes = [0, 1, 2].map(|axis| (high[axis] - low[axis]) as u64);
    let samples = sizes.iter().product();
    if samples > DENSE_LIMIT {
        return Err(LevelSetFileError::TooDense { path: path.display().to_string(), samples });
    }
    let (frame, start) = (level_set.frame(), level_set.frame().position(low));
    let h = frame.spacing;
    let header = format!(
        "NRRD0004\n# signed distance in metres, negative inside\ntype: float\ndimension: 3\nspace dimension: 3\nsizes: {} {} {}\n\
         space directions: ({h},0,0) (0,{h},0) (0,0,{h})\nkinds: domain domain domain\nendian: little\nencoding: raw\n\
         space origin: ({},{},{})\n\n",
        sizes[0], sizes[1], sizes[2], start.x, start.y, start.z
    );
    let mut bytes = header.into_bytes();
    bytes.reserve_exact(4 * samples as usize);
    for z in low[2]..high[2] {
        for y in low[1]..high[1] {
            for x in low[0]..high[0] {
                bytes.extend(grid.sample([x, y, z]).to_le_bytes());
            }
        }
    }
    Ok(write_atomically(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unsnarl_geometry::Aabb;

    fn ball() -> LevelSet {
        let frame = Frame { origin: DVec3::new(0.5, 0.0, -0.25), spacing: 0.1 };
        let bounds = Aabb { min: DVec3::splat(-1.5), max: DVec3::splat(1.5) };
        LevelSet::from_distance(|p| p.length() - 1.0, bounds, frame, BlockWidth::new(6).unwrap(), 0.3)
    }

    fn message(bytes: &[u8]) -> String {
        read_bytes(bytes, "ball.level").unwrap_err().to_string()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let ball = ball();
        let again = read_bytes(&encode(&ball), "ball").unwrap();
        assert_eq!(again.grid().samples(), ball.grid().samples());
        assert_eq!(again.grid().blocks(), ball.grid().blocks());
        assert_eq!(again.grid().inside_blocks(), ball.grid().inside_blocks());
        assert_eq!(again.grid().domain(), ball.grid().domain());
        assert_eq!(again.frame(), ball.frame());
        assert_eq!(encode(&again), encode(&ball));
        for point in [DVec3::ZERO, DVec3::X, DVec3::splat(0.6), DVec3::splat(9.0)] {
            assert_eq!(again.value(point), ball.value(point));
        }
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed_and_named() {
        let bytes = encode(&ball());
        for at in (0..bytes.len()).step_by(97).chain(0..HEADER_BYTES + 4) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            let text = message(&damaged);
            assert!(text.starts_with("ball.level: ") && !text.contains('\n'), "{text}");
        }
        for length in (0..bytes.len()).step_by(101) {
            message(&bytes[..length]);
        }
        assert!(message(b"solid cube").contains("not a level set file"));
    }

    #[test]
    fn a_header_that_promises_much_allocates_nothing() {
        let mut bytes = encode(&ball());
        bytes[80..88].copy_from_slice(&u64::from(u32::MAX - 3).to_le_bytes());
        let sum = crc32fast::hash(&bytes[..HEADER_BYTES]);
        bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&sum.to_le_bytes());
        assert!(message(&bytes).contains("bytes follow the header"));
        let mut wide = encode(&ball());
        wide[68..80].copy_from_slice(&[0xff, 0xff, 0x0f, 0, 0xff, 0xff, 0x0f, 0, 0xff, 0xff, 0x0f, 0]);
        let sum = crc32fast::hash(&wide[..HEADER_BYTES]);
        wide[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(read_bytes(&wide, "wide").unwrap().grid().domain(), Domain::Unbounded);
    }

    proptest! {
        #[test]
        fn any_bytes_after_a_good_header_give_an_error_or_a_level_set(
            noise in prop::collection::vec(any::<u8>(), 0..4000),
            at in 8_usize..100,
            value in any::<u8>(),
        ) {
            let mut bytes = encode(&ball());
            bytes[at] = value;
            let sum = crc32fast::hash(&bytes[..HEADER_BYTES]);
            bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&sum.to_le_bytes());
            let _ = read_bytes(&bytes, "header");
            bytes.truncate(HEADER_BYTES + 4);
            bytes.extend(noise);
            let _ = read_bytes(&bytes, "noise");
        }
    }

    #[test]
    fn nrrd_files_hold_the_samples_at_their_places() {
        let ball = ball();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ball.nrrd");
        write_nrrd(&path, &ball).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
        let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let field = |name: &str| header.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        let sizes: Vec<usize> = field("sizes:").split(' ').map(|word| word.parse().unwrap()).collect();
        assert_eq!(bytes.len() - end, 4 * sizes.iter().product::<usize>());
        let origin: Vec<f64> =
            field("space origin:").trim_matches(['(', ')']).split(',').map(|word| word.parse().unwrap()).collect();
        let (x, y, z) = (sizes[0] / 2, sizes[1] / 3, sizes[2] / 2);
        let at = end + 4 * (x + sizes[0] * (y + sizes[1] * z));
        let value = f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let point = DVec3::from_slice(&origin) + 0.1 * DVec3::new(x as f64, y as f64, z as f64);
        assert!((f64::from(value) - (point.length() - 1.0).clamp(-0.3, 0.3)).abs() < 1e-5);
    }
}
