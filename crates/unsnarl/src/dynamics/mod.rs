//! Where cloth wants to go: internal forces, gravity, air and pins, integrated over one step.
//!
//! [`propose`] gives candidate positions, contact may change them, and [`finish`] makes the next state. Two models of
//! cloth read the same fabrics: [`baraff_witkin`] (implicit, large steps) and [`mass_spring`] (Bridson's, explicit
//! elasticity).
//!
//! Guarantees: the same bits on any number of threads; pinned and guided vertices arrive exactly where they are told
//! to.
//! Does not: look at collisions.

pub mod air;
pub mod baraff_witkin;
pub(crate) mod block_cholesky;
mod block_matrix;
mod coarse;
mod conjugate_gradients;
pub mod cushion;
mod direct;
pub mod energy;
pub mod hinge;
mod live_rows;
pub mod mass_spring;
pub mod pattern;
pub(crate) mod scalar_cholesky;
mod sewing;
pub mod strain;
pub mod support;

use crate::geometry::{DVec3, VertexId};
use crate::model::Model;
use crate::scene::environment::Environment;
use crate::settings::{ClothModel, DynamicsSettings, Integration};
use crate::state::{Previous, State};
use conjugate_gradients::Freedom;

pub use conjugate_gradients::Solve;
pub use cushion::Cushion;
pub use support::Support;

/// What a step starts from.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The cloth.
    pub model: &'a Model,
    /// Where it is.
    pub state: &'a State,
    /// What acts on all of it.
    pub environment: &'a Environment,
    /// Length of the step, seconds.
    pub step: f64,
}

/// What other stages ask of dynamics in one step. The default asks for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guidance {
    /// Forces to add, one per vertex, newtons; or empty.
    pub forces: Vec<DVec3>,
    /// How fast each added force fades as its vertex moves, N/m, one per vertex; or empty. It makes strong forces
    /// stable.
    pub stiffness: Vec<f64>,
    /// Vertices whose motion is decided elsewhere: flypaper, hard contacts, handles. What is listed here goes before
    /// the model's pins, which stay where they are; of two entries for one vertex the later counts.
    pub holds: Vec<(VertexId, Hold)>,
    /// Points between vertices that bodies support.
    pub supports: Vec<Support>,
    /// Layers of cloth within thickness. The mass-spring model leaves them to contact.
    pub cushions: Vec<Cushion>,
    /// Velocities that were proposed before for this very step with the same workspace and fewer holds, or empty: an
    /// implicit solve sets out from them, and elements are not evaluated again.
    pub guess: Vec<DVec3>,
}

impl Guidance {
    /// Forces of another one in place of its own, at every vertex where those fade.
    pub fn lay_over(&mut self, other: &Self) {
        if other.stiffness.is_empty() {
            return;
        }
        let count = other.stiffness.len();
        self.forces.resize(count.max(self.forces.len()), DVec3::ZERO);
        self.stiffness.resize(count.max(self.stiffness.len()), 0.0);
        for at in (0..count).filter(|&at| other.stiffness[at] > 0.0) {
            self.forces[at] = other.forces[at];
            self.stiffness[at] = other.stiffness[at];
        }
    }
}

/// Where a guided vertex has to be at the end of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hold {
    /// At a point.
    At(DVec3),
    /// On a plane: `normal . x = offset`, `normal` of unit length; free along the plane.
    OnPlane {
        /// Unit normal.
        normal: DVec3,
        /// Distance from the origin along it.
        offset: f64,
    },
}

/// Where cloth would go if nothing stood in the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Positions at the end of the step.
    pub positions: Vec<DVec3>,
    /// Velocities at the end of the step; the mass-spring model replaces them when it finishes.
    pub velocities: Vec<DVec3>,
    /// What the solver did.
    pub report: DynamicsReport,
    /// The supports of the guidance with the impulse that each gives over the step along its normal, N s; the
    /// mass-spring model does not tell.
    pub borne: Vec<(Support, f64)>,
    /// What the mass-spring model needs to finish; empty for the other.
    pub half_step: mass_spring::HalfStep,
}

