//! Closed meshes that cloth feels by a level set of their inside, beside meshes that it feels by their triangles.

#![allow(clippy::unwrap_used)]

use unsnarl::bodies::keyframes::{Keyframe, Keyframes};
use unsnarl::bodies::moving_mesh::{MeshKey, MovingMesh};
use unsnarl::bodies::volume::VolumeError;
use unsnarl::bodies::{Body, shape::Shape};
use unsnarl::contact::CollisionMethod;
use unsnarl::geometry::math::DQuat;
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::model::{Cloth, Model};
use unsnarl::scene::environment::Environment;
use unsnarl::settings::Settings;
use unsnarl::simulation::{Flow, Simulation, World};

const STEP: f64 = 1.0 / 120.0;

fn sheet(columns: usize, rows: usize, place: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    let mut mesh = TriMesh::default();
    let width = columns as u32 + 1;
    for row in 0..=rows {
        for column in 0..=columns {
            mesh.positions.push(place(column as f64 / columns as f64, row as f64 / rows as f64));
            if row > 0 && column > 0 {
                let at = row as u32 * width + column as u32;
                mesh.triangles.extend([[at - width - 1, at - width, at - 1], [at - width, at, at - 1]]);
            }
        }
    }
    mesh
}

/// A box with its top at y = 0, as a mesh that is felt by its level set; `at` gives the motion of its vertices.
fn block(half: DVec3, friction: f64, keys: &[(f64, DVec3)], motion: Keyframes) -> Body {
    let corner = |at: u32| {
        let sign = |bit: u32| if at >> bit & 1 == 1 { 1.0 } else { -1.0 };
        half * DVec3::new(sign(0), sign(1) - 1.0, sign(2))
    };
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let key =
        |&(time, shift): &(f64, DVec3)| MeshKey { time, positions: (0..8).map(|at| corner(at) + shift).collect() };
    let mesh = MovingMesh::new(triangles, keys.iter().map(key).collect(), motion).unwrap();
    Body::mesh("block", mesh, friction, 1e-3).with_level_set(Some(half.max_element() / 40.0)).unwrap()
}

fn simulation(cloth: Cloth, bodies: Vec<Body>, method: CollisionMethod) -> Simulation {
    let (model, state) = Model::build(&[cloth]).unwrap();
    let environment = Environment { gravity: DVec3::new(0.0, -9.81, 0.0), ..Environment::NOTHING };
    let mut settings = Settings::default();
    settings.collision.method = method;
    Simulation::new(World::new(model, environment, bodies, Vec::new()).unwrap(), state, settings)
}

fn run(simulation: &mut Simulation, steps: usize) -> usize {
    (0..steps).map(|_| simulation.advance(STEP, &mut |_| Flow::GoOn).unwrap().intersecting_triangle_pairs).sum()
}

fn middle(simulation: &Simulation) -> DVec3 {
    simulation.state.positions.iter().sum::<DVec3>() / simulation.state.positions.len() as f64
}

/// As on the analytic plane: at 15 degrees friction holds, at 40 cloth slides as a block does; by the level set alone, and with
/// the triangles beside it.
#[test]
fn a_slope_of_samples_holds_and_lets_slide_as_a_plane_does() {
    for method in [CollisionMethod::Solids, CollisionMethod::Pipeline] {
        for angle_degrees in [15.0_f64, 40.0] {
            let angle = angle_degrees.to_radians();
            let tilt = DQuat::from_rotation_z(angle);
            let place = |x: f64, z: f64| tilt * DVec3::new(0.2 * (x - 0.5) + 0.6, 0.0012, 0.1 * (0.5 - z));
            let mut cloth = Cloth::new("flat", sheet(10, 5, place));
            cloth.fabric.friction = 0.5;
            let motion = Keyframes::new(vec![Keyframe { time: 0.0, position: DVec3::ZERO, rotation: tilt }]);
            let body = block(DVec3::new(1.5, 0.3, 0.3), 0.5, &[(0.0, DVec3::ZERO)], motion);
            let mut simulation = simulation(cloth, vec![body], method);
            run(&mut simulation, 30);
            let (settled, before) = (middle(&simulation), simulation.state.time);
            assert_eq!(run(&mut simulation, 30), 0);
            let moved = (tilt.inverse() * (middle(&simulation) - settled)).x.abs();
            let push = (angle.sin() - 0.5 * angle.cos()).max(0.0);
            let expected = 0.5 * 9.81 * push * (simulation.state.time.powi(2) - before.powi(2));
            assert!(
                (moved - expected).abs() < 0.03 * expected + 1e-4,
                "{method:?} {angle_degrees}: {moved} {expected}"
            );
        }
    }
}

