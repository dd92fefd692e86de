//! Floods over the vertices of a mesh that advance in step, the smallest first.
//!
//! Guarantees: what the finished floods hold is never heavier than what the last one holds; the cost is that of the
//! finished floods, not of the mesh.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use unsnarl_geometry::{EdgeId, Topology, VertexId};

/// Marks on the vertices and edges of a mesh, kept from flood to flood so that a small one does not pay for the mesh.
#[derive(Clone, Debug, Default)]
pub struct FloodMemory {
    /// Who claimed each vertex.
    owners: Vec<u32>,
    claimed: Vec<VertexId>,
    is_cut: Vec<bool>,
    cut_edges: Vec<EdgeId>,
}

const NOBODY: u32 = u32::MAX;

impl FloodMemory {
    /// Forgets the last flood.
    fn start(&mut self, topology: &Topology, cut_edges: &[EdgeId]) {
        for vertex in self.claimed.drain(..) {
            self.owners[vertex.index()] = NOBODY;
        }
        for edge in self.cut_edges.drain(..) {
            self.is_cut[edge.index()] = false;
        }
        self.owners.resize(topology.vertex_count(), NOBODY);
        self.is_cut.resize(topology.edge_count(), false);
        self.cut_edges.extend_from_slice(cut_edges);
        for edge in cut_edges {
            self.is_cut[edge.index()] = true;
        }
    }
}

/// Floods over the vertices, one per group of seeds.
pub(super) struct Flood<'a> {
    topology: &'a Topology,
    memory: &'a mut FloodMemory,
    blocked: &'a [VertexId],
    pools: Vec<Pool>,
    /// How many groups had a seed.
    seeded: usize,
    /// How many floods are not finished.
    running: usize,
}

/// Where floods start, and what none of them passes or enters.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) groups: &'a [Vec<VertexId>],
    pub(super) cut_edges: &'a [EdgeId],
    pub(super) blocked: &'a [VertexId],
}

/// How floods ended.
pub(super) struct Finished {
    /// What the finished ones hold, sorted; `None` if all became one.
    pub(super) cut_off: Option<Vec<VertexId>>,
    /// How many vertices the last one had reached.
    pub(super) held_by_largest: usize,
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
    /// One flood per group.
    pub(super) fn new(topology: &'a Topology, memory: &'a mut FloodMemory, sources: Sources<'a>) -> Self {
        memory.start(topology, sources.cut_edges);
        let blocked = sources.blocked;
        let mut flood = Self { topology, memory, blocked, pools: Vec::new(), seeded: 0, running: 0 };
        for group in sources.groups {
            let mut pool = flood.pools.len();
            flood.pools.push(Pool::default());
            flood.seeded += usize::from(group.iter().any(|seed| !blocked.contains(seed)));
            for &seed in group {
                pool = flood.claim(pool, seed).0;
            }
        }
        flood
    }

    /// Advances the smallest flood until only the largest is unfinished.
    pub(super) fn finish_all_but_largest(mut self, weight: impl Fn(VertexId) -> f64) -> Finished {
        for pool in &mut self.pools {
            pool.weight = pool.members.iter().map(|&vertex| weight(vertex)).sum();
        }
        let mut smallest: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        for (index, pool) in self.pools.iter().enumerate().filter(|(_, pool)| !pool.members.is_empty()) {
            smallest.push(Reverse((pool.weight.to_bits(), index)));
        }
        self.running = smallest.len();
        while self.running > 1 {
            let Some(Reverse((bits, pool))) = smallest.pop() else { break };
            let entry = &self.pools[pool];
            if entry.members.is_empty() || entry.finished || entry.weight.to_bits() != bits {
                continue;
            }
            if let Some(holder) = self.advance(pool, &weight) {
                // Weights are not negative, so their bits are in their order.
                smallest.push(Reverse((self.pools[holder].weight.to_bits(), holder)));
            }
        }
        let alone = self.pools.iter().filter(|pool| !pool.members.is_empty()).count() <= 1;
        if self.seeded > 1 && alone {
            return Finished { cut_off: None, held_by_largest: 0 };
        }
        let mut cut_off: Vec<VertexId> =
            self.pools.iter_mut().filter(|pool| pool.finished).flat_map(|pool| pool.members.drain(..)).collect();
        cut_off.sort_unstable();
        let held_by_largest = self.pools.iter().map(|pool| pool.members.len()).max().unwrap_or(0);
        Finished { cut_off: Some(cut_off), held_by_largest }
    }

    /// Takes one vertex from a flood's front and claims its neighbours. Returns the flood that goes on, if it does.
    fn advance(&mut self, mut pool: usize, weight: &impl Fn(VertexId) -> f64) -> Option<usize> {
        let Some(vertex) = self.pools[pool].front.pop_front() else {
            self.pools[pool].finished = true;
            self.running -= 1;
            return None;
        };
        let topology = self.topology;
        for &edge in topology.vertex_edges(vertex) {
            if self.memory.is_cut[edge.index()] {
                continue;
            }
            let neighbour = topology.other_end(edge, vertex);
            let (holder, is_new) = self.claim(pool, neighbour);
            pool = holder;
            if is_new {
                self.pools[pool].weight += weight(neighbour);
            }
        }
        Some(pool)
    }

    /// Gives a vertex to a flood, or merges the flood with the one that has it. Returns the flood that has it now.
    fn claim(&mut self, pool: usize, vertex: VertexId) -> (usize, bool) {
        if self.blocked.contains(&vertex) {
            return (pool, false);
        }
        let owner = self.memory.owners[vertex.index()];
        if owner == NOBODY {
            self.memory.owners[vertex.index()] = pool as u32;
            self.memory.claimed.push(vertex);
            self.pools[pool].members.push(vertex);
            self.pools[pool].front.push_back(vertex);
            return (pool, true);
        }
        let holder = self.root(owner as usize);
        if holder == pool { (pool, false) } else { (self.merge(pool, holder), false) }
    }

    /// Joins two floods into the one with more vertices. A finished flood has no neighbours left, so both are running.
    fn merge(&mut self, a: usize, b: usize) -> usize {
        let (kept, gone) = if self.pools[a].members.len() >= self.pools[b].members.len() { (a, b) } else { (b, a) };
        let absorbed = std::mem::take(&mut self.pools[gone]);
        self.pools[gone].merged_into = Some(kept);
        self.running = self.running.saturating_sub(1);
        let pool = &mut self.pools[kept];
        pool.members.extend(absorbed.members);
        pool.front.extend(absorbed.front);
        pool.weight += absorbed.weight;
        kept
    }

    fn root(&self, mut pool: usize) -> usize {
        while let Some(next) = self.pools[pool].merged_into {
            pool = next;
        }
        pool
    }
}
