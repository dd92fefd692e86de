//! `unsnarl tet` as a user meets it: meshes, level sets and broken bodies in, every format out, bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, real_data};
use serde_json::Value;

/// A box between two corners.
fn cuboid(low: [f64; 3], high: [f64; 3], first: usize) -> String {
    let mut text = String::new();
    for corner in 0..8 {
        let [x, y, z] = [0, 1, 2].map(|axis| if corner >> axis & 1 == 1 { high[axis] } else { low[axis] });
        text += &format!("v {x} {y} {z}\n");
    }
    for quad in [[1, 3, 4, 2], [5, 6, 8, 7], [1, 2, 6, 5], [3, 7, 8, 4], [1, 5, 7, 3], [2, 4, 8, 6]] {
        let [a, b, c, d] = quad.map(|corner| corner + first);
        text += &format!("f {a} {b} {c} {d}\n");
    }
    text
}

fn bodies() -> Folder {
    let crossing = cuboid([0.0; 3], [1.0; 3], 0) + &cuboid([0.5, 0.25, 0.25], [1.75, 0.75, 0.75], 8);
    let open = cuboid([0.0; 3], [1.0; 3], 0).replace("f 2 4 8 6\n", "f 2 4 8\n");
    let folder = Folder::new().with("box.obj", &cuboid([0.0; 3], [1.0, 1.0, 0.5], 0));
    folder.with("crossing.obj", &crossing).with("open.obj", &open)
}

