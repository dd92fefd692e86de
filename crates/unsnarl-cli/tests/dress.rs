//! `unsnarl dress` as a command: shells against closed form, suits, order, what is written, every exit status, bad
//! input.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj, root};
use serde_json::Value;
use std::f64::consts::{PI, TAU};

/// A ball, closed, fronts outward.
fn ball(radius: f64, rows: usize, columns: usize) -> String {
    let mut positions = vec![[0.0, radius, 0.0]];
    for row in 1..rows {
        let polar = PI * row as f64 / rows as f64;
        for column in 0..columns {
            let turn = TAU * column as f64 / columns as f64;
            let (ring, height) = (radius * polar.sin(), radius * polar.cos());
            positions.push([ring * turn.cos(), height, -ring * turn.sin()]);
        }
    }
    positions.push([0.0, -radius, 0.0]);
    let at = |row: usize, column: usize| match row {
        0 => 0,
        row if row == rows => 1 + (rows - 1) * columns,
        row => 1 + (row - 1) * columns + column % columns,
    };
    let mut triangles = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let [a, b] = [at(row, column), at(row, column + 1)];
            let [c, d] = [at(row + 1, column), at(row + 1, column + 1)];
            if row > 0 {
                triangles.push([a, d, b]);
            }
            if row + 1 < rows {
                triangles.push([a, c, d]);
            }
        }
    }
    obj(&positions, &triangles)
}

fn radii(folder: &Folder, name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(folder.path(name)).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("v "));
    rows.map(|row| row.split_whitespace().map(|x| x.parse::<f64>().unwrap().powi(2)).sum::<f64>().sqrt()).collect()
}

