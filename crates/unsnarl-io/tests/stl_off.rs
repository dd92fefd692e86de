//! STL and OFF files: what is read, what survives writing, what is refused.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use unsnarl_geometry::DVec3;
use unsnarl_io::mesh::{self, FindingKind, Format, MeshFile, ReadOptions, StlEncoding, Weld};

const TEXT_STL: Format = Format::Stl(StlEncoding::Text);
const BINARY_STL: Format = Format::Stl(StlEncoding::Binary);

fn read(format: Format, bytes: impl Into<Vec<u8>>) -> Result<MeshFile, mesh::MeshFileError> {
    mesh::read_bytes(format, "shirt", bytes.into(), &ReadOptions::default())
}

const SQUARE: &str = "\
solid front panel
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 1 1 0
endloop
endfacet
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 1 0
vertex -0 1 0.1
endloop
endfacet
endsolid front panel
";

/// The square in binary with attribute bytes, put together by hand.
fn binary_square() -> Vec<u8> {
    let mut out = b"solid that is binary".to_vec();
    out.resize(80, b' ');
    out.extend(2u32.to_le_bytes());
    let facets: [[[f32; 3]; 3]; 2] =
        [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.1]]];
    for facet in facets {
        [0.0f32, 0.0, 1.0].iter().for_each(|value| out.extend(value.to_le_bytes()));
        facet.iter().flatten().for_each(|value| out.extend(value.to_le_bytes()));
        out.extend([7, 9]);
    }
    out
}

