//! Folds that pass through themselves: collar, lapel, sleeve and skirt, with the labels and creases of their design.
//!
//! Cloth is folded back along a line, to one side here and to the other side there. Where it changes sides its flap
//! goes through the cloth that it lies on: a contour from the flap's free border to a loop vertex on the fold, a BLI.
//! (Cha 2022, 3.2 and 5.3 to 5.5, 6.5 to 6.7; figures 5.4 to 5.6 and 6.9 to 6.11)
//!
//! The collar says `collar` and has a round fold; the lapel has a crease; the sleeve and the skirt say what they are
//! and have neither, so that their folds are to be unfolded.

use super::{Case, Cut, Family, Recipe, Sample, Shape, Sheet};
use crate::analysis::ContourKind::Bli;
use crate::scene::garment::{CreaseDescription, CreasePath};
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::{DVec2, DVec3};

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "collar", about: "a collar with a round fold, turned in on one side of the neck (labelled)",
           family: Family::Folds, promises: &[(Bli, 2)], default_resolution: 10, smallest_resolution: 8, make: collar },
    Case { name: "lapel", about: "a lapel whose crease is bent the wrong way below the collar (labelled, creased)",
           family: Family::Folds, promises: &[(Bli, 1)], default_resolution: 12, smallest_resolution: 8, make: lapel },
    Case { name: "sleeve", about: "a sleeve dragged up, half of its end outside and half inside (labelled)",
           family: Family::Folds, promises: &[(Bli, 2)], default_resolution: 16, smallest_resolution: 12,
           make: sleeve },
    Case { name: "skirt", about: "a skirt whose hem is pulled up, outside in front and inside behind (labelled)",
           family: Family::Folds, promises: &[(Bli, 2)], default_resolution: 14, smallest_resolution: 12, make: skirt },
];

/// A fold and the flap beyond it.
struct Fold {
    /// Radius of the bend, metres.
    radius: f64,
    /// Angle between the flap and the cloth it lies on, radians.
    flare: f64,
}

impl Fold {
    /// Where cloth lies that is `beyond` metres past the start of the fold: how far off the cloth before the fold (to
    /// the side of `side`), and how far along it. `side` goes from 1 to -1 where the fold changes sides.
    fn place(&self, beyond: f64, side: f64) -> DVec2 {
        if beyond <= 0.0 {
            return DVec2::new(0.0, beyond);
        }
        let radius = self.radius * side.abs();
        let bend = PI * radius;
        if beyond < bend {
            let angle = beyond / radius;
            return DVec2::new(self.radius * side * (1.0 - angle.cos()), radius * angle.sin());
        }
        let flap = beyond - bend;
        let flare = self.flare * side;
        DVec2::new(2.0 * self.radius * side + flap * flare.sin(), -flap * flare.cos())
    }
}

/// 1 away from `center`, -1 within `half` of it, on a circle of the given length; changes over about `width`.
fn turned_within(arc: f64, length: f64, center: f64, half: f64, width: f64) -> f64 {
    let distance = (arc - center + 0.5 * length).rem_euclid(length) - 0.5 * length;
    ((distance.abs() - half) / width).tanh()
}

/// How far a flap is shifted along its fold per metre, so that the rows of a grid do not lie on themselves.
const DRIFT: f64 = 0.11;

fn round(arc: f64, radius: f64, off: f64, height: f64) -> DVec3 {
    let angle = arc / radius;
    DVec3::new((radius + off) * angle.sin(), height, (radius + off) * angle.cos())
}

fn collar(recipe: &Recipe) -> Sample {
    let (neck, yoke, stand, fall) = (0.075, 0.05, 0.035, 0.045);
    let size = DVec2::new(0.93 * TAU * neck, yoke + stand + fall);
    let sheet = Sheet::strip(size, 2 * recipe.resolution, recipe.triangulation(0), Shape::Open);
    let fold = Fold { radius: 0.006, flare: 0.2 };
    let mut sample = Sample::new();
    let seam_row = (sheet.cells[1] as f64 * yoke / size.y).round() as usize;
    sample.add_bands(&[("bodice", seam_row), ("collar", sheet.cells[1] - seam_row)], &sheet, |point| {
        let up = point.y + 0.5 * size.y - yoke;
        let beyond = up - stand;
        let side = turned_within(point.x, TAU * neck, 0.0713, 0.06, 0.015);
        let place = fold.place(beyond, side);
        let below = (-up).max(0.0);
        round(point.x + DRIFT * beyond.max(0.0), neck, place.x + 0.4 * below, stand + place.y)
    });
    sample.label("collar", "collar");
    sample.label("bodice", "bodice");
    sample
}

