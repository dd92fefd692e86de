//! What each format holds, read back with a reader of our own.

use super::*;
use crate::mesh::{self, ReadOptions};
use crate::scene_file;
use unsnarl_geometry::UvMap;

const SCENE: &str = r#"
[scene]
frames = 3
[[cloth]]
name = "left one"
sheet = { size = [0.2, 0.1], cells = [2, 1] }
[[cloth]]
name = "right"
disc = { radius = 0.1, rings = 2 }
position = [1.0, 0.0, 0.0]
"#;

/// A cache of three frames in which everything falls by a tenth of a metre per frame.
fn falling(folder: &Path) -> (Cache, Vec<DVec3>) {
    let scene = scene_file::parse("scene.toml", SCENE, Path::new("."), &[]).unwrap();
    let cache = Cache::create(folder, &scene).unwrap();
    for frame in 0..3 {
        let mut state = scene.state.clone();
        for point in &mut state.positions {
            point.y -= 0.1 * f64::from(frame);
        }
        cache.write_frame(frame, &scene.world.model, &state, None).unwrap();
    }
    (cache, scene.state.positions)
}

#[test]
fn obj_files_hold_each_frame_and_the_panels() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, start) = falling(&folder.path().join("cache"));
    let count = export(&cache, &folder.path().join("out.obj"), Selection { every: 2, ..Selection::default() }).unwrap();
    assert_eq!(count, 2);
    let back = mesh::read(&folder.path().join("out_000002.obj"), &ReadOptions::default()).unwrap();
    for (before, after) in start.iter().zip(&back.mesh.positions) {
        assert_eq!(DVec3::new(before.x, before.y - 0.2, before.z), *after);
    }
    assert_eq!(back.mesh.triangles, cache.mesh().unwrap().triangles);
    let uv: UvMap = back.uv.unwrap();
    assert_eq!(uv.triangles.len(), back.mesh.triangles.len());
    assert!(!folder.path().join("out_000001.obj").exists());
}

#[test]
fn pc2_has_a_header_and_every_point() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, start) = falling(&folder.path().join("cache"));
    let path = folder.path().join("out.pc2");
    export(&cache, &path, Selection::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 32 + 3 * 12 * start.len());
    let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..12], b"POINTCACHE2\0");
    assert_eq!(float(32 + 12 * start.len() + 4), (start[0].y - 0.1) as f32);
}

#[test]
fn usd_text_has_both_pieces_and_three_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, _) = falling(&folder.path().join("cache"));
    let path = folder.path().join("out.usda");
    export(&cache, &path, Selection::default()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("piece0_left_one") && text.contains("piece1_right"));
    assert_eq!(text.matches("            2: [").count(), 4);
}

#[test]
fn a_glb_is_as_long_as_it_says_and_names_one_target_per_later_frame() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, _) = falling(&folder.path().join("cache"));
    let path = folder.path().join("out.glb");
    export(&cache, &path, Selection::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(word(8), bytes.len());
    let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + word(12)]).unwrap();
    assert_eq!(document["meshes"][1]["primitives"][0]["targets"].as_array().unwrap().len(), 2);
    assert_eq!(document["animations"][0]["channels"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_exported_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, _) = falling(&folder.path().join("cache"));
    let error = export(&cache, Path::new("out.fbx"), Selection::default()).unwrap_err();
    assert_eq!(error.to_string(), "out.fbx: expected a name that ends in .usda, .glb, .obj or .pc2");
    for (name, extra) in [("out.abc", "abc"), ("out.usdc", "usd"), ("out.usdz", "usd")] {
        let error = export(&cache, Path::new(name), Selection::default()).unwrap_err().to_string();
        let start = format!("{name}: the Python package writes this: pip install 'unsnarl[{extra}]'");
        assert!(error.starts_with(&start), "{error}");
    }
    let late = Selection { first: 9, ..Selection::default() };
    assert!(export(&cache, Path::new("out.pc2"), late).unwrap_err().to_string().contains("the cache ends at 2"));
}

const RIGID: &str = r#"
[scene]
frames = 3
[[cloth]]
sheet = { size = [0.2, 0.1], cells = [2, 1] }
[[rigid]]
name = "small box"
box = { size = [0.1, 0.2, 0.3] }
position = [0, 1, 0]
copies = { count = [3, 1, 1], spacing = [0.5, 0, 0] }
"#;

/// Boxes that fall and turn; the place of one of them at the last frame.
fn turning(folder: &Path) -> (Cache, Placement) {
    let scene = scene_file::parse("scene.toml", RIGID, Path::new("."), &[]).unwrap();
    let cache = Cache::create(folder, &scene).unwrap();
    let mut state = scene.state.clone();
    for frame in 0..3 {
        for placement in &mut state.rigid.placements {
            *placement = placement.moved(0.1, DVec3::new(0.0, -1.0, 0.0), DVec3::new(f64::from(frame), 0.0, 2.0));
        }
        cache.write_frame(frame, &scene.world.model, &state, None).unwrap();
    }
    assert_eq!(cache.read_state(2, &scene.world).unwrap(), state);
    (cache, state.rigid.placements[1])
}

#[test]
fn rigid_bodies_are_one_mesh_and_many_transforms_in_usd_and_gltf() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, second) = turning(&folder.path().join("cache"));
    let path = folder.path().join("out.usda");
    export(&cache, &path, Selection::default()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("class Xform \"shape0_small_box\"").count(), 1);
    assert_eq!(text.matches("references = </shape0_small_box>").count(), 3);
    let at = second.position;
    assert!(text.contains(&format!("            2: ({}, {}, {}),", at.x, at.y, at.z)));
    let path = folder.path().join("out.glb");
    export(&cache, &path, Selection::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    assert_eq!(document["meshes"].as_array().unwrap().len(), 2);
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().filter(|node| node["mesh"] == 1).count(), 3);
    assert_eq!(document["animations"][0]["channels"].as_array().unwrap().len(), 1 + 2 * 3);
}

#[test]
fn obj_and_pc2_hold_the_points_of_rigid_bodies_after_those_of_cloth() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, second) = turning(&folder.path().join("cache"));
    export(&cache, &folder.path().join("out.obj"), Selection::default()).unwrap();
    let back = mesh::read(&folder.path().join("out_000002.obj"), &ReadOptions::default()).unwrap();
    assert_eq!((back.mesh.positions.len(), back.mesh.triangles.len()), (6 + 3 * 8, 4 + 3 * 12));
    let shape = &cache.rigid_shapes().unwrap()[0];
    for (own, &there) in shape.positions.iter().zip(&back.mesh.positions[6 + 8..6 + 16]) {
        assert!((second.to_world(*own) - there).length() < 1e-15);
    }
    let path = folder.path().join("out.pc2");
    export(&cache, &path, Selection::default()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 32 + 3 * 12 * 30);
}
