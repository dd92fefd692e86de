//! Pairs of items whose boxes meet: within one tree, or between two.
//!
//! The caller's function sees every pair and pushes what it keeps, so candidate pairs are never stored. Work is cut into
//! tasks at the top of the tree; each task has its own list, and the lists are joined in task order. Cut and order
//! depend on the tree alone.

use super::small_box::{LANES, Leaf, SmallBox, lanes_of};
use super::{Bvh, Child, Target};
use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

/// Enough tasks to keep a few dozen threads busy to the end.
const TASK_COUNT: usize = 512;
/// Fewer leaves than this are not worth a task.
const LEAVES_PER_TASK: usize = 16;
/// A tree of fewer leaves is done before another thread would have woken up.
const SMALL_TREE: usize = 192;

/// Whether equal labels mean the same.
#[derive(Clone, Copy)]
enum Labels {
    OfOneTree,
    OfTwoTrees,
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
        let Some(root) = self.root() else { return Vec::new() };
        let mut tasks = vec![Task::Within(root.child)];
        cut(&mut tasks, self.leaves.len(), |task, out| self.expand(self, task, out));
        let ordered = |a: usize, b: usize, out: &mut Vec<R>| visit(a.min(b), a.max(b), out);
        self.run(self, &tasks, Labels::OfOneTree, &ordered)
    }

    /// Calls `visit(a, b, out)` for every item `a` of this tree and `b` of another with overlapping boxes, as
    /// [`Bvh::self_overlaps`] does.
    pub fn overlaps_with<R: Send>(&self, other: &Self, visit: impl Fn(usize, usize, &mut Vec<R>) + Sync) -> Vec<R> {
        let other = &other.seen_from(self);
        let (Some(ours), Some(theirs)) = (self.root(), other.root()) else { return Vec::new() };
        if !ours.bounds.overlaps(&theirs.bounds) {
            return Vec::new();
        }
        let mut tasks = vec![Task::Between(ours.child, theirs.child)];
        cut(&mut tasks, self.leaves.len() + other.leaves.len(), |task, out| self.expand(other, task, out));
        self.run(other, &tasks, Labels::OfTwoTrees, &visit)
    }

    /// This tree with its boxes relative to the origin of another.
    fn seen_from(&self, other: &Self) -> Self {
        let by = other.origin - self.origin;
        let mut boxes = vec![SmallBox::EMPTY; self.item_count];
        for leaf in &self.leaves {
            for (lane, item) in leaf.items() {
                boxes[item] = leaf.lane(lane).shifted(by);
            }
        }
        let mut seen = self.clone();
        seen.refit_small(other.origin, |leaf| leaf.refit(|item| boxes[item]));
        seen
    }

    fn run<R: Send>(
        &self,
        other: &Self,
        tasks: &[Task],
        labels: Labels,
        visit: &(impl Fn(usize, usize, &mut Vec<R>) + Sync),
    ) -> Vec<R> {
        let level = Level::new();
        let carried_out = |&task: &Task| {
            let mut out = Vec::new();
            dispatch!(level, simd => self.carry_out(simd, other, task, labels, &mut |a, b| visit(a, b, &mut out)));
            out
        };
        if let [only] = tasks {
            return carried_out(only);
        }
        let lists: Vec<Vec<R>> = tasks.par_iter().with_max_len(1).map(carried_out).collect();
        lists.into_iter().flatten().collect()
    }

    #[inline(always)]
    fn carry_out<S: Simd>(
        &self,
        simd: S,
        other: &Self,
        task: Task,
        labels: Labels,
        visit: &mut impl FnMut(usize, usize),
    ) {
        match task {
            Task::Within(child) => self.within(simd, child, visit),
            Task::Between(ours, theirs) => self.between(simd, other, labels, &mut vec![(ours, theirs)], visit),
        }
    }

    /// All pairs inside one subtree.
    #[inline(always)]
    fn within<S: Simd>(&self, simd: S, child: Child, visit: &mut impl FnMut(usize, usize)) {
        let mut pending = vec![child];
        let mut pairs = Vec::with_capacity(128);
        while let Some(child) = pending.pop() {
            match child.target() {
                Target::Leaf(leaf) => pairs_in_leaf(simd, &self.leaves[leaf], visit),
                Target::Node(index) => {
                    let node = &self.nodes[index];
                    pending.extend([node.children[1], node.children[0]]);
                    if node.side(0).overlaps(&node.side(1)) {
                        pairs.push((node.children[0], node.children[1]));
                        self.between(simd, self, Labels::OfOneTree, &mut pairs, visit);
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
        other: &Self,
        labels: Labels,
        stack: &mut Vec<(Child, Child)>,
        visit: &mut impl FnMut(usize, usize),
    ) {
        while let Some((ours, theirs)) = stack.pop() {
            match (ours.target(), theirs.target()) {
                (Target::Leaf(mine), Target::Leaf(their)) => {
                    let mine = (&self.leaves[mine], &self.leaf_boxes[mine]);
                    let their = (&other.leaves[their], &other.leaf_boxes[their]);
                    pairs_of_leaves(simd, mine, their, labels, visit);
                }
                _ => self.open(simd, other, ours, theirs, |ours, theirs| stack.push((ours, theirs))),
            }
        }
    }

    /// Calls `each` with the overlapping pairs one level below a pair that is not of two leaves: nodes are opened on both
    /// sides at once, since subtrees that meet are mostly of one size.
    #[inline(always)]
    fn open<S: Simd>(&self, simd: S, other: &Self, ours: Child, theirs: Child, mut each: impl FnMut(Child, Child)) {
        match (ours.target(), theirs.target()) {
            (Target::Node(mine), Target::Node(their)) => {
                let (mine, their) = (&self.nodes[mine], &other.nodes[their]);
                for pair in lanes_of(mine.meeting(simd, their)) {
                    each(mine.children[pair / 2], their.children[pair % 2]);
                }
            }
            (Target::Node(mine), Target::Leaf(leaf)) => {
                for branch in self.nodes[mine].branches() {
                    if branch.bounds.overlaps(&other.leaf_boxes[leaf]) {
                        each(branch.child, theirs);
                    }
                }
            }
            (Target::Leaf(leaf), Target::Node(their)) => {
                for branch in other.nodes[their].branches() {
                    if branch.bounds.overlaps(&self.leaf_boxes[leaf]) {
                        each(ours, branch.child);
                    }
                }
            }
            (Target::Leaf(_), Target::Leaf(_)) => {}
        }
    }

    /// One level of the recursion as tasks; a pair of leaves stays as it is.
    fn expand(&self, other: &Self, task: Task, out: &mut Vec<Task>) {
        match task {
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
            Task::Between(ours, theirs) => match (ours.target(), theirs.target()) {
                (Target::Leaf(_), Target::Leaf(_)) => out.push(task),
                _ => dispatch!(Level::new(), simd => {
                    self.open(simd, other, ours, theirs, |ours, theirs| out.push(Task::Between(ours, theirs)));
                }),
            },
        }
    }
}

#[inline(always)]
fn pairs_in_leaf<S: Simd>(simd: S, leaf: &Leaf, visit: &mut impl FnMut(usize, usize)) {
    for lane in 0..LANES - 1 {
        let later = 0xfe << lane;
        let met = leaf.meeting(simd, &leaf.lane(lane)) & later;
        for other in lanes_of(met & !leaf.sharing_within(lane)) {
            visit(leaf.item(lane), leaf.item(other));
        }
    }
}

/// The items of each leaf that meet the other leaf at all, then each of the fewer against all of the more.
#[inline(always)]
fn pairs_of_leaves<S: Simd>(
    simd: S,
    (ours, our_bounds): (&Leaf, &SmallBox),
    (theirs, their_bounds): (&Leaf, &SmallBox),
    labels: Labels,
    visit: &mut impl FnMut(usize, usize),
) {
    let our_lanes = ours.meeting(simd, their_bounds);
    if our_lanes == 0 {
        return;
    }
    let their_lanes = theirs.meeting(simd, our_bounds);
    if our_lanes.count_ones() <= their_lanes.count_ones() {
        lanes_against_leaf(simd, (ours, our_lanes), theirs, labels, visit);
    } else {
        lanes_against_leaf(simd, (theirs, their_lanes), ours, labels, &mut |their, our| visit(our, their));
    }
}

#[inline(always)]
fn lanes_against_leaf<S: Simd>(
    simd: S,
    (few, lanes): (&Leaf, u32),
    many: &Leaf,
    labels: Labels,
    visit: &mut impl FnMut(usize, usize),
) {
    for lane in lanes_of(lanes) {
        let met = many.meeting(simd, &few.lane(lane));
        if met == 0 {
            continue;
        }
        let passed_over = match labels {
            Labels::OfOneTree => many.sharing(simd, few, lane),
            Labels::OfTwoTrees => 0,
        };
        for other in lanes_of(met & !passed_over) {
            visit(few.item(lane), many.item(other));
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

    fn brute_force(ours: &[Aabb], theirs: &[Aabb], keep: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
        let all = (0..ours.len()).flat_map(|a| (0..theirs.len()).map(move |b| (a, b)));
        all.filter(|&(a, b)| keep(a, b) && ours[a].overlaps(&theirs[b])).collect()
    }

    proptest! {
        #[test]
        fn every_overlapping_pair_is_visited_once(built in boxes(), moved in boxes()) {
            let mut tree = Bvh::build(&built);
            let mut found = tree.self_overlaps(|a, b, out| out.push((a, b)));
            found.sort_unstable();
            prop_assert_eq!(found, brute_force(&built, &built, |a, b| a < b));

            let shared = built.len().min(moved.len());
            let now: Vec<Aabb> = (0..built.len()).map(|at| if at < shared { moved[at] } else { built[at] }).collect();
            tree.refit(|item| now[item]);
            let mut found = tree.self_overlaps(|a, b, out| out.push((a, b)));
            found.sort_unstable();
            prop_assert_eq!(found, brute_force(&now, &now, |a, b| a < b));
        }

        #[test]
        fn two_trees_meet_where_their_items_do(ours in boxes(), theirs in boxes()) {
            let mut found = Bvh::build(&ours).overlaps_with(&Bvh::build(&theirs), |a, b, out| out.push((a, b)));
            found.sort_unstable();
            prop_assert_eq!(found, brute_force(&ours, &theirs, |_, _| true));
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
