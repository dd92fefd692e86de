//! OBJ files: what is read, what survives writing, what is refused.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use std::path::Path;
use unsnarl_geometry::{DVec2, DVec3, TriMesh, UvMap};
use unsnarl_io::mesh::{self, FindingKind, Format, LengthUnit, MeshFile, ReadOptions, UpAxis};

fn read_text(text: &str) -> Result<MeshFile, mesh::MeshFileError> {
    mesh::read_bytes(Format::Obj, "shirt.obj", text.as_bytes().to_vec(), &ReadOptions::default())
}

fn encoded(file: &MeshFile) -> String {
    String::from_utf8(mesh::encode(Format::Obj, file)).expect("OBJ files of these tests are text")
}

const QUADS: &str = "\
# a strip of two quads
mtllib cloth.mtl
o Shirt
v 0 0 0 0.5 0.5 0.5
v 1 0 0
v 2 0 0
v 0 1 0
v 1 1 0
v 2 1 1e-3
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
g left sleeve
usemtl denim
s 1
f 1/1/1 2/2/1 5/3/1 4/4/1
g right
s off
f -5/1/1 -4/2/1 -1/3/1 -2/4/1
l 1 2 3
stitch 0 1 2 0.25
";

#[test]
fn polygons_groups_materials_and_sewing_are_read() {
    let file = read_text(QUADS).unwrap();
    assert_eq!(file.mesh.positions.len(), 6);
    assert_eq!(file.mesh.triangles, [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]);
    assert_eq!(file.uv.as_ref().unwrap().triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3]]);
    assert_eq!(file.groups.names, ["left sleeve", "right"]);
    assert_eq!(file.groups.of_triangle, [0, 0, 1, 1]);
    assert_eq!(file.parts().name(3), "right");
    assert_eq!(file.objects.name(0), "Shirt");
    assert_eq!(file.materials.name(2), "denim");
    assert_eq!(file.smoothing.names, ["1", "off"]);
    assert_eq!(file.material_libraries, ["cloth.mtl"]);
    assert_eq!(file.lines, [[0, 1], [1, 2]]);
    assert_eq!(file.stitches, [mesh::Stitch { vertex: 0, edge: [1, 2], weight: 0.25 }]);
}

#[test]
fn an_unchanged_mesh_is_written_byte_for_byte() {
    assert_eq!(encoded(&read_text(QUADS).unwrap()), QUADS);
    for ending in ["\r\n", "\r"] {
        let text = QUADS.replace('\n', ending);
        assert_eq!(encoded(&read_text(&text).unwrap()), text);
    }
}

#[test]
fn only_moved_vertices_change_in_the_written_file() {
    let file = read_text(QUADS).unwrap();
    let mut positions = file.mesh.positions.clone();
    positions[0] = DVec3::new(0.1, -1.0 / 3.0, 1e-20);
    let text = encoded(&file.with_positions(positions.clone()));
    assert_eq!(text, QUADS.replace("v 0 0 0 0.5", "v 0.1 -0.3333333333333333 1e-20 0.5"));
    assert_eq!(read_text(&text).unwrap().mesh.positions, positions);
}

#[test]
fn a_mesh_without_a_file_keeps_everything_through_obj() {
    let mut file = read_text(QUADS).unwrap();
    let mut bare = MeshFile::new(file.mesh.clone(), file.uv.clone());
    bare.faces = file.faces.clone();
    bare.objects = file.objects.clone();
    bare.groups = file.groups.clone();
    bare.materials = file.materials.clone();
    bare.smoothing = file.smoothing.clone();
    bare.material_libraries = file.material_libraries.clone();
    bare.stitches = file.stitches.clone();
    bare.lines = file.lines.clone();
    file = read_text(&encoded(&bare)).unwrap();
    assert_eq!(file.mesh, bare.mesh);
    assert_eq!(file.uv, bare.uv);
    assert_eq!(file.faces, bare.faces);
    assert_eq!(
        (&file.objects, &file.groups, &file.materials, &file.smoothing),
        (&bare.objects, &bare.groups, &bare.materials, &bare.smoothing)
    );
    assert_eq!((file.stitches, file.lines), (bare.stitches, bare.lines));
}

/// A face was once lost when the name before it ended in a backslash.
#[test]
fn a_name_that_ends_in_a_backslash_does_not_swallow_the_next_line() {
    let mut file = MeshFile::new(read_text(QUADS).unwrap().mesh, None);
    file.objects = mesh::Labels { names: vec!["C:\\".into()], of_triangle: vec![0; 4] };
    let again = read_text(&encoded(&file)).unwrap();
    assert_eq!(again.mesh.triangles.len(), 4);
    assert_eq!(again.objects.names.len(), 1);
}

#[test]
fn changed_triangles_are_written_from_scratch() {
    let mut file = read_text(QUADS).unwrap();
    file.mesh.triangles.truncate(1);
    file.uv = None;
    file.faces = None;
    let again = read_text(&encoded(&file)).unwrap();
    assert_eq!(again.mesh, file.mesh);
}

