//! The Cholesky factor of a sparse symmetric matrix that acts alike on x, y and z: one number instead of a 3x3 block.
//!
//! The same elimination as in [`super::block_cholesky`], on the same [`Layout`], with a twelfth of its memory. For a
//! matrix whose blocks are multiples of the identity both give the same bits.
//!
//! Guarantees: a fixed order, so the same bits each time and on any number of threads; reports matrices that are not
//! positive definite.
//! Departs: products are fused where the processor can, so bits may differ between kinds of processors.

use super::block_cholesky::{Chains, Layout, NONE};
use crate::geometry::DVec3;
use fearless_simd::{Level, dispatch, f64x4, prelude::*};
use std::ops::Range;

/// The numbers of a factor, and memory for solving with them.
#[derive(Clone, Debug, Default)]
pub struct ScalarFactor {
    diagonal: Vec<f64>,
    below: Vec<f64>,
    unknown: Vec<DVec3>,
}

impl ScalarFactor {
    /// Factors the matrix with these entries, `upper` in the order of the layout's pattern; says whether it has a
    /// factor.
    pub fn find(&mut self, layout: &Layout, diagonal: &[f64], upper: &[f64]) -> bool {
        let count = layout.place.len();
        self.diagonal = vec![0.0; count];
        self.below = vec![0.0; layout.rows.len()];
        for (&place, value) in layout.place.iter().zip(diagonal) {
            self.diagonal[place as usize] = *value;
        }
        for (&slot, value) in layout.slots.iter().zip(upper) {
            self.below[slot as usize] = *value;
        }
        let [second, rest] = layout.ends_of_parts;
        if rest == 0 {
            return Elimination::new(layout).run(0..count, &mut self.diagonal, &mut self.below);
        }
        let [below_of_second, below_of_rest] = [second, rest].map(|column| layout.starts[column] as usize);
        let (diagonals, belows) = (&mut self.diagonal[..rest], &mut self.below[..below_of_rest]);
        let (diagonals, belows) = (diagonals.split_at_mut(second), belows.split_at_mut(below_of_second));
        let (mut one, mut other) = (Elimination::new(layout), Elimination::new(layout));
        let (is_found, is_found_too) = rayon::join(
            || one.run(0..second, diagonals.0, belows.0),
            || other.run(second..rest, diagonals.1, belows.1),
        );
        one.take_over(&other, second..rest);
        is_found && is_found_too && one.run(rest..count, &mut self.diagonal, &mut self.below)
    }

    /// Solves with the factor: `values` goes in as the right-hand side and comes out as the solution.
    pub fn solve(&mut self, layout: &Layout, values: &mut [DVec3]) {
        let Self { diagonal, below, unknown } = self;
        unknown.clear();
        unknown.resize(values.len(), DVec3::ZERO);
        for (&place, value) in layout.place.iter().zip(&*values) {
            unknown[place as usize] = *value;
        }
        for column in 0..unknown.len() {
            let own = unknown[column] / diagonal[column];
            unknown[column] = own;
            let range = layout.column(column);
            for (&row, value) in layout.rows[range.clone()].iter().zip(&below[range]) {
                unknown[row as usize] -= *value * own;
            }
        }
        let (parts, rest) = unknown.split_at_mut(layout.ends_of_parts[1]);
        let back = Back { layout, diagonal, below };
        back.run(layout.ends_of_parts[1], rest, &[]);
        let (first, second) = parts.split_at_mut(layout.ends_of_parts[0]);
        let rest = &*rest;
        rayon::join(|| back.run(0, first, rest), || back.run(layout.ends_of_parts[0], second, rest));
        for (&place, value) in layout.place.iter().zip(values) {
            *value = unknown[place as usize];
        }
    }
}

/// The second half of a solve, from the last column to the first.
struct Back<'a> {
    layout: &'a Layout,
    diagonal: &'a [f64],
    below: &'a [f64],
}

impl Back<'_> {
    /// For the columns of a part, which begin at `first`, with what was found for the columns after all parts.
    fn run(&self, first: usize, own: &mut [DVec3], rest: &[DVec3]) {
        let begin_of_rest = self.layout.place.len() - rest.len();
        for column in (0..own.len()).rev() {
            let range = self.layout.column(first + column);
            let mut right = own[column];
            for (&row, value) in self.layout.rows[range.clone()].iter().zip(&self.below[range]) {
                let row = row as usize;
                right -= *value * if row < begin_of_rest { own[row - first] } else { rest[row - begin_of_rest] };
            }
            own[column] = right / self.diagonal[first + column];
        }
    }
}

/// What columns to the left still have to take from those to the right.
struct Elimination<'a> {
    layout: &'a Layout,
    /// Each column waits in the chain of the next row in which it has an entry.
    waiting: Chains,
    /// That entry, for every column.
    reached: Vec<u32>,
    /// Entries of the column at hand, by row.
    work: Vec<f64>,
}

impl<'a> Elimination<'a> {
    fn new(layout: &'a Layout) -> Self {
        let count = layout.place.len();
        let (waiting, reached) = (Chains::new(count), layout.starts.clone());
        Self { layout, waiting, reached, work: vec![0.0; count] }
    }

    /// Takes over what columns of another part have left to do.
    fn take_over(&mut self, other: &Self, columns: Range<usize>) {
        for column in columns {
            let (reached, end) = (other.reached[column], self.layout.starts[column + 1]);
            self.reached[column] = reached;
            if reached < end {
                self.waiting.push(self.layout.rows[reached as usize], column as u32);
            }
        }
    }

