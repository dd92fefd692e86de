//! The smallest distance between items, by branch and bound.

use super::small_box::{Leaf, SmallBox};
use super::{Branch, Bvh, Target};
use crate::math::DVec3;

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

    /// The item with the least `distance_squared(item)` from a point and that distance, or `None` when no item comes below
    /// `limit_squared`. An item never lies closer than its box; of equal distances the first that is met wins.
    pub fn closest_to(
        &self,
        point: DVec3,
        limit_squared: f64,
        mut distance_squared: impl FnMut(usize) -> f64,
    ) -> Option<(f64, usize)> {
        let point = point - self.origin;
        let root = self.root()?;
        let (mut best, mut found) = (limit_squared, None);
        let mut stack = vec![(root.child, point_gap_squared(&root.bounds, point))];
        while let Some((child, gap)) = stack.pop() {
            if gap >= best {
                continue;
            }
            match child.target() {
                Target::Leaf(leaf) => {
                    let leaf = &self.leaves[leaf];
                    for (lane, item) in leaf.items() {
                        if point_gap_squared(&leaf.lane(lane), point) >= best {
                            continue;
                        }
                        let distance = distance_squared(item);
                        if distance < best {
                            (best, found) = (distance, Some(item));
                        }
                    }
                }
                Target::Node(node) => {
                    let children =
                        self.nodes[node].branches().map(|side| (side.child, point_gap_squared(&side.bounds, point)));
                    let [left, right] = children;
                    stack.extend(if left.1 <= right.1 { [right, left] } else { [left, right] });
                }
            }
        }
        found.map(|item| (best, item))
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

/// The squared distance of a point from a box, both relative to the tree's origin. Differences of numbers this near
/// round by less than the box was rounded outward.
fn point_gap_squared(bounds: &SmallBox, point: DVec3) -> f64 {
    let bounds = bounds.to_aabb();
    (bounds.min - point).max(point - bounds.max).max(DVec3::ZERO).length_squared()
}
