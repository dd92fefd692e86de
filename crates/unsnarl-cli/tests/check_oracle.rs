//! Verdicts on small random meshes against a brute force over all pairs in rational arithmetic.
//!
//! The common part of two triangles is convex, so it is what its extreme points say: corners of one in the other, sides
//! of one through the plane of the other, and sides that meet in one plane. The oracle lists them all, without a tree,
//! a filter or a predicate of the library.

#![allow(clippy::unwrap_used)]

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use unsnarl::analysis::{self, Assembly, Workspace};
use unsnarl::samples::random::Random;
use unsnarl_geometry::intersection::Relation;
use unsnarl_geometry::{DVec3, TriMesh};

type Point = [BigRational; 3];
type Triangle<'a> = [&'a Point; 3];

fn minus(a: &Point, b: &Point) -> Point {
    [&a[0] - &b[0], &a[1] - &b[1], &a[2] - &b[2]]
}

fn dot(a: &Point, b: &Point) -> BigRational {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

fn cross(a: &Point, b: &Point) -> Point {
    [&a[1] * &b[2] - &a[2] * &b[1], &a[2] * &b[0] - &a[0] * &b[2], &a[0] * &b[1] - &a[1] * &b[0]]
}

fn normal([a, b, c]: Triangle<'_>) -> Point {
    cross(&minus(b, a), &minus(c, a))
}

fn sides<'a>([a, b, c]: Triangle<'a>) -> [[&'a Point; 2]; 3] {
    [[a, b], [b, c], [c, a]]
}

/// Whether a point of the triangle's plane lies in the closed triangle.
fn in_triangle(point: &Point, triangle: Triangle<'_>) -> bool {
    let normal = normal(triangle);
    sides(triangle).iter().all(|[from, to]| !dot(&normal, &cross(&minus(to, from), &minus(point, from))).is_negative())
}

fn between(from: &Point, to: &Point, along: &BigRational) -> Point {
    [0, 1, 2].map(|axis| &from[axis] + along * (&to[axis] - &from[axis]))
}

/// Extreme points of the common part that lie on sides of `a`.
fn extreme_points(a: Triangle<'_>, b: Triangle<'_>, out: &mut Vec<Point>) {
    let normal = normal(b);
    let height = |point: &Point| dot(&normal, &minus(point, b[0]));
    for corner in a {
        if height(corner).is_zero() && in_triangle(corner, b) {
            out.push(corner.clone());
        }
    }
    for [from, to] in sides(a) {
        let (start, end) = (height(from), height(to));
        if (&start * &end).is_negative() {
            let point = between(from, to, &(&start / (&start - &end)));
            if in_triangle(&point, b) {
                out.push(point);
            }
        } else if start.is_zero() && end.is_zero() {
            for [other_from, other_to] in sides(b) {
                out.extend(meeting_point([from, to], [other_from, other_to], &normal));
            }
        }
    }
}

/// Where two segments of one plane that are not parallel meet.
fn meeting_point([p, q]: [&Point; 2], [r, s]: [&Point; 2], normal: &Point) -> Option<Point> {
    let (ours, theirs) = (minus(q, p), minus(s, r));
    let turn = dot(normal, &cross(&ours, &theirs));
    if turn.is_zero() {
        return None;
    }
    let offset = minus(r, p);
    let along = dot(normal, &cross(&offset, &theirs)) / &turn;
    let along_theirs = dot(normal, &cross(&offset, &ours)) / &turn;
    let within = |x: &BigRational| !x.is_negative() && *x <= BigRational::one();
    (within(&along) && within(&along_theirs)).then(|| between(p, q, &along))
}

fn on_segment(point: &Point, from: &Point, to: &Point) -> bool {
    cross(&minus(to, from), &minus(point, from)).iter().all(Zero::is_zero)
        && !dot(&minus(point, from), &minus(point, to)).is_positive()
}

fn straddles(a: Triangle<'_>, b: Triangle<'_>) -> bool {
    let normal = normal(b);
    let heights = a.map(|corner| dot(&normal, &minus(corner, b[0])));
    heights.iter().any(Signed::is_positive) && heights.iter().any(Signed::is_negative)
}

fn oracle(points: &[Point], a: [u32; 3], b: [u32; 3]) -> Relation {
    let corners = |ids: [u32; 3]| ids.map(|vertex| &points[vertex as usize]);
    let shared: Vec<&Point> = a.iter().filter(|id| b.contains(id)).map(|&id| &points[id as usize]).collect();
    let mut extremes = Vec::new();
    extreme_points(corners(a), corners(b), &mut extremes);
    extreme_points(corners(b), corners(a), &mut extremes);
    let beyond = extremes.iter().any(|point| match shared[..] {
        [] => true,
        [corner] => point != corner,
        [from, to] => !on_segment(point, from, to),
        _ => true,
    });
    let is_segment = extremes.iter().any(|point| *point != extremes[0]);
    match shared.len() {
        _ if !beyond => Relation::Apart,
        0 | 1 if is_segment && straddles(corners(a), corners(b)) && straddles(corners(b), corners(a)) => {
            Relation::Crossing
        }
        _ => Relation::Touching,
    }
}

/// Compares every pair of a mesh whose triangles have area.
fn compare(mesh: &TriMesh, name: &str) -> usize {
    let points: Vec<Point> = mesh
        .positions
        .iter()
        .map(|point| point.to_array().map(|x| BigRational::from_float(x).expect("coordinates are finite")))
        .collect();
    let mut expected = Vec::new();
    for second in 0..mesh.triangles.len() {
        for first in 0..second {
            match oracle(&points, mesh.triangles[first], mesh.triangles[second]) {
                Relation::Apart => {}
                relation => expected.push((first, second, relation)),
            }
        }
    }
    expected.sort_unstable();
    let assembly = Assembly::of_cloth(name, mesh).unwrap();
    let verdict = analysis::verdict(&assembly, &mesh.positions, &mut Workspace::default());
    let found: Vec<(usize, usize, Relation)> =
        verdict.pairs.iter().map(|pair| (pair.first.index(), pair.second.index(), pair.relation)).collect();
    assert_eq!(found, expected, "{name}: {mesh:?}");
    expected.len()
}

fn has_area(mesh: &TriMesh, triangle: [u32; 3]) -> bool {
    let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize]);
    (b - a).cross(c - a) != DVec3::ZERO
}

