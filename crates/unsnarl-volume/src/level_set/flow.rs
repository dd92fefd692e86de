//! Moving surfaces: offset, motion by mean curvature, advection.
//!
//! Explicit steps on the band, each followed by a restored distance when the surface has moved far enough.
//! (Bridson 2003, 6; one-sided differences of fifth order and three stages in time for advection)
//!
//! Guarantees: steps obey the stability limits whatever duration is asked for; the result does not depend on threads.
//! Does not: keep volume under curvature or advection.

use super::stencil::{central_slope, curvature_flow, one_sided, update_samples};
use super::{LevelSet, Reinitialization};
use crate::grid::{BlockCoordinates, BlockSlot};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// Why a flow cannot run.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum FlowError {
    /// A number that makes no sense, or so many steps that they would never end.
    #[error(
        "{what} of {value} would take {steps:.0} steps: at most {STEP_LIMIT} are run; use a smaller one or a larger spacing"
    )]
    TooLong {
        /// The quantity.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The steps it would take.
        steps: f64,
    },
}

/// The largest number of steps one call runs.
pub const STEP_LIMIT: usize = 100_000;

impl LevelSet {
    /// Moves the surface outward by a distance, metres; inward if negative.
    ///
    /// Exact where the offset surface has no new edges; in steps no longer than the band allows.
    pub fn offset(&mut self, distance: f64) -> Result<(), FlowError> {
        let longest = self.half_width - 2.0 * self.frame.spacing;
        let count = step_count("an offset", distance, distance.abs() / longest.max(0.25 * self.frame.spacing))?;
        for _ in 0..count {
            let by = (distance / count as f64) as f32;
            self.grid.samples_mut().par_iter_mut().for_each(|value| *value -= by);
            self.reinitialize(Reinitialization::FifthOrder);
        }
        Ok(())
    }

    /// Moves the surface by its mean curvature for a time (square metres): every point moves inward at the sum of the
    /// principal curvatures. A sphere of radius `r` shrinks to `sqrt(r^2 - 4 t)`.
    pub fn smooth(&mut self, time: f64) -> Result<(), FlowError> {
        let spacing = self.frame.spacing;
        let count = step_count("a smoothing time", time, time / (spacing * spacing / 8.0))?;
        let step = time / count as f64 / (spacing * spacing);
        for number in 0..count {
            let slots = self.slots();
            self.curvature_step(&slots, |_| step);
            if number % 4 == 3 || number + 1 == count {
                self.reinitialize(Reinitialization::FifthOrder);
            }
        }
        Ok(())
    }

    /// One explicit step of curvature motion in some blocks; `amount` is the time in squared samples at a point.
    pub(super) fn curvature_step(&mut self, slots: &[BlockSlot], amount: impl Fn(DVec3) -> f64 + Sync) {
        let (frame, edge) = (self.frame, self.grid.background().outside);
        let spacing = frame.spacing;
        update_samples(&mut self.grid, slots, 1, |halo, place, sample| {
            let value = halo.values()[place];
            if value.abs() >= edge {
                return value;
            }
            let time = amount(frame.position(sample));
            if time == 0.0 {
                return value;
            }
            // The flow of a distance in metres, in samples: curvature per sample times the spacing.
            let flow = curvature_flow(halo.values(), place, halo.strides());
            let most = 0.5 * spacing;
            (f64::from(value) + (time * flow).clamp(-most, most)).clamp(-f64::from(edge), f64::from(edge)) as f32
        });
    }

