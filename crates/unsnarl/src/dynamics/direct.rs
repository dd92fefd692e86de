//! A sparse Cholesky factorisation of the implicit system, as an alternative to conjugate gradients.
//!
//! Constrained directions are projected out: with `S` the filter of every vertex, `S A S + (I - S)` is factored and
//! solved for the change from the start, so that constrained parts keep their values. The order of elimination and the
//! pattern of the factor are found again only when other rows act on each other: where layers press on others than before.
//!
//! Guarantees: the same bits on any number of threads, for it works on one; a matrix without a factor is told.
//! Does not: save memory. The factor of a sheet of 10,000 vertices takes some 100 MB, and grows a little faster than the sheet.
//! Departs: inner products use what the processor has, so bits may differ between kinds of processors.

use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::{Freedom, Solve};
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use std::sync::Arc;

/// What is kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct DirectMemory {
    symbolic: Option<Arc<Symbolic>>,
    blocks: Blocks,
    values: Vec<f64>,
    factor: Vec<f64>,
    image: Vec<DVec3>,
    unknown: Vec<f64>,
}

/// The lower triangle's pattern, by columns, and the pattern of its factor.
#[derive(Debug)]
struct Symbolic {
    row_starts: Vec<u32>,
    block_columns: Vec<u32>,
    column_starts: Vec<usize>,
    rows: Vec<usize>,
    factor: SymbolicCholesky<usize>,
}

/// The blocks right of the diagonal: those of the pattern, and where ties join other rows, theirs.
#[derive(Clone, Debug, Default)]
struct Blocks {
    row_starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<DMat3>,
}

impl Blocks {
    /// Gathers them, row by row.
    fn gather(&mut self, matrix: &BlockMatrix, pattern: &Pattern) {
        let mut tied: Vec<[u32; 2]> = matrix.ties.products().map(|(rows, _)| rows).collect();
        tied.sort_unstable();
        tied.dedup();
        let mut tied = tied.into_iter().peekable();
        self.row_starts.clear();
        self.row_starts.push(0);
        self.columns.clear();
        self.values.clear();
        for row in 0..pattern.row_count() as u32 {
            let mut push = |column: u32, value: DMat3| {
                self.columns.push(column);
                self.values.push(value);
            };
            for at in pattern.row_starts[row as usize] as usize..pattern.row_starts[row as usize + 1] as usize {
                let column = pattern.columns[at];
                while let Some([_, new]) = tied.next_if(|pair| *pair < [row, column]) {
                    push(new, DMat3::ZERO);
                }
                tied.next_if_eq(&[row, column]);
                push(column, matrix.upper[at]);
            }
            while let Some([_, new]) = tied.next_if(|pair| pair[0] == row) {
                push(new, DMat3::ZERO);
            }
            self.row_starts.push(self.columns.len() as u32);
        }
        for ([row, column], product) in matrix.ties.products() {
            let range = self.of(row as usize);
            if let Ok(at) = self.columns[range.clone()].binary_search(&column) {
                self.values[range.start + at] += product;
            }
        }
    }

    fn of(&self, row: usize) -> std::ops::Range<usize> {
        self.row_starts[row] as usize..self.row_starts[row + 1] as usize
    }

    fn row_count(&self) -> usize {
        self.row_starts.len() - 1
    }
}

impl Symbolic {
    fn is_of(&self, blocks: &Blocks) -> bool {
        self.row_starts == blocks.row_starts && self.block_columns == blocks.columns
    }

