//! The pipeline as a whole: what starts clean stays clean, by exact intersection tests.

use super::*;
use crate::geometry::Topology;
use crate::geometry::ccd::ElementPair;
use crate::geometry::intersection::{find_intersecting_pairs, triangle_tree};

/// Sheets of `side` by `side` quads, one after the other in one mesh.
struct Sheets {
    mesh: ContactMesh,
    positions: Vec<DVec3>,
    inverse_mass: Vec<f64>,
    thickness: Vec<f64>,
    friction: Vec<f64>,
}

impl Sheets {
    fn new(side: usize, placements: &[&dyn Fn(f64, f64) -> DVec3]) -> Self {
        let mut positions = Vec::new();
        let mut triangles = Vec::new();
        for placement in placements {
            let first = positions.len() as u32;
            for row in 0..=side {
                for column in 0..=side {
                    positions.push(placement(column as f64 / side as f64, row as f64 / side as f64));
                }
            }
            for row in 0..side as u32 {
                for column in 0..side as u32 {
                    let corner = first + row * (side as u32 + 1) + column;
                    let above = corner + side as u32 + 1;
                    triangles.extend([[corner, corner + 1, above], [corner + 1, above + 1, above]]);
                }
            }
        }
        let topology = Topology::new(positions.len(), &triangles).unwrap();
        let rest: Vec<f64> =
            topology.edges().iter().map(|[a, b]| (positions[a.index()] - positions[b.index()]).length()).collect();
        let thickness = vec![2e-3; positions.len()];
        let count = positions.len();
        Self {
            mesh: ContactMesh::new(topology, &rest, &thickness),
            positions,
            inverse_mass: vec![1000.0; count],
            thickness,
            friction: vec![0.3; count],
        }
    }

    fn resolve(&self, end: &[DVec3], step: f64, settings: &ContactSettings, rules: &dyn PairRules) -> Resolved {
        let input = ContactInput {
            mesh: &self.mesh,
            start: &self.positions,
            end,
            step,
            inverse_mass: &self.inverse_mass,
            thickness: &self.thickness,
            friction: &self.friction,
            rules,
        };
        resolve(&input, settings, &mut Workspace::default())
    }

    fn intersections(&self, positions: &[DVec3]) -> usize {
        let tree = triangle_tree(self.mesh.topology(), positions);
        find_intersecting_pairs(self.mesh.topology(), positions, &tree, |_, _| true).len()
    }

    fn moved(&self, velocity: impl Fn(usize, DVec3) -> DVec3, step: f64) -> Vec<DVec3> {
        self.positions.iter().enumerate().map(|(at, &p)| p + velocity(at, p) * step).collect()
    }
}

fn flat(z: f64) -> impl Fn(f64, f64) -> DVec3 {
    move |x, y| DVec3::new(x, y, z)
}

/// A smooth velocity with many changes of direction, of a strength in m/s.
fn turmoil(point: DVec3, seed: f64, strength: f64) -> DVec3 {
    let wave = |a: f64, b: f64, c: f64| (9.0 * (a * point.x + b * point.y + c * point.z) + 5.3 * seed + a).sin();
    strength * DVec3::new(wave(1.0, 0.7, -0.3), wave(-0.8, 1.1, 0.4), wave(0.5, -0.6, 1.3))
}

#[test]
fn a_motion_without_contact_comes_back_bit_for_bit() {
    let sheets = Sheets::new(5, &[&flat(0.0), &flat(0.1)]);
    let end = sheets.moved(|_, p| DVec3::new(0.1 * p.y, 0.3, 0.01), 0.01);
    let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
    assert_eq!(resolved.positions, end);
    assert!(resolved.changed.is_empty());
    assert_eq!(resolved.report.collisions, 0);
}

#[test]
fn two_sheets_thrown_at_each_other_do_not_cross_and_keep_momentum() {
    let sheets = Sheets::new(8, &[&flat(0.0), &|x, y| DVec3::new(x + 0.03, 0.9 * y + 0.04, 0.05 + 0.02 * x)]);
    let half = sheets.positions.len() / 2;
    for speed in [4.0, 20.0, 300.0] {
        let velocity = |at: usize| if at < half { DVec3::new(0.1, 0.0, speed) } else { DVec3::new(0.0, 0.2, -speed) };
        let end = sheets.moved(|at, _| velocity(at), 0.01);
        let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
        assert!(resolved.report.collisions > 0);
        assert_eq!(resolved.report.slowed_vertices, 0);
        assert_eq!(sheets.intersections(&resolved.positions), 0, "speed {speed}");
        let before: DVec3 = (0..2 * half).map(velocity).sum();
        let after: DVec3 = resolved.velocities.iter().copied().sum();
        assert!((before - after).length() < 1e-12 * speed * 2.0 * half as f64, "speed {speed}");
    }
}

