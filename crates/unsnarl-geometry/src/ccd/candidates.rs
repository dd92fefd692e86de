//! The broad phase: which vertices and triangles, and which edges, come near each other during a motion.
//!
//! Triangles whose boxes meet are found by one tree; their vertices and edges are compared by boxes of their own. Each
//! vertex and each edge is owned by one of its triangles, so that a pair is met exactly once: at the owners.
//! (Bridson 2003, 2.4; the ownership is ours.)
//!
//! Guarantees: every pair without a common vertex whose boxes, grown by the margin, meet is listed once, in an order that
//! depends on the tree alone.
//! Does not: see vertices that no triangle has.

use crate::aabb::Aabb;
use crate::bvh::Bvh;
use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::math::DVec3;
use crate::topology::Topology;
use rayon::prelude::*;

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
    fn first_count(self) -> usize {
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
        let (start, end) = motion.of(self.vertices(topology));
        match self {
            Self::VertexTriangle(..) => super::vertex_triangle(start, end, separation),
            Self::EdgeEdge(..) => super::edge_edge(start, end, separation),
        }
    }
}

/// Which corners and edges each triangle owns: those of which it is the first triangle.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// Three bits for corners, three for edges.
    owned: Vec<u8>,
}

impl Ownership {
    /// Gives every vertex and edge to the triangle with the smallest index.
    pub fn new(topology: &Topology) -> Self {
        let owned = (0..topology.triangle_count()).map(TriangleId::new).map(|triangle| {
            let corners = topology.triangle(triangle).map(|vertex| topology.vertex_triangles(vertex)[0] == triangle);
            let edges = topology.triangle_edges(triangle).map(|edge| topology.edge_triangles(edge)[0] == triangle);
            let mark = |flags: [bool; 3]| flags.iter().rev().fold(0u8, |bits, &flag| (bits << 1) | u8::from(flag));
            mark(corners) | (mark(edges) << 3)
        });
        Self { owned: owned.collect() }
    }

    fn owns_corner(&self, triangle: TriangleId, corner: usize) -> bool {
        self.owned[triangle.index()] & (1 << corner) != 0
    }

    fn owns_edge(&self, triangle: TriangleId, side: usize) -> bool {
        self.owned[triangle.index()] & (8 << side) != 0
    }

    /// The pairs that two different triangles own between them, without those that share a vertex.
    pub fn for_each_pair(&self, topology: &Topology, a: TriangleId, b: TriangleId, mut visit: impl FnMut(ElementPair)) {
        for (mine, other) in [(a, b), (b, a)] {
            let theirs = topology.triangle(other);
            for (corner, &vertex) in topology.triangle(mine).iter().enumerate() {
                if self.owns_corner(mine, corner) && !theirs.contains(&vertex) {
                    visit(ElementPair::VertexTriangle(vertex, other));
                }
            }
        }
        let mine = topology.triangle_edges(a);
        for &first in (0..3).filter(|&side| self.owns_edge(a, side)).map(|side| &mine[side]) {
            let ends = topology.edge(first);
            for (side, &second) in topology.triangle_edges(b).iter().enumerate() {
                if self.owns_edge(b, side) && !topology.edge(second).iter().any(|vertex| ends.contains(vertex)) {
                    visit(ElementPair::EdgeEdge(first.min(second), first.max(second)));
                }
            }
        }
    }
}

/// The box of every triangle over a motion, as [`Bvh::build`] and [`Bvh::refit`] take it.
pub fn triangle_boxes(topology: &Topology, motion: Motion, margin: f64) -> Vec<Aabb> {
    topology.triangles().par_iter().map(|corners| motion.swept_box(corners, margin)).collect()
}

/// Every pair whose boxes meet, from a tree over [`triangle_boxes`] of the same motion and margin; what `keep` makes of
/// each is gathered in tree order.
pub fn for_candidates<R: Send>(
    tree: &Bvh,
    topology: &Topology,
    ownership: &Ownership,
    motion: Motion,
    margin: f64,
    keep: impl Fn(ElementPair, &mut Vec<R>) + Sync,
) -> Vec<R> {
    tree.self_overlaps(|a, b, out| {
        ownership.for_each_pair(topology, TriangleId::new(a), TriangleId::new(b), |pair| {
            if pair.boxes_meet(topology, motion, margin) {
                keep(pair, out);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip folded over itself, moving: small enough for all pairs to be tried.
    fn folded_strip() -> (Topology, Vec<DVec3>, Vec<DVec3>) {
        let columns = 12;
        let mut start = Vec::new();
        let mut triangles = Vec::new();
        for column in 0..columns {
            let angle = 0.7 * f64::from(column);
            for row in 0..2 {
                start.push(DVec3::new(angle.cos(), angle.sin(), 0.3 * f64::from(row) + 0.01 * angle));
            }
            if column > 0 {
                let at = 2 * column as u32;
                triangles.extend([[at - 2, at - 1, at], [at - 1, at + 1, at]]);
            }
        }
        let end = start.iter().map(|p| *p + 0.2 * DVec3::new(p.y, -p.z, p.x)).collect();
        (Topology::new(start.len(), &triangles).unwrap(), start, end)
    }

    fn all_pairs(topology: &Topology) -> Vec<ElementPair> {
        let mut pairs = Vec::new();
        for vertex in (0..topology.vertex_count()).map(VertexId::new) {
            for triangle in (0..topology.triangle_count()).map(TriangleId::new) {
                if !topology.triangle(triangle).contains(&vertex) {
                    pairs.push(ElementPair::VertexTriangle(vertex, triangle));
                }
            }
        }
        for first in (0..topology.edge_count()).map(EdgeId::new) {
            for second in (first.index() + 1..topology.edge_count()).map(EdgeId::new) {
                if !topology.edge(first).iter().any(|vertex| topology.edge(second).contains(vertex)) {
                    pairs.push(ElementPair::EdgeEdge(first, second));
                }
            }
        }
        pairs
    }

    #[test]
    fn every_pair_of_meeting_boxes_is_listed_once() {
        let (topology, start, end) = folded_strip();
        let motion = Motion { start: &start, end: &end };
        for margin in [0.0, 0.05] {
            let tree = Bvh::build(&triangle_boxes(&topology, motion, margin));
            let ownership = Ownership::new(&topology);
            let mut found = for_candidates(&tree, &topology, &ownership, motion, margin, |pair, out| out.push(pair));
            found.sort_unstable();
            let mut wanted = all_pairs(&topology);
            wanted.retain(|pair| pair.boxes_meet(&topology, motion, margin));
            wanted.sort_unstable();
            assert!(!wanted.is_empty());
            assert_eq!(found, wanted);
        }
    }
}
