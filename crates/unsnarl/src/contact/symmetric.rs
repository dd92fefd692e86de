//! Symmetric 3x3 matrices: eigenvalues by Jacobi rotations, and inverses that leave weak directions out.

use crate::geometry::{DMat3, DVec3};

/// Eigenvalues and eigenvectors, in no particular order.
pub(super) struct Eigen {
    values: [f64; 3],
    /// Length 1, square to each other.
    vectors: [DVec3; 3],
}

/// Sweeps of three rotations; each squares the error, so fewer do.
const SWEEPS: usize = 8;

impl Eigen {
    /// Of a symmetric matrix.
    pub(super) fn of(matrix: DMat3) -> Self {
        let mut m = [matrix.x_axis.to_array(), matrix.y_axis.to_array(), matrix.z_axis.to_array()];
        let mut vectors = [DVec3::X, DVec3::Y, DVec3::Z];
        for (p, q) in (0..SWEEPS).flat_map(|_| [(0, 1), (0, 2), (1, 2)]) {
            if m[p][q] == 0.0 {
                continue;
            }
            let theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
            let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
            let sine = tangent * cosine;
            for k in 0..3 {
                let (x, y) = (m[k][p], m[k][q]);
                (m[k][p], m[k][q]) = (cosine * x - sine * y, sine * x + cosine * y);
            }
            for k in 0..3 {
                let (x, y) = (m[p][k], m[q][k]);
                (m[p][k], m[q][k]) = (cosine * x - sine * y, sine * x + cosine * y);
            }
            let (x, y) = (vectors[p], vectors[q]);
            (vectors[p], vectors[q]) = (x * cosine - y * sine, x * sine + y * cosine);
        }
        Self { values: [m[0][0], m[1][1], m[2][2]], vectors }
    }

    /// The inverse on the directions whose eigenvalue exceeds `cutoff` times the largest, and the projection on them.
    pub(super) fn pseudo_inverse(&self, cutoff: f64) -> (DMat3, DMat3) {
        let largest = self.values.iter().fold(0.0f64, |most, &value| most.max(value));
        let (mut inverse, mut projection) = (DMat3::ZERO, DMat3::ZERO);
        for (&value, &vector) in self.values.iter().zip(&self.vectors) {
            if value > cutoff * largest {
                let square = DMat3::from_cols(vector * vector.x, vector * vector.y, vector * vector.z);
                inverse += square * value.recip();
                projection += square;
            }
        }
        (inverse, projection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes_its_matrix_and_leaves_null_directions_out() {
        let full = DMat3::from_cols(DVec3::new(4.0, 1.0, 0.5), DVec3::new(1.0, 3.0, -0.2), DVec3::new(0.5, -0.2, 2.0));
        let (inverse, projection) = Eigen::of(full).pseudo_inverse(1e-12);
        assert!((full * inverse).abs_diff_eq(DMat3::IDENTITY, 1e-14));
        assert!(projection.abs_diff_eq(DMat3::IDENTITY, 1e-14));
        let flat = DMat3::from_cols(DVec3::new(2.0, 2.0, 0.0), DVec3::new(2.0, 2.0, 0.0), DVec3::ZERO);
        let (inverse, projection) = Eigen::of(flat).pseudo_inverse(1e-12);
        assert!((flat * inverse).abs_diff_eq(projection, 1e-14));
        assert!((projection * DVec3::Z).length() < 1e-14);
    }
}