#[test]
fn units_and_up_axis_convert_in_and_out() {
    let options =
        ReadOptions { units: Some(LengthUnit::Centimetre), up_axis: Some(UpAxis::Z), ..ReadOptions::default() };
    let text = "v 10.3 20.7 30.1\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let file = mesh::read_bytes(Format::Obj, "cm.obj", text.as_bytes().to_vec(), &options).unwrap();
    assert!((file.mesh.positions[0] - DVec3::new(0.103, 0.301, -0.207)).length() < 1e-15);
    assert_eq!(encoded(&file), text);
    let mut positions = file.mesh.positions.clone();
    positions[1] = DVec3::new(0.5, 0.25, 1.0 / 3.0);
    let moved = file.with_positions(positions);
    let again = mesh::read_bytes(Format::Obj, "cm.obj", encoded(&moved).into_bytes(), &options).unwrap();
    assert_eq!(again.mesh.positions, moved.stored_positions(Format::Obj));
    assert_eq!(again.mesh.positions[0], file.mesh.positions[0]);
}

#[test]
fn seams_keep_their_uv_vertices() {
    let mesh =
        TriMesh { positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ONE], triangles: vec![[0, 1, 2], [1, 3, 2]] };
    let uv = UvMap {
        coordinates: [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 0.0], [6.0, 1.0], [5.0, 1.0]].map(DVec2::from).to_vec(),
        triangles: vec![[0, 1, 2], [3, 4, 5]],
    };
    let file = MeshFile::new(mesh, Some(uv.clone()));
    assert_eq!(read_text(&encoded(&file)).unwrap().uv, Some(uv));
}

#[test]
fn refusals_name_the_line_and_what_was_expected() {
    let rows = [
        ("v 1 2\n", 1, FindingKind::Syntax, "three numbers after `v`"),
        ("v 1 2 3,5\n", 1, FindingKind::Syntax, "found `3,5`"),
        ("v 0 0 0\nv 1 0 nan\n", 2, FindingKind::NotFinite, "vertex 1"),
        ("v 0 0 0\nv 1 0 inf\n", 2, FindingKind::NotFinite, "vertex 1"),
        ("v 0 0 1e31\n", 1, FindingKind::HugeCoordinate, "1e31"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 9001\n", 5, FindingKind::IndexOutOfRange, "vertex 9001, the file has 3"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n", 4, FindingKind::IndexOutOfRange, "vertex -4, the file has 3"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2/1 3/1\n", 4, FindingKind::IndexOutOfRange, "uv vertex 1, the file has 0"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", 4, FindingKind::Syntax, "from 1 on"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", 3, FindingKind::Syntax, "three or more corners"),
    ];
    for (text, line, kind, words) in rows {
        let error = read_text(text).unwrap_err();
        assert_eq!(error.kind, kind, "{text}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("shirt.obj:{line}: ")), "{message}");
        assert!(message.contains(words), "{message}");
        assert!(!message.contains('\n'));
    }
    assert_eq!(read_text("").unwrap_err().kind, FindingKind::Empty);
    assert_eq!(read_text("v 0 0 0\n").unwrap_err().kind, FindingKind::Empty);
}

#[test]
fn faces_may_come_before_their_vertices() {
    let file = read_text("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n").unwrap();
    assert_eq!(file.mesh.triangles, [[0, 1, 2]]);
}

#[test]
fn faces_that_repeat_a_vertex_stay_in_the_file_only() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 1 2 3\n";
    let file = read_text(text).unwrap();
    assert_eq!(file.mesh.triangles, [[0, 1, 2]]);
    let findings = mesh::inspect(&file);
    assert_eq!(findings[0].kind, FindingKind::RepeatedVertex);
    assert_eq!(encoded(&file), text);
}

#[test]
fn real_garments_are_written_byte_for_byte() {
    let paths = [
        "diffcloth_mit/tshirt1900.obj",
        "diffcloth_mit/dress-v5k-f10k.obj",
        "makehuman_cc0/body/base.obj",
        "codim_ipc_apache2/dress_knife/stage.obj",
    ];
    for path in paths.iter().filter_map(|path| real_data(path)) {
        let bytes = std::fs::read(&path).unwrap();
        let file = mesh::read(&path, &ReadOptions::default()).unwrap();
        assert!(mesh::encode(Format::Obj, &file) == bytes, "{}", path.display());
    }
}

#[test]
fn the_dress_has_its_panels_and_stitches() {
    let Some(path) = real_data("codim_ipc_apache2/dress_knife/stage.obj") else { return };
    let file = mesh::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((file.mesh.positions.len(), file.mesh.triangles.len()), (15656, 29456));
    assert_eq!(file.groups.names.len(), 14);
    assert_eq!(file.stitches.len(), 851);
}

#[test]
fn unknown_kinds_and_missing_files_are_named() {
    let error = mesh::read(Path::new("shirt.fbx"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind, FindingKind::UnknownKind);
    let error = mesh::read(Path::new("no/such/shirt.obj"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind, FindingKind::Unreadable);
}
