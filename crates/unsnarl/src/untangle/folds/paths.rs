//! Shortest paths on the sheet as it is at rest: along edges, and from triangle to triangle.
//!
//! Guarantees: of equally short paths the one found first by the numbers of vertices or triangles.

use crate::model::Model;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use unsnarl_geometry::{EdgeId, TriangleId, VertexId};

/// A path: what it visits, and the edges that it runs along or crosses, one fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<T> {
    /// From the start to the end.
    pub places: Vec<T>,
    /// Between them.
    pub edges: Vec<EdgeId>,
}

/// The shortest path along edges from a vertex to the nearest that is an end, over edges and vertices that are open.
pub fn along_edges(
    model: &Model,
    start: VertexId,
    is_end: impl Fn(VertexId) -> bool,
    cost: impl Fn(EdgeId) -> f64,
    is_open: impl Fn(EdgeId, VertexId) -> bool,
) -> Option<Path<VertexId>> {
    let topology = &model.topology;
    shortest(start, is_end, |at| {
        let ways = topology.vertex_edges(at).iter().map(move |&edge| (edge, topology.other_end(edge, at)));
        ways.filter(|&(edge, to)| is_open(edge, to)).map(|(edge, to)| (to, edge, cost(edge))).collect()
    })
}

/// The shortest path over triangles from one to another, crossing open edges.
pub fn over_triangles(
    model: &Model,
    start: TriangleId,
    end: TriangleId,
    is_open: impl Fn(EdgeId) -> bool,
) -> Option<Path<TriangleId>> {
    let topology = &model.topology;
    let size = |triangle: TriangleId| model.rest_shapes[triangle.index()].lengths().iter().sum::<f64>() / 9.0;
    shortest(
        start,
        |at| at == end,
        |at| {
            let edges = topology.triangle_edges(at).into_iter().filter(|&edge| is_open(edge));
            let ways = edges.flat_map(|edge| topology.edge_triangles(edge).iter().map(move |&to| (edge, to)));
            ways.filter(|&(_, to)| to != at).map(|(edge, to)| (to, edge, size(at) + size(to))).collect()
        },
    )
}

/// The rest length of every edge, metres: the mean over its triangles.
pub fn rest_lengths(model: &Model) -> Vec<f64> {
    let length = |edge: usize| {
        let edge = EdgeId::new(edge);
        let triangles = model.topology.edge_triangles(edge);
        let of = |&triangle: &TriangleId| {
            let side = model.topology.triangle_edges(triangle).iter().position(|other| *other == edge);
            side.map_or(0.0, |side| model.rest_shapes[triangle.index()].lengths()[side])
        };
        triangles.iter().map(of).sum::<f64>() / triangles.len().max(1) as f64
    };
    (0..model.topology.edge_count()).map(length).collect()
}

#[derive(PartialEq)]
struct Cost(f64);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

fn shortest<T: Copy + Ord>(
    start: T,
    is_end: impl Fn(T) -> bool,
    ways: impl Fn(T) -> Vec<(T, EdgeId, f64)>,
) -> Option<Path<T>> {
    let mut reached: BTreeMap<T, (f64, Option<(T, EdgeId)>)> = BTreeMap::from([(start, (0.0, None))]);
    let mut open = BinaryHeap::from([Reverse((Cost(0.0), start))]);
    while let Some(Reverse((Cost(far), at))) = open.pop() {
        if is_end(at) {
            let (mut places, mut edges) = (vec![at], Vec::new());
            while let Some((before, edge)) = places.last().and_then(|last| reached.get(last)?.1) {
                places.push(before);
                edges.push(edge);
            }
            places.reverse();
            edges.reverse();
            return Some(Path { places, edges });
        }
        if reached.get(&at).is_some_and(|known| far > known.0) {
            continue;
        }
        for (to, edge, cost) in ways(at) {
            let way = far + cost;
            if reached.get(&to).is_none_or(|known| way < known.0) {
                reached.insert(to, (way, Some((at, edge))));
                open.push(Reverse((Cost(way), to)));
            }
        }
    }
    None
}
