//! The published value of the N-ary operator: the distance to its zero set in the space of all fields.
//!
//! `Z_i` is a union of cells, one for every run of layers `[i - b, i + c]` in contact (Buffet 2021, 2.3.1). The nearest
//! point of a cell is found exactly by three independent fits of `f_j / w_j` with weights `w_j^2`: the run is free and
//! of one value, the layers before it have suffix sums that are not negative, the layers behind it prefix sums that are
//! not positive; each of those is an isotonic fit with a bound.
//!
//! Guarantees: the exact distance, for any weights (the printed algorithms 2 and 3 are no projections from four layers
//! on).
//! Does not: run fast; it looks at every cell. It is kept to compare with, and as an oracle.

use super::operator::{Entry, block_of, fit};

/// The signed distance of a point to the zero set of layer `layer`: positive outside. Weights are finite and positive.
pub fn distance(fields: &[f64], weights: &[f64], layer: usize) -> f64 {
    let count = fields.len();
    let mut least = f64::INFINITY;
    for first in 0..=layer {
        for end in layer + 1..=count {
            least = least.min(cell_distance_squared(fields, weights, first, end));
        }
    }
    let entries: Vec<Entry> = fields.iter().zip(weights).map(|(&level, &weight)| Entry { level, weight }).collect();
    let mut blocks = Vec::new();
    fit(&entries, &mut blocks);
    let value = block_of(&blocks, layer).map_or(0.0, |block| block.value);
    if value < 0.0 { -least.sqrt() } else { least.sqrt() }
}

/// The squared distance to the cell whose run in contact is `first..end`.
fn cell_distance_squared(fields: &[f64], weights: &[f64], first: usize, end: usize) -> f64 {
    let entries: Vec<Entry> = fields
        .iter()
        .zip(weights)
        .map(|(field, weight)| Entry { level: field / weight, weight: weight * weight })
        .collect();
    // A move of the fields by `w x`, where x is the multiplier summed over the conditions that a layer is in.
    let cost = |range: std::ops::Range<usize>, bounded: &dyn Fn(f64) -> f64| -> f64 {
        let mut blocks = Vec::new();
        fit(&entries[range.clone()], &mut blocks);
        let square = |block: &super::operator::Block| {
            let own = &entries[range.start + block.first..range.start + block.end];
            let x = bounded(block.value);
            own.iter().map(|entry| entry.weight * x * x).sum::<f64>()
        };
        blocks.iter().map(square).sum()
    };
    let before = cost(0..first, &|x: f64| x.min(0.0));
    let behind = cost(end..entries.len(), &|x: f64| x.max(0.0));
    let inside = run_cost(&entries[first..end]);
    before + behind + inside
}

/// The cost of bringing a run to a sum of zero with prefix sums that are not positive: a free multiplier plus a
/// non-increasing fit.
fn run_cost(entries: &[Entry]) -> f64 {
    let mut blocks = Vec::new();
    fit(entries, &mut blocks);
    blocks
        .iter()
        .map(|block| {
            entries[block.first..block.end].iter().map(|entry| entry.weight * block.value * block.value).sum::<f64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;

    #[test]
    fn rows_with_known_values() {
        assert!((distance(&[0.0, 1.0], &[1.0, 1.0], 0) - std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-12);
        assert!((distance(&[1.0, 2.0], &[1.0, 1.0], 0) - 2.12132).abs() < 1e-5);
        assert!((distance(&[-1.0, -2.0], &[1.0, 1.0], 0) + 1.0).abs() < 1e-12);
    }

    /// Whether a point is in the closed cell: conditions A to D of equation 2.4.
    fn is_in_cell(fields: &[f64], weights: &[f64], first: usize, end: usize) -> bool {
        const SLACK: f64 = 1e-9;
        let product = |at: usize| fields[at] * weights[at];
        let sum = |range: std::ops::Range<usize>| range.map(product).sum::<f64>();
        let before = (0..first).all(|from| sum(from..first) >= -SLACK);
        let run = (first..end).all(|to| sum(first..to + 1) <= SLACK) && sum(first..end).abs() <= SLACK;
        let behind = (end..fields.len()).all(|to| sum(end..to + 1) <= SLACK);
        before && run && behind
    }

    /// The nearest point of a cell by trying every set of its conditions as equations.
    fn brute_force(fields: &[f64], weights: &[f64], first: usize, end: usize) -> f64 {
        let count = fields.len();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let row = |range: std::ops::Range<usize>| -> Vec<f64> {
            (0..count).map(|at| if range.contains(&at) { weights[at] } else { 0.0 }).collect()
        };
        rows.extend((0..first).map(|from| row(from..first)));
        rows.extend((first..end - 1).map(|to| row(first..to + 1)));
        rows.extend((end..count).map(|to| row(end..to + 1)));
        let mut least = f64::INFINITY;
        for chosen in 0..1_u32 << rows.len() {
            let mut basis: Vec<Vec<f64>> = Vec::new();
            let all = std::iter::once(row(first..end))
                .chain((0..rows.len()).filter(|at| chosen >> at & 1 == 1).map(|at| rows[at].clone()));
            for mut vector in all {
                for _ in 0..2 {
                    for unit in &basis {
                        let along: f64 = vector.iter().zip(unit).map(|(a, b)| a * b).sum();
                        vector.iter_mut().zip(unit).for_each(|(a, b)| *a -= along * b);
                    }
                }
                let length = vector.iter().map(|a| a * a).sum::<f64>().sqrt();
                basis.push(vector.iter().map(|a| a / length).collect());
            }
            let mut point = fields.to_vec();
            for unit in &basis {
                let along: f64 = point.iter().zip(unit).map(|(a, b)| a * b).sum();
                point.iter_mut().zip(unit).for_each(|(a, b)| *a -= along * b);
            }
            if is_in_cell(&point, weights, first, end) {
                least = least.min(point.iter().zip(fields).map(|(a, b)| (a - b).powi(2)).sum());
            }
        }
        least
    }

    #[test]
    fn the_value_is_that_of_brute_force_over_all_faces_of_all_cells() {
        let mut random = Random::new(13);
        for count in 2..=6_usize {
            for _ in 0..30 {
                let fields: Vec<f64> = (0..count).map(|_| random.between(-1.0, 1.0)).collect();
                let weights: Vec<f64> = (0..count).map(|_| random.between(0.2, 3.0)).collect();
                for layer in 0..count {
                    let cells = (0..=layer).flat_map(|first| (layer + 1..=count).map(move |end| (first, end)));
                    let slow = cells
                        .map(|(first, end)| brute_force(&fields, &weights, first, end))
                        .fold(f64::INFINITY, f64::min)
                        .sqrt();
                    let fast = distance(&fields, &weights, layer).abs();
                    assert!((fast - slow).abs() < 1e-6, "{fields:?} {weights:?} {layer}: {fast}, not {slow}");
                }
            }
        }
    }
}
