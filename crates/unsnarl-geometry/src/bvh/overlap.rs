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

/// A subtree and its box.
type Subtree<'tree> = (Child, &'tree Aabb);

#[derive(Clone, Copy)]
enum Task<'tree> {
    Within(Child),
    Between(Subtree<'tree>, Subtree<'tree>),
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
        let (Some(ours), Some(theirs)) = (self.root(), other.root()) else { return Vec::new() };
        if !ours.1.overlaps(&theirs.1) {
            return Vec::new();
        }
        let mut tasks = vec![Task::Between((ours.0, &ours.1), (theirs.0, &theirs.1))];
        cut(&mut tasks, |task, out| self.expand(other, task, out));
        let plain = |a: u32, b: u32, out: &mut Vec<R>| visit(a as usize, b as usize, out);
        self.run(other, &tasks, &plain)
    }

    fn run<R: Send>(&self, other: &Bvh, tasks: &[Task<'_>], visit: &(impl Fn(u32, u32, &mut Vec<R>) + Sync)) -> Vec<R> {
        let lists: Vec<Vec<R>> = tasks
            .par_iter()
            .with_max_len(1)
            .map(|&task| {
                let mut out = Vec::new();
                match task {
                    Task::Within(child) => self.within(child, visit, &mut out),
                    Task::Between(ours, theirs) => self.between(other, ours, theirs, visit, &mut out),
                }
                out
            })
            .collect();
        lists.into_iter().flatten().collect()
    }

    /// All pairs inside one subtree.
    fn within<R>(&self, child: Child, visit: &impl Fn(u32, u32, &mut Vec<R>), out: &mut Vec<R>) {
        let Target::Node(index) = child.target() else { return };
        let node = &self.nodes[index];
        self.within(node.children[0], visit, out);
        self.within(node.children[1], visit, out);
        if node.boxes[0].overlaps(&node.boxes[1]) {
            self.between(self, node.child(0), node.child(1), visit, out);
        }
    }

    /// All pairs between two subtrees whose boxes overlap.
    fn between<R>(
        &self,
        other: &Bvh,
        ours: Subtree<'_>,
        theirs: Subtree<'_>,
        visit: &impl Fn(u32, u32, &mut Vec<R>),
        out: &mut Vec<R>,
    ) {
        if let (Target::Item(a), Target::Item(b)) = (ours.0.target(), theirs.0.target()) {
            visit(a, b, out);
        } else {
            self.open(other, ours, theirs, |ours, theirs| self.between(other, ours, theirs, visit, out));
        }
    }

    /// Calls `each` with the overlapping pairs one level below a pair that is not of two items: nodes are opened on both
    /// sides at once, since subtrees that meet are mostly of one size.
    #[inline]
    fn open<'tree>(
        &'tree self,
        other: &'tree Bvh,
        ours: Subtree<'tree>,
        theirs: Subtree<'tree>,
        mut each: impl FnMut(Subtree<'tree>, Subtree<'tree>),
    ) {
        let mut offer = |ours: Subtree<'tree>, theirs: Subtree<'tree>| {
            if ours.1.overlaps(theirs.1) {
                each(ours, theirs);
            }
        };
        match (ours.0.target(), theirs.0.target()) {
            (Target::Node(mine), Target::Node(their)) => {
                let (mine, their) = (&self.nodes[mine], &other.nodes[their]);
                for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    offer(mine.child(first), their.child(second));
                }
            }
            (Target::Node(mine), Target::Item(_)) => {
                let mine = &self.nodes[mine];
                offer(mine.child(0), theirs);
                offer(mine.child(1), theirs);
            }
            (Target::Item(_), Target::Node(their)) => {
                let their = &other.nodes[their];
                offer(ours, their.child(0));
                offer(ours, their.child(1));
            }
            (Target::Item(_), Target::Item(_)) => {}
        }
    }

    /// One level of the recursion as tasks; an item pair stays as it is.
    fn expand<'tree>(&'tree self, other: &'tree Bvh, task: Task<'tree>, out: &mut Vec<Task<'tree>>) {
        match task {
            Task::Within(child) => {
                let Target::Node(index) = child.target() else { return };
                let node = &self.nodes[index];
                out.extend(node.children.map(Task::Within));
                if node.boxes[0].overlaps(&node.boxes[1]) {
                    out.push(Task::Between(node.child(0), node.child(1)));
                }
            }
            Task::Between(ours, theirs) => match (ours.0.target(), theirs.0.target()) {
                (Target::Item(_), Target::Item(_)) => out.push(task),
                _ => self.open(other, ours, theirs, |ours, theirs| out.push(Task::Between(ours, theirs))),
            },
        }
    }
}

/// Expands all tasks level by level until there are enough, or expanding adds none.
fn cut<'tree>(tasks: &mut Vec<Task<'tree>>, expand: impl Fn(Task<'tree>, &mut Vec<Task<'tree>>)) {
    for _ in 0..12 {
        if tasks.len() >= TASK_COUNT {
            break;
        }
        let mut next = Vec::with_capacity(3 * tasks.len());
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
