//! A front across blocks: distances found outward from what is known, sample by sample, where few are missing.
//!
//! The samples beside known ones are listed; each is lowered, and its neighbours join the list if that helps them,
//! whichever block they lie in, until none is left.
//!
//! Guarantees: first order; the result does not depend on threads; samples that are known, and blocks not given, are
//! never touched; the work is proportional to the samples lowered.
//! Does not: run in parallel, so [`super::fast_sweeping`] is the better one for a whole band.

use super::{LEAST_GAIN, godunov};
use crate::grid::{BlockGrid, BlockSlot, BlockState, Halo};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Blocks with distances to be found, in three lists of one length.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished<'a> {
    /// The blocks.
    pub slots: &'a [BlockSlot],
    /// For each block, which of its samples stay as they are.
    pub known: &'a [Vec<bool>],
    /// For each block, the places of the samples where the front starts: all that a known one can lower.
    pub starts: &'a [Vec<u32>],
}

/// Lowers distances in the given blocks until they settle; nothing rises, signs stay.
pub fn advance(grid: &mut BlockGrid<f32>, blocks: Unfinished<'_>, spacing: f64) {
    let spacing = spacing as f32;
    let mut front = Front::new(grid, blocks);
    let starts = blocks.starts.iter().zip(0..);
    let mut waiting: Vec<Sample> =
        starts.flat_map(|(places, block)| places.iter().map(move |&place| Sample { block, place })).collect();
    for &sample in &waiting {
        let mark = front.mark(sample);
        front.marks[mark] |= QUEUED;
    }
    let mut next = Vec::new();
    while !waiting.is_empty() {
        for &sample in &waiting {
            front.lower(sample, spacing, &mut next);
        }
        std::mem::swap(&mut waiting, &mut next);
        next.clear();
    }
}

/// For each block, the samples that any neighbour could lower: starts for a front when nothing better is known.
pub fn all_starts(grid: &BlockGrid<f32>, slots: &[BlockSlot], known: &[Vec<bool>], spacing: f64) -> Vec<Vec<u32>> {
    let list = |halo: &mut Halo<f32>, (&slot, known): (&BlockSlot, &Vec<bool>)| {
        halo.load_across_faces(grid, grid.blocks()[slot.index()]);
        let width = grid.width().samples();
        let helped = |place: usize| {
            let here = halo.place([place % width, place / width % width, place / (width * width)]);
            let around = halo.strides().into_iter().flat_map(|stride| [here - stride, here + stride]);
            let nearest = around.map(|at| halo.values()[at].abs()).fold(f32::INFINITY, f32::min);
            halo.values()[here].abs() - nearest > LEAST_GAIN * spacing as f32
        };
        (0..known.len()).filter(|&place| !known[place] && helped(place)).map(|place| place as u32).collect()
    };
    slots.par_iter().zip(known).with_min_len(16).map_init(|| Halo::new(grid, 1), list).collect()
}

/// A sample of one of the given blocks.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// The number of the block among those given.
    block: u32,
    /// Its place in the block's array.
    place: u32,
}

/// What lies across a face of a block.
#[derive(Clone, Copy, Debug)]
enum Beyond {
    /// Another of the given blocks, by number.
    Given(u32),
    /// A block whose samples stay as they are, by the start of its samples.
    Fixed(usize),
    /// A block that is not stored, all at the band's edge.
    Uniform,
}

/// The sides of a sample: below and above along x, y and z.
const SIDES: usize = 6;
/// A mark: the sample is to be found.
const FREE: u8 = 1;
/// A mark: the sample waits in the list.
const QUEUED: u8 = 2;

struct Front<'a> {
    samples: &'a mut [f32],
    edge: f32,
    /// Samples of one block.
    volume: usize,
    /// For each given block, where its samples start.
    starts: Vec<usize>,
    /// For each given block, what lies on its sides.
    beyond: Vec<[Beyond; SIDES]>,
    /// For each sample of the given blocks, one block after the other.
    marks: Vec<u8>,
    /// For each place of a block, a bit for each side on which the block ends.
    ends: Vec<u8>,
    /// For each side, the step from a place to the next within a block, and to the first beyond its end.
    steps: [(isize, isize); SIDES],
}

impl<'a> Front<'a> {
    fn new(grid: &'a mut BlockGrid<f32>, blocks: Unfinished<'_>) -> Self {
        let slots = blocks.slots;
        let (volume, width) = (grid.width().volume(), grid.width().samples());
        let mut number_of: FxHashMap<u32, u32> = FxHashMap::default();
        number_of.extend(slots.iter().zip(0..).map(|(slot, number)| (slot.0, number)));
        let across = |slot: BlockSlot, side: usize| {
            let mut block = grid.blocks()[slot.index()];
            block[side / 2] += 2 * (side as i32 % 2) - 1;
            match grid.state(block) {
                BlockState::Uniform(_) => Beyond::Uniform,
                BlockState::Stored(slot) => match number_of.get(&slot.0) {
                    Some(&number) => Beyond::Given(number),
                    None => Beyond::Fixed(slot.index() * volume),
                },
            }
        };
        let beyond = slots.iter().map(|&slot| std::array::from_fn(|side| across(slot, side))).collect();
        let mut marks = Vec::with_capacity(slots.len() * volume);
        for known in blocks.known {
            marks.extend(known.iter().map(|&known| if known { 0 } else { FREE }));
        }
        let strides = [1, width, width * width];
        let ends = |place: usize| {
            let last = [0, width - 1];
            let at_end = |side: usize| place / strides[side / 2] % width == last[side % 2];
            (0..SIDES).fold(0, |bits, side| bits | u8::from(at_end(side)) << side)
        };
        let steps = std::array::from_fn(|side| {
            let (stride, sign) = (strides[side / 2] as isize, 2 * (side as isize % 2) - 1);
            (sign * stride, -sign * stride * (width as isize - 1))
        });
        Self {
            edge: grid.background().outside,
            volume,
            starts: slots.iter().map(|slot| slot.index() * volume).collect(),
            beyond,
            marks,
            ends: (0..volume).map(ends).collect(),
            steps,
            samples: grid.samples_mut(),
        }
    }

