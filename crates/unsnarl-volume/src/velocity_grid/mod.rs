//! Velocities on a sparse lattice, and the solves that keep air from being squeezed. (Buffet 2021, 3.2 and 3.3)
//!
//! Nodes lie at `spacing * (i, j, k)` and are stored only where somebody wants them ([`NodeSet`]). A [`Row`] is one
//! linear condition on the velocities of a few nodes: a divergence, or the rate of stretch along given directions
//! (`Q : grad u`). [`project`] finds the velocities nearest to given ones, weighted by mass, that satisfy
//! `row(u) >= source`; [`least_squares`] is the published form with weighted squares. [`Reached`] sorts what is spread
//! over nodes by blocks, so that every node gathers in the order of its items.
//!
//! Guarantees: rows of symmetric `Q` vanish for rigid motions, so that a projection keeps linear and angular momentum;
//! results are the same bits on any number of threads.
//! Does not: know cloth, bodies or time.
//! Departs: one-sided and weighted by mass, on cells; the published form weights squares and is collocated.

mod least_squares;
mod nodes;
mod project;
mod reached;
mod stencil;
mod sums;
#[cfg(test)]
mod tests;

pub use least_squares::{LeastSquares, least_squares};
pub use nodes::{Corners, NodeSet};
pub use project::{Projected, Projection, Sense, project};
pub use reached::Reached;
pub use stencil::{Row, cell_row, central_row, corner_offset};

/// How far a solve goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The residual at which it stops, as a share of the one at the start.
    pub tolerance: f64,
    /// Iterations at most.
    pub iterations: u32,
}
