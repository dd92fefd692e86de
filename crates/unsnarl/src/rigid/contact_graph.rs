//! Which bodies rest on which: an edge from each body to those that would fall into it, groups that rest on each other
//! in a circle as one, and levels upward from what does not move. (Bridson 2003, 4.8.1)

/// Where contact begins: the level of each body, 0 for those that do not move.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Levels {
    pub level: Vec<u32>,
    /// Whether a body rests, directly or not, on one that does not move.
    pub is_held: Vec<bool>,
}

impl Levels {
    /// From edges (below, above) between bodies. A level is one more than the highest level below its group.
    pub(super) fn of(count: usize, edges: &[[usize; 2]], is_fixed: impl Fn(usize) -> bool) -> Self {
        let group = components(count, edges);
        let groups = group.iter().map(|&group| group + 1).max().unwrap_or(0);
        let mut level = vec![1u32; groups];
        let mut held = vec![false; groups];
        for body in (0..count).filter(|&body| is_fixed(body)) {
            (level[group[body]], held[group[body]]) = (0, true);
        }
        // Groups are numbered so that edges lead from lower numbers to higher ones.
        let mut sorted: Vec<[usize; 2]> = edges.iter().map(|&[below, above]| [group[below], group[above]]).collect();
        sorted.retain(|[below, above]| below != above);
        sorted.sort_unstable();
        for [below, above] in sorted {
            level[above] = level[above].max(level[below] + 1);
            held[above] |= held[below];
        }
        let of = |body: usize| if is_fixed(body) { 0 } else { level[group[body]].max(1) };
        Self { level: (0..count).map(of).collect(), is_held: group.iter().map(|&group| held[group]).collect() }
    }

    /// All bodies that move on one level.
    pub(super) fn flat(count: usize, is_fixed: impl Fn(usize) -> bool) -> Self {
        Self { level: (0..count).map(|body| u32::from(!is_fixed(body))).collect(), is_held: vec![false; count] }
    }

    /// Levels in use, with the ground's.
    pub(super) fn count(&self) -> usize {
        self.level.iter().map(|&level| level as usize + 1).max().unwrap_or(0)
    }
}

/// Strongly connected components, numbered in topological order: two depth-first searches.
fn components(count: usize, edges: &[[usize; 2]]) -> Vec<usize> {
    let mut finished = Vec::with_capacity(count);
    let forward = Adjacency::new(count, edges.iter().copied());
    let mut seen = vec![false; count];
    for root in 0..count {
        forward.search(root, &mut seen, |body| finished.push(body));
    }
    let backward = Adjacency::new(count, edges.iter().map(|&[from, to]| [to, from]));
    let mut seen = vec![false; count];
    let mut group = vec![0; count];
    let mut groups = 0;
    for &root in finished.iter().rev() {
        if !seen[root] {
            backward.search(root, &mut seen, |body| group[body] = groups);
            groups += 1;
        }
    }
    group
}

/// Neighbours of each body, in one list.
struct Adjacency {
    first: Vec<usize>,
    to: Vec<usize>,
}

impl Adjacency {
    fn new(count: usize, edges: impl Iterator<Item = [usize; 2]>) -> Self {
        let mut edges: Vec<[usize; 2]> = edges.collect();
        edges.sort_unstable();
        let first = (0..=count).map(|body| edges.partition_point(|edge| edge[0] < body)).collect();
        Self { first, to: edges.into_iter().map(|[_, to]| to).collect() }
    }

    /// Depth first from a root; `leave` hears of each body when all beyond it are done.
    fn search(&self, root: usize, seen: &mut [bool], mut leave: impl FnMut(usize)) {
        if std::mem::replace(&mut seen[root], true) {
            return;
        }
        let mut path = vec![(root, self.first[root])];
        while let Some((body, next)) = path.last_mut() {
            if *next == self.first[*body + 1] {
                leave(*body);
                path.pop();
                continue;
            }
            let to = self.to[*next];
            *next += 1;
            if !std::mem::replace(&mut seen[to], true) {
                path.push((to, self.first[to]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;

    #[test]
    fn a_stack_has_a_level_each_and_a_circle_has_one() {
        let stack = Levels::of(4, &[[0, 1], [1, 2], [2, 3]], |body| body == 0);
        assert_eq!(stack.level, [0, 1, 2, 3]);
        assert_eq!(stack.is_held, [true; 4]);
        let circle: Vec<[usize; 2]> = (1..6).flat_map(|body| [[0, body], [body, body % 5 + 1]]).collect();
        assert_eq!(Levels::of(6, &circle, |body| body == 0).level, [0, 1, 1, 1, 1, 1]);
        let adrift = Levels::of(3, &[[1, 2]], |body| body == 0);
        assert_eq!((adrift.level, adrift.is_held), (vec![0, 1, 2], vec![true, false, false]));
    }

    /// Brute force: two bodies share a group exactly if each can be reached from the other.
    #[test]
    fn groups_are_those_that_reach_each_other() {
        let mut random = Random::new(11);
        for _ in 0..200 {
            let count = 2 + (random.bits() % 9) as usize;
            let pick = |random: &mut Random| (random.bits() % count as u64) as usize;
            let edges: Vec<[usize; 2]> = (0..count + 3).map(|_| [pick(&mut random), pick(&mut random)]).collect();
            let mut reach: Vec<Vec<bool>> = (0..count).map(|k| (0..count).map(|l| k == l).collect()).collect();
            for _ in 0..count {
                for &[from, to] in &edges {
                    for start in 0..count {
                        reach[start][to] |= reach[start][from];
                    }
                }
            }
            let group = components(count, &edges);
            for (k, l) in (0..count).flat_map(|k| (0..count).map(move |l| (k, l))) {
                assert_eq!(group[k] == group[l], reach[k][l] && reach[l][k], "{edges:?}");
                assert!(!reach[k][l] || group[k] <= group[l], "{edges:?}");
            }
        }
    }
}
