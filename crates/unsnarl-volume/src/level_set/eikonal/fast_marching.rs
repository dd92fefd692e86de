//! Fast marching: samples are settled in order of distance, outward from what is known.
//!
//! A front of trial samples lies in a heap; the nearest is settled and its neighbours tried again. New blocks are stored
//! as the front reaches them, so the band may become as wide as asked. (Bridson 2003, 2.1 and 6.1)
//!
//! Guarantees: first order; ties are broken by block and place, so the result is one and the same. Runs on one thread.

use super::godunov;
use crate::grid::{BlockGrid, BlockSlot, SampleCoordinates};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Settles every sample whose distance is below the limit (the grid's background), from those that `is_known` accepts.
///
/// Signs are taken from the samples as they are; blocks not stored have that of their side.
pub fn march(grid: &mut BlockGrid<f32>, spacing: f64, is_known: impl Fn(f32) -> bool) {
    let limit = grid.background().outside;
    let mut front = Front { spacing: spacing as f32, limit, heap: BinaryHeap::new(), settled: Vec::new() };
    front.settled = grid.samples().iter().map(|&value| is_known(value)).collect();
    let known: Vec<usize> = (0..front.settled.len()).filter(|&number| front.settled[number]).collect();
    for number in known {
        let sample = coordinates(grid, number);
        for neighbor in neighbors(sample) {
            front.try_sample(grid, neighbor);
        }
    }
    while let Some(Reverse((bits, number))) = front.heap.pop() {
        if front.settled[number] || grid.samples()[number].abs().to_bits() != bits {
            continue;
        }
        front.settled[number] = true;
        let sample = coordinates(grid, number);
        for neighbor in neighbors(sample) {
            front.try_sample(grid, neighbor);
        }
    }
}

struct Front {
    spacing: f32,
    limit: f32,
    /// Distances as bits, which order as the distances do, and the number of the sample in the pool.
    heap: BinaryHeap<Reverse<(u32, usize)>>,
    settled: Vec<bool>,
}

impl Front {
    fn try_sample(&mut self, grid: &mut BlockGrid<f32>, sample: SampleCoordinates) {
        let slot_and_number = |grid: &BlockGrid<f32>| {
            let (block, local) = grid.split(sample);
            grid.slot(block).map(|slot| number_of(grid, slot, local))
        };
        let known = slot_and_number(grid);
        if known.is_some_and(|number| self.settled[number]) {
            return;
        }
        let inside = grid.sample(sample) < 0.0;
        let mut nearest = [f32::INFINITY; 3];
        for (i, neighbor) in neighbors(sample).into_iter().enumerate() {
            if let Some(value) = self.settled_value(grid, neighbor, inside) {
                nearest[i / 2] = nearest[i / 2].min(value);
            }
        }
        let reached = godunov(nearest, self.spacing);
        if reached >= self.limit {
            return;
        }
        let number = known.unwrap_or_else(|| {
            let (block, local) = grid.split(sample);
            let slot = grid.store(block);
            self.settled.resize(grid.samples().len(), false);
            number_of(grid, slot, local)
        });
        let value = &mut grid.samples_mut()[number];
        if self.heap.is_empty() || reached < value.abs() || value.abs() >= self.limit {
            *value = if inside { -reached } else { reached };
            self.heap.push(Reverse((reached.to_bits(), number)));
        }
    }

    /// The distance of a settled sample on the same side.
    fn settled_value(&self, grid: &BlockGrid<f32>, sample: SampleCoordinates, inside: bool) -> Option<f32> {
        let (block, local) = grid.split(sample);
        let number = number_of(grid, grid.slot(block)?, local);
        let value = grid.samples()[number];
        (self.settled[number] && (value < 0.0) == inside).then_some(value.abs())
    }
}

fn number_of(grid: &BlockGrid<f32>, slot: BlockSlot, local: [usize; 3]) -> usize {
    slot.index() * grid.width().volume() + grid.width().place(local)
}

fn coordinates(grid: &BlockGrid<f32>, number: usize) -> SampleCoordinates {
    let volume = grid.width().volume();
    let block = grid.blocks()[number / volume];
    let local = grid.width().local(number % volume);
    [0, 1, 2].map(|axis| grid.width().first_sample(block[axis]) + local[axis] as i32)
}

fn neighbors([x, y, z]: SampleCoordinates) -> [SampleCoordinates; 6] {
    [[x - 1, y, z], [x + 1, y, z], [x, y - 1, z], [x, y + 1, z], [x, y, z - 1], [x, y, z + 1]]
}
