//! Boxes in 32-bit floats, rounded outward, alone and eight at a time.
//!
//! Half the memory and twice the lanes of 64-bit boxes. Coordinates are relative to the tree's origin, so that a mesh far
//! from the scene's origin keeps its digits; a box rounded outward meets everything that the true box meets.

use crate::aabb::Aabb;
use crate::math::DVec3;
use fearless_simd::{f32x8, mask32x8, prelude::*, u32x8};
use glam::Vec3A;
use rayon::prelude::*;

/// How many items a leaf holds: the lanes of one vector.
pub(crate) const LANES: usize = 8;
/// In place of an item, where a leaf holds fewer.
const NO_ITEM: u32 = u32::MAX;

/// A closed box, relative to an origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallBox {
    pub(crate) min: [f32; 3],
    pub(crate) max: [f32; 3],
}

impl SmallBox {
    pub(crate) const EMPTY: Self = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

    /// The smallest such box around a box, but for a rounding.
    #[inline(always)]
    pub(crate) fn around(bounds: &Aabb, origin: DVec3) -> Self {
        let (min, max) = (bounds.min - origin, bounds.max - origin);
        Self { min: min.to_array().map(rounded_down), max: max.to_array().map(rounded_up) }
    }

    pub(crate) fn to_aabb(self) -> Aabb {
        Aabb { min: DVec3::from(self.min.map(f64::from)), max: DVec3::from(self.max.map(f64::from)) }
    }

    #[inline(always)]
    pub(crate) fn twice_center(&self) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.min[axis] + self.max[axis])
    }

    #[inline(always)]
    pub(crate) fn union(self, other: Self) -> Self {
        let (mut min, mut max) = (self.min, self.max);
        for axis in 0..3 {
            min[axis] = if other.min[axis] < min[axis] { other.min[axis] } else { min[axis] };
            max[axis] = if other.max[axis] > max[axis] { other.max[axis] } else { max[axis] };
        }
        Self { min, max }
    }

    /// Without short cuts: six comparisons cost less than one branch that cannot be predicted.
    #[inline(always)]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        (self.min[0] <= other.max[0])
            & (other.min[0] <= self.max[0])
            & (self.min[1] <= other.max[1])
            & (other.min[1] <= self.max[1])
            & (self.min[2] <= other.max[2])
            & (other.min[2] <= self.max[2])
    }

    /// The squared distance between two boxes, never above that of what they were rounded from.
    pub(crate) fn gap_squared(&self, other: &Self) -> f64 {
        let (ours, theirs) = (self.to_aabb(), other.to_aabb());
        (ours.min - theirs.max).max(theirs.min - ours.max).max(DVec3::ZERO).length_squared()
    }
}

/// A float at or below a number: its rounding, less one step of its size. Beyond all floats it is infinity.
#[inline(always)]
fn rounded_down(value: f64) -> f32 {
    let near = (value as f32).clamp(f32::MIN, f32::MAX);
    near - (near.abs() * f32::EPSILON + f32::MIN_POSITIVE)
}

#[inline(always)]
fn rounded_up(value: f64) -> f32 {
    let near = (value as f32).clamp(f32::MIN, f32::MAX);
    near + (near.abs() * f32::EPSILON + f32::MIN_POSITIVE)
}

/// A point between two floats along each axis, relative to an origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundedPoint {
    low: Vec3A,
    high: Vec3A,
}

impl RoundedPoint {
    /// All points, rounded once, so that the boxes they span need no rounding.
    pub(crate) fn all(points: &[DVec3], origin: DVec3) -> Vec<Self> {
        let round = |&point: &DVec3| {
            let [x, y, z] = (point - origin).to_array();
            Self {
                low: Vec3A::new(rounded_down(x), rounded_down(y), rounded_down(z)),
                high: Vec3A::new(rounded_up(x), rounded_up(y), rounded_up(z)),
            }
        };
        points.par_iter().with_min_len(POINTS_PER_TASK).map(round).collect()
    }

