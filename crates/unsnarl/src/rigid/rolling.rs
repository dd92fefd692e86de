//! Rolling and spinning friction: a couple at a contact that sticks.
//!
//! The couple is at most a length times the normal impulse: one length about the normal (spinning), one across it
//! (rolling). It acts with the impulse that keeps the contact sticking, so its compliance is `A - B^T K^-1 B` with `A
//! = I^-1` and `B = -r* I^-1`, summed over both bodies. Moments are about the contact point. (Bridson 2003, 4.9)
//!
//! Guarantees: neither rolling nor spinning is reversed, and the deceleration does not depend on mass.
//! Departs: the text takes a coefficient times an impulse from an angular velocity, which depends on mass.

use super::motion::Moving;
use super::response::{cross_matrix, widest};
use crate::geometry::DVec3;
use crate::geometry::math::DMat3;

/// How a sticking contact answers a couple.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoupleCompliance {
    /// Relative velocity at the point per couple.
    mixed: DMat3,
    /// Relative spin per couple, while the contact sticks.
    sticking: DMat3,
    inverse: Option<DMat3>,
}

/// The largest couples, as lengths times the normal impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CoupleLengths {
    pub rolling: f64,
    pub spinning: f64,
}

impl CoupleLengths {
    pub(super) fn is_none(self) -> bool {
        self.rolling == 0.0 && self.spinning == 0.0
    }
}

impl CoupleCompliance {
    pub(super) fn of([a, b]: [&Moving; 2], arms: [DVec3; 2], k_inverse: &DMat3) -> Self {
        let mixed_of = |body: &Moving, arm: DVec3| cross_matrix(arm) * body.inverse_inertia * -1.0;
        let mixed = mixed_of(a, arms[0]) + mixed_of(b, arms[1]);
        let turning = a.inverse_inertia + b.inverse_inertia;
        let sticking = turning - mixed.transpose() * *k_inverse * mixed;
        let inverse = sticking.inverse();
        let is_regular = sticking.determinant() > 1e-9 * widest(&sticking).powi(3);
        Self { mixed, sticking, inverse: (is_regular && inverse.is_finite()).then_some(inverse) }
    }

    /// The couple that a contact should exert in all, from what it exerts now, the relative spin and the normal
    /// impulse.
    pub(super) fn couple(
        &self,
        now: DVec3,
        spin: DVec3,
        normal: DVec3,
        pressing: f64,
        lengths: CoupleLengths,
    ) -> DVec3 {
        let limit = |couple: DVec3| {
            let about = couple.dot(normal);
            let most = lengths.spinning * pressing;
            about.clamp(-most, most) * normal + (couple - about * normal).clamp_length_max(lengths.rolling * pressing)
        };
        if let Some(inverse) = &self.inverse {
            let stopping = now - *inverse * spin;
            if limit(stopping).abs_diff_eq(stopping, 1e-12 * stopping.length()) {
                return stopping;
            }
        }
        let scale = widest(&self.sticking);
        if scale > 0.0 { limit(now - spin / scale) } else { now }
    }

    /// The change of relative spin by a couple.
    pub(super) fn turn_by(&self, couple: DVec3) -> f64 {
        (self.sticking * couple).length()
    }

    /// The impulse that keeps the contact sticking under a couple.
    pub(super) fn holding_impulse(&self, couple: DVec3, k_inverse: &DMat3) -> DVec3 {
        *k_inverse * (self.mixed * couple * -1.0)
    }
}
