//! Rigid bodies against theory: slopes, collisions, stacks, rolling, momentum, determinism. (Bridson 2003, chapter 4)

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use unsnarl::geometry::math::DQuat;
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::rigid::{
    Bodies, Body, Kind, Placement, Report, RigidState, Settings, Shape, ShapeError, ShapeSettings, StepOrder, Switch,
    Workspace, advance, contact_levels, deepest,
};
use unsnarl::samples::random::Random;

const G: f64 = 9.81;
const STEP: f64 = 1.0 / 240.0;

struct World {
    bodies: Bodies,
    state: RigidState,
    settings: Settings,
    gravity: DVec3,
    workspace: Workspace,
}

impl World {
    fn new() -> Self {
        Self {
            bodies: Bodies::default(),
            state: RigidState::at_rest(Vec::new(), 7),
            settings: Settings::default(),
            gravity: DVec3::NEG_Y * G,
            workspace: Workspace::default(),
        }
    }

    fn shape(&mut self, shape: Shape) -> usize {
        self.bodies.shapes.push(Arc::new(shape));
        self.bodies.shapes.len() - 1
    }

    fn put(&mut self, body: Body, position: DVec3, rotation: DQuat) -> usize {
        self.bodies.bodies.push(body);
        let mut placements = std::mem::take(&mut self.state.placements);
        placements.push(Placement { position, rotation });
        let (velocities, momenta) = (self.state.velocities.clone(), self.state.angular_momenta.clone());
        self.state = RigidState::at_rest(placements, 7);
        self.state.velocities[..velocities.len()].copy_from_slice(&velocities);
        self.state.angular_momenta[..momenta.len()].copy_from_slice(&momenta);
        self.bodies.bodies.len() - 1
    }

    fn body(&self, shape: usize, restitution: f64, friction: f64) -> Body {
        Body { restitution, friction, ..Body::of_density(shape, &self.bodies.shapes[shape], 1000.0) }
    }

    /// A half space whose surface goes through the origin, turned about z.
    fn ground(&mut self, slope_degrees: f64, friction: f64) -> usize {
        let shape = self.shape(Shape::half_space());
        let turn = DQuat::from_rotation_z(slope_degrees.to_radians());
        self.put(Body { friction, ..Body::fixed(shape) }, DVec3::ZERO, turn)
    }

    fn run(&mut self, seconds: f64, step: f64) -> Report {
        let mut report = Report::default();
        for _ in 0..(seconds / step).round() as usize {
            report = self.once(step);
        }
        report
    }

    fn once(&mut self, step: f64) -> Report {
        advance(&self.bodies, &mut self.state, step, self.gravity, &[], &self.settings, &mut self.workspace)
    }

    fn at(&self, body: usize) -> DVec3 {
        self.state.placements[body].position
    }
}

/// A block of side 0.2 that lies on a slope through the origin.
fn block_on_slope(degrees: f64, friction: f64) -> (World, usize, DVec3) {
    let mut world = World::new();
    world.ground(degrees, friction);
    let shape = world.shape(Shape::cuboid(DVec3::splat(0.1)).unwrap());
    let turn = DQuat::from_rotation_z(degrees.to_radians());
    let body = world.body(shape, 1.0, friction);
    let block = world.put(body, turn * DVec3::Y * 0.1, turn);
    (world, block, turn * DVec3::NEG_X)
}

#[test]
fn a_block_at_rest_on_a_slope_stays_and_in_the_standard_order_it_leaves() {
    let (mut world, block, _) = block_on_slope(20.0, 0.5);
    let start = world.at(block);
    world.run(10.0, STEP);
    let moved = world.at(block).distance(start);
    assert!(moved < 1e-9, "moved {moved:e}");

    let (mut control, block, _) = block_on_slope(20.0, 0.5);
    control.settings.order = StepOrder::Standard;
    control.run(10.0, STEP);
    let moved = control.at(block).distance(start);
    assert!(moved > 0.1, "the standard order moved it by {moved}");
}

