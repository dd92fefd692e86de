//! What a step of rigid bodies did.

use serde::{Deserialize, Serialize};

/// Counts and measures of one call of [`super::advance`]; of several, by [`Report::merge`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Steps that the time was split into.
    pub steps: usize,
    /// Pairs of bodies that were near each other, in the last step.
    pub pairs: usize,
    /// Points that contact watched, in the last step.
    pub points: usize,
    /// Impulses of collisions.
    pub collision_impulses: usize,
    /// Impulses of contact.
    pub contact_impulses: usize,
    /// Impulses of shock propagation.
    pub shock_impulses: usize,
    /// Levels of the contact graph in the last step, static bodies included.
    pub levels: usize,
    /// Deepest point of one body in another at the end, metres.
    pub deepest: f64,
    /// Largest speed of a point of a simulated body at the end, m/s.
    pub fastest: f64,
    /// Kinetic energy of simulated bodies at the end, joules.
    pub kinetic_energy: f64,
    /// Potential energy in gravity, of centres above the world's origin, at the end, joules.
    pub potential_energy: f64,
    /// Simulated bodies whose position or velocity is no longer a number; they are held where they were.
    pub lost: usize,
}

impl Report {
    /// Adds what happened later: counts add up, measures are those of the later report, depth is the larger one.
    pub fn merge(self, later: Self) -> Self {
        Self {
            steps: self.steps + later.steps,
            collision_impulses: self.collision_impulses + later.collision_impulses,
            contact_impulses: self.contact_impulses + later.contact_impulses,
            shock_impulses: self.shock_impulses + later.shock_impulses,
            deepest: self.deepest.max(later.deepest),
            ..later
        }
    }
}
