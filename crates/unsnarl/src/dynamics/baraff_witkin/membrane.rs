//! Stretch and shear of one triangle in its panel.
//!
//! With `u` and `v` the images of unit steps along warp and weft, the energy is
//! `A/2 (k_warp (|u|-1)^2 + k_weft (|v|-1)^2 + k_shear (u.v)^2)`. Each condition damps its own rate. (Baraff and Witkin's
//! conditions, named in Baraff et al. 2003, 3)
//!
//! Guarantees: forces are the exact gradient; [`Curvature::Exact`] is the exact second derivative;
//! [`Curvature::Positive`] is positive semidefinite: the part of stretch across its direction is dropped under
//! compression, and the indefinite part of shear is replaced by its positive half.
//! Departs: energy goes with the area, not with its square, so stiffness does not depend on the mesh. The change of the
//! damping directions with position is left out of the matrix, which keeps it symmetric.

use crate::dynamics::air::outer;
use crate::geometry::{DMat3, DVec3};
use crate::rest_shape::RestShape;
use crate::scene::fabric::Fabric;

/// What the matrix holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curvature {
    /// The second derivative itself.
    Exact,
    /// A positive semidefinite stand-in for it.
    Positive,
}

/// Factors on stiffness and on damping in the matrix of an implicit step: the effective step squared, and the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepWeights {
    /// Factor on stiffness, s².
    pub stiffness: f64,
    /// Factor on damping, s.
    pub damping: f64,
}

impl StepWeights {
    /// For a step in which a change of velocity moves by `reach`, seconds.
    pub fn of(reach: f64) -> Self {
        Self { stiffness: reach * reach, damping: reach }
    }
}

/// One triangle, evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Membrane {
    warp_weights: [f64; 3],
    weft_weights: [f64; 3],
    warp_pull: DVec3,
    weft_pull: DVec3,
    warp_warp: DMat3,
    warp_weft: DMat3,
    weft_weft: DMat3,
}

impl Membrane {
    /// The force on a corner, newtons.
    pub fn force(&self, corner: usize) -> DVec3 {
        -(self.warp_pull * self.warp_weights[corner] + self.weft_pull * self.weft_weights[corner])
    }

    /// The same with another stiffness.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            warp_pull: self.warp_pull * factor,
            weft_pull: self.weft_pull * factor,
            warp_warp: self.warp_warp * factor,
            warp_weft: self.warp_weft * factor,
            weft_weft: self.weft_weft * factor,
            ..self
        }
    }

    /// The block of the matrix for two corners.
    pub fn block(&self, row: usize, column: usize) -> DMat3 {
        let (a, b) = (&self.warp_weights, &self.weft_weights);
        self.warp_warp * (a[row] * a[column])
            + self.warp_weft * (a[row] * b[column])
            + self.warp_weft.transpose() * (b[row] * a[column])
            + self.weft_weft * (b[row] * b[column])
    }
}

