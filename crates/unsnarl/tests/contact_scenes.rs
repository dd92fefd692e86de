//! Whole simulations, on small versions of the classic scenes: what starts clean is clean after every step, with both
//! models of cloth.

#![allow(clippy::unwrap_used)]

use unsnarl::bodies::Body;
use unsnarl::bodies::keyframes::{Keyframe, Keyframes};
use unsnarl::bodies::moving_mesh::MovingMesh;
use unsnarl::bodies::shape::Shape;
use unsnarl::contact::LayerMethod;
use unsnarl::geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl::geometry::math::DQuat;
use unsnarl::geometry::{DVec3, TriMesh, VertexId};
use unsnarl::model::{Cloth, Model};
use unsnarl::report::CollisionSummary;
use unsnarl::scene::environment::Environment;
use unsnarl::settings::{ClothModel, LinearSolver, Settings};
use unsnarl::simulation::{Flow, Handle, Simulation, World};
use unsnarl::step::largest_stretch;

const STEP: f64 = 1.0 / 120.0;
const MODELS: [ClothModel; 2] = [ClothModel::BaraffWitkin, ClothModel::MassSpring];

/// A grid of triangles over [0, 1] x [0, 1], laid out by a function.
fn grid(columns: usize, rows: usize, place: impl Fn(f64, f64) -> DVec3) -> TriMesh {
    let mut mesh = TriMesh::default();
    for row in 0..=rows {
        for column in 0..=columns {
            mesh.positions.push(place(column as f64 / columns as f64, row as f64 / rows as f64));
        }
    }
    let width = columns as u32 + 1;
    for row in 0..rows as u32 {
        for column in 0..columns as u32 {
            let corner = row * width + column;
            mesh.triangles
                .extend([[corner, corner + 1, corner + width], [corner + 1, corner + width + 1, corner + width]]);
        }
    }
    mesh
}

fn gravity() -> Environment {
    Environment { gravity: DVec3::new(0.0, -9.81, 0.0), ..Environment::NOTHING }
}

fn simulation(
    model: ClothModel,
    environment: Environment,
    cloths: &[Cloth],
    bodies: Vec<Body>,
    handles: Vec<Handle>,
) -> Simulation {
    let (cloth, state) = Model::build(cloths).unwrap();
    let world = World::new(cloth, environment, bodies, handles).unwrap();
    let mut settings = Settings::default();
    settings.dynamics.model = model;
    settings.dynamics.mass_spring.step = 0.002;
    Simulation::new(world, state, settings)
}

fn mesh_body(mesh: TriMesh, motion: Keyframes, friction: f64) -> Body {
    Body::mesh("mesh", MovingMesh::rigid(mesh.triangles, mesh.positions, motion), friction, 1e-3)
}

/// Goes on for some collision steps; panics where anything intersects anything after one of them.
fn run(simulation: &mut Simulation, steps: usize) -> CollisionSummary {
    let mut total = CollisionSummary::default();
    for step in 0..steps {
        let report = simulation.advance(STEP, &mut |_| Flow::GoOn).unwrap();
        assert_eq!(intersections(simulation), 0, "after step {step}: {report:?}");
        total.collisions += report.collision.collisions;
        total.repulsions += report.collision.repulsions;
        total.unresolved += report.collision.unresolved;
    }
    total
}

fn intersections(simulation: &Simulation) -> usize {
    let topology = simulation.world.topology();
    let positions = simulation.world.all_positions(&simulation.state);
    let cloth = simulation.world.model.topology.triangle_count();
    let counts = |a: usize, b: usize| a < cloth || b < cloth;
    find_intersecting_pairs(topology, &positions, &triangle_tree(topology, &positions), counts).len()
}

/// A handle that turns vertices about the y axis through the origin.
fn turning(mesh: &TriMesh, vertices: impl Iterator<Item = usize>, degrees: f64, duration: f64) -> Handle {
    let vertices: Vec<usize> = vertices.collect();
    let keys = (0..=36)
        .map(|at| {
            let share = f64::from(at) / 36.0;
            let rotation = DQuat::from_rotation_y((degrees * share).to_radians());
            Keyframe { time: duration * share, position: DVec3::ZERO, rotation }
        })
        .collect();
    Handle {
        home: vertices.iter().map(|&vertex| mesh.positions[vertex]).collect(),
        vertices: vertices.into_iter().map(VertexId::new).collect(),
        motion: Keyframes::new(keys),
        release: f64::INFINITY,
    }
}