#[test]
fn cloth_in_turmoil_stays_clean_step_after_step() {
    let usual = ContactSettings::default();
    let alone =
        ContactSettings { zone_rounds: 0, last_resort: LastResort::Vertices, impulse_rounds: 2, ..usual.clone() };
    for settings in [ContactSettings { zones: ZoneMotion::Rigid, ..usual.clone() }, usual, alone] {
        let mut sheets = Sheets::new(12, &[&flat(0.0), &flat(0.01), &flat(0.02)]);
        let mut collisions = 0;
        for step in 0..12 {
            let strength = 3.0 * f64::from(1 + step % 4);
            let end = sheets.moved(|at, p| turmoil(p, f64::from(step) + (at / 169) as f64, strength), 0.01);
            let resolved = sheets.resolve(&end, 0.01, &settings, &OrdinaryRules);
            assert_eq!(resolved.report.unresolved, 0);
            collisions += resolved.report.collisions;
            sheets.positions = resolved.positions;
            assert_eq!(sheets.intersections(&sheets.positions), 0, "step {step} {settings:?} {:?}", resolved.report);
        }
        assert!(collisions > 1000, "{collisions}");
    }
}

/// One corner of a sheet is thrown at another sheet.
#[test]
fn slowed_down_alone_vertices_leave_their_surroundings_as_they_go() {
    let slowed = |last_resort| {
        let sheets = Sheets::new(12, &[&flat(0.0), &flat(0.01)]);
        let is_thrown = |at: usize, place: DVec3| at >= 169 && place.x.max(place.y) < 0.1;
        let strength = |at: usize, place: DVec3| if is_thrown(at, place) { -2.0 } else { 0.0 };
        let end = sheets.moved(|at, place| DVec3::new(0.3, 0.0, strength(at, place)), 0.01);
        let settings = ContactSettings { impulse_rounds: 0, zone_rounds: 0, last_resort, ..ContactSettings::default() };
        let resolved = sheets.resolve(&end, 0.01, &settings, &OrdinaryRules);
        assert_eq!(sheets.intersections(&resolved.positions), 0);
        resolved.report.slowed_vertices
    };
    let (alone, with_surroundings) = (slowed(LastResort::Vertices), slowed(LastResort::Surroundings));
    assert!(0 < alone && alone < with_surroundings, "{alone} instead of {with_surroundings}");
}

#[test]
fn a_prescribed_sheet_sweeps_cloth_along() {
    let mut sheets = Sheets::new(10, &[&flat(0.02), &|x, y| DVec3::new(2.0 * x - 0.5, 2.0 * y - 0.5, 0.0)]);
    for at in 121..242 {
        sheets.inverse_mass[at] = 0.0;
    }
    let prescribed = sheets.positions[121..].to_vec();
    for step in 0..10 {
        let end = sheets.moved(|at, _| if at < 121 { DVec3::ZERO } else { DVec3::new(0.0, 0.0, 2.0) }, 0.01);
        let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
        assert_eq!(resolved.report.unresolved, 0);
        assert_eq!(resolved.positions[121..], end[121..]);
        sheets.positions = resolved.positions;
        assert_eq!(sheets.intersections(&sheets.positions), 0, "step {step}");
    }
    assert!((sheets.positions[150].z - prescribed[29].z - 0.2).abs() < 1e-12);
    assert!(sheets.positions[..121].iter().all(|p| p.z > 0.2));
}

#[test]
fn prescribed_motion_that_leaves_no_way_is_reported_and_ends() {
    let mut sheets = Sheets::new(3, &[&flat(0.0), &flat(0.01), &flat(0.02)]);
    for at in (0..16).chain(32..48) {
        sheets.inverse_mass[at] = 0.0;
    }
    let end = sheets.moved(|at, _| DVec3::Z * [2.0, 0.0, -2.0][at / 16], 0.01);
    let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
    assert!(resolved.report.unresolved > 0);
}

