//! Signed distance from meshes against brute force, the winding number and closed forms.

#![allow(clippy::unwrap_used)]

mod shapes;

use shapes::{Random, brute_force_distance, cuboid, shared, sphere, torus};
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_volume::grid::BlockState;
use unsnarl_volume::level_set::{Beyond, Extent, InnerSheets, MeshError, MeshSettings, winding_number};
use unsnarl_volume::{BlockWidth, LevelSet};

/// Every `stride`-th stored sample: distance by brute force below the half width, side by the winding number.
fn assert_exact(mesh: &TriMesh, settings: &MeshSettings, stride: usize) {
    let level_set = LevelSet::from_mesh(mesh, settings).unwrap();
    let grid = level_set.grid();
    let volume = grid.width().volume();
    let mut checked = 0;
    for number in (0..grid.samples().len()).step_by(stride) {
        let block = grid.blocks()[number / volume];
        let local = grid.width().local(number % volume);
        let sample = [0, 1, 2].map(|axis| grid.width().first_sample(block[axis]) + local[axis] as i32);
        let point = level_set.frame().position(sample);
        let value = f64::from(grid.samples()[number]);
        let exact = brute_force_distance(mesh, point).min(level_set.half_width());
        assert!((value.abs() - exact).abs() < 1e-3 * settings.spacing, "{sample:?}: {value} for {exact}");
        if exact > 1e-4 * settings.spacing {
            assert_eq!(value < 0.0, winding_number(mesh, point) > 0.5, "side of {sample:?}, {exact} away");
        }
        checked += 1;
    }
    assert!(checked > 500, "only {checked} samples");
}

#[test]
fn distances_and_sides_agree_with_brute_force_for_every_block_width() {
    let mesh = torus(1.0, 0.4, 40, 20);
    for width in [5, 6, 7, 8, 12, 16] {
        let mut settings = MeshSettings::with_spacing(0.06);
        settings.block_width = BlockWidth::new(width).unwrap();
        assert_exact(&mesh, &settings, 37);
    }
}

#[test]
fn triangles_much_larger_and_much_smaller_than_a_sample_are_exact() {
    let flat = cuboid(DVec3::new(-0.31, -0.52, -0.73), DVec3::new(0.37, 0.41, 0.59));
    assert_exact(&flat, &MeshSettings::with_spacing(0.02), 97);
    assert_exact(&sphere(DVec3::splat(0.2), 1.0, 60), &MeshSettings::with_spacing(0.15), 13);
}

#[test]
fn faces_that_lie_on_planes_and_edges_that_lie_on_rows_of_samples_are_exact() {
    assert_exact(&cuboid(DVec3::splat(-1.0), DVec3::splat(1.0)), &MeshSettings::with_spacing(0.125), 11);
}

#[test]
fn an_unbounded_domain_holds_the_same_samples() {
    let mesh = torus(1.0, 0.3, 30, 16);
    let bounded = MeshSettings { beyond: Beyond::Side, ..MeshSettings::with_spacing(0.05) };
    let unbounded = MeshSettings { extent: Extent::Unbounded, ..bounded };
    let [a, b] = [bounded, unbounded].map(|settings| LevelSet::from_mesh(&mesh, &settings).unwrap());
    assert_eq!(a.grid().samples(), b.grid().samples());
    assert_eq!(a.grid().inside_blocks(), b.grid().inside_blocks());
    let mut random = Random(7);
    for _ in 0..2000 {
        let point = random.point(DVec3::splat(-2.0), DVec3::splat(2.0));
        assert_eq!(a.value(point), b.value(point));
    }
}

#[test]
fn bodies_that_overlap_are_inside_where_any_of_them_is() {
    let mut mesh = sphere(DVec3::ZERO, 1.0, 16);
    mesh.append(&sphere(DVec3::new(0.9, 0.1, 0.0), 0.8, 14));
    mesh.append(&cuboid(DVec3::splat(-0.4), DVec3::new(2.0, 0.3, 0.3)));
    let settings = MeshSettings { inner_sheets: InnerSheets::Keep, ..MeshSettings::with_spacing(0.05) };
    assert_exact(&mesh, &settings, 61);
}

