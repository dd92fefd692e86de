//! Triangle pairs against an oracle in rational arithmetic that shares no code or idea with the library: it clips one
//! triangle by the other and looks at the polygon that is left.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::prelude::*;
use unsnarl_geometry::intersection::{Relation, crossings_of_pair, relation};
use unsnarl_geometry::{DVec3, VertexId};

type Point = [BigRational; 3];

fn exact(point: DVec3) -> Point {
    [point.x, point.y, point.z].map(|x| BigRational::from_float(x).expect("finite"))
}

fn sub(a: &Point, b: &Point) -> Point {
    [&a[0] - &b[0], &a[1] - &b[1], &a[2] - &b[2]]
}

fn dot(a: &Point, b: &Point) -> BigRational {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

fn cross(a: &Point, b: &Point) -> Point {
    [&a[1] * &b[2] - &a[2] * &b[1], &a[2] * &b[0] - &a[0] * &b[2], &a[0] * &b[1] - &a[1] * &b[0]]
}

/// The part of a convex polygon (possibly a segment or a point) where `normal . (x - origin) >= 0`.
fn clip(polygon: &[Point], normal: &Point, origin: &Point) -> Vec<Point> {
    let height: Vec<BigRational> = polygon.iter().map(|point| dot(normal, &sub(point, origin))).collect();
    let mut out: Vec<Point> = Vec::new();
    for at in 0..polygon.len() {
        let next = (at + 1) % polygon.len();
        if !height[at].is_negative() {
            out.push(polygon[at].clone());
        }
        if (height[at].is_positive() && height[next].is_negative())
            || (height[at].is_negative() && height[next].is_positive())
        {
            let t = &height[at] / (&height[at] - &height[next]);
            out.push([0, 1, 2].map(|k| &polygon[at][k] + &t * (&polygon[next][k] - &polygon[at][k])));
        }
    }
    out.dedup();
    out
}

/// The corners of the common part of two triangles that both have an area.
fn common_part(a: &[Point; 3], b: &[Point; 3]) -> Vec<Point> {
    let normal = cross(&sub(&b[1], &b[0]), &sub(&b[2], &b[0]));
    let minus = [-&normal[0], -&normal[1], -&normal[2]];
    let mut polygon = clip(&clip(a.as_slice(), &normal, &b[0]), &minus, &b[0]);
    for side in 0..3 {
        let inward = cross(&normal, &sub(&b[(side + 1) % 3], &b[side]));
        polygon = clip(&polygon, &inward, &b[side]);
    }
    polygon
}

fn has_area(t: &[Point; 3]) -> bool {
    cross(&sub(&t[1], &t[0]), &sub(&t[2], &t[0])).iter().any(|x| !x.is_zero())
}

fn strictly_straddles(a: &[Point; 3], b: &[Point; 3]) -> bool {
    let normal = cross(&sub(&b[1], &b[0]), &sub(&b[2], &b[0]));
    let heights: Vec<BigRational> = a.iter().map(|point| dot(&normal, &sub(point, &b[0]))).collect();
    heights.iter().any(|h| h.is_positive()) && heights.iter().any(|h| h.is_negative())
}

/// On the closed segment between two points?
fn on_segment(x: &Point, p: &Point, q: &Point) -> bool {
    cross(&sub(q, p), &sub(x, p)).iter().all(|c| c.is_zero()) && !dot(&sub(x, p), &sub(x, q)).is_positive()
}

fn oracle(ids: ([u32; 3], [u32; 3]), a: &[Point; 3], b: &[Point; 3]) -> Relation {
    let shared: Vec<usize> = (0..3).filter(|&at| ids.1.contains(&ids.0[at])).collect();
    let part = common_part(a, b);
    let beyond = part.iter().any(|x| match shared[..] {
        [] => true,
        [v] => *x != a[v],
        [u, v] => !on_segment(x, &a[u], &a[v]),
        _ => true,
    });
    if !beyond {
        return Relation::Apart;
    }
    let positive_length = part.iter().any(|x| *x != part[0]);
    if shared.len() < 2 && positive_length && strictly_straddles(a, b) && strictly_straddles(b, a) {
        Relation::Crossing
    } else {
        Relation::Touching
    }
}

fn coordinate() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-2i32..=2).prop_map(f64::from),
        2 => -2.0..2.0,
        1 => (-1.0..1.0).prop_map(|x| x * 1e-12),
        1 => (-1.0..1.0).prop_map(|x| x * 1e9),
    ]
}

fn grid_coordinate() -> impl Strategy<Value = f64> {
    (-2i32..=2).prop_map(f64::from)
}

/// Two triangles that share 0, 1 or 2 vertices, in any corner order.
fn pair(coordinate: impl Strategy<Value = f64>) -> impl Strategy<Value = (Vec<DVec3>, [u32; 3], [u32; 3])> {
    let point = prop::array::uniform3(coordinate).prop_map(DVec3::from);
    (prop::collection::vec(point, 6), 0u32..3, Just([0u32, 1, 2]).prop_shuffle(), Just([0u32, 1, 2]).prop_shuffle())
        .prop_map(|(points, shared, a, turn)| {
            let b: [u32; 3] = [0, 1, 2].map(|at| if at < shared { at } else { at + 3 });
            (points, a, turn.map(|at| b[at as usize]))
        })
}

fn check_pair(points: &[DVec3], a: [u32; 3], b: [u32; 3]) -> Result<(), TestCaseError> {
    let corners = |ids: [u32; 3]| ids.map(|at| exact(points[at as usize]));
    let (exact_a, exact_b) = (corners(a), corners(b));
    prop_assume!(has_area(&exact_a) && has_area(&exact_b));
    let found = relation(a.map(VertexId), b.map(VertexId), points);
    prop_assert_eq!(found, oracle((a, b), &exact_a, &exact_b));
    let (_, count) = crossings_of_pair(a.map(VertexId), b.map(VertexId), points);
    let shared = a.iter().filter(|at| b.contains(at)).count();
    prop_assert!(count == 0 || count + shared == 2, "{} crossings of a pair that shares {} vertices", count, shared);
    if count > 0 {
        prop_assert_ne!(found, Relation::Apart);
    }
    if found == Relation::Crossing {
        prop_assert!(count > 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn relations_agree_on_integer_grids((points, a, b) in pair(grid_coordinate())) {
        check_pair(&points, a, b)?;
    }

    #[test]
    fn relations_agree_on_mixed_magnitudes((points, a, b) in pair(coordinate())) {
        check_pair(&points, a, b)?;
    }
}

#[test]
fn a_triangle_without_area_stands_for_its_segment() {
    let points = [
        DVec3::new(0.0, 0.0, 0.0),
        DVec3::new(4.0, 0.0, 0.0),
        DVec3::new(0.0, 4.0, 0.0),
        DVec3::new(1.0, 1.0, -1.0),
        DVec3::new(1.0, 1.0, 1.0),
        DVec3::new(1.0, 1.0, 3.0),
        DVec3::new(9.0, 9.0, 0.0),
    ];
    let meet = |a: [u32; 3], b: [u32; 3]| relation(a.map(VertexId), b.map(VertexId), &points);
    assert_eq!(meet([0, 1, 2], [3, 4, 5]), Relation::Touching);
    assert_eq!(meet([0, 1, 2], [4, 5, 4]), Relation::Apart);
    assert_eq!(meet([0, 1, 2], [0, 6, 6]), Relation::Touching);
    assert_eq!(meet([0, 1, 2], [0, 4, 5]), Relation::Apart);
}
