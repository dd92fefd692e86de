//! Constructive solid geometry: union, intersection, difference, sharp or blended.
//!
//! Sharp: the smaller or the larger of the two distances. Blended: the same with a polynomial rounding of a given
//! radius, which adds (or takes) material only where the two surfaces are nearer to each other than the radius.
//!
//! Guarantees: the surface is that of the operation to second order; the sides are exact where neither surface is near.
//! The other body may have another spacing or origin: it is then resampled onto this one's lattice.
//! Distances away from the new edges are those of the operands; call `reinitialize` for a true distance.

use super::{Frame, LevelSet};
use crate::field::Field;
use crate::grid::{BlockCoordinates, BlockState, Domain, Side};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// What to make of two bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Csg {
    /// What is in either.
    Union,
    /// What is in both.
    Intersection,
    /// What is in the first and not in the second.
    Difference,
}

impl Csg {
    /// The distance of the result from the distances of the operands; `blend` is a radius in the same unit.
    pub fn combine(self, first: f64, second: f64, blend: f64) -> f64 {
        match self {
            Self::Union => smaller(first, second, blend),
            Self::Intersection => -smaller(-first, -second, blend),
            Self::Difference => -smaller(-first, second, blend),
        }
    }
}

/// The smaller of two numbers, rounded where they differ by less than the radius: `min - (r - |a - b|)^2 / (4 r)`.
fn smaller(a: f64, b: f64, radius: f64) -> f64 {
    let within = (radius - (a - b).abs()).max(0.0);
    if within > 0.0 { a.min(b) - within * within / (4.0 * radius) } else { a.min(b) }
}

impl LevelSet {
    /// Combines this body with another. `blend` is the rounding radius, metres; 0 for sharp edges.
    pub fn combine(&mut self, other: &LevelSet, operation: Csg, blend: f64) {
        self.far = None;
        let resampled;
        let other = if same_lattice(self.frame, other.frame) && self.grid.width() == other.grid.width() {
            other
        } else {
            resampled = other.resampled(self.frame, self.grid.width(), self.half_width);
            &resampled
        };
        let blocks: BTreeSet<BlockCoordinates> =
            self.grid.blocks().iter().chain(other.grid.blocks()).copied().collect();
        let combined: Vec<(BlockCoordinates, Vec<f32>)> =
            blocks.into_par_iter().map(|block| (block, self.combined_block(other, block, operation, blend))).collect();
        let other_inside = other.grid.inside_blocks();
        let own_inside = self.grid.inside_blocks();
        for block in own_inside.into_iter().chain(other_inside) {
            let [first, second] = [&self.grid, &other.grid].map(|grid| match grid.state(block) {
                BlockState::Uniform(side) => Some(side),
                BlockState::Stored(_) => None,
            });
            let (Some(first), Some(second)) = (first, second) else { continue };
            let value = |side: Side| if side == Side::Inside { -1.0 } else { 1.0 };
            let side =
                if operation.combine(value(first), value(second), 0.0) < 0.0 { Side::Inside } else { Side::Outside };
            self.grid.set_side(block, side);
        }
        for (block, samples) in combined {
            let slot = self.grid.store(block);
            self.grid.block_mut(slot).copy_from_slice(&samples);
        }
        self.release_empty(None, &mut super::history::Journal::off());
    }

    fn combined_block(&self, other: &LevelSet, block: BlockCoordinates, operation: Csg, blend: f64) -> Vec<f32> {
        let edge = self.half_width;
        let value = |level_set: &LevelSet, place: usize| match level_set.grid.state(block) {
            BlockState::Stored(slot) => f64::from(level_set.grid.block(slot)[place]),
            BlockState::Uniform(side) => f64::from(level_set.grid.background().on(side)),
        };
        (0..self.grid.width().volume())
            .map(|place| operation.combine(value(self, place), value(other, place), blend).clamp(-edge, edge) as f32)
            .collect()
    }

    /// The same body on another lattice, by trilinear interpolation, with distances restored.
    pub fn resampled(&self, frame: Frame, width: crate::grid::BlockWidth, half_width: f64) -> LevelSet {
        let mut fresh = LevelSet::empty(frame, width, half_width, Domain::Unbounded);
        let to_samples = |point: unsnarl_geometry::DVec3| (point - frame.origin) / frame.spacing;
        let block_of = |c: f64| width.split(c.floor() as i32).0;
        let own = self.grid.width();
        // One sample of margin on either side: a cell of this lattice may straddle two blocks of the other.
        let overlapped = |block: &BlockCoordinates| {
            let low = block.map(|b| own.first_sample(b) - 1);
            let high = block.map(|b| own.first_sample(b + 1) + 1);
            let first = to_samples(self.frame.position(low)).to_array().map(block_of);
            let last = to_samples(self.frame.position(high)).to_array().map(block_of);
            (first, last)
        };
        let mut needed = BTreeSet::new();
        for (first, last) in self.grid.blocks().iter().map(overlapped) {
            for z in first[2]..=last[2] {
                for y in first[1]..=last[1] {
                    needed.extend((first[0]..=last[0]).map(|x| [x, y, z]));
                }
            }
        }
        let mut inside = BTreeSet::new();
        for (first, last) in self.grid.inside_blocks().iter().map(overlapped) {
            for z in first[2]..=last[2] {
                for y in first[1]..=last[1] {
                    inside.extend((first[0]..=last[0]).map(|x| [x, y, z]).filter(|block| !needed.contains(block)));
                }
            }
        }
        let sampled: Vec<(BlockCoordinates, Vec<f32>)> =
            needed.into_par_iter().map(|block| (block, self.sampled_block(&fresh, block))).collect();
        inside.into_iter().for_each(|block| fresh.grid.set_side(block, Side::Inside));
        for (block, samples) in sampled {
            let slot = fresh.grid.store(block);
            fresh.grid.block_mut(slot).copy_from_slice(&samples);
        }
        fresh.reinitialize(super::Reinitialization::FastSweeping);
        fresh
    }

    fn sampled_block(&self, fresh: &LevelSet, block: BlockCoordinates) -> Vec<f32> {
        let width = fresh.grid.width();
        (0..width.volume())
            .map(|place| {
                let local = width.local(place);
                let sample = [0, 1, 2].map(|axis| width.first_sample(block[axis]) + local[axis] as i32);
                Field::value(self, fresh.frame.position(sample)).clamp(-fresh.half_width, fresh.half_width) as f32
            })
            .collect()
    }
}

fn same_lattice(a: Frame, b: Frame) -> bool {
    (a.spacing - b.spacing).abs() <= 1e-12 * a.spacing && (a.origin - b.origin).length() <= 1e-9 * a.spacing
}