/// Forces and matrix of one triangle; all zero where the rest shape has no area.
pub fn evaluate(
    shape: &RestShape,
    corners: [DVec3; 3],
    velocities: [DVec3; 3],
    fabric: &Fabric,
    weights: StepWeights,
    curvature: Curvature,
) -> Membrane {
    let Some((warp_weights, weft_weights)) = shape.gradients() else { return Membrane::default() };
    let area = shape.area();
    let image = |weights: &[f64; 3], points: &[DVec3; 3]| {
        points[0] * weights[0] + points[1] * weights[1] + points[2] * weights[2]
    };
    let (warp, weft) = (image(&warp_weights, &corners), image(&weft_weights, &corners));
    let (warp_rate, weft_rate) = (image(&warp_weights, &velocities), image(&weft_weights, &velocities));
    let damping = fabric.stretch_damping;
    let along = StretchInput { damping, weights, curvature };
    let (mut warp_pull, mut warp_warp) = stretch(warp, warp_rate, fabric.stretch_warp * area, along);
    let (mut weft_pull, mut weft_weft) = stretch(weft, weft_rate, fabric.stretch_weft * area, along);
    let shear = fabric.shear * area;
    let slant = warp.dot(weft);
    let slant_rate = warp_rate.dot(weft) + warp.dot(weft_rate);
    let tension = shear * (slant + damping * slant_rate);
    warp_pull += weft * tension;
    weft_pull += warp * tension;
    let factor = shear * (weights.stiffness + weights.damping * damping);
    warp_warp += outer(weft) * factor;
    weft_weft += outer(warp) * factor;
    let mut warp_weft = DMat3::from_cols(weft * warp.x, weft * warp.y, weft * warp.z) * factor;
    let twist = shear * slant * weights.stiffness;
    match curvature {
        Curvature::Exact => warp_weft += DMat3::IDENTITY * twist,
        Curvature::Positive => {
            warp_weft += DMat3::IDENTITY * (0.5 * twist);
            warp_warp += DMat3::IDENTITY * (0.5 * twist.abs());
            weft_weft += DMat3::IDENTITY * (0.5 * twist.abs());
        }
    }
    Membrane { warp_weights, weft_weights, warp_pull, weft_pull, warp_warp, warp_weft, weft_weft }
}

#[derive(Clone, Copy)]
struct StretchInput {
    damping: f64,
    weights: StepWeights,
    curvature: Curvature,
}

/// Pull and matrix of `k/2 (|w|-1)^2`, with `w^ = w/|w|`: pull `k (|w| - 1) w^`, second derivative
/// `k (w^ w^T + (1 - 1/|w|) (I - w^ w^T))`.
fn stretch(image: DVec3, rate: DVec3, stiffness: f64, input: StretchInput) -> (DVec3, DMat3) {
    let length = image.length();
    let Some(direction) = image.try_normalize() else { return (DVec3::ZERO, DMat3::ZERO) };
    let pull = direction * (stiffness * (length - 1.0 + input.damping * direction.dot(rate)));
    let along = outer(direction);
    let across = match input.curvature {
        Curvature::Exact => 1.0 - 1.0 / length,
        Curvature::Positive => (1.0 - 1.0 / length).max(0.0),
    };
    let weights = input.weights;
    let matrix = along * (stiffness * (weights.stiffness + weights.damping * input.damping))
        + (DMat3::IDENTITY - along) * (stiffness * weights.stiffness * across);
    (pull, matrix)
}

