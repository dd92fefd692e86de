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

    /// Whether the triangles go all the way around.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The neighbours in the plane, the middle vertex at the origin: by their directions and rest distances.
    pub fn places(&self, topology: &Topology, rest_shapes: &[RestShape]) -> Vec<DVec2> {
        let place = |spoke| DVec2::from_angle(self.directions[spoke]) * self.spoke_length(topology, rest_shapes, spoke);
        (0..self.spokes.len()).map(place).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Three panels of four triangles each that meet in vertex 0, each laid out in a frame of its own, with these spans.
    struct Sewn {
        topology: Topology,
        rest_shapes: Vec<RestShape>,
        spans: [f64; 3],
    }

    const PER_PANEL: usize = 4;
    const COUNT: usize = 3 * PER_PANEL;

    impl Sewn {
        fn new(spans: [f64; 3]) -> Self {
            let triangles: Vec<[u32; 3]> =
                (0..COUNT as u32).map(|at| [0, at + 1, (at + 1) % COUNT as u32 + 1]).collect();
            let rest_shapes = (0..COUNT)
                .map(|at| {
                    let panel = at / PER_PANEL;
                    // Panels lie anywhere and turned by any angle.
                    let (corner, turn) = (DVec2::new(3.0, -1.0) * panel as f64, 0.7 + 1.3 * panel as f64);
                    let spoke = |spoke: usize| {
                        let share = (spoke - panel * PER_PANEL) as f64 / PER_PANEL as f64;
                        corner + DVec2::from_angle(turn + share * spans[panel]) * length(spoke)
                    };
                    RestShape::from_panel([corner, spoke(at), spoke(at + 1)])
                })
                .collect();
            Self { topology: Topology::new(COUNT + 1, &triangles).unwrap(), rest_shapes, spans }
        }

        fn cone(&self) -> f64 {
            self.spans.iter().sum()
        }

        /// Where spoke `at` lies when the fan is laid out without scaling.
        fn direction(&self, at: usize) -> f64 {
            let (panel, within) = (at / PER_PANEL, at % PER_PANEL);
            self.spans[..panel].iter().sum::<f64>() + self.spans[panel] * within as f64 / PER_PANEL as f64
        }

        /// The direction of a pull to `target` in triangle `at`, from the first spoke of its panel.
        fn pulled_direction(&self, at: usize, target: usize) -> f64 {
            let fan = Fan::around(&self.topology, &self.rest_shapes, VertexId(0)).unwrap();
            let index = |spoke: usize| fan.spokes.iter().position(|id| id.index() == spoke % COUNT + 1).unwrap();
            let triangle = fan.triangles.iter().position(|triangle| triangle.index() == at).unwrap();
            let step = fan.step_toward(&self.topology, &self.rest_shapes, triangle, index(target), 0.5);
            let first = self.rest_shapes[at - at % PER_PANEL].sides[0];
            first.perp_dot(step).atan2(first.dot(step))
        }

        /// The same by appendix A: sectors stand in the middle of their scaled sectors, and the target's own panel moves as
        /// it is.
        fn appendix_a(&self, at: usize, target: usize) -> f64 {
            let (panel, own) = (at / PER_PANEL, target / PER_PANEL);
            let scale = TAU / self.cone();
            let first = self.direction(panel * PER_PANEL);
            if panel == own {
                return self.direction(target) - first;
            }
            scale * (self.direction(target) - first) - 0.5 * (scale - 1.0) * self.spans[panel]
        }

        /// The largest difference between the two over all pulls, radians.
        fn deviation(&self) -> f64 {
            let pairs = (0..COUNT).flat_map(|at| (0..COUNT).map(move |target| (at, target)));
            let difference = |(at, target)| {
                let turn = self.pulled_direction(at, target) - self.appendix_a(at, target);
                ((turn + PI).rem_euclid(TAU) - PI).abs()
            };
            pairs.map(difference).fold(0.0, f64::max)
        }
    }

    /// Spokes of different lengths; those on seams have one length on both sides.
    fn length(spoke: usize) -> f64 {
        1.0 + 0.2 * ((spoke % COUNT) as f64).sin()
    }

    fn spans_of(cone_degrees: f64) -> [f64; 3] {
        [0.45, 0.3, 0.25].map(|share| share * cone_degrees.to_radians())
    }

    #[test]
    fn on_flat_panels_sewn_together_a_pull_is_the_planar_rule() {
        let sewn = Sewn::new(spans_of(360.0));
        let place = |spoke: usize| DVec2::from_angle(sewn.direction(spoke % COUNT)) * length(spoke);
        let fan = Fan::around(&sewn.topology, &sewn.rest_shapes, VertexId(0)).unwrap();
        for target in 0..COUNT {
            let to = fan.spokes.iter().position(|id| id.index() == target + 1).unwrap();
            let moved = 0.6 * place(target);
            for (index, triangle) in fan.triangles.iter().enumerate() {
                let shape = sewn.rest_shapes[triangle.index()];
                let step = fan.step_toward(&sewn.topology, &sewn.rest_shapes, index, to, 0.6);
                let corners = [step, shape.sides[0], shape.sides[1]];
                let at = triangle.index();
                let expected = RestShape::from_panel([moved, place(at), place(at + 1)]);
                for (found, wanted) in RestShape::from_panel(corners).lengths().iter().zip(expected.lengths()) {
                    assert!((found - wanted).abs() < 1e-12, "triangle {at} to {target}: {found} and {wanted}");
                }
            }
        }
        assert!(sewn.deviation() < 1e-12, "and so is appendix A");
    }

    /// On a cone, appendix A moves each panel as a whole and this fan each triangle by its own place in it: they differ by
    /// the share of the missing (or surplus) angle that lies between, at most that of the widest panel. The figures are
    /// those of docs/methods.md.
    #[test]
    fn on_curved_seams_of_three_panels_the_pull_is_near_appendix_a() {
        for (cone, degrees) in [(300.0, 20.25), (330.0, 10.125), (345.0, 5.0625), (375.0, 5.0625), (390.0, 10.125)] {
            let sewn = Sewn::new(spans_of(cone));
            let deviation = sewn.deviation();
            let scale = TAU / sewn.cone();
            assert!(deviation <= (scale - 1.0).abs() * sewn.spans[0] + 1e-9, "{cone}: {}", deviation.to_degrees());
            assert!((deviation.to_degrees() - degrees).abs() < 1e-6, "{cone}: {} degrees", deviation.to_degrees());
        }
    }
}
