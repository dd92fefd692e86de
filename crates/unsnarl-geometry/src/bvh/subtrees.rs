//! Subtrees whose items have something in common, and traversals that pass over them.

use super::{Bvh, Child, Target};
use crate::aabb::Aabb;
use std::ops::Range;

/// A subtree whose items have bits in common.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// The bits that all items have.
    pub bits: u8,
    root: Child,
    leaves: Range<usize>,
}

/// How many items of a subtree are looked at before all are.
const SAMPLES: usize = 32;

fn common_bits(mut bits: impl Iterator<Item = u8>) -> u8 {
    let mut common = u8::MAX;
    while let Some(bits) = bits.next().filter(|_| common != 0) {
        common &= bits;
    }
    common
}

/// For every subtree, the group that all its items belong to, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    nodes: Vec<u32>,
    leaves: Vec<u32>,
}

impl Groups {
    /// In place of a group, for what belongs to none.
    pub const NONE: u32 = u32::MAX;

    /// Whether all items of two subtrees belong to one group.
    #[inline(always)]
    pub(super) fn unite(&self, a: Child, b: Child) -> bool {
        if self.leaves.is_empty() {
            return false;
        }
        let group = self.of(a);
        group != Self::NONE && group == self.of(b)
    }

    #[inline(always)]
    pub(super) fn of(&self, child: Child) -> u32 {
        let group = match child.target() {
            Target::Node(node) => self.nodes.get(node),
            Target::Leaf(leaf) => self.leaves.get(leaf),
        };
        group.copied().unwrap_or(Self::NONE)
    }
}

impl Bvh {
    /// The groups of all subtrees, from those of the items.
    pub fn groups(&self, group_of: impl Fn(usize) -> u32) -> Groups {
        let common = |a: u32, b: u32| if a == b { a } else { Groups::NONE };
        let of_leaf = |leaf: &super::Leaf| leaf.items().map(|(_, item)| group_of(item)).reduce(common);
        let leaves: Vec<u32> = self.leaves.iter().map(|leaf| of_leaf(leaf).unwrap_or(Groups::NONE)).collect();
        let mut groups = Groups { nodes: vec![Groups::NONE; self.nodes.len()], leaves };
        for at in (0..self.nodes.len()).rev() {
            let [left, right] = self.nodes[at].children.map(|child| groups.of(child));
            groups.nodes[at] = common(left, right);
        }
        groups
    }

    /// The largest subtrees of at least `least` leaves whose items have a bit in common, in tree order.
    pub fn agreements(&self, bits_of: impl Fn(usize) -> u8, least: usize) -> Vec<Agreement> {
        let mut pending: Vec<Child> = self.root().map(|root| root.child).into_iter().collect();
        let mut found = Vec::new();
        while let Some(root) = pending.pop() {
            let leaves = self.leaves_of(root);
            if leaves.len() < least {
                continue;
            }
            // Most that disagree do so in a few items; only the others are looked at whole.
            let stride = leaves.len().div_ceil(SAMPLES);
            let sampled = leaves.clone().step_by(stride).map(|leaf| bits_of(self.leaves[leaf].item(0) as usize));
            let mut agreement = Agreement { bits: common_bits(sampled), root, leaves };
            if agreement.bits != 0 {
                agreement.bits = common_bits(self.items_of(&agreement).map(&bits_of));
            }
            match root.target() {
                _ if agreement.bits != 0 => found.push(agreement),
                Target::Node(node) => pending.extend(self.nodes[node].children.into_iter().rev()),
                Target::Leaf(_) => {}
            }
        }
        found
    }

    /// The leaves below a child: they lie in one row, for the tree is in depth-first order.
    fn leaves_of(&self, root: Child) -> Range<usize> {
        let end = |side: usize| {
            let mut child = root;
            loop {
                match child.target() {
                    Target::Leaf(leaf) => break leaf,
                    Target::Node(node) => child = self.nodes[node].children[side],
                }
            }
        };
        end(0)..end(1) + 1
    }

    /// How much of the tree is in some subtrees, by leaves.
    pub fn share_of(&self, subtrees: &[Agreement]) -> f64 {
        subtrees.iter().map(|subtree| subtree.leaves.len()).sum::<usize>() as f64 / self.leaves.len().max(1) as f64
    }

    /// The items of a subtree.
    pub fn items_of(&self, subtree: &Agreement) -> impl Iterator<Item = usize> + '_ {
        self.leaves[subtree.leaves.clone()].iter().flat_map(|leaf| leaf.items().map(|(_, item)| item))
    }

    /// The box around a subtree.
    pub fn bounds_of(&self, subtree: &Agreement) -> Aabb {
        let bounds = match subtree.root.target() {
            Target::Node(node) => self.nodes[node].bounds(),
            Target::Leaf(leaf) => self.leaf_boxes[leaf],
        };
        self.placed(&bounds)
    }
}
