//! Refined cloth against what must hold: plain subdivision where nothing is near, and nothing that meets where
//! something is.

#![allow(clippy::unwrap_used)]

use unsnarl::analysis::{self, Assembly, PartKind, Workspace};
use unsnarl::geometry::distance::point_triangle;
use unsnarl::geometry::subdivision::{OldVertices, Scheme, Smoothing};
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::output::{Collisions, Ladder, LevelReport, RefineError, RefineSettings, Refined, StartPairs, refine};
use unsnarl::samples::{self, Cut, Recipe};

/// Cloth and bodies, one mesh each.
fn assembly(cloth: &[&TriMesh], bodies: &[&TriMesh]) -> (Assembly, Vec<DVec3>) {
    let part = |kind| move |mesh: &&TriMesh| (String::from("part"), kind, mesh.positions.len(), mesh.triangles.clone());
    let parts: Vec<_> =
        cloth.iter().map(part(PartKind::Cloth)).chain(bodies.iter().map(part(PartKind::Body))).collect();
    let borrowed = parts.iter().map(|(name, kind, count, triangles)| (name.clone(), *kind, *count, &triangles[..]));
    let positions = cloth.iter().chain(bodies).flat_map(|mesh| mesh.positions.iter().copied()).collect();
    (Assembly::new(borrowed).unwrap(), positions)
}

struct Result {
    refined: Refined,
    levels: Vec<LevelReport>,
    /// Pairs that meet at the end, and the smallest gap.
    pairs: usize,
}

fn run((assembly, positions): &(Assembly, Vec<DVec3>), levels: u32, settings: &RefineSettings) -> Result {
    let ladder = Ladder::build(assembly.clone(), &[], levels).unwrap();
    let mut reports = Vec::new();
    let refined = refine(&ladder, positions, settings, &mut |level, _, _| reports.push(level)).unwrap();
    let pairs = analysis::verdict(ladder.finest(), &refined.positions, &mut Workspace::default()).pairs.len();
    Result { refined, levels: reports, pairs }
}

fn plain() -> RefineSettings {
    RefineSettings { collisions: Collisions::Ignore, ..RefineSettings::default() }
}

/// Which diagonals cut the cells of a grid.
#[derive(Clone, Copy, PartialEq)]
enum Diagonals {
    Alike,
    Alternating,
}

/// A grid of `count` by `count` cells over the unit square, mapped.
fn sheet(count: u32, map: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    cut_sheet(count, Diagonals::Alike, map)
}

