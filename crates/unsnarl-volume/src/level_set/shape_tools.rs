//! Sculpting tools beyond the source: flatten, pull, stamp.
//!
//! Flatten moves the surface towards the mean plane of what lies under the tool. Pull carries it along the drag: the
//! function is read where the material came from, by tricubic interpolation. Stamp adds or takes away a shape by
//! constructive solid geometry, in the blocks that the shape reaches.
//!
//! Guarantees: as `sculpt.rs`; a stamp decides sides as [`super::Csg`] does.

use super::band::Trust;
use super::history::Journal;
use super::sculpt::{Stamp, StampShape, Stroke, StrokeError};
use super::stencil::update_samples;
use super::{Csg, LevelSet, Reinitialization};
use crate::grid::{BlockCoordinates, BlockState, Domain, Side};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// The most blocks that a stamp looks at.
const MOST_BLOCKS: f64 = (1 << 21) as f64;

impl LevelSet {
    /// Moves the surface towards its mean plane, by at most the strength.
    pub(super) fn flatten(&mut self, stroke: &Stroke, journal: &mut Journal) {
        let Some((foot, normal)) = self.mean_plane(stroke) else { return };
        let count = self.step_count(stroke.strength);
        let (edge, most) = (self.grid.background().outside, stroke.strength / count as f64);
        for _ in 0..count {
            self.change_near(stroke, journal, |point, value| {
                let aim = normal.dot(point - foot);
                let by = (aim - f64::from(value)).clamp(-most, most) * stroke.hat(point);
                (value + by as f32).clamp(-edge, edge)
            });
            self.restore_around(stroke, journal);
        }
    }

    /// The mean point and normal of the surface under a tool, weighted by its hat.
    fn mean_plane(&self, stroke: &Stroke) -> Option<(DVec3, DVec3)> {
        let (frame, width) = (self.frame, self.grid.width());
        let (mut foot, mut normal, mut weight) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for slot in self.slots_near(stroke, 0.0) {
            let block = self.grid.blocks()[slot.index()];
            for (place, &value) in self.grid.block(slot).iter().enumerate() {
                if f64::from(value.abs()) >= frame.spacing {
                    continue;
                }
                let local = width.local(place);
                let at = frame.position([0, 1, 2].map(|axis| width.first_sample(block[axis]) + local[axis] as i32));
                let (share, own) = (stroke.hat(at), self.normal(at));
                if let Some(own) = own.filter(|_| share > 0.0) {
                    foot += share * (at - f64::from(value) * own);
                    normal += share * own;
                    weight += share;
                }
            }
        }
        (weight > 0.0).then(|| normal.try_normalize().map(|normal| (foot / weight, normal))).flatten()
    }

    /// Carries the surface along a vector, in steps of at most a sample; the tool goes along.
    pub(super) fn pull(&mut self, stroke: &Stroke, by: DVec3, journal: &mut Journal) {
        let count = self.step_count(by.length());
        let (frame, edge) = (self.frame, self.grid.background().outside);
        let step = by / count as f64;
        for number in 0..count {
            let stroke = &Stroke { center: stroke.center + number as f64 * step, ..*stroke };
            let slots = self.slots_near(stroke, 0.0);
            self.note_all(&slots, journal);
            update_samples(&mut self.grid, &slots, 3, |halo, place, sample| {
                let value = halo.values()[place];
                let share = stroke.hat(frame.position(sample));
                if value.abs() >= edge || share == 0.0 {
                    return value;
                }
                let back = -share * step / frame.spacing;
                tricubic(halo.values(), place, halo.strides(), back).clamp(-f64::from(edge), f64::from(edge)) as f32
            });
            self.restore_around(stroke, journal);
        }
    }

    /// Adds or takes away a shape of the size of the tool.
    pub(super) fn stamp(&mut self, stroke: &Stroke, stamp: Stamp, journal: &mut Journal) -> Result<(), StrokeError> {
        let distance = |point: DVec3| {
            let away = point - stroke.center;
            match stamp.shape {
                StampShape::Ball => away.length() - stroke.radius,
                StampShape::Box => {
                    let beyond = away.abs() - DVec3::splat(stroke.radius);
                    beyond.max(DVec3::ZERO).length() + beyond.max_element().min(0.0)
                }
            }
        };
        self.stamp_distance(distance, stroke, (stamp.operation, stamp.blend), journal)
    }

    /// Adds or takes away another body: its origin comes to the centre, its unit to the radius.
    pub fn stamp_body(
        &mut self,
        body: &LevelSet,
        stroke: &Stroke,
        operation: Csg,
        blend: f64,
    ) -> Result<Journal, StrokeError> {
        let checked = Stamp { shape: StampShape::Ball, operation, blend };
        Stroke { tool: super::Tool::Stamp(checked), ..*stroke }.check(self)?;
        let mut journal = Journal::default();
        let distance = |point: DVec3| stroke.radius * body.value((point - stroke.center) / stroke.radius);
        self.stamp_distance(distance, stroke, (operation, blend), &mut journal)?;
        self.far = None;
        Ok(journal)
    }

