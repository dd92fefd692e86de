//! The ledger of a run: what was done, what was tried, and what came of it. Every rung asks it before it acts again.

use super::rungs::RungName;
use super::{ResolverCounts, Untangling};
use crate::fix::{LeftOut, Writers};

/// What was done so far.
#[derive(Default)]
pub(super) struct Ledger {
    /// Steps taken.
    pub steps: usize,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Who wrote positions, and how often.
    pub writers: Writers,
    /// Who writes now; `None` is a return to an earlier state.
    pub writer: Option<&'static str>,
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
            writers: std::mem::take(&mut self.writers),
            writer: self.writer,
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
    /// Does something of which the report is to say that this one wrote.
    pub(super) fn writing<R>(&mut self, writer: &'static str, act: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.ledger.writer.replace(writer);
        let done = act(self);
        self.ledger.writer = before;
        done
    }

    /// Whether a rung may act: nobody has left it out.
    pub(super) fn has_rung(&self, name: RungName) -> bool {
        !self.settings.without.contains(&LeftOut::Rung(name))
    }
}
