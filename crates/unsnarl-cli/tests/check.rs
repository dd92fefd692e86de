//! `unsnarl check` as a user meets it: verdicts, exit statuses, reports, pictures, and what it says to bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj};
use serde_json::{Value, json};
use std::process::Stdio;

/// The right triangle with legs of 4 m in the plane z = 0.
const FLOOR: [[f64; 3]; 3] = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];

/// The floor as triangle 0 and another triangle as triangle 1, with vertices of its own.
fn floor_and(other: [[f64; 3]; 3]) -> String {
    obj(&[FLOOR, other].concat(), &[[0, 1, 2], [3, 4, 5]])
}

/// A triangle that stands upright through the floor and cuts it from (0.75, 0.5) to (1.25, 0.5).
const SPIKE: [[f64; 3]; 3] = [[0.5, 0.5, -1.0], [1.5, 0.5, -1.0], [1.0, 0.5, 1.0]];

/// A triangle above the floor, parallel to it, at a height.
fn lid(height: f64) -> [[f64; 3]; 3] {
    [[0.5, 0.5, height], [1.5, 0.5, height], [0.5, 1.5, height]]
}

#[test]
fn a_clean_mesh_gives_status_0_and_says_so() {
    let folder = Folder::new().with("lid.obj", &floor_and(lid(0.25)));
    let run = folder.run(&["check", "lid.obj"]);
    assert_eq!(run.status, 0);
    assert!(run.out.contains("CLEAN"), "{}", run.out);
    assert_eq!(run.err, "");
}

#[test]
fn a_crossing_gives_status_1_and_its_place() {
    let folder = Folder::new().with("spike.obj", &floor_and(SPIKE));
    let run = folder.run(&["check", "spike.obj"]);
    assert_eq!(run.status, 1);
    for expected in ["NOT CLEAN: 1 triangle pairs cross, 0 touch", "1 BBII", "0.5000 m", "spike.obj"] {
        assert!(run.out.contains(expected), "{expected:?} is not in {}", run.out);
    }
}

