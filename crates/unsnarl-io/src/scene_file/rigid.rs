//! From the `[[rigid]]` tables of a scene file to rigid bodies, with the obstacles that they bump into.
//!
//! Guarantees: an open mesh, one without volume, a mass that is not positive and a size that is not are named with
//! their line.
//! Does not: let rigid bodies bump into skinned or open obstacles; a remark says so.

use super::build::{Place, Problem, read_options, turn};
use super::format::{BodyTable, CopiesTable, RigidTable, SceneFile, SettingsTable};
use crate::mesh;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use unsnarl::bodies::shape::Shape as Solid;
use unsnarl::bodies::{Body as Obstacle, Form};
use unsnarl::rigid::{Body, Kind, Placement, RigidState, Shape, ShapeError, ShapeSettings};
use unsnarl::rigid_world::{Prescribed, RigidWorld};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec3, TriMesh};

/// The most rigid bodies of a scene.
const MOST_BODIES: u64 = 100_000;
/// Farther out, metres, and faster, m/s and rad/s, nothing may begin.
const FARTHEST: f64 = 1e6;
const FASTEST: f64 = 1e4;
/// Density, kg/m³, where the scene gives neither density nor mass: that of water.
const USUAL_DENSITY: f64 = 1000.0;
/// Where the order of bodies begins to be shuffled.
const SEED: u64 = 1;

/// Rigid bodies of one shape that a table of the scene stands for.
#[derive(Clone, Debug)]
pub struct RigidGroup {
    /// Its name.
    pub name: String,
    /// The numbers of its bodies in the state.
    pub bodies: Range<usize>,
    /// The surface of each, in its own frame.
    pub surface: Arc<TriMesh>,
}

/// All that rigid bodies add to a world.
#[derive(Default)]
pub(super) struct RigidParts {
    pub world: RigidWorld,
    pub state: RigidState,
    pub groups: Vec<RigidGroup>,
}

/// Builds the rigid bodies, and adds their surfaces to the bodies of the scene.
pub(super) fn rigid(
    file: &SceneFile,
    folder: &Path,
    obstacles: &mut Vec<Obstacle>,
    root: &Place,
    remarks: &mut Vec<String>,
) -> Result<RigidParts, Problem> {
    if file.rigid.is_empty() {
        return Ok(RigidParts::default());
    }
    let mut world = RigidWorld::default();
    let mut placements = Vec::new();
    for (index, (table, obstacle)) in file.body.iter().zip(obstacles.iter()).enumerate() {
        let place = root.at("body").at(index);
        add_obstacle(table, (index, obstacle), &mut world, &place, remarks)?;
        placements.push(Placement::default());
    }
    placements.truncate(world.bodies.bodies.len());
    let mut groups = Vec::new();
    let mut motions = Vec::new();
    for (index, table) in file.rigid.iter().enumerate() {
        let place = root.at("rigid").at(index);
        let first = placements.len();
        let (shape, body) = body(table, folder, world.bodies.shapes.len(), &place)?;
        for placement in copies(table, &place)? {
            placements.push(placement.of(shape.input_from_shape()));
            motions.push((DVec3::from_array(table.velocity), DVec3::from_array(table.spin)));
            world.bodies.bodies.push(body.clone());
        }
        if placements.len() as u64 > MOST_BODIES {
            return place.fail(format!("more than {MOST_BODIES} rigid bodies"));
        }
        let name = table.name.clone().unwrap_or_else(|| format!("rigid {index}"));
        let surface = Arc::new(shape.mesh().clone());
        world.bodies.shapes.push(Arc::new(shape));
        for number in first..placements.len() {
            let own = if placements.len() > first + 1 { format!("{name} {}", number - first) } else { name.clone() };
            let surface = Arc::clone(&surface);
            obstacles.push(Obstacle::simulated(own, surface, number, table.friction, table.thickness));
        }
        groups.push(RigidGroup { name, bodies: first..placements.len(), surface });
    }
    let mut state = RigidState::at_rest(placements, SEED);
    let first = state.placements.len() - motions.len();
    for (at, (velocity, spin)) in motions.into_iter().enumerate() {
        state.velocities[first + at] = velocity;
        state.set_spin(&world.bodies, first + at, spin);
    }
    world.arrive(obstacles, &mut state, 0.0);
    Ok(RigidParts { world, state, groups })
}

