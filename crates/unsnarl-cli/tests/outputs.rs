//! What commands write: permissions that follow the umask, and nothing beside the outputs; and every bundled scene,
//! from a clone alone.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, root};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SCENE: &str = "[scene]\nframes = 2\n[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [4, 4] }\n";

/// Everything below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found
}

/// `export` once wrote files for their owner alone.
#[test]
fn outputs_of_all_commands_follow_the_umask() {
    let folder = Folder::new().with("s.toml", SCENE);
    std::fs::copy(root().join("samples/hanky_bibi.obj"), folder.path("in.obj")).unwrap();
    let program = env!("CARGO_BIN_EXE_unsnarl");
    let lines = [
        "check in.obj --json out/check.json --picture out/check.png --uv-picture out/uv.png || [ $? -eq 1 ]",
        "fix in.obj -o out/fixed.obj --json out/fix.json --picture out/fix.png",
        "fix in.obj -o out/fixed.ply --trace out/trace",
        "make bibi -o out/made.obj",
        "make nested-tubes -o out/tubes",
        "make --list --picture out/samples.png",
        "sim s.toml -o out/cache --json out/sim.json --picture out/sim.png",
        "export out/cache -o out/cloth.usda --json out/export.json",
        "export out/cache -o out/cloth.glb",
        "export out/cache -o out/cloth.obj",
        "export out/cache -o out/cloth.pc2",
        "batch 'in*.obj' -o out/batch --with picture=true",
    ];
    for line in lines {
        let script = format!("umask 027; mkdir -p out; '{program}' -q {line}");
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let written = below(&folder.path("out"));
    assert!(written.len() > 20, "{written:?}");
    for path in written {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o750 } else { 0o640 }, "{}: {mode:o}", path.display());
        assert!(!path.file_name().unwrap().to_string_lossy().starts_with('.'), "{}", path.display());
    }
}

/// In another place, with nothing but the assets and the samples beside them, all scenes make a step.
#[test]
fn every_bundled_scene_runs_from_a_clone_alone() {
    let clone = Folder::new();
    for name in ["samples", "assets"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), clone.path(name)).unwrap();
    }
    std::fs::create_dir(clone.path("scenes")).unwrap();
    let mut scenes = Vec::new();
    for entry in std::fs::read_dir(root().join("scenes")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        std::fs::copy(root().join("scenes").join(&name), clone.path("scenes").join(&name)).unwrap();
        scenes.extend(name.ends_with(".toml").then_some(name));
    }
    assert!(scenes.len() >= 22);
    for scene in scenes {
        let text = std::fs::read_to_string(root().join("scenes").join(&scene)).unwrap();
        assert!(!text.contains("../.."), "{scene} names files outside the project");
        let path = format!("scenes/{scene}");
        let short = ["--set", "scene.frames=1", "--set", "scene.frame-rate=480"];
        let words: Vec<&str> = ["-q", "sim", &path, "-o", &scene].into_iter().chain(short).collect();
        let run = clone.run(&words);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{scene}");
    }
}
