//! The stages of one step: how long each took, and a walk through them one by one.
//!
//! A step that is walked through is taken as a whole; what each stage left is kept and shown bit by bit. Whoever goes on
//! otherwise finds the step finished.

use serde::Serialize;
use std::collections::VecDeque;
use std::time::Instant;
use unsnarl::fix::FixStage;
use unsnarl_geometry::DVec3;

/// Milliseconds that each stage of the last step took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StageTimes {
    /// Finding and naming what crosses.
    pub analysis: f64,
    /// Deciding what to do about it.
    pub untangle: f64,
    /// Where cloth wants to go.
    pub dynamics: f64,
    /// Where it may go.
    pub contact: f64,
}

impl StageTimes {
    /// Notes that a stage has ended, and starts the clock again.
    pub fn note(&mut self, stage: FixStage, clock: &mut Instant) {
        let taken = milliseconds(*clock);
        *clock = Instant::now();
        match stage {
            FixStage::Untangle => self.untangle = taken,
            FixStage::Propose => self.dynamics = taken,
            FixStage::Contact => self.contact = taken,
        }
    }
}

/// Milliseconds since a moment.
pub fn milliseconds(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}

/// A stage as the page names it.
pub fn name(stage: FixStage) -> &'static str {
    match stage {
        FixStage::Untangle => "untangle",
        FixStage::Propose => "dynamics",
        FixStage::Contact => "contact",
    }
}

/// A step that was taken and is shown bit by bit.
#[derive(Default)]
pub struct Walk {
    rest: VecDeque<(FixStage, Vec<DVec3>)>,
    shown: Option<Vec<DVec3>>,
}

impl Walk {
    /// Keeps what a stage left.
    pub fn keep(&mut self, stage: FixStage, cloth: &[DVec3]) {
        self.rest.push_back((stage, cloth.to_vec()));
    }

    /// Shows the next stage, if one is left.
    pub fn next(&mut self) -> Option<FixStage> {
        let (stage, cloth) = self.rest.pop_front()?;
        self.shown = (!self.rest.is_empty()).then_some(cloth);
        Some(stage)
    }

    /// Where cloth was after the stage that is shown; `None` where the step is over.
    pub fn shown(&self) -> Option<&[DVec3]> {
        self.shown.as_deref()
    }

    /// Forgets what is left of the step.
    pub fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_shown_in_order_and_the_last_one_is_the_step_itself() {
        let mut walk = Walk::default();
        for (stage, x) in [(FixStage::Untangle, 0.0), (FixStage::Propose, 1.0), (FixStage::Contact, 2.0)] {
            walk.keep(stage, &[DVec3::splat(x)]);
        }
        assert_eq!(walk.next(), Some(FixStage::Untangle));
        assert_eq!(walk.shown(), Some(&[DVec3::ZERO][..]));
        assert_eq!(walk.next(), Some(FixStage::Propose));
        assert_eq!(walk.shown(), Some(&[DVec3::ONE][..]));
        assert_eq!(walk.next(), Some(FixStage::Contact));
        assert_eq!(walk.shown(), None);
        assert_eq!(walk.next(), None);
    }
}
