//! A slow analysis for the tests, in exact arithmetic, that shares no code with the library: every edge is tried against
//! every triangle, contours are the connected pieces of a graph, regions are coloured vertex by vertex.

pub mod exact;
pub mod regions;
pub mod tangles;

use exact::{Place, Point, cross, segments_cross, side, sub, whole_points};
use num_traits::Zero;
use std::collections::{BTreeMap, BTreeSet};

pub type Edge = [usize; 2];
/// An edge through a triangle.
pub type Node = (Edge, usize);

/// Whether a part is cloth or a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Cloth,
    Body,
}

/// All parts with one numbering.
pub struct Mesh {
    pub floats: Vec<[f64; 3]>,
    pub points: Vec<Point>,
    pub triangles: Vec<[usize; 3]>,
    /// Kind and number of the part of every triangle.
    pub part_of: Vec<(Part, usize)>,
    pub edges: BTreeMap<Edge, Vec<usize>>,
}

/// Two triangles that cross: the ends of their common segment.
pub struct Segment {
    pub triangles: [usize; 2],
    pub nodes: Vec<Node>,
    pub loop_vertex: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The trace that meets the boundary.
    Boundary(usize),
    Loop(usize),
    NonManifold(Edge),
}

/// A contour: its segments with the triangle of trace 0 first.
pub struct Contour {
    pub segments: Vec<[usize; 2]>,
    pub nodes: BTreeSet<Node>,
    /// Per trace, how often it crosses an edge.
    pub crossings: [BTreeMap<Edge, usize>; 2],
    pub ends: Vec<End>,
    /// Loop vertices and the two triangles that meet there.
    pub loop_pairs: Vec<(usize, [usize; 2])>,
    /// Whether trace 0 crosses itself, trace 1 crosses itself, they cross each other.
    pub crosses: Crosses,
    pub kind: &'static str,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crosses {
    pub itself: [bool; 2],
    pub each_other: bool,
}

impl Crosses {
    pub fn any(self) -> bool {
        self.each_other || self.itself != [false; 2]
    }
}

impl Mesh {
    /// Joins parts: kind, positions, triangles.
    pub fn new(parts: &[tangles::Piece]) -> Self {
        let mut floats = Vec::new();
        let (mut triangles, mut part_of) = (Vec::new(), Vec::new());
        for (number, (kind, positions, part_triangles)) in parts.iter().enumerate() {
            let first = floats.len();
            floats.extend_from_slice(positions);
            triangles.extend(part_triangles.iter().map(|corners| corners.map(|corner| corner as usize + first)));
            part_of.resize(triangles.len(), (*kind, number));
        }
        let mut edges: BTreeMap<Edge, Vec<usize>> = BTreeMap::new();
        for (triangle, corners) in triangles.iter().enumerate() {
            for edge in triangle_edges(*corners) {
                edges.entry(edge).or_default().push(triangle);
            }
        }
        Self { points: whole_points(&floats), floats, triangles, part_of, edges }
    }

    /// Every pair of triangles that cross.
    pub fn segments(&self) -> Vec<Segment> {
        let nodes: BTreeSet<Node> = self.nodes();
        let mut pairs: BTreeMap<[usize; 2], Vec<Node>> = BTreeMap::new();
        for &(edge, triangle) in &nodes {
            for &holder in &self.edges[&edge] {
                pairs.entry([holder.min(triangle), holder.max(triangle)]).or_default().push((edge, triangle));
            }
        }
        pairs
            .into_iter()
            .map(|(triangles, nodes)| {
                let [a, b] = triangles.map(|triangle| self.triangles[triangle]);
                let shared: Vec<usize> = a.into_iter().filter(|corner| b.contains(corner)).collect();
                assert_eq!(nodes.len() + shared.len(), 2, "ends of the segment of triangles {triangles:?}");
                Segment { triangles, nodes, loop_vertex: shared.first().copied() }
            })
            .collect()
    }

