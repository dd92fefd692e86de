//! The implicit model against theory.

use super::*;
use crate::dynamics::energy::energy;
use crate::geometry::{DVec2, UvMap};
use crate::model::{Cloth, Rest, Stitch};
use crate::scene::fabric::Fabric;
use crate::scene::sheet::{Diagonals, sheet};
use crate::settings::{ClothModel, DynamicsSettings, LinearSolver};

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

fn vacuum() -> Environment {
    Environment { gravity: GRAVITY, ..Environment::NOTHING }
}

fn cloth(size: DVec2, columns: usize, rows: usize) -> Cloth {
    let (mesh, uv): (_, UvMap) = sheet(size, columns, rows, Diagonals::Alternating);
    Cloth { rest: Rest::Panels(uv), ..Cloth::new("sheet", mesh) }
}

fn exact_solver(integration: Integration) -> DynamicsSettings {
    DynamicsSettings { integration, tolerance: 1e-12, iterations: 2000, ..DynamicsSettings::default() }
}

pub(super) fn run(
    model: &Model,
    mut state: State,
    environment: &Environment,
    settings: &DynamicsSettings,
    step: f64,
    steps: usize,
) -> State {
    let mut workspace = Workspace::default();
    for _ in 0..steps {
        let start = Start { model, state: &state, environment, step };
        let proposal = propose(&start, &Guidance::default(), settings, &mut workspace);
        state = finish(&start, proposal, settings, &mut workspace);
    }
    state
}

/// A smooth push that stretches, shears and bends.
fn disturb(state: &mut State) {
    for (point, velocity) in state.positions.iter().zip(&mut state.velocities) {
        *velocity =
            DVec3::new(point.y.sin(), 0.3 * (5.0 * point.x).cos(), (4.0 * point.x).sin() * (3.0 * point.y).cos());
    }
}

#[test]
fn free_fall_is_the_closed_form_of_each_scheme() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.5, 0.5), 6, 6)]).unwrap();
    let (step, count) = (0.01, 20);
    let n = f64::from(count);
    let end = run(&model, state.clone(), &vacuum(), &exact_solver(Integration::BackwardEuler), step, count as usize);
    let expected = -9.81 * step * step * n * (n + 1.0) / 2.0;
    for (before, after) in state.positions.iter().zip(&end.positions) {
        assert!((*after - *before - DVec3::Y * expected).length() < 1e-10);
    }
    let end = run(&model, state.clone(), &vacuum(), &exact_solver(Integration::Bdf2), step, count as usize);
    let (mut height, mut speed) = ([0.0, 0.0], [0.0, 0.0]);
    speed = [speed[1], speed[1] - 9.81 * step];
    height = [height[1], height[1] + step * speed[1]];
    for _ in 1..count {
        let new_speed = (4.0 * speed[1] - speed[0] - 2.0 * 9.81 * step) / 3.0;
        let new_height = (4.0 * height[1] - height[0] + 2.0 * step * new_speed) / 3.0;
        speed = [speed[1], new_speed];
        height = [height[1], new_height];
    }
    for (before, after) in state.positions.iter().zip(&end.positions) {
        assert!((*after - *before - DVec3::Y * height[1]).length() < 1e-10);
    }
}

#[test]
fn linear_momentum_is_kept_without_outer_forces() {
    let (model, mut state) = Model::build(&[cloth(DVec2::new(0.5, 0.4), 9, 7)]).unwrap();
    disturb(&mut state);
    let momentum = |state: &State| -> DVec3 { state.velocities.iter().zip(&model.masses).map(|(v, m)| *v * *m).sum() };
    let scale: f64 = state.velocities.iter().zip(&model.masses).map(|(v, m)| v.length() * m).sum();
    let before = momentum(&state);
    for integration in [Integration::BackwardEuler, Integration::Bdf2] {
        let (mut now, mut worst) = (state.clone(), 0.0f64);
        for _ in 0..40 {
            let last = momentum(&now);
            now = run(&model, now, &Environment::NOTHING, &exact_solver(integration), 0.005, 1);
            worst = worst.max((momentum(&now) - last).length() / scale);
        }
        let drift = (momentum(&now) - before).length() / scale;
        println!("{integration:?}: {worst:.1e} a step, {drift:.1e} in 40 steps, of the sum of all momenta");
        assert!(worst < 1e-12 && drift < 1e-11, "{integration:?}: {worst} {drift}");
    }
}

