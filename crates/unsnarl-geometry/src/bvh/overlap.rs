//! Pairs of items whose boxes meet: within one tree, or between two.
//!
//! The caller's function sees every pair and pushes what it keeps, so candidate pairs are never stored. Work is cut into
//! tasks at the top of the tree; each task has its own list, and the lists are joined in task order. Cut and order
//! depend on the tree alone.

use super::{Bvh, Child, Target};
use crate::aabb::Aabb;
use rayon::prelude::*;

/// Enough tasks to keep a few dozen threads busy to the end.
const TASK_COUNT: usize = 512;

/// A subtree, by the node above it and its side there: the highest bits are the node, the lowest the side.
#[derive(Clone, Copy)]
struct Slot(u32);

impl Slot {
    #[inline]
    fn new(node: usize, side: usize) -> Self {
        Self((node as u32) << 1 | side as u32)
    }

    #[inline]
    fn both(node: usize) -> [Self; 2] {
        [Self::new(node, 0), Self::new(node, 1)]
    }
}

#[derive(Clone, Copy)]
enum Task {
    Within(Child),
    Between(Slot, Slot),
}

impl Bvh {
    /// Calls `visit(a, b, out)` for every pair of different items with overlapping boxes, `a < b`, in parallel; returns
    /// what it pushed, in an order that depends on the tree alone.
    pub fn self_overlaps<R: Send>(&self, visit: impl Fn(usize, usize, &mut Vec<R>) + Sync) -> Vec<R> {
        let Some((root, _)) = self.root() else { return Vec::new() };
        let mut tasks = vec![Task::Within(root)];
        cut(&mut tasks, |task, out| self.expand(self, task, out));
        let ordered = |a: u32, b: u32, out: &mut Vec<R>| visit(a.min(b) as usize, a.max(b) as usize, out);
        self.run(self, &tasks, &ordered)
    }

    /// Calls `visit(a, b, out)` for every item `a` of this tree and `b` of another with overlapping boxes, as
    /// [`Bvh::self_overlaps`] does.
    pub fn overlaps_with<R: Send>(&self, other: &Bvh, visit: impl Fn(usize, usize, &mut Vec<R>) + Sync) -> Vec<R> {
        let mut out = Vec::new();
        if self.item_count == 1 {
            other.query(&self.lone_box, |item| visit(0, item, &mut out));
        } else if other.item_count == 1 {
            self.query(&other.lone_box, |item| visit(item, 0, &mut out));
        } else if self.item_count > 1 && other.item_count > 1 {
            let mut tasks = Vec::new();
            self.offer(other, Slot::both(0), Slot::both(0), &mut |ours, theirs| {
                tasks.push(Task::Between(ours, theirs));
            });
            cut(&mut tasks, |task, out| self.expand(other, task, out));
            let plain = |a: u32, b: u32, out: &mut Vec<R>| visit(a as usize, b as usize, out);
            return self.run(other, &tasks, &plain);
        }
        out
    }

    fn run<R: Send>(&self, other: &Bvh, tasks: &[Task], visit: &(impl Fn(u32, u32, &mut Vec<R>) + Sync)) -> Vec<R> {
        let lists: Vec<Vec<R>> = tasks
            .par_iter()
            .with_max_len(1)
            .map(|&task| {
                let mut out = Vec::new();
                let mut stack = Vec::with_capacity(128);
                match task {
                    Task::Within(child) => self.within(child, visit, &mut stack, &mut out),
                    Task::Between(ours, theirs) => {
                        between((self, ours), (other, theirs), visit, &mut stack, &mut out);
                    }
                }
                out
            })
            .collect();
        lists.into_iter().flatten().collect()
    }

    /// All pairs inside one subtree.
    fn within<R>(
        &self,
        child: Child,
        visit: &impl Fn(u32, u32, &mut Vec<R>),
        stack: &mut Vec<(u32, u32)>,
        out: &mut Vec<R>,
    ) {
        let Target::Node(index) = child.target() else { return };
        let node = &self.nodes[index];
        self.within(node.children[0], visit, stack, out);
        self.within(node.children[1], visit, stack, out);
        if node.boxes[0].overlaps(&node.boxes[1]) {
            between((self, Slot::new(index, 0)), (self, Slot::new(index, 1)), visit, stack, out);
        }
    }

    /// All items below a node whose boxes meet a box.
    fn below(&self, node: usize, bounds: &Aabb, each: &mut impl FnMut(u32)) {
        let node = &self.nodes[node];
        for side in 0..2 {
            if node.boxes[side].overlaps(bounds) {
                match node.children[side].target() {
                    Target::Item(item) => each(item),
                    Target::Node(node) => self.below(node, bounds, each),
                }
            }
        }
    }

