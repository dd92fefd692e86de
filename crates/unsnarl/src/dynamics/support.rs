//! Points of the cloth that something prescribed supports: what contact with bodies asks of dynamics.
//!
//! A support is a plane that a vertex, a point of an edge or a point of a triangle does not go below:
//! `normal . sum(w_i x_i) >= offset`. It takes the load of the cloth around it where it really acts, between vertices
//! too; vertices keep their freedom to turn around the point and to slide along the plane. (The sharp objects of
//! Bridson 2003, 2.1)
//!
//! In the implicit model it is a spring along the normal, stiff unless it says otherwise, part of the matrix: all its
//! vertices share a triangle, so the blocks are there. In the mass-spring model it takes part in every round of strain
//! limiting.
//!
//! Does not: know when to let go; the step drops supports that would pull.

use super::block_matrix::BlockMatrix;
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3, VertexId};

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// Vertices of one triangle; repeated with weight 0 where there are fewer than three.
    pub vertices: [VertexId; 3],
    /// Their shares of the point: not negative, their sum is 1.
    pub weights: [f64; 3],
    /// Out of the body, length 1.
    pub normal: DVec3,
    /// Of the plane.
    pub offset: f64,
    /// Coulomb friction.
    pub friction: f64,
    /// How far the body would carry the point in the step.
    pub carried: DVec3,
    /// Vertices of the body that bear the point; repeated with share 0 where there are fewer than three.
    pub bearers: [VertexId; 3],
    /// Their shares of what it bears: not negative, their sum is 1, or all 0 where nobody asks.
    pub shares: [f64; 3],
    /// Of its spring, N/m; `None`: as stiff as it takes to hold the point at the plane.
    pub stiffness: Option<f64>,
}

/// Rounds of proposals in which supports that would pull are dropped.
pub const ROUNDS: usize = 3;
/// A support whose point ends this far above its plane, metres, or farther, pulls.
const PULLED: f64 = 1e-9;

/// A support's spring is this many times as stiff as what it holds.
const STIFFNESS: f64 = 10.0;

impl Support {
    /// The weighted sum of a quantity of the vertices.
    pub fn apply(&self, values: &[DVec3]) -> DVec3 {
        let [a, b, c] = self.vertices.map(|vertex| values[vertex.index()]);
        let [p, q, r] = self.weights;
        a * p + b * q + c * r
    }

    /// How far the point lies below the plane.
    pub fn depth(&self, positions: &[DVec3]) -> f64 {
        self.offset - self.normal.dot(self.apply(positions))
    }

    /// Whether it is needed: its point is below the plane or at it. Else it would pull.
    pub fn pushes(&self, positions: &[DVec3]) -> bool {
        self.depth(positions) > -PULLED
    }

    /// Moves the point by moving its vertices, the nearest most.
    pub fn shift(&self, by: DVec3, values: &mut [DVec3]) {
        let squares = self.squares();
        for (vertex, weight) in self.vertices.iter().zip(self.weights) {
            values[vertex.index()] += by * (weight / squares);
        }
    }

    /// Takes the velocity with which the point would be below the plane after a step, by an impulse along the normal.
    pub(super) fn stop(&self, inverse_masses: &[f64], positions: &[DVec3], step: f64, velocities: &mut [DVec3]) {
        let missing = self.depth(positions) / step - self.normal.dot(self.apply(velocities));
        let yielding: f64 =
            (0..3).map(|k| self.weights[k] * self.weights[k] * inverse_masses[self.vertices[k].index()]).sum();
        if missing > 0.0 && yielding > 0.0 {
            for (vertex, weight) in self.vertices.iter().zip(self.weights) {
                velocities[vertex.index()] +=
                    self.normal * (missing / yielding * weight * inverse_masses[vertex.index()]);
            }
        }
    }

    fn squares(&self) -> f64 {
        self.weights.iter().map(|weight| weight * weight).sum()
    }

    /// The stiffness of its spring, from the diagonal of the matrix without supports.
    fn stiffness(&self, pattern: &Pattern, matrix: &BlockMatrix, reach: f64) -> f64 {
        if let Some(stiffness) = self.stiffness {
            return stiffness * reach * reach;
        }
        let diagonal = |k: usize| trace(matrix.diagonal[pattern.row(self.vertices[k])]) / 3.0;
        let held: f64 = (0..3).map(|k| self.weights[k] * self.weights[k] * diagonal(k)).sum();
        STIFFNESS * held / (self.squares() * self.squares())
    }
}

/// Adds supports to the system of an implicit step, `matrix change = right`, in which a change of velocity moves by
/// `reach`. Returns the stiffness of each, kg: times its depth after the solve and over `reach` it is the impulse that
/// it gives.
pub(super) fn add_supports(
    supports: &[Support],
    pattern: &Pattern,
    positions: &[DVec3],
    reach: f64,
    (matrix, right): (&mut BlockMatrix, &mut [DVec3]),
) -> Vec<f64> {
    let stiffness: Vec<f64> = supports.iter().map(|support| support.stiffness(pattern, matrix, reach)).collect();
    for (support, &stiffness) in supports.iter().zip(&stiffness) {
        let (normal, weights) = (support.normal, support.weights);
        let along = DMat3::from_cols(normal * normal.x, normal * normal.y, normal * normal.z) * stiffness;
        let push = normal * (stiffness * support.depth(positions) / reach);
        for i in 0..3 {
            let row = pattern.row(support.vertices[i]);
            right[row] += push * weights[i];
            matrix.diagonal[row] += along * (weights[i] * weights[i]);
            for j in (0..i).filter(|&j| weights[i] * weights[j] != 0.0) {
                let block = pattern.upper(support.vertices[i], support.vertices[j]);
                matrix.upper[block] += along * (weights[i] * weights[j]);
            }
        }
    }
    stiffness
}

fn trace(matrix: DMat3) -> f64 {
    matrix.x_axis.x + matrix.y_axis.y + matrix.z_axis.z
}
