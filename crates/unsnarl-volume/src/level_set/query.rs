//! Queries: value, gradient, normal, closest point and ray, by trilinear interpolation.
//!
//! Guarantees: a cell within the band gives the trilinear interpolant and its exact gradient; distances of a smooth
//! body are second order in the spacing, gradients first order. Beyond the band the far field answers, if there is
//! one, else the half width with the right sign and no gradient. Any point is accepted, even one that is no number.
//! Batches give the same bits on any number of threads.

use super::LevelSet;
use crate::field::Field;
use crate::grid::{BlockSlot, BlockState, COORDINATE_LIMIT, Side};
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

/// The largest whole number below a number within [`COORDINATE_LIMIT`]; 0 for what is no number.
///
/// A comparison instead of a call: processors without a rounding instruction leave `f64::floor` to the C library.
#[inline]
fn floor(number: f64) -> i32 {
    let toward_zero = number as i32;
    toward_zero - i32::from(f64::from(toward_zero) > number)
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

/// Where a function goes from positive, at `outside`, to negative, at `inside`.
pub(super) fn bisect(value: impl Fn(f64) -> f64, mut outside: f64, mut inside: f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (outside + inside);
        if value(middle) > 0.0 {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    0.5 * (outside + inside)
}

/// How many points a batch takes through each step together.
const GROUP: usize = 32;

/// A point in units of samples, and its cell.
#[derive(Clone, Copy)]
struct Place {
    at: DVec3,
    base: [i32; 3],
    corners: CellCorners,
}

impl Place {
    const NOWHERE: Self = Self { at: DVec3::ZERO, base: [0; 3], corners: CellCorners::Across };
}

/// Where the corners of a cell are kept.
#[derive(Clone, Copy)]
enum CellCorners {
    /// In a block that is not stored.
    Uniform(Side),
    /// In one stored block, the first at this place.
    Within(BlockSlot, usize),
    /// In several blocks.
    Across,
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
        let place = self.locate(point);
        self.interpolate(&place, self.corners(&place))
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
        let mut answers = vec![(0.0, DVec3::ZERO); points.len()];
        self.write_values_and_gradients(points, &mut answers);
        answers
    }

    /// As [`LevelSet::values_and_gradients`], into memory that the caller keeps from batch to batch.
    ///
    /// Points are taken in groups, each step for the whole group, so that the loads of one do not wait for another's.
    pub fn write_values_and_gradients(&self, points: &[DVec3], answers: &mut [(f64, DVec3)]) {
        assert_eq!(points.len(), answers.len(), "one answer for each point");
        let groups = points.par_chunks(GROUP).zip(answers.par_chunks_mut(GROUP)).with_min_len(64);
        groups.for_each(|(points, answers)| {
            let mut places = [Place::NOWHERE; GROUP];
            for (place, &point) in places.iter_mut().zip(points) {
                *place = self.locate(point);
            }
            let mut corners = [None; GROUP];
            for (corners, place) in corners.iter_mut().zip(&places[..points.len()]) {
                *corners = self.corners(place);
            }
            for ((answer, place), corners) in answers.iter_mut().zip(&places).zip(corners) {
                *answer = self.interpolate(place, corners);
            }
        });
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
        let along = self.first_entry(|point| self.value(point), origin, direction, reach)?;
        let point = origin + along * direction;
        Some(RayHit { along, point, normal: self.normal(point)? })
    }

    /// Where a function that is like this level set's first goes from positive to negative along a ray.
    pub(super) fn first_entry(
        &self,
        value_at: impl Fn(DVec3) -> f64,
        origin: DVec3,
        direction: DVec3,
        reach: f64,
    ) -> Option<f64> {
        let length = direction.length();
        if !(length.is_finite() && length > 0.0) {
            return None;
        }
        let shortest = 0.25 * self.frame.spacing;
        let (mut along, mut before) = (0.0, value_at(origin));
        while along <= reach {
            // The far field may overestimate by a tenth; the band may not.
            let stride = if before > self.half_width { 0.5 * before } else { 0.9 * before };
            let next = (along + stride.abs().max(shortest) / length).min(reach);
            let value = value_at(origin + next * direction);
            if before > 0.0 && value <= 0.0 {
                return Some(bisect(|along| value_at(origin + along * direction), along, next));
            }
            if next >= reach {
                return None;
            }
            (along, before) = (next, value);
        }
        None
    }

    /// The cell of a point, and the one block that holds all its corners, if there is one.
    #[inline]
    fn locate(&self, point: DVec3) -> Place {
        let limit = DVec3::splat(f64::from(COORDINATE_LIMIT) - 2.0);
        let at = self.frame.in_samples(point).clamp(-limit, limit);
        let base = [at.x, at.y, at.z].map(floor);
        let grid = &self.grid;
        let width = grid.width().samples();
        let (block, local) = grid.split(base);
        let within = local[0] + 1 < width && local[1] + 1 < width && local[2] + 1 < width;
        let corners = match grid.state(block) {
            _ if !within => CellCorners::Across,
            BlockState::Uniform(side) => CellCorners::Uniform(side),
            BlockState::Stored(slot) => CellCorners::Within(slot, grid.width().place(local)),
        };
        Place { at, base, corners }
    }

    /// The corner values of a cell, unless none of its blocks is stored.
    #[inline]
    fn corners(&self, place: &Place) -> Option<[f32; 8]> {
        match place.corners {
            CellCorners::Uniform(_) => None,
            CellCorners::Across => Some(self.corners_across_blocks(place.base)),
            CellCorners::Within(slot, first) => {
                let width = self.grid.width().samples();
                let values = &self.grid.block(slot)[first..];
                let above = &values[width * width..][..width + 2];
                let below = &values[..width + 2];
                let [near, far] = [[below[0], below[1]], [below[width], below[width + 1]]];
                let [near_above, far_above] = [[above[0], above[1]], [above[width], above[width + 1]]];
                Some([near[0], near[1], far[0], far[1], near_above[0], near_above[1], far_above[0], far_above[1]])
            }
        }
    }

    /// Looks up each block of the cell once: two for a cell that crosses one face, as nearly all do.
    fn corners_across_blocks(&self, base: [i32; 3]) -> [f32; 8] {
        let grid = &self.grid;
        let width = grid.width();
        let (block, local) = grid.split(base);
        let crosses = local.map(|c| c + 1 == width.samples());
        let crossed = usize::from(crosses[0]) | usize::from(crosses[1]) << 1 | usize::from(crosses[2]) << 2;
        let mut states = [BlockState::Uniform(Side::Outside); 8];
        let mut corner = crossed;
        loop {
            states[corner] = grid.state([0, 1, 2].map(|axis| block[axis] + (corner >> axis & 1) as i32));
            if corner == 0 {
                break;
            }
            corner = (corner - 1) & crossed;
        }
        let strides = [1, width.samples(), width.samples() * width.samples()];
        let places = [0, 1, 2].map(|axis| {
            let far = if crosses[axis] { 0 } else { local[axis] + 1 };
            [local[axis] * strides[axis], far * strides[axis]]
        });
        let mut corners = [0.0; 8];
        for (corner, value) in corners.iter_mut().enumerate() {
            *value = match states[corner & crossed] {
                BlockState::Uniform(side) => grid.background().on(side),
                BlockState::Stored(slot) => {
                    grid.block(slot)[places[0][corner & 1] + places[1][corner >> 1 & 1] + places[2][corner >> 2]]
                }
            };
        }
        corners
    }

    #[inline]
    fn interpolate(&self, place: &Place, corners: Option<[f32; 8]>) -> (f64, DVec3) {
        let Some(corners) = corners else {
            let CellCorners::Uniform(side) = place.corners else { return (self.half_width, DVec3::ZERO) };
            return self.beyond(place.at, f64::from(self.grid.background().on(side)), DVec3::ZERO);
        };
        let [x, y, z] = place.base.map(f64::from);
        let (value, gradient) = trilinear(&corners, place.at - DVec3::new(x, y, z));
        let gradient = gradient * self.frame.spacing.recip();
        let edge = self.grid.background().outside;
        if self.far.is_some() && corners.iter().any(|corner| corner.abs() >= edge) {
            self.beyond(place.at, value, gradient)
        } else {
            (value, gradient)
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
