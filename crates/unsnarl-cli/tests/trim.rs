//! `unsnarl trim` as a user meets it: results, reports, bad input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj};
use serde_json::Value;

/// A ball of latitude and longitude, facing outward.
fn ball(center: [f64; 3], radius: f64, rings: usize) -> String {
    let around = 2 * rings;
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    let mut push = |polar: f64, angle: f64| {
        let direction = [polar.sin() * angle.cos(), polar.sin() * angle.sin(), -polar.cos()];
        positions.push([0, 1, 2].map(|axis| center[axis] + radius * direction[axis]));
    };
    push(0.0, 0.0);
    for ring in 1..rings {
        for step in 0..around {
            let turn = std::f64::consts::TAU / around as f64;
            push(0.5 * turn * 2.0 * ring as f64, turn * step as f64);
        }
    }
    push(std::f64::consts::PI, 0.0);
    let top = 1 + (rings - 1) * around;
    let at = |ring: usize, step: usize| 1 + (ring - 1) * around + step % around;
    for step in 0..around {
        triangles.push([0, at(1, step + 1), at(1, step)]);
        triangles.push([top, at(rings - 1, step), at(rings - 1, step + 1)]);
        for ring in 1..rings - 1 {
            triangles.push([at(ring, step), at(ring, step + 1), at(ring + 1, step + 1)]);
            triangles.push([at(ring, step), at(ring + 1, step + 1), at(ring + 1, step)]);
        }
    }
    obj(&positions, &triangles)
}

fn balls() -> Folder {
    Folder::new().with("ball.obj", &ball([0.0; 3], 1.0, 24)).with("tool.obj", &ball([0.9, 0.0, 0.0], 0.8, 24))
}

fn report(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments.iter().chain(&["--json", "-"]).copied().collect();
    let run = folder.run(&arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn a_mesh_and_its_level_set_cut_alike_and_threads_do_not_matter() {
    let folder = balls();
    let by_mesh = report(&folder, &["trim", "ball.obj", "--by", "tool.obj", "-o", "a.obj", "--picture", "a.png"]);
    assert_eq!(by_mesh["schema"], "unsnarl.trim/1");
    assert_eq!((&by_mesh["border"]["curves"], &by_mesh["border"]["lagging_nodes"]), (&1.into(), &0.into()));
    assert!(by_mesh["border"]["largest_gap_in_edges"].as_f64().unwrap() < 0.01);
    assert!(by_mesh["angles"][0]["largest"].as_f64().unwrap() <= 130.0, "{by_mesh}");
    assert!(std::fs::read(folder.path("a.png")).unwrap().starts_with(b"\x89PNG"));
    // On the sphere the two balls meet where x = (1 + 0.9^2 - 0.8^2) / 1.8 = 0.65.
    let text = std::fs::read_to_string(folder.path("a.obj")).unwrap();
    let xs = text.lines().filter_map(|line| line.strip_prefix("v ")?.split(' ').next()?.parse::<f64>().ok());
    let least = xs.fold(f64::INFINITY, f64::min);
    assert!((least - 0.65).abs() < 0.01, "{least}");
    folder.run(&["levelset", "from", "tool.obj", "-o", "tool.level", "--resolution", "64"]);
    let by_level = report(&folder, &["trim", "ball.obj", "--by", "tool.level", "-o", "b.obj"]);
    assert_eq!(by_level["triangles"], by_mesh["triangles"]);
    folder.run(&["trim", "ball.obj", "--by", "tool.level", "-o", "c.obj", "--threads", "1"]);
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert_eq!(bytes("b.obj"), bytes("c.obj"));
    let outside = report(&folder, &["trim", "ball.obj", "--by", "tool.obj", "--keep", "outside", "-o", "d.ply"]);
    assert!(outside["triangles"][1].as_u64() > by_mesh["triangles"][1].as_u64());
}

#[test]
fn bad_input_of_trim_is_one_line_and_writes_nothing() {
    let folder = balls().with("far.obj", &ball([9.0, 0.0, 0.0], 0.5, 8)).with("junk.level", "hello");
    let folder = folder.with("empty.obj", "").with("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    let folder = folder.with("nan.obj", "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n");
    for (arguments, expected) in [
        (vec!["ball.obj", "--by", "far.obj"], "ball.obj: no vertex of the mesh lies well inside the level set"),
        (vec!["ball.obj", "--by", "junk.level"], "junk.level: header: not a level set file"),
        (vec!["ball.obj", "--by", "flat.obj", "--keep", "outside"], "flat.obj: has no inside"),
        (vec!["ball.obj", "--by", "empty.obj"], "empty.obj"),
        (vec!["empty.obj", "--by", "tool.obj"], "empty.obj"),
        (vec!["ball.obj", "--by", "nan.obj"], "finite"),
        (vec!["ball.obj", "--by", "tool.obj", "--picture", "nowhere/a.png"], "nowhere/a.png: there is no such folder"),
        (vec!["ball.obj", "--by", "gone.obj"], "gone.obj: cannot read"),
        (vec!["gone.obj", "--by", "tool.obj"], "gone.obj: cannot read"),
        (vec!["ball.obj", "--by", "tool.obj", "--spacing", "-1"], "--spacing"),
        (vec!["ball.obj", "--by", "tool.obj", "--rings", "0"], "--rings takes a number from 1 to 1000"),
    ] {
        let arguments: Vec<&str> = ["trim"].into_iter().chain(arguments).chain(["-o", "out.obj"]).collect();
        let run = folder.run(&arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(expected), "{arguments:?}: {}", run.err);
        assert!(!folder.path("out.obj").exists());
    }
    folder.run(&["levelset", "from", "tool.obj", "-o", "tool.level", "--resolution", "16"]);
    let bytes = std::fs::read(folder.path("tool.level")).unwrap();
    for length in [0, 20, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(folder.path("cut.level"), &bytes[..length]).unwrap();
        let run = folder.run(&["trim", "ball.obj", "--by", "cut.level", "-o", "out.obj"]);
        let is_told = run.err.contains("cut.level") && run.err.trim_end().lines().count() == 1;
        assert!(run.status == 2 && is_told, "{length} bytes: {}", run.err);
    }
    let run = folder.run(&["trim", "ball.obj", "--by", "tool.obj", "-o", "out.msh"]);
    assert!(run.status == 2 && run.err.contains("out.msh: not a kind of mesh file"), "{}", run.err);
}

#[test]
fn a_cut_that_does_not_meet_the_surface_says_so_and_changes_nothing() {
    let folder = balls().with("far.obj", &ball([9.0, 0.0, 0.0], 0.5, 8));
    let run = folder.run(&["trim", "ball.obj", "--by", "far.obj", "--keep", "outside", "-o", "out.obj"]);
    assert!(run.status == 0 && run.out.contains("does not meet the surface"), "{}{}", run.out, run.err);
    let count = |name: &str, start: &str| {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        text.lines().filter(|line| line.starts_with(start)).count()
    };
    assert_eq!([count("out.obj", "v "), count("out.obj", "f ")], [count("ball.obj", "v "), count("ball.obj", "f ")]);
}
