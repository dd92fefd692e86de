//! Pairs of items whose boxes meet.
//!
//! The caller's function sees every pair and pushes what it keeps, so candidate pairs are never stored. Work is cut into
//! tasks at the top of the tree; each task has its own list, and the lists are joined in task order. Cut and order
//! depend on the tree alone.

use super::small_box::{LANES, Leaf, SmallBox, lanes_of};
use super::{Branch, Bvh, Child, Groups, Target};
use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

/// Enough tasks to keep a few dozen threads busy to the end.
const TASK_COUNT: usize = 512;
/// Fewer leaves than this are not worth a task.
const LEAVES_PER_TASK: usize = 16;
/// A tree of fewer leaves is done before another thread would have woken up.
const SMALL_TREE: usize = 192;

/// Pairs are visited this many at a time: the loads of one then overlap with the work on another, which they do not
/// between the steps of the traversal.
const BATCH: usize = 256;

/// What is done at the leaves of a traversal.
pub(crate) trait LeafVisitor {
    /// One leaf.
    fn within<S: Simd>(&mut self, simd: S, leaf: usize);
    /// Two leaves whose boxes overlap.
    fn between<S: Simd>(&mut self, simd: S, left: usize, right: usize);
}

#[derive(Clone, Copy)]
enum Task {
    Within(Child),
    Between(Child, Child),
}

impl Bvh {
    /// Calls `visit(a, b, out)` for every pair of different items with overlapping boxes and no common label, `a < b`, in
    /// parallel; returns what it pushed, in an order that depends on the tree alone.
    pub fn self_overlaps<R: Send>(&self, visit: impl Fn(usize, usize, &mut Vec<R>) + Sync) -> Vec<R> {
        self.self_overlaps_between(&Groups::default(), visit)
    }

    /// As [`Bvh::self_overlaps`], passing over subtrees that belong to one group. Pairs of one group may still be visited.
    pub fn self_overlaps_between<R: Send>(
        &self,
        groups: &Groups,
        visit: impl Fn(usize, usize, &mut Vec<R>) + Sync,
    ) -> Vec<R> {
        let empty = || ItemPairs { tree: self, batch: Vec::with_capacity(BATCH), visit: &visit, out: Vec::new() };
        let mut lists = self.traverse(groups, empty, ItemPairs::into_list);
        if lists.len() == 1 { lists.swap_remove(0) } else { joined(lists) }
    }

    /// Shows a visitor every leaf and every pair of leaves whose boxes overlap, passing over subtrees of one group. The
    /// traversal is cut into tasks, each with a visitor of its own; what they end with comes in task order.
    pub(crate) fn traverse<V: LeafVisitor, R: Send>(
        &self,
        groups: &Groups,
        visitor: impl Fn() -> V + Sync,
        end: impl Fn(V) -> R + Sync,
    ) -> Vec<R> {
        let Some(root) = self.root() else { return Vec::new() };
        let mut tasks = vec![Task::Within(root.child)];
        cut(&mut tasks, self.leaves.len(), |task, out| self.expand(groups, task, out));
        let level = Level::new();
        let carried_out = |&task: &Task| {
            let mut visitor = visitor();
            dispatch!(level, simd => self.carry_out(simd, task, groups, &mut visitor));
            end(visitor)
        };
        if let [only] = tasks.as_slice() {
            return vec![carried_out(only)];
        }
        tasks.par_iter().with_max_len(1).map(carried_out).collect()
    }

    #[inline(always)]
    fn carry_out<S: Simd>(&self, simd: S, task: Task, groups: &Groups, visitor: &mut impl LeafVisitor) {
        match task {
            Task::Within(child) => self.within(simd, child, groups, visitor),
            Task::Between(left, right) => self.between(simd, &mut vec![(left, right)], groups, visitor),
        }
    }

    /// All pairs inside one subtree.
    #[inline(always)]
    fn within<S: Simd>(&self, simd: S, child: Child, groups: &Groups, visitor: &mut impl LeafVisitor) {
        let mut pending = vec![child];
        let mut pairs = Vec::with_capacity(128);
        while let Some(child) = pending.pop() {
            if groups.of(child) != Groups::NONE {
                continue;
            }
            match child.target() {
                Target::Leaf(leaf) => visitor.within(simd, leaf),
                Target::Node(index) => {
                    let node = &self.nodes[index];
                    pending.extend([node.children[1], node.children[0]]);
                    if node.side(0).overlaps(&node.side(1)) && !groups.unite(node.children[0], node.children[1]) {
                        pairs.push((node.children[0], node.children[1]));
                        self.between(simd, &mut pairs, groups, visitor);
                    }
                }
            }
        }
    }

