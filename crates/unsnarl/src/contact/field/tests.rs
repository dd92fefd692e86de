use super::*;
use crate::contact::{ContactScene, OrdinaryRules, Proposal};
use crate::geometry::ccd::Motion;
use crate::geometry::math::DQuat;
use crate::geometry::{DVec2, TriMesh};
use crate::model::{Cloth, Model};
use crate::samples::random::Random;
use crate::scene::sheet::{Diagonals, sheet};
use crate::state::State;

const STEP: f64 = 0.01;
/// Size of the square sheets, metres.
const SIZE: f64 = 0.4;

/// A square sheet of `n` by `n` cells across z, around a height.
fn square(n: usize, z: f64, diagonals: Diagonals) -> TriMesh {
    let (mut mesh, _) = sheet(DVec2::splat(SIZE), n, n, diagonals);
    for point in &mut mesh.positions {
        *point += DVec3::new(-0.5 * SIZE, -0.5 * SIZE, z);
    }
    mesh
}

/// Pieces of cloth, and where each vertex would be after a step.
struct Case {
    model: Model,
    scene: ContactScene,
    start: Vec<DVec3>,
    end: Vec<DVec3>,
    air: f64,
}

/// Pieces with the mass per area and the velocity of each.
fn case(pieces: &[(TriMesh, f64, DVec3)]) -> Case {
    let cloth = |(mesh, density, _): &(TriMesh, f64, DVec3)| {
        let mut cloth = Cloth::new("sheet", mesh.clone());
        cloth.fabric.density = *density;
        cloth
    };
    let cloths: Vec<Cloth> = pieces.iter().map(cloth).collect();
    let (model, State { positions: start, .. }) = Model::build(&cloths).unwrap();
    let moves = pieces.iter().flat_map(|(mesh, _, velocity)| vec![*velocity * STEP; mesh.positions.len()]);
    let end = start.iter().zip(moves).map(|(start, by)| *start + by).collect();
    let scene = ContactScene::new(&model, &[]).unwrap();
    Case { model, scene, start, end, air: 1.2 }
}

impl Case {
    fn proposal<'a>(&'a self, held: &'a [VertexId]) -> Proposal<'a> {
        Proposal {
            cloth: Motion { start: &self.start, end: &self.end },
            obstacles: Motion { start: &[], end: &[] },
            step: STEP,
            held,
            rules: &OrdinaryRules,
        }
    }

    fn run(&self, settings: &FieldSettings) -> FieldMotion {
        self.run_holding(settings, &[])
    }

    fn run_holding(&self, settings: &FieldSettings, held: &[VertexId]) -> FieldMotion {
        let given = (&self.model, self.air);
        self.scene.carry_by_field(&self.proposal(held), given, settings, &mut Memory::default(), &mut |_| {})
    }

    /// The mean velocity along z of the middle of a piece.
    fn middle_speed(&self, motion: &FieldMotion, piece: usize) -> f64 {
        let is_middle = |at: &usize| self.start[*at].truncate().abs().max_element() < 0.2 * SIZE;
        let middle: Vec<usize> = self.model.pieces[piece].vertices.clone().filter(is_middle).collect();
        let speeds = middle.iter().map(|&at| (motion.positions[at].z - self.start[at].z) / STEP);
        speeds.sum::<f64>() / middle.len() as f64
    }

    /// The samples of the step and what is known at cells.
    fn looked_at<R>(&self, spacing: f64, look: impl FnOnce(&Moving, &Raster, &[density::Place]) -> R) -> R {
        let thickness = vec![1e-3; self.start.len()];
        let inverse_mass: Vec<f64> = self.model.masses.iter().map(|mass| mass.recip()).collect();
        let input = ContactInput {
            mesh: self.scene.mesh(),
            start: &self.start,
            end: &self.end,
            step: STEP,
            inverse_mass: &inverse_mass,
            thickness: &thickness,
            friction: &thickness,
            rules: &OrdinaryRules,
        };
        let moving = Moving::new(&input, &self.model, Arc::new(Samples::new(&self.model, spacing)));
        let reached = Reached::new(moving.points.len(), |item| moving.reached_box(item));
        let raster = Raster::new(&moving, &reached, self.air, usize::MAX).unwrap();
        let places = density::places(&moving, &reached, &raster, 0.5, true);
        look(&moving, &raster, &places)
    }
}

