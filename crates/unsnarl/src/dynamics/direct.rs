//! A sparse Cholesky factorisation of the implicit system, as an alternative to conjugate gradients.
//!
//! Constrained directions are projected out: with `S` the filter of every vertex, `S A S + (I - S)` is factored and
//! solved for the change from the start, so that constrained parts keep their values. The plan of the
//! factor ([`super::block_cholesky`]) is made again only when other rows act on each other: where layers press on others than before.
//!
//! Guarantees: the same bits on any number of threads; a matrix without a factor is told.
//! Does not: save memory. The factor of a sheet of 10,000 vertices takes some 100 MB, and grows a little faster than the sheet.
//! Departs: products use what the processor has, so bits may differ between kinds of processors.

use super::block_cholesky::{Factor, Layout, UpperPattern};
use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::{Freedom, Solve};
use super::cushion::{Cushion, PAIRS_OF_TIE};
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3};
use std::sync::Arc;

/// What is kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct DirectMemory {
    plan: Option<Arc<Plan>>,
    values: Vec<DMat3>,
    factor: Factor,
    image: Vec<DVec3>,
    unknown: Vec<DVec3>,
}

/// Where the blocks of a matrix go, those that ties add among them.
#[derive(Debug)]
struct Plan {
    /// What it was made for.
    tied: Vec<[u32; 4]>,
    row_starts: Vec<u32>,
    columns: Vec<u32>,
    /// For every block of the pattern, its number among all.
    own_at: Vec<u32>,
    /// For every two rows of every tie, the number of their block, or `NO_BLOCK` where they are one row.
    tie_at: Vec<u32>,
    layout: Layout,
}

const NO_BLOCK: u32 = u32::MAX;

impl Plan {
    fn is_for(&self, pattern: &Pattern, tied: &[[u32; 4]]) -> bool {
        self.tied == tied && self.columns == pattern.columns && self.row_starts == pattern.row_starts
    }

    fn new(pattern: &Pattern, tied: Vec<[u32; 4]>) -> Option<Self> {
        let joined =
            || tied.iter().flat_map(|rows| PAIRS_OF_TIE.map(|[i, j]| [rows[i].min(rows[j]), rows[i].max(rows[j])]));
        let mut added: Vec<[u32; 2]> = joined().filter(|[row, column]| row != column).collect();
        added.sort_unstable();
        added.dedup();
        let mut added = added.into_iter().peekable();
        let mut blocks = UpperPattern { row_starts: vec![0], columns: Vec::new() };
        let mut own_at = Vec::with_capacity(pattern.columns.len());
        for row in 0..pattern.row_count() as u32 {
            let range = pattern.row_starts[row as usize] as usize..pattern.row_starts[row as usize + 1] as usize;
            for &column in &pattern.columns[range] {
                while let Some([_, new]) = added.next_if(|pair| *pair < [row, column]) {
                    blocks.columns.push(new);
                }
                added.next_if_eq(&[row, column]);
                own_at.push(blocks.columns.len() as u32);
                blocks.columns.push(column);
            }
            while let Some([_, new]) = added.next_if(|pair| pair[0] == row) {
                blocks.columns.push(new);
            }
            blocks.row_starts.push(blocks.columns.len() as u32);
        }
        let find = |[row, column]: [u32; 2]| {
            let range = blocks.of(row as usize);
            let found = blocks.columns[range.clone()].binary_search(&column);
            found.map_or(NO_BLOCK, |at| (range.start + at) as u32)
        };
        let tie_at = joined().map(find).collect();
        let layout = Layout::new(blocks)?;
        let (row_starts, columns) = (pattern.row_starts.clone(), pattern.columns.clone());
        Some(Self { tied, row_starts, columns, own_at, tie_at, layout })
    }

    /// Adds up all blocks right of the diagonal, and leaves of them what acts between free directions.
    fn gather(&self, matrix: &BlockMatrix, (freedom, filters): (&[Freedom], &[DMat3]), values: &mut Vec<DMat3>) {
        let blocks = &self.layout.pattern;
        values.clear();
        values.resize(blocks.columns.len(), DMat3::ZERO);
        for (&at, block) in self.own_at.iter().zip(&matrix.upper) {
            values[at as usize] = *block;
        }
        for (&at, product) in self.tie_at.iter().zip(matrix.ties.products()) {
            if at != NO_BLOCK {
                values[at as usize] += product;
            }
        }
        let is_free = |row: usize| freedom[row] == Freedom::Free;
        for row in 0..filters.len() {
            for at in blocks.of(row) {
                let column = blocks.columns[at] as usize;
                if !(is_free(row) && is_free(column)) {
                    values[at] = filters[row] * values[at] * filters[column];
                }
            }
        }
    }
}

impl DirectMemory {
    /// Makes ready for systems with such cushions; it may run beside the gathering of the matrix.
    pub fn prepare(&mut self, pattern: &Pattern, cushions: &[Cushion]) {
        let rows = |cushion: &Cushion| cushion.stencil.vertices.map(|vertex| pattern.row(vertex) as u32);
        let tied: Vec<[u32; 4]> = cushions.iter().map(rows).collect();
        if self.plan.as_ref().is_none_or(|plan| !plan.is_for(pattern, &tied)) {
            self.plan = Plan::new(pattern, tied).map(Arc::new);
        }
    }
}

/// Solves `matrix x = right` in the free directions, after [`DirectMemory::prepare`]; `x` holds the wanted values in the others. `None`
/// where the matrix has no factor, and `x` is as it was.
pub fn solve(
    matrix: &mut BlockMatrix,
    pattern: &Pattern,
    right: &[DVec3],
    freedom: &[Freedom],
    x: &mut [DVec3],
    memory: &mut DirectMemory,
) -> Option<Solve> {
    let DirectMemory { plan, values, factor, image, unknown } = memory;
    let plan = plan.as_deref()?;
    let filters: Vec<DMat3> = freedom.iter().map(|freedom| filter_matrix(*freedom)).collect();
    plan.gather(matrix, (freedom, &filters), values);
    let projected = |(row, own): (usize, &DMat3)| *own * matrix.whole_diagonal(row) * *own + (DMat3::IDENTITY - *own);
    let diagonal: Vec<DMat3> = filters.iter().enumerate().map(projected).collect();
    if !factor.find(&plan.layout, &diagonal, values) {
        return None;
    }
    image.clear();
    image.resize(x.len(), DVec3::ZERO);
    matrix.multiply(pattern, x, image);
    let scale: f64 = freedom.iter().zip(right).map(|(freedom, right)| freedom.filter(*right).length_squared()).sum();
    unknown.clear();
    unknown.extend((0..x.len()).map(|row| freedom[row].filter(right[row] - image[row])));
    factor.solve(&plan.layout, unknown);
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
            memory.prepare(&pattern, &cushions);
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
