//! glTF and GLB files: what is read, what survives writing, what is refused.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use unsnarl_geometry::{DVec2, DVec3, TriMesh, UvMap};
use unsnarl_io::mesh::{self, FindingKind, Format, MeshFile, ReadOptions, Weld};

fn read(format: Format, bytes: impl Into<Vec<u8>>) -> Result<MeshFile, mesh::MeshFileError> {
    mesh::read_bytes(format, "shirt", bytes.into(), &ReadOptions::default())
}

/// Two triangles with a seam between them: four vertices, six uv vertices, two materials.
fn seam() -> MeshFile {
    let mesh = TriMesh {
        positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.25)],
        triangles: vec![[0, 1, 2], [1, 3, 2]],
    };
    let coordinates =
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.75, 1.0], [0.5, 1.0]].map(DVec2::from).to_vec();
    let mut file = MeshFile::new(mesh, Some(UvMap { coordinates, triangles: vec![[0, 1, 2], [3, 4, 5]] }));
    file.materials = mesh::Labels { names: vec!["denim".into(), "silk".into()], of_triangle: vec![0, 1] };
    file.objects = mesh::Labels { names: vec!["shirt".into()], of_triangle: vec![0, 0] };
    file
}

#[test]
fn seams_names_and_materials_survive() {
    for format in [Format::Gltf, Format::Glb] {
        let file = seam();
        let bytes = mesh::encode(format, &file);
        let again = read(format, bytes.clone()).unwrap();
        assert_eq!(again.mesh, file.mesh);
        assert_eq!((&again.objects, &again.materials), (&file.objects, &file.materials));
        let uv = |file: &MeshFile| {
            let uv = file.uv.clone().unwrap();
            uv.triangles.iter().map(|corners| corners.map(|corner| uv.coordinates[corner as usize])).collect::<Vec<_>>()
        };
        assert_eq!(uv(&again), uv(&file));
        assert!(mesh::encode(format, &again) == bytes, "unchanged");
        let apart = ReadOptions { weld: Weld::Never, ..ReadOptions::default() };
        assert_eq!(mesh::read_bytes(format, "shirt", bytes, &apart).unwrap().mesh.positions.len(), 6);
    }
}

#[test]
fn colours_survive_and_vertices_without_are_white() {
    let colours = vec![DVec3::ZERO, DVec3::X, DVec3::new(0.25, 0.5, 0.75), DVec3::ONE];
    for format in [Format::Gltf, Format::Glb] {
        let mut file = seam();
        file.colours = Some(colours.clone());
        let bytes = mesh::encode(format, &file);
        assert_eq!(read(format, bytes.clone()).unwrap().colours.as_ref(), Some(&colours));
        if format == Format::Gltf {
            let mut document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            document["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap().remove("COLOR_0");
            let half = read(format, document.to_string()).unwrap().colours.unwrap();
            assert_eq!((half.len(), half[0]), (4, DVec3::ONE));
            assert!(half.contains(&colours[3]));
            // Damaged colours are no reason to refuse the mesh.
            for primitive in document["meshes"][0]["primitives"].as_array_mut().unwrap() {
                primitive["attributes"]["COLOR_0"] = serde_json::Value::from(99);
            }
            assert_eq!(read(format, document.to_string()).unwrap().colours, None);
        }
    }
}

/// One triangle strip under a turned, moved and scaled node; a sparse accessor moves its last vertex.
fn strip() -> String {
    let mut data = Vec::new();
    for point in [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]] {
        point.iter().for_each(|value| data.extend(value.to_le_bytes()));
    }
    data.extend(3u16.to_le_bytes());
    data.extend([0, 0]);
    [1.0f32, 1.0, 0.5].iter().for_each(|value| data.extend(value.to_le_bytes()));
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in data.chunks(3) {
        let value = (0..3).fold(0u32, |value, at| value << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        (0..4).for_each(|at| {
            let digit = digits[(value >> (18 - 6 * at)) as usize & 63] as char;
            text.push(if at <= group.len() { digit } else { '=' });
        });
    }
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[0]}}],
"nodes":[{{"translation":[10,0,0],"children":[1]}},
 {{"name":"strip","mesh":0,"scale":[2,2,2],"rotation":[0.7071067811865476,0,0,0.7071067811865476]}}],
"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"mode":5}},{{"attributes":{{"POSITION":0}},"mode":1}}]}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3","sparse":{{"count":1,
 "indices":{{"bufferView":1,"componentType":5123}},"values":{{"bufferView":2}}}}}}],
"bufferViews":[{{"buffer":0,"byteLength":48}},{{"buffer":0,"byteOffset":48,"byteLength":2}},
 {{"buffer":0,"byteOffset":52,"byteLength":12}}],
"buffers":[{{"byteLength":64,"uri":"data:application/octet-stream;base64,{text}"}}]}}"#
    )
}

#[test]
fn strips_sparse_values_and_node_transforms_are_read() {
    let file = read(Format::Gltf, strip()).unwrap();
    assert_eq!(file.mesh.triangles, [[0, 1, 2], [2, 1, 3]]);
    assert_eq!(file.objects.names, ["strip"]);
    let expected = [[10.0, 0.0, 0.0], [12.0, 0.0, 0.0], [10.0, 0.0, 2.0], [12.0, -1.0, 2.0]];
    for (position, expected) in file.mesh.positions.iter().zip(expected) {
        assert!((*position - DVec3::from_array(expected)).length() < 1e-12, "{position}");
    }
    let findings = mesh::inspect(&file);
    assert!(findings.iter().any(|finding| finding.kind == FindingKind::LeftOut), "the line primitive");
}