/// A block that slides away, once because it is moved and once because its vertices are, takes cloth along.
#[test]
fn moving_and_deforming_level_sets_carry_cloth() {
    let far = DVec3::new(0.4, 0.0, 0.0);
    let key = |time: f64, position: DVec3| Keyframe { time, position, rotation: DQuat::IDENTITY };
    let half = DVec3::new(0.5, 0.1, 0.3);
    let moved = block(half, 0.8, &[(0.0, DVec3::ZERO)], Keyframes::new(vec![key(0.0, DVec3::ZERO), key(2.0, far)]));
    let deformed = block(half, 0.8, &[(0.0, DVec3::ZERO), (2.0, far)], Keyframes::fixed(DVec3::ZERO));
    for body in [moved, deformed] {
        let mut cloth = Cloth::new("flat", sheet(6, 6, |x, z| DVec3::new(0.1 * x, 0.0012, 0.1 * (0.5 - z))));
        cloth.fabric.friction = 0.8;
        let mut simulation = simulation(cloth, vec![body], CollisionMethod::Solids);
        run(&mut simulation, 30);
        let before = middle(&simulation);
        run(&mut simulation, 30);
        let speed = (middle(&simulation) - before).x / (30.0 * STEP);
        assert!((speed - 0.2).abs() < 2e-3, "{speed}");
    }
}

/// Cloth falls on a ball that is a level set and hangs over a plate of no thickness, which is triangles, and over an analytic
/// rod: clean after every step.
#[test]
fn level_sets_triangles_and_solids_share_a_scene() {
    let mut ball = sheet(24, 12, |around, along| {
        let (turn, rise) = (std::f64::consts::TAU * around, std::f64::consts::PI * along);
        0.1 * DVec3::new(rise.sin() * turn.cos(), -rise.cos(), rise.sin() * turn.sin())
    });
    weld(&mut ball);
    // Rows run upward and columns around: turned over, the triangles look outward.
    ball.triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
    let mesh = MovingMesh::rigid(ball.triangles, ball.positions, Keyframes::fixed(DVec3::new(0.0, -0.11, 0.0)));
    let ball = Body::mesh("ball", mesh, 0.3, 1e-3).with_level_set(None).unwrap();
    let plate = sheet(4, 4, |z, y| DVec3::new(0.16, -0.05 - 0.3 * y, 0.6 * (z - 0.5)));
    let plate = MovingMesh::rigid(plate.triangles, plate.positions, Keyframes::fixed(DVec3::ZERO));
    let plate = Body::mesh("plate", plate, 0.3, 1e-3);
    let place = Keyframes::fixed(DVec3::new(-0.16, -0.1, 0.0));
    let rod = Body::solid("rod", Shape::Capsule { radius: 0.02, half_length: 0.05 }, place, 0.3);
    let cloth = Cloth::new("cloth", sheet(16, 12, |x, z| DVec3::new(0.44 * (x - 0.5), 0.0, 0.3 * (0.5 - z))));
    let mut simulation = simulation(cloth, vec![ball, plate, rod], CollisionMethod::Pipeline);
    assert_eq!(run(&mut simulation, 60), 0);
    let top = simulation.state.positions.iter().map(|point| point.y).fold(f64::MIN, f64::max);
    assert!(top > -0.015, "{top}");
}

/// Joins vertices at one place and drops triangles that have collapsed.
fn weld(mesh: &mut TriMesh) {
    let mut kept: Vec<DVec3> = Vec::new();
    let mut number = Vec::new();
    for point in &mesh.positions {
        let known = kept.iter().position(|other| (*other - *point).length() < 1e-9);
        number.push(known.unwrap_or(kept.len()) as u32);
        if known.is_none() {
            kept.push(*point);
        }
    }
    let renamed = mesh.triangles.iter().map(|corners| corners.map(|corner| number[corner as usize]));
    mesh.triangles = renamed.filter(|&[a, b, c]| a != b && b != c && c != a).collect();
    mesh.positions = kept;
}

#[test]
fn an_open_mesh_has_no_inside() {
    let plate = sheet(4, 4, |x, y| DVec3::new(x, y, 0.0));
    let mesh = MovingMesh::rigid(plate.triangles, plate.positions, Keyframes::fixed(DVec3::ZERO));
    let error = Body::mesh("plate", mesh, 0.3, 1e-3).with_level_set(None).unwrap_err();
    assert_eq!(error, VolumeError::Open { borders: 16, edges: 56 });
}
