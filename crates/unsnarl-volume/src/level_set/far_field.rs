//! Distances beyond the band, one per block: enough to know which way is out and about how far.
//!
//! The coarse grid may hold an approximate signed distance for use far from the surface (Bridson 2003, 6.1). Blocks
//! that are stored know the distance of their centre; the others get theirs by fast sweeping over the coarse grid.
//!
//! Guarantees: the sign is that of the block. Does not: promise more than first order at the width of a block; expect
//! a tenth to a fifth of the distance.

use super::eikonal::godunov;
use crate::grid::{BlockCoordinates, BlockGrid, BlockState, Domain, Side};
use unsnarl_geometry::DVec3;

/// Signed distances at the centres of all blocks of a bounded domain.
#[derive(Clone, Debug)]
pub struct FarField {
    first: BlockCoordinates,
    extent: [usize; 3],
    /// The width of a block in samples.
    width: f64,
    distances: Vec<f32>,
}

impl FarField {
    /// Sweeps outward from the stored blocks. `centers` are the unsigned distances of their centres.
    ///
    /// An unbounded domain has no far field: there is no end to sweep to.
    pub(super) fn new(grid: &BlockGrid<f32>, spacing: f64, centers: &[f32]) -> Option<Self> {
        let Domain::Bounded { first, extent } = grid.domain() else { return None };
        let extent = extent.map(|n| n as usize);
        let mut distances = vec![f32::INFINITY; extent.iter().product()];
        let mut settled = vec![false; distances.len()];
        let place_of = |block: BlockCoordinates| {
            let [x, y, z] = [0, 1, 2].map(|axis| (block[axis] - first[axis]) as usize);
            x + extent[0] * (y + extent[1] * z)
        };
        for (block, center) in grid.blocks().iter().zip(centers) {
            let place = place_of(*block);
            distances[place] = *center;
            settled[place] = true;
        }
        let width = grid.width().samples();
        sweep(&mut distances, &settled, extent, (width as f64 * spacing) as f32);
        let middle = grid.width().place([width / 2; 3]);
        for (place, distance) in distances.iter_mut().enumerate() {
            let steps = [place % extent[0], place / extent[0] % extent[1], place / (extent[0] * extent[1])];
            let inside = match grid.state([0, 1, 2].map(|axis| first[axis] + steps[axis] as i32)) {
                BlockState::Uniform(side) => side == Side::Inside,
                BlockState::Stored(slot) => grid.block(slot)[middle] < 0.0,
            };
            if inside {
                *distance = -*distance;
            }
        }
        Some(Self { first, extent, width: width as f64, distances })
    }

    /// As [`FarField::new`], with the distances of centres taken from the band.
    pub(super) fn from_band(grid: &BlockGrid<f32>, spacing: f64) -> Option<Self> {
        let width = grid.width();
        let middle = 0.5 * (width.samples() - 1) as f64;
        let center_distance = |samples: &[f32]| {
            let reach = |(place, &value): (usize, &f32)| {
                let offset = width.local(place).map(|c| c as f64 - middle);
                let apart = DVec3::from_array(offset).length() * spacing;
                (f64::from(value.abs()) - apart, f64::from(value.abs()) + apart)
            };
            // The distance changes by at most the way between two points: the narrowest bounds, then their middle.
            let bounds = samples
                .iter()
                .enumerate()
                .map(reach)
                .fold((0.0_f64, f64::INFINITY), |bounds, (low, high)| (bounds.0.max(low), bounds.1.min(high)));
            (0.5 * (bounds.0 + bounds.1)) as f32
        };
        let centers: Vec<f32> = grid.samples().chunks(width.volume()).map(center_distance).collect();
        Self::new(grid, spacing, &centers)
    }

    /// Value and gradient (per sample) at a point in units of samples. Beyond the domain: the distance to
    /// the foot of the nearest point in it.
    pub(super) fn value_and_gradient(&self, point: DVec3, spacing: f64) -> (f64, DVec3) {
        let first = DVec3::from_array(self.first.map(f64::from));
        // Centres lie half a block in, less half a sample.
        let at = (point + DVec3::splat(0.5)) / self.width - first - DVec3::splat(0.5);
        let last = DVec3::from_array(self.extent.map(|n| n as f64 - 1.0));
        let within = at.clamp(DVec3::ZERO, last);
        let away = (at - within) * self.width;
        let base = [0, 1, 2].map(|axis| (within[axis] as usize).min(self.extent[axis].saturating_sub(2)));
        let step = [0, 1, 2].map(|axis| usize::from(self.extent[axis] > 1));
        let mut corners = [0.0_f32; 8];
        for (corner, value) in corners.iter_mut().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|axis| base[axis] + (corner >> axis & 1) * step[axis]);
            *value = self.distances[x + self.extent[0] * (y + self.extent[1] * z)];
        }
        let fraction = within - DVec3::from_array(base.map(|b| b as f64));
        let (value, gradient) = super::query::trilinear(&corners, fraction);
        let gradient = gradient / self.width;
        if away == DVec3::ZERO {
            return (value, gradient);
        }
        let foot = gradient.try_normalize().unwrap_or(DVec3::ZERO) * (value / spacing);
        let from_foot = away + foot;
        let distance = from_foot.length() * spacing;
        (distance, from_foot.try_normalize().unwrap_or(DVec3::ZERO) * spacing)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.distances.capacity() * 4
    }
}

/// Eight sweeps of the first-order upwind scheme; settled places keep their values.
fn sweep(distances: &mut [f32], settled: &[bool], extent: [usize; 3], spacing: f32) {
    let strides = [1, extent[0], extent[0] * extent[1]];
    for direction in 0..8 {
        for k in 0..extent[2] {
            for j in 0..extent[1] {
                for i in 0..extent[0] {
                    let counts = [i, j, k];
                    let at = [0, 1, 2].map(|axis| {
                        if direction >> axis & 1 == 0 { counts[axis] } else { extent[axis] - 1 - counts[axis] }
                    });
                    let place = at[0] + strides[1] * at[1] + strides[2] * at[2];
                    if settled[place] {
                        continue;
                    }
                    let nearest = [0, 1, 2].map(|axis| {
                        let below = if at[axis] > 0 { distances[place - strides[axis]] } else { f32::INFINITY };
                        let above =
                            if at[axis] + 1 < extent[axis] { distances[place + strides[axis]] } else { f32::INFINITY };
                        below.min(above)
                    });
                    let reached = godunov(nearest, spacing);
                    if reached < distances[place] {
                        distances[place] = reached;
                    }
                }
            }
        }
    }
}