/// What the solver of one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DynamicsReport {
    /// Iterations of conjugate gradients, all solves together.
    pub iterations: u32,
    /// Linear solves.
    pub solves: u32,
    /// The largest relative residual that a solve was left with.
    pub relative_residual: f64,
}

impl DynamicsReport {
    /// Adds what another proposal of the same step took.
    pub fn join(&mut self, other: Self) {
        self.iterations += other.iterations;
        self.solves += other.solves;
        self.relative_residual = self.relative_residual.max(other.relative_residual);
    }

    fn add(&mut self, solve: Solve) {
        self.iterations += solve.iterations;
        self.solves += 1;
        self.relative_residual = self.relative_residual.max(solve.relative_residual);
    }
}

/// Memory that outlives a step. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    implicit: baraff_witkin::Memory,
    half_steps: mass_spring::Memory,
}

/// Candidate positions and velocities for the end of the step.
pub fn propose(start: &Start, guidance: &Guidance, settings: &DynamicsSettings, workspace: &mut Workspace) -> Proposal {
    match settings.model {
        ClothModel::BaraffWitkin => baraff_witkin::propose(start, guidance, settings, &mut workspace.implicit),
        ClothModel::MassSpring => mass_spring::propose(start, guidance, settings, &mut workspace.half_steps),
    }
}

/// The next state, from what contact left of the proposal.
pub fn finish(start: &Start, resolved: Proposal, settings: &DynamicsSettings, workspace: &mut Workspace) -> State {
    let state = start.state;
    let (mut velocities, mut previous) = (Vec::new(), None);
    match (settings.model, settings.integration) {
        (ClothModel::MassSpring, _) => {
            velocities = mass_spring::finish(start, &resolved, settings, &mut workspace.half_steps);
        }
        (ClothModel::BaraffWitkin, Integration::QuasiStatic) => velocities.resize(state.positions.len(), DVec3::ZERO),
        (ClothModel::BaraffWitkin, Integration::BackwardEuler) => velocities = resolved.velocities,
        (ClothModel::BaraffWitkin, Integration::Bdf2) => {
            velocities = resolved.velocities;
            let (positions, velocities) = (state.positions.clone(), state.velocities.clone());
            previous = Some(Previous { step: start.step, positions, velocities });
        }
    }
    State {
        time: state.time + start.step,
        positions: resolved.positions,
        velocities,
        rest_shapes: state.rest_shapes.clone(),
        rest_angles: state.rest_angles.clone(),
        hinge_stiffness: state.hinge_stiffness.clone(),
        triangle_stiffness: state.triangle_stiffness.clone(),
        pulls: state.pulls.clone(),
        tearing: state.tearing.clone(),
        flips: state.flips.clone(),
        previous,
        rigid: state.rigid.clone(),
        loads: state.loads.clone(),
    }
}

/// The longest step that the model bears, seconds; implicit steps have no such bound.
pub fn stable_step(model: &Model, state: &State, settings: &DynamicsSettings) -> f64 {
    match settings.model {
        ClothModel::BaraffWitkin => f64::INFINITY,
        ClothModel::MassSpring => mass_spring::springs::stable_step(model, state, settings.mass_spring.step),
    }
}

/// The freedom of every vertex and the position that its unfree directions are to reach, by vertex.
fn constraints(start: &Start, guidance: &Guidance) -> (Vec<Freedom>, Vec<(VertexId, DVec3)>) {
    let mut freedom = vec![Freedom::Free; start.model.masses.len()];
    let mut goals = Vec::with_capacity(start.model.pins.len() + guidance.holds.len());
    for &pin in &start.model.pins {
        freedom[pin.index()] = Freedom::Held;
        goals.push((pin, start.state.positions[pin.index()]));
    }
    for &(vertex, hold) in &guidance.holds {
        let (free, goal) = match hold {
            Hold::At(point) => (Freedom::Held, point),
            Hold::OnPlane { normal, offset } => (Freedom::Plane(normal), normal * offset),
        };
        freedom[vertex.index()] = free;
        goals.push((vertex, goal));
    }
    (freedom, goals)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod theory_tests;
