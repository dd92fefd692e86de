//! What a contour cuts off: floods that start on both sides of its traces and advance in step.
//!
//! A trace cuts the mesh edges that it crosses an odd number of times. From the ends of those edges, floods spread along
//! the other edges; the smallest advances first, floods that meet become one, and all stop when only the largest is
//! still running. What the finished ones hold is cut off, and is never larger than what is left. If everything merged,
//! the trace does not divide its sheet. Cost grows with what is cut off, not with the garment. (Baraff, Witkin and Kass
//! 2003, 5.4; Cha 2022, 3.1)
//!
//! A trace on cloth that crosses a closed body cuts off what is inside the body, larger or not.
//! Loop vertices lie on the cut: no flood enters them.

use super::assembly::{Assembly, PartKind};
use super::contour::{Contour, ContourEnd, Trace};
use super::kind::ContourKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_geometry::predicates::{IndexedPoint, Side, side_of_plane};
use unsnarl_geometry::{DVec3, EdgeId, Topology, VertexId};

/// Whether traces divide their sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// The two sides are apart.
    Divides,
    /// One side can be reached from the other.
    DoesNotDivide,
}

/// Which traces make up a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutTraces {
    /// One trace alone.
    One(Trace),
    /// Both together: they meet in the loop vertices.
    Both,
}

/// A cut through a sheet and what it cuts off.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The traces that make it.
    pub traces: CutTraces,
    /// Whether it divides the sheet; if not, nothing is cut off.
    pub separation: Separation,
    /// The vertices cut off when the smaller side is that of smaller area, sorted.
    pub smaller_by_area: Vec<VertexId>,
    /// The vertices cut off when the smaller side is that of fewer vertices, sorted.
    pub smaller_by_count: Vec<VertexId>,
}

/// The cuts of a contour: two for a closed one, one for LL and BBII, none for the others.
#[derive(Clone, Debug, Default)]
pub struct ContourRegions {
    /// The cuts.
    pub cuts: Vec<Cut>,
}

impl ContourRegions {
    /// How many vertices a trace cuts off, by vertex count. What both traces cut off together counts for the first.
    pub fn vertices_cut_off_by(&self, trace: Trace) -> usize {
        let counts = |cut: &&Cut| match cut.traces {
            CutTraces::One(one) => one == trace,
            CutTraces::Both => trace == Trace::First,
        };
        self.cuts.iter().filter(counts).map(|cut| cut.smaller_by_count.len()).sum()
    }
}

/// What a contour cuts off.
pub fn regions(assembly: &Assembly, positions: &[DVec3], contour: &Contour, kind: ContourKind) -> ContourRegions {
    let cut_along = |trace: Trace| cut_along_trace(assembly, positions, contour, kind, trace);
    let cuts = match (kind, contour.ends) {
        (ContourKind::Closed | ContourKind::Eight | ContourKind::Cross, _) => {
            Trace::BOTH.into_iter().filter_map(cut_along).collect()
        }
        (ContourKind::Bbii, Some([ContourEnd::Boundary(trace), _])) => cut_along(trace).into_iter().collect(),
        (ContourKind::Ll, _) => vec![cut_along_loop(assembly.topology(), positions, contour)],
        _ => Vec::new(),
    };
    ContourRegions { cuts }
}

/// The cut along one trace; `None` on a body, which is never cut.
fn cut_along_trace(
    assembly: &Assembly,
    positions: &[DVec3],
    contour: &Contour,
    kind: ContourKind,
    trace: Trace,
) -> Option<Cut> {
    let part_of = |trace: Trace| &assembly.parts()[assembly.part_of_triangle(contour.segments[0][trace.index()])];
    if part_of(trace).kind == PartKind::Body {
        return None;
    }
    let topology = assembly.topology();
    let mut sides = TraceSides::along(topology, contour, trace);
    let other = part_of(trace.other());
    if other.kind == PartKind::Body && other.is_closed {
        let inside = inside_body(topology, positions, contour, trace);
        let outside = sides.seeds.concat().into_iter().filter(|vertex| !inside.contains(vertex)).collect();
        let mut flood = Flood::new(topology, &sides.cut_edges, &[], vec![inside.clone(), outside]);
        let kept = flood.finish_first(|_| 1.0);
        return Some(Cut::new(CutTraces::One(trace), [kept.clone(), kept]));
    }
    if kind == ContourKind::Eight {
        sides.seeds = sides.seeds.concat().into_iter().map(|seed| vec![seed]).collect();
    }
    Some(Cut::flooded(CutTraces::One(trace), topology, positions, &sides, &[]))
}

/// The cut along both traces of a contour from loop vertex to loop vertex.
fn cut_along_loop(topology: &Topology, positions: &[DVec3], contour: &Contour) -> Cut {
    let mut sides = TraceSides::along(topology, contour, Trace::First);
    let second = TraceSides::along(topology, contour, Trace::Second);
    for edge in second.cut_edges {
        if !sides.cut_edges.remove(&edge) {
            sides.cut_edges.insert(edge);
        }
    }
    sides.seeds.extend(second.seeds);
    let blocked: Vec<VertexId> = contour.loop_vertices().collect();
    Cut::flooded(CutTraces::Both, topology, positions, &sides, &blocked)
}

