//! `fix` as an algorithm: look, take the first measure of the table that applies, keep what it gives if the score says so.
//!
//! Guarantees: positions are adopted in one place, and only if they are better by [`super::score`]; so the result is never worse
//! than the input, whatever was tried, whenever it was stopped. Clean input comes back as it is.

use super::look::Look;
use super::measure::{Measure, MeasureName, Reason, TABLE};
use super::report::pinched_places;
use super::score::{Score, Standard};
use super::stepwise::{pinched::Pinched, sizes};
use super::tools::{Account, Tools};
use super::{Continue, FixSettings, Outcome, Patient, Progress, Stop};
use crate::analysis::{self, Workspace};
use crate::untangle::Method;
use crate::untangle::overlap::ClosedComponents;
use serde::Serialize;
use std::cmp::Ordering;
use unsnarl_geometry::{DVec3, VertexId};

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
}

/// Untangles with the measures of the table.
pub(super) fn untangle(
    mut patient: Patient,
    settings: &FixSettings,
    stop: Stop,
    observe: &mut dyn FnMut(&Progress) -> Continue,
) -> Outcome {
    sizes::fit_rest_shapes(&mut patient.model, &mut patient.state);
    let watcher = Watcher::new(&patient);
    let mut best = watcher.look(&patient, patient.state.positions.clone());
    if best.verdict.is_clean() || settings.method == Method::Off {
        return finish(&watcher, &patient, best, Account::default(), Vec::new());
    }
    let mut tools = Tools {
        settings,
        stop,
        observe,
        local_size: &watcher.local_size,
        pinched: watcher.pinched.vertices(),
        account: Account::default(),
        is_stopped: false,
    };
    let mut ledger: Vec<Attempt> = Vec::new();
    while let Some((measure, reason)) = next_measure(&best, &ledger, settings.method) {
        if tools.must_stop() && !ledger.is_empty() {
            break;
        }
        let pairs_before = best.score.pairs;
        let candidate = measure.attempt(&patient, &best, &mut tools);
        let found = candidate.map(|candidate| watcher.look(&patient, candidate.positions));
        let pairs_after = found.as_ref().map(|found| found.score.pairs);
        let better = found.filter(|found| watcher.standard.compare(&found.score, &best.score) == Ordering::Less);
        let kept = better.is_some();
        best = better.unwrap_or(best);
        ledger.push(Attempt { measure: measure.name(), reason, pairs_before, pairs_after, kept });
    }
    finish(&watcher, &patient, best, tools.account, ledger)
}

/// The first measure that applies, is within its budget, and has not been tried on this very state.
fn next_measure(best: &Look, ledger: &[Attempt], method: Method) -> Option<(&'static dyn Measure, Reason)> {
    let tried: Vec<MeasureName> = ledger.iter().map(|attempt| attempt.measure).collect();
    let since = ledger.iter().rposition(|attempt| attempt.kept).unwrap_or(0);
    TABLE.into_iter().find_map(|measure| {
        let name = measure.name();
        let is_allowed = method == Method::Auto || name == MeasureName::Steps;
        let count = tried.iter().filter(|&&tried| tried == name).count();
        // What a measure gave itself is not a new state to it.
        let is_new = !tried[since..].contains(&name);
        let is_open = is_allowed && count < measure.budget() && is_new;
        is_open.then(|| measure.applies(best, &tried)).flatten().map(|reason| (measure, reason))
    })
}

/// What looks have in common.
struct Watcher {
    input: Vec<DVec3>,
    standard: Standard,
    pinched: Pinched,
    local_size: Vec<f64>,
    closed: ClosedComponents,
}

impl Watcher {
    fn new(patient: &Patient) -> Self {
        let Patient { model, state, assembly, body_positions } = patient;
        let input = state.positions.clone();
        let all = patient.all_positions(&input);
        let lengths = sizes::rest_lengths(assembly, model, state, body_positions);
        Self {
            standard: Standard::new(model, &input),
            pinched: Pinched::find(assembly, input.len(), &all),
            local_size: sizes::local_sizes(assembly.topology(), &lengths),
            closed: ClosedComponents::new(assembly.topology(), input.len(), &all),
            input,
        }
    }

    fn look(&self, patient: &Patient, positions: Vec<DVec3>) -> Look {
        let is_finite = positions.iter().all(|place| place.is_finite());
        // What is not a number meets nothing, and would be certified.
        let positions = if is_finite { positions } else { self.input.clone() };
        let all = patient.all_positions(&positions);
        let verdict = analysis::verdict(&patient.assembly, &all, &mut Workspace::default());
        let pairs = pinched_places(&patient.assembly, &all, &verdict, self.pinched.vertices()).1;
        let score = Score::of(&patient.model, &positions, &self.input, pairs);
        let topology = patient.assembly.topology();
        let is_closed = |corner: VertexId| self.closed.has(topology, corner);
        let mut crossing = verdict.pairs.iter().flat_map(|pair| [pair.first, pair.second]);
        Look {
            closed_crosses: crossing.any(|triangle| is_closed(topology.triangle(triangle)[0])),
            is_input: positions == self.input,
            has_shape: self.standard.has_shape(),
            is_strained: score.strain > self.standard.bearable(),
            positions,
            verdict,
            score,
        }
    }
}

fn finish(watcher: &Watcher, patient: &Patient, best: Look, account: Account, attempts: Vec<Attempt>) -> Outcome {
    let all = patient.all_positions(&best.positions);
    let tangle = analysis::analyze(&patient.assembly, &all, &mut Workspace::default());
    Outcome {
        positions: best.positions,
        verdict: best.verdict,
        tangle,
        steps: account.steps,
        resolvers: account.resolvers,
        red_history: account.red_history,
        assumptions: account.assumptions,
        pulls: account.pulls,
        pinched: watcher.pinched.vertices().to_vec(),
        attempts,
    }
}
