//! The rows of a system that can move, in the bands of the matrix.
//!
//! Untangling holds most of a garment where it is. Rows that are held keep a zero in every search direction, and what they
//! receive is filtered out, so leaving them out of products and sums changes no result.

use super::block_matrix::BAND;
use super::conjugate_gradients::Freedom;

/// Rows with some freedom, increasing.
#[derive(Clone, Debug, Default)]
pub struct LiveRows {
    rows: Vec<u32>,
    /// Where each band begins in `rows`; one more entry at the end.
    band_starts: Vec<u32>,
}

impl LiveRows {
    /// Finds them.
    pub fn find(&mut self, freedom: &[Freedom]) {
        self.rows.clear();
        self.band_starts.clear();
        for (row, freedom) in freedom.iter().enumerate() {
            if row % BAND == 0 {
                self.band_starts.push(self.rows.len() as u32);
            }
            if *freedom != Freedom::Held {
                self.rows.push(row as u32);
            }
        }
        self.band_starts.push(self.rows.len() as u32);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Those of one band.
    pub fn band(&self, band: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.band_starts[band] as usize..self.band_starts[band + 1] as usize;
        self.rows[range].iter().map(|&row| row as usize)
    }

    /// The fewest bands that are worth a thread of their own.
    pub fn bands_per_task(&self) -> usize {
        const ROWS: usize = 1024;
        let bands = self.band_starts.len().saturating_sub(1).max(1);
        (ROWS * bands).div_ceil(self.rows.len().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_rows_are_left_out_and_bands_are_kept() {
        let freedom: Vec<Freedom> =
            (0..2 * BAND + 5).map(|row| if row % 3 == 0 { Freedom::Free } else { Freedom::Held }).collect();
        let mut live = LiveRows::default();
        live.find(&freedom);
        for band in 0..3 {
            let end = ((band + 1) * BAND).min(freedom.len());
            let expected: Vec<usize> = (band * BAND..end).filter(|row| row % 3 == 0).collect();
            assert_eq!(live.band(band).collect::<Vec<_>>(), expected);
        }
    }
}