#[test]
fn a_block_slides_by_the_closed_form_of_the_scheme_and_by_theory() {
    for (step, seconds) in [(STEP, 1.0), (1e-3, 2.0)] {
        let (mut world, block, downhill) = block_on_slope(30.0, 0.2);
        let start = world.at(block);
        world.run(seconds, step);
        let angle = 30f64.to_radians();
        let acceleration = G * (angle.sin() - 0.2 * angle.cos());
        let count = (seconds / step).round();
        let expected = acceleration * step * step * count * (count + 1.0) / 2.0;
        let found = (world.at(block) - start).dot(downhill);
        assert!((found - expected).abs() < 1e-9, "step {step}: {found} instead of {expected}");
        let speed = world.state.velocities[block].dot(downhill);
        assert!((speed - acceleration * seconds).abs() < 1e-9, "step {step}: speed {speed}");
        if step == 1e-3 {
            let theory = 0.5 * acceleration * seconds * seconds;
            assert!((found / theory - 1.0).abs() < 1e-3, "{found} by theory {theory}");
        }
    }
}

#[test]
fn a_block_that_friction_stops_comes_to_rest_when_theory_says() {
    let (mut world, block, downhill) = block_on_slope(15.0, 0.5);
    world.state.velocities[block] = 2.0 * downhill;
    let start = world.at(block);
    let angle = 15f64.to_radians();
    let braking = G * (0.5 * angle.cos() - angle.sin());
    let (mut speed, mut way, step) = (2.0f64, 0.0, 1e-3);
    for at in 0..1500 {
        world.once(step);
        speed = (speed - step * braking).max(0.0);
        way += step * speed;
        let found = (world.at(block) - start).dot(downhill);
        assert!((found - way).abs() < 1e-9, "step {at}: {found} instead of {way}");
    }
    // Half a step short of theory: the speed of a step is the one at its end.
    let theory = 2.0 * 2.0 / (2.0 * braking);
    assert!((way - (theory - 0.5 * step * 2.0)).abs() < 1e-5, "{way} by theory {theory}");
    let left = world.state.velocities[block].length();
    assert!(left < 1e-12, "still moves at {left:e}");
}

#[test]
fn a_shock_goes_through_a_row_of_balls_and_the_last_one_ends_rolling() {
    let mut world = World::new();
    world.ground(0.0, 0.1);
    let radius = 0.03;
    let shape = world.shape(Shape::sphere(radius).unwrap());
    let ball = |world: &mut World, x: f64| {
        let body = world.body(shape, 1.0, 0.1);
        world.put(body, DVec3::new(x, radius, 0.0), DQuat::IDENTITY)
    };
    let cue = ball(&mut world, -0.002 - 2.0 * radius);
    let row: Vec<usize> = (0..4).map(|k| ball(&mut world, 2.0 * radius * f64::from(k))).collect();
    world.state.velocities[cue] = DVec3::X;
    let speed = |world: &World, body: usize| world.state.velocities[body].x;
    let mut launched = 0.0;
    while launched == 0.0 {
        world.once(STEP);
        launched = speed(&world, row[3]);
    }
    assert!(launched > 0.95, "the last ball leaves at {launched}");
    assert!(speed(&world, cue).abs() < 0.05, "the first keeps {}", speed(&world, cue));
    world.run(0.6, STEP);
    let (last, spin) = (speed(&world, row[3]), world.state.spin(&world.bodies, row[3]));
    assert!((last + radius * spin.z).abs() < 0.01 * last, "rolls at {last}, spins at {spin}");
    assert!((last / (launched * 5.0 / 7.0) - 1.0).abs() < 0.01, "rolls at {last}, left at {launched}");
}

/// What collisions do not see, contact must not see either: else the bounce is lost.
#[test]
fn free_flight_never_ends_in_an_inelastic_bounce() {
    for start in 0..60 {
        let mut world = World::new();
        world.ground(0.0, 0.0);
        let shape = world.shape(Shape::sphere(0.05).unwrap());
        let body = world.body(shape, 1.0, 0.0);
        let ball = world.put(body, DVec3::Y * (0.1 + 0.0017 * f64::from(start)), DQuat::IDENTITY);
        let mut before = 0.0;
        for _ in 0..200 {
            world.once(STEP);
            let speed = world.state.velocities[ball].y;
            if speed > before + 1e-12 {
                assert!(speed > -before - 1.01 * STEP * G, "hit at {before}, left at {speed}");
                break;
            }
            before = speed;
        }
        assert!(world.state.velocities[ball].y > 0.5, "it bounced");
    }
}