#[test]
fn the_report_has_the_promised_fields() {
    let folder = Folder::new().with("spike.obj", &floor_and(SPIKE));
    let (status, report) = folder.check(&["spike.obj"]);
    assert_eq!(status, 1);
    assert_eq!(report["schema"], "unsnarl.check/1");
    assert_eq!(report["clean"], false);
    assert_eq!((&report["vertices"], &report["triangles"]), (&json!(6), &json!(2)));
    assert_eq!(report["intersecting_triangle_pairs"], 1);
    assert_eq!(report["touching_triangle_pairs"], 0);
    assert_eq!(
        report["types"],
        json!({"CLOSED": 0, "EIGHT": 0, "CROSS": 0, "LL": 0, "BBII": 1, "BIBI": 0, "BLI": 0, "OTHER": 0})
    );
    let contour = &report["contours"][0];
    assert_eq!(contour["type"], "BBII");
    assert_eq!(contour["length"], 0.5);
    assert_eq!(contour["segments"], 1);
    assert_eq!(contour["sheets"], json!(["spike.obj", "spike.obj"]));
    assert_eq!(contour["loop_vertices"], json!([]));
    assert!(contour["region_vertices"].as_array().is_some_and(|regions| regions.len() == 2));
    let ends = contour["ends"].as_array().unwrap();
    assert!(ends.iter().all(|end| end["at"] == "boundary"), "{ends:?}");
    let mut places: Vec<f64> = ends.iter().map(|end| end["position"][0].as_f64().unwrap()).collect();
    places.sort_by(f64::total_cmp);
    assert_eq!(places, [0.75, 1.25]);
    assert_eq!(report["smallest_gap"], Value::Null);
    assert!(report["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0));
}

#[test]
fn touching_is_not_clean_and_counted_apart() {
    let rows: [(&str, [[f64; 3]; 3]); 7] = [
        ("coplanar, overlapping", lid(0.0)),
        ("the same triangle twice", FLOOR),
        ("coplanar, along an edge", [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, -4.0, 0.0]]),
        ("coplanar, in one corner", [[0.0, 0.0, 0.0], [-4.0, 0.0, 0.0], [0.0, -4.0, 0.0]]),
        ("a vertex on the face", [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]),
        ("an edge on the face", [[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 1.0]]),
        ("edge on edge", [[2.0, -1.0, 0.0], [2.0, 0.0, 0.0], [2.0, -0.5, 1.0]]),
    ];
    for (name, other) in rows {
        let folder = Folder::new().with("two.obj", &floor_and(other));
        let (status, report) = folder.check(&["two.obj"]);
        assert_eq!(status, 1, "{name}");
        let counts = (&report["intersecting_triangle_pairs"], &report["touching_triangle_pairs"]);
        assert_eq!(counts, (&json!(1), &json!(1)), "{name}");
    }
}

#[test]
fn the_smallest_float_above_touching_is_clean() {
    for height in [f64::MIN_POSITIVE.sqrt(), 1e-12, 1e-300_f64.sqrt()] {
        let folder = Folder::new().with("lid.obj", &floor_and(lid(height)));
        let (status, report) = folder.check(&["lid.obj"]);
        assert_eq!((status, &report["clean"]), (0, &json!(true)), "{height:e}");
    }
}

#[test]
fn what_triangles_share_by_connectivity_does_not_count() {
    let sharing_an_edge = obj(&[FLOOR[0], FLOOR[1], FLOOR[2], [4.0, 4.0, 1.0]], &[[0, 1, 2], [2, 1, 3]]);
    let folded_flat = obj(&[FLOOR[0], FLOOR[1], FLOOR[2], [0.0, 3.0, 0.0]], &[[0, 1, 2], [1, 0, 3]]);
    let rows = [("sharing an edge", sharing_an_edge, 0), ("folded flat onto its neighbour", folded_flat, 1)];
    for (name, mesh, pairs) in rows {
        let folder = Folder::new().with("two.obj", &mesh);
        let (status, report) = folder.check(&["two.obj"]);
        assert_eq!((status, &report["intersecting_triangle_pairs"]), (pairs, &json!(pairs)), "{name}");
    }
}

#[test]
fn cloth_against_a_body_counts_and_the_body_against_itself_does_not() {
    let spike = obj(&SPIKE, &[[0, 1, 2]]);
    let self_crossing_body = floor_and([[2.0, 0.5, -1.0], [3.0, 0.5, -1.0], [2.5, 0.5, 1.0]]);
    let folder = Folder::new().with("spike.obj", &spike).with("body.obj", &self_crossing_body);
    assert_eq!(folder.run(&["check", "spike.obj"]).status, 0);
    let (status, report) = folder.check(&["spike.obj", "--body", "body.obj"]);
    assert_eq!(status, 1);
    assert_eq!(report["intersecting_triangle_pairs"], 1);
    assert_eq!(report["parts"], json!([{"names": ["body.obj", "spike.obj"], "pairs": 1}]));
    let (_, both) = folder.check(&["spike.obj", "body.obj"]);
    assert_eq!(both["intersecting_triangle_pairs"], 2);
}

#[test]
fn named_groups_are_named_in_the_report() {
    let mesh = floor_and(SPIKE).replacen("f ", "g sleeve\nf ", 1).replace("f 4", "g bodice\nf 4");
    let folder = Folder::new().with("shirt.obj", &mesh);
    let (_, report) = folder.check(&["shirt.obj"]);
    assert_eq!(report["contours"][0]["sheets"], json!(["sleeve", "bodice"]));
    assert_eq!(report["parts"], json!([{"names": ["bodice", "sleeve"], "pairs": 1}]));
}

#[test]
fn the_gap_is_the_distance_of_parallel_sheets_and_follows_the_unit() {
    let folder = Folder::new().with("lid.obj", &floor_and(lid(0.25)));
    let (_, metres) = folder.check(&["lid.obj", "--gap"]);
    assert_eq!(metres["smallest_gap"], 0.25);
    let (_, decimetres) = folder.check(&["lid.obj", "--gap", "--units", "dm"]);
    let gap = decimetres["smallest_gap"].as_f64().unwrap();
    assert!((gap - 0.025).abs() < 1e-15, "{gap}");
    assert_eq!(decimetres["bounds"][1][0], 0.4);
}

#[test]
fn a_gap_where_something_touches_or_crosses_is_zero() {
    for mesh in [floor_and(lid(0.0)), floor_and(SPIKE)] {
        let folder = Folder::new().with("mesh.obj", &mesh);
        let (_, report) = folder.check(&["mesh.obj", "--gap"]);
        assert_eq!(report["smallest_gap"], 0.0);
    }
}

#[test]
fn a_garment_in_the_wrong_unit_is_warned_about() {
    let folder = Folder::new().with("lid.obj", &floor_and(lid(0.25)));
    let run = folder.run(&["check", "lid.obj", "--units", "mm"]);
    assert_eq!(run.status, 0);
    assert!(run.err.starts_with("warning: lid.obj: ") && run.err.contains("--units"), "{}", run.err);
}

#[test]
fn quiet_prints_nothing_and_still_writes_the_report() {
    let folder = Folder::new().with("spike.obj", &floor_and(SPIKE));
    let run = folder.run(&["check", "spike.obj", "-q", "--units", "mm", "--json", "report.json"]);
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (1, "", ""));
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path("report.json")).unwrap()).unwrap();
    assert_eq!(report["schema"], "unsnarl.check/1");
}