fn report(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

/// Two balls of 1.00 and 0.98 m, the larger one worn inside.
fn balls(more: &str) -> Folder {
    let scene = format!(
        "[[cloth]]\nname = \"a\"\nmesh = \"a.obj\"\nlayer = 1\nthickness = 0.01\n{more}\n\
         [[cloth]]\nname = \"b\"\nmesh = \"b.obj\"\nlayer = 2\nthickness = 0.01\n"
    );
    let (large, small) = (ball(1.0, 24, 48), ball(0.98, 25, 50));
    Folder::new().with("scene.toml", &scene).with("a.obj", &large).with("b.obj", &small)
}

#[test]
fn two_balls_in_the_wrong_order_change_places_and_meet_where_their_weights_say() {
    for (more, share) in [("", 0.5), ("weight = 3.0", 0.75)] {
        let folder = balls(more);
        // Without bounds on strain the closed form holds: fields alone decide.
        let tangential = ["--set", "dress.tangential=edges", "--set", "dress.step=1", "--set", "dress.settle-rounds=0"];
        let run = folder.run(&[&["dress", "scene.toml", "-o", "out", "--json", "j.json"], &tangential[..]].concat());
        assert_eq!(run.status, 0, "{}{}", run.out, run.err);
        let mean = |name: &str| {
            let radii = radii(&folder, name);
            radii.iter().sum::<f64>() / radii.len() as f64
        };
        let (inner, outer) = (mean("out/a.obj"), mean("out/b.obj"));
        // Chords of balls cut off up to 2 mm.
        assert!((outer - inner - 0.01).abs() < 2.2e-3, "{inner} {outer}");
        // The 30 mm that are missing are shared as the other one's weight.
        assert!((1.0 - inner - (1.0 - share) * 0.03).abs() < 2.2e-3, "{more}: {inner}");
    }
}

#[test]
fn balls_that_are_in_order_and_far_enough_apart_come_back_bit_for_bit() {
    let folder = balls("");
    let run = folder.run(&["dress", "scene.toml", "-o", "out", "--swap", "a,b", "--json", "j.json"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    for name in ["a.obj", "b.obj"] {
        let before = std::fs::read_to_string(folder.path(name)).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path("out").join(name)).unwrap(), before);
    }
    let report = report(&folder, "j.json");
    assert_eq!(report["schema"], "unsnarl.dress/1");
    assert_eq!(report["left_before_fix"]["pairs"], 0);
}

#[test]
fn two_suits_on_a_body_come_out_clean_in_either_order_hardly_strained_and_the_same_for_all_threads() {
    let folder = Folder::new();
    let scene = root().join("scenes/dress_two_suits.toml").display().to_string();
    for (order, threads) in
        [("shirt-and-trousers,pullover-and-trousers", "1"), ("pullover-and-trousers,shirt-and-trousers", "2")]
    {
        let out = format!("out{threads}");
        let run =
            folder.run(&["dress", &scene, "-o", &out, "--order", order, "--threads", threads, "--json", "j.json"]);
        assert_eq!(run.status, 0, "{}{}", run.out, run.err);
        let report = report(&folder, "j.json");
        assert_eq!(report["clean"], true);
        assert!(report["before"]["intersecting_triangle_pairs"].as_u64().unwrap() > 10_000);
        assert!(report["stretch"]["p99"].as_f64().unwrap() < 1.10, "{}", report["stretch"]);
        let inner = order.split(',').next().unwrap();
        assert!(report["layers"][0]["name"].as_str().unwrap().starts_with(inner));
    }
    let again = folder.run(&["dress", &scene, "-o", "again", "--threads", "2", "-q"]);
    assert_eq!(again.status, 0, "{}", again.err);
    for name in ["shirt-and-trousers.obj", "pullover-and-trousers.obj"] {
        let [a, b] = ["out1", "again"].map(|out| std::fs::read(folder.path(out).join(name)).unwrap());
        assert!(a == b, "{name} depends on the number of threads");
    }
    let (status, check) = folder.check(&["out1/shirt-and-trousers.obj", "out1/pullover-and-trousers.obj"]);
    assert_eq!((status, &check["intersecting_triangle_pairs"]), (0, &0.into()));
    let run = folder.run(&["sim", "out1/scene.toml", "-o", "cache", "--set", "scene.frames=1", "-q"]);
    assert_eq!(run.status, 0, "the scene that is left can be simulated: {}", run.err);
}

#[test]
fn bad_scenes_are_named_in_one_line_and_nothing_is_written() {
    let rows: [(&str, &[&str], &str); 10] = [
        ("[scene]\n", &[], "the scene has no cloth"),
        (
            "[[cloth]]\nmesh = \"a.obj\"\nweight = 0.0\n",
            &[],
            "scene.toml:3: cloth.0.weight: 0; expected a number above 0",
        ),
        (
            "[[cloth]]\nmesh = \"a.obj\"\nthickness = -1.0\n",
            &[],
            "cloth.0.thickness: -1; expected a number of at least 0",
        ),
        ("[[cloth]]\nmesh = \"no.obj\"\n", &[], "no.obj"),
        ("[[cloth]]\nmesh = \"a.obj\"\n[[cloth]]\nname = \"b\"\nmesh = \"a.obj\"\n", &[], "both have layer 0"),
        ("[[cloth]]\nmesh = \"a.obj\"\n", &["--order", "x"], "--order x: no such garment; the scene has a"),
        ("[[cloth]]\nmesh = \"a.obj\"\n", &["--set", "dress.reach=-1"], "dress.reach: -1; expected a number above 0"),
        ("[[cloth]]\nmesh = \"a.obj\"\n[[body]]\nmesh = \"open.obj\"\n", &[], "the body is open"),
        ("[[cloth]]\nmesh = \"turned.obj\"\n[[body]]\nmesh = \"inner.obj\"\n", &[], "flip = true"),
        ("[[cloth]]\nmesh = \"a.obj\"\n[dress]\ncarry-from = 0.0\n", &[], "there is no body to carry garments with"),
    ];
    let turned: String = ball(1.0, 8, 12)
        .lines()
        .map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["f", a, b, c] => format!("f {a} {c} {b}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    for (scene, more, expected) in rows {
        let folder = Folder::new()
            .with("scene.toml", scene)
            .with("a.obj", &ball(1.0, 8, 12))
            .with("inner.obj", &ball(0.98, 8, 12))
            .with("turned.obj", &turned)
            .with("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
        let run = folder.run(&[&["dress", "scene.toml", "-o", "out"], more].concat());
        assert_eq!(run.status, 2, "{scene}: {}{}", run.out, run.err);
        assert!(run.err.contains(expected) && run.err.trim_end().lines().count() == 1, "{scene}: {}", run.err);
        assert!(!folder.path("out").exists(), "{scene}");
    }
}
