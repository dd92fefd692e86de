//! The sparse block grid: two levels, a coarse one of flags and a pool of fine blocks near the surface.
//!
//! A regular grid of samples is cut into cubes of [`BlockWidth`] samples; only some are stored. For every other one the
//! coarse level says on which side it lies. (Bridson 2003, 6.1)
//!
//! Guarantees: reading a sample costs one coarse look-up and one load; stored blocks lie in one pool without holes, in
//! an order that depends on the edits made and on nothing else; no operation depends on the number of threads.
//! Does not: keep a third level. At 2,048 samples across, the coarse level is under a tenth of the memory.
//! Departs: blocks are any 5 to 32 wide, not the fourth root of the resolution; see `docs/level-sets.md`.

mod coarse;
mod halo;
mod width;

pub use coarse::{BlockCoordinates, BlockSlot, BlockState, Domain, Side};
pub use halo::Halo;
pub use width::{BlockWidth, COORDINATE_LIMIT};

use coarse::Coarse;
use rayon::prelude::*;
use thiserror::Error;

/// The coordinates of a sample.
pub type SampleCoordinates = [i32; 3];

/// A grid that cannot be made.
#[derive(Debug, Error, PartialEq)]
pub enum GridError {
    /// The width is outside 5..=32.
    #[error("blocks of {samples} samples: a block is 5 to 32 samples wide")]
    Width {
        /// The width asked for.
        samples: u32,
    },
}

/// What samples of blocks that are not stored read as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background<T> {
    /// Outside.
    pub outside: T,
    /// Inside.
    pub inside: T,
}

impl<T: Copy> Background<T> {
    /// The value on a side.
    #[inline]
    pub fn on(&self, side: Side) -> T {
        match side {
            Side::Outside => self.outside,
            Side::Inside => self.inside,
        }
    }
}

/// A sparse grid of samples; see the module.
#[derive(Clone, Debug)]
pub struct BlockGrid<T> {
    width: BlockWidth,
    background: Background<T>,
    coarse: Coarse,
    blocks: Vec<BlockCoordinates>,
    samples: Vec<T>,
}

impl<T: Copy + Send + Sync> BlockGrid<T> {
    /// A grid with no stored block, outside everywhere.
    pub fn new(width: BlockWidth, domain: Domain, background: Background<T>) -> Self {
        Self { width, background, coarse: Coarse::new(domain), blocks: Vec::new(), samples: Vec::new() }
    }

    /// A grid with many blocks at once. `samples` holds the blocks one after the other; no block may appear twice.
    pub fn from_blocks(
        width: BlockWidth,
        domain: Domain,
        background: Background<T>,
        blocks: Vec<BlockCoordinates>,
        samples: Vec<T>,
    ) -> Self {
        assert_eq!(samples.len(), blocks.len() * width.volume(), "every block has its samples");
        assert!(blocks.len() < coarse::SLOT_LIMIT, "too many blocks");
        let mut grid = Self { width, background, coarse: Coarse::new(domain), blocks, samples };
        for (slot, &block) in grid.blocks.iter().enumerate() {
            grid.coarse.set(block, BlockState::Stored(BlockSlot(slot as u32)));
        }
        grid
    }

    /// A grid with the same blocks, flags and order, each sample given by a function of its block and place.
    pub fn map<U: Copy + Send + Sync>(
        &self,
        background: Background<U>,
        value: impl Fn(BlockSlot, &[T], &mut Vec<U>) + Sync,
    ) -> BlockGrid<U> {
        let volume = self.width.volume();
        let samples = self
            .samples
            .par_chunks(volume)
            .enumerate()
            .flat_map_iter(|(slot, samples)| {
                let mut mapped = Vec::with_capacity(volume);
                value(BlockSlot(slot as u32), samples, &mut mapped);
                assert_eq!(mapped.len(), volume, "a block maps to a block");
                mapped
            })
            .collect();
        BlockGrid { width: self.width, background, coarse: self.coarse.clone(), blocks: self.blocks.clone(), samples }
    }

    /// The width of the blocks.
    pub fn width(&self) -> BlockWidth {
        self.width
    }

