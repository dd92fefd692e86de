//! What lies within thickness at the start of a step, and the springs that dynamics takes over from contact.

use crate::contact::Nearby;
use crate::dynamics::{Cushion, Guidance, Support};
use crate::geometry::DVec3;
use crate::settings::LinearSolver;

/// A cushion that is drawn out by more than this part of its rest gap pulls.
const MAY_PULL: f64 = 0.001;
/// A support whose point ends this far above its plane, metres, pulls.
pub(crate) const PULLED: f64 = 1e-9;

/// What lies within thickness at the start of the step.
#[derive(Default)]
pub(crate) struct Near {
    pub nearby: Nearby,
    /// What dynamics does about it, with the numbers of the pairs.
    pub cushions: Vec<(usize, Cushion)>,
    /// The same between cloth and bodies.
    pub pads: Vec<(usize, Support)>,
}

impl Near {
    /// Guidance with the cushions.
    pub(crate) fn guided(&self, guidance: &Guidance) -> Guidance {
        let mut guidance = guidance.clone();
        guidance.cushions = self.cushions.iter().map(|cushion| cushion.1).collect();
        guidance.supports.extend(self.pads.iter().map(|pad| pad.1));
        guidance
    }

    /// What cushions and pads push with where the solve ended, N, with the numbers of the pairs.
    pub(crate) fn forces(&self, positions: &[DVec3]) -> Vec<(usize, f64)> {
        let cushions = self.cushions.iter().filter(|(_, cushion)| cushion.stiffness > 0.0);
        let of_cushions = cushions.map(|(at, cushion)| (*at, cushion.stiffness * cushion.compression(positions)));
        let of_pads = self.pads.iter().map(|(at, pad)| (*at, pad.stiffness.unwrap_or_default() * pad.depth(positions)));
        of_cushions.chain(of_pads).collect()
    }

    /// Lets go of the cushions and pads that pull; says whether there were any. A factor keeps its plan while they are there without strength.
    pub(crate) fn drop_pulling(&mut self, positions: &[DVec3], solver: LinearSolver) -> bool {
        let mut has_pulled = false;
        for (_, cushion) in &mut self.cushions {
            if cushion.compression(positions) <= -MAY_PULL * cushion.rest_gap {
                cushion.stiffness = 0.0;
                has_pulled = true;
            }
        }
        if solver != LinearSolver::Direct {
            self.cushions.retain(|(_, cushion)| cushion.stiffness > 0.0);
        }
        let count = self.pads.len();
        self.pads.retain(|(_, pad)| pad.depth(positions) > -PULLED);
        has_pulled || self.pads.len() < count
    }
}
