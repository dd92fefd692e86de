//! Preconditioned conjugate gradients that leave constrained directions alone.
//!
//! The unknown starts with its constrained parts in place; every residual and search direction is filtered, so that they
//! keep their values to the last bit. Preconditioner: the inverse 3x3 diagonal blocks, and for large systems a coarse correction. At the end
//! the mean motion of free pieces is made exact. (The projection method of Baraff
//! and Witkin, named in Baraff et al. 2003, 3)
//!
//! Guarantees: the same bits on any number of threads; ends after the given number of iterations at the latest.
//! Does not: notice a matrix that is not positive definite other than by stopping and saying so.

use super::block_matrix::{BAND, BlockMatrix};
use super::coarse::{self, Coarse};
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
    /// The residual times the inverse diagonal blocks.
    steepest: Vec<DVec3>,
    direction: Vec<DVec3>,
    image: Vec<DVec3>,
    inverse_diagonal: Vec<DMat3>,
    live: LiveRows,
    coarse: Coarse,
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
    memory.live.find(freedom);
    memory.inverse_diagonal.clear();
    memory.inverse_diagonal.par_extend((0..x.len()).into_par_iter().map(|row| matrix.whole_diagonal(row).inverse()));
    let may_correct = limits.correction == Correction::Coarse && memory.live.count() >= coarse::FEWEST_ROWS;
    let whole = Patience { iterations: limits.iterations, far: f64::INFINITY };
    let short = Patience { iterations: PLAIN_ITERATIONS.min(limits.iterations), far: FAR };
    let mut system = System { matrix, pattern, right, freedom, usual: limits.usual, tolerance: limits.tolerance };
    let patience = if may_correct { short } else { whole };
    let mut descent = descend(&mut system, x, patience, Correction::None, memory);
    if may_correct && descent.is_above_target && descent.iterations < limits.iterations {
        memory.coarse.prepare(system.matrix, pattern, freedom);
        let left = Patience { iterations: limits.iterations - descent.iterations, ..whole };
        let second = descend(&mut system, x, left, Correction::Coarse, memory);
        descent = Descent { iterations: descent.iterations + second.iterations, ..second };
    }
    // Without outer forces the mean motion is the one that it started with.
    let has_outer = limits.usual.iter().any(|&usual| usual != DVec3::ZERO);
    if descent.iterations > 0 && (has_outer || !system.matrix.ties.is_empty()) {
        settle_mean_motion(system.matrix, pattern, freedom, &memory.residual, x);
    }
    Solve { iterations: descent.iterations, relative_residual: descent.relative_residual }
}

/// Iterations before the coarse correction is worth its preparation.
const PLAIN_ITERATIONS: u32 = 5;
/// Residuals so many times larger than wanted, squared, are not left to plain iterations.
const FAR: f64 = 30.0;

/// What is solved.
struct System<'a> {
    matrix: &'a mut BlockMatrix,
    pattern: &'a Pattern,
    right: &'a [DVec3],
    freedom: &'a [Freedom],
    usual: &'a [DVec3],
    tolerance: f64,
}

/// How long to go on.
#[derive(Clone, Copy)]
struct Patience {
    iterations: u32,
    /// From energies this many times larger than wanted not even one iteration is made.
    far: f64,
}

/// How some iterations ended.
struct Descent {
    iterations: u32,
    is_above_target: bool,
    relative_residual: f64,
}

