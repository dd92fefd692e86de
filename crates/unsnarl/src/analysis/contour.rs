//! Contours: the curves along which surfaces cross, walked from crossing to crossing.
//!
//! A crossing is an edge through a triangle. Each pair of triangles that cross joins two crossings by a segment, or a
//! crossing to the loop vertex that the two share. A walk passes from segment to segment through the crossings; it ends
//! on a boundary edge, in a loop vertex or on a non-manifold edge, or closes. (Baraff, Witkin and Kass 2003, 5.3)
//!
//! Guarantees: every crossing has one segment per triangle at its edge, every segment two ends, each segment is in
//! exactly one contour. This holds by construction for the perturbed mesh, so it holds for degenerate input.

use unsnarl_geometry::intersection::{CrossingPair, PairCrossing, PairSide};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// One of the two preimages of a contour: the curve as drawn on one of the two sheets that cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    /// On the sheet of the first triangles of the segments.
    First,
    /// On the sheet of the second triangles.
    Second,
}

impl Trace {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A point of a contour: where an edge passes through a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContourPoint {
    /// The edge.
    pub edge: EdgeId,
    /// The triangle it passes through.
    pub triangle: TriangleId,
    /// The trace that crosses the edge here; the other is inside the triangle.
    pub edge_trace: Trace,
    /// How far along the edge from its smaller vertex, 0 to 1. Rounded; decisions do not use it.
    pub along: f64,
    /// The point in space. Rounded; decisions do not use it.
    pub position: DVec3,
}

/// Where a contour stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContourEnd {
    /// At a boundary edge: this trace meets the boundary, the other stops inside.
    Boundary(Trace),
    /// In a vertex that both triangles share.
    Loop(VertexId),
    /// At an edge of three or more triangles.
    NonManifold(EdgeId),
}

/// A contour: points and the triangle pairs between them.
#[derive(Clone, Debug)]
pub struct Contour {
    /// The crossings, in walking order.
    pub points: Vec<ContourPoint>,
    /// The triangle of each trace, per segment. A closed contour has a segment after every point; an open one has a
    /// segment between neighbouring points, one before the first point if it starts in a loop vertex, and one after the
    /// last if it ends in one.
    pub segments: Vec<[TriangleId; 2]>,
    /// Start and end; `None` when it closes.
    pub ends: Option<[ContourEnd; 2]>,
}

impl Contour {
    /// The triangles at the ends of a contour that ends in loop vertices, each with that corner.
    pub fn loop_corners(&self) -> impl Iterator<Item = (TriangleId, VertexId)> + '_ {
        let last = [self.segments.first(), self.segments.last()];
        self.ends.iter().flatten().zip(last).flat_map(|(end, segment)| {
            let vertex = if let ContourEnd::Loop(vertex) = end { Some(*vertex) } else { None };
            let triangles = segment.into_iter().flatten();
            triangles.filter_map(move |&triangle| Some((triangle, vertex?)))
        })
    }

    /// The loop vertices at its ends.
    pub fn loop_vertices(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.ends.iter().flatten().filter_map(|end| match end {
            ContourEnd::Loop(vertex) => Some(*vertex),
            _ => None,
        })
    }

    /// Whether one segment comes right after the other.
    pub fn are_neighbours(&self, first: usize, second: usize) -> bool {
        let apart = first.abs_diff(second);
        apart == 1 || (self.ends.is_none() && apart + 1 == self.segments.len())
    }

    /// The curve in space, from end to end; a closed one repeats its first point.
    pub fn polyline(&self, positions: &[DVec3]) -> Vec<DVec3> {
        let mut line: Vec<DVec3> = Vec::with_capacity(self.points.len() + 2);
        let loop_position = |end: ContourEnd| match end {
            ContourEnd::Loop(vertex) => Some(positions[vertex.index()]),
            _ => None,
        };
        line.extend(self.ends.and_then(|ends| loop_position(ends[0])));
        line.extend(self.points.iter().map(|point| point.position));
        match self.ends {
            Some(ends) => line.extend(loop_position(ends[1])),
            None => line.extend(self.points.first().map(|point| point.position)),
        }
        line
    }

    /// Its length in space.
    pub fn length(&self, positions: &[DVec3]) -> f64 {
        self.polyline(positions).windows(2).map(|pair| pair[0].distance(pair[1])).sum()
    }

    /// Whether segment `index` starts in the loop vertex at the start.
    fn starts_in_loop(&self) -> bool {
        matches!(self.ends, Some([ContourEnd::Loop(_), _]))
    }

    /// The points before and after a segment; `None` stands for a loop vertex.
    pub fn segment_points(&self, segment: usize) -> [Option<usize>; 2] {
        if self.ends.is_none() {
            return [Some(segment), Some((segment + 1) % self.points.len())];
        }
        let shift = usize::from(self.starts_in_loop());
        let before = segment.checked_sub(shift);
        let after = segment + 1 - shift;
        [before, (after < self.points.len()).then_some(after)]
    }
}