fn fill(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["tet"].iter().chain(arguments).chain(&["--json", "-"]).copied().collect();
    let run = folder.run(&arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

fn assert_valid(report: &Value) {
    assert_eq!(report["valid"], true, "{report}");
    assert_eq!(report["conditions"]["manifold_boundary"], true);
    assert_eq!(report["conditions"]["tets_with_four_boundary_nodes"], 0);
    assert_eq!(report["conditions"]["inner_edges_between_boundary_nodes"], 0);
}

#[test]
fn a_box_is_filled_measured_and_its_surface_is_clean() {
    let folder = bodies();
    let report = fill(
        &folder,
        &["box.obj", "-o", "box.msh", "--count", "4000", "--surface", "skin.obj", "--picture", "cut.png"],
    );
    assert_valid(&report);
    assert_eq!(report["schema"], "unsnarl.tet/1");
    assert!((report["tets"].as_f64().unwrap() / 4000.0 - 1.0).abs() < 0.15, "{}", report["tets"]);
    assert!((report["volume"].as_f64().unwrap() / 0.5 - 1.0).abs() < 0.05);
    assert_eq!(folder.check(&["skin.obj"]).1["clean"], true);
    assert!(std::fs::read(folder.path("cut.png")).unwrap().starts_with(b"\x89PNG"));
    let measured = fill(&folder, &["measure", "box.msh"]);
    assert_eq!(measured["tets"], report["tets"]);
    assert_eq!(measured["aspect"], report["aspect"]);
}

#[test]
fn crossing_and_open_bodies_and_level_sets_are_filled() {
    let folder = bodies();
    let crossing = fill(&folder, &["crossing.obj", "-o", "c.vtk", "--edge", "0.1"]);
    assert_valid(&crossing);
    assert_eq!(crossing["source"], "mesh, by winding numbers");
    assert!((crossing["volume"].as_f64().unwrap() / 1.1875 - 1.0).abs() < 0.05, "{}", crossing["volume"]);
    assert_valid(&fill(&folder, &["open.obj", "-o", "o.mesh", "--edge", "0.15"]));
    let run = folder.run(&["levelset", "from", "box.obj", "-o", "box.level", "--spacing", "0.03"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let of_level_set = fill(&folder, &["box.level", "-o", "l.node", "--edge", "0.12", "--criterion", "uniform"]);
    assert_valid(&of_level_set);
    assert_eq!(of_level_set["source"], "level set");
    assert!(folder.path("l.ele").exists() && folder.path("l.face").exists());
}

#[test]
fn a_soup_of_triangles_is_filled_and_a_lost_shell_is_told() {
    let mut soup = String::new();
    let corners = |corner: usize| [0, 1, 2].map(|axis| (corner >> axis & 1) as f64);
    for (at, [a, b, c, d]) in
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]].into_iter().enumerate()
    {
        for corner in [a, b, c, d] {
            let [x, y, z] = corners(corner);
            soup += &format!("v {x} {y} {z}\n");
        }
        let [p, q, r, s] = [1, 2, 3, 4].map(|corner| 4 * at + corner);
        soup += &format!("f {p} {q} {r} {s}\n");
    }
    let hollow = cuboid([0.0; 3], [1.0; 3], 0) + &cuboid([0.97; 3], [0.03; 3], 8);
    let folder = Folder::new().with("soup.obj", &soup).with("shell.obj", &hollow);
    let report = fill(&folder, &["soup.obj", "-o", "soup.msh", "--edge", "0.2"]);
    assert_valid(&report);
    assert!((report["volume"].as_f64().unwrap() - 1.0).abs() < 0.1, "{}", report["volume"]);
    assert!(report["finest_edge"].as_f64() == Some(0.2) && report["edge"]["mean"].as_f64().is_some());
    let run = folder.run(&["tet", "shell.obj", "-o", "shell.msh", "--edge", "0.2", "--levels", "0"]);
    let said = run.err.contains("volume") && run.status == 1 || run.err.contains("smaller --edge") && run.status == 2;
    assert!(said, "{} {}", run.status, run.err);
}

/// A cuboid turned about two axes.
fn turned(size: [f64; 3], [yaw, pitch]: [f64; 2]) -> String {
    let mut text = String::new();
    for line in cuboid([0.0; 3], size, 0).lines() {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [x, y, z] if line.starts_with('v') => {
                let (x, y) = (x * yaw.cos() - y * yaw.sin(), x * yaw.sin() + y * yaw.cos());
                let (y, z) = (y * pitch.cos() - z * pitch.sin(), y * pitch.sin() + z * pitch.cos());
                text += &format!("v {x} {y} {z}\n");
            }
            _ => text += &format!("{line}\n"),
        }
    }
    text
}

#[test]
fn plates_too_thin_for_the_count_are_filled_however_they_are_turned_and_the_line_says_why() {
    let thickness = 0.06;
    for turns in [[0.0, 0.0], [0.4, 0.4], [1.1, 0.2], [0.3, 0.9], [2.5, 0.7]] {
        let folder = Folder::new().with("plate.obj", &turned([1.0, 1.0, thickness], turns));
        let run = folder.run(&["tet", "plate.obj", "-o", "plate.msh", "--count", "300", "--json", "report.json"]);
        assert_eq!(run.status, 0, "{turns:?}: {}", run.err);
        let report: Value = serde_json::from_slice(&std::fs::read(folder.path("report.json")).unwrap()).unwrap();
        assert_valid(&report);
        assert!(run.err.contains("too thin for fewer"), "{turns:?}: {}", run.err);
        let share = report["volume"].as_f64().unwrap() / thickness;
        assert!(share > 0.95 && share < 1.01, "{turns:?}: {share} of the volume");
        assert_eq!((report["euler_characteristic"].as_i64(), report["surfaces"].as_i64()), (Some(2), Some(1)));
        assert!(report["filling_edge"].is_null(), "{turns:?}");
        let [finest, coarsest] = ["finest_edge", "coarsest_edge"].map(|name| report[name].as_f64().unwrap());
        assert!(finest < coarsest && finest > 0.5 * thickness, "{turns:?}: {finest} {coarsest}");
    }
}

#[test]
fn a_plate_that_an_edge_does_not_fill_is_told_the_edge_that_does() {
    let thickness = 0.05;
    let folder = Folder::new().with("plate.obj", &turned([1.0, 1.0, thickness], [0.4, 0.4]));
    let run = folder.run(&["tet", "plate.obj", "-o", "plate.msh", "--edge", "0.08", "--json", "report.json"]);
    assert_eq!(run.status, 1, "{}", run.err);
    assert!(run.err.contains("would fill it"), "{}", run.err);
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path("report.json")).unwrap()).unwrap();
    assert_valid(&report);
    // Four fifths of the mean thickness, twice the volume over the area.
    let expected = 0.8 * 2.0 * thickness / (2.0 + 4.0 * thickness);
    assert!((report["filling_edge"].as_f64().unwrap() / expected - 1.0).abs() < 1e-6, "{}", report["filling_edge"]);
}

#[test]
fn elements_are_small_where_size_at_asks_for_it() {
    let folder = bodies();
    let plain = fill(&folder, &["box.obj", "-o", "p.msh", "--edge", "0.05"]);
    let fine = fill(&folder, &["box.obj", "-o", "f.msh", "--edge", "0.05", "--size-at", "0.5,0.5,0.25,0.2,0.05"]);
    assert_valid(&fine);
    let [plain, fine] = [plain, fine].map(|report| report["tets"].as_f64().unwrap());
    // The ball's volume in elements of a^3/12, and a share of those around it.
    let of_ball = 4.0 / 3.0 * std::f64::consts::PI * 0.2_f64.powi(3) / (0.05_f64.powi(3) / 12.0);
    assert!(fine > plain + 0.8 * of_ball && fine < plain + 4.0 * of_ball, "{plain} {fine} {of_ball}");
}

#[test]
fn a_posed_body_that_crosses_itself_is_filled() {
    let Some(path) = real_data("character_cc0/body_sit01.ply") else { return };
    let folder = Folder::new();
    let report = fill(&folder, &[path.to_str().unwrap(), "-o", "body.msh", "--count", "20000"]);
    assert_valid(&report);
}

