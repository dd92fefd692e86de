//! Queries: value, gradient, normal, closest point and ray, by trilinear interpolation.
//!
//! Guarantees: a cell within the band gives the trilinear interpolant and its exact gradient; distances of a smooth
//! body are second order in the spacing, gradients first order. Beyond the band the far field answers, if there is
//! one, else the half width with the right sign and no gradient. Any point is accepted, even one that is no number.
//! Batches give the same bits on any number of threads.

use super::LevelSet;
use crate::field::Field;
use crate::grid::{BlockState, COORDINATE_LIMIT};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// The value of a cell's trilinear interpolant and its gradient per cell; x runs fastest over the corners.
#[inline]
pub(super) fn trilinear(corners: &[f32; 8], fraction: DVec3) -> (f64, DVec3) {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = corners.map(f64::from);
    let DVec3 { x, y, z } = fraction;
    let [dx0, dx1, dx2, dx3] = [c1 - c0, c3 - c2, c5 - c4, c7 - c6];
    let [low_near, low_far, high_near, high_far] = [c0 + x * dx0, c2 + x * dx1, c4 + x * dx2, c6 + x * dx3];
    let [dy0, dy1] = [low_far - low_near, high_far - high_near];
    let [low, high] = [low_near + y * dy0, high_near + y * dy1];
    let dx_low = dx0 + y * (dx1 - dx0);
    let dx_high = dx2 + y * (dx3 - dx2);
    let gradient = DVec3::new(dx_low + z * (dx_high - dx_low), dy0 + z * (dy1 - dy0), high - low);
    (low + z * (high - low), gradient)
}

/// Where a ray meets the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The way along the ray, in lengths of its direction.
    pub along: f64,
    /// The point.
    pub point: DVec3,
    /// The outward normal there.
    pub normal: DVec3,
}

enum Cell {
    /// All eight corners in blocks that are not stored, on one side.
    Uniform(f32),
    /// Corner values.
    Corners([f32; 8]),
}

impl Field for LevelSet {
    #[inline]
    fn value(&self, point: DVec3) -> f64 {
        self.value_and_gradient(point).0
    }

    #[inline]
    fn gradient(&self, point: DVec3) -> DVec3 {
        self.value_and_gradient(point).1
    }

    #[inline]
    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        let limit = DVec3::splat(f64::from(COORDINATE_LIMIT) - 2.0);
        let at = self.frame.in_samples(point).clamp(-limit, limit);
        let base = at.floor();
        match self.cell([base.x as i32, base.y as i32, base.z as i32]) {
            Cell::Corners(corners) => {
                let (value, gradient) = trilinear(&corners, at - base);
                let edge = self.grid.background().outside;
                if self.far.is_some() && corners.iter().any(|corner| corner.abs() >= edge) {
                    self.beyond(at, value, gradient / self.frame.spacing)
                } else {
                    (value, gradient / self.frame.spacing)
                }
            }
            Cell::Uniform(value) => self.beyond(at, f64::from(value), DVec3::ZERO),
        }
    }
}

impl LevelSet {
    /// The signed distance at a point; see [`Field`].
    #[inline]
    pub fn value(&self, point: DVec3) -> f64 {
        Field::value(self, point)
    }

    /// The gradient at a point; see [`Field`].
    #[inline]
    pub fn gradient(&self, point: DVec3) -> DVec3 {
        Field::gradient(self, point)
    }

    /// Whether a point lies inside.
    pub fn contains(&self, point: DVec3) -> bool {
        self.value(point) < 0.0
    }

    /// The outward unit normal at a point, unless the function is flat there.
    pub fn normal(&self, point: DVec3) -> Option<DVec3> {
        self.gradient(point).try_normalize()
    }

    /// Signed distances and gradients at many points, in parallel.
    pub fn values_and_gradients(&self, points: &[DVec3]) -> Vec<(f64, DVec3)> {
        points.par_iter().with_min_len(1024).map(|&point| self.value_and_gradient(point)).collect()
    }