    /// What points sweep from a start to an end, each grown by a margin and by what growing it rounds away.
    pub(crate) fn all_swept(start: &[DVec3], end: &[DVec3], margin: f64, origin: DVec3) -> Vec<Self> {
        let round = |(&from, &to): (&DVec3, &DVec3)| {
            let (min, max) = (from.min(to), from.max(to));
            let rounding = 4.0 * f64::EPSILON * min.abs().max(max.abs()).max_element();
            let grown = DVec3::splat(if margin == 0.0 { 0.0 } else { margin + rounding });
            let (low, high) = ((min - origin - grown).to_array(), (max - origin + grown).to_array());
            Self { low: Vec3A::from_array(low.map(rounded_down)), high: Vec3A::from_array(high.map(rounded_up)) }
        };
        start.par_iter().zip(end).with_min_len(POINTS_PER_TASK).map(round).collect()
    }

    /// The box around three of the points.
    #[inline(always)]
    pub(crate) fn span(points: &[Self], [a, b, c]: [u32; 3]) -> SmallBox {
        let [a, b, c] = [points[a as usize], points[b as usize], points[c as usize]];
        SmallBox { min: a.low.min(b.low).min(c.low).to_array(), max: a.high.max(b.high).max(c.high).to_array() }
    }
}

impl RoundedPoint {
    /// The box of one of the points.
    #[inline(always)]
    pub(crate) fn bounds(points: &[Self], point: u32) -> SmallBox {
        let point = points[point as usize];
        SmallBox { min: point.low.to_array(), max: point.high.to_array() }
    }

    /// The box around two of the points.
    #[inline(always)]
    pub(crate) fn span_of_two(points: &[Self], [a, b]: [u32; 2]) -> SmallBox {
        let [a, b] = [points[a as usize], points[b as usize]];
        SmallBox { min: a.low.min(b.low).to_array(), max: a.high.max(b.high).to_array() }
    }
}

/// Fewer points than this are not worth another thread.
const POINTS_PER_TASK: usize = 4096;

/// Up to eight items and their boxes, coordinate by coordinate.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Leaf {
    min: [[f32; LANES]; 3],
    max: [[f32; LANES]; 3],
    labels: [[u32; LANES]; 3],
    items: [u32; LANES],
    /// For every lane, a bit for each lane that has a label in common with it.
    sharing_within: [u8; LANES],
}

impl Leaf {
    /// A leaf of some items with their labels, without boxes yet.
    pub(crate) fn of(items: impl Iterator<Item = (u32, [u32; 3])>) -> Self {
        let mut leaf = Self {
            min: [[f32::INFINITY; LANES]; 3],
            max: [[f32::NEG_INFINITY; LANES]; 3],
            labels: [[0; LANES]; 3],
            items: [NO_ITEM; LANES],
            sharing_within: [0; LANES],
        };
        for (lane, (item, labels)) in items.enumerate() {
            leaf.items[lane] = item;
            for (row, label) in leaf.labels.iter_mut().zip(labels) {
                row[lane] = label;
            }
        }
        leaf
    }

    /// Finds out which of its own items have labels in common.
    #[inline(always)]
    pub(crate) fn compare_labels<S: Simd>(&mut self, simd: S) {
        for lane in 0..LANES {
            self.sharing_within[lane] = self.sharing(simd, self, lane) as u8;
        }
    }

    /// The items with their lanes.
    pub(crate) fn items(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let present = self.items.iter().take_while(|&&item| item != NO_ITEM);
        present.enumerate().map(|(lane, &item)| (lane, item as usize))
    }

    #[inline(always)]
    pub(crate) fn item(&self, lane: usize) -> u32 {
        self.items[lane]
    }

    #[inline(always)]
    pub(crate) fn lane(&self, lane: usize) -> SmallBox {
        SmallBox { min: self.min.map(|row| row[lane]), max: self.max.map(|row| row[lane]) }
    }

