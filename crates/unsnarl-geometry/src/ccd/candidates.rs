//! The broad phase: which vertices and triangles, and which edges, come near each other during a motion.
//!
//! Triangles whose boxes meet are found by one tree; their vertices and edges are compared by boxes of their own. Each
//! vertex and each edge is owned by one of its triangles, so that a pair is met exactly once: at the owners.
//! (Bridson 2003, 2.4; the ownership is ours.)
//!
//! Guarantees: every pair without a common vertex whose boxes, grown by the margin, meet is listed once, in an order that
//! depends on the tree alone. Boxes are rounded outwards to single precision, so a few pairs more are listed.
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
    owned: Vec<Owned>,
}

/// Up to three corners and up to three edges, the owned ones first.
#[derive(Clone, Copy, Debug)]
struct Owned {
    corners: [VertexId; 3],
    edges: [EdgeId; 3],
    corner_count: u8,
    edge_count: u8,
}

impl Ownership {
    /// Gives every vertex and edge to the triangle with the smallest index.
    pub fn new(topology: &Topology) -> Self {
        let owned = (0..topology.triangle_count()).map(TriangleId::new).map(|triangle| {
            let (mut corners, mut edges) = (topology.triangle(triangle), topology.triangle_edges(triangle));
            let corner_count = first_to_front(&mut corners, |&vertex| topology.vertex_triangles(vertex)[0] == triangle);
            let edge_count = first_to_front(&mut edges, |&edge| topology.edge_triangles(edge)[0] == triangle);
            Owned { corners, edges, corner_count, edge_count }
        });
        Self { owned: owned.collect() }
    }

    fn corners(&self, triangle: TriangleId) -> &[VertexId] {
        let owned = &self.owned[triangle.index()];
        &owned.corners[..usize::from(owned.corner_count)]
    }

    fn edges(&self, triangle: TriangleId) -> &[EdgeId] {
        let owned = &self.owned[triangle.index()];
        &owned.edges[..usize::from(owned.edge_count)]
    }
}

/// Moves what is owned to the front, in order, and counts it.
fn first_to_front<T>(items: &mut [T; 3], is_owned: impl Fn(&T) -> bool) -> u8 {
    let mut count = 0;
    for at in 0..3 {
        if is_owned(&items[at]) {
            items.swap(count, at);
            count += 1;
        }
    }
    count as u8
}

/// A box in single precision, rounded outwards: half the memory, and four coordinates are compared at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct FlatBox {
    min: [f32; 4],
    max: [f32; 4],
}

impl FlatBox {
    fn around(bounds: &Aabb) -> Self {
        let below = |x: f64| if f64::from(x as f32) > x { (x as f32).next_down() } else { x as f32 };
        let above = |x: f64| if f64::from(x as f32) < x { (x as f32).next_up() } else { x as f32 };
        let (low, high) = (bounds.min, bounds.max);
        Self {
            min: [below(low.x), below(low.y), below(low.z), 0.0],
            max: [above(high.x), above(high.y), above(high.z), 0.0],
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let apart = |k: usize| (self.min[k] > other.max[k]) | (other.min[k] > self.max[k]);
        !(apart(0) | apart(1) | apart(2) | apart(3))
    }
}

/// The boxes swept by all elements, each grown by a margin.
#[derive(Clone, Debug)]
pub struct SweptBoxes {
    vertices: Vec<FlatBox>,
    edges: Vec<FlatBox>,
    flat_triangles: Vec<FlatBox>,
    triangles: Vec<Aabb>,
}

impl SweptBoxes {
    /// Computes them all.
    pub fn new(topology: &Topology, motion: Motion, margin: f64) -> Self {
        let swept = |vertices: &[VertexId]| motion.swept_box(vertices, margin);
        let triangles: Vec<Aabb> = topology.triangles().par_iter().map(|corners| swept(corners)).collect();
        Self {
            vertices: (0..motion.start.len())
                .into_par_iter()
                .map(|vertex| FlatBox::around(&swept(&[VertexId::new(vertex)])))
                .collect(),
            edges: topology.edges().par_iter().map(|ends| FlatBox::around(&swept(ends))).collect(),
            flat_triangles: triangles.par_iter().map(FlatBox::around).collect(),
            triangles,
        }
    }

    /// The box of every triangle, as [`Bvh::build`] and [`Bvh::refit`] take it.
    pub fn triangles(&self) -> &[Aabb] {
        &self.triangles
    }

    /// The pairs that two different triangles own between them and whose boxes meet, without those that share a vertex.
    pub fn for_each_pair(
        &self,
        topology: &Topology,
        ownership: &Ownership,
        a: TriangleId,
        b: TriangleId,
        mut visit: impl FnMut(ElementPair),
    ) {
        let (box_a, box_b) = (self.flat_triangles[a.index()], self.flat_triangles[b.index()]);
        for (mine, other, bounds) in [(a, b, &box_b), (b, a, &box_a)] {
            for &vertex in ownership.corners(mine) {
                if self.vertices[vertex.index()].overlaps(bounds) && !topology.triangle(other).contains(&vertex) {
                    visit(ElementPair::VertexTriangle(vertex, other));
                }
            }
        }
        let edges_b = ownership.edges(b);
        if edges_b.is_empty() {
            return;
        }
        for &first in ownership.edges(a) {
            let bounds = self.edges[first.index()];
            if !bounds.overlaps(&box_b) {
                continue;
            }
            for &second in edges_b {
                if self.edges[second.index()].overlaps(&bounds) {
                    let ends = topology.edge(first);
                    if !topology.edge(second).iter().any(|end| ends.contains(end)) {
                        visit(ElementPair::EdgeEdge(first.min(second), first.max(second)));
                    }
                }
            }
        }
    }
}

/// Every pair whose boxes meet, from a tree fitted to the triangles' boxes; what `keep` makes of each is gathered in tree
/// order.
pub fn for_candidates<R: Send>(
    tree: &Bvh,
    topology: &Topology,
    ownership: &Ownership,
    boxes: &SweptBoxes,
    keep: impl Fn(ElementPair, &mut Vec<R>) + Sync,
) -> Vec<R> {
    tree.self_overlaps(|a, b, out| {
        let (a, b) = (TriangleId::new(a), TriangleId::new(b));
        boxes.for_each_pair(topology, ownership, a, b, |pair| keep(pair, out));
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
            let boxes = SweptBoxes::new(&topology, motion, margin);
            let tree = Bvh::build(boxes.triangles());
            let ownership = Ownership::new(&topology);
            let mut found = for_candidates(&tree, &topology, &ownership, &boxes, |pair, out| out.push(pair));
            found.sort_unstable();
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
            let all = all_pairs(&topology);
            let wanted: Vec<_> = all.iter().filter(|pair| pair.boxes_meet(&topology, motion, margin)).collect();
            assert!(!wanted.is_empty());
            assert!(wanted.iter().all(|pair| found.binary_search(pair).is_ok()));
            let nearly = |pair: &ElementPair| pair.boxes_meet(&topology, motion, margin + 1e-6);
            assert!(found.iter().all(nearly));
        }
    }
}
