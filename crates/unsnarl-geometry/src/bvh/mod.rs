//! A bounding-volume tree for deforming meshes.
//!
//! Built once, then refitted in linear time whenever the boxes change: [`Bvh::refit`] takes any box per item, so one tree
//! serves a state, a motion (start and end) and any margin. Leaves hold eight items, whose boxes are tested together, in
//! 32-bit floats rounded outward. Traversals in [`overlap`] run in parallel and give their results in a fixed order.
//!
//! Guarantees: after a refit every pair of items whose closed boxes meet (and that share no point, where the tree is
//! built on points) is visited exactly once, on any number of threads in the same order. A pair whose boxes miss each other by a rounding of 32-bit floats may be visited too.
//! Does not: rebalance. A tree refitted far from the shape it was built for is correct but slower; build it again.

mod build;
mod nearest;
pub mod overlap;
pub(crate) mod small_box;
mod subtrees;

pub use subtrees::{Agreement, Groups};

use crate::aabb::Aabb;
use crate::math::DVec3;
use fearless_simd::{Level, dispatch, f32x4, prelude::*};
use rayon::prelude::*;
use small_box::{Leaf, RoundedPoint, SmallBox, lanes_of};

/// Fewer leaves than this are not worth another thread.
const LEAVES_PER_TASK: usize = 512;

/// A binary tree over items `0..item_count`. Nodes and leaves lie in depth-first order, parents before children.
#[derive(Clone, Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// The box around the items of every leaf.
    leaf_boxes: Vec<SmallBox>,
    item_count: usize,
    /// How many points it is built on; none for a tree of boxes.
    point_count: usize,
    /// What all boxes are relative to.
    origin: DVec3,
    /// The box around everything.
    bounds: SmallBox,
}

/// Two children with their boxes inline, so that a visit tests both without another load.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Node {
    /// Coordinate by coordinate: those of the left child, of the right one, and both again, so that two nodes meet in one
    /// vector of four comparisons.
    min: [[f32; 4]; 3],
    max: [[f32; 4]; 3],
    children: [Child; 2],
}

/// An inner node, or a leaf when the highest bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child(u32);

const LEAF_BIT: u32 = 1 << 31;

/// What a [`Child`] stands for.
enum Target {
    Node(usize),
    Leaf(usize),
}

/// A subtree and the box around it.
#[derive(Clone, Copy)]
struct Branch {
    child: Child,
    bounds: SmallBox,
}

impl Child {
    fn node(index: usize) -> Self {
        Self(index as u32)
    }

    fn leaf(index: usize) -> Self {
        Self(index as u32 | LEAF_BIT)
    }

    #[inline(always)]
    fn target(self) -> Target {
        if self.0 & LEAF_BIT == 0 { Target::Node(self.0 as usize) } else { Target::Leaf((self.0 & !LEAF_BIT) as usize) }
    }
}

impl Bvh {
    /// Builds a tree over items with the given boxes. Takes fewer than 2^31 items.
    pub fn build(boxes: &[Aabb]) -> Self {
        Self::build_from(boxes.len(), |item| boxes[item])
    }

    /// As [`Bvh::build`], with the box of every item computed.
    pub fn build_from(item_count: usize, box_of: impl Fn(usize) -> Aabb + Sync) -> Self {
        let origin = near_origin((item_count > 0).then(|| box_of(0).min));
        Self::build_small(item_count, origin, |item| SmallBox::around(&box_of(item), origin), |item| [item as u32; 3])
    }

    /// Builds a tree over items that are each spanned by three points: [`Bvh::self_overlaps`] passes over pairs that have a
    /// point in common, such as triangles with a common vertex, faster than its caller could.
    pub fn build_on_points(points: &[DVec3], item_count: usize, points_of: impl Fn(usize) -> [u32; 3] + Sync) -> Self {
        let origin = near_origin(points.first().copied());
        Self::build_on_rounded(&RoundedPoint::all(points, origin), origin, item_count, points_of)
    }

    /// As [`Bvh::build_on_points`], where points are boxes.
    pub(crate) fn build_on_rounded(
        points: &[RoundedPoint],
        origin: DVec3,
        item_count: usize,
        points_of: impl Fn(usize) -> [u32; 3] + Sync,
    ) -> Self {
        let box_of = |item: usize| RoundedPoint::span(points, points_of(item));
        Self { point_count: points.len(), ..Self::build_small(item_count, origin, box_of, &points_of) }
    }

    /// The same for [`Bvh::refit_on_points`].
    pub(crate) fn refit_on_rounded(&mut self, points: &[RoundedPoint], origin: DVec3) {
        assert_eq!(points.len(), self.point_count, "a tree is refitted to the points it was built on");
        self.refit_small(origin, |leaf| leaf.refit_on_points(points));
    }

    fn build_small(
        item_count: usize,
        origin: DVec3,
        box_of: impl Fn(usize) -> SmallBox + Sync,
        labels_of: impl Fn(usize) -> [u32; 3] + Sync,
    ) -> Self {
        assert!(item_count < LEAF_BIT as usize, "a tree holds fewer than 2^31 items");
        let (nodes, mut leaves) = build::tree(item_count, &box_of, labels_of);
        let level = Level::new();
        leaves.par_chunks_mut(LEAVES_PER_TASK).for_each(|leaves| {
            dispatch!(level, simd => leaves.iter_mut().for_each(|leaf| leaf.compare_labels(simd)));
        });
        let mut tree =
            Self { nodes, leaves, leaf_boxes: Vec::new(), item_count, point_count: 0, origin, bounds: SmallBox::EMPTY };
        tree.refit_small(origin, |leaf| leaf.refit(&box_of));
        tree
    }