impl Cut {
    fn new(traces: CutTraces, [by_area, by_count]: [Option<Vec<VertexId>>; 2]) -> Self {
        let separation = if by_count.is_some() { Separation::Divides } else { Separation::DoesNotDivide };
        Self {
            traces,
            separation,
            smaller_by_area: by_area.unwrap_or_default(),
            smaller_by_count: by_count.unwrap_or_default(),
        }
    }

    fn flooded(
        traces: CutTraces,
        topology: &Topology,
        positions: &[DVec3],
        sides: &TraceSides,
        blocked: &[VertexId],
    ) -> Self {
        let flood = || Flood::new(topology, &sides.cut_edges, blocked, sides.seeds.clone());
        let by_area = flood().finish_all_but_largest(|vertex| vertex_area(topology, positions, vertex));
        let by_count = flood().finish_all_but_largest(|_| 1.0);
        Self::new(traces, [by_area, by_count])
    }
}

fn vertex_area(topology: &Topology, positions: &[DVec3], vertex: VertexId) -> f64 {
    let area = |corners: [VertexId; 3]| {
        let [a, b, c] = corners.map(|corner| positions[corner.index()]);
        (b - a).cross(c - a).length()
    };
    topology.vertex_triangles(vertex).iter().map(|&triangle| area(topology.triangle(triangle)) / 6.0).sum()
}

/// The edges that a trace cuts and the vertices on its two sides.
struct TraceSides {
    cut_edges: FxHashSet<EdgeId>,
    seeds: Vec<Vec<VertexId>>,
}

impl TraceSides {
    /// Walks the trace, carrying along which end of each crossed edge is left and which is right.
    ///
    /// Along one edge the sides alternate, so of an odd number of crossings the majority tells the sides of its ends; an
    /// even number leaves its ends on one side, and the edge is not cut.
    fn along(topology: &Topology, contour: &Contour, trace: Trace) -> Self {
        let mut smaller_end_is_left: FxHashMap<EdgeId, (usize, usize)> = FxHashMap::default();
        let mut order: Vec<EdgeId> = Vec::new();
        let mut last: Option<(EdgeId, VertexId, VertexId)> = None;
        for point in contour.points.iter().filter(|point| point.edge_trace == trace) {
            let ends = topology.edge(point.edge);
            let (left, right) = match last {
                None => (ends[0], ends[1]),
                Some((edge, left, right)) if edge == point.edge => (right, left),
                Some((_, left, right)) => {
                    let other = |kept: VertexId| if ends[0] == kept { ends[1] } else { ends[0] };
                    if ends.contains(&left) { (left, other(left)) } else { (other(right), right) }
                }
            };
            last = Some((point.edge, left, right));
            let votes = smaller_end_is_left.entry(point.edge).or_insert_with(|| {
                order.push(point.edge);
                (0, 0)
            });
            if left == ends[0] { votes.0 += 1 } else { votes.1 += 1 }
        }
        let mut sides = Self { cut_edges: FxHashSet::default(), seeds: vec![Vec::new(), Vec::new()] };
        for edge in order {
            let (left_votes, right_votes) = smaller_end_is_left[&edge];
            if (left_votes + right_votes) % 2 == 0 {
                continue;
            }
            let [mut left, mut right] = topology.edge(edge);
            if right_votes > left_votes {
                std::mem::swap(&mut left, &mut right);
            }
            sides.cut_edges.insert(edge);
            sides.seeds[0].push(left);
            sides.seeds[1].push(right);
        }
        sides
    }
}

/// The ends of the crossed cloth edges that lie inside the body: on the negative side of the body's triangle there.
fn inside_body(topology: &Topology, positions: &[DVec3], contour: &Contour, trace: Trace) -> Vec<VertexId> {
    let mut votes: FxHashMap<VertexId, i32> = FxHashMap::default();
    let mut order = Vec::new();
    let at = |vertex: VertexId| IndexedPoint { vertex, position: positions[vertex.index()] };
    for point in contour.points.iter().filter(|point| point.edge_trace == trace) {
        let [a, b, c] = topology.triangle(point.triangle).map(at);
        for end in topology.edge(point.edge) {
            let vote = votes.entry(end).or_insert_with(|| {
                order.push(end);
                0
            });
            // A point below a counter-clockwise triangle has positive orientation.
            *vote += if side_of_plane(a, b, c, at(end)) == Side::Positive { 1 } else { -1 };
        }
    }
    order.into_iter().filter(|vertex| votes[vertex] > 0).collect()
}

/// Floods over the vertices, one per group of seeds.
struct Flood<'a> {
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
    fn new(
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
    fn finish_all_but_largest(&mut self, weight: impl Fn(VertexId) -> f64) -> Option<Vec<VertexId>> {
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

    /// Runs the first flood to its end; `None` if it meets another.
    fn finish_first(&mut self, weight: impl Fn(VertexId) -> f64) -> Option<Vec<VertexId>> {
        while !self.pools[0].finished && self.pools[0].merged_into.is_none() {
            self.advance(0, &weight);
        }
        let met = self.pools[0].merged_into.is_some() || self.pools.iter().any(|pool| pool.merged_into == Some(0));
        let mut members = std::mem::take(&mut self.pools[0].members);
        members.sort_unstable();
        (!met).then_some(members)
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
