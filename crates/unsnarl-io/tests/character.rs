//! Characters: skinned glTF meshes sampled in time.

#[path = "../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use std::path::Path;
use unsnarl_io::mesh::{self, Character, Format, MeshFile, ReadOptions, Weld};

/// The posed bodies were evaluated from the same file by another program and written with nine digits.
#[test]
fn the_poses_of_a_real_character_are_those_of_an_independent_program() {
    let Some(path) = real_data("character_cc0/body.glb") else { return };
    let character = mesh::read_character(&path, &ReadOptions::default()).unwrap();
    assert_eq!(character.clips.len(), 7);
    let farthest = |positions: &[unsnarl_geometry::DVec3], file: &MeshFile| {
        assert_eq!(positions.len(), file.mesh.positions.len());
        positions.iter().zip(&file.mesh.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    };
    let read = |path: &Path| mesh::read(path, &ReadOptions::default()).unwrap();
    let rest = read(&path.with_file_name("body_rest.obj"));
    assert_eq!(character.file.mesh.triangles, rest.mesh.triangles);
    assert!(farthest(&character.rest_positions(), &rest) < 1e-6);
    for clip in &character.clips {
        assert_eq!(clip.seconds, 2.5);
        let bundled = ["fight01", "fly01", "sit01"].contains(&clip.name.as_str());
        let posed = format!("character_cc0/body_{}.{}", clip.name, if bundled { "ply" } else { "obj" });
        let Some(posed) = real_data(&posed) else { continue };
        let posed = read(&posed);
        assert!(farthest(&character.positions_at(clip, 1.0), &posed) < 1e-6, "{}", clip.name);
        assert!(farthest(&character.positions_at(clip, 1.25), &posed) < 1e-6, "{} held", clip.name);
        let rests = |seconds: f64| character.positions_at(clip, seconds) == character.positions_at(clip, 1.25);
        assert!([1.01, 1.1, 1.37, 1.49].into_iter().all(rests), "{} moves between equal keys", clip.name);
        assert!(farthest(&character.positions_at(clip, 9.0), &rest) < 1e-6, "{} after its end", clip.name);
    }
}

#[test]
fn a_walking_figure_keeps_the_vertices_of_the_static_mesh() {
    for name in ["CesiumMan", "RiggedFigure"] {
        let Some(path) = real_data(&format!("gltf/{name}.glb")) else { continue };
        let still = mesh::read(&path, &ReadOptions::default()).unwrap();
        let character = mesh::read_character(&path, &ReadOptions::default()).unwrap();
        assert_eq!(character.file.mesh.triangles, still.mesh.triangles);
        let clip = &character.clips[0];
        let height = |seconds: f64| {
            let positions = character.positions_at(clip, seconds);
            positions.iter().map(|position| position.y).fold(f64::NEG_INFINITY, f64::max)
        };
        assert!(clip.seconds > 0.5);
        // Standing up with Y up, between a child's and a giant's height.
        assert!(
            (0.5..3.0).contains(&height(0.0)) && (0.5..3.0).contains(&height(0.5 * clip.seconds)),
            "{}",
            height(0.0)
        );
    }
}

/// One triangle on a node that moves by a known curve: 2 m along x in 1 s, and a quarter turn about z.
#[test]
fn nodes_follow_linear_step_and_spline_keys() {
    let mut data: Vec<u8> = Vec::new();
    let mut floats = |values: &[f32]| {
        let start = data.len();
        values.iter().for_each(|value| data.extend(value.to_le_bytes()));
        (start, 4 * values.len())
    };
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let views = [
        floats(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        floats(&[0.0, 1.0]),
        floats(&[0.0, 0.0, 0.0, 2.0, 0.0, 0.0]),
        floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half]),
        // Cubic keys: in-tangent, value, out-tangent; a straight line of slope 2.
        floats(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    let views: Vec<String> = views
        .iter()
        .map(|(start, length)| format!(r#"{{"buffer":0,"byteOffset":{start},"byteLength":{length}}}"#))
        .collect();
    let accessor = |view: usize, count: usize, kind: &str| {
        format!(r#"{{"bufferView":{view},"componentType":5126,"count":{count},"type":"{kind}"}}"#)
    };
    let accessors = [
        accessor(0, 3, "VEC3"),
        accessor(1, 2, "SCALAR"),
        accessor(2, 2, "VEC3"),
        accessor(3, 2, "VEC4"),
        accessor(4, 6, "VEC3"),
    ];
    let clip = |name: &str, path: &str, output: usize, interpolation: &str| {
        format!(
            r#"{{"name":"{name}","channels":[{{"sampler":0,"target":{{"node":0,"path":"{path}"}}}}],
            "samplers":[{{"input":1,"output":{output},"interpolation":"{interpolation}"}}]}}"#
        )
    };
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"nodes":[{{"mesh":0}}],"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
        "accessors":[{}],"bufferViews":[{}],"buffers":[{{"byteLength":{}}}],"animations":[{},{},{},{}]}}"#,
        accessors.join(","),
        views.join(","),
        data.len(),
        clip("slide", "translation", 2, "LINEAR"),
        clip("jump", "translation", 2, "STEP"),
        clip("turn", "rotation", 3, "LINEAR"),
        clip("spline", "translation", 4, "CUBICSPLINE"),
    );
    let padded = json.len().next_multiple_of(4);
    let mut glb = b"glTF".to_vec();
    let total = 12 + 8 + padded + 8 + data.len();
    [2, total as u32, padded as u32, 0x4E4F_534A].iter().for_each(|value: &u32| glb.extend(value.to_le_bytes()));
    glb.extend(json.bytes());
    glb.resize(20 + padded, b' ');
    [data.len() as u32, 0x004E_4942].iter().for_each(|value| glb.extend(value.to_le_bytes()));
    glb.extend(&data);
    let options = ReadOptions { weld: Weld::Never, ..ReadOptions::default() };
    let character = Character::from_bytes(Format::Glb, "triangle.glb", &glb, &options).unwrap();
    let first = |name: &str, seconds: f64| character.positions_at(character.clip(name).unwrap(), seconds)[0];
    assert!((first("slide", 0.25).x - 1.5).abs() < 1e-12);
    assert!((first("jump", 0.99).x - 1.0).abs() < 1e-12 && (first("jump", 1.0).x - 3.0).abs() < 1e-12);
    assert!((first("spline", 0.25).x - 1.5).abs() < 1e-12);
    let turned = first("turn", 0.5);
    let eighth = std::f64::consts::FRAC_PI_4;
    assert!((turned.x - eighth.cos()).abs() < 1e-6 && (turned.y - eighth.sin()).abs() < 1e-6, "{turned}");
}
