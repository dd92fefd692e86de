//! Errors of queries on a sphere and a torus, and how fast they shrink with the spacing; moving bodies.

#![allow(clippy::unwrap_used)]

mod shapes;

use shapes::{Random, sphere};
use std::f64::consts::TAU;
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{Aabb, DVec3};
use unsnarl_volume::level_set::{DeformingBody, DeformingError, MeshSettings, RigidBody};
use unsnarl_volume::{BlockWidth, Field, Frame, LevelSet};

const SPHERE_RADIUS: f64 = 1.0;
const MAJOR: f64 = 1.0;
const MINOR: f64 = 0.5;

/// A shape with its distance, and points on its surface with their normal and principal curvatures.
struct Shape {
    name: &'static str,
    distance: fn(DVec3) -> f64,
    surface: fn(f64, f64) -> (DVec3, DVec3, [f64; 2]),
}

fn shapes() -> [Shape; 2] {
    let torus_distance = |p: DVec3| ((p.x.hypot(p.y) - MAJOR).hypot(p.z)) - MINOR;
    let torus_surface = |u: f64, v: f64| {
        let outward = DVec3::new(u.cos(), u.sin(), 0.0);
        let normal = v.cos() * outward + v.sin() * DVec3::Z;
        let around = v.cos() / (MAJOR + MINOR * v.cos());
        (MAJOR * outward + MINOR * normal, normal, [around, 1.0 / MINOR])
    };
    let sphere_surface = |u: f64, v: f64| {
        let normal = DVec3::new(u.cos() * v.cos(), u.sin() * v.cos(), v.sin());
        (SPHERE_RADIUS * normal, normal, [1.0 / SPHERE_RADIUS; 2])
    };
    [
        Shape { name: "sphere", distance: |p| p.length() - SPHERE_RADIUS, surface: sphere_surface },
        Shape { name: "torus", distance: torus_distance, surface: torus_surface },
    ]
}

/// Largest errors near the surface: trilinear value and normal, spline value, normal and curvature.
fn errors(shape: &Shape, spacing: f64) -> [f64; 5] {
    let frame = Frame { origin: DVec3::new(0.013, 0.027, -0.011), spacing };
    let bounds = Aabb { min: DVec3::splat(-1.6), max: DVec3::splat(1.6) }.inflated(7.0 * spacing);
    let body = LevelSet::from_distance(shape.distance, bounds, frame, BlockWidth::DEFAULT, 5.0 * spacing);
    let spline = body.spline();
    let mut worst = [0.0_f64; 5];
    let mut random = Random(1);
    for _ in 0..4000 {
        let (point, normal, [a, b]) = (shape.surface)(TAU * random.next(), TAU * random.next());
        let away = spacing * (random.next() - 0.5);
        let off = point + away * normal;
        let (value, gradient) = body.value_and_gradient(off);
        let second = spline.second_order(off);
        let curvature = spline.second_order(point).curvature().unwrap();
        let found = [
            (value - away).abs(),
            (gradient.normalize() - normal).length(),
            (second.value - away).abs(),
            (second.gradient.normalize() - normal).length(),
            (curvature.smallest - a.min(b)).abs().max((curvature.largest - a.max(b)).abs()),
        ];
        for (worst, found) in worst.iter_mut().zip(found) {
            *worst = worst.max(found);
        }
    }
    worst
}

#[test]
fn errors_shrink_at_the_orders_the_documentation_claims() {
    let claimed = [2.0, 1.0, 3.0, 2.0, 2.0];
    for shape in &shapes() {
        let (coarse, fine) = (errors(shape, 0.08), errors(shape, 0.04));
        let orders: Vec<f64> = coarse.iter().zip(fine).map(|(c, f)| (c / f).log2()).collect();
        println!("{}: errors {fine:?} at 0.04, orders {orders:.2?}", shape.name);
        for (order, claimed) in orders.iter().zip(claimed) {
            assert!(*order > claimed - 0.35, "{}: {orders:?}", shape.name);
        }
    }
}

#[test]
fn the_mean_curvature_of_a_sphere_converges_with_the_square_of_the_spacing() {
    let error = |spacing: f64| {
        let frame = Frame { origin: DVec3::ZERO, spacing };
        let bounds = Aabb { min: DVec3::splat(-1.0), max: DVec3::splat(1.0) }.inflated(7.0 * spacing);
        let distance = |p: DVec3| p.length() - 1.0;
        let spline = LevelSet::from_distance(distance, bounds, frame, BlockWidth::DEFAULT, 5.0 * spacing).spline();
        let mut random = Random(8);
        let points = (0..2000).map(|_| random.point(DVec3::splat(-1.0), DVec3::splat(1.0)).normalize());
        points.map(|p| (spline.second_order(p).curvature().unwrap().mean() - 1.0).abs()).fold(0.0, f64::max)
    };
    let order = (error(0.08) / error(0.04)).log2();
    assert!(order > 1.7 && error(0.04) < 1e-3, "order {order}, error {}", error(0.04));
}

