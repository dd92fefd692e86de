//! Untangling step by step as a measure ([`crate::fix::stepwise`]): from the input, or from where another measure has
//! put cloth.

use crate::fix::look::Look;
use crate::fix::measure::{Candidate, Measure, MeasureName, Reason};
use crate::fix::tools::Tools;
use crate::fix::{Advance, Continue, FixSettings, Patient, Pose, Progress, Untangling};

/// The measure.
pub struct Steps;

impl Measure for Steps {
    fn name(&self) -> MeasureName {
        MeasureName::Steps
    }

    fn budget(&self) -> usize {
        3
    }

    fn applies(&self, look: &Look, _: &[MeasureName]) -> Option<Reason> {
        if look.is_tangled() || look.is_input {
            Some(Reason::Tangled)
        } else {
            look.is_strained.then_some(Reason::Strained)
        }
    }

    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate> {
        // What another measure has improved has a pose that is worth keeping.
        let pose = if look.is_input { tools.settings.pose } else { Pose::Kept };
        Some(run(patient, look, tools, FixSettings { pose, ..tools.settings.clone() }))
    }
}

/// Steps until nothing crosses and cloth is at rest, or until nothing is left to try.
pub(super) fn run(patient: &Patient, look: &Look, tools: &mut Tools, settings: FixSettings) -> Candidate {
    let most_steps = settings.largest_step_count;
    let mut untangling = Untangling::new(patient.clone(), settings);
    untangling.stop = tools.stop.clone();
    if !look.is_input {
        untangling.begin_at(&look.positions);
    }
    untangling.separate_touching_first();
    let mut step = 0;
    loop {
        let tangle = untangling.analyze();
        let positions = untangling.all_positions();
        let progress = Progress { step: tools.account.steps + step, tangle: &tangle, positions: &positions };
        if (tools.observe)(&progress) == Continue::No {
            tools.is_stopped = true;
            break;
        }
        match untangling.judge(&tangle) {
            Advance::Step => {
                untangling.step(&tangle);
                step += 1;
            }
            Advance::LookAgain => {}
            Advance::Done | Advance::GaveUp => break,
        }
        if step >= most_steps {
            break;
        }
    }
    let outcome = untangling.finish();
    let positions = outcome.positions.clone();
    tools.account.join(outcome);
    Candidate { positions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::measures::tests::look;

    #[test]
    fn they_are_for_what_crosses_and_for_what_another_measure_strained() {
        assert_eq!(Steps.applies(&look(1, 10), &[]), Some(Reason::Tangled));
        let strained = Look { is_strained: true, ..look(0, 10) };
        assert_eq!(Steps.applies(&strained, &[]), Some(Reason::Strained));
    }

    #[test]
    fn clean_cloth_at_rest_is_left_alone() {
        assert_eq!(Steps.applies(&look(0, 10), &[]), None);
    }
}
