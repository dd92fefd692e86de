//! The shape of single elements: what compression maximises and what tables quote. (Bridson 2003, 5.5 and 5.6)

use super::OUTWARD_FACES;
use unsnarl_geometry::DVec3;

/// Six times the volume.
#[inline]
pub fn sixfold_volume([a, b, c, d]: [DVec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a)
}

/// The longest edge, squared.
#[inline]
fn longest_squared([a, b, c, d]: [DVec3; 4]) -> f64 {
    let first = (b - a).length_squared().max((c - a).length_squared()).max((d - a).length_squared());
    first.max((c - b).length_squared()).max((d - b).length_squared()).max((d - c).length_squared())
}

/// Longest edge over smallest altitude; infinite for elements that are flat or negative. At best `sqrt(3/2)`.
pub fn aspect_ratio(corners: [DVec3; 4]) -> f64 {
    let volume = sixfold_volume(corners);
    let normals = outward_normals(corners);
    let largest = normals.iter().map(|normal| normal.length_squared()).fold(0.0, f64::max).sqrt();
    if volume > 0.0 { longest_squared(corners).sqrt() * largest / volume } else { f64::INFINITY }
}

/// Normals of the four faces, outward, as long as twice the areas.
#[inline]
pub fn outward_normals(corners: [DVec3; 4]) -> [DVec3; 4] {
    OUTWARD_FACES.map(|[i, j, k]| (corners[j] - corners[i]).cross(corners[k] - corners[i]))
}

/// The smallest and the largest dihedral angle, radians.
pub fn dihedral_range(corners: [DVec3; 4]) -> [f64; 2] {
    let normals = outward_normals(corners).map(|normal| normal.try_normalize().unwrap_or(DVec3::ZERO));
    let (mut least, mut most) = (std::f64::consts::PI, 0.0_f64);
    for i in 0..4 {
        for j in 0..i {
            let angle = (-normals[i].dot(normals[j])).clamp(-1.0, 1.0).acos();
            (least, most) = (least.min(angle), most.max(angle));
        }
    }
    [least, most]
}

/// What the measures of an element are made of. All are better the larger they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Smallest altitude over longest edge: one over the aspect ratio.
    pub slimness: f64,
    /// The least cosine between outward normals: minus the cosine of the smallest dihedral angle.
    pub least_cosine: f64,
    /// The largest one: minus the cosine of the largest dihedral angle.
    pub most_cosine: f64,
}

/// An aspect ratio and dihedral angles that elements are graded against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    aspect: f64,
    /// `1 - cos` of the smallest angle and `1 + cos` of the largest.
    angles: [f64; 2],
}

impl Limits {
    /// At most this aspect ratio, angles within these, degrees.
    pub fn new(aspect: f64, degrees: [f64; 2]) -> Self {
        let [least, most] = degrees.map(|angle| angle.to_radians().cos());
        Self { aspect, angles: [1.0 - least, 1.0 + most] }
    }
}

impl Shape {
    /// Of an element without a volume.
    pub const FLAT: Self = Self { slimness: 0.0, least_cosine: -1.0, most_cosine: 1.0 };

    /// `altitude / longest edge + (1 + cos(theta)) / 4`, theta the largest angle between outward normals: 0.983 for a
    /// regular tetrahedron, 0.832 for one of the lattice, positive for every element with a volume, 0 for others.
    ///
    /// Departs: the text has no 1, so that its measure is negative for thin elements and shares of it mean nothing.
    #[inline]
    pub fn quality(self) -> f64 {
        self.slimness + 0.25 * (1.0 + self.least_cosine)
    }

    /// The worst of what tables quote, against limits: the least of the squares of `slimness * aspect`,
    /// `sin(angle / 2) / sin(limit / 2)` for the smallest angle and `cos(angle / 2) / cos(limit / 2)` for the largest.
    /// At least 1 means within the limits.
    #[inline]
    pub fn grade(self, limits: &Limits) -> f64 {
        let slimness = limits.aspect * self.slimness;
        let [least, most] = limits.angles;
        (slimness * slimness).min((1.0 + self.least_cosine) / least).min((1.0 - self.most_cosine) / most)
    }
}

/// The shape of an element; [`Shape::FLAT`] where it has no volume.
#[inline]
pub fn shape_of(corners: [DVec3; 4]) -> Shape {
    let [a, b, c, d] = corners;
    let (ab, ac, ad, bc, bd) = (b - a, c - a, d - a, c - b, d - b);
    let normals = [bc.cross(bd), ad.cross(ac), ab.cross(ad), ac.cross(ab)];
    let volume = -normals[3].dot(ad);
    if volume <= 0.0 {
        return Shape::FLAT;
    }
    let areas = normals.map(|normal| normal.length());
    let largest = areas[0].max(areas[1]).max(areas[2]).max(areas[3]);
    let inverse = areas.map(f64::recip);
    let cosine = |i: usize, j: usize| normals[i].dot(normals[j]) * (inverse[i] * inverse[j]);
    let [p, q, r, s, t, u] = [cosine(0, 1), cosine(0, 2), cosine(0, 3), cosine(1, 2), cosine(1, 3), cosine(2, 3)];
    Shape {
        slimness: volume / (largest * longest_squared(corners).sqrt()),
        least_cosine: p.min(q).min(r).min(s.min(t).min(u)),
        most_cosine: p.max(q).max(r).max(s.max(t).max(u)),
    }
}

