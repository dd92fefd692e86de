//! Whether untangling gets anywhere: red triangles first, then the length of the contours.

use crate::analysis::Tangle;
use unsnarl_geometry::DVec3;

/// What to do after a look at the tangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Take a step.
    Step,
    /// Cloth was moved without a step: look again.
    LookAgain,
    /// Nothing crosses and cloth is at rest.
    Done,
    /// No measure is left.
    GaveUp,
}

/// Watches for progress and keeps the best state.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    least: Option<(usize, f64)>,
    best: Option<Best>,
    steps_since: usize,
}

/// Cloth at the best moment so far.
#[derive(Clone, Debug)]
pub struct Best {
    /// How many triangles were red.
    pub red_triangles: usize,
    /// Where the cloth was.
    pub cloth: Vec<DVec3>,
}

impl Watch {
    /// Looks at a step and returns for how many steps nothing has become better.
    pub fn look(&mut self, tangle: &Tangle, positions: &[DVec3], cloth: &[DVec3]) -> usize {
        let length: f64 = tangle.contours.iter().map(|tangled| tangled.contour.length(positions)).sum();
        let red = tangle.colours.red_triangles.len();
        let better =
            self.least.is_none_or(|(least, shortest)| red < least || (red == least && length < 0.98 * shortest));
        if better {
            self.least = Some((red, length));
            self.best = Some(Best { red_triangles: red, cloth: cloth.to_vec() });
            self.steps_since = 0;
        } else {
            self.steps_since += 1;
        }
        self.steps_since
    }

    /// Counts from 0 again, after a stronger measure was taken.
    pub fn wait_again(&mut self) {
        self.steps_since = 0;
    }

    /// Forgets everything: cloth has been moved from outside.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// The best state so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }
}
