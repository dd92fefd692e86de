//! The methods before edge shortening, together, where everything else has failed. (Cha 2022, 2.1; `sim-prev`)

use super::steps;
use crate::fix::look::Look;
use crate::fix::measure::{Candidate, Measure, MeasureName, Reason};
use crate::fix::tools::Tools;
use crate::fix::{FixMethod, FixSettings, Patient};

/// The measure.
pub struct PreviousMethods;

impl Measure for PreviousMethods {
    fn name(&self) -> MeasureName {
        MeasureName::PreviousMethods
    }

    fn budget(&self) -> usize {
        1
    }

    fn applies(&self, look: &Look, tried: &[MeasureName]) -> Option<Reason> {
        let is_last = [MeasureName::ContourMinimisation, MeasureName::Steps].iter().all(|name| tried.contains(name));
        (look.is_tangled() && is_last).then_some(Reason::LastResort)
    }

    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate> {
        let settings = FixSettings { method: FixMethod::SimPrev, ..tools.settings.clone() };
        Some(steps::run(patient, look, tools, settings))
    }
}