    /// The closest point of the surface, from a point in the band or where the far field reaches.
    ///
    /// Walks down the gradient until the value is below 1e-6 of the spacing. `None` where the function is flat or the
    /// walk does not settle in 32 steps.
    pub fn closest_point(&self, point: DVec3) -> Option<DVec3> {
        let mut at = point;
        for _ in 0..32 {
            let (value, gradient) = self.value_and_gradient(at);
            let squared = gradient.length_squared();
            if squared < 1e-12 {
                return None;
            }
            let step = gradient * (value / squared.max(0.25));
            if value.abs() < 1e-6 * self.frame.spacing {
                return Some(at);
            }
            at -= step;
        }
        None
    }

    /// The first place where a ray goes from outside in, up to `reach` lengths of `direction`.
    ///
    /// Steps by the distance, then by bisection in the step that changed sign. Without a far field, steps outside the
    /// band are as long as the half width.
    pub fn ray(&self, origin: DVec3, direction: DVec3, reach: f64) -> Option<RayHit> {
        let length = direction.length();
        if !(length.is_finite() && length > 0.0) {
            return None;
        }
        let shortest = 0.25 * self.frame.spacing;
        let (mut along, mut before) = (0.0, self.value(origin));
        while along <= reach {
            // The far field may overestimate by a tenth; the band may not.
            let stride = if before > self.half_width { 0.5 * before } else { 0.9 * before };
            let next = (along + stride.abs().max(shortest) / length).min(reach);
            let value = self.value(origin + next * direction);
            if before > 0.0 && value <= 0.0 {
                let along = self.bisect(origin, direction, along, next);
                let point = origin + along * direction;
                return Some(RayHit { along, point, normal: self.normal(point)? });
            }
            if next >= reach {
                return None;
            }
            (along, before) = (next, value);
        }
        None
    }

    fn bisect(&self, origin: DVec3, direction: DVec3, mut outside: f64, mut inside: f64) -> f64 {
        for _ in 0..60 {
            let middle = 0.5 * (outside + inside);
            if self.value(origin + middle * direction) > 0.0 {
                outside = middle;
            } else {
                inside = middle;
            }
        }
        0.5 * (outside + inside)
    }

    #[inline]
    fn cell(&self, base: [i32; 3]) -> Cell {
        let grid = &self.grid;
        let width = grid.width().samples();
        let (block, local) = grid.split(base);
        if local[0] + 1 < width && local[1] + 1 < width && local[2] + 1 < width {
            return match grid.state(block) {
                BlockState::Uniform(side) => Cell::Uniform(grid.background().on(side)),
                BlockState::Stored(slot) => {
                    let values = &grid.block(slot)[grid.width().place(local)..];
                    let above = &values[width * width..];
                    Cell::Corners([
                        values[0],
                        values[1],
                        values[width],
                        values[width + 1],
                        above[0],
                        above[1],
                        above[width],
                        above[width + 1],
                    ])
                }
            };
        }
        self.cell_across_blocks(base)
    }

    fn cell_across_blocks(&self, base: [i32; 3]) -> Cell {
        let grid = &self.grid;
        let near = base.map(|c| grid.width().split(c));
        let far = base.map(|c| grid.width().split(c + 1));
        let mut corners = [0.0; 8];
        let mut stored = false;
        for (corner, value) in corners.iter_mut().enumerate() {
            let at = [0, 1, 2].map(|axis| if corner >> axis & 1 == 0 { near[axis] } else { far[axis] });
            *value = match grid.state(at.map(|(block, _)| block)) {
                BlockState::Uniform(side) => grid.background().on(side),
                BlockState::Stored(slot) => {
                    stored = true;
                    grid.block(slot)[grid.width().place(at.map(|(_, local)| local))]
                }
            };
        }
        if stored || corners.iter().any(|&value| value != corners[0]) {
            Cell::Corners(corners)
        } else {
            Cell::Uniform(corners[0])
        }
    }

    /// Beyond the band: the far field where it reaches further than the band's own, cut-off, value.
    #[cold]
    fn beyond(&self, at: DVec3, value: f64, gradient: DVec3) -> (f64, DVec3) {
        let Some(far) = &self.far else { return (value, gradient) };
        let (distance, slope) = far.value_and_gradient(at, self.frame.spacing);
        let flat = gradient.length_squared() < 0.25;
        if distance.abs() > value.abs() && (distance > 0.0) == (value > 0.0) {
            (distance, slope / self.frame.spacing)
        } else if flat {
            (value, slope / self.frame.spacing)
        } else {
            (value, gradient)
        }
    }
}