fn cut_sheet(count: u32, diagonals: Diagonals, map: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    let row = count + 1;
    let at = |k: u32| map(f64::from(k % row) / f64::from(count), f64::from(k / row) / f64::from(count));
    let cell = |k: u32| {
        let corner = k / count * row + k % count;
        let [a, b, c, d] = [corner, corner + 1, corner + row + 1, corner + row];
        let is_other = diagonals == Diagonals::Alternating && (k / count + k % count) % 2 == 1;
        if is_other { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
    };
    TriMesh { positions: (0..row * row).map(at).collect(), triangles: (0..count * count).flat_map(cell).collect() }
}

/// Five pleated sheets one above the other. Their surfaces are the same, but every other one is cut otherwise, so
/// that smoothing takes them to different places.
fn stack(gap: f64) -> Vec<TriMesh> {
    (0..5)
        .map(|layer| {
            let diagonals = if layer % 2 == 0 { Diagonals::Alike } else { Diagonals::Alternating };
            let height = gap * f64::from(layer);
            cut_sheet(8, diagonals, move |u, v| DVec3::new(u, 0.08 * zigzag(4.0 * u) + height, v))
        })
        .collect()
}

fn zigzag(x: f64) -> f64 {
    (x - x.floor() - 0.5).abs()
}

#[test]
fn far_from_everything_it_is_plain_subdivision_bit_for_bit() {
    for old_vertices in [OldVertices::Smoothed, OldVertices::Kept] {
        for scheme in [Scheme::Loop, Scheme::BoundedCurvature] {
            let smoothing = Smoothing { scheme, old_vertices };
            let mesh = sheet(9, |u, v| DVec3::new(u, 0.1 * (6.0 * u).sin() * (5.0 * v).cos(), v));
            let subject = assembly(&[&mesh], &[]);
            let ours = run(&subject, 3, &RefineSettings { smoothing, ..RefineSettings::default() });
            let loops = run(&subject, 3, &RefineSettings { smoothing, ..plain() });
            assert!(ours.refined.positions == loops.refined.positions);
            assert!(ours.refined.offsets.is_empty());
            assert_eq!(ours.pairs, 0);
            assert!(ours.levels.iter().all(|level| level.stopped_by_cloth + level.stopped_by_bodies == 0));
        }
    }
}

#[test]
fn sheets_a_millionth_of_a_metre_apart_stay_apart_and_plain_subdivision_crosses() {
    for gap in [1e-6, 1e-5, 1e-4] {
        let sheets = stack(gap);
        let subject = assembly(&sheets.iter().collect::<Vec<_>>(), &[]);
        let ours = run(&subject, 2, &RefineSettings::default());
        assert_eq!(ours.pairs, 0, "gap {gap}");
        let loops = run(&subject, 2, &plain());
        assert!(loops.pairs > 0, "gap {gap}: plain subdivision does not cross, so the test cannot fail");
        assert!(ours.levels[0].stopped_by_cloth > 0);
        assert!(!ours.refined.offsets.is_empty());
    }
}

#[test]
fn cloth_on_a_ball_does_not_shrink_into_it() {
    let ball = |radius: f64, count: u32| {
        sheet(count, move |u, v| {
            let (x, z) = (1.6 * (u - 0.5), 1.6 * (v - 0.5));
            radius * DVec3::new(x, 1.0, z).normalize()
        })
    };
    let cloth = ball(1.004, 8);
    let corners = |triangle: &[u32; 3]| triangle.map(|corner| cloth.positions[corner as usize]);
    let heights = cloth.triangles.iter().map(|own| point_triangle(DVec3::ZERO, corners(own)).distance_squared().sqrt());
    let body = ball(heights.fold(f64::INFINITY, f64::min) - 1e-4, 24);
    let subject = assembly(&[&cloth], &[&body]);
    let ours = run(&subject, 3, &RefineSettings::default());
    assert_eq!(ours.pairs, 0);
    assert!(ours.levels[0].stopped_by_bodies > 0);
    assert_eq!(ours.refined.positions[ours.levels[2].vertices..], body.positions);
    assert!(run(&subject, 3, &plain()).pairs > 0, "the control has to cross");
}

#[test]
fn flat_folds_and_twisted_ropes_stay_clean() {
    // A fold whose two halves lie 1e-5 apart, and a strip wound around itself.
    let fold = sheet(12, |u, v| {
        let along = if u < 0.5 { u } else { 1.0 - u };
        DVec3::new(along, if u < 0.5 { 0.0 } else { 1e-5 * (1.0 + 4.0 * (u - 0.5)) }, v)
    });
    let rope = sheet(16, |u, v| {
        let (turn, radius) = (5.0 * v * std::f64::consts::TAU, 0.02 * (u - 0.5));
        DVec3::new(radius * turn.cos(), 0.3 * v, radius * turn.sin())
    });
    for (name, mesh) in [("fold", fold), ("rope", rope)] {
        let subject = assembly(&[&mesh], &[]);
        for smoothing in [Smoothing::default(), Smoothing { old_vertices: OldVertices::Kept, ..Smoothing::default() }] {
            let ours = run(&subject, 2, &RefineSettings { smoothing, ..RefineSettings::default() });
            assert_eq!(ours.pairs, 0, "{name}");
        }
    }
}

#[test]
fn the_same_bits_on_one_thread_and_on_four() {
    let sheets = stack(1e-5);
    let subject = assembly(&sheets.iter().collect::<Vec<_>>(), &[]);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&subject, 2, &RefineSettings::default()))
    };
    let (one, four) = (with(1), with(4));
    assert!(one.refined.positions == four.refined.positions);
    assert_eq!(one.levels, four.levels);
}

#[test]
fn tangled_cloth_is_refused_with_its_count_or_refined_and_counted() {
    let case = samples::find("exploded-whole").unwrap();
    let sample = case.make(&Recipe { resolution: 10, cut: Cut::Irregular, seed: 3 }).mesh;
    let subject = assembly(&[&sample], &[]);
    let ladder = Ladder::build(subject.0.clone(), &[], 1).unwrap();
    let error = refine(&ladder, &subject.1, &RefineSettings::default(), &mut |_, _, _| {}).unwrap_err();
    let pairs = analysis::verdict(&subject.0, &subject.1, &mut Workspace::default()).pairs.len();
    assert!(matches!(error, RefineError::NotClean { pairs: own, .. } if own == pairs));
    let forced = RefineSettings { start_pairs: StartPairs::LeaveOut, ..RefineSettings::default() };
    let refined = refine(&ladder, &subject.1, &forced, &mut |_, _, _| {}).unwrap();
    assert_eq!(refined.start.pairs.len(), pairs);
}

#[test]
fn displacements_fall_and_stops_end_as_levels_go_on() {
    let sheets = stack(1e-3);
    let subject = assembly(&sheets.iter().collect::<Vec<_>>(), &[]);
    let ours = run(&subject, 4, &RefineSettings::default());
    assert_eq!(ours.pairs, 0);
    for pair in ours.levels.windows(2).skip(1) {
        let ratio = pair[1].displacement.max / pair[0].displacement.max;
        assert!((0.15..0.65).contains(&ratio), "level {}: {ratio}", pair[1].level);
    }
}

