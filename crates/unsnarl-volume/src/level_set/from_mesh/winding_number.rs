//! The generalised winding number of a point: the share of the sphere of directions that the mesh covers, signed.

use unsnarl_geometry::{DVec3, TriMesh};

/// The generalised winding number: 1 inside a closed outward-facing mesh, 0 outside, fractions near holes, more than 1
/// in overlaps. A plain sum over all triangles: for checks and for few points.
pub fn winding_number(mesh: &TriMesh, point: DVec3) -> f64 {
    let solid_angle = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize] - point);
        let [la, lb, lc] = [a.length(), b.length(), c.length()];
        let triple = a.dot(b.cross(c));
        let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        2.0 * triple.atan2(denominator)
    };
    mesh.triangles.iter().map(solid_angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_covers_all_directions_from_within_and_none_from_outside() {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
        let mesh = TriMesh { positions, triangles };
        assert!((winding_number(&mesh, DVec3::splat(0.1)) - 1.0).abs() < 1e-12);
        assert!(winding_number(&mesh, DVec3::splat(0.5)).abs() < 1e-12);
    }
}
