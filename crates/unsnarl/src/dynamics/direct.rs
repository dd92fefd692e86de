//! A sparse Cholesky factorisation of the implicit system, as an alternative to conjugate gradients.
//!
//! Constrained directions are projected out: with `S` the filter of every vertex, `S A S + (I - S)` is factored and
//! solved for the change from the start, so that constrained parts keep their values. The layout of the
//! factor ([`super::block_cholesky`]) is found again only when other rows act on each other: where layers press on others than before.
//!
//! Guarantees: the same bits on any number of threads, for it works on one; a matrix without a factor is told.
//! Does not: save memory. The factor of a sheet of 10,000 vertices takes some 100 MB, and grows a little faster than the sheet.
//! Departs: products use what the processor has, so bits may differ between kinds of processors.

use super::block_cholesky::{Factor, Layout, UpperPattern};
use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::{Freedom, Solve};
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3};
use std::sync::Arc;

/// What is kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct DirectMemory {
    layout: Option<Arc<Layout>>,
    blocks: Blocks,
    factor: Factor,
    image: Vec<DVec3>,
    unknown: Vec<DVec3>,
}

/// The blocks right of the diagonal: those of the pattern, and where ties join other rows, theirs.
#[derive(Clone, Debug, Default)]
struct Blocks {
    pattern: UpperPattern,
    values: Vec<DMat3>,
}

impl Blocks {
    /// Gathers them, row by row.
    fn gather(&mut self, matrix: &BlockMatrix, pattern: &Pattern) {
        let mut tied: Vec<([u32; 2], DMat3)> = matrix.ties.products().collect();
        tied.sort_by_key(|tie| tie.0);
        let mut tied = tied.into_iter().peekable();
        let UpperPattern { row_starts, columns } = &mut self.pattern;
        row_starts.clear();
        row_starts.push(0);
        columns.clear();
        self.values.clear();
        for row in 0..pattern.row_count() as u32 {
            let own = pattern.row_starts[row as usize] as usize..pattern.row_starts[row as usize + 1] as usize;
            let mut own = own.map(|at| (pattern.columns[at], matrix.upper[at])).peekable();
            loop {
                let next_tied = tied.peek().filter(|tie| tie.0[0] == row).map(|tie| tie.0[1]);
                let next_own = own.peek().map(|block| block.0);
                let Some(column) = next_own.into_iter().chain(next_tied).min() else { break };
                let mut value = own.next_if(|block| block.0 == column).map_or(DMat3::ZERO, |block| block.1);
                while let Some((_, product)) = tied.next_if(|tie| tie.0 == [row, column]) {
                    value += product;
                }
                columns.push(column as usize);
                self.values.push(value);
            }
            row_starts.push(columns.len());
        }
    }

    /// Leaves of every block what acts between free directions.
    fn project(&mut self, filters: &[DMat3], freedom: &[Freedom]) {
        let is_free = |row: usize| freedom[row] == Freedom::Free;
        for (row, own) in filters.iter().enumerate() {
            for at in self.pattern.of(row) {
                let column = self.pattern.columns[at];
                if !(is_free(row) && is_free(column)) {
                    self.values[at] = *own * self.values[at] * filters[column];
                }
            }
        }
    }
}

/// Solves `matrix x = right` in the free directions; `x` holds the wanted values in the others. `None` where the matrix has no factor,
/// and `x` is as it was.
pub fn solve(
    matrix: &mut BlockMatrix,
    pattern: &Pattern,
    right: &[DVec3],
    freedom: &[Freedom],
    x: &mut [DVec3],
    memory: &mut DirectMemory,
) -> Option<Solve> {
    let DirectMemory { layout, blocks, factor, image, unknown } = memory;
    blocks.gather(matrix, pattern);
    if layout.as_ref().is_none_or(|known| !known.is_of(&blocks.pattern)) {
        *layout = Layout::new(&blocks.pattern).map(Arc::new);
    }
    let layout = layout.as_deref()?;
    let filters: Vec<DMat3> = freedom.iter().map(|freedom| filter_matrix(*freedom)).collect();
    blocks.project(&filters, freedom);
    let projected = |(row, own): (usize, &DMat3)| *own * matrix.whole_diagonal(row) * *own + (DMat3::IDENTITY - *own);
    let diagonal: Vec<DMat3> = filters.iter().enumerate().map(projected).collect();
    if !factor.find(layout, &diagonal, &blocks.values) {
        return None;
    }
    image.clear();
    image.resize(x.len(), DVec3::ZERO);
    matrix.multiply(pattern, x, image);
    let scale: f64 = freedom.iter().zip(right).map(|(freedom, right)| freedom.filter(*right).length_squared()).sum();
    unknown.clear();
    unknown.extend((0..x.len()).map(|row| freedom[row].filter(right[row] - image[row])));
    factor.solve(layout, unknown);
    if unknown.iter().any(|value| !value.is_finite()) {
        return None;
    }
    for (row, value) in x.iter_mut().enumerate() {
        *value += freedom[row].filter(unknown[row]);
    }
    matrix.multiply(pattern, x, image);
    let left: f64 = (0..x.len()).map(|row| freedom[row].filter(right[row] - image[row]).length_squared()).sum();
    let relative_residual = if scale > 0.0 { (left / scale).sqrt() } else { 0.0 };
    Some(Solve { iterations: 0, relative_residual })
}

fn filter_matrix(freedom: Freedom) -> DMat3 {
    DMat3::from_cols(freedom.filter(DVec3::X), freedom.filter(DVec3::Y), freedom.filter(DVec3::Z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::coarse::tests::system;
    use crate::dynamics::conjugate_gradients::{Correction, Limits, SolverMemory, solve as iterate};
    use crate::dynamics::cushion::Cushion;
    use crate::geometry::{Stencil, VertexId};

    /// Ties join rows that the pattern does not, and one that it does; the next solve has others, the last none.
    #[test]
    fn with_ties_the_solution_is_that_of_conjugate_gradients() {
        let (pattern, mut matrix, freedom) = system(12);
        let count = pattern.row_count();
        let right: Vec<DVec3> = (0..count).map(|row| DVec3::new(1.0, (row % 7) as f64, -2.0)).collect();
        let tie = |ids: [u32; 4]| {
            let [a, b, c, d] = ids.map(VertexId);
            let normal = DVec3::new(0.36, 0.48, 0.8);
            Cushion::new(Stencil::edge_edge([a, b], [c, d], [0.3, 0.6]), normal, 1e-3, 2e-3, 5e3)
        };
        let mut memory = DirectMemory::default();
        let rounds = [vec![tie([40, 41, 120, 121]), tie([60, 61, 62, 75])], vec![tie([40, 41, 90, 91])], Vec::new()];
        for cushions in rounds {
            matrix.ties.set(&cushions, &pattern, 0.01);
            let mut start = vec![DVec3::ZERO; count];
            start[0] = DVec3::new(0.1, 0.2, 0.3);
            let mut factored = start.clone();
            let done = solve(&mut matrix, &pattern, &right, &freedom, &mut factored, &mut memory).unwrap();
            assert!(done.relative_residual < 1e-10, "{}", done.relative_residual);
            let limits = Limits { tolerance: 1e-12, usual: &[], iterations: 5000, correction: Correction::None };
            let mut iterated = start;
            iterate(&mut matrix, &pattern, &right, &freedom, &mut iterated, limits, &mut SolverMemory::default());
            let largest = iterated.iter().map(|value| value.length()).fold(0.0, f64::max);
            assert!(factored.iter().zip(&iterated).all(|(a, b)| (*a - *b).length() < 1e-8 * largest));
        }
    }
}
