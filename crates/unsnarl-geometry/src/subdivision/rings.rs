//! What surrounds a vertex: which of its edges are sharp, and its ring in order.

use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::topology::Topology;
use rayon::prelude::*;

/// What runs along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeKind {
    /// The surface is smooth across it.
    Smooth,
    /// A border or a crease: it is smooth along it.
    Sharp,
    /// Three triangles or more: it stays.
    Fixed,
}

/// The rule of an old vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VertexKind {
    /// Of its whole ring; also where one crease ends (a dart).
    Smooth,
    /// On a border or crease, between two others of it.
    Along([VertexId; 2]),
    /// It stays: three sharp edges or more, an edge of three triangles, one triangle or none.
    Corner,
}

/// The kinds of all edges.
#[derive(Clone, Debug)]
pub(super) struct EdgeKinds(Vec<EdgeKind>);

impl EdgeKinds {
    /// Borders, and the edges between the given pairs of vertices.
    pub(super) fn new(topology: &Topology, creases: &[[VertexId; 2]]) -> Self {
        let kind = |edge: usize| match topology.edge_triangles(EdgeId::new(edge)).len() {
            1 => EdgeKind::Sharp,
            2 => EdgeKind::Smooth,
            _ => EdgeKind::Fixed,
        };
        let mut kinds: Vec<EdgeKind> = (0..topology.edge_count()).into_par_iter().map(kind).collect();
        for edge in creases.iter().filter_map(|&[a, b]| topology.find_edge(a, b)) {
            if kinds[edge.index()] == EdgeKind::Smooth {
                kinds[edge.index()] = EdgeKind::Sharp;
            }
        }
        Self(kinds)
    }

    pub(super) fn of(&self, edge: EdgeId) -> EdgeKind {
        self.0[edge.index()]
    }

    /// The rule of a vertex.
    pub(super) fn of_vertex(&self, topology: &Topology, vertex: VertexId) -> VertexKind {
        if topology.vertex_triangles(vertex).len() < 2 {
            return VertexKind::Corner;
        }
        let mut ends = [vertex; 2];
        let mut count = 0;
        for &edge in topology.vertex_edges(vertex) {
            match self.of(edge) {
                EdgeKind::Smooth => continue,
                EdgeKind::Fixed => return VertexKind::Corner,
                EdgeKind::Sharp => {}
            }
            if count < 2 {
                ends[count] = topology.other_end(edge, vertex);
            }
            count += 1;
        }
        match count {
            0 | 1 => VertexKind::Smooth,
            2 => VertexKind::Along(ends),
            _ => VertexKind::Corner,
        }
    }

    /// Whether no edge of a vertex is sharp.
    pub(super) fn are_smooth_at(&self, topology: &Topology, vertex: VertexId) -> bool {
        topology.vertex_edges(vertex).iter().all(|&edge| self.of(edge) == EdgeKind::Smooth)
    }
}

/// Walks around a vertex from one of its edges, over edges of two triangles, and writes the ring into `ring`. Says
/// whether the walk came around through all triangles of the vertex.
pub(super) fn walk_around(topology: &Topology, vertex: VertexId, first: EdgeId, ring: &mut Vec<VertexId>) -> bool {
    ring.clear();
    let &[mut triangle, _] = topology.edge_triangles(first) else { return false };
    let mut edge = first;
    let most = topology.vertex_edges(vertex).len();
    loop {
        ring.push(topology.other_end(edge, vertex));
        edge = next_edge(topology, vertex, triangle, edge);
        if edge == first {
            return ring.len() == most;
        }
        let &[one, other] = topology.edge_triangles(edge) else { return false };
        triangle = if one == triangle { other } else { one };
        if ring.len() >= most {
            return false;
        }
    }
}

/// The other edge of a triangle at a vertex.
fn next_edge(topology: &Topology, vertex: VertexId, triangle: TriangleId, edge: EdgeId) -> EdgeId {
    let at_vertex = |&other: &EdgeId| other != edge && topology.edge(other).contains(&vertex);
    topology.triangle_edges(triangle).into_iter().find(at_vertex).unwrap_or(edge)
}

/// A ring in the direction in which the triangles of a vertex run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fan {
    /// The last neighbour is joined to the first.
    Closed,
    /// From border to border.
    Open,
}

/// Memory for [`oriented_fan`].
#[derive(Default)]
pub(super) struct FanMemory {
    /// The ring that was found.
    pub ring: Vec<VertexId>,
    /// For every triangle at the vertex, the corner after it and the one before it.
    sides: Vec<[VertexId; 2]>,
    befores: Vec<VertexId>,
}

/// The ring of a vertex in the direction of its triangles, if they make one fan and run alike.
pub(super) fn oriented_fan(topology: &Topology, vertex: VertexId, memory: &mut FanMemory) -> Option<Fan> {
    let FanMemory { ring, sides, befores } = memory;
    let triangles = topology.vertex_triangles(vertex);
    if triangles.is_empty() || !topology.is_oriented(vertex) {
        return None;
    }
    sides.clear();
    sides.extend(triangles.iter().map(|&triangle| {
        let corners = topology.triangle(triangle);
        let at = corners.iter().position(|&corner| corner == vertex).unwrap_or(0);
        [corners[(at + 1) % 3], corners[(at + 2) % 3]]
    }));
    sides.sort_unstable();
    befores.clear();
    befores.extend(sides.iter().map(|side| side[1]));
    befores.sort_unstable();
    let begins = sides.iter().map(|side| side[0]).find(|after| befores.binary_search(after).is_err());
    let first = begins.unwrap_or(sides[0][0]);
    ring.clear();
    ring.push(first);
    for step in 1..=triangles.len() {
        let here = ring[ring.len() - 1];
        let next = sides[sides.binary_search_by_key(&here, |side| side[0]).ok()?][1];
        match (next == first, step == triangles.len()) {
            (true, true) => return Some(Fan::Closed),
            (true, false) => return None,
            (false, _) => ring.push(next),
        }
    }
    begins.map(|_| Fan::Open)
}
