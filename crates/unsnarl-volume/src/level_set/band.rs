//! Keeping the band: distances restored after an edit, blocks stored ahead of the surface and released behind it.
//!
//! Samples beside a change of sign are divided by the slope there, so that a distance stays as it is; all others start
//! from the half width and are swept. Blocks that the band can reach are stored first; blocks without a sample in
//! the band are released to their side. (Bridson 2003, 6.1)
//!
//! Guarantees: signs never change, so the surface moves by less than a sample; the band holds every sample nearer than
//! the half width; sheets that separate inside from inside vanish.

use super::LevelSet;
use super::eikonal::{fast_marching, fast_sweeping, pde};
use crate::grid::{Background, BlockCoordinates, BlockGrid, BlockSlot, Halo, Side};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// How distances are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reinitialization {
    /// Coupled sweeps: first order, the fastest, in parallel.
    #[default]
    FastSweeping,
    /// Fast marching: first order, on one thread.
    FastMarching,
    /// Sweeps, then a differential equation of fifth order run to rest: for curvature and for many steps in a row.
    FifthOrder,
}

impl LevelSet {
    /// Makes the function a distance again, everywhere in the band, and renews the blocks.
    pub fn reinitialize(&mut self, method: Reinitialization) {
        self.far = None;
        let all: Vec<BlockCoordinates> = self.grid.blocks().to_vec();
        self.restore(&all, method);
    }

    /// Widens or narrows the band.
    pub fn set_half_width(&mut self, half_width: f64, method: Reinitialization) {
        let wider = half_width > self.half_width;
        self.far = None;
        let known = self.grid.background().outside;
        self.half_width = half_width;
        let outside = half_width as f32;
        self.grid.set_background(Background { outside, inside: -outside });
        self.grid.samples_mut().par_iter_mut().for_each(|value| {
            if value.abs() >= known.min(outside) {
                *value = outside.copysign(*value);
            }
        });
        if !wider {
            self.release_empty(None);
            return;
        }
        match method {
            Reinitialization::FastMarching => {
                fast_marching::march(&mut self.grid, self.frame.spacing, |value| value.abs() < known);
            }
            Reinitialization::FastSweeping | Reinitialization::FifthOrder => {
                let reach = (half_width / self.frame.spacing).ceil() as i32 + 1;
                let seeds: Vec<BlockCoordinates> = self.grid.blocks().to_vec();
                let needed = blocks_in_reach(&self.grid, &seeds, reach, |value| value.abs() < known);
                needed.into_iter().for_each(|block| {
                    self.grid.store(block);
                });
                let slots = all_slots(&self.grid);
                let rounds = rounds(&self.grid, reach);
                fast_sweeping::sweep(&mut self.grid, &slots, self.frame.spacing, rounds, known);
                if method == Reinitialization::FifthOrder {
                    pde::relax(&mut self.grid, self.frame.spacing, 2 * reach as usize, known);
                }
            }
        }
        self.release_empty(None);
    }

    /// Makes the function a distance again within some blocks and those that the band reaches from them.
    pub(super) fn restore(&mut self, blocks: &[BlockCoordinates], method: Reinitialization) {
        let spacing = self.frame.spacing;
        let reach = (self.half_width / spacing).ceil() as i32 + 1;
        let corrected = self.corrected_interfaces(blocks);
        let needed = blocks_in_reach(&self.grid, blocks, reach, |_| true);
        let rounds = rounds(&self.grid, reach);
        let mut slots = Vec::new();
        for (block, samples) in blocks.iter().zip(corrected) {
            let Some(samples) = samples else { continue };
            let slot = self.grid.slot(*block).expect("blocks to restore are stored");
            self.grid.block_mut(slot).copy_from_slice(&samples);
            slots.push(slot);
        }
        for block in needed {
            if self.grid.slot(block).is_none() {
                slots.push(self.grid.store(block));
            }
        }
        match method {
            Reinitialization::FastMarching => {
                let edge = self.grid.background().outside;
                fast_marching::march(&mut self.grid, spacing, |value| value.abs() < edge);
            }
            Reinitialization::FastSweeping => {
                fast_sweeping::sweep(&mut self.grid, &slots, spacing, rounds, 0.0);
            }
            Reinitialization::FifthOrder => {
                fast_sweeping::sweep(&mut self.grid, &slots, spacing, rounds, 0.0);
                pde::relax(&mut self.grid, spacing, 2 * reach as usize, 0.0);
            }
        }
        let touched: Vec<BlockCoordinates> = slots.iter().map(|slot| self.grid.blocks()[slot.index()]).collect();
        self.release_empty(Some(&touched));
    }

