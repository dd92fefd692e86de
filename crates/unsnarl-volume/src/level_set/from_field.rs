//! A level set of a distance that is known in closed form: planes, spheres, whatever a program can compute.

use super::{Frame, LevelSet};
use crate::grid::{BlockCoordinates, BlockWidth, Domain, Side};
use rayon::prelude::*;
use unsnarl_geometry::{Aabb, DVec3};

impl LevelSet {
    /// Samples a signed distance within a box. Blocks whose centre is too far from the surface are not sampled, so the
    /// function must be a distance, or smaller than one in magnitude.
    pub fn from_distance(
        distance: impl Fn(DVec3) -> f64 + Sync,
        bounds: Aabb,
        frame: Frame,
        width: BlockWidth,
        half_width: f64,
    ) -> Self {
        let block_of = |point: DVec3| frame.in_samples(point).floor().to_array().map(|c| width.split(c as i32).0);
        let [first, last] = [bounds.min, bounds.max].map(block_of);
        let extent = [0, 1, 2].map(|axis| (last[axis] - first[axis] + 1) as u32);
        let mut level_set = Self::empty(frame, width, half_width, Domain::Bounded { first, extent });
        let radius = 0.5 * 3_f64.sqrt() * width.samples() as f64 * frame.spacing;
        let count = extent.iter().map(|&n| n as usize).product::<usize>();
        let block_at = |place: usize| -> BlockCoordinates {
            let [nx, ny] = [extent[0] as usize, extent[1] as usize];
            let steps = [place % nx, place / nx % ny, place / (nx * ny)];
            [0, 1, 2].map(|axis| first[axis] + steps[axis] as i32)
        };
        let sampled: Vec<(BlockCoordinates, Result<Vec<f32>, Side>)> = (0..count)
            .into_par_iter()
            .map(|place| {
                let block = block_at(place);
                let start = block.map(|b| width.first_sample(b));
                let middle = frame.position(start) + DVec3::splat(0.5 * (width.samples() - 1) as f64 * frame.spacing);
                let value = distance(middle);
                if value.abs() > half_width + radius {
                    return (block, Err(if value < 0.0 { Side::Inside } else { Side::Outside }));
                }
                let sample = |place: usize| {
                    let local = width.local(place);
                    let at = frame.position([0, 1, 2].map(|axis| start[axis] + local[axis] as i32));
                    distance(at).clamp(-half_width, half_width) as f32
                };
                (block, Ok((0..width.volume()).map(sample).collect()))
            })
            .collect();
        for (block, samples) in sampled {
            match samples {
                Err(side) => level_set.grid.set_side(block, side),
                Ok(samples) => {
                    let slot = level_set.grid.store(block);
                    level_set.grid.block_mut(slot).copy_from_slice(&samples);
                }
            }
        }
        level_set.release_empty(None, &mut super::history::Journal::off());
        level_set
    }
}
