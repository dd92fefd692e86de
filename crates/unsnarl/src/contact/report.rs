//! What contact did in one step.

/// Counts of one step. Distances are metres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactReport {
    /// Pairs whose boxes met and that were tested over the motion, all rounds together.
    pub tested_pairs: usize,
    /// Pairs within thickness at the start.
    pub proximities: usize,
    /// The smallest distance among them.
    pub smallest_gap: Option<f64>,
    /// Proximities that received an impulse.
    pub repulsions: usize,
    /// Colliding pairs, all rounds together.
    pub collisions: usize,
    /// Rounds of impulses.
    pub impulse_rounds: usize,
    /// Vertices of each impact zone, in the order of their smallest vertex.
    pub zones: Vec<usize>,
    /// Zones that had to fall back from affine to rigid motion.
    pub rigid_fallbacks: usize,
    /// Rounds of growing zones.
    pub zone_rounds: usize,
    /// Vertices that the last resort slowed down or stopped.
    pub slowed_vertices: usize,
    /// Colliding pairs that nothing could separate, because prescribed vertices meet in them.
    pub unresolved: usize,
    /// Pairs that touched at the start already, which contact cannot keep apart.
    pub touching_at_start: usize,
}

impl ContactReport {
    /// Adds the work of an earlier pass of the same step. What is left, the zones and the gaps are those of the last pass.
    pub fn join(&mut self, earlier: &Self) {
        self.tested_pairs += earlier.tested_pairs;
        self.repulsions += earlier.repulsions;
        self.collisions += earlier.collisions;
        self.impulse_rounds += earlier.impulse_rounds;
        self.zone_rounds += earlier.zone_rounds;
    }
}
