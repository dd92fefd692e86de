//! Axis-aligned boxes.

use crate::math::DVec3;

/// A closed axis-aligned box. The empty box has `min > max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// The corner with the smallest coordinates.
    pub min: DVec3,
    /// The corner with the largest coordinates.
    pub max: DVec3,
}

impl Aabb {
    /// The box that contains nothing and is neutral in [`Aabb::union`].
    pub const EMPTY: Self = Self { min: DVec3::INFINITY, max: DVec3::NEG_INFINITY };

    /// The smallest box around some points.
    pub fn of_points(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, Self::with_point)
    }

    /// This box, grown to contain a point.
    pub fn with_point(self, point: DVec3) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// The smallest box around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// This box, grown by a margin on every side.
    pub fn inflated(self, margin: f64) -> Self {
        Self { min: self.min - DVec3::splat(margin), max: self.max + DVec3::splat(margin) }
    }

    /// Whether the closed boxes share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        // Without short cuts: six comparisons cost less than one branch that cannot be predicted.
        (self.min.x <= other.max.x)
            & (other.min.x <= self.max.x)
            & (self.min.y <= other.max.y)
            & (other.min.y <= self.max.y)
            & (self.min.z <= other.max.z)
            & (other.min.z <= self.max.z)
    }

    /// Whether the closed box contains a point.
    pub fn contains(&self, point: DVec3) -> bool {
        self.min.cmple(point).all() && point.cmple(self.max).all()
    }

    /// The middle of the box.
    pub fn center(&self) -> DVec3 {
        0.5 * (self.min + self.max)
    }

    /// The lengths of the sides.
    pub fn extent(&self) -> DVec3 {
        self.max - self.min
    }

    /// Squared distance from a point to the box; 0 inside.
    pub fn distance_squared(&self, point: DVec3) -> f64 {
        (self.min - point).max(point - self.max).max(DVec3::ZERO).length_squared()
    }

    /// Whether nothing lies in the box.
    pub fn is_empty(&self) -> bool {
        !self.min.cmple(self.max).all()
    }
}
