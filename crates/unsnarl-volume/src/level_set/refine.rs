//! Refinement: the same surface at half the spacing, by the subdivision rule of cubic B-splines.
//!
//! Either the coarse grid is doubled (blocks keep their width) or the blocks are, whichever uses less memory.
//! (Bridson 2003, 6.2) Along each axis a new sample at an old one is `(a + 6 b + c) / 8`, one between two is their mean.
//!
//! Guarantees: a plane stays the same plane; the surface of a smooth body moves by a sixth of the squared spacing times
//! half its curvature, as the B-spline rule smooths. The half width in samples stays.

use super::{LevelSet, Reinitialization};
use crate::grid::{BlockCoordinates, BlockWidth, Domain, Halo, Side};
use rayon::prelude::*;

/// What is doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubling {
    /// Whichever leaves less memory in use.
    Automatic,
    /// The number of blocks along each axis.
    Coarse,
    /// The width of the blocks, up to 32.
    Blocks,
}

/// Blocks that an estimate of memory looks at.
const MOST_COUNTED: usize = 30_000;

impl LevelSet {
    /// The same surface with half the spacing.
    pub fn refined(&self, doubling: Doubling) -> LevelSet {
        match doubling {
            Doubling::Coarse => self.refined_to(self.grid.width()),
            Doubling::Blocks => match BlockWidth::new(2 * self.grid.width().samples() as u32) {
                Ok(width) => self.refined_to(width),
                Err(_) => self.refined_to(self.grid.width()),
            },
            Doubling::Automatic => {
                let [coarse, blocks] = self.bytes_of_layouts();
                self.refined(if coarse <= blocks { Doubling::Coarse } else { Doubling::Blocks })
            }
        }
    }

    /// Bytes that the refined level set will need, counted without making it.
    pub fn refined_bytes(&self) -> usize {
        let [coarse, blocks] = self.bytes_of_layouts();
        coarse.min(blocks)
    }

    /// Bytes after doubling the coarse grid, and after doubling the blocks.
    ///
    /// A block of the result is kept if one of its samples lies in the band, which has half the width in metres: here, if
    /// a sample of this level set in or beside its part of a block does.
    fn bytes_of_layouts(&self) -> [usize; 2] {
        let own = self.grid.width().samples();
        let reach = 0.5 * self.half_width as f32;
        // Samples along one axis, in the halo, of the lower and the upper half of a block and those beside them.
        let halves = [[0, own.div_ceil(2) + 1], [own / 2, own + 1]];
        // Of many blocks, some tell enough.
        let stride = self.grid.blocks().len().div_ceil(MOST_COUNTED).max(1);
        let per_block: Vec<usize> = self
            .grid
            .par_blocks()
            .step_by(stride)
            .map_init(
                || Halo::new(&self.grid, 1),
                |halo, (block, _)| {
                    halo.load(&self.grid, block);
                    let in_band = |part: &usize| {
                        let [[x0, x1], [y0, y1], [z0, z1]] = [0, 1, 2].map(|axis| halves[part >> axis & 1]);
                        let rows = (z0..=z1).flat_map(|z| (y0..=y1).map(move |y| [y, z]));
                        rows.into_iter().any(|[y, z]| {
                            let row = halo.side() * (y + halo.side() * z);
                            halo.values()[row + x0..=row + x1].iter().any(|value| value.abs() < reach)
                        })
                    };
                    (0..8).filter(in_band).count()
                },
            )
            .collect();
        let sub_blocks = stride * per_block.iter().sum::<usize>();
        let whole_blocks = stride * per_block.iter().filter(|&&count| count > 0).count();
        let bytes = |blocks: usize, samples: usize| blocks * (4 * samples + size_of::<BlockCoordinates>());
        let entries = match self.grid.domain() {
            Domain::Bounded { extent, .. } => extent.iter().map(|&n| n as usize).product(),
            Domain::Unbounded => self.grid.blocks().len() + self.grid.inside_blocks().len(),
        };
        let coarse = bytes(sub_blocks, own.pow(3)) + 4 * 8 * entries;
        let blocks = bytes(whole_blocks, (2 * own).pow(3)) + 4 * entries;
        // Blocks wider than 32 are not made; then the blocks keep their width.
        [coarse, if BlockWidth::new(2 * own as u32).is_ok() { blocks } else { coarse }]
    }