#[test]
fn places_where_nodes_lag_are_refined_until_none_does() {
    let Some(path) = real_data("cgal_cc0/elephant.off") else { return };
    let folder = Folder::new();
    let report = fill(&folder, &[path.to_str().unwrap(), "-o", "elephant.msh", "--count", "6000"]);
    assert_valid(&report);
    assert!(report["rounds_again"].as_u64().unwrap() > 0 && report["refined_again"].as_u64().unwrap() > 0);
    assert_eq!(report["fit"]["nodes_beyond_one_percent"], 0);
    assert!(report["aspect"]["max"].as_f64().unwrap() <= 4.5);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_after_the_sweep_and_what_is_written_is_valid() {
    let folder = bodies();
    let arguments = ["-v", "tet", "box.obj", "-o", "box.msh", "--count", "20000", "--json", "report.json"];
    let mut child = folder.command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("sweep:")));
    assert!(found.is_some(), "no sweep was told");
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:?}");
    assert!(rest.iter().filter(|line| line.contains("sweep:")).count() <= 2, "{rest:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(folder.path("report.json")).unwrap()).unwrap();
    assert_valid(&report);
    assert_eq!(report["finished"], false);
    assert_eq!(fill(&folder, &["measure", "box.msh"])["tets"], report["tets"]);
}

#[test]
fn files_have_the_same_bytes_on_one_and_two_threads() {
    let folder = bodies();
    for (threads, name) in [("1", "one.msh"), ("2", "two.msh")] {
        fill(&folder, &["crossing.obj", "-o", name, "--edge", "0.12", "--threads", threads]);
    }
    assert!(std::fs::read(folder.path("one.msh")).unwrap() == std::fs::read(folder.path("two.msh")).unwrap());
}

#[test]
fn a_size_at_that_is_no_five_numbers_or_comes_without_an_edge_is_refused() {
    let folder = bodies();
    for size in ["0,0,0,1", "0,0,0,1,nan", "0,0,0,-1,0.1", "0,0,0,1,0.1,7", "here", ""] {
        let run = folder.run(&["tet", "box.obj", "-o", "x.msh", "--edge", "0.1", "--size-at", size]);
        assert!(run.status == 2 && run.err.contains("X,Y,Z,R,E"), "{size}: {}", run.err);
    }
    let run = folder.run(&["tet", "box.obj", "-o", "x.msh", "--size-at", "0,0,0,1,0.1"]);
    assert!(run.status == 2 && run.err.contains("--edge"), "{}", run.err);
    assert!(!folder.path("x.msh").exists());
}

#[test]
fn bad_input_is_one_line_and_leaves_no_file() {
    let folder = bodies()
        .with("point.obj", "v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n")
        .with("nan.obj", "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n");
    let folder = folder.with("empty.obj", "").with("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let rows: &[(&[&str], &str)] = &[
        (&["box.obj", "-o", "x.msh", "--edge", "0"], "--edge"),
        (&["box.obj", "-o", "x.msh", "--edge", "-1"], "--edge"),
        (&["box.obj", "-o", "x.msh", "--count", "0"], "--count"),
        (&["box.obj", "-o", "x.msh", "--levels", "99"], "--levels"),
        (&["box.obj", "-o", "x.msh", "--tolerance", "0"], "--tolerance"),
        (&["box.obj", "-o", "x.stl"], ".msh"),
        (&["box.obj", "-o", "x.msh", "--edge", "0.1", "--size-at", "0,0,0,0.5,0.01"], "smaller --edge"),
        (&["box.obj", "-o", "x.msh", "--edge", "1e-9"], "larger"),
        (&["box.obj", "-o", "x.msh", "--edge", "100", "--levels", "0"], "smaller"),
        (&["nothing.obj", "-o", "x.msh"], "nothing.obj"),
        (&["empty.obj", "-o", "x.msh"], "empty.obj"),
        (&["flat.obj", "-o", "x.msh"], "flat.obj"),
        (&["point.obj", "-o", "x.msh"], "no inside"),
        (&["nan.obj", "-o", "x.msh"], "finite"),
        (&["box.obj", "-o", "nowhere/x.msh"], "nowhere"),
        (&["box.obj", "-o", "x.msh", "--surface", "nowhere/x.obj"], "nowhere"),
        (&["box.obj", "-o", "x.msh", "--count", "4000000000"], "allowed"),
    ];
    for (arguments, word) in rows {
        let run = folder.run(&[&["tet"][..], *arguments].concat());
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.err);
        assert!(run.err.contains(word) && run.err.trim_end().lines().count() == 1, "{arguments:?}: {}", run.err);
        assert!(!folder.path("x.msh").exists());
    }
}
