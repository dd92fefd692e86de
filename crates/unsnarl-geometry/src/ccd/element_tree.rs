//! One tree for all elements of a mesh: it finds the vertices and triangles, and the edges, whose swept boxes meet.
//!
//! The tree is over triangles. Each leaf of eight also has the vertices and edges that its triangles own, in packs whose
//! boxes are tested together (`packs.rs`). Each vertex and each edge is owned by one triangle, so that a pair is met
//! exactly once: at the leaves of its owners. (Bridson 2003, 2.4; the packs are ours.)
//!
//! Guarantees: every pair without a common vertex whose boxes, grown by the margin, meet is listed once, in an order that
//! depends on the tree alone. Boxes are rounded outwards to single precision, so a few pairs more are listed.
//! Does not: see vertices that no triangle has.

use super::candidates::{ElementPair, Motion};
use super::packs::{self, EdgePack, Labelled, Packs, VertexPack, edge_lanes_of};
use crate::bvh::overlap::{LeafVisitor, joined};
use crate::bvh::small_box::{Leaf, RoundedPoint, SmallBox, lanes_of};
use crate::bvh::{Bvh, Groups, near_origin};
use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::topology::Topology;
use fearless_simd::prelude::*;

/// A tree over the triangles of a mesh that also holds its vertices and edges, fitted to a motion.
#[derive(Clone, Debug)]
pub struct ElementTree {
    triangles: Bvh,
    vertices: Packs<VertexPack>,
    edges: Packs<EdgePack>,
}

impl ElementTree {
    /// Builds a tree for the boxes that all elements sweep, grown by a margin.
    pub fn build(topology: &Topology, ownership: &Ownership, motion: Motion, margin: f64) -> Self {
        let origin = near_origin(motion.start.first().copied());
        let points = RoundedPoint::all_swept(motion.start, motion.end, margin, origin);
        let corners = |item: usize| topology.triangles()[item].map(|vertex| vertex.index() as u32);
        let triangles = Bvh::build_on_rounded(&points, origin, topology.triangle_count(), corners);
        let leaves = triangles.leaves().0;
        let mut vertices: Packs<VertexPack> =
            Packs::of(leaves, |item, owned| ownership.push_vertices(topology, item, owned));
        let mut edges: Packs<EdgePack> = Packs::of(leaves, |item, owned| ownership.push_edges(topology, item, owned));
        rayon::join(|| vertices.refit(&points), || edges.refit(&points));
        Self { triangles, vertices, edges }
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.item_count()
    }

    /// Fits it to another motion or margin of the same mesh, in linear time.
    pub fn refit(&mut self, motion: Motion, margin: f64) {
        let origin = near_origin(motion.start.first().copied());
        let points = RoundedPoint::all_swept(motion.start, motion.end, margin, origin);
        self.triangles.refit_on_rounded(&points, origin);
        rayon::join(|| self.vertices.refit(&points), || self.edges.refit(&points));
    }

    /// Every pair whose boxes meet; what `keep` makes of each is gathered in tree order.
    pub fn candidates<R: Send>(&self, keep: impl Fn(ElementPair, &mut Vec<R>) + Sync) -> Vec<R> {
        joined(self.candidate_lists(&Groups::default(), keep))
    }

    /// As [`ElementTree::candidates`], but only pairs that have an active triangle: a pair is listed if the triangle, or
    /// all triangles of an edge or a vertex of it, are active. A few others may be listed too.
    pub fn candidates_of<R: Send>(
        &self,
        is_active: impl Fn(TriangleId) -> bool,
        keep: impl Fn(ElementPair, &mut Vec<R>) + Sync,
    ) -> Vec<R> {
        let at_rest = 0;
        let group = |triangle: usize| if is_active(TriangleId::new(triangle)) { Groups::NONE } else { at_rest };
        joined(self.candidate_lists(&self.triangles.groups(group), keep))
    }

    /// As [`ElementTree::candidates`], in lists to be read one after the other, passing over subtrees of one group.
    pub fn candidate_lists<R: Send>(
        &self,
        groups: &Groups,
        keep: impl Fn(ElementPair, &mut Vec<R>) + Sync,
    ) -> Vec<Vec<R>> {
        let visitor = || Pairs { tree: self, found: Found { keep: &keep, out: Vec::new() } };
        self.triangles.traverse(groups, visitor, |pairs| pairs.found.out)
    }
}

