//! Whether untangling gets anywhere: red triangles first, then the length of the contours.

use crate::analysis::{ContourKind, Tangle};
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
    /// Whether folds that bite into themselves count before anything red, as where they are to be undone by steps alone.
    folds_first: bool,
    least: Option<(usize, f64)>,
    best: Option<Best>,
    steps_since: usize,
    /// Red triangles when they last were a tenth fewer than before, and steps since then.
    pace: Option<(usize, usize)>,
    /// Looks so far.
    looks: usize,
    /// How long contours were when it began to watch, and are now, metres.
    lengths: Option<[f64; 2]>,
}

/// Cloth at the best moment so far.
#[derive(Clone, Debug)]
pub struct Best {
    /// How bad it was: red triangles, and folds before them where they count first.
    pub badness: usize,
    /// Where the cloth was.
    pub cloth: Vec<DVec3>,
}

/// What a fold counts, in red triangles, where folds count first.
const FOLD: usize = 1_000_000;

impl Watch {
    /// Watches from now on; whether folds count first.
    pub fn new(folds_first: bool) -> Self {
        Self { folds_first, ..Self::default() }
    }

    /// How bad a tangle is.
    pub fn badness(&self, tangle: &Tangle) -> usize {
        let folds = if self.folds_first { tangle.count(ContourKind::Bli) } else { 0 };
        tangle.colours.red_triangles.len() + FOLD * folds
    }

    /// Looks at a step and returns for how many steps nothing has become better.
    pub fn look(&mut self, tangle: &Tangle, positions: &[DVec3], cloth: &[DVec3]) -> usize {
        let length: f64 = tangle.contours.iter().map(|tangled| tangled.contour.length(positions)).sum();
        let red = self.badness(tangle);
        self.looks += 1;
        self.lengths = Some([self.lengths.map_or(length, |[first, _]| first), length]);
        self.pace = match self.pace {
            Some((mark, steps)) if 10 * red > 9 * mark => Some((mark, steps + 1)),
            _ => Some((red, 0)),
        };
        let better =
            self.least.is_none_or(|(least, shortest)| red < least || (red == least && length < 0.98 * shortest));
        if better {
            self.least = Some((red, length));
            self.best = Some(Best { badness: red, cloth: cloth.to_vec() });
            self.steps_since = 0;
        } else {
            self.steps_since += 1;
        }
        self.steps_since
    }

    /// Whether red triangles have not become a tenth fewer for so many steps, or it took three times as many in all.
    pub fn is_slow(&self, patience: usize) -> bool {
        self.looks > 3 * patience || self.pace.is_some_and(|(_, steps)| steps > patience)
    }

    /// Whether contours have become twice as long since it began to watch.
    pub fn is_spreading(&self) -> bool {
        self.lengths.is_some_and(|[first, now]| now > 2.0 * first)
    }

    /// Counts from 0 again, after a stronger measure was taken.
    pub fn wait_again(&mut self) {
        self.steps_since = 0;
        self.pace = None;
        self.lengths = None;
        self.looks = 0;
    }

    /// Forgets everything: cloth has been moved from outside.
    pub fn reset(&mut self) {
        *self = Self::new(self.folds_first);
    }

    /// The best state so far.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn contours_that_grow_and_looks_without_end_are_noticed() {
        let recipe = Recipe { resolution: 10, cut: Cut::Regular, seed: 1 };
        let mesh = samples::find("closed").unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth("closed", &mesh).unwrap();
        let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
        let larger: Vec<DVec3> = mesh.positions.iter().map(|place| 2.1 * *place).collect();
        let mut watch = Watch::default();
        watch.look(&tangle, &mesh.positions, &mesh.positions);
        assert!(!watch.is_spreading() && !watch.is_slow(4));
        watch.look(&analyze(&assembly, &larger, &mut Workspace::default()), &larger, &larger);
        assert!(watch.is_spreading());
        watch.wait_again();
        assert!(!watch.is_spreading());
        let mut fewer = tangle.clone();
        for look in 1..=13 {
            // A tenth fewer every time, so that only their number tells.
            fewer.colours.red_triangles.truncate(fewer.colours.red_triangles.len() * 8 / 10);
            watch.look(&fewer, &mesh.positions, &mesh.positions);
            assert_eq!(watch.is_slow(4), look > 12, "look {look}");
        }
    }
}
