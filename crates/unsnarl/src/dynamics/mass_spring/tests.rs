//! The mass-spring model against theory.

use super::springs::{Elements, springs};
use super::*;
use crate::dynamics::{Workspace, finish as finish_step, propose as propose_step, stable_step};
use crate::geometry::DVec2;
use crate::model::{Cloth, Model, Rest, RestAngles};
use crate::scene::environment::Environment;
use crate::scene::fabric::Fabric;
use crate::scene::sheet::{Diagonals, sheet};
use crate::settings::{ClothModel, MassSpringSettings};
use crate::state::State;

fn settings(newmark: Newmark) -> DynamicsSettings {
    let mass_spring = MassSpringSettings { newmark, step: 0.0, strain_passes: 0, ..MassSpringSettings::default() };
    let model = ClothModel::MassSpring;
    DynamicsSettings { model, tolerance: 1e-13, iterations: 2000, mass_spring, ..DynamicsSettings::default() }
}

fn cloth(size: DVec2, columns: usize, rows: usize, diagonals: Diagonals) -> Cloth {
    let (mesh, uv) = sheet(size, columns, rows, diagonals);
    Cloth { rest: Rest::Panels(uv), ..Cloth::new("sheet", mesh) }
}

fn run(model: &Model, mut state: State, gravity: DVec3, settings: &DynamicsSettings, step: f64, steps: usize) -> State {
    let mut workspace = Workspace::default();
    let environment = Environment { gravity, ..Environment::NOTHING };
    for _ in 0..steps {
        let start = Start { model, state: &state, environment: &environment, step };
        let proposal = propose_step(&start, &Guidance::default(), settings, &mut workspace);
        state = finish_step(&start, proposal, settings, &mut workspace);
    }
    state
}

const VARIANTS: [Newmark; 3] = [Newmark::Central, Newmark::Monotone, Newmark::VariableStep];

#[test]
fn free_fall_is_exact_for_every_variant() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.5, 0.5), 5, 5, Diagonals::Alternating)]).unwrap();
    let gravity = DVec3::new(1.0, -9.81, 0.0);
    for newmark in VARIANTS {
        let end = run(&model, state.clone(), gravity, &settings(newmark), 0.0004, 50);
        for (before, after) in state.positions.iter().zip(&end.positions) {
            assert!((*after - *before - gravity * (0.5 * 0.02 * 0.02)).length() < 1e-12, "{newmark:?}");
        }
        assert!(end.velocities.iter().all(|velocity| (*velocity - gravity * 0.02).length() < 1e-11));
    }
}

#[test]
fn linear_momentum_is_kept_also_by_strain_limits() {
    let (model, mut state) = Model::build(&[cloth(DVec2::new(0.5, 0.5), 9, 9, Diagonals::Alternating)]).unwrap();
    for (point, velocity) in state.positions.iter().zip(&mut state.velocities) {
        *velocity = DVec3::new(3.0 * point.y.sin(), (5.0 * point.x).cos(), (9.0 * point.x).sin());
    }
    let momentum = |state: &State| -> DVec3 { state.velocities.iter().zip(&model.masses).map(|(v, m)| *v * *m).sum() };
    let before = momentum(&state);
    for newmark in VARIANTS {
        let mut settings = settings(newmark);
        settings.mass_spring.step = 0.001;
        settings.mass_spring.strain_passes = 5;
        let end = run(&model, state.clone(), DVec3::ZERO, &settings, 0.0005, 40);
        assert!((momentum(&end) - before).length() < 1e-12, "{newmark:?}");
    }
}

#[test]
fn springs_of_an_equilateral_sheet_have_the_fabrics_modulus() {
    let mut piece = cloth(DVec2::new(2.0, 2.0), 20, 1, Diagonals::Equilateral);
    piece.fabric = Fabric { stretch_warp: 500.0, stretch_weft: 500.0, shear: 250.0, ..Fabric::default() };
    let (model, state) = Model::build(&[piece]).unwrap();
    let strain = 1e-4;
    let pulled = |point: DVec3| DVec3::new(point.x * (1.0 + strain), point.y * (1.0 - strain / 3.0), 0.0);
    let (mut energy, mut area) = (0.0, 0.0);
    for (spring, ends) in springs(&model, &state, 0.0).iter().zip(model.topology.edges()) {
        let [a, b] = ends.map(|vertex| pulled(state.positions[vertex.index()]));
        let stretch = (b - a).length() / spring.rest_length - 1.0;
        energy += 0.5 * spring.stiffness * spring.rest_length * stretch * stretch;
    }
    for shape in &model.rest_shapes {
        area += shape.area();
    }
    let modulus = 2.0 * energy / (area * strain * strain);
    assert!((modulus / 500.0 - 1.0).abs() < 0.01, "{modulus}");
}

