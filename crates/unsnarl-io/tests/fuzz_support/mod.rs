//! Makes damaged files out of a small corpus and looks at what readers do with them.
//!
//! Damage is drawn from a seeded generator, so a run can be repeated. Inputs that get an answer not seen before join
//! the pool from which later ones are made.
//!
//! Checked for every input: no panic. For every mesh that comes out: a topology can be built of it, nothing in it is
//! refused, writing it unchanged gives the same bytes, and writing it moved gives a file that reads back as told.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use unsnarl_geometry::{DVec3, Topology};
use unsnarl_io::mesh::{self, Character, Format, KeepSource, MeshFile, ReadOptions, Severity, StlEncoding, Weld};
use unsnarl_io::tet_file::{self, MshVersion, TetFormat};
use unsnarl_volume::tet_mesh::measure;

/// A reader to fuzz.
#[derive(Clone, Copy)]
pub enum Reader {
    Mesh(Format),
    Tet(TetFormat),
}

/// What is fuzzed: the mesh readers and those of tetrahedral meshes.
pub const READERS: &[(&str, Reader)] = &[
    ("obj", Reader::Mesh(Format::Obj)),
    ("ply", Reader::Mesh(Format::Ply)),
    ("stl", Reader::Mesh(Format::Stl(StlEncoding::Binary))),
    ("off", Reader::Mesh(Format::Off)),
    ("gltf", Reader::Mesh(Format::Gltf)),
    ("glb", Reader::Mesh(Format::Glb)),
    ("usda", Reader::Mesh(Format::Usda)),
    ("usdc", Reader::Mesh(Format::Usda)),
    ("usdz", Reader::Mesh(Format::Usda)),
    ("msh", Reader::Tet(TetFormat::Msh)),
    ("vtk", Reader::Tet(TetFormat::Vtk)),
    ("node", Reader::Tet(TetFormat::NodeEle)),
    ("mesh", Reader::Tet(TetFormat::Medit)),
];

/// A small, fast generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Words that readers may trip over.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "3",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "-9223372036854775808",
    "99999999999999999999",
    "1e400",
    "-1e31",
    "1e-320",
    "nan",
    "-inf",
    "inf",
    " ",
    "\n",
    "\r",
    "\\\n",
    "/",
    "//",
    "#",
    "\0",
    "\u{fffd}",
    "f ",
    "v ",
    "vt ",
    "g ",
    "l ",
    "stitch ",
    "usemtl ",
    "element vertex ",
    "element face ",
    "property list uchar int ",
    "property double x",
    "end_header\n",
    "format binary_big_endian 1.0\n",
    "facet",
    "endfacet",
    "solid ",
    "vertex ",
    "OFF",
    "COFF",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "\"\"\"",
    "@",
    "<",
    ":",
    ",",
    "null",
    "\"count\":",
    "\"sparse\":",
    "\"byteStride\":",
    "\"byteOffset\":",
    "\"mode\":5,",
    "def Mesh \"m\" {",
    "points.timeSamples = {",
    "variantSet ",
    "xformOp:rotateXYZ",
    "!invert!",
    "None",
    "interpolation = \"vertex\"",
    "$Nodes\n",
    "$EndElements\n",
    "4.1 1 8",
    "CELLS 4000000000 4000000000\n",
    "BINARY",
    "OFFSETS vtktypeint64\n",
    "Tetrahedra\n",
    "\n%\n",
];

/// Damages a file in one to eight ways.
pub fn damaged(seed: &[u8], pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const LONGEST: usize = 1 << 14;
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() + 1);
        let reach = 1 + random.below(64);
        let end = (at + 1 + random.below(reach)).min(bytes.len());
        match random.below(10) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => {
                let copy = bytes[at.min(end)..end].to_vec();
                let place = random.below(bytes.len() + 1);
                bytes.splice(place..place, copy);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = &pool[random.below(pool.len())];
                let start = random.below(other.len() + 1);
                let stop = (start + random.below(128)).min(other.len());
                bytes.splice(at.min(end)..end, other[start..stop].iter().copied());
            }
            6 | 7 => replace_number(&mut bytes, random),
            8 => drop(bytes.splice(at.min(end)..end, WORDS[random.below(WORDS.len())].bytes())),
            _ => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// Puts another number in the place of one of the file's own.