fn bits(points: &[DVec3]) -> Vec<u64> {
    points.iter().flat_map(|point| point.to_array().map(f64::to_bits)).collect()
}

fn sized(size: f64) -> FieldSettings {
    FieldSettings { size: Some(size), ..FieldSettings::default() }
}

#[test]
fn samples_have_the_area_and_mass_of_the_cloth_however_fine() {
    let case = case(&[(square(5, 0.0, Diagonals::OneWay), 0.2, DVec3::ZERO)]);
    for spacing in [0.01, 0.05, 0.3] {
        let samples = Samples::new(&case.model, spacing);
        let sum = |value: fn(&samples::Sample) -> f64| samples.list.iter().map(value).sum::<f64>();
        assert!((sum(|sample| sample.area) - SIZE * SIZE).abs() < 1e-12);
        assert!((sum(|sample| sample.mass) - 0.2 * SIZE * SIZE).abs() < 1e-12);
        assert!(samples.list.iter().all(|sample| sample.weights.iter().all(|weight| *weight > 0.0)));
        for sample in &samples.list {
            let point = sample.apply(&case.model, &case.start);
            let nearest = samples.list.iter().filter(|other| !std::ptr::eq(*other, sample));
            let nearest = nearest.map(|other| other.apply(&case.model, &case.start).distance(point));
            assert!(nearest.fold(f64::INFINITY, f64::min) < 1.01 * spacing.min(0.06));
        }
    }
}

#[test]
fn patches_of_one_sheet_are_neighbours_and_of_two_pieces_are_apart() {
    let pieces = [0.0, 0.01].map(|z| (square(16, z, Diagonals::Alternating), 0.2, DVec3::ZERO));
    let case = case(&pieces);
    let samples = Samples::new(&case.model, 0.025);
    let half = samples.list.len() / 2;
    let (first, second) = samples.list.split_at(half);
    assert!(first.iter().zip(second).all(|(a, b)| samples.are_apart(a.patch, b.patch)));
    // Across the whole sheet patches are apart, beside each other they are not.
    let place = |sample: &samples::Sample| sample.apply(&case.model, &case.start);
    for a in first {
        for b in first {
            let distance = place(a).distance(place(b));
            assert!(distance > 0.02 || !samples.are_apart(a.patch, b.patch));
            assert!(distance < 0.3 || samples.are_apart(a.patch, b.patch));
        }
    }
}

/// Expected from the formula: a sheet at a distance z counts `2^-(z / thick)^2`.
#[test]
fn density_is_one_on_a_sheet_and_as_the_formula_on_two_whatever_the_mesh() {
    let mut random = Random::new(31);
    let spacing = 0.03;
    let thick = LEAST_THICKNESS * spacing;
    let meshes = [(24, Diagonals::OneWay), (17, Diagonals::Alternating), (40, Diagonals::OneWay)];
    for (n, diagonals) in meshes {
        for gap in [None, Some(0.3 * spacing), Some(spacing)] {
            let axis = DVec3::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0), 1.0).normalize();
            let turn = DQuat::from_axis_angle(axis, random.between(0.0, 3.0));
            let shift = DVec3::new(random.between(-1.0, 1.0), 0.3, random.between(-1.0, 1.0));
            let heights: Vec<f64> = [Some(0.0), gap].into_iter().flatten().collect();
            let piece = |&z: &f64| {
                let mut mesh = square(n, z, diagonals);
                mesh.positions.iter_mut().for_each(|point| *point = turn * *point + shift);
                (mesh, 0.2, DVec3::ZERO)
            };
            let case = case(&heights.iter().map(piece).collect::<Vec<_>>());
            let tolerance = if gap.is_none() { 0.03 } else { 0.05 };
            case.looked_at(spacing, |_, raster, places| {
                let mut count = 0;
                for (node, place) in raster.nodes.nodes().iter().zip(places) {
                    let center = raster.nodes.position(*node) + DVec3::splat(0.5 * spacing);
                    let own = turn.inverse() * (center - shift);
                    if own.truncate().abs().max_element() > 0.5 * SIZE - 4.0 * spacing {
                        continue;
                    }
                    let expected: f64 = heights.iter().map(|z| 0.5_f64.powf(((own.z - z) / thick).powi(2))).sum();
                    assert!((place.density - expected).abs() < tolerance, "{} {expected} at {own}", place.density);
                    count += 1;
                }
                assert!(count > 30, "cells are looked at");
            });
        }
    }
}

