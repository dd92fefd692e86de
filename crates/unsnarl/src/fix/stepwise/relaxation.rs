//! Clean cloth on its way to rest: drawn back to where it was, and less strained from step to step.
//!
//! | it ends where | after |
//! |---|---|
//! | nothing was moved at all | no step |
//! | strain is below 1.02, or 1.05 if the input was above the first | 12 steps, or 4 where cloth slides |
//! | strain is below 1.1 and has not become less | 8 more steps, or 3 where cloth slides |
//! | nothing moves any more | 12 steps |
//! | strain is more than cloth may bear and has not become less | `patience` more steps |
//! | nothing of this | `relaxation_steps`, or `growth_steps` after a retreat |
//!
//! Of all clean states since the least strained one counts where the last is strained.

use super::Untangling;
use super::decide::Phase;
use super::report::Spread;
use super::return_targets::{Return, ReturnProgress};
use super::rungs::RungName;
use super::watch::Advance;
use crate::analysis::Tangle;
use crate::fix::score::UNSTRAINED;
use unsnarl_geometry::DVec3;

/// Below this factor relaxation may end; below the second one if the input was more strained than the first.
const SETTLED: [f64; 2] = [1.02, 1.05];
/// Relaxation may also end where cloth is not strained and has not become less so for as many steps.
const QUIET_STEPS: usize = 8;
/// Steps in which cloth is drawn back before it may count as at rest.
pub(super) const RETURN_STEPS: usize = 12;
/// Springs that draw cloth back are weaker by this factor in every step.
const RETURN_DECAY: f64 = 0.7;
/// The same where cloth slides.
const SLIDING_STEPS: usize = 4;
const SLIDING_DECAY: f64 = 0.5;
/// Cloth that slides carries strain across all of it in one step, so that a few without effect are enough.
const SLIDING_QUIET_STEPS: usize = 3;
/// Strain counts as less than before below this share of it.
const LESS: f64 = 0.99;
/// Cloth with a triangle that is stretched by more than this has been dragged along, and is to return.
const STRETCHED: f64 = 1.3;

/// How far clean cloth is on its way to rest.
#[derive(Default)]
pub(super) struct Relaxation {
    /// Looks since everything has been clean.
    pub clean_steps: usize,
    /// Parted cloth on its way back.
    pub returning: Option<ReturnProgress>,
    /// The least strained of the clean states so far.
    pub least_strained: Option<CleanState>,
    /// The farthest move of the last step, as a share of the local size.
    pub last_move: f64,
}

impl Relaxation {
    /// Cloth was moved from outside.
    pub fn start_again(&mut self) {
        *self = Self { last_move: self.last_move, ..Self::default() };
    }

    /// What is left of springs where cloth slides.
    pub fn sliding_share(&self) -> f64 {
        SLIDING_DECAY.powi(self.clean_steps as i32)
    }
}

/// Clean cloth and how strained it is.
pub(super) struct CleanState {
    pub strain: f64,
    pub cloth: Vec<DVec3>,
    step: usize,
}

/// How clean cloth is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ease {
    /// It has about its size: more relaxation changes nothing worth the time.
    Settled,
    /// It may still become less strained.
    Uneasy,
    /// It is strained and has not become less so for a while.
    Stuck,
}

impl Untangling {
    /// What comes next for clean cloth.
    pub(super) fn relax(&mut self, tangle: &Tangle) -> Advance {
        self.step_back();
        let is_returning = self.is_returning();
        self.relaxation.clean_steps = if is_returning { 1 } else { self.relaxation.clean_steps + 1 };
        let clean_steps = self.relaxation.clean_steps;
        let is_still = clean_steps > RETURN_STEPS && self.relaxation.last_move < self.settings.stillness;
        let (least_steps, quiet_steps) = match self.is_sliding(tangle) {
            true => (SLIDING_STEPS, SLIDING_QUIET_STEPS),
            false => (RETURN_STEPS, QUIET_STEPS),
        };
        let ease = if is_returning { Ease::Uneasy } else { self.ease(quiet_steps) };
        let (phase, most) = match self.ledger.has_retreated {
            true => (Phase::GrowBack, self.settings.growth_steps),
            false => (Phase::Relax, self.settings.relaxation_steps),
        };
        if ease == Ease::Stuck
            && phase == Phase::GrowBack
            && let Some(advance) = self.take_rung(Phase::GrowBack, tangle)
        {
            return advance;
        }
        let is_stuck = ease == Ease::Stuck && phase == Phase::Relax;
        let is_at_ease = (ease == Ease::Settled && clean_steps > least_steps) || self.is_unstrained_at_once();
        let untouched = self.ledger.steps == 0 && !self.active.contains(&true);
        if untouched || is_still || is_stuck || is_at_ease || clean_steps > most {
            return self.take_rung(Phase::Relax, tangle).unwrap_or(Advance::Done);
        }
        Advance::Step
    }

