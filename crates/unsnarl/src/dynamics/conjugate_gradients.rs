//! Preconditioned conjugate gradients that leave constrained directions alone.
//!
//! The unknown starts with its constrained parts in place; every residual and search direction is filtered, so that they
//! keep their values to the last bit. Preconditioner: the inverse 3x3 diagonal blocks. At the end the mean motion of free pieces is made
//! exact. (The projection method of Baraff
//! and Witkin, named in Baraff et al. 2003, 3)
//!
//! Guarantees: the same bits on any number of threads; ends after the given number of iterations at the latest.
//! Does not: notice a matrix that is not positive definite other than by stopping and saying so.

use super::block_matrix::{BAND, BlockMatrix};
use super::live_rows::LiveRows;
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3};
use rayon::prelude::*;

/// Which directions of a vertex are free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Freedom {
    /// All.
    Free,
    /// Those at right angles to this unit vector.
    Plane(DVec3),
    /// None.
    Held,
}

impl Freedom {
    /// The part of a vector that lies in free directions.
    pub fn filter(self, vector: DVec3) -> DVec3 {
        match self {
            Self::Free => vector,
            Self::Plane(normal) => vector - normal * normal.dot(vector),
            Self::Held => DVec3::ZERO,
        }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Solve {
    /// Iterations used.
    pub iterations: u32,
    /// Last residual over the right-hand side, both in the preconditioner's norm.
    pub relative_residual: f64,
}

/// Memory of the solver.
#[derive(Clone, Debug, Default)]
pub struct SolverMemory {
    residual: Vec<DVec3>,
    direction: Vec<DVec3>,
    image: Vec<DVec3>,
    inverse_diagonal: Vec<DMat3>,
    live: LiveRows,
}

/// Solves `matrix x = right` in the free directions. `x` holds the start: a guess in free directions, the wanted values in
/// the others.
pub fn solve(
    matrix: &mut BlockMatrix,
    pattern: &Pattern,
    right: &[DVec3],
    freedom: &[Freedom],
    x: &mut [DVec3],
    limits: Limits<'_>,
    memory: &mut SolverMemory,
) -> Solve {
    let SolverMemory { residual, direction, image, inverse_diagonal, live } = memory;
    let count = right.len();
    live.find(freedom);
    let (live, bands) = (&*live, live.bands_per_task());
    for vector in [&mut *residual, &mut *direction, &mut *image] {
        vector.clear();
        vector.resize(count, DVec3::ZERO);
    }
    inverse_diagonal.clear();
    inverse_diagonal.par_extend(matrix.diagonal.par_iter().map(DMat3::inverse));
    matrix.multiply(pattern, x, image);
    let preconditioned = |row: usize, value: DVec3| freedom[row].filter(inverse_diagonal[row] * value);
    let scale = banded_sum(count, |row| {
        let value = freedom[row].filter(right[row]);
        let usual = freedom[row].filter(limits.usual.get(row).copied().unwrap_or(DVec3::ZERO));
        value.dot(preconditioned(row, value)).max(usual.dot(preconditioned(row, usual)))
    });
    for row in 0..count {
        residual[row] = freedom[row].filter(right[row] - image[row]);
        direction[row] = preconditioned(row, residual[row]);
    }
    let mut energy = banded_sum(count, |row| residual[row].dot(direction[row]));
    let target = limits.tolerance * limits.tolerance * scale.max(f64::MIN_POSITIVE);
    let mut iterations = 0;
    while energy > target && iterations < limits.iterations {
        let curvature = matrix.multiply_live(pattern, live, direction, image);
        if !(curvature > 0.0 && curvature.is_finite()) {
            break;
        }
        let step = energy / curvature;
        let parts: Vec<f64> = x
            .par_chunks_mut(BAND)
            .zip(residual.par_chunks_mut(BAND))
            .enumerate()
            .with_min_len(bands)
            .map(|(band, (x, residual))| {
                let mut sum = 0.0;
                for row in live.band(band) {
                    let (x, residual) = (&mut x[row - band * BAND], &mut residual[row - band * BAND]);
                    *x += direction[row] * step;
                    *residual -= freedom[row].filter(image[row]) * step;
                    sum += residual.dot(preconditioned(row, *residual));
                }
                sum
            })
            .collect();
        let next_energy: f64 = parts.iter().sum();
        let keep = next_energy / energy;
        direction.par_chunks_mut(BAND).enumerate().with_min_len(bands).for_each(|(band, direction)| {
            for row in live.band(band) {
                let direction = &mut direction[row - band * BAND];
                *direction = preconditioned(row, residual[row]) + *direction * keep;
            }
        });
        energy = next_energy;
        iterations += 1;
    }
    // Without outer forces the mean motion is the one that it started with.
    if iterations > 0 && limits.usual.iter().any(|&usual| usual != DVec3::ZERO) {
        settle_mean_motion(matrix, pattern, freedom, residual, x);
    }
    let relative_residual = if scale > 0.0 { (energy / scale).sqrt() } else { 0.0 };
    Solve { iterations, relative_residual }
}

/// Makes the mean motion of every piece that nothing holds exact: the translation `c` that fulfils `1^T A 1 c = 1^T r`.
///
/// Where contact has strained cloth, the residual is small beside the elastic forces long before it is small beside gravity, and the
/// motion of the piece as a whole, which strains nothing, comes last.
fn settle_mean_motion(
    matrix: &mut BlockMatrix,
    pattern: &Pattern,
    freedom: &[Freedom],
    residual: &[DVec3],
    x: &mut [DVec3],
) {
    let piece_count = pattern.pieces.iter().max().map_or(0, |&last| last as usize + 1);
    let mut is_free = vec![true; piece_count];
    for (piece, freedom) in pattern.pieces.iter().zip(freedom) {
        is_free[*piece as usize] &= *freedom != Freedom::Held;
    }
    if !is_free.contains(&true) {
        return;
    }
    let rows = || (0..x.len()).map(|row| (row, pattern.pieces[row] as usize));
    let mut products = vec![DMat3::ZERO; piece_count];
    let mut sums = vec![DVec3::ZERO; piece_count];
    let mut image = vec![DVec3::ZERO; x.len()];
    for axis in 0..3 {
        let shift: Vec<DVec3> = freedom.iter().map(|freedom| freedom.filter(DVec3::AXES[axis])).collect();
        matrix.multiply(pattern, &shift, &mut image);
        for (row, piece) in rows() {
            *products[piece].col_mut(axis) += freedom[row].filter(image[row]);
        }
    }
    for (row, piece) in rows() {
        sums[piece] += residual[row];
    }
    let shifts: Vec<DVec3> = (0..piece_count)
        .map(|piece| {
            let product = products[piece];
            let size = product.x_axis.x + product.y_axis.y + product.z_axis.z;
            // Directions in which all of the piece is held have no product.
            let shift = (product + DMat3::IDENTITY * (NO_PRODUCT * size)).inverse() * sums[piece];
            if is_free[piece] && shift.is_finite() { shift } else { DVec3::ZERO }
        })
        .collect();
    for row in 0..x.len() {
        x[row] += freedom[row].filter(shifts[pattern.pieces[row] as usize]);
    }
}

/// A product of the mean motion below this part of all of them counts as none.
const NO_PRODUCT: f64 = 1e-9;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits<'a> {
    /// Wanted relative residual.
    pub tolerance: f64,
    /// A right-hand side of usual size, or empty: residuals are measured against the larger one, so that cloth at rest, where
    /// all forces cancel, is not solved for its rounding errors.
    pub usual: &'a [DVec3],
    /// Iterations at most.
    pub iterations: u32,
}

/// A sum over rows, band by band: the same bits on any number of threads.
fn banded_sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let parts: Vec<f64> = (0..count.div_ceil(BAND))
        .into_par_iter()
        .map(|band| (band * BAND..((band + 1) * BAND).min(count)).map(&term).sum())
        .collect();
    parts.iter().sum()
}
