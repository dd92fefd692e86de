//! Weights of Loop's scheme, of a variant with bounded curvature, and of the butterfly.
//!
//! Around an inner vertex of valence n the new vertices of its edges are a circulant of the ring, `e_i = a v + sum_j
//! b_(j-i) r_j`, with eigenvalues `lambda_k = sum_j b_j cos(2 pi j k/n)`. Loop has `b_0 = 3/8`, `b_1 = b_-1 = 1/8`,
//! so `lambda_k = 3/8 + cos(2 pi k/n)/4`; beyond n = 6 `lambda_2 > lambda_1^2` and curvature grows without bound,
//! below it is smaller and the surface is flat there.
//!
//! [`Scheme::BoundedCurvature`] prescribes the spectrum: `lambda_1` as in Loop, `lambda_k = lambda_1^k` for all
//! further ones, so that `lambda_2 = lambda_1^2`; the weights are its inverse transform, a Poisson kernel on the
//! ring, which is positive. The weight of the center, a = 1 - lambda_0, is the largest that leaves every weight at 0
//! or more, at most Loop's 3/8; the ring's weight in the vertex rule follows from it, so that the second eigenvalue
//! of the constant mode is `lambda_1^2` too.
//!
//! Guarantees: n = 3 and n = 6 are Loop's masks; no weight is negative (conditions of Loop 2001: bounded curvature
//! and the convex-hull property).
//! Departs: the report of 2001 was not at hand; its conditions are met by other weights than its own, and beyond
//! n = 6 the vertex rule changes as well, because no circulant with a = 3/8 fulfils them.

use std::f64::consts::TAU;

/// Which masks smooth the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Loop's masks of 1987.
    #[default]
    Loop,
    /// Masks with bounded curvature at vertices of valence 4 up to [`LARGEST_BOUNDED_VALENCE`]; Loop's at 3 and beyond.
    BoundedCurvature,
}

/// Beyond this valence the masks are Loop's: a mask of the whole ring for each of its edges would take time with the
/// square.
pub const LARGEST_BOUNDED_VALENCE: usize = 64;

/// The weight of every ring vertex in Loop's rule for inner vertices: `(5/8 - (3/8 + cos(2 pi/n)/4)^2) / n`.
pub fn loop_ring_weight(valence: usize) -> f64 {
    (0.625 - loop_eigenvalue(valence, 1).powi(2)) / valence as f64
}

/// The eigenvalue of Loop's ring at a frequency: `3/8 + cos(2 pi k/n)/4`.
pub fn loop_eigenvalue(valence: usize, frequency: usize) -> f64 {
    0.375 + 0.25 * (TAU * frequency as f64 / valence as f64).cos()
}

/// The masks around an inner vertex of some valence.
#[derive(Clone, Debug, PartialEq)]
pub struct RingMask {
    /// The weight of each ring vertex in the rule of the vertex itself; what is left is the vertex's own.
    pub ring_weight: f64,
    /// The weight of the vertex in the rule of its edges.
    pub edge_center: f64,
    /// The weights of the ring in the rule of an edge, from the edge's own end around.
    pub edge_ring: Vec<f64>,
}

impl RingMask {
    /// Loop's.
    pub fn of_loop(valence: usize) -> Self {
        let mut edge_ring = vec![0.0; valence];
        edge_ring[0] += 0.375;
        edge_ring[1 % valence] += 0.125;
        edge_ring[valence - 1] += 0.125;
        Self { ring_weight: loop_ring_weight(valence), edge_center: 0.375, edge_ring }
    }

    /// With bounded curvature; see the module.
    pub fn bounded(valence: usize) -> Self {
        if valence <= 3 || valence == 6 || valence > LARGEST_BOUNDED_VALENCE {
            return Self::of_loop(valence);
        }
        let subdominant = loop_eigenvalue(valence, 1);
        let count = valence as f64;
        // The inverse transform of the spectrum, with 1 at frequency 0.
        let weight = |at: usize| {
            let term = |frequency: usize| {
                let power = frequency.min(valence - frequency) as i32;
                subdominant.powi(power) * (TAU * (at * frequency % valence) as f64 / count).cos()
            };
            (0..valence).map(term).sum::<f64>() / count
        };
        let mut edge_ring: Vec<f64> = (0..=valence / 2).map(weight).collect();
        let least = edge_ring.iter().copied().fold(f64::INFINITY, f64::min);
        let edge_center = (count * least).clamp(0.0, 0.375);
        for own in &mut edge_ring {
            *own = (*own - edge_center / count).max(0.0);
        }
        // The two ways around are alike, bit for bit.
        let other_way: Vec<f64> = (valence / 2 + 1..valence).map(|at| edge_ring[valence - at]).collect();
        edge_ring.extend(other_way);
        Self { ring_weight: (1.0 - edge_center - subdominant.powi(2)) / count, edge_center, edge_ring }
    }
}

