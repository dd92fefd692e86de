//! Sculpting: raise, lower, smooth and roughen the surface around a point.
//!
//! A hat function of the distance to the point scales the motion: along the normal for raise and lower, by mean
//! curvature for smooth and roughen. Only the blocks that the tool and the band reach are touched, and their distances
//! are swept anew. (Bridson 2003, 6.2)
//!
//! Guarantees: nothing changes further from the point than the radius plus the band; cost grows with the blocks
//! touched, not with the model. (The centre rises with the surface, and the reach with it.)
//! Departs: the hat is `(1 - r^2)^2`, smooth at its rim and its tip, so that a stroke leaves no ridge.

use super::band::Trust;
use super::{LevelSet, Reinitialization};
use crate::grid::{BlockCoordinates, BlockSlot};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// What a stroke does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Moves the surface outward.
    Raise,
    /// Moves the surface inward.
    Lower,
    /// Flattens bumps and fills dents.
    Smooth,
    /// Sharpens bumps and dents.
    Roughen,
}

/// One touch of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// What to do.
    pub tool: Tool,
    /// Where: usually where a [`LevelSet::ray`] met the surface.
    pub center: DVec3,
    /// How far the tool reaches, metres.
    pub radius: f64,
    /// Raise and lower: how far the surface moves at the centre, metres. Smooth and roughen: the size of the features
    /// that go or grow, metres.
    pub strength: f64,
}

impl Stroke {
    /// The share of the strength that acts at a point.
    pub fn hat(&self, point: DVec3) -> f64 {
        let rest = 1.0 - point.distance_squared(self.center) / (self.radius * self.radius);
        if rest > 0.0 { rest * rest } else { 0.0 }
    }
}

impl LevelSet {
    /// Applies a stroke and restores the distances around it. Strokes that are not finite and positive do nothing.
    pub fn sculpt(&mut self, stroke: &Stroke) {
        let numbers = [stroke.radius, stroke.strength];
        if !(stroke.center.is_finite() && numbers.iter().all(|n| n.is_finite() && *n > 0.0)) {
            return;
        }
        self.far = None;
        // One entry into the thread pool instead of one for each parallel loop, which would take longer than the loops.
        rayon::scope(|_| self.apply(stroke));
    }

    fn apply(&mut self, stroke: &Stroke) {
        let spacing = self.frame.spacing;
        match stroke.tool {
            Tool::Raise => self.press(stroke, stroke.strength),
            Tool::Lower => self.press(stroke, -stroke.strength),
            Tool::Smooth | Tool::Roughen => {
                let time = (stroke.strength / spacing).powi(2) / 4.0;
                let count = (time * 8.0).ceil().clamp(1.0, 400.0);
                let toward = if stroke.tool == Tool::Smooth { 1.0 } else { -1.0 };
                for _ in 0..count as usize {
                    let slots = self.slots_near(stroke, 0.0);
                    self.curvature_step(&slots, |point| toward * time / count * stroke.hat(point));
                }
                self.restore_around(stroke);
            }
        }
    }

    /// Moves the surface along its normal, in steps short enough for the band; the centre moves along.
    fn press(&mut self, stroke: &Stroke, outward: f64) {
        let longest = (self.half_width - 2.0 * self.frame.spacing).max(0.25 * self.frame.spacing);
        let count = (outward.abs() / longest).ceil().clamp(1.0, 10_000.0);
        let edge = self.grid.background().outside;
        let normal = self.normal(stroke.center).unwrap_or(DVec3::ZERO);
        for number in 0..count as usize {
            let risen = normal * (outward * number as f64 / count);
            let stroke = &Stroke { center: stroke.center + risen, ..*stroke };
            let (frame, width) = (self.frame, self.grid.width());
            let slots = self.slots_near(stroke, 0.0);
            let pressed: Vec<Vec<f32>> = slots
                .par_iter()
                .with_min_len(16)
                .map(|&slot| {
                    let first = self.grid.blocks()[slot.index()].map(|b| width.first_sample(b));
                    let side = width.samples();
                    let mut samples = self.grid.block(slot).to_vec();
                    for (number, row) in samples.chunks_exact_mut(side).enumerate() {
                        let start = [first[0], first[1] + (number % side) as i32, first[2] + (number / side) as i32];
                        for (x, value) in row.iter_mut().enumerate().filter(|(_, value)| value.abs() < edge) {
                            // Beyond the band nothing is known, so nothing is moved.
                            let sample = [start[0] + x as i32, start[1], start[2]];
                            let by = outward / count * stroke.hat(frame.position(sample));
                            *value = (*value - by as f32).clamp(-edge, edge);
                        }
                    }
                    samples
                })
                .collect();
            for (slot, samples) in slots.into_iter().zip(pressed) {
                self.grid.block_mut(slot).copy_from_slice(&samples);
            }
            self.restore_around(stroke);
        }
    }

    fn restore_around(&mut self, stroke: &Stroke) {
        // Beyond the rim nothing moved; within a sample of it, the hat is all but flat.
        let reached = self.frame.spacing;
        let blocks: Vec<BlockCoordinates> =
            self.slots_near(stroke, reached).into_iter().map(|slot| self.grid.blocks()[slot.index()]).collect();
        self.restore(&blocks, Reinitialization::FastSweeping, Trust::Neighborhood);
    }

    /// The stored blocks within the radius and a margin of the centre.
    fn slots_near(&self, stroke: &Stroke, margin: f64) -> Vec<BlockSlot> {
        let width = self.grid.width();
        let reach = stroke.radius + margin;
        let block_of = |point: DVec3| {
            let limit = f64::from(crate::grid::COORDINATE_LIMIT);
            let at = self.frame.in_samples(point).clamp(DVec3::splat(-limit), DVec3::splat(limit));
            at.floor().to_array().map(|c| width.split(c as i32).0)
        };
        let [low, high] = [-reach, reach].map(|r| block_of(stroke.center + DVec3::splat(r)));
        let side = (width.samples() - 1) as f64 * self.frame.spacing;
        let near = |block: &BlockCoordinates| {
            let first = self.frame.position(block.map(|b| width.first_sample(b)));
            let nearest = stroke.center.clamp(first, first + DVec3::splat(side));
            nearest.distance_squared(stroke.center) <= reach * reach
        };
        let in_box = |block: &BlockCoordinates| (0..3).all(|axis| (low[axis]..=high[axis]).contains(&block[axis]));
        let box_volume: f64 = (0..3).map(|axis| f64::from(high[axis] - low[axis] + 1)).product();
        if box_volume > self.grid.blocks().len() as f64 {
            let all = self.grid.blocks().iter().enumerate().filter(|(_, block)| in_box(block) && near(block));
            return all.map(|(slot, _)| BlockSlot(slot as u32)).collect();
        }
        let mut slots = Vec::new();
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                let row = (low[0]..=high[0]).map(|x| [x, y, z]).filter(near);
                slots.extend(row.filter_map(|block| self.grid.slot(block)));
            }
        }
        slots
    }
}
