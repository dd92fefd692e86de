//! A smooth reading of a level set: the interpolating tricubic spline, twice continuously differentiable.
//!
//! The spline goes through every sample of the band; its coefficients solve, along each axis in turn, the tridiagonal
//! system `(c[i-1] + 4 c[i] + c[i+1]) / 6 = f[i]` over each run of samples in the band, with the second difference of the
//! coefficients going on unchanged at both ends. (Bridson 2003, 6.2)
//!
//! Guarantees: for a smooth body sampled exactly, values converge with the third power of the spacing, gradients and
//! curvatures with the second, until the rounding of `f32` samples. Valid within the band less two samples.
//! Departs: the source iterates for derivatives from a first guess; the same spline is solved for directly.

use super::{LevelSet, Reinitialization};
use crate::field::Field;
use crate::grid::{BlockCoordinates, BlockGrid, BlockSlot, COORDINATE_LIMIT};
use rayon::prelude::*;
use unsnarl_geometry::{DMat3, DVec3};

/// The spline through the samples of a level set; see the module.
#[derive(Clone, Debug)]
pub struct CubicSpline {
    coefficients: BlockGrid<f32>,
    frame: super::Frame,
}

/// The bending of the level surface through a point. Positive where the body bulges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curvature {
    /// The larger principal curvature, per metre.
    pub largest: f64,
    /// The smaller principal curvature, per metre.
    pub smallest: f64,
}

impl Curvature {
    /// Half the sum of the principal curvatures.
    pub fn mean(&self) -> f64 {
        0.5 * (self.largest + self.smallest)
    }

    /// The product of the principal curvatures.
    pub fn gaussian(&self) -> f64 {
        self.largest * self.smallest
    }
}

/// Value, gradient and second derivatives at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondOrder {
    /// The value.
    pub value: f64,
    /// The gradient.
    pub gradient: DVec3,
    /// The matrix of second derivatives.
    pub hessian: DMat3,
}

impl SecondOrder {
    /// The curvature of the level surface, unless the gradient vanishes.
    ///
    /// Mean: `(|g|^2 tr H - g.Hg) / (2 |g|^3)`; product: `g.adj(H)g / |g|^4`.
    pub fn curvature(&self) -> Option<Curvature> {
        let (g, h) = (self.gradient, self.hessian);
        let squared = g.length_squared();
        if squared < 1e-12 {
            return None;
        }
        let trace = h.x_axis.x + h.y_axis.y + h.z_axis.z;
        let mean = (squared * trace - g.dot(h * g)) / (2.0 * squared * squared.sqrt());
        let [a, b, c] = [h.x_axis, h.y_axis, h.z_axis];
        let adjugate = DMat3::from_cols(b.cross(c), c.cross(a), a.cross(b));
        let product = g.dot(adjugate * g) / (squared * squared);
        let spread = (mean * mean - product).max(0.0).sqrt();
        Some(Curvature { largest: mean + spread, smallest: mean - spread })
    }
}

/// The spline reaches two samples around a point; the band must hold them and some more.
const SPLINE_HALF_WIDTH: f64 = 5.0;

impl LevelSet {
    /// The tricubic spline through the samples. A band narrower than five samples is widened on a copy first.
    pub fn spline(&self) -> CubicSpline {
        let enough = SPLINE_HALF_WIDTH * self.frame.spacing;
        if self.half_width < 0.999 * enough {
            let mut wider = self.clone();
            wider.set_half_width(enough, Reinitialization::FifthOrder);
            return wider.spline();
        }
        let mut coefficients = self.grid.clone();
        let edge = self.grid.background().outside;
        let in_band: Vec<bool> = self.grid.samples().iter().map(|value| value.abs() < edge).collect();
        for axis in 0..3 {
            filter(&mut coefficients, &in_band, axis);
        }
        CubicSpline { coefficients, frame: self.frame }
    }

    /// The principal curvatures of the level surface at a point. Builds a spline: keep one for many points.
    pub fn curvature(&self, point: DVec3) -> Option<Curvature> {
        self.spline().second_order(point).curvature()
    }
}

