//! The ray tracer against theory: normals, silhouettes, smoothness, cover.

#![allow(clippy::unwrap_used)]

use unsnarl_geometry::{Aabb, DVec3};
use unsnarl_volume::level_set::trace::{Lookout, TraceSettings, Tracer};
use unsnarl_volume::{BlockWidth, Frame, LevelSet};

/// A body of 64 samples a radius.
fn body(distance: impl Fn(DVec3) -> f64 + Sync, reach: f64) -> LevelSet {
    let spacing = 1.0 / 64.0;
    let frame = Frame { origin: DVec3::ZERO, spacing };
    let bounds = Aabb { min: DVec3::splat(-reach), max: DVec3::splat(reach) };
    let mut body = LevelSet::from_distance(distance, bounds, frame, BlockWidth::DEFAULT, 3.0 * spacing);
    body.extend_far();
    body
}

fn sphere_distance(point: DVec3) -> f64 {
    point.distance(DVec3::new(0.003, -0.002, 0.001)) - 1.0
}

fn torus_distance(point: DVec3) -> f64 {
    let around = point.truncate().length() - 0.7;
    (around * around + point.z * point.z).sqrt() - 0.3
}

fn gradient(distance: impl Fn(DVec3) -> f64, at: DVec3) -> DVec3 {
    let along = |axis: DVec3| distance(at + 1e-6 * axis) - distance(at - 1e-6 * axis);
    DVec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z)).normalize()
}

fn worst_normal(level_set: &LevelSet, distance: impl Fn(DVec3) -> f64 + Copy) -> (f64, usize) {
    let tracer = Tracer::new(level_set);
    let (mut worst, mut count) = (0.0_f64, 0);
    for number in 0..2000 {
        let (u, v) = (f64::from(number % 50) / 50.0 - 0.49, f64::from(number / 50) / 40.0 - 0.49);
        let eye = DVec3::new(0.4, 0.5, 3.0);
        let target = DVec3::new(2.0 * u, 2.0 * v, 0.0);
        let Some(hit) = tracer.hit(eye, (target - eye).normalize()) else { continue };
        count += 1;
        worst = worst.max(hit.normal.distance(gradient(distance, hit.point)));
    }
    (worst, count)
}

#[test]
fn normals_of_a_sphere_and_a_torus_are_those_of_theory() {
    let (sphere, torus) = (body(sphere_distance, 1.2), body(torus_distance, 1.2));
    let found = [worst_normal(&sphere, sphere_distance), worst_normal(&torus, torus_distance)];
    println!("largest error of normals, sphere and torus: {found:?}");
    assert!(found.iter().all(|&(worst, count)| count > 900 && worst < 1e-3), "{found:?}");
}

#[test]
fn the_silhouette_of_a_sphere_is_where_theory_puts_it_and_the_rest_is_clear() {
    let sphere = body(sphere_distance, 1.2);
    let settings = TraceSettings { size: [160, 160], samples: 16, ..TraceSettings::default() };
    let lookout = Lookout {
        eye: DVec3::new(0.003, -0.002, 4.001),
        at: DVec3::new(0.003, -0.002, 0.0),
        up: DVec3::Y,
        field_of_view: 0.6,
    };
    let picture = Tracer::new(&sphere).picture(&lookout, &settings).unwrap();
    // Rays that touch a sphere of radius one from a distance of four have a slope of 1 / sqrt(15).
    let expected = (1.0 / 15.0_f64.sqrt()) / (0.3_f64.tan() / 80.0);
    let covered: f64 = picture.pixels.iter().map(|pixel| f64::from(pixel[3])).sum();
    let radius = (covered / std::f64::consts::PI).sqrt();
    println!("silhouette: radius {radius:.3} pixels, theory {expected:.3}");
    assert!((radius - expected).abs() < 0.25, "{radius} for {expected}");
    for row in 0..160 {
        let width: f64 = (0..160).map(|x| f64::from(picture.pixels[x + 160 * row][3])).sum();
        let above = f64::from(row as u32) + 0.5 - 80.0;
        let chord = 2.0 * (expected * expected - above * above).max(0.0).sqrt();
        if above.abs() < 0.9 * expected {
            assert!((width - chord).abs() < 0.5, "row {row}: {width} for {chord}");
        }
    }
    assert_eq!(picture.pixels[0], [0.0; 4]);
}

#[test]
fn second_derivatives_do_not_jump_at_the_faces_of_cells() {
    let torus = body(torus_distance, 1.2);
    let spline = torus.spline();
    let spacing = 1.0 / 64.0;
    let mut worst = 0.0_f64;
    for number in 0..400 {
        let angle = f64::from(number) * 0.37;
        let mut point = DVec3::new(angle.cos(), angle.sin(), 0.0) * (0.7 + 0.3 * (0.9 * angle).cos());
        point.z = 0.3 * (0.9 * angle).sin();
        point.x = (point.x / spacing).round() * spacing;
        let [below, above] = [-1e-7, 1e-7].map(|by| spline.second_order(point + DVec3::X * by).hessian);
        worst = worst.max((below.x_axis - above.x_axis).abs().max_element());
    }
    println!("largest jump of a second derivative at a face: {worst:.2e} per metre");
    assert!(worst < 0.02, "{worst}");
}

#[test]
fn light_shadow_plane_and_gloss_show_and_pictures_do_not_depend_on_threads() {
    let torus = body(torus_distance, 1.2);
    let lookout = Lookout { eye: DVec3::new(1.5, 1.8, 2.5), at: DVec3::ZERO, up: DVec3::Y, field_of_view: 0.7 };
    let matt = TraceSettings { size: [64, 48], samples: 4, ..TraceSettings::default() };
    let take = |settings: TraceSettings, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Tracer::new(&torus).picture(&lookout, &settings).unwrap())
    };
    let plain = take(matt, 1);
    assert!(plain == take(matt, 3));
    assert!(plain != take(TraceSettings { gloss: 0.05, ..matt }, 1));
    let floor = take(TraceSettings { shadow_plane: Some(-1.05), ..matt }, 1);
    let shaded = floor.pixels.iter().filter(|p| p[3] > 0.3 && p[..3] == [0.0; 3]).count();
    assert!(shaded > 20, "{shaded} pixels of shadow");
    let nowhere = Lookout { at: lookout.eye, ..lookout };
    assert!(Tracer::new(&torus).picture(&nowhere, &matt).is_none());
}
