//! Fast sweeping across blocks: each block is swept in eight directions against its neighbours' latest values.
//!
//! All blocks are swept in parallel against the values of the round before, as in domain decomposition; a block is swept
//! again only if a neighbour changed at their common face. (Bridson 2003, 6.1, the coupled alternative)
//!
//! Guarantees: first order; the result does not depend on threads; samples that are known are never touched.

use super::{LEAST_GAIN, godunov};
use crate::grid::{BlockGrid, BlockSlot, Halo};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Which samples the sweeps leave alone, besides those beside a change of sign.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// Those nearer than this.
    Below(f32),
    /// For each block given, its samples that are known.
    Masks(&'a [Vec<bool>]),
}

/// Lowers distances in the given blocks until they settle or `rounds` are over; nothing rises, signs stay.
///
/// Blocks not listed are boundary values.
pub fn sweep(grid: &mut BlockGrid<f32>, slots: &[BlockSlot], spacing: f64, rounds: usize, known: Known<'_>) {
    let mut waiting: Vec<usize> = (0..slots.len()).collect();
    let mut number_of: FxHashMap<u32, usize> = FxHashMap::default();
    number_of.extend(slots.iter().enumerate().map(|(number, slot)| (slot.0, number)));
    let tolerance = spacing as f32 * 1e-4;
    for _ in 0..rounds {
        let swept: Vec<Option<Vec<f32>>> = waiting
            .par_iter()
            .with_min_len(4)
            .map_init(
                || BlockSweep::new(grid, spacing),
                |sweep, &number| sweep.run(grid, slots[number], (number, known)),
            )
            .collect();
        let mut touched = Vec::new();
        for (&number, samples) in waiting.iter().zip(swept) {
            let Some(samples) = samples else { continue };
            let changed = changed_neighbors(grid, slots[number], &samples, tolerance);
            touched.extend(changed.iter().filter_map(|slot| number_of.get(&slot.0)));
            grid.block_mut(slots[number]).copy_from_slice(&samples);
        }
        touched.sort_unstable();
        touched.dedup();
        waiting = touched;
    }
}

/// The stored neighbours across faces whose boundary values differ by more than a tolerance between the block and its
/// new samples.
fn changed_neighbors(grid: &BlockGrid<f32>, slot: BlockSlot, samples: &[f32], tolerance: f32) -> Vec<BlockSlot> {
    let width = grid.width().samples();
    let strides = [1, width, width * width];
    let before = grid.block(slot);
    let block = grid.blocks()[slot.index()];
    let mut touched = Vec::new();
    for axis in 0..3 {
        let [first, second] = [strides[(axis + 1) % 3], strides[(axis + 2) % 3]];
        for (end, by) in [(0, -1), (width - 1, 1)] {
            let start = end * strides[axis];
            let differs = (0..width * width).any(|i| {
                let place = start + i % width * first + i / width * second;
                (before[place] - samples[place]).abs() > tolerance
            });
            let mut next = block;
            next[axis] += by;
            if let (true, Some(slot)) = (differs, grid.slot(next)) {
                touched.push(slot);
            }
        }
    }
    touched
}

/// What one thread needs to sweep blocks.
struct BlockSweep {
    halo: Halo<f32>,
    distances: Vec<f32>,
    free: Vec<bool>,
    width: usize,
    spacing: f32,
}

impl BlockSweep {
    fn new(grid: &BlockGrid<f32>, spacing: f64) -> Self {
        let halo = Halo::new(grid, 1);
        let count = halo.values().len();
        let width = grid.width().samples();
        Self { halo, distances: vec![0.0; count], free: vec![false; count], width, spacing: spacing as f32 }
    }

    /// The block's new samples, or `None` if nothing changed.
    fn run(&mut self, grid: &BlockGrid<f32>, slot: BlockSlot, (number, known): (usize, Known<'_>)) -> Option<Vec<f32>> {
        self.halo.load(grid, grid.blocks()[slot.index()]);
        let values = self.halo.values();
        for (distance, value) in self.distances.iter_mut().zip(values) {
            *distance = value.abs();
        }
        let strides = self.halo.strides();
        let crossed = |place: usize| {
            let inside = values[place] < 0.0;
            strides.iter().any(|&s| (values[place - s] < 0.0) != inside || (values[place + s] < 0.0) != inside)
        };
        let mut any_free = false;
        for row_number in 0..self.width * self.width {
            let row = self.halo.place([0, row_number % self.width, row_number / self.width]);
            for x in 0..self.width {
                let free = match known {
                    Known::Masks(masks) => !masks[number][row_number * self.width + x],
                    Known::Below(limit) => values[row + x].abs() >= limit && !crossed(row + x),
                };
                self.free[row + x] = free;
                any_free |= free;
            }
        }
        if !any_free {
            return None;
        }
        self.sweep_all(strides).then(|| self.signed_block())
    }

    fn sweep_all(&mut self, strides: [usize; 3]) -> bool {
        let mut changed = false;
        for direction in 0..8 {
            let lowered = self.sweep(direction, strides);
            changed |= lowered;
            if !lowered && direction >= 3 {
                break;
            }
        }
        changed
    }

    fn sweep(&mut self, direction: usize, strides: [usize; 3]) -> bool {
        let mut lowered = false;
        let last = self.width - 1;
        for k in 0..self.width {
            let z = if direction & 4 == 0 { k } else { last - k };
            for j in 0..self.width {
                let y = if direction & 2 == 0 { j } else { last - j };
                let row = self.halo.place([0, y, z]);
                for i in 0..self.width {
                    let place = row + if direction & 1 == 0 { i } else { last - i };
                    if self.free[place] {
                        lowered |= lower(&mut self.distances, place, strides, self.spacing);
                    }
                }
            }
        }
        lowered
    }

    fn signed_block(&self) -> Vec<f32> {
        let mut samples = Vec::with_capacity(self.width.pow(3));
        for z in 0..self.width {
            for y in 0..self.width {
                let row = self.halo.place([0, y, z]);
                let signed = |place: usize| {
                    let distance = self.distances[place];
                    if self.halo.values()[place] < 0.0 { -distance } else { distance }
                };
                samples.extend((row..row + self.width).map(signed));
            }
        }
        samples
    }
}

/// Lowers a sample to what its neighbours allow; whether that changed it by more than a ten-thousandth of a sample.
#[inline]
fn lower(distances: &mut [f32], place: usize, strides: [usize; 3], spacing: f32) -> bool {
    let nearest = strides.map(|stride| {
        let [below, above] = [distances[place - stride], distances[place + stride]];
        if below < above { below } else { above }
    });
    let here = distances[place];
    let least = nearest[0].min(nearest[1]).min(nearest[2]);
    if least + LEAST_GAIN * spacing >= here {
        return false;
    }
    let reached = godunov(nearest, spacing);
    if reached >= here {
        return false;
    }
    distances[place] = reached;
    reached < here - 1e-4 * spacing
}
