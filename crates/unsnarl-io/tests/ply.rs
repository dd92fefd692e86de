//! PLY files in their three encodings: what is read, what survives writing, what is refused.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use unsnarl_geometry::{DVec2, DVec3, TriMesh, UvMap};
use unsnarl_io::mesh::{self, FindingKind, Format, MeshFile, ReadOptions};

fn read(bytes: impl Into<Vec<u8>>) -> Result<MeshFile, mesh::MeshFileError> {
    mesh::read_bytes(Format::Ply, "shirt.ply", bytes.into(), &ReadOptions::default())
}

const TEXT: &str = "\
ply
format ascii 1.0
comment a quad and a triangle
element vertex 5
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int vertex_indices
property uchar flags
element material 1
property list uchar float values
end_header
0 0 0 255
1 0 0 254
1 1 0.1 253
0 1 0 252
2 2 0 251
4 0 1 2 3 7
3 2 1 4 8
2 0.5 0.25
";

/// The same file as [`TEXT`] in binary, put together by hand.
fn binary(big_endian: bool) -> Vec<u8> {
    let format = if big_endian { "binary_big_endian" } else { "binary_little_endian" };
    let end = TEXT.find("end_header\n").expect("the text has a header") + "end_header\n".len();
    let mut out = TEXT[..end].replace("ascii", format).into_bytes();
    let float = |value: f32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let int = |value: i32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.1], [0.0, 1.0, 0.0], [2.0, 2.0, 0.0]];
    for (index, point) in points.iter().enumerate() {
        point.iter().for_each(|&value| out.extend(float(value)));
        out.push(255 - index as u8);
    }
    for (face, flag) in [(&[0, 1, 2, 3][..], 7), (&[2, 1, 4][..], 8)] {
        out.push(face.len() as u8);
        face.iter().for_each(|&corner| out.extend(int(corner)));
        out.push(flag);
    }
    out.push(2);
    [0.5, 0.25].iter().for_each(|&value| out.extend(float(value)));
    out
}

#[test]
fn the_three_encodings_hold_the_same_mesh() {
    for bytes in [TEXT.as_bytes().to_vec(), binary(false), binary(true)] {
        let file = read(bytes.clone()).unwrap();
        assert_eq!(file.mesh.positions.len(), 5);
        assert_eq!(file.mesh.positions[2], DVec3::new(1.0, 1.0, f64::from(0.1f32)));
        assert_eq!(file.mesh.triangles, [[0, 1, 2], [0, 2, 3], [2, 1, 4]]);
        assert!(mesh::encode(Format::Ply, &file) == bytes);
    }
}

#[test]
fn moved_positions_are_written_exactly_and_the_rest_survives() {
    for bytes in [TEXT.as_bytes().to_vec(), binary(false), binary(true)] {
        let file = read(bytes.clone()).unwrap();
        let mut positions = file.mesh.positions.clone();
        positions[1].x = 1.5;
        let moved = mesh::encode(Format::Ply, &file.with_positions(positions.clone()));
        assert_eq!(read(moved).unwrap().mesh.positions, positions, "still 32-bit");
        positions[1].x = 1.0 / 3.0;
        let moved = mesh::encode(Format::Ply, &file.with_positions(positions.clone()));
        assert!(String::from_utf8_lossy(&moved).contains("property double x\nproperty double y\nproperty double z\n"));
        let again = read(moved.clone()).unwrap();
        assert_eq!(again.mesh.positions, positions, "declared 64-bit");
        assert_eq!(again.mesh.triangles, file.mesh.triangles);
        let tail = &bytes[bytes.len() - 9..];
        assert_eq!(&moved[moved.len() - 9..], tail);
    }
}

#[test]
fn a_mesh_without_a_file_survives_with_its_seams() {
    let mesh = TriMesh {
        positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(0.1, 1.0 / 3.0, 1e-20)],
        triangles: vec![[0, 1, 2], [1, 3, 2]],
    };
    let coordinates =
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 0.0], [6.0, 1.0], [5.0, 1.0]].map(DVec2::from).to_vec();
    let uv = UvMap { coordinates, triangles: vec![[0, 1, 2], [3, 4, 5]] };
    for uv in [None, Some(uv)] {
        let file = MeshFile::new(mesh.clone(), uv.clone());
        let again = read(mesh::encode(Format::Ply, &file)).unwrap();
        assert_eq!(again.mesh, mesh);
        assert_eq!(again.uv, uv);
    }
}

#[test]
fn refusals_name_the_place() {
    let cut = TEXT.rfind("3 2 1").unwrap();
    let cut_binary = |length: usize| {
        let mut bytes = binary(false);
        bytes.truncate(length);
        bytes
    };
    let rows: Vec<(Vec<u8>, FindingKind, &str)> = vec![
        (b"plx\n".to_vec(), FindingKind::Syntax, "shirt.ply:1: expected `ply`"),
        (b"ply\nformat ascii 1.0\n".to_vec(), FindingKind::Truncated, "no `end_header`"),
        (TEXT.replace("ascii", "utf8").into(), FindingKind::Syntax, "shirt.ply:2: "),
        (TEXT.replace("vertex 5", "vertex 4000000000000000000").into(), FindingKind::PromisesTooMuch, "shirt.ply:4: "),
        (TEXT.replace("face 2", "face 99").into(), FindingKind::PromisesTooMuch, "shirt.ply:9: "),
        (TEXT[..cut].replace("2 3 7", "2").into(), FindingKind::Truncated, "in the middle of its data"),
        (TEXT.replace("4 0 1 2 3", "200 0 1 2 3").into(), FindingKind::PromisesTooMuch, ":20: a list promises 200"),
        (
            TEXT.replace("0 1 2 3 7", "0 1 2 9 7").into(),
            FindingKind::IndexOutOfRange,
            "shirt.ply:20: a face names vertex 9",
        ),
        (TEXT.replace("0.1 253", "nan 253").into(), FindingKind::NotFinite, "shirt.ply:17: vertex 2"),
        (TEXT.replace("property float y\n", "").into(), FindingKind::Syntax, "property `y`"),
        (cut_binary(binary(false).len() - 10), FindingKind::Truncated, "byte"),
    ];
    for (bytes, kind, words) in rows {
        let error = read(bytes).unwrap_err();
        assert!(error.kind == kind && error.to_string().contains(words), "{error}, expected {kind:?} {words}");
    }
}

#[test]
fn real_files_agree_with_their_counts() {
    let rows =
        [("ipc_toolkit_mit/bunny.ply", 2503, 5002), ("scalable_ccd_apache2/cloth-funnel/frames/227.ply", 9450, 18484)];
    for (path, vertices, triangles) in rows {
        let Some(path) = real_data(path) else { continue };
        let file = mesh::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!((file.mesh.positions.len(), file.mesh.triangles.len()), (vertices, triangles));
        assert!(mesh::encode(Format::Ply, &file) == std::fs::read(&path).unwrap());
    }
}
