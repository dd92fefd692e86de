//! `unsnarl refine` as a user meets it: meshes, bodies, caches, what survives, going on after a kill, and bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, Run, obj};
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const SCENE: &str = "[scene]\nframes = 5\n[[cloth]]\nsheet = { size = [0.3, 0.3], cells = [8, 8] }\nrotation = [-90, 0, 0]\n\
                     position = [0, 0.02, 0]\n[[cloth]]\nname = \"upper\"\ndisc = { radius = 0.1, rings = 4 }\n\
                     rotation = [-90, 0, 0]\nposition = [0, 0.03, 0]\n[[body]]\nsphere = { radius = 0.1 }\nposition = [0, -0.085, 0]\n";

/// Two panels with a seam between them, groups, materials and an object; bent along the seam.
const GARMENT: &str = "mtllib cloth.mtl\no shirt\nv 0 0 0\nv 1 0 0\nv 1 1 0.2\nv 0 1 0\nv 2 0 0.5\nv 2 1 0.6\n\
                       vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 5 0\nvt 6 0\nvt 6 1\nvt 5 1\n\
                       g front\nusemtl red\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\ng back\nusemtl blue\nf 2/5 5/6 6/7\nf 2/5 6/7 3/8\n";

/// Eight triangles with a ridge; all coordinates are between 0 and 1.
const ROOF: &str = "v 0 0 0\nv 0.5 0.5 0\nv 1 0 0\nv 0 0.1 0.5\nv 0.5 0.6 0.5\nv 1 0.1 0.5\n\
                    v 0 0 1\nv 0.5 0.5 1\nv 1 0 1\n\
                    f 1 2 4\nf 2 5 4\nf 2 3 5\nf 3 6 5\nf 4 5 7\nf 5 8 7\nf 5 6 8\nf 6 9 8\n";

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}{}", run.out, run.err))
}

