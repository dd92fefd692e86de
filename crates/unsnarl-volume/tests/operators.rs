//! Operators against closed forms: reinitialisation, CSG, offset, flows, sculpting, refinement.

#![allow(clippy::unwrap_used)]

mod shapes;

use shapes::{Random, cuboid, sphere, torus};
use unsnarl_geometry::{Aabb, DVec3};
use unsnarl_volume::grid::BlockState;
use unsnarl_volume::level_set::{Csg, Doubling, Extraction, InnerSheets, MeshSettings, Reinitialization, Stroke, Tool};
use unsnarl_volume::{BlockWidth, Frame, LevelSet};

fn ball(center: DVec3, radius: f64, spacing: f64) -> LevelSet {
    let frame = Frame { origin: DVec3::ZERO, spacing };
    let bounds = Aabb { min: center - DVec3::splat(radius), max: center + DVec3::splat(radius) };
    let distance = |p: DVec3| p.distance(center) - radius;
    let width = BlockWidth::DEFAULT;
    LevelSet::from_distance(distance, bounds.inflated(5.0 * spacing), frame, width, 3.0 * spacing)
}

/// Largest difference from a distance, in samples, over stored samples whose exact distance is below `within` samples.
fn largest_error(level_set: &LevelSet, within: f64, exact: impl Fn(DVec3) -> f64) -> f64 {
    let grid = level_set.grid();
    let spacing = level_set.frame().spacing;
    let mut worst = 0.0_f64;
    for (block, samples) in grid.blocks().iter().zip(grid.samples().chunks(grid.width().volume())) {
        for (place, &value) in samples.iter().enumerate() {
            let local = grid.width().local(place);
            let sample = [0, 1, 2].map(|axis| grid.width().first_sample(block[axis]) + local[axis] as i32);
            let exact = exact(level_set.frame().position(sample));
            if exact.abs() < within * spacing {
                worst = worst.max((f64::from(value) - exact).abs() / spacing);
            }
        }
    }
    worst
}

/// The distance of the surface's mesh vertices from where they should be, in samples.
fn surface_error(level_set: &LevelSet, exact: impl Fn(DVec3) -> f64) -> f64 {
    let mesh = level_set.to_mesh(Extraction::Marching);
    assert!(!mesh.triangles.is_empty());
    mesh.positions.iter().map(|&p| exact(p).abs()).fold(0.0, f64::max) / level_set.frame().spacing
}

#[test]
fn reinitialisation_leaves_a_distance_almost_alone_and_the_higher_order_does_so_better() {
    let exact = |p: DVec3| p.length() - 1.0;
    let errors =
        [Reinitialization::FastSweeping, Reinitialization::FastMarching, Reinitialization::FifthOrder].map(|method| {
            let mut body = ball(DVec3::ZERO, 1.0, 0.04);
            body.reinitialize(method);
            largest_error(&body, 2.5, exact)
        });
    println!("errors of a restored sphere, in samples: {errors:?}");
    assert!(errors[0] < 0.08 && errors[1] < 0.08 && errors[2] < 0.008, "{errors:?}");
}

#[test]
fn a_stretched_function_becomes_a_distance_and_its_surface_stays() {
    let exact = |p: DVec3| p.length() - 1.0;
    for method in [Reinitialization::FastSweeping, Reinitialization::FastMarching, Reinitialization::FifthOrder] {
        let frame = Frame { origin: DVec3::ZERO, spacing: 0.04 };
        let bounds = Aabb { min: DVec3::splat(-1.2), max: DVec3::splat(1.2) };
        let stretched = |p: DVec3| exact(p) * (0.6 + 0.3 * (3.0 * p.x).sin());
        let mut body = LevelSet::from_distance(stretched, bounds, frame, BlockWidth::new(6).unwrap(), 0.12);
        body.reinitialize(method);
        assert!(surface_error(&body, exact) < 0.05, "{method:?}: {}", surface_error(&body, exact));
        assert!(largest_error(&body, 2.5, exact) < 0.35, "{method:?}: {}", largest_error(&body, 2.5, exact));
    }
}

