//! What measures share: settings, the limit of time, who watches, and the account of what was done.

use super::{Continue, FixSettings, Outcome, Progress, Stop};
use crate::fix::Assumptions;
use crate::fix::{PullCounts, ResolverCounts, Writers};
use unsnarl_geometry::VertexId;

/// At hand for every measure.
pub struct Tools<'a> {
    /// How to untangle.
    pub settings: &'a FixSettings,
    /// Whether to stop now.
    pub stop: Stop,
    /// Sees every step, and may stop.
    pub observe: &'a mut dyn FnMut(&Progress) -> Continue,
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// Vertices of cloth that bodies pinch, in order.
    pub pinched: &'a [VertexId],
    /// What was done so far.
    pub account: Account,
    /// Whether an observer has asked to stop.
    pub is_stopped: bool,
}

/// What was done by all measures together.
#[derive(Default)]
pub struct Account {
    /// Steps taken.
    pub steps: usize,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Who wrote positions, and how often.
    pub writers: Writers,
    /// Red vertices at the start of each step.
    pub red_history: Vec<usize>,
    /// In how many steps an assumption of the convergence theorem failed.
    pub assumptions: Assumptions,
    /// Pulls of edge shortening, by where they were.
    pub pulls: PullCounts,
}

impl Tools<'_> {
    /// Whether the limit of time is reached or somebody has asked to stop.
    pub fn must_stop(&self) -> bool {
        self.is_stopped || (self.stop)()
    }
}

impl Account {
    /// Adds what steps have done.
    pub fn join(&mut self, outcome: Outcome) {
        self.steps += outcome.steps;
        self.resolvers += outcome.resolvers;
        self.writers.join(&outcome.writers);
        self.red_history.extend(outcome.red_history);
        self.assumptions += outcome.assumptions;
        self.pulls += outcome.pulls;
    }
}
