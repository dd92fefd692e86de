//! The smallest distance between items, by branch and bound.

use super::small_box::Leaf;
use super::{Branch, Bvh, Target};

/// The least so far, and the pair that has it.
type Best = (f64, usize, usize);

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
        for leaf in &self.leaves {
            for (lane, item) in leaf.items() {
                for (other_lane, other) in leaf.items().skip(lane + 1) {
                    let gap_squared = leaf.lane(lane).gap_squared(&leaf.lane(other_lane));
                    improve(&mut best, gap_squared, item, other, &mut distance_squared);
                }
            }
        }
        for node in self.nodes.iter().rev() {
            let [left, right] = node.branches();
            self.closest_between(left, right, &mut best, &mut distance_squared);
        }
        (best.1 != usize::MAX).then_some(best)
    }

    fn closest_between(
        &self,
        ours: Branch,
        theirs: Branch,
        best: &mut Best,
        distance_squared: &mut impl FnMut(usize, usize) -> f64,
    ) {
        if ours.bounds.gap_squared(&theirs.bounds) >= best.0 {
            return;
        }
        let (open, other) = match (ours.child.target(), theirs.child.target()) {
            (Target::Leaf(mine), Target::Leaf(their)) => {
                return closest_in_leaves(&self.leaves[mine], &self.leaves[their], best, distance_squared);
            }
            (Target::Node(node), Target::Leaf(_)) => (node, theirs),
            (Target::Leaf(_), Target::Node(node)) => (node, ours),
            (Target::Node(mine), Target::Node(their)) => {
                let size = |branch: &Branch| branch.bounds.to_aabb().extent().element_sum();
                if size(&ours) >= size(&theirs) { (mine, theirs) } else { (their, ours) }
            }
        };
        let [left, right] = self.nodes[open].branches();
        let gaps = [left, right].map(|branch| branch.bounds.gap_squared(&other.bounds));
        let near_first = if gaps[0] <= gaps[1] { [left, right] } else { [right, left] };
        for branch in near_first {
            self.closest_between(branch, other, best, distance_squared);
        }
    }
}

fn closest_in_leaves(
    ours: &Leaf,
    theirs: &Leaf,
    best: &mut Best,
    distance_squared: &mut impl FnMut(usize, usize) -> f64,
) {
    for (our_lane, mine) in ours.items() {
        let bounds = ours.lane(our_lane);
        for (their_lane, their) in theirs.items() {
            let gap_squared = bounds.gap_squared(&theirs.lane(their_lane));
            improve(best, gap_squared, mine, their, distance_squared);
        }
    }
}

fn improve(
    best: &mut Best,
    box_gap_squared: f64,
    a: usize,
    b: usize,
    distance_squared: &mut impl FnMut(usize, usize) -> f64,
) {
    if box_gap_squared < best.0 {
        let found = distance_squared(a, b);
        if found < best.0 {
            *best = (found, a.min(b), a.max(b));
        }
    }
}
