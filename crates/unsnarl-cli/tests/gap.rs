//! The gap as commands keep it: `check --gap`, `fix --gap`, `fix --for`, and what they refuse.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj, root};
use serde_json::Value;

/// Two squares of cloth over each other, a tenth of a millimetre apart.
fn two_squares() -> Folder {
    let square = |height: f64| [[0.0, height, 0.0], [0.1, height, 0.0], [0.0, height, 0.1], [0.1, height, 0.1]];
    let corners: Vec<[f64; 3]> = [square(0.0), square(1e-4)].concat();
    Folder::new().with("cloth.obj", &obj(&corners, &[[0, 1, 2], [1, 3, 2], [4, 5, 6], [5, 7, 6]]))
}

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path("report.json")).unwrap()).unwrap()
}

#[test]
fn check_tells_whether_cloth_keeps_a_gap_and_where_it_is_nearest() {
    let folder = two_squares();
    let (status, found) = folder.check(&["cloth.obj", "--gap", "0.05mm"]);
    assert_eq!((status, &found["gap"]["pairs_below"]), (0, &0.into()));
    let certified = found["gap"]["certified"].as_f64().unwrap();
    assert!((0.999e-4..=1e-4).contains(&certified), "{certified}");
    let (status, found) = folder.check(&["cloth.obj", "--gap", "2mm", "--picture", "near.png"]);
    assert_eq!((status, &found["clean"]), (1, &true.into()));
    assert!(found["gap"]["pairs_below"].as_u64().unwrap() > 0);
    let nearest = found["gap"]["nearest"].as_array().unwrap();
    assert!((1..=10).contains(&nearest.len()) && folder.path("near.png").exists());
    // Without a length it measures, wherever it stands.
    for arguments in [["cloth.obj", "--gap"], ["--gap", "cloth.obj"]] {
        let (status, found) = folder.check(&arguments);
        let gap = found["smallest_gap"].as_f64().unwrap();
        assert!(status == 0 && (gap - 1e-4).abs() < 1e-12 && found["gap"].is_null(), "{found}");
    }
}

