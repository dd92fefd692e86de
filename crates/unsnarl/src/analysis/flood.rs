//! Floods over the vertices of a mesh that advance in step, the smallest first.
//!
//! Guarantees: what the finished floods hold is never heavier than what the last one holds; the cost is that of the
//! finished floods, not of the mesh.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_geometry::{EdgeId, Topology, VertexId};

/// Floods over the vertices, one per group of seeds.
pub(super) struct Flood<'a> {
    topology: &'a Topology,
    cut_edges: &'a FxHashSet<EdgeId>,
    blocked: &'a [VertexId],
    owner: FxHashMap<VertexId, usize>,
    pools: Vec<Pool>,
}

/// What one flood holds. A pool that merged into another is empty and points to it.
#[derive(Default)]
struct Pool {
    merged_into: Option<usize>,
    members: Vec<VertexId>,
    front: VecDeque<VertexId>,
    weight: f64,
    finished: bool,
}

impl<'a> Flood<'a> {
    /// One flood per group; none passes a cut edge or enters a blocked vertex.
    pub(super) fn new(
        topology: &'a Topology,
        cut_edges: &'a FxHashSet<EdgeId>,
        blocked: &'a [VertexId],
        groups: Vec<Vec<VertexId>>,
    ) -> Self {
        let mut flood = Self { topology, cut_edges, blocked, owner: FxHashMap::default(), pools: Vec::new() };
        for group in groups {
            let pool = flood.pools.len();
            flood.pools.push(Pool::default());
            for seed in group {
                flood.claim(pool, seed);
            }
        }
        flood
    }

    /// Advances the smallest flood until only the largest is unfinished; `None` if all became one.
    pub(super) fn finish_all_but_largest(&mut self, weight: impl Fn(VertexId) -> f64) -> Option<Vec<VertexId>> {
        self.weigh_seeds(&weight);
        let seeded = self.pools.iter().filter(|pool| !pool.members.is_empty()).count();
        loop {
            let running = self.running();
            let [smallest, _, ..] = running[..] else { break };
            self.advance(smallest, &weight);
        }
        let alone = self.pools.iter().filter(|pool| !pool.members.is_empty()).count() <= 1;
        if seeded > 1 && alone {
            return None;
        }
        let mut cut_off: Vec<VertexId> =
            self.pools.iter_mut().filter(|pool| pool.finished).flat_map(|pool| pool.members.drain(..)).collect();
        cut_off.sort_unstable();
        Some(cut_off)
    }

    fn weigh_seeds(&mut self, weight: &impl Fn(VertexId) -> f64) {
        for pool in &mut self.pools {
            pool.weight = pool.members.iter().map(|&vertex| weight(vertex)).sum();
        }
    }

    /// The unfinished floods, the smallest first.
    fn running(&self) -> Vec<usize> {
        let mut running: Vec<usize> = (0..self.pools.len())
            .filter(|&pool| !self.pools[pool].finished && !self.pools[pool].members.is_empty())
            .collect();
        running.sort_by(|&a, &b| self.pools[a].weight.total_cmp(&self.pools[b].weight).then(a.cmp(&b)));
        running
    }

    /// Takes one vertex from a flood's front and claims its neighbours.
    fn advance(&mut self, pool: usize, weight: &impl Fn(VertexId) -> f64) {
        let Some(vertex) = self.pools[pool].front.pop_front() else {
            self.pools[pool].finished = true;
            return;
        };
        let topology = self.topology;
        let mut pool = pool;
        for &edge in topology.vertex_edges(vertex) {
            if self.cut_edges.contains(&edge) {
                continue;
            }
            let neighbour = topology.other_end(edge, vertex);
            let (holder, is_new) = self.claim(pool, neighbour);
            pool = holder;
            if is_new {
                self.pools[pool].weight += weight(neighbour);
            }
        }
    }

    /// Gives a vertex to a flood, or merges the flood with the one that has it. Returns the flood that has it now.
    fn claim(&mut self, pool: usize, vertex: VertexId) -> (usize, bool) {
        if self.blocked.contains(&vertex) {
            return (pool, false);
        }
        let Some(&claimed) = self.owner.get(&vertex) else {
            self.owner.insert(vertex, pool);
            self.pools[pool].members.push(vertex);
            self.pools[pool].front.push_back(vertex);
            return (pool, true);
        };
        let holder = self.root(claimed);
        if holder == pool {
            return (pool, false);
        }
        let (kept, gone) = (holder.min(pool), holder.max(pool));
        let absorbed = std::mem::take(&mut self.pools[gone]);
        self.pools[gone].merged_into = Some(kept);
        let pool = &mut self.pools[kept];
        pool.finished = false;
        pool.members.extend(absorbed.members);
        pool.front.extend(absorbed.front);
        pool.weight += absorbed.weight;
        (kept, false)
    }

    fn root(&self, mut pool: usize) -> usize {
        while let Some(next) = self.pools[pool].merged_into {
            pool = next;
        }
        pool
    }
}
