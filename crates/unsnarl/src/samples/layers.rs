//! Several pieces of cloth through each other, and the tangles on which local methods stall.

use super::random::Random;
use super::rudimentary::{SIDE, lying, lying_turned};
use super::{Case, Family, Recipe, Sample, Shape, Sheet};
use crate::analysis::ContourKind::{Bbii, Bibi, Bli, Closed, Ll};
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::math::DQuat;
use unsnarl_geometry::{DVec2, DVec3};

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "layers-2", about: "two wavy layers through each other", family: Family::Layers,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12,
           make: |recipe| wavy(recipe, 2, Rim::Calm) },
    Case { name: "layers-3", about: "three wavy layers through each other", family: Family::Layers,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12,
           make: |recipe| wavy(recipe, 3, Rim::Calm) },
    Case { name: "layers-4", about: "four wavy layers through each other", family: Family::Layers,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12,
           make: |recipe| wavy(recipe, 4, Rim::Calm) },
    Case { name: "layers-5", about: "five wavy layers through each other", family: Family::Layers,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12,
           make: |recipe| wavy(recipe, 5, Rim::Calm) },
    Case { name: "cuffs", about: "two cuffs pushed into each other", family: Family::Layers,
           promises: &[(Bibi, 2)], default_resolution: 12, smallest_resolution: 8, make: cuffs },
    Case { name: "pocket", about: "the bottom of a pocket bag through the lining", family: Family::Layers,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 12, make: pocket },
    Case { name: "wavy-sheets", about: "five wavy sheets pushed into each other, borders and all", family: Family::Hard,
           promises: &[(Closed, 1), (Bbii, 1)], default_resolution: 20, smallest_resolution: 12,
           make: |recipe| wavy(recipe, 5, Rim::Wavy) },
    Case { name: "crossing-sheets", about: "two sheets crossing through their middles", family: Family::Hard,
           promises: &[(Bbii, 1)], default_resolution: 20, smallest_resolution: 4, make: crossing_sheets },
    Case { name: "sleeve-through-torso", about: "a sleeve pushed through a torso", family: Family::Hard,
           promises: &[(Closed, 2)], default_resolution: 16, smallest_resolution: 12, make: sleeve_through_torso },
    Case { name: "nested-tubes", about: "two nested tubes whose radii interleave, with their order given",
           family: Family::Hard, promises: &[(Closed, 1)], default_resolution: 16, smallest_resolution: 12,
           make: nested_tubes },
    Case { name: "scrunched-sheet", about: "a sheet pushed together from all sides, through itself",
           family: Family::Hard, promises: &[(Bli, 1), (Ll, 1)], default_resolution: 40, smallest_resolution: 24,
           make: scrunched_sheet },
    Case { name: "spiral-roll", about: "a roll that goes through itself", family: Family::Hard,
           promises: &[(Closed, 1)], default_resolution: 20, smallest_resolution: 14, make: spiral_roll },
];

/// Whether waves go on to the border of a sheet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rim {
    /// They end before it: only inner parts cross.
    Calm,
    /// They go on: borders cross too.
    Wavy,
}

/// Sheets 8 mm apart with waves of 2 cm, each in its own direction.
fn wavy(recipe: &Recipe, count: u32, rim: Rim) -> Sample {
    let mut random = Random::new(recipe.seed.wrapping_add(17));
    let mut sample = Sample::new();
    for layer in 0..count {
        let angle = random.between(0.0, PI) + f64::from(layer) * PI / f64::from(count);
        let (along, phase) = (DVec2::from_angle(angle), random.between(0.0, TAU));
        let sheet = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(u64::from(layer)));
        sample.add(format!("layer_{}", layer + 1), &sheet, |point| {
            let wave = (TAU * point.dot(along) / 0.16 + phase).sin() * (TAU * point.dot(along.perp()) / 0.29).cos();
            let share = match rim {
                Rim::Calm => smooth_box(point.x, 0.35 * SIDE, 0.02) * smooth_box(point.y, 0.35 * SIDE, 0.02),
                Rim::Wavy => 1.0,
            };
            lying_turned(point, 0.008 * f64::from(layer) + 0.02 * share * wave, 0.11 * f64::from(layer))
        });
        set_layer(&mut sample, layer);
    }
    sample
}