#[test]
fn fast_sheets_are_seen_before_they_meet() {
    let still = (square(16, 0.0, Diagonals::OneWay), 0.2, DVec3::ZERO);
    let fast = (square(16, 0.5, Diagonals::OneWay), 0.2, DVec3::Z * -50.0);
    let seen = case(&[still, fast]);
    seen.looked_at(0.03, |_, _, places| {
        let most = places.iter().map(|place| place.density).fold(0.0, f64::max);
        // Where they meet, half way between the middles of cells: cloth counts as 0.75 of a spacing thick.
        let expected = 2.0 * 0.5_f64.powf((0.5_f64 / 0.75).powi(2));
        assert!((most - expected).abs() < 0.05, "{most}, expected {expected}");
    });
}

#[test]
fn cloth_at_rest_has_a_field_at_every_vertex() {
    let mut random = Random::new(7);
    for _ in 0..5 {
        let z = random.between(-0.1, 0.1);
        let case = case(&[(square(11, z, Diagonals::OneWay), 0.2, DVec3::ZERO)]);
        case.looked_at(random.between(0.01, 0.1), |_, raster, _| {
            for point in &case.start {
                assert!(raster.nodes.corners(*point).interpolate(&raster.velocities).is_some());
            }
        });
    }
}

#[test]
fn sheets_that_meet_do_not_cross_and_take_the_velocity_of_their_centre_of_mass() {
    for (densities, common) in [([0.2, 0.2], 0.0), ([0.1, 0.3], -0.5)] {
        let lower = (square(20, 0.001, Diagonals::OneWay), densities[0], DVec3::Z);
        let upper = (square(20, 0.007, Diagonals::OneWay), densities[1], -DVec3::Z);
        let case = case(&[lower, upper]);
        let motion = case.run(&FieldSettings { iterations: 1000, ..FieldSettings::default() });
        let speeds = [0, 1].map(|piece| case.middle_speed(&motion, piece));
        for speed in speeds {
            assert!((speed - common).abs() < 0.02, "{speeds:?}, expected {common}");
        }
        assert!(speeds[0] - speeds[1] < 0.01 * 2.0, "{speeds:?} close in");
        assert!(motion.report.closing_speed_after < 0.01 * motion.report.closing_speed_before, "{:?}", motion.report);
        let heights = |piece: usize| case.model.pieces[piece].vertices.clone().map(|at| motion.positions[at].z);
        let [highest, lowest] = [heights(0).fold(-1.0, f64::max), heights(1).fold(1.0, f64::min)];
        assert!(highest < lowest, "{highest} {lowest}");
    }
}

/// Wherever they lie between nodes: what the grid cannot resolve may not eat the momentum of cloth.
#[test]
fn sheets_that_meet_keep_their_momentum() {
    let mut random = Random::new(5);
    for _ in 0..12 {
        let (z, gap) = (random.between(0.0, 0.03), random.between(0.01, 0.028));
        let lower = (square(20, z, Diagonals::OneWay), 0.2, DVec3::Z);
        let upper = (square(20, z + gap, Diagonals::OneWay), 0.2, DVec3::Z * -2.0);
        let case = case(&[lower, upper]);
        let motion = case.run(&FieldSettings { iterations: 1000, ..FieldSettings::default() });
        let change = |(at, mass): (usize, &f64)| (motion.positions[at].z - case.end[at].z) * mass / STEP;
        let gained: f64 = case.model.masses.iter().enumerate().map(change).sum();
        let sheet: f64 = 0.2 * SIZE * SIZE;
        assert!(gained.abs() < 0.03 * 3.0 * sheet, "{gained} at {z}, {gap} apart: {:?}", motion.report);
        assert!(!motion.changed.is_empty());
    }
}

