//! The vector types of the whole project, re-exported from one place so that there is one version of them.

pub use glam::{DAffine3, DMat2, DMat3, DMat4, DQuat, DVec2, DVec3, DVec4};

/// Whether every coordinate is an ordinary number.
pub fn is_finite(point: DVec3) -> bool {
    point.x.is_finite() && point.y.is_finite() && point.z.is_finite()
}