fn set_layer(sample: &mut Sample, layer: u32) {
    if let Some(part) = sample.parts.last_mut() {
        part.layer = Some(layer);
    }
}

/// A tube around the y axis: the panel's x goes around, its y up.
fn around(point: DVec2, circumference: f64, radius: f64) -> DVec3 {
    let angle = TAU * point.x / circumference;
    DVec3::new(radius * angle.sin(), point.y, radius * angle.cos())
}

/// Two tubes of one size, end in end, off axis.
fn cuffs(recipe: &Recipe) -> Sample {
    let radius = 0.05;
    let size = DVec2::new(TAU * radius, 0.14);
    let mut sample = Sample::new();
    let left = Sheet::strip(size, recipe.resolution, recipe.triangulation(0), Shape::Tube);
    sample.add("left_cuff", &left, |point| around(point, size.x, radius));
    let right = Sheet::strip(size, recipe.resolution, recipe.triangulation(1), Shape::Tube);
    let turn = DQuat::from_rotation_z(0.17) * DQuat::from_rotation_y(0.4);
    sample.add("right_cuff", &right, |point| turn * around(point, size.x, radius) + DVec3::new(0.031, 0.083, 0.005));
    sample
}

/// A flat lining, and a pocket bag above it that is closed at the bottom and dips through the lining.
fn pocket(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    let lining = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(0));
    sample.add("lining", &lining, |point| lying_turned(point, 0.0, 0.17));
    let bag = Sheet::new(DVec2::splat(0.7 * SIDE), [recipe.resolution; 2], recipe.triangulation(1), Shape::Open);
    sample.add("pocket", &bag, |point| {
        let depth = smooth_box(point.x - 0.0021, 0.07, 0.03) * smooth_box(point.y - 0.0033, 0.05, 0.03);
        lying(point, 0.025 - 0.06 * depth)
    });
    sample
}

/// 1 within `half` of zero, falling to 0 over `rim`.
fn smooth_box(distance: f64, half: f64, rim: f64) -> f64 {
    0.5 - 0.5 * ((distance.abs() - half) / rim).tanh()
}

fn crossing_sheets(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    let sheet = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(0));
    sample.add("lying", &sheet, |point| lying(point, 0.0));
    let other = Sheet::handkerchief(0.9 * SIDE, recipe.resolution, recipe.triangulation(1));
    let turn = DQuat::from_rotation_y(0.07) * DQuat::from_rotation_x(1.1);
    sample.add("leaning", &other, |point| turn * lying(point, 0.0) + DVec3::new(0.0013, 0.0007, -0.0021));
    sample
}

fn sleeve_through_torso(recipe: &Recipe) -> Sample {
    let torso_size = DVec2::new(0.9, 0.6);
    let mut sample = Sample::new();
    let torso = Sheet::strip(torso_size, recipe.resolution, recipe.triangulation(0), Shape::Tube);
    sample.add("torso", &torso, |point| {
        let place = stadium(point.x, torso_size.x, 0.1);
        DVec3::new(place.x, point.y, place.y)
    });
    let sleeve_size = DVec2::new(0.32, 0.5);
    let sleeve = Sheet::strip(sleeve_size, recipe.resolution, recipe.triangulation(1), Shape::Tube);
    let turn = DQuat::from_rotation_y(0.3) * DQuat::from_rotation_x(1.35);
    sample.add("sleeve", &sleeve, |point| {
        turn * around(point, sleeve_size.x, sleeve_size.x / TAU) + DVec3::new(0.023, 0.051, 0.017)
    });
    sample
}

