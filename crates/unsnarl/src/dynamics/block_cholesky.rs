//! The Cholesky factor of a sparse symmetric matrix of 3x3 blocks.
//!
//! Two parts: a [`Layout`], which follows from the pattern alone (an approximate minimum degree order of the rows, the blocks of the factor, and where
//! each block of the matrix goes), and the numbers, found column by column from the left: what earlier columns take from a
//! column is gathered in a work column, one 3x3 product after the other. A block has its three columns in vectors of four, so that a product
//! is nine multiplications and additions of vectors.
//!
//! Rows that do not act on each other until late are put into two parts, which two threads factor side by side; the rest follows.
//!
//! Guarantees: a fixed order, so the same bits each time and on any number of threads; a matrix without a factor is told.
//! Departs: products are fused where the processor can, so bits may differ between kinds of processors.

use crate::geometry::{DMat3, DVec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;
use fearless_simd::{Level, dispatch, f64x4, prelude::*};
use std::ops::Range;

/// Columns of a 3x3 block; the fourth entries are zero.
type Block = [[f64; 4]; 3];
/// No column.
pub(super) const NONE: u32 = u32::MAX;

/// The blocks right of the diagonal of a symmetric matrix, row by row, columns rising.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpperPattern {
    /// Where each row begins in `columns`, and the end.
    pub row_starts: Vec<u32>,
    /// Columns.
    pub columns: Vec<u32>,
}

impl UpperPattern {
    /// Where a row's blocks are.
    pub fn of(&self, row: usize) -> Range<usize> {
        self.row_starts[row] as usize..self.row_starts[row + 1] as usize
    }

    /// Rows.
    pub fn row_count(&self) -> usize {
        self.row_starts.len().saturating_sub(1)
    }
}

/// The shape of a factor.
#[derive(Debug)]
pub struct Layout {
    /// What it is the shape for.
    pub pattern: UpperPattern,
    /// The place of every row in the order of elimination.
    pub(super) place: Vec<u32>,
    /// Where each column of the factor begins in `rows`, and the end.
    pub(super) starts: Vec<u32>,
    /// Places below the diagonal, rising in every column.
    pub(super) rows: Vec<u32>,
    /// For every block of the pattern: where it goes in the factor.
    pub(super) slots: Vec<u32>,
    /// Where the second part and the rest begin; the columns of the two parts do not act on each other.
    pub(super) ends_of_parts: [usize; 2],
}

impl Layout {
    /// For a pattern; `None` where there is no memory for the search of an order.
    pub fn new(pattern: UpperPattern) -> Option<Self> {
        let mut place = order(&pattern)?;
        let mut of_matrix = ByColumn::new(&pattern, &place);
        let (mut starts, mut rows) = columns(&of_matrix);
        let (parts, ends_of_parts) = two_parts(&starts, &rows);
        if ends_of_parts != [0, 0] {
            regroup(&parts, &mut place, &mut starts, &mut rows);
            of_matrix = ByColumn::new(&pattern, &place);
        }
        let mut slots = vec![0; pattern.columns.len()];
        let mut slot_of_row = vec![0; place.len()];
        for column in 0..place.len() {
            for at in starts[column]..starts[column + 1] {
                slot_of_row[rows[at as usize] as usize] = at;
            }
            for &(row, block) in of_matrix.column(column) {
                slots[block as usize] = slot_of_row[row as usize];
            }
        }
        Some(Self { pattern, place, starts, rows, slots, ends_of_parts })
    }

    pub(super) fn column(&self, column: usize) -> Range<usize> {
        self.starts[column] as usize..self.starts[column + 1] as usize
    }
}

/// The blocks of a matrix below the diagonal, by column of the order of elimination.
struct ByColumn {
    starts: Vec<u32>,
    /// The place of the row, and the number of the block in the pattern.
    blocks: Vec<(u32, u32)>,
}

impl ByColumn {
    fn new(pattern: &UpperPattern, place: &[u32]) -> Self {
        let pairs = || {
            (0..place.len()).flat_map(|row| pattern.of(row).map(move |at| (row, at))).map(|(row, at)| {
                let (a, b) = (place[row], place[pattern.columns[at] as usize]);
                (a.min(b) as usize, a.max(b), at as u32)
            })
        };
        let mut starts = vec![0_u32; place.len() + 1];
        pairs().for_each(|(column, ..)| starts[column + 1] += 1);
        (0..place.len()).for_each(|column| starts[column + 1] += starts[column]);
        let mut next = starts.clone();
        let mut blocks = vec![(0, 0); pattern.columns.len()];
        for (column, row, at) in pairs() {
            blocks[next[column] as usize] = (row, at);
            next[column] += 1;
        }
        Self { starts, blocks }
    }