/// Two prescribed patches close through one corner of a sheet while everything moves along: only cloth around that
/// corner is slowed down, and it is carried along.
#[test]
fn a_squeeze_stops_cloth_around_it_only() {
    let jaw = |z: f64| move |x: f64, y: f64| DVec3::new(0.2 * x - 0.05, 0.2 * y - 0.05, z);
    let side = 12;
    let count = (side + 1) * (side + 1);
    let mut sheets = Sheets::new(side, &[&flat(0.0), &jaw(0.01), &jaw(-0.01)]);
    sheets.inverse_mass[count..].fill(0.0);
    let along = DVec3::new(0.0, 3.0, 0.0);
    let closing = |at: usize| DVec3::Z * [0.0, -2.0, 2.0][at / count];
    let end = sheets.moved(|at, _| along + closing(at), 0.01);
    let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
    assert!(resolved.report.unresolved > 0, "there is no way");
    assert!(resolved.report.slowed_vertices < count / 2, "{:?}", resolved.report);
    for at in 0..count {
        let moved = resolved.positions[at] - sheets.positions[at];
        assert!((moved - along * 0.01).length() < 0.025, "vertex {at} moved by {moved}");
        let [x, y] = [sheets.positions[at].x, sheets.positions[at].y];
        assert!(x.max(y) < 0.75 || resolved.positions[at] == end[at], "vertex {at} is far from the squeeze");
    }
}

#[test]
fn rules_let_pairs_cross_or_keep_them_farther_apart() {
    struct AllMayCross;
    impl PairRules for AllMayCross {
        fn rule(&self, _: ElementPair) -> Rule {
            Rule::MayCross
        }
        fn largest_separation(&self) -> f64 {
            0.0
        }
    }
    struct FarApart;
    impl PairRules for FarApart {
        fn rule(&self, _: ElementPair) -> Rule {
            Rule::Separation(0.02)
        }
        fn largest_separation(&self) -> f64 {
            0.02
        }
    }
    let sheets = Sheets::new(4, &[&flat(0.0), &|x, y| DVec3::new(x + 0.01, y + 0.02, 0.05)]);
    let end = sheets.moved(|at, _| if at < 25 { DVec3::new(0.0, 0.0, 10.0) } else { DVec3::ZERO }, 0.01);
    let settings = ContactSettings { separation: 1e-4, ..ContactSettings::default() };
    let crossing = sheets.resolve(&end, 0.01, &settings, &AllMayCross);
    assert_eq!(crossing.positions, end);
    let apart = sheets.resolve(&end, 0.01, &settings, &FarApart);
    let gap = |at: usize| apart.positions[at + 25].z - apart.positions[at].z;
    assert!((0..25).all(|at| gap(at) > 0.02));
}

#[test]
fn the_result_does_not_depend_on_threads_or_on_the_workspace() {
    let sheets = Sheets::new(10, &[&flat(0.0), &flat(0.01)]);
    let end = sheets.moved(|at, p| turmoil(p, (at / 121) as f64, 8.0), 0.01);
    let settings = ContactSettings::default();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sheets.resolve(&end, 0.01, &settings, &OrdinaryRules))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.positions, three.positions);
    assert_eq!(one.report, three.report);
    let mut used = Workspace::default();
    let again = [&sheets.positions, &end].map(|end| {
        let input = ContactInput {
            mesh: &sheets.mesh,
            start: &sheets.positions,
            end,
            step: 0.01,
            inverse_mass: &sheets.inverse_mass,
            thickness: &sheets.thickness,
            friction: &sheets.friction,
            rules: &OrdinaryRules,
        };
        resolve(&input, &settings, &mut used)
    });
    assert_eq!(again[1].positions, one.positions);
}

/// A cloth square falls along its slope under gravity, carried by inelastic contact and friction alone.
fn slide(friction: f64, slope_degrees: f64) -> f64 {
    let slope = slope_degrees.to_radians();
    let turn = |p: DVec3| DVec3::new(p.x * slope.cos() - p.z * slope.sin(), p.y, p.x * slope.sin() + p.z * slope.cos());
    let mut sheets = Sheets::new(
        4,
        &[&|x, y| turn(DVec3::new(0.2 * x + 0.005, 0.2 * y + 0.007, 1.9e-3)), &|x, y| {
            turn(DVec3::new(4.0 * x - 3.0, 4.0 * y - 2.0, 0.0))
        }],
    );
    sheets.friction = vec![friction; 50];
    for at in 25..50 {
        sheets.inverse_mass[at] = 0.0;
    }
    let mut velocities = vec![DVec3::ZERO; 50];
    let before = sheets.positions[12];
    for _ in 0..100 {
        for velocity in &mut velocities[..25] {
            *velocity += DVec3::new(0.0, 0.0, -9.81 * 0.005);
        }
        let end = sheets.moved(|at, _| velocities[at], 0.005);
        let resolved = sheets.resolve(&end, 0.005, &ContactSettings::default(), &OrdinaryRules);
        velocities = resolved.velocities;
        sheets.positions = resolved.positions;
        assert_eq!(sheets.intersections(&sheets.positions), 0);
    }
    (sheets.positions[12] - before).length()
}

