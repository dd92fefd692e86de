//! The Cholesky factor of a sparse symmetric matrix of 3x3 blocks.
//!
//! Two parts: a [`Layout`], which follows from the pattern alone (an approximate minimum degree order of the rows, the blocks of the factor, and where
//! each block of the matrix goes), and the numbers, found column by column from the left: what earlier columns take from a
//! column is gathered in a work column, one 3x3 product after the other. A block has its three columns in vectors of four, so that a product
//! is nine multiplications and additions of vectors.
//!
//! Guarantees: one thread, a fixed order, so the same bits each time; a matrix without a factor is told.
//! Departs: products are fused where the processor can, so bits may differ between kinds of processors.

use crate::geometry::{DMat3, DVec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;
use fearless_simd::{Level, dispatch, f64x4, prelude::*};

/// Columns of a 3x3 block; the fourth entries are zero.
type Block = [[f64; 4]; 3];
/// No column.
const NONE: u32 = u32::MAX;

/// The blocks right of the diagonal of a symmetric matrix, row by row, columns rising.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpperPattern {
    /// Where each row begins in `columns`, and the end.
    pub row_starts: Vec<usize>,
    /// Columns.
    pub columns: Vec<usize>,
}

impl UpperPattern {
    /// Where a row's blocks are.
    pub fn of(&self, row: usize) -> std::ops::Range<usize> {
        self.row_starts[row]..self.row_starts[row + 1]
    }

    /// Rows.
    pub fn row_count(&self) -> usize {
        self.row_starts.len().saturating_sub(1)
    }
}

/// The shape of a factor.
#[derive(Debug)]
pub struct Layout {
    pattern: UpperPattern,
    /// The place of every row in the order of elimination.
    place: Vec<u32>,
    /// Where each column of the factor begins in `rows`, and the end.
    starts: Vec<u32>,
    /// Places below the diagonal, rising in every column.
    rows: Vec<u32>,
    /// For every block of the pattern: where it goes in the factor.
    slots: Vec<u32>,
}

impl Layout {
    /// For a pattern; `None` where there is no memory for the search of an order.
    pub fn new(pattern: &UpperPattern) -> Option<Self> {
        let place = order(pattern)?;
        let (starts, rows) = columns(pattern, &place);
        let slot = |row: usize, column: usize| {
            let [first, second] = in_order(&place, row, column);
            let (begin, end) = (starts[first as usize] as usize, starts[first as usize + 1] as usize);
            (begin + rows[begin..end].partition_point(|&below| below < second)) as u32
        };
        let blocks =
            (0..pattern.row_count()).flat_map(|row| pattern.columns[pattern.of(row)].iter().map(move |&to| (row, to)));
        let slots = blocks.map(|(row, column)| slot(row, column)).collect();
        Some(Self { pattern: pattern.clone(), place, starts, rows, slots })
    }

    /// Whether it is the one of this pattern.
    pub fn is_of(&self, pattern: &UpperPattern) -> bool {
        self.pattern == *pattern
    }

    fn column(&self, column: usize) -> std::ops::Range<usize> {
        self.starts[column] as usize..self.starts[column + 1] as usize
    }
}

/// The places of two rows, the one that goes first first.
fn in_order(place: &[u32], row: usize, column: usize) -> [u32; 2] {
    let (a, b) = (place[row], place[column]);
    [a.min(b), a.max(b)]
}

/// The place of every row in an order that keeps the factor small.
fn order(pattern: &UpperPattern) -> Option<Vec<u32>> {
    let count = pattern.row_count();
    let shape =
        SymbolicSparseColMatRef::new_checked(count, count, &pattern.row_starts, None, pattern.columns.as_slice());
    let (mut order, mut place) = (vec![0_usize; count], vec![0_usize; count]);
    let needed = amd::order_scratch::<usize>(count, pattern.columns.len());
    let mut buffer = MemBuffer::try_new(needed).ok()?;
    let control = amd::Control::default();
    amd::order(&mut order, &mut place, shape, control, MemStack::new(&mut buffer)).ok()?;
    Some(place.into_iter().map(|at| at as u32).collect())
}