#[test]
fn a_moved_vertex_of_a_glb_moves_on_both_sides_of_the_seam_and_the_rest_stays() {
    let original = mesh::encode(Format::Glb, &seam());
    let text = String::from_utf8_lossy(&original).replace("\"generator\":\"Unsnarl\"", "\"generator\":\"Another\"");
    assert!(text.contains("Another"));
    let mut bytes = original.clone();
    let at = original.windows(7).position(|window| window == b"Unsnarl").unwrap();
    bytes[at..at + 7].copy_from_slice(b"Another");
    let file = read(Format::Glb, bytes).unwrap();
    let mut positions = file.mesh.positions.clone();
    positions[1] = DVec3::new(7.0, -1.0 / 3.0, 0.5);
    let moved = file.with_positions(positions);
    let written = mesh::encode(Format::Glb, &moved);
    let again = read(Format::Glb, written.clone()).unwrap();
    assert_eq!(again.mesh.positions, moved.stored_positions(Format::Glb));
    assert_eq!(again.mesh.positions.len(), 4);
    let json = String::from_utf8_lossy(&written);
    assert!(json.contains("Another") && json.contains("\"max\":[7,1,0.5]"), "{json}");
    assert!(json.contains("\"min\":[0,-0.33333334,0]"), "{json}");
}

/// A file whose positions shared bytes with its indices was once patched, and its indices with it.
#[test]
fn positions_that_share_bytes_with_something_else_are_not_written_in_place() {
    let bytes = mesh::encode(Format::Glb, &seam());
    let text = String::from_utf8_lossy(&bytes[20..]).into_owned();
    // The second primitive takes its indices from the first positions: three zeros.
    let at = text.rfind("\"bufferView\":3").unwrap() + "\"bufferView\":".len();
    let mut shared = bytes.clone();
    shared[20 + at] = b'0';
    let file = read(Format::Glb, shared).unwrap();
    let moved = file.with_positions(file.mesh.positions.iter().map(|&position| position + DVec3::ONE).collect());
    let again = read(Format::Glb, mesh::encode(Format::Glb, &moved)).unwrap();
    assert_eq!(again.mesh.triangles, file.mesh.triangles);
}

#[test]
fn bad_files_are_refused() {
    let glb = mesh::encode(Format::Glb, &seam());
    let gltf = String::from_utf8(mesh::encode(Format::Gltf, &seam())).unwrap();
    let rows: Vec<(Vec<u8>, FindingKind)> = vec![
        (Vec::new(), FindingKind::Syntax),
        (b"{}".to_vec(), FindingKind::Empty),
        (glb[..glb.len() - 9].to_vec(), FindingKind::PromisesTooMuch),
        (glb[..6].to_vec(), FindingKind::Truncated),
        (gltf.replace("\"count\":6", "\"count\":600000000000").into(), FindingKind::PromisesTooMuch),
        (
            gltf.replace("\"byteLength\":72,\"byteOffset\":0", "\"byteLength\":9999,\"byteOffset\":0").into(),
            FindingKind::PromisesTooMuch,
        ),
        (gltf.replace("\"mesh\":0", "\"mesh\":7").into(), FindingKind::IndexOutOfRange),
        (gltf.replace("\"nodes\":[0]", "\"nodes\":[0,0]").into(), FindingKind::Syntax),
        (
            gltf.replace("\"scene\":0", "\"scene\":0,\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]").into(),
            FindingKind::UnknownKind,
        ),
        (gltf.replace("data:application/octet-stream;base64,", "shirt.bin").into(), FindingKind::Unreadable),
    ];
    for (row, (bytes, kind)) in rows.into_iter().enumerate() {
        let error = read(Format::Glb, bytes).unwrap_err();
        assert_eq!(error.kind, kind, "row {row}: {error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn buffers_in_files_beside_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let gltf = String::from_utf8(mesh::encode(Format::Gltf, &seam())).unwrap();
    let start = gltf.find("data:").unwrap();
    let end = start + gltf[start..].find('"').unwrap();
    let glb = mesh::encode(Format::Glb, &seam());
    let json_length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    std::fs::write(folder.path().join("a shirt.bin"), &glb[20 + json_length + 8..]).unwrap();
    let path = folder.path().join("shirt.gltf");
    std::fs::write(&path, format!("{}a%20shirt.bin{}", &gltf[..start], &gltf[end..])).unwrap();
    let file = mesh::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(file.mesh, seam().mesh);
    let copy = folder.path().join("copy.gltf");
    mesh::write(&copy, &file).unwrap();
    std::fs::remove_file(folder.path().join("a shirt.bin")).unwrap();
    assert_eq!(mesh::read(&copy, &ReadOptions::default()).unwrap().mesh, file.mesh, "written files stand alone");
}

#[test]
fn real_characters_are_read() {
    for (path, triangles) in [("gltf/CesiumMan.glb", 4672), ("character_cc0/body.glb", 26756)] {
        let Some(path) = real_data(path) else { continue };
        let file = mesh::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(file.mesh.triangles.len(), triangles);
        assert!(mesh::encode(Format::Glb, &file) == std::fs::read(&path).unwrap());
    }
}