#[test]
fn a_stack_of_ten_boxes_of_one_size_rests() {
    let mut world = World::new();
    world.ground(0.0, 0.5);
    let shape = world.shape(Shape::cuboid(DVec3::splat(0.1)).unwrap());
    let boxes: Vec<usize> = (0..10)
        .map(|k| {
            let body = world.body(shape, 0.3, 0.5);
            world.put(body, DVec3::Y * (0.1 + 0.2 * f64::from(k)), DQuat::IDENTITY)
        })
        .collect();
    let levels = contact_levels(&world.bodies, &world.state, STEP, world.gravity, &world.settings);
    assert_eq!(levels, (0..11).collect::<Vec<u32>>());
    let report = world.run(2.0, STEP);
    assert!(report.fastest < 1e-6, "moves at {:e}", report.fastest);
    assert!(report.deepest < 0.001 * 0.2, "depth {}", report.deepest);
    for (k, &body) in boxes.iter().enumerate() {
        let at = DVec3::Y * (0.1 + 0.2 * k as f64);
        assert!(world.at(body).distance(at) < 1e-6, "box {k} is at {}", world.at(body));
    }
}

/// A plank on a stack, a small box on one end, a large one falls on the other. Returns the largest turn in a second.
fn plank(contact_sweeps: usize) -> f64 {
    let mut world = World::new();
    world.settings.contact_sweeps = contact_sweeps;
    world.ground(0.0, 0.5);
    let small = world.shape(Shape::cuboid(DVec3::splat(0.1)).unwrap());
    let long = world.shape(Shape::cuboid(DVec3::new(0.6, 0.02, 0.1)).unwrap());
    let large = world.shape(Shape::cuboid(DVec3::splat(0.15)).unwrap());
    let put = |world: &mut World, shape: usize, x: f64, y: f64| {
        let body = world.body(shape, 0.0, 0.5);
        world.put(body, DVec3::new(x, y, 0.0), DQuat::IDENTITY)
    };
    put(&mut world, small, 0.0, 0.1);
    put(&mut world, small, 0.0, 0.3);
    let plank = put(&mut world, long, 0.0, 0.42);
    put(&mut world, small, -0.45, 0.54);
    put(&mut world, large, 0.45, 0.62);
    let mut turned = 0.0f64;
    for _ in 0..240 {
        world.once(STEP);
        turned = turned.max(world.state.placements[plank].rotation.to_scaled_axis().length());
    }
    turned
}

#[test]
fn a_box_that_falls_on_a_plank_flips_it_unless_shock_alone_holds_it() {
    let (with_weight, shock_only) = (plank(10), plank(0));
    assert!(with_weight > 0.35, "turned by {with_weight}");
    assert!(shock_only < 0.5 * with_weight, "shock alone turned it by {shock_only}, contact by {with_weight}");
}

/// A block of some times the density right and a light one left on a see-saw; all but the light one's friction is given.
/// The tilts (radians, positive to the left) over time.
fn see_saw(contact_sweeps: usize, seconds: f64, heavy: f64, slippery: f64) -> Vec<f64> {
    let mut world = World::new();
    world.settings.contact_sweeps = contact_sweeps;
    world.ground(0.0, slippery);
    let pivot = world.shape(Shape::capsule(0.15, 0.3).unwrap());
    let board = world.shape(Shape::cuboid(DVec3::new(0.6, 0.02, 0.15)).unwrap());
    let block = world.shape(Shape::cuboid(DVec3::splat(0.08)).unwrap());
    let along_z = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    world.put(Body { friction: 0.9, ..Body::fixed(pivot) }, DVec3::Y * 0.15, along_z);
    let body = world.body(board, 0.0, slippery);
    let board = world.put(body, DVec3::Y * 0.32, DQuat::IDENTITY);
    for (x, factor, friction) in [(0.45, heavy, slippery), (-0.45, 1.0, 0.9)] {
        let body = world.body(block, 0.0, friction);
        let body = Body { mass: body.mass * factor, inertia: body.inertia * factor, ..body };
        world.put(body, DVec3::new(x, 0.42, 0.0), DQuat::IDENTITY);
    }
    let tilt = |world: &World| (world.state.placements[board].rotation * DVec3::X).y.asin();
    (0..(seconds / STEP) as usize)
        .map(|_| {
            world.once(STEP);
            tilt(&world)
        })
        .collect()
}

