//! Sculpting: raise, lower, smooth, roughen, flatten, pull and stamp the surface around a point.
//!
//! A hat function of the distance to the point scales the motion: along the normal for raise and lower, by mean
//! curvature for smooth and roughen. Only the blocks that the tool and the band reach are touched, and their distances
//! are restored. (Bridson 2003, 6.2) Flatten, pull and stamp go beyond the source: `shape_tools.rs`.
//!
//! Guarantees: nothing changes further from the point than the radius plus the band; cost grows with the blocks
//! touched, not with the model. (The centre rises with the surface, and the reach with it.) A stroke that cannot be
//! made changes nothing. Roughening moves the surface by at most a sample a stroke.
//! Departs: unless a tent is asked for, the hat is `(1 - r^2)^2`, smooth at its rim and its tip, so that a stroke
//! leaves no ridge.

use super::band::Trust;
use super::history::Journal;
use super::{Csg, LevelSet, Reinitialization};
use crate::grid::{BlockCoordinates, BlockSlot, COORDINATE_LIMIT};
use rayon::prelude::*;
use thiserror::Error;
use unsnarl_geometry::DVec3;

/// What a stroke does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tool {
    /// Moves the surface outward.
    Raise,
    /// Moves the surface inward.
    Lower,
    /// Flattens bumps and fills dents.
    Smooth,
    /// Sharpens bumps and dents.
    Roughen,
    /// Moves the surface towards its mean plane.
    Flatten,
    /// Carries the surface along a vector, metres.
    Pull(DVec3),
    /// Adds or takes away a shape.
    Stamp(Stamp),
}

/// A shape to add or take away; the radius of the stroke is its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// The shape.
    pub shape: StampShape,
    /// Union to add, difference to take away.
    pub operation: Csg,
    /// Radius of rounding where the surfaces meet, metres; 0 for sharp edges.
    pub blend: f64,
}

/// Shapes that need no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampShape {
    /// A ball.
    Ball,
    /// A cube along the axes, of half an edge as long as the radius.
    Box,
}

/// How the share of the strength falls from the centre, 1, to the radius, 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Falloff {
    /// `1 - r`, as the source has it: a tip and a rim.
    Tent,
    /// `(1 - r^2)^2`.
    #[default]
    Smooth,
    /// 1 within the radius.
    Flat,
}

impl Falloff {
    /// The share at a squared distance, in radii.
    pub fn at(self, squared: f64) -> f64 {
        match self {
            _ if squared.is_nan() || squared >= 1.0 => 0.0,
            Self::Tent => 1.0 - squared.sqrt(),
            Self::Smooth => (1.0 - squared) * (1.0 - squared),
            Self::Flat => 1.0,
        }
    }
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
    /// Raise, lower and flatten: how far the surface moves at the centre, metres. Smooth and roughen: the size of the
    /// features that go or grow, metres. Pull and stamp: not used.
    pub strength: f64,
    /// How the strength falls from the centre.
    pub falloff: Falloff,
}

/// Why a stroke cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StrokeError {
    /// A number makes no sense.
    #[error("{name} of a stroke is {value:?}: expected {expected}")]
    Number {
        /// What.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// It reaches too far.
    #[error("{name} of a stroke is {samples:.2e} samples: at most {limit:.0} at this resolution")]
    TooFar {
        /// What.
        name: &'static str,
        /// Its size.
        samples: f64,
        /// The limit.
        limit: f64,
    },
}

/// The longest motion of one stroke, in samples.
const LONGEST_MOTION: f64 = 512.0;

/// The largest features that one stroke smooths, in samples.
const LARGEST_FEATURE: f64 = 64.0;

/// The furthest place of a stroke, in samples from the origin.
const FURTHEST: f64 = 0.25 * COORDINATE_LIMIT as f64;

/// How far a stroke roughens, in samples; what is left of a sample is for restoring the distances.
const ROUGHENED: f64 = 0.7;

/// Steps of curvature motion between two restorations of the distances.
const STEPS_PER_RESTORATION: usize = 8;

impl Stroke {
    /// A stroke with the usual falloff.
    pub fn new(tool: Tool, center: DVec3, radius: f64, strength: f64) -> Self {
        Self { tool, center, radius, strength, falloff: Falloff::default() }
    }

    /// The share of the strength that acts at a point.
    #[inline]
    pub fn hat(&self, point: DVec3) -> f64 {
        self.falloff.at(point.distance_squared(self.center) / (self.radius * self.radius))
    }