/// Joins the crossings of all pairs into contours.
pub fn trace(topology: &Topology, positions: &[DVec3], pairs: &[CrossingPair]) -> Vec<Contour> {
    let graph = Graph::new(topology, pairs);
    let mut walked = vec![false; graph.segments.len()];
    let mut contours = Vec::new();
    for first in 0..graph.segments.len() {
        if !walked[first] {
            contours.push(graph.walk(topology, positions, first, &mut walked));
        }
    }
    contours
}

/// Crossings and the segments between them.
struct Graph {
    nodes: Vec<(EdgeId, TriangleId)>,
    segments: Vec<Segment>,
    /// The segments at every node, as ranges of `incident`.
    starts: Vec<u32>,
    incident: Vec<u32>,
}

struct Segment {
    triangles: [TriangleId; 2],
    ends: [SegmentEnd; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentEnd {
    Node(u32),
    Loop(VertexId),
}

/// The half of a walk from one end of its first segment.
struct Half {
    nodes: Vec<(u32, Trace)>,
    segments: Vec<[TriangleId; 2]>,
    end: Option<ContourEnd>,
}

impl Graph {
    fn new(topology: &Topology, pairs: &[CrossingPair]) -> Self {
        let key = |(a, b, _): &CrossingPair, crossing: PairCrossing| match crossing.edge_of {
            PairSide::First => (topology.triangle_edges(*a)[crossing.edge], *b),
            PairSide::Second => (topology.triangle_edges(*b)[crossing.edge], *a),
        };
        // Every crossing with its place, two for each pair: those with one key are one node.
        let places = pairs.iter().zip(0..).flat_map(|(pair, number)| {
            let crossings = pair.2.iter().zip(0..).filter_map(|(crossing, which)| crossing.zip(Some(which)));
            crossings.map(move |(crossing, which)| (key(pair, crossing), 2 * number + which))
        });
        let mut places: Vec<((EdgeId, TriangleId), u32)> = places.collect();
        places.sort_unstable();
        let mut nodes = Vec::with_capacity(places.len());
        let mut node_at = vec![0; 2 * pairs.len()];
        for (crossing, place) in places {
            if nodes.last() != Some(&crossing) {
                nodes.push(crossing);
            }
            node_at[place as usize] = nodes.len() as u32 - 1;
        }
        let segments: Vec<Segment> = pairs
            .iter()
            .zip(node_at.chunks_exact(2))
            .map(|(pair, nodes)| {
                let ends = match pair.2 {
                    [Some(_), Some(_)] => [SegmentEnd::Node(nodes[0]), SegmentEnd::Node(nodes[1])],
                    [first, _] => {
                        let only = nodes[usize::from(first.is_none())];
                        [SegmentEnd::Loop(shared_vertex(topology, pair.0, pair.1)), SegmentEnd::Node(only)]
                    }
                };
                Segment { triangles: [pair.0, pair.1], ends }
            })
            .collect();
        let mut starts = vec![0u32; nodes.len() + 1];
        for end in segments.iter().flat_map(|segment| segment.ends) {
            if let SegmentEnd::Node(node) = end {
                starts[node as usize + 1] += 1;
            }
        }
        for node in 0..nodes.len() {
            starts[node + 1] += starts[node];
        }
        let mut fill = starts.clone();
        let mut incident = vec![0u32; *starts.last().unwrap_or(&0) as usize];
        for (index, segment) in segments.iter().enumerate() {
            for end in segment.ends {
                if let SegmentEnd::Node(node) = end {
                    incident[fill[node as usize] as usize] = index as u32;
                    fill[node as usize] += 1;
                }
            }
        }
        Self { nodes, segments, starts, incident }
    }

    fn incident(&self, node: u32) -> &[u32] {
        &self.incident[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The whole contour through a segment: forward first, then backward unless it closed.
    fn walk(&self, topology: &Topology, positions: &[DVec3], first: usize, walked: &mut [bool]) -> Contour {
        walked[first] = true;
        let forward = self.walk_half(topology, first, 1, walked);
        let first_pair = self.segments[first].triangles;
        let point = |&(node, edge_trace): &(u32, Trace)| self.point(topology, positions, node, edge_trace);
        let Some(last_end) = forward.end else {
            let mut segments = forward.segments;
            segments.push(first_pair);
            return Contour { points: forward.nodes.iter().map(point).collect(), segments, ends: None };
        };
        let backward = self.walk_half(topology, first, 0, walked);
        let first_end = backward.end.expect("a contour that is open forward is open backward");
        let points = backward.nodes.iter().rev().chain(&forward.nodes).map(point).collect();
        let segments = backward.segments.into_iter().rev().chain([first_pair]).chain(forward.segments).collect();
        Contour { points, segments, ends: Some([first_end, last_end]) }
    }

    /// Walks from one end of a segment until the contour ends (its end is returned) or comes back (it is `None`).
    fn walk_half(&self, topology: &Topology, first: usize, from_end: usize, walked: &mut [bool]) -> Half {
        let mut half = Half { nodes: Vec::new(), segments: Vec::new(), end: None };
        let mut pair = self.segments[first].triangles;
        let mut segment = first;
        let mut end = self.segments[first].ends[from_end];
        loop {
            let node = match end {
                SegmentEnd::Loop(vertex) => {
                    half.end = Some(ContourEnd::Loop(vertex));
                    return half;
                }
                SegmentEnd::Node(node) => node,
            };
            let (edge, triangle) = self.nodes[node as usize];
            let edge_trace = if pair[1] == triangle { Trace::First } else { Trace::Second };
            half.nodes.push((node, edge_trace));
            let next = match *self.incident(node) {
                [_] => {
                    half.end = Some(ContourEnd::Boundary(edge_trace));
                    return half;
                }
                [a, b] => {
                    if a as usize == segment {
                        b
                    } else {
                        a
                    }
                }
                _ => {
                    half.end = Some(ContourEnd::NonManifold(edge));
                    return half;
                }
            } as usize;
            debug_assert_eq!(topology.edge_triangles(edge).len(), self.incident(node).len());
            if walked[next] {
                return half;
            }
            walked[next] = true;
            let [a, b] = self.segments[next].triangles;
            let beyond = if a == triangle { b } else { a };
            pair[edge_trace.index()] = beyond;
            half.segments.push(pair);
            let ends = self.segments[next].ends;
            end = if ends[0] == SegmentEnd::Node(node) { ends[1] } else { ends[0] };
            segment = next;
        }
    }

    fn point(&self, topology: &Topology, positions: &[DVec3], node: u32, edge_trace: Trace) -> ContourPoint {
        let (edge, triangle) = self.nodes[node as usize];
        let (along, position) = crossing_point(topology, positions, edge, triangle);
        ContourPoint { edge, triangle, edge_trace, along, position }
    }
}

fn shared_vertex(topology: &Topology, a: TriangleId, b: TriangleId) -> VertexId {
    let theirs = topology.triangle(b);
    *topology
        .triangle(a)
        .iter()
        .find(|vertex| theirs.contains(vertex))
        .expect("a pair with one crossing shares a vertex")
}

/// Where an edge passes the plane of a triangle: 0 to 1 along the edge, and in space; the middle of the edge where both lie
/// in one plane.
pub(crate) fn crossing_point(
    topology: &Topology,
    positions: &[DVec3],
    edge: EdgeId,
    triangle: TriangleId,
) -> (f64, DVec3) {
    let [a, b, c] = topology.triangle(triangle).map(|vertex| positions[vertex.index()]);
    let [start, end] = topology.edge(edge).map(|vertex| positions[vertex.index()]);
    let normal = (b - a).cross(c - a);
    let (below, above) = (normal.dot(start - a), normal.dot(end - a));
    let along = below / (below - above);
    let along = if along.is_finite() { along.clamp(0.0, 1.0) } else { 0.5 };
    (along, start.lerp(end, along))
}
