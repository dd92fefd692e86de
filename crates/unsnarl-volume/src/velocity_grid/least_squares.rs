//! The published solve: weighted squares of keeping the velocity and of a divergence that is a source.
//!
//! least `sum a_k^2 |v_k - u_k|^2 + weight sum (h (D v - s))^2`; every term is in m/s. (Buffet 2021, 3.3.2,
//! e 3.5 and 3.6) One row of weight 1 leaves a third of the closing speed with rows of cells, and two thirds with
//! central ones.
//!
//! Does not: keep momentum, or let go of what separates; see [`super::project`].

use super::Effort;
use super::project::Projected;
use super::stencil::Row;
use super::sums::sum;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct LeastSquares<'a> {
    /// The conditions.
    pub rows: &'a [Row],
    /// What each row is to reach, 1/s.
    pub sources: &'a [f64],
    /// What each node's anchor row is multiplied by.
    pub anchors: &'a [f64],
    /// Weight of the squares of rows.
    pub weight: f64,
    /// Distance between nodes, metres.
    pub spacing: f64,
    /// How far to go.
    pub effort: Effort,
}

/// Changes velocities to those of least squares. Pressures are the rows' residuals times their weight.
pub fn least_squares(asked: &LeastSquares, velocities: &mut [DVec3]) -> Projected {
    let factor = asked.weight * asked.spacing * asked.spacing;
    let missing = |velocities: &[DVec3]| -> Vec<f64> {
        let of = |(row, source): (&Row, &f64)| factor * (source - row.apply(velocities));
        asked.rows.par_iter().zip(asked.sources).map(of).collect()
    };
    let count = velocities.len();
    let mut residual = spread(asked.rows, &missing(velocities), count);
    let size = |vector: &[DVec3]| sum(count, |at| vector[at].length_squared());
    let first = size(&residual);
    let mut done = Projected::default();
    let mut change = vec![DVec3::ZERO; count];
    let mut direction = residual.clone();
    let mut left = first;
    while left > first * asked.effort.tolerance.powi(2) && done.iterations < asked.effort.iterations {
        done.iterations += 1;
        let of_rows: Vec<f64> = asked.rows.par_iter().map(|row| factor * row.apply(&direction)).collect();
        let mut image = spread(asked.rows, &of_rows, count);
        let anchored = |(at, image): (usize, &mut DVec3)| *image += direction[at] * asked.anchors[at].powi(2);
        image.par_iter_mut().enumerate().for_each(anchored);
        let curvature = sum(count, |at| direction[at].dot(image[at]));
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let length = left / curvature;
        change.par_iter_mut().zip(&direction).for_each(|(change, d)| *change += *d * length);
        residual.par_iter_mut().zip(&image).for_each(|(residual, image)| *residual -= *image * length);
        let next = size(&residual);
        let mix = next / left;
        direction.par_iter_mut().zip(&residual).for_each(|(d, residual)| *d = *residual + *d * mix);
        left = next;
    }
    for (velocity, change) in velocities.iter_mut().zip(&change).filter(|(_, change)| **change != DVec3::ZERO) {
        *velocity += *change;
    }
    done.pressures = missing(velocities);
    done.residual = if first > 0.0 { (left / first).sqrt() } else { 0.0 };
    done
}

/// The transpose of all rows times a vector, in the order of rows.
fn spread(rows: &[Row], values: &[f64], count: usize) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; count];
    for (row, value) in rows.iter().zip(values) {
        for (&node, weight) in row.nodes.iter().zip(&row.weights) {
            out[node as usize] += *weight * *value;
        }
    }
    out
}
