//! Tortures: maps that drive a real garment through itself.
//!
//! A map of space that keeps points apart cannot tangle anything, so each of these lets parts of space overlap: waves
//! that are steeper than they are long, a garment folded up like an accordion while it is turned, a sleeve swung into
//! the bodice; or a garment falls on a ball and nothing keeps it from passing through itself.
//!
//! Guarantees: as many positions out as in, relative to the garment's own size; the same seed gives the same.
//! Does not: keep lengths (only the fall nearly does); the rest shape is the garment as it was.

use super::random::Random;
use crate::analysis::ContourKind;
use crate::bodies::Body;
use crate::bodies::keyframes::Keyframes;
use crate::bodies::shape::Shape;
use crate::contact::CollisionMethod;
use crate::model::{Cloth, Model, ModelError};
use crate::scene::environment::Environment;
use crate::settings::Settings;
use crate::simulation::{Flow, Simulation, World};
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{Aabb, DVec3, TriMesh};

/// What is done to a garment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torture {
    /// Pushed together by random waves.
    Scrunched,
    /// Turned about the vertical and folded up on itself.
    Twisted,
    /// The side towards +x swung forward and into the rest.
    SleeveThrough,
    /// Turned at random and dropped on a ball, with nothing to keep it from passing through itself.
    Dropped,
}

/// A torture as it is offered.
pub struct TortureCase {
    /// What is done.
    pub kind: Torture,
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The type of contour that a garment of its sort is left with, at least once, among others.
    pub promise: ContourKind,
}

/// All tortures.
pub const CASES: [TortureCase; 4] = [
    TortureCase {
        kind: Torture::Scrunched,
        name: "tortured-scrunched",
        about: "a garment pushed together by random waves",
        promise: ContourKind::Ll,
    },
    TortureCase {
        kind: Torture::Twisted,
        name: "tortured-twisted",
        about: "a garment wrung and folded up on itself",
        promise: ContourKind::Ll,
    },
    TortureCase {
        kind: Torture::SleeveThrough,
        name: "tortured-sleeve",
        about: "a garment with one sleeve pushed through its bodice",
        promise: ContourKind::Bli,
    },
    TortureCase {
        kind: Torture::Dropped,
        name: "tortured-dropped",
        about: "a garment dropped on a ball, free to pass through itself",
        promise: ContourKind::Closed,
    },
];