#[test]
fn sheets_that_part_and_sheets_far_apart_keep_every_bit() {
    let parting = [(0.001, -1.0), (0.009, 1.0)];
    let far = [(0.0, 1.0), (0.5, -1.0)];
    for pair in [parting, far] {
        let case = case(&pair.map(|(z, speed)| (square(12, z, Diagonals::Alternating), 0.2, DVec3::Z * speed)));
        let motion = case.run(&FieldSettings::default());
        assert_eq!(bits(&motion.positions), bits(&case.end));
        assert!(motion.changed.is_empty());
    }
}

#[test]
fn layers_that_slide_keep_sliding() {
    let lower = (square(20, 0.001, Diagonals::OneWay), 0.2, DVec3::ZERO);
    let upper = (square(20, 0.007, Diagonals::OneWay), 0.2, DVec3::new(0.5, 0.0, -0.5));
    let case = case(&[lower, upper]);
    let motion = case.run(&FieldSettings::default());
    let slides: Vec<f64> =
        case.model.pieces[1].vertices.clone().map(|at| motion.positions[at].x - case.start[at].x).collect();
    let mean = slides.iter().sum::<f64>() / slides.len() as f64 / STEP;
    assert!(mean > 0.95 * 0.5, "{mean}");
}

#[test]
fn lengths_times_eight_are_the_same_bits_times_eight() {
    let pieces = |scale: f64| {
        let sheet = |z: f64, velocity: DVec3| {
            let mut mesh = square(10, z, Diagonals::Alternating);
            mesh.positions.iter_mut().for_each(|point| *point *= scale);
            (mesh, 0.2, velocity * scale)
        };
        let mut case = case(&[sheet(0.002, DVec3::new(0.1, 0.3, 1.0)), sheet(0.02, DVec3::new(-0.2, 0.1, -1.0))]);
        case.air /= scale;
        case
    };
    for source in [0.0, 0.5] {
        let settings = FieldSettings { source: Some(source), ..FieldSettings::default() };
        let [small, large] = [1.0, 8.0].map(|scale| pieces(scale).run(&settings));
        let scaled: Vec<DVec3> = small.positions.iter().map(|point| *point * 8.0).collect();
        assert!(!small.changed.is_empty());
        assert_eq!(bits(&scaled), bits(&large.positions));
    }
}

#[test]
fn subdividing_one_of_two_sheets_changes_nothing_much() {
    let speeds = [10, 20, 40].map(|n| {
        let lower = (square(20, 0.001, Diagonals::OneWay), 0.2, DVec3::Z);
        let case = case(&[lower, (square(n, 0.007, Diagonals::OneWay), 0.2, -DVec3::Z)]);
        case.middle_speed(&case.run(&sized(0.02)), 0)
    });
    assert!(speeds.iter().all(|speed| (speed - speeds[1]).abs() < 0.02), "{speeds:?}");
}

#[test]
fn held_vertices_stay_where_they_are_led() {
    let pieces = [(0.001, 1.0), (0.007, -1.0)].map(|(z, v)| (square(10, z, Diagonals::OneWay), 0.2, DVec3::Z * v));
    let case = case(&pieces);
    let held: Vec<VertexId> = (0..40).map(VertexId::new).collect();
    let motion = case.run_holding(&FieldSettings::default(), &held);
    assert_eq!(bits(&motion.positions[..40]), bits(&case.end[..40]));
    assert!(motion.changed.iter().all(|vertex| vertex.index() >= 40) && !motion.changed.is_empty());
}

#[test]
fn a_lattice_that_is_too_fine_or_motion_without_numbers_leaves_the_proposal() {
    let pieces = [(0.001, 1.0), (0.007, -1.0)].map(|(z, v)| (square(10, z, Diagonals::OneWay), 0.2, DVec3::Z * v));
    let mut case = case(&pieces);
    let few = FieldSettings { most_voxels: 100, ..FieldSettings::default() };
    let motion = case.run(&few);
    assert_eq!((bits(&motion.positions), motion.report.refused), (bits(&case.end), 1));
    case.end[3].x = f64::NAN;
    assert_eq!(case.run(&FieldSettings::default()).report.refused, 1);
}

