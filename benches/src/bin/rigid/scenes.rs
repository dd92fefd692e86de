//! The scenes: rings on poles, bones through a funnel, a pyramid of boxes.

use std::f64::consts::TAU;
use std::sync::Arc;
use unsnarl::geometry::math::DQuat;
use unsnarl::geometry::{DVec3, TriMesh};
use unsnarl::rigid::{Bodies, Body, Kind, Placement, RigidState, Shape, ShapeError, ShapeSettings, Workspace};
use unsnarl::samples::random::Random;

/// Bodies and where they are.
pub struct Scene {
    pub bodies: Bodies,
    pub state: RigidState,
    pub workspace: Workspace,
    /// A body that pictures leave out.
    pub hidden: Option<usize>,
}

pub const BOX_HALF: f64 = 0.1;
pub const RING_THICKNESS: f64 = 0.06;
const RING_RADIUS: f64 = 0.1;
const POLE_RADIUS: f64 = 0.03;

#[derive(Default)]
struct Builder {
    bodies: Bodies,
    placements: Vec<Placement>,
}

impl Builder {
    fn shape(&mut self, shape: Shape) -> usize {
        self.bodies.shapes.push(Arc::new(shape));
        self.bodies.shapes.len() - 1
    }

    fn put(&mut self, body: Body, position: DVec3, rotation: DQuat) {
        self.bodies.bodies.push(body);
        self.placements.push(Placement { position, rotation });
    }

    fn body(&self, shape: usize, restitution: f64, friction: f64) -> Body {
        Body { restitution, friction, ..Body::of_density(shape, &self.bodies.shapes[shape], 1000.0) }
    }

    fn ground(&mut self) {
        let shape = self.shape(Shape::half_space());
        self.put(Body { friction: 0.5, ..Body::fixed(shape) }, DVec3::ZERO, DQuat::IDENTITY);
    }

    fn scene(self, hidden: Option<usize>) -> Scene {
        let state = RigidState::at_rest(self.placements, 1);
        Scene { bodies: self.bodies, state, workspace: Workspace::default(), hidden }
    }
}

/// Turns a closed profile (out, up) about y; counter-clockwise with the axis at the left.
fn revolve(profile: &[(f64, f64)], around: usize) -> TriMesh {
    let rows = profile.len();
    let place = |row: usize, at: usize| {
        let angle = TAU * at as f64 / around as f64;
        DVec3::new(profile[row].0 * angle.cos(), profile[row].1, -profile[row].0 * angle.sin())
    };
    let cells = || (0..rows).flat_map(|row| (0..around).map(move |at| (row, at)));
    let vertex = |row: usize, at: usize| ((row % rows) * around + at % around) as u32;
    let quad = |(row, at): (usize, usize)| {
        let (low, next, high, last) =
            (vertex(row, at), vertex(row, at + 1), vertex(row + 1, at), vertex(row + 1, at + 1));
        [[low, next, high], [next, last, high]]
    };
    TriMesh {
        positions: cells().map(|(row, at)| place(row, at)).collect(),
        triangles: cells().flat_map(quad).collect(),
    }
}

/// A torus of 16 by 10 quads: 320 triangles.
fn ring_mesh() -> TriMesh {
    let tube = 0.5 * RING_THICKNESS;
    let profile: Vec<(f64, f64)> = (0..10)
        .map(|k| TAU * f64::from(k) / 10.0)
        .map(|angle| (RING_RADIUS - tube * angle.cos(), -tube * angle.sin()))
        .collect();
    revolve(&profile, 16)
}

/// A cylinder of 40 by 10 quads and caps around their centres: 880 triangles.
fn pole_mesh(height: f64) -> TriMesh {
    let (around, rows) = (40u32, 10u32);
    let mut mesh = TriMesh::default();
    for row in 0..=rows {
        for at in 0..around {
            let angle = TAU * f64::from(at) / f64::from(around);
            let up = height * (f64::from(row) / f64::from(rows) - 0.5);
            mesh.positions.push(DVec3::new(POLE_RADIUS * angle.cos(), up, -POLE_RADIUS * angle.sin()));
        }
    }
    for (row, at) in (0..rows).flat_map(|row| (0..around).map(move |at| (row, at))) {
        let next = (at + 1) % around;
        let (low, high) = (row * around, (row + 1) * around);
        mesh.triangles.extend([[low + at, low + next, high + at], [low + next, high + next, high + at]]);
    }
    for (row, up) in [(0, -0.5 * height), (rows, 0.5 * height)] {
        let center = mesh.positions.len() as u32;
        mesh.positions.push(DVec3::Y * up);
        for at in 0..around {
            let [a, b] = [row * around + at, row * around + (at + 1) % around];
            mesh.triangles.push(if row == 0 { [b, a, center] } else { [a, b, center] });
        }
    }
    mesh
}

