//! How good a triangle is: smallest altitude over longest edge, plus one over the largest angle in radians.
//! (Bridson 2003, 5.5, for boundary triangles)

use unsnarl_geometry::DVec3;

/// The quality of an equilateral triangle, the best there is: `sqrt(3)/2 + 3/pi`.
pub(super) const BEST: f64 = 0.866_025_403_784_438_6 + 3.0 / std::f64::consts::PI;

/// Below this cosine to its reference normal a triangle counts as turned over.
const SMALLEST_COSINE: f64 = 0.1;

/// The quality of a triangle that must face along `reference`; -1 where it does not, -2 where it has no area.
pub(super) fn quality([a, b, c]: [DVec3; 3], reference: DVec3) -> f64 {
    let normal = (b - a).cross(c - a);
    let doubled_area = normal.length();
    let squares = [(c - b).length_squared(), (a - c).length_squared(), (b - a).length_squared()];
    let longest = squares.iter().copied().fold(0.0, f64::max);
    if doubled_area.is_nan() || doubled_area <= 1e-12 * longest {
        return -2.0;
    }
    if normal.dot(reference) < SMALLEST_COSINE * doubled_area * reference.length() {
        return -1.0;
    }
    // altitude on the longest edge over that edge, and the angle opposite it
    let legs = squares.iter().sum::<f64>() - 2.0 * longest;
    let largest_angle = (2.0 * doubled_area).atan2(legs);
    doubled_area / longest + largest_angle.recip()
}

/// The smallest altitude over the longest edge.
pub(super) fn slimness([a, b, c]: [DVec3; 3]) -> f64 {
    let longest = (c - b).length_squared().max((a - c).length_squared()).max((b - a).length_squared());
    if longest > 0.0 { (b - a).cross(c - a).length() / longest } else { 0.0 }
}

/// The angles of a triangle, degrees.
pub(super) fn angles_degrees(corners: [DVec3; 3]) -> [f64; 3] {
    [0, 1, 2].map(|at| {
        let (u, v) = (corners[(at + 1) % 3] - corners[at], corners[(at + 2) % 3] - corners[at]);
        u.cross(v).length().atan2(u.dot(v)).to_degrees()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equilateral_triangle_is_best_and_a_right_one_as_computed_by_hand() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.75_f64.sqrt(), 0.0)];
        assert!((quality(corners, DVec3::Z) - BEST).abs() < 1e-14);
        assert!((BEST - 1.821).abs() < 1e-3);
        // Legs 1 and 1: altitude 1/sqrt 2 over sqrt 2, and an angle of pi/2.
        let right = quality([DVec3::ZERO, DVec3::X, DVec3::Y], DVec3::Z);
        assert!((right - (0.5 + 2.0 / std::f64::consts::PI)).abs() < 1e-14);
        assert!(angles_degrees(corners).iter().all(|angle| (angle - 60.0).abs() < 1e-12));
    }

    #[test]
    fn triangles_that_turned_over_or_collapsed_are_below_zero() {
        assert_eq!(quality([DVec3::ZERO, DVec3::Y, DVec3::X], DVec3::Z), -1.0);
        assert_eq!(quality([DVec3::ZERO, DVec3::X, 2.0 * DVec3::X], DVec3::Z), -2.0);
        assert_eq!(quality([DVec3::NAN, DVec3::X, DVec3::Y], DVec3::Z), -2.0);
    }
}
