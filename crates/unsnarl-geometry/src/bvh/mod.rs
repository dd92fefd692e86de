//! A bounding-volume tree for deforming meshes.
//!
//! Built once by binned surface-area splits of the item boxes, then refitted in linear time whenever the boxes change:
//! [`Bvh::refit`] takes any box per item, so one tree serves a state, a motion (start and end) and any margin.
//! Traversals in [`overlap`] run in parallel and give their results in a fixed order.
//!
//! Guarantees: after a refit every pair of items whose closed boxes meet is visited exactly once, on any number of
//! threads in the same order.
//! Does not: rebalance. A tree refitted far from the shape it was built for is correct but slower; build it again.

mod build;
mod nearest;
pub mod overlap;

use crate::aabb::Aabb;

/// A binary tree over items `0..item_count`. Nodes lie in depth-first order, parents before children.
#[derive(Clone, Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    item_count: usize,
    /// The box of the only item, where there is just one and so no node.
    lone_box: Aabb,
}

/// Two children with their boxes inline, so that a visit tests both without another load.
#[derive(Clone, Copy, Debug)]
struct Node {
    boxes: [Aabb; 2],
    children: [Child; 2],
}

/// An inner node, or an item when the highest bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child(u32);

const ITEM_BIT: u32 = 1 << 31;

/// What a [`Child`] stands for.
enum Target {
    Node(usize),
    Item(u32),
}

impl Child {
    fn node(index: usize) -> Self {
        Self(index as u32)
    }

    fn item(index: u32) -> Self {
        Self(index | ITEM_BIT)
    }

    #[inline]
    fn target(self) -> Target {
        if self.0 & ITEM_BIT == 0 { Target::Node(self.0 as usize) } else { Target::Item(self.0 & !ITEM_BIT) }
    }
}

impl Bvh {
    /// Builds a tree over items with the given boxes. Takes fewer than 2^31 items.
    pub fn build(boxes: &[Aabb]) -> Self {
        Self::build_from(boxes.len(), |item| boxes[item])
    }

    /// As [`Bvh::build`], with the box of every item computed.
    pub fn build_from(item_count: usize, box_of: impl Fn(usize) -> Aabb) -> Self {
        assert!(item_count < ITEM_BIT as usize, "a tree holds fewer than 2^31 items");
        let mut items: Vec<build::Boxed> =
            (0..item_count).map(|item| build::Boxed { bounds: box_of(item), item: item as u32 }).collect();
        let lone_box = items.first().map_or(Aabb::EMPTY, |boxed| boxed.bounds);
        Self { nodes: build::nodes(&mut items), item_count, lone_box }
    }

    /// Number of items.
    pub fn item_count(&self) -> usize {
        self.item_count
    }

    /// Gives every item a new box, bottom up, in linear time.
    pub fn refit(&mut self, box_of: impl Fn(usize) -> Aabb) {
        if self.item_count == 1 {
            self.lone_box = box_of(0);
        }
        for at in (0..self.nodes.len()).rev() {
            for side in 0..2 {
                self.nodes[at].boxes[side] = match self.nodes[at].children[side].target() {
                    Target::Item(item) => box_of(item as usize),
                    Target::Node(node) => self.nodes[node].bounds(),
                };
            }
        }
    }

    /// The box around everything.
    pub fn bounds(&self) -> Aabb {
        self.root().map_or(Aabb::EMPTY, |(_, bounds)| bounds)
    }

    /// Calls `visit` with every item whose box meets a given box, in tree order.
    pub fn query(&self, region: &Aabb, mut visit: impl FnMut(usize)) {
        let Some((root, bounds)) = self.root() else { return };
        if !bounds.overlaps(region) {
            return;
        }
        let mut stack = vec![root];
        while let Some(child) = stack.pop() {
            match child.target() {
                Target::Item(item) => visit(item as usize),
                Target::Node(node) => {
                    let node = &self.nodes[node];
                    for side in [1, 0] {
                        if node.boxes[side].overlaps(region) {
                            stack.push(node.children[side]);
                        }
                    }
                }
            }
        }
    }

    fn root(&self) -> Option<(Child, Aabb)> {
        match self.item_count {
            0 => None,
            1 => Some((Child::item(0), self.lone_box)),
            _ => Some((Child::node(0), self.nodes[0].bounds())),
        }
    }
}

impl Node {
    fn bounds(&self) -> Aabb {
        self.boxes[0].union(self.boxes[1])
    }
}
