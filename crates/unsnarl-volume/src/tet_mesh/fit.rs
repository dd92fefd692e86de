//! How well the boundary of a mesh lies on the surface that it was made for.

use crate::field::Field;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// A boundary node farther from the surface than this share of the mean of its boundary edges lags.
pub const LAGGING: f64 = 0.01;
/// A boundary triangle farther from the surface somewhere than this share of its mean edge is far.
pub const FAR: f64 = 0.5;

/// How well a boundary meets a surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fit {
    /// The largest distance of a boundary node, metres.
    pub largest_distance: f64,
    /// The largest distance of a corner, the middle of a side or the centre of a boundary triangle, in mean edges of
    /// the triangle.
    pub farthest_in_edges: f64,
    /// Nodes of the boundary.
    pub boundary_nodes: usize,
    /// The nodes that lag, ascending.
    pub lagging: Vec<u32>,
    /// Where that point is.
    pub farthest_at: DVec3,
    /// The triangles that are far, in their order, and on which side of the surface their farthest points lie.
    pub far: Vec<Far>,
}

/// A boundary triangle that is somewhere far from the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Far {
    /// Its nodes.
    pub triangle: [u32; 3],
    /// Where its farthest point lies.
    pub lies: Lies,
}

/// A side of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    /// Within the body: the triangle cuts off a thin part of it.
    Inside,
    /// Outside: the triangle bridges a gap.
    Outside,
}

impl Fit {
    /// Measures a boundary against a surface.
    pub fn of(field: &dyn Field, positions: &[DVec3], boundary: &[[u32; 3]]) -> Self {
        let mut edges = vec![(0.0, 0_u32); positions.len()];
        for triangle in boundary {
            for at in 0..3 {
                let [from, to] = [triangle[at] as usize, triangle[(at + 1) % 3] as usize];
                edges[from] = (edges[from].0 + positions[from].distance(positions[to]), edges[from].1 + 1);
            }
        }
        let nodes: Vec<u32> = (0..positions.len() as u32).filter(|&node| edges[node as usize].1 > 0).collect();
        let distance = |&node: &u32| field.value(positions[node as usize]).abs();
        let distances: Vec<f64> = nodes.par_iter().with_min_len(256).map(distance).collect();
        let lags = |(node, distance): (&u32, &f64)| {
            let (length, count) = edges[*node as usize];
            (*distance > LAGGING * length / f64::from(count)).then_some(*node)
        };
        let within = |triangle: &[u32; 3]| farthest(field, triangle.map(|node| positions[node as usize]));
        let of_triangles: Vec<(f64, DVec3)> = boundary.par_iter().with_min_len(256).map(within).collect();
        let is_far = |(&triangle, &(share, _)): (&[u32; 3], &(f64, DVec3))| {
            let lies = if share < 0.0 { Lies::Inside } else { Lies::Outside };
            (share.abs() >= FAR).then_some(Far { triangle, lies })
        };
        let farther = |a: (f64, DVec3), b: (f64, DVec3)| if b.0.abs() > a.0.abs() { b } else { a };
        let (farthest_in_edges, farthest_at) = of_triangles.iter().copied().fold((0.0, DVec3::ZERO), farther);
        Self {
            far: boundary.iter().zip(&of_triangles).filter_map(is_far).collect(),
            largest_distance: distances.iter().copied().fold(0.0, f64::max),
            farthest_in_edges: farthest_in_edges.abs(),
            farthest_at,
            boundary_nodes: nodes.len(),
            lagging: nodes.iter().zip(&distances).filter_map(lags).collect(),
        }
    }
}

/// The largest distance of seven points of a triangle, in its mean edges and with its sign, and the point.
fn farthest(field: &dyn Field, [a, b, c]: [DVec3; 3]) -> (f64, DVec3) {
    let edge = (a.distance(b) + b.distance(c) + c.distance(a)) / 3.0;
    let points = [a, b, c, 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a), (a + b + c) / 3.0];
    let mut last = (a, field.value(a));
    let mut most = last;
    for point in points.into_iter().skip(1) {
        last = (point, field.value_within(point, last.1.abs() + point.distance(last.0)));
        if last.1.abs() > most.1.abs() {
            most = last;
        }
    }
    if edge > 0.0 { (most.1 / edge, most.0) } else { (0.0, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below the plane z = 0.
    struct Below;

    impl Field for Below {
        fn value(&self, point: DVec3) -> f64 {
            point.z
        }

        fn gradient(&self, _: DVec3) -> DVec3 {
            DVec3::Z
        }
    }

    #[test]
    fn nodes_off_the_surface_by_more_than_a_hundredth_of_their_edges_lag() {
        let third = 0.75_f64.sqrt();
        let positions =
            [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.009), DVec3::new(0.5, third, -0.012), DVec3::new(9.0, 9.0, 9.0)];
        let fit = Fit::of(&Below, &positions, &[[0, 1, 2]]);
        assert_eq!((fit.boundary_nodes, fit.lagging), (3, vec![2]));
        assert!((fit.largest_distance - 0.012).abs() < 1e-15);
        assert!((fit.farthest_in_edges - 0.012).abs() < 1e-5);
    }

    #[test]
    fn a_triangle_over_a_hole_wider_than_half_its_edges_is_far() {
        /// Below the plane z = 0, with a round hole as deep as it is wide.
        struct Hole;
        impl Field for Hole {
            fn value(&self, point: DVec3) -> f64 {
                let from_axis = point.truncate().length();
                if from_axis < 1.0 { (point.z + 2.0).min(1.0 - from_axis) } else { point.z }
            }
            fn gradient(&self, _: DVec3) -> DVec3 {
                DVec3::Z
            }
        }
        let at = |turn: f64| DVec3::new(turn.cos(), turn.sin(), 0.0);
        let third = std::f64::consts::TAU / 3.0;
        let corners = |size: f64| [0.0, 1.0, 2.0].map(|step| size * at(step * third));
        // Edges of 1.73 and 4.3 beside a hole of radius 1.
        let far = Fit::of(&Hole, &corners(1.0), &[[0, 1, 2]]).far;
        assert_eq!(far, [Far { triangle: [0, 1, 2], lies: Lies::Outside }]);
        assert!(Fit::of(&Hole, &corners(2.5), &[[0, 1, 2]]).far.is_empty());
    }

    #[test]
    fn the_middle_of_a_triangle_counts_where_its_corners_lie_on_the_surface() {
        struct Ball;
        impl Field for Ball {
            fn value(&self, point: DVec3) -> f64 {
                point.length() - 1.0
            }
            fn gradient(&self, point: DVec3) -> DVec3 {
                point.normalize_or_zero()
            }
        }
        let fit = Fit::of(&Ball, &[DVec3::X, DVec3::Y, DVec3::Z], &[[0, 1, 2]]);
        assert!(fit.lagging.is_empty() && fit.far.is_empty());
        assert!((fit.farthest_in_edges - (1.0 - 3.0_f64.sqrt().recip()) / 2.0_f64.sqrt()).abs() < 1e-12);
        // Through the centre, with edges of the root of 3.
        let corners = [0.0, 1.0, 2.0].map(|step| (step * std::f64::consts::TAU / 3.0).sin_cos());
        let through = Fit::of(&Ball, &corners.map(|(y, x)| DVec3::new(x, y, 0.0)), &[[0, 1, 2]]);
        assert_eq!(through.far, [Far { triangle: [0, 1, 2], lies: Lies::Inside }]);
        assert!(
            through.farthest_at.length() < 1e-12 && (through.farthest_in_edges - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12
        );
    }
}