#[test]
fn elastic_forces_are_the_slopes_of_spring_and_bending_energy() {
    let mut piece = cloth(DVec2::new(0.3, 0.3), 2, 2, Diagonals::Alternating);
    piece.fabric.bend = 0.5;
    piece.rest_angles = RestAngles::Creases(vec![([VertexId(0), VertexId(4)], 0.7)]);
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for (index, point) in state.positions.iter_mut().enumerate() {
        *point += DVec3::new(0.01, -0.02, 0.05) * ((index * 7) as f64).sin();
    }
    let springs = springs(&model, &state, 0.0);
    let energy = |positions: &[DVec3]| -> f64 {
        let stretch: f64 = (springs.iter().zip(model.topology.edges()))
            .map(|(spring, ends)| {
                let [a, b] = ends.map(|vertex| positions[vertex.index()]);
                0.5 * spring.stiffness * spring.rest_length * ((b - a).length() / spring.rest_length - 1.0).powi(2)
            })
            .sum();
        let bend: f64 = (model.hinges.iter().zip(&state.rest_angles))
            .map(|(hinge, rest)| {
                let points = hinge.vertices.map(|vertex| positions[vertex.index()]);
                let angle = crate::dynamics::hinge::angle(points).unwrap();
                hinge.stiffness * (-4.0 * (0.5 * angle).cos() - 2.0 * angle * (0.5 * rest).sin())
            })
            .sum();
        stretch + bend
    };
    let mut elements = Elements::default();
    elements.evaluate(&model, &state, &springs, &state.positions);
    for vertex in 0..9 {
        let force = elements.force(&model.pattern, model.pattern.row(VertexId(vertex)));
        for axis in 0..3 {
            let moved = |step: f64| {
                let mut positions = state.positions.clone();
                positions[vertex as usize][axis] += step;
                energy(&positions)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope + force[axis]).abs() < 1e-5 * force.length().max(1.0), "{slope} {force}");
        }
    }
}

#[test]
fn strain_limits_bring_every_spring_into_range() {
    let mut piece = cloth(DVec2::new(0.3, 0.3), 6, 6, Diagonals::Alternating);
    piece.fabric.compression_limit = 0.02;
    piece.fabric.stretch_limit = 0.1;
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for (index, velocity) in state.velocities.iter_mut().enumerate() {
        *velocity = DVec3::new(((index * 5) as f64).sin(), ((index * 11) as f64).cos(), 0.3);
    }
    let springs = springs(&model, &state, 0.0);
    let inverse_masses: Vec<f64> = model.masses.iter().map(|mass| 1.0 / mass).collect();
    let step = 0.01;
    let input = Limit {
        supports: &[],
        model: &model,
        springs: &springs,
        inverse_masses: &inverse_masses,
        positions: &state.positions,
        step,
        passes: 300,
        rate: 1.0,
    };
    let mut velocities = state.velocities.clone();
    limit(&input, &mut velocities);
    for (spring, ends) in springs.iter().zip(model.topology.edges()) {
        let [a, b] = ends.map(|vertex| state.positions[vertex.index()] + velocities[vertex.index()] * step);
        let strain = (b - a).length() / spring.rest_length - 1.0;
        assert!((-0.021..=0.101).contains(&strain), "{strain}");
    }
    let rate = Limit { rate: 0.01, ..input };
    let mut velocities = state.velocities.clone();
    limit(&rate, &mut velocities);
    for (spring, ends) in springs.iter().zip(model.topology.edges()) {
        let [a, b] = ends.map(|vertex| state.positions[vertex.index()] + velocities[vertex.index()] * step);
        assert!(((b - a).length() / spring.rest_length - 1.0).abs() < 0.0101);
    }
}

/// A step that has blown up is found out by its positions; until then nothing may panic.
#[test]
fn velocities_that_are_not_numbers_do_not_panic() {
    let (model, mut state) = Model::build(&[cloth(DVec2::new(0.2, 0.2), 4, 4, Diagonals::Alternating)]).unwrap();
    state.velocities[7] = DVec3::splat(f64::NAN);
    state.velocities[8] = DVec3::splat(f64::INFINITY);
    let after = run(&model, state, DVec3::ZERO, &settings(Newmark::Central), 1e-3, 2);
    assert!(!after.positions[7].is_finite());
}