#[test]
fn a_narrow_band_from_a_mesh_still_gives_a_usable_curvature() {
    let mesh = sphere(DVec3::ZERO, 1.0, 200);
    let body = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(0.04)).unwrap();
    let spline = body.spline();
    let mut random = Random(8);
    for _ in 0..200 {
        let point = random.point(DVec3::splat(-1.0), DVec3::splat(1.0)).normalize();
        let mean = spline.second_order(point).curvature().unwrap().mean();
        assert!((mean - 1.0).abs() < 0.2, "{point}: {mean}");
    }
}

#[test]
fn the_spline_goes_through_the_samples_and_has_the_gradient_it_claims() {
    let shape = &shapes()[1];
    let frame = Frame { origin: DVec3::ZERO, spacing: 0.05 };
    let bounds = Aabb { min: DVec3::splat(-2.0), max: DVec3::splat(2.0) };
    let body = LevelSet::from_distance(shape.distance, bounds, frame, BlockWidth::new(6).unwrap(), 0.25);
    let spline = body.spline();
    let mut random = Random(6);
    let mut checked = 0;
    for _ in 0..2000 {
        let (point, _, _) = (shape.surface)(TAU * random.next(), TAU * random.next());
        let sample = (point / 0.05).round();
        let coordinates = [sample.x as i32, sample.y as i32, sample.z as i32];
        let at = frame.position(coordinates);
        assert!((spline.value(at) - f64::from(body.grid().sample(coordinates))).abs() < 1e-6);
        let step = 1e-5;
        let slope = [DVec3::X, DVec3::Y, DVec3::Z]
            .map(|axis| (spline.value(point + step * axis) - spline.value(point - step * axis)) / (2.0 * step));
        assert!((spline.gradient(point) - DVec3::from_array(slope)).length() < 1e-5);
        checked += 1;
    }
    assert_eq!(checked, 2000);
}

#[test]
fn second_derivatives_of_the_spline_do_not_jump_between_cells_and_blocks() {
    let frame = Frame { origin: DVec3::ZERO, spacing: 0.05 };
    let bounds = Aabb { min: DVec3::splat(-2.0), max: DVec3::splat(2.0) };
    let shape = &shapes()[1];
    let body = LevelSet::from_distance(shape.distance, bounds, frame, BlockWidth::new(6).unwrap(), 0.25);
    let spline = body.spline();
    let mut random = Random(14);
    for number in 0..1500 {
        let (mut point, _, _) = (shape.surface)(TAU * random.next(), TAU * random.next());
        let axis = number % 3;
        // On the face between two cells; every sixth such face is one between blocks.
        point[axis] = 0.05 * (point[axis] / 0.05).round();
        let step = 1e-9 * DVec3::from_array([0, 1, 2].map(|other| f64::from(u8::from(other == axis))));
        let [below, above] = [spline.second_order(point - step), spline.second_order(point + step)];
        let jump = (above.hessian - below.hessian).to_cols_array().iter().fold(0.0_f64, |most, c| most.max(c.abs()));
        // Curvatures are up to 2; third derivatives times the step are below 1e-6.
        assert!(jump < 1e-5, "{point}: {jump}");
    }
}

#[test]
fn closest_points_lie_on_the_surface_straight_below() {
    for shape in shapes() {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.02 };
        let bounds = Aabb { min: DVec3::splat(-1.7), max: DVec3::splat(1.7) };
        let body = LevelSet::from_distance(shape.distance, bounds, frame, BlockWidth::DEFAULT, 0.06);
        let mut random = Random(2);
        for _ in 0..500 {
            let (point, normal, _) = (shape.surface)(TAU * random.next(), TAU * random.next());
            let off = point + 0.04 * (random.next() - 0.5) * normal;
            let foot = body.closest_point(off).unwrap();
            assert!(foot.distance(point) < 2e-3, "{}: {}", shape.name, foot.distance(point));
        }
    }
}

#[test]
fn rays_meet_a_sphere_where_geometry_says() {
    let frame = Frame { origin: DVec3::ZERO, spacing: 0.02 };
    let bounds = Aabb { min: DVec3::splat(-1.2), max: DVec3::splat(1.2) };
    let mut body = LevelSet::from_distance(|p| p.length() - 1.0, bounds, frame, BlockWidth::DEFAULT, 0.06);
    for far in [false, true] {
        if far {
            body.extend_far();
        }
        let mut random = Random(12);
        let mut hits = 0;
        for _ in 0..400 {
            let origin = 2.5 * random.point(DVec3::splat(-1.0), DVec3::splat(1.0)).normalize();
            let target = random.point(DVec3::splat(-1.2), DVec3::splat(1.2));
            let direction = target - origin;
            let (a, b, c) = (direction.length_squared(), origin.dot(direction), origin.length_squared() - 1.0);
            let discriminant = b * b - a * c;
            let hit = body.ray(origin, direction, 10.0);
            if discriminant > 0.05 {
                let along = (-b - discriminant.sqrt()) / a;
                let hit = hit.expect("the ray meets the sphere");
                assert!((hit.along - along).abs() * a.sqrt() < 2e-3, "{} for {along}", hit.along);
                assert!(hit.normal.dot(hit.point.normalize()) > 0.99);
                hits += 1;
            } else if discriminant < -0.05 {
                assert!(hit.is_none());
            }
        }
        assert!(hits > 100);
    }
    assert!(body.ray(DVec3::ZERO, DVec3::ZERO, 1.0).is_none());
    assert!(body.ray(2.0 * DVec3::X, DVec3::X, 100.0).is_none());
}

