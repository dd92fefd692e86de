//! Tetrahedral files: what is written reads back, what other programs wrote is read, and damage is told in one line.

use std::path::Path;
use unsnarl_geometry::DVec3;
use unsnarl_io::tet_file::{self, MshVersion, TetFormat};
use unsnarl_volume::TetMesh;
use unsnarl_volume::tet_mesh::measure;

fn two_tets() -> TetMesh {
    let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.0, 1.0, 1.25)];
    TetMesh { positions, tets: vec![[0, 1, 2, 3], [1, 2, 3, 4]], levels: vec![3, 0] }
}

fn awkward() -> TetMesh {
    let mut mesh = two_tets();
    mesh.positions[0] = DVec3::new(-0.0, 1e-300, 0.1 + 0.2);
    mesh.positions[4] = DVec3::new(1.0 / 3.0, 12345678.9, 4e20);
    mesh.positions.push(DVec3::splat(-7.5));
    mesh
}

#[test]
fn every_format_reads_back_what_was_written_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, version, has_levels) in [
        ("a.msh", MshVersion::V2, false),
        ("b.msh", MshVersion::V4, false),
        ("c.vtk", MshVersion::V2, true),
        ("d.node", MshVersion::V2, true),
        ("e.mesh", MshVersion::V2, false),
    ] {
        for mesh in [two_tets(), awkward(), TetMesh { levels: Vec::new(), ..awkward() }] {
            let path = folder.path().join(name);
            tet_file::write_as(&path, &mesh, version).unwrap();
            let again = tet_file::read(&path).unwrap();
            assert_eq!(again.left_out, 0, "{name}");
            assert_eq!(again.mesh.tets, mesh.tets, "{name}");
            let bits = |mesh: &TetMesh| -> Vec<u64> {
                mesh.positions.iter().flat_map(|p| p.to_array()).map(f64::to_bits).collect()
            };
            assert_eq!(bits(&again.mesh), bits(&mesh), "{name}");
            assert_eq!(again.mesh.levels, if has_levels { mesh.levels.clone() } else { Vec::new() }, "{name}");
        }
    }
    assert_eq!(tet_file::read(&folder.path().join("d.ele")).unwrap().kind, "TetGen text, numbered from 1");
    let faces = std::fs::read_to_string(folder.path().join("d.face")).unwrap();
    assert_eq!(faces.lines().nth(1), Some("6 1"));
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 7, "temporary files stay behind");
}

#[test]
fn files_of_other_programs_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for (name, kind) in [
        ("gmsh22_text.msh", "Gmsh text, version 2.2"),
        ("gmsh22_binary.msh", "Gmsh binary, version 2.2"),
        ("gmsh41_text.msh", "Gmsh text, version 4.1"),
        ("gmsh41_binary.msh", "Gmsh binary, version 4.1"),
        ("meshio22.msh", "Gmsh binary, version 2.2"),
        ("meshio51_text.vtk", "VTK text, version 5.1"),
        ("meshio51_binary.vtk", "VTK binary, version 5.1"),
        ("meshio42_binary.vtk", "VTK binary, version 4.2"),
        ("meshio.mesh", "Medit text, version 2"),
        ("two_tets.node", "TetGen text, numbered from 1"),
        ("from_zero.node", "TetGen text, numbered from 0"),
    ] {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).unwrap();
        let found = tet_file::read_bytes(TetFormat::from_path(&path).unwrap(), &bytes, &path).unwrap();
        assert_eq!(found.kind, kind);
        assert_eq!((found.left_out, &found.mesh.tets), (0, &two_tets().tets), "{name}");
        assert_eq!(found.mesh.positions, two_tets().positions, "{name}");
        assert!(measure::measure(&found.mesh).is_valid());
    }
}