/// [`Shape::quality`] of an element.
#[inline]
pub fn tet_quality(corners: [DVec3; 4]) -> f64 {
    shape_of(corners).quality()
}

/// `altitude / longest edge + 1 / psi`, psi the largest angle: 1.821 for an equilateral triangle.
#[inline]
pub fn triangle_quality([a, b, c]: [DVec3; 3]) -> f64 {
    let squared = [(c - b).length_squared(), (a - c).length_squared(), (b - a).length_squared()];
    let longest = squared[0].max(squared[1]).max(squared[2]);
    let doubled_area = (b - a).cross(c - a).length();
    if doubled_area <= 0.0 {
        return 0.0;
    }
    // The largest angle lies opposite the longest edge: tan(psi) = doubled area / dot product of the sides there.
    let dot = 0.5 * (squared[0] + squared[1] + squared[2] - 2.0 * longest);
    doubled_area / longest + doubled_area.atan2(dot).recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn regular() -> [DVec3; 4] {
        [DVec3::ONE, DVec3::new(-1.0, 1.0, -1.0), DVec3::new(1.0, -1.0, -1.0), DVec3::new(-1.0, -1.0, 1.0)]
    }

    fn lattice() -> [DVec3; 4] {
        [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.5, -0.5), DVec3::new(0.5, 0.5, 0.5)]
    }

    #[test]
    fn a_regular_tetrahedron_has_the_best_figures() {
        assert!(sixfold_volume(regular()) > 0.0);
        assert!((aspect_ratio(regular()) - 1.5_f64.sqrt()).abs() < 1e-12);
        assert!((tet_quality(regular()) - (1.5_f64.sqrt().recip() + 1.0 / 6.0)).abs() < 1e-12);
        let angle = (1.0_f64 / 3.0).acos();
        assert!(dihedral_range(regular()).iter().all(|found| (found - angle).abs() < 1e-12));
    }

    #[test]
    fn a_lattice_tetrahedron_has_aspect_sqrt_2_quality_0_832_and_angles_60_and_90() {
        assert!((aspect_ratio(lattice()) - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((tet_quality(lattice()) - (0.5_f64.sqrt() + 0.125)).abs() < 1e-12);
        let [least, most] = dihedral_range(lattice());
        assert!((least - PI / 3.0).abs() < 1e-12 && (most - PI / 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_grade_is_one_at_the_limits_and_more_within() {
        let (aspect, angles) = (4.4, [19.0, 143.0]);
        let limits = Limits::new(aspect, angles);
        let [least, most] = angles.map(|angle: f64| -angle.to_radians().cos());
        let good = Shape { slimness: 1.0, least_cosine: 0.0, most_cosine: 0.0 };
        for shape in [
            Shape { slimness: aspect.recip(), ..good },
            Shape { least_cosine: least, ..good },
            Shape { most_cosine: most, ..good },
        ] {
            assert!((shape.grade(&limits) - 1.0).abs() < 1e-12, "{shape:?}");
        }
        assert!(shape_of(lattice()).grade(&limits) > 4.0 && Shape::FLAT.grade(&limits) == 0.0);
        let [smallest, largest] = dihedral_range(regular());
        let shape = shape_of(regular());
        assert!((shape.least_cosine + smallest.cos()).abs() < 1e-12);
        assert!((shape.most_cosine + largest.cos()).abs() < 1e-12);
    }

    #[test]
    fn an_equilateral_triangle_has_quality_1_821_and_a_right_one_less() {
        let equilateral = [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.75_f64.sqrt(), 0.0)];
        assert!((triangle_quality(equilateral) - (0.75_f64.sqrt() + 3.0 / PI)).abs() < 1e-12);
        let right = [DVec3::ZERO, DVec3::X, DVec3::Y];
        assert!((triangle_quality(right) - (0.5 + 2.0 / PI)).abs() < 1e-12);
    }

    #[test]
    fn inverted_and_flat_elements_have_no_quality() {
        let [a, b, c, d] = lattice();
        assert_eq!(tet_quality([a, b, d, c]), 0.0);
        assert_eq!(tet_quality([a, b, c, c]), 0.0);
        assert_eq!(aspect_ratio([a, b, d, c]), f64::INFINITY);
        assert_eq!(triangle_quality([a, b, b]), 0.0);
    }
}
