//! Making a function a distance: solvers of `|grad d| = 1` outward from what is known.

pub mod fast_marching;
pub mod fast_sweeping;
pub mod front;
pub mod pde;

/// No sample is nearer to its smallest neighbour than this, in samples: just below the root of a third.
const LEAST_GAIN: f32 = 0.577;

/// The upwind solution of `|grad d| = 1` at a sample, from the smaller neighbour along each axis.
///
/// `sum over axes of max(0, (d - n) / h)^2 = 1`, first order. Neighbours that are not known are infinite.
#[inline]
pub fn godunov(neighbors: [f32; 3], spacing: f32) -> f32 {
    let [mut a, mut b, mut c] = neighbors;
    if a > b {
        (a, b) = (b, a);
    }
    if b > c {
        (b, c) = (c, b);
    }
    if a > b {
        (a, b) = (b, a);
    }
    let one = a + spacing;
    if one <= b {
        return one;
    }
    let gap = b - a;
    let two = 0.5 * (a + b + (2.0 * spacing * spacing - gap * gap).sqrt());
    if two <= c {
        return two;
    }
    // Relative to the smallest, so that large distances lose no digits.
    let (sum, squares) = ((b - a) + (c - a), (b - a) * (b - a) + (c - a) * (c - a));
    let root = (sum * sum - 3.0 * (squares - spacing * spacing)).max(0.0).sqrt();
    a + (sum + root) / 3.0
}

#[cfg(test)]
mod tests {
    use super::godunov;

    #[test]
    fn the_solution_has_a_unit_upwind_gradient() {
        for neighbors in [[0.0, 9.0, 9.0], [0.3, 0.0, 7.0], [0.1, 0.2, 0.15], [5.0, 5.5, 5.2]] {
            let d = godunov(neighbors, 1.0);
            let squared: f32 = neighbors.iter().map(|n| (d - n).max(0.0).powi(2)).sum();
            assert!((squared - 1.0).abs() < 1e-5, "{neighbors:?}: {squared}");
        }
    }

    #[test]
    fn unknown_neighbors_count_for_nothing() {
        assert_eq!(godunov([f32::INFINITY, 2.0, f32::INFINITY], 0.5), 2.5);
        assert_eq!(godunov([f32::INFINITY; 3], 0.5), f32::INFINITY);
    }
}
