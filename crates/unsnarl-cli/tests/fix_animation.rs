//! `unsnarl fix` on animations as a user meets it: every kind of input, no flicker, going on after a kill, bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const FRAMES: usize = 30;

/// Positions of a frame: a sheet, and a strip over it whose lower edge is under it in frames 12 to 15.
fn positions(at: usize) -> Vec<[f64; 3]> {
    let height = if (12..16).contains(&at) { -0.012 } else { 0.02 };
    let shift = 0.01 * at as f64;
    let mut points: Vec<[f64; 3]> =
        (0..81).map(|k| [f64::from(k % 9) * 0.1 + shift, 0.0, f64::from(k / 9) * 0.1]).collect();
    for column in 0..3 {
        for level in 0..3 {
            points.push([0.33 + 0.1 * f64::from(column) + shift, height + 0.11 * f64::from(level), 0.357]);
        }
    }
    points
}

fn triangles() -> Vec<[usize; 3]> {
    let mut triangles = Vec::new();
    for cell in 0..64 {
        let a = cell / 8 * 9 + cell % 8;
        triangles.extend([[a, a + 9, a + 1], [a + 1, a + 9, a + 10]]);
    }
    for column in 0..2 {
        for level in 0..2 {
            let a = 81 + column * 3 + level;
            triangles.extend([[a, a + 3, a + 1], [a + 1, a + 3, a + 4]]);
        }
    }
    triangles
}

fn frame(at: usize) -> String {
    format!("# frame {at}\n{}", obj(&positions(at), &triangles()))
}

