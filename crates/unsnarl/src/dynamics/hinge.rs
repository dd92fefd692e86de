//! The angle between two triangles at an edge, and its gradient: the bending mode.
//!
//! Points are given as in [`crate::model::Hinge`]: the two corners off the edge, then the edge's start and end. The angle
//! is 0 when flat, and positive where `(n1 x n2) . e` is. (Bridson 2003, 1.4)
//!
//! Guarantees: the gradient sums to zero and exerts no moment, so bending forces keep both momenta.
//! Departs: the printed mode is minus the gradient of the angle with that sign; the sign here is the gradient's.

use crate::geometry::DVec3;

/// The angle of a hinge, radians; `None` where a triangle or the edge has no area or length.
pub fn angle(points: [DVec3; 4]) -> Option<f64> {
    let [p, q, start, end] = points;
    let edge = (end - start).try_normalize()?;
    let first = (p - start).cross(p - end).try_normalize()?;
    let second = (q - end).cross(q - start).try_normalize()?;
    Some(first.cross(second).dot(edge).atan2(first.dot(second)))
}

/// The angle and its gradient at the four points.
///
/// `d angle / d p = -|e| N1/|N1|^2`, the same at `q` with `N2`, and at the edge's ends what keeps it free of force and
/// moment.
pub fn angle_and_gradient(points: [DVec3; 4]) -> Option<(f64, [DVec3; 4])> {
    let [p, q, start, end] = points;
    let edge = end - start;
    let length = edge.length();
    let (first, second) = ((p - start).cross(p - end), (q - end).cross(q - start));
    let (first_squared, second_squared) = (first.length_squared(), second.length_squared());
    let smallest = 1e-24 * length.powi(4);
    if length == 0.0 || first_squared <= smallest || second_squared <= smallest {
        return None;
    }
    let direction = edge / length;
    let (lean_first, lean_second) = (first / first_squared, second / second_squared);
    let sine = first.cross(second).dot(direction);
    let angle = sine.atan2(first.dot(second));
    let gradient = [
        -length * lean_first,
        -length * lean_second,
        -(p - end).dot(direction) * lean_first - (q - end).dot(direction) * lean_second,
        (p - start).dot(direction) * lean_first + (q - start).dot(direction) * lean_second,
    ];
    Some((angle, gradient))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bent() -> [DVec3; 4] {
        [DVec3::new(0.4, 0.9, 0.3), DVec3::new(0.6, -0.8, 0.5), DVec3::new(-0.1, 0.05, 0.0), DVec3::new(1.1, 0.0, -0.1)]
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        for flip in [1.0, -1.0] {
            let points = bent().map(|point| DVec3::new(point.x, point.y, flip * point.z));
            let (value, gradient) = angle_and_gradient(points).unwrap();
            assert!((value - angle(points).unwrap()).abs() < 1e-14);
            for corner in 0..4 {
                for axis in 0..3 {
                    let moved = |step: f64| {
                        let mut points = points;
                        points[corner][axis] += step;
                        angle(points).unwrap()
                    };
                    let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((difference - gradient[corner][axis]).abs() < 1e-8, "{corner} {axis}");
                }
            }
        }
    }

    #[test]
    fn the_gradient_has_no_force_and_no_moment() {
        let points = bent();
        let (_, gradient) = angle_and_gradient(points).unwrap();
        let force: DVec3 = gradient.iter().copied().sum();
        let moment: DVec3 = points.iter().zip(gradient).map(|(point, pull)| point.cross(pull)).sum();
        assert!(force.length() < 1e-14 && moment.length() < 1e-14);
    }

    #[test]
    fn a_right_angle_is_a_right_angle_and_flat_is_zero() {
        let edge = [DVec3::ZERO, DVec3::X];
        let flat = [DVec3::Y, DVec3::NEG_Y, edge[0], edge[1]];
        assert_eq!(angle(flat), Some(0.0));
        let bent = [DVec3::Y, DVec3::Z, edge[0], edge[1]];
        assert!((angle(bent).unwrap().abs() - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
        assert_eq!(angle([DVec3::X, DVec3::Y, edge[0], edge[1]]), None);
    }
}