/// A sheet of `cells` x `cells` squares over which a function moves the vertices.
fn sheet(cells: u32, mut place: impl FnMut(f64, f64) -> DVec3) -> TriMesh {
    let side = cells + 1;
    let positions = (0..side * side).map(|at| place(f64::from(at % side), f64::from(at / side))).collect();
    let squares = (0..cells * cells).map(|at| at / cells * side + at % cells);
    let triangles = squares.flat_map(|a| [[a, a + 1, a + side + 1], [a, a + side + 1, a + side]]).collect();
    TriMesh { positions, triangles }
}

fn drop_flat_triangles(mut mesh: TriMesh) -> TriMesh {
    mesh.triangles = mesh.triangles.iter().copied().filter(|&triangle| has_area(&mesh, triangle)).collect();
    mesh
}

#[test]
fn crumpled_sheets_in_general_position() {
    let mut random = Random::new(1);
    let mut met = 0;
    for round in 0..16 {
        let amount = 1.0 + f64::from(round % 4);
        // Few digits, so that the oracle is quick; still nothing is coplanar but by chance.
        let short = |place: DVec3| (4096.0 * place).round() / 4096.0;
        let mesh = sheet(3, |x, y| short(0.5 * DVec3::new(x, y, 0.0) + amount * random.unit() * random.direction()));
        met += compare(&mesh, "crumpled");
    }
    assert!(met > 50, "only {met} pairs met: the sheets are not crumpled");
}

#[test]
fn sheets_on_a_small_grid_are_full_of_touching() {
    let mut random = Random::new(2);
    let mut met = 0;
    for _ in 0..40 {
        let mesh = sheet(3, |_, _| DVec3::from([(); 3].map(|()| random.between(0.0, 4.0).floor())));
        met += compare(&drop_flat_triangles(mesh), "grid");
    }
    assert!(met > 300, "only {met} pairs met");
}

#[test]
fn flat_and_folded_sheets_touch_where_they_should() {
    for fold in 0..=4 {
        let folded = |x: f64, y: f64| {
            let past = (x - f64::from(fold)).max(0.0);
            DVec3::new(x - 2.0 * past, y, 0.0)
        };
        compare(&sheet(4, folded), "folded flat");
        compare(&sheet(4, |x, y| folded(x, y) + DVec3::Z * 1e-9 * x), "folded, nearly flat");
        compare(&sheet(4, |x, y| 1e-3 * folded(x, y) + DVec3::splat(1e6)), "folded, far away");
    }
}

#[test]
fn nearly_flat_sheets_in_any_direction() {
    let mut random = Random::new(3);
    for _ in 0..6 {
        let (right, up, off) = (random.direction(), random.direction(), random.direction());
        let mesh = sheet(3, |x, y| x * right + y * up + 1e-15 * random.unit() * off);
        compare(&drop_flat_triangles(mesh), "nearly flat");
    }
}