#[test]
fn a_band_can_be_widened_and_narrowed() {
    let exact = |p: DVec3| p.length() - 1.0;
    for method in [Reinitialization::FastSweeping, Reinitialization::FastMarching] {
        let mut body = ball(DVec3::ZERO, 1.0, 0.04);
        body.set_half_width(10.0 * 0.04, method);
        assert!(largest_error(&body, 9.5, exact) < 0.5, "{method:?}: {}", largest_error(&body, 9.5, exact));
        assert!(largest_error(&body, 2.9, exact) < 1e-3, "{method:?}: the exact band was touched");
        let mut random = Random(4);
        for _ in 0..500 {
            let point = random.point(DVec3::splat(-1.3), DVec3::splat(1.3));
            if exact(point).abs() < 0.35 {
                let sample = (point / 0.04).round();
                let (block, _) = body.grid().split([sample.x as i32, sample.y as i32, sample.z as i32]);
                assert!(matches!(body.grid().state(block), BlockState::Stored(_)));
            }
        }
        body.set_half_width(2.0 * 0.04, method);
        assert!(largest_error(&body, 1.9, exact) < 1e-3);
        assert!(!body.contains(DVec3::splat(0.9)) && body.contains(DVec3::ZERO));
    }
}

#[test]
fn sharp_operations_follow_the_smaller_and_the_larger_distance() {
    let [a, b] = [DVec3::ZERO, DVec3::new(0.8, 0.3, 0.1)];
    let first = |p: DVec3| p.distance(a) - 1.0;
    let second = |p: DVec3| p.distance(b) - 0.7;
    for operation in [Csg::Union, Csg::Intersection, Csg::Difference] {
        let expected = |a: f64, b: f64| match operation {
            Csg::Union => a.min(b),
            Csg::Intersection => a.max(b),
            Csg::Difference => a.max(-b),
        };
        for other_spacing in [0.04, 0.033] {
            let mut body = ball(a, 1.0, 0.04);
            body.combine(&ball(b, 0.7, other_spacing), operation, 0.0);
            let mut random = Random(9);
            for _ in 0..4000 {
                let point = random.point(DVec3::splat(-1.3), DVec3::new(1.7, 1.3, 1.3));
                let exact = expected(first(point), second(point));
                if exact.abs() > 0.012 {
                    assert_eq!(body.contains(point), exact < 0.0, "{operation:?} at {point}: {exact}");
                }
            }
            let smallest_of = |p: DVec3| expected(first(p), second(p));
            // A sharp edge is cut by up to half a sample; the surface beside it is not.
            assert!(surface_error(&body, smallest_of) < 0.6, "{operation:?}: {}", surface_error(&body, smallest_of));
            let mesh = body.to_mesh(Extraction::Marching);
            let sum: f64 = mesh.positions.iter().map(|&p| smallest_of(p).abs()).sum();
            assert!(sum / (mesh.positions.len() as f64) < 0.02 * 0.04, "{operation:?}: {sum}");
        }
    }
}

#[test]
fn a_blend_adds_a_fillet_no_wider_than_its_radius() {
    let [a, b] = [DVec3::new(-0.8, 0.0, 0.0), DVec3::new(0.8, 0.0, 0.0)];
    let mut sharp = ball(a, 1.0, 0.04);
    let mut blended = sharp.clone();
    let other = ball(b, 1.0, 0.04);
    sharp.combine(&other, Csg::Union, 0.0);
    blended.combine(&other, Csg::Union, 0.1);
    blended.reinitialize(Reinitialization::FastSweeping);
    let neck = DVec3::new(0.0, 0.605, 0.0);
    assert!(!sharp.contains(neck) && blended.contains(neck));
    let away = |p: DVec3| (p.distance(a) - 1.0).min(p.distance(b) - 1.0);
    let mesh = blended.to_mesh(Extraction::Marching);
    for p in mesh.positions.iter().filter(|p| p.x.abs() > 0.25) {
        assert!(away(*p).abs() < 0.004, "{p}");
    }
}

