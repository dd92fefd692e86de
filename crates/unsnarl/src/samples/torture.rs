//! Tortures: maps that drive a real garment through itself.
//!
//! A map of space that keeps points apart cannot tangle anything, so each of these lets parts of space overlap: waves that
//! are steeper than they are long, a garment folded up like an accordion while it is turned, a sleeve swung into the
//! bodice.
//!
//! Guarantees: positions in, as many positions out, relative to the garment's own size; the same seed gives the same.
//! Does not: keep lengths; the rest shape is the garment as it was.

use super::random::Random;
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{Aabb, DVec3};

/// What is done to a garment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torture {
    /// Pushed together by random waves.
    Scrunched,
    /// Turned about the vertical and folded up on itself.
    Twisted,
    /// The side towards +x swung forward and into the rest.
    SleeveThrough,
}

impl Torture {
    /// All of them, with their names on the command line and a line about each.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Scrunched, "tortured-scrunched", "a garment pushed together by random waves"),
        (Self::Twisted, "tortured-twisted", "a garment wrung and folded up on itself"),
        (Self::SleeveThrough, "tortured-sleeve", "a garment with one sleeve pushed through its bodice"),
    ];
}

/// The garment's positions after the torture.
pub fn torture(positions: &[DVec3], torture: Torture, seed: u64) -> Vec<DVec3> {
    let bounds = Aabb::of_points(positions.iter().copied());
    if bounds.is_empty() {
        return positions.to_vec();
    }
    match torture {
        Torture::Scrunched => scrunched(positions, bounds, seed),
        Torture::Twisted => twisted(positions, bounds, seed),
        Torture::SleeveThrough => sleeve_through(positions, bounds, seed),
    }
}

fn scrunched(positions: &[DVec3], bounds: Aabb, seed: u64) -> Vec<DVec3> {
    let size = bounds.extent().max_element();
    let mut random = Random::new(seed.wrapping_add(41));
    let waves: Vec<(DVec3, f64, DVec3)> = (0..8)
        .map(|_| {
            let length = random.between(0.25, 0.5) * size;
            (random.direction() * TAU / length, random.between(0.0, TAU), random.direction() * 0.05 * size)
        })
        .collect();
    let pushed = |place: DVec3| -> DVec3 {
        waves.iter().map(|&(along, phase, push)| push * (place.dot(along) + phase).sin()).sum()
    };
    let center = bounds.center();
    positions.iter().map(|&place| center + 0.75 * (place - center) + pushed(place)).collect()
}

fn twisted(positions: &[DVec3], bounds: Aabb, seed: u64) -> Vec<DVec3> {
    let height = bounds.extent().y;
    let center = bounds.center();
    let start = Random::new(seed.wrapping_add(43)).between(0.0, TAU);
    let twist = |place: DVec3| {
        let level = (place.y - center.y) / height.max(f64::MIN_POSITIVE);
        let folded = 0.5 * level + 0.2 * (TAU * level + start).sin();
        let turned = DQuat::from_rotation_y(0.9 * PI * level) * DVec3::new(place.x - center.x, 0.0, place.z - center.z);
        center + turned + DVec3::new(0.0, height * folded, 0.0)
    };
    positions.iter().map(|&place| twist(place)).collect()
}

/// Swings what lies beyond the shoulder about a vertical axis through it, by most of a half turn.
fn sleeve_through(positions: &[DVec3], bounds: Aabb, seed: u64) -> Vec<DVec3> {
    let (center, extent) = (bounds.center(), bounds.extent());
    let shoulder = DVec3::new(center.x + 0.22 * extent.x, center.y, center.z);
    let angle = -Random::new(seed.wrapping_add(47)).between(0.8, 0.95) * PI;
    let swing = |place: DVec3| {
        let beyond = ((place.x - shoulder.x) / (0.12 * extent.x)).clamp(0.0, 1.0);
        let share = beyond * beyond * (3.0 - 2.0 * beyond);
        shoulder + DQuat::from_rotation_y(share * angle) * (place - shoulder)
    };
    positions.iter().map(|&place| swing(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tortures_depend_on_their_seed_alone_and_scale_with_the_garment() {
        let positions: Vec<DVec3> =
            (0..50).map(|i| DVec3::new(f64::from(i) * 0.01, f64::from(i % 7) * 0.1, 0.3)).collect();
        let doubled: Vec<DVec3> = positions.iter().map(|&place| 2.0 * place).collect();
        for (kind, name, _) in Torture::ALL {
            let once = torture(&positions, kind, 5);
            assert_eq!(once, torture(&positions, kind, 5));
            assert_ne!(once, torture(&positions, kind, 6), "{name}");
            for (small, large) in once.iter().zip(torture(&doubled, kind, 5)) {
                if kind != Torture::Scrunched {
                    assert!((2.0 * *small - large).length() < 1e-12, "{name}");
                }
            }
        }
        assert!(torture(&[], Torture::Scrunched, 1).is_empty());
    }
}