#[test]
fn pictures_are_png_files() {
    let flat = "vt 0 0\nvt 1 0\nvt 0 1\n";
    let with_uv =
        format!("{flat}{}", floor_and(SPIKE)).replace("f 1 2 3", "f 1/1 2/2 3/3").replace("f 4 5 6", "f 4/1 5/2 6/3");
    let folder = Folder::new().with("spike.obj", &with_uv);
    let run = folder.run(&["check", "spike.obj", "--picture", "out.png", "--uv-picture", "uv.png"]);
    assert_eq!(run.status, 1, "{}", run.err);
    for picture in ["out.png", "uv.png"] {
        let bytes = std::fs::read(folder.path(picture)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 1000, "{picture}: {} bytes", bytes.len());
    }
}

#[test]
fn unusable_input_is_named_in_one_line_with_status_2() {
    let mesh = floor_and(SPIKE);
    let folder = Folder::new().with("spike.obj", &mesh).with("empty.obj", "").with("notes.txt", "v 0 0 0\n");
    let folder = folder
        .with("range.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9001\n")
        .with("nan.obj", &mesh.replace("1.5", "nan"));
    std::fs::create_dir(folder.path("folder.obj")).unwrap();
    let rows: [(&[&str], &str); 10] = [
        (&["missing.obj"], "missing.obj"),
        (&["folder.obj"], "folder.obj"),
        (&["notes.txt"], "notes.txt"),
        (&["empty.obj"], "empty.obj"),
        (&["range.obj"], "range.obj:4"),
        (&["nan.obj"], "nan.obj"),
        (&["spike.obj", "--body", "missing.obj"], "missing.obj"),
        (&["spike.obj", "--json", "nowhere/report.json"], "nowhere/report.json"),
        (&["spike.obj", "--picture", "folder.obj"], "folder.obj"),
        (&["spike.obj", "--uv-picture", "uv.png"], "uv"),
    ];
    for (arguments, named) in rows {
        let run = folder.run(&[&["check"], arguments].concat());
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.err);
        assert!(run.err.starts_with("error: ") && run.err.contains(named), "{arguments:?}: {}", run.err);
        assert_eq!(run.err.trim_end().lines().count(), 1, "{arguments:?}: {}", run.err);
    }
    assert!(!folder.path("uv.png").exists());
}

#[test]
fn flags_that_make_no_sense_give_status_2() {
    let folder = Folder::new().with("spike.obj", &floor_and(SPIKE));
    let rows: [&[&str]; 7] = [
        &[],
        &["check"],
        &["check", "spike.obj", "--frobnicate"],
        &["check", "spike.obj", "--units", "inch"],
        &["check", "spike.obj", "--threads", "0"],
        &["check", "spike.obj", "--threads", "many"],
        &["check", "spike.obj", "-q", "-v"],
    ];
    for arguments in rows {
        let run = folder.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}{}", run.out, run.err);
        assert!(!run.err.is_empty() && !run.err.contains("panicked"), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new().with("spike.obj", &floor_and(SPIKE));
    for arguments in [&["check", "spike.obj"] as &[&str], &["check", "spike.obj", "--json", "-"]] {
        let mut child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn help_shows_an_example() {
    let folder = Folder::new();
    for arguments in [&["--help"] as &[&str], &["check", "--help"]] {
        let run = folder.run(arguments);
        assert_eq!(run.status, 0);
        assert!(run.out.contains("Example:\n  unsnarl check "), "{}", run.out);
    }
}
