//! Rigid bodies that stack: collide, change velocities, contact, move.
//!
//! The order of a step separates collisions from contact without thresholds: a body at rest has no velocity when
//! collisions are treated, gains one from gravity, and contact takes it away again before anything moves. Contact goes
//! up the levels of a contact graph, stopping bodies little by little, so that weight is felt; one sweep of shock
//! propagation then stops what is left, from the ground up. (Bridson 2003, chapter 4)
//!
//! Guarantees: impulses act in opposite pairs at one point, so momentum of free bodies is kept to rounding, linear and
//! angular; the same bits on any number of threads; [`RigidState`] is all that changes.
//! Does not: catch bodies that pass each other within one step; the step is split by speed and size instead. No
//! joints, breaking or sleeping.
//! Departs: arms of collisions start at the current centres, not the predicted ones, which would not keep angular
//! momentum; round shapes touch as balls and rods, not through vertices of a tessellation.

mod broad;
mod collide;
mod contact;
mod contact_graph;
mod contact_point;
mod groups;
mod interference;
mod motion;
mod report;
mod response;
mod rolling;
mod samples;
mod separation;
mod settings;
mod shape;
mod shock;
mod state;

pub use report::Report;
pub use settings::{Settings, StepOrder, Stopping, Switch};
pub use shape::{Shape, ShapeError, ShapeSettings};
pub use state::{Placement, Pressing, RigidState};

use crate::geometry::{DVec3, math};
use crate::samples::random::Random;
use broad::Broad;
use contact::Contacts;
use interference::{Near, View, points};
use motion::{Moving, Step};
use rayon::prelude::*;
use std::sync::Arc;

/// Whether a body moves by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has a mass and moves by what acts on it.
    Simulated,
    /// It never moves.
    Static,
    /// It moves at the velocity and spin that the state prescribes, and nothing changes them.
    Kinematic,
}

/// A body: fixed, part of the model. Lengths are metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Its shape, a place in [`Bodies::shapes`]; copies share one.
    pub shape: usize,
    /// Mass, kg; positive and finite.
    pub mass: f64,
    /// Moments of inertia along the axes of its shape, kg m^2; positive and finite.
    pub inertia: DVec3,
    /// Speed after a collision as a share of that before; of a pair, the smaller counts.
    pub restitution: f64,
    /// Coulomb friction; of a pair, the larger counts.
    pub friction: f64,
    /// Rolling friction: a length; the couple that resists rolling is at most this times the normal force. The larger
    /// counts.
    pub rolling: f64,
    /// Spinning friction: a length, for the couple about the normal. The larger counts.
    pub spinning: f64,
    /// Whether it moves by itself.
    pub kind: Kind,
}

impl Body {
    /// A simulated body of uniform density, kg/m^3; elastic and frictionless until somebody says otherwise.
    pub fn of_density(shape: usize, of: &Shape, density: f64) -> Self {
        Self {
            shape,
            mass: of.volume() * density,
            inertia: of.inertia() * density,
            restitution: 0.0,
            friction: 0.0,
            rolling: 0.0,
            spinning: 0.0,
            kind: Kind::Simulated,
        }
    }

    /// A body that never moves.
    pub fn fixed(shape: usize) -> Self {
        Self {
            shape,
            mass: 1.0,
            inertia: DVec3::ONE,
            restitution: 1.0,
            friction: 0.0,
            rolling: 0.0,
            spinning: 0.0,
            kind: Kind::Static,
        }
    }
}

/// All bodies and their shapes.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// Shapes, each shared by any number of bodies.
    pub shapes: Vec<Arc<Shape>>,
    /// The bodies; [`RigidState`] has one entry for each.
    pub bodies: Vec<Body>,
}

impl Bodies {
    /// The shape of a body.
    pub fn shape(&self, body: usize) -> &Shape {
        &self.shapes[self.bodies[body].shape]
    }
}

/// What acts on a body from outside during a step, beside gravity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// Force times time, N s.
    pub impulse: DVec3,
    /// Torque about the centre of mass times time, N m s.
    pub angular_impulse: DVec3,
}

/// Memory that is kept from step to step; dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    broad: Broad,
    /// The shapes of the bodies that it was used for last.
    shapes: Vec<Arc<Shape>>,
}

impl Workspace {
    /// Forgets what was near, if bodies are others.
    fn fit(&mut self, bodies: &Bodies) {
        let shapes = || bodies.bodies.iter().map(|body| &bodies.shapes[body.shape]);
        let is_same = self.shapes.len() == bodies.bodies.len()
            && self.shapes.iter().zip(shapes()).all(|(known, shape)| Arc::ptr_eq(known, shape));
        if !is_same {
            *self = Self { broad: Broad::default(), shapes: shapes().cloned().collect() };
        }
    }
}