/// Weights of the butterfly around an inner vertex: of the ring from the edge's own end around; the vertex has 3/4.
/// (Zorin, Schröder and Sweldens 1996)
pub fn butterfly_ring_weight(valence: usize, at: usize) -> f64 {
    match (valence, at) {
        (3, 0) => 5.0 / 12.0,
        (3, _) => -1.0 / 12.0,
        (4, 0) => 3.0 / 8.0,
        (4, 2) => -1.0 / 8.0,
        (4, _) => 0.0,
        _ => {
            let turn = TAU * at as f64 / valence as f64;
            (0.25 + turn.cos() + 0.5 * (2.0 * turn).cos()) / valence as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eigenvalue(mask: &RingMask, frequency: usize) -> f64 {
        let count = mask.edge_ring.len();
        let turn = |at: usize| (TAU * (at * frequency) as f64 / count as f64).cos();
        (0..count).map(|at| mask.edge_ring[at] * turn(at)).sum()
    }

    #[test]
    fn the_known_weights_of_valence_three_and_six() {
        assert!((loop_ring_weight(3) - 3.0 / 16.0).abs() < 1e-15);
        assert!((loop_ring_weight(6) - 1.0 / 16.0).abs() < 1e-15);
    }

    #[test]
    fn loops_spectrum_is_the_closed_form() {
        for valence in 3..=12 {
            let mask = RingMask::of_loop(valence);
            for frequency in 1..valence {
                let expected = 0.375 + 0.25 * (TAU * frequency as f64 / valence as f64).cos();
                assert!((eigenvalue(&mask, frequency) - expected).abs() < 1e-12, "{valence} {frequency}");
            }
        }
    }

    #[test]
    fn the_bounded_masks_fulfil_every_condition_up_to_the_largest_valence() {
        for valence in 3..=LARGEST_BOUNDED_VALENCE {
            let mask = RingMask::bounded(valence);
            let first = loop_eigenvalue(valence, 1);
            assert!(mask.edge_ring.iter().all(|&weight| weight >= 0.0), "{valence}: {:?}", mask.edge_ring);
            assert!(mask.edge_center >= 0.0 && mask.ring_weight >= 0.0, "{valence}");
            assert!(valence as f64 * mask.ring_weight <= 1.0, "{valence}");
            let total = mask.edge_center + mask.edge_ring.iter().sum::<f64>();
            assert!((total - 1.0).abs() < 1e-12, "{valence}: {total}");
            assert!((eigenvalue(&mask, 1) - first).abs() < 1e-12, "{valence}");
            if valence > 3 {
                assert!((eigenvalue(&mask, 2) - first * first).abs() < 1e-12 || valence == 6, "{valence}");
            }
            for frequency in 2..=valence - 2 {
                assert!(eigenvalue(&mask, frequency) <= first * first + 1e-12, "{valence} {frequency}");
            }
            // The constant mode of vertex and ring together: 1, and this.
            let constant = 1.0 - mask.edge_center - valence as f64 * mask.ring_weight;
            assert!((constant - first * first).abs() < 1e-12, "{valence}: {constant}");
        }
        assert_eq!(RingMask::bounded(6), RingMask::of_loop(6));
    }

    #[test]
    fn loop_itself_has_unbounded_curvature_beyond_six() {
        for valence in 7..=12 {
            assert!(eigenvalue(&RingMask::of_loop(valence), 2) > loop_eigenvalue(valence, 1).powi(2));
        }
    }

    #[test]
    fn butterfly_weights_sum_to_a_quarter() {
        for valence in 3..=12 {
            let total: f64 = (0..valence).map(|at| butterfly_ring_weight(valence, at)).sum();
            assert!((total - 0.25).abs() < 1e-14, "{valence}: {total}");
        }
    }
}
