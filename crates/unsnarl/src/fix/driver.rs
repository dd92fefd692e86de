//! `fix` as an algorithm: look, take the first measure of the table that applies, keep what it gives if the score
//! says so.
//!
//! Guarantees: positions are adopted in one place, and only if they are better by [`super::score`]; so the result is
//! never worse than the input, whatever was tried, whenever it was stopped. Clean input comes back as it is.

use super::look::{Look, Looker};
use super::measure::{LeftOut, Measure, MeasureName, Reason, TABLE};
use super::solved::PlaceLog;
use super::stepwise::sizes;
use super::tools::{Account, Tools};
use super::{Continue, FixSettings, Outcome, Patient, Progress, Stop};
use crate::analysis::{self, Workspace};
use crate::untangle::Method;
use serde::Serialize;
use std::cmp::Ordering;

/// One try of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// The measure.
    pub measure: MeasureName,
    /// Why it was tried.
    pub reason: Reason,
    /// Pairs that met before it.
    pub pairs_before: usize,
    /// Pairs that met after it; none where it had nothing to offer.
    pub pairs_after: Option<usize>,
    /// Whether what it gave was better, and kept.
    pub kept: bool,
    /// Steps that it took.
    pub steps: usize,
}

/// What is kept of the places of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// A report on each.
    Places,
    /// Nothing: the patient is a place itself.
    Nothing,
}

/// Untangles with the measures of the table.
pub(super) fn untangle(
    mut patient: Patient,
    settings: &FixSettings,
    (stop, log): (Stop, Log),
    observe: &mut dyn FnMut(&Progress) -> Continue,
) -> Outcome {
    sizes::fit_rest_shapes(&mut patient.model, &mut patient.state);
    let looker = Looker::new(&patient);
    let mut best = looker.look(&patient, patient.state.positions.clone());
    if best.verdict.is_clean() || settings.untangle.method == Method::Off {
        return finish(&looker, &patient, best, Account::default());
    }
    let mut places = (log == Log::Places).then(|| PlaceLog::new(&patient, &best.verdict));
    let mut tools = Tools {
        settings,
        stop,
        observe,
        local_size: &looker.local_size,
        pinched: looker.pinched.vertices(),
        account: Account::default(),
        is_stopped: false,
    };
    let mut ledger: Vec<Attempt> = Vec::new();
    while let Some((measure, reason)) = next_measure(&best, &ledger, settings) {
        if tools.must_stop() && !ledger.is_empty() {
            break;
        }
        let (pairs_before, steps_before) = (best.score.pairs, tools.account.steps);
        let candidate = measure.attempt(&patient, &best, &mut tools);
        let found = candidate.map(|candidate| looker.look(&patient, candidate.positions));
        let pairs_after = found.as_ref().map(|found| found.score.pairs);
        let better = found.filter(|found| looker.standard.compare(&found.score, &best.score) == Ordering::Less);
        let kept = better.is_some();
        best = better.unwrap_or(best);
        if kept && measure.name() != MeasureName::Steps {
            tools.account.writers.note(measure.name().name());
        }
        let steps = tools.account.steps - steps_before;
        let attempt = Attempt { measure: measure.name(), reason, pairs_before, pairs_after, kept, steps };
        if let Some(places) = &mut places {
            places.note(&attempt, patient.assembly.topology(), &best.verdict);
        }
        ledger.push(attempt);
    }
    let is_stopped = tools.must_stop();
    let places = places.map(|places| places.finish(&patient.model, &best.positions, is_stopped)).unwrap_or_default();
    Outcome { attempts: ledger, places, ..finish(&looker, &patient, best, tools.account) }
}

/// The first measure that applies, is within its budget, and has not been tried on this very state.
fn next_measure(best: &Look, ledger: &[Attempt], settings: &FixSettings) -> Option<(&'static dyn Measure, Reason)> {
    let tried: Vec<MeasureName> = ledger.iter().map(|attempt| attempt.measure).collect();
    let since = ledger.iter().rposition(|attempt| attempt.kept).unwrap_or(0);
    TABLE.into_iter().find_map(|measure| {
        let name = measure.name();
        let is_allowed = settings.untangle.method == Method::Auto || name == MeasureName::Steps;
        let count = tried.iter().filter(|&&tried| tried == name).count();
        // What a measure gave itself is not a new state to it.
        let is_new = !tried[since..].contains(&name);
        let is_open =
            is_allowed && !settings.without.contains(&LeftOut::Measure(name)) && count < measure.budget() && is_new;
        is_open.then(|| measure.applies(best, &tried)).flatten().map(|reason| (measure, reason))
    })
}

