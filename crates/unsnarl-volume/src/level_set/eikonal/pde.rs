//! Reinitialisation of high order: `d_t + sign(d) (|grad d| - 1) = 0`, run until the band is at rest.
//!
//! One-sided differences of fifth order, two stages in time; samples beside a change of sign are known and stay.
//! (Bridson 2003, 6.1, the alternative for accuracy) Meant to follow a sweep, which leaves little to mend.
//!
//! Guarantees: signs stay; the result does not depend on threads.

use crate::grid::{BlockGrid, BlockSlot, Halo};
use crate::level_set::stencil::{update_samples, upwind_slope};

/// Runs a number of steps of half a sample each over all blocks. Samples nearer than `known` stay as they are.
pub fn relax(grid: &mut BlockGrid<f32>, spacing: f64, steps: usize, known: f32) {
    let slots: Vec<BlockSlot> = (0..grid.blocks().len() as u32).map(BlockSlot).collect();
    let edge = grid.background().outside;
    let spacing = spacing as f32;
    for _ in 0..steps {
        let before: Vec<f32> = grid.samples().to_vec();
        for _ in 0..2 {
            update_samples(grid, &slots, 3, |halo, place, _| {
                if halo.values()[place].abs() < known {
                    halo.values()[place]
                } else {
                    advanced(halo, place, edge, spacing)
                }
            });
        }
        for (value, before) in grid.samples_mut().iter_mut().zip(before) {
            if before.abs() >= known {
                *value = 0.5 * (*value + before);
            }
        }
    }
}

/// One explicit step of half a sample, kept on its side and within the band.
fn advanced(halo: &Halo<f32>, place: usize, edge: f32, spacing: f32) -> f32 {
    let values = halo.values();
    let here = values[place];
    let inside = here < 0.0;
    let known =
        halo.strides().iter().any(|&s| (values[place - s] < 0.0) != inside || (values[place + s] < 0.0) != inside);
    if known || here.abs() >= edge {
        return here;
    }
    let slope = upwind_slope(values, place, halo.strides(), !inside);
    let step = 0.5 * (spacing - slope);
    if inside { (here - step).clamp(-edge, -1e-6 * edge) } else { (here + step).clamp(1e-6 * edge, edge) }
}