    /// Where blocks may lie.
    pub fn domain(&self) -> Domain {
        self.coarse.domain()
    }

    /// What samples that are not stored read as.
    pub fn background(&self) -> Background<T> {
        self.background
    }

    /// Changes what samples that are not stored read as.
    pub fn set_background(&mut self, background: Background<T>) {
        self.background = background;
    }

    /// The stored blocks, in slot order.
    pub fn blocks(&self) -> &[BlockCoordinates] {
        &self.blocks
    }

    /// What is known of a block.
    #[inline]
    pub fn state(&self, block: BlockCoordinates) -> BlockState {
        self.coarse.get(block)
    }

    /// The slot of a block, if it is stored.
    #[inline]
    pub fn slot(&self, block: BlockCoordinates) -> Option<BlockSlot> {
        match self.coarse.get(block) {
            BlockState::Stored(slot) => Some(slot),
            BlockState::Uniform(_) => None,
        }
    }

    /// Every block known to be inside and not stored, in order of coordinates.
    pub fn inside_blocks(&self) -> Vec<BlockCoordinates> {
        self.coarse.inside_blocks()
    }

    /// The samples of a stored block; x runs fastest.
    #[inline]
    pub fn block(&self, slot: BlockSlot) -> &[T] {
        let volume = self.width.volume();
        &self.samples[slot.index() * volume..][..volume]
    }

    /// The samples of a stored block, to change.
    pub fn block_mut(&mut self, slot: BlockSlot) -> &mut [T] {
        let volume = self.width.volume();
        &mut self.samples[slot.index() * volume..][..volume]
    }

    /// All samples, block after block in slot order.
    pub fn samples(&self) -> &[T] {
        &self.samples
    }

    /// All samples, to change.
    pub fn samples_mut(&mut self) -> &mut [T] {
        &mut self.samples
    }

    /// All stored blocks in slot order, to change in parallel.
    pub fn par_blocks_mut(&mut self) -> impl IndexedParallelIterator<Item = (BlockCoordinates, &mut [T])> {
        let volume = self.width.volume();
        self.blocks.par_iter().copied().zip(self.samples.par_chunks_mut(volume))
    }

    /// All stored blocks in slot order, in parallel.
    pub fn par_blocks(&self) -> impl IndexedParallelIterator<Item = (BlockCoordinates, &[T])> {
        self.blocks.par_iter().copied().zip(self.samples.par_chunks(self.width.volume()))
    }

    /// The value of a sample.
    #[inline]
    pub fn sample(&self, coordinates: SampleCoordinates) -> T {
        let (block, local) = self.split(coordinates);
        match self.coarse.get(block) {
            BlockState::Stored(slot) => self.samples[slot.index() * self.width.volume() + self.width.place(local)],
            BlockState::Uniform(side) => self.background.on(side),
        }
    }

    /// The block of a sample, and the sample's coordinates within it.
    #[inline]
    pub fn split(&self, coordinates: SampleCoordinates) -> (BlockCoordinates, [usize; 3]) {
        let [x, y, z] = coordinates.map(|c| self.width.split(c));
        ([x.0, y.0, z.0], [x.1, y.1, z.1])
    }

    /// Stores a block, filled with the background of the side it lies on; a stored block is left alone.
    pub fn store(&mut self, block: BlockCoordinates) -> BlockSlot {
        match self.coarse.get(block) {
            BlockState::Stored(slot) => slot,
            BlockState::Uniform(side) => {
                let slot = BlockSlot(self.blocks.len() as u32);
                assert!(self.blocks.len() < coarse::SLOT_LIMIT, "too many blocks");
                self.coarse.set(block, BlockState::Stored(slot));
                self.reserve_one();
                self.blocks.push(block);
                let filled = self.samples.len() + self.width.volume();
                self.samples.resize(filled, self.background.on(side));
                slot
            }
        }
    }