#[test]
fn both_kinds_of_stl_are_welded() {
    for (format, bytes) in [(TEXT_STL, SQUARE.as_bytes().to_vec()), (BINARY_STL, binary_square())] {
        let file = read(Format::Stl(StlEncoding::Binary), bytes.clone()).unwrap();
        assert_eq!(file.format, format, "found out from the bytes");
        assert_eq!(file.mesh.positions.len(), 4);
        assert_eq!(file.mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert!(mesh::inspect(&file).iter().any(|finding| finding.kind == FindingKind::Welded && finding.count == 2));
        assert!(mesh::encode(format, &file) == bytes, "unchanged");
        let apart = ReadOptions { weld: Weld::Never, ..ReadOptions::default() };
        assert_eq!(mesh::read_bytes(format, "shirt", bytes, &apart).unwrap().mesh.positions.len(), 6);
    }
}

#[test]
fn a_moved_stl_vertex_moves_in_every_facet_and_normals_follow() {
    let file = read(BINARY_STL, binary_square()).unwrap();
    let mut positions = file.mesh.positions.clone();
    positions[1] = DVec3::new(1.0, 0.0, 1.0 / 3.0);
    let moved = file.with_positions(positions);
    let bytes = mesh::encode(BINARY_STL, &moved);
    let again = read(BINARY_STL, bytes.clone()).unwrap();
    assert_eq!(again.mesh.positions, moved.stored_positions(BINARY_STL));
    assert_eq!(again.mesh.positions[1].z, f64::from((1.0f64 / 3.0) as f32));
    let normal: Vec<f32> = bytes[84..96].chunks(4).map(|value| f32::from_le_bytes(value.try_into().unwrap())).collect();
    let expected = DVec3::new(1.0, 0.0, 1.0 / 3.0).cross(DVec3::new(1.0, 1.0, 0.0)).normalize();
    for (axis, value) in expected.to_array().iter().enumerate() {
        assert!((f64::from(normal[axis]) - value).abs() < 1e-6);
    }
    assert_eq!(&bytes[132..134], [7, 9], "attribute bytes stay");
    let text = read(TEXT_STL, SQUARE).unwrap();
    let text = read(TEXT_STL, mesh::encode(TEXT_STL, &text.with_positions(moved.mesh.positions.clone()))).unwrap();
    assert_eq!(text.mesh.positions, moved.mesh.positions);
    assert_eq!(text.objects.names, ["front panel"]);
}

#[test]
fn bad_stl_files_are_refused() {
    let mut promises = binary_square();
    promises[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut not_finite = binary_square();
    not_finite[96..100].copy_from_slice(&f32::NAN.to_le_bytes());
    let rows: Vec<(Vec<u8>, FindingKind)> = vec![
        (promises, FindingKind::PromisesTooMuch),
        (binary_square()[..150].to_vec(), FindingKind::PromisesTooMuch),
        (b"\x00\x01".to_vec(), FindingKind::Truncated),
        (Vec::new(), FindingKind::Empty),
        (not_finite, FindingKind::NotFinite),
        (SQUARE.replace("vertex 1 0 0", "vertex 1 0").into(), FindingKind::Syntax),
        (SQUARE.replace("vertex 1 0 0\n", "").into(), FindingKind::Syntax),
        (SQUARE[..SQUARE.rfind("endloop").unwrap()].into(), FindingKind::Truncated),
        ("solid nothing\nendsolid\n".into(), FindingKind::Empty),
    ];
    for (bytes, kind) in rows {
        let error = read(BINARY_STL, bytes).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

const OFF: &str = "\
COFF # with colours
# a quad and a triangle
5 2 0

0 0 0 255 0 0 255
1 0 0 255 0 0 255 # here
1 1 0.1 255 0 0 255
0 1 0 255 0 0 255
2 2 0 255 0 0 255
4 0 1 2 3 0.5 0.5 0.5
3 2 1 4
";

#[test]
fn off_keeps_polygons_colours_and_comments() {
    let file = read(Format::Off, OFF).unwrap();
    assert_eq!(file.mesh.triangles, [[0, 1, 2], [0, 2, 3], [2, 1, 4]]);
    assert_eq!(mesh::encode(Format::Off, &file), OFF.as_bytes());
    let mut positions = file.mesh.positions.clone();
    positions[1].z = 1.0 / 3.0;
    let text = String::from_utf8(mesh::encode(Format::Off, &file.with_positions(positions.clone()))).unwrap();
    assert_eq!(text, OFF.replace("1 0 0 255 0 0 255 # here", "1 0 0.3333333333333333 255 0 0 255 # here"));
    let mut bare = MeshFile::new(file.mesh.clone(), None);
    bare.faces = file.faces.clone();
    let again = read(Format::Off, mesh::encode(Format::Off, &bare)).unwrap();
    assert_eq!((again.mesh, again.faces), (bare.mesh, bare.faces));
    assert_eq!(read(Format::Off, "OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2").unwrap().mesh.triangles, [[0, 1, 2]]);
}

#[test]
fn bad_off_files_are_refused() {
    let rows = [
        ("", FindingKind::Empty),
        ("PLY\n", FindingKind::Syntax),
        ("4OFF\n1 1 1\n", FindingKind::UnknownKind),
        ("OFF BINARY\n", FindingKind::UnknownKind),
        ("OFF\n", FindingKind::Truncated),
        ("OFF\n3 x\n", FindingKind::Syntax),
        ("OFF\n4000000000000000000 1 0\n", FindingKind::PromisesTooMuch),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 1e400\n3 0 1 2\n", FindingKind::NotFinite),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", FindingKind::IndexOutOfRange),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n", FindingKind::IndexOutOfRange),
        ("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n9 0 1 2\n", FindingKind::Syntax),
        ("OFF\n3 2 0\n0.0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", FindingKind::Truncated),
    ];
    for (text, kind) in rows {
        let error = read(Format::Off, text).unwrap_err();
        assert_eq!(error.kind, kind, "{text}: {error}");
    }
}

#[test]
fn real_off_files_are_written_byte_for_byte() {
    for (name, vertices, triangles) in [("femur", 3897, 7798), ("mask_cone", 0, 0), ("elephant", 0, 0)] {
        let Some(path) = real_data(&format!("cgal_cc0/{name}.off")) else { continue };
        let file = mesh::read(&path, &ReadOptions::default()).unwrap();
        if vertices > 0 {
            assert_eq!((file.mesh.positions.len(), file.mesh.triangles.len()), (vertices, triangles));
        }
        assert!(mesh::encode(Format::Off, &file) == std::fs::read(&path).unwrap());
    }
}
