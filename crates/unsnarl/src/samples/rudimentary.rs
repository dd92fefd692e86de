//! The seven rudimentary tangles, each the image of one or two handkerchiefs under a smooth map.
//!
//! A contour has two preimages on the cloth; its type is told by where they end (Cha 2022, 2.1). Between two sheets the
//! maps are bumps and planes. On one sheet they are built from the loop that an elastic rod makes when it is pushed
//! together: with size `l` and arc length `s` it is `x = s - 2 k l tanh(s / l)`, `z = 2 l sech(s / l)`, an exact
//! isometry for `k = 1`, crossing itself for `k > 1/2`; where `k` falls to 1/2 the crossing ends in a loop vertex.
//!
//! Guarantees: nearly isometric maps (99 % of edges at most 1.7 times their rest length); general position.

use super::{Case, Family, Recipe, Sample, Shape, Sheet};
use crate::analysis::ContourKind::{Bbii, Bibi, Bli, Closed, Cross, Eight, Ll};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec2, DVec3};

/// The side of a handkerchief, in metres.
pub(super) const SIDE: f64 = 0.4;
/// How far a loop climbs along its axis for each metre of cloth, so that rows of a grid do not meet themselves.
const SLANT: f64 = 0.07;

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "hanky", about: "one clean handkerchief, flat", family: Family::Plain,
           promises: &[], default_resolution: 14, smallest_resolution: 1, make: hanky },
    Case { name: "closed", about: "CLOSED: a bump of one handkerchief through another", family: Family::Rudimentary,
           promises: &[(Closed, 1)], default_resolution: 14, smallest_resolution: 6, make: closed },
    Case { name: "closed-fold", about: "CLOSED on one sheet: a folded handkerchief with a bump through itself",
           family: Family::Rudimentary, promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12,
           make: closed_fold },
    Case { name: "eight", about: "EIGHT: a looped ridge through another handkerchief (its loop is an LL of its own)",
           family: Family::Rudimentary, promises: &[(Eight, 1), (Ll, 1)], default_resolution: 28,
           smallest_resolution: 20, make: eight },
    Case { name: "cross", about: "CROSS: a roll turned inside out in its middle (two turns apart it is CLOSED)",
           family: Family::Rudimentary, promises: &[(Cross, 1), (Closed, 1)], default_resolution: 24,
           smallest_resolution: 18, make: cross },
    Case { name: "ll", about: "LL: a handkerchief pinched into a loop in its middle", family: Family::Rudimentary,
           promises: &[(Ll, 1)], default_resolution: 20, smallest_resolution: 12, make: ll },
    Case { name: "bbii", about: "BBII: the edge of one handkerchief through the middle of another",
           family: Family::Rudimentary, promises: &[(Bbii, 1)], default_resolution: 14, smallest_resolution: 4,
           make: bbii },
    Case { name: "bbii-corner", about: "BBII: a corner of one handkerchief through the middle of another",
           family: Family::Rudimentary, promises: &[(Bbii, 1)], default_resolution: 14, smallest_resolution: 6,
           make: bbii_corner },
    Case { name: "bibi", about: "BIBI: two handkerchiefs cutting into each other's edges", family: Family::Rudimentary,
           promises: &[(Bibi, 1)], default_resolution: 14, smallest_resolution: 4, make: bibi },
    Case { name: "bli", about: "BLI: a handkerchief curled through itself from its edge to a loop vertex",
           family: Family::Rudimentary, promises: &[(Bli, 1)], default_resolution: 20, smallest_resolution: 12,
           make: bli },
];

fn handkerchief(recipe: &Recipe, number: u64) -> Sheet {
    Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(number))
}

/// Panel to space: right is x, up is -z, front up.
pub(super) fn lying(point: DVec2, height: f64) -> DVec3 {
    DVec3::new(point.x, height, -point.y)
}

fn hanky(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("hanky", &handkerchief(recipe, 0), |point| lying(point, 0.0));
    sample
}

/// Panel to space, turned about the vertical so that the grids of two sheets do not line up.
pub(super) fn lying_turned(point: DVec2, height: f64, angle: f64) -> DVec3 {
    lying(DVec2::from_angle(angle).rotate(point), height)
}

/// A bell of height 1 and width `width` around a place.
fn bell(point: DVec2, center: DVec2, width: f64) -> f64 {
    (-point.distance_squared(center) / (width * width)).exp()
}

fn closed(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("below", &handkerchief(recipe, 0), |point| lying_turned(point, 0.0, 0.19));
    let center = DVec2::new(0.0053, -0.0037);
    sample.add("above", &handkerchief(recipe, 1), |point| lying(point, 0.03 - 0.085 * bell(point, center, 0.1)));
    sample
}

/// A sheet folded in half around a half cylinder; the upper half has a bump down through the lower half.
fn closed_fold(recipe: &Recipe) -> Sample {
    let radius = 0.02;
    let half_turn = std::f64::consts::PI * radius;
    let mut sample = Sample::new();
    let sheet = Sheet::strip(DVec2::new(1.6 * SIDE, SIDE), recipe.resolution, recipe.triangulation(0), Shape::Open);
    sample.add("hanky", &sheet, |point| {
        let along = point.x + 0.09 * point.y;
        let (across, height) = if along < -0.5 * half_turn {
            (along + 0.5 * half_turn, 0.0)
        } else if along <= 0.5 * half_turn {
            let angle = (along + 0.5 * half_turn) / radius;
            (radius * angle.sin(), radius * (1.0 - angle.cos()))
        } else {
            (0.5 * half_turn - along, 2.0 * radius)
        };
        let sunk = 0.085 * bell(point, DVec2::new(0.1743, 0.0037), 0.075);
        lying(DVec2::new(across, point.y + SLANT * point.x), height - sunk)
    });
    sample
}

