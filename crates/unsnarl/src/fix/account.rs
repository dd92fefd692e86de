//! What the convergence theorem of edge shortening assumes, and in how many steps it did not hold.
//!
//! Where no contour is a BLI, every pulled edge can shorten, some fan can be pulled, and less than half of a sheet is red,
//! the source proves that red vertices never become more and that every pull ends. (Cha 2022, 4.4) What really never becomes
//! more is what is cut off from the mainland, see [`crate::untangle::mainland`]; both are counted.

use crate::analysis::{ContourKind, Tangle};
use crate::untangle::esef::EsefReport;
use crate::untangle::mainland::Mainland;
use serde::Serialize;
use unsnarl_geometry::{Topology, VertexId};

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
    /// Steps in which more than half of a sheet was red, or red hung together with its mainland.
    pub majority_steps: usize,
    /// Steps after which more vertices were red than before, of those without BLI.
    pub growths: usize,
    /// The same for vertices that are cut off from the mainland of their sheet, of steps without BLI and such majorities.
    pub cut_off_growths: usize,
}

/// Keeps the count from step to step.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub counts: Assumptions,
    /// How many vertices were red at the start of the last step, if it had no BLI and nothing but the step has moved cloth since.
    last_red: Option<usize>,
    /// How many vertices were cut off then, if red was no majority either.
    last_cut_off: Option<usize>,
    mainland: Mainland,
}

impl Account {
    /// A step begins.
    pub fn begin(&mut self, topology: &Topology, cloth_vertex_count: usize, tangle: &Tangle) {
        let (red, cut_off) =
            (&tangle.colours.red_vertices, self.mainland.cut_off(topology, cloth_vertex_count, tangle));
        let has_bli = tangle.count(ContourKind::Bli) > 0;
        let is_on_mainland = |vertex: &VertexId| cut_off.binary_search(vertex).is_err();
        let has_majority = !tangle.colours.majority_failures.is_empty() || red.iter().any(is_on_mainland);
        self.counts.tangled_steps += usize::from(!tangle.is_empty());
        self.counts.bli_steps += usize::from(has_bli);
        self.counts.majority_steps += usize::from(has_majority);
        let has_grown = self.last_red.is_some_and(|last| !has_bli && red.len() > last);
        self.counts.growths += usize::from(has_grown);
        self.counts.cut_off_growths += usize::from(self.last_cut_off.is_some_and(|last| cut_off.len() > last));
        self.last_red = (!has_bli).then_some(red.len());
        self.last_cut_off = (!has_bli && !has_majority).then_some(cut_off.len());
        if self.last_cut_off.is_none() {
            self.mainland.forget();
        }
    }

    /// Edges were shortened in this step.
    pub fn shortened(&mut self, report: &EsefReport) {
        self.counts.hindered_steps += usize::from(report.hindered > 0);
        self.counts.blocked_steps += usize::from(report.blocked > 0 && report.pulling == report.convexified);
        self.counts.convexified += report.convexified;
    }

    /// Cloth was moved by something else than a step.
    pub fn interrupt(&mut self) {
        (self.last_red, self.last_cut_off) = (None, None);
        self.mainland.forget();
    }
}
