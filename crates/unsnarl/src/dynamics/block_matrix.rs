//! A symmetric matrix of 3x3 blocks, upper half only, and its product with a vector.
//!
//! Rows are cut into bands of fixed length. A band adds to its own rows, and what it owes to later rows it keeps apart;
//! these sums are added afterwards, band by band. So the product has the same bits on any number of threads, and half the
//! memory traffic of a full matrix.

use super::cushion::Ties;
use super::live_rows::LiveRows;
use super::pattern::Pattern;
use crate::geometry::{DMat3, DVec3};
use rayon::prelude::*;

/// Rows per band: a whole band of vectors and blocks fits a second-level cache.
pub const BAND: usize = 1024;

/// Values of a symmetric matrix with the sparsity of a [`Pattern`].
#[derive(Clone, Debug, Default)]
pub struct BlockMatrix {
    /// One block per row.
    pub diagonal: Vec<DMat3>,
    /// Blocks right of the diagonal, in the order of [`Pattern::columns`].
    pub upper: Vec<DMat3>,
    /// What is added to the blocks beyond the pattern.
    pub ties: Ties,
    debts: Vec<Debt>,
}

/// What a band owes to rows after its end.
#[derive(Clone, Debug, Default)]
struct Debt {
    first_row: usize,
    sums: Vec<DVec3>,
}

impl BlockMatrix {
    /// Takes the shape of a pattern; values are left as they are, or zero.
    pub fn reshape(&mut self, pattern: &Pattern) {
        let rows = pattern.row_count();
        self.diagonal.resize(rows, DMat3::ZERO);
        self.upper.resize(pattern.columns.len(), DMat3::ZERO);
        self.debts.resize_with(rows.div_ceil(BAND), Debt::default);
        for (band, debt) in self.debts.iter_mut().enumerate() {
            let end = ((band + 1) * BAND).min(rows);
            let range = pattern.row_starts[band * BAND] as usize..pattern.row_starts[end] as usize;
            let last = pattern.columns[range].iter().max().map_or(end, |&column| column as usize + 1);
            debt.first_row = end;
            debt.sums.clear();
            debt.sums.resize(last.saturating_sub(end), DVec3::ZERO);
        }
    }

    /// The diagonal block of a row, all added up.
    pub fn whole_diagonal(&self, row: usize) -> DMat3 {
        self.diagonal[row] + self.ties.diagonal(row)
    }

    /// Sets `out` to the product with `vector`.
    pub fn multiply(&mut self, pattern: &Pattern, vector: &[DVec3], out: &mut [DVec3]) {
        let (diagonal, upper) = (&self.diagonal, &self.upper);
        out.par_chunks_mut(BAND).zip(self.debts.par_iter_mut()).enumerate().for_each(|(band, (own, debt))| {
            let rows = band * BAND..band * BAND + own.len();
            multiply_band(pattern, [diagonal, upper], vector, rows, (own, debt));
        });
        self.ties.begin_product(vector);
        let (debts, ties) = (&self.debts, &self.ties);
        out.par_chunks_mut(BAND).enumerate().for_each(|(band, own)| {
            pay(debts, band, own);
            if !ties.is_empty() {
                own.iter_mut().enumerate().for_each(|(at, value)| *value += ties.product_at(band * BAND + at));
            }
        });
    }

    /// As [`BlockMatrix::multiply`] for a vector that is zero in all rows but the live ones; only those are right in `out`.
    /// Returns the dot product of the two.
    pub fn multiply_live(&mut self, pattern: &Pattern, live: &LiveRows, vector: &[DVec3], out: &mut [DVec3]) -> f64 {
        let (diagonal, upper) = (&self.diagonal, &self.upper);
        let bands = live.bands_per_task();
        (out.par_chunks_mut(BAND).zip(self.debts.par_iter_mut()).enumerate().with_min_len(bands)).for_each(
            |(band, (own, debt))| multiply_band(pattern, [diagonal, upper], vector, live.band(band), (own, debt)),
        );
        self.ties.begin_product(vector);
        let (debts, ties) = (&self.debts, &self.ties);
        let dots: Vec<f64> = out
            .par_chunks_mut(BAND)
            .enumerate()
            .with_min_len(bands)
            .map(|(band, own)| {
                pay(debts, band, own);
                if !ties.is_empty() {
                    live.band(band).for_each(|row| own[row - band * BAND] += ties.product_at(row));
                }
                live.band(band).map(|row| own[row - band * BAND].dot(vector[row])).sum()
            })
            .collect();
        dots.iter().sum()
    }
}

