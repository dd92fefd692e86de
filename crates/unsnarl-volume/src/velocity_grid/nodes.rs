//! Which nodes of the lattice are stored, and the number of each.

use super::stencil::corner_offset;
use crate::grid::{Background, BlockCoordinates, BlockGrid, BlockWidth, Domain, SampleCoordinates};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// What a node that is not stored has in place of a number.
const NONE: u32 = u32::MAX;

/// Some nodes of a lattice, numbered block by block; blocks are in order of coordinates (z, then y, then x).
#[derive(Clone, Debug)]
pub struct NodeSet {
    spacing: f64,
    numbers: BlockGrid<u32>,
    nodes: Vec<SampleCoordinates>,
}

/// The nodes around a point, those that are stored, with trilinear weights.
#[derive(Clone, Copy, Debug)]
pub struct Corners {
    /// The numbers of the eight nodes; `None` for those that are not stored.
    pub nodes: [Option<u32>; 8],
    /// Their weights; all eight sum to 1.
    pub weights: [f64; 8],
}

impl NodeSet {
    /// The nodes that are marked in blocks of [`BlockWidth::DEFAULT`]. Blocks come in order, none twice; x runs fastest
    /// in their marks.
    pub fn from_marks(spacing: f64, blocks: Vec<BlockCoordinates>, marks: &[bool]) -> Self {
        let width = BlockWidth::DEFAULT;
        let mut nodes = Vec::new();
        let mut numbers = vec![NONE; marks.len()];
        for (slot, block) in blocks.iter().enumerate() {
            for place in 0..width.volume() {
                let at = slot * width.volume() + place;
                if marks[at] {
                    numbers[at] = nodes.len() as u32;
                    let local = width.local(place);
                    nodes.push([0, 1, 2].map(|axis| width.first_sample(block[axis]) + local[axis] as i32));
                }
            }
        }
        let background = Background { outside: NONE, inside: NONE };
        Self { spacing, numbers: BlockGrid::from_blocks(width, Domain::Unbounded, background, blocks, numbers), nodes }
    }

    /// The same from a list in any order, with repetitions.
    pub fn new(spacing: f64, nodes: &[SampleCoordinates]) -> Self {
        let width = BlockWidth::DEFAULT;
        let split = |node: &SampleCoordinates| node.map(|at| width.split(at));
        let mut blocks: Vec<BlockCoordinates> = nodes.iter().map(|node| split(node).map(|part| part.0)).collect();
        blocks.par_sort_unstable_by_key(|block| [block[2], block[1], block[0]]);
        blocks.dedup();
        let mut marks = vec![false; blocks.len() * width.volume()];
        for node in nodes {
            let parts = split(node);
            let key = parts.map(|part| part.0);
            let slot = blocks.binary_search_by_key(&[key[2], key[1], key[0]], |block| [block[2], block[1], block[0]]);
            if let Ok(slot) = slot {
                marks[slot * width.volume() + width.place(parts.map(|part| part.1))] = true;
            }
        }
        Self::from_marks(spacing, blocks, &marks)
    }

    /// Distance between neighbours.
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// All nodes, in the order of their numbers.
    pub fn nodes(&self) -> &[SampleCoordinates] {
        &self.nodes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The stored blocks, in order.
    pub fn blocks(&self) -> &[BlockCoordinates] {
        self.numbers.blocks()
    }

    /// The numbers of a block's nodes by their place in it.
    pub fn in_block(&self, slot: usize) -> impl Iterator<Item = Option<u32>> + '_ {
        let volume = self.numbers.width().volume();
        self.numbers.samples()[slot * volume..][..volume].iter().map(|&number| stored(number))
    }

    /// The number of a node.
    #[inline]
    pub fn number(&self, node: SampleCoordinates) -> Option<u32> {
        stored(self.numbers.sample(node))
    }

    /// Where a node is.
    pub fn position(&self, node: SampleCoordinates) -> DVec3 {
        DVec3::from_array(node.map(f64::from)) * self.spacing
    }

    /// The cell that holds a point, and where in it: 0 to 1 along each axis.
    pub fn cell_of(spacing: f64, point: DVec3) -> (SampleCoordinates, DVec3) {
        let scaled = point / spacing;
        let low = scaled.floor();
        ([low.x as i32, low.y as i32, low.z as i32], scaled - low)
    }

    /// The eight nodes of a cell.
    pub fn corners_of(&self, cell: SampleCoordinates) -> [Option<u32>; 8] {
        let (block, local) = self.numbers.split(cell);
        let width = self.numbers.width();
        if local.iter().all(|&at| at + 1 < width.samples()) {
            // All of them lie in one block, as most do.
            let Some(slot) = self.numbers.slot(block) else { return [None; 8] };
            let numbers = self.numbers.block(slot);
            return std::array::from_fn(|corner| {
                let offset = corner_offset(corner);
                stored(numbers[width.place([0, 1, 2].map(|axis| local[axis] + offset[axis] as usize))])
            });
        }
        std::array::from_fn(|corner| {
            let offset = corner_offset(corner);
            self.number([0, 1, 2].map(|axis| cell[axis] + offset[axis]))
        })
    }

    /// The nodes around a point.
    pub fn corners(&self, point: DVec3) -> Corners {
        let (cell, inside) = Self::cell_of(self.spacing, point);
        Corners { nodes: self.corners_of(cell), weights: trilinear(inside) }
    }
}

impl Corners {
    /// The interpolated value; nodes that are not stored do not count, `None` where none is.
    pub fn interpolate(&self, values: &[DVec3]) -> Option<DVec3> {
        let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
        for (node, share) in self.nodes.iter().zip(self.weights) {
            if let Some(node) = node {
                sum += values[*node as usize] * share;
                weight += share;
            }
        }
        (weight > 0.0).then(|| sum / weight)
    }

    /// The same where a missing node counts as zero.
    pub fn sum(&self, values: &[DVec3]) -> DVec3 {
        let known = self.nodes.iter().zip(self.weights).filter_map(|(node, share)| node.map(|node| (node, share)));
        known.map(|(node, share)| values[node as usize] * share).sum()
    }
}

/// The weights of the eight corners of a cell at a place in it.
pub(super) fn trilinear(inside: DVec3) -> [f64; 8] {
    std::array::from_fn(|corner| {
        let offset = corner_offset(corner);
        let along = |axis: usize| if offset[axis] == 1 { inside[axis] } else { 1.0 - inside[axis] };
        along(0) * along(1) * along(2)
    })
}

fn stored(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}
