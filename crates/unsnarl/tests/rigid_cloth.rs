//! Cloth and rigid bodies together: momentum is exchanged, not lost; heavy cloth presses light bodies down; every run
//! gives the same bits.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use unsnarl::bodies::Body as Obstacle;
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::bodies::shape::Shape as Solid;
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::model::{Cloth, Model};
use unsnarl::rigid::{Body, Kind, Placement, RigidState, Shape};
use unsnarl::rigid_world::{Prescribed, RigidWorld};
use unsnarl::scene::environment::Environment;
use unsnarl::settings::{LinearSolver, Settings};
use unsnarl::simulation::{Flow, Simulation, World};

const FALL: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// A square sheet with its middle at a point, parallel to the ground.
fn sheet(side: f64, cells: usize, middle: DVec3, density: f64) -> Cloth {
    let mut mesh = TriMesh::default();
    for row in 0..=cells {
        for column in 0..=cells {
            let at = |k: usize| side * (k as f64 / cells as f64 - 0.5);
            mesh.positions.push(middle + DVec3::new(at(column), 0.0, at(row)));
        }
    }
    let width = cells as u32 + 1;
    for row in 0..cells as u32 {
        for column in 0..cells as u32 {
            let corner = row * width + column;
            let next = corner + width;
            mesh.triangles.extend([[corner, next, corner + 1], [corner + 1, next, next + 1]]);
        }
    }
    let mut cloth = Cloth::new("sheet", mesh);
    cloth.fabric.density = density;
    cloth
}

struct Free {
    shape: Shape,
    density: f64,
    place: DVec3,
    velocity: DVec3,
}

/// What is below.
#[derive(PartialEq)]
enum Ground {
    /// A floor at y = 0.
    Floor,
    Nothing,
}

/// Sheets and free bodies.
fn scene(sheets: &[Cloth], free: Vec<Free>, ground: Ground) -> Simulation {
    let (model, mut state) = Model::build(sheets).unwrap();
    let mut rigid = RigidWorld::default();
    let (mut obstacles, mut placements, mut velocities) = (Vec::new(), Vec::new(), Vec::new());
    if ground == Ground::Floor {
        obstacles.push(Obstacle::solid("floor", Solid::Plane, Keyframes::fixed(DVec3::ZERO), 0.5));
        rigid.prescribed.push(Prescribed { number: 0, body: 0, frame: Placement::default() });
        rigid.bodies.bodies.push(Body { friction: 0.5, ..Body::fixed(0) });
        rigid.bodies.shapes.push(Arc::new(Shape::half_space()));
        placements.push(Placement::default());
        velocities.push(DVec3::ZERO);
    }
    for (at, Free { shape, density, place, velocity }) in free.into_iter().enumerate() {
        let number = placements.len();
        let body = Body { friction: 0.4, ..Body::of_density(rigid.bodies.shapes.len(), &shape, density) };
        let surface = Arc::new(shape.mesh().clone());
        obstacles.push(Obstacle::simulated(format!("body {at}"), surface, number, 0.4, 0.001));
        rigid.bodies.bodies.push(body);
        rigid.bodies.shapes.push(Arc::new(shape));
        placements.push(Placement { position: place, ..Placement::default() });
        velocities.push(velocity);
    }
    state.rigid = RigidState::at_rest(placements, 1);
    state.rigid.velocities = velocities;
    let environment = Environment { gravity: FALL, ..Environment::NOTHING };
    let world = World::with_rigid(model, environment, obstacles, Vec::new(), rigid).unwrap();
    let mut settings = Settings::default();
    settings.time.step = 0.005;
    settings.dynamics.solver = LinearSolver::Direct;
    Simulation::new(world, state, settings)
}

fn momentum(simulation: &Simulation) -> DVec3 {
    let (world, state) = (&simulation.world, &simulation.state);
    let cloth: DVec3 = world.model.masses.iter().zip(&state.velocities).map(|(mass, v)| *v * *mass).sum();
    let bodies = world.rigid.bodies.bodies.iter().zip(&state.rigid.velocities);
    cloth + bodies.filter(|(body, _)| body.kind == Kind::Simulated).map(|(body, v)| *v * body.mass).sum::<DVec3>()
}