/// Splitting by speed stops here: so many steps for one that was asked for.
const MOST_STEPS: f64 = 64.0;

/// Advances all bodies by a time, in seconds. `external` has one entry per body, or none at all.
///
/// The time is cut into steps no longer than the settings say, and no longer than half the time in which a point of a
/// body passes the body's smallest side.
pub fn advance(
    bodies: &Bodies,
    state: &mut RigidState,
    step: f64,
    gravity: DVec3,
    external: &[Wrench],
    settings: &Settings,
    workspace: &mut Workspace,
) -> Report {
    let mut report = Report::default();
    if !(step > 0.0 && step.is_finite()) {
        return report;
    }
    workspace.fit(bodies);
    let mut left = step;
    while left > 0.0 {
        let longest = longest_step(bodies, state, gravity, settings);
        let parts = (left / longest - 1e-9).ceil().max(1.0);
        let duration = left / parts;
        let part = |wrench: &Wrench| Wrench {
            impulse: wrench.impulse * (duration / step),
            angular_impulse: wrench.angular_impulse * (duration / step),
        };
        let external: Vec<Wrench> = external.iter().map(part).collect();
        report = report.merge(one_step(bodies, state, duration, gravity, &external, settings, workspace));
        left = if parts <= 1.0 { 0.0 } else { left - duration };
    }
    report.deepest = deepest_of(bodies, state, settings, &mut workspace.broad);
    report.kinetic_energy = state.kinetic_energy(bodies);
    let simulated = || (0..bodies.bodies.len()).filter(|&at| bodies.bodies[at].kind == Kind::Simulated);
    report.potential_energy =
        simulated().map(|at| -bodies.bodies[at].mass * gravity.dot(state.placements[at].position)).sum();
    report.fastest = simulated().map(|at| surface_speed(bodies, state, at)).fold(0.0, f64::max);
    report
}

fn surface_speed(bodies: &Bodies, state: &RigidState, body: usize) -> f64 {
    state.velocities[body].length() + state.spin(bodies, body).length() * bodies.shape(body).radius()
}

/// The longest step that settings and speeds allow.
fn longest_step(bodies: &Bodies, state: &RigidState, gravity: DVec3, settings: &Settings) -> f64 {
    let asked = if settings.step > 0.0 { settings.step } else { Settings::default().step };
    let of = |body: usize| {
        let speed = surface_speed(bodies, state, body) + asked * gravity.length();
        0.5 * bodies.shape(body).bounds().extent().min_element() / speed
    };
    let simulated = (0..bodies.bodies.len()).filter(|&at| bodies.bodies[at].kind == Kind::Simulated);
    simulated.map(of).filter(|limit| *limit > 0.0).fold(asked, f64::min).max(asked / MOST_STEPS)
}

/// One step, in the order of the chapter.
fn one_step(
    bodies: &Bodies,
    state: &mut RigidState,
    duration: f64,
    gravity: DVec3,
    external: &[Wrench],
    settings: &Settings,
    workspace: &mut Workspace,
) -> Report {
    shuffle(state, settings);
    let pressing = std::mem::take(&mut state.pressing);
    let broad = &mut workspace.broad;
    broad.restart();
    let mut placements = state.placements.clone();
    let is_standard = settings.order == StepOrder::Standard;
    if is_standard {
        let (velocities, spins) = kicked(bodies, state, duration, gravity, external);
        for body in 0..placements.len() {
            placements[body] = placements[body].moved(duration, velocities[body], spins[body]);
        }
    }
    let look = if is_standard { 0.0 } else { duration };
    let mut step = Step::new(bodies, settings, state, &placements, [duration, look], gravity);
    let kicks: Vec<_> = (0..placements.len()).map(|body| step.kick(body, gravity, external)).collect();
    if is_standard {
        step.apply(&kicks);
    }
    let none = vec![(DVec3::ZERO, DVec3::ZERO); kicks.len()];
    let collided = collide::collide(&mut step, if is_standard { &none } else { &kicks }, broad);
    if !is_standard {
        step.apply(&kicks);
    }
    let collision_impulses = collided.impulses;
    let mut contacts = Contacts::find(&step, broad, Some(collided), &pressing);
    let contact_impulses = contacts.sweep(&mut step, broad);
    let shock_impulses = if settings.shock == Switch::On { shock::propagate(&mut contacts, &mut step) } else { 0 };
    let shifts = if settings.separation == Switch::On { separation::shifts(&contacts, &step) } else { Vec::new() };
    let report = Report {
        steps: 1,
        pairs: broad.pairs().len(),
        points: contacts.islands.iter().flat_map(|island| &island.pairs).map(|pair| pair.contacts.len()).sum(),
        collision_impulses,
        contact_impulses,
        shock_impulses,
        levels: contacts.levels.count(),
        ..Report::default()
    };
    let pressing = contacts.pressing(&step);
    let moving = std::mem::take(&mut step.moving);
    let lost = finish(bodies, state, &placements, look, &moving, &shifts);
    // What a scene never uses it does not keep.
    state.pressing = if settings.starting_guess == Switch::On { pressing } else { Vec::new() };
    Report { lost, ..report }
}