/// Rings that fall around 25 poles, as many on each.
pub fn rings(count: usize) -> Scene {
    let mut builder = Builder::default();
    builder.ground();
    let height = 2.0;
    let pole = Shape::from_mesh(&pole_mesh(height), &ShapeSettings::default()).expect("a pole is closed");
    let frame = pole.input_from_shape().inverse();
    let pole = builder.shape(pole);
    let ring = Shape::from_mesh(&ring_mesh(), &ShapeSettings::default()).expect("a ring is closed");
    let ring_frame = ring.input_from_shape();
    let ring = builder.shape(ring);
    let mut random = Random::new(4);
    let spot = |k: usize| DVec3::new((k % 5) as f64, 0.0, (k / 5) as f64) * 0.45;
    for k in 0..25 {
        let at =
            Placement { position: spot(k) + DVec3::Y * 0.5 * height, rotation: DQuat::IDENTITY }.of(frame.inverse());
        builder.put(Body { friction: 0.3, ..Body::fixed(pole) }, at.position, at.rotation);
    }
    for k in 0..count {
        let layer = (k / 25) as f64;
        let at =
            spot(k % 25) + DVec3::new(random.between(-0.02, 0.02), 0.2 + 0.09 * layer, random.between(-0.02, 0.02));
        let tilt = DQuat::from_scaled_axis(DVec3::new(random.between(-0.2, 0.2), 0.0, random.between(-0.2, 0.2)));
        let at = Placement { position: at, rotation: tilt }.of(ring_frame);
        let body = builder.body(ring, 0.2, 0.3);
        builder.put(body, at.position, at.rotation);
    }
    builder.scene(None)
}

/// Inner radius of the funnel at a height; the wall is [`WALL`] thick.
fn inner_radius(height: f64) -> f64 {
    let share = ((height - NECK) / (BRIM - NECK)).clamp(0.0, 1.0);
    NECK_RADIUS + share * (BRIM_RADIUS - NECK_RADIUS)
}

const NECK: f64 = 1.4;
const BRIM: f64 = 2.6;
const NECK_RADIUS: f64 = 0.45;
const BRIM_RADIUS: f64 = 1.4;
const WALL: f64 = 0.12;
const TOP: f64 = 9.0;

/// Bones above a funnel: two femurs for three of the other kind, all 0.4 m long.
pub fn bones(count: usize, meshes: &[TriMesh; 2]) -> Result<Scene, ShapeError> {
    let mut builder = Builder::default();
    builder.ground();
    let inner = [(NECK_RADIUS, NECK - 0.3), (NECK_RADIUS, NECK), (BRIM_RADIUS, BRIM), (BRIM_RADIUS, TOP)];
    let outer = inner.map(|(out, up)| (out + WALL, up));
    let profile: Vec<(f64, f64)> = inner.iter().rev().chain(&outer).copied().collect();
    let funnel = Shape::from_mesh(&revolve(&profile, 64), &ShapeSettings { spacing: Some(0.03) })?;
    let frame = funnel.input_from_shape();
    let funnel = builder.shape(funnel);
    builder.put(Body { friction: 0.2, ..Body::fixed(funnel) }, frame.position, frame.rotation);
    let mut kinds = Vec::new();
    for mesh in meshes {
        let scale = 0.4 / mesh.bounds().extent().max_element();
        let scaled = TriMesh { positions: mesh.positions.iter().map(|&at| at * scale).collect(), ..mesh.clone() };
        let shape = Shape::from_mesh(&scaled, &ShapeSettings::default())?;
        kinds.push(builder.shape(shape));
    }
    let mut random = Random::new(8);
    let mut placed = 0;
    for cell in 0.. {
        let (layer, place) = (cell / 36, cell % 36);
        let at = DVec3::new((place % 6) as f64 - 2.5, 0.0, (place / 6) as f64 - 2.5) * 0.41;
        if at.length() > BRIM_RADIUS - 0.25 {
            continue;
        }
        let at = at + DVec3::Y * (BRIM + 0.25 + 0.41 * layer as f64);
        let kind = kinds[usize::from(placed % 5 >= 2)];
        let body = builder.body(kind, 0.1, 0.2);
        builder.put(body, at, DQuat::from_scaled_axis(random.direction() * random.between(0.0, 3.0)));
        placed += 1;
        if placed == count {
            break;
        }
    }
    Ok(builder.scene(Some(1)))
}

/// Bones whose centre is outside the funnel's wall beside it, or below the floor.
pub fn escaped(scene: &Scene) -> usize {
    let is_out = |(body, placement): (&Body, &Placement)| {
        let at = placement.position;
        let out = at.x.hypot(at.z);
        let beside = (NECK - 0.3..TOP).contains(&at.y) && out > inner_radius(at.y) + 0.5 * WALL;
        body.kind == Kind::Simulated && (beside || at.y < 0.0)
    };
    scene.bodies.bodies.iter().zip(&scene.state.placements).filter(|&pair| is_out(pair)).count()
}

/// Ten rows of boxes, each one shorter than the row below.
pub fn pyramid() -> Scene {
    let mut builder = Builder::default();
    builder.ground();
    let shape = builder.shape(Shape::cuboid(DVec3::splat(BOX_HALF)).expect("a box"));
    for row in 0..10 {
        for at in 0..10 - row {
            let x = (at as f64 + 0.5 * row as f64 - 4.5) * 2.1 * BOX_HALF;
            let body = builder.body(shape, 0.0, 0.5);
            builder.put(body, DVec3::new(x, BOX_HALF * (1.0 + 2.0 * row as f64), 0.0), DQuat::IDENTITY);
        }
    }
    builder.scene(None)
}
