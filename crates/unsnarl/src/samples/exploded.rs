//! Exploded handkerchiefs: vertices thrown to random places. (Cha 2022, 6.3 and 6.8)
//!
//! A thrown vertex lands at a distance from the origin that is even in `[0, r0]`, in a direction given by two even
//! angles, as in the source. Thrown in the middle, no triangle at the border is touched and no contour can end there, so
//! there is no BLI; thrown as a whole, all but the two upper corners fly.
//!
//! Departs: the source does not say how large its central area and `r0` are, but that 163 of its 388 triangles are red at
//! first. Here a disc is thrown that touches 170 of 392, and `r0` is a quarter of the side. `exploded-inner` throws all that
//! stays one cell away from the border: most of the cloth is red there, which the source assumes not to happen.

use super::random::Random;
use super::rudimentary::{SIDE, lying};
use super::{Case, Family, Recipe, Sample, Sheet};
use crate::analysis::ContourKind::{Bibi, Bli, Ll};
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::DVec3;

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "exploded-central", about: "a handkerchief whose middle is thrown about (no BLI, two fifths red)",
           family: Family::Exploded, promises: &[(Ll, 1)], default_resolution: 14,
           smallest_resolution: 8, make: central },
    Case { name: "exploded-inner", about: "a handkerchief with all vertices off its border thrown about (no BLI)",
           family: Family::Exploded, promises: &[(Ll, 1)], default_resolution: 14,
           smallest_resolution: 8, make: inner },
    Case { name: "exploded-whole", about: "a handkerchief with all vertices thrown about but two corners",
           family: Family::Exploded, promises: &[(Bli, 1), (Bibi, 1)], default_resolution: 14,
           smallest_resolution: 8, make: whole },
];

/// Which vertices of a handkerchief are thrown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explosion {
    /// Those of a disc around the middle whose triangles all stay off the border.
    Disc {
        /// The disc's radius, as a share of the half side.
        share: f64,
    },
    /// Those whose triangles all stay off the border, out to a share of the half side (1 takes all of them).
    Square {
        /// Share of the half side.
        share: f64,
    },
    /// All but the two upper corners.
    Whole,
}

/// A handkerchief of `resolution` squares a side, exploded within a ball.
pub fn explode(recipe: &Recipe, explosion: Explosion, radius: f64) -> Sample {
    let sheet = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(0));
    let mut sample = Sample::new();
    sample.add("hanky", &sheet, |point| lying(point, 0.0));
    let mut random = Random::new(recipe.seed ^ 0x5eed_0f0e_7b10_d1e5);
    let last = recipe.resolution;
    for row in 0..=last {
        for column in 0..=last {
            let ring = row.min(column).min(last - row).min(last - column);
            let point = sheet.coordinates[sheet.at(column, row)];
            let thrown = match explosion {
                Explosion::Disc { share } => ring >= 2 && point.length() <= share * 0.5 * SIDE,
                Explosion::Square { share } => ring >= 2 && point.abs().max_element() <= share * 0.5 * SIDE,
                Explosion::Whole => row != last || (column != 0 && column != last),
            };
            if thrown {
                sample.mesh.positions[sheet.at(column, row)] = thrown_place(&mut random, radius);
            }
        }
    }
    sample
}

/// A place in spherical coordinates, each of them even in its range.
fn thrown_place(random: &mut Random, radius: f64) -> DVec3 {
    let distance = random.between(0.0, radius);
    let (azimuth, elevation) = (random.between(0.0, TAU), random.between(-PI, PI));
    distance * DVec3::new(elevation.cos() * azimuth.cos(), elevation.sin(), elevation.cos() * azimuth.sin())
}

fn central(recipe: &Recipe) -> Sample {
    explode(recipe, Explosion::Disc { share: 0.65 }, 0.25 * SIDE)
}

fn inner(recipe: &Recipe) -> Sample {
    explode(recipe, Explosion::Square { share: 1.0 }, 0.25 * SIDE)
}

fn whole(recipe: &Recipe) -> Sample {
    explode(recipe, Explosion::Whole, 0.25 * SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Cut;

    #[test]
    fn an_explosion_of_the_middle_leaves_every_triangle_at_the_border_where_it_was() {
        let trials = [(8, 1), (14, 2), (28, 3)].into_iter().flat_map(|trial| [(trial, "central"), (trial, "inner")]);
        for ((resolution, seed), name) in trials {
            let recipe = Recipe { resolution, cut: Cut::Irregular, seed };
            let flat = super::super::find("hanky").unwrap().make(&recipe);
            let thrown = super::super::find(&format!("exploded-{name}")).unwrap().make(&recipe);
            let moved = |vertex: u32| flat.mesh.positions[vertex as usize] != thrown.mesh.positions[vertex as usize];
            let at_border = |vertex: u32| {
                let place = flat.mesh.positions[vertex as usize].abs();
                place.x.max(place.z) > 0.5 * SIDE - 1e-12
            };
            for corners in &flat.mesh.triangles {
                assert!(!(corners.iter().any(|&c| at_border(c)) && corners.iter().any(|&c| moved(c))));
            }
            assert!((0..flat.mesh.positions.len() as u32).any(moved));
        }
    }

    #[test]
    fn a_whole_explosion_keeps_two_corners_and_stays_in_its_ball() {
        let recipe = Recipe { resolution: 14, cut: Cut::Regular, seed: 5 };
        let sample = whole(&recipe);
        let outside = sample.mesh.positions.iter().filter(|place| place.length() > 0.25 * SIDE).count();
        assert_eq!(outside, 2);
        assert_eq!(sample.mesh.triangles.len(), 392);
    }
}