    fn new(blocks: &Blocks) -> Option<Self> {
        let size = 3 * blocks.row_count();
        let mut column_starts = vec![0];
        let mut rows = Vec::with_capacity(6 * blocks.row_count() + 9 * blocks.columns.len());
        for row in 0..blocks.row_count() {
            let others = &blocks.columns[blocks.of(row)];
            for axis in 0..3 {
                rows.extend((axis..3).map(|below| 3 * row + below));
                rows.extend(others.iter().flat_map(|&other| (0..3).map(move |below| 3 * other as usize + below)));
                column_starts.push(rows.len());
            }
        }
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &column_starts, None, &rows);
        let params = CholeskySymbolicParams::default();
        let factor = factorize_symbolic_cholesky(shape, Side::Lower, SymmetricOrdering::Amd, params).ok()?;
        let (row_starts, block_columns) = (blocks.row_starts.clone(), blocks.columns.clone());
        Some(Self { row_starts, block_columns, column_starts, rows, factor })
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
    memory.blocks.gather(matrix, pattern);
    if memory.symbolic.as_ref().is_none_or(|known| !known.is_of(&memory.blocks)) {
        memory.symbolic = Symbolic::new(&memory.blocks).map(Arc::new);
    }
    let symbolic = memory.symbolic.clone()?;
    let DirectMemory { values, factor, image, unknown, blocks, .. } = memory;
    fill(matrix, blocks, freedom, values);
    image.clear();
    image.resize(x.len(), DVec3::ZERO);
    matrix.multiply(pattern, x, image);
    unknown.clear();
    let mut scale = 0.0;
    for (row, freedom) in freedom.iter().enumerate() {
        scale += freedom.filter(right[row]).length_squared();
        unknown.extend(freedom.filter(right[row] - image[row]).to_array());
    }
    let size = unknown.len();
    let (params, par) = (Spec::default(), Par::Seq);
    let needed = symbolic.factor.factorize_numeric_llt_scratch::<f64>(par, params);
    let needed = StackReq::any_of(&[needed, symbolic.factor.solve_in_place_scratch::<f64>(1, par)]);
    let mut buffer = MemBuffer::try_new(needed).ok()?;
    let stack = MemStack::new(&mut buffer);
    factor.resize(symbolic.factor.len_val(), 0.0);
    let shape = SymbolicSparseColMatRef::new_checked(size, size, &symbolic.column_starts, None, &symbolic.rows);
    let system = SparseColMatRef::new(shape, values.as_slice());
    let regularization = Default::default();
    let factored =
        symbolic.factor.factorize_numeric_llt(factor, system, Side::Lower, regularization, par, stack, params).ok()?;
    let change = MatMut::from_column_major_slice_mut(unknown.as_mut_slice(), size, 1);
    factored.solve_in_place_with_conj(Conj::No, change, par, stack);
    if unknown.iter().any(|value| !value.is_finite()) {
        return None;
    }
    for (row, value) in x.iter_mut().enumerate() {
        *value += freedom[row].filter(DVec3::from_slice(&unknown[3 * row..3 * row + 3]));
    }
    matrix.multiply(pattern, x, image);
    let left: f64 = (0..x.len()).map(|row| freedom[row].filter(right[row] - image[row]).length_squared()).sum();
    let relative_residual = if scale > 0.0 { (left / scale).sqrt() } else { 0.0 };
    Some(Solve { iterations: 0, relative_residual })
}

/// The numbers of the projected matrix in the order of its blocks.
fn fill(matrix: &BlockMatrix, blocks: &Blocks, freedom: &[Freedom], values: &mut Vec<f64>) {
    let filters: Vec<DMat3> = freedom.iter().map(|freedom| filter_matrix(*freedom)).collect();
    values.clear();
    let mut projected: Vec<DMat3> = Vec::new();
    for (row, &own) in filters.iter().enumerate() {
        let diagonal = own * matrix.whole_diagonal(row) * own + (DMat3::IDENTITY - own);
        projected.clear();
        projected.extend(blocks.of(row).map(|at| own * blocks.values[at] * filters[blocks.columns[at] as usize]));
        for axis in 0..3 {
            values.extend((axis..3).map(|below| diagonal.col(axis)[below]));
            values.extend(projected.iter().flat_map(|block| block.row(axis).to_array()));
        }
    }
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