#[test]
fn an_offset_sphere_has_the_radius_asked_for() {
    for distance in [0.3, -0.3] {
        let mut body = ball(DVec3::splat(0.1), 1.0, 0.04);
        body.offset(distance).unwrap();
        let exact = |p: DVec3| p.distance(DVec3::splat(0.1)) - 1.0 - distance;
        assert!(surface_error(&body, exact) < 0.5, "{}", surface_error(&body, exact));
    }
}

#[test]
fn a_sphere_shrinks_by_mean_curvature_as_the_square_root_says() {
    let mut body = ball(DVec3::ZERO, 1.0, 0.05);
    let time = 0.09;
    body.smooth(time).unwrap();
    let radius = (1.0_f64 - 4.0 * time).sqrt();
    let mesh = body.to_mesh(Extraction::Marching);
    let mean = mesh.positions.iter().map(|p| p.length()).sum::<f64>() / mesh.positions.len() as f64;
    println!("radius {mean:.5} for {radius:.5}");
    assert!((mean - radius).abs() < 1e-3 * radius, "{mean} for {radius}");
}

#[test]
fn smoothing_rounds_the_edges_of_a_box() {
    let mesh = cuboid(DVec3::splat(-0.5), DVec3::splat(0.5));
    let mut body = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(0.03)).unwrap();
    let corner = DVec3::splat(0.47);
    assert!(body.contains(corner));
    body.smooth(0.004).unwrap();
    assert!(!body.contains(corner) && body.contains(DVec3::new(0.47, 0.0, 0.0)));
}

#[test]
fn a_ball_carried_by_a_steady_wind_arrives_where_it_should() {
    let mut body = ball(DVec3::ZERO, 0.5, 0.025);
    let wind = DVec3::new(0.4, -0.2, 0.1);
    body.advect(|_| wind, 1.0).unwrap();
    let exact = |p: DVec3| p.distance(wind) - 0.5;
    assert!(surface_error(&body, exact) < 0.25, "{}", surface_error(&body, exact));
}

#[test]
fn a_ball_carried_by_a_rotation_keeps_its_shape() {
    let center = DVec3::new(0.6, 0.0, 0.0);
    let mut body = ball(center, 0.3, 0.025);
    body.advect(|p| DVec3::Z.cross(p), std::f64::consts::FRAC_PI_2).unwrap();
    let exact = |p: DVec3| p.distance(DVec3::new(0.0, 0.6, 0.0)) - 0.3;
    assert!(surface_error(&body, exact) < 0.3, "{}", surface_error(&body, exact));
}

#[test]
fn raise_and_lower_move_the_surface_by_the_hat_and_leave_the_rest_alone() {
    for (tool, sign) in [(Tool::Raise, 1.0), (Tool::Lower, -1.0)] {
        let before = ball(DVec3::ZERO, 1.0, 0.02);
        let mut after = before.clone();
        let stroke = Stroke::new(tool, DVec3::Z, 0.4, 0.06);
        after.sculpt(&stroke).unwrap();
        let tip = after.ray(2.0 * DVec3::Z, -DVec3::Z, 3.0).unwrap();
        assert!((tip.point.z - 1.0 - sign * 0.06).abs() < 0.008, "{tool:?}: {}", tip.point.z);
        let mut random = Random(2);
        for _ in 0..3000 {
            let point = random.point(DVec3::splat(-1.1), DVec3::splat(1.1));
            if point.distance(stroke.center) > 0.4 + 0.25 {
                assert_eq!(before.value(point), after.value(point));
            }
        }
        let near_stroke: Vec<f64> = (0..4000)
            .map(|_| random.point(DVec3::new(-0.3, -0.3, 0.8), DVec3::new(0.3, 0.3, 1.2)))
            .filter(|&p| after.value(p).abs() < 0.02)
            .map(|p| after.gradient(p).length())
            .collect();
        assert!(near_stroke.len() > 100);
        assert!(near_stroke.iter().all(|slope| (slope - 1.0).abs() < 0.15), "slopes near the stroke");
    }
}

