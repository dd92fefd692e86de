//! The rate of `orient3d` on one core, beside the crates `robust` and `geometry-predicates`.
//!
//! Three kinds of input: random points; the fourth point rounded onto the plane of the others (near-degenerate); and
//! four points of a small integer grid in one plane (degenerate). All signs must agree. Ours is measured as meshes use
//! it, with the bound of the box that holds all points, and without any bound. Prints a table, then JSON.

use geometry_predicates::orient3d as shewchuk_orient3d;
use robust::Coord3D;
use serde_json::json;
use unsnarl::samples::random::Random;
use unsnarl_benches::timing::measure;
use unsnarl_geometry::predicates::{BoundedOrientation, Sign, orient3d};
use unsnarl_geometry::{Aabb, DVec3};

/// Short rounds, many of them, so that the best are undisturbed by whatever else the
/// machine does.
const COUNT: usize = 4000;
const ROUNDS: usize = 300;

type Quadruple = [DVec3; 4];

fn main() {
    let mut random = Random::new(7);
    let inputs = [
        ("random", random_points(&mut random)),
        ("near-degenerate", near_degenerate(&mut random)),
        ("degenerate", degenerate(&mut random)),
    ];
    println!("orient3d, nanoseconds a call (best of {ROUNDS} rounds of {COUNT} calls, one core)");
    println!(
        "{:<16} {:>8} {:>10} {:>8} {:>20} {:>10}",
        "input", "unsnarl", "unbounded", "robust", "geometry-predicates", "ours/best"
    );
    let mut rows = Vec::new();
    for (name, points) in &inputs {
        let bounded = BoundedOrientation::within(&Aabb::of_points(points.iter().flatten().copied()));
        let bounded_sign = |[a, b, c, d]: &Quadruple| bounded.orient3d(a, b, c, d);
        let signs =
            [unbounded_sign, robust_sign, shewchuk_sign].map(|sign| points.iter().map(sign).collect::<Vec<_>>());
        let ours_agree = points.iter().map(bounded_sign).eq(signs[0].iter().copied());
        assert!(ours_agree && signs[0] == signs[1] && signs[0] == signs[2], "signs disagree on {name} input");
        let ours = nanoseconds(points, |points| bounded_sign(points) as i64);
        let unbounded = nanoseconds(points, |points| unbounded_sign(points) as i64);
        let robust = nanoseconds(points, |points| robust_sign(points) as i64);
        let shewchuk = nanoseconds(points, |points| shewchuk_sign(points) as i64);
        let ratio = ours / robust.min(shewchuk);
        println!("{name:<16} {ours:>8.2} {unbounded:>10.2} {robust:>8.2} {shewchuk:>20.2} {ratio:>10.3}");
        rows.push(json!({
            "input": name, "unsnarl": ours, "unsnarl_unbounded": unbounded, "robust": robust, "geometry_predicates": shewchuk,
            "calls_per_second": 1e9 / ours, "ratio_to_faster_peer": ratio,
        }));
    }
    println!("{}", json!({"schema": "unsnarl.bench.predicates/1", "nanoseconds": rows}));
}

fn nanoseconds(points: &[Quadruple], sign: impl Fn(&Quadruple) -> i64) -> f64 {
    let timing = measure(ROUNDS, || points.iter().map(&sign).sum::<i64>());
    timing.best * 1e9 / points.len() as f64
}

fn unbounded_sign([a, b, c, d]: &Quadruple) -> Sign {
    orient3d(*a, *b, *c, *d)
}

fn robust_sign(points: &Quadruple) -> Sign {
    let [a, b, c, d] = points.map(|point| Coord3D { x: point.x, y: point.y, z: point.z });
    Sign::of(robust::orient3d(a, b, c, d))
}

fn shewchuk_sign(points: &Quadruple) -> Sign {
    let [a, b, c, d] = points.map(|point| point.to_array());
    Sign::of(shewchuk_orient3d(a, b, c, d))
}

fn point(random: &mut Random) -> DVec3 {
    let mut coordinate = || 2.0 * random.unit() - 1.0;
    DVec3::new(coordinate(), coordinate(), coordinate())
}

fn random_points(random: &mut Random) -> Vec<Quadruple> {
    (0..COUNT).map(|_| [(); 4].map(|()| point(random))).collect()
}

fn near_degenerate(random: &mut Random) -> Vec<Quadruple> {
    (0..COUNT)
        .map(|_| {
            let [a, b, c] = [(); 3].map(|()| point(random));
            let (s, t) = (random.unit(), random.unit());
            [a, b, c, a + s * (b - a) + t * (c - a)]
        })
        .collect()
}

/// Points of the plane `x + 2 y + 3 z = 0` with integer coordinates.
fn degenerate(random: &mut Random) -> Vec<Quadruple> {
    (0..COUNT)
        .map(|_| {
            [(); 4].map(|()| {
                let [y, z] = [(); 2].map(|()| (2000.0 * random.unit() - 1000.0).round());
                DVec3::new(-2.0 * y - 3.0 * z, y, z)
            })
        })
        .collect()
}
