//! Where obstacles go: solids on keyframes, meshes that move and rigid bodies that are simulated, placed at the
//! moments of a step.
//!
//! A [`Moment`] is all that a placement depends on: the time for bodies on rails and skinned ones, the poses in the
//! state for simulated ones. Every body has a surface of triangles, which contact treats as cloth of infinite mass.
//! Solids, and closed meshes with a [`Volume`], are also felt by single cloth vertices, before contact: [`presses`]
//! finds those that would enter and gives dynamics planes to hold them on, so that cloth hangs on them; [`keep_out`]
//! puts a vertex that would end inside back on the surface, takes the velocity into it, and rubs by Coulomb's law.
//! (Bridson 2003, 2.1, for cloth nodes against thick, smooth objects)
//!
//! Guarantees: after [`keep_out`] no vertex that may move is inside a solid by more than rounding (a level set: by
//! more than its distance is wrong), unless two solids squeeze it. Positions of bodies depend on the moment alone, and
//! a
//! moment is part of the state, so a simulation that goes on meets them where they were.
//! Does not: stop cloth from being squeezed where bodies cross each other; move simulated bodies, which is the rigid
//! stage's work.

pub mod keyframes;
mod moment;
pub mod moving_mesh;
pub mod shape;
pub(crate) mod tessellate;
mod tips;
pub mod volume;

use crate::dynamics::{Guidance, Hold};
use crate::geometry::{DVec3, TriMesh, VertexId};
use crate::model::Model;
use keyframes::{Keyframes, Placement};
pub use moment::Moment;
use moving_mesh::MovingMesh;
use rayon::prelude::*;
use shape::Shape;
use std::sync::Arc;
use tips::{Balls, Tip};
use volume::{Instant, Volume, VolumeError};

/// Something that cloth cannot pass. Cloth moves it only if it is simulated.
#[derive(Clone, Debug)]
pub struct Body {
    /// What errors and reports call it.
    pub name: String,
    /// What it is and where it goes.
    pub form: Form,
    /// Coulomb friction; the mean with the fabric's counts.
    pub friction: f64,
    /// Distance that its surface asks for, metres; cloth keeps the mean of this and its own thickness.
    pub thickness: f64,
    /// The inside of a mesh that cloth feels by its distance too; others are felt by their triangles alone.
    pub volume: Option<Volume>,
}

/// What a body is.
#[derive(Clone, Debug)]
pub enum Form {
    /// A smooth solid around its own origin.
    Solid {
        /// Its form.
        shape: Shape,
        /// Where its origin is, over time.
        motion: Keyframes,
    },
    /// Triangles, thin or closed, that move and may change shape.
    Mesh(MovingMesh),
    /// A simulated body, felt by its triangles. Copies share them.
    Simulated {
        /// The surface in the body's own frame.
        surface: Arc<TriMesh>,
        /// Which of the poses of a moment is its own.
        number: usize,
    },
}

impl Body {
    /// A solid on rails. Its surface asks for no distance of its own.
    pub fn solid(name: impl Into<String>, shape: Shape, motion: Keyframes, friction: f64) -> Self {
        Self { name: name.into(), form: Form::Solid { shape, motion }, friction, thickness: 0.0, volume: None }
    }

    /// A mesh that is felt by its triangles.
    pub fn mesh(name: impl Into<String>, mesh: MovingMesh, friction: f64, thickness: f64) -> Self {
        Self { name: name.into(), form: Form::Mesh(mesh), friction, thickness, volume: None }
    }

    /// A body whose pose is part of the state.
    pub fn simulated(
        name: impl Into<String>,
        surface: Arc<TriMesh>,
        number: usize,
        friction: f64,
        thickness: f64,
    ) -> Self {
        Self { name: name.into(), form: Form::Simulated { surface, number }, friction, thickness, volume: None }
    }

    /// The same body, felt by its distance too if it is a mesh; samples lie at a spacing, metres, that depends on its
    /// size by default.
    pub fn with_level_set(mut self, spacing: Option<f64>) -> Result<Self, VolumeError> {
        if let Form::Mesh(mesh) = &self.form {
            self.volume = Some(Volume::of(mesh, spacing)?);
        }
        Ok(self)
    }

    /// What single vertices feel of it at the end of a step, if anything.
    fn place(&self, time: f64, step: f64) -> Option<Obstacle<'_>> {
        let solid = match &self.form {
            Form::Solid { shape, motion } => Solid::Analytic(shape, motion.placement(time + step, step)),
            Form::Mesh(mesh) => {
                let instant = self.volume.as_ref()?.at(mesh, time + step, step)?;
                Solid::LevelSet(instant, mesh.motion().placement(time + step, step))
            }
            Form::Simulated { .. } => return None,
        };
        Some(Obstacle { solid, friction: self.friction, thickness: self.thickness })
    }

    /// The surface in the body's own space, with edges of about a length, metres, where it is curved.
    fn own_surface(&self, edge: f64) -> TriMesh {
        match &self.form {
            Form::Solid { shape, .. } => tessellate::surface(shape, edge),
            Form::Mesh(mesh) => TriMesh { positions: mesh.positions_at(0.0), triangles: mesh.triangles().to_vec() },
            Form::Simulated { surface, .. } => surface.as_ref().clone(),
        }
    }
}