impl CubicSpline {
    /// Value, gradient and second derivatives at a point.
    pub fn second_order(&self, point: DVec3) -> SecondOrder {
        let limit = DVec3::splat(f64::from(COORDINATE_LIMIT) - 4.0);
        let at = self.frame.in_samples(point).clamp(-limit, limit);
        let floor = at.floor();
        let base = floor.to_array().map(|c| c as i32);
        let [x, y, z] = (at - floor).to_array().map(weights);
        // For each order of derivative along x, y, z: the sum over the 4 x 4 x 4 coefficients.
        let mut sums = [[[0.0; 3]; 3]; 3];
        for k in 0..4 {
            let mut plane = [[0.0; 3]; 3];
            for j in 0..4 {
                let mut row = [0.0; 3];
                for i in 0..4 {
                    let sample = [base[0] + i as i32 - 1, base[1] + j as i32 - 1, base[2] + k as i32 - 1];
                    let value = f64::from(self.coefficients.sample(sample));
                    for dx in 0..3 {
                        row[dx] += x[dx][i] * value;
                    }
                }
                for dy in 0..3 {
                    for dx in 0..3 - dy {
                        plane[dy][dx] += y[dy][j] * row[dx];
                    }
                }
            }
            for dz in 0..3 {
                for dy in 0..3 - dz {
                    for dx in 0..3 - dz - dy {
                        sums[dz][dy][dx] += z[dz][k] * plane[dy][dx];
                    }
                }
            }
        }
        let per_sample = self.frame.spacing.recip();
        let [xx, yy, zz] = [sums[0][0][2], sums[0][2][0], sums[2][0][0]];
        let [xy, yz, xz] = [sums[0][1][1], sums[1][1][0], sums[1][0][1]];
        let hessian = DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz));
        SecondOrder {
            value: sums[0][0][0],
            gradient: DVec3::new(sums[0][0][1], sums[0][1][0], sums[1][0][0]) * per_sample,
            hessian: hessian * (per_sample * per_sample),
        }
    }

    /// Values, gradients and second derivatives at many points, in parallel.
    pub fn second_orders(&self, points: &[DVec3]) -> Vec<SecondOrder> {
        points.par_iter().with_min_len(256).map(|&point| self.second_order(point)).collect()
    }
}

impl Field for CubicSpline {
    fn value(&self, point: DVec3) -> f64 {
        self.second_order(point).value
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        self.second_order(point).gradient
    }

    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        let all = self.second_order(point);
        (all.value, all.gradient)
    }
}

/// Weights of four neighbouring coefficients for the value, the first and the second derivative.
fn weights(t: f64) -> [[f64; 4]; 3] {
    let s = 1.0 - t;
    [
        [s * s * s / 6.0, 2.0 / 3.0 - 0.5 * t * t * (2.0 - t), 2.0 / 3.0 - 0.5 * s * s * (2.0 - s), t * t * t / 6.0],
        [-0.5 * s * s, t * (1.5 * t - 2.0), -s * (1.5 * s - 2.0), 0.5 * t * t],
        [s, 3.0 * t - 2.0, 3.0 * s - 2.0, t],
    ]
}

/// Solves for coefficients along one axis, over every run of samples in the band.
fn filter(grid: &mut BlockGrid<f32>, in_band: &[bool], axis: usize) {
    let step = |block: BlockCoordinates, by: i32| {
        let mut next = block;
        next[axis] += by;
        next
    };
    let columns: Vec<Vec<BlockSlot>> = grid
        .blocks()
        .iter()
        .filter(|&&block| grid.slot(step(block, -1)).is_none())
        .map(|&first| {
            let mut column = Vec::new();
            let mut at = first;
            while let Some(slot) = grid.slot(at) {
                column.push(slot);
                at = step(at, 1);
            }
            column
        })
        .collect();
    let solved: Vec<Vec<Vec<f32>>> =
        columns.par_iter().map(|column| filter_column(grid, in_band, axis, column)).collect();
    for (column, blocks) in columns.iter().zip(solved) {
        for (slot, samples) in column.iter().zip(blocks) {
            grid.block_mut(*slot).copy_from_slice(&samples);
        }
    }
}