    /// One step of curvature motion backward, limited: no curvature above `1 / (2 h)`, a motion of at most `most`
    /// samples, and none where the slope has left 0.5 to 2.
    pub(super) fn roughening_step(&mut self, slots: &[BlockSlot], amount: impl Fn(DVec3) -> f64 + Sync, most: f64) {
        let (frame, edge) = (self.frame, self.grid.background().outside);
        update_samples(&mut self.grid, slots, 1, |halo, place, sample| {
            let value = halo.values()[place];
            if value.abs() >= edge {
                return value;
            }
            let slope = central_slope(halo.values(), place, halo.strides());
            if !(0.5..=2.0).contains(&(slope / frame.spacing)) {
                return value;
            }
            let flow = curvature_flow(halo.values(), place, halo.strides()).clamp(-0.5 * slope, 0.5 * slope);
            let by = (amount(frame.position(sample)) * flow).clamp(-most * slope, most * slope);
            (f64::from(value) - by).clamp(-f64::from(edge), f64::from(edge)) as f32
        });
    }

    /// Carries the surface along a velocity field (metres per second) for a duration (seconds).
    pub fn advect(&mut self, velocity: impl Fn(DVec3) -> DVec3 + Sync, duration: f64) -> Result<(), FlowError> {
        let fastest = self.fastest(&velocity);
        let count = step_count("a way", fastest * duration, fastest * duration.abs() / (0.5 * self.frame.spacing))?;
        let step = duration / count as f64;
        for number in 0..count {
            let slots = self.slots();
            let start: Vec<f32> = self.grid.samples().to_vec();
            // Three stages: each a full step, averaged with the start so that no stage overshoots.
            for keep in [0.0_f32, 0.75, 1.0 / 3.0] {
                self.advection_step(&slots, &velocity, step);
                let moved = self.grid.samples_mut().par_iter_mut().zip(&start);
                moved.for_each(|(value, start)| *value = keep * start + (1.0 - keep) * *value);
            }
            // Two steps move the surface by at most one sample, which the band allows for.
            if number % 2 == 1 || number + 1 == count {
                self.reinitialize(Reinitialization::FifthOrder);
            }
        }
        Ok(())
    }

    fn advection_step(&mut self, slots: &[BlockSlot], velocity: &(impl Fn(DVec3) -> DVec3 + Sync), step: f64) {
        let (frame, edge) = (self.frame, self.grid.background().outside);
        update_samples(&mut self.grid, slots, 3, |halo, place, sample| {
            let value = halo.values()[place];
            if value.abs() >= edge {
                return value;
            }
            let wind = velocity(frame.position(sample)) * (step / frame.spacing);
            let change: f64 = [0, 1, 2]
                .map(|axis| {
                    let [below, above] = one_sided(halo.values(), place, halo.strides()[axis]);
                    wind[axis] * f64::from(if wind[axis] > 0.0 { below } else { above })
                })
                .iter()
                .sum();
            (f64::from(value) - change).clamp(-f64::from(edge), f64::from(edge)) as f32
        });
    }

    fn fastest(&self, velocity: &(impl Fn(DVec3) -> DVec3 + Sync)) -> f64 {
        let width = self.grid.width();
        let of_block = |(block, samples): (BlockCoordinates, &[f32])| {
            let near = samples.iter().enumerate().filter(|(_, value)| value.abs() < self.grid.background().outside);
            near.map(|(place, _)| {
                let local = width.local(place);
                let sample = [0, 1, 2].map(|axis| width.first_sample(block[axis]) + local[axis] as i32);
                velocity(self.frame.position(sample)).abs().element_sum()
            })
            .fold(0.0, f64::max)
        };
        self.grid.par_blocks().map(of_block).reduce(|| 0.0, f64::max)
    }

    /// Every stored block.
    pub(super) fn slots(&self) -> Vec<BlockSlot> {
        (0..self.grid.blocks().len() as u32).map(BlockSlot).collect()
    }
}

fn step_count(what: &'static str, value: f64, steps: f64) -> Result<usize, FlowError> {
    if steps.is_nan() || !(0.0..=STEP_LIMIT as f64).contains(&steps) {
        return Err(FlowError::TooLong { what, value, steps });
    }
    Ok((steps.ceil() as usize).max(1))
}
