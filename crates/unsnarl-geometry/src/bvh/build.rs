//! Top-down construction: each range of items is split where the surface areas of the two halves cost least, tried at
//! the borders of bins along the longest axis of the centres: 16 of them, or 4 for few items.

use super::{Child, Node};
use crate::aabb::Aabb;
use crate::math::DVec3;

/// Up to this many items are few.
const FEW: usize = 8;
/// Ranges above this size are built by two threads. The result does not depend on it.
const PARALLEL_SIZE: usize = 4096;

/// An item with its box beside it: ranges of them are read from end to end.
#[derive(Clone, Copy)]
pub(super) struct Boxed {
    pub(super) bounds: Aabb,
    pub(super) item: u32,
}

/// The nodes over all items, in depth-first order; `n` items make `n - 1` nodes.
pub(super) fn nodes(items: &mut [Boxed]) -> Vec<Node> {
    if items.len() < 2 {
        return Vec::new();
    }
    let empty = Node { boxes: [Aabb::EMPTY; 2], children: [Child::item(0); 2] };
    let mut nodes = vec![empty; items.len() - 1];
    fill(items, &mut nodes, 0);
    nodes
}

/// Fills `nodes`, whose first element has index `offset` in the tree, with the tree over some items.
fn fill(items: &mut [Boxed], nodes: &mut [Node], offset: usize) -> Aabb {
    let middle = split(items);
    let parallel = items.len() > PARALLEL_SIZE;
    let (left, right) = items.split_at_mut(middle);
    let (node, below) = nodes.split_first_mut().expect("a range of n items has n - 1 nodes");
    let (left_nodes, right_nodes) = below.split_at_mut(left.len() - 1);
    let right_offset = offset + left.len();
    node.children = [child(left, offset + 1), child(right, right_offset)];
    let mut fill_left = || subtree(left, left_nodes, offset + 1);
    let mut fill_right = || subtree(right, right_nodes, right_offset);
    let (left_box, right_box) = if parallel { rayon::join(fill_left, fill_right) } else { (fill_left(), fill_right()) };
    node.boxes = [left_box, right_box];
    left_box.union(right_box)
}

fn child(items: &[Boxed], offset: usize) -> Child {
    match items {
        [only] => Child::item(only.item),
        _ => Child::node(offset),
    }
}

fn subtree(items: &mut [Boxed], nodes: &mut [Node], offset: usize) -> Aabb {
    match items {
        [only] => only.bounds,
        _ => fill(items, nodes, offset),
    }
}

/// Reorders the items so that those before the returned place belong left. Both sides get at least one.
fn split(items: &mut [Boxed]) -> usize {
    match items.len() {
        2 => 1,
        3..=FEW => split_in_bins::<4>(items),
        _ => split_in_bins::<16>(items),
    }
}

fn split_in_bins<const BINS: usize>(items: &mut [Boxed]) -> usize {
    let centers = Aabb::of_points(items.iter().map(twice_center));
    let extent = centers.extent();
    let axis = if extent.x >= extent.y && extent.x >= extent.z {
        0
    } else if extent.y >= extent.z {
        1
    } else {
        2
    };
    let scale = BINS as f64 / extent[axis];
    if !(scale.is_finite() && extent[axis] > 0.0) {
        return items.len() / 2;
    }
    let start = centers.min[axis];
    let bin_of = |boxed: &Boxed| {
        let along = (boxed.bounds.min[axis] + boxed.bounds.max[axis] - start) * scale;
        (along as i32 as usize).min(BINS - 1)
    };
    let cut = best_cut::<BINS>(items.iter().map(|boxed| (bin_of(boxed), boxed.bounds)));
    let mut middle = 0;
    for at in 0..items.len() {
        if bin_of(&items[at]) < cut {
            items.swap(at, middle);
            middle += 1;
        }
    }
    if middle == 0 || middle == items.len() { items.len() / 2 } else { middle }
}

fn twice_center(boxed: &Boxed) -> DVec3 {
    boxed.bounds.min + boxed.bounds.max
}

/// The bin border with the least `area x count` on both sides together.
fn best_cut<const BINS: usize>(items: impl Iterator<Item = (usize, Aabb)>) -> usize {
    let mut bins = [(Aabb::EMPTY, 0u32); BINS];
    for (bin, bounds) in items {
        bins[bin].0 = bins[bin].0.union(bounds);
        bins[bin].1 += 1;
    }
    let mut right_cost = [0.0; BINS];
    let mut right = (Aabb::EMPTY, 0u32);
    for cut in (1..BINS).rev() {
        right = (right.0.union(bins[cut].0), right.1 + bins[cut].1);
        right_cost[cut] = half_area(&right.0) * f64::from(right.1);
    }
    let mut best = (f64::INFINITY, BINS / 2);
    let mut left = (Aabb::EMPTY, 0u32);
    for cut in 1..BINS {
        left = (left.0.union(bins[cut - 1].0), left.1 + bins[cut - 1].1);
        let cost = half_area(&left.0) * f64::from(left.1) + right_cost[cut];
        if cost < best.0 {
            best = (cost, cut);
        }
    }
    best.1
}

fn half_area(bounds: &Aabb) -> f64 {
    if bounds.is_empty() {
        return 0.0;
    }
    let extent = bounds.extent();
    extent.x * extent.y + extent.y * extent.z + extent.z * extent.x
}
