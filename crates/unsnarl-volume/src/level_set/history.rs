//! What an edit changed, block by block, and how to take it back.
//!
//! A [`Journal`] holds the blocks of one edit as they were before, and the blocks that were stored and released, in
//! order. A [`History`] keeps journals, joined to one entry per drag of the tool. (Bridson 2003, 6.2 has no undo.)
//!
//! Guarantees: after an undo, samples, sides and the order of the stored blocks are those before the entry, bit for bit;
//! after a redo, those after it. Memory stays below the cap: the oldest entries go first.
//! Does not: bring back the far field, which any edit drops, nor the box of a bounded domain, which only grows.

use super::LevelSet;
use crate::grid::{BlockCoordinates, BlockGrid, BlockSlot, BlockState, Side};
use std::collections::{BTreeMap, VecDeque};

/// A change of the coarse level.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Edit {
    /// A block of a side was stored, in the last slot.
    Stored(BlockCoordinates, Side),
    /// A block was released to a side; it had this slot.
    Released(BlockCoordinates, BlockSlot, Side),
    /// A block that is not stored went from one side to the other, which is given.
    Turned(BlockCoordinates, Side),
}

/// What one edit changed; see the module.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Samples before the edit, of blocks that were stored when they were first touched.
    before: BTreeMap<BlockCoordinates, Vec<f32>>,
    edits: Vec<Edit>,
    /// Of every block in `edits`: its side before the first of them, unless it was stored.
    sides: BTreeMap<BlockCoordinates, Option<Side>>,
    off: bool,
}

impl Journal {
    /// A journal that notes nothing, for edits that nobody takes back.
    pub(super) fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// Keeps the samples of a stored block, if they are not kept already. To call before they change.
    pub(super) fn note(&mut self, grid: &BlockGrid<f32>, block: BlockCoordinates) {
        if self.off {
            return;
        }
        if let Some(slot) = grid.slot(block) {
            self.before.entry(block).or_insert_with(|| grid.block(slot).to_vec());
        }
    }

    /// Stores a block.
    pub(super) fn store(&mut self, grid: &mut BlockGrid<f32>, block: BlockCoordinates) -> BlockSlot {
        if let BlockState::Uniform(side) = grid.state(block)
            && !self.off
        {
            self.sides.entry(block).or_insert(Some(side));
            self.edits.push(Edit::Stored(block, side));
        }
        grid.store(block)
    }

    /// Releases a block to a side.
    pub(super) fn release(&mut self, grid: &mut BlockGrid<f32>, block: BlockCoordinates, side: Side) {
        if !self.off {
            self.note(grid, block);
            match grid.state(block) {
                BlockState::Stored(slot) => {
                    self.sides.entry(block).or_insert(None);
                    self.edits.push(Edit::Released(block, slot, side));
                }
                BlockState::Uniform(own) if own != side => {
                    self.sides.entry(block).or_insert(Some(own));
                    self.edits.push(Edit::Turned(block, side));
                }
                BlockState::Uniform(_) => {}
            }
        }
        grid.release(block, side);
    }

    /// The blocks whose samples or side differ now from what they were, sorted.
    pub fn changed(&self, level_set: &LevelSet) -> Vec<BlockCoordinates> {
        let grid = &level_set.grid;
        let same = |block: &BlockCoordinates, samples: &Vec<f32>| {
            grid.slot(*block).is_some_and(|slot| grid.block(slot) == samples.as_slice())
        };
        let mut blocks: Vec<BlockCoordinates> =
            self.before.iter().filter(|(block, samples)| !same(block, samples)).map(|(block, _)| *block).collect();
        blocks.extend(self.edits.iter().map(Edit::block));
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Samples of a block before the edit, if the edit touched it.
    pub(super) fn before(&self, block: BlockCoordinates) -> Option<&[f32]> {
        self.before.get(&block).map(Vec::as_slice)
    }

    /// The side of a block that the edit touched and that was not stored before it.
    pub(super) fn side_before(&self, block: BlockCoordinates) -> Option<Side> {
        self.sides.get(&block).copied().flatten()
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.edits.is_empty()
    }

    /// Joins what a later edit changed.
    fn absorb(&mut self, later: Journal) {
        for (block, samples) in later.before {
            self.before.entry(block).or_insert(samples);
        }
        for (block, side) in later.sides {
            self.sides.entry(block).or_insert(side);
        }
        self.edits.extend(later.edits);
    }

    fn memory_bytes(&self) -> usize {
        // All blocks are of one size; 64 bytes are the map's share of each.
        let each = self.before.values().next().map_or(0, |samples| size_of_val(samples.as_slice()) + 64);
        each * self.before.len() + size_of_val(self.edits.as_slice())
    }
}

impl Edit {
    fn block(&self) -> BlockCoordinates {
        match *self {
            Self::Stored(block, _) | Self::Released(block, ..) | Self::Turned(block, _) => block,
        }
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Inside => Side::Outside,
        Side::Outside => Side::Inside,
    }
}

/// An entry that was taken back: what to do again, and the samples after it.
#[derive(Clone, Debug)]
struct Undone {
    journal: Journal,
    after: Vec<(BlockCoordinates, Vec<f32>)>,
}

/// Edits that can be taken back and made again; see the module.
#[derive(Clone, Debug)]
pub struct History {
    done: VecDeque<Journal>,
    undone: Vec<Undone>,
    cap: usize,
    /// Whether the next edit joins the last entry.
    open: bool,
}

impl History {
    /// The cap that is used unless another is asked for, bytes.
    pub const CAP: usize = 256 << 20;

