//! Volume, centre of mass and inertia of a closed triangle mesh, by integrals over its polyhedron.
//!
//! Each triangle spans a tetrahedron with a reference point near the mesh; polynomials up to second degree have a
//! closed form on a tetrahedron, and signed volumes cancel what lies outside. (Bridson 2003, 4.3)
//!
//! Guarantees: exact up to rounding for every closed, consistently oriented mesh, convex or not.
//! Does not: check that the mesh is closed or free of self-intersections; overlaps count as often as they are covered.

use crate::math::{DMat3, DQuat, DVec3};

/// The integrals of a solid of density 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Volume, cubic metres; negative if the triangles face inward.
    pub volume: f64,
    /// Centre of mass.
    pub center: DVec3,
    /// Moments of inertia about the centre, for density 1.
    pub inertia: DMat3,
}

/// Moments along axes in which products of inertia vanish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipalAxes {
    /// The moments, largest index for the third axis.
    pub moments: DVec3,
    /// Turns the principal frame into the frame of the inertia.
    pub rotation: DQuat,
}

impl MassProperties {
    /// Integrates over the solid that triangles enclose, counter-clockwise seen from outside.
    ///
    /// `None` without triangles, or if the volume is zero or not a number: then there is no centre.
    pub fn of(positions: &[DVec3], triangles: &[[u32; 3]]) -> Option<Self> {
        let corner = |vertex: u32| positions.get(vertex as usize).copied();
        let reference = positions.iter().copied().sum::<DVec3>() / positions.len().max(1) as f64;
        let mut volume = 0.0;
        let mut first = DVec3::ZERO;
        let mut second = DMat3::ZERO;
        for &[a, b, c] in triangles {
            let [a, b, c] = [corner(a)? - reference, corner(b)? - reference, corner(c)? - reference];
            let six_volumes = a.dot(b.cross(c));
            let sum = a + b + c;
            volume += six_volumes / 6.0;
            first += sum * (six_volumes / 24.0);
            // The integral of x x^T over a tetrahedron at the origin: V/20 (sum of x x^T of the corners + s s^T).
            second += (square(a) + square(b) + square(c) + square(sum)) * (six_volumes / 120.0);
        }
        if !(volume.is_finite() && volume != 0.0) {
            return None;
        }
        let center = first / volume;
        let central = second - square(center) * volume;
        let trace = central.x_axis.x + central.y_axis.y + central.z_axis.z;
        let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - central;
        Some(Self { volume, center: reference + center, inertia })
    }

    /// The axes of the inertia. A diagonal inertia keeps the axes that it has.
    pub fn principal_axes(&self) -> PrincipalAxes {
        let (moments, axes) = diagonalize(self.inertia);
        // A frame is right-handed; the sign of an axis is free.
        let axes =
            if axes.determinant() < 0.0 { DMat3::from_cols(axes.x_axis, axes.y_axis, -axes.z_axis) } else { axes };
        PrincipalAxes { moments, rotation: DQuat::from_mat3(&axes).normalize() }
    }
}

