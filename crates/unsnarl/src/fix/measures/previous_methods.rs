//! The methods before edge shortening, together, where everything else has failed. (Cha 2022, 2.1; `sim-prev`)

use super::steps;
use crate::fix::look::Look;
use crate::fix::measure::{Candidate, Measure, MeasureName, Reason};
use crate::fix::tools::Tools;
use crate::fix::{FixMethod, Patient};

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
        let settings = tools.settings.clone().using(FixMethod::SimPrev);
        Some(steps::run(patient, look, tools, settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::measures::tests::look;

    const ALL_OTHERS: [MeasureName; 2] = [MeasureName::Steps, MeasureName::ContourMinimisation];

    #[test]
    fn they_come_last() {
        assert_eq!(PreviousMethods.applies(&look(5, 10), &ALL_OTHERS), Some(Reason::LastResort));
    }

    #[test]
    fn they_do_not_come_before_the_others_or_where_nothing_crosses() {
        assert_eq!(PreviousMethods.applies(&look(5, 10), &ALL_OTHERS[..1]), None);
        assert_eq!(PreviousMethods.applies(&look(0, 10), &ALL_OTHERS), None);
    }
}