#[test]
fn all_variants_converge_with_order_two_in_time() {
    let mut piece = cloth(DVec2::new(0.2, 0.2), 3, 3, Diagonals::Alternating);
    piece.fabric = Fabric { stretch_warp: 5.0, stretch_weft: 5.0, shear: 2.0, bend: 1e-4, ..Fabric::default() };
    piece.pins = vec![VertexId(12), VertexId(15)];
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for (point, velocity) in state.positions.iter().zip(&mut state.velocities) {
        *velocity = (DVec3::Z + DVec3::X) * (0.2 - point.y);
    }
    let gravity = DVec3::NEG_Y * 9.81;
    let at_end = |newmark, steps: usize| {
        run(&model, state.clone(), gravity, &settings(newmark), 0.08 / steps as f64, steps).positions
    };
    let fine = at_end(Newmark::Central, 2560);
    for newmark in VARIANTS {
        let error = |steps| -> f64 {
            at_end(newmark, steps).iter().zip(&fine).map(|(a, b)| (*a - *b).length_squared()).sum::<f64>().sqrt()
        };
        let order = (error(80) / error(320)).log2() / 2.0;
        assert!((1.8..2.3).contains(&order), "{newmark:?}: {order}");
    }
}

/// A pair of triangles pulled long and heavily damped creeps back without passing its rest length.
#[test]
fn under_strong_damping_the_variants_with_an_implicit_start_do_not_overshoot() {
    let mut piece = cloth(DVec2::new(0.1, 0.1), 1, 1, Diagonals::OneWay);
    piece.fabric =
        Fabric { stretch_damping: 0.5, stretch_warp: 100.0, stretch_weft: 100.0, shear: 50.0, ..Fabric::default() };
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for point in &mut state.positions {
        point.x *= 1.2;
    }
    let width = |state: &State| state.positions[1].x - state.positions[0].x;
    let step = stable_step(&model, &state, &settings(Newmark::Central));
    let turns = |newmark| {
        let widths: Vec<f64> = (0..60)
            .map(|steps| width(&run(&model, state.clone(), DVec3::ZERO, &settings(newmark), step, steps)))
            .collect();
        widths.windows(2).filter(|pair| pair[1] > pair[0] + 1e-12).count()
    };
    assert_eq!(turns(Newmark::Monotone), 0);
    assert_eq!(turns(Newmark::VariableStep), 0);
}

#[test]
fn the_stable_step_is_stable_and_four_times_as_much_is_not() {
    let piece = cloth(DVec2::new(0.3, 0.3), 8, 8, Diagonals::Alternating);
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for (index, point) in state.positions.iter_mut().enumerate() {
        *point += DVec3::new(1e-5, 2e-5, 3e-5) * ((index * 13) as f64).sin();
    }
    let mut plain = settings(Newmark::Central);
    plain.tolerance = 1e-8;
    let step = stable_step(&model, &state, &plain);
    let farthest = |state: &State| state.positions.iter().map(|point| point.length()).fold(0.0, f64::max);
    assert!(farthest(&run(&model, state.clone(), DVec3::ZERO, &plain, step, 400)) < 0.5);
    let wild = farthest(&run(&model, state.clone(), DVec3::ZERO, &plain, 4.0 * step, 400));
    assert!(wild.is_nan() || wild > 1.0, "{wild}");
}

#[test]
fn a_led_vertex_arrives_and_threads_do_not_change_a_bit() {
    let mut piece = cloth(DVec2::new(0.5, 0.5), 40, 40, Diagonals::Alternating);
    piece.pins = vec![VertexId(0)];
    let (model, state) = Model::build(&[piece]).unwrap();
    let settings = DynamicsSettings { model: ClothModel::MassSpring, ..DynamicsSettings::default() };
    let environment = Environment::default();
    let goal = state.positions[40] + DVec3::new(0.0, 0.0, 0.001);
    let end = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let start = Start { model: &model, state: &state, environment: &environment, step: 0.001 };
            let guidance =
                Guidance { holds: vec![(VertexId(40), crate::dynamics::Hold::At(goal))], ..Guidance::default() };
            let mut workspace = Workspace::default();
            let proposal = propose_step(&start, &guidance, &settings, &mut workspace);
            finish_step(&start, proposal, &settings, &mut workspace)
        })
    };
    let one = end(1);
    assert_eq!(one.positions[40], goal);
    assert_eq!(one.positions[0], state.positions[0]);
    assert_eq!(one, end(2));
}
