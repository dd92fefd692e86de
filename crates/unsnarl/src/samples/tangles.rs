//! Flat sheets with small tangles far apart: nine vertices each, thrown about.
//!
//! Every tangle lies in a square of its own, a few cells from those of others, so each can be undone by itself.

use super::random::Random;
use super::rudimentary::lying;
use super::{Case, Family, Recipe, Sample, Sheet};
use crate::geometry::DVec3;

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    Case { name: "many-tangles", about: "a sheet with a small tangle per hundred cells", family: Family::Hard,
           promises: &[], default_resolution: 40, smallest_resolution: 12, make: |recipe| tangles(recipe, 100) },
    Case { name: "few-tangles", about: "a sheet with a small tangle per ten thousand cells", family: Family::Hard,
           promises: &[], default_resolution: 40, smallest_resolution: 12, make: |recipe| tangles(recipe, 10_000) },
];

/// The length of an edge of a cell, metres.
const CELL: f64 = 0.01;
/// Each tangle has a square with as many cells a side, or nearly so.
const SPACING: f64 = 10.0;
/// Vertices are thrown by so many cells.
const THROW: [f64; 2] = [0.9, 1.3];
/// The left and the right vertex of a tangle go across and up by so many cells, so that what hangs on them crosses.
const ACROSS: f64 = 1.3;

/// One tangle for so many cells, at least one.
fn tangles(recipe: &Recipe, cells_each: usize) -> Sample {
    let resolution = recipe.resolution;
    let sheet = Sheet::handkerchief(CELL * resolution as f64, resolution, recipe.triangulation(0));
    let mut sample = Sample::new();
    sample.add("sheet", &sheet, |point| lying(point, 0.0));
    let squares = ((resolution as f64 / SPACING).round() as usize).max(1);
    let count = ((resolution * resolution) as f64 / cells_each as f64).round().max(1.0) as usize;
    let mut random = Random::new(recipe.seed.wrapping_add(211));
    let mut order: Vec<usize> = (0..squares * squares).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, (random.unit() * (last + 1) as f64) as usize);
    }
    for square in order.into_iter().take(count) {
        let middle = |index: usize| ((index as f64 + 0.5) * resolution as f64 / squares as f64) as usize;
        let (column, row) = (middle(square % squares), middle(square / squares));
        for (across, up) in (0..9).map(|at| (at % 3, at / 3)) {
            let (throw, direction) = (random.between(THROW[0], THROW[1]), random.direction());
            let cells = match (across, up) {
                (0, 1) => ACROSS * DVec3::new(1.0, 0.5, 0.0) + 0.1 * direction,
                (2, 1) => ACROSS * DVec3::new(-1.0, 0.5, 0.0) + 0.1 * direction,
                _ => throw * direction,
            };
            sample.mesh.positions[sheet.at(column + across - 1, row + up - 1)] += CELL * cells;
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Cut;

    #[test]
    fn so_many_squares_have_nine_thrown_vertices_each() {
        for (name, resolution, expected) in [("many-tangles", 40, 16), ("few-tangles", 40, 1), ("many-tangles", 63, 36)]
        {
            let recipe = Recipe { resolution, cut: Cut::Irregular, seed: 5 };
            let sample = super::super::find(name).unwrap().make(&recipe);
            let flat = super::super::find("hanky").unwrap().make(&recipe);
            let moved = sample.mesh.positions.iter().filter(|place| place.y != 0.0).count();
            assert_eq!(sample.mesh.triangles.len(), flat.mesh.triangles.len());
            assert_eq!(moved, 9 * expected, "{name} {resolution}");
        }
    }
}