/// Conjugate gradients from `x` on with one preconditioner.
fn descend(
    system: &mut System<'_>,
    x: &mut [DVec3],
    patience: Patience,
    correction: Correction,
    memory: &mut SolverMemory,
) -> Descent {
    let SolverMemory { residual, steepest, direction, image, inverse_diagonal, live, coarse } = memory;
    let (live, bands) = (&*live, live.bands_per_task());
    let (freedom, with_coarse) = (system.freedom, correction == Correction::Coarse);
    let count = x.len();
    for vector in [&mut *residual, &mut *steepest, &mut *direction, &mut *image] {
        vector.clear();
        vector.resize(count, DVec3::ZERO);
    }
    system.matrix.multiply(system.pattern, x, image);
    let preconditioned = |row: usize, value: DVec3| freedom[row].filter(inverse_diagonal[row] * value);
    let mut scale = banded_sum(count, |row| {
        let value = freedom[row].filter(system.right[row]);
        let usual = freedom[row].filter(system.usual.get(row).copied().unwrap_or(DVec3::ZERO));
        value.dot(preconditioned(row, value)).max(usual.dot(preconditioned(row, usual)))
    });
    let (right, product) = (system.right, &*image);
    residual.par_iter_mut().zip(direction.par_iter_mut()).enumerate().with_min_len(BAND).for_each(
        |(row, (residual, direction))| {
            *residual = freedom[row].filter(right[row] - product[row]);
            *direction = preconditioned(row, *residual);
        },
    );
    let mut energy = banded_sum(count, |row| residual[row].dot(direction[row]));
    if with_coarse {
        scale += coarse_scale(coarse, [system.right, system.usual], freedom);
        energy += coarse.solve(residual);
        let coarse = &*coarse;
        let add = |(row, direction): (usize, &mut DVec3)| *direction += freedom[row].filter(coarse.motion(row));
        direction.par_iter_mut().enumerate().with_min_len(BAND).for_each(add);
    }
    let target = system.tolerance * system.tolerance * scale.max(f64::MIN_POSITIVE);
    let most = if energy > patience.far * target { 0 } else { patience.iterations };
    let mut iterations = 0;
    while energy > target && iterations < most {
        let curvature = system.matrix.multiply_live(system.pattern, live, direction, image);
        if !(curvature > 0.0 && curvature.is_finite()) {
            break;
        }
        let step = energy / curvature;
        let parts: Vec<f64> = x
            .par_chunks_mut(BAND)
            .zip(residual.par_chunks_mut(BAND))
            .zip(steepest.par_chunks_mut(BAND))
            .enumerate()
            .with_min_len(bands)
            .map(|(band, ((x, residual), steepest))| {
                let mut sum = 0.0;
                for row in live.band(band) {
                    let at = row - band * BAND;
                    x[at] += direction[row] * step;
                    residual[at] -= freedom[row].filter(image[row]) * step;
                    steepest[at] = preconditioned(row, residual[at]);
                    sum += residual[at].dot(steepest[at]);
                }
                sum
            })
            .collect();
        let mut next_energy: f64 = parts.iter().sum();
        if with_coarse {
            next_energy += coarse.solve(residual);
        }
        let (keep, coarse) = (next_energy / energy, &*coarse);
        direction.par_chunks_mut(BAND).enumerate().with_min_len(bands).for_each(|(band, direction)| {
            for row in live.band(band) {
                let direction = &mut direction[row - band * BAND];
                let mut steepest = steepest[row];
                if with_coarse {
                    steepest += freedom[row].filter(coarse.motion(row));
                }
                *direction = steepest + *direction * keep;
            }
        });
        energy = next_energy;
        iterations += 1;
    }
    let relative_residual = if scale > 0.0 { (energy / scale).sqrt() } else { 0.0 };
    Descent { iterations, is_above_target: energy > target, relative_residual }
}

/// The coarse part of the size of a right-hand side: the larger one of its own and a usual one's.
fn coarse_scale(coarse: &mut Coarse, sides: [&[DVec3]; 2], freedom: &[Freedom]) -> f64 {
    let size = |side: &[DVec3]| {
        if side.len() != freedom.len() {
            return 0.0;
        }
        let free: Vec<DVec3> = side.iter().zip(freedom).map(|(value, freedom)| freedom.filter(*value)).collect();
        coarse.solve(&free)
    };
    sides.map(size).into_iter().fold(0.0, f64::max)
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
    /// What may help the diagonal.
    pub correction: Correction,
}

/// What a preconditioner has beside the diagonal blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// Nothing: for systems near to their diagonal.
    None,
    /// A coarse correction, where the system is large and slow to converge.
    Coarse,
}

/// A sum over rows, band by band: the same bits on any number of threads.
fn banded_sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let parts: Vec<f64> = (0..count.div_ceil(BAND))
        .into_par_iter()
        .map(|band| (band * BAND..((band + 1) * BAND).min(count)).map(&term).sum())
        .collect();
    parts.iter().sum()
}