    /// Lowers a sample to what its neighbours allow, and lists those that it may help in turn.
    fn lower(&mut self, sample: Sample, spacing: f32, next: &mut Vec<Sample>) {
        let mark = self.mark(sample);
        self.marks[mark] &= !QUEUED;
        let around: [(Option<Sample>, f32); SIDES] = std::array::from_fn(|side| self.neighbor(sample, side));
        let along = |axis: usize| around[2 * axis].1.min(around[2 * axis + 1].1);
        let reached = godunov([along(0), along(1), along(2)], spacing);
        let value = &mut self.samples[self.starts[sample.block as usize] + sample.place as usize];
        let before = value.abs();
        if reached >= before {
            return;
        }
        *value = reached.copysign(*value);
        if reached >= before - SETTLED * spacing {
            return;
        }
        for (neighbor, distance) in around {
            let Some(neighbor) = neighbor.filter(|_| distance - reached > NEAR * spacing) else { continue };
            let mark = self.mark(neighbor);
            if self.marks[mark] == FREE {
                self.marks[mark] |= QUEUED;
                next.push(neighbor);
            }
        }
    }

    /// The neighbour on a side, if it lies in a given block, and its distance.
    #[inline]
    fn neighbor(&self, sample: Sample, side: usize) -> (Option<Sample>, f32) {
        let (within, around) = self.steps[side];
        let ends = self.ends[sample.place as usize] >> side & 1 == 1;
        let place = (sample.place as isize + if ends { around } else { within }) as usize;
        let beyond = if ends { self.beyond[sample.block as usize][side] } else { Beyond::Given(sample.block) };
        match beyond {
            Beyond::Given(block) => {
                let distance = self.samples[self.starts[block as usize] + place].abs();
                (Some(Sample { block, place: place as u32 }), distance)
            }
            Beyond::Fixed(start) => (None, self.samples[start + place].abs()),
            Beyond::Uniform => (None, self.edge),
        }
    }

    #[inline]
    fn mark(&self, sample: Sample) -> usize {
        sample.block as usize * self.volume + sample.place as usize
    }
}

/// A sample that gained less than this, in samples, does not wake its neighbours.
const SETTLED: f32 = 1e-3;

/// A neighbour no further from the surface than this beyond a sample, in samples, is not woken: it would gain at most
/// half the square, for more of its distance comes from other sides.
const NEAR: f32 = 0.04;

#[cfg(test)]
mod tests {
    use super::super::fast_marching;
    use super::*;
    use crate::grid::{Background, BlockWidth, Domain};

    /// A sphere across 4 x 4 x 4 blocks: distances within a sample of the surface, the half width elsewhere.
    fn sphere_with_a_thin_band(half_width: f32) -> BlockGrid<f32> {
        let background = Background { outside: half_width, inside: -half_width };
        let mut grid = BlockGrid::new(BlockWidth::new(6).unwrap(), Domain::Unbounded, background);
        for block in (0..64).map(|n| [n % 4, n / 4 % 4, n / 16]) {
            let slot = grid.store(block);
            for (place, value) in grid.block_mut(slot).iter_mut().enumerate() {
                let local = [place % 6, place / 6 % 6, place / 36];
                let squared: f32 = (0..3).map(|a| (6.0 * block[a] as f32 + local[a] as f32 - 11.3).powi(2)).sum();
                let distance = squared.sqrt() - 8.0;
                *value = if distance.abs() < 1.0 { distance } else { half_width.copysign(distance) };
            }
        }
        grid
    }

    #[test]
    fn the_front_settles_where_fast_marching_does() {
        let half_width = 4.0;
        let mut grid = sphere_with_a_thin_band(half_width);
        let slots: Vec<BlockSlot> = (0..grid.blocks().len() as u32).map(BlockSlot).collect();
        let known: Vec<Vec<bool>> =
            slots.iter().map(|&slot| grid.block(slot).iter().map(|value| value.abs() < 1.0).collect()).collect();
        let mut marched = grid.clone();
        fast_marching::march(&mut marched, 1.0, |value| value.abs() < 1.0);
        let starts = all_starts(&grid, &slots, &known, 1.0);
        advance(&mut grid, Unfinished { slots: &slots, known: &known, starts: &starts }, 1.0);
        let found = grid.samples().iter().filter(|value| value.abs() < half_width).count();
        assert!(found > 2000, "only {found} samples in the band");
        for (place, value) in grid.samples().iter().enumerate() {
            let sample = grid.blocks()[place / 216];
            let expected = marched.block(marched.slot(sample).unwrap())[place % 216];
            assert!((value - expected).abs() < 0.01, "block {sample:?}: {value}, fast marching {expected}");
        }
    }
}