/// Checks what schema and types cannot.
pub(super) fn check_settings(settings: &SettingsTable, place: &Place) -> Result<(), Problem> {
    let (rigid, place_of_rigid) = (&settings.rigid, place.at("rigid"));
    if place_of_rigid.at("step").positive(rigid.step)? < 1e-6 {
        return place_of_rigid.at("step").fail(format!("{}; expected at least 1e-6 seconds", rigid.step));
    }
    let counts = [
        ("collision-rounds", rigid.collision_rounds),
        ("contact-sweeps", rigid.contact_sweeps),
        ("settling-sweeps", rigid.settling_sweeps),
        ("passes", rigid.passes),
        ("shock-passes", rigid.shock_passes),
    ];
    for (key, count) in counts {
        if count > 10_000 {
            return place_of_rigid.at(key).fail(format!("{count}; expected 0 to 10000"));
        }
    }
    place_of_rigid.at("tolerance").not_negative(rigid.tolerance)?;
    let (coupling, place) = (&settings.coupling, place.at("coupling"));
    if !(1..=100).contains(&coupling.rounds) {
        return place.at("rounds").fail(format!("{}; expected 1 to 100", coupling.rounds));
    }
    place.at("tolerance").positive(coupling.tolerance)?;
    Ok(())
}

/// An obstacle as rigid bodies feel it, unless it deforms or is open.
fn add_obstacle(
    table: &BodyTable,
    (index, obstacle): (usize, &Obstacle),
    world: &mut RigidWorld,
    place: &Place,
    remarks: &mut Vec<String>,
) -> Result<(), Problem> {
    share(&place.at("restitution"), table.restitution)?;
    let (made, key_count) = match &obstacle.form {
        Form::Solid { shape, motion } => (of_solid(*shape), motion.keys().len()),
        Form::Mesh(mesh) if mesh.keeps_shape() => {
            let own = TriMesh { positions: mesh.own_positions().to_vec(), triangles: mesh.triangles().to_vec() };
            let settings = ShapeSettings { spacing: table.spacing };
            (Shape::from_mesh(&own, &settings), mesh.motion().keys().len())
        }
        Form::Mesh(_) | Form::Simulated { .. } => {
            remarks.push(format!("{}: rigid bodies pass through it, for it changes its shape", obstacle.name));
            return Ok(());
        }
    };
    let shape = match made {
        Ok(shape) => shape,
        Err(reason) => {
            remarks.push(format!("{}: rigid bodies pass through it: {reason}", obstacle.name));
            return Ok(());
        }
    };
    let number = world.bodies.bodies.len();
    world.prescribed.push(Prescribed { number, body: index, frame: shape.input_from_shape() });
    world.bodies.bodies.push(Body {
        restitution: table.restitution,
        friction: table.friction,
        kind: if key_count > 1 { Kind::Kinematic } else { Kind::Static },
        ..Body::fixed(world.bodies.shapes.len())
    });
    world.bodies.shapes.push(Arc::new(shape));
    Ok(())
}

fn of_solid(solid: Solid) -> Result<Shape, ShapeError> {
    match solid {
        Solid::Plane => Ok(Shape::half_space()),
        Solid::Sphere { radius } => Shape::sphere(radius),
        Solid::Box { half } => Shape::cuboid(half),
        Solid::Capsule { radius, half_length } => Shape::capsule(radius, half_length),
        Solid::Cylinder { radius, half_height } => Shape::cylinder(radius, half_height),
    }
}

/// The shape of a table, and a body of it.
fn body(table: &RigidTable, folder: &Path, number: usize, place: &Place) -> Result<(Shape, Body), Problem> {
    let shape = shape(table, folder, place)?;
    if table.density.is_some() && table.mass.is_some() {
        return place.at("mass").fail("give density or mass, not both");
    }
    let density = match (table.density, table.mass) {
        (Some(density), _) => place.at("density").positive(density)?,
        (None, Some(mass)) => place.at("mass").positive(mass)? / shape.volume(),
        (None, None) => USUAL_DENSITY,
    };
    share(&place.at("restitution"), table.restitution)?;
    let lengths = [
        ("friction", table.friction),
        ("rolling", table.rolling),
        ("spinning", table.spinning),
        ("thickness", table.thickness),
    ];
    for (key, value) in lengths {
        place.at(key).not_negative(value)?;
    }
    for (key, values, most) in [
        ("position", table.position, FARTHEST),
        ("velocity", table.velocity, FASTEST),
        ("spin", table.spin, FASTEST),
        ("rotation", table.rotation, FARTHEST),
    ] {
        within(&place.at(key), values, most)?;
    }
    let body = Body {
        restitution: table.restitution,
        friction: table.friction,
        rolling: table.rolling,
        spinning: table.spinning,
        ..Body::of_density(number, &shape, density)
    };
    let is_usable = |value: f64| value.is_finite() && value > 0.0;
    if !(is_usable(body.mass) && body.inertia.to_array().into_iter().all(is_usable)) {
        return place
            .fail(format!("its mass would be {} kg; expected a size and density of ordinary numbers", body.mass));
    }
    Ok((shape, body))
}

