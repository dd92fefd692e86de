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
    /// Red triangles when they last were a tenth fewer than before, and steps since then.
    pace: Option<(usize, usize)>,
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
        self.pace = match self.pace {
            Some((mark, steps)) if 10 * red > 9 * mark => Some((mark, steps + 1)),
            _ => Some((red, 0)),
        };
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

    /// Whether red triangles have not become a tenth fewer for so many steps.
    pub fn is_slow(&self, patience: usize) -> bool {
        self.pace.is_some_and(|(_, steps)| steps > patience)
    }

    /// Counts from 0 again, after a stronger measure was taken.
    pub fn wait_again(&mut self) {
        self.steps_since = 0;
        self.pace = None;
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