/// A closed line of two straights and two half circles, by arc length.
fn stadium(arc: f64, length: f64, radius: f64) -> DVec2 {
    let straight = 0.5 * length - PI * radius;
    let arc = (arc + 0.5 * straight).rem_euclid(length);
    let (side, along) = if arc < 0.5 * length { (1.0, arc) } else { (-1.0, arc - 0.5 * length) };
    if along < straight {
        return side * DVec2::new(along - 0.5 * straight, radius);
    }
    let angle = (along - straight) / radius;
    side * DVec2::new(0.5 * straight + radius * angle.sin(), radius * angle.cos())
}

fn nested_tubes(recipe: &Recipe) -> Sample {
    let mut sample = Sample::new();
    for layer in 0..2u32 {
        let size = DVec2::new(0.6 + 0.02 * f64::from(layer), 0.4);
        let sheet = Sheet::strip(size, recipe.resolution, recipe.triangulation(u64::from(layer)), Shape::Tube);
        let name = if layer == 0 { "inner" } else { "outer" };
        sample.add(name, &sheet, |point| {
            let angle = TAU * point.x / size.x;
            let wave = (3.0 * angle + 2.1 * f64::from(layer)).sin() * (TAU * point.y / 0.23 + 0.7).cos();
            let climbed = DVec2::new(point.x, point.y + 0.011 * f64::from(layer) * angle.sin());
            around(climbed, size.x, size.x / TAU + 0.008 * wave)
        });
        set_layer(&mut sample, layer);
    }
    sample
}

/// Random waves push every point sideways and up; the sideways push is more than the waves' length allows.
fn scrunched_sheet(recipe: &Recipe) -> Sample {
    let mut random = Random::new(recipe.seed.wrapping_add(29));
    let waves: Vec<(DVec2, f64, DVec3)> = (0..9)
        .map(|_| {
            let along = DVec2::from_angle(random.between(0.0, TAU)) * TAU / random.between(0.1, 0.2);
            let push = random.direction() * DVec3::new(1.0, 1.3, 1.0);
            (along, random.between(0.0, TAU), 0.013 * push)
        })
        .collect();
    let sheet = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(0));
    let mut sample = Sample::new();
    sample.add("hanky", &sheet, |point| {
        let pushed: DVec3 = waves.iter().map(|(along, phase, push)| *push * (point.dot(*along) + phase).sin()).sum();
        lying(0.45 * point, 0.0) + pushed
    });
    sample
}

/// Two and a half turns, 1 cm apart, with a bulge that is larger than that.
fn spiral_roll(recipe: &Recipe) -> Sample {
    let (inner, pitch) = (0.03, 0.012);
    let half_turns = 2.4;
    let mean = inner + 0.5 * half_turns * pitch;
    let size = DVec2::new(TAU * mean * half_turns, 0.3);
    let sheet = Sheet::strip(size, recipe.resolution, recipe.triangulation(0), Shape::Open);
    let mut sample = Sample::new();
    sample.add("roll", &sheet, |point| {
        let turns = turns_of_arc(point.x + 0.5 * size.x, inner, pitch);
        let angle = TAU * turns;
        let bulge = 0.02 * (-(point.y / 0.06).powi(2)).exp() * (-((turns - 0.93) / 0.3).powi(2)).exp();
        let distance = inner + pitch * turns + bulge;
        DVec3::new(distance * angle.sin(), -distance * angle.cos(), 0.07 * point.x - point.y)
    });
    sample
}

/// Turns after an arc length along a spiral whose radius grows by `pitch` a turn: `TAU (inner t + pitch t^2 / 2)`.
fn turns_of_arc(arc: f64, inner: f64, pitch: f64) -> f64 {
    ((inner * inner + 2.0 * pitch * arc / TAU).sqrt() - inner) / pitch
}