#[test]
fn a_sheet_twisted_by_its_ends_never_crosses_itself() {
    let (columns, rows) = (8, 16);
    let mesh = grid(columns, rows, |x, y| DVec3::new(0.2 * (x - 0.5), 0.36 * (y - 0.5), 0.0));
    let width = columns + 1;
    for model in MODELS {
        let mut cloth = Cloth::new("sheet", mesh.clone());
        cloth.fabric.stretch_limit = 0.1;
        let count = mesh.positions.len();
        let handles = vec![
            turning(&mesh, 0..width, -360.0, 70.0 * STEP),
            turning(&mesh, count - width..count, 360.0, 70.0 * STEP),
        ];
        let mut simulation = simulation(model, Environment::NOTHING, &[cloth], Vec::new(), handles);
        assert!(run(&mut simulation, 75).collisions > 0, "{model:?}");
    }
}

#[test]
fn cloth_hangs_over_a_plate_of_no_thickness() {
    let cloth = grid(10, 10, |x, z| DVec3::new(0.3 * (x - 0.5), 0.02, 0.3 * (z - 0.5)));
    let plate = grid(4, 4, |z, y| DVec3::new(0.003, -0.5 * y, z - 0.5));
    for model in MODELS {
        let body = mesh_body(plate.clone(), Keyframes::fixed(DVec3::ZERO), 0.6);
        let cloth = Cloth::new("cloth", cloth.clone());
        let mut simulation = simulation(model, gravity(), &[cloth], vec![body], Vec::new());
        assert_eq!(run(&mut simulation, 50).unresolved, 0);
        let heights = simulation.state.positions.iter().map(|p| p.y);
        let (lowest, highest) = (heights.clone().fold(f64::MAX, f64::min), heights.fold(f64::MIN, f64::max));
        assert!(lowest < -0.03 && highest > -0.01, "{model:?}: from {lowest} to {highest}");
    }
}

/// A square falls on a post that is thinner than its triangles and meets none of its vertices: all of it hangs on a few
/// triangles, which only contact of triangles knows.
#[test]
fn cloth_hangs_on_a_thin_post_without_stretching() {
    // The springs of the second model are softened, and strain limits reach only so far.
    for (model, bound) in [(ClothModel::BaraffWitkin, 1.2), (ClothModel::MassSpring, 3.0)] {
        let mesh = grid(12, 12, |x, z| DVec3::new(0.3 * (x - 0.5), 0.0, 0.3 * (0.5 - z)));
        let place = Keyframes::fixed(DVec3::new(0.008, -0.112, 0.008));
        let post = Body::solid("post", Shape::Capsule { radius: 0.006, half_length: 0.1 }, place, 0.6);
        let cloth = Cloth::new("cloth", mesh);
        let mut simulation = simulation(model, gravity(), &[cloth], vec![post], Vec::new());
        for _ in 0..8 {
            assert_eq!(run(&mut simulation, 5).unresolved, 0);
            let stretch = largest_stretch(&simulation.world.model, &simulation.state);
            assert!(stretch < bound, "{model:?}: stretched {stretch} times at {} s", simulation.state.time);
        }
        let heights = simulation.state.positions.iter().map(|p| p.y);
        let (lowest, highest) = (heights.clone().fold(f64::MAX, f64::min), heights.fold(f64::MIN, f64::max));
        assert!(highest > -0.02 && lowest < -0.05, "{model:?}: from {lowest} to {highest}");
    }
}