/// The columns of the factor: those of the matrix, and what the columns that have this one as their first below hand on.
fn columns(pattern: &UpperPattern, place: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let count = place.len();
    let mut of_matrix: Vec<Vec<u32>> = vec![Vec::new(); count];
    for row in 0..count {
        for &column in &pattern.columns[pattern.of(row)] {
            let [first, second] = in_order(place, row, column);
            of_matrix[first as usize].push(second);
        }
    }
    let (mut starts, mut rows): (Vec<u32>, Vec<u32>) = (vec![0], Vec::new());
    let (mut marks, mut heirs) = (vec![NONE; count], Chains::new(count));
    for column in 0..count {
        let begin = rows.len();
        marks[column] = column as u32;
        let mut add = |row: u32, rows: &mut Vec<u32>| {
            if marks[row as usize] != column as u32 {
                marks[row as usize] = column as u32;
                rows.push(row);
            }
        };
        of_matrix[column].iter().for_each(|&row| add(row, &mut rows));
        let mut left = heirs.first[column];
        while left != NONE {
            for at in starts[left as usize]..starts[left as usize + 1] {
                add(rows[at as usize], &mut rows);
            }
            left = heirs.next[left as usize];
        }
        rows[begin..].sort_unstable();
        if let Some(&first) = rows.get(begin) {
            heirs.push(first, column as u32);
        }
        starts.push(rows.len() as u32);
    }
    (starts, rows)
}

/// Columns in chains, one chain for every column.
#[derive(Clone, Debug, Default)]
struct Chains {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Chains {
    fn new(count: usize) -> Self {
        Self { first: vec![NONE; count], next: vec![NONE; count] }
    }

    fn push(&mut self, chain: u32, column: u32) {
        self.next[column as usize] = self.first[chain as usize];
        self.first[chain as usize] = column;
    }
}

/// The numbers of a factor, and memory for finding them.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    diagonal: Vec<Block>,
    below: Vec<Block>,
    work: Vec<Block>,
    unknown: Vec<DVec3>,
}

impl Factor {
    /// Factors the matrix with these blocks, `upper` in the order of the layout's pattern; says whether it has a factor.
    pub fn find(&mut self, layout: &Layout, diagonal: &[DMat3], upper: &[DMat3]) -> bool {
        let count = layout.place.len();
        for (blocks, length) in
            [(&mut self.diagonal, count), (&mut self.work, count), (&mut self.below, layout.rows.len())]
        {
            blocks.clear();
            blocks.resize(length, Block::default());
        }
        for (&place, block) in layout.place.iter().zip(diagonal) {
            self.diagonal[place as usize] = wide(*block);
        }
        for row in 0..count {
            for at in layout.pattern.of(row) {
                let is_first = layout.place[row] < layout.place[layout.pattern.columns[at]];
                let block = if is_first { upper[at].transpose() } else { upper[at] };
                self.below[layout.slots[at] as usize] = wide(block);
            }
        }
        dispatch!(Level::new(), simd => self.eliminate(simd, layout))
    }

    #[inline(always)]
    fn eliminate<S: Simd>(&mut self, simd: S, layout: &Layout) -> bool {
        let count = self.diagonal.len();
        // Each column waits in the chain of the next row in which it has a block.
        let (mut waiting, mut reached) = (Chains::new(count), layout.starts.clone());
        for column in 0..count {
            let range = layout.column(column);
            for (&row, block) in layout.rows[range.clone()].iter().zip(&self.below[range.clone()]) {
                self.work[row as usize] = *block;
            }
            let mut own = loaded(simd, &self.diagonal[column]);
            let mut left = waiting.first[column];
            while left != NONE {
                let following = waiting.next[left as usize];
                let (at, end) = (reached[left as usize] as usize, layout.starts[left as usize + 1] as usize);
                let taken = &self.below[at];
                let factors = [spread(simd, taken, 0), spread(simd, taken, 1), spread(simd, taken, 2)];
                own = less(simd, own, taken, &factors);
                for (&row, block) in layout.rows[at + 1..end].iter().zip(&self.below[at + 1..end]) {
                    let work = &mut self.work[row as usize];
                    *work = stored(less(simd, loaded(simd, work), block, &factors));
                }
                reached[left as usize] = at as u32 + 1;
                if at + 1 < end {
                    waiting.push(layout.rows[at + 1], left);
                }
                left = following;
            }
            let Some(root) = root(&stored(own)) else { return false };
            self.diagonal[column] = root;
            let inverse = |axis: usize| f64x4::splat(simd, 1.0 / root[axis][axis]);
            let (x, y, z) = (inverse(0), inverse(1), inverse(2));
            let (xy, xz, yz) = (root[0][1], root[0][2], root[1][2]);
            let (xy, xz, yz) = (f64x4::splat(simd, xy), f64x4::splat(simd, xz), f64x4::splat(simd, yz));
            for (&row, block) in layout.rows[range.clone()].iter().zip(&mut self.below[range.clone()]) {
                let [a, b, c] = loaded(simd, &self.work[row as usize]);
                let a = a * x;
                let b = (b - a * xy) * y;
                *block = stored([a, b, (c - a * xz - b * yz) * z]);
            }
            if let Some(&first) = layout.rows[range].first() {
                waiting.push(first, column as u32);
            }
        }
        true
    }