/// Which corners and sides each triangle of a mesh owns: every vertex and edge of a triangle belongs to one.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// A bit for each corner, then one for each side.
    bits: Vec<u8>,
}

impl Ownership {
    /// Shares elements out so that leaves of a tree own about as many.
    pub fn new(topology: &Topology) -> Self {
        let owner = |triangles: &[TriangleId], element: usize| triangles[element % triangles.len()];
        let bits = (0..topology.triangle_count()).map(TriangleId::new).map(|triangle| {
            let corners = topology.triangle(triangle);
            let corners = corners.map(|vertex| owner(topology.vertex_triangles(vertex), vertex.index()) == triangle);
            let sides = topology.triangle_edges(triangle);
            let sides = sides.map(|edge| owner(topology.edge_triangles(edge), edge.index()) == triangle);
            let owned = corners.into_iter().chain(sides);
            owned.enumerate().fold(0, |bits, (at, is_owned)| bits | u8::from(is_owned) << at)
        });
        Self { bits: bits.collect() }
    }

    /// The vertices that a triangle owns.
    #[inline]
    pub(super) fn push_vertices(&self, topology: &Topology, triangle: usize, owned: &mut Vec<Labelled>) {
        let bits = self.bits[triangle];
        for (corner, vertex) in topology.triangles()[triangle].into_iter().enumerate() {
            if bits >> corner & 1 == 1 {
                owned.push((vertex.0, [vertex.0; 3]));
            }
        }
    }

    /// The edges that a triangle owns, with their ends.
    #[inline]
    pub(super) fn push_edges(&self, topology: &Topology, triangle: usize, owned: &mut Vec<Labelled>) {
        let bits = self.bits[triangle] >> 3;
        for (side, edge) in topology.triangle_edges(TriangleId::new(triangle)).into_iter().enumerate() {
            if bits >> side & 1 == 1 {
                let [a, b] = topology.edge(edge);
                owned.push((edge.0, [a.0, b.0, b.0]));
            }
        }
    }
}

/// Shows packs and leaves to each other, with packs that the tree stores.
struct Pairs<'a, R, F> {
    tree: &'a ElementTree,
    found: Found<'a, R, F>,
}

impl<R, F: Fn(ElementPair, &mut Vec<R>)> Pairs<'_, R, F> {
    #[inline(always)]
    fn vertices_at<S: Simd>(&mut self, simd: S, left: usize, right: usize) {
        let (leaves, boxes) = self.tree.triangles.leaves();
        for pack in self.tree.vertices.of_leaf(left) {
            self.found.vertices(simd, self.tree.vertices.get(pack).0, (&leaves[right], &boxes[right]));
        }
    }
}

impl<R, F: Fn(ElementPair, &mut Vec<R>)> LeafVisitor for Pairs<'_, R, F> {
    #[inline(always)]
    fn within<S: Simd>(&mut self, simd: S, leaf: usize) {
        self.vertices_at(simd, leaf, leaf);
        let edges = &self.tree.edges;
        let mut packs = edges.of_leaf(leaf);
        while let Some(pack) = packs.next() {
            let ours = edges.get(pack).0;
            self.found.edges_within(simd, ours);
            for other in packs.clone() {
                self.found.edges_between(simd, ours, edges.get(other));
            }
        }
    }

    #[inline(always)]
    fn between<S: Simd>(&mut self, simd: S, left: usize, right: usize) {
        self.vertices_at(simd, left, right);
        self.vertices_at(simd, right, left);
        let edges = &self.tree.edges;
        for pack in edges.of_leaf(left) {
            for other in edges.of_leaf(right) {
                self.found.edges_between(simd, edges.get(pack).0, edges.get(other));
            }
        }
    }
}

/// Gathers what the caller makes of pairs.
pub(super) struct Found<'a, R, F> {
    pub keep: &'a F,
    pub out: Vec<R>,
}