#[test]
fn a_see_saw_tips_to_the_heavy_block_and_back_when_that_slides_off() {
    let tilts = see_saw(10, 5.0, 1.5, 0.2);
    let down = tilts.iter().position(|&tilt| tilt < -0.2);
    let back = tilts.iter().rposition(|&tilt| tilt > 0.2);
    assert!(down.is_some(), "lowest {:?}", tilts.iter().copied().reduce(f64::min));
    assert!(back.is_some() && back > down, "last {:?}", tilts.last());
    let down = down.unwrap();
    let shock_only = see_saw(0, (down + 1) as f64 * STEP, 1.5, 0.2);
    let tipped = shock_only.iter().fold(0.0f64, |most, tilt| most.max(tilt.abs()));
    assert!(tipped < 0.1, "with shock alone it tips by {tipped} in the same time");
}

/// Sixteen dominoes in a circle that all lean by an angle; returns the world and the deepest overlap.
fn dominoes(lean: f64) -> (World, f64) {
    let mut world = World::new();
    world.ground(0.0, 0.5);
    let half = DVec3::new(0.06, 0.2, 0.1);
    let shape = world.shape(Shape::cuboid(half).unwrap());
    for k in 0..16 {
        let angle = std::f64::consts::TAU * f64::from(k) / 16.0;
        // x of a domino points along the circle.
        let turn = DQuat::from_rotation_y(angle) * DQuat::from_rotation_z(-lean);
        let height = half.y * lean.cos() + half.x * lean.sin();
        let body = world.body(shape, 0.0, 0.5);
        world.put(body, DVec3::new(0.5 * angle.sin(), height, 0.5 * angle.cos()), turn);
    }
    let depth = deepest(&world.bodies, &world.state, &world.settings);
    (world, depth)
}

#[test]
fn dominoes_that_lean_on_each_other_in_a_circle_share_one_level() {
    let (mut free, mut touching) = (0.0, 1.2);
    assert!(dominoes(free).1 < 1e-9 && dominoes(touching).1 > 1e-3);
    for _ in 0..40 {
        let middle = 0.5 * (free + touching);
        if dominoes(middle).1 > 1e-9 { touching = middle } else { free = middle }
    }
    let (world, _) = dominoes(touching);
    let levels = contact_levels(&world.bodies, &world.state, STEP, world.gravity, &world.settings);
    assert_eq!(levels[0], 0);
    assert!(levels[1..].iter().all(|&level| level == 1), "{levels:?} at a lean of {touching}");
}

fn ball_on_ground(rolling: f64, spinning: f64) -> (World, usize) {
    let mut world = World::new();
    world.ground(0.0, 0.5);
    let shape = world.shape(Shape::sphere(0.1).unwrap());
    let body = Body { rolling, spinning, ..world.body(shape, 0.0, 0.5) };
    let ball = world.put(body, DVec3::Y * 0.1, DQuat::IDENTITY);
    (world, ball)
}