/// A folder `in` with the frames as OBJ.
fn sequence() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    for at in 0..FRAMES {
        std::fs::write(folder.path(&format!("in/w_{at:04}.obj")), frame(at)).unwrap();
    }
    folder
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &Folder, name: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path(name))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn a_sequence_becomes_clean_without_a_jump_and_far_frames_come_back_byte_for_byte() {
    let folder = sequence();
    let run = folder.run(&["--threads", "2", "fix", "in/w_####.obj", "-o", "out", "--json", "report.json"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let report: Value = serde_json::from_slice(&bytes(&folder, "report.json")).unwrap();
    assert_eq!((&report["schema"], &report["clean"]), (&Value::from("unsnarl.fix-animation/1"), &Value::Bool(true)));
    assert_eq!(report["frames_tangled_before"], 4);
    let largest = report["frames"].as_array().unwrap().iter().map(|line| line["largest_move"].as_f64().unwrap());
    let (largest, change) = (largest.fold(0.0, f64::max), report["largest_change"].as_f64().unwrap());
    assert!(largest > 0.01 && change < 0.00205, "moves of {largest} m change by {change} m");
    // As long as a ramp of 2 mm a frame, or the fade.
    let ramp = (largest / 0.002).ceil().max(4.0) as usize;
    assert!(ramp < 10, "some frames are far");
    for at in 0..FRAMES {
        let name = format!("w_{at:04}.obj");
        let (status, _) = folder.check(&[&format!("out/{name}")]);
        assert_eq!(status, 0, "{name}");
        if !(12 - ramp..16 + ramp).contains(&at) {
            assert_eq!(bytes(&folder, &format!("in/{name}")), bytes(&folder, &format!("out/{name}")), "{name}");
        }
    }
    let lines = String::from_utf8(bytes(&folder, "out/frames.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), FRAMES);
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["clean"] == true));
    assert_eq!(names(&folder, ".").iter().filter(|name| name.contains("work")).count(), 0);

    let one = folder.run(&["--threads", "1", "fix", "in", "-o", "one/w_####.obj"]);
    assert_eq!(one.status, 0, "{}", one.err);
    for at in 0..FRAMES {
        let name = format!("w_{at:04}.obj");
        assert_eq!(bytes(&folder, &format!("out/{name}")), bytes(&folder, &format!("one/{name}")), "{name}");
    }
    let still = folder.run(&["fix", "in", "-o", "still", "--fade", "0"]);
    assert_eq!(still.status, 0, "{}", still.err);
    for at in (0..FRAMES).filter(|at| !(12..16).contains(at)) {
        let name = format!("w_{at:04}.obj");
        assert_eq!(bytes(&folder, &format!("in/{name}")), bytes(&folder, &format!("still/{name}")), "{name}");
    }
}

#[test]
fn a_run_that_is_killed_goes_on_to_the_same_bytes() {
    let folder = sequence();
    let flags = ["-q", "fix", "in", "--resume", "-o"];
    assert_eq!(folder.run(&[&flags[..], &["whole"]].concat()).status, 0);
    for (round, milliseconds) in [30, 120, 300].into_iter().enumerate() {
        let out = format!("out{round}");
        let mut child = folder
            .command(&[&flags[..], &[out.as_str()]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().ok();
        child.wait().unwrap();
        assert_eq!(folder.run(&[&flags[..], &[out.as_str()]].concat()).status, 0);
        assert_eq!(names(&folder, &out), names(&folder, "whole"));
        for name in names(&folder, "whole") {
            let (own, whole) = (format!("{out}/{name}"), format!("whole/{name}"));
            assert_eq!(bytes(&folder, &own), bytes(&folder, &whole), "{own}");
        }
    }
}

#[test]
fn point_caches_and_time_samples_and_bodies_that_move() {
    let folder = Folder::new().with("mesh.obj", &frame(0));
    let mut cache = b"POINTCACHE2\0".to_vec();
    [1_i32, 90].iter().for_each(|number| cache.extend(number.to_le_bytes()));
    [0_f32, 1.0].iter().for_each(|number| cache.extend(number.to_le_bytes()));
    cache.extend(20_i32.to_le_bytes());
    let mut usd =
        String::from("#usda 1.0\n(\n    timeCodesPerSecond = 24\n)\ndef Mesh \"m\"\n{\n    int[] faceVertexCounts = [");
    usd += &vec!["3"; triangles().len()].join(", ");
    let corners: Vec<String> = triangles().iter().flatten().map(usize::to_string).collect();
    usd +=
        &format!("]\n    int[] faceVertexIndices = [{}]\n    point3f[] points.timeSamples = {{\n", corners.join(", "));
    for at in 0..20 {
        let points: Vec<String> = positions(at).iter().map(|[x, y, z]| format!("({x}, {y}, {z})")).collect();
        usd += &format!("        {at}: [{}],\n", points.join(", "));
        positions(at).iter().flatten().for_each(|&x| cache.extend((x as f32).to_le_bytes()));
    }
    usd += "    }\n}\n";
    std::fs::write(folder.path("c.pc2"), &cache).unwrap();
    let folder = folder.with("a.usda", &usd);
    let run = folder.run(&["fix", "c.pc2", "mesh.obj", "-o", "out.pc2"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let fixed = bytes(&folder, "out.pc2");
    let frame_bytes = 90 * 12;
    // Ramps of 2 mm a frame do not reach the first frames.
    assert_eq!((fixed.len(), &fixed[..32 + 2 * frame_bytes]), (cache.len(), &cache[..32 + 2 * frame_bytes]));
    assert_ne!(fixed, cache);
    // Clean already: every byte comes back.
    let again = folder.run(&["fix", "out.pc2", "--mesh", "mesh.obj", "-o", "again.pc2"]);
    assert_eq!((again.status, bytes(&folder, "again.pc2")), (0, fixed));
    let run = folder.run(&["fix", "a.usda", "-o", "b.usda", "--json", "-"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&report["frames_tangled_before"], &report["clean"]), (&4.into(), &true.into()));
    let report: Value =
        serde_json::from_str(&folder.run(&["fix", "b.usda", "-o", "c.usda", "--json", "-"]).out).unwrap();
    assert_eq!((&report["frames_tangled_before"], &report["frames_untouched"]), (&0.into(), &20.into()));

    // A plate that rises into the sheet.
    std::fs::create_dir(folder.path("body")).unwrap();
    std::fs::create_dir(folder.path("cloth")).unwrap();
    for at in 0..6 {
        let top = -0.05 + 0.013 * at as f64;
        let tip = obj(
            &[[0.3, top - 0.2, 0.3], [0.6, top - 0.2, 0.3], [0.45, top - 0.2, 0.6], [0.45, top, 0.4]],
            &[[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]],
        );
        std::fs::write(folder.path(&format!("body/b_{at}.obj")), tip).unwrap();
        std::fs::write(folder.path(&format!("cloth/c_{at}.obj")), frame(0)).unwrap();
    }
    let run = folder.run(&["fix", "cloth", "--body", "body/b_#.obj", "-o", "worn"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    for at in 0..6 {
        let run = folder.run(&["check", &format!("worn/c_{at}.obj"), "--body", &format!("body/b_{at}.obj")]);
        assert_eq!(run.status, 0, "frame {at}: {}", run.out);
    }
    std::fs::remove_file(folder.path("body/b_5.obj")).unwrap();
    let run = folder.run(&["fix", "cloth", "--body", "body", "-o", "none"]);
    assert_eq!((run.status, run.err.contains("has no frame 5")), (2, true), "{}", run.err);
}

#[test]
fn a_cache_becomes_a_cache_that_opens() {
    let scene = "[scene]\nframes = 6\ngravity = [0, -30, 0]\n[untangle]\nmethod = \"off\"\n[collision]\nmethod = \"solids\"\n[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [8, 8] }\n\
                 rotation = [-90, 0, 0]\nposition = [0, 0.01, 0]\n[[cloth]]\nsheet = { size = [0.2, 0.2], cells = [5, 5] }\nrotation = [-90, 15, 0]\n\
                 position = [0, 0.013, 0]\npin = [{ vertices = [0] }]\n";
    let folder = Folder::new().with("s.toml", scene);
    let run = folder.run(&["sim", "s.toml", "-o", "cache"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let run = folder.run(&["fix", "cache", "-o", "fixed", "--json", "-"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert_eq!(folder.run(&["export", "fixed", "-o", "f.obj"]).status, 0);
    assert_eq!(folder.check(&["f_000006.obj"]).0, 0);
    let run = folder.run(&["fix", "cache", "-o", "cache"]);
    assert_eq!((run.status, run.err.contains("this is the cache that is read")), (2, true), "{}", run.err);
}

#[test]
fn bad_input_is_one_line_and_writes_nothing() {
    let folder = sequence();
    std::fs::create_dir(folder.path("other")).unwrap();
    std::fs::create_dir(folder.path("gone")).unwrap();
    for at in 0..4 {
        let whole = frame(at);
        let cut = whole.trim_end().rsplit_once('\n').map_or("", |(cut, _)| cut);
        std::fs::write(folder.path(&format!("other/w_{at}.obj")), if at == 2 { cut } else { &whole }).unwrap();
        if at != 2 {
            std::fs::write(folder.path(&format!("gone/w_{at}.obj")), frame(at)).unwrap();
        }
    }
    let before = names(&folder, ".");
    let rows: [(&[&str], &str); 11] = [
        (&["fix", "other", "-o", "out"], "w_2.obj: 135 triangles, but"),
        (&["fix", "gone", "-o", "out"], "frame 2 is missing between"),
        (&["fix", "in", "-o", "out", "--gap", "9"], "as large as the garment"),
        (&["fix", "in", "-o", "out", "--gap", "-2mm"], "is not a length above 0"),
        (&["fix", "in", "-o", "in"], "would be written over"),
        (&["fix", "in", "-o", "out.obj"], "one file for many frames"),
        (&["fix", "in/x_##.obj", "-o", "out"], "no file has such a name"),
        (&["fix", "in", "-o", "out", "--picture", "p.png"], "go with single meshes"),
        (&["fix", "in", "-o", "out", "--frame-rate", "0"], "expected a number above 0"),
        (&["fix", "in", "-o", "out", "--body", "nobody.obj"], "nobody.obj"),
        (&["fix", "c.pc2", "-o", "out.pc2"], "give its mesh with --mesh"),
    ];
    for (arguments, words) in rows {
        let run = folder.run(arguments);
        assert_eq!((run.status, run.err.lines().count()), (2, 1), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(words), "{arguments:?}: {}", run.err);
        assert_eq!(names(&folder, "."), before, "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_cleaned_is_written_only_when_asked_for() {
    let folder = sequence();
    let run = folder.run(&["fix", "in", "-o", "out", "--method", "off"]);
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.out.contains("NOT CLEAN: 4 frames") && run.out.contains("nothing written"), "{}", run.out);
    assert!(!folder.path("out").exists());
    let run = folder.run(&["fix", "in", "-o", "out", "--method", "off", "--keep-partial", "--resume"]);
    assert_eq!((run.status, names(&folder, "out").len()), (1, FRAMES + 1), "{}", run.err);
}
