//! Sheets inside a body: where it overlaps itself, triangles that separate inside from inside.
//!
//! Outside, the nearest triangle is always on the true surface, so nothing changes there. Inside, distances near an
//! overlap are swept anew from the changes of sign; a sample keeps its exact distance where the two agree.

use crate::grid::BlockCoordinates;
use crate::level_set::band::Trust;
use crate::level_set::history::Journal;
use crate::level_set::{LevelSet, Reinitialization};
use std::collections::BTreeSet;

/// How far a swept distance may fall short of the exact one, in samples, before the exact one is taken for a sheet's.
const AGREEMENT: f32 = 0.35;

/// Removes the sheets in and around some blocks.
pub(super) fn remove(level_set: &mut LevelSet, overlapping: &[BlockCoordinates]) {
    let mut around = BTreeSet::new();
    for block in overlapping {
        for step in 0..27 {
            let offset = [step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1];
            around.insert([0, 1, 2].map(|axis| block[axis] + offset[axis]));
        }
    }
    let grid = &level_set.grid;
    let exact: Vec<(BlockCoordinates, Vec<f32>)> =
        around.into_iter().filter_map(|block| Some((block, grid.block(grid.slot(block)?).to_vec()))).collect();
    let blocks: Vec<BlockCoordinates> = exact.iter().map(|(block, _)| *block).collect();
    level_set.restore(&blocks, Reinitialization::FastSweeping, Trust::Interface, &mut Journal::off());
    let tolerance = AGREEMENT * level_set.frame.spacing as f32;
    for (block, exact) in exact {
        let Some(slot) = level_set.grid.slot(block) else { continue };
        for (value, exact) in level_set.grid.block_mut(slot).iter_mut().zip(exact) {
            if exact >= 0.0 || exact.abs() >= value.abs() - tolerance {
                *value = exact;
            }
        }
    }
    level_set.release_empty(Some(&blocks), &mut Journal::off());
}
