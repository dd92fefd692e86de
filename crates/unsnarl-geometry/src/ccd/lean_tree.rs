//! As the tree of [`super::element_tree`], for large meshes that are looked at once or twice: packs of vertices and
//! edges are made when a traversal comes to their leaf, and kept only as long as it stays near.
//!
//! Stored packs are more than half of a tree. Leaves that meet lie near each other in the order of a traversal, so few
//! packs are made more than a handful of times, which costs less than to store them all, and to fit them again.
//!
//! Guarantees: the same pairs as [`super::ElementTree`], in an order that depends on the tree alone.
//! Does not: pay for meshes that are looked at many times between two fits.

use super::candidates::{ElementPair, Motion};
use super::element_tree::{Found, Ownership};
use super::packs::{EdgePack, Labelled, Pack, VertexPack};
use crate::bvh::overlap::{LeafVisitor, joined};
use crate::bvh::small_box::{Leaf, RoundedPoint, SmallBox};
use crate::bvh::{Bvh, Groups, near_origin};
use crate::ids::TriangleId;
use crate::topology::Topology;
use fearless_simd::prelude::*;

/// Leaves whose packs a traversal remembers: about 50 kB, less than the second cache of a core.
const REMEMBERED: usize = 64;

/// A tree over the triangles of a mesh, fitted to a motion, that makes packs of vertices and edges as it goes.
#[derive(Clone, Debug)]
pub struct LeanElementTree<'a> {
    topology: &'a Topology,
    ownership: &'a Ownership,
    triangles: Bvh,
    points: Vec<RoundedPoint>,
}

impl<'a> LeanElementTree<'a> {
    /// Builds a tree for the boxes that all elements sweep, grown by a margin.
    pub fn build(topology: &'a Topology, ownership: &'a Ownership, motion: Motion, margin: f64) -> Self {
        let origin = near_origin(motion.start.first().copied());
        let points = RoundedPoint::all_swept(motion.start, motion.end, margin, origin);
        let corners = |item: usize| topology.triangles()[item].map(|vertex| vertex.0);
        let triangles = Bvh::build_on_rounded(&points, origin, topology.triangle_count(), corners);
        Self { topology, ownership, triangles, points }
    }

    /// Fits it to another motion or margin of the same mesh, in linear time.
    pub fn refit(&mut self, motion: Motion, margin: f64) {
        let origin = near_origin(motion.start.first().copied());
        // Not both at once: points are a sixth of what a sweep needs.
        self.points = Vec::new();
        self.points = RoundedPoint::all_swept(motion.start, motion.end, margin, origin);
        self.triangles.refit_on_rounded(&self.points, origin);
    }

    /// Every pair that has an active triangle and whose boxes meet: a pair is listed if the triangle, or all triangles
    /// of an edge or a vertex of it, are active. A few others may be listed too. What `keep` makes of each is gathered
    /// in tree order.
    pub fn candidates_of<R: Send>(
        &self,
        is_active: impl Fn(TriangleId) -> bool,
        keep: impl Fn(ElementPair, &mut Vec<R>) + Sync,
    ) -> Vec<R> {
        let at_rest = 0;
        let group = |triangle: usize| if is_active(TriangleId::new(triangle)) { Groups::NONE } else { at_rest };
        let visitor = || Pairs {
            tree: self,
            left: LeafPacks::default(),
            right: Vec::new(),
            owned: Vec::new(),
            found: Found { keep: &keep, out: Vec::new() },
        };
        joined(self.triangles.traverse(&self.triangles.groups(group), visitor, |pairs| pairs.found.out))
    }
}

/// The vertices and edges that the triangles of one leaf own.
#[derive(Default)]
struct LeafPacks {
    leaf: Option<usize>,
    vertices: Vec<VertexPack>,
    /// Each with the box around it.
    edges: Vec<(EdgePack, SmallBox)>,
}

impl LeafPacks {
    /// Makes them those of a leaf, unless they are.
    fn become_of(&mut self, tree: &LeanElementTree, leaf: usize, owned: &mut Vec<Labelled>) {
        if self.leaf == Some(leaf) {
            return;
        }
        let triangles = &tree.triangles.leaves().0[leaf];
        self.leaf = Some(leaf);
        self.vertices.clear();
        owned.clear();
        triangles.items().for_each(|(_, item)| tree.ownership.push_vertices(tree.topology, item, owned));
        for some in owned.chunks(VertexPack::LANES) {
            let mut pack = VertexPack::of(some);
            pack.refit(&tree.points);
            self.vertices.push(pack);
        }
        self.edges.clear();
        owned.clear();
        triangles.items().for_each(|(_, item)| tree.ownership.push_edges(tree.topology, item, owned));
        for some in owned.chunks(EdgePack::LANES) {
            let mut pack = EdgePack::of(some);
            let around = pack.refit(&tree.points);
            self.edges.push((pack, around));
        }
    }
}