    /// Every edge against every triangle.
    fn nodes(&self) -> BTreeSet<Node> {
        let mut nodes = BTreeSet::new();
        for (&edge, holders) in &self.edges {
            for triangle in 0..self.triangles.len() {
                let both_bodies = self.part_of[holders[0]].0 == Part::Body && self.part_of[triangle].0 == Part::Body;
                if !both_bodies && self.passes_through(edge, triangle) {
                    nodes.insert((edge, triangle));
                }
            }
        }
        nodes
    }

    fn passes_through(&self, edge: Edge, triangle: usize) -> bool {
        let corners = self.triangles[triangle];
        if corners.iter().any(|corner| edge.contains(corner)) {
            return false;
        }
        let apart = (0..3).any(|axis| {
            let range = |vertices: &[usize]| {
                let at = vertices.iter().map(|&vertex| self.floats[vertex][axis]);
                (at.clone().fold(f64::INFINITY, f64::min), at.fold(f64::NEG_INFINITY, f64::max))
            };
            let (ours, theirs) = (range(&edge), range(&corners));
            ours.1 < theirs.0 || theirs.1 < ours.0
        });
        let ([p, q], [a, b, c]) = (edge, corners);
        let side = |vertices: [usize; 4]| side(&self.points, vertices);
        if apart || side([a, b, c, p]) == side([a, b, c, q]) {
            return false;
        }
        let turn = side([p, q, a, b]);
        turn == side([p, q, b, c]) && turn == side([p, q, c, a])
    }

    /// The contours, ordered by their smallest pair of triangles.
    pub fn contours(&self) -> Vec<Contour> {
        let segments = self.segments();
        let mut at_node: BTreeMap<Node, Vec<usize>> = BTreeMap::new();
        for (index, segment) in segments.iter().enumerate() {
            for &node in &segment.nodes {
                at_node.entry(node).or_default().push(index);
            }
        }
        for (node, here) in &at_node {
            assert_eq!(here.len(), self.edges[&node.0].len(), "one segment per triangle at the edge");
        }
        let mut first_triangle: Vec<Option<usize>> = vec![None; segments.len()];
        let mut contours = Vec::new();
        for start in 0..segments.len() {
            if first_triangle[start].is_some() {
                continue;
            }
            first_triangle[start] = Some(segments[start].triangles[0]);
            let (mut members, mut next) = (vec![start], 0);
            while next < members.len() {
                let here = members[next];
                next += 1;
                for node in &segments[here].nodes {
                    let &[a, b] = at_node[node].as_slice() else { continue };
                    let there = if a == here { b } else { a };
                    if first_triangle[there].is_none() {
                        first_triangle[there] = Some(carried(&segments, first_triangle[here], [here, there], node.1));
                        members.push(there);
                    }
                }
            }
            let members: Vec<(&Segment, usize)> = members
                .into_iter()
                .map(|member| (&segments[member], first_triangle[member].expect("members have one")))
                .collect();
            contours.push(self.contour(&members, &at_node));
        }
        contours
    }

    fn contour(&self, members: &[(&Segment, usize)], at_node: &BTreeMap<Node, Vec<usize>>) -> Contour {
        let mut ends = Vec::new();
        let mut nodes = BTreeSet::new();
        let mut crossings = [BTreeMap::new(), BTreeMap::new()];
        for &(segment, first) in members {
            ends.extend(segment.loop_vertex.map(End::Loop));
            for &(edge, triangle) in &segment.nodes {
                let trace = usize::from(triangle == first);
                if nodes.insert((edge, triangle)) {
                    *crossings[trace].entry(edge).or_insert(0) += 1;
                }
                match at_node[&(edge, triangle)].len() {
                    1 => ends.push(End::Boundary(trace)),
                    2 => {}
                    _ => ends.push(End::NonManifold(edge)),
                }
            }
        }
        let mut segments: Vec<[usize; 2]> =
            members.iter().map(|(segment, first)| [*first, other(segment.triangles, *first)]).collect();
        segments.sort_unstable();
        let crosses = self.crosses(members);
        let kind = kind(&ends, crosses);
        let loop_pairs = members
            .iter()
            .filter_map(|(segment, _)| segment.loop_vertex.map(|vertex| (vertex, segment.triangles)))
            .collect();
        Contour { loop_pairs, segments, nodes, crossings, ends, crosses, kind }
    }