fn finish(looker: &Looker, patient: &Patient, best: Look, account: Account) -> Outcome {
    let all = patient.all_positions(&best.positions);
    let tangle = analysis::analyze(&patient.assembly, &all, &mut Workspace::default());
    Outcome {
        positions: best.positions,
        verdict: best.verdict,
        tangle,
        steps: account.steps,
        resolvers: account.resolvers,
        writers: account.writers,
        red_history: account.red_history,
        assumptions: account.assumptions,
        pulls: account.pulls,
        pinched: looker.pinched.vertices().to_vec(),
        attempts: Vec::new(),
        places: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assembly;
    use crate::fix::score::{Score, Standard};
    use crate::model::{Cloth, Model};
    use crate::samples::{self, Cut, Recipe};
    use std::sync::Arc;
    use unsnarl_geometry::DVec3;

    fn patient(name: &str, recipe: &Recipe) -> Patient {
        let mesh = samples::find(name).unwrap().make(recipe).mesh;
        let assembly = Assembly::of_cloth(name, &mesh).unwrap();
        let (model, state) = Model::build(&[Cloth::new(name, mesh)]).unwrap();
        Patient { model, state, assembly, body_positions: Vec::new() }
    }

    fn score(patient: &Patient, positions: &[DVec3]) -> (Score, Standard) {
        let looker = Looker::new(patient);
        (looker.look(patient, positions.to_vec()).score, looker.standard)
    }

    #[test]
    fn the_result_is_never_worse_than_the_input_with_any_measure_removed() {
        use MeasureName::{ContourMinimisation, PreviousMethods, Steps};
        for case in samples::cases().filter(|case| case.family != samples::Family::Plain) {
            let recipe = Recipe { resolution: case.smallest_resolution.min(12), cut: Cut::Irregular, seed: 5 };
            let patient = patient(case.name, &recipe);
            let (before, standard) = score(&patient, &patient.state.positions);
            for without in [vec![], vec![ContourMinimisation], vec![Steps], vec![ContourMinimisation, PreviousMethods]]
            {
                let settings = FixSettings {
                    without: without.iter().copied().map(LeftOut::Measure).collect(),
                    largest_step_count: 3,
                    ..FixSettings::default()
                };
                let outcome =
                    untangle(patient.clone(), &settings, (Arc::new(|| false), Log::Nothing), &mut |_| Continue::Yes);
                let after = score(&patient, &outcome.positions).0;
                let order = standard.compare(&after, &before);
                assert_ne!(order, Ordering::Greater, "{} without {without:?}: {before:?} became {after:?}", case.name);
            }
        }
    }

    #[test]
    fn a_run_that_is_stopped_at_once_keeps_the_input_or_something_better() {
        let patient = patient("knot-2-5-60", &Recipe { resolution: 8, cut: Cut::Regular, seed: 1 });
        let (before, standard) = score(&patient, &patient.state.positions);
        let stop = Arc::new(|| true);
        let outcome = untangle(patient.clone(), &FixSettings::default(), (stop, Log::Nothing), &mut |_| Continue::No);
        assert_ne!(standard.compare(&score(&patient, &outcome.positions).0, &before), Ordering::Greater);
    }

    #[test]
    fn the_ledger_says_which_measure_solved_a_knot() {
        let patient = patient("knot-2-3-40", &Recipe { resolution: 10, cut: Cut::Irregular, seed: 2 });
        let outcome =
            untangle(patient, &FixSettings::default(), (Arc::new(|| false), Log::Nothing), &mut |_| Continue::Yes);
        assert!(outcome.verdict.is_clean());
        let first = outcome.attempts[0];
        assert_eq!((first.measure, first.reason), (MeasureName::ContourMinimisation, Reason::Closed));
        assert_eq!((first.pairs_after, first.kept), (Some(0), true));
    }
}