/// The garment's positions after the torture. Only a fall can fail: cloth that cannot be simulated.
pub fn torture(garment: &TriMesh, torture: Torture, seed: u64) -> Result<Vec<DVec3>, ModelError> {
    let bounds = garment.bounds();
    if bounds.is_empty() {
        return Ok(garment.positions.clone());
    }
    Ok(match torture {
        Torture::Scrunched => scrunched(&garment.positions, bounds, seed),
        Torture::Twisted => twisted(&garment.positions, bounds, seed),
        Torture::SleeveThrough => sleeve_through(&garment.positions, bounds, seed),
        Torture::Dropped => dropped(garment, bounds, seed)?,
    })
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

/// Swings what lies beyond the shoulder, in the upper half, about an upright axis through it, by most of a half turn.
fn sleeve_through(positions: &[DVec3], bounds: Aabb, seed: u64) -> Vec<DVec3> {
    let (center, extent) = (bounds.center(), bounds.extent());
    let shoulder = DVec3::new(center.x + 0.29 * extent.x, center.y + 0.3 * extent.y, center.z);
    let mut random = Random::new(seed.wrapping_add(47));
    let axis = DVec3::new(0.0, 1.0, random.between(0.1, 0.4)).normalize_or(DVec3::Y);
    let angle = -random.between(0.8, 0.95) * PI;
    let swing = |place: DVec3| {
        let beyond = ramp((place.x - shoulder.x) / (0.1 * extent.x));
        let above = ramp((place.y - center.y) / (0.15 * extent.y));
        shoulder + DQuat::from_axis_angle(axis, beyond * above * angle) * (place - shoulder)
    };
    positions.iter().map(|&place| swing(place)).collect()
}

/// The size to which a garment is brought for its fall, so that the fall takes the same time for all: metres.
const FALL_SIZE: f64 = 0.8;
/// The ball that it falls on, metres.
const BALL_RADIUS: f64 = 0.25;
/// How long it falls and settles, seconds.
const FALL_TIME: f64 = 0.7;

fn dropped(garment: &TriMesh, bounds: Aabb, seed: u64) -> Result<Vec<DVec3>, ModelError> {
    let scale = FALL_SIZE / bounds.extent().max_element().max(f64::MIN_POSITIVE);
    let center = bounds.center();
    let mut random = Random::new(seed.wrapping_add(53));
    let turn = DQuat::from_axis_angle(random.direction(), random.between(0.5, PI));
    let positions: Vec<DVec3> = garment.positions.iter().map(|&place| turn * (scale * (place - center))).collect();
    let lowest = positions.iter().fold(f64::INFINITY, |lowest, place| lowest.min(place.y));
    let middle = DVec3::new(0.013, lowest - BALL_RADIUS - 0.02, 0.007);
    let ball = Body::solid("ball", Shape::Sphere { radius: BALL_RADIUS }, Keyframes::fixed(middle), 0.5);
    let (model, state) =
        Model::build(&[Cloth::new("garment", TriMesh { positions, triangles: garment.triangles.clone() })])?;
    let world = World::new(model, Environment::default(), vec![ball], Vec::new())
        .map_err(|source| ModelError::Topology { piece: "ball".to_owned(), source })?;
    let mut settings = Settings::default();
    settings.collision.method = CollisionMethod::Solids;
    let mut simulation = Simulation::new(world, state, settings);
    let went_on = simulation.advance(FALL_TIME, &mut |_| Flow::GoOn);
    debug_assert!(went_on.is_ok(), "the observer never says stop");
    Ok(simulation.state.positions.iter().map(|&place| center + place / scale).collect())
}

/// 0 below 0, 1 above 1, smooth between.
fn ramp(value: f64) -> f64 {
    let value = value.clamp(0.0, 1.0);
    value * value * (3.0 - 2.0 * value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::samples::{Cut, Recipe, find};

    /// A tube, which stands for a garment.
    fn tube() -> TriMesh {
        let recipe = Recipe { resolution: 12, cut: Cut::Irregular, seed: 1 };
        find("cuffs").unwrap().make(&recipe).pieces().swap_remove(0).mesh
    }

    #[test]
    fn tortures_depend_on_their_seed_alone_and_scale_with_the_garment() {
        let garment = tube();
        let mut doubled = garment.clone();
        doubled.positions.iter_mut().for_each(|place| *place *= 2.0);
        for TortureCase { kind, name, .. } in CASES {
            let once = torture(&garment, kind, 5).unwrap();
            assert_eq!(once, torture(&garment, kind, 5).unwrap());
            assert_ne!(once, torture(&garment, kind, 6).unwrap(), "{name}");
            let largest = once.iter().zip(torture(&doubled, kind, 5).unwrap());
            let largest = largest.map(|(small, large)| (2.0 * *small - large).length()).fold(0.0, f64::max);
            assert!(largest < 1e-6, "{name}: {largest}");
        }
        assert!(torture(&TriMesh::default(), Torture::Scrunched, 1).unwrap().is_empty());
    }

    #[test]
    fn a_tube_that_is_wrung_or_dropped_passes_through_itself() {
        let garment = tube();
        let assembly = Assembly::of_cloth("tube", &garment).unwrap();
        assert!(analyze(&assembly, &garment.positions, &mut Workspace::default()).is_empty());
        for kind in [Torture::Scrunched, Torture::Twisted, Torture::Dropped] {
            let tangled = (1..4).filter(|&seed| {
                let positions = torture(&garment, kind, seed).unwrap();
                !analyze(&assembly, &positions, &mut Workspace::default()).is_empty()
            });
            assert!(tangled.count() >= 2, "{kind:?}");
        }
    }
}
