//! What an impulse does to the relative velocity of two bodies at a point, and the impulse of a collision with
//! friction.
//!
//! `K = delta/m + r*^T I^-1 r*` per body, their sum for a pair. (Bridson 2003, 4.6, 4.7)
//!
//! Guarantees: the impulse of a collision never adds energy for a restitution of at most 1, and never reverses
//! sliding.

use super::motion::Moving;
use crate::geometry::DVec3;
use crate::geometry::math::DMat3;

/// The matrix of `arm x`.
pub(super) fn cross_matrix(arm: DVec3) -> DMat3 {
    DMat3::from_cols(arm.cross(DVec3::X), arm.cross(DVec3::Y), arm.cross(DVec3::Z))
}

/// The change of relative velocity at a point per impulse there.
pub(super) fn compliance([a, b]: [&Moving; 2], arms: [DVec3; 2]) -> DMat3 {
    let of = |body: &Moving, arm: DVec3| {
        if body.inverse_mass == 0.0 {
            return DMat3::ZERO;
        }
        let cross = cross_matrix(arm);
        DMat3::from_diagonal(DVec3::splat(body.inverse_mass)) - cross * body.inverse_inertia * cross
    };
    of(a, arms[0]) + of(b, arms[1])
}

/// The impulse on the first body of a pair that approaches at `velocity` along a normal that points at it.
///
/// Sticks if the impulse that ends sliding lies in the cone of friction, else slides: `j = j_n (N - mu T)`. Where that
/// has no solution (slender bodies jam), or would reverse sliding or add energy: without friction first, then friction
/// in its cone.
pub(super) fn collision_impulse(k: &DMat3, velocity: DVec3, normal: DVec3, restitution: f64, friction: f64) -> DVec3 {
    let approach = velocity.dot(normal);
    let target = -restitution * approach;
    let adds_energy = |impulse: DVec3| {
        let scale = impulse.dot(*k * impulse);
        impulse.dot(velocity) + 0.5 * scale > 1e-12 * scale
    };
    let stick = k.inverse() * (target * normal - velocity);
    let along = stick.dot(normal);
    if stick.is_finite() && (stick - along * normal).length() <= friction * along && !adds_energy(stick) {
        return stick;
    }
    let across = k.mul_vec3(normal).dot(normal);
    let plain = (target - approach) / across * normal;
    if friction == 0.0 {
        return plain;
    }
    let tangential = |velocity: DVec3| velocity - velocity.dot(normal) * normal;
    let sliding = tangential(velocity).try_normalize().or_else(|| tangential(velocity + *k * plain).try_normalize());
    let Some(direction) = sliding else { return plain };
    let cone = normal - friction * direction;
    let weight = k.mul_vec3(cone).dot(normal);
    if weight > 1e-3 * across {
        let slide = (target - approach) / weight * cone;
        if (velocity + *k * slide).dot(direction) >= 0.0 && !adds_energy(slide) {
            return slide;
        }
    }
    let left = tangential(velocity + *k * plain);
    let rub = -left / widest(k);
    plain + rub.clamp_length_max(friction * plain.length())
}

/// At least the largest eigenvalue of a positive matrix.
pub(super) fn widest(k: &DMat3) -> f64 {
    let row = |v: DVec3| v.abs().element_sum();
    row(k.x_axis).max(row(k.y_axis)).max(row(k.z_axis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;

    /// Slender bodies at every angle, all frictions: no energy, no reversal, and approach becomes what restitution
    /// says.
    #[test]
    fn impulses_add_no_energy_reverse_no_sliding_and_stay_in_the_cone() {
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let moments = DVec3::new(random.between(0.01, 1.0), random.between(0.01, 1.0), random.between(0.01, 1.0));
            let body = Moving {
                velocity: DVec3::ZERO,
                spin: DVec3::ZERO,
                momentum: DVec3::ZERO,
                inverse_mass: 1.0,
                inverse_inertia: DMat3::from_diagonal(moments.recip()),
            };
            let still = Moving { inverse_mass: 0.0, inverse_inertia: DMat3::ZERO, ..body };
            let arm = random.direction() * random.between(0.0, 1.5);
            let k = compliance([&body, &still], [arm, DVec3::ZERO]);
            let normal = random.direction();
            let velocity = random.direction() * 2.0;
            if velocity.dot(normal) >= 0.0 {
                continue;
            }
            let (restitution, friction) = (random.unit(), random.between(0.0, 2.0));
            let j = collision_impulse(&k, velocity, normal, restitution, friction);
            let energy = j.dot(velocity) + 0.5 * j.dot(k * j);
            assert!(energy <= 1e-9, "energy {energy}");
            let pressing = j.dot(normal);
            assert!(pressing > 0.0 && (j - pressing * normal).length() <= friction * pressing * (1.0 + 1e-9) + 1e-12);
        }
    }

    /// Finite differences: the compliance is what impulses do to the velocity of a point.
    #[test]
    fn compliance_is_the_change_of_velocity_per_impulse() {
        let body = Moving {
            velocity: DVec3::new(0.3, -0.2, 0.9),
            spin: DVec3::new(1.0, 2.0, -0.5),
            momentum: DVec3::ZERO,
            inverse_mass: 0.4,
            inverse_inertia: DMat3::from_diagonal(DVec3::new(2.0, 3.0, 5.0)),
        };
        let arm = DVec3::new(0.2, -0.7, 0.4);
        let impulse = DVec3::new(0.6, 0.1, -0.8);
        let mut pushed = body;
        pushed.push(arm, impulse);
        let still = Moving { inverse_mass: 0.0, ..body };
        let expected = compliance([&body, &still], [arm, DVec3::ZERO]) * impulse;
        assert!((pushed.at(arm) - body.at(arm)).abs_diff_eq(expected, 1e-14));
    }
}
