//! `unsnarl fix` on what no garment should be: an answer within its time, and never a false certificate.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, obj};
use std::f64::consts::TAU;
use std::time::Instant;

type Mesh = (Vec<[f64; 3]>, Vec<[usize; 3]>);

/// A grid over the unit square, `cells` each way, joined across its sides as asked, mapped into space.
fn grid(cells: usize, join: impl Fn(usize, usize) -> (usize, usize), place: impl Fn(f64, f64) -> [f64; 3]) -> Mesh {
    let mut names = std::collections::BTreeMap::new();
    let mut positions = Vec::new();
    let mut at = |x: usize, y: usize| {
        let (x, y) = join(x, y);
        *names.entry((x, y)).or_insert_with(|| {
            positions.push(place(x as f64 / cells as f64, y as f64 / cells as f64));
            positions.len() - 1
        })
    };
    let mut triangles = Vec::new();
    for y in 0..cells {
        for x in 0..cells {
            let corners = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
            triangles.push([corners[0], corners[1], corners[2]]);
            triangles.push([corners[0], corners[2], corners[3]]);
        }
    }
    (positions, triangles)
}

fn sheet() -> Mesh {
    grid(8, |x, y| (x, y), |u, v| [u, v, 0.05 * (TAU * u).sin()])
}

/// A strip with a half turn, one end sewn to the other.
fn moebius() -> Mesh {
    grid(
        12,
        |x, y| if x == 12 { (0, 12 - y) } else { (x, y) },
        |u, v| {
            let (angle, across) = (TAU * u, 0.4 * (v - 0.5));
            let reach = 1.0 + across * (0.5 * angle).cos();
            [reach * angle.cos(), reach * angle.sin(), across * (0.5 * angle).sin()]
        },
    )
}

/// The figure-eight immersion of the bottle without a disc: it crosses itself and cannot be embedded.
fn klein_without_a_disc() -> Mesh {
    let cells = 16;
    let join = |x: usize, y: usize| {
        let y = y % cells;
        if x == cells { (0, (cells - y) % cells) } else { (x, y) }
    };
    let (positions, mut triangles) = grid(cells, join, |u, v| {
        let (a, b) = (TAU * u, TAU * v);
        let reach = 2.0 + (0.5 * a).cos() * b.sin() - (0.5 * a).sin() * (2.0 * b).sin();
        let height = (0.5 * a).sin() * b.sin() + (0.5 * a).cos() * (2.0 * b).sin();
        [reach * a.cos(), reach * a.sin(), height]
    });
    triangles.drain(0..4);
    (positions, triangles)
}

/// Fixes meshes within some seconds and returns the status; a certificate is checked by `check`.
fn fix(meshes: &[(&str, Mesh)]) -> (i32, String) {
    let mut folder = Folder::new();
    for (name, (positions, triangles)) in meshes {
        folder = folder.with(name, &obj(positions, triangles));
    }
    let names: Vec<&str> = meshes.iter().map(|(name, _)| *name).collect();
    let output = if names.len() == 1 { "fixed.obj" } else { "fixed" };
    let start = Instant::now();
    let run = folder.run(&[&["fix"], names.as_slice(), &["-o", output, "--max-seconds", "20"]].concat());
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 60.0, "{seconds} s, 20 were allowed");
    if run.status == 0 {
        let written: Vec<String> = if names.len() == 1 {
            vec![output.to_owned()]
        } else {
            names.iter().map(|name| format!("{output}/{name}")).collect()
        };
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        assert_eq!(folder.check(&written).0, 0, "a false certificate");
    }
    (run.status, run.out + &run.err)
}

#[test]
fn two_garments_on_the_same_coordinates_have_an_answer() {
    let (status, said) = fix(&[("a.obj", sheet()), ("b.obj", sheet())]);
    assert!(said.contains(if status == 0 { "CLEAN" } else { "NOT CLEAN" }) && status < 2, "{status}: {said}");
}

#[test]
fn a_garment_inside_out_is_clean_as_it_is() {
    let (positions, triangles) = sheet();
    let turned = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
    assert_eq!(fix(&[("inside_out.obj", (positions, turned))]).0, 0);
}

#[test]
fn a_sheet_crumpled_to_a_point_has_an_answer() {
    let (positions, triangles) = sheet();
    let (status, said) = fix(&[("point.obj", (vec![[0.1, 0.2, 0.3]; positions.len()], triangles))]);
    assert!(status > 0, "{said}");
    assert!(said.contains("NOT CLEAN") || said.contains("zero area"), "{said}");
}

#[test]
fn a_moebius_strip_is_cloth_like_any_other() {
    assert_eq!(fix(&[("moebius.obj", moebius())]).0, 0, "it does not cross itself");
}

#[test]
fn a_klein_bottle_without_a_disc_is_never_called_clean_while_it_crosses() {
    let (status, said) = fix(&[("klein.obj", klein_without_a_disc())]);
    assert!(status < 2, "{said}");
}

#[test]
fn non_manifold_seams_have_an_answer() {
    let positions = vec![
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.5, 1.0, 0.0],
        [0.5, -1.0, 0.1],
        [0.5, 0.1, 1.0],
        [0.6, 0.5, -0.5],
        [0.4, 0.6, 0.5],
        [0.6, 0.7, 0.5],
    ];
    let triangles = vec![[0, 1, 2], [1, 0, 3], [0, 1, 4], [5, 6, 7]];
    let (status, said) = fix(&[("three_leaves.obj", (positions, triangles))]);
    assert!(status < 2, "{said}");
}

#[test]
fn triangles_of_zero_area_are_named_or_fixed() {
    let (mut positions, triangles) = sheet();
    positions[10] = positions[11];
    let (status, said) = fix(&[("needle.obj", (positions, triangles))]);
    assert!(!said.is_empty(), "{status}");
}
