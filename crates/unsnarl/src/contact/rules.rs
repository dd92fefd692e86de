//! Which pairs contact treats differently: the untangler lets some cross and keeps others farther apart.

use crate::geometry::ccd::ElementPair;

/// What contact does with a pair of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Kept apart by the separation of the settings, repelled within the thickness.
    Ordinary,
    /// Left alone: neither repelled nor stopped.
    MayCross,
    /// Kept apart by this distance, metres, and repelled within it if it exceeds the thickness.
    Separation(f64),
}

/// The rule of every pair. Asked often and from several threads: it should be quick.
pub trait PairRules: Sync {
    /// What to do with a pair.
    fn rule(&self, pair: ElementPair) -> Rule;

    /// No [`Rule::Separation`] exceeds this.
    fn largest_separation(&self) -> f64;
}

/// Every pair is ordinary.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrdinaryRules;

impl PairRules for OrdinaryRules {
    fn rule(&self, _pair: ElementPair) -> Rule {
        Rule::Ordinary
    }

    fn largest_separation(&self) -> f64 {
        0.0
    }
}