    /// All pairs between the subtrees on the stack, whose boxes overlap.
    #[inline(always)]
    fn between<S: Simd>(
        &self,
        simd: S,
        stack: &mut Vec<(Child, Child)>,
        groups: &Groups,
        visitor: &mut impl LeafVisitor,
    ) {
        while let Some((left, right)) = stack.pop() {
            match (left.target(), right.target()) {
                (Target::Leaf(left), Target::Leaf(right)) => visitor.between(simd, left, right),
                _ => self.open(simd, left, right, |left, right| {
                    if !groups.unite(left, right) {
                        stack.push((left, right));
                    }
                }),
            }
        }
    }

    /// Calls `each` with the overlapping pairs one level below a pair that is not of two leaves: nodes are opened on both
    /// sides at once, since subtrees that meet are mostly of one size.
    #[inline(always)]
    fn open<S: Simd>(&self, simd: S, left: Child, right: Child, mut each: impl FnMut(Child, Child)) {
        match (left.target(), right.target()) {
            (Target::Node(ours), Target::Node(theirs)) => {
                let (ours, theirs) = (&self.nodes[ours], &self.nodes[theirs]);
                for pair in lanes_of(ours.meeting(simd, theirs)) {
                    each(ours.children[pair / 2], theirs.children[pair % 2]);
                }
            }
            (Target::Node(node), Target::Leaf(leaf)) => {
                self.branches_at(node, leaf).for_each(|child| each(child, right));
            }
            (Target::Leaf(leaf), Target::Node(node)) => {
                self.branches_at(node, leaf).for_each(|child| each(left, child));
            }
            (Target::Leaf(_), Target::Leaf(_)) => {}
        }
    }

    /// The children of a node that meet a leaf.
    #[inline(always)]
    fn branches_at(&self, node: usize, leaf: usize) -> impl Iterator<Item = Child> + '_ {
        let meeting = move |branch: &Branch| branch.bounds.overlaps(&self.leaf_boxes[leaf]);
        self.nodes[node].branches().into_iter().filter(meeting).map(|branch| branch.child)
    }

    /// One level of the recursion as tasks; a pair of leaves stays as it is.
    fn expand(&self, groups: &Groups, task: Task, out: &mut Vec<Task>) {
        match task {
            Task::Within(child) if groups.of(child) != Groups::NONE => {}
            Task::Between(left, right) if groups.unite(left, right) => {}
            Task::Within(child) => match child.target() {
                Target::Leaf(_) => out.push(task),
                Target::Node(index) => {
                    let node = &self.nodes[index];
                    out.extend(node.children.map(Task::Within));
                    if node.side(0).overlaps(&node.side(1)) {
                        out.push(Task::Between(node.children[0], node.children[1]));
                    }
                }
            },
            Task::Between(left, right) => match (left.target(), right.target()) {
                (Target::Leaf(_), Target::Leaf(_)) => out.push(task),
                _ => dispatch!(Level::new(), simd => {
                    self.open(simd, left, right, |left, right| out.push(Task::Between(left, right)));
                }),
            },
        }
    }
}

/// Lists in one.
pub(crate) fn joined<R>(lists: Vec<Vec<R>>) -> Vec<R> {
    let mut all = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    lists.into_iter().for_each(|mut list| all.append(&mut list));
    all
}

/// Pairs of items, shown to the caller's function a batch at a time.
struct ItemPairs<'a, R, F> {
    tree: &'a Bvh,
    batch: Vec<(u32, u32)>,
    visit: &'a F,
    out: Vec<R>,
}

impl<R, F: Fn(usize, usize, &mut Vec<R>)> ItemPairs<'_, R, F> {
    fn visit_all(&mut self) {
        for &(a, b) in &self.batch {
            (self.visit)(a.min(b) as usize, a.max(b) as usize, &mut self.out);
        }
        self.batch.clear();
    }

    #[inline(always)]
    fn gather(&mut self, a: u32, b: u32) {
        self.batch.push((a, b));
        if self.batch.len() == BATCH {
            self.visit_all();
        }
    }

    fn into_list(mut self) -> Vec<R> {
        self.visit_all();
        self.out
    }
}

impl<R, F: Fn(usize, usize, &mut Vec<R>)> LeafVisitor for ItemPairs<'_, R, F> {
    #[inline(always)]
    fn within<S: Simd>(&mut self, simd: S, leaf: usize) {
        let tree = self.tree;
        pairs_in_leaf(simd, &tree.leaves[leaf], &mut |a, b| self.gather(a, b));
    }

    #[inline(always)]
    fn between<S: Simd>(&mut self, simd: S, left: usize, right: usize) {
        let (leaves, boxes) = (&self.tree.leaves, &self.tree.leaf_boxes);
        pairs_of_leaves(simd, &leaves[left], (&leaves[right], &boxes[right]), &mut |a, b| self.gather(a, b));
    }
}

