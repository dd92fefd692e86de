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