/// The energy of one triangle, joules.
pub fn energy(shape: &RestShape, corners: [DVec3; 3], fabric: &Fabric) -> f64 {
    let Some((warp_weights, weft_weights)) = shape.gradients() else { return 0.0 };
    let image = |weights: [f64; 3]| corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2];
    let (warp, weft) = (image(warp_weights), image(weft_weights));
    let (warp_strain, weft_strain, slant) = (warp.length() - 1.0, weft.length() - 1.0, warp.dot(weft));
    0.5 * shape.area()
        * (fabric.stretch_warp * warp_strain * warp_strain
            + fabric.stretch_weft * weft_strain * weft_strain
            + fabric.shear * slant * slant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::DVec2;

    const CASES: [[[f64; 3]; 3]; 3] = [
        [[0.0, 0.0, 0.0], [1.3, 0.2, 0.1], [0.2, 1.2, -0.3]],
        [[0.0, 0.1, 0.0], [0.6, 0.2, 0.1], [-0.2, 0.7, 0.4]],
        [[0.3, 0.0, 0.0], [0.9, -0.6, 0.9], [0.9, 1.0, 0.3]],
    ];

    fn fabric() -> Fabric {
        Fabric { stretch_warp: 30.0, stretch_weft: 20.0, shear: 7.0, stretch_damping: 0.3, ..Fabric::default() }
    }

    fn shape() -> RestShape {
        RestShape::from_panel([DVec2::new(0.1, 0.0), DVec2::new(1.0, 0.2), DVec2::new(0.2, 0.9)])
    }

    fn at(corners: [DVec3; 3], velocities: [DVec3; 3], weights: [f64; 2], curvature: Curvature) -> Membrane {
        let weights = StepWeights { stiffness: weights[0], damping: weights[1] };
        evaluate(&shape(), corners, velocities, &fabric(), weights, curvature)
    }

    #[test]
    fn forces_are_minus_the_slope_of_the_energy() {
        for case in CASES {
            let corners = case.map(DVec3::from_array);
            let element = at(corners, [DVec3::ZERO; 3], [1.0, 0.0], Curvature::Exact);
            for corner in 0..3 {
                for axis in 0..3 {
                    let moved = |step: f64| {
                        let mut corners = corners;
                        corners[corner][axis] += step;
                        energy(&shape(), corners, &fabric())
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((slope + element.force(corner)[axis]).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn exact_blocks_are_minus_the_slopes_of_the_forces() {
        for case in CASES {
            let corners = case.map(DVec3::from_array);
            let velocities = [DVec3::new(0.3, 0.1, -0.2), DVec3::new(-0.5, 0.2, 0.9), DVec3::new(0.0, 0.4, 0.1)];
            let stiffness = at(corners, [DVec3::ZERO; 3], [1.0, 0.0], Curvature::Exact);
            let damping = at(corners, velocities, [0.0, 1.0], Curvature::Exact);
            for row in 0..3 {
                for column in 0..3 {
                    for axis in 0..3 {
                        let mut step = [DVec3::ZERO; 3];
                        step[column][axis] = 1e-6;
                        let shifted = |sign: f64| std::array::from_fn(|k| corners[k] + step[k] * sign);
                        let force =
                            |sign: f64| at(shifted(sign), [DVec3::ZERO; 3], [1.0, 0.0], Curvature::Exact).force(row);
                        let slope = (force(1.0) - force(-1.0)) / 2e-6;
                        assert!((slope + stiffness.block(row, column).col(axis)).length() < 1e-6);
                        let faster = |sign: f64| std::array::from_fn(|k| velocities[k] + step[k] * sign);
                        let drag = |sign: f64| at(corners, faster(sign), [0.0, 1.0], Curvature::Exact).force(row);
                        let slope = (drag(1.0) - drag(-1.0)) / 2e-6;
                        assert!((slope + damping.block(row, column).col(axis)).length() < 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn the_positive_matrix_is_never_negative_and_equals_the_exact_one_in_plain_tension() {
        let mut seed = 1u64;
        let mut number = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        for _ in 0..300 {
            let mut points = || std::array::from_fn(|_| DVec3::new(number(), number(), number()));
            let (corners, probe): ([DVec3; 3], [DVec3; 3]) = (points(), points());
            let element = at(corners, [DVec3::ZERO; 3], [1.0, 0.1], Curvature::Positive);
            let mut energy = 0.0;
            for row in 0..3 {
                for column in 0..3 {
                    energy += probe[row].dot(element.block(row, column) * probe[column]);
                }
            }
            assert!(energy > -1e-9, "{energy}");
        }
        let pulled = [DVec3::new(0.12, 0.0, 0.0), DVec3::new(1.2, 0.24, 0.0), DVec3::new(0.24, 1.08, 0.0)];
        let [exact, positive] = [Curvature::Exact, Curvature::Positive]
            .map(|curvature| at(pulled, [DVec3::ZERO; 3], [1.0, 0.0], curvature).block(0, 1));
        assert!((exact - positive).abs_diff_eq(DMat3::ZERO, 1e-12));
    }

    #[test]
    fn turning_as_a_whole_costs_no_force() {
        let corners = CASES[0].map(DVec3::from_array);
        let spin = DVec3::new(0.2, -0.7, 0.4);
        let element = at(corners, corners.map(|corner| spin.cross(corner)), [1.0, 1.0], Curvature::Exact);
        let still = at(corners, [DVec3::ZERO; 3], [1.0, 1.0], Curvature::Exact);
        assert!((0..3).all(|corner| (element.force(corner) - still.force(corner)).length() < 1e-12));
    }
}