#[test]
fn a_hanging_strip_stretches_by_its_weight() {
    let mut piece = cloth(DVec2::new(0.05, 1.0), 2, 40);
    piece.fabric = Fabric { stretch_weft: 50.0, stretch_damping: 0.05, ..Fabric::default() };
    piece.pins = vec![VertexId(120), VertexId(121), VertexId(122)];
    let density = piece.fabric.density;
    let (model, state) = Model::build(&[piece]).unwrap();
    let settings = DynamicsSettings { tolerance: 1e-8, iterations: 1000, ..exact_solver(Integration::QuasiStatic) };
    let end = run(&model, state, &vacuum(), &settings, 0.2, 100);
    let expected = density * 9.81 / (2.0 * 50.0);
    let measured = -end.positions[1].y;
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} {expected}");
}

#[test]
fn stretched_cloth_creeps_back_to_rest_without_inertia() {
    let (model, mut state) = Model::build(&[cloth(DVec2::new(0.4, 0.4), 8, 8)]).unwrap();
    for point in &mut state.positions {
        *point *= 1.3;
    }
    let end = run(&model, state, &Environment::NOTHING, &exact_solver(Integration::QuasiStatic), 0.05, 60);
    let left = energy(&model, &end, DVec3::ZERO);
    assert!(left.membrane < 1e-8 && left.kinetic == 0.0, "{left:?}");
}

#[test]
fn pins_and_holds_are_met_exactly() {
    let mut piece = cloth(DVec2::new(0.4, 0.4), 8, 8);
    piece.pins = vec![VertexId(72), VertexId(80)];
    let (model, state) = Model::build(&[piece]).unwrap();
    let goal = state.positions[80] + DVec3::new(0.01, 0.02, 0.003);
    let held = DVec3::new(0.1, 0.05, 0.02);
    let guidance = Guidance {
        holds: vec![
            (VertexId(3), Hold::At(held)),
            (VertexId(80), Hold::At(goal)),
            (VertexId(5), Hold::OnPlane { normal: DVec3::Z, offset: 0.01 }),
        ],
        ..Guidance::default()
    };
    let environment = vacuum();
    let start = Start { model: &model, state: &state, environment: &environment, step: 0.01 };
    let proposal = propose(&start, &guidance, &DynamicsSettings::default(), &mut Workspace::default());
    assert_eq!(proposal.positions[72], state.positions[72]);
    assert_eq!(proposal.positions[80], goal);
    assert_eq!(proposal.positions[3], held);
    assert!((proposal.positions[5].z - 0.01).abs() < 1e-15);
    assert!(proposal.positions[5].y != state.positions[5].y);
}

#[test]
fn guidance_forces_push_and_their_stiffness_softens_the_push() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.2, 0.2), 2, 2)]).unwrap();
    let start = Start { model: &model, state: &state, environment: &Environment::NOTHING, step: 0.01 };
    let push = |stiffness: f64| {
        let mut guidance = Guidance { forces: vec![DVec3::ZERO; 9], stiffness: vec![0.0; 9], ..Guidance::default() };
        guidance.forces[4] = DVec3::Z * 0.1;
        guidance.stiffness[4] = stiffness;
        propose(&start, &guidance, &exact_solver(Integration::QuasiStatic), &mut Workspace::default()).positions[4].z
    };
    assert!(push(0.0) > 0.0 && push(1000.0) > 0.0 && push(1000.0) < 0.2 * push(0.0));
    assert!(push(1000.0) <= 0.1 / 1000.0);
}

/// Contact strains cloth, and the solver stops early; the piece as a whole still falls as it must.
#[test]
fn strained_cloth_falls_as_fast_as_any_other() {
    let (model, mut state) = Model::build(&[cloth(DVec2::new(0.2, 0.2), 8, 8)]).unwrap();
    for (k, point) in state.positions.iter_mut().enumerate() {
        point.x += 2e-3 * (1.7 * k as f64).sin();
    }
    let start = Start { model: &model, state: &state, environment: &vacuum(), step: 0.01 };
    let settings = DynamicsSettings { tolerance: 0.1, ..DynamicsSettings::default() };
    let proposal = propose(&start, &Guidance::default(), &settings, &mut Workspace::default());
    let weighted = proposal.velocities.iter().zip(&model.masses).map(|(velocity, mass)| *velocity * *mass);
    let mean = weighted.sum::<DVec3>() / model.masses.iter().sum::<f64>();
    assert!((mean - GRAVITY * 0.01).length() < 1e-8, "{mean}");
}

