//! A sparse Cholesky factorisation of the implicit system, as an alternative to conjugate gradients.
//!
//! Constrained directions are projected out: with `S` the filter of every vertex, `S A S + (I - S)` is factored and
//! solved for the change from the start, so that constrained parts keep their values. The order of elimination and the
//! pattern of the factor depend on the connectivity alone and are found once.
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

impl Symbolic {
    fn is_of(&self, pattern: &Pattern) -> bool {
        self.row_starts == pattern.row_starts && self.block_columns == pattern.columns
    }

    fn new(pattern: &Pattern) -> Option<Self> {
        let size = 3 * pattern.row_count();
        let mut column_starts = vec![0];
        let mut rows = Vec::with_capacity(6 * pattern.row_count() + 9 * pattern.columns.len());
        for row in 0..pattern.row_count() {
            let others = &pattern.columns[pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize];
            for axis in 0..3 {
                rows.extend((axis..3).map(|below| 3 * row + below));
                rows.extend(others.iter().flat_map(|&other| (0..3).map(move |below| 3 * other as usize + below)));
                column_starts.push(rows.len());
            }
        }
        let shape = SymbolicSparseColMatRef::new_checked(size, size, &column_starts, None, &rows);
        let params = CholeskySymbolicParams::default();
        let factor = factorize_symbolic_cholesky(shape, Side::Lower, SymmetricOrdering::Amd, params).ok()?;
        let (row_starts, block_columns) = (pattern.row_starts.clone(), pattern.columns.clone());
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
    if memory.symbolic.as_ref().is_none_or(|known| !known.is_of(pattern)) {
        memory.symbolic = Symbolic::new(pattern).map(Arc::new);
    }
    let symbolic = memory.symbolic.clone()?;
    let DirectMemory { values, factor, image, unknown, .. } = memory;
    fill(matrix, pattern, freedom, values);
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

/// The numbers of the projected matrix in the order of the pattern.
fn fill(matrix: &BlockMatrix, pattern: &Pattern, freedom: &[Freedom], values: &mut Vec<f64>) {
    let filters: Vec<DMat3> = freedom.iter().map(|freedom| filter_matrix(*freedom)).collect();
    values.clear();
    for row in 0..pattern.row_count() {
        let own = filters[row];
        let diagonal = own * matrix.diagonal[row] * own + (DMat3::IDENTITY - own);
        let range = pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize;
        for axis in 0..3 {
            values.extend((axis..3).map(|below| diagonal.col(axis)[below]));
            for at in range.clone() {
                let block = own * matrix.upper[at] * filters[pattern.columns[at] as usize];
                values.extend(block.row(axis).to_array());
            }
        }
    }
}

fn filter_matrix(freedom: Freedom) -> DMat3 {
    DMat3::from_cols(freedom.filter(DVec3::X), freedom.filter(DVec3::Y), freedom.filter(DVec3::Z))
}
