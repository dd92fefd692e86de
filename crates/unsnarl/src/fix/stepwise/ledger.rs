//! The ledger of a run: what was done, what was tried, and what came of it. Every rung asks it before it acts again.

use super::rungs::RungName;
use super::{ResolverCounts, Untangling};
use crate::fix::LeftOut;

/// What was done so far.
#[derive(Default)]
pub(super) struct Ledger {
    /// Steps taken.
    pub steps: usize,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Rounds of separating what touches.
    pub touching_rounds: usize,
    /// Times that cloth was pushed out of bodies.
    pub body_pushes: usize,
    /// What came of the last try to put pieces in order.
    pub order: Order,
    /// Whether that ever helped.
    pub has_been_ordered: bool,
    /// Whether pieces have been parted.
    pub is_parted: bool,
    /// Whether pieces have been laid flat or rebuilt.
    pub is_laid_out: bool,
    /// How laying each piece out was last tried.
    pub lay_out_tries: Vec<Option<LayOut>>,
    /// Retreats that were tried.
    pub retreats: usize,
    /// Whether one found clean cloth, which grows back since then.
    pub has_retreated: bool,
    /// How often more cloth was let move.
    pub widenings: usize,
}

impl Ledger {
    /// Cloth was moved from outside: what was tried on it before does not count. Retreats and widenings do: they are
    /// what a run has at most.
    pub fn start_again(&mut self) {
        *self = Self {
            steps: self.steps,
            resolvers: self.resolvers,
            retreats: self.retreats,
            has_retreated: self.has_retreated,
            widenings: self.widenings,
            ..Self::default()
        };
    }
}

/// What came of putting pieces in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// It has not been tried.
    #[default]
    Untried,
    /// It helped; this many segments of contours were left.
    Helped(usize),
    /// It did not help, or is finished.
    Over,
}

/// How a piece may be laid out; the second includes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LayOut {
    /// Flat, if it is at rest. Else it would lose a shape that is worth more than what strain is left.
    Flat,
    /// Flat or rebuilt.
    Anyhow,
}

impl Untangling {
    /// Whether a rung may act: nobody has left it out.
    pub(super) fn has_rung(&self, name: RungName) -> bool {
        !self.settings.without.contains(&LeftOut::Rung(name))
    }
}