#[test]
fn smooth_flattens_a_bump_and_roughen_sharpens_it() {
    let mut bumpy = ball(DVec3::ZERO, 1.0, 0.02);
    bumpy.sculpt(&Stroke::new(Tool::Raise, DVec3::Z, 0.15, 0.05)).unwrap();
    let height = |body: &LevelSet| body.ray(2.0 * DVec3::Z, -DVec3::Z, 3.0).unwrap().point.z;
    let before = height(&bumpy);
    let with = |tool: Tool, strength: f64| {
        let mut body = bumpy.clone();
        body.sculpt(&Stroke::new(tool, DVec3::Z, 0.3, strength)).unwrap();
        height(&body)
    };
    assert!(with(Tool::Smooth, 0.08) < before - 0.005);
    assert!(with(Tool::Roughen, 0.03) > before);
}

#[test]
fn a_stroke_may_cross_into_blocks_that_were_not_stored() {
    let mut body = ball(DVec3::ZERO, 1.0, 0.02);
    let stroke = Stroke::new(Tool::Raise, DVec3::Z, 0.5, 0.4);
    body.sculpt(&stroke).unwrap();
    assert!(body.contains(DVec3::new(0.0, 0.0, 1.35)) && !body.contains(DVec3::new(0.0, 0.0, 1.5)));
    let mesh = body.to_mesh(Extraction::SurfaceNets);
    assert!(mesh.positions.iter().all(|p| p.length() < 1.45 && p.length() > 0.95));
}

#[test]
fn refinement_keeps_the_surface_and_halves_the_spacing() {
    for doubling in [Doubling::Coarse, Doubling::Blocks, Doubling::Automatic] {
        let body = ball(DVec3::new(0.03, -0.02, 0.01), 1.0, 0.06);
        let fine = body.refined(doubling);
        assert_eq!(fine.frame().spacing, 0.03);
        let exact = |p: DVec3| p.distance(DVec3::new(0.03, -0.02, 0.01)) - 1.0;
        assert!(surface_error(&fine, exact) < 0.1, "{doubling:?}: {}", surface_error(&fine, exact));
        assert!(fine.contains(DVec3::ZERO) && !fine.contains(DVec3::splat(2.0)));
    }
    let body = ball(DVec3::ZERO, 1.0, 0.06);
    let [coarse, blocks, automatic] =
        [Doubling::Coarse, Doubling::Blocks, Doubling::Automatic].map(|d| body.refined(d).memory_bytes());
    assert_eq!(automatic, coarse.min(blocks));
}

#[test]
fn sheets_inside_an_overlap_vanish_when_distances_are_restored() {
    let mut mesh = sphere(DVec3::ZERO, 1.0, 40);
    mesh.append(&sphere(DVec3::new(1.0, 0.0, 0.0), 1.0, 40));
    let settings = MeshSettings { inner_sheets: InnerSheets::Keep, ..MeshSettings::with_spacing(0.04) };
    let mut body = LevelSet::from_mesh(&mesh, &settings).unwrap();
    body.reinitialize(Reinitialization::FastSweeping);
    assert!(body.value(DVec3::new(0.02, 0.0, 0.0)) <= -0.1, "{}", body.value(DVec3::new(0.02, 0.0, 0.0)));
}

#[test]
fn operators_give_the_same_bits_on_any_number_of_threads() {
    let mesh = torus(1.0, 0.4, 40, 20);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut body = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(0.05)).unwrap();
            body.combine(&ball(DVec3::X, 0.6, 0.04), Csg::Union, 0.1);
            body.reinitialize(Reinitialization::FifthOrder);
            body.smooth(0.001).unwrap();
            body.sculpt(&Stroke::new(Tool::Raise, DVec3::X, 0.7, 0.1)).unwrap();
            body.advect(|p| DVec3::Z.cross(p), 0.1).unwrap();
            let bits: Vec<u32> = body.grid().samples().iter().map(|v| v.to_bits()).collect();
            (body.grid().blocks().to_vec(), bits, body.to_mesh(Extraction::SurfaceNets))
        })
    };
    assert!(run(1) == run(3));
}