fn message(format: TetFormat, text: &str) -> String {
    let error = tet_file::read_bytes(format, text.as_bytes(), Path::new("x")).expect_err("damage").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn damage_is_told_in_one_line_that_names_the_place() {
    let good = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
                $Elements\n1\n1 4 2 0 0 1 2 3 4\n$EndElements\n";
    assert!(tet_file::read_bytes(TetFormat::Msh, good.as_bytes(), Path::new("x")).is_ok());
    for (from, to, expected) in [
        ("$MeshFormat\n2.2", "$MeshFormat\n9", "x:2: version `9`, expected 2.2 or 4.1"),
        ("$MeshFormat", "hello", "x:1: expected `$MeshFormat`, found `hello`: not a Gmsh file"),
        ("Nodes\n4\n", "Nodes\n4000000000\n", "x:5: 4000000000 nodes are promised, "),
        ("2 1 0 0\n", "2 1 zero 0\n", "x:7: expected a coordinate (a number), found `zero`"),
        ("2 1 0 0\n", "2 nan 0 0\n", "x:7: node 1 (counted from 0) has a coordinate that is no number below 1e30"),
        ("2 1 0 0\n", "1 1 0 0\n", "x: node number 1 appears twice"),
        ("1 2 3 4\n$End", "1 2 3 9\n$End", "x: an element names node 9, which the file does not have"),
        ("1 4 2 0 0 1 2 3 4", "1 4 2 0 0 1 2 3", "x:13: a row of an element is cut"),
        ("1 4 2 0 0 1 2 3 4", "1 5 2 0 0 1 2 3 4 1 2 3 4", "x: no tetrahedron (4 nodes, 1 elements of other kinds)"),
        ("$EndElements\n", "", "x:14: expected `$EndElements`, found the end of the file"),
    ] {
        assert!(good.contains(from));
        let error = message(TetFormat::Msh, &good.replacen(from, to, 1));
        assert!(error.starts_with(expected), "{error}\n  expected {expected}");
    }
    assert!(message(TetFormat::Vtk, "").starts_with("x:1: expected `# vtk DataFile Version`"));
    let grid = "# vtk DataFile Version 3.0\n\nASCII\nDATASET ";
    assert!(message(TetFormat::Vtk, &format!("{grid}POLYDATA\n")).contains("expected `UNSTRUCTURED_GRID`"));
    let cells = format!("{grid}UNSTRUCTURED_GRID\nPOINTS 1 double\n0 0 0\nCELLS 1 5\n4 0 0 0 7\nCELL_TYPES 1\n10\n");
    assert_eq!(message(TetFormat::Vtk, &cells), "x: cell 0 names point 7, the file has 1");
    assert!(message(TetFormat::Medit, "MeshVersionFormatted 2 Dimension 2").contains("dimension 2, expected 3"));
    assert!(message(TetFormat::NodeEle, "3 3\n1 0 0 0\n").contains("3 nodes are promised, 8 bytes are left"));
    assert!(message(TetFormat::NodeEle, "2 3\n1 0 0 0\n").contains("1 of 2 nodes: the file was cut"));
    assert!(message(TetFormat::NodeEle, "1 3\n1 0 0 0\n%\n1 3\n").contains("3 nodes in each tetrahedron"));
}

#[test]
fn a_name_without_a_known_extension_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let error = tet_file::write(&folder.path().join("a.stl"), &two_tets()).unwrap_err().to_string();
    assert!(error.contains("expected .msh, .vtk, .node, .ele or .mesh"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_inverted_or_flat_tetrahedron_is_written_and_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = TetMesh { tets: vec![[0, 2, 1, 3], [0, 1, 1, 2]], levels: Vec::new(), ..two_tets() };
    for name in ["a.msh", "a.vtk", "a.node", "a.mesh"] {
        let path = folder.path().join(name);
        tet_file::write(&path, &mesh).unwrap();
        let found = measure::measure(&tet_file::read(&path).unwrap().mesh);
        assert_eq!((found.inverted, found.degenerate), (1, 1), "{name}");
    }
}