    pub(super) fn check(&self, level_set: &LevelSet) -> Result<(), StrokeError> {
        let spacing = level_set.frame.spacing;
        let positive = |name, value: f64| {
            let expected = "a positive number of metres";
            if value.is_finite() && value > 0.0 { Ok(()) } else { Err(StrokeError::Number { name, value, expected }) }
        };
        let below = |name, value: f64, limit: f64| {
            let samples = value / spacing;
            if samples <= limit { Ok(()) } else { Err(StrokeError::TooFar { name, samples, limit }) }
        };
        let place = self.center.abs().max_element();
        if !self.center.is_finite() {
            let expected = "three finite numbers of metres";
            return Err(StrokeError::Number { name: "the centre", value: place, expected });
        }
        positive("the radius", self.radius)?;
        below("the radius", self.radius, FURTHEST)?;
        below("the place", level_set.frame.in_samples(self.center).abs().max_element() * spacing, FURTHEST)?;
        match self.tool {
            Tool::Raise | Tool::Lower | Tool::Flatten => {
                positive("the strength", self.strength)?;
                below("the strength", self.strength, LONGEST_MOTION)
            }
            Tool::Smooth | Tool::Roughen => {
                positive("the strength", self.strength)?;
                below("the strength", self.strength, LARGEST_FEATURE)
            }
            Tool::Pull(by) if !by.is_finite() => {
                let expected = "three finite numbers of metres";
                Err(StrokeError::Number { name: "the way", value: f64::NAN, expected })
            }
            Tool::Pull(by) => below("the way", by.length(), LONGEST_MOTION),
            Tool::Stamp(stamp) => {
                if !(stamp.blend.is_finite() && stamp.blend >= 0.0) {
                    let expected = "a radius in metres, 0 for sharp edges";
                    return Err(StrokeError::Number { name: "the blend", value: stamp.blend, expected });
                }
                below("the blend", stamp.blend, LONGEST_MOTION)
            }
        }
    }
}

impl LevelSet {
    /// Applies a stroke and restores the distances around it. The journal says which blocks changed, and how to take
    /// the stroke back.
    pub fn sculpt(&mut self, stroke: &Stroke) -> Result<Journal, StrokeError> {
        stroke.check(self)?;
        let mut journal = Journal::default();
        // One entry into the thread pool instead of one for each parallel loop, which would take longer than the loops.
        let journal_ref = &mut journal;
        rayon::scope(|_| self.apply(stroke, journal_ref))?;
        self.far = None;
        Ok(journal)
    }

    fn apply(&mut self, stroke: &Stroke, journal: &mut Journal) -> Result<(), StrokeError> {
        match stroke.tool {
            Tool::Raise => self.press(stroke, stroke.strength, journal),
            Tool::Lower => self.press(stroke, -stroke.strength, journal),
            Tool::Smooth | Tool::Roughen => self.bend(stroke, journal),
            Tool::Flatten => self.flatten(stroke, journal),
            Tool::Pull(by) => self.pull(stroke, by, journal),
            Tool::Stamp(stamp) => return self.stamp(stroke, stamp, journal),
        }
        Ok(())
    }

    /// Moves the surface by mean curvature, forward for smooth and backward for roughen.
    ///
    /// Backward diffusion makes noise grow without bound: roughening takes no curvature above half a sample's
    /// reciprocal, moves by at most a sample, and stops where the function is no distance any more.
    fn bend(&mut self, stroke: &Stroke, journal: &mut Journal) {
        let time = (stroke.strength / self.frame.spacing).powi(2) / 4.0;
        let count = (time * 8.0).ceil().max(1.0) as usize;
        let share = time / count as f64;
        for number in 0..count {
            let slots = self.slots_near(stroke, 0.0);
            self.note_all(&slots, journal);
            let amount = |point: DVec3| share * stroke.hat(point);
            match stroke.tool {
                Tool::Roughen => self.roughening_step(&slots, amount, 1.0 / count as f64),
                _ => self.curvature_step(&slots, amount),
            }
            if (number + 1) % STEPS_PER_RESTORATION == 0 || number + 1 == count {
                if stroke.tool == Tool::Roughen {
                    self.keep_near_start(&slots, journal, ROUGHENED);
                }
                self.restore_around(stroke, journal);
            }
        }
    }

    /// Lets no sample differ by more than a number of samples from what it was before the stroke.
    ///
    /// The function before was a distance, so the surface moves by no more than that.
    fn keep_near_start(&mut self, slots: &[BlockSlot], journal: &Journal, samples: f64) {
        let (most, edge) = ((samples * self.frame.spacing) as f32, self.grid.background().outside);
        for &slot in slots {
            let block = self.grid.blocks()[slot.index()];
            let before = journal.before(block).filter(|_| journal.side_before(block).is_none());
            let side = journal.side_before(block).map_or(edge, |side| self.grid.background().on(side));
            for (place, value) in self.grid.block_mut(slot).iter_mut().enumerate() {
                let start = before.map_or(side, |samples| samples[place]);
                *value = value.clamp(start - most, start + most);
            }
        }
    }

