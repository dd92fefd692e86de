//! What the convergence theorem of edge shortening assumes, and in how many steps it did not hold.
//!
//! Where no contour is a BLI, every pulled edge can shorten, some fan can be pulled, and less than half of a sheet is
//! red, the source proves that red vertices never become more and that every pull ends. (Cha 2022, 4.4) For what that
//! takes, and which vertices are red here, see [`crate::untangle::resolvers::main_component`].

use crate::analysis::{ContourKind, Tangle};
use crate::untangle::resolvers::esef::EsefReport;
use serde::Serialize;

/// How many steps there were, and in how many of them an assumption of the theorem failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Assumptions {
    /// Steps at whose start something crossed: the steps that the source counts.
    pub tangled_steps: usize,
    /// Steps with a BLI, about which the theorem says nothing.
    pub bli_steps: usize,
    /// Steps in which a pull had reached its shortest length and its vertex was still red.
    pub hindered_steps: usize,
    /// Steps in which no fan could be pulled.
    pub blocked_steps: usize,
    /// Fans made convex because none passed the inversion test.
    pub convexified: usize,
    /// Steps in which more than half of a sheet was red.
    pub majority_steps: usize,
    /// Steps after which more vertices were red than before, of those without BLI.
    pub growths: usize,
    /// Steps taken again, because red would have grown.
    pub retaken_steps: usize,
}

impl std::ops::AddAssign for Assumptions {
    fn add_assign(&mut self, other: Self) {
        self.tangled_steps += other.tangled_steps;
        self.bli_steps += other.bli_steps;
        self.hindered_steps += other.hindered_steps;
        self.blocked_steps += other.blocked_steps;
        self.convexified += other.convexified;
        self.majority_steps += other.majority_steps;
        self.growths += other.growths;
        self.retaken_steps += other.retaken_steps;
    }
}

/// Keeps the count from step to step.
#[derive(Clone, Debug, Default)]
pub(super) struct Theorem {
    pub counts: Assumptions,
    /// How many vertices were red at the start of the last step, if it had no BLI and nothing but the step has moved
    /// cloth since.
    last_red: Option<usize>,
}

impl Theorem {
    /// A step begins.
    pub fn begin(&mut self, tangle: &Tangle) {
        let red = tangle.colours.red_vertices.len();
        let has_bli = tangle.count(ContourKind::Bli) > 0;
        self.counts.tangled_steps += usize::from(!tangle.is_empty());
        self.counts.bli_steps += usize::from(has_bli);
        self.counts.majority_steps += usize::from(!tangle.colours.majority_failures.is_empty());
        self.counts.growths += usize::from(self.last_red.is_some_and(|last| !has_bli && red > last));
        self.last_red = (!has_bli).then_some(red);
    }

    /// Whether the theorem speaks of the step that has begun: there is no BLI.
    pub fn is_lawful(&self) -> bool {
        self.last_red.is_some()
    }

    /// Whether a step that has begun leaves more red than there was, against the theorem.
    pub fn has_red_grown(&self, after: &Tangle) -> bool {
        self.last_red.is_some_and(|last| after.colours.red_vertices.len() > last && after.count(ContourKind::Bli) == 0)
    }

    /// Edges were shortened in this step.
    pub fn shortened(&mut self, report: &EsefReport) {
        self.counts.hindered_steps += usize::from(report.hindered > 0);
        self.counts.blocked_steps += usize::from(report.blocked > 0 && report.pulling == report.convexified);
        self.counts.convexified += report.convexified;
    }

    /// Cloth was moved by something else than a step.
    pub fn interrupt(&mut self) {
        self.last_red = None;
    }
}