/// A front panel that stands in the xy plane, its front towards +z; right of the crease is the lapel.
fn lapel(recipe: &Recipe) -> Sample {
    let size = DVec2::new(0.24, 0.5);
    let crease_at = 0.04;
    let mut sheet = Sheet::strip(size, 2 * recipe.resolution, recipe.triangulation(0), Shape::Open);
    let crease_column = (sheet.cells[0] as f64 * (crease_at + 0.5 * size.x) / size.x).round() as usize;
    let crease_at = size.x * (crease_column as f64 / sheet.cells[0] as f64 - 0.5);
    if recipe.cut == Cut::Irregular {
        for row in 0..=sheet.cells[1] {
            let at = sheet.at(crease_column, row);
            sheet.coordinates[at].x = crease_at;
        }
    }
    let fold = Fold { radius: 0.0, flare: 0.22 };
    let mut sample = Sample::new();
    sample.add("front", &sheet, |point| {
        let beyond = point.x - crease_at;
        let side = ((point.y + 0.0613) / 0.03).tanh();
        let place = fold.place(beyond, side);
        DVec3::new(place.y, point.y + DRIFT * beyond.max(0.0), place.x)
    });
    sample.label("front", "lapel");
    let edges = (0..sheet.cells[1])
        .map(|row| [sheet.at(crease_column, row) as u32, sheet.at(crease_column, row + 1) as u32])
        .collect();
    let rest_angle = -(PI - fold.flare);
    sample.description.creases.push(CreaseDescription { path: CreasePath::Edges(edges), rest_angle });
    sample
}

fn sleeve(recipe: &Recipe) -> Sample {
    let fold = Fold { radius: 0.006, flare: 0.14 };
    turned_up_tube("sleeve", recipe, DVec2::new(TAU * 0.06, 0.36), 0.07, 0.0, &fold)
}

fn skirt(recipe: &Recipe) -> Sample {
    let fold = Fold { radius: 0.012, flare: 0.14 };
    turned_up_tube("skirt", recipe, DVec2::new(TAU * 0.2, 0.55), 0.14, 0.1, &fold)
}

/// A tube around the y axis whose lower end is folded up over `flap` metres, outside in front and inside behind.
fn turned_up_tube(name: &'static str, recipe: &Recipe, size: DVec2, flap: f64, widening: f64, fold: &Fold) -> Sample {
    let sheet = Sheet::strip(size, recipe.resolution, recipe.triangulation(0), Shape::Tube);
    let radius = size.x / TAU - 0.5 * widening * size.y;
    let mut sample = Sample::new();
    sample.add(name, &sheet, |point| {
        let down = 0.5 * size.y - point.y;
        let beyond = down - (size.y - flap);
        let side = turned_within(point.x, size.x, 0.2713 * size.x, 0.22 * size.x, 0.05 * size.x);
        let place = fold.place(beyond, side);
        let at = place.y + size.y - flap;
        round((point.x + DRIFT * beyond.max(0.0)) * radius * TAU / size.x, radius, widening * at + place.x, -at)
    });
    sample.label(name, name);
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::hinge;
    use crate::scene::garment::{Garment, GarmentInput, TriangleGroups};
    use unsnarl_geometry::Topology;

    #[test]
    fn most_of_the_lapels_crease_is_bent_as_designed_and_the_rest_the_other_way() {
        for cut in [Cut::Regular, Cut::Irregular] {
            let sample = lapel(&Recipe { resolution: 12, cut, seed: 4 });
            let topology = Topology::new(sample.mesh.positions.len(), &sample.mesh.triangles).unwrap();
            let CreasePath::Edges(edges) = &sample.description.creases[0].path else { panic!("the crease is edges") };
            let wanted = sample.description.creases[0].rest_angle;
            let angles: Vec<f64> = edges
                .iter()
                .map(|&[a, b]| {
                    let corners = |first: u32, second: u32| {
                        let turns = |c: &[u32; 3]| (0..3).any(|k| c[k] == first && c[(k + 1) % 3] == second);
                        let triangle = sample.mesh.triangles.iter().find(|c| turns(c)).unwrap();
                        *triangle.iter().find(|&&c| c != first && c != second).unwrap()
                    };
                    let points = [corners(a, b), corners(b, a), a, b].map(|at| sample.mesh.positions[at as usize]);
                    hinge::angle(points).unwrap()
                })
                .collect();
            assert!(topology.component_count() == 1);
            let right = angles.iter().filter(|&&angle| (angle - wanted).abs() < 0.1).count();
            let wrong = angles.iter().filter(|&&angle| (angle + wanted).abs() < 0.1).count();
            assert!(right > wrong && wrong > angles.len() / 4, "{right} right, {wrong} wrong of {}", angles.len());
        }
    }

    #[test]
    fn every_folded_sample_is_a_garment_with_its_labels() {
        for case in CASES {
            for cut in [Cut::Regular, Cut::Irregular] {
                let recipe = Recipe { resolution: case.default_resolution, cut, seed: 2 };
                let sample = case.make(&recipe);
                let names: Vec<String> = sample.parts.iter().map(|part| part.name.clone()).collect();
                let groups = TriangleGroups { names: &names, of_triangle: &sample.part_of_triangle() };
                let input = GarmentInput { groups, ..GarmentInput::new(&sample.mesh, Some(&sample.uv)) };
                let garment = Garment::build(&input, &sample.description).unwrap();
                assert_eq!(garment.panels.count, sample.parts.len(), "{}", case.name);
                assert!(garment.panel_labels.iter().flatten().any(|label| label == case.name), "{}", case.name);
            }
        }
    }
}
