//! The certified gap of whole meshes against rational arithmetic over all pairs.

use super::*;
use crate::rest_shape::RestShape;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use unsnarl_geometry::EdgeId;

type Vector = [BigRational; 3];

fn exact(point: DVec3) -> Vector {
    point.to_array().map(|x| BigRational::from_float(x).unwrap())
}

fn sub(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| &a[k] - &b[k])
}

fn dot(a: &Vector, b: &Vector) -> BigRational {
    (0..3).map(|k| &a[k] * &b[k]).fold(BigRational::zero(), |sum, x| sum + x)
}

fn to_segment(point: &Vector, a: &Vector, b: &Vector) -> BigRational {
    let (u, r) = (sub(b, a), sub(point, a));
    let length = dot(&u, &u);
    let one = BigRational::from_integer(1.into());
    let share = if length.is_zero() { BigRational::zero() } else { dot(&u, &r) / length };
    let share = share.clamp(BigRational::zero(), one);
    let gap: Vector = std::array::from_fn(|k| &r[k] - &u[k] * &share);
    dot(&gap, &gap)
}

/// The squared distance of two elements: the least over the ends and sides, and the inside where both points lie in it.
fn exact_squared(points: [DVec3; 4], pair: ElementPair) -> BigRational {
    let [a, b, c, d] = points.map(exact);
    let one = BigRational::from_integer(1.into());
    let is_share = |x: &BigRational| !x.is_negative() && *x <= one;
    let (sides, [from, u, v]) = match pair {
        ElementPair::VertexTriangle(..) => (
            vec![to_segment(&a, &b, &c), to_segment(&a, &c, &d), to_segment(&a, &d, &b)],
            [sub(&a, &b), sub(&c, &b), sub(&d, &b)],
        ),
        ElementPair::EdgeEdge(..) => (
            vec![to_segment(&a, &c, &d), to_segment(&b, &c, &d), to_segment(&c, &a, &b), to_segment(&d, &a, &b)],
            [sub(&c, &a), sub(&b, &a), sub(&c, &d)],
        ),
    };
    let least = sides.into_iter().reduce(|a, b| a.min(b)).unwrap();
    let (uu, uv, vv) = (dot(&u, &u), dot(&u, &v), dot(&v, &v));
    let determinant = &uu * &vv - &uv * &uv;
    if determinant.is_zero() {
        return least;
    }
    let s = (&vv * dot(&u, &from) - &uv * dot(&v, &from)) / &determinant;
    let t = (&uu * dot(&v, &from) - &uv * dot(&u, &from)) / &determinant;
    let is_inside = match pair {
        ElementPair::VertexTriangle(..) => is_share(&s) && is_share(&t) && is_share(&(&s + &t)),
        ElementPair::EdgeEdge(..) => is_share(&s) && is_share(&t),
    };
    if !is_inside {
        return least;
    }
    let gap: Vector = std::array::from_fn(|k| &from[k] - &u[k] * &s - &v[k] * &t);
    least.min(dot(&gap, &gap))
}

fn all_pairs(assembly: &Assembly) -> Vec<ElementPair> {
    let topology = assembly.topology();
    let vertices = (0..topology.vertex_count()).map(VertexId::new);
    let with_triangles = vertices.flat_map(|vertex| {
        let triangles = (0..topology.triangle_count()).map(TriangleId::new);
        let others = triangles.filter(move |&triangle| !topology.triangle(triangle).contains(&vertex));
        others.map(move |triangle| ElementPair::VertexTriangle(vertex, triangle))
    });
    let edges = (0..topology.edge_count()).flat_map(|second| (0..second).map(move |first| [first, second]));
    let with_edges = edges
        .map(|edges| edges.map(EdgeId::new))
        .filter(|[first, second]| topology.edge(*first).iter().all(|end| !topology.edge(*second).contains(end)));
    with_triangles.chain(with_edges.map(|[first, second]| ElementPair::EdgeEdge(first, second))).collect()
}