#[test]
fn a_ribbon_falls_into_a_pile_on_a_moving_floor() {
    let ribbon = grid(2, 50, |x, y| DVec3::new(0.03 * (x - 0.5) + 0.004 * (9.0 * y).sin(), 0.05 + 0.5 * y, 0.01 * y));
    let floor = grid(2, 2, |x, z| DVec3::new(x - 0.5, 0.0, 0.5 - z));
    let keys = (0..60)
        .map(|at| {
            let position = DVec3::new(0.002 * f64::from(at).sin(), 0.0, 0.001 * f64::from(at));
            Keyframe { time: f64::from(at) * STEP, position, rotation: DQuat::IDENTITY }
        })
        .collect();
    let body = mesh_body(floor, Keyframes::new(keys), 0.5);
    let cloth = Cloth::new("ribbon", ribbon);
    let mut simulation = simulation(ClothModel::BaraffWitkin, gravity(), &[cloth], vec![body], Vec::new());
    assert!(run(&mut simulation, 60).collisions > 0);
    assert!(simulation.state.positions.iter().all(|p| p.y > 0.0));
}

/// Three sheets fall on a ball that turns; the ball's own triangles count as well.
#[test]
fn layers_on_a_turning_ball_cross_neither_each_other_nor_the_ball() {
    let layer = |height: f64| {
        let mesh = grid(12, 12, |x, z| DVec3::new(0.3 * (x - 0.5), 0.105 + height, 0.3 * (0.5 - z)));
        Cloth::new("layer", mesh)
    };
    let turn =
        |time: f64, angle: f64| Keyframe { time, position: DVec3::ZERO, rotation: DQuat::from_rotation_y(angle) };
    let motion = Keyframes::new(vec![turn(0.0, 0.0), turn(0.5, 0.0), turn(1.0, 1.5)]);
    for model in MODELS {
        let ball = Body::solid("ball", Shape::Sphere { radius: 0.1 }, motion.clone(), 0.6);
        let cloths = [layer(0.0), layer(0.002), layer(0.004)];
        let mut simulation = simulation(model, gravity(), &cloths, vec![ball], Vec::new());
        let total = run(&mut simulation, 60);
        assert!(total.repulsions > 0 && total.unresolved == 0, "{model:?}: {total:?}");
        let lowest = simulation.state.positions.iter().map(|p| p.y).fold(f64::MAX, f64::min);
        assert!(lowest < 0.0, "{model:?}: the corners hang at {lowest}");
    }
}

/// A sheet over an arm of triangles: with springs of the contact inside the solve, load and springs find a balance;
/// impulses after the solve throw cloth up again and again.
#[test]
fn cloth_over_an_arm_comes_to_rest_where_bodies_press_inside_the_solve() {
    let arm = grid(24, 8, |along, length| {
        let out = DVec3::new((std::f64::consts::TAU * along).sin(), (std::f64::consts::TAU * along).cos(), 0.0);
        0.06 * out + DVec3::Z * (0.5 - length)
    });
    let fastest = |layers: LayerMethod| {
        let sheet = Cloth::new("sheet", grid(12, 12, |x, z| DVec3::new(0.3 * (x - 0.48), 0.062, 0.3 * (0.5 - z))));
        let arm = mesh_body(arm.clone(), Keyframes::fixed(DVec3::ZERO), 0.3);
        let mut simulation = simulation(ClothModel::BaraffWitkin, gravity(), &[sheet], vec![arm], Vec::new());
        simulation.settings.collision.layers = layers;
        simulation.settings.dynamics.solver = LinearSolver::Direct;
        run(&mut simulation, 180);
        let mut way = vec![0.0; simulation.state.positions.len()];
        for _ in 0..12 {
            let before = simulation.state.positions.clone();
            run(&mut simulation, 1);
            let moved = simulation.state.positions.iter().zip(&before).map(|(a, b)| a.distance(*b));
            way.iter_mut().zip(moved).for_each(|(way, moved)| *way += moved);
        }
        way.sort_by(f64::total_cmp);
        way[way.len() / 2] / (12.0 * STEP)
    };
    let (inside, after) = (fastest(LayerMethod::Implicit), fastest(LayerMethod::Impulses));
    println!("median speed after a second and a half: {inside} m/s inside the solve, {after} m/s after it");
    assert!(inside < 0.5 * after, "{inside} and {after} m/s");
}

