//! The shape that a triangle of cloth has when nothing pulls at it, in warp and weft coordinates.
//!
//! Each triangle keeps its own flat rest frame, so a seam, a dart and a mesh without panels are one case: neighbours
//! need not agree on where their frames lie. (Cha 2022, 4.5 and appendices A and B, made one rule)
//!
//! Guarantees: a rest shape of zero area is told apart (`inverse` gives `None`), never divided by.

use crate::geometry::math::{DMat2, DVec2, DVec3};

/// Two sides of a triangle at rest: from corner 0 to corner 1, and from corner 0 to corner 2. Metres; x is warp, y weft.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestShape {
    /// From corner 0 to corner 1 and to corner 2.
    pub sides: [DVec2; 2],
}

impl RestShape {
    /// From the panel coordinates of the three corners.
    pub fn from_panel(corners: [DVec2; 3]) -> Self {
        Self { sides: [corners[1] - corners[0], corners[2] - corners[0]] }
    }

    /// From the shape that the triangle has in space, front side up.
    ///
    /// Warp is the direction of the world's y axis laid into the triangle, or of the x axis where the triangle lies flat.
    pub fn from_world(corners: [DVec3; 3]) -> Self {
        let (first, second) = (corners[1] - corners[0], corners[2] - corners[0]);
        let Some(normal) = first.cross(second).try_normalize() else {
            let length = first.length();
            let along = first.try_normalize().map_or(0.0, |direction| second.dot(direction));
            return Self { sides: [DVec2::new(length, 0.0), DVec2::new(along, 0.0)] };
        };
        let axis = if normal.y.abs() < 0.99 { DVec3::Y } else { DVec3::X };
        let warp = (axis - normal * axis.dot(normal)).normalize_or(DVec3::X);
        let weft = normal.cross(warp);
        Self { sides: [first, second].map(|side| DVec2::new(side.dot(warp), side.dot(weft))) }
    }

    /// The area, never negative: a panel may be laid out mirrored.
    pub fn area(&self) -> f64 {
        0.5 * self.sides[0].perp_dot(self.sides[1]).abs()
    }

    /// The lengths of sides 0-1, 1-2 and 2-0.
    pub fn lengths(&self) -> [f64; 3] {
        [self.sides[0].length(), (self.sides[1] - self.sides[0]).length(), self.sides[1].length()]
    }

    /// The matrix that takes sides to warp and weft; `None` where the area is zero beside the sides' lengths.
    pub fn inverse(&self) -> Option<DMat2> {
        let [first, second] = self.sides;
        let scale = first.length_squared().max(second.length_squared());
        let determinant = first.perp_dot(second);
        (determinant.abs() > 1e-12 * scale).then(|| DMat2::from_cols(first, second).inverse())
    }

    /// Weights `(a, b)` of the three corners, such that `sum a x` is the image of a unit step along warp and `sum b x`
    /// along weft.
    pub fn gradients(&self) -> Option<([f64; 3], [f64; 3])> {
        let inverse = self.inverse()?;
        let row = |column: DVec2| [-column.x - column.y, column.x, column.y];
        Some((row(inverse.col(0)), row(inverse.col(1))))
    }

    /// The direction of the side from corner `from` to corner `to`, in warp and weft.
    pub fn side(&self, from: usize, to: usize) -> DVec2 {
        let corner = |index: usize| if index == 0 { DVec2::ZERO } else { self.sides[index - 1] };
        corner(to) - corner(from)
    }
}

/// The stretch along warp and weft of a triangle in space: lengths of the images of unit steps.
pub fn stretches(shape: &RestShape, corners: [DVec3; 3]) -> Option<[f64; 2]> {
    let (a, b) = shape.gradients()?;
    let image = |weights: [f64; 3]| corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2];
    Some([image(a).length(), image(b).length()])
}

/// The largest and smallest stretch of a triangle over all directions (singular values of its deformation gradient).
pub fn principal_stretches(shape: &RestShape, corners: [DVec3; 3]) -> Option<[f64; 2]> {
    let (a, b) = shape.gradients()?;
    let image = |weights: [f64; 3]| corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2];
    let (u, v) = (image(a), image(b));
    let (uu, vv, uv) = (u.length_squared(), v.length_squared(), u.dot(v));
    let mean = 0.5 * (uu + vv);
    let radius = (0.25 * (uu - vv) * (uu - vv) + uv * uv).sqrt();
    Some([(mean + radius).max(0.0).sqrt(), (mean - radius).max(0.0).sqrt()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_taken_from_space_is_unstretched_there() {
        let corners = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(1.0, 0.4, -0.2), DVec3::new(0.3, 0.9, 0.5)];
        let shape = RestShape::from_world(corners);
        for stretch in principal_stretches(&shape, corners).unwrap() {
            assert!((stretch - 1.0).abs() < 1e-12);
        }
        let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]).length();
        assert!((shape.area() - area).abs() < 1e-14);
    }

    #[test]
    fn stretch_along_warp_is_measured_along_warp() {
        let shape = RestShape::from_panel([DVec2::ZERO, DVec2::X, DVec2::Y]);
        let corners = [DVec3::ZERO, DVec3::X * 1.5, DVec3::Y * 0.5];
        assert_eq!(stretches(&shape, corners), Some([1.5, 0.5]));
    }

    #[test]
    fn a_flat_rest_shape_has_no_inverse() {
        let shape = RestShape::from_world([DVec3::ZERO, DVec3::X, DVec3::X * 2.0]);
        assert_eq!(shape.inverse(), None);
        assert_eq!(RestShape::from_world([DVec3::ONE; 3]).inverse(), None);
    }
}