fn shape(table: &RigidTable, folder: &Path, place: &Place) -> Result<Shape, Problem> {
    let mut made: Vec<(&str, Result<Shape, ShapeError>)> = Vec::new();
    if let Some(sphere) = table.sphere {
        made.push(("sphere", Shape::sphere(sphere.radius)));
    }
    if let Some(cuboid) = table.cuboid {
        made.push(("box", Shape::cuboid(DVec3::from_array(cuboid.size) * 0.5)));
    }
    if let Some(rod) = table.capsule {
        made.push(("capsule", Shape::capsule(rod.radius, 0.5 * rod.height)));
    }
    if let Some(rod) = table.cylinder {
        made.push(("cylinder", Shape::cylinder(rod.radius, 0.5 * rod.height)));
    }
    if let Some(ring) = table.ring {
        made.push(("ring", Shape::ring(ring.radius, ring.tube)));
    }
    if let Some(path) = &table.mesh {
        let options = read_options(table.units.as_deref(), place)?;
        let path = folder.join(path);
        let file = mesh::read(&path, &options).or_else(|error| place.at("mesh").fail(error.to_string()))?;
        let spacing = table.spacing.map(|spacing| place.at("spacing").positive(spacing)).transpose()?;
        let shape = Shape::from_mesh(&file.mesh, &ShapeSettings { spacing });
        let named = shape.or_else(|error| place.at("mesh").fail(format!("{}: {error}", path.display())))?;
        made.push(("mesh", Ok(named)));
    }
    if made.len() != 1 {
        return place.fail("expected exactly one of sphere, box, capsule, cylinder, ring and mesh");
    }
    let (key, shape) = made.remove(0);
    let shape = shape.or_else(|error| place.at(key).fail(error.to_string()))?;
    place.at(key).size(shape.radius())?;
    Ok(shape)
}

/// Where the body and its copies are.
fn copies(table: &RigidTable, place: &Place) -> Result<Vec<Placement>, Problem> {
    let first = Placement { position: DVec3::from_array(table.position), rotation: turn(table.rotation).normalize() };
    let Some(CopiesTable { count, spacing, turn }) = table.copies else { return Ok(vec![first]) };
    let place = place.at("copies");
    let total: u64 = count.iter().map(|&count| u64::from(count)).fold(1, u64::saturating_mul);
    if total == 0 || total > MOST_BODIES {
        return place.at("count").fail(format!("{count:?}; expected 1 to {MOST_BODIES} bodies"));
    }
    within(&place.at("spacing"), spacing, FARTHEST)?;
    within(&place.at("turn"), [turn; 3], FARTHEST)?;
    let [columns, layers, rows] = count;
    let mut placements = Vec::new();
    for layer in 0..layers {
        for row in 0..rows {
            for column in 0..columns {
                let shift =
                    DVec3::new(f64::from(column), f64::from(layer), f64::from(row)) * DVec3::from_array(spacing);
                let angle = (turn * placements.len() as f64).to_radians();
                let about = Placement { position: DVec3::ZERO, rotation: DQuat::from_rotation_y(angle) };
                let moved = Placement { position: first.position + shift, ..first };
                placements.push(if angle == 0.0 { moved } else { about.of(moved) });
            }
        }
    }
    Ok(placements)
}

fn share(place: &Place, value: f64) -> Result<f64, Problem> {
    if (0.0..=1.0).contains(&value) { Ok(value) } else { place.fail(format!("{value}; expected 0 to 1")) }
}

fn within(place: &Place, values: [f64; 3], most: f64) -> Result<(), Problem> {
    place.finite(&values)?;
    if values.iter().any(|value| value.abs() > most) {
        return place.fail(format!("{values:?}; expected numbers up to {most}"));
    }
    Ok(())
}
