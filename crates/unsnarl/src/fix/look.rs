//! What is known about a state: facts that measures decide by, and never change.

use super::score::Score;
use crate::analysis::Verdict;
use unsnarl_geometry::DVec3;

/// A state of the cloth and what was found out about it.
#[derive(Clone, Debug)]
pub struct Look {
    /// Where the cloth is.
    pub positions: Vec<DVec3>,
    /// Every pair that meets there.
    pub verdict: Verdict,
    /// How good it is.
    pub score: Score,
    /// Pairs of triangles of one and the same piece that meet.
    pub self_pairs: usize,
    /// Whether a closed surface crosses itself or something else of the cloth.
    pub closed_crosses: bool,
    /// Whether this is the input.
    pub is_input: bool,
    /// Whether the input had a shape that is worth keeping.
    pub has_shape: bool,
    /// Whether cloth is more strained than it may stay.
    pub is_strained: bool,
}

impl Look {
    /// Whether something crosses that should not.
    pub fn is_tangled(&self) -> bool {
        self.score.pairs > 0
    }

    /// Pairs in which pieces meet themselves, per vertex. Pieces that cross each other are put in order instead.
    pub fn density(&self) -> f64 {
        self.self_pairs as f64 / self.positions.len().max(1) as f64
    }
}
