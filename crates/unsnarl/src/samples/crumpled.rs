//! A crumpled sheet: dense crossings of cloth that has its size.
//!
//! Random waves in all three directions, whose lengths are counted in cells so that fine sheets are as densely
//! crumpled as coarse ones, squeeze a sheet into a quarter of its width. Then it slides back to its size, with
//! nothing that keeps it from crossing itself. About one pair of triangles crosses per vertex.

use super::random::Random;
use super::{Case, Family, Recipe, Sample, Sheet};
use crate::rest_shape::RestShape;
use crate::untangle::rearrange::sliding::Sliding;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use std::f64::consts::TAU;
use unsnarl_geometry::{DVec2, DVec3, Topology};

pub(super) const CASES: &[Case] = &[Case {
    name: "crumpled",
    about: "a sheet crumpled into a ball, of its size, through itself everywhere",
    family: Family::Hard,
    promises: &[],
    default_resolution: 40,
    smallest_resolution: 30,
    make: crumpled,
}];

/// The length of an edge of a cell, metres.
const CELL: f64 = 0.005;
const WAVES: usize = 14;
/// Wave lengths, in cells.
const WAVE_LENGTHS: [f64; 2] = [14.0, 40.0];
/// What is left of the width.
const WIDTH: f64 = 0.25;
/// Rounds in which the sheet comes back to its size.
const ROUNDS: usize = 400;

fn crumpled(recipe: &Recipe) -> Sample {
    let side = CELL * recipe.resolution as f64;
    let sheet = Sheet::handkerchief(side, recipe.resolution, recipe.triangulation(0));
    let waves = waves(recipe.seed);
    let mut sample = Sample::new();
    let place = |point: DVec2| {
        let flat = WIDTH * DVec3::new(point.x, 0.0, point.y);
        flat + waves.iter().map(|wave| wave.amplitude * (wave.number.dot(point) + wave.phase).sin()).sum::<DVec3>()
    };
    sample.add("sheet", &sheet, place);
    let Ok(topology) = Topology::new(sample.mesh.positions.len(), &sample.mesh.triangles) else { return sample };
    let mut shapes = Vec::with_capacity(sample.uv.triangles.len());
    for corners in &sample.uv.triangles {
        let at = corners.map(|corner| sample.uv.coordinates[corner as usize]);
        shapes.push(RestShape::from_world(at.map(|point| DVec3::new(point.x, point.y, 0.0))));
    }
    let bounds = StrainBounds::around_rest(&topology, &shapes, StrainBounds::TIGHT);
    let free = vec![true; topology.vertex_count()];
    let positions = &mut sample.mesh.positions;
    if let Some(mut sliding) = Sliding::new(&topology, &bounds, &free, 0.0, positions) {
        (0..ROUNDS).for_each(|_| sliding.round(&bounds, positions, &mut |_| {}));
    }
    sample
}

/// A wave: its way, its number and where it begins.
struct Wave {
    amplitude: DVec3,
    number: DVec2,
    phase: f64,
}

/// Waves that together are as steep as makes a sheet of that width keep its area.
fn waves(seed: u64) -> Vec<Wave> {
    let mut random = Random::new(seed.wrapping_add(97));
    let steepness = (2.0 * (1.0 - WIDTH * WIDTH) * 2.0 / WAVES as f64).sqrt();
    let wave = |_| {
        let length = CELL * random.between(WAVE_LENGTHS[0], WAVE_LENGTHS[1]);
        let number = DVec2::from_angle(random.between(0.0, TAU)) * (TAU / length);
        let height = random.between(-1.0, 1.0);
        let way = DVec2::from_angle(random.between(0.0, TAU)) * (1.0 - height * height).sqrt();
        let amplitude = DVec3::new(way.x, height, way.y) * (steepness / number.length());
        Wave { amplitude, number, phase: random.between(0.0, TAU) }
    };
    (0..WAVES).map(wave).collect()
}
