//! The smallest distance between items, by branch and bound.

use super::{Bvh, Child, Target};
use crate::aabb::Aabb;

impl Bvh {
    /// The least `distance_squared(a, b)` over pairs of different items and the pair that has it, or `None` when no pair
    /// comes below `limit_squared`. The function may answer infinity for pairs that do not count.
    ///
    /// A pair of items never lies closer than their boxes; of equal distances the first in tree order wins.
    pub fn closest_pair(
        &self,
        limit_squared: f64,
        mut distance_squared: impl FnMut(usize, usize) -> f64,
    ) -> Option<(f64, usize, usize)> {
        let mut best = (limit_squared, usize::MAX, usize::MAX);
        for node in self.nodes.iter().rev() {
            let [left, right] = [0, 1].map(|side| (node.children[side], node.boxes[side]));
            self.closest_between(left, right, &mut best, &mut distance_squared);
        }
        (best.1 != usize::MAX).then_some(best)
    }

    fn closest_between(
        &self,
        ours: (Child, Aabb),
        theirs: (Child, Aabb),
        best: &mut (f64, usize, usize),
        distance_squared: &mut impl FnMut(usize, usize) -> f64,
    ) {
        if box_gap_squared(&ours.1, &theirs.1) >= best.0 {
            return;
        }
        let (open, other) = match (ours.0.target(), theirs.0.target()) {
            (Target::Item(a), Target::Item(b)) => {
                let found = distance_squared(a as usize, b as usize);
                if found < best.0 {
                    *best = (found, a.min(b) as usize, a.max(b) as usize);
                }
                return;
            }
            (Target::Node(node), Target::Item(_)) => (node, theirs),
            (Target::Item(_), Target::Node(node)) => (node, ours),
            (Target::Node(mine), Target::Node(their)) => {
                if ours.1.extent().element_sum() >= theirs.1.extent().element_sum() {
                    (mine, theirs)
                } else {
                    (their, ours)
                }
            }
        };
        let node = &self.nodes[open];
        let gaps = node.boxes.map(|bounds| box_gap_squared(&bounds, &other.1));
        let near_first = if gaps[0] <= gaps[1] { [0, 1] } else { [1, 0] };
        for side in near_first {
            self.closest_between((node.children[side], node.boxes[side]), other, best, distance_squared);
        }
    }
}

fn box_gap_squared(a: &Aabb, b: &Aabb) -> f64 {
    (a.min - b.max).max(b.min - a.max).max(crate::math::DVec3::ZERO).length_squared()
}