    /// New samples for blocks: beside a change of sign, the value over the slope; elsewhere, the half width.
    fn corrected_interfaces(&self, blocks: &[BlockCoordinates]) -> Vec<Option<Vec<f32>>> {
        let grid = &self.grid;
        let edge = grid.background().outside;
        let spacing = self.frame.spacing as f32;
        blocks
            .par_iter()
            .map_init(
                || Halo::new(grid, 1),
                |halo, &block| {
                    grid.slot(block)?;
                    halo.load(grid, block);
                    let width = grid.width().samples();
                    let mut samples = Vec::with_capacity(width.pow(3));
                    for z in 0..width {
                        for y in 0..width {
                            let row = halo.place([0, y, z]);
                            samples.extend((row..row + width).map(|place| {
                                let value = halo.values()[place];
                                match interface_slope(halo.values(), place, halo.strides(), spacing) {
                                    Some(slope) => (value / slope).clamp(-0.999 * edge, 0.999 * edge),
                                    None => edge.copysign(value),
                                }
                            }));
                        }
                    }
                    Some(samples)
                },
            )
            .collect()
    }

    /// Releases stored blocks without a sample in the band: all, or those among the given ones.
    pub(super) fn release_empty(&mut self, among: Option<&[BlockCoordinates]>) {
        let edge = self.grid.background().outside;
        let candidates: Vec<BlockCoordinates> = among.map_or_else(|| self.grid.blocks().to_vec(), <[_]>::to_vec);
        let empty: Vec<(BlockCoordinates, Side)> = candidates
            .par_iter()
            .filter_map(|&block| {
                let samples = self.grid.block(self.grid.slot(block)?);
                let uniform = samples.iter().all(|value| value.abs() >= edge);
                let side = if samples[0] < 0.0 { Side::Inside } else { Side::Outside };
                uniform.then_some((block, side))
            })
            .collect();
        for (block, side) in empty {
            self.grid.release(block, side);
        }
    }
}

/// The slope at a sample that has a neighbour of the other sign: central differences, or the steepest where those
/// vanish on a kink.
fn interface_slope(values: &[f32], place: usize, strides: [usize; 3], spacing: f32) -> Option<f32> {
    let here = values[place];
    let mut crossed = false;
    let (mut central_squared, mut steepest_squared) = (0.0, 0.0);
    for stride in strides {
        let [below, above] = [values[place - stride], values[place + stride]];
        crossed |= (below < 0.0) != (here < 0.0) || (above < 0.0) != (here < 0.0);
        let central = 0.5 * (above - below);
        let steepest = (above - here).abs().max((here - below).abs());
        central_squared += central * central;
        steepest_squared += steepest * steepest;
    }
    if !crossed {
        return None;
    }
    let squared = if central_squared < 0.25 * steepest_squared { steepest_squared } else { central_squared };
    Some((squared.sqrt() / spacing).max(1e-3))
}

/// Blocks within `reach` samples of those samples of the given blocks that count.
fn blocks_in_reach(
    grid: &BlockGrid<f32>,
    blocks: &[BlockCoordinates],
    reach: i32,
    counts: impl Fn(f32) -> bool + Sync,
) -> BTreeSet<BlockCoordinates> {
    let width = grid.width();
    let boxes: Vec<Option<([i32; 3], [i32; 3])>> = blocks
        .par_iter()
        .map_init(
            || Halo::new(grid, 1),
            |halo, &block| {
                grid.slot(block)?;
                halo.load(grid, block);
                let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
                for place in 0..width.volume() {
                    let local = width.local(place);
                    let at = halo.place(local);
                    let value = halo.values()[at];
                    let crossed = halo.strides().iter().any(|&stride| {
                        (halo.values()[at - stride] < 0.0) != (value < 0.0)
                            || (halo.values()[at + stride] < 0.0) != (value < 0.0)
                    });
                    if crossed && counts(value) {
                        for axis in 0..3 {
                            let sample = width.first_sample(block[axis]) + local[axis] as i32;
                            low[axis] = low[axis].min(sample);
                            high[axis] = high[axis].max(sample);
                        }
                    }
                }
                (low[0] <= high[0]).then_some((low, high))
            },
        )
        .collect();
    let mut needed = BTreeSet::new();
    for (low, high) in boxes.into_iter().flatten() {
        let first = low.map(|c| width.split(c - reach).0);
        let last = high.map(|c| width.split(c + reach).0);
        for z in first[2]..=last[2] {
            for y in first[1]..=last[1] {
                needed.extend((first[0]..=last[0]).map(|x| [x, y, z]));
            }
        }
    }
    needed
}

fn all_slots(grid: &BlockGrid<f32>) -> Vec<BlockSlot> {
    (0..grid.blocks().len() as u32).map(BlockSlot).collect()
}

/// Enough rounds for news to cross the band block by block, and back around a corner.
fn rounds(grid: &BlockGrid<f32>, reach: i32) -> usize {
    2 + 2 * (reach as usize).div_ceil(grid.width().samples())
}