#[test]
fn fix_opens_the_gap_and_gives_back_what_has_it() {
    let folder = two_squares();
    let run = folder.run(&["fix", "cloth.obj", "-o", "open.obj", "--gap", "2mm", "--json", "report.json"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let found = report(&folder);
    assert_eq!((&found["gap"]["pairs_below"], &found["gap"]["exempt"]), (&0.into(), &0.into()));
    assert!(found["gap"]["certified"].as_f64().unwrap() >= 0.002);
    assert!(found["displacement"]["max"].as_f64().unwrap() < 0.0015, "{}", found["displacement"]);
    let (status, _) = folder.check(&["open.obj", "--gap", "2mm"]);
    assert_eq!(status, 0);
    let run = folder.run(&["fix", "open.obj", "-o", "again.obj", "--gap", "2mm"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(read("open.obj") == read("again.obj"), "what has the gap comes back bit for bit");
    let run = folder.run(&["fix", "cloth.obj", "-o", "one.obj", "--gap", "2mm", "--threads", "1"]);
    assert!(run.status == 0 && read("one.obj") == read("open.obj"), "the same on any number of threads");
}

#[test]
fn the_gap_holds_for_the_numbers_that_a_file_of_32_bit_floats_has() {
    let folder = two_squares();
    for name in ["open.glb", "open.stl", "open.ply"] {
        let run = folder.run(&["fix", "cloth.obj", "-o", name, "--gap", "2mm"]);
        assert_eq!(run.status, 0, "{name}: {}{}", run.out, run.err);
        let (status, found) = folder.check(&[name, "--gap", "2mm"]);
        assert_eq!(status, 0, "{name}: {found}");
    }
}

#[test]
fn pairs_that_are_nearer_at_rest_are_exempt_unless_strict() {
    // A strip with edges of 1 mm.
    let corners: Vec<[f64; 3]> = (0..40).flat_map(|x| [0.0, 1e-3].map(|z| [1e-3 * f64::from(x), 0.0, z])).collect();
    let triangles: Vec<[usize; 3]> =
        (0..39).map(|at| 2 * at).flat_map(|at| [[at, at + 2, at + 1], [at + 1, at + 2, at + 3]]).collect();
    let folder = Folder::new().with("strip.obj", &obj(&corners, &triangles));
    let run = folder.run(&["fix", "strip.obj", "-o", "open.obj", "--gap", "2mm", "--json", "report.json"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let found = report(&folder);
    assert!(found["gap"]["exempt"].as_u64().unwrap() > 0);
    let reachable = found["gap"]["reachable"].as_f64().unwrap();
    assert!((reachable - 0.5_f64.sqrt() * 1e-3).abs() < 1e-6, "the height of a triangle, not {reachable}");
    assert!(run.out.contains("exempt: ") && run.out.contains("would exempt none"), "{}", run.out);
    let strict = ["fix", "strip.obj", "-o", "strict.obj", "--gap", "2mm", "--gap-strict"];
    let run = folder.run(&strict);
    assert!(run.status == 1 && run.out.contains("GAP NOT KEPT") && !folder.path("strict.obj").exists(), "{}", run.out);
}

#[test]
fn a_solver_gets_its_gap_its_unit_and_its_kind_of_file_unless_told_otherwise() {
    let folder = two_squares();
    let run = folder.run(&["fix", "cloth.obj", "-o", "ready", "--for", "libuipc", "--json", "report.json"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(folder.path("ready.obj").exists());
    let found = report(&folder);
    assert!(found["gap"]["certified"].as_f64().unwrap() > 0.002);
    assert_eq!((&found["solver"]["name"], &found["solver"]["thickness"]), (&"libuipc".into(), &0.001.into()));
    let thin =
        ["fix", "cloth.obj", "-o", "thin.ply", "--for", "libuipc", "--thickness", "0.5mm", "--output-units", "mm"];
    let run = folder.run(&[&thin[..], &["--json", "report.json"]].concat());
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let gap = report(&folder)["gap"]["asked"].as_f64().unwrap();
    assert!((gap - 0.001001).abs() < 1e-9, "{gap}");
    let (_, found) = folder.check(&["thin.ply"]);
    let width = found["bounds"][1][0].as_f64().unwrap();
    assert!((90.0..110.0).contains(&width), "millimetres, not {width}");
    for solver in ["ppf", "ipctk", "newton", "codim-ipc"] {
        let run = folder.run(&["fix", "cloth.obj", "-o", "ready", "--for", solver]);
        assert_eq!(run.status, 0, "{solver}: {}{}", run.out, run.err);
    }
}

#[test]
fn what_is_no_gap_is_refused_in_one_line_and_nothing_is_written() {
    let folder = two_squares();
    let rows: [(&[&str], &str); 10] = [
        (&["--gap", "1"], "as large as the garment"),
        (&["--gap", "-2mm"], "a length above 0"),
        (&["--gap", "-1"], "a length above 0"),
        (&["--gap", "0"], "a length above 0"),
        (&["--gap", "nan"], "is not metres"),
        (&["--gap", "2 parsec"], "is not metres"),
        (&["--for", "houdini"], "one of libuipc, ppf"),
        (&["--gap-strict"], "give the gap"),
        (&["--thickness", "1mm"], "name the solver"),
        (&["--gap", "2mm", "--output-units", "ell"], "mm, cm, dm or m"),
    ];
    for (flags, words) in rows {
        let run = folder.run(&[&["fix", "cloth.obj", "-o", "open.obj"][..], flags].concat());
        assert_eq!(run.status, 2, "{flags:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(words) && run.err.trim_end().lines().count() == 1, "{flags:?}: {}", run.err);
        assert!(!folder.path("open.obj").exists(), "{flags:?}");
    }
    for (gap, words) in [("1", "as large as"), ("-1", "a length above 0"), ("2furlong", "is not metres")] {
        let run = folder.run(&["check", "cloth.obj", "--gap", gap]);
        assert!(run.status == 2 && run.err.contains(words), "{gap}: {}", run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
    }
}

#[test]
fn cloth_keeps_its_distance_from_a_body_too() {
    let floor =
        obj(&[[-1.0, -1e-4, -1.0], [1.0, -1e-4, -1.0], [-1.0, -1e-4, 1.0], [1.0, -1e-4, 1.0]], &[[0, 2, 1], [1, 2, 3]]);
    let folder = two_squares().with("floor.obj", &floor);
    let run = folder.run(&["fix", "cloth.obj", "-o", "open.obj", "--body", "floor.obj", "--gap", "1mm"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let (status, found) = folder.check(&["open.obj", "--body", "floor.obj", "--gap", "1mm"]);
    assert_eq!(status, 0, "{found}");
}

#[test]
fn a_garment_gets_the_gap_without_more_stretch_than_it_had() {
    let folder = Folder::new();
    let shirt = root().join("samples/tshirt_folded.obj");
    let run = folder.run(&["fix", shirt.to_str().unwrap(), "-o", "open.obj", "--gap", "2mm", "--json", "report.json"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let found = report(&folder);
    assert!(found["stretch"]["p99"].as_f64().unwrap() < 1.1, "{}", found["stretch"]);
}