#[test]
fn every_thread_count_gives_the_same_bits() {
    let pieces = [(0.001, 1.0), (0.007, -1.0), (0.012, -2.0)];
    let pieces = pieces.map(|(z, v)| (square(24, z, Diagonals::Alternating), 0.2, DVec3::new(0.1, v, v)));
    let case = case(&pieces);
    for solve in [FieldSolve::Projection, FieldSolve::LeastSquares] {
        let settings = FieldSettings { solve, source: Some(0.3), ..FieldSettings::default() };
        let runs = [1, 2, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bits(&case.run(&settings).positions))
        });
        assert!(runs.iter().all(|run| *run == runs[0]));
    }
}

#[test]
fn a_turning_sheet_that_is_carried_by_the_field_keeps_its_lengths() {
    let mut case = case(&[(square(20, 0.004, Diagonals::Alternating), 0.2, DVec3::ZERO)]);
    let turn = DQuat::from_rotation_x(0.1);
    case.end = case.start.iter().map(|point| turn * *point).collect();
    let motion = case.run(&FieldSettings { transfer: FieldTransfer::Field, ..FieldSettings::default() });
    assert!(motion.report.edge_error < 0.01, "{:?}", motion.report);
    assert!(motion.report.carried_vertices > 400);
}

#[test]
fn a_source_opens_what_is_too_dense_and_none_leaves_it() {
    let pieces = [0.001, 0.004].map(|z| (square(16, z, Diagonals::OneWay), 0.2, DVec3::ZERO));
    let case = case(&pieces);
    let gap = |source: f64| {
        let motion = case.run(&FieldSettings { source: Some(source), ..FieldSettings::default() });
        case.middle_speed(&motion, 1) - case.middle_speed(&motion, 0)
    };
    assert_eq!(gap(0.0), 0.0);
    let [little, much] = [gap(0.05), gap(0.1)];
    assert!(little > 0.0 && much > 1.5 * little, "{little} {much}");
}

#[test]
fn published_forms_stop_what_meets_too_and_bind_what_parts() {
    let of = |speed: f64| {
        [(0.001, speed), (0.007, -speed)].map(|(z, v)| (square(20, z, Diagonals::OneWay), 0.2, DVec3::Z * v))
    };
    let (meeting, parting) = (case(&of(1.0)), case(&of(-1.0)));
    let left = |case: &Case, settings: &FieldSettings| {
        let motion = case.run(settings);
        (case.middle_speed(&motion, 0) - case.middle_speed(&motion, 1)) / 2.0
    };
    let usual = FieldSettings { iterations: 500, source: Some(0.0), ..FieldSettings::default() };
    for solve in [FieldSolve::Projection, FieldSolve::LeastSquares] {
        for divergence in [FieldDivergence::Tensor, FieldDivergence::Isotropic] {
            for stencil in [FieldStencil::Cell, FieldStencil::Central] {
                for localise in [FieldLocalise::Or, FieldLocalise::And] {
                    let settings = FieldSettings { solve, divergence, stencil, localise, ..usual.clone() };
                    let speed = left(&meeting, &settings);
                    assert!(speed < 0.6, "{speed} with {settings:?}");
                }
            }
        }
    }
    let bound = FieldSettings { localise: FieldLocalise::Or, ..usual.clone() };
    let (free, kept) = (left(&parting, &usual), left(&parting, &bound));
    assert!((free + 1.0).abs() < 1e-9 && kept > -0.5, "{free} {kept}");
}

#[test]
fn little_weight_leaves_more_of_the_closing_speed() {
    let pieces = [(0.001, 1.0), (0.007, -1.0)].map(|(z, v)| (square(20, z, Diagonals::OneWay), 0.2, DVec3::Z * v));
    let case = case(&pieces);
    let left = |divergence_weight: f64| {
        let solve = FieldSolve::LeastSquares;
        let settings = FieldSettings { solve, divergence_weight, iterations: 500, ..FieldSettings::default() };
        case.run(&settings).report.closing_speed_after
    };
    assert!(left(1.0) > 10.0 * left(100.0), "{} {}", left(1.0), left(100.0));
}