/// Cloth on an inclined plane, flat or folded once: below the friction angle it stays; above it, it slides, flat cloth
/// as a block does.
#[test]
fn static_friction_holds_below_the_friction_angle() {
    let rows = [(15.0_f64, 1.0, false), (15.0, -1.0, false), (40.0, 1.0, true), (40.0, -1.0, true)];
    for (angle_degrees, side, slides) in rows {
        let tilt = DQuat::from_rotation_z(angle_degrees.to_radians());
        let fold = |x: f64, z: f64| {
            let along = 0.2 * (x - 0.5);
            let (place, height) = if along < 0.0 { (along, 0.0) } else { (side * along, 0.004 * (1.0 - side) / 2.0) };
            tilt * DVec3::new(place, 0.0003 + height * (along.abs() / 0.01).min(1.0), 0.1 * (0.5 - z))
        };
        let mut cloth = Cloth::new("fold", grid(20, 10, fold));
        cloth.fabric.friction = 0.5;
        cloth.fabric.bend = 1e-7;
        let keys = Keyframes::new(vec![Keyframe { time: 0.0, position: DVec3::ZERO, rotation: tilt }]);
        let plane = Body::solid("plane", Shape::Plane, keys, 0.5);
        let mut simulation = simulation(ClothModel::BaraffWitkin, gravity(), &[cloth], vec![plane], Vec::new());
        run(&mut simulation, 60);
        let middle = |simulation: &Simulation| {
            let points = &simulation.state.positions;
            points.iter().sum::<DVec3>() / points.len() as f64
        };
        let settled = middle(&simulation);
        run(&mut simulation, 60);
        let moved = (tilt.inverse() * (middle(&simulation) - settled)).x.abs();
        // Between 0.5 and 1 s: a/2 (1 - 1/4), a = g (sin - friction cos).
        let angle = angle_degrees.to_radians();
        let expected = if slides { 0.375 * 9.81 * (angle.sin() - 0.5 * angle.cos()) } else { 0.0 };
        // Both layers of a fold are within reach of the plane and rub on it, and the upper one rubs on the lower one
        // too.
        let tolerance = if slides { (if side < 0.0 { 0.5 } else { 0.02 }) * expected } else { 1e-4 };
        assert!((moved - expected).abs() < tolerance, "at {angle_degrees} degrees, side {side}, it moved {moved} m");
    }
}

/// The same steps on one thread and on three, and with the memory of contact thrown away in between.
#[test]
fn results_depend_neither_on_threads_nor_on_memory() {
    let cloth = |height: f64| {
        let mesh = grid(10, 10, |x, z| DVec3::new(0.2 * (x - 0.5), height + 0.01 * (7.0 * x).sin(), 0.2 * (0.5 - z)));
        Cloth::new("sheet", mesh)
    };
    let start = || {
        let ball = Body::solid("ball", Shape::Sphere { radius: 0.05 }, Keyframes::fixed(DVec3::NEG_Y * 0.05), 0.5);
        simulation(ClothModel::BaraffWitkin, gravity(), &[cloth(0.02), cloth(0.03)], vec![ball], Vec::new())
    };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = start();
            for _ in 0..30 {
                simulation.advance(STEP, &mut |_| Flow::GoOn).unwrap();
            }
            simulation.state
        })
    };
    let one = on(1);
    assert_eq!(one, on(3));
    let mut broken = start();
    for _ in 0..30 {
        broken.advance(STEP, &mut |_| Flow::GoOn).unwrap();
        broken = Simulation::new(broken.world, broken.state, broken.settings);
    }
    assert_eq!(one, broken.state);
}