#[test]
fn inside_an_overlap_distances_go_past_the_inner_sheets() {
    let [a, b] = [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.0)];
    let mut mesh = sphere(a, 1.0, 60);
    mesh.append(&sphere(b, 1.0, 60));
    let spacing = 0.04;
    let settings = MeshSettings { half_width: 6.0, ..MeshSettings::with_spacing(spacing) };
    let body = LevelSet::from_mesh(&mesh, &settings).unwrap();
    let neck = 0.75_f64.sqrt();
    let exact = |p: DVec3| {
        let [from_a, from_b] = [p.distance(a) - 1.0, p.distance(b) - 1.0];
        let around = DVec3::new(0.5, neck * p.y / p.y.hypot(p.z), neck * p.z / p.y.hypot(p.z));
        // Inside, the nearest point of a sphere counts if it is not within the other; else the edge where they meet.
        let foot_a = p.normalize();
        let foot_b = b + (p - b).normalize();
        let [out_a, out_b] = [foot_a.distance(b) >= 1.0, foot_b.distance(a) >= 1.0];
        let mut nearest = p.distance(around);
        nearest = if out_a { nearest.min(from_a.abs()) } else { nearest };
        nearest = if out_b { nearest.min(from_b.abs()) } else { nearest };
        if from_a.min(from_b) < 0.0 { -nearest } else { nearest }
    };
    let mut random = Random(31);
    for _ in 0..4000 {
        let point = random.point(DVec3::new(-1.1, -1.1, -1.1), DVec3::new(2.1, 1.1, 1.1));
        let exact = exact(point);
        if exact.abs() < 4.0 * spacing {
            assert!((body.value(point) - exact).abs() < spacing, "{point}: {} for {exact}", body.value(point));
        }
    }
    assert!(body.value(DVec3::new(0.02, 0.0, 0.0)) < -5.9 * spacing);
}

#[test]
fn a_mesh_that_faces_inward_has_the_same_inside() {
    let mesh = torus(1.0, 0.4, 24, 12);
    let mut flipped = mesh.clone();
    flipped.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let settings = MeshSettings::with_spacing(0.07);
    let [a, b] = [mesh, flipped].map(|mesh| LevelSet::from_mesh(&mesh, &settings).unwrap());
    let differ = a.grid().samples().iter().zip(b.grid().samples()).filter(|(a, b)| (*a - *b).abs() > 1e-5).count();
    assert_eq!(differ, 0);
}

#[test]
fn a_body_with_holes_is_closed_and_keeps_its_sides_away_from_them() {
    let whole = sphere(DVec3::ZERO, 1.0, 24);
    let mut open = whole.clone();
    open.triangles.retain(|t| !t.iter().all(|&v| whole.positions[v as usize].z > 0.93));
    open.triangles.remove(200);
    assert!(open.triangles.len() < whole.triangles.len());
    let level_set = LevelSet::from_mesh(&open, &MeshSettings::with_spacing(0.04)).unwrap();
    let mut random = Random(3);
    for _ in 0..3000 {
        let point = random.point(DVec3::splat(-1.2), DVec3::splat(1.2));
        let winding = winding_number(&open, point);
        if (point.length() - 1.0).abs() > 0.02 && (winding - winding.round()).abs() < 0.2 {
            assert_eq!(level_set.contains(point), winding > 0.5, "{point}, winding {winding}");
        }
    }
    assert!(level_set.contains(DVec3::ZERO) && !level_set.contains(1.01 * DVec3::Z));
}