    /// Solves with the factor: `values` goes in as the right-hand side and comes out as the solution.
    pub fn solve(&mut self, layout: &Layout, values: &mut [DVec3]) {
        let unknown = &mut self.unknown;
        unknown.clear();
        unknown.resize(values.len(), DVec3::ZERO);
        for (&place, value) in layout.place.iter().zip(&*values) {
            unknown[place as usize] = *value;
        }
        for column in 0..unknown.len() {
            let [x, y, z] = narrow(&self.diagonal[column]);
            let right = unknown[column];
            let a = right.x / x.x;
            let b = (right.y - x.y * a) / y.y;
            let own = DVec3::new(a, b, (right.z - x.z * a - y.z * b) / z.z);
            unknown[column] = own;
            for at in layout.column(column) {
                let [x, y, z] = narrow(&self.below[at]);
                unknown[layout.rows[at] as usize] -= x * own.x + y * own.y + z * own.z;
            }
        }
        for column in (0..unknown.len()).rev() {
            let mut right = unknown[column];
            for at in layout.column(column) {
                let other = unknown[layout.rows[at] as usize];
                right -= DVec3::from_array(narrow(&self.below[at]).map(|column| column.dot(other)));
            }
            let [x, y, z] = narrow(&self.diagonal[column]);
            let c = right.z / z.z;
            let b = (right.y - y.z * c) / y.y;
            unknown[column] = DVec3::new((right.x - x.y * b - x.z * c) / x.x, b, c);
        }
        for (&place, value) in layout.place.iter().zip(values) {
            *value = unknown[place as usize];
        }
    }
}

fn wide(block: DMat3) -> Block {
    [block.x_axis, block.y_axis, block.z_axis].map(|column| [column.x, column.y, column.z, 0.0])
}

fn narrow(block: &Block) -> [DVec3; 3] {
    block.map(|column| DVec3::new(column[0], column[1], column[2]))
}

#[inline(always)]
fn loaded<S: Simd>(simd: S, block: &Block) -> [f64x4<S>; 3] {
    let [x, y, z] = block;
    [f64x4::from_slice(simd, x), f64x4::from_slice(simd, y), f64x4::from_slice(simd, z)]
}

#[inline(always)]
fn stored<S: Simd>([x, y, z]: [f64x4<S>; 3]) -> Block {
    let mut block = Block::default();
    x.store_slice(&mut block[0]);
    y.store_slice(&mut block[1]);
    z.store_slice(&mut block[2]);
    block
}

/// A row of a block, every entry in a vector of its own.
#[inline(always)]
fn spread<S: Simd>(simd: S, block: &Block, row: usize) -> [f64x4<S>; 3] {
    [f64x4::splat(simd, block[0][row]), f64x4::splat(simd, block[1][row]), f64x4::splat(simd, block[2][row])]
}

/// `values - left right^T`; `right` as rows that are spread.
#[inline(always)]
fn less<S: Simd>(simd: S, [a, b, c]: [f64x4<S>; 3], left: &Block, [p, q, r]: &[[f64x4<S>; 3]; 3]) -> [f64x4<S>; 3] {
    let [x, y, z] = loaded(simd, left);
    let (x, y, z) = (-x, -y, -z);
    [
        z.mul_add(p[2], y.mul_add(p[1], x.mul_add(p[0], a))),
        z.mul_add(q[2], y.mul_add(q[1], x.mul_add(q[0], b))),
        z.mul_add(r[2], y.mul_add(r[1], x.mul_add(r[0], c))),
    ]
}

