//! What is spread over a lattice, sorted by blocks, so that each block gathers what reaches it in the order of items.

use crate::grid::{BlockCoordinates, BlockWidth, SampleCoordinates};
use rayon::prelude::*;

/// For every block that something reaches, its items in order. Blocks are in order of coordinates (z, then y, then x).
#[derive(Clone, Debug, Default)]
pub struct Reached {
    blocks: Vec<BlockCoordinates>,
    starts: Vec<usize>,
    items: Vec<u32>,
}

/// Blocks are counted from this far below zero.
const BIAS: i32 = 1 << 20;

fn key(block: BlockCoordinates) -> u64 {
    let part = |axis: usize| (block[axis] + BIAS) as u64;
    part(2) << 42 | part(1) << 21 | part(0)
}

fn block_of(key: u64) -> BlockCoordinates {
    let part = |shift: u32| (key >> shift & ((1 << 21) - 1)) as i32 - BIAS;
    [part(0), part(21), part(42)]
}

impl Reached {
    /// Each item reaches the nodes of a box: from its lowest to its highest node, both included.
    pub fn new(count: usize, box_of: impl Fn(usize) -> [SampleCoordinates; 2] + Sync) -> Self {
        let width = BlockWidth::DEFAULT;
        let mut pairs: Vec<(u64, u32)> = (0..count)
            .into_par_iter()
            .flat_map_iter(|item| {
                let [low, high] = box_of(item).map(|node| node.map(|at| width.split(at).0));
                let mut found = Vec::with_capacity(2);
                for z in low[2]..=high[2] {
                    for y in low[1]..=high[1] {
                        found.extend((low[0]..=high[0]).map(|x| (key([x, y, z]), item as u32)));
                    }
                }
                found
            })
            .collect();
        pairs.par_sort_unstable();
        let mut reached = Self { items: pairs.iter().map(|pair| pair.1).collect(), ..Self::default() };
        for (at, pair) in pairs.iter().enumerate() {
            if at == 0 || pairs[at - 1].0 != pair.0 {
                reached.blocks.push(block_of(pair.0));
                reached.starts.push(at);
            }
        }
        reached.starts.push(pairs.len());
        reached
    }

    /// The blocks.
    pub fn blocks(&self) -> &[BlockCoordinates] {
        &self.blocks
    }

    /// The items that reach a block, by its place in the list.
    pub fn items(&self, slot: usize) -> &[u32] {
        &self.items[self.starts[slot]..self.starts[slot + 1]]
    }

    /// The items that reach a block; none for one that nothing reaches.
    pub fn items_at(&self, block: BlockCoordinates) -> &[u32] {
        let found = self.blocks.binary_search_by_key(&key(block), |&known| key(known));
        found.map_or(&[], |slot| self.items(slot))
    }
}
