//! Motions, and pairs of elements that may meet during them.

use crate::aabb::Aabb;
use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::math::DVec3;
use crate::topology::Topology;

/// Positions at the start and at the end of a step; between them every vertex moves along a straight line.
#[derive(Clone, Copy, Debug)]
pub struct Motion<'a> {
    /// Positions at time 0.
    pub start: &'a [DVec3],
    /// Positions at time 1.
    pub end: &'a [DVec3],
}

impl<'a> Motion<'a> {
    /// Points that stay where they are.
    pub fn at_rest(positions: &'a [DVec3]) -> Self {
        Self { start: positions, end: positions }
    }

    /// The box swept by some vertices, grown by a margin and by what growing it rounds away.
    pub fn swept_box(&self, vertices: &[VertexId], margin: f64) -> Aabb {
        let mut swept = Aabb::EMPTY;
        for vertex in vertices {
            swept = swept.with_point(self.start[vertex.index()]).with_point(self.end[vertex.index()]);
        }
        if margin == 0.0 {
            return swept;
        }
        let rounding = 4.0 * f64::EPSILON * swept.min.abs().max(swept.max.abs()).max_element();
        swept.inflated(margin + rounding)
    }

    /// The positions of four vertices at the start and at the end.
    pub fn of(&self, vertices: [VertexId; 4]) -> ([DVec3; 4], [DVec3; 4]) {
        (vertices.map(|vertex| self.start[vertex.index()]), vertices.map(|vertex| self.end[vertex.index()]))
    }
}

/// Two elements that may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElementPair {
    /// A vertex and a triangle that does not have it.
    VertexTriangle(VertexId, TriangleId),
    /// Two edges without a common vertex, the smaller first.
    EdgeEdge(EdgeId, EdgeId),
}

impl ElementPair {
    /// The four vertices: the vertex and the corners, or the ends of the first edge and of the second.
    pub fn vertices(self, topology: &Topology) -> [VertexId; 4] {
        match self {
            Self::VertexTriangle(vertex, triangle) => {
                let [a, b, c] = topology.triangle(triangle);
                [vertex, a, b, c]
            }
            Self::EdgeEdge(first, second) => {
                let ([a, b], [c, d]) = (topology.edge(first), topology.edge(second));
                [a, b, c, d]
            }
        }
    }

    /// How many of the four vertices belong to the first element.
    pub fn first_count(self) -> usize {
        match self {
            Self::VertexTriangle(..) => 1,
            Self::EdgeEdge(..) => 2,
        }
    }

    /// Whether the boxes swept by the two elements, each grown by a margin, meet.
    pub fn boxes_meet(self, topology: &Topology, motion: Motion, margin: f64) -> bool {
        let vertices = self.vertices(topology);
        let (first, second) = vertices.split_at(self.first_count());
        motion.swept_box(first, margin).overlaps(&motion.swept_box(second, margin))
    }

    /// The first time at which the elements may be within `separation`; see [`super::vertex_triangle`].
    pub fn first_contact(self, topology: &Topology, motion: Motion, separation: f64) -> Option<f64> {
        self.first_contact_hinted(topology, motion, separation, &mut super::no_hint())
    }

    /// The same. `hint` is a direction that is tried first as a proof that the elements stay apart, and becomes the one that
    /// was. Any direction may be offered: a poor one proves nothing.
    pub fn first_contact_hinted(
        self,
        topology: &Topology,
        motion: Motion,
        separation: f64,
        hint: &mut DVec3,
    ) -> Option<f64> {
        let (start, end) = motion.of(self.vertices(topology));
        match self {
            Self::VertexTriangle(..) => super::vertex_triangle_hinted(start, end, separation, hint),
            Self::EdgeEdge(..) => super::edge_edge_hinted(start, end, separation, hint),
        }
    }
}
