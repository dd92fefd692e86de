//! One order of states, by which everything in `fix` is judged.
//!
//! | rank | what | better |
//! |---|---|---|
//! | 1 | drawn out: something crosses, and the 99th percentile of stretch exceeds 2 and the input's | no |
//! | 2 | pairs of triangles that meet, but for what bodies pinch | fewer |
//! | 3 | strain beyond what cloth may bear, in hundredths | less |
//! | 4 | mean displacement from the input | less |
//!
//! Strain is the larger of how far triangles are stretched and edges compressed, but for one in a hundred. Cloth may
//! bear 1.1, or what the input had if that was more and no worse than a worn garment.

use super::report::Spread;
use crate::model::Model;
use std::cmp::Ordering;
use unsnarl_geometry::DVec3;

/// Cloth stretched and compressed by less than this factor, but for one triangle in a hundred, is not strained.
pub(super) const UNSTRAINED: f64 = 1.1;
/// No worn garment is stretched by more.
pub(super) const WORN: f64 = 1.5;
/// Cloth stretched by more, and more than it was, is drawn out.
const DRAWN_OUT: f64 = 2.0;

/// How good a state is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Pairs of triangles that meet, but for what bodies pinch.
    pub pairs: usize,
    /// The 99th percentile of stretch.
    pub stretch: f64,
    /// Stretch or compression, whichever is more.
    pub strain: f64,
    /// The mean displacement from the input, metres.
    pub displacement: f64,
}

/// What states are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Standard {
    input_stretch: f64,
}

impl Standard {
    /// By the input.
    pub fn new(model: &Model, input: &[DVec3]) -> Self {
        Self { input_stretch: Spread::of_stretch(model, input).p99 }
    }

    /// How strained cloth may stay.
    pub fn bearable(&self) -> f64 {
        if self.input_stretch > WORN { UNSTRAINED } else { UNSTRAINED.max(self.input_stretch) }
    }

    /// Whether the input had a shape that is worth keeping.
    pub fn has_shape(&self) -> bool {
        self.input_stretch <= WORN
    }

    /// The better state is the lesser.
    pub fn compare(&self, a: &Score, b: &Score) -> Ordering {
        let key = |score: &Score| {
            let is_drawn_out = score.pairs > 0 && score.stretch > DRAWN_OUT.max(self.input_stretch);
            let excess = (100.0 * (score.strain / self.bearable()).clamp(1.0, 1e6)).round() as u64;
            (is_drawn_out, score.pairs, excess)
        };
        key(a).cmp(&key(b)).then(a.displacement.total_cmp(&b.displacement))
    }
}

impl Score {
    /// Of cloth in which so many pairs meet.
    pub fn of(model: &Model, positions: &[DVec3], input: &[DVec3], pairs: usize) -> Self {
        let (stretch, edges) = (Spread::of_stretch(model, positions), Spread::of_edges(model, positions));
        let ways: f64 = positions.iter().zip(input).map(|(now, then)| now.distance(*then)).sum();
        Self {
            pairs,
            stretch: stretch.p99,
            strain: stretch.p99.max(1.0 / edges.p01.max(f64::MIN_POSITIVE)),
            displacement: ways / positions.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Score = Score { pairs: 0, stretch: 1.05, strain: 1.05, displacement: 0.1 };

    #[test]
    fn pairs_come_first_then_strain_then_displacement() {
        let standard = Standard { input_stretch: 1.0 };
        let crossing = Score { pairs: 1, ..GOOD };
        let strained = Score { strain: 1.3, ..GOOD };
        let far = Score { displacement: 0.2, ..GOOD };
        assert_eq!(standard.compare(&GOOD, &crossing), Ordering::Less);
        assert_eq!(standard.compare(&strained, &crossing), Ordering::Less);
        assert_eq!(standard.compare(&far, &strained), Ordering::Less);
        assert_eq!(standard.compare(&GOOD, &far), Ordering::Less);
    }

    #[test]
    fn strain_that_cloth_may_bear_is_none() {
        let standard = Standard { input_stretch: 1.3 };
        let near = Score { strain: 1.25, displacement: 0.0, ..GOOD };
        assert_eq!(standard.compare(&near, &GOOD), Ordering::Less);
    }

    #[test]
    fn drawn_out_cloth_that_still_crosses_is_worse_than_any_input() {
        let standard = Standard { input_stretch: 1.0 };
        let input = Score { pairs: 900, stretch: 1.0, strain: 1.0, displacement: 0.0 };
        let drawn_out = Score { pairs: 2, stretch: 3.0, strain: 3.0, displacement: 0.1 };
        assert_eq!(standard.compare(&input, &drawn_out), Ordering::Less);
        assert_eq!(standard.compare(&Score { pairs: 0, ..drawn_out }, &input), Ordering::Less);
    }
}
