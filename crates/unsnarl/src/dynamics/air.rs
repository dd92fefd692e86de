//! Drag and lift: the air pushes a triangle along its normal, and a little along its plane.
//!
//! Force per corner: a third of `rho/2 A |w| (C_n n n^T + C_t (I - n n^T)) w`, with `w` the wind relative to the corner.
//! The part along the normal makes lift as well as drag, since it does not point along the wind.
//!
//! Departs: `|w|` is held over the step, so the force is linear in the velocity and can be integrated implicitly.

use crate::geometry::{DMat3, DVec3};
use crate::model::Model;
use crate::scene::environment::Environment;
use rayon::prelude::*;

/// Pressure coefficient of a plate across the wind.
const NORMAL_COEFFICIENT: f64 = 1.2;
/// Friction coefficient along the plate.
const TANGENT_COEFFICIENT: f64 = 0.05;

/// Air on one vertex: `force = drag (wind - velocity)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Air {
    /// Symmetric, positive semidefinite, N·s/m.
    pub drag: DMat3,
    /// Velocity of the wind, m/s.
    pub wind: DVec3,
}

/// Drag on every vertex; empty where there is no air.
pub fn drag(
    model: &Model,
    environment: &Environment,
    time: f64,
    positions: &[DVec3],
    velocities: &[DVec3],
) -> Vec<Air> {
    if environment.air_density == 0.0 {
        return Vec::new();
    }
    let wind = environment.wind.velocity_at(time);
    let per_triangle: Vec<DMat3> = model
        .topology
        .triangles()
        .par_iter()
        .map(|corners| {
            let [a, b, c] = corners.map(|corner| positions[corner.index()]);
            let mean: DVec3 = corners.map(|corner| velocities[corner.index()]).iter().sum::<DVec3>() / 3.0;
            let doubled = (b - a).cross(c - a);
            let Some(normal) = doubled.try_normalize() else { return DMat3::ZERO };
            let across = outer(normal);
            let shape = across * NORMAL_COEFFICIENT + (DMat3::IDENTITY - across) * TANGENT_COEFFICIENT;
            shape * (0.5 * environment.air_density * 0.5 * doubled.length() * (wind - mean).length() / 3.0)
        })
        .collect();
    (0..model.masses.len())
        .into_par_iter()
        .map(|vertex| {
            let triangles = model.topology.vertex_triangles(crate::geometry::VertexId::new(vertex));
            let drag = triangles.iter().fold(DMat3::ZERO, |sum, triangle| sum + per_triangle[triangle.index()]);
            Air { drag, wind }
        })
        .collect()
}

/// `v v^T`.
pub fn outer(vector: DVec3) -> DMat3 {
    DMat3::from_cols(vector * vector.x, vector * vector.y, vector * vector.z)
}
