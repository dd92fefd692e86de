//! `unsnarl levelset` as a user meets it: mesh to level set and back, CSG, smoothing, measures, bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::Folder;
use serde_json::Value;

/// A cube of side 1 around a point.
fn cube(center: [f64; 3]) -> String {
    let mut text = String::new();
    for corner in 0..8 {
        let [x, y, z] = [0, 1, 2].map(|axis| center[axis] + f64::from(corner >> axis & 1) - 0.5);
        text += &format!("v {x} {y} {z}\n");
    }
    for quad in ["1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"] {
        text += &format!("f {quad}\n");
    }
    text
}

fn report(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["levelset"].iter().chain(arguments).chain(&["--json", "-"]).copied().collect();
    let run = folder.run(&arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

fn cubes() -> Folder {
    let folder = Folder::new().with("a.obj", &cube([0.0; 3])).with("b.obj", &cube([0.5, 0.0, 0.0]));
    for name in ["a", "b"] {
        let (mesh, output) = (format!("{name}.obj"), format!("{name}.level"));
        report(&folder, &["from", &mesh, "-o", &output, "--spacing", "0.04"]);
    }
    folder
}

#[test]
fn measures_of_a_cube_are_those_of_a_cube() {
    let report = report(&cubes(), &["info", "a.level"]);
    assert_eq!(report["schema"], "unsnarl.levelset/1");
    assert_eq!(report["components"], 1);
    assert!((report["volume"].as_f64().unwrap() - 1.0).abs() < 0.02, "{report}");
    assert!((report["area"].as_f64().unwrap() - 6.0).abs() < 0.2, "{report}");
}

#[test]
fn operations_on_two_cubes_have_the_volumes_of_arithmetic() {
    let folder = cubes();
    for (operation, volume) in [("union", 1.5), ("intersection", 0.5), ("difference", 0.5)] {
        let report = report(&folder, &["csg", operation, "a.level", "b.level", "-o", "c.level"]);
        assert!((report["volume"].as_f64().unwrap() - volume).abs() < 0.05, "{operation}: {report}");
    }
}

#[test]
fn an_offset_grows_and_smoothing_shrinks() {
    let folder = cubes();
    let grown = report(&folder, &["offset", "a.level", "-o", "o.level", "--by", "0.1"])["volume"].as_f64().unwrap();
    assert!((1.6..1.75).contains(&grown), "a cube with rounded edges: {grown}");
    let smoothed =
        report(&folder, &["smooth", "a.level", "-o", "s.level", "--size", "0.2"])["volume"].as_f64().unwrap();
    assert!((0.7..0.99).contains(&smoothed), "{smoothed}");
    let fine = report(&folder, &["refine", "a.level", "-o", "f.level"]);
    assert_eq!(fine["spacing"], 0.02);
}

#[test]
fn the_mesh_that_comes_back_is_clean_and_closed() {
    let folder = cubes();
    for method in ["surface-nets", "marching"] {
        report(&folder, &["to-mesh", "a.level", "-o", "again.obj", "--method", method]);
        let (status, check) = folder.check(&["again.obj"]);
        assert_eq!(status, 0, "{method}: {check}");
        let again = report(&folder, &["from", "again.obj", "-o", "again.level", "--spacing", "0.04"]);
        assert!((again["volume"].as_f64().unwrap() - 1.0).abs() < 0.03, "{method}: {again}");
    }
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let folder = cubes();
    let bytes = ["1", "3"].map(|threads| {
        folder.run(&["-q", "--threads", threads, "levelset", "smooth", "a.level", "-o", "s.level", "--size", "0.1"]);
        std::fs::read(folder.path("s.level")).unwrap()
    });
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn bad_input_is_one_line_and_nothing_is_written() {
    let folder = cubes().with("text.level", "hello");
    let cases: [(&[&str], &str); 8] = [
        (&["info", "text.level"], "not a level set file"),
        (&["info", "gone.level"], "cannot read"),
        (&["from", "a.obj", "-o", "x.level", "--spacing", "0"], "a positive number"),
        (&["from", "a.obj", "-o", "x.level", "--spacing", "1e-9"], "larger spacing"),
        (&["from", "a.obj", "-o", "x.level", "--block-width", "3"], "5 to 32"),
        (&["from", "a.obj", "-o", "x.level", "--resolution", "0"], "from 1 on"),
        (&["offset", "a.level", "-o", "x.level", "--by", "nan"], "--by"),
        (&["smooth", "a.level", "-o", "x.level", "--size", "1e9"], "--size"),
    ];
    for (arguments, words) in cases {
        let arguments: Vec<&str> = ["levelset"].iter().chain(arguments).copied().collect();
        let run = folder.run(&arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.err.starts_with("error: ") && run.err.contains(words), "{arguments:?}: {}", run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
        assert!(!folder.path("x.level").exists());
    }
}

const STROKES: &str = r#"{"format":"unsnarl-strokes/1","steps":[
  {"do":"drag","brush":{"tool":"raise","radius":0.3,"strength":0.8},"events":[
    {"time":0,"ray":[0,0,3,0,0,-1]},{"time":0.2,"ray":[0.1,0,3,0,0,-1]},{"time":0.4,"ray":[0.2,0,3,0,0,-1]}]},
  {"do":"stroke","brush":{"tool":"stamp","radius":0.2,"shape":"b.level","operation":"difference"},"point":[0,0.5,0]}]}"#;

#[test]
fn strokes_are_replayed_to_the_same_bytes_on_any_number_of_threads() {
    let folder = cubes().with("strokes.json", STROKES);
    let before = report(&folder, &["info", "a.level"])["volume"].as_f64().unwrap();
    let mut volumes = Vec::new();
    for (threads, output) in [("1", "one.level"), ("3", "three.level")] {
        let sculpted =
            report(&folder, &["sculpt", "a.level", "--strokes", "strokes.json", "-o", output, "--threads", threads]);
        assert_eq!(sculpted["action"], "sculpt");
        volumes.push(sculpted["volume"].as_f64().unwrap());
    }
    assert_eq!(volumes[0], volumes[1]);
    assert_ne!(volumes[0], before);
    let bytes = ["one.level", "three.level"].map(|name| std::fs::read(folder.path(name)).unwrap());
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_picture_is_clear_around_the_body_and_can_be_laid_over_another() {
    let folder = cubes();
    report(&folder, &["render", "a.level", "-o", "a.png", "--size", "80x60", "--samples", "4"]);
    let photo = unsnarl_io::photo::read(&folder.path("a.png")).unwrap();
    assert_eq!(photo.size, [80, 60]);
    assert_eq!(photo.pixels[0][3], 0, "nothing in the corner");
    assert_eq!(photo.pixels[40 + 80 * 30][3], 255, "the cube in the middle");
    let over =
        ["render", "a.level", "-o", "b.png", "--background", "a.png", "--gloss", "0.05", "--shadow-plane", "-0.5"];
    report(&folder, &over);
    let laid = unsnarl_io::photo::read(&folder.path("b.png")).unwrap();
    assert_eq!(laid.size, [80, 60]);
    assert!(laid.pixels.iter().all(|pixel| pixel[3] == 255));
}

#[test]
fn bad_strokes_and_pictures_are_refused_in_one_line() {
    let folder = cubes()
        .with("text.json", "strokes")
        .with("far.json", r#"{"format":"unsnarl-strokes/1","steps":[{"do":"undo"}]}"#)
        .with("nan.json", r#"{"format":"unsnarl-strokes/1","steps":[{"do":"stroke","brush":{"tool":"raise","radius":1e30,"strength":1},"point":[0,0,0]}]}"#)
        .with("photo.png", "no picture");
    let rows: [(&[&str], &str); 11] = [
        (&["sculpt", "a.level", "--strokes", "none.json", "-o", "x.level"], "none.json: cannot read"),
        (&["sculpt", "a.level", "--strokes", "text.json", "-o", "x.level"], "text.json: not a stroke file"),
        (&["sculpt", "a.level", "--strokes", "far.json", "-o", "x.level"], "far.json: step 1: there is nothing"),
        (&["sculpt", "a.level", "--strokes", "nan.json", "-o", "x.level"], "nan.json: step 1: the radius"),
        (&["sculpt", "a.level", "--strokes", "far.json", "-o", "x.level", "--memory-limit", "0"], "--memory-limit"),
        (&["render", "a.level", "-o", "x.png", "--size", "0x5"], "--size"),
        (&["render", "a.level", "-o", "x.png", "--eye", "1,2"], "three numbers"),
        (&["render", "a.level", "-o", "x.png", "--samples", "0"], "--samples"),
        (&["render", "a.level", "-o", "x.png", "--gloss", "NaN"], "--gloss"),
        (&["render", "a.level", "-o", "x.png", "--background", "photo.png"], "photo.png: not a PNG"),
        (&["render", "a.level", "-o", "x.png", "--eye", "1,1,1", "--at", "1,1,1"], "same place"),
    ];
    for (arguments, expected) in rows {
        let arguments: Vec<&str> = ["levelset"].iter().chain(arguments).copied().collect();
        let run = folder.run(&arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(expected) && run.err.trim_end().lines().count() == 1, "{arguments:?}: {}", run.err);
        assert!(!folder.path("x.level").exists() && !folder.path("x.png").exists());
    }
}
