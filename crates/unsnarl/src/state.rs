//! All that changes while cloth moves. Saved and loaded, it goes on bit for bit.

use crate::bodies::Moment;
use crate::geometry::DVec3;
use crate::rest_shape::RestShape;
use crate::rigid::{RigidState, Wrench};
use crate::untangle::folds::flip::FlipJob;
use crate::untangle::folds::tearing::Tearing;
use crate::untangle::resolvers::esef::Pull;

/// Where cloth is, how it moves, and the rest shapes in force.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Seconds since the scene began.
    pub time: f64,
    /// One point per vertex, metres.
    pub positions: Vec<DVec3>,
    /// One velocity per vertex, m/s.
    pub velocities: Vec<DVec3>,
    /// One rest shape per triangle. The untangler shortens and restores them.
    pub rest_shapes: Vec<RestShape>,
    /// One rest angle per hinge of the model, radians.
    pub rest_angles: Vec<f64>,
    /// One factor per hinge on its bending stiffness; 1 unless something stiffens or softens it.
    pub hinge_stiffness: Vec<f64>,
    /// One factor per triangle on its stiffness; 1 unless it is torn.
    pub triangle_stiffness: Vec<f64>,
    /// Edges that the untangler is shortening or giving back.
    pub pulls: Vec<Pull>,
    /// Folds that it is tearing or giving back.
    pub tearing: Tearing,
    /// Folds that it is flipping.
    pub flips: Vec<FlipJob>,
    /// The step before this one, for two-step integration; `None` at the start and after a jump.
    pub previous: Option<Previous>,
    /// Simulated bodies: where they are and how they move.
    pub rigid: RigidState,
    /// What cloth pressed each simulated body with in the last step, as a force (N) and a moment (N m); empty before
    /// the first. The next step sets out from it.
    pub loads: Vec<Wrench>,
}

/// What a two-step integrator remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Previous {
    /// Length of the last step, seconds.
    pub step: f64,
    /// Positions at its start.
    pub positions: Vec<DVec3>,
    /// Velocities at its start.
    pub velocities: Vec<DVec3>,
}

impl State {
    /// Cloth at rest at time 0.
    pub fn at_rest(positions: Vec<DVec3>, rest_shapes: Vec<RestShape>, rest_angles: Vec<f64>) -> Self {
        Self {
            time: 0.0,
            velocities: vec![DVec3::ZERO; positions.len()],
            positions,
            triangle_stiffness: vec![1.0; rest_shapes.len()],
            rest_shapes,
            hinge_stiffness: vec![1.0; rest_angles.len()],
            rest_angles,
            pulls: Vec::new(),
            tearing: Tearing::default(),
            flips: Vec::new(),
            previous: None,
            rigid: RigidState::default(),
            loads: Vec::new(),
        }
    }

    /// When it is, and where simulated bodies are.
    pub fn moment(&self) -> Moment<'_> {
        Moment { time: self.time, poses: &self.rigid.placements }
    }
}
