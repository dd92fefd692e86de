//! The bars that untangling has to reach, each printed with what was reached.

use crate::trial::Trial;
use std::fmt::Display;

/// Edges of cloth that came out well, over their rest: the 1st percentile is above, the 99th below.
const EDGES: [f64; 2] = [0.9, 1.1];

/// Prints bars and counts those that were missed. There is none about no trials, as where an option or missing data leaves none.
#[derive(Default)]
pub struct Bars {
    pub missed: usize,
}

impl Bars {
    /// One bar.
    pub fn hold(&mut self, what: &str, reached: impl Display, bound: &str, is_met: bool) {
        self.missed += usize::from(!is_met);
        println!("{} {what}: {reached} (bar: {bound})", if is_met { "met   " } else { "MISSED" });
    }

    /// All of some trials are clean.
    pub fn hold_clean(&mut self, what: &str, trials: &[Trial]) {
        if trials.is_empty() {
            return;
        }
        let clean = trials.iter().filter(|trial| trial.is_clean()).count();
        self.hold(&format!("{what} clean"), format!("{clean} of {}", trials.len()), "all", clean == trials.len());
    }

    /// Red never grew in a step without BLI.
    pub fn hold_red(&mut self, what: &str, trials: &[Trial]) {
        if trials.is_empty() {
            return;
        }
        let (growths, steps) = trials.iter().fold((0, 0), |(growths, steps), trial| {
            (growths + trial.assumptions.growths, steps + trial.assumptions.tangled_steps)
        });
        self.hold(
            &format!("{what}, steps without BLI in which red grew"),
            format!("{growths} of {steps}"),
            "0",
            growths == 0,
        );
    }

    /// All of some trials have edges of about their size.
    pub fn hold_edges(&mut self, what: &str, trials: &[Trial]) {
        if trials.is_empty() {
            return;
        }
        let least = trials.iter().map(|trial| trial.edges.p01).fold(f64::INFINITY, f64::min);
        let most = trials.iter().map(|trial| trial.edges.p99).fold(0.0, f64::max);
        self.hold(
            &format!("{what}, 1st and 99th percentile of edges over rest"),
            format!("{least:.3} to {most:.3}"),
            &format!("{} to {}", EDGES[0], EDGES[1]),
            least > EDGES[0] && most < EDGES[1],
        );
    }
}
