//! The coarse level: for every block, whether it is stored, or on which side of the surface it lies.
//!
//! A bounded domain is an array, so that a query costs one load; an unbounded one is a map that holds what is not
//! outside. (Bridson 2003, 6.1) Nothing iterates the map where the order could reach a result.

use rustc_hash::FxHashMap;

/// The coordinates of a block; the block at `b` holds the samples from `b * width` on.
pub type BlockCoordinates = [i32; 3];

/// The place of a stored block in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockSlot(pub u32);

impl BlockSlot {
    /// As an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The side of the surface on which something lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the distance is positive.
    Outside,
    /// Where the distance is negative.
    Inside,
}

/// What the coarse level knows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Not stored: the whole block lies on one side.
    Uniform(Side),
    /// Stored.
    Stored(BlockSlot),
}

/// Where blocks may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A box of blocks; it grows when a block beyond it is stored. Queries cost one load.
    Bounded {
        /// The block with the smallest coordinates.
        first: BlockCoordinates,
        /// The number of blocks along each axis.
        extent: [u32; 3],
    },
    /// Anywhere; queries cost a hash.
    Unbounded,
}

const OUTSIDE: u32 = u32::MAX;
const INSIDE: u32 = u32::MAX - 1;
/// The largest number of stored blocks.
pub(super) const SLOT_LIMIT: usize = (u32::MAX - 1) as usize;

#[derive(Clone, Debug)]
pub(super) enum Coarse {
    Array { first: BlockCoordinates, extent: [u32; 3], entries: Vec<u32> },
    Map(FxHashMap<BlockCoordinates, u32>),
}

impl Coarse {
    pub(super) fn new(domain: Domain) -> Self {
        match domain {
            Domain::Bounded { first, extent } => {
                let count = extent.iter().map(|&n| n as usize).product();
                Self::Array { first, extent, entries: vec![OUTSIDE; count] }
            }
            Domain::Unbounded => Self::Map(FxHashMap::default()),
        }
    }

    pub(super) fn domain(&self) -> Domain {
        match self {
            Self::Array { first, extent, .. } => Domain::Bounded { first: *first, extent: *extent },
            Self::Map(_) => Domain::Unbounded,
        }
    }

    #[inline]
    pub(super) fn get(&self, block: BlockCoordinates) -> BlockState {
        decode(match self {
            Self::Array { first, extent, entries } => match array_place(*first, *extent, block) {
                Some(place) => entries[place],
                None => OUTSIDE,
            },
            Self::Map(map) => map.get(&block).copied().unwrap_or(OUTSIDE),
        })
    }

    pub(super) fn set(&mut self, block: BlockCoordinates, state: BlockState) {
        let entry = encode(state);
        match self {
            Self::Array { first, extent, entries } => match array_place(*first, *extent, block) {
                Some(place) => entries[place] = entry,
                None if entry == OUTSIDE => {}
                None => {
                    self.grow_to(block);
                    self.set(block, state);
                }
            },
            Self::Map(map) if entry == OUTSIDE => {
                map.remove(&block);
            }
            Self::Map(map) => {
                map.insert(block, entry);
            }
        }
    }

    /// Every block known to be inside and not stored, in order of coordinates (z, then y, then x).
    pub(super) fn inside_blocks(&self) -> Vec<BlockCoordinates> {
        match self {
            Self::Array { first, extent, entries } => {
                let [nx, ny] = [extent[0] as usize, extent[1] as usize];
                let inside = |(place, _): (usize, &u32)| {
                    let steps = [place % nx, place / nx % ny, place / (nx * ny)];
                    [0, 1, 2].map(|axis| first[axis] + steps[axis] as i32)
                };
                entries.iter().enumerate().filter(|&(_, &entry)| entry == INSIDE).map(inside).collect()
            }
            Self::Map(map) => {
                let mut blocks: Vec<_> =
                    map.iter().filter(|&(_, &entry)| entry == INSIDE).map(|(&block, _)| block).collect();
                blocks.sort_unstable_by_key(|b| [b[2], b[1], b[0]]);
                blocks
            }
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Array { entries, .. } => entries.capacity() * 4,
            Self::Map(map) => map.capacity() * 17,
        }
    }

    fn grow_to(&mut self, block: BlockCoordinates) {
        let Self::Array { first, extent, entries } = self else { return };
        let margin = 2;
        let new_first = [0, 1, 2].map(|axis| first[axis].min(block[axis] - margin));
        let new_extent = [0, 1, 2].map(|axis| {
            let end = (first[axis] + extent[axis] as i32).max(block[axis] + 1 + margin);
            (end - new_first[axis]) as u32
        });
        let mut grown = vec![OUTSIDE; new_extent.iter().map(|&n| n as usize).product()];
        let row = extent[0] as usize;
        for z in 0..extent[2] as i32 {
            for y in 0..extent[1] as i32 {
                let from = row * (y as usize + extent[1] as usize * z as usize);
                let start = [first[0], first[1] + y, first[2] + z];
                let to = array_place(new_first, new_extent, start).expect("the grown box contains the old one");
                grown[to..to + row].copy_from_slice(&entries[from..from + row]);
            }
        }
        (*first, *extent, *entries) = (new_first, new_extent, grown);
    }
}

#[inline]
fn array_place(first: BlockCoordinates, extent: [u32; 3], block: BlockCoordinates) -> Option<usize> {
    let [x, y, z] = [0, 1, 2].map(|axis| block[axis].wrapping_sub(first[axis]) as u32);
    (x < extent[0] && y < extent[1] && z < extent[2])
        .then(|| x as usize + extent[0] as usize * (y as usize + extent[1] as usize * z as usize))
}

#[inline]
fn decode(entry: u32) -> BlockState {
    match entry {
        OUTSIDE => BlockState::Uniform(Side::Outside),
        INSIDE => BlockState::Uniform(Side::Inside),
        slot => BlockState::Stored(BlockSlot(slot)),
    }
}

fn encode(state: BlockState) -> u32 {
    match state {
        BlockState::Uniform(Side::Outside) => OUTSIDE,
        BlockState::Uniform(Side::Inside) => INSIDE,
        BlockState::Stored(slot) => slot.0,
    }
}