    fn stamp_distance(
        &mut self,
        distance: impl Fn(DVec3) -> f64 + Sync,
        stroke: &Stroke,
        (operation, blend): (Csg, f64),
        journal: &mut Journal,
    ) -> Result<(), StrokeError> {
        // The corner of a box is this much further away than its face.
        let reach = 3_f64.sqrt() * stroke.radius + self.half_width + blend;
        let [low, high] = self.block_box(stroke.center, reach);
        self.check_room(low, high, reach)?;
        let (width, frame, edge) = (self.grid.width(), self.frame, self.half_width);
        let radius = 0.5 * 3_f64.sqrt() * width.samples() as f64 * frame.spacing;
        let extent = [0, 1, 2].map(|axis| (high[axis] - low[axis] + 1) as usize);
        let combined: Vec<(BlockCoordinates, Result<Vec<f32>, Side>)> = (0..extent.iter().product::<usize>())
            .into_par_iter()
            .filter_map(|number| {
                let steps = [number % extent[0], number / extent[0] % extent[1], number / (extent[0] * extent[1])];
                let block = [0, 1, 2].map(|axis| low[axis] + steps[axis] as i32);
                let first = block.map(|b| width.first_sample(b));
                let middle = frame.position(first) + DVec3::splat(0.5 * (width.samples() - 1) as f64 * frame.spacing);
                let away = distance(middle);
                if away.abs() > edge + blend + radius {
                    // The whole block lies on one side of the shape: it stays, or goes to that side.
                    let side = match (operation, away < 0.0) {
                        (Csg::Union, true) => Side::Inside,
                        (Csg::Difference, true) | (Csg::Intersection, false) => Side::Outside,
                        _ => return None,
                    };
                    return Some((block, Err(side)));
                }
                let own = |place: usize| match self.grid.state(block) {
                    BlockState::Stored(slot) => f64::from(self.grid.block(slot)[place]),
                    BlockState::Uniform(side) => f64::from(self.grid.background().on(side)),
                };
                let sample = |place: usize| {
                    let local = width.local(place);
                    let at = frame.position([0, 1, 2].map(|axis| first[axis] + local[axis] as i32));
                    operation.combine(own(place), distance(at).clamp(-edge, edge), blend).clamp(-edge, edge) as f32
                };
                Some((block, Ok((0..width.volume()).map(sample).collect())))
            })
            .collect();
        let mut blocks = Vec::new();
        for (block, samples) in combined {
            match samples {
                Err(side) => journal.release(&mut self.grid, block, side),
                Ok(samples) => {
                    journal.note(&self.grid, block);
                    let slot = journal.store(&mut self.grid, block);
                    self.grid.block_mut(slot).copy_from_slice(&samples);
                    blocks.push(block);
                }
            }
        }
        self.release_empty(Some(&blocks), journal);
        blocks.retain(|&block| self.grid.slot(block).is_some());
        self.restore(&blocks, Reinitialization::FastSweeping, Trust::Interface, journal);
        Ok(())
    }

    /// Refuses a stamp that would look at too many blocks, or make the box of a bounded domain too large.
    fn check_room(&self, low: BlockCoordinates, high: BlockCoordinates, reach: f64) -> Result<(), StrokeError> {
        let volume = |low: BlockCoordinates, high: BlockCoordinates| -> f64 {
            (0..3).map(|axis| f64::from(high[axis] - low[axis] + 1)).product()
        };
        let samples = reach / self.frame.spacing;
        let limit = 0.5 * MOST_BLOCKS.cbrt() * self.grid.width().samples() as f64;
        if volume(low, high) > MOST_BLOCKS {
            return Err(StrokeError::TooFar { name: "the reach", samples, limit });
        }
        if let Domain::Bounded { first, extent } = self.grid.domain() {
            let grown_low = [0, 1, 2].map(|axis| first[axis].min(low[axis] - 2));
            let grown_high = [0, 1, 2].map(|axis| (first[axis] + extent[axis] as i32 - 1).max(high[axis] + 2));
            if volume(grown_low, grown_high) > f64::from(1 << 27) {
                let far = grown_high.iter().zip(grown_low).map(|(high, low)| high - low).max().unwrap_or(0);
                let samples = f64::from(far) * self.grid.width().samples() as f64;
                return Err(StrokeError::TooFar { name: "the distance from the body", samples, limit });
            }
        }
        Ok(())
    }
}

/// The value at an offset of at most a sample from a place, by Catmull-Rom interpolation. Needs a margin of three.
fn tricubic(values: &[f32], place: usize, strides: [usize; 3], offset: DVec3) -> f64 {
    let floor = offset.floor();
    let [x, y, z] = (offset - floor).to_array().map(catmull_rom);
    let start = (0..3).fold(place as isize, |at, axis| at + (floor[axis] as isize - 1) * strides[axis] as isize);
    let mut sum = 0.0;
    for k in 0..4 {
        for j in 0..4 {
            let row = start as usize + j * strides[1] + k * strides[2];
            let along: f64 = (0..4).map(|i| x[i] * f64::from(values[row + i])).sum();
            sum += y[j] * z[k] * along;
        }
    }
    sum
}

/// Weights of the four samples around a fraction.
fn catmull_rom(t: f64) -> [f64; 4] {
    let (squared, cubed) = (t * t, t * t * t);
    [
        0.5 * (2.0 * squared - cubed - t),
        0.5 * (3.0 * cubed - 5.0 * squared + 2.0),
        0.5 * (4.0 * squared - 3.0 * cubed + t),
        0.5 * (cubed - squared),
    ]
}
