//! The width of a block, and the split of a sample coordinate into block and place within it.

use super::GridError;

/// How many samples a block is wide: 5 to 32. (Bridson 2003, 6.1: about the fourth root of the resolution, at least 5.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWidth {
    samples: u32,
    reciprocal: u64,
}

/// Blocks are counted from this far below zero, so that the division is one of unsigned numbers.
const BLOCK_BIAS: i32 = 1 << 21;
const SHIFT: u32 = 36;

/// Sample coordinates stay within this distance of zero, for every width.
pub const COORDINATE_LIMIT: i32 = 5 << 20;

impl BlockWidth {
    /// The width used unless another is asked for; `docs/level-sets.md` has the measurement.
    pub const DEFAULT: Self = Self { samples: 8, reciprocal: (1 << SHIFT) / 8 };

    /// A width of 5 to 32 samples.
    pub fn new(samples: u32) -> Result<Self, GridError> {
        if !(5..=32).contains(&samples) {
            return Err(GridError::Width { samples });
        }
        Ok(Self { samples, reciprocal: (1_u64 << SHIFT).div_ceil(u64::from(samples)) })
    }

    /// Samples along one side.
    pub fn samples(self) -> usize {
        self.samples as usize
    }

    /// Samples of one block.
    pub fn volume(self) -> usize {
        self.samples().pow(3)
    }

    /// The block that holds a sample coordinate, and the place within it, along one axis.
    #[inline]
    pub fn split(self, coordinate: i32) -> (i32, usize) {
        debug_assert!(coordinate.abs() <= 2 * COORDINATE_LIMIT);
        let shifted = (coordinate + BLOCK_BIAS * self.samples as i32) as u32;
        let block = ((u64::from(shifted) * self.reciprocal) >> SHIFT) as u32;
        (block as i32 - BLOCK_BIAS, (shifted - block * self.samples) as usize)
    }

    /// The first sample coordinate of a block, along one axis.
    #[inline]
    pub fn first_sample(self, block: i32) -> i32 {
        block * self.samples as i32
    }

    /// The place of a sample in the array of its block; x runs fastest.
    #[inline]
    pub fn place(self, local: [usize; 3]) -> usize {
        let width = self.samples();
        local[0] + width * (local[1] + width * local[2])
    }

    /// The coordinates within the block of a place in its array.
    pub fn local(self, place: usize) -> [usize; 3] {
        let width = self.samples();
        [place % width, place / width % width, place / (width * width)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_is_euclidean_division_for_every_width() {
        for samples in 5..=32 {
            let width = BlockWidth::new(samples).unwrap();
            let far = COORDINATE_LIMIT;
            for coordinate in (-200..200).chain(far - 99..=far).chain(-far..=-far + 99) {
                let expected = (coordinate.div_euclid(samples as i32), coordinate.rem_euclid(samples as i32) as usize);
                assert_eq!(width.split(coordinate), expected, "{coordinate} in blocks of {samples}");
            }
        }
    }

    #[test]
    fn widths_that_stencils_cannot_cross_are_refused() {
        assert!(BlockWidth::new(4).is_err());
        assert!(BlockWidth::new(33).is_err());
    }
}
