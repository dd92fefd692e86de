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