fn square(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

/// Eigenvalues and eigenvectors of a symmetric matrix, by Jacobi rotations; products that are rounding count as zero.
fn diagonalize(matrix: DMat3) -> (DVec3, DMat3) {
    let mut m = matrix.to_cols_array_2d();
    let mut axes = [DVec3::X, DVec3::Y, DVec3::Z];
    let scale = m.iter().flatten().fold(0.0f64, |most, entry| most.max(entry.abs()));
    for (p, q) in (0..12).flat_map(|_| [(0, 1), (0, 2), (1, 2)]) {
        if m[p][q].abs() <= 1e-14 * scale {
            continue;
        }
        let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
        let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
        let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
        let sine = tangent * cosine;
        for row in &mut m {
            let (x, y) = (row[p], row[q]);
            (row[p], row[q]) = (cosine * x - sine * y, sine * x + cosine * y);
        }
        for k in 0..3 {
            let (x, y) = (m[p][k], m[q][k]);
            (m[p][k], m[q][k]) = (cosine * x - sine * y, sine * x + cosine * y);
        }
        let (x, y) = (axes[p], axes[q]);
        (axes[p], axes[q]) = (x * cosine - y * sine, x * sine + y * cosine);
    }
    (DVec3::new(m[0][0], m[1][1], m[2][2]), DMat3::from_cols(axes[0], axes[1], axes[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box with corners at 0 and `size`, turned and moved.
    fn block(size: DVec3, rotation: DQuat, offset: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let corner = |at: u32| {
            let bit = |k: u32| f64::from(at >> k & 1);
            rotation * (size * DVec3::new(bit(0), bit(1), bit(2))) + offset
        };
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        ((0..8).map(corner).collect(), triangles)
    }

    #[test]
    fn a_turned_box_far_from_the_origin_has_the_moments_of_the_textbook() {
        let size = DVec3::new(1.0, 2.0, 3.0);
        let rotation = DQuat::from_scaled_axis(DVec3::new(0.3, -0.8, 0.5));
        let offset = DVec3::new(50.0, -20.0, 70.0);
        let (positions, triangles) = block(size, rotation, offset);
        let found = MassProperties::of(&positions, &triangles).unwrap();
        assert!((found.volume - 6.0).abs() < 1e-12);
        assert!(found.center.abs_diff_eq(offset + rotation * (0.5 * size), 1e-12));
        let axes = found.principal_axes();
        let squares = size * size;
        let mut expected =
            [squares.y + squares.z, squares.x + squares.z, squares.x + squares.y].map(|sum| 6.0 * sum / 12.0);
        let mut moments = axes.moments.to_array();
        expected.sort_by(f64::total_cmp);
        moments.sort_by(f64::total_cmp);
        for (found, expected) in moments.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-11, "{found} {expected}");
        }
        let turn = DMat3::from_quat(axes.rotation);
        let again = turn * DMat3::from_diagonal(axes.moments) * turn.transpose();
        assert!(again.abs_diff_eq(found.inertia, 1e-11));
        assert!((axes.rotation.length() - 1.0).abs() < 1e-15);
    }

    /// Brute force: midpoints of a fine grid inside an L of two boxes that share a face.
    #[test]
    fn a_body_that_is_not_convex_agrees_with_a_sum_over_cells() {
        let outline = [[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]];
        let depth = 0.5;
        let mut positions: Vec<DVec3> = outline.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect();
        positions.extend(outline.iter().map(|&[x, y]| DVec3::new(x, y, depth)));
        let caps = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
        let mut triangles: Vec<[u32; 3]> = caps.iter().map(|&[a, b, c]| [a, c, b]).collect();
        triangles.extend(caps.iter().map(|&[a, b, c]| [a + 6, b + 6, c + 6]));
        for at in 0..6u32 {
            let next = (at + 1) % 6;
            triangles.extend([[at, next, next + 6], [at, next + 6, at + 6]]);
        }
        let found = MassProperties::of(&positions, &triangles).unwrap();
        let cell = 0.05;
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        let count = |length: f64| (length / cell).round() as usize;
        for (i, j, k) in
            (0..count(3.0)).flat_map(|i| (0..count(2.0)).flat_map(move |j| (0..count(depth)).map(move |k| (i, j, k))))
        {
            let at = DVec3::new(i as f64 + 0.5, j as f64 + 0.5, k as f64 + 0.5) * cell;
            if at.y > 1.0 && at.x > 1.0 {
                continue;
            }
            let part = cell * cell * cell;
            volume += part;
            first += at * part;
            second += square(at) * part + DMat3::from_diagonal(DVec3::splat(part * cell * cell / 12.0));
        }
        let center = first / volume;
        let central = second - square(center) * volume;
        let trace = central.x_axis.x + central.y_axis.y + central.z_axis.z;
        let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - central;
        assert!((found.volume - volume).abs() < 1e-10);
        assert!(found.center.abs_diff_eq(center, 1e-10));
        assert!(found.inertia.abs_diff_eq(inertia, 1e-10), "{} {inertia}", found.inertia);
    }

    #[test]
    fn what_has_no_volume_has_no_centre() {
        let flat = [DVec3::ZERO, DVec3::X, DVec3::Y];
        assert_eq!(MassProperties::of(&flat, &[[0, 1, 2], [0, 2, 1]]), None);
        assert_eq!(MassProperties::of(&[], &[]), None);
        assert_eq!(MassProperties::of(&flat, &[[0, 1, 9]]), None);
    }
}
