//! Closest points against exact rationals: the smallest of the distances to every corner, side and inside.

use super::*;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

type Vector = [BigRational; 3];

fn exact(point: DVec3) -> Vector {
    point.to_array().map(|x| BigRational::from_float(x).unwrap())
}
fn sub(a: &Vector, b: &Vector) -> Vector {
    std::array::from_fn(|k| &a[k] - &b[k])
}
fn along(a: &Vector, direction: &Vector, t: &BigRational) -> Vector {
    std::array::from_fn(|k| &a[k] + &direction[k] * t)
}
fn dot(a: &Vector, b: &Vector) -> BigRational {
    (0..3).map(|k| &a[k] * &b[k]).fold(BigRational::zero(), |sum, x| sum + x)
}
fn clamp(x: BigRational) -> BigRational {
    if x.is_negative() { BigRational::zero() } else { x.min(BigRational::from_integer(1.into())) }
}

fn to_segment(point: &Vector, a: &Vector, b: &Vector) -> BigRational {
    let u = sub(b, a);
    let length = dot(&u, &u);
    let t = if length.is_zero() { BigRational::zero() } else { clamp(dot(&sub(point, a), &u) / length) };
    let gap = sub(point, &along(a, &u, &t));
    dot(&gap, &gap)
}

fn true_point_triangle(point: DVec3, triangle: [DVec3; 3]) -> f64 {
    exact_point_triangle(point, triangle).to_f64().unwrap().sqrt()
}

fn exact_point_triangle(point: DVec3, triangle: [DVec3; 3]) -> BigRational {
    let (p, [a, b, c]) = (exact(point), triangle.map(exact));
    let mut best = to_segment(&p, &a, &b).min(to_segment(&p, &b, &c)).min(to_segment(&p, &c, &a));
    let (u, v, r) = (sub(&b, &a), sub(&c, &a), sub(&p, &a));
    let (uu, uv, vv) = (dot(&u, &u), dot(&u, &v), dot(&v, &v));
    let determinant = &uu * &vv - &uv * &uv;
    if !determinant.is_zero() {
        let s = (&vv * dot(&u, &r) - &uv * dot(&v, &r)) / &determinant;
        let t = (&uu * dot(&v, &r) - &uv * dot(&u, &r)) / &determinant;
        let one = BigRational::from_integer(1.into());
        if !s.is_negative() && !t.is_negative() && &s + &t <= one {
            let gap = sub(&r, &along(&along(&[(); 3].map(|()| BigRational::zero()), &u, &s), &v, &t));
            best = best.min(dot(&gap, &gap));
        }
    }
    best
}

fn true_edge_edge(first: [DVec3; 2], second: [DVec3; 2]) -> f64 {
    exact_edge_edge(first, second).to_f64().unwrap().sqrt()
}

fn exact_edge_edge(first: [DVec3; 2], second: [DVec3; 2]) -> BigRational {
    let ([a, b], [c, d]) = (first.map(exact), second.map(exact));
    let mut best = to_segment(&a, &c, &d).min(to_segment(&b, &c, &d));
    best = best.min(to_segment(&c, &a, &b)).min(to_segment(&d, &a, &b));
    let (u, v, r) = (sub(&b, &a), sub(&d, &c), sub(&c, &a));
    let (uu, uv, vv) = (dot(&u, &u), dot(&u, &v), dot(&v, &v));
    let determinant = &uu * &vv - &uv * &uv;
    if !determinant.is_zero() {
        let s = (&vv * dot(&u, &r) - &uv * dot(&v, &r)) / &determinant;
        let t = (&uv * dot(&u, &r) - &uu * dot(&v, &r)) / &determinant;
        let one = BigRational::from_integer(1.into());
        if !s.is_negative() && !t.is_negative() && s <= one && t <= one {
            let gap = sub(&along(&c, &v, &t), &along(&a, &u, &s));
            best = best.min(dot(&gap, &gap));
        }
    }
    best
}

/// Four points of one adversarial family: spread, lattice, needles, nearly parallel, coincident.
fn points(family: usize, random: &mut impl FnMut() -> f64) -> [DVec3; 4] {
    let mut point = || DVec3::new(random() - 0.5, random() - 0.5, random() - 0.5);
    let mut four = [point(), point(), point(), point()];
    match family {
        1 => four = four.map(|p| (p * 4.0).round()),
        2 => {
            four[3] = four[1].lerp(four[2], 0.3) + 1e-9 * four[3];
            four[0] += 1e3 * DVec3::X;
        }
        3 => four[3] = four[2] + (four[1] - four[0]) * 1.7 + 1e-10 * four[3],
        4 => four[2] = four[1],
        5 => four = four.map(|p| p * DVec3::new(1e9, 1.0, 1e-12)),
        _ => {}
    }
    four
}