    /// An empty history that holds up to a number of bytes.
    pub fn new(cap: usize) -> Self {
        Self { done: VecDeque::new(), undone: Vec::new(), cap, open: false }
    }

    /// Starts a new entry with the next edit.
    pub fn begin(&mut self) {
        self.open = false;
    }

    /// Keeps an edit, in the entry that is open. What was undone can no longer be made again.
    pub fn record(&mut self, journal: Journal) {
        if journal.is_empty() {
            return;
        }
        self.undone.clear();
        match self.done.back_mut() {
            Some(last) if self.open => last.absorb(journal),
            _ => self.done.push_back(journal),
        }
        self.open = true;
        while self.memory_bytes() > self.cap && !self.done.is_empty() {
            self.done.pop_front();
        }
        self.open &= !self.done.is_empty();
    }

    /// The entry that is open: what the drag under way has changed so far.
    pub(super) fn current(&self) -> Option<&Journal> {
        self.done.back().filter(|_| self.open)
    }

    /// Takes back the last entry. Gives the blocks that changed, or `None` if there is nothing to take back.
    pub fn undo(&mut self, level_set: &mut LevelSet) -> Option<Vec<BlockCoordinates>> {
        let journal = self.done.pop_back()?;
        self.open = false;
        level_set.far = None;
        let grid = &mut level_set.grid;
        let stored = journal.edits.iter().map(Edit::block).chain(journal.before.keys().copied());
        let mut blocks: Vec<BlockCoordinates> = stored.collect();
        blocks.sort_unstable();
        blocks.dedup();
        let copy = |block: BlockCoordinates| grid.slot(block).map(|slot| (block, grid.block(slot).to_vec()));
        let after = blocks.iter().filter_map(|&block| copy(block)).collect();
        for edit in journal.edits.iter().rev() {
            match *edit {
                Edit::Stored(block, side) => grid.release(block, side),
                Edit::Released(block, slot, _) => grid.store_at(block, slot),
                Edit::Turned(block, side) => grid.set_side(block, other(side)),
            }
        }
        write(grid, journal.before.iter());
        self.undone.push(Undone { journal, after });
        Some(blocks)
    }

    /// Makes the last undone entry again. Gives the blocks that changed, or `None` if there is nothing to make again.
    pub fn redo(&mut self, level_set: &mut LevelSet) -> Option<Vec<BlockCoordinates>> {
        let Undone { journal, after } = self.undone.pop()?;
        self.open = false;
        level_set.far = None;
        let grid = &mut level_set.grid;
        for edit in &journal.edits {
            match *edit {
                Edit::Stored(block, _) => {
                    grid.store(block);
                }
                Edit::Released(block, _, side) => grid.release(block, side),
                Edit::Turned(block, side) => grid.set_side(block, side),
            }
        }
        write(grid, after.iter().map(|(block, samples)| (block, samples)));
        let mut blocks: Vec<BlockCoordinates> =
            journal.edits.iter().map(Edit::block).chain(journal.before.keys().copied()).collect();
        blocks.sort_unstable();
        blocks.dedup();
        self.done.push_back(journal);
        Some(blocks)
    }

    /// Takes back the entry that is open, for good. Gives the blocks that changed.
    pub fn discard(&mut self, level_set: &mut LevelSet) -> Vec<BlockCoordinates> {
        if !self.open {
            return Vec::new();
        }
        let changed = self.undo(level_set).unwrap_or_default();
        self.undone.pop();
        changed
    }

    /// Forgets everything, as after a change of resolution.
    pub fn clear(&mut self) {
        *self = Self::new(self.cap);
    }

    /// How many entries can be taken back, and made again.
    pub fn depth(&self) -> [usize; 2] {
        [self.done.len(), self.undone.len()]
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let after = |undone: &Undone| {
            undone.after.first().map_or(0, |(_, samples)| size_of_val(samples.as_slice())) * undone.after.len()
        };
        let undone: usize = self.undone.iter().map(|undone| undone.journal.memory_bytes() + after(undone)).sum();
        self.done.iter().map(Journal::memory_bytes).sum::<usize>() + undone
    }
}

/// Writes samples into those blocks that are stored.
fn write<'a>(grid: &mut BlockGrid<f32>, blocks: impl Iterator<Item = (&'a BlockCoordinates, &'a Vec<f32>)>) {
    for (block, samples) in blocks {
        if let Some(slot) = grid.slot(*block) {
            grid.block_mut(slot).copy_from_slice(samples);
        }
    }
}