/// Shows packs and leaves to each other. Of the right side of pairs it remembers the packs of several leaves, because
/// the left one meets them in turn.
struct Pairs<'a, R, F> {
    tree: &'a LeanElementTree<'a>,
    left: LeafPacks,
    right: Vec<LeafPacks>,
    owned: Vec<Labelled>,
    found: Found<'a, R, F>,
}

impl<'a, R, F> Pairs<'a, R, F> {
    fn triangles(&self, leaf: usize) -> (&'a Leaf, &'a SmallBox) {
        let (leaves, boxes) = self.tree.triangles.leaves();
        (&leaves[leaf], &boxes[leaf])
    }
}

impl<R, F: Fn(ElementPair, &mut Vec<R>)> LeafVisitor for Pairs<'_, R, F> {
    #[inline(always)]
    fn within<S: Simd>(&mut self, simd: S, leaf: usize) {
        self.left.become_of(self.tree, leaf, &mut self.owned);
        let triangles = self.triangles(leaf);
        self.left.vertices.iter().for_each(|pack| self.found.vertices(simd, pack, triangles));
        let mut packs = self.left.edges.iter();
        while let Some((pack, _)) = packs.next() {
            self.found.edges_within(simd, pack);
            packs.clone().for_each(|(other, around)| self.found.edges_between(simd, pack, (other, around)));
        }
    }

    #[inline(always)]
    fn between<S: Simd>(&mut self, simd: S, left: usize, right: usize) {
        self.left.become_of(self.tree, left, &mut self.owned);
        let slot = right % REMEMBERED;
        if self.right.len() <= slot {
            self.right.resize_with(REMEMBERED, LeafPacks::default);
        }
        let theirs = &mut self.right[slot];
        theirs.become_of(self.tree, right, &mut self.owned);
        let (leaves, boxes) = self.tree.triangles.leaves();
        for pack in &self.left.vertices {
            self.found.vertices(simd, pack, (&leaves[right], &boxes[right]));
        }
        for pack in &theirs.vertices {
            self.found.vertices(simd, pack, (&leaves[left], &boxes[left]));
        }
        for (ours, _) in &self.left.edges {
            for (theirs, around) in &theirs.edges {
                self.found.edges_between(simd, ours, (theirs, around));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ElementTree;
    use super::super::element_tree::tests::folded_strip;
    use super::*;
    use crate::math::DVec3;

    /// A rolled sheet of some thousand triangles, so that leaves are forgotten and made again.
    fn roll() -> (Topology, Vec<DVec3>, Vec<DVec3>) {
        let count = 60_u32;
        let row = count + 1;
        let place = |k: u32| {
            let (u, v) = (f64::from(k % row) / f64::from(count), f64::from(k / row) / f64::from(count));
            let (turn, radius) = (20.0 * u, 0.05 + 0.1 * u);
            DVec3::new(radius * turn.cos(), radius * turn.sin(), v)
        };
        let start: Vec<DVec3> = (0..row * row).map(place).collect();
        let end = start.iter().map(|p| 0.9 * *p + 0.01 * DVec3::new(p.z, (9.0 * p.x).sin(), p.y)).collect();
        let cell = |k: u32| {
            let a = k / count * row + k % count;
            [[a, a + 1, a + row], [a + 1, a + row + 1, a + row]]
        };
        let triangles: Vec<[u32; 3]> = (0..count * count).flat_map(cell).collect();
        (Topology::new(start.len(), &triangles).unwrap(), start, end)
    }

    #[test]
    fn it_lists_the_pairs_of_the_tree_that_stores_its_packs() {
        for (topology, start, end) in [folded_strip(), roll()] {
            let ownership = Ownership::new(&topology);
            let whole = Motion { start: &start, end: &end };
            let mut lean = LeanElementTree::build(&topology, &ownership, whole, 0.01);
            for (motion, margin) in [(whole, 0.01), (Motion::at_rest(&end), 0.0)] {
                lean.refit(motion, margin);
                let stored = ElementTree::build(&topology, &ownership, motion, margin);
                for active in [1, 7] {
                    let is_active = |triangle: TriangleId| triangle.index().is_multiple_of(active);
                    let mut theirs = stored.candidates_of(is_active, |pair, out| out.push(pair));
                    let mut ours = lean.candidates_of(is_active, |pair, out| out.push(pair));
                    theirs.sort_unstable();
                    ours.sort_unstable();
                    assert!(active > 1 || !ours.is_empty());
                    // Triangles at rest are passed over a subtree at a time, and the subtrees of both trees are the
                    // same only where they were built on the same boxes.
                    let counts = |pair: &ElementPair| match *pair {
                        ElementPair::VertexTriangle(_, triangle) => is_active(triangle),
                        ElementPair::EdgeEdge(..) => active == 1,
                    };
                    theirs.retain(counts);
                    ours.retain(counts);
                    assert_eq!(ours, theirs);
                }
            }
        }
    }
}