fn random_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (state ^ (state >> 33)).wrapping_mul(0xff51afd7ed558ccd);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[test]
fn point_triangle_matches_the_rational_minimum() {
    let mut random = random_numbers(1);
    for case in 0..6000 {
        let [p, a, b, c] = points(case % 6, &mut random);
        let closest = point_triangle(p, [a, b, c]);
        let scale = [p, a, b, c].iter().map(|x| x.abs().max_element()).fold(0.0, f64::max);
        let (found, truth) = (closest.distance_squared().sqrt(), true_point_triangle(p, [a, b, c]));
        assert!(found - truth < 1e-14 * scale, "case {case}: {found} for {truth}");
        assert!(truth - found < 1e-15 * scale, "case {case}: {found} for {truth}");
        assert!(closest.weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
        assert!((closest.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
}

#[test]
fn edge_edge_matches_the_rational_minimum() {
    let mut random = random_numbers(2);
    for case in 0..6000 {
        let [a, b, c, d] = points(case % 6, &mut random);
        let closest = edge_edge([a, b], [c, d]);
        let scale = [a, b, c, d].iter().map(|x| x.abs().max_element()).fold(0.0, f64::max);
        let (found, truth) = (closest.distance_squared().sqrt(), true_edge_edge([a, b], [c, d]));
        assert!(found - truth < 1e-14 * scale, "case {case}: {found} for {truth}");
        assert!(truth - found < 1e-15 * scale, "case {case}: {found} for {truth}");
        assert!(closest.along.iter().all(|t| (0.0..=1.0).contains(t)));
    }
}

#[test]
fn points_that_coincide_have_no_distance() {
    let p = DVec3::new(0.1, 0.2, 0.3);
    assert_eq!(point_triangle(p, [p; 3]).distance_squared(), 0.0);
    assert_eq!(edge_edge([p; 2], [p; 2]).distance_squared(), 0.0);
    assert_eq!(point_segment(p, p, p), 0.0);
}

/// Four points whose elements nearly touch, from far apart down to roundings of the coordinates.
fn nearly_touching(case: usize, random: &mut impl FnMut() -> f64) -> [DVec3; 4] {
    let mut four = points(case % 6, random);
    let gap = 10.0_f64.powi(-((case / 6 % 19) as i32));
    match case % 4 {
        0 => four[0] = four[1].lerp(four[2], random()) + gap * (four[3] - four[2]),
        1 => four[0] = (four[1] + four[2] + four[3]) / 3.0 + gap * DVec3::new(random(), random(), random()),
        2 => four[2] = four[0].lerp(four[1], random()) - gap * (four[3] - four[2]),
        _ => {}
    }
    four
}

fn assert_proved(found: f64, exact_squared: &BigRational, case: usize) {
    let squared = |x: f64| BigRational::from_float(x).map(|x| &x * &x).unwrap();
    assert!(squared(found) <= *exact_squared, "case {case}: {found} is more than the distance");
    let share = BigRational::from_float(0.9999 * 0.9999).unwrap();
    assert!(squared(found) >= exact_squared * share, "case {case}: {found} is too little");
}

#[test]
fn proved_distances_are_never_above_the_exact_ones_and_hardly_below() {
    let mut random = random_numbers(3);
    for case in 0..12_000 {
        let [a, b, c, d] = nearly_touching(case, &mut random);
        assert_proved(certified::point_triangle_at_least(a, [b, c, d]), &exact_point_triangle(a, [b, c, d]), case);
        assert_proved(certified::edge_edge_at_least([a, b], [c, d]), &exact_edge_edge([a, b], [c, d]), case);
    }
}

#[test]
fn nothing_is_proved_of_numbers_that_are_not_finite_or_elements_that_touch() {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y];
    assert_eq!(certified::point_triangle_at_least(DVec3::NAN, corners), 0.0);
    assert_eq!(certified::point_triangle_at_least(DVec3::splat(f64::INFINITY), corners), 0.0);
    assert_eq!(certified::point_triangle_at_least(DVec3::new(0.25, 0.25, 0.0), corners), 0.0);
    assert_eq!(certified::edge_edge_at_least([DVec3::ZERO, DVec3::X], [DVec3::NEG_Y, DVec3::Y]), 0.0);
    let far = 1e29;
    assert!(certified::point_triangle_at_least(DVec3::splat(far), corners) > 1.7 * far);
    let tiny = 1e-90;
    assert!(certified::point_triangle_at_least(DVec3::new(0.2, 0.2, tiny), corners) > 0.9999 * tiny);
}