    /// Number of items.
    pub fn item_count(&self) -> usize {
        self.item_count
    }

    /// Number of points that it is built on; none for a tree of boxes.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// Gives every item a new box, bottom up, in linear time.
    pub fn refit(&mut self, box_of: impl Fn(usize) -> Aabb + Sync) {
        let origin = near_origin((self.item_count > 0).then(|| box_of(0).min));
        self.refit_small(origin, |leaf| leaf.refit(|item| SmallBox::around(&box_of(item), origin)));
    }

    /// Moves the points of a tree that was built on as many.
    pub fn refit_on_points(&mut self, points: &[DVec3]) {
        let origin = near_origin(points.first().copied());
        self.refit_on_rounded(&RoundedPoint::all(points, origin), origin);
    }

    fn refit_small(&mut self, origin: DVec3, refit_leaf: impl Fn(&mut Leaf) -> SmallBox + Sync) {
        self.origin = origin;
        self.leaves
            .par_iter_mut()
            .with_min_len(LEAVES_PER_TASK)
            .map(&refit_leaf)
            .collect_into_vec(&mut self.leaf_boxes);
        for at in (0..self.nodes.len()).rev() {
            let boxes = self.nodes[at].children.map(|child| match child.target() {
                Target::Leaf(leaf) => self.leaf_boxes[leaf],
                Target::Node(node) => self.nodes[node].bounds(),
            });
            self.nodes[at].set_boxes(boxes);
        }
        self.bounds = match self.nodes.first() {
            Some(root) => root.bounds(),
            None => self.leaf_boxes.first().copied().unwrap_or(SmallBox::EMPTY),
        };
    }

    /// A box around everything, at most a rounding of 32-bit floats too large.
    pub fn bounds(&self) -> Aabb {
        self.placed(&self.bounds)
    }

    fn placed(&self, bounds: &SmallBox) -> Aabb {
        let bounds = bounds.to_aabb();
        Aabb { min: bounds.min + self.origin, max: bounds.max + self.origin }
    }

    /// Calls `visit` with every item whose box meets a given box, in tree order.
    pub fn query(&self, region: &Aabb, mut visit: impl FnMut(usize)) {
        let region = SmallBox::around(region, self.origin);
        dispatch!(Level::new(), simd => self.query_with(simd, &region, &mut visit));
    }

    #[inline(always)]
    fn query_with<S: Simd>(&self, simd: S, region: &SmallBox, visit: &mut impl FnMut(usize)) {
        let Some(root) = self.root() else { return };
        let mut stack = Vec::with_capacity(64);
        stack.push(root.child);
        while let Some(child) = stack.pop() {
            match child.target() {
                Target::Leaf(leaf) => {
                    let leaf = &self.leaves[leaf];
                    for lane in lanes_of(leaf.meeting(simd, region)) {
                        visit(leaf.item(lane) as usize);
                    }
                }
                Target::Node(node) => {
                    let [left, right] = self.nodes[node].branches();
                    for branch in [right, left] {
                        if branch.bounds.overlaps(region) {
                            stack.push(branch.child);
                        }
                    }
                }
            }
        }
    }

    /// All leaves, and the box around each.
    pub(crate) fn leaves(&self) -> (&[Leaf], &[SmallBox]) {
        (&self.leaves, &self.leaf_boxes)
    }

    fn root(&self) -> Option<Branch> {
        let child = if self.nodes.is_empty() { Child::leaf(0) } else { Child::node(0) };
        (self.item_count > 0).then_some(Branch { child, bounds: self.bounds })
    }
}

/// A place to measure from, given a point near the items.
pub(crate) fn near_origin(point: Option<DVec3>) -> DVec3 {
    point.filter(|point| point.is_finite()).unwrap_or(DVec3::ZERO)
}

impl Node {
    const EMPTY: Self =
        Self { min: [[f32::INFINITY; 4]; 3], max: [[f32::NEG_INFINITY; 4]; 3], children: [Child(0); 2] };

    #[inline(always)]
    fn set_boxes(&mut self, [left, right]: [SmallBox; 2]) {
        for axis in 0..3 {
            let ([l, r], [u, v]) = ([left.min[axis], right.min[axis]], [left.max[axis], right.max[axis]]);
            self.min[axis] = [l, r, l, r];
            self.max[axis] = [u, v, u, v];
        }
    }

    #[inline(always)]
    fn side(&self, side: usize) -> SmallBox {
        SmallBox { min: self.min.map(|row| row[side]), max: self.max.map(|row| row[side]) }
    }

    #[inline(always)]
    fn bounds(&self) -> SmallBox {
        self.side(0).union(self.side(1))
    }

    #[inline(always)]
    fn branches(&self) -> [Branch; 2] {
        [0, 1].map(|side| Branch { child: self.children[side], bounds: self.side(side) })
    }

    /// Bit `2 a + b` for child `a` of this node and child `b` of another whose boxes overlap.
    #[inline(always)]
    fn meeting<S: Simd>(&self, simd: S, other: &Self) -> u32 {
        let ours = |row: &[f32; 4]| {
            let row = f32x4::from_slice(simd, row);
            row.zip_low(row)
        };
        let theirs = |row: &[f32; 4]| f32x4::from_slice(simd, row);
        let meets = |axis: usize| {
            ours(&self.min[axis]).simd_le(theirs(&other.max[axis]))
                & ours(&self.max[axis]).simd_ge(theirs(&other.min[axis]))
        };
        (meets(0) & meets(1) & meets(2)).to_bitmask() as u32
    }
}