    /// Where the traces cross on the sheets: every two segments of one triangle are intersected.
    fn crosses(&self, members: &[(&Segment, usize)]) -> Crosses {
        let ends: Vec<Vec<Place>> = members.iter().map(|(segment, _)| self.segment_ends(segment)).collect();
        let mut passages: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (at, (segment, first)) in members.iter().enumerate() {
            for triangle in segment.triangles {
                passages.entry(triangle).or_default().push((at, usize::from(triangle != *first)));
            }
        }
        let mut crosses = Crosses::default();
        for (triangle, here) in passages {
            let along = self.axis(triangle);
            for (index, &(a, a_trace)) in here.iter().enumerate() {
                for &(b, b_trace) in &here[index + 1..] {
                    let known = if a_trace == b_trace { crosses.itself[a_trace] } else { crosses.each_other };
                    let joined = members[a].0.nodes.iter().any(|node| members[b].0.nodes.contains(node));
                    let pair = |at: usize| [&ends[at][0], &ends[at][1]];
                    if known || joined || !segments_cross(pair(a), pair(b), along) {
                        continue;
                    }
                    if a_trace == b_trace {
                        crosses.itself[a_trace] = true;
                    } else {
                        crosses.each_other = true;
                    }
                }
            }
        }
        crosses
    }

    fn segment_ends(&self, segment: &Segment) -> Vec<Place> {
        let at_vertex = segment.loop_vertex.map(|vertex| Place::of_vertex(&self.points[vertex]));
        let at_nodes = segment.nodes.iter().map(|&(edge, triangle)| {
            let corners = self.triangles[triangle].map(|corner| &self.points[corner]);
            Place::on_plane(edge.map(|end| &self.points[end]), corners)
        });
        at_vertex.into_iter().chain(at_nodes).collect()
    }

    /// An axis along which the triangle does not look like a line, if there is one.
    fn axis(&self, triangle: usize) -> usize {
        let [a, b, c] = self.triangles[triangle].map(|corner| &self.points[corner]);
        let normal = cross(&sub(b, a), &sub(c, a));
        (0..3).find(|&axis| !normal[axis].is_zero()).unwrap_or(0)
    }
}

/// The triangle of trace 0 in the next segment: the pierced triangle stays, the one at the edge changes.
fn carried(segments: &[Segment], first: Option<usize>, [here, there]: [usize; 2], pierced: usize) -> usize {
    let beyond = other(segments[there].triangles, pierced);
    assert!(segments[here].triangles.contains(&pierced));
    if first == Some(pierced) { pierced } else { beyond }
}

fn other([a, b]: [usize; 2], known: usize) -> usize {
    if a == known { b } else { a }
}

pub fn triangle_edges([a, b, c]: [usize; 3]) -> [Edge; 3] {
    [[a, b], [b, c], [c, a]].map(|[p, q]| [p.min(q), p.max(q)])
}

fn kind(ends: &[End], crosses: Crosses) -> &'static str {
    match ends {
        [] if crosses.each_other => "CROSS",
        [] if crosses.any() => "EIGHT",
        [] => "CLOSED",
        [End::NonManifold(_), _] | [_, End::NonManifold(_)] => "OTHER",
        [End::Loop(_), End::Loop(_)] => "LL",
        [End::Boundary(a), End::Boundary(b)] if a == b => "BBII",
        [End::Boundary(_), End::Boundary(_)] => "BIBI",
        [_, _] => "BLI",
        _ => panic!("a contour has no end or two, not {ends:?}"),
    }
}
