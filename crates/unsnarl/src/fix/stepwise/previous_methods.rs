//! One step of `fix` with a method that keeps no history.
//!
//! The method's remedy goes through the same dynamics and contact as edge shortening; only the wishes and the pairs
//! that may cross differ.

use super::{FixStage, Observe, Untangling};
use crate::analysis::Tangle;
use crate::untangle::{Situation, plan};

impl Untangling {
    /// Plans, proposes, keeps apart.
    pub(super) fn classic_step(&mut self, tangle: &Tangle, observe: Observe) {
        let positions = self.all_positions();
        let situation = Situation {
            assembly: &self.setup.assembly,
            positions: &positions,
            tangle,
            local_size: &self.setup.local_size,
            masses: &self.model.masses,
            step: self.settings.step,
            separation: self.settings.separation,
            bodies_at_end: &[],
            pinched: &[],
        };
        let plan = plan(self.settings.untangle.method, &situation, &self.settings.untangle.classic);
        self.ledger.resolvers.gia += usize::from(plan.report.attracted > 0);
        self.ledger.resolvers.icm += usize::from(plan.report.pushed > 0);
        observe(FixStage::Untangle, &self.state.positions);
        self.advance(&plan.remedy, observe);
    }
}
