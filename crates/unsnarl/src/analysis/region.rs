//! What a contour cuts off: floods that start on both sides of its traces and advance in step.
//!
//! A curve cuts the mesh edges that it crosses an odd number of times. From the ends of those edges, floods spread along
//! the other edges; the smallest advances first, floods that meet become one, and all stop when only the largest is
//! still running. What the finished ones hold is cut off, and is never larger than what is left. If everything merged,
//! the curve does not divide its sheet. Cost grows with what is cut off, not with the garment. (Baraff, Witkin and Kass
//! 2003, 5.4; Cha 2022, 3.1)
//!
//! A curve that does not cross itself has two sides and two floods. One that does has more sides, and every end of a cut
//! edge starts a flood of its own. The two traces of a contour between loop vertices are one closed curve, which rounds
//! the loop vertices (and crosses itself where both are one); they lie on it and are never cut off. Cloth that crosses a closed body is cut off where it
//! is inside the body, larger or not.

use super::assembly::{Assembly, PartKind};
use super::contour::{Contour, ContourEnd, Trace};
use super::flood::{Flood, FloodMemory, Sources};
use super::inside::BodyInsides;
use super::kind::{ContourKind, TraceCrossings};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

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

/// What the regions of contours are found from.
pub(super) struct Surroundings<'a> {
    /// All meshes.
    pub assembly: &'a Assembly,
    /// Where they are.
    pub positions: &'a [DVec3],
    /// Which cloth is inside which body.
    pub insides: &'a BodyInsides,
    /// Marks of floods.
    pub memory: &'a mut FloodMemory,
}

/// What a contour cuts off.
pub(super) fn regions(
    around: &mut Surroundings<'_>,
    contour: &Contour,
    kind: ContourKind,
    crossings: TraceCrossings,
) -> ContourRegions {
    let mut cut_along = |trace: Trace| cut_along_trace(around, contour, crossings, trace);
    let cuts = match (kind, contour.ends) {
        (ContourKind::Closed | ContourKind::Eight | ContourKind::Cross, _) => {
            Trace::BOTH.into_iter().filter_map(&mut cut_along).collect()
        }
        (ContourKind::Bbii, Some([ContourEnd::Boundary(trace), _])) => cut_along(trace).into_iter().collect(),
        (ContourKind::Ll, _) => vec![cut_along_loop(around, contour, crossings)],
        _ => Vec::new(),
    };
    ContourRegions { cuts }
}

/// The cut along one trace; `None` on a body, which is never cut.
fn cut_along_trace(
    around: &mut Surroundings<'_>,
    contour: &Contour,
    crossings: TraceCrossings,
    trace: Trace,
) -> Option<Cut> {
    let assembly = around.assembly;
    let part_of = |trace: Trace| assembly.part_of_triangle(contour.segments[0][trace.index()]);
    if assembly.parts()[part_of(trace)].kind == PartKind::Body {
        return None;
    }
    let curve = crossed_edges(contour, trace);
    let other = part_of(trace.other());
    if assembly.parts()[other].kind == PartKind::Body && assembly.parts()[other].is_closed {
        let inside = around.insides.reached_from(assembly.topology(), other, &curve);
        return Some(Cut::new(CutTraces::One(trace), [Some(inside.clone()), Some(inside)]));
    }
    let mut sides = CurveSides::along(assembly.topology(), &curve);
    if crossings.of_itself(trace) {
        sides.start_apart();
    }
    Some(Cut::flooded(CutTraces::One(trace), around, &sides, &[]))
}

/// The cut along both traces of a contour from loop vertex to loop vertex.
fn cut_along_loop(around: &mut Surroundings<'_>, contour: &Contour, crossings: TraceCrossings) -> Cut {
    let topology = around.assembly.topology();
    let loop_vertices: Vec<VertexId> = contour.loop_vertices().collect();
    let [first, second] = Trace::BOTH.map(|trace| crossed_edges(contour, trace));
    if crossings.any() || loop_vertices[0] == loop_vertices[1] {
        let mut sides = CurveSides::along(topology, &[first, second].concat());
        sides.start_apart();
        return Cut::flooded(CutTraces::Both, around, &sides, &loop_vertices);
    }
    let ends = [contour.segments.first(), contour.segments.last()].map(|pair| *pair.expect("a contour has segments"));
    let [&start, &end] = [&loop_vertices[0], &loop_vertices[1]];
    let (Some(turn), Some(back)) =
        (edges_around(topology, end, ends[1]), edges_around(topology, start, [ends[0][1], ends[0][0]]))
    else {
        return Cut::new(CutTraces::Both, [None, None]);
    };
    let curve: Vec<EdgeId> = first.into_iter().chain(turn).chain(second.into_iter().rev()).chain(back).collect();
    let mut cut = Cut::flooded(CutTraces::Both, around, &CurveSides::along(topology, &curve), &loop_vertices);
    for vertices in [&mut cut.smaller_by_area, &mut cut.smaller_by_count] {
        vertices.retain(|vertex| !loop_vertices.contains(vertex));
    }
    cut
}

