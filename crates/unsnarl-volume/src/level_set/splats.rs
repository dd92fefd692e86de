//! Splats: points with a normal and a size, for blocks and cells too small on the screen for triangles.
//!
//! A block far away is one splat: a point of the surface in it, its normal by central differences, a radius that covers
//! the block's part of the surface. Nearer, every cell that the surface meets is one. (Bridson 2003, 6.2)
//!
//! Guarantees: splats lie within half a sample of the surface.

use super::LevelSet;
use super::extract::BlockMesh;
use unsnarl_geometry::DVec3;

/// A disc on the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Splat {
    /// Its middle.
    pub position: DVec3,
    /// Where it faces; length one, unless the function is flat there.
    pub normal: DVec3,
    /// Its radius, metres.
    pub radius: f64,
}

/// Half the diagonal of a cell, in samples: a splat of that radius covers it.
pub(super) const CELL_RADIUS: f64 = 0.87;

impl LevelSet {
    /// The splat of a block, from the vertices of its cells; `None` where the surface does not pass through it.
    pub fn block_splat(&self, cells: &BlockMesh) -> Option<Splat> {
        let spacing = self.frame.spacing;
        let count = cells.positions.len();
        let mean = cells.positions.iter().sum::<DVec3>() / count as f64;
        let nearest = cells
            .positions
            .iter()
            .min_by(|a, b| a.distance_squared(mean).total_cmp(&b.distance_squared(mean)))
            .copied()?;
        // The nearest point of the surface to the mean, unless that belongs to another part of it.
        let on_surface = self.closest_point(mean).filter(|foot| foot.distance(mean) <= nearest.distance(mean));
        let position = on_surface.or_else(|| self.closest_point(nearest)).unwrap_or(nearest);
        let normal = self.central_normal(position).or_else(|| self.normal(position)).unwrap_or(DVec3::ZERO);
        let farthest = cells.positions.iter().map(|p| p.distance_squared(position)).fold(0.0, f64::max).sqrt();
        Some(Splat { position, normal, radius: farthest + CELL_RADIUS * spacing })
    }

    /// The splats of a block's cells.
    pub fn cell_splats<'a>(&self, cells: &'a BlockMesh) -> impl Iterator<Item = Splat> + 'a {
        let radius = CELL_RADIUS * self.frame.spacing;
        cells.positions.iter().zip(&cells.normals).map(move |(&position, normal)| Splat {
            position,
            normal: normal.try_normalize().unwrap_or(DVec3::ZERO),
            radius,
        })
    }

    /// The normal by central differences, a sample to either side.
    fn central_normal(&self, point: DVec3) -> Option<DVec3> {
        let step = self.frame.spacing;
        let along = |axis: DVec3| self.value(point + step * axis) - self.value(point - step * axis);
        DVec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z)).try_normalize()
    }
}