/// Velocities and spins after forces, for the standard order.
fn kicked(
    bodies: &Bodies,
    state: &RigidState,
    duration: f64,
    gravity: DVec3,
    external: &[Wrench],
) -> (Vec<DVec3>, Vec<DVec3>) {
    let settings = Settings::default();
    let mut step = Step::new(bodies, &settings, state, &state.placements, [duration, 0.0], gravity);
    let kicks: Vec<_> = (0..state.placements.len()).map(|body| step.kick(body, gravity, external)).collect();
    step.apply(&kicks);
    step.moving.iter().map(|moving| (moving.velocity, moving.spin)).unzip()
}

/// Moves bodies by their velocities, pushes apart what overlaps, and keeps what is no number where it was.
fn finish(
    bodies: &Bodies,
    state: &mut RigidState,
    placements: &[Placement],
    look: f64,
    moving: &[Moving],
    shifts: &[(usize, DVec3, DVec3)],
) -> usize {
    let mut ends: Vec<Placement> = placements.to_vec();
    for (body, end) in ends.iter_mut().enumerate() {
        if bodies.bodies[body].kind != Kind::Static && look > 0.0 {
            *end = end.moved(look, moving[body].velocity, moving[body].spin);
        }
    }
    for &(body, shift, turn) in shifts {
        if bodies.bodies[body].kind == Kind::Simulated {
            ends[body] = ends[body].moved(1.0, shift, turn);
        }
    }
    let mut lost = 0;
    for (body, end) in ends.into_iter().enumerate() {
        match bodies.bodies[body].kind {
            Kind::Static => {}
            Kind::Kinematic => state.placements[body] = end,
            Kind::Simulated => {
                let (velocity, momentum) = (moving[body].velocity, moving[body].momentum);
                let is_number = [end.position, velocity, momentum].into_iter().all(math::is_finite);
                if is_number && end.rotation.is_finite() {
                    state.placements[body] = end;
                    (state.velocities[body], state.angular_momenta[body]) = (velocity, momentum);
                } else {
                    (state.velocities[body], state.angular_momenta[body]) = (DVec3::ZERO, DVec3::ZERO);
                    lost += 1;
                }
            }
        }
    }
    lost
}

/// Swaps a tenth of the list at random, so that no body is always first.
fn shuffle(state: &mut RigidState, settings: &Settings) {
    let count = state.order.len();
    if settings.shuffle == Switch::Off || count < 2 {
        return;
    }
    let mut random = Random::new(state.random);
    for _ in 0..(count / 10).max(1) {
        let mut pick = || (random.bits() % count as u64) as usize;
        let (one, other) = (pick(), pick());
        state.order.swap(one, other);
    }
    state.random = random.counter();
}

/// The deepest point of one body in another, metres: exact where it is within a level set's band.
pub fn deepest(bodies: &Bodies, state: &RigidState, settings: &Settings) -> f64 {
    deepest_of(bodies, state, settings, &mut Broad::default())
}

fn deepest_of(bodies: &Bodies, state: &RigidState, settings: &Settings, broad: &mut Broad) -> f64 {
    let step = Step::new(bodies, settings, state, &state.placements, [0.0, 0.0], DVec3::ZERO);
    let still = (DVec3::ZERO, DVec3::ZERO);
    let seen: Vec<_> = (0..step.moving.len()).map(|body| step.ahead(body, still)).collect();
    broad.restart();
    broad.ensure(&step, &seen);
    let depth = |(&[a, b], near): (&[usize; 2], &mut Near)| {
        let found = points(&step, [View::of(&step, &seen, a), View::of(&step, &seen, b)], 0.0, near);
        found.iter().map(|point| -point.gap).fold(0.0, f64::max)
    };
    let (pairs, near) = broad.with_near();
    pairs.par_iter().zip(near).with_min_len(16).map(depth).reduce(|| 0.0, f64::max)
}

/// The level of each body in the contact graph of a step: 0 for what does not move, then upward.
pub fn contact_levels(bodies: &Bodies, state: &RigidState, step: f64, gravity: DVec3, settings: &Settings) -> Vec<u32> {
    let mut step = Step::new(bodies, settings, state, &state.placements, [step, step], gravity);
    let kicks: Vec<_> = (0..bodies.bodies.len()).map(|body| step.kick(body, gravity, &[])).collect();
    step.apply(&kicks);
    Contacts::find(&step, &mut Broad::default(), None, &[]).levels.level
}