impl<R, F: Fn(ElementPair, &mut Vec<R>)> Found<'_, R, F> {
    #[inline(always)]
    fn keep_edges(&mut self, a: u32, b: u32) {
        let (first, second) = (EdgeId::new(a.min(b) as usize), EdgeId::new(a.max(b) as usize));
        (self.keep)(ElementPair::EdgeEdge(first, second), &mut self.out);
    }

    /// The edges of one pack against those of another, which is given with the box around it.
    #[inline(always)]
    pub(super) fn edges_between<S: Simd>(
        &mut self,
        simd: S,
        ours: &EdgePack,
        (theirs, their_bounds): (&EdgePack, &SmallBox),
    ) {
        for lane in edge_lanes_of(ours.meeting(simd, their_bounds)) {
            let met = theirs.meeting(simd, &ours.lane(lane));
            if met == 0 {
                continue;
            }
            for other in edge_lanes_of(met & !theirs.sharing(simd, ours, lane)) {
                self.keep_edges(ours.edge(lane), theirs.edge(other));
            }
        }
    }

    /// The edges of one pack against each other.
    #[inline(always)]
    pub(super) fn edges_within<S: Simd>(&mut self, simd: S, pack: &EdgePack) {
        for lane in 0..packs::EDGE_LANES - 1 {
            let met = pack.meeting(simd, &pack.lane(lane)) & 0xfffe << lane;
            if met == 0 {
                continue;
            }
            for other in edge_lanes_of(met & !pack.sharing(simd, pack, lane)) {
                self.keep_edges(pack.edge(lane), pack.edge(other));
            }
        }
    }

    /// The vertices of one pack against the triangles of a leaf, which is given with the box around it.
    #[inline(always)]
    pub(super) fn vertices<S: Simd>(
        &mut self,
        simd: S,
        vertices: &VertexPack,
        (triangles, around): (&Leaf, &SmallBox),
    ) {
        for lane in lanes_of(vertices.meeting(simd, around)) {
            let met = triangles.meeting(simd, &vertices.lane(lane));
            if met == 0 {
                continue;
            }
            let vertex = VertexId(vertices.vertex(lane));
            for other in lanes_of(met & !triangles.having(simd, vertex.0)) {
                let triangle = TriangleId::new(triangles.item(other) as usize);
                (self.keep)(ElementPair::VertexTriangle(vertex, triangle), &mut self.out);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::math::DVec3;

    /// A strip folded over itself, moving: small enough for all pairs to be tried.
    pub(in super::super) fn folded_strip() -> (Topology, Vec<DVec3>, Vec<DVec3>) {
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
            let mut tree = ElementTree::build(&topology, &Ownership::new(&topology), motion, margin);
            let built = listed(&tree, &topology, motion, margin);
            tree.refit(Motion::at_rest(&end), 0.01);
            listed(&tree, &topology, Motion::at_rest(&end), 0.01);
            tree.refit(motion, margin);
            assert_eq!(listed(&tree, &topology, motion, margin), built);
        }
    }

    /// What a tree lists, sorted; checks it against all pairs.
    fn listed(tree: &ElementTree, topology: &Topology, motion: Motion, margin: f64) -> Vec<ElementPair> {
        let mut found = tree.candidates(|pair, out| out.push(pair));
        found.sort_unstable();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
        let all = all_pairs(topology);
        let wanted: Vec<_> = all.iter().filter(|pair| pair.boxes_meet(topology, motion, margin)).collect();
        assert!(!wanted.is_empty());
        assert!(wanted.iter().all(|pair| found.binary_search(pair).is_ok()));
        let nearly = |pair: &ElementPair| pair.boxes_meet(topology, motion, margin + 1e-6);
        assert!(found.iter().all(nearly));
        found
    }

    #[test]
    fn pairs_of_some_vertices_are_listed_without_the_rest() {
        let (topology, start, end) = folded_strip();
        let motion = Motion { start: &start, end: &end };
        let tree = ElementTree::build(&topology, &Ownership::new(&topology), motion, 0.05);
        let marked = |vertex: VertexId| vertex.index() < 3;
        let has_marked = |pair: &ElementPair| pair.vertices(&topology).into_iter().any(marked);
        let is_active = |triangle: TriangleId| topology.triangle(triangle).into_iter().any(marked);
        let mut some = tree.candidates_of(is_active, |pair, out| out.push(pair));
        let mut all = tree.candidates(|pair, out| out.push(pair));
        all.retain(has_marked);
        some.retain(has_marked);
        all.sort_unstable();
        some.sort_unstable();
        assert!(!all.is_empty());
        assert_eq!(some, all);
        assert!(tree.candidates_of(|_| false, |pair, out| out.push(pair)).is_empty());
    }
}