#[test]
fn a_rolling_ball_slows_down_by_theory_and_stops() {
    for density in [1.0, 1000.0] {
        let (mut world, ball) = ball_on_ground(0.002, 0.0);
        world.bodies.bodies[ball].mass *= density;
        world.bodies.bodies[ball].inertia *= density;
        world.state.velocities[ball] = DVec3::X;
        world.state.set_spin(&world.bodies, ball, DVec3::NEG_Z * 10.0);
        world.run(2.0, STEP);
        let slowing = (1.0 - world.state.velocities[ball].x) / 2.0;
        let theory = 5.0 / 7.0 * G * 0.002 / 0.1;
        assert!((slowing / theory - 1.0).abs() < 0.01, "slows by {slowing}, theory {theory}");
        for _ in 0..(6.0 / STEP) as usize {
            world.once(STEP);
            assert!(world.state.velocities[ball].x > -1e-9, "rolls back");
        }
        assert!(world.state.velocities[ball].length() < 1e-9, "{}", world.state.velocities[ball]);
    }
}

#[test]
fn a_spinning_ball_slows_down_by_theory_and_stops() {
    let (mut world, ball) = ball_on_ground(0.0, 0.001);
    world.state.set_spin(&world.bodies, ball, DVec3::Y * 10.0);
    world.run(2.0, STEP);
    let slowing = (10.0 - world.state.spin(&world.bodies, ball).y) / 2.0;
    let theory = 2.5 * G * 0.001 / 0.01;
    assert!((slowing / theory - 1.0).abs() < 0.01, "slows by {slowing}, theory {theory}");
    for _ in 0..(3.0 / STEP) as usize {
        world.once(STEP);
        assert!(world.state.spin(&world.bodies, ball).y > -1e-9, "turns back");
    }
    assert!(world.state.spin(&world.bodies, ball).length() < 1e-9);
}

/// Mixed shapes at random places around a point, with velocities towards it.
fn cloud(count: usize, seed: u64, restitution: f64, gravity: DVec3) -> World {
    let mut world = World::new();
    world.gravity = gravity;
    let mut random = Random::new(seed);
    let block = Shape::cuboid(DVec3::new(0.1, 0.15, 0.08)).unwrap();
    let tube = Shape::ring(0.15, 0.04).unwrap();
    let mesh = Shape::from_mesh(tube.mesh(), &ShapeSettings::default()).unwrap();
    let shapes = [
        Shape::sphere(0.12).unwrap(),
        block,
        Shape::capsule(0.06, 0.1).unwrap(),
        tube,
        mesh,
        Shape::cylinder(0.1, 0.08).unwrap(),
    ]
    .map(|shape| world.shape(shape));
    for k in 0..count {
        let cell = DVec3::new((k % 3) as f64, (k / 3 % 3) as f64, (k / 9) as f64) - DVec3::ONE;
        let body = world.body(shapes[k % 6], restitution, 0.3);
        let at = cell * 0.45 + DVec3::Y * 0.9;
        let body = world.put(body, at, DQuat::from_scaled_axis(random.direction() * 2.0));
        world.state.velocities[body] = -cell * random.between(0.5, 1.5);
        world.state.set_spin(&world.bodies, body, random.direction() * 3.0);
    }
    world
}

#[test]
fn collisions_in_free_space_keep_momentum_linear_and_angular() {
    let mut world = cloud(18, 5, 0.5, DVec3::ZERO);
    world.settings.separation = Switch::Off;
    let momenta = |world: &World| {
        let (mut linear, mut angular, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for (at, body) in world.bodies.bodies.iter().enumerate() {
            let momentum = body.mass * world.state.velocities[at];
            linear += momentum;
            angular += world.at(at).cross(momentum) + world.state.angular_momenta[at];
            size += momentum.length();
        }
        (linear, angular, size)
    };
    let (linear, angular, size) = momenta(&world);
    let mut impulses = 0;
    for _ in 0..120 {
        let report = world.once(STEP);
        impulses += report.collision_impulses;
    }
    let (linear_after, angular_after, _) = momenta(&world);
    assert!(impulses > 30, "{impulses} impulses");
    assert!((linear_after - linear).length() < 1e-12 * size, "{:e}", (linear_after - linear).length() / size);
    assert!((angular_after - angular).length() < 1e-12 * size, "{:e}", (angular_after - angular).length() / size);
}

#[test]
fn threads_and_resuming_do_not_change_a_bit() {
    let run = |threads: usize, cut: Option<usize>| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = cloud(27, 9, 0.2, DVec3::NEG_Y * G);
            world.ground(0.0, 0.4);
            for at in 0..120 {
                if Some(at) == cut {
                    // All that a file would hold.
                    world.state = world.state.clone();
                    world.workspace = Workspace::default();
                }
                world.once(STEP);
            }
            assert!(world.state.is_valid(&world.bodies));
            world.state
        })
    };
    let alone = run(1, None);
    assert_eq!(alone, run(2, None));
    assert_eq!(alone, run(2, Some(70)));
    assert_ne!(alone.order, (0..28).collect::<Vec<u32>>(), "the list is shuffled");
}

