//! `unsnarl sim` as a user meets it: frames, going on after a stop, edited scenes, and what it says to bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::Folder;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const SCENE: &str = "[scene]\nframes = 4\n[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [6, 6] }\npin = [{ vertices = [0, 6] }]\n\
                     [[body]]\nsphere = { radius = 0.1 }\nposition = [0, -0.32, 0.05]\n";

fn frames(folder: &Folder, cache: &str) -> Vec<Vec<u8>> {
    let path = |frame: usize| folder.path(&format!("{cache}/frame_{frame:06}.unsnarl"));
    (0..).map(path).take_while(|path| path.exists()).map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn a_scene_becomes_frames_a_report_and_a_picture() {
    let folder = Folder::new().with("s.toml", SCENE);
    let run = folder.run(&["sim", "s.toml", "-o", "out", "--picture", "p.png", "--json", "r.json"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("out: frames 0 to 4 in "), "{}", run.out);
    assert_eq!(frames(&folder, "out").len(), 5);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(folder.path("r.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], "unsnarl.sim/1");
    assert_eq!((&report["finished"], &report["last_frame"]), (&Value::Bool(true), &Value::from(4)));
    assert!(std::fs::read(folder.path("p.png")).unwrap().starts_with(b"\x89PNG"));
    let lines = std::fs::read_to_string(folder.path("out/frames.jsonl")).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.iter().map(|row| row["frame"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(rows.iter().all(|row| row["steps"].as_u64() > Some(0) && row["stages"]["propose"].is_f64()));
}

#[test]
fn progress_tells_frames_steps_stages_and_time_left() {
    let folder = Folder::new().with("s.toml", SCENE);
    let run = folder.run(&["-v", "sim", "s.toml", "-o", "out"]);
    assert_eq!(run.status, 0);
    let first = run.err.lines().find(|line| line.contains("frame 1 of 4")).unwrap();
    for word in ["steps in", "propose", "contact", "finish", "s left"] {
        assert!(first.contains(word), "{first}");
    }
}

#[test]
fn the_schema_is_json_and_needs_no_scene() {
    let run = Folder::new().run(&["sim", "--schema"]);
    assert_eq!(run.status, 0);
    let schema: Value = serde_json::from_str(&run.out).unwrap();
    assert!(schema["properties"]["cloth"].is_object());
}

/// Interrupted at some step: the frames that are there stay, the line that is printed goes on, and all ends as an
/// unbroken run does.
#[test]
fn an_interrupted_run_says_how_to_go_on_and_goes_on_to_the_same_frames() {
    let folder = Folder::new().with("s.toml", SCENE);
    let longer = ["--set", "scene.frames=400", "--set", "cloth.0.fabric=silk"];
    let child = folder.command(&["sim", "s.toml", "-o", "broken"]).args(longer).stdout(Stdio::piped()).spawn().unwrap();
    while frames(&folder, "broken").len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    let written = frames(&folder, "broken").len();
    assert!(written < 400, "it was faster than the interruption");
    let expected = format!(
        "stopped after frame {}; go on with: unsnarl sim s.toml -o broken --set scene.frames=400 --set cloth.0.fabric=silk --resume\n",
        written - 1
    );
    assert_eq!(said, expected);
    // Shorter from here on, so that the test ends; everything up to there must be as in one go.
    let to = ["--set", "scene.frames=12", "--set", "cloth.0.fabric=silk"];
    if written < 13 {
        let from = (written - 1).to_string();
        let on: Vec<&str> =
            ["-q", "sim", "s.toml", "-o", "broken", "--resume", "--from", &from].into_iter().chain(to).collect();
        assert_eq!(folder.run(&on).status, 0);
    }
    let whole: Vec<&str> = ["-q", "sim", "s.toml", "-o", "whole"].into_iter().chain(to).collect();
    assert_eq!(folder.run(&whole).status, 0);
    assert_eq!(frames(&folder, "whole")[..13], frames(&folder, "broken")[..13]);
}

#[test]
fn an_edited_scene_goes_on_from_a_frame_and_only_from_there() {
    let folder = Folder::new().with("s.toml", SCENE);
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "out"]).status, 0);
    let before = frames(&folder, "out");
    std::fs::write(folder.path("s.toml"), SCENE.replace("frames = 4", "frames = 5\ngravity = [0, 0, 5]")).unwrap();
    let refused = folder.run(&["sim", "s.toml", "-o", "out", "--resume"]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("the scene has changed since; give --resume --from FRAME"), "{}", refused.err);
    assert_eq!(frames(&folder, "out"), before);
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "out", "--resume", "--from", "2"]).status, 0);
    let after = frames(&folder, "out");
    assert_eq!((after.len(), &after[..3]), (6, &before[..3]));
    assert_ne!(after[3], before[3]);
    let lines = std::fs::read_to_string(folder.path("out/frames.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 5);
    // Now it is the new scene's cache.
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "out", "--resume"]).status, 0);
    let other = SCENE.replace("cells = [6, 6]", "cells = [5, 6]").replace("[0, 6]", "[0]");
    std::fs::write(folder.path("s.toml"), other).unwrap();
    let refused = folder.run(&["sim", "s.toml", "-o", "out", "--resume", "--from", "1"]);
    assert_eq!(refused.status, 2);
    assert!(
        refused.err.contains("its cloth, its rigid bodies or its frame rate is not the scene's"),
        "{}",
        refused.err
    );
}

