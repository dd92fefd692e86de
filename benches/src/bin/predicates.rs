//! The rate of `orient3d` on one core, beside the crates `robust` and `geometry-predicates`.
//!
//! Three kinds of input: random points; the fourth point rounded onto the plane of the others (near-degenerate); and
//! four points of a small integer grid in one plane (degenerate). All signs must agree. Ours is measured as meshes use
//! it, with the bound of the box that holds all points: one triangle against the three corners of another at a time; and
//! call by call, with that bound and without any. Prints a table, then JSON.

use geometry_predicates::orient3d as shewchuk_orient3d;
use robust::Coord3D;
use serde_json::json;
use unsnarl::samples::random::Random;
use unsnarl_benches::timing::measure;
use unsnarl_geometry::predicates::{BoundedOrientation, Sign, orient3d};
use unsnarl_geometry::{Aabb, DVec3};

/// Short rounds, many of them, so that the best are undisturbed by whatever else the
/// machine does.
const COUNT: usize = 1500;
const ROUNDS: usize = 300;

/// A triangle, and three points to place beside it.
type Case = [DVec3; 6];

fn main() {
    let mut random = Random::new(7);
    let inputs = [
        ("random", random_points(&mut random)),
        ("near-degenerate", near_degenerate(&mut random)),
        ("degenerate", degenerate(&mut random)),
    ];
    println!("orient3d, nanoseconds an orientation (best of {ROUNDS} rounds of {COUNT} triangles, one core)");
    println!(
        "{:<16} {:>8} {:>10} {:>10} {:>8} {:>20} {:>10} {:>14}",
        "input", "by three", "by one", "unbounded", "robust", "geometry-predicates", "ours/best", "by one/best"
    );
    let mut rows = Vec::new();
    for (name, points) in &inputs {
        let bounded = BoundedOrientation::within(&Aabb::of_points(points.iter().flatten().copied()));
        let by_three = |[a, b, c, d, e, f]: &Case| bounded.orient3d_of_three([a, b, c], [d, e, f]);
        let by_one = |[a, b, c, d, e, f]: &Case| [d, e, f].map(|point| bounded.orient3d(a, b, c, point));
        let signs = |of: &dyn Fn(&Case) -> [Sign; 3]| points.iter().map(of).collect::<Vec<_>>();
        let expected = signs(&robust_signs);
        for ours in [signs(&by_three), signs(&by_one), signs(&unbounded_signs), signs(&shewchuk_signs)] {
            assert!(ours == expected, "signs disagree on {name} input");
        }
        let ours = nanoseconds(points, by_three);
        let single = nanoseconds(points, by_one);
        let unbounded = nanoseconds(points, unbounded_signs);
        let robust = nanoseconds(points, robust_signs);
        let shewchuk = nanoseconds(points, shewchuk_signs);
        let best = robust.min(shewchuk);
        println!(
            "{name:<16} {ours:>8.2} {single:>10.2} {unbounded:>10.2} {robust:>8.2} {shewchuk:>20.2} {:>10.3} {:>14.3}",
            ours / best,
            single / best
        );
        rows.push(json!({
            "input": name, "unsnarl_by_three": ours, "unsnarl_by_one": single, "unsnarl_unbounded": unbounded,
            "robust": robust, "geometry_predicates": shewchuk, "calls_per_second": 1e9 / ours,
            "ratio_to_faster_peer": ours / best, "ratio_to_faster_peer_by_one": single / best,
        }));
    }
    println!("{}", json!({"schema": "unsnarl.bench.predicates/1", "nanoseconds": rows}));
}

fn nanoseconds(points: &[Case], signs: impl Fn(&Case) -> [Sign; 3]) -> f64 {
    let sum = |case: &Case| signs(case).into_iter().map(|sign| sign as i64).sum::<i64>();
    let timing = measure(ROUNDS, || points.iter().map(sum).sum::<i64>());
    timing.best * 1e9 / (3 * points.len()) as f64
}

fn unbounded_signs([a, b, c, d, e, f]: &Case) -> [Sign; 3] {
    [d, e, f].map(|point| orient3d(*a, *b, *c, *point))
}

fn robust_signs([a, b, c, d, e, f]: &Case) -> [Sign; 3] {
    let coord = |point: &DVec3| Coord3D { x: point.x, y: point.y, z: point.z };
    let [a, b, c] = [a, b, c].map(coord);
    [d, e, f].map(|point| Sign::of(robust::orient3d(a, b, c, coord(point))))
}

fn shewchuk_signs([a, b, c, d, e, f]: &Case) -> [Sign; 3] {
    let [a, b, c] = [a, b, c].map(|point| point.to_array());
    [d, e, f].map(|point| Sign::of(shewchuk_orient3d(a, b, c, point.to_array())))
}

fn point(random: &mut Random) -> DVec3 {
    let mut coordinate = || 2.0 * random.unit() - 1.0;
    DVec3::new(coordinate(), coordinate(), coordinate())
}

fn random_points(random: &mut Random) -> Vec<Case> {
    (0..COUNT).map(|_| [(); 6].map(|()| point(random))).collect()
}

fn near_degenerate(random: &mut Random) -> Vec<Case> {
    (0..COUNT)
        .map(|_| {
            let [a, b, c] = [(); 3].map(|()| point(random));
            let [d, e, f] = [(); 3].map(|()| a + random.unit() * (b - a) + random.unit() * (c - a));
            [a, b, c, d, e, f]
        })
        .collect()
}

/// Points of the plane `x + 2 y + 3 z = 0` with integer coordinates.
fn degenerate(random: &mut Random) -> Vec<Case> {
    (0..COUNT)
        .map(|_| {
            [(); 6].map(|()| {
                let [y, z] = [(); 2].map(|()| (2000.0 * random.unit() - 1000.0).round());
                DVec3::new(-2.0 * y - 3.0 * z, y, z)
            })
        })
        .collect()
}
