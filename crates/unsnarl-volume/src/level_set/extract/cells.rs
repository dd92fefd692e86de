//! The cells that the surface passes through, block by block in a fixed order.

use super::cases::edge_corners;
use crate::grid::{BlockCoordinates, BlockState, Halo, SampleCoordinates, Side};
use crate::level_set::LevelSet;
use rayon::prelude::*;
use std::collections::BTreeSet;
use unsnarl_geometry::DVec3;

/// A cell with corners on both sides; `place` is that of its first corner in the block.
#[derive(Clone, Debug)]
pub(super) struct ActiveCell {
    pub(super) place: u32,
    pub(super) pattern: u8,
    pub(super) corners: [f32; 8],
}

/// All active cells, by block.
pub(super) struct ActiveCells {
    /// The blocks whose cells were looked at, sorted.
    pub(super) blocks: Vec<BlockCoordinates>,
    /// The active cells of each, by place.
    pub(super) cells: Vec<Vec<ActiveCell>>,
}

impl ActiveCells {
    pub(super) fn find(level_set: &LevelSet) -> Self {
        let grid = &level_set.grid;
        let blocks = blocks_with_cells(level_set);
        let cells = blocks
            .par_iter()
            .map_init(
                || Halo::new(grid, 1),
                |halo, &block| {
                    halo.load(grid, block);
                    active_cells(halo, grid.width().samples())
                },
            )
            .collect();
        Self { blocks, cells }
    }

    /// The number of a block and the number of a cell in it, for the cell whose first corner is a sample.
    pub(super) fn locate(&self, level_set: &LevelSet, sample: SampleCoordinates) -> Option<(usize, usize)> {
        let (block, local) = level_set.grid.split(sample);
        let place = level_set.grid.width().place(local) as u32;
        let block = self.blocks.binary_search(&block).ok()?;
        let cell = self.cells[block].binary_search_by_key(&place, |cell| cell.place).ok()?;
        Some((block, cell))
    }

    /// The first corner of a cell.
    pub(super) fn sample(&self, level_set: &LevelSet, block: usize, cell: &ActiveCell) -> SampleCoordinates {
        let width = level_set.grid.width();
        let local = width.local(cell.place as usize);
        [0, 1, 2].map(|axis| width.first_sample(self.blocks[block][axis]) + local[axis] as i32)
    }
}

impl ActiveCell {
    /// Where the surface crosses an edge, in the cell's own coordinates.
    ///
    /// Kept a thousandth away from the corners, so that no triangle loses its area.
    pub(super) fn crossing(&self, edge: usize) -> DVec3 {
        let [low, high] = edge_corners(edge);
        let [a, b] = [f64::from(self.corners[low]), f64::from(self.corners[high])];
        let along = (a / (a - b)).clamp(1e-3, 1.0 - 1e-3);
        let mut at = DVec3::new((low & 1) as f64, (low >> 1 & 1) as f64, (low >> 2 & 1) as f64);
        at[edge / 4] += along;
        at
    }
}

/// Stored blocks, blocks where a side meets the other without a band between, and the blocks just below all of them,
/// whose last cells reach into them.
fn blocks_with_cells(level_set: &LevelSet) -> Vec<BlockCoordinates> {
    let grid = &level_set.grid;
    let step = |block: BlockCoordinates, axis: usize, by: i32| {
        let mut next = block;
        next[axis] += by;
        next
    };
    let mut seeds: Vec<BlockCoordinates> = grid.blocks().to_vec();
    for block in grid.inside_blocks() {
        for (axis, by) in [(0, -1), (0, 1), (1, -1), (1, 1), (2, -1), (2, 1)] {
            let next = step(block, axis, by);
            if grid.state(next) == BlockState::Uniform(Side::Outside) {
                seeds.extend([block, next]);
            }
        }
    }
    let mut blocks: BTreeSet<BlockCoordinates> = BTreeSet::new();
    for block in seeds {
        for corner in 0..8 {
            blocks.insert([0, 1, 2].map(|axis| block[axis] - (corner >> axis & 1)));
        }
    }
    blocks.into_iter().collect()
}

fn active_cells(halo: &Halo<f32>, width: usize) -> Vec<ActiveCell> {
    let mut cells = Vec::new();
    for z in 0..width {
        for y in 0..width {
            let row = halo.place([0, y, z]);
            for x in 0..width {
                let place = (x + width * (y + width * z)) as u32;
                cells.extend(active_cell(halo, row + x, place));
            }
        }
    }
    cells
}

/// The cell whose first corner is at a place of a halo, if the surface passes through it.
#[inline]
pub(super) fn active_cell(halo: &Halo<f32>, at: usize, place: u32) -> Option<ActiveCell> {
    let [_, stride_y, stride_z] = halo.strides();
    let offsets = [0, 1, stride_y, stride_y + 1, stride_z, stride_z + 1, stride_z + stride_y, stride_z + stride_y + 1];
    let values = &halo.values()[at..];
    let mut pattern = 0_u8;
    for (corner, offset) in offsets.iter().enumerate() {
        pattern |= u8::from(values[*offset] < 0.0) << corner;
    }
    let active = pattern != 0 && pattern != 255;
    active.then(|| ActiveCell { place, pattern, corners: offsets.map(|offset| values[offset]) })
}