/// The edges that a trace crosses, in walking order.
fn crossed_edges(contour: &Contour, trace: Trace) -> Vec<EdgeId> {
    contour.points.iter().filter(|point| point.edge_trace == trace).map(|point| point.edge).collect()
}

/// The edges between two triangles at a vertex, walking around it; `None` if a boundary is in the way both ways.
fn edges_around(topology: &Topology, vertex: VertexId, [from, to]: [TriangleId; 2]) -> Option<Vec<EdgeId>> {
    let spokes = |triangle: TriangleId| {
        topology.triangle_edges(triangle).into_iter().filter(move |&edge| topology.edge(edge).contains(&vertex))
    };
    spokes(from).find_map(|first| {
        let (mut triangle, mut edge) = (from, first);
        let mut passed = Vec::new();
        while triangle != to {
            passed.push(edge);
            let &[left, right] = topology.edge_triangles(edge) else { return None };
            triangle = if left == triangle { right } else { left };
            if triangle == from {
                return None;
            }
            edge = spokes(triangle).find(|&spoke| spoke != edge)?;
        }
        Some(passed)
    })
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

    /// Loop vertices weigh nothing; where the curve crosses itself they are blocked as well.
    fn flooded(
        traces: CutTraces,
        around: &mut Surroundings<'_>,
        sides: &CurveSides,
        loop_vertices: &[VertexId],
    ) -> Self {
        let topology = around.assembly.topology();
        let blocked = if sides.start == Start::Apart { loop_vertices } else { &[] };
        let sources = Sources { groups: &sides.seeds, cut_edges: &sides.cut_edges, blocked };
        let mut finish = |weight: &dyn Fn(VertexId) -> f64| {
            let flood = Flood::new(topology, around.memory, sources);
            flood.finish_all_but_largest(|vertex| if loop_vertices.contains(&vertex) { 0.0 } else { weight(vertex) })
        };
        let by_area = finish(&|vertex| vertex_area(topology, around.positions, vertex));
        // Of two sides, one that is smaller than what was seen of the other has fewer vertices than it, too.
        let fewer = |vertices: &Vec<VertexId>| {
            sides.start == Start::TwoSides && loop_vertices.is_empty() && vertices.len() < by_area.held_by_largest
        };
        let by_count = match &by_area.cut_off {
            Some(vertices) if !fewer(vertices) => finish(&|_| 1.0).cut_off,
            same => same.clone(),
        };
        let by_area = by_area.cut_off;
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

/// The edges that a curve cuts and the vertices on its sides.
struct CurveSides {
    cut_edges: Vec<EdgeId>,
    seeds: Vec<Vec<VertexId>>,
    start: Start,
}

/// How floods start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// One on the left and one on the right.
    TwoSides,
    /// One at each end of each cut edge.
    Apart,
}

impl CurveSides {
    /// Follows the curve from edge to edge, carrying along which end is left and which is right.
    ///
    /// Along one edge the sides alternate, so of an odd number of crossings the majority tells the sides of its ends; an
    /// even number leaves its ends on one side, and the edge is not cut.
    fn along(topology: &Topology, curve: &[EdgeId]) -> Self {
        let mut crossings: Vec<(EdgeId, usize)> = Vec::with_capacity(curve.len());
        let mut last: Option<(EdgeId, VertexId, VertexId)> = None;
        for &edge in curve {
            let ends = topology.edge(edge);
            let (left, right) = match last {
                None => (ends[0], ends[1]),
                Some((before, left, right)) if before == edge => (right, left),
                Some((_, left, right)) => {
                    let other = |kept: VertexId| if ends[0] == kept { ends[1] } else { ends[0] };
                    if ends.contains(&left) { (left, other(left)) } else { (other(right), right) }
                }
            };
            last = Some((edge, left, right));
            crossings.push((edge, usize::from(left == ends[0])));
        }
        crossings.sort_unstable();
        let mut sides = Self { cut_edges: Vec::new(), seeds: vec![Vec::new(), Vec::new()], start: Start::TwoSides };
        for of_edge in crossings.chunk_by(|a, b| a.0 == b.0).filter(|of_edge| of_edge.len() % 2 == 1) {
            let edge = of_edge[0].0;
            let smaller_end_left: usize = of_edge.iter().map(|crossing| crossing.1).sum();
            let [mut left, mut right] = topology.edge(edge);
            if 2 * smaller_end_left < of_edge.len() {
                std::mem::swap(&mut left, &mut right);
            }
            sides.cut_edges.push(edge);
            sides.seeds[0].push(left);
            sides.seeds[1].push(right);
        }
        sides
    }

    /// Lets every end of a cut edge start a flood of its own.
    fn start_apart(&mut self) {
        self.seeds = self.seeds.concat().into_iter().map(|seed| vec![seed]).collect();
        self.start = Start::Apart;
    }
}
