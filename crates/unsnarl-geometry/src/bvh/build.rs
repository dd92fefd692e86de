//! Construction in two parts: the items are sorted along a space-filling curve (Morton order), whose cells of up to 64
//! items make the upper tree; each cell is then cut into leaves of eight, again and again in the middle of its leaves
//! along the longest axis of its centres.
//!
//! The curve costs a few nanoseconds an item and is good enough from afar; the cuts make the tight leaves on which
//! traversal spends its time. Splitting by surface area throughout gives traversals that are a tenth faster at five
//! times the price.

use super::small_box::{LANES, Leaf, SmallBox};
use super::{Child, Node};
use rayon::prelude::*;

/// Ranges above this size are built by two threads. The result does not depend on it.
const PARALLEL_SIZE: usize = 4096;
/// A cell of the curve is not cut further by it when it holds this many items.
const CELL_SIZE: usize = 64;
/// Places along an axis that the curve tells apart.
const AXIS_BITS: u32 = 8;
/// Bits of a place on the curve that one sorting pass looks at: half of all.
const DIGIT_BITS: u32 = 3 * AXIS_BITS / 2;

/// Twice the middle of an item's box.
#[derive(Clone, Copy)]
struct Center {
    at: [f32; 3],
    item: u32,
}

impl Center {
    fn of(item: usize, bounds: SmallBox) -> Self {
        Self { at: bounds.twice_center(), item: item as u32 }
    }
}

const NOWHERE: Center = Center { at: [0.0; 3], item: 0 };

/// The nodes and the leaves over all items, in depth-first order, without boxes; `n` leaves make `n - 1` nodes.
///
/// Boxes are asked for several times, and codes and centres let go as soon as they have served: together they would be
/// as large as the tree.
pub(super) fn tree(
    item_count: usize,
    box_of: impl Fn(usize) -> SmallBox + Sync,
    labels_of: impl Fn(usize) -> [u32; 3] + Sync,
) -> (Vec<Node>, Vec<Leaf>) {
    let codes = sorted_codes(item_count, &box_of);
    let in_order = codes.par_iter().with_min_len(PARALLEL_SIZE);
    let mut items: Vec<Center> = in_order.map(|code| Center::of(code.item(), box_of(code.item()))).collect();
    let cells = Cells::of(&codes);
    drop(codes);
    let leaf_count = cells.leaf_starts[cells.count()];
    let mut nodes = vec![Node::EMPTY; leaf_count.saturating_sub(1)];
    cells.fill(0..cells.count(), &mut items, &mut nodes, 0);
    let order: Vec<u32> = items.into_iter().map(|center| center.item).collect();
    let chunks: Vec<&[u32]> =
        cells.item_starts.windows(2).flat_map(|cell| order[cell[0]..cell[1]].chunks(LANES)).collect();
    let leaf = |chunk: &&[u32]| Leaf::of(chunk.iter().map(|&item| (item, labels_of(item as usize))));
    let leaves = chunks.par_iter().with_min_len(PARALLEL_SIZE / LANES).map(leaf).collect();
    (nodes, leaves)
}

/// A place on the curve in the high half, the item there in the low half.
#[derive(Clone, Copy)]
struct Code(u64);

impl Code {
    fn item(self) -> usize {
        self.0 as u32 as usize
    }