    /// Calls `each` with the overlapping pairs one level below a pair that is not of two items: nodes are opened on both
    /// sides at once, since subtrees that meet are mostly of one size.
    #[inline]
    fn open(&self, other: &Bvh, ours: Slot, theirs: Slot, each: &mut impl FnMut(Slot, Slot)) {
        match (self.child(ours).target(), other.child(theirs).target()) {
            (Target::Node(mine), Target::Node(their)) => self.offer(other, Slot::both(mine), Slot::both(their), each),
            (Target::Node(mine), Target::Item(_)) => self.offer(other, Slot::both(mine), [theirs], each),
            (Target::Item(_), Target::Node(their)) => self.offer(other, [ours], Slot::both(their), each),
            (Target::Item(_), Target::Item(_)) => {}
        }
    }

    /// Calls `each` with the pairs whose boxes overlap.
    #[inline]
    fn offer<const OURS: usize, const THEIRS: usize>(
        &self,
        other: &Bvh,
        ours: [Slot; OURS],
        theirs: [Slot; THEIRS],
        each: &mut impl FnMut(Slot, Slot),
    ) {
        for first in ours {
            for second in theirs {
                if self.slot_box(first).overlaps(other.slot_box(second)) {
                    each(first, second);
                }
            }
        }
    }

    #[inline]
    fn child(&self, slot: Slot) -> Child {
        self.nodes[(slot.0 >> 1) as usize].children[(slot.0 & 1) as usize]
    }

    #[inline]
    fn slot_box(&self, slot: Slot) -> &Aabb {
        &self.nodes[(slot.0 >> 1) as usize].boxes[(slot.0 & 1) as usize]
    }

    /// One level of the recursion as tasks; an item pair stays as it is.
    fn expand(&self, other: &Bvh, task: Task, out: &mut Vec<Task>) {
        match task {
            Task::Within(child) => {
                let Target::Node(index) = child.target() else { return };
                let node = &self.nodes[index];
                out.extend(node.children.map(Task::Within));
                if node.boxes[0].overlaps(&node.boxes[1]) {
                    out.push(Task::Between(Slot::new(index, 0), Slot::new(index, 1)));
                }
            }
            Task::Between(ours, theirs) => match (self.child(ours).target(), other.child(theirs).target()) {
                (Target::Item(_), Target::Item(_)) => out.push(task),
                _ => self.open(other, ours, theirs, &mut |ours, theirs| out.push(Task::Between(ours, theirs))),
            },
        }
    }
}

/// All pairs between two subtrees whose boxes overlap.
fn between<R>(
    (mine, ours): (&Bvh, Slot),
    (their, theirs): (&Bvh, Slot),
    visit: &impl Fn(u32, u32, &mut Vec<R>),
    stack: &mut Vec<(u32, u32)>,
    out: &mut Vec<R>,
) {
    match (mine.child(ours).target(), their.child(theirs).target()) {
        (Target::Item(a), Target::Item(b)) => visit(a, b, out),
        (Target::Item(a), Target::Node(node)) => their.below(node, mine.slot_box(ours), &mut |b| visit(a, b, out)),
        (Target::Node(node), Target::Item(b)) => mine.below(node, their.slot_box(theirs), &mut |a| visit(a, b, out)),
        (Target::Node(first), Target::Node(second)) => stack.push((first as u32, second as u32)),
    }
    while let Some((first, second)) = stack.pop() {
        let (first, second) = (&mine.nodes[first as usize], &their.nodes[second as usize]);
        for (our_side, their_side) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (our_box, their_box) = (&first.boxes[our_side], &second.boxes[their_side]);
            if !our_box.overlaps(their_box) {
                continue;
            }
            match (first.children[our_side].target(), second.children[their_side].target()) {
                (Target::Item(a), Target::Item(b)) => visit(a, b, out),
                (Target::Item(a), Target::Node(node)) => their.below(node, our_box, &mut |b| visit(a, b, out)),
                (Target::Node(node), Target::Item(b)) => mine.below(node, their_box, &mut |a| visit(a, b, out)),
                (Target::Node(first), Target::Node(second)) => stack.push((first as u32, second as u32)),
            }
        }
    }
}

/// Expands all tasks level by level until there are enough, or expanding adds none.
fn cut(tasks: &mut Vec<Task>, expand: impl Fn(Task, &mut Vec<Task>)) {
    for _ in 0..12 {
        if tasks.len() >= TASK_COUNT {
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