fn mass(simulation: &Simulation) -> f64 {
    let bodies = simulation.world.rigid.bodies.bodies.iter().filter(|body| body.kind == Kind::Simulated);
    simulation.world.model.masses.iter().sum::<f64>() + bodies.map(|body| body.mass).sum::<f64>()
}

fn advance(simulation: &mut Simulation, seconds: f64) -> unsnarl::report::FrameReport {
    simulation.advance(seconds, &mut |_| Flow::GoOn).unwrap()
}

/// A box flies into a sheet, off its middle, so that it turns too; everything falls. Light and heavy boxes.
#[test]
fn cloth_and_a_box_keep_their_momentum_in_free_fall() {
    for density in [20.0, 400.0] {
        let cloth = sheet(0.5, 12, DVec3::ZERO, 0.3);
        let free = Free {
            shape: Shape::cuboid(DVec3::new(0.06, 0.05, 0.07)).unwrap(),
            density,
            place: DVec3::new(0.06, -0.08, 0.03),
            velocity: DVec3::new(0.4, 3.0, 0.1),
        };
        let mut simulation = scene(&[cloth], vec![free], Ground::Nothing);
        let (start, whole) = (momentum(&simulation), mass(&simulation));
        let before = simulation.state.rigid.velocities[0];
        for frame in 1..=8 {
            let report = advance(&mut simulation, 1.0 / 50.0);
            let time = f64::from(frame) / 50.0;
            let expected = start + FALL * (whole * time);
            let drift = (momentum(&simulation) - expected).length();
            assert!(drift < 1e-9 * start.length(), "{density}: frame {frame}: {drift}");
            assert_eq!(report.intersecting_triangle_pairs, 0);
        }
        let lost = before.y - (simulation.state.rigid.velocities[0].y - FALL.y * 8.0 / 50.0);
        assert!(lost > 0.1, "the box has hit the sheet: {lost}");
        assert!(simulation.state.rigid.angular_momenta[0].length() > 0.0);
    }
}

/// A blanket falls on a heap of boxes and a ball that all fall with it, more slowly: they meet each other too.
#[test]
fn a_blanket_a_heap_and_a_ball_keep_their_momentum_in_free_fall() {
    let cloth = sheet(0.6, 14, DVec3::new(0.0, 0.26, 0.0), 0.4);
    let boxes = (0..8).map(|at: i32| {
        let (column, row, layer) = (f64::from(at % 2), f64::from(at / 2 % 2), f64::from(at / 4));
        Free {
            shape: Shape::cuboid(DVec3::splat(0.05)).unwrap(),
            density: 100.0 + 50.0 * layer,
            place: DVec3::new(0.11 * column - 0.05, 0.12 * layer, 0.112 * row - 0.06),
            velocity: DVec3::new(0.05 - 0.1 * column, 0.6 - 0.3 * layer, 0.0),
        }
    });
    let ball = Free {
        shape: Shape::sphere(0.06).unwrap(),
        density: 300.0,
        place: DVec3::new(0.2, 0.17, 0.05),
        velocity: DVec3::new(-0.3, 0.8, 0.1),
    };
    let mut simulation = scene(&[cloth], boxes.chain([ball]).collect(), Ground::Nothing);
    simulation.state.velocities.fill(DVec3::new(0.0, -1.5, 0.0));
    let (start, whole) = (momentum(&simulation), mass(&simulation));
    let mut impulses = 0;
    for frame in 1..=10 {
        let report = advance(&mut simulation, 1.0 / 50.0);
        impulses += report.rigid.unwrap().collision_impulses + report.rigid.unwrap().contact_impulses;
        let expected = start + FALL * (whole * f64::from(frame) / 50.0);
        let drift = (momentum(&simulation) - expected).length();
        assert!(drift < 1e-9 * start.length(), "frame {frame}: {drift}");
        assert_eq!(report.intersecting_triangle_pairs, 0, "frame {frame}");
    }
    assert!(impulses > 0, "bodies meet");
    assert!(simulation.state.loads.iter().filter(|load| load.impulse.length() > 0.0).count() > 2, "cloth is on bodies");
}

