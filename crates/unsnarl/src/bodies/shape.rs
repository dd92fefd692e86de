//! Analytic solids and the signed distance to them.

use crate::geometry::DVec3;

/// A solid around its own origin; y is up. All lengths are metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Everything below y = 0.
    Plane,
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A box.
    Box {
        /// Half of its sides.
        half: DVec3,
    },
    /// A round rod along y.
    Capsule {
        /// Its radius.
        radius: f64,
        /// Half the distance of the centres of its ends.
        half_length: f64,
    },
    /// A cylinder along y with flat ends.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Half its height.
        half_height: f64,
    },
}

impl Shape {
    /// The signed distance (negative inside) and the direction in which it grows fastest.
    pub fn distance(&self, point: DVec3) -> (f64, DVec3) {
        match *self {
            Self::Plane => (point.y, DVec3::Y),
            Self::Sphere { radius } => away(point, radius),
            Self::Capsule { radius, half_length } => {
                away(point - DVec3::Y * point.y.clamp(-half_length, half_length), radius)
            }
            Self::Box { half } => {
                let excess = point.abs() - half;
                let sign = DVec3::ONE.copysign(point);
                if excess.max_element() > 0.0 {
                    let outside = excess.max(DVec3::ZERO);
                    let length = outside.length();
                    return (length, outside * sign / length);
                }
                let axis = if excess.x >= excess.y.max(excess.z) {
                    DVec3::X
                } else if excess.y >= excess.z {
                    DVec3::Y
                } else {
                    DVec3::Z
                };
                (excess.max_element(), axis * sign)
            }
            Self::Cylinder { radius, half_height } => {
                let flat = DVec3::new(point.x, 0.0, point.z);
                let (side, outward) = away(flat, radius);
                let (end, upward) = (point.y.abs() - half_height, DVec3::Y.copysign(DVec3::splat(point.y)));
                let upward = DVec3::new(0.0, upward.y, 0.0);
                if side > 0.0 && end > 0.0 {
                    let length = side.hypot(end);
                    return (length, (outward * side + upward * end) / length);
                }
                if side > end { (side, outward) } else { (end, upward) }
            }
        }
    }
}

/// Distance from the origin less a radius; straight up where the direction is undefined.
fn away(point: DVec3, radius: f64) -> (f64, DVec3) {
    let length = point.length();
    (length - radius, if length > 0.0 { point / length } else { DVec3::Y })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 5] = [
        Shape::Plane,
        Shape::Sphere { radius: 0.7 },
        Shape::Box { half: DVec3::new(0.4, 0.6, 0.5) },
        Shape::Capsule { radius: 0.3, half_length: 0.5 },
        Shape::Cylinder { radius: 0.6, half_height: 0.3 },
    ];

    /// The normal is the slope of the distance, has length one, and stepping back along it reaches the surface.
    #[test]
    fn normals_are_slopes_and_lead_to_the_surface() {
        for shape in SHAPES {
            for step in 0..500 {
                let number = |k: i32| (f64::from(step * 7 + k) * 0.754_877_666).fract() * 2.4 - 1.2;
                let point = DVec3::new(number(0), number(31), number(77));
                let (distance, normal) = shape.distance(point);
                assert!((normal.length() - 1.0).abs() < 1e-12);
                let (ahead, _) = shape.distance(point + normal * 1e-7);
                assert!((ahead - distance - 1e-7).abs() < 1e-10, "{shape:?} {point}");
                let (surface, _) = shape.distance(point - normal * distance);
                assert!(surface.abs() < 1e-12, "{shape:?} {point} {surface}");
            }
        }
    }
}