/// The surfaces of all bodies: their triangles never change, their vertices move with time.
#[derive(Clone, Debug, Default)]
pub struct Surfaces {
    meshes: Vec<TriMesh>,
    /// The sharp tips of every mesh body.
    tips: Vec<Vec<Tip>>,
    /// Length of an edge of the cloth, metres.
    edge: f64,
}

impl Surfaces {
    /// Cuts the surfaces into triangles; curved solids get edges of about a length, metres.
    pub fn new(bodies: &[Body], edge: f64) -> Self {
        let meshes: Vec<TriMesh> = bodies.iter().map(|body| body.own_surface(edge)).collect();
        let tips = |(body, mesh): (&Body, &TriMesh)| match body.form {
            Form::Mesh(_) => tips::find(mesh),
            Form::Solid { .. } | Form::Simulated { .. } => Vec::new(),
        };
        let tips = bodies.iter().zip(&meshes).map(tips).collect();
        Self { meshes, tips, edge }
    }

    /// What single vertices feel of the sharp tips of meshes at the end of a step: balls of a radius in edges of the
    /// cloth.
    pub fn place_tips(&self, bodies: &[Body], time: f64, step: f64, radius: f64) -> Vec<Obstacle<'static>> {
        if radius <= 0.0 {
            return Vec::new();
        }
        let sharp = bodies.iter().zip(&self.tips).filter(|(_, tips)| !tips.is_empty());
        let placed = sharp.filter_map(|(body, tips)| {
            let Form::Mesh(mesh) = &body.form else { return None };
            let (start, end) = (mesh.positions_at(time), mesh.positions_at(time + step));
            let solid = Solid::Tips(Balls::moved(tips, [&start, &end], step, radius * self.edge));
            Some(Obstacle { solid, friction: body.friction, thickness: body.thickness })
        });
        placed.collect()
    }

    /// One mesh per body: its triangles, and its vertices in the body's own space.
    pub fn meshes(&self) -> &[TriMesh] {
        &self.meshes
    }

    /// All vertices of all bodies at a moment, one body after the other. Give the bodies that the surfaces were made
    /// of.
    pub fn positions_at(&self, bodies: &[Body], moment: Moment<'_>) -> Vec<DVec3> {
        let mut positions = Vec::new();
        for (body, mesh) in bodies.iter().zip(&self.meshes) {
            match moment.frame_of(body) {
                Some((origin, rotation)) => {
                    positions.extend(mesh.positions.iter().map(|&point| origin + rotation * point));
                }
                None => positions.extend(moment.own_positions_of(body)),
            }
        }
        positions
    }
}

/// Something solid at the end of a step, with its velocity over the step.
#[derive(Clone, Debug)]
pub struct Obstacle<'a> {
    solid: Solid<'a>,
    friction: f64,
    thickness: f64,
}

/// How distances to an obstacle are found.
#[derive(Clone, Debug)]
enum Solid<'a> {
    Analytic(&'a Shape, Placement),
    LevelSet(Instant<'a>, Placement),
    Tips(Balls),
}

/// Cloth that a step has moved.
#[derive(Debug)]
pub struct Moved<'a> {
    /// Positions at the start of the step.
    pub start: &'a [DVec3],
    /// Positions at its end.
    pub positions: &'a mut [DVec3],
    /// Velocities at its end.
    pub velocities: &'a mut [DVec3],
    /// Length of the step, seconds.
    pub step: f64,
}

/// Where the solids are at the end of a step.
pub fn place(bodies: &[Body], time: f64, step: f64) -> Vec<Obstacle<'_>> {
    bodies.iter().filter_map(|body| body.place(time, step)).collect()
}

/// Everything with an inside at a time, closed meshes that are felt by their triangles alone included. Velocities are
/// those of a step before.
pub fn place_insides(bodies: &[Body], time: f64, step: f64) -> Vec<Obstacle<'_>> {
    let mut obstacles = Vec::new();
    for body in bodies {
        match &body.form {
            Form::Mesh(mesh) if body.volume.is_none() => {
                let instant = volume::still(mesh, time);
                let placement = mesh.motion().placement(time, step);
                obstacles.extend(instant.map(|instant| Obstacle {
                    solid: Solid::LevelSet(instant, placement),
                    friction: body.friction,
                    thickness: body.thickness,
                }));
            }
            _ => obstacles.extend(body.place(time - step, step)),
        }
    }
    obstacles
}

