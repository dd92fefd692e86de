//! Four vertices that meet: one type for a vertex against a triangle and for an edge against an edge.
//!
//! The weights sum to zero, so that the weighted sum of positions is the gap between the two points that meet, and the
//! weighted sum of velocities is the speed at which the gap changes. (Bridson 2003, 2.5)
//!
//! Vertex-triangle: the vertex first with weight 1, then the corners with minus their barycentric coordinates.
//! Edge-edge: the first edge with positive weights, then the second with negative ones.

use crate::ids::VertexId;
use crate::math::DVec3;

/// Four vertices and the weights that turn their positions into a gap. The weights sum to zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// The vertices, all different.
    pub vertices: [VertexId; 4],
    /// One weight per vertex; the positive ones sum to 1, the negative ones to -1.
    pub weights: [f64; 4],
}

impl Stencil {
    /// A vertex against the point of a triangle with these barycentric coordinates.
    pub fn vertex_triangle(vertex: VertexId, triangle: [VertexId; 3], barycentric: [f64; 3]) -> Self {
        let [a, b, c] = triangle;
        let [u, v, w] = barycentric;
        Self { vertices: [vertex, a, b, c], weights: [1.0, -u, -v, -w] }
    }

    /// The point at `along[0]` of the first edge against the point at `along[1]` of the second.
    pub fn edge_edge(first: [VertexId; 2], second: [VertexId; 2], along: [f64; 2]) -> Self {
        let [s, t] = along;
        Self { vertices: [first[0], first[1], second[0], second[1]], weights: [1.0 - s, s, t - 1.0, -t] }
    }

    /// The weighted sum of a quantity over the four vertices: the gap of positions, the approach of velocities.
    #[inline]
    pub fn apply(&self, values: &[DVec3]) -> DVec3 {
        self.sum(self.vertices.map(|vertex| values[vertex.index()]))
    }

    /// The weighted sum of the values of its four vertices.
    #[inline]
    pub fn sum(&self, [a, b, c, d]: [DVec3; 4]) -> DVec3 {
        let [p, q, r, s] = self.weights;
        (a * p + b * q) + (c * r + d * s)
    }

    /// `sum(w_i^2 / m_i)`: how far one unit of impulse along the stencil changes the relative velocity.
    pub fn compliance(&self, inverse_mass: &[f64]) -> f64 {
        let terms: [f64; 4] =
            std::array::from_fn(|k| self.weights[k] * self.weights[k] * inverse_mass[self.vertices[k].index()]);
        (terms[0] + terms[1]) + (terms[2] + terms[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_of_a_stencil_is_the_difference_of_its_two_points() {
        let positions = [DVec3::Z, DVec3::ZERO, DVec3::X, DVec3::Y];
        let ids = [0, 1, 2, 3].map(VertexId);
        let face = Stencil::vertex_triangle(ids[0], [ids[1], ids[2], ids[3]], [0.5, 0.25, 0.25]);
        assert_eq!(face.apply(&positions), DVec3::new(-0.25, -0.25, 1.0));
        let edge = Stencil::edge_edge([ids[0], ids[1]], [ids[2], ids[3]], [0.5, 0.5]);
        assert_eq!(edge.apply(&positions), DVec3::new(-0.5, -0.5, 0.5));
    }

    #[test]
    fn equal_masses_give_the_printed_denominator() {
        let edge = Stencil::edge_edge([VertexId(0), VertexId(1)], [VertexId(2), VertexId(3)], [0.25, 0.5]);
        let mass: f64 = 0.5;
        let printed = (0.75f64.powi(2) + 0.25f64.powi(2) + 0.5) / mass;
        assert_eq!(edge.compliance(&[1.0 / mass; 4]), printed);
        assert_eq!(edge.compliance(&[0.0; 4]), 0.0);
    }
}