#[inline(always)]
fn pairs_in_leaf<S: Simd>(simd: S, leaf: &Leaf, visit: &mut impl FnMut(u32, u32)) {
    for lane in 0..LANES - 1 {
        let strangers = 0xfe << lane & !leaf.sharing_within(lane);
        if strangers & 0xff == 0 {
            continue;
        }
        for other in lanes_of(leaf.meeting(simd, &leaf.lane(lane)) & strangers) {
            visit(leaf.item(lane), leaf.item(other));
        }
    }
}

/// The items of one leaf that meet the box around the other, each against all of the other.
#[inline(always)]
fn pairs_of_leaves<S: Simd>(
    simd: S,
    ours: &Leaf,
    (theirs, their_bounds): (&Leaf, &SmallBox),
    visit: &mut impl FnMut(u32, u32),
) {
    for lane in lanes_of(ours.meeting(simd, their_bounds)) {
        let met = theirs.meeting(simd, &ours.lane(lane));
        if met == 0 {
            continue;
        }
        for other in lanes_of(met & !theirs.sharing(simd, ours, lane)) {
            visit(ours.item(lane), theirs.item(other));
        }
    }
}

/// Expands all tasks level by level until there are enough, or expanding adds none.
fn cut(tasks: &mut Vec<Task>, leaf_count: usize, expand: impl Fn(Task, &mut Vec<Task>)) {
    let enough = if leaf_count < SMALL_TREE { 1 } else { TASK_COUNT.min(leaf_count / LEAVES_PER_TASK) };
    for _ in 0..12 {
        if tasks.len() >= enough {
            break;
        }
        let mut next = Vec::with_capacity(4 * tasks.len());
        for &task in tasks.iter() {
            expand(task, &mut next);
        }
        *tasks = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aabb::Aabb;
    use crate::math::DVec3;
    use proptest::prelude::*;

    fn boxes() -> impl Strategy<Value = Vec<Aabb>> {
        let corner = || prop::array::uniform3(0u8..12);
        prop::collection::vec((corner(), prop::array::uniform3(0u8..4)), 0..60).prop_map(|rows| {
            rows.into_iter()
                .map(|(min, extent)| {
                    let min = DVec3::from(min.map(f64::from));
                    Aabb { min, max: min + DVec3::from(extent.map(f64::from)) }
                })
                .collect()
        })
    }

    fn brute_force(boxes: &[Aabb]) -> Vec<(usize, usize)> {
        let all = (0..boxes.len()).flat_map(|a| (a + 1..boxes.len()).map(move |b| (a, b)));
        all.filter(|&(a, b)| boxes[a].overlaps(&boxes[b])).collect()
    }

    proptest! {
        #[test]
        fn every_overlapping_pair_is_visited_once(built in boxes(), moved in boxes()) {
            let mut tree = Bvh::build(&built);
            let mut found = tree.self_overlaps(|a, b, out| out.push((a, b)));
            found.sort_unstable();
            prop_assert_eq!(found, brute_force(&built));

            let shared = built.len().min(moved.len());
            let now: Vec<Aabb> = (0..built.len()).map(|at| if at < shared { moved[at] } else { built[at] }).collect();
            tree.refit(|item| now[item]);
            let mut found = tree.self_overlaps(|a, b, out| out.push((a, b)));
            found.sort_unstable();
            prop_assert_eq!(found, brute_force(&now));
        }

        #[test]
        fn a_query_finds_what_meets_the_region(items in boxes(), region in boxes()) {
            let tree = Bvh::build(&items);
            for region in region.iter().take(5) {
                let mut found = Vec::new();
                tree.query(region, |item| found.push(item));
                found.sort_unstable();
                prop_assert_eq!(found, (0..items.len()).filter(|&at| items[at].overlaps(region)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn order_does_not_depend_on_threads() {
        let boxes: Vec<Aabb> = (0..3000u32)
            .map(|at| {
                let corner = DVec3::new(f64::from(at % 37), f64::from(at % 53), f64::from(at % 11));
                Aabb { min: corner, max: corner + DVec3::splat(1.5) }
            })
            .collect();
        let pairs = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Bvh::build(&boxes).self_overlaps(|a, b, out| out.push((a, b))))
        };
        assert_eq!(pairs(1), pairs(3));
    }
}