    /// Factors some columns. The entries are those of these columns alone, or of all.
    fn run(&mut self, columns: Range<usize>, diagonal: &mut [f64], below: &mut [f64]) -> bool {
        dispatch!(Level::new(), simd => self.run_with(simd, columns, diagonal, below))
    }

    #[inline(always)]
    fn run_with<S: Simd>(&mut self, simd: S, columns: Range<usize>, diagonal: &mut [f64], below: &mut [f64]) -> bool {
        let Self { layout, waiting, reached, work } = self;
        let is_all = diagonal.len() == layout.place.len();
        let first = if is_all { 0 } else { columns.start };
        let base = layout.starts[first] as usize;
        for column in columns {
            let range = layout.column(column);
            let rows = &layout.rows[range.clone()];
            for (&row, value) in rows.iter().zip(&below[range.start - base..]) {
                work[row as usize] = *value;
            }
            let mut own = diagonal[column - first];
            let mut left = waiting.first[column];
            while left != NONE {
                let following = waiting.next[left as usize];
                let (at, end) = (reached[left as usize] as usize, layout.starts[left as usize + 1] as usize);
                let taken = below[at - base];
                let factor = f64x4::splat(simd, -taken);
                own = f64x4::splat(simd, taken).mul_add(factor, f64x4::splat(simd, own)).as_slice()[0];
                take(simd, factor, (&layout.rows[at + 1..end], &below[at + 1 - base..end - base]), work);
                reached[left as usize] = at as u32 + 1;
                if at + 1 < end {
                    waiting.push(layout.rows[at + 1], left);
                }
                left = following;
            }
            let root = own.sqrt();
            if !(root.is_finite() && root > 0.0) {
                return false;
            }
            diagonal[column - first] = root;
            let inverse = 1.0 / root;
            for (&row, value) in rows.iter().zip(&mut below[range.start - base..]) {
                *value = work[row as usize] * inverse;
            }
            if let Some(&next) = rows.first() {
                waiting.push(next, column as u32);
            }
        }
        true
    }
}

/// `work[row] += factor value` for the rows and values of a column.
#[inline(always)]
fn take<S: Simd>(simd: S, factor: f64x4<S>, (rows, values): (&[u32], &[f64]), work: &mut [f64]) {
    for (rows, values) in rows.chunks(4).zip(values.chunks(4)) {
        let (mut before, mut taken) = ([0.0; 4], [0.0; 4]);
        for (at, (&row, value)) in rows.iter().zip(values).enumerate() {
            (before[at], taken[at]) = (work[row as usize], *value);
        }
        let after = f64x4::from_slice(simd, &taken).mul_add(factor, f64x4::from_slice(simd, &before));
        for (&row, value) in rows.iter().zip(after.as_slice()) {
            work[row as usize] = *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::block_cholesky::{Factor, UpperPattern};
    use crate::geometry::DMat3;
    use proptest::prelude::*;

    /// The Laplacian of a grid with weights, and something on its diagonal.
    fn grid(wide: usize, high: usize, weight: impl Fn(usize) -> f64) -> (UpperPattern, Vec<f64>, Vec<f64>) {
        let mut pattern = UpperPattern { row_starts: vec![0], columns: Vec::new() };
        let (mut diagonal, mut upper) = (vec![0.1; wide * high], Vec::new());
        for row in 0..wide * high {
            let right = (row % wide + 1 < wide).then_some(row + 1);
            let above = (row + wide < wide * high).then_some(row + wide);
            for column in [right, above].into_iter().flatten() {
                let weight = weight(upper.len());
                pattern.columns.push(column as u32);
                upper.push(-weight);
                diagonal[row] += weight;
                diagonal[column] += weight;
            }
            pattern.row_starts.push(pattern.columns.len() as u32);
        }
        (pattern, diagonal, upper)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn it_gives_the_bits_of_the_block_factor(seed in 0..1000_usize, wide in 2..40_usize, high in 2..40_usize) {
            let weight = |at: usize| 0.2 + ((at * 7919 + seed * 104_729) % 1000) as f64 / 1000.0;
            let (pattern, diagonal, upper) = grid(wide, high, weight);
            let layout = Layout::new(pattern).unwrap();
            let blocks = |values: &[f64]| -> Vec<DMat3> {
                values.iter().map(|&value| DMat3::from_diagonal(DVec3::splat(value))).collect()
            };
            let (mut one, mut other) = (ScalarFactor::default(), Factor::default());
            prop_assert!(one.find(&layout, &diagonal, &upper));
            prop_assert!(other.find(&layout, &blocks(&diagonal), &blocks(&upper)));
            let right = |at: usize| DVec3::new(at as f64, (at as f64).sin(), 1.0 / (1.0 + at as f64));
            let mut values: Vec<DVec3> = (0..wide * high).map(right).collect();
            let mut expected = values.clone();
            one.solve(&layout, &mut values);
            other.solve(&layout, &mut expected);
            prop_assert_eq!(values, expected);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_reported() {
        let (pattern, mut diagonal, upper) = grid(4, 3, |_| 1.0);
        let layout = Layout::new(pattern).unwrap();
        for bad in [-1.0, 0.0, f64::NAN] {
            diagonal[5] = bad;
            assert!(!ScalarFactor::default().find(&layout, &diagonal, &upper));
        }
    }
}