#[test]
fn a_kinematic_platform_carries_a_box() {
    let mut world = World::new();
    let slab = world.shape(Shape::cuboid(DVec3::new(1.0, 0.1, 1.0)).unwrap());
    let small = world.shape(Shape::cuboid(DVec3::splat(0.1)).unwrap());
    let carrier = Body { kind: Kind::Kinematic, friction: 0.8, ..Body::fixed(slab) };
    let carrier = world.put(carrier, DVec3::NEG_Y * 0.1, DQuat::IDENTITY);
    let body = world.body(small, 0.0, 0.8);
    let rider = world.put(body, DVec3::Y * 0.1, DQuat::IDENTITY);
    world.state.velocities[carrier] = DVec3::new(0.3, 0.2, 0.0);
    world.run(1.0, STEP);
    assert!(world.at(carrier).abs_diff_eq(DVec3::new(0.3, 0.1, 0.0), 1e-9));
    assert!(world.at(rider).abs_diff_eq(DVec3::new(0.3, 0.3, 0.0), 5e-3), "{}", world.at(rider));
}

#[test]
fn depths_are_those_of_geometry() {
    let mut world = World::new();
    let ball = world.shape(Shape::sphere(0.5).unwrap());
    let mesh = Shape::from_mesh(world.bodies.shapes[ball].mesh(), &ShapeSettings::default()).unwrap();
    let mesh = world.shape(mesh);
    let tube = world.shape(Shape::ring(1.0, 0.2).unwrap());
    let rows =
        [(ball, ball, DVec3::X * 0.9, 0.1), (mesh, ball, DVec3::X * 0.9, 0.1), (ball, tube, DVec3::X * 0.4, 0.1)];
    for (first, second, offset, expected) in rows {
        world.bodies.bodies.clear();
        world.state = RigidState::at_rest(Vec::new(), 1);
        for (shape, at) in [(first, offset), (second, DVec3::ZERO)] {
            let body = world.body(shape, 0.0, 0.0);
            world.put(body, at, DQuat::IDENTITY);
        }
        let found = deepest(&world.bodies, &world.state, &world.settings);
        assert!((found - expected).abs() < 0.004, "{found} instead of {expected}");
    }
}

#[test]
fn a_mesh_finds_its_centre_and_axes_and_bad_ones_are_refused() {
    let half = DVec3::new(0.1, 0.2, 0.3);
    let solid = Shape::cuboid(half).unwrap();
    let place = Placement {
        position: DVec3::new(3.0, 1.0, -2.0),
        rotation: DQuat::from_scaled_axis(DVec3::new(0.4, 0.2, 0.9)),
    };
    let moved = TriMesh {
        positions: solid.mesh().positions.iter().map(|&at| place.to_world(at)).collect(),
        triangles: solid.mesh().triangles.clone(),
    };
    let shape = Shape::from_mesh(&moved, &ShapeSettings::default()).unwrap();
    assert!((shape.volume() / solid.volume() - 1.0).abs() < 1e-12);
    let sorted = |moments: DVec3| {
        let mut moments = moments.to_array();
        moments.sort_by(f64::total_cmp);
        DVec3::from_array(moments)
    };
    assert!(sorted(shape.inertia()).abs_diff_eq(sorted(solid.inertia()), 1e-12));
    for (own, &input) in shape.mesh().positions.iter().zip(&moved.positions) {
        assert!(shape.input_from_shape().to_world(*own).abs_diff_eq(input, 1e-12));
    }
    let open = TriMesh { triangles: moved.triangles[1..].to_vec(), ..moved.clone() };
    let error = Shape::from_mesh(&open, &ShapeSettings::default()).unwrap_err();
    assert_eq!(error, ShapeError::Open { borders: 3, edges: 18 });
    let flat = TriMesh { positions: moved.positions.iter().map(|at| at.with_y(0.0)).collect(), ..moved };
    assert!(Shape::from_mesh(&flat, &ShapeSettings::default()).is_err());
    assert!(Shape::sphere(-1.0).is_err() && Shape::ring(0.1, 0.2).is_err() && Shape::cuboid(DVec3::ZERO).is_err());
}