#[test]
fn friction_holds_below_its_angle_and_slides_above_it() {
    assert!(slide(0.5, 20.0) < 2e-4, "{}", slide(0.5, 20.0));
    let slope = 35f64.to_radians();
    let expected = 0.5 * 9.81 * (slope.sin() - 0.3 * slope.cos()) * 0.25;
    let found = slide(0.3, 35.0);
    assert!((found - expected).abs() < 0.06 * expected, "{found} for {expected}");
}

#[test]
fn a_fine_mesh_of_thick_cloth_does_not_repel_itself() {
    let mut sheets = Sheets::new(20, &[&|x, y| DVec3::new(0.02 * x, 0.02 * y, 0.0)]);
    let end = sheets.positions.clone();
    let resolved = sheets.resolve(&end, 0.01, &ContactSettings::default(), &OrdinaryRules);
    assert_eq!(resolved.report.proximities, 0);
    sheets.positions = resolved.positions;
    assert_eq!(sheets.positions, end);
}

#[test]
fn a_stack_that_is_hit_from_above_settles_by_impulses_alone() {
    let place = |layer: usize| {
        let shift = 0.013 * layer as f64;
        move |x: f64, y: f64| DVec3::new(0.2 * x + shift, 0.2 * y - shift, 1.5e-3 * layer as f64)
    };
    let layers: Vec<_> = (0..10).map(place).collect();
    let placements: Vec<&dyn Fn(f64, f64) -> DVec3> = layers.iter().map(|layer| layer as _).collect();
    let mut sheets = Sheets::new(4, &placements);
    for at in 0..25 {
        sheets.inverse_mass[at] = 0.0;
    }
    let end = sheets.moved(|at, _| if at < 225 { DVec3::ZERO } else { DVec3::new(0.1, 0.0, -1.0) }, 0.01);
    let settings = ContactSettings { layers: LayerMethod::Implicit, ..ContactSettings::default() };
    let resolved = sheets.resolve(&end, 0.01, &settings, &OrdinaryRules);
    assert_eq!(sheets.intersections(&resolved.positions), 0);
    assert!(resolved.report.zones.is_empty(), "{:?}", resolved.report);
    assert!(resolved.report.impulse_rounds <= 4, "{:?}", resolved.report);
}

/// A prescribed sheet moves into a free one; by impulses alone, by zones at once, and by the last resort.
#[test]
fn what_prescribed_vertices_take_is_what_cloth_loses() {
    let low = |u: f64, v: f64| DVec3::new(u, 0.0, v) * 0.4;
    let high = |u: f64, v: f64| DVec3::new(0.05 + 0.3 * u, 0.02 + 0.01 * (9.0 * u * v).sin(), 0.04 + 0.31 * v);
    let mut sheets = Sheets::new(6, &[&low, &high]);
    let count = sheets.positions.len() / 2;
    sheets.inverse_mass[..count].fill(0.0);
    let step = 0.01;
    let end = sheets.moved(
        |at, place| if at < count { DVec3::new(0.3, 4.0 + place.x, 0.0) } else { DVec3::new(1.0, -3.0, 0.2) },
        step,
    );
    let usual = ContactSettings::default();
    let zones = ContactSettings { impulse_rounds: 0, ..usual.clone() };
    let slowed = ContactSettings { zone_rounds: 0, ..zones.clone() };
    for (settings, layers) in [
        (&usual, LayerMethod::Implicit),
        (&usual, LayerMethod::Impulses),
        (&zones, LayerMethod::Implicit),
        (&slowed, LayerMethod::Implicit),
    ] {
        let resolved = sheets.resolve(&end, step, &ContactSettings { layers, ..settings.clone() }, &OrdinaryRules);
        let (mut linear, mut angular, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for at in count..2 * count {
            let given = (resolved.velocities[at] - (end[at] - sheets.positions[at]) / step) / sheets.inverse_mass[at];
            linear += given;
            angular += sheets.positions[at].cross(given);
            size += given.length();
        }
        assert!(size > 1e-3, "the sheets meet");
        for (vertex, push) in &resolved.taken {
            assert!(vertex.index() < count);
            linear += push.impulse;
            angular += sheets.positions[vertex.index()].cross(push.impulse) + push.couple;
        }
        assert!(linear.length() < 1e-12 * size && angular.length() < 1e-12 * size, "{linear} {angular} {size}");
    }
}
