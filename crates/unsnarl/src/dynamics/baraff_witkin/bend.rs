//! Bending of one hinge: energy `k/2 (angle - rest)^2`, damped along the same mode.
//!
//! Guarantees: forces are the exact gradient; the matrix is the positive semidefinite part `k grad grad^T` of the second
//! derivative, equal to it at the rest angle.
//! Departs: the term with the second derivative of the angle is left out of the matrix: it is what makes bending
//! indefinite.

use super::membrane::StepWeights;
use crate::dynamics::hinge;
use crate::geometry::{DMat3, DVec3};

/// The numbers of a hinge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// N·m per radian.
    pub stiffness: f64,
    /// Seconds.
    pub damping: f64,
    /// Radians.
    pub rest_angle: f64,
}

/// One hinge, evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bend {
    gradient: [DVec3; 4],
    moment: f64,
    matrix: f64,
}

impl Bend {
    /// The force on a corner, newtons.
    pub fn force(&self, corner: usize) -> DVec3 {
        self.gradient[corner] * -self.moment
    }

    /// The block of the matrix for two corners.
    pub fn block(&self, row: usize, column: usize) -> DMat3 {
        let (left, right) = (self.gradient[row] * self.matrix, self.gradient[column]);
        DMat3::from_cols(left * right.x, left * right.y, left * right.z)
    }
}

/// Forces and matrix of one hinge; all zero where a triangle has no area.
pub fn evaluate(points: [DVec3; 4], velocities: [DVec3; 4], spring: Spring, weights: StepWeights) -> Bend {
    let Some((angle, gradient)) = hinge::angle_and_gradient(points) else { return Bend::default() };
    let rate: f64 = gradient.iter().zip(velocities).map(|(slope, velocity)| slope.dot(velocity)).sum();
    let moment = spring.stiffness * (angle - spring.rest_angle + spring.damping * rate);
    let matrix = spring.stiffness * (weights.stiffness + weights.damping * spring.damping);
    Bend { gradient, moment, matrix }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [DVec3; 4] = [
        DVec3::new(0.4, 0.9, 0.3),
        DVec3::new(0.6, -0.8, 0.5),
        DVec3::new(-0.1, 0.05, 0.0),
        DVec3::new(1.1, 0.0, -0.1),
    ];
    const PLAIN: StepWeights = StepWeights { stiffness: 1.0, damping: 0.0 };

    #[test]
    fn forces_are_minus_the_slope_of_the_energy() {
        let spring = Spring { stiffness: 2.5, damping: 0.0, rest_angle: 0.4 };
        let element = evaluate(POINTS, [DVec3::ZERO; 4], spring, PLAIN);
        let energy = |points: [DVec3; 4]| 0.5 * 2.5 * (hinge::angle(points).unwrap() - 0.4).powi(2);
        for corner in 0..4 {
            for axis in 0..3 {
                let moved = |step: f64| {
                    let mut points = POINTS;
                    points[corner][axis] += step;
                    energy(points)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope + element.force(corner)[axis]).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn at_the_rest_angle_blocks_are_minus_the_slopes_of_the_forces() {
        let rest_angle = hinge::angle(POINTS).unwrap();
        let spring = Spring { stiffness: 2.5, damping: 0.0, rest_angle };
        let element = evaluate(POINTS, [DVec3::ZERO; 4], spring, PLAIN);
        for row in 0..4 {
            for column in 0..4 {
                for axis in 0..3 {
                    let force = |step: f64| {
                        let mut points = POINTS;
                        points[column][axis] += step;
                        evaluate(points, [DVec3::ZERO; 4], spring, PLAIN).force(row)
                    };
                    let slope = (force(1e-5) - force(-1e-5)) / 2e-5;
                    assert!((slope + element.block(row, column).col(axis)).length() < 1e-6);
                }
            }
        }
    }
}