    /// Gives every item a new box and returns the box around all.
    #[inline(always)]
    pub(crate) fn refit(&mut self, box_of: impl Fn(usize) -> SmallBox) -> SmallBox {
        self.refit_lanes(|leaf, lane| box_of(leaf.item(lane) as usize))
    }

    /// The same, where labels are points.
    #[inline(always)]
    pub(crate) fn refit_on_points(&mut self, points: &[RoundedPoint]) -> SmallBox {
        self.refit_lanes(|leaf, lane| RoundedPoint::span(points, leaf.labels.map(|row| row[lane])))
    }

    #[inline(always)]
    fn refit_lanes(&mut self, box_of: impl Fn(&Self, usize) -> SmallBox) -> SmallBox {
        let mut around = SmallBox::EMPTY;
        for lane in 0..LANES {
            if self.items[lane] == NO_ITEM {
                break;
            }
            let bounds = box_of(self, lane);
            around = around.union(bounds);
            for axis in 0..3 {
                self.min[axis][lane] = bounds.min[axis];
                self.max[axis][lane] = bounds.max[axis];
            }
        }
        around
    }

    /// One bit for every lane whose box meets a box.
    #[inline(always)]
    pub(crate) fn meeting<S: Simd>(&self, simd: S, bounds: &SmallBox) -> u32 {
        let below =
            |axis: usize| f32x8::from_slice(simd, &self.min[axis]).simd_le(f32x8::splat(simd, bounds.max[axis]));
        let above =
            |axis: usize| f32x8::from_slice(simd, &self.max[axis]).simd_ge(f32x8::splat(simd, bounds.min[axis]));
        let meets = below(0) & above(0) & below(1) & above(1) & below(2) & above(2);
        meets.to_bitmask() as u32
    }

    /// One bit for every lane that has a label in common with another lane.
    #[inline(always)]
    pub(crate) fn sharing_within(&self, lane: usize) -> u32 {
        u32::from(self.sharing_within[lane])
    }

    /// One bit for every lane that has a label in common with a lane of another leaf.
    #[inline(always)]
    pub(crate) fn sharing<S: Simd>(&self, simd: S, other: &Self, other_lane: usize) -> u32 {
        let [first, second, third] = other.labels.map(|row| self.having_lanes(simd, row[other_lane]));
        (first | second | third).to_bitmask() as u32
    }

    /// One bit for every lane that has a label.
    #[inline(always)]
    pub(crate) fn having<S: Simd>(&self, simd: S, label: u32) -> u32 {
        self.having_lanes(simd, label).to_bitmask() as u32
    }

    #[inline(always)]
    fn having_lanes<S: Simd>(&self, simd: S, label: u32) -> mask32x8<S> {
        let label = u32x8::splat(simd, label);
        let is = |row: usize| u32x8::from_slice(simd, &self.labels[row]).simd_eq(label);
        is(0) | is(1) | is(2)
    }
}

/// The lanes of a mask, from the lowest.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_is_outward(value in prop::num::f64::ANY) {
            prop_assume!(!value.is_nan());
            prop_assert!(f64::from(rounded_down(value)) <= value || value == f64::NEG_INFINITY);
            prop_assert!(f64::from(rounded_up(value)) >= value || value == f64::INFINITY);
        }
    }

    #[test]
    fn boxes_beyond_all_floats_still_meet() {
        let far = |from: f64, to: f64| {
            SmallBox::around(&Aabb { min: DVec3::splat(from), max: DVec3::splat(to) }, DVec3::ZERO)
        };
        assert!(far(1e200, 1e300).overlaps(&far(1e250, 1e301)));
        assert!(far(-1e300, -1e200).overlaps(&far(-1e301, -1e250)));
        assert!(!far(-1e300, -1e200).overlaps(&far(1e200, 1e300)));
    }
}
