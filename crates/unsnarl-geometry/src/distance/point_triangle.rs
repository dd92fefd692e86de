//! The point of a triangle closest to a point.

use super::point_segment;
use crate::math::DVec3;

/// The closest point of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestOnTriangle {
    /// Barycentric coordinates of the closest point.
    pub weights: [f64; 3],
    /// From the closest point to the asked point.
    pub offset: DVec3,
}

impl ClosestOnTriangle {
    /// The distance, squared.
    pub fn distance_squared(&self) -> f64 {
        self.offset.length_squared()
    }
}

/// Needles whose area is below this fraction of their longest edge squared compare the inside with the border.
const NEEDLE: f64 = 1e-6;

/// The point of a triangle closest to a point.
pub fn point_triangle(point: DVec3, triangle: [DVec3; 3]) -> ClosestOnTriangle {
    let corners = triangle.map(|corner| corner - point);
    let [a, b, c] = corners;
    let (ab, ac) = (b - a, c - a);
    let normal = ab.cross(ac);
    let raw = [normal.dot(b.cross(c)), normal.dot(c.cross(a)), normal.dot(a.cross(b))];
    let sum = (raw[0] + raw[1]) + raw[2];
    let inside = (raw.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite()).then(|| {
        let (v, w) = (raw[1] / sum, raw[2] / sum);
        at(corners, [(1.0 - v - w).max(0.0), v, w])
    });
    let scale = ab.length_squared().max(ac.length_squared()).max((c - b).length_squared());
    match inside {
        Some(inside) if normal.length_squared() > (NEEDLE * scale) * (NEEDLE * scale) => inside,
        _ => inside.into_iter().chain(sides(corners)).fold(at(corners, [1.0, 0.0, 0.0]), nearer),
    }
}

fn nearer(best: ClosestOnTriangle, other: ClosestOnTriangle) -> ClosestOnTriangle {
    if other.distance_squared() < best.distance_squared() { other } else { best }
}

/// The closest point of each side; corners are relative to the asked point.
fn sides(corners: [DVec3; 3]) -> impl Iterator<Item = ClosestOnTriangle> {
    (0..3).map(move |side| {
        let (from, to) = (side, (side + 1) % 3);
        let along = point_segment(DVec3::ZERO, corners[from], corners[to]);
        let mut weights = [0.0; 3];
        weights[from] = 1.0 - along;
        weights[to] = along;
        at(corners, weights)
    })
}

fn at(corners: [DVec3; 3], weights: [f64; 3]) -> ClosestOnTriangle {
    let offset = -((corners[0] * weights[0] + corners[1] * weights[1]) + corners[2] * weights[2]);
    ClosestOnTriangle { weights, offset }
}