/// Without rounds of coupling a body that weighs a tenth of the sheet would be thrown off faster than the sheet came.
#[test]
fn a_light_body_is_not_thrown_off_by_a_heavy_sheet() {
    let cloth = sheet(0.3, 8, DVec3::new(0.0, 0.07, 0.0), 4.0);
    let free = Free {
        shape: Shape::cuboid(DVec3::new(0.1, 0.05, 0.1)).unwrap(),
        density: 10.0,
        place: DVec3::ZERO,
        velocity: DVec3::ZERO,
    };
    let mut simulation = scene(&[cloth], vec![free], Ground::Nothing);
    simulation.world.environment.gravity = DVec3::ZERO;
    let speed = 1.0;
    simulation.state.velocities.fill(DVec3::new(0.0, -speed, 0.0));
    let mut fastest: f64 = 0.0;
    for _ in 0..10 {
        advance(&mut simulation, 0.01);
        fastest = fastest.max(-simulation.state.rigid.velocities[0].y);
    }
    assert!(fastest > 0.5 * speed, "the sheet takes the box along: {fastest}");
    assert!(fastest < 1.3 * speed, "{fastest}");
}

/// A sheet that lies on a box, all of it: the box on the floor carries the weight of the sheet.
#[test]
fn a_box_carries_the_weight_of_the_sheet_on_it() {
    let cloth = sheet(0.24, 8, DVec3::new(0.0, 0.103, 0.0), 2.0);
    let weight = 0.24 * 0.24 * 2.0 * 9.81;
    let free = Free {
        shape: Shape::cuboid(DVec3::new(0.15, 0.05, 0.15)).unwrap(),
        density: 30.0,
        place: DVec3::new(0.0, 0.05, 0.0),
        velocity: DVec3::ZERO,
    };
    let mut simulation = scene(&[cloth], vec![free], Ground::Floor);
    advance(&mut simulation, 1.0);
    let mut load = 0.0;
    for _ in 0..20 {
        advance(&mut simulation, 0.005);
        load -= simulation.state.loads[1].impulse.y / 20.0;
    }
    assert!((load - weight).abs() < 0.02 * weight, "{load} instead of {weight}");
    assert!((simulation.state.rigid.placements[1].position.y - 0.05).abs() < 1e-3);
}

/// A plank that juts out over a block stays; with a sheet on its end it tips.
#[test]
fn a_sheet_tips_a_plank() {
    for (density, tips) in [(0.01, false), (4.0, true)] {
        let cloth = sheet(0.2, 6, DVec3::new(0.28, 0.243, 0.0), density);
        let block = Free {
            shape: Shape::cuboid(DVec3::new(0.2, 0.1, 0.2)).unwrap(),
            density: 2000.0,
            place: DVec3::new(-0.1, 0.1, 0.0),
            velocity: DVec3::ZERO,
        };
        let plank = Free {
            shape: Shape::cuboid(DVec3::new(0.36, 0.02, 0.1)).unwrap(),
            density: 60.0,
            place: DVec3::new(0.04, 0.22, 0.0),
            velocity: DVec3::ZERO,
        };
        let mut simulation = scene(&[cloth], vec![block, plank], Ground::Floor);
        advance(&mut simulation, 0.5);
        let turned = simulation.state.rigid.placements[2].rotation * DVec3::X;
        assert_eq!(turned.y < -0.05, tips, "{density}: {turned}");
    }
}

/// One thread and two, and a run that goes on from a copy of its state.
#[test]
fn threads_and_a_fresh_start_change_no_bit() {
    let build = || {
        let cloth = sheet(0.4, 10, DVec3::new(0.0, 0.25, 0.0), 0.5);
        let free = |x: f64| Free {
            shape: Shape::cuboid(DVec3::splat(0.05)).unwrap(),
            density: 200.0,
            place: DVec3::new(x, 0.05, 0.01),
            velocity: DVec3::ZERO,
        };
        scene(&[cloth], vec![free(-0.06), free(0.06)], Ground::Floor)
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = build();
            advance(&mut simulation, 0.2);
            let middle = simulation.state.clone();
            advance(&mut simulation, 0.1);
            (middle, simulation.state)
        })
    };
    let ((middle, end), (middle_of_two, end_of_two)) = (run(1), run(2));
    assert!(middle == middle_of_two && end == end_of_two);
    let mut again = build();
    again.state = middle;
    advance(&mut again, 0.1);
    assert!(again.state == end);
    assert!(end.loads.iter().any(|load| load.impulse != DVec3::ZERO), "cloth lies on the boxes");
}
