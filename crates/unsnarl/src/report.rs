//! What a step or a frame did, for people and for files.

use crate::dynamics::DynamicsReport;
use serde::{Deserialize, Serialize};

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// What the solver did.
    pub dynamics: DynamicsReport,
    /// Vertices that touched a body.
    pub contacts: usize,
    /// The largest stretch of a triangle at the end, over all directions; 1 is unstretched.
    pub largest_stretch: f64,
}

/// What one frame did: the steps added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameReport {
    /// Steps taken.
    pub steps: u32,
    /// Steps that were thrown away and taken again at half the length.
    pub halved_steps: u32,
    /// Steps that distorted cloth too far and could not be halved again.
    pub forced_steps: u32,
    /// Iterations of the linear solver.
    pub solver_iterations: u32,
    /// Vertices that touched a body in the last step.
    pub contacts: usize,
    /// The largest stretch at the end of the frame; 1 is unstretched.
    pub largest_stretch: f64,
}

impl FrameReport {
    /// Adds a step.
    pub fn add(&mut self, step: &StepReport) {
        self.steps += 1;
        self.solver_iterations += step.dynamics.iterations;
        self.contacts = step.contacts;
        self.largest_stretch = step.largest_stretch;
    }
}