/// A vertex that would enter a solid if nothing held it.
#[derive(Clone, Copy, Debug)]
pub struct Press {
    vertex: VertexId,
    /// Of the surface, at the end of the step.
    normal: DVec3,
    /// The plane `normal . x = offset` keeps the vertex outside.
    offset: f64,
    /// How far the solid holds it back, metres.
    pressed: f64,
    friction: f64,
    /// How far the solid carries it in the step.
    carried: DVec3,
}

impl Press {
    /// What dynamics has to respect so that cloth hangs on this vertex and does not pull it through.
    pub fn hold(&self) -> (VertexId, Hold) {
        (self.vertex, Hold::OnPlane { normal: self.normal, offset: self.offset })
    }
}

/// The vertices that would enter a solid. Led ones are left out; one that two solids want is held by the first.
pub fn presses(
    obstacles: &[Obstacle<'_>],
    model: &Model,
    guidance: &Guidance,
    start: &[DVec3],
    end: &[DVec3],
    step: f64,
) -> Vec<Press> {
    if obstacles.is_empty() {
        return Vec::new();
    }
    let led = led(model, guidance);
    let found: Vec<Option<Press>> = (0..end.len())
        .into_par_iter()
        .map(|at| {
            let vertex = VertexId::new(at);
            let &triangle = model.topology.vertex_triangles(vertex).first()?;
            if led.binary_search(&vertex).is_ok() {
                return None;
            }
            let fabric = model.fabric(triangle);
            obstacles.iter().find_map(|obstacle| {
                let (distance, normal) = obstacle.distance(end[at]);
                let margin = obstacle.margin(fabric.thickness);
                if distance >= margin {
                    return None;
                }
                let carried = obstacle.velocity_at(end[at]) * step;
                let depth = obstacle.standoff(start[at] + carried, margin) - distance;
                let pressed = depth.min(-(end[at] - start[at] - carried).dot(normal));
                (depth > 0.0 && pressed > 0.0).then(|| Press {
                    vertex,
                    normal,
                    offset: normal.dot(end[at] + normal * depth),
                    pressed,
                    friction: 0.5 * (fabric.friction + obstacle.friction),
                    carried,
                })
            })
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// Lets pressed vertices rub by Coulomb's law, in a motion that already keeps them on their planes.
pub fn rub_presses(presses: &[Press], moved: &mut Moved<'_>) {
    for press in presses {
        let at = press.vertex.index();
        let along = |motion: DVec3| motion - press.normal * motion.dot(press.normal);
        let slide = along(moved.positions[at] - moved.start[at] - press.carried);
        moved.positions[at] -= rub(slide, press.friction * press.pressed);
        let speed = along(moved.velocities[at] - press.carried / moved.step);
        moved.velocities[at] -= rub(speed, press.friction * press.pressed / moved.step);
    }
}

fn led(model: &Model, guidance: &Guidance) -> Vec<VertexId> {
    let mut led: Vec<VertexId> = guidance.holds.iter().map(|hold| hold.0).chain(model.pins.iter().copied()).collect();
    led.sort_unstable();
    led
}

/// Puts vertices that entered a solid back on its surface; returns how many did.
pub fn keep_out(obstacles: &[Obstacle<'_>], model: &Model, guidance: &Guidance, moved: Moved<'_>) -> usize {
    if obstacles.is_empty() {
        return 0;
    }
    let Moved { start, positions, velocities, step } = moved;
    let led = led(model, guidance);
    let hits: Vec<usize> = positions
        .par_iter_mut()
        .zip(velocities.par_iter_mut())
        .enumerate()
        .map(|(vertex, (position, velocity))| {
            let vertex_id = VertexId::new(vertex);
            let Some(&triangle) = model.topology.vertex_triangles(vertex_id).first() else { return 0 };
            if led.binary_search(&vertex_id).is_ok() {
                return 0;
            }
            let fabric = model.fabric(triangle);
            let mut hits = 0;
            for obstacle in obstacles {
                let margin = obstacle.margin(fabric.thickness);
                let touch = Touch { margin, friction: fabric.friction, step };
                hits += usize::from(obstacle.push_out(touch, start[vertex], position, velocity));
            }
            hits
        })
        .collect();
    hits.iter().filter(|&&hits| hits > 0).count()
}

/// The part of a missing distance that is made up for in one step, as in repulsions (Bridson 2003, 2.6).
const RECOVERY: f64 = 0.1;

struct Touch {
    margin: f64,
    friction: f64,
    step: f64,
}

impl Obstacle<'_> {
    /// The signed distance from a point to the solid and the direction away from it.
    pub fn distance(&self, point: DVec3) -> (f64, DVec3) {
        let placed = |placement: &Placement, (distance, normal): (f64, DVec3)| (distance, placement.rotation * normal);
        match &self.solid {
            Solid::Analytic(shape, at) => placed(at, shape.distance(at.to_body(point))),
            Solid::LevelSet(Instant::Rigid(shape), at) => placed(at, volume::distance(shape, at.to_body(point))),
            Solid::LevelSet(Instant::Still(shape), _) => volume::distance(shape, point),
            Solid::Tips(tips) => tips.distance(point),
            Solid::LevelSet(Instant::Deforming(body), _) => {
                let at = body.at(point, 0.0);
                (at.value, at.gradient.try_normalize().unwrap_or(DVec3::Y))
            }
        }
    }

    /// The velocity of the solid at a point, m/s; of a deforming one, that of its surface nearest to the point.
    fn velocity_at(&self, point: DVec3) -> DVec3 {
        match &self.solid {
            Solid::Tips(tips) => tips.velocity_at(point),
            Solid::LevelSet(Instant::Deforming(body), _) => body.at(point, 0.0).velocity,
            Solid::Analytic(_, placement) | Solid::LevelSet(_, placement) => placement.velocity_at(point),
        }
    }

    /// The distance that the middle of a cloth of some thickness keeps.
    pub(crate) fn margin(&self, thickness: f64) -> f64 {
        0.5 * (thickness + self.thickness)
    }

    /// The distance that a vertex has to keep: the margin, or, if it starts nearer, a little more than it has. Other
    /// cloth may press it there, and would have to be pushed through.
    fn standoff(&self, start: DVec3, margin: f64) -> f64 {
        let distance = self.distance(start).0.max(0.0);
        if distance < margin { distance + RECOVERY * (margin - distance) } else { margin }
    }

    fn push_out(&self, touch: Touch, start: DVec3, position: &mut DVec3, velocity: &mut DVec3) -> bool {
        let (distance, normal) = self.distance(*position);
        if distance >= touch.margin {
            return false;
        }
        let carried = self.velocity_at(*position);
        let depth = self.standoff(start + carried * touch.step, touch.margin) - distance;
        if depth <= 0.0 {
            return false;
        }
        let friction = 0.5 * (touch.friction + self.friction);
        let slide = *position - start - carried * touch.step;
        // What was inside before the step is put right without pressing, so it does not rub.
        let pressed = depth.min(-slide.dot(normal)).max(0.0);
        *position += normal * depth - rub(slide - normal * slide.dot(normal), friction * pressed);
        let relative = *velocity - carried;
        let into = (-relative.dot(normal)).max(0.0);
        let along = relative - normal * relative.dot(normal);
        *velocity += normal * into - rub(along, friction * into);
        true
    }
}

/// The part of a sliding motion that friction of a given strength takes away.
pub fn rub(slide: DVec3, strength: f64) -> DVec3 {
    let length = slide.length();
    if length <= strength { slide } else { slide * (strength / length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::TriMesh;
    use crate::model::Cloth;

    /// A triangle that slides over a plane at rest, as if gravity had pushed it in by `depth`.
    fn slide(depth: f64, speed: f64, friction: f64) -> (DVec3, DVec3) {
        let mesh = TriMesh { positions: vec![DVec3::ZERO, DVec3::X, DVec3::NEG_Z], triangles: vec![[0, 1, 2]] };
        let mut cloth = Cloth::new("scrap", mesh.clone());
        cloth.fabric.thickness = 0.0;
        cloth.fabric.friction = friction;
        let (model, _) = Model::build(&[cloth]).unwrap();
        let body = Body::solid("floor", Shape::Plane, Keyframes::fixed(DVec3::ZERO), friction);
        let step = 0.01;
        let velocity = DVec3::new(speed, -depth / step, 0.0);
        let mut positions: Vec<DVec3> = mesh.positions.iter().map(|point| *point + velocity * step).collect();
        let mut velocities = vec![velocity; 3];
        let bodies = [body];
        let moved = Moved { start: &mesh.positions, positions: &mut positions, velocities: &mut velocities, step };
        assert_eq!(keep_out(&place(&bodies, 0.0, step), &model, &Guidance::default(), moved), 3);
        (positions[0], velocities[0])
    }

    #[test]
    fn friction_takes_its_share_of_the_normal_impulse_and_no_more() {
        let (position, velocity) = slide(0.001, 1.0, 0.4);
        assert!((velocity - DVec3::X * (1.0 - 0.4 * 0.1)).length() < 1e-12);
        assert!((position - DVec3::X * (0.01 - 0.4 * 0.001)).length() < 1e-12);
        let (position, velocity) = slide(0.001, 0.01, 0.4);
        assert!(position.length() < 1e-12 && velocity.length() < 1e-12);
    }
}