    /// Moves the surface along its normal, in steps short enough for the band; the centre moves along.
    fn press(&mut self, stroke: &Stroke, outward: f64, journal: &mut Journal) {
        let count = self.step_count(outward.abs());
        let edge = self.grid.background().outside;
        let normal = self.normal(stroke.center).unwrap_or(DVec3::ZERO);
        for number in 0..count {
            let risen = normal * (outward * number as f64 / count as f64);
            let stroke = &Stroke { center: stroke.center + risen, ..*stroke };
            let by = outward / count as f64;
            self.change_near(stroke, journal, |point, value| {
                (value - (by * stroke.hat(point)) as f32).clamp(-edge, edge)
            });
            self.restore_around(stroke, journal);
        }
    }

    /// How many steps a motion takes, so that none leaves the band.
    pub(super) fn step_count(&self, motion: f64) -> usize {
        let longest = (self.half_width - 2.0 * self.frame.spacing).max(0.25 * self.frame.spacing);
        (motion / longest).ceil().clamp(1.0, 10_000.0) as usize
    }

    /// Replaces the samples of the band within the radius by a function of place and value.
    pub(super) fn change_near(
        &mut self,
        stroke: &Stroke,
        journal: &mut Journal,
        change: impl Fn(DVec3, f32) -> f32 + Sync,
    ) {
        let (frame, width, edge) = (self.frame, self.grid.width(), self.grid.background().outside);
        let slots = self.slots_near(stroke, 0.0);
        self.note_all(&slots, journal);
        let changed: Vec<Vec<f32>> = slots
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
                        *value = change(frame.position([start[0] + x as i32, start[1], start[2]]), *value);
                    }
                }
                samples
            })
            .collect();
        for (slot, samples) in slots.into_iter().zip(changed) {
            self.grid.block_mut(slot).copy_from_slice(&samples);
        }
    }

    pub(super) fn note_all(&self, slots: &[BlockSlot], journal: &mut Journal) {
        slots.iter().for_each(|slot| journal.note(&self.grid, self.grid.blocks()[slot.index()]));
    }

    pub(super) fn restore_around(&mut self, stroke: &Stroke, journal: &mut Journal) {
        // Beyond the rim nothing moved; within a sample of it, the hat is all but flat.
        let reached = self.frame.spacing;
        let blocks: Vec<BlockCoordinates> =
            self.slots_near(stroke, reached).into_iter().map(|slot| self.grid.blocks()[slot.index()]).collect();
        self.restore(&blocks, Reinitialization::FastSweeping, Trust::Neighborhood, journal);
    }

    /// The blocks of a box around a stroke, lowest and highest coordinates.
    pub(super) fn block_box(&self, center: DVec3, reach: f64) -> [BlockCoordinates; 2] {
        let width = self.grid.width();
        let limit = DVec3::splat(f64::from(COORDINATE_LIMIT));
        [-reach, reach].map(|r| {
            let at = self.frame.in_samples(center + DVec3::splat(r)).clamp(-limit, limit);
            at.floor().to_array().map(|c| width.split(c as i32).0)
        })
    }

    /// The stored blocks within the radius and a margin of the centre.
    pub(super) fn slots_near(&self, stroke: &Stroke, margin: f64) -> Vec<BlockSlot> {
        let width = self.grid.width();
        let reach = stroke.radius + margin;
        let [low, high] = self.block_box(stroke.center, reach);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{BlockWidth, Frame};
    use unsnarl_geometry::Aabb;

    /// A plane with bumps, a metre a sample.
    fn bumpy() -> LevelSet {
        let frame = Frame { origin: DVec3::ZERO, spacing: 1.0 };
        let bounds = Aabb { min: DVec3::splat(-20.0), max: DVec3::splat(20.0) };
        let mut body = LevelSet::from_distance(|p| p.z - 0.3, bounds, frame, BlockWidth::DEFAULT, 3.0);
        for number in 0..40 {
            let center = DVec3::new(f64::from(number % 7) * 2.5 - 8.0, f64::from(number / 7) * 2.5 - 7.0, 0.3);
            body.sculpt(&Stroke::new(Tool::Raise, center, 2.5, 0.1 + 0.01 * f64::from(number))).unwrap();
        }
        body
    }

    fn farthest(before: &LevelSet, after: &LevelSet) -> f64 {
        let surface = after.to_mesh(crate::level_set::Extraction::Marching);
        surface
            .positions
            .iter()
            .filter(|p| p.truncate().length() < 12.0)
            .map(|&p| before.value(p).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn roughening_stays_within_a_sample_and_without_its_limit_it_does_not() {
        let stroke = Stroke::new(Tool::Roughen, DVec3::ZERO, 16.0, 6.0);
        let before = bumpy();
        let mut limited = before.clone();
        limited.sculpt(&stroke).unwrap();
        assert!(farthest(&before, &limited) <= 1.0, "{}", farthest(&before, &limited));
        let mut unlimited = before.clone();
        for _ in 0..72 {
            let slots = unlimited.slots_near(&stroke, 0.0);
            unlimited.curvature_step(&slots, |point| -0.125 * stroke.hat(point));
        }
        unlimited.restore_around(&stroke, &mut Journal::off());
        assert!(farthest(&before, &unlimited) > 1.0, "{}", farthest(&before, &unlimited));
    }
}
