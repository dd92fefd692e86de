//! Exploded handkerchiefs: vertices thrown to random places. (Cha 2022, 6.3 and 6.8)
//!
//! A thrown vertex lands at a distance from the origin that is even in `[0, r0]`, in a direction given by two even
//! angles, as in the source. Thrown in the middle, no triangle at the border is touched and no contour can end there, so
//! there is no BLI; thrown as a whole, all but the two upper corners fly.
//!
//! `exploded-sewn` is cloth of two panels, one with a dart that makes it a cone, thrown in the middle: there are pulls on seams and
//! at a dart, as on garments. (Cha 2022, table 6.1)
//!
//! Departs: the source does not say how large its central area and `r0` are, but that 163 of its 388 triangles are red at
//! first. Here a disc is thrown that touches 170 of 392, and `r0` is a quarter of the side. `exploded-inner` throws all that
//! stays one cell away from the border: most of the cloth is red there, which the source assumes not to happen.

use super::random::Random;
use super::rudimentary::{SIDE, lying};
use super::{Case, Family, Recipe, Sample, Sheet};
use crate::analysis::ContourKind::{Bibi, Bli, Ll};
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::{DVec2, DVec3, UvMap};

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "exploded-central", about: "a handkerchief whose middle is thrown about (no BLI, two fifths red)",
           family: Family::Exploded, promises: &[(Ll, 1)], default_resolution: 14,
           smallest_resolution: 8, make: central },
    Case { name: "exploded-inner", about: "a handkerchief with all vertices off its border thrown about (no BLI)",
           family: Family::Exploded, promises: &[(Ll, 1)], default_resolution: 14,
           smallest_resolution: 8, make: inner },
    Case { name: "exploded-sewn", about: "two sewn panels, one with a dart, whose middle is thrown about (no BLI)",
           family: Family::Exploded, promises: &[(Ll, 1)], default_resolution: 14,
           smallest_resolution: 8, make: sewn },
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
    throw(&mut sample, &sheet, recipe, (explosion, radius));
    sample
}

fn throw(sample: &mut Sample, sheet: &Sheet, recipe: &Recipe, (explosion, radius): (Explosion, f64)) {
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

/// A cone of two panels: a seam a quarter of the way from the left, and a dart from the middle to the right border.
fn sewn(recipe: &Recipe) -> Sample {
    const DART_ANGLE: f64 = PI / 6.0;
    const LEFT: f64 = 2.0 * SIDE;
    let share = 1.0 - DART_ANGLE / TAU;
    let sheet = Sheet::handkerchief(SIDE, recipe.resolution, recipe.triangulation(0));
    let [columns, rows] = sheet.cells;
    let apex = sheet.coordinates[sheet.at(columns / 2, rows / 2)];
    let mut sample = Sample::new();
    sample.add("hanky", &sheet, |point| {
        let from_apex = point - apex;
        let down = DVec3::new(0.0, -from_apex.length() * (1.0 - share * share).sqrt(), 0.0);
        lying(share * from_apex, 0.0) + down
    });
    // Around the apex a panel has all angles, each smaller by the same share, from one side of the dart to the other.
    let unrolled = |point: DVec2, is_above: bool| {
        let from_apex = point - apex;
        let turned = from_apex.y.atan2(from_apex.x);
        let first = if is_above { -0.5 * PI } else { 0.5 * PI };
        let angle = if turned < first { turned + TAU } else { turned };
        from_apex.length() * DVec2::from_angle(share * angle)
    };
    let mut copies: BTreeMap<(u32, bool, bool), u32> = BTreeMap::new();
    let mut uv = UvMap::default();
    for (at, corners) in sheet.triangles.iter().enumerate() {
        let cell = at / 2;
        let (is_left, is_above) = (4 * (cell % columns) < columns, cell / columns >= rows / 2);
        uv.triangles.push(corners.map(|corner| {
            let [column, row] = [corner as usize % (columns + 1), corner as usize / (columns + 1)];
            let is_at_dart = row == rows / 2 && column > columns / 2;
            *copies.entry((corner, is_left, is_at_dart && is_above)).or_insert_with(|| {
                let shift = DVec2::new(if is_left { -LEFT } else { 0.0 }, 0.0);
                uv.coordinates.push(unrolled(sheet.coordinates[corner as usize], is_above) + shift);
                uv.coordinates.len() as u32 - 1
            })
        }));
    }
    sample.uv = uv;
    throw(&mut sample, &sheet, recipe, (Explosion::Disc { share: 0.65 }, 0.25 * SIDE));
    sample
}

fn whole(recipe: &Recipe) -> Sample {
    explode(recipe, Explosion::Whole, 0.25 * SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::SeamPlace;
    use crate::samples::Cut;
    use crate::scene::garment::{Garment, GarmentInput};

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

    /// The sewn cloth is a cone: what was not thrown has its size, both sides of the dart are as long, and there are two panels.
    #[test]
    fn sewn_cloth_is_at_rest_where_it_was_not_thrown() {
        for cut in [Cut::Regular, Cut::Irregular] {
            let sample = sewn(&Recipe { resolution: 14, cut, seed: 3 });
            let garment =
                Garment::build(&GarmentInput::new(&sample.mesh, Some(&sample.uv)), &sample.description).unwrap();
            assert_eq!((garment.panels.count, garment.panels.darts.len()), (2, 1));
            let places = SeamPlace::chart(&garment);
            assert_eq!(places.iter().filter(|place| **place == SeamPlace::AtDart).count(), 8);
            let is_far = |corner: &u32| sample.mesh.positions[*corner as usize].x.abs() > 0.38 * SIDE;
            let mut seen = 0;
            for (corners, uv) in sample.mesh.triangles.iter().zip(&sample.uv.triangles) {
                if corners.iter().all(is_far) {
                    let place = |at: usize| sample.mesh.positions[corners[at] as usize];
                    let panel = |at: usize| sample.uv.coordinates[uv[at] as usize];
                    for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                        let ratio = place(a).distance(place(b)) / panel(a).distance(panel(b));
                        assert!((0.98..1.001).contains(&ratio), "{ratio}");
                    }
                    seen += 1;
                }
            }
            assert!(seen > 10);
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
