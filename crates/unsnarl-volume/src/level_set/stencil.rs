//! Differences on a halo: one-sided of fifth order, central first and second, and the curvature made of them.
//!
//! Everything here is in units of samples; callers divide by the spacing.

use crate::grid::{BlockGrid, BlockSlot, Halo};
use rayon::prelude::*;

/// Replaces every sample of some blocks by a function of its surroundings as they were before.
pub(super) fn update_samples(
    grid: &mut BlockGrid<f32>,
    slots: &[BlockSlot],
    margin: usize,
    value: impl Fn(&Halo<f32>, usize, [i32; 3]) -> f32 + Sync,
) {
    let width = grid.width();
    let side = width.samples();
    let updated: Vec<Vec<f32>> = slots
        .par_iter()
        .map_init(
            || Halo::new(grid, margin),
            |halo, &slot| {
                let block = grid.blocks()[slot.index()];
                halo.load(grid, block);
                let first = block.map(|b| width.first_sample(b));
                let mut samples = Vec::with_capacity(width.volume());
                for z in 0..side {
                    for y in 0..side {
                        let row = halo.place([0, y, z]);
                        samples.extend((0..side).map(|x| {
                            let sample = [first[0] + x as i32, first[1] + y as i32, first[2] + z as i32];
                            value(halo, row + x, sample)
                        }));
                    }
                }
                samples
            },
        )
        .collect();
    for (slot, samples) in slots.iter().zip(updated) {
        grid.block_mut(*slot).copy_from_slice(&samples);
    }
}

/// The derivative of fifth order from five differences in a row, the upwind side first; weighted so that no kink is
/// crossed.
pub(super) fn weighted_difference([a, b, c, d, e]: [f32; 5]) -> f32 {
    let smoothness = [
        13.0 / 12.0 * (a - 2.0 * b + c).powi(2) + 0.25 * (a - 4.0 * b + 3.0 * c).powi(2),
        13.0 / 12.0 * (b - 2.0 * c + d).powi(2) + 0.25 * (b - d).powi(2),
        13.0 / 12.0 * (c - 2.0 * d + e).powi(2) + 0.25 * (3.0 * c - 4.0 * d + e).powi(2),
    ];
    let floor = 1e-6 * [a, b, c, d, e].iter().fold(0.0_f32, |most, v| most.max(v * v)) + 1e-30;
    let [wa, wb, wc] = [0.1 / (smoothness[0] + floor).powi(2), 0.6 / (smoothness[1] + floor).powi(2), {
        0.3 / (smoothness[2] + floor).powi(2)
    }];
    let [pa, pb, pc] = [
        a / 3.0 - 7.0 * b / 6.0 + 11.0 * c / 6.0,
        -b / 6.0 + 5.0 * c / 6.0 + d / 3.0,
        c / 3.0 + 5.0 * d / 6.0 - e / 6.0,
    ];
    (wa * pa + wb * pb + wc * pc) / (wa + wb + wc)
}

/// One-sided derivatives of fifth order along an axis: from below, and from above. Needs a margin of three.
pub(super) fn one_sided(values: &[f32], place: usize, stride: usize) -> [f32; 2] {
    let at = |step: usize| values[place + step * stride - 3 * stride];
    let difference = |step: usize| at(step + 1) - at(step);
    let [d0, d1, d2, d3, d4, d5] = [0, 1, 2, 3, 4, 5].map(difference);
    [weighted_difference([d0, d1, d2, d3, d4]), weighted_difference([d5, d4, d3, d2, d1])]
}

/// The length of the gradient for a front that moves outward where `outward`, by the upwind choice of Godunov.
pub(super) fn upwind_slope(values: &[f32], place: usize, strides: [usize; 3], outward: bool) -> f32 {
    let squared: f32 = strides
        .iter()
        .map(|&stride| {
            let [below, above] = one_sided(values, place, stride);
            let (from_below, from_above) =
                if outward { (below.max(0.0), above.min(0.0)) } else { (below.min(0.0), above.max(0.0)) };
            (from_below * from_below).max(from_above * from_above)
        })
        .sum();
    squared.sqrt()
}

/// The length of the gradient by central differences. Needs a margin of one.
pub(super) fn central_slope(values: &[f32], place: usize, strides: [usize; 3]) -> f64 {
    let along = strides.map(|stride| 0.5 * (f64::from(values[place + stride]) - f64::from(values[place - stride])));
    along.iter().map(|difference| difference * difference).sum::<f64>().sqrt()
}

/// The sum of the principal curvatures times the slope, by central differences, and the slope. Needs a margin of one.
///
/// `sum_i f_ii (|g|^2 - g_i^2) - 2 sum_{i<j} g_i g_j f_ij`, over `|g|^2`.
pub(super) fn curvature_flow(values: &[f32], place: usize, strides: [usize; 3]) -> f64 {
    let at = |offset: isize| f64::from(values[place.wrapping_add_signed(offset)]);
    let [sx, sy, sz] = strides.map(|s| s as isize);
    let gradient = [sx, sy, sz].map(|s| 0.5 * (at(s) - at(-s)));
    let second = [sx, sy, sz].map(|s| at(s) - 2.0 * at(0) + at(-s));
    let mixed = |s: isize, t: isize| 0.25 * (at(s + t) - at(s - t) - at(t - s) + at(-s - t));
    let squared: f64 = gradient.iter().map(|g| g * g).sum();
    if squared < 1e-12 {
        return 0.0;
    }
    let straight: f64 = (0..3).map(|i| second[i] * (squared - gradient[i] * gradient[i])).sum();
    let crossed = gradient[0] * gradient[1] * mixed(sx, sy)
        + gradient[1] * gradient[2] * mixed(sy, sz)
        + gradient[2] * gradient[0] * mixed(sz, sx);
    (straight - 2.0 * crossed) / squared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_sided_derivative_is_of_fifth_order_on_a_smooth_function() {
        let largest_error = |h: f64| {
            let at = |phase: f64| {
                let values: Vec<f32> = (0..7).map(|i| (phase + h * (f64::from(i) - 3.0)).sin() as f32).collect();
                let [below, above] = one_sided(&values, 3, 1).map(|d| (f64::from(d) / h - phase.cos()).abs());
                below.max(above)
            };
            (0..40).map(|i| at(0.15 * f64::from(i))).fold(0.0, f64::max)
        };
        let order = (largest_error(0.6) / largest_error(0.3)).log2();
        assert!(order > 4.0, "order {order}");
    }

    #[test]
    fn a_kink_is_not_crossed() {
        let values = [3.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let [below, above] = one_sided(&values, 3, 1);
        assert!((below + 1.0).abs() < 1e-3 && above.abs() < 1e-3);
    }
}