fn filter_column(grid: &BlockGrid<f32>, in_band: &[bool], axis: usize, column: &[BlockSlot]) -> Vec<Vec<f32>> {
    let (width, volume) = (grid.width().samples(), grid.width().volume());
    let strides = [1, width, width * width];
    let mut blocks: Vec<Vec<f32>> = column.iter().map(|&slot| grid.block(slot).to_vec()).collect();
    let mut line = Vec::with_capacity(width * column.len());
    for number in 0..width * width {
        let start = number % width * strides[(axis + 1) % 3] + number / width * strides[(axis + 2) % 3];
        let place = |at: usize| (at / width, start + at % width * strides[axis]);
        let length = width * column.len();
        let banded = |at: usize| in_band[column[at / width].index() * volume + place(at).1];
        let mut from = 0;
        while from < length {
            if !banded(from) {
                from += 1;
                continue;
            }
            let to = (from..length).find(|&at| !banded(at)).unwrap_or(length);
            line.clear();
            line.extend((from..to).map(|at| f64::from(blocks[place(at).0][place(at).1])));
            solve(&mut line);
            for (at, value) in (from..to).zip(&line) {
                let (block, place) = place(at);
                blocks[block][place] = *value as f32;
            }
            from = to;
        }
    }
    blocks
}

/// The coefficients of the cubic spline through the values; one or two values are their own.
///
/// `c[i-1] + 4 c[i] + c[i+1] = 6 f[i]` within. At an end the second difference of the coefficients goes on unchanged,
/// which with the row beside it comes to `c[0] - c[1] = f[0] - f[1]`.
fn solve(values: &mut [f64]) {
    let count = values.len();
    if count < 4 {
        return;
    }
    // Forward elimination: c[i] = right[i] - factor[i] * c[i + 1].
    let mut factor = vec![0.0; count];
    let first_difference = values[0] - values[1];
    let last_difference = values[count - 1] - values[count - 2];
    factor[0] = -1.0;
    values[0] = first_difference;
    for i in 1..count - 1 {
        let pivot = 4.0 - factor[i - 1];
        factor[i] = 1.0 / pivot;
        values[i] = (6.0 * values[i] - values[i - 1]) / pivot;
    }
    // Last row: c[n-1] - c[n-2] = difference, with c[n-2] = right - factor * c[n-1].
    values[count - 1] = (last_difference + values[count - 2]) / (1.0 + factor[count - 2]);
    for i in (0..count - 1).rev() {
        values[i] -= factor[i] * values[i + 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_a_quadratic_reproduce_it_at_the_samples() {
        let quadratic = |i: usize| 0.3 * (i as f64).powi(2) - 2.0 * i as f64 + 1.0;
        let mut line: Vec<f64> = (0..9).map(quadratic).collect();
        solve(&mut line);
        for i in 1..8 {
            let value = (line[i - 1] + 4.0 * line[i] + line[i + 1]) / 6.0;
            assert!((value - quadratic(i)).abs() < 1e-12);
        }
        let second: Vec<f64> = (1..8).map(|i| line[i - 1] - 2.0 * line[i] + line[i + 1]).collect();
        assert!(second.iter().all(|s| (s - 0.6).abs() < 1e-12), "{second:?}");
    }

    #[test]
    fn weights_sum_to_one_and_are_derivatives_of_each_other() {
        for t in [0.0, 0.2, 0.5, 0.9, 1.0] {
            let w = weights(t);
            assert!((w[0].iter().sum::<f64>() - 1.0).abs() < 1e-15);
            for order in 0..2 {
                for i in 0..4 {
                    let slope = (weights(t + 1e-6)[order][i] - weights(t - 1e-6)[order][i]) / 2e-6;
                    assert!((slope - w[order + 1][i]).abs() < 1e-8, "t {t}, order {order}, weight {i}");
                }
            }
        }
    }
}