    /// Forgets a block's samples and keeps its side. The last block of the pool takes its slot.
    pub fn release(&mut self, block: BlockCoordinates, side: Side) {
        if let BlockState::Stored(slot) = self.coarse.get(block) {
            let volume = self.width.volume();
            let last = self.blocks.len() - 1;
            self.samples.copy_within(last * volume.., slot.index() * volume);
            self.samples.truncate(last * volume);
            self.blocks.swap_remove(slot.index());
            if let Some(&moved) = self.blocks.get(slot.index()) {
                self.coarse.set(moved, BlockState::Stored(slot));
            }
        }
        self.coarse.set(block, BlockState::Uniform(side));
    }

    /// Takes back a [`BlockGrid::release`]: the block, filled with the background, has its slot again, and the block
    /// that took the slot is the last one of the pool again.
    pub fn store_at(&mut self, block: BlockCoordinates, slot: BlockSlot) {
        let last = self.store(block);
        if slot < last {
            let volume = self.width.volume();
            let (from, to) = self.samples.split_at_mut(last.index() * volume);
            from[slot.index() * volume..][..volume].swap_with_slice(to);
            self.blocks.swap(slot.index(), last.index());
            self.coarse.set(block, BlockState::Stored(slot));
            self.coarse.set(self.blocks[last.index()], BlockState::Stored(last));
        }
    }

    /// Says on which side a block that is not stored lies; a stored block is left alone.
    pub fn set_side(&mut self, block: BlockCoordinates, side: Side) {
        if self.slot(block).is_none() {
            self.coarse.set(block, BlockState::Uniform(side));
        }
    }

    /// Bytes held: samples, coarse level and block list.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.samples.as_slice()) + self.coarse.memory_bytes() + size_of_val(self.blocks.as_slice())
    }

    /// Grows the pool by an eighth, not by half: a pool can fill most of the memory.
    fn reserve_one(&mut self) {
        let volume = self.width.volume();
        if self.samples.capacity() < self.samples.len() + volume {
            self.samples.reserve_exact(volume * (self.blocks.len() / 8 + 16));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn domains() -> [Domain; 2] {
        [Domain::Bounded { first: [-1, -1, -1], extent: [2, 2, 2] }, Domain::Unbounded]
    }

    proptest! {
        #[test]
        fn any_sequence_of_edits_agrees_with_a_map(
            width in 5_u32..9,
            edits in prop::collection::vec((-4_i32..4, -4_i32..4, -4_i32..4, 0_u8..3), 1..60),
        ) {
            for domain in domains() {
                let background = Background { outside: 1000, inside: -1000 };
                let mut grid = BlockGrid::new(BlockWidth::new(width).unwrap(), domain, background);
                let mut expected: BTreeMap<BlockCoordinates, i32> = BTreeMap::new();
                for (number, &(x, y, z, edit)) in edits.iter().enumerate() {
                    let block = [x, y, z];
                    match edit {
                        0 => {
                            let slot = grid.store(block);
                            grid.block_mut(slot).fill(number as i32);
                            expected.insert(block, number as i32);
                        }
                        1 => { grid.release(block, Side::Inside); expected.insert(block, -1000); }
                        _ => { grid.release(block, Side::Outside); expected.insert(block, 1000); }
                    }
                }
                for x in -5..5 { for y in -5..5 { for z in -5..5 {
                    let want = expected.get(&[x, y, z]).copied().unwrap_or(1000);
                    let sample = [x, y, z].map(|b| b * width as i32 + (width as i32 - 1));
                    prop_assert_eq!(grid.sample(sample), want);
                    prop_assert_eq!(grid.sample([x, y, z].map(|b| b * width as i32)), want);
                }}}
                prop_assert_eq!(grid.samples().len(), grid.blocks().len() * grid.width().volume());
            }
        }
    }

    #[test]
    fn inside_blocks_come_in_order_of_coordinates() {
        for domain in domains() {
            let background = Background { outside: 1.0_f32, inside: -1.0 };
            let mut grid = BlockGrid::new(BlockWidth::DEFAULT, domain, background);
            for block in [[3, 0, 1], [0, 0, 0], [2, 0, 1], [5, 5, -5]] {
                grid.set_side(block, Side::Inside);
            }
            assert_eq!(grid.inside_blocks(), [[5, 5, -5], [0, 0, 0], [2, 0, 1], [3, 0, 1]]);
        }
    }
}