#[test]
fn what_is_stopped_on_a_ball_leaves_room_for_all_later_levels() {
    let ball = |radius: f64, count: u32| {
        sheet(count, move |u, v| {
            let (x, z) = (1.6 * (u - 0.5), 1.6 * (v - 0.5));
            radius * DVec3::new(x, 1.0, z).normalize()
        })
    };
    let (cloth, body) = (ball(1.004, 8), ball(0.9995, 8));
    let subject = assembly(&[&cloth], &[&body]);
    assert!(analysis::verdict(&subject.0, &subject.1, &mut Workspace::default()).is_clean());
    let ours = run(&subject, 4, &RefineSettings::default());
    let stops: Vec<usize> = ours.levels.iter().map(|level| level.stopped_by_cloth + level.stopped_by_bodies).collect();
    assert_eq!(ours.pairs, 0);
    assert!(stops[0] > 0 && stops[1..] == [0, 0, 0], "{stops:?}");
    assert!(run(&subject, 4, &plain()).pairs > 0, "the control has to cross");
}

#[test]
fn a_mesh_smaller_than_the_separation_is_refined_as_the_same_mesh_in_metres() {
    // Everything is nearer than 1e-6 m to everything; powers of two scale without rounding.
    let scale = 0.5_f64.powi(30);
    let mesh = sheet(12, |u, v| DVec3::new(u, 0.1 * (6.0 * u).sin() * (5.0 * v).cos(), v));
    let small = TriMesh { positions: mesh.positions.iter().map(|&at| scale * at).collect(), ..mesh.clone() };
    let [large, small] =
        [mesh, small].map(|mesh| run(&assembly(&[&mesh], &[]), 2, &RefineSettings::default()).refined.positions);
    assert!(large.iter().zip(&small).all(|(large, small)| scale * *large == *small));
}

#[test]
fn kept_vertices_are_where_they_were() {
    let sheets = stack(1e-5);
    let subject = assembly(&sheets.iter().collect::<Vec<_>>(), &[]);
    let smoothing = Smoothing { old_vertices: OldVertices::Kept, ..Smoothing::default() };
    let ladder = Ladder::build(subject.0.clone(), &[], 2).unwrap();
    let settings = RefineSettings { smoothing, ..RefineSettings::default() };
    let refined = refine(&ladder, &subject.1, &settings, &mut |_, _, _| {}).unwrap();
    for (coarse, fine) in subject.0.parts().iter().zip(ladder.finest().parts()) {
        let count = coarse.vertices.len();
        let kept = &refined.positions[fine.vertices.start..fine.vertices.start + count];
        assert!(kept == &subject.1[coarse.vertices.clone()]);
    }
    let verdict = analysis::verdict(ladder.finest(), &refined.positions, &mut Workspace::default());
    assert!(verdict.is_clean());
}

/// Whatever lies between two copies of a pleated sheet keeps the kink of the pleats, whichever rule put it there, and
/// the smooth place of a ridge is beyond the copies at every level until the edges are as short as the gap. So vertices
/// are stopped at late levels, too: it cannot be asked of every frame that none are.
#[test]
fn between_two_copies_of_a_pleat_every_clean_state_has_targets_that_cross() {
    let pleat = |u: f64| 0.08 * zigzag(4.0 * u);
    let between = |gap: f64, level: u32, seed: u32| {
        let noise = |u: f64, v: f64| (f64::from(seed) + 1e4 * u.mul_add(12.9898, v * 78.233)).sin();
        let cloth = sheet(8 << level, |u, v| DVec3::new(u, pleat(u) + 0.8 * gap * noise(u, v), v));
        let copies = [-gap, gap].map(|lift| sheet(8, move |u, v| DVec3::new(u, pleat(u) + lift, v)));
        assembly(&[&cloth], &[&copies[0], &copies[1]])
    };
    for level in 0..5 {
        for seed in 0..3 {
            let subject = between(1e-5, level, seed);
            assert!(analysis::verdict(&subject.0, &subject.1, &mut Workspace::default()).is_clean());
            assert!(run(&subject, 1, &plain()).pairs > 0, "level {level}, seed {seed}: targets have to cross");
            let ours = run(&subject, 1, &RefineSettings::default());
            assert!(ours.pairs == 0 && ours.levels[0].stopped_by_bodies > 0, "level {level}, seed {seed}");
        }
    }
    // The gap is what stops them.
    let wide = run(&between(0.05, 0, 0), 4, &RefineSettings::default());
    assert_eq!(wide.levels.iter().map(|level| level.stopped_by_bodies).sum::<usize>(), 0);
}
