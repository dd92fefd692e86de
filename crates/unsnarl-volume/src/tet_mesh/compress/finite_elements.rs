//! Compression by finite elements: the candidate as an elastic body. (Bridson 2003, 5.5)
//!
//! Linear tetrahedra with the neo-Hookean energy `mu/2 (tr F'F - 3) - mu ln J + lambda/2 (ln J)^2` and the candidate as
//! rest shape. Altitudes beyond 1.3 times or below 1/1.3 of their rest length are pulled back on top.

use super::physics::{Law, Pull, altitude_forces, altitudes, relax};
use super::{CompressReport, Observer, Workpiece};
use crate::tet_mesh::quality::sixfold_volume;
use rayon::prelude::*;
use unsnarl_geometry::{DMat3, DVec3};

/// Shear modulus; only ratios matter.
const MU: f64 = 1.0;
/// The other modulus: a Poisson ratio of 0.25.
const LAMBDA: f64 = 1.0;
/// Altitudes may be this much longer or shorter than at rest before they are pulled back.
const STRAIN_LIMIT: f64 = 1.3;
/// Stiffness of the limit against that of the material.
const LIMIT_STIFFNESS: f64 = 1.0;

/// Rest shapes of all elements.
pub struct Elements {
    /// The inverse of the matrix of rest edges from corner 0, and the volume.
    shapes: Vec<(DMat3, f64)>,
    altitudes: Vec<[f64; 4]>,
}

fn edge_matrix([a, b, c, d]: [DVec3; 4]) -> DMat3 {
    DMat3::from_cols(b - a, c - a, d - a)
}

impl Elements {
    /// At rest where the mesh is.
    pub fn at_rest(piece: &Workpiece<'_>) -> Self {
        let corners = |tet: &[u32; 4]| tet.map(|node| piece.positions[node as usize]);
        let shape = |tet: &[u32; 4]| (edge_matrix(corners(tet)).inverse(), sixfold_volume(corners(tet)) / 6.0);
        Self {
            shapes: piece.tets.par_iter().map(shape).collect(),
            altitudes: piece.tets.par_iter().map(|tet| altitudes(corners(tet))).collect(),
        }
    }
}

impl Law for Elements {
    /// `P = mu (F - F^-T) + lambda ln J F^-T`; the forces on corners 1 to 3 are the columns of `-V P D^-T`.
    fn pull(&self, tet: usize, corners: [DVec3; 4]) -> Pull {
        let (inverse, volume) = self.shapes[tet];
        let gradient = edge_matrix(corners) * inverse;
        let determinant = gradient.determinant();
        let heights = self.altitudes[tet];
        let mut forces = [DVec3::ZERO; 4];
        if determinant > 0.0 {
            let inverse_transposed = gradient.inverse().transpose();
            let stress = MU * (gradient - inverse_transposed) + LAMBDA * determinant.ln() * inverse_transposed;
            let columns = -volume * (stress * inverse.transpose());
            forces = [DVec3::ZERO, columns.x_axis, columns.y_axis, columns.z_axis];
            forces[0] = -(forces[1] + forces[2] + forces[3]);
        }
        let least = heights.into_iter().fold(f64::INFINITY, f64::min);
        let limit = LIMIT_STIFFNESS * volume / least;
        let push = |ratio: f64| {
            if ratio > STRAIN_LIMIT {
                limit * (STRAIN_LIMIT - ratio)
            } else {
                limit * (STRAIN_LIMIT.recip() - ratio).max(0.0)
            }
        };
        altitude_forces(corners, heights, push, &mut forces);
        let stiffness = heights.map(|height| volume * (2.0 * MU + LAMBDA + LIMIT_STIFFNESS) / (height * height));
        Pull { forces, stiffness }
    }
}

/// Moves the boundary to the surface.
pub fn compress(piece: &mut Workpiece<'_>, observer: Observer<'_>) -> CompressReport {
    let elements = Elements::at_rest(piece);
    relax(piece, &elements, observer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners() -> [DVec3; 4] {
        [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.5, -0.5), DVec3::new(0.5, 0.5, 0.5)]
    }

    fn elements() -> Elements {
        let shapes = vec![(edge_matrix(corners()).inverse(), sixfold_volume(corners()) / 6.0)];
        Elements { shapes, altitudes: vec![altitudes(corners())] }
    }

    fn energy(moved: [DVec3; 4]) -> f64 {
        let (inverse, volume) = elements().shapes[0];
        let gradient = edge_matrix(moved) * inverse;
        let squares: f64 = gradient.to_cols_array().iter().map(|entry| entry * entry).sum();
        let logarithm = gradient.determinant().ln();
        volume * (0.5 * MU * (squares - 3.0) - MU * logarithm + 0.5 * LAMBDA * logarithm * logarithm)
    }

    #[test]
    fn forces_are_minus_the_gradient_of_the_energy_within_the_strain_limit() {
        let mut moved = corners();
        moved[0] += DVec3::new(0.05, -0.04, 0.03);
        moved[3] += DVec3::new(-0.02, 0.05, 0.06);
        let forces = elements().pull(0, moved).forces;
        for corner in 0..4 {
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let at = |step: f64| {
                    let mut trial = moved;
                    trial[corner] += step * axis;
                    energy(trial)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((forces[corner].dot(axis) + slope).abs() < 1e-7, "{corner} {axis}");
            }
        }
    }

    #[test]
    fn turning_costs_nothing_and_flattening_is_resisted() {
        let turn = DMat3::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 0.7);
        let turned = corners().map(|corner| turn * corner);
        assert!(elements().pull(0, turned).forces.iter().all(|force| force.length() < 1e-12));
        let mut flat = corners();
        flat[0].y += 0.4;
        flat[1].y += 0.4;
        assert!(elements().pull(0, flat).forces[0].y < 0.0);
    }
}