    fn column(&self, column: usize) -> &[(u32, u32)] {
        &self.blocks[self.starts[column] as usize..self.starts[column + 1] as usize]
    }
}

/// The place of every row in an order that keeps the factor small.
fn order(pattern: &UpperPattern) -> Option<Vec<u32>> {
    let count = pattern.row_count();
    let shape =
        SymbolicSparseColMatRef::new_checked(count, count, &pattern.row_starts, None, pattern.columns.as_slice());
    let (mut order, mut place) = (vec![0_u32; count], vec![0_u32; count]);
    let needed = amd::order_scratch::<u32>(count, pattern.columns.len());
    let mut buffer = MemBuffer::try_new(needed).ok()?;
    let control = amd::Control::default();
    amd::order(&mut order, &mut place, shape, control, MemStack::new(&mut buffer)).ok()?;
    Some(place)
}

/// The columns of the factor: those of the matrix, and what the columns that have this one as their first below hand on.
fn columns(of_matrix: &ByColumn) -> (Vec<u32>, Vec<u32>) {
    let count = of_matrix.starts.len() - 1;
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
        of_matrix.column(column).iter().for_each(|&(row, _)| add(row, &mut rows));
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

/// Fewer products of blocks than this are not worth another thread.
const PRODUCTS_PER_PART: u64 = 40_000;
/// The most subtrees that are shared out.
const SUBTREES: usize = 32;

/// Which part each column belongs to: 0 and 1, of about the same work, or 2 for what comes after both; and where parts end.
fn two_parts(starts: &[u32], rows: &[u32]) -> (Vec<u8>, [usize; 2]) {
    let count = starts.len() - 1;
    let below = |column: usize| &rows[starts[column] as usize..starts[column + 1] as usize];
    // Work by the column that it changes, then summed up over everything that has to be done before.
    let mut own = vec![0_u64; count];
    for column in 0..count {
        let taken = below(column);
        for (at, &row) in taken.iter().enumerate() {
            own[row as usize] += (taken.len() - at) as u64;
        }
    }
    let parent = |column: usize| below(column).first().map(|&row| row as usize);
    let mut whole = own.clone();
    for column in 0..count {
        if let Some(parent) = parent(column) {
            whole[parent] += whole[column];
        }
    }
    let mut subtrees: Vec<usize> = (0..count).filter(|&column| parent(column).is_none()).collect();
    let (mut after, mut best) = (0, (u64::MAX, Vec::new()));
    let total: u64 = own.iter().sum();
    while subtrees.len() <= SUBTREES && total > 2 * PRODUCTS_PER_PART {
        subtrees.sort_by_key(|&column| (std::cmp::Reverse(whole[column]), column));
        let mut work = [0; 2];
        let mut shared = Vec::new();
        for &column in &subtrees {
            let part = usize::from(work[1] < work[0]);
            work[part] += whole[column];
            shared.push((column, part as u8));
        }
        let time = after + work[0].max(work[1]);
        if time < best.0 {
            best = (time, shared);
        }
        let Some(&heaviest) = subtrees.first().filter(|&&column| whole[column] > PRODUCTS_PER_PART) else { break };
        after += own[heaviest];
        subtrees.swap_remove(0);
        subtrees.extend((0..heaviest).filter(|&column| parent(column) == Some(heaviest)));
    }
    if best.0 > total - total / 8 {
        return (Vec::new(), [0, 0]);
    }
    let mut parts = vec![2_u8; count];
    best.1.iter().for_each(|&(column, part)| parts[column] = part);
    for column in (0..count).rev() {
        if let Some(parent) = parent(column).filter(|&parent| parts[parent] < 2) {
            parts[column] = parts[parent];
        }
    }
    let size = |wanted: u8| parts.iter().filter(|&&part| part == wanted).count();
    let ends = [size(0), size(0) + size(1)];
    (parts, ends)
}

/// Puts the columns of each part together; within a part they keep their order.
fn regroup(parts: &[u8], place: &mut [u32], starts: &mut Vec<u32>, rows: &mut Vec<u32>) {
    let mut columns: Vec<u32> = (0..parts.len() as u32).collect();
    columns.sort_by_key(|&column| parts[column as usize]);
    let mut moved = vec![0; columns.len()];
    columns.iter().enumerate().for_each(|(at, &column)| moved[column as usize] = at as u32);
    place.iter_mut().for_each(|place| *place = moved[*place as usize]);
    let (mut new_starts, mut new_rows) = (vec![0], Vec::with_capacity(rows.len()));
    for &column in &columns {
        let begin = new_rows.len();
        let range = starts[column as usize] as usize..starts[column as usize + 1] as usize;
        new_rows.extend(rows[range].iter().map(|&row| moved[row as usize]));
        new_rows[begin..].sort_unstable();
        new_starts.push(new_rows.len() as u32);
    }
    (*starts, *rows) = (new_starts, new_rows);
}

/// Columns in chains, one chain for every column.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    pub(super) first: Vec<u32>,
    pub(super) next: Vec<u32>,
}

