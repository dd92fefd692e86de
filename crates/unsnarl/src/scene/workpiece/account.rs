//! The account of an untangling: what was, what is, how far cloth went. Everything but the seconds, which need a clock.

use super::Workpiece;
use crate::analysis::Examination;
use crate::fix::report::{Displacement, Effort, FixReport, Spread, mean_rest_edge, pinched_places};
use crate::fix::{Outcome, solved_by_measure};
use crate::geometry::math::DVec3;

impl Workpiece {
    /// The report on an outcome. `all` is where cloth ended, as it is kept or written, then the bodies; `after` is
    /// the exact check of these very numbers. The caller sets the seconds.
    pub fn report(&self, before: Examination, after: &Examination, outcome: &Outcome, all: &[DVec3]) -> FixReport {
        let cloth = &all[..self.cloth_count()];
        let (moved_vertices, displacement) =
            Displacement::between(&self.state.positions, cloth, mean_rest_edge(&self.model));
        let (pinched, pairs_not_pinched) = pinched_places(&self.assembly, all, &after.verdict, &outcome.pinched);
        FixReport {
            schema: "unsnarl.fix/1",
            clean: after.report.clean,
            before: before.report,
            after: after.report.clone(),
            effort: Effort {
                steps: outcome.steps,
                seconds: 0.0,
                resolvers: outcome.resolvers,
                writers: outcome.writers.clone(),
                assumptions: outcome.assumptions,
                pulls: outcome.pulls,
                measures: outcome.attempts.clone(),
            },
            moved_vertices,
            cloth_vertices: self.cloth_count(),
            displacement,
            stretch: Spread::of_stretch(&self.model, cloth),
            stretch_before: Spread::of_stretch(&self.model, &self.state.positions),
            places_solved: solved_by_measure(&outcome.places),
            places: outcome.places.clone(),
            pinched,
            pairs_not_pinched,
        }
    }
}