    fn refined_to(&self, width: BlockWidth) -> LevelSet {
        let own = self.grid.width().samples();
        let frame = super::Frame { origin: self.frame.origin, spacing: 0.5 * self.frame.spacing };
        let doubled = width.samples() == 2 * own;
        let domain = match self.grid.domain() {
            Domain::Bounded { first, extent } if !doubled => {
                Domain::Bounded { first: first.map(|c| 2 * c), extent: extent.map(|n| 2 * n) }
            }
            same => same,
        };
        let mut fine = LevelSet::empty(frame, width, 0.5 * self.half_width, domain);
        let parts: Vec<Vec<(BlockCoordinates, Vec<f32>)>> = self
            .grid
            .par_blocks()
            .map_init(
                || Halo::new(&self.grid, 1),
                |halo, (block, _)| {
                    halo.load(&self.grid, block);
                    let samples = subdivided(halo, own, fine.half_width as f32);
                    split(&samples, 2 * own, width.samples(), block)
                },
            )
            .collect();
        for block in self.grid.inside_blocks() {
            let per_axis = if doubled { 1 } else { 2 };
            for place in 0..per_axis * per_axis * per_axis {
                let step = [place % per_axis, place / per_axis % per_axis, place / (per_axis * per_axis)];
                fine.grid.set_side([0, 1, 2].map(|axis| per_axis * block[axis] + step[axis]), Side::Inside);
            }
        }
        for (block, samples) in parts.into_iter().flatten() {
            let slot = fine.grid.store(block);
            fine.grid.block_mut(slot).copy_from_slice(&samples);
        }
        fine.reinitialize(Reinitialization::FastSweeping);
        fine
    }
}

/// The samples of a block at half the spacing, twice as many along each axis.
fn subdivided(halo: &Halo<f32>, width: usize, edge: f32) -> Vec<f32> {
    let strides = halo.strides();
    // Along one axis: for an even place, weights of the three old samples around; for an odd one, of the two beside.
    let taps = |c: usize| -> ([f32; 3], usize) {
        if c.is_multiple_of(2) { ([0.125, 0.75, 0.125], c / 2) } else { ([0.0, 0.5, 0.5], c / 2) }
    };
    let side = 2 * width;
    let mut samples = Vec::with_capacity(side * side * side);
    for z in 0..side {
        for y in 0..side {
            for x in 0..side {
                let [(wx, ix), (wy, iy), (wz, iz)] = [x, y, z].map(taps);
                let center = halo.place([ix, iy, iz]) - strides[0] - strides[1] - strides[2];
                let mut sum = 0.0;
                for k in 0..3 {
                    for j in 0..3 {
                        for i in 0..3 {
                            let weight = wx[i] * wy[j] * wz[k];
                            sum += weight * halo.values()[center + i + j * strides[1] + k * strides[2]];
                        }
                    }
                }
                samples.push(sum.clamp(-edge, edge));
            }
        }
    }
    samples
}

/// Cuts a cube of samples into blocks.
fn split(samples: &[f32], side: usize, width: usize, block: BlockCoordinates) -> Vec<(BlockCoordinates, Vec<f32>)> {
    let per_axis = side / width;
    (0..per_axis.pow(3))
        .map(|part| {
            let at = [part % per_axis, part / per_axis % per_axis, part / (per_axis * per_axis)];
            let cut = (0..width.pow(3)).map(|place| {
                let local = [place % width, place / width % width, place / (width * width)];
                let [x, y, z] = [0, 1, 2].map(|axis| at[axis] * width + local[axis]);
                samples[x + side * (y + side * z)]
            });
            ([0, 1, 2].map(|axis| per_axis as i32 * block[axis] + at[axis] as i32), cut.collect())
        })
        .collect()
}
