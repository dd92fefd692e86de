//! The fan of a vertex, unfolded from rest shapes: where a vertex would go in each of its triangles when it is pulled
//! toward a neighbour.
//!
//! Every triangle keeps its own rest frame, so the fan is laid out by angles alone: the angles at the vertex add up to
//! the cone angle, which is scaled to a full turn for directions. A triangle takes the direction of the pull relative to
//! the one of its two spokes that is nearer to it. Seams, darts and meshes without panels are one case, and where the
//! angles add up to a full turn (or the fan is open) this is the planar rule. (Cha 2022, 4.2.1 and 4.5; it replaces
//! appendices A and B)
//!
//! Does not: unfold a vertex whose triangles are not one fan; such a vertex is never pulled.

use crate::rest_shape::RestShape;
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{Topology, TriangleId, VertexId};

/// The triangles around a vertex in order, and the directions of its neighbours.
#[derive(Clone, Debug)]
pub struct Fan {
    /// The vertex in the middle.
    pub center: VertexId,
    /// The neighbours in order; one more than triangles when the fan is open.
    pub spokes: Vec<VertexId>,
    /// Triangle `i` lies between spokes `i` and `i + 1`.
    pub triangles: Vec<TriangleId>,
    directions: Vec<f64>,
    is_closed: bool,
}

impl Fan {
    /// Unfolds the fan of a vertex; `None` where its triangles are not one fan.
    pub fn around(topology: &Topology, rest_shapes: &[RestShape], center: VertexId) -> Option<Self> {
        let (spokes, triangles, is_closed) = ordered_ring(topology, center)?;
        let mut directions = vec![0.0];
        for &triangle in &triangles {
            let corner = corner_of(topology, triangle, center);
            let angle = angle_at(&rest_shapes[triangle.index()], corner);
            directions.push(directions[directions.len() - 1] + angle);
        }
        if is_closed {
            let cone = directions.pop()?;
            if cone <= 0.0 {
                return None;
            }
            directions.iter_mut().for_each(|direction| *direction *= TAU / cone);
        }
        Some(Self { center, spokes, triangles, directions, is_closed })
    }

    /// Where the middle vertex goes in triangle `index`, as a step from its corner in the frame of the rest shape, when
    /// it is pulled a share of the way to a neighbour.
    pub fn step_toward(
        &self,
        topology: &Topology,
        rest_shapes: &[RestShape],
        index: usize,
        target: usize,
        share: f64,
    ) -> DVec2 {
        let triangle = self.triangles[index];
        let shape = &rest_shapes[triangle.index()];
        let corner = corner_of(topology, triangle, self.center);
        let next = (index + 1) % self.spokes.len();
        let turn_from = |spoke: usize| self.wrapped(self.directions[target] - self.directions[spoke]);
        let (near, turn) = if turn_from(index).abs() <= turn_from(next).abs() {
            (index, turn_from(index))
        } else {
            (next, turn_from(next))
        };
        let side = |spoke: usize| shape.side(corner, corner_of(topology, triangle, self.spokes[spoke]));
        // Turns count from spoke `index` to the next one; a mirrored rest frame turns the other way.
        let sense = side(index).perp_dot(side(next)).signum();
        let length = share * self.spoke_length(topology, rest_shapes, target);
        DVec2::from_angle(sense * turn).rotate(side(near).normalize_or_zero()) * length
    }

    /// The rest length of a spoke, the mean of the triangles beside it.
    fn spoke_length(&self, topology: &Topology, rest_shapes: &[RestShape], spoke: usize) -> f64 {
        let length = |triangle: TriangleId| {
            let corner = |vertex| corner_of(topology, triangle, vertex);
            rest_shapes[triangle.index()].side(corner(self.center), corner(self.spokes[spoke])).length()
        };
        let after = self.triangles.get(spoke).copied();
        let before = match spoke {
            0 if self.is_closed => self.triangles.last().copied(),
            0 => None,
            _ => self.triangles.get(spoke - 1).copied(),
        };
        let (mut total, mut count) = (0.0, 0.0);
        for triangle in [before, after].into_iter().flatten() {
            total += length(triangle);
            count += 1.0;
        }
        if count > 0.0 { total / count } else { 0.0 }
    }

    fn wrapped(&self, angle: f64) -> f64 {
        if !self.is_closed {
            return angle;
        }
        let turned = (angle + PI).rem_euclid(TAU) - PI;
        if turned.is_finite() { turned } else { 0.0 }
    }
}

/// Which corner of a triangle a vertex is.
pub fn corner_of(topology: &Topology, triangle: TriangleId, vertex: VertexId) -> usize {
    let corners = topology.triangle(triangle);
    corners.iter().position(|&corner| corner == vertex).expect("the vertex is a corner of its triangle")
}

fn angle_at(shape: &RestShape, corner: usize) -> f64 {
    let (first, second) = (shape.side(corner, (corner + 1) % 3), shape.side(corner, (corner + 2) % 3));
    first.perp_dot(second).abs().atan2(first.dot(second))
}

/// Neighbours and triangles around a vertex, in the order of the triangles' corners.
fn ordered_ring(topology: &Topology, center: VertexId) -> Option<(Vec<VertexId>, Vec<TriangleId>, bool)> {
    let triangles = topology.vertex_triangles(center);
    let edges = topology.vertex_edges(center);
    if triangles.is_empty() || edges.iter().any(|&edge| topology.is_non_manifold(edge)) {
        return None;
    }
    let is_closed = edges.len() == triangles.len();
    let first_edge = if is_closed { edges[0] } else { *edges.iter().find(|&&edge| topology.is_boundary(edge))? };
    let mut spokes = vec![topology.other_end(first_edge, center)];
    let mut ordered = Vec::with_capacity(triangles.len());
    let mut edge = first_edge;
    let mut triangle = topology.edge_triangles(edge)[0];
    loop {
        ordered.push(triangle);
        let next_edge =
            *topology.triangle_edges(triangle).iter().find(|&&other| other != edge && edges.contains(&other))?;
        let &beyond = topology.edge_triangles(next_edge).iter().find(|&&other| other != triangle).unwrap_or(&triangle);
        let finished = beyond == triangle || next_edge == first_edge;
        if !(is_closed && next_edge == first_edge) {
            spokes.push(topology.other_end(next_edge, center));
        }
        if finished || ordered.len() > triangles.len() {
            break;
        }
        edge = next_edge;
        triangle = beyond;
    }
    (ordered.len() == triangles.len()).then_some((spokes, ordered, is_closed))
}