/// A triangle falls on a support between its corners: the point stays, the triangle may turn around it and slide.
#[test]
fn a_supported_point_stays_above_its_plane_in_both_models() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.1, 0.1), 1, 1)]).unwrap();
    let vertices = model.topology.triangles()[0];
    let support = Support {
        vertices,
        weights: [0.6, 0.3, 0.1],
        normal: DVec3::Y,
        offset: 0.0,
        friction: 0.0,
        carried: DVec3::ZERO,
        bearers: vertices,
        shares: [0.0; 3],
        stiffness: None,
    };
    let support = Support { offset: support.apply(&state.positions).y, ..support };
    let free_fall = 9.81 * 0.002 * 0.002;
    for cloth_model in [ClothModel::BaraffWitkin, ClothModel::MassSpring] {
        let settings = DynamicsSettings { model: cloth_model, ..exact_solver(Integration::BackwardEuler) };
        let start = Start { model: &model, state: &state, environment: &vacuum(), step: 0.002 };
        let guidance = Guidance { supports: vec![support], ..Guidance::default() };
        let proposal = propose(&start, &guidance, &settings, &mut Workspace::default());
        let depth = support.depth(&proposal.positions);
        assert!(depth < 0.1 * free_fall && depth > -1e-12, "{cloth_model:?}: {depth}");
        let nearest = proposal.positions[vertices[0].index()] - state.positions[vertices[0].index()];
        let farthest = proposal.positions[vertices[2].index()] - state.positions[vertices[2].index()];
        assert!(farthest.y < nearest.y, "{cloth_model:?}: it turns around the point");
    }
}

#[test]
fn sewing_draws_two_pieces_together() {
    let mut piece = cloth(DVec2::new(0.2, 0.2), 4, 4);
    let (second, uv) = sheet(DVec2::new(0.2, 0.2), 4, 4, Diagonals::Alternating);
    let offset = piece.mesh.append(&second).0 as u32;
    for point in &mut piece.mesh.positions[offset as usize..] {
        point.x += 0.25;
    }
    if let Rest::Panels(panels) = &mut piece.rest {
        panels.triangles.extend(uv.triangles.iter().map(|t| t.map(|index| index + offset)));
        panels.coordinates.extend(uv.coordinates);
    }
    piece.stitches = (0..5).map(|row| Stitch::pair(VertexId(5 * row + 4), VertexId(offset + 5 * row))).collect();
    let (model, state) = Model::build(&[piece]).unwrap();
    let end = run(&model, state, &Environment::NOTHING, &exact_solver(Integration::QuasiStatic), 0.05, 100);
    assert!(model.stitches.iter().all(|stitch| stitch.gap(&end.positions).length() < 1e-4));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut piece = cloth(DVec2::new(0.5, 0.5), 60, 60);
    piece.pins = vec![VertexId(0), VertexId(60)];
    let (model, mut state) = Model::build(&[piece]).unwrap();
    disturb(&mut state);
    let environment = Environment::default();
    let end = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&model, state.clone(), &environment, &DynamicsSettings::default(), 0.01, 3))
    };
    let one = end(1);
    assert_eq!(one, end(2));
    assert_eq!(one, end(3));
}

/// Errors of a schedule of steps against a fine one give the order of the scheme.
#[test]
fn backward_euler_converges_with_order_one_and_bdf2_with_order_two() {
    let mut piece = cloth(DVec2::new(0.2, 0.2), 3, 3);
    piece.fabric = Fabric { stretch_warp: 5.0, stretch_weft: 5.0, shear: 2.0, bend: 1e-4, ..Fabric::default() };
    piece.pins = vec![VertexId(12), VertexId(15)];
    let (model, mut state) = Model::build(&[piece]).unwrap();
    for (point, velocity) in state.positions.iter().zip(&mut state.velocities) {
        *velocity = DVec3::Z * (0.2 - point.y) + DVec3::X * (0.2 - point.y);
    }
    let at_end = |integration, steps: usize| {
        let settings = DynamicsSettings { newton: 8, ..exact_solver(integration) };
        run(&model, state.clone(), &vacuum(), &settings, 0.08 / steps as f64, steps).positions
    };
    let fine = at_end(Integration::Bdf2, 2560);
    let error = |integration, steps| -> f64 {
        at_end(integration, steps).iter().zip(&fine).map(|(a, b)| (*a - *b).length_squared()).sum::<f64>().sqrt()
    };
    for (integration, order) in [(Integration::BackwardEuler, 1.0), (Integration::Bdf2, 2.0)] {
        let measured = (error(integration, 40) / error(integration, 160)).log2() / 2.0;
        assert!((measured - order).abs() < 0.25, "{integration:?}: {measured}");
    }
}

