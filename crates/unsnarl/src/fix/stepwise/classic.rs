//! One step of `fix` with a method that keeps no history.
//!
//! The method's remedy goes through the same dynamics and contact as edge shortening; only the wishes and the pairs
//! that may cross differ. When a method stalls, more cloth may move, twice; then it has to be content with what it
//! reached.

use super::{FixStage, Observe, Untangling};
use crate::analysis::Tangle;
use crate::untangle::{Situation, plan};

/// How often more cloth may move when nothing becomes better.
const WIDENINGS: usize = 2;

impl Untangling {
    /// Plans, proposes, keeps apart.
    pub(super) fn classic_step(&mut self, tangle: &Tangle, observe: Observe) {
        let positions = self.all_positions();
        let situation = Situation {
            assembly: &self.assembly,
            positions: &positions,
            tangle,
            local_size: &self.local_size,
            masses: &self.model.masses,
            step: self.settings.step,
            separation: self.settings.separation,
            bodies_at_end: &[],
            pinched: &[],
        };
        let plan = plan(self.settings.method, &situation, &self.settings.classic);
        self.resolvers.gia += usize::from(plan.report.attracted > 0);
        self.resolvers.icm += usize::from(plan.report.pushed > 0);
        observe(FixStage::Untangle, &self.state.positions);
        self.advance(&plan.remedy, observe);
    }

    /// Lets more cloth move; `false` if it has been tried often enough.
    pub(super) fn widen(&mut self) -> bool {
        self.settings.rings *= 4;
        self.strength <= WIDENINGS
    }
}
