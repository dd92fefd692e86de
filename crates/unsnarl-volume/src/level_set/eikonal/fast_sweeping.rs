//! Fast sweeping across blocks: each block is swept in eight directions against its neighbours' latest values.
//!
//! Blocks of one colour (the parity of their coordinates) do not touch, so they are swept in parallel; colours follow
//! one another, as in domain decomposition. A block is swept again only if a neighbour changed. (Bridson 2003, 6.1, the
//! coupled alternative)
//!
//! Guarantees: first order; the result does not depend on threads. Samples beside a change of sign are never touched.

use super::godunov;
use crate::grid::{BlockGrid, BlockSlot, Halo};
use rayon::prelude::*;

/// Lowers distances in the given blocks until they settle or `rounds` are over; nothing rises, signs stay.
///
/// Samples nearer than `known` and samples that have a neighbour of the other sign are taken as known. Blocks not listed are boundary values.
pub fn sweep(grid: &mut BlockGrid<f32>, slots: &[BlockSlot], spacing: f64, rounds: usize, known: f32) {
    let mut colors: [Vec<BlockSlot>; 8] = Default::default();
    for &slot in slots {
        let parity = grid.blocks()[slot.index()].map(|c| (c & 1) as usize);
        colors[parity[0] + 2 * parity[1] + 4 * parity[2]].push(slot);
    }
    let mut waiting = vec![false; grid.blocks().len()];
    for &slot in slots {
        waiting[slot.index()] = true;
    }
    let listed = waiting.clone();
    for _ in 0..rounds {
        let mut any = false;
        for color in &colors {
            let due: Vec<BlockSlot> = color.iter().copied().filter(|slot| waiting[slot.index()]).collect();
            let swept: Vec<Option<Vec<f32>>> = due
                .par_iter()
                .with_min_len(4)
                .map_init(|| BlockSweep::new(grid, spacing, known), |sweep, &slot| sweep.run(grid, slot))
                .collect();
            for (slot, samples) in due.into_iter().zip(swept) {
                waiting[slot.index()] = false;
                let Some(samples) = samples else { continue };
                any = true;
                for touched in changed_neighbors(grid, slot, &samples) {
                    waiting[touched.index()] = listed[touched.index()];
                }
                grid.block_mut(slot).copy_from_slice(&samples);
            }
        }
        if !any {
            break;
        }
    }
}

/// The stored neighbours across faces whose boundary values differ between the block and its new samples.
fn changed_neighbors(grid: &BlockGrid<f32>, slot: BlockSlot, samples: &[f32]) -> Vec<BlockSlot> {
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
                before[place] != samples[place]
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
    known: f32,
}

impl BlockSweep {
    fn new(grid: &BlockGrid<f32>, spacing: f64, known: f32) -> Self {
        let halo = Halo::new(grid, 1);
        let count = halo.values().len();
        let width = grid.width().samples();
        Self { halo, distances: vec![0.0; count], free: vec![false; count], width, spacing: spacing as f32, known }
    }

    /// The block's new samples, or `None` if nothing changed.
    fn run(&mut self, grid: &BlockGrid<f32>, slot: BlockSlot) -> Option<Vec<f32>> {
        self.halo.load(grid, grid.blocks()[slot.index()]);
        let values = self.halo.values();
        for (distance, value) in self.distances.iter_mut().zip(values) {
            *distance = value.abs();
        }
        let strides = self.halo.strides();
        let mut any_free = false;
        for z in 0..self.width {
            for y in 0..self.width {
                let row = self.halo.place([0, y, z]);
                for place in row..row + self.width {
                    let inside = values[place] < 0.0;
                    let known = values[place].abs() < self.known
                        || strides
                            .iter()
                            .any(|&s| (values[place - s] < 0.0) != inside || (values[place + s] < 0.0) != inside);
                    self.free[place] = !known;
                    any_free |= !known;
                }
            }
        }
        if !any_free {
            return None;
        }
        let mut changed = false;
        for direction in 0..8 {
            let lowered = self.sweep(direction, strides);
            changed |= lowered;
            if !lowered && direction >= 3 {
                break;
            }
        }
        changed.then(|| self.signed_block())
    }

    fn sweep(&mut self, direction: usize, [_, stride_y, stride_z]: [usize; 3]) -> bool {
        let mut lowered = false;
        let last = self.width - 1;
        let spacing = self.spacing;
        for k in 0..self.width {
            let z = if direction & 4 == 0 { k } else { last - k };
            for j in 0..self.width {
                let y = if direction & 2 == 0 { j } else { last - j };
                let row = self.halo.place([0, y, z]);
                for i in 0..self.width {
                    let place = row + if direction & 1 == 0 { i } else { last - i };
                    let d = &self.distances;
                    let nearest = [
                        d[place - 1].min(d[place + 1]),
                        d[place - stride_y].min(d[place + stride_y]),
                        d[place - stride_z].min(d[place + stride_z]),
                    ];
                    let least = nearest[0].min(nearest[1]).min(nearest[2]);
                    // No update can gain less than the spacing over the root of three.
                    if least + 0.577 * spacing >= d[place] || !self.free[place] {
                        continue;
                    }
                    let reached = godunov(nearest, spacing);
                    if reached < d[place] {
                        lowered |= reached < d[place] - 1e-4 * spacing;
                        self.distances[place] = reached;
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