/// The bytes of all files of a cache but the reports, by name.
fn files(folder: &Folder, cache: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(folder.path(cache))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_garment_keeps_its_panels_seams_names_and_gets_normals() {
    let folder = Folder::new().with("g.obj", GARMENT).with(
        "g.garment.toml",
        "layer = 2\n[[crease]]\nedges = [[1, 2]]\nangle_degrees = 40\n[[pin]]\nvertices = [3]\n",
    );
    let run = folder.run(&["refine", "g.obj", "-o", "out.obj", "--levels", "2", "--json", "-"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let report = report(&run);
    assert_eq!((&report["schema"], &report["certified"]), (&Value::from("unsnarl.refine/1"), &Value::Bool(true)));
    assert_eq!(report["levels"].as_array().unwrap().len(), 2);
    assert_eq!(report["triangles"], 64);
    let text = std::fs::read_to_string(folder.path("out.obj")).unwrap();
    let count = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        (count("f "), count("vn "), count("v ")),
        (64, count("v "), report["vertices"].as_u64().unwrap() as usize)
    );
    for name in ["mtllib cloth.mtl", "o shirt", "g front", "g back", "usemtl red", "usemtl blue"] {
        assert_eq!(text.lines().filter(|line| *line == name).count(), 1, "{name}");
    }
    // Panels cover what they covered: 5 by 5 uv vertices each, in their own squares.
    let uv: Vec<f64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("vt "))
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(uv.iter().filter(|u| (0.0..=1.0).contains(*u)).count(), 25);
    assert_eq!(uv.iter().filter(|u| (5.0..=6.0).contains(*u)).count(), 25);
    let sidecar = std::fs::read_to_string(folder.path("out.garment.toml")).unwrap();
    assert!(sidecar.contains("layer = 2") && sidecar.contains("vertices = [3]"), "{sidecar}");
    assert_eq!(sidecar.matches("], [").count(), 3, "a crease edge has four parts after two levels: {sidecar}");
    let (status, check) = folder.check(&["out.obj"]);
    assert_eq!((status, &check["clean"]), (0, &Value::Bool(true)));
}

#[test]
fn every_kind_of_file_is_written_and_reads_back_clean() {
    let folder = Folder::new().with("g.obj", GARMENT);
    for out in ["a.obj", "a.ply", "a.off", "a.stl", "a.glb", "a.gltf", "a.usda"] {
        let run = folder.run(&["refine", "g.obj", "-o", out, "--levels", "1"]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{out}");
        let (status, check) = folder.check(&[out]);
        assert_eq!((status, check["triangles"].as_u64()), (0, Some(16)), "{out}");
    }
    let glb = std::fs::read(folder.path("a.gltf")).unwrap();
    assert!(String::from_utf8(glb).unwrap().contains("\"NORMAL\""));
    assert!(std::fs::read_to_string(folder.path("a.usda")).unwrap().contains("normal3f[] normals"));
}

#[test]
fn schemes_interpolation_creases_and_bodies_are_heard() {
    let folder = Folder::new()
        .with("g.obj", GARMENT)
        .with("floor.obj", &obj(&[[-9.0, -9.0, -0.001], [9.0, -9.0, -0.001], [0.0, 18.0, -0.001]], &[[0, 1, 2]]));
    let plain = folder.run(&["refine", "g.obj", "-o", "plain.obj"]);
    assert!(plain.out.contains("CLEAN") && plain.out.contains("level 2:"), "{}", plain.out);
    let mut last = std::fs::read(folder.path("plain.obj")).unwrap();
    for flags in [&["--interpolate"][..], &["--crease-angle", "5"], &["--levels", "1"]] {
        let arguments = [&["refine", "g.obj", "-o", "other.obj"], flags].concat();
        assert_eq!(folder.run(&arguments).status, 0);
        let other = std::fs::read(folder.path("other.obj")).unwrap();
        assert!(other != last, "{flags:?}");
        last = other;
    }
    let run = folder.run(&[
        "refine",
        "g.obj",
        "-o",
        "b.obj",
        "--body",
        "floor.obj",
        "--scheme",
        "bounded",
        "--gap",
        "--json",
        "-",
    ]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(report(&run)["smallest_gap"].is_f64());
    assert_eq!(folder.check(&["b.obj", "--body", "floor.obj"]).0, 0);
}

#[test]
fn several_garments_are_kept_apart_in_one_folder() {
    let lower = obj(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.3], [0.0, 1.0, 0.0]], &[[0, 1, 2], [0, 2, 3]]);
    let upper =
        obj(&[[0.0, 0.0, 1e-5], [1.0, 0.0, 1e-5], [1.0, 1.0, 0.30001], [0.0, 1.0, 1e-5]], &[[0, 1, 2], [0, 2, 3]]);
    let folder = Folder::new().with("a.obj", &lower).with("b.obj", &upper);
    let run = folder.run(&["refine", "a.obj", "b.obj", "-o", "out", "--levels", "3"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert_eq!(folder.check(&["out/a.obj", "out/b.obj"]).0, 0);
}

#[test]
fn tangled_input_is_refused_with_its_count_and_forced_input_is_not_certified() {
    let crossing = obj(
        &[[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.5, 0.5, -1.0], [1.5, 0.5, -1.0], [1.0, 0.5, 1.0]],
        &[[0, 1, 2], [3, 4, 5]],
    );
    let folder = Folder::new().with("x.obj", &crossing);
    let run = folder.run(&["refine", "x.obj", "-o", "out.obj"]);
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("error: x.obj: 1 triangle pairs meet before refinement"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1);
    assert!(!folder.path("out.obj").exists());
    let run = folder.run(&["refine", "x.obj", "-o", "out.obj", "--force", "--json", "-"]);
    assert_eq!(run.status, 1, "{}", run.err);
    let report = report(&run);
    assert_eq!((&report["certified"], &report["pairs_at_start"]), (&Value::Bool(false), &Value::from(1)));
    assert!(folder.path("out.obj").exists());
}

#[test]
fn levels_go_on_until_smoothing_moves_nothing_far() {
    let folder = Folder::new().with("roof.obj", ROOF);
    let farthest = |report: &Value, level: usize| report["levels"][level]["displacement"]["max"].as_f64().unwrap();
    for (until, length) in [("3cm", 0.03), ("5mm", 0.005), ("0.002", 0.002)] {
        let run = folder.run(&["refine", "roof.obj", "-o", "out.obj", "--until", until, "--json", "-"]);
        assert_eq!(run.status, 0, "{}", run.err);
        let report = report(&run);
        let last = report["levels"].as_array().unwrap().len() - 1;
        assert!(farthest(&report, last) < length, "{until}: {report}");
        assert!(last == 0 || farthest(&report, last - 1) >= length, "{until}: one level fewer would do: {report}");
        assert_eq!(report["triangles"].as_u64().unwrap(), 8 << (2 * (last + 1)));
    }
    for (arguments, words) in [
        (&["--until", "-1"][..], "--until"),
        (&["--until", "nan"], "--until"),
        (&["--until", "5 apples"], "--until"),
        (&["--until", "1mm", "--levels", "2"], "cannot be used with"),
    ] {
        let run = folder.run(&[&["refine", "roof.obj", "-o", "never.obj"][..], arguments].concat());
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.err.contains(words), "{arguments:?}: {}", run.err);
        assert!(!folder.path("never.obj").exists());
    }
}

#[test]
fn colours_follow_the_masks_of_positions() {
    // Every vertex has its own coordinates as colour, and nothing is near enough to stop: so it is afterwards.
    let coloured: String = (ROOF.lines())
        .map(|line| line.strip_prefix("v ").map_or(format!("{line}\n"), |at| format!("v {at} {at}\n")))
        .collect();
    let folder = Folder::new().with("roof.obj", &coloured);
    for scheme in [&[][..], &["--scheme", "bounded"], &["--interpolate"]] {
        let run = folder.run(&[&["refine", "roof.obj", "-o", "out.obj"][..], scheme].concat());
        assert_eq!(run.status, 0, "{}", run.err);
        let text = std::fs::read_to_string(folder.path("out.obj")).unwrap();
        let vertices: Vec<Vec<f64>> = text
            .lines()
            .filter_map(|line| line.strip_prefix("v "))
            .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
            .collect();
        assert!(vertices.len() > 50 && vertices.iter().all(|own| own.len() == 6));
        for own in &vertices {
            for axis in 0..3 {
                let expected = own[axis].clamp(0.0, 1.0);
                assert!((expected - own[3 + axis]).abs() < 1e-6, "{own:?}");
            }
        }
    }
    // glTF and USD keep colours in 32 bits, and what they keep is refined again.
    for target in ["out.glb", "out.gltf", "out.usda"] {
        assert_eq!(folder.run(&["refine", "roof.obj", "-o", target, "--levels", "1"]).status, 0, "{target}");
        let run = folder.run(&["refine", target, "-o", "again.obj", "--levels", "1"]);
        assert_eq!(run.status, 0, "{target}: {}", run.err);
        let text = std::fs::read_to_string(folder.path("again.obj")).unwrap();
        let vertices: Vec<Vec<f64>> = (text.lines().filter_map(|line| line.strip_prefix("v ")))
            .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
            .collect();
        assert_eq!(vertices.len(), 81, "{target}");
        for own in vertices {
            assert!((0..3).all(|axis| (own[axis].clamp(0.0, 1.0) - own[3 + axis]).abs() < 1e-6), "{target}: {own:?}");
        }
    }
    // PLY keeps colours in bytes; what it keeps reads back.
    assert_eq!(folder.run(&["refine", "roof.obj", "-o", "out.ply", "--levels", "1"]).status, 0);
    assert_eq!(folder.run(&["refine", "out.ply", "-o", "again.obj", "--levels", "1"]).status, 0);
    let text = std::fs::read_to_string(folder.path("again.obj")).unwrap();
    let first: Vec<f64> = text.lines().next().unwrap()[2..].split(' ').map(|word| word.parse().unwrap()).collect();
    assert!((0..3).all(|axis| (first[axis].clamp(0.0, 1.0) - first[3 + axis]).abs() < 1.0 / 255.0), "{first:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn levels_that_no_memory_holds_are_refused_before_anything_is_made() {
    let positions: Vec<String> = (0..26 * 26).map(|k| format!("v 0.{:02} 0 0.{:02}\n", k % 26, k / 26)).collect();
    let cell = |k: usize| {
        let a = k / 25 * 26 + k % 25 + 1;
        format!("f {a} {} {}\nf {} {} {}\n", a + 1, a + 26, a + 1, a + 27, a + 26)
    };
    let sheet = positions.concat() + &(0..25 * 25).map(cell).collect::<String>();
    let folder = Folder::new().with("sheet.obj", &sheet);
    let run = folder.run(&["refine", "sheet.obj", "-o", "never.obj", "--levels", "10"]);
    assert_eq!(run.status, 2);
    let line = "sheet.obj: 1310720000 triangles after 10 levels take about 524288000000 bytes of memory, ";
    assert!(run.err.contains(line) && run.err.lines().count() == 1, "{}", run.err);
    assert!(!folder.path("never.obj").exists());
}

#[test]
fn edges_of_three_triangles_stay_and_input_that_meets_a_body_is_refused() {
    // Three leaves of a book.
    let book = "v 0 0 0\nv 0 0 1\nv 1 0 0.5\nv -1 0 0.5\nv 0 1 0.5\nf 1 2 3\nf 2 1 4\nf 1 2 5\n";
    let across = "v -1 0.2 -1\nv 2 0.2 -1\nv 0 0.2 2\nf 1 2 3\n";
    let folder = Folder::new().with("book.obj", book).with("across.obj", across);
    assert_eq!(folder.run(&["refine", "book.obj", "-o", "out.obj"]).status, 0);
    let text = std::fs::read_to_string(folder.path("out.obj")).unwrap();
    for place in ["v 0 0 0", "v 0 0 1", "v 0 0 0.5", "v 0 0 0.25"] {
        assert!(text.lines().any(|line| line == place), "{place}");
    }
    let run = folder.run(&["refine", "book.obj", "-o", "never.obj", "--body", "across.obj"]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("1 triangle pairs meet before refinement"), "{}", run.err);
    assert!(!folder.path("never.obj").exists());
}

#[test]
fn bad_input_is_named_in_one_line() {
    let folder = Folder::new().with("g.obj", GARMENT).with("bad.obj", "v 0 0\nf 1 2 3\n").with("none.obj", "v 0 0 0\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (arguments, words) in [
        (&["refine", "g.obj", "-o", "out.xyz"][..], "does not say a kind of mesh file"),
        (&["refine", "bad.obj", "-o", "out.obj"], "bad.obj:1"),
        (&["refine", "missing.obj", "-o", "out.obj"], "missing.obj"),
        (&["refine", "empty", "-o", "out"], "cache.json"),
        (&["refine", "g.obj", "empty", "-o", "out"], "give one cache alone"),
        (&["refine", "g.obj", "-o", "out.obj", "--levels", "11"], "11"),
        (&["refine", "g.obj", "-o", "out.obj", "--levels", "0"], "0"),
        (&["refine", "g.obj", "-o", "out.obj", "--levels", "99"], "99"),
        (&["refine", "g.obj", "-o", "out.obj", "--levels", "-1"], "-1"),
        (&["refine", "none.obj", "-o", "out.obj"], "none.obj"),
        (&["refine", "g.obj", "-o", "out.obj", "--body", "none.obj"], "none.obj"),
        (&["refine", "g.obj", "-o", "out.obj", "--frames", "0..2"], "--frames goes with a cache"),
        (&["refine", "g.obj", "-o", "out.obj", "--frames", "2..1"], "comes after"),
        (&["refine", "g.obj", "-o", "out.obj", "--crease-angle", "nan"], "expected 0 to 180"),
        (&["refine", "g.obj", "-o", "nowhere/out.obj"], "nowhere/out.obj: there is no such folder"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(words), "{arguments:?}: {}", run.err);
        assert!(!folder.path("out.obj").exists() && !folder.path("out").exists());
    }
}

#[test]
fn a_cache_becomes_a_cache_that_exports_and_resumes_to_the_same_bytes() {
    let folder = Folder::new().with("s.toml", SCENE);
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "sim"]).status, 0);
    let run = folder.run(&["refine", "sim", "-o", "fine", "--levels", "2", "--json", "-"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let whole = report(&run);
    assert_eq!((whole["first_frame"].as_u64(), whole["last_frame"].as_u64()), (Some(0), Some(5)));
    assert_eq!(whole["certified"], Value::Bool(true));
    assert!(whole["frames"].as_array().unwrap().iter().all(|line| line["popping"].is_f64()));
    let info: Value = serde_json::from_slice(&std::fs::read(folder.path("fine/cache.json")).unwrap()).unwrap();
    assert_eq!(
        (&info["refined_from"]["cache"], &info["refined_from"]["levels"]),
        (&Value::from("sim"), &Value::from(2))
    );
    for out in ["f.obj", "f.usda", "f.glb", "f.pc2"] {
        assert_eq!(folder.run(&["export", "fine", "-o", out]).status, 0, "{out}");
    }
    assert_eq!(folder.check(&["f_000005.obj"]).0, 0);
    // One thread gives the same bytes.
    assert_eq!(folder.run(&["-q", "--threads", "1", "refine", "sim", "-o", "one", "--levels", "2"]).status, 0);
    assert!(files(&folder, "one") == files(&folder, "fine"));
    // Killed again and again, it still ends with the same bytes.
    let mut kills = 0;
    for milliseconds in [1, 5, 10, 20, 30, 45, 60, 80, 100, 130] {
        let arguments = ["-q", "refine", "sim", "-o", "broken", "--levels", "2"];
        let mut child = folder.command(&arguments).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        kills += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(kills > 0);
    assert_eq!(folder.run(&["-q", "refine", "sim", "-o", "broken", "--levels", "2"]).status, 0);
    assert!(files(&folder, "broken") == files(&folder, "fine"));
    // Done already: nothing is done again, and another refinement is refused.
    let again = folder.run(&["refine", "sim", "-o", "fine", "--levels", "2", "--json", "-"]);
    assert_eq!(report(&again)["kept_frames"], 6);
    let other = folder.run(&["refine", "sim", "-o", "fine", "--levels", "1"]);
    assert_eq!((other.status, other.err.contains("holds another cache")), (2, true), "{}", other.err);
    let onto_itself = folder.run(&["refine", "sim", "-o", "sim"]);
    assert_eq!((onto_itself.status, onto_itself.err.contains("holds another cache")), (2, true));
}

#[test]
fn some_frames_keep_their_numbers() {
    let folder = Folder::new().with("s.toml", SCENE);
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "sim"]).status, 0);
    assert_eq!(folder.run(&["-q", "refine", "sim", "-o", "part", "--levels", "1", "--frames", "2..3"]).status, 0);
    assert!(folder.path("part/frame_000003.unsnarl").exists() && !folder.path("part/frame_000001.unsnarl").exists());
    let run = folder.run(&["export", "part", "-o", "p.obj"]);
    assert!(run.out.contains("2 frames"), "{}{}", run.out, run.err);
    let run = folder.run(&["refine", "sim", "-o", "none", "--frames", "7.."]);
    assert_eq!((run.status, run.err.contains("has frames 0 to 5")), (2, true), "{}", run.err);
    assert_eq!(folder.run(&["-q", "refine", "part", "-o", "finer", "--levels", "1"]).status, 0);
}

#[test]
fn a_simulation_refines_as_it_writes_and_goes_on_after_a_stop() {
    let text = format!("{SCENE}[output]\nrefine = 1\n");
    let folder = Folder::new().with("s.toml", &text);
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "sim"]).status, 0);
    assert!(folder.path("sim/refined/frame_000005.unsnarl").exists());
    let before = files(&folder, "sim/refined");
    std::fs::remove_file(folder.path("sim/refined/frame_000003.unsnarl")).unwrap();
    std::fs::remove_file(folder.path("sim/frame_000005.unsnarl")).unwrap();
    assert_eq!(folder.run(&["-q", "sim", "s.toml", "-o", "sim", "--resume"]).status, 0);
    let frames = |files: Vec<(String, Vec<u8>)>| files.into_iter().filter(|(name, _)| name != "frames.jsonl").collect();
    let [before, after]: [Vec<_>; 2] = [before, files(&folder, "sim/refined")].map(frames);
    assert!(before == after);
    let run = folder.run(&["sim", "s.toml", "-o", "other", "--set", "output.refine=7"]);
    assert_eq!((run.status, run.err.contains("expected 0 to 6 levels")), (2, true), "{}", run.err);
}