fn replace_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len() + 1);
    let Some(offset) = bytes[start..].iter().position(u8::is_ascii_digit) else { return };
    let at = start + offset;
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let word = match random.below(3) {
        0 => WORDS[random.below(16)].to_owned(),
        1 => random.below(300).to_string(),
        _ => (random.next() >> random.below(64)).to_string(),
    };
    bytes.splice(at..at + length, word.bytes());
}

/// What came of a run.
#[derive(Default)]
pub struct Tally {
    pub inputs: u64,
    pub meshes: u64,
    pub answers: usize,
    pub slowest: Duration,
    /// The first few inputs that a reader panicked on or that broke a promise, and why.
    pub failures: Vec<(Vec<u8>, String)>,
}

/// Feeds damaged files to one reader until the count or the time is up.
pub fn run(reader: Reader, corpus: &[Vec<u8>], seed: u64, count: u64, time: Duration) -> Tally {
    let mut random = Random(seed);
    let mut pool = corpus.to_vec();
    let mut seen = HashSet::new();
    let mut tally = Tally::default();
    let start = Instant::now();
    while tally.inputs < count && (tally.inputs % 64 != 0 || start.elapsed() < time) {
        // Half of all inputs start from a good file.
        let reach = if random.below(2) == 0 { corpus.len() } else { pool.len() };
        let base = &pool[random.below(reach)];
        let bytes = damaged(base, &pool, &mut random);
        let thorough = random.below(4) == 0;
        let before = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| examine(reader, &bytes, thorough)));
        let mut taken = before.elapsed();
        // On a busy machine an input may only have waited; the quickest of three says how slow it is.
        for _ in 0..2 {
            if taken > tally.slowest && outcome.is_ok() {
                let before = Instant::now();
                let _ = examine(reader, &bytes, thorough);
                taken = taken.min(before.elapsed());
            }
        }
        tally.slowest = tally.slowest.max(taken);
        tally.inputs += 1;
        let answer = match outcome {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => {
                tally.failures.push((bytes, broken));
                continue;
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                tally.failures.push((bytes, format!("panic: {}", text.unwrap_or_default())));
                continue;
            }
        };
        tally.meshes += u64::from(answer.starts_with("mesh"));
        if seen.insert(answer) && pool.len() < 4000 {
            pool.push(bytes);
        }
        if tally.failures.len() > 20 {
            break;
        }
    }
    tally.answers = seen.len();
    tally
}

/// Reads a file and checks what comes out. The answer in words, with its numbers left out; or the promise that broke.
fn examine(reader: Reader, bytes: &[u8], thorough: bool) -> Result<String, String> {
    match reader {
        Reader::Mesh(format) => examine_mesh(format, bytes, thorough),
        Reader::Tet(format) => examine_tets(format, bytes, thorough),
    }
}

fn examine_tets(format: TetFormat, bytes: &[u8], thorough: bool) -> Result<String, String> {
    let path = Path::new(match format {
        TetFormat::Msh => "x.msh",
        TetFormat::Vtk => "x.vtk",
        TetFormat::NodeEle => "x.node",
        TetFormat::Medit => "x.mesh",
    });
    let file = match tet_file::read_bytes(format, bytes, path) {
        Err(error) => return words_of(&error.to_string()),
        Ok(file) => file,
    };
    let sizes = [file.mesh.positions.len(), file.mesh.tets.len(), file.left_out].map(usize::ilog2_or_zero);
    if file.mesh.tets.iter().flatten().any(|&node| node as usize >= file.mesh.positions.len()) {
        return Err("a tetrahedron names a node that is not there".into());
    }
    if thorough {
        measure::measure(&file.mesh);
        let mut written = Vec::new();
        for (_, part) in tet_file::encode(path, &file.mesh, MshVersion::V4).map_err(|error| error.to_string())? {
            // Of the files of TetGen the faces are not read.
            if !part.starts_with(b"# boundary") {
                written.extend(part);
                written.extend(b"%\n");
            }
        }
        written.truncate(written.len() - 2);
        let again = tet_file::read_bytes(format, &written, path).map_err(|error| format!("written: {error}"))?;
        if again.mesh.tets != file.mesh.tets || again.mesh.positions != file.mesh.positions {
            return Err("the mesh reads back differently".into());
        }
    }
    Ok(format!("mesh {sizes:?} {}", file.kind.split(',').next().unwrap_or_default()))
}