/// Boxes of a side, one on the other, the upper one of so many times the density of the lower one.
fn two_boxes(side: f64, factor: f64) -> (World, usize) {
    let mut world = World::new();
    world.ground(0.0, 0.5);
    let shape = world.shape(Shape::cuboid(DVec3::splat(0.5 * side)).unwrap());
    let mut last = 0;
    for (k, times) in [1.0, factor].into_iter().enumerate() {
        let body = world.body(shape, 0.0, 0.5);
        let body = Body { mass: body.mass * times, inertia: body.inertia * times, ..body };
        last = world.put(body, DVec3::Y * side * (0.5 + k as f64), DQuat::IDENTITY);
    }
    (world, last)
}

#[test]
fn boxes_rest_in_small_and_large_units_and_heavy_ones_on_light_ones() {
    for (side, factor) in [(0.02, 1.0), (0.2, 1000.0), (0.2, 1e-3), (200.0, 1.0)] {
        let (mut world, top) = two_boxes(side, factor);
        let start = world.at(top);
        let report = world.run(1.0, STEP);
        let moved = world.at(top).distance(start);
        assert!(moved < 1e-4 * side && report.fastest < 1e-4 * side, "side {side}, {factor} times: moved {moved:e}");
        assert!(report.deepest < 1e-3 * side, "side {side}, {factor} times: depth {:e}", report.deepest);
    }
}

#[test]
fn what_is_at_rest_needs_few_impulses() {
    let run = |starting_guess: Switch| {
        let (mut world, _) = two_boxes(0.2, 1.0);
        world.settings.starting_guess = starting_guess;
        world.run(1.0, STEP);
        let report = world.once(STEP);
        assert!(report.fastest < 1e-9, "{}", report.fastest);
        report.contact_impulses + report.shock_impulses
    };
    let (with, without) = (run(Switch::On), run(Switch::Off));
    assert!(10 * with < without, "{with} impulses, {without} without a guess");
}

/// Forces of the step before would hold it there.
#[test]
fn a_box_that_was_lifted_off_falls_freely() {
    let (mut world, top) = two_boxes(0.2, 1.0);
    world.run(0.5, STEP);
    assert!(!world.state.pressing.is_empty());
    world.state.placements[top].position.y += 1.5 * G * STEP * STEP;
    world.once(STEP);
    assert!((world.state.velocities[top].y + G * STEP).abs() < 1e-9, "{}", world.state.velocities[top]);
}

#[test]
fn a_pile_of_mixed_shapes_comes_to_rest() {
    let mut world = cloud(24, 3, 0.2, DVec3::NEG_Y * G);
    world.ground(0.0, 0.5);
    for body in &mut world.bodies.bodies {
        (body.rolling, body.spinning) = (0.02, 0.02);
    }
    let mut deepest = 0.0f64;
    let mut report = Report::default();
    for _ in 0..(4.0 / STEP) as usize {
        report = world.once(STEP);
        deepest = deepest.max(report.deepest);
        assert_eq!(report.lost, 0);
    }
    assert!(deepest < 0.005, "depth {deepest}");
    assert!(report.fastest < 0.05, "still moves at {}", report.fastest);
    assert!(world.state.placements[..24].iter().all(|at| at.position.y > 0.02), "one is below the ground");
}