impl Chains {
    pub(super) fn new(count: usize) -> Self {
        Self { first: vec![NONE; count], next: vec![NONE; count] }
    }

    pub(super) fn push(&mut self, chain: u32, column: u32) {
        self.next[column as usize] = self.first[chain as usize];
        self.first[chain as usize] = column;
    }
}

/// The numbers of a factor, and memory for finding them.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    diagonal: Vec<Block>,
    below: Vec<Block>,
    unknown: Vec<DVec3>,
}

impl Factor {
    /// Factors the matrix with these blocks, `upper` in the order of the layout's pattern; says whether it has a factor.
    pub fn find(&mut self, layout: &Layout, diagonal: &[DMat3], upper: &[DMat3]) -> bool {
        let count = layout.place.len();
        for (blocks, length) in [(&mut self.diagonal, count), (&mut self.below, layout.rows.len())] {
            blocks.clear();
            blocks.resize(length, Block::default());
        }
        for (&place, block) in layout.place.iter().zip(diagonal) {
            self.diagonal[place as usize] = wide(*block);
        }
        for row in 0..count {
            for at in layout.pattern.of(row) {
                let is_first = layout.place[row] < layout.place[layout.pattern.columns[at] as usize];
                let block = if is_first { upper[at].transpose() } else { upper[at] };
                self.below[layout.slots[at] as usize] = wide(block);
            }
        }
        self.eliminate(layout)
    }

    fn eliminate(&mut self, layout: &Layout) -> bool {
        let count = self.diagonal.len();
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
        one.take_over(other, second..rest);
        is_found && is_found_too && one.run(rest..count, &mut self.diagonal, &mut self.below)
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

/// What columns to the left still have to take from those to the right.
struct Elimination<'a> {
    layout: &'a Layout,
    /// Each column waits in the chain of the next row in which it has a block.
    waiting: Chains,
    /// That block, for every column.
    reached: Vec<u32>,
    /// Blocks of the column at hand, by row.
    work: Vec<Block>,
}

impl<'a> Elimination<'a> {
    fn new(layout: &'a Layout) -> Self {
        let count = layout.place.len();
        let (waiting, reached) = (Chains::new(count), layout.starts.clone());
        Self { layout, waiting, reached, work: vec![Block::default(); count] }
    }

    /// Takes over what columns of another part have left to do.
    fn take_over(&mut self, other: Self, columns: Range<usize>) {
        for column in columns {
            self.reached[column] = other.reached[column];
            if let Some(&row) = self.layout.rows[self.layout.column(column)]
                .get((other.reached[column] - self.layout.starts[column]) as usize)
            {
                self.waiting.push(row, column as u32);
            }
        }
    }

    /// Factors some columns. The blocks are those of these columns alone, or of all.
    fn run(&mut self, columns: Range<usize>, diagonal: &mut [Block], below: &mut [Block]) -> bool {
        dispatch!(Level::new(), simd => self.run_with(simd, columns, diagonal, below))
    }