/// The words of a message, if it is one line.
fn words_of(text: &str) -> Result<String, String> {
    if text.contains(['\n', '\r']) {
        return Err(format!("the message has two lines: {text}"));
    }
    Ok(without_quotes(text).filter(|letter| letter.is_ascii_alphabetic() || *letter == ' ').collect())
}

fn examine_mesh(format: Format, bytes: &[u8], thorough: bool) -> Result<String, String> {
    let options = ReadOptions { weld: Weld::Never, ..ReadOptions::default() };
    if matches!(format, Format::Gltf | Format::Glb)
        && let Ok(character) = Character::from_bytes(format, "x", bytes, &options)
    {
        character.clips.iter().take(2).for_each(|clip| drop(character.positions_at(clip, 0.4)));
    }
    match mesh::read_bytes(format, "x", bytes.to_vec(), &options) {
        Err(error) => words_of(&error.to_string()),
        Ok(file) => {
            if thorough {
                check_mesh(format, bytes, &file)?;
                let welded = ReadOptions { weld: Weld::Always, keep_source: KeepSource::Forget, ..options };
                let _ = mesh::read_bytes(format, "x", bytes.to_vec(), &welded);
            }
            let findings: Vec<&str> = mesh::inspect(&file).iter().map(|finding| finding.kind.name()).collect();
            let sizes = [file.mesh.positions.len(), file.mesh.triangles.len(), file.groups.names.len()];
            Ok(format!("mesh {findings:?} {:?} {}", sizes.map(usize::ilog2_or_zero), file.uv.is_some()))
        }
    }
}

/// A message without what it quotes from the file.
fn without_quotes(text: &str) -> impl Iterator<Item = char> + '_ {
    text.split('`').step_by(2).flat_map(str::chars)
}

trait Log2 {
    fn ilog2_or_zero(self) -> u32;
}

impl Log2 for usize {
    fn ilog2_or_zero(self) -> u32 {
        self.checked_ilog2().map_or(0, |log| log + 1)
    }
}

fn check_mesh(format: Format, bytes: &[u8], file: &MeshFile) -> Result<(), String> {
    Topology::new(file.mesh.positions.len(), &file.mesh.triangles).map_err(|error| error.to_string())?;
    if let Some(finding) = mesh::inspect(file).iter().find(|finding| finding.severity() == Severity::Refusal) {
        return Err(format!("a refused mesh was read: {finding}"));
    }
    let format = if let Format::Stl(_) = format { file.format } else { format };
    let is_rewritten = bytes.starts_with(b"PXR-USDC") || bytes.starts_with(b"PK");
    if !is_rewritten && mesh::encode(format, file) != bytes {
        return Err("an unchanged mesh was written differently".into());
    }
    let moved: Vec<DVec3> = file.mesh.positions.iter().map(|&position| position * 0.75).collect();
    let moved = file.with_positions(moved);
    let options = ReadOptions { weld: Weld::Never, ..ReadOptions::default() };
    let again = mesh::read_bytes(format, "x", mesh::encode(format, &moved), &options)
        .map_err(|error| format!("a moved mesh does not read back: {error}"))?;
    let from_scratch = again.mesh.positions.len() != file.mesh.positions.len();
    if !from_scratch && again.mesh.positions != moved.stored_positions(format) {
        return Err("a moved mesh reads back at other positions than told".into());
    }
    let conversion = file.conversion;
    let options = ReadOptions { units: Some(conversion.unit), up_axis: Some(conversion.up_axis), ..options };
    let obj = mesh::read_bytes(Format::Obj, "x", mesh::encode(Format::Obj, &moved), &options)
        .map_err(|error| format!("the mesh does not go through OBJ: {error}"))?;
    if obj.mesh.triangles.len() != file.mesh.triangles.len() {
        return Err("triangles were lost on the way through OBJ".into());
    }
    for other in Format::ALL {
        mesh::encode(*other, file);
    }
    Ok(())
}

/// The files of the corpus with an extension.
pub fn corpus(folder: &Path, extension: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is part of the project")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|own| own == extension))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("the corpus can be read")).collect()
}
