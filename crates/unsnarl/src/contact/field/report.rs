//! What the field did, in one step and in a frame.

use serde::Serialize;

/// What the field did in a step. Speeds are m/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FieldReport {
    /// Nodes that were stored.
    pub voxels: usize,
    /// Cells or nodes with a row.
    pub cells_constrained: usize,
    /// Connected parts of them.
    pub components: usize,
    /// Iterations of the solver.
    pub solver_iterations: u32,
    /// How often the set of rows that push was changed.
    pub active_rounds: u32,
    /// What was left of the residual, as a share.
    pub residual: f64,
    /// The least rate of stretch of a row after the solve, 1/s.
    pub least_divergence: f64,
    /// The most that a row lacked before the solve, times the distance between nodes.
    pub closing_speed_before: f64,
    /// The same after it.
    pub closing_speed_after: f64,
    /// What cloth gained or lost in momentum, as a share of all changes.
    pub momentum_error: f64,
    /// How far edges that were carried differ from the lengths that dynamics proposed: the 99th percentile, as a share.
    pub edge_error: f64,
    /// Vertices that were moved away from their proposal.
    pub carried_vertices: usize,
    /// Steps that went on without the field, because it would have had too many nodes.
    pub refused: u32,
}

impl FieldReport {
    /// The report of a frame, or of the passes of a step: the worst and largest of each, work added up.
    pub fn join(self, other: Self) -> Self {
        Self {
            voxels: self.voxels.max(other.voxels),
            cells_constrained: self.cells_constrained.max(other.cells_constrained),
            components: self.components.max(other.components),
            solver_iterations: self.solver_iterations + other.solver_iterations,
            active_rounds: self.active_rounds + other.active_rounds,
            residual: self.residual.max(other.residual),
            least_divergence: self.least_divergence.min(other.least_divergence),
            closing_speed_before: self.closing_speed_before.max(other.closing_speed_before),
            closing_speed_after: self.closing_speed_after.max(other.closing_speed_after),
            momentum_error: self.momentum_error.max(other.momentum_error),
            edge_error: self.edge_error.max(other.edge_error),
            carried_vertices: self.carried_vertices.max(other.carried_vertices),
            refused: self.refused + other.refused,
        }
    }
}
