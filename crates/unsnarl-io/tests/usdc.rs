//! Binary USD: files written by usd-core say what the text says that they were made from; damaged ones are refused.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use unsnarl_io::mesh::{self, FindingKind, Format, MeshFile, MeshFileError, ReadOptions};

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)
}

fn read(name: &str) -> MeshFile {
    mesh::read(&corpus(name), &ReadOptions::default()).unwrap()
}

fn of_bytes(bytes: Vec<u8>) -> Result<MeshFile, MeshFileError> {
    mesh::read_bytes(Format::Usda, "x.usdc", bytes, &ReadOptions::default())
}

#[test]
fn binary_files_and_packages_read_as_their_text() {
    for (text, binary) in
        [("garment.usda", "garment.usdc"), ("moving.usda", "moving.usdc"), ("garment.usda", "garment.usdz")]
    {
        let (text, binary) = (read(text), read(binary));
        assert_eq!(text.mesh, binary.mesh);
        assert_eq!((&text.uv, &text.rest), (&binary.uv, &binary.rest));
        assert_eq!((&text.objects, &text.groups), (&binary.objects, &binary.groups));
        assert_eq!((&text.materials, text.conversion), (&binary.materials, binary.conversion));
        let findings = |file: &MeshFile| mesh::inspect(file).iter().map(|own| own.to_string()).collect::<Vec<_>>();
        assert_eq!(findings(&text), findings(&binary));
    }
}

#[test]
fn time_samples_are_those_of_the_text() {
    let motion = |name: &str| mesh::read_motion(&corpus(name), &ReadOptions::default()).unwrap().frames;
    let frames = motion("moving.usda");
    assert!(frames.len() > 1);
    assert_eq!(frames, motion("moving.usdc"));
}

#[test]
fn a_binary_file_that_was_moved_is_written_as_text() {
    let file = read("garment.usdc");
    let moved = file.with_positions(file.mesh.positions.iter().map(|&place| 0.5 * place).collect());
    let text = mesh::encode(Format::Usda, &moved);
    assert!(text.starts_with(b"#usda 1.0"));
    assert_eq!(of_bytes(text).unwrap().mesh.positions, moved.stored_positions(Format::Usda));
    let error = mesh::write(Path::new("out.usdc"), &file).unwrap_err();
    assert!(error.to_string().starts_with("out.usdc: binary USD is read, not written here"), "{error}");
    assert_eq!(Format::for_output(Path::new("OUT.USDZ")), None);
    assert_eq!(Format::for_output(Path::new("out.usd")), Some(Format::Usda));
}

#[test]
fn damage_is_named_in_one_line() {
    let whole = std::fs::read(corpus("garment.usdc")).unwrap();
    for length in [8, 16, 24, 87, whole.len() / 2, whole.len() - 1] {
        let error = of_bytes(whole[..length].to_vec()).unwrap_err();
        assert_eq!(error.kind, FindingKind::Syntax, "{error}");
        assert!(error.to_string().contains("damaged binary USD: "), "{error}");
    }
    let mut old = whole.clone();
    old[9] = 3;
    let error = of_bytes(old).unwrap_err();
    assert!(error.to_string().contains("version 0.3; expected 0.4 or later"), "{error}");
    let package = std::fs::read(corpus("garment.usdz")).unwrap();
    let error = of_bytes(package[..package.len() - 30].to_vec()).unwrap_err();
    assert!(error.to_string().contains("no directory at its end"), "{error}");
}

/// A count that promises gigabytes costs no memory.
#[test]
fn counts_beyond_the_file_are_refused() {
    let whole = std::fs::read(corpus("garment.usdc")).unwrap();
    let table = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
    for section in 0..6 {
        let entry = table + 8 + 32 * section;
        let start = u64::from_le_bytes(whole[entry + 16..entry + 24].try_into().unwrap()) as usize;
        let mut bytes = whole.clone();
        bytes[start..start + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
        assert!(of_bytes(bytes).is_err(), "section {section}");
    }
}