    /// Looks at clean cloth that is where it belongs. Where it is not strained and has not become less so for
    /// [`QUIET_STEPS`] it is as good as it gets; `quiet_steps` are enough where it is hardly strained.
    fn ease(&mut self, quiet_steps: usize) -> Ease {
        let strain = self.strain(&self.state.positions);
        let steps = self.ledger.steps;
        let best = &mut self.relaxation.least_strained;
        let least = best.as_ref().map_or(f64::INFINITY, |best| best.strain);
        if strain < LESS * least {
            *best = Some(CleanState { strain, cloth: self.state.positions.clone(), step: steps });
        }
        let since = best.as_ref().map_or(steps, |best| best.step);
        let (input, bearable) = (self.reference.input_strain.stretch, self.reference.bearable_strain());
        let quiet_steps = if strain < SETTLED[1] { quiet_steps } else { QUIET_STEPS };
        let is_as_good_as_it_gets = strain <= UNSTRAINED && steps > since + quiet_steps;
        if strain < input.clamp(SETTLED[0], SETTLED[1]) || is_as_good_as_it_gets {
            Ease::Settled
        } else if steps > since + self.settings.patience && strain > bearable {
            Ease::Stuck
        } else {
            Ease::Uneasy
        }
    }

    /// Whether rearrangements alone have undone the tangle, before any step, and cloth is not strained: then nothing
    /// was dragged along that would have to return.
    fn is_unstrained_at_once(&self) -> bool {
        let largest = |positions: &[DVec3]| Spread::of_stretch(&self.model, positions).max;
        let has_left = self.ledger.is_parted || self.ledger.is_laid_out;
        self.ledger.steps == 0
            && !has_left
            && self.is_unstrained(&self.state.positions)
            && largest(&self.state.positions) < STRETCHED.max(largest(&self.reference.input))
    }

    /// Goes back to the least strained clean state where the present one crosses or is strained.
    pub(super) fn keep_least_strained(&mut self) {
        let Some(best) = self.relaxation.least_strained.take() else { return };
        let is_worse = self.strain(&self.state.positions) > best.strain && self.is_strained();
        if is_worse || !self.analyze_unpinched().is_empty() {
            self.adopt(&best.cloth);
        }
    }

    /// Whether parted cloth is still on its way back.
    fn is_returning(&mut self) -> bool {
        let longest: Vec<f64> = self.setup.local_size.iter().map(|size| self.settings.largest_move * size).collect();
        let way = self.relaxation.returning;
        self.relaxation.returning = way.and_then(|way| self.way_back(&longest).go_on(way));
        self.relaxation.returning.is_some()
    }

    /// Parted cloth sets out for where it was.
    pub(super) fn begin_return(&mut self) {
        self.relaxation.returning = Some(self.way_back(&[]).begin());
    }

    fn way_back<'a>(&'a self, longest_moves: &'a [f64]) -> Return<'a> {
        Return {
            model: &self.model,
            targets: &self.reference.targets,
            rest_angles: &self.state.rest_angles,
            positions: &self.state.positions,
            longest_moves,
        }
    }

    /// Whether clean cloth has nothing to do but to become less strained: no fold to bend, no way to go.
    pub(super) fn is_sliding(&self, tangle: &Tangle) -> bool {
        let is_led = self.ledger.is_parted
            || self.ledger.is_laid_out
            || self.folding.turns > 0
            || self.relaxation.returning.is_some()
            || !self.holds.is_empty()
            || self.reference.was_strained();
        self.is_done(tangle) && !self.ledger.has_retreated && !is_led && self.has_rung(RungName::Sliding)
    }

    /// How strongly cloth is drawn back in this step, N/m per kilogram: strongly when it has just become clean or is
    /// on its way back, and less with every step from then on.
    pub(super) fn return_stiffness(&self) -> f64 {
        let steps = self.relaxation.clean_steps;
        let is_on = steps > 0 && self.has_rung(RungName::Returning);
        let share = if is_on { RETURN_DECAY.powi(steps as i32) } else { 0.0 };
        share / (self.settings.step * self.settings.step)
    }
}