/// The lower triangular factor of one block, if it has one.
fn root(block: &Block) -> Option<Block> {
    let [x, y, z] = *block;
    let xx = x[0].sqrt();
    let (xy, xz) = (x[1] / xx, x[2] / xx);
    let yy = (y[1] - xy * xy).sqrt();
    let yz = (y[2] - xz * xy) / yy;
    let zz = (z[2] - xz * xz - yz * yz).sqrt();
    let is_found = [xx, yy, zz].iter().all(|value| value.is_finite() && *value > 0.0);
    is_found.then_some([[xx, xy, xz, 0.0], [0.0, yy, yz, 0.0], [0.0, 0.0, zz, 0.0]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A symmetric matrix with some blocks, and rows heavy enough to have a factor.
    fn matrix(rows: usize, joined: &[(usize, usize, [f64; 9])]) -> (UpperPattern, Vec<DMat3>, Vec<DMat3>) {
        let mut blocks: Vec<(usize, usize, DMat3)> =
            joined.iter().map(|(a, b, values)| (*a.min(b), *a.max(b), DMat3::from_cols_array(values))).collect();
        blocks.retain(|(row, column, _)| row != column);
        blocks.sort_by_key(|(row, column, _)| (*row, *column));
        blocks.dedup_by_key(|(row, column, _)| (*row, *column));
        let mut diagonal = vec![DMat3::IDENTITY; rows];
        let mut pattern = UpperPattern { row_starts: vec![0], columns: Vec::new() };
        let mut upper = Vec::new();
        for row in 0..rows {
            for (_, column, block) in blocks.iter().filter(|block| block.0 == row) {
                pattern.columns.push(*column);
                upper.push(*block);
                diagonal[row] += DMat3::IDENTITY * 3.1;
                diagonal[*column] += DMat3::IDENTITY * 3.1;
            }
            pattern.row_starts.push(pattern.columns.len());
        }
        (pattern, diagonal, upper)
    }

    fn product(pattern: &UpperPattern, diagonal: &[DMat3], upper: &[DMat3], x: &[DVec3]) -> Vec<DVec3> {
        let mut out: Vec<DVec3> = diagonal.iter().zip(x).map(|(block, value)| *block * *value).collect();
        for row in 0..pattern.row_count() {
            for at in pattern.of(row) {
                let column = pattern.columns[at];
                out[row] += upper[at] * x[column];
                out[column] += upper[at].transpose() * x[row];
            }
        }
        out
    }

    proptest! {
        #[test]
        fn the_solution_gives_the_right_hand_side_back(
            joined in prop::collection::vec((0..40_usize, 0..40_usize, prop::array::uniform9(-1.0..1.0_f64)), 0..160)
        ) {
            let (pattern, diagonal, upper) = matrix(40, &joined);
            let wanted: Vec<DVec3> = (0..40).map(|row| DVec3::new(1.0, f64::from(row), -2.0)).collect();
            let layout = Layout::new(&pattern).unwrap();
            let mut factor = Factor::default();
            prop_assert!(factor.find(&layout, &diagonal, &upper));
            let mut values = product(&pattern, &diagonal, &upper, &wanted);
            factor.solve(&layout, &mut values);
            prop_assert!(values.iter().zip(&wanted).all(|(found, wanted)| (*found - *wanted).length() < 1e-9));
        }
    }

    #[test]
    fn a_row_that_all_others_act_on_goes_last() {
        let joined: Vec<_> = (1..30).map(|row| (0, row, [0.1; 9])).collect();
        let (pattern, ..) = matrix(30, &joined);
        let layout = Layout::new(&pattern).unwrap();
        assert_eq!(layout.rows.len(), 29, "no block is added");
    }

    #[test]
    fn a_matrix_without_a_factor_is_told() {
        let (pattern, mut diagonal, upper) = matrix(3, &[(0, 1, [1.0; 9]), (1, 2, [1.0; 9])]);
        let layout = Layout::new(&pattern).unwrap();
        for bad in [-1.0, 0.0, f64::NAN] {
            diagonal[1] = DMat3::IDENTITY * bad;
            assert!(!Factor::default().find(&layout, &diagonal, &upper));
        }
    }
}