/// A sheet that starts with its flap through itself: the untangler frees it while it falls, and with nothing crossing
/// it changes nothing.
#[test]
fn a_simulation_untangles_what_starts_tangled() {
    use unsnarl::samples::{Cut, Recipe, find};
    use unsnarl::untangle::Method;
    let piece = find("closed").unwrap().make(&Recipe { resolution: 12, cut: Cut::Regular, seed: 1 });
    let cloths: Vec<Cloth> = piece.pieces().into_iter().map(|piece| Cloth::new("piece", piece.mesh)).collect();
    let mut simulation = simulation(ClothModel::BaraffWitkin, Environment::NOTHING, &cloths, Vec::new(), Vec::new());
    assert!(intersections(&simulation) > 0);
    let mut last = usize::MAX;
    for _ in 0..120 {
        last = simulation.advance(STEP, &mut |_| Flow::GoOn).unwrap().intersecting_triangle_pairs;
        if last == 0 && simulation.state.pulls.is_empty() {
            break;
        }
    }
    assert_eq!(last, 0);
    assert_eq!(simulation.state.rest_shapes, simulation.world.model.rest_shapes);
    let mut off = Simulation::new(simulation.world.clone(), simulation.state.clone(), simulation.settings.clone());
    off.settings.untangle.method = Method::Off;
    for simulation in [&mut simulation, &mut off] {
        simulation.advance(5.0 * STEP, &mut |_| Flow::GoOn).unwrap();
    }
    assert_eq!(simulation.state, off.state);
}

/// Two sheets fly into each other without anything else around: what one loses the other gains.
#[test]
fn free_colliding_cloth_keeps_its_momentum() {
    let sheet = |height: f64, tilt: f64| {
        let place = |x: f64, z: f64| DVec3::new(0.2 * (x - 0.5), height + tilt * (x - 0.5), 0.2 * (0.5 - z));
        Cloth::new("sheet", grid(10, 10, place))
    };
    let cloths = [sheet(0.0, 0.02), sheet(0.012, -0.002)];
    let mut simulation = simulation(ClothModel::BaraffWitkin, Environment::NOTHING, &cloths, Vec::new(), Vec::new());
    simulation.settings.dynamics.tolerance = 1e-13;
    simulation.settings.dynamics.iterations = 3000;
    let masses = simulation.world.model.masses.clone();
    for (vertex, velocity) in simulation.state.velocities.iter_mut().enumerate() {
        *velocity = if vertex < masses.len() / 2 { DVec3::new(0.1, 1.0, 0.0) } else { DVec3::new(0.0, -0.5, 0.2) };
    }
    let momentum = |simulation: &Simulation| -> DVec3 {
        simulation.state.velocities.iter().zip(&masses).map(|(velocity, mass)| *velocity * *mass).sum()
    };
    let before = momentum(&simulation);
    let total = run(&mut simulation, 20);
    assert!(total.collisions > 0);
    let lost = (momentum(&simulation) - before).length() / before.length();
    assert!(lost < 1e-11, "{lost}");
}

/// A ball is thrown through a sheet that hangs by its upper corners. Contact moves single vertices, far and without
/// regard to their neighbours; strain limits draw them together again, with both models, wherever the ball comes from.
#[test]
fn strain_limits_draw_together_what_a_thrown_ball_draws_out() {
    for seed in 0..3 {
        let mesh = grid(14, 14, |x, y| DVec3::new(0.4 * (x - 0.5), 0.4 * (0.5 - y), 0.0));
        let (across, up) = (0.05 * f64::from(seed) - 0.05, 0.03 * f64::from(seed) - 0.05);
        let at = |time: f64, z: f64| Keyframe { time, position: DVec3::new(across, up, z), rotation: DQuat::IDENTITY };
        let motion = Keyframes::new(vec![at(0.0, -0.2), at(0.2, 0.3)]);
        for model in MODELS {
            let stretch = [0, 2].map(|rounds| {
                let mut sheet = Cloth::new("sheet", mesh.clone());
                sheet.pins = vec![VertexId::new(0), VertexId::new(14)];
                let ball = Body::solid("ball", Shape::Sphere { radius: 0.06 }, motion.clone(), 0.4);
                let mut simulation = simulation(model, gravity(), &[sheet], vec![ball], Vec::new());
                simulation.settings.dynamics.strain_rounds = rounds;
                let mut largest = 0.0f64;
                for _ in 0..16 {
                    assert_eq!(run(&mut simulation, 1).unresolved, 0);
                    largest = largest.max(largest_stretch(&simulation.world.model, &simulation.state));
                }
                largest
            });
            assert!(stretch[1] < stretch[0], "{model:?}, seed {seed}: {stretch:?} without limits and with them");
        }
    }
}
