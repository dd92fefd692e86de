//! The last measure: steps that may lay pieces flat or rebuild them, where everything that keeps their pose has
//! failed.

use super::steps;
use crate::fix::Patient;
use crate::fix::look::Look;
use crate::fix::measure::{Candidate, Measure, MeasureName, Reason};
use crate::fix::score::WORN;
use crate::fix::tools::Tools;

/// The measure.
pub struct LayingOut;

impl Measure for LayingOut {
    fn name(&self) -> MeasureName {
        MeasureName::LayingOut
    }

    fn budget(&self) -> usize {
        1
    }

    fn applies(&self, look: &Look, tried: &[MeasureName]) -> Option<Reason> {
        let is_left = look.is_tangled() && tried.contains(&MeasureName::PreviousMethods);
        // Cloth that no garment wears like that has no pose to keep.
        let is_ruined = look.score.strain > WORN && tried.contains(&MeasureName::Steps);
        match (is_left, is_ruined) {
            _ if look.is_input => None,
            (true, _) => Some(Reason::LastResort),
            (false, true) => Some(Reason::Strained),
            (false, false) => None,
        }
    }

    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate> {
        Some(steps::run(patient, look, tools, tools.settings.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::measures::tests::look;

    #[test]
    fn it_comes_after_everything_else() {
        assert_eq!(LayingOut.applies(&look(5, 10), &[MeasureName::PreviousMethods]), Some(Reason::LastResort));
    }

    #[test]
    fn it_is_for_clean_cloth_that_came_out_strained_as_no_garment_is() {
        let mut ruined = look(0, 10);
        ruined.score.strain = 1.6;
        assert_eq!(LayingOut.applies(&ruined, &[MeasureName::Steps]), Some(Reason::Strained));
        assert_eq!(LayingOut.applies(&look(0, 10), &[MeasureName::Steps]), None);
    }

    #[test]
    fn it_is_not_for_clean_cloth_nor_for_an_input_that_steps_could_lay_out_themselves() {
        assert_eq!(LayingOut.applies(&look(0, 10), &[MeasureName::PreviousMethods]), None);
        let input = Look { is_input: true, ..look(5, 10) };
        assert_eq!(LayingOut.applies(&input, &[MeasureName::PreviousMethods]), None);
    }
}