#[test]
fn a_far_field_knows_the_way_out_and_about_how_far() {
    let body = LevelSet::from_mesh(&sphere(DVec3::ZERO, 1.0, 40), &MeshSettings::with_spacing(0.02)).unwrap();
    let mut random = Random(11);
    for _ in 0..3000 {
        let point = random.point(DVec3::splat(-2.0), DVec3::splat(2.0));
        let exact = point.length() - 1.0;
        let (value, normal) = (body.value(point), body.normal(point).unwrap());
        assert!((value - exact).abs() < 0.01 + 0.17 * exact.abs(), "{point}: {value} for {exact}");
        if point.length() > 0.3 {
            assert!(normal.dot(point.normalize()) > 0.9, "{point}: {normal}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mesh = torus(1.0, 0.4, 60, 30);
    let settings = MeshSettings::with_spacing(0.03);
    let build = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| LevelSet::from_mesh(&mesh, &settings).unwrap())
    };
    let [one, three] = [build(1), build(3)];
    assert_eq!(one.grid().blocks(), three.grid().blocks());
    assert_eq!(one.grid().inside_blocks(), three.grid().inside_blocks());
    let bits = |set: &LevelSet| set.grid().samples().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one), bits(&three));
}

#[test]
fn stored_blocks_are_those_with_a_sample_in_the_band() {
    let mesh = torus(1.0, 0.4, 40, 20);
    let body = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(0.05)).unwrap();
    let edge = body.half_width() as f32;
    for block in body.grid().samples().chunks(body.grid().width().volume()) {
        assert!(block.iter().any(|value| value.abs() < edge));
    }
    let mut random = Random(5);
    for _ in 0..2000 {
        let point = random.point(DVec3::new(-1.6, -1.6, -0.6), DVec3::new(1.6, 1.6, 0.6));
        let sample = (point / 0.05).round();
        let (block, _) = body.grid().split([sample.x as i32, sample.y as i32, sample.z as i32]);
        if let BlockState::Uniform(_) = body.grid().state(block) {
            assert!(brute_force_distance(&mesh, 0.05 * sample) >= body.half_width() - 1e-6);
        }
    }
}

#[test]
fn posed_characters_that_press_into_themselves_have_the_inside_of_their_winding_number() {
    for name in ["character_cc0/body_sit01.ply", "character_cc0/body_fly01.ply"] {
        let Some(mesh) = shared(name) else { return };
        let body = LevelSet::from_mesh(&mesh, &MeshSettings::with_resolution(&mesh, 128)).unwrap();
        let bounds = mesh.bounds();
        let mut random = Random(1);
        let mut inside = 0;
        for _ in 0..400 {
            let point = random.point(bounds.min, bounds.max);
            if brute_force_distance(&mesh, point) > 2.0 * body.frame().spacing {
                assert_eq!(body.contains(point), winding_number(&mesh, point) > 0.5, "{name}: {point}");
                inside += usize::from(body.contains(point));
            }
        }
        assert!(inside > 0);
    }
}

#[test]
fn unusable_requests_are_named() {
    let mesh = sphere(DVec3::ZERO, 1.0, 8);
    let with = |change: fn(&mut TriMesh)| {
        let mut mesh = mesh.clone();
        change(&mut mesh);
        LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(0.1)).unwrap_err()
    };
    assert_eq!(with(|mesh| mesh.triangles.clear()), MeshError::Empty);
    assert!(matches!(with(|mesh| mesh.triangles[3][1] = 999), MeshError::Vertex { triangle: 3, vertex: 999, .. }));
    assert_eq!(with(|mesh| mesh.positions[5].y = f64::NAN), MeshError::NotFinite { vertex: 5 });
    assert!(matches!(with(|mesh| mesh.positions[5].x = 1e9), MeshError::TooFar { .. }));
    for spacing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(spacing)).unwrap_err();
        assert!(matches!(error, MeshError::Setting { .. }));
    }
    let error = LevelSet::from_mesh(&mesh, &MeshSettings::with_spacing(1e-6)).unwrap_err();
    assert!(matches!(error, MeshError::TooLarge { .. }), "{error}");
}
