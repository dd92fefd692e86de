//! The energy of cloth, for reports and tests.

use super::baraff_witkin::membrane;
use super::hinge;
use crate::geometry::DVec3;
use crate::model::Model;
use crate::state::State;
use rayon::prelude::*;

/// Energy by kind, joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Of motion.
    pub kinetic: f64,
    /// Of stretch and shear.
    pub membrane: f64,
    /// Of bending.
    pub bending: f64,
    /// Of height, zero at the origin.
    pub gravity: f64,
}

impl Energy {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.kinetic + self.membrane + self.bending + self.gravity
    }
}

/// The energy that the Baraff-Witkin model gives a state.
pub fn energy(model: &Model, state: &State, gravity: DVec3) -> Energy {
    let points = |vertex: crate::geometry::VertexId| state.positions[vertex.index()];
    let membrane: Vec<f64> = (model.topology.triangles().par_iter().zip(&state.rest_shapes).enumerate())
        .map(|(index, (corners, shape))| {
            let fabric = &model.fabrics[model.triangle_fabric[index] as usize];
            state.triangle_stiffness[index] * membrane::energy(shape, corners.map(points), fabric)
        })
        .collect();
    let bending: Vec<f64> = (model.hinges.par_iter().enumerate())
        .map(|(index, element)| {
            let angle = hinge::angle(element.vertices.map(points)).unwrap_or(state.rest_angles[index]);
            let excess = angle - state.rest_angles[index];
            0.5 * element.stiffness * state.hinge_stiffness[index] * excess * excess
        })
        .collect();
    let (mut kinetic, mut height) = (0.0, 0.0);
    for ((mass, position), velocity) in model.masses.iter().zip(&state.positions).zip(&state.velocities) {
        kinetic += 0.5 * mass * velocity.length_squared();
        height -= mass * gravity.dot(*position);
    }
    Energy { kinetic, membrane: membrane.iter().sum(), bending: bending.iter().sum(), gravity: height }
}
