//! Who wrote positions, and how often: the part of the report that says what did the work.

use serde::Serialize;
use std::collections::BTreeMap;

/// Counts by writer: `step`, the rungs of steps and the measures by their names, `return` for going back to an earlier
/// state of the same run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Writers(BTreeMap<&'static str, usize>);

impl Writers {
    /// A step of dynamics and contact.
    pub const STEP: &'static str = "step";
    /// Back to an earlier state of the same run.
    pub const RETURN: &'static str = "return";

    /// One of them wrote.
    pub fn note(&mut self, writer: &'static str) {
        *self.0.entry(writer).or_default() += 1;
    }

    /// How often one wrote.
    pub fn count(&self, writer: &str) -> usize {
        self.0.get(writer).copied().unwrap_or_default()
    }

    /// All that wrote, in the order of the alphabet.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }

    /// Adds what others wrote.
    pub fn join(&mut self, other: &Self) {
        for (writer, count) in &other.0 {
            *self.0.entry(writer).or_default() += count;
        }
    }
}