    #[inline(always)]
    fn run_with<S: Simd>(
        &mut self,
        simd: S,
        columns: Range<usize>,
        diagonal: &mut [Block],
        below: &mut [Block],
    ) -> bool {
        let Self { layout, waiting, reached, work } = self;
        let is_all = diagonal.len() == layout.place.len();
        let first = if is_all { 0 } else { columns.start };
        let base = layout.starts[first] as usize;
        for column in columns {
            let range = layout.column(column);
            let rows = &layout.rows[range.clone()];
            for (&row, block) in rows.iter().zip(&below[range.start - base..]) {
                work[row as usize] = *block;
            }
            let mut own = loaded(simd, &diagonal[column - first]);
            let mut left = waiting.first[column];
            while left != NONE {
                let following = waiting.next[left as usize];
                let (at, end) = (reached[left as usize] as usize, layout.starts[left as usize + 1] as usize);
                let taken = &below[at - base];
                let factors = [spread(simd, taken, 0), spread(simd, taken, 1), spread(simd, taken, 2)];
                own = less(simd, own, taken, &factors);
                for (&row, block) in layout.rows[at + 1..end].iter().zip(&below[at + 1 - base..end - base]) {
                    let work = &mut work[row as usize];
                    *work = stored(less(simd, loaded(simd, work), block, &factors));
                }
                reached[left as usize] = at as u32 + 1;
                if at + 1 < end {
                    waiting.push(layout.rows[at + 1], left);
                }
                left = following;
            }
            let Some(root) = root(&stored(own)) else { return false };
            diagonal[column - first] = root;
            let inverse = |axis: usize| f64x4::splat(simd, 1.0 / root[axis][axis]);
            let (x, y, z) = (inverse(0), inverse(1), inverse(2));
            let (xy, xz, yz) = (root[0][1], root[0][2], root[1][2]);
            let (xy, xz, yz) = (f64x4::splat(simd, xy), f64x4::splat(simd, xz), f64x4::splat(simd, yz));
            for (&row, block) in rows.iter().zip(&mut below[range.start - base..]) {
                let [a, b, c] = loaded(simd, &work[row as usize]);
                let a = a * x;
                let b = (b - a * xy) * y;
                *block = stored([a, b, (c - a * xz - b * yz) * z]);
            }
            if let Some(&next) = rows.first() {
                waiting.push(next, column as u32);
            }
        }
        true
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
                pattern.columns.push(*column as u32);
                upper.push(*block);
                diagonal[row] += DMat3::IDENTITY * 3.1;
                diagonal[*column] += DMat3::IDENTITY * 3.1;
            }
            pattern.row_starts.push(pattern.columns.len() as u32);
        }
        (pattern, diagonal, upper)
    }

    fn product(pattern: &UpperPattern, diagonal: &[DMat3], upper: &[DMat3], x: &[DVec3]) -> Vec<DVec3> {
        let mut out: Vec<DVec3> = diagonal.iter().zip(x).map(|(block, value)| *block * *value).collect();
        for row in 0..pattern.row_count() {
            for at in pattern.of(row) {
                let column = pattern.columns[at] as usize;
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
            let layout = Layout::new(pattern.clone()).unwrap();
            let mut factor = Factor::default();
            prop_assert!(factor.find(&layout, &diagonal, &upper));
            let mut values = product(&pattern, &diagonal, &upper, &wanted);
            factor.solve(&layout, &mut values);
            prop_assert!(values.iter().zip(&wanted).all(|(found, wanted)| (*found - *wanted).length() < 1e-9));
        }
    }

    #[test]
    fn a_sheet_is_factored_in_two_parts() {
        let (wide, high) = (30, 40);
        let beside =
            |at: usize| [(at % wide + 1 < wide).then_some(at + 1), (at + wide < wide * high).then_some(at + wide)];
        let joined: Vec<_> = (0..wide * high)
            .flat_map(|at| {
                beside(at)
                    .into_iter()
                    .flatten()
                    .map(move |to| (at, to, [0.5, 0.1, -0.3, 0.2, 0.7, 0.0, 0.4, 0.1, -0.6]))
            })
            .collect();
        let (pattern, diagonal, upper) = matrix(wide * high, &joined);
        let layout = Layout::new(pattern.clone()).unwrap();
        let [second, rest] = layout.ends_of_parts;
        assert!(second > 100 && rest > second + 100 && rest < wide * high, "{second} {rest}");
        let leaves_part = |column: usize, end: usize| {
            layout.rows[layout.column(column)].iter().any(|&row| (row as usize) < rest && row as usize >= end)
        };
        assert!((0..second).all(|column| !leaves_part(column, second)), "the first part acts on the second");
        let wanted: Vec<DVec3> = (0..wide * high).map(|row| DVec3::new(1.0, row as f64, -2.0)).collect();
        let mut values = product(&pattern, &diagonal, &upper, &wanted);
        let mut factor = Factor::default();
        assert!(factor.find(&layout, &diagonal, &upper));
        factor.solve(&layout, &mut values);
        assert!(values.iter().zip(&wanted).all(|(found, wanted)| (*found - *wanted).length() < 1e-9));
    }

    #[test]
    fn a_row_that_all_others_act_on_goes_last() {
        let joined: Vec<_> = (1..30).map(|row| (0, row, [0.1; 9])).collect();
        let (pattern, ..) = matrix(30, &joined);
        let layout = Layout::new(pattern.clone()).unwrap();
        assert_eq!(layout.rows.len(), 29, "no block is added");
    }

    #[test]
    fn a_matrix_without_a_factor_is_told() {
        let (pattern, mut diagonal, upper) = matrix(3, &[(0, 1, [1.0; 9]), (1, 2, [1.0; 9])]);
        let layout = Layout::new(pattern.clone()).unwrap();
        for bad in [-1.0, 0.0, f64::NAN] {
            diagonal[1] = DMat3::IDENTITY * bad;
            assert!(!Factor::default().find(&layout, &diagonal, &upper));
        }
    }
}