#[test]
fn points_that_are_no_numbers_get_an_answer() {
    let body = LevelSet::from_mesh(&sphere(DVec3::ZERO, 1.0, 10), &MeshSettings::with_spacing(0.1)).unwrap();
    let spline = body.spline();
    for c in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-320] {
        for point in [DVec3::splat(c), DVec3::new(c, 0.0, 0.0), DVec3::new(0.0, 0.5, c)] {
            let _ = (body.value_and_gradient(point), body.closest_point(point), spline.second_order(point));
            let _ = (body.ray(point, DVec3::X, 5.0), body.ray(DVec3::ZERO, point, 5.0));
        }
    }
}

#[test]
fn a_batch_gives_the_bits_of_single_queries() {
    let body = LevelSet::from_mesh(&sphere(DVec3::ZERO, 1.0, 20), &MeshSettings::with_spacing(0.05)).unwrap();
    let mut random = Random(21);
    let points: Vec<DVec3> = (0..5000).map(|_| random.point(DVec3::splat(-2.0), DVec3::splat(2.0))).collect();
    let batch = body.values_and_gradients(&points);
    for (point, answer) in points.iter().zip(batch) {
        assert_eq!(body.value_and_gradient(*point), answer);
    }
}

#[test]
fn a_rigid_body_moves_its_distance_and_its_velocity() {
    let shape = LevelSet::from_mesh(&sphere(DVec3::X, 0.5, 40), &MeshSettings::with_spacing(0.02)).unwrap();
    let body = RigidBody {
        shape: &shape,
        position: DVec3::new(0.0, 0.0, 3.0),
        orientation: DQuat::from_rotation_z(TAU / 4.0),
        linear_velocity: DVec3::new(0.1, 0.0, 0.0),
        angular_velocity: DVec3::new(0.0, 0.0, 2.0),
    };
    let at = body.at(DVec3::new(0.0, 1.52, 3.0));
    assert!((at.value - 0.02).abs() < 2e-3);
    assert!(at.gradient.normalize().dot(DVec3::Y) > 0.99);
    assert!((at.velocity - DVec3::new(0.1 - 2.0 * 1.52, 0.0, 0.0)).length() < 1e-12);
}

#[test]
fn a_deforming_body_is_between_its_keys_and_carries_its_velocity_off_the_surface() {
    let mesh = sphere(DVec3::ZERO, 1.0, 30);
    let grown = |scale: f64| mesh.positions.iter().map(|p| scale * p + 0.1 * (scale - 1.0) * DVec3::X).collect();
    let keys: Vec<(f64, Vec<DVec3>)> =
        [1.0, 1.05, 1.1].iter().enumerate().map(|(i, &s)| (0.5 * i as f64, grown(s))).collect();
    let body = DeformingBody::from_keys(&mesh.triangles, &keys, &MeshSettings::with_spacing(0.04)).unwrap();
    for (time, radius) in [(0.0, 1.0), (0.25, 1.025), (0.75, 1.075), (5.0, 1.1), (-1.0, 1.0)] {
        let center = DVec3::new(0.1 * (radius - 1.0), 0.0, 0.0);
        for direction in [DVec3::Y, DVec3::new(0.6, 0.0, 0.8), DVec3::new(-0.6, -0.8, 0.0)] {
            for away in [-0.5, -0.03, 0.0, 0.05] {
                let at = body.at(center + (radius + away) * direction, time);
                assert!((at.value - away).abs() < 0.01 + 0.2 * away.abs(), "{time} {away}: {}", at.value);
                let velocity = 0.1 * direction + DVec3::new(0.01, 0.0, 0.0);
                assert!((at.velocity - velocity).length() < 0.02, "{time} {away}: {} for {velocity}", at.velocity);
            }
        }
    }
}

#[test]
fn keys_that_do_not_fit_are_named() {
    let mesh = sphere(DVec3::ZERO, 1.0, 8);
    let settings = MeshSettings::with_spacing(0.1);
    let build = |keys: &[(f64, Vec<DVec3>)]| DeformingBody::from_keys(&mesh.triangles, keys, &settings).unwrap_err();
    let positions = || mesh.positions.clone();
    assert!(matches!(build(&[]), DeformingError::VertexCount { .. }));
    assert_eq!(build(&[(0.0, positions()), (0.0, positions())]), DeformingError::Time { key: 1, time: 0.0 });
    assert!(matches!(
        build(&[(0.0, positions()), (1.0, vec![])]),
        DeformingError::VertexCount { key: 1, found: 0, .. }
    ));
    let mut broken = positions();
    broken[3].x = f64::NAN;
    assert!(matches!(build(&[(0.0, positions()), (1.0, broken)]), DeformingError::Mesh { key: 1, .. }));
}
