//! A scalar function of space with a gradient: what contact, dressing and meshing ask of any body.

use unsnarl_geometry::DVec3;

/// A scalar function of space. For a body: the signed distance, negative inside.
pub trait Field: Sync {
    /// The value at a point.
    fn value(&self, point: DVec3) -> f64;

    /// The value at a point where its magnitude is known to be at most `bound`, for fields that can use that.
    fn value_within(&self, point: DVec3, _bound: f64) -> f64 {
        self.value(point)
    }

    /// The gradient at a point. For a body it points outward; zero where the function is flat.
    fn gradient(&self, point: DVec3) -> DVec3;

    /// Both at once, for fields that share the work.
    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        (self.value(point), self.gradient(point))
    }
}