/// A few triangles, some with common corners, at a random size and place, some of them nearly touching.
fn small_mesh(case: usize, random: &mut impl FnMut() -> f64) -> unsnarl_geometry::TriMesh {
    let shift = if case.is_multiple_of(3) { 100.0 * random() } else { 0.0 };
    let point = |random: &mut dyn FnMut() -> f64| DVec3::new(random(), random(), random()) + DVec3::splat(shift);
    let mut positions: Vec<DVec3> = (0..7).map(|_| point(random)).collect();
    let gap = 10.0_f64.powf(-14.0 * random());
    let share = random();
    match case % 4 {
        0 => positions[6] = positions[0].lerp(positions[1], share) + gap * (positions[6] - positions[0]),
        1 => positions[6] = (positions[0] + positions[1] + positions[2]) / 3.0 + gap * DVec3::new(1.0, 0.3, -0.2),
        _ => {}
    }
    if case.is_multiple_of(5) {
        // As files of 32-bit floats hold it.
        positions.iter_mut().for_each(|place| *place = place.as_vec3().as_dvec3());
    }
    unsnarl_geometry::TriMesh { positions, triangles: vec![[0, 1, 2], [2, 3, 4], [4, 5, 6]] }
}

#[test]
fn the_certified_gap_of_ten_thousand_meshes_is_never_above_the_exact_one_and_hardly_below() {
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state ^ (state >> 33)).wrapping_mul(0xff51afd7ed558ccd) >> 11) as f64 / (1_u64 << 53) as f64
    };
    for case in 0..10_000 {
        let mesh = small_mesh(case, &mut random);
        let assembly = Assembly::of_cloth("small", &mesh).unwrap();
        let asked = 10.0_f64.powf(-3.0 * random());
        let findings = examine(&assembly, &mesh.positions, (asked, Exemption::Nobody), &Verdict::default());
        // Something above 0 where elements touch.
        let reach = 1.01 * findings.certified + 1e-200;
        let points = |pair: ElementPair| pair.vertices(assembly.topology()).map(|at| mesh.positions[at.index()]);
        let nearly = |pair: &ElementPair| near_pair(&assembly, &mesh.positions, *pair, reach);
        // Rational arithmetic for those that may be the nearest; that the others are farther is what the bounds
        // prove, and what they are held to where they are not.
        let pairs = all_pairs(&assembly);
        let checked: Vec<ElementPair> = if case.is_multiple_of(50) {
            pairs
        } else {
            pairs.into_iter().filter(|pair| nearly(pair).is_some()).collect()
        };
        let exact = checked.into_iter().map(|pair| exact_squared(points(pair), pair)).reduce(|a, b| a.min(b)).unwrap();
        let certified = BigRational::from_float(findings.certified).unwrap();
        let squared = &certified * &certified;
        assert!(squared <= exact, "case {case}: {} is above the exact gap", findings.certified);
        let share = BigRational::from_float(0.999 * 0.999).unwrap();
        assert!(squared >= exact * share, "case {case}: {} is below 0.999 of it", findings.certified);
    }
}

#[test]
fn pairs_that_hang_together_are_exempt_and_others_are_not() {
    // Two strips over each other, a hundredth apart, with sides of 1.
    let strip = |height: f64| (0..4).flat_map(move |x| [0.0, 1.0].map(|z| DVec3::new(f64::from(x), height, z)));
    let positions: Vec<DVec3> = strip(0.0).chain(strip(0.01)).collect();
    let squares = |first: u32| (0..3).map(move |at| first + 2 * at);
    let triangles: Vec<[u32; 3]> =
        squares(0).chain(squares(8)).flat_map(|at| [[at, at + 2, at + 1], [at + 1, at + 2, at + 3]]).collect();
    let mesh = unsnarl_geometry::TriMesh { positions, triangles };
    let assembly = Assembly::of_cloth("strips", &mesh).unwrap();
    let shape = |corners: &[u32; 3]| RestShape::from_world(corners.map(|at| mesh.positions[at as usize]));
    let shapes: Vec<RestShape> = mesh.triangles.iter().map(shape).collect();
    let rest = RestDistances::new(assembly.topology(), &shapes, 1.0);
    let look = |asked: f64| examine(&assembly, &mesh.positions, (asked, Exemption::AtRest(&rest)), &Verdict::default());
    let kept = look(0.009);
    assert!(kept.is_kept() && kept.exempt == 0 && (kept.certified - 0.01).abs() < 1e-9);
    let narrow = look(0.02);
    assert!(!narrow.is_kept() && narrow.exempt == 0 && narrow.reachable.is_none());
    let wide = look(0.8);
    assert!(wide.exempt > 0 && !wide.is_kept());
    assert!((wide.reachable.unwrap() - 0.5_f64.sqrt()).abs() < 1e-9, "{:?}", wide.reachable);
    let strict = examine(&assembly, &mesh.positions, (0.8, Exemption::Nobody), &Verdict::default());
    assert_eq!(strict.below.len(), wide.below.len() + wide.exempt);
}