/// The loop of an elastic rod: `(x, z)` at arc length `s`. `pinch` is 1 for the rod's own loop, 0 for a plain ridge.
fn rod_loop(arc: f64, size: f64, pinch: f64) -> (f64, f64) {
    let ratio = arc / size;
    (arc - 2.0 * pinch * size * ratio.tanh(), 2.0 * size / ratio.cosh())
}

fn ll(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("hanky", &handkerchief(recipe, 0), |point| {
        let along = point.y - 0.0031;
        let size = 0.05 * (-(along / 0.16).powi(2)).exp();
        let pinch = 0.15 + 0.85 * (-(along / 0.14).powi(2)).exp();
        looped(point, size, pinch, SLANT)
    });
    sample
}

fn bli(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("hanky", &handkerchief(recipe, 0), |point| {
        let size = 0.05 * (-((point.y + 0.2) / 0.25).powi(2)).exp();
        let pinch = 0.55 - 0.5 * ((point.y - 0.0213) / 0.1).tanh();
        looped(point, size, pinch, 0.2)
    });
    sample
}

/// The ridge is plain at one end and looped at the other; the other sheet cuts it at a height where both show.
fn eight(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("looped", &handkerchief(recipe, 0), |point| {
        let size = 0.06 * (-((point.y - 0.0031) / 0.14).powi(2)).exp();
        let pinch = 0.22 + 0.4 * (point.y / 0.04).tanh() - 0.4 * ((point.y - 0.155) / 0.02).tanh();
        looped(point, size, pinch, SLANT)
    });
    sample.add("flat", &handkerchief(recipe, 1), |point| lying_turned(point, 0.053, 0.19));
    sample
}

/// A point of a sheet with a loop of the rod along its vertical middle line, climbing along the line by `slant`.
fn looped(point: DVec2, size: f64, pinch: f64, slant: f64) -> DVec3 {
    let (across, height) = rod_loop(point.x - 0.0023, size, pinch);
    lying(DVec2::new(across, point.y - slant * point.x), height)
}

/// A roll whose radius at `t` half turns is `1 + a (t^3 - b t)`: where `b` is large its turns are in the wrong order.
///
/// Turns around `c - 1` and `c + 1` meet where `3 c^2 = b - 1`. The preimages of that contour overlap where `c > 1`, so
/// `b` just above 4 makes it CROSS; turns that are two apart meet where `3 c^2 = b - 4`.
fn cross(recipe: &Recipe) -> Sample {
    use std::f64::consts::PI;
    let (radius, wobble, half_turns) = (0.05, 0.045, 2.6);
    let arc = |turns: f64| turns + wobble * (0.25 * turns.powi(4) - turns.powi(2));
    let (start, end) = (arc(-half_turns), arc(half_turns));
    let size = DVec2::new(PI * radius * (end - start), SIDE);
    let mut sample = Sample::new();
    let sheet = Sheet::strip(size, recipe.resolution, recipe.triangulation(0), Shape::Open);
    sample.add("roll", &sheet, |point| {
        let turns =
            invert(arc, point.x / (PI * radius) + 0.5 * (start + end) + 0.0043, -2.0 * half_turns..2.0 * half_turns);
        let wrongness = 0.3 + 4.4 * (-((point.y - 0.0037) / 0.1).powi(2)).exp();
        let distance = radius * (1.0 + wobble * (turns.powi(3) - wrongness * turns));
        DVec3::new(distance * (PI * turns).sin(), -distance * (PI * turns).cos(), SLANT * point.x - point.y)
    });
    sample
}

/// Where an increasing function has a value, within a range.
fn invert(function: impl Fn(f64) -> f64, value: f64, range: std::ops::Range<f64>) -> f64 {
    let (mut low, mut high) = (range.start, range.end);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if function(middle) < value { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn bbii(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("lying", &handkerchief(recipe, 0), |point| lying(point, 0.0));
    let turn = DQuat::from_rotation_y(0.31) * DQuat::from_rotation_x(0.17);
    let small = Sheet::handkerchief(0.6 * SIDE, recipe.resolution, recipe.triangulation(1));
    sample.add("standing", &small, |point| turn * DVec3::new(point.x, point.y, 0.0) + DVec3::new(0.013, 0.071, -0.007));
    sample
}

/// As [`bbii`], but what stands through narrows to a corner: pulling it out makes the contour shorter.
fn bbii_corner(recipe: &Recipe) -> Sample {
    use std::f64::consts::FRAC_PI_4;
    let mut sample = Sample::new();
    sample.add("lying", &handkerchief(recipe, 0), |point| lying(point, 0.0));
    let turn = DQuat::from_rotation_y(0.31) * DQuat::from_rotation_x(0.17) * DQuat::from_rotation_z(FRAC_PI_4);
    let small = Sheet::handkerchief(0.6 * SIDE, recipe.resolution, recipe.triangulation(1));
    sample.add("standing", &small, |point| turn * DVec3::new(point.x, point.y, 0.0) + DVec3::new(0.013, 0.101, -0.007));
    sample
}

fn bibi(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    sample.add("lying", &handkerchief(recipe, 0), |point| lying(point, 0.0) - DVec3::new(0.14, 0.0, 0.0));
    let turn = DQuat::from_rotation_y(0.13) * DQuat::from_rotation_x(0.21);
    sample.add("standing", &handkerchief(recipe, 1), |point| {
        turn * DVec3::new(point.x, point.y, 0.0) + DVec3::new(0.14, 0.017, -0.011)
    });
    sample
}