#[test]
fn bad_input_is_one_line_and_nothing_is_written() {
    let folder = Folder::new().with("s.toml", SCENE).with("bad.toml", &SCENE.replace("cells", "cell"));
    let rows: [(&[&str], &str); 8] = [
        (&["sim", "none.toml", "-o", "x"], "none.toml: cannot read"),
        (&["sim", "bad.toml", "-o", "x"], "bad.toml:4: unknown field `cell`"),
        (&["sim", "s.toml", "-o", "x", "--set", "scene.frames=0"], "s.toml:2: scene.frames: 0; expected 1 to 1000000"),
        (&["sim", "s.toml", "-o", "x", "--set", "scene.fames=1"], "--set scene.fames=1: unknown field"),
        (&["sim", "s.toml", "-o", "x", "--from", "1"], "--resume"),
        (&["sim", "s.toml"], "--output"),
        (&["sim", "s.toml", "-o", "x", "--set", "settings.dynamics.solver=guess"], "unknown variant `guess`"),
        (&["sim", "s.toml", "-o", "x", "--threads", "0"], "--threads takes a number"),
    ];
    for (arguments, words) in rows {
        let run = folder.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.err.contains(words), "{arguments:?}: {}", run.err);
        assert!(!folder.path("x").exists(), "{arguments:?}");
    }
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "out", "--set", "scene.frames=1"]).status, 0);
    let again = folder.run(&["sim", "s.toml", "-o", "out"]);
    assert_eq!(again.status, 2);
    let late = folder.run(&["sim", "s.toml", "-o", "out", "--resume", "--from", "9"]);
    assert!(late.status == 2 && late.err.contains("--from 9: the last whole frame of out is 1"), "{}", late.err);
}

