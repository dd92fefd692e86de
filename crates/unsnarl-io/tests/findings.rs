//! One row for every answer in the table of `docs/meshes.md`.

use std::path::Path;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::mesh::{self, FindingKind, Format, MeshFile, ReadOptions, Severity, StlEncoding, VertexCount};

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

/// A file, and what is found in it or why it is refused.
fn rows() -> Vec<(FindingKind, Format, Vec<u8>)> {
    let obj = |faces: &str| format!("{SQUARE}{faces}").into_bytes();
    let scaled = |factor: f64| format!("v 0 0 0\nv {factor} 0 0\nv 0 {factor} 0\nf 1 2 3\n").into_bytes();
    let mut promising_stl = vec![b' '; 80];
    promising_stl.extend(1_000_000u32.to_le_bytes());
    let ply = |vertices: &str, rows: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement vertex {vertices}\nproperty float x\nproperty float y\nproperty float z\n\
             element face 1\nproperty list uchar int vertex_indices\nend_header\n{rows}"
        )
        .into_bytes()
    };
    let stl = "solid\nfacet\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendfacet\nfacet\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendfacet\n";
    vec![
        (FindingKind::NonManifoldEdge, Format::Obj, obj("v 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 2 5\n")),
        (FindingKind::DuplicateFace, Format::Obj, obj("f 1 2 3\nf 1 3 4\nf 3 1 2\n")),
        (FindingKind::ZeroAreaFace, Format::Obj, obj("v 0.5 0 0\nf 1 2 3\nf 1 3 4\nf 1 5 2\n")),
        (FindingKind::RepeatedVertex, Format::Obj, obj("f 1 2 3 4\nf 1 2 2\n")),
        (FindingKind::UnreferencedVertex, Format::Obj, obj("f 1 2 3\n")),
        (FindingKind::Welded, Format::Stl(StlEncoding::Text), stl.into()),
        (FindingKind::PartialUv, Format::Obj, obj("vt 0 0\nf 1/1 2/1 3/1\nf 1 3 4\n")),
        (FindingKind::LeftOut, Format::Obj, obj("f 1 2 3 4\ncurv 0 1 1 2 3\n")),
        (FindingKind::SmallGarment, Format::Obj, scaled(0.049)),
        (FindingKind::LargeGarment, Format::Obj, scaled(10.1)),
        (FindingKind::NotFinite, Format::Obj, b"v 0 0 nan\n".to_vec()),
        (FindingKind::NotFinite, Format::Obj, b"v 0 0 inf\n".to_vec()),
        (FindingKind::HugeCoordinate, Format::Obj, scaled(1.1e30)),
        (FindingKind::Empty, Format::Obj, Vec::new()),
        (FindingKind::Empty, Format::Obj, SQUARE.into()),
        (FindingKind::IndexOutOfRange, Format::Obj, obj("f 1 2 5\n")),
        (FindingKind::Truncated, Format::Off, b"OFF\n3 1 0\n0.5 0 0\n1 0 0\n0 1 0\n".to_vec()),
        (FindingKind::Truncated, Format::Ply, ply("3", "0.25 0 0\n1 0 0\n0 1 0\n3 0 1")),
        (FindingKind::PromisesTooMuch, Format::Ply, ply("4000000000", "0 0 0\n")),
        (FindingKind::PromisesTooMuch, Format::Stl(StlEncoding::Binary), promising_stl),
        (FindingKind::Syntax, Format::Obj, b"v 0 zero 0\n".to_vec()),
        (FindingKind::UnknownKind, Format::Usda, b"PXR-USDC\0\x03\0\0\0\0\0\0".to_vec()),
        (FindingKind::Unreadable, Format::Gltf, br#"{"buffers":[{"uri":"far.bin","byteLength":1}]}"#.to_vec()),
    ]
}

#[test]
fn every_answer_of_the_table_is_given() {
    for (kind, format, bytes) in rows() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match mesh::read_bytes(format, "shirt", bytes, &ReadOptions::default()) {
            Err(error) => {
                assert_eq!(error.kind, kind, "{error}");
                assert_eq!(kind.severity(), Severity::Refusal, "{error}");
                assert_eq!(kind.vertex_count(), VertexCount::Refused);
                assert!(error.to_string().ends_with(kind.advice()), "{error}");
            }
            Ok(file) => {
                let findings = mesh::inspect(&file);
                let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
                assert_eq!(kinds.iter().filter(|&&own| own == kind).count(), 1, "{text}: {kinds:?}");
                assert_ne!(kind.severity(), Severity::Refusal, "{text}");
                let shown = findings.iter().find(|finding| finding.kind == kind).unwrap().to_string();
                assert!(shown.contains(kind.meaning()) && shown.contains(kind.advice()) && !shown.contains('\n'));
            }
        }
    }
}

#[test]
fn every_kind_has_a_row_here_and_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/meshes.md");
    let documentation = std::fs::read_to_string(path).unwrap();
    for &kind in FindingKind::ALL {
        // More elements than fit into memory cannot be a row.
        let tested = kind == FindingKind::TooMany || rows().iter().any(|(own, ..)| *own == kind);
        assert!(tested, "{} has no row", kind.name());
        let severity = match kind.severity() {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Refusal => "refusal",
        };
        let count = match kind.vertex_count() {
            VertexCount::Kept => "no",
            VertexCount::Shrinks => "yes, it shrinks",
            VertexCount::Refused => "no mesh",
        };
        let row = format!("| `{}` | {severity} | {} | {} | {count} |", kind.name(), kind.meaning(), kind.advice());
        assert!(documentation.contains(&row), "docs/meshes.md lacks the row\n{row}");
    }
}

#[test]
fn ordinary_cloth_is_no_finding() {
    let mut text = String::new();
    for row in 0..4 {
        (0..4).for_each(|column| text += &format!("v {} {} 0\n", 0.1 * f64::from(column), 0.1 * f64::from(row)));
    }
    for row in 0..3 {
        for column in 1..4 {
            let corner = 4 * row + column;
            text += &format!("f {} {} {} {}\n", corner, corner + 1, corner + 5, corner + 4);
        }
    }
    let file = mesh::read_bytes(Format::Obj, "panel.obj", text.into_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(mesh::inspect(&file), []);
}

#[test]
fn a_mesh_made_in_memory_is_inspected_too() {
    let mesh = TriMesh {
        positions: vec![DVec3::ZERO, DVec3::new(f64::NAN, 0.0, 0.0), DVec3::splat(1e31)],
        triangles: vec![[0, 1, 2], [0, 1, 9], [0, 0, 1]],
    };
    let kinds: Vec<_> = mesh::inspect(&MeshFile::new(mesh, None)).iter().map(|finding| finding.kind).collect();
    let refusals = [FindingKind::NotFinite, FindingKind::HugeCoordinate, FindingKind::IndexOutOfRange];
    assert!(refusals.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    assert!(kinds.contains(&FindingKind::RepeatedVertex));
}