/// Pins, a vertex on a plane and a moved handle: one step by factorisation is that of conjugate gradients driven to
/// the end, and the pattern of another cloth in the same memory is found out.
#[test]
fn the_direct_solve_is_that_of_conjugate_gradients() {
    let mut workspace = Workspace::default();
    for (columns, rows) in [(17, 11), (6, 9), (17, 11)] {
        let mut piece = cloth(DVec2::new(0.5, 0.4), columns, rows);
        piece.pins = vec![VertexId(0)];
        piece.stitches = vec![Stitch::pair(VertexId(1), VertexId((columns + 1) as u32 * 3))];
        let (model, mut state) = Model::build(&[piece]).unwrap();
        disturb(&mut state);
        let normal = DVec3::new(0.6, 0.0, 0.8);
        let middle = VertexId::new(columns / 2);
        let guidance = Guidance {
            holds: vec![
                (middle, Hold::OnPlane { normal, offset: 0.01 }),
                (VertexId::new(columns), Hold::At(DVec3::new(0.5, 0.02, 0.01))),
            ],
            ..Guidance::default()
        };
        let environment = Environment::default();
        let start = Start { model: &model, state: &state, environment: &environment, step: 0.01 };
        let by = |solver, workspace: &mut Workspace| {
            let settings = DynamicsSettings { solver, newton: 2, ..exact_solver(Integration::BackwardEuler) };
            propose(&start, &guidance, &settings, workspace)
        };
        let direct = by(LinearSolver::Direct, &mut workspace);
        let iterated = by(LinearSolver::ConjugateGradients, &mut workspace);
        assert_eq!((direct.report.iterations, direct.report.solves), (0, 2));
        assert!(direct.report.relative_residual < 1e-10, "{}", direct.report.relative_residual);
        for (a, b) in direct.positions.iter().zip(&iterated.positions) {
            assert!((*a - *b).length() < 1e-9, "{a} {b}");
        }
        assert_eq!(direct.positions[0], state.positions[0]);
        assert_eq!(direct.positions[columns], DVec3::new(0.5, 0.02, 0.01));
        assert!((direct.positions[middle.index()].dot(normal) - 0.01).abs() < 1e-12);
        assert_eq!(direct, by(LinearSolver::Direct, &mut Workspace::default()));
    }
}

/// A level sheet falls until the air carries it: `rho/2 C v^2 = density g`, in both models.
#[test]
fn a_level_sheet_falls_with_the_speed_at_which_air_carries_it() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.2, 0.2), 4, 4)]).unwrap();
    let expected = (2.0 * model.fabrics[0].density * 9.81 / (1.2 * 1.2)).sqrt();
    for cloth_model in [ClothModel::BaraffWitkin, ClothModel::MassSpring] {
        let mut level = state.clone();
        for point in &mut level.positions {
            *point = DVec3::new(point.x, 0.0, point.y);
        }
        let step = if cloth_model == ClothModel::MassSpring { 0.001 } else { 0.01 };
        let settings = DynamicsSettings { model: cloth_model, ..DynamicsSettings::default() };
        let end = run(&model, level, &Environment::default(), &settings, step, (1.0 / step) as usize);
        let speed = -end.velocities.iter().map(|velocity| velocity.y).sum::<f64>() / end.velocities.len() as f64;
        assert!((speed / expected - 1.0).abs() < 0.01, "{cloth_model:?}: {speed} {expected}");
    }
}

/// A plate at 30 degrees to the wind is pushed along it and lifted across it, as the formula of the module says.
#[test]
fn wind_drags_and_lifts_an_inclined_plate() {
    let (model, state) = Model::build(&[cloth(DVec2::new(0.5, 0.5), 5, 5)]).unwrap();
    let (sine, cosine) = 30f64.to_radians().sin_cos();
    let tilted: Vec<DVec3> = state.positions.iter().map(|p| DVec3::new(p.x * cosine, p.x * sine, p.y)).collect();
    let wind = crate::scene::environment::Wind { velocity: DVec3::X * 8.0, gusts: 0.0, gust_period: 2.0 };
    let environment = Environment { wind, ..Environment::default() };
    let still = vec![DVec3::ZERO; tilted.len()];
    let air = air::drag(&model, &environment, 0.0, &tilted, &still);
    let force: DVec3 = air.iter().map(|air| air.drag * air.wind).sum();
    let pressure = 0.5 * 1.2 * 64.0 * 0.25;
    let drag = pressure * (1.2 * sine * sine + 0.05 * cosine * cosine);
    let lift = pressure * (1.2 - 0.05) * sine * cosine;
    assert!((force.x - drag).abs() < 1e-9 && (force.y.abs() - lift).abs() < 1e-9 && force.z.abs() < 1e-9, "{force}");
}
