//! Top-down construction: each range of items is split where the surface areas of the two halves cost least, tried at
//! the borders of 16 bins along the longest axis of the centres.

use super::{Child, Node};
use crate::aabb::Aabb;
use crate::math::DVec3;

const BIN_COUNT: usize = 16;
/// Ranges above this size are built by two threads. The result does not depend on it.
const PARALLEL_SIZE: usize = 4096;

/// The nodes over all items, in depth-first order; `n` items make `n - 1` nodes.
pub(super) fn nodes(boxes: &[Aabb]) -> Vec<Node> {
    if boxes.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
    let empty = Node { boxes: [Aabb::EMPTY; 2], children: [Child::item(0); 2] };
    let mut nodes = vec![empty; boxes.len() - 1];
    fill(boxes, &mut order, &mut nodes, 0);
    nodes
}

/// Fills `nodes`, whose first element has index `offset` in the tree, with the tree over the items in `order`.
fn fill(boxes: &[Aabb], order: &mut [u32], nodes: &mut [Node], offset: usize) -> Aabb {
    let middle = split(boxes, order);
    let parallel = order.len() > PARALLEL_SIZE;
    let (left, right) = order.split_at_mut(middle);
    let (node, below) = nodes.split_first_mut().expect("a range of n items has n - 1 nodes");
    let (left_nodes, right_nodes) = below.split_at_mut(left.len() - 1);
    let right_offset = offset + left.len();
    node.children = [child(left, offset + 1), child(right, right_offset)];
    let mut fill_left = || subtree(boxes, left, left_nodes, offset + 1);
    let mut fill_right = || subtree(boxes, right, right_nodes, right_offset);
    let (left_box, right_box) = if parallel { rayon::join(fill_left, fill_right) } else { (fill_left(), fill_right()) };
    node.boxes = [left_box, right_box];
    left_box.union(right_box)
}

fn child(order: &[u32], offset: usize) -> Child {
    match order {
        [item] => Child::item(*item),
        _ => Child::node(offset),
    }
}

fn subtree(boxes: &[Aabb], order: &mut [u32], nodes: &mut [Node], offset: usize) -> Aabb {
    match order {
        [item] => boxes[*item as usize],
        _ => fill(boxes, order, nodes, offset),
    }
}

/// Reorders the items so that those before the returned place belong left. Both sides get at least one.
fn split(boxes: &[Aabb], order: &mut [u32]) -> usize {
    let centers = Aabb::of_points(order.iter().map(|&item| twice_center(boxes, item)));
    let extent = centers.extent();
    let axis = if extent.x >= extent.y && extent.x >= extent.z {
        0
    } else if extent.y >= extent.z {
        1
    } else {
        2
    };
    let scale = BIN_COUNT as f64 / extent[axis];
    if !(scale.is_finite() && extent[axis] > 0.0) {
        return order.len() / 2;
    }
    let bin_of = |item: u32| {
        let along = (twice_center(boxes, item)[axis] - centers.min[axis]) * scale;
        (along as usize).min(BIN_COUNT - 1)
    };
    let cut = best_cut(order.iter().map(|&item| (bin_of(item), boxes[item as usize])));
    let mut middle = 0;
    for at in 0..order.len() {
        if bin_of(order[at]) < cut {
            order.swap(at, middle);
            middle += 1;
        }
    }
    if middle == 0 || middle == order.len() { order.len() / 2 } else { middle }
}

fn twice_center(boxes: &[Aabb], item: u32) -> DVec3 {
    boxes[item as usize].min + boxes[item as usize].max
}

/// The bin border with the least `area x count` on both sides together.
fn best_cut(items: impl Iterator<Item = (usize, Aabb)>) -> usize {
    let mut bins = [(Aabb::EMPTY, 0usize); BIN_COUNT];
    for (bin, bounds) in items {
        bins[bin].0 = bins[bin].0.union(bounds);
        bins[bin].1 += 1;
    }
    let mut right_cost = [0.0; BIN_COUNT];
    let mut right = (Aabb::EMPTY, 0usize);
    for cut in (1..BIN_COUNT).rev() {
        right = (right.0.union(bins[cut].0), right.1 + bins[cut].1);
        right_cost[cut] = half_area(&right.0) * right.1 as f64;
    }
    let mut best = (f64::INFINITY, BIN_COUNT / 2);
    let mut left = (Aabb::EMPTY, 0usize);
    for cut in 1..BIN_COUNT {
        left = (left.0.union(bins[cut - 1].0), left.1 + bins[cut - 1].1);
        let cost = half_area(&left.0) * left.1 as f64 + right_cost[cut];
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