    fn place(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// All items along the curve; those at one place in index order.
fn sorted_codes(item_count: usize, box_of: &(impl Fn(usize) -> SmallBox + Sync)) -> Vec<Code> {
    let items = || (0..item_count).into_par_iter().with_min_len(PARALLEL_SIZE);
    let center = |item: usize| box_of(item).twice_center();
    let (min, extent) =
        if item_count > PARALLEL_SIZE { range_of_all(items().map(center)) } else { range((0..item_count).map(center)) };
    let longest = extent.into_iter().fold(0.0, f32::max);
    let scale = if longest > 0.0 { (1u32 << AXIS_BITS) as f32 / longest } else { 0.0 };
    let digit = |at: f32, min: f32| spread((((at - min) * scale) as u32).min((1 << AXIS_BITS) - 1));
    let code = |index: usize| {
        let at = center(index);
        let [x, y, z] = [0, 1, 2].map(|axis| digit(at[axis], min[axis]));
        Code(u64::from(x << 2 | y << 1 | z) << 32 | index as u64)
    };
    let codes: Vec<Code> = items().map(code).collect();
    let half_sorted = sort_by_digit(&codes, 0);
    drop(codes);
    sort_by_digit(&half_sorted, DIGIT_BITS)
}

/// Two zero bits after each of the lowest bits.
fn spread(bits: u32) -> u32 {
    let bits = (bits | bits << 8) & 0x0000_f00f;
    let bits = (bits | bits << 4) & 0x000c_30c3;
    (bits | bits << 2) & 0x0024_9249
}

/// A stable counting sort by some bits of the place.
fn sort_by_digit(codes: &[Code], shift: u32) -> Vec<Code> {
    let digit = |code: &Code| (code.place() >> shift) as usize & ((1 << DIGIT_BITS) - 1);
    let mut next = vec![0u32; 1 << DIGIT_BITS];
    for code in codes {
        next[digit(code)] += 1;
    }
    let mut start = 0;
    for count in &mut next {
        start += std::mem::replace(count, start);
    }
    let mut sorted = vec![Code(0); codes.len()];
    for code in codes {
        let slot = &mut next[digit(code)];
        sorted[*slot as usize] = *code;
        *slot += 1;
    }
    sorted
}

/// Ranges of items that the curve keeps together.
struct Cells {
    /// The first place on the curve of every cell.
    places: Vec<u32>,
    /// Where its items begin, and at last where all end.
    item_starts: Vec<usize>,
    /// Where its leaves begin, and at last where all end.
    leaf_starts: Vec<usize>,
}

impl Cells {
    fn of(codes: &[Code]) -> Self {
        let mut cells = Self { places: Vec::new(), item_starts: vec![0], leaf_starts: vec![0] };
        if !codes.is_empty() {
            cells.add(codes, 3 * AXIS_BITS);
        }
        cells
    }

    /// Adds the cells of a range whose places agree above the lowest `bits`.
    fn add(&mut self, codes: &[Code], bits: u32) {
        if codes.len() <= CELL_SIZE || bits == 0 {
            self.places.push(codes[0].place());
            self.item_starts.push(self.item_starts[self.count() - 1] + codes.len());
            self.leaf_starts.push(self.leaf_starts[self.count() - 1] + codes.len().div_ceil(LANES));
            return;
        }
        let high = codes.partition_point(|code| code.place() >> (bits - 1) & 1 == 0);
        for half in [&codes[..high], &codes[high..]] {
            if !half.is_empty() {
                self.add(half, bits - 1);
            }
        }
    }

    fn count(&self) -> usize {
        self.places.len()
    }

    /// Fills the nodes over some cells, the first of which has index `first_node` in the tree.
    fn fill(&self, cells: std::ops::Range<usize>, items: &mut [Center], nodes: &mut [Node], first_node: usize) {
        let first_leaf = |cell: usize| self.leaf_starts[cell];
        if cells.len() < 2 {
            let leaf = self.leaf_starts[cells.start];
            return fill_cell(items, nodes, Place { node: first_node, leaf });
        }
        let highest_difference = (self.places[cells.start] ^ self.places[cells.end - 1]).ilog2();
        let is_low = |place: &u32| place >> highest_difference & 1 == 0;
        let middle = cells.start + self.places[cells.clone()].partition_point(is_low);
        let left_leaves = first_leaf(middle) - first_leaf(cells.start);
        let parallel = items.len() > PARALLEL_SIZE;
        let (left, right) = items.split_at_mut(self.item_starts[middle] - self.item_starts[cells.start]);
        let (node, below) = nodes.split_first_mut().expect("a range of n leaves has n - 1 nodes");
        let (left_nodes, right_nodes) = below.split_at_mut(left_leaves - 1);
        let left_place = Place { node: first_node + 1, leaf: first_leaf(cells.start) };
        let right_place = Place { node: first_node + left_leaves, leaf: first_leaf(middle) };
        node.children =
            [child(left_leaves, left_place), child(first_leaf(cells.end) - first_leaf(middle), right_place)];
        let mut fill_left = || self.fill(cells.start..middle, left, left_nodes, left_place.node);
        let mut fill_right = || self.fill(middle..cells.end, right, right_nodes, right_place.node);
        if parallel {
            rayon::join(fill_left, fill_right);
        } else {
            fill_left();
            fill_right();
        }
    }
}

/// Where in the tree a range begins.
#[derive(Clone, Copy)]
struct Place {
    node: usize,
    leaf: usize,
}

fn child(leaf_count: usize, place: Place) -> Child {
    if leaf_count == 1 { Child::leaf(place.leaf) } else { Child::node(place.node) }
}

/// Fills the nodes over the items of one cell, and sorts them into leaves.
fn fill_cell(items: &mut [Center], nodes: &mut [Node], place: Place) {
    let leaf_count = items.len().div_ceil(LANES);
    if leaf_count < 2 {
        return;
    }
    let left_leaves = leaf_count / 2;
    let middle = left_leaves * LANES;
    cut(items, middle);
    let (left, right) = items.split_at_mut(middle);
    let (node, below) = nodes.split_first_mut().expect("a range of n leaves has n - 1 nodes");
    let (left_nodes, right_nodes) = below.split_at_mut(left_leaves - 1);
    let left_place = Place { node: place.node + 1, leaf: place.leaf };
    let right_place = Place { node: place.node + left_leaves, leaf: place.leaf + left_leaves };
    node.children = [child(left_leaves, left_place), child(leaf_count - left_leaves, right_place)];
    fill_cell(left, left_nodes, left_place);
    fill_cell(right, right_nodes, right_place);
}

/// Reorders the items so that those before `middle` come first along the longest axis.
fn cut(items: &mut [Center], middle: usize) {
    let (_, extent) = range(items.iter().map(|center| center.at));
    let longer = usize::from(extent[1] > extent[0]);
    let axis = if extent[2] > extent[longer] { 2 } else { longer };
    if items.len() > CELL_SIZE {
        // Too many at one place of the curve to be worth a faster way.
        items.select_nth_unstable_by_key(middle, |center| (ordered_bits(center.at[axis]), center.item));
        return;
    }
    let mut keys = [0u64; CELL_SIZE];
    let mut copies = [NOWHERE; CELL_SIZE];
    let (keys, copies) = (&mut keys[..items.len()], &mut copies[..items.len()]);
    copies.copy_from_slice(items);
    for (at, (key, center)) in keys.iter_mut().zip(items.iter()).enumerate() {
        *key = u64::from(ordered_bits(center.at[axis])) << 32 | at as u64;
    }
    keys.select_nth_unstable(middle);
    for (center, key) in items.iter_mut().zip(keys) {
        *center = copies[*key as u32 as usize];
    }
}

/// As [`range`], in parallel: the least and the largest do not depend on the order.
fn range_of_all(centers: impl ParallelIterator<Item = [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    let nothing = || ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    let joined = |(mut min, mut max): ([f32; 3], [f32; 3]), (low, high): ([f32; 3], [f32; 3])| {
        for axis in 0..3 {
            min[axis] = if low[axis] < min[axis] { low[axis] } else { min[axis] };
            max[axis] = if high[axis] > max[axis] { high[axis] } else { max[axis] };
        }
        (min, max)
    };
    let (min, max) = centers.map(|at| (at, at)).reduce(nothing, joined);
    (min, [0, 1, 2].map(|axis| max[axis] - min[axis]))
}

/// The smallest coordinates of the centres, and how far the largest lie from them.
fn range(centers: impl Iterator<Item = [f32; 3]>) -> ([f32; 3], [f32; 3]) {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for center in centers {
        for axis in 0..3 {
            let at = center[axis];
            min[axis] = if at < min[axis] { at } else { min[axis] };
            max[axis] = if at > max[axis] { at } else { max[axis] };
        }
    }
    (min, [0, 1, 2].map(|axis| max[axis] - min[axis]))
}

/// Bits that order as the floats do.
fn ordered_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    bits ^ (((bits as i32 >> 31) as u32) | 0x8000_0000)
}