/// Adds to the rows of a band what earlier bands owe to them.
fn pay(debts: &[Debt], band: usize, own: &mut [DVec3]) {
    for debt in &debts[..band] {
        let paid_before = (band * BAND - debt.first_row).min(debt.sums.len());
        for (value, owed) in own.iter_mut().zip(&debt.sums[paid_before..]) {
            *value += *owed;
        }
    }
}

/// The part of a product that some rows of one band give, to the band's own rows and to later ones.
fn multiply_band(
    pattern: &Pattern,
    [diagonal, upper]: [&[DMat3]; 2],
    vector: &[DVec3],
    rows: impl Iterator<Item = usize>,
    (own, debt): (&mut [DVec3], &mut Debt),
) {
    let end = debt.first_row;
    let start = end - own.len();
    own.fill(DVec3::ZERO);
    debt.sums.fill(DVec3::ZERO);
    for row in rows {
        let here = vector[row];
        let mut sum = diagonal[row] * here;
        let range = pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize;
        for (block, &column) in upper[range.clone()].iter().zip(&pattern.columns[range]) {
            let column = column as usize;
            sum += *block * vector[column];
            let mirrored = DVec3::new(block.x_axis.dot(here), block.y_axis.dot(here), block.z_axis.dot(here));
            if column < end {
                own[column - start] += mirrored;
            } else {
                debt.sums[column - end] += mirrored;
            }
        }
        own[row - start] += sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::conjugate_gradients::Freedom;
    use crate::geometry::Topology;

    /// A strip long enough for several bands, and the same product by a dense sum over all pairs.
    #[test]
    fn the_product_is_that_of_the_full_matrix() {
        let count = 2500;
        let scrambled = |vertex: u32| (vertex * 1009) % count;
        let triangles: Vec<[u32; 3]> = (0..count - 2).map(|i| [i, i + 1, i + 2].map(scrambled)).collect();
        let topology = Topology::new(count as usize, &triangles).unwrap();
        let pattern = Pattern::new(&topology, &[], &[]);
        let mut matrix = BlockMatrix::default();
        matrix.reshape(&pattern);
        let number = |seed: usize| ((seed * 2_654_435_761) % 1000) as f64 / 500.0 - 1.0;
        let block = |seed: usize| DMat3::from_cols_array(&std::array::from_fn(|k| number(9 * seed + k)));
        for (row, value) in matrix.diagonal.iter_mut().enumerate() {
            let half = block(row);
            *value = half + half.transpose();
        }
        for (at, value) in matrix.upper.iter_mut().enumerate() {
            *value = block(at + 777);
        }
        let vector: Vec<DVec3> =
            (0..count as usize).map(|i| DVec3::new(number(i), number(i + 7), number(i + 9))).collect();
        let mut expected: Vec<DVec3> = (0..count as usize).map(|row| matrix.diagonal[row] * vector[row]).collect();
        for row in 0..count as usize {
            for at in pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize {
                let column = pattern.columns[at] as usize;
                expected[row] += matrix.upper[at] * vector[column];
                expected[column] += matrix.upper[at].transpose() * vector[row];
            }
        }
        let mut out = vec![DVec3::ZERO; count as usize];
        matrix.multiply(&pattern, &vector, &mut out);
        assert!(out.iter().zip(&expected).all(|(a, b)| (*a - *b).length() < 1e-12));
        let all = vec![Freedom::Free; count as usize];
        let mut live = LiveRows::default();
        live.find(&all);
        let dot = matrix.multiply_live(&pattern, &live, &vector, &mut out);
        let expected_dot: f64 = expected.iter().zip(&vector).map(|(a, b)| a.dot(*b)).sum();
        assert!((dot - expected_dot).abs() < 1e-9);
        assert!(out.iter().zip(&expected).all(|(a, b)| (*a - *b).length() < 1e-12));
        let some: Vec<Freedom> =
            (0..count as usize).map(|row| if row % 7 < 2 { Freedom::Free } else { Freedom::Held }).collect();
        live.find(&some);
        let vector: Vec<DVec3> = some.iter().zip(&vector).map(|(freedom, value)| freedom.filter(*value)).collect();
        let mut whole = vec![DVec3::ZERO; count as usize];
        matrix.multiply(&pattern, &vector, &mut whole);
        let dot = matrix.multiply_live(&pattern, &live, &vector, &mut out);
        let free = |row: &usize| some[*row] == Freedom::Free;
        assert!((0..count as usize).filter(free).all(|row| out[row] == whole[row]));
        assert_eq!(
            dot,
            whole
                .iter()
                .zip(&vector)
                .map(|(a, b)| a.dot(*b))
                .collect::<Vec<_>>()
                .chunks(BAND)
                .map(|band| band.iter().sum::<f64>())
                .sum::<f64>()
        );
    }
}
