//! `unsnarl fix` as a command: exit status, what is written and when, trace, picture, limit of time.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj};
use serde_json::Value;
use std::time::Instant;

/// A folder with a made case.
fn made(case: &str) -> Folder {
    let folder = Folder::new();
    let run = folder.run(&["make", case, "--resolution", "8", "-o", "cloth.obj"]);
    assert_eq!(run.status, 0, "{}", run.err);
    folder
}

/// The lines of an OBJ file that begin with `v `.
fn vertices(folder: &Folder, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path(name)).unwrap();
    text.lines().filter(|line| line.starts_with("v ")).map(str::to_owned).collect()
}

#[test]
fn clean_cloth_is_written_with_the_same_positions() {
    let folder =
        Folder::new().with("cloth.obj", &obj(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.3, 1.0, 1.0 / 3.0]], &[[0, 1, 2]]));
    let run = folder.run(&["fix", "cloth.obj", "-o", "fixed.obj", "--json", "report.json"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(vertices(&folder, "fixed.obj"), vertices(&folder, "cloth.obj"));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(folder.path("report.json")).unwrap()).unwrap();
    assert_eq!((&report["clean"], &report["moved_vertices"], &report["steps"]), (&true.into(), &0.into(), &0.into()));
}

#[test]
fn only_cloth_counts_among_the_vertices_that_may_have_moved() {
    let tip = obj(
        &[[0.2, 0.2, -0.5], [0.4, 0.2, -0.5], [0.3, 0.4, -0.5], [0.3, 0.3, 0.1]],
        &[[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
    );
    let cloth = obj(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
    let folder = Folder::new().with("cloth.obj", &cloth).with("body.obj", &tip);
    let run = folder.run(&["fix", "cloth.obj", "-o", "fixed.obj", "--body", "body.obj"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("moved 3 of 3 vertices"), "{}", run.out);
}

#[test]
fn what_is_left_is_named_and_written_only_when_asked_for() {
    let folder = made("bbii");
    let arguments = ["fix", "cloth.obj", "-o", "fixed.obj", "--method", "off"];
    let run = folder.run(&arguments);
    assert_eq!(run.status, 1);
    assert!(run.out.contains("NOT CLEAN") && run.out.contains("left: BBII near"), "{}", run.out);
    assert!(run.out.contains("nothing written") && !folder.path("fixed.obj").exists());
    let run = folder.run(&[&arguments[..], &["--keep-partial"]].concat());
    assert_eq!(run.status, 1);
    assert!(run.out.contains("written: fixed.obj") && folder.path("fixed.obj").exists(), "{}", run.out);
}

#[test]
fn the_limit_of_time_is_kept_and_the_best_state_can_be_had() {
    let folder = made("exploded-whole");
    let start = Instant::now();
    let run = folder.run(&["fix", "cloth.obj", "-o", "fixed.obj", "--max-seconds", "0", "--keep-partial"]);
    assert_eq!(run.status, 1, "{}", run.out);
    assert!(start.elapsed().as_secs() < 20);
    assert_eq!(folder.check(&["fixed.obj"]).0, 1, "not called clean, and not clean");
}

#[test]
fn a_trace_holds_every_step_and_a_picture_both_states() {
    let folder = made("closed");
    let flags = ["--trace", "trace", "--picture", "both.png", "--json", "-"];
    let run = folder.run(&[&["fix", "cloth.obj", "-o", "fixed.obj", "-q"], &flags[..]].concat());
    assert_eq!(run.status, 0, "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let steps = report["steps"].as_u64().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path("trace"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() as u64 > steps, "{names:?}");
    let last = format!("cloth_{:05}.obj", names.len() - 1);
    assert_eq!((names[0].as_str(), names.last()), ("cloth_00000.obj", Some(&last)), "none is missing");
    assert_eq!(folder.check(&["trace/cloth_00000.obj"]).0, 1, "the first is as tangled as the input");
    assert_eq!(folder.check(&[&format!("trace/{}", names.last().unwrap())]).0, 0, "the last is clean");
    let picture = std::fs::read(folder.path("both.png")).unwrap();
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    let width = u32::from_be_bytes(picture[16..20].try_into().unwrap());
    let height = u32::from_be_bytes(picture[20..24].try_into().unwrap());
    assert!(width > height, "before and after stand side by side: {width} by {height}");
}

/// A tube of five corners around and eight rings.
fn tube(place: impl Fn(usize, usize) -> [f64; 3], spare_vertices: usize) -> String {
    let mut places: Vec<[f64; 3]> = (0..40).map(|at| place(at % 5, at / 5)).collect();
    places.resize(40 + spare_vertices, [0.0; 3]);
    let squares = (0..35).flat_map(|at: usize| {
        let next = at / 5 * 5 + (at + 1) % 5;
        [[at, at + 5, next], [next, at + 5, next + 5]]
    });
    obj(&places, &squares.collect::<Vec<_>>())
}

/// Triangles are what a rest mesh and its cloth have in common; vertices that no triangle has may be more or fewer.
#[test]
fn a_crumpled_tube_takes_the_shape_of_its_rest_mesh_whatever_spare_vertices_there_are() {
    let straight = |around: usize, along: usize| {
        let (sine, cosine) = (std::f64::consts::TAU * around as f64 / 5.0).sin_cos();
        [0.1 * cosine, 0.1 * along as f64, 0.1 * sine]
    };
    let crumpled = |around: usize, along: usize| {
        let at = (5 * along + around) as f64;
        [7.0, 11.0, 13.0].map(|turn| 0.05 * (turn * at).sin())
    };
    for [of_cloth, of_rest] in [[0, 0], [2, 0], [0, 2]] {
        let folder =
            Folder::new().with("cloth.obj", &tube(crumpled, of_cloth)).with("rest.obj", &tube(straight, of_rest));
        let run = folder.run(&["fix", "cloth.obj", "-o", "fixed.obj", "--rest", "rest.obj"]);
        assert_eq!(run.status, 0, "{of_cloth} and {of_rest}: {} {}", run.out, run.err);
    }
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let folder = made("closed");
    for (arguments, about) in [
        (&["fix", "missing.obj", "-o", "fixed.obj"][..], "missing.obj"),
        (&["fix", "cloth.obj", "-o", "fixed.what"][..], "fixed.what"),
        (&["fix", "cloth.obj", "-o", "fixed.obj", "--rest", "missing.obj"][..], "missing.obj"),
        (&["fix", "cloth.obj", "-o", "fixed.obj", "--layers", "0,1"][..], "--layers"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.err);
        assert!(run.err.lines().count() == 1 && run.err.contains(about), "{arguments:?}: {}", run.err);
    }
}