/// One word changes the model or the solver; both end near each other on a small hanging sheet.
#[test]
fn models_and_solvers_change_with_one_word() {
    let folder = Folder::new().with("s.toml", SCENE);
    for (name, change) in [
        ("direct", "settings.dynamics.solver=direct"),
        ("springs", "settings.dynamics.model=mass-spring"),
        ("bdf2", "settings.dynamics.integration=bdf2"),
    ] {
        let run = folder.run(&["sim", "s.toml", "-o", name, "--set", change]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{name}");
    }
}

const RIGID: &str = "[scene]\nframes = 6\n[[body]]\nplane = {}\n[[rigid]]\nname = \"box\"\nbox = { size = [0.1, 0.1, 0.1] }\n\
                     position = [0, 0.06, 0]\ncopies = { count = [1, 3, 1], spacing = [0.01, 0.12, 0] }\n\
                     [[rigid]]\nring = { radius = 0.1, tube = 0.02 }\nposition = [0.3, 0.2, 0]\nspin = [1, 0, 0]\n";

#[test]
fn a_scene_without_cloth_becomes_frames_reports_a_picture_and_exports() {
    let folder = Folder::new().with("s.toml", RIGID);
    let run = folder.run(&["sim", "s.toml", "-o", "out", "--picture", "p.png"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert_eq!(frames(&folder, "out").len(), 7);
    let lines = std::fs::read_to_string(folder.path("out/frames.jsonl")).unwrap();
    for row in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let rigid = &row["rigid"];
        for key in ["pairs", "collision_impulses", "contact_impulses", "levels", "deepest", "kinetic_energy"] {
            assert!(rigid[key].is_number(), "{key} in {row}");
        }
        assert_eq!(rigid["lost"], 0);
    }
    for ending in ["usda", "glb", "obj", "pc2"] {
        let run = folder.run(&["export", "out", "-o", &format!("x.{ending}")]);
        assert_eq!(run.status, 0, "{}", run.err);
    }
    assert!(folder.path("x_000006.obj").exists());
}

/// Cut off after some frames and gone on with, on one thread and on two: the same bytes.
#[test]
fn rigid_bodies_go_on_to_the_same_bytes() {
    let cloth =
        "[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [6, 6] }\nrotation = [-90, 0, 0]\nposition = [0, 0.4, 0]\n";
    let folder = Folder::new().with("s.toml", &format!("{RIGID}{cloth}"));
    assert_eq!(folder.run(&["--threads", "1", "sim", "s.toml", "-o", "whole"]).status, 0);
    assert_eq!(folder.run(&["--threads", "2", "sim", "s.toml", "-o", "broken"]).status, 0);
    let whole = frames(&folder, "whole");
    assert!(whole == frames(&folder, "broken"));
    for frame in 4..=6 {
        std::fs::remove_file(folder.path(&format!("broken/frame_{frame:06}.unsnarl"))).unwrap();
    }
    assert_eq!(folder.run(&["--threads", "2", "sim", "s.toml", "-o", "broken", "--resume"]).status, 0);
    assert!(whole == frames(&folder, "broken"));
}

#[test]
fn an_impossible_rigid_body_is_one_line_and_nothing_is_written() {
    let folder = Folder::new().with("s.toml", "[[rigid]]\nsphere = { radius = 0.1 }\ndensity = -3\n");
    let run = folder.run(&["sim", "s.toml", "-o", "out"]);
    assert_eq!(run.status, 2);
    assert_eq!(run.err.trim_end(), "error: s.toml:3: rigid.0.density: -3; expected a number above 0");
    assert!(!folder.path("out").exists());
}

const SHEETS: &str = "[scene]\nframes = 3\n[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [8, 8] }\nrotation = [90, 0, 0]\n\
                      copies = { count = 3, step = [0, 0.02, 0], turn = [0, 20, 0] }\n\
                      [[body]]\nbox = { size = [0.1, 0.1, 0.1] }\nposition = [0, -0.06, 0]\n[collision]\nmethod = \"field\"\n";

#[test]
fn a_field_is_reported_dumped_and_goes_on_to_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new().with("s.toml", SHEETS);
    let run = folder.run(&["-q", "sim", "s.toml", "-o", "whole", "--threads", "1", "--field-dump", "3=f.nrrd"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let lines = std::fs::read_to_string(folder.path("whole/frames.jsonl")).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Sheets of seven spacings, and what is two spacings around them, take up some 11 x 11 x 5 nodes without the
    // corners.
    assert!(rows.iter().all(|row| (300..700).contains(&row["field"]["voxels"].as_u64().unwrap())));
    assert!(rows.iter().all(|row| row["intersecting_triangle_pairs"] == 0));
    assert!(rows.iter().any(|row| row["field"]["carried_vertices"].as_u64() > Some(10)));
    assert!(rows.iter().all(|row| row["stages"]["field"]["solve"].as_f64() >= Some(0.0)));
    let dump = std::fs::read(folder.path("f.nrrd")).unwrap();
    let header = dump.windows(2).position(|pair| pair == b"\n\n").unwrap();
    let text = std::str::from_utf8(&dump[..header]).unwrap();
    assert!(text.starts_with("NRRD0004\n"));
    let sizes = text.lines().find_map(|line| line.strip_prefix("sizes: ")).unwrap();
    let count: usize = sizes.split(' ').map(|size| size.parse::<usize>().unwrap()).product();
    assert_eq!(dump.len() - header - 2, 4 * count);
    let part = folder.run(&["-q", "sim", "s.toml", "-o", "part", "--threads", "2"]);
    assert_eq!(part.status, 0);
    assert!(frames(&folder, "whole") == frames(&folder, "part"));
    let again = folder.run(&["-q", "sim", "s.toml", "-o", "part", "--resume", "--from", "1", "--threads", "2"]);
    assert_eq!((again.status, again.err.as_str()), (0, ""));
    assert!(frames(&folder, "whole") == frames(&folder, "part"));
}

#[test]
fn a_dump_that_cannot_be_is_one_line() {
    let folder = Folder::new().with("s.toml", SHEETS).with("plain.toml", SCENE);
    let rows = [
        ("s.toml", "9=f.nrrd", "expected a frame from 1 to 3"),
        ("s.toml", "f.nrrd", "expected FRAME=FILE"),
        ("s.toml", "x=f.nrrd", "expected the number of a frame"),
        ("plain.toml", "1=f.nrrd", "the scene has no field"),
    ];
    for (scene, asked, expected) in rows {
        let run = folder.run(&["sim", scene, "-o", "out", "--field-dump", asked]);
        assert_eq!(run.status, 2, "{asked}");
        assert!(run.err.contains(expected) && run.err.trim_end().lines().count() == 1, "{}", run.err);
        assert!(!folder.path("out").exists());
    }
}
