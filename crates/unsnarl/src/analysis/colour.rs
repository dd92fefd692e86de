//! Colours: which vertices, edges and triangles are on the wrong side.
//!
//! Two colourings of one analysis. The global intersection analysis pairs what two surfaces have pushed through each other
//! (black and white) and marks what folded through itself (red), by area. (Baraff, Witkin and Kass 2003, 5.4)
//! Edge shortening marks red what is cut off by vertex count, whatever crosses, and green the rest, over all contours
//! together. (Cha 2022, 3.1)

use super::contour::Trace;
use super::region::{CutTraces, Separation};
use super::{ContourKind, TangledContour};
use unsnarl_geometry::{EdgeId, Topology, TriangleId, VertexId};

/// The colour of a region of the global intersection analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiaColour {
    /// Cut off by the first trace: it passed through the white region of the same contour.
    Black,
    /// Cut off by the second trace.
    White,
    /// Folded through itself.
    Red,
}

/// A coloured region. A vertex may lie in any number of them.
#[derive(Clone, Debug)]
pub struct GiaRegion {
    /// Index of the contour.
    pub contour: usize,
    /// Its colour.
    pub colour: GiaColour,
    /// Its vertices, sorted.
    pub vertices: Vec<VertexId>,
}

/// A sheet more than half of which is red: the majority rule cannot be trusted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MajorityFailure {
    /// The component of the mesh.
    pub component: usize,
    /// How many of its vertices are red.
    pub red_vertices: usize,
    /// How many it has.
    pub vertices: usize,
}

/// All colours of a tangle. What is not red is green.
#[derive(Clone, Debug, Default)]
pub struct Colours {
    /// The regions of the global intersection analysis.
    pub gia: Vec<GiaRegion>,
    /// Cut off by some contour, by vertex count; sorted.
    pub red_vertices: Vec<VertexId>,
    /// With a red end, or through a triangle; sorted.
    pub red_edges: Vec<EdgeId>,
    /// With a red corner, or crossing another triangle; sorted.
    pub red_triangles: Vec<TriangleId>,
    /// Red vertices with a green neighbour; sorted.
    pub outermost_red_vertices: Vec<VertexId>,
    /// Red triangles with green corners and exactly one red edge, and that edge; sorted.
    pub red_star_triangles: Vec<(TriangleId, EdgeId)>,
    /// Triangles in which an LL ends in one of their own corners (a loop vertex), and that corner; sorted.
    pub ll_corners: Vec<(TriangleId, VertexId)>,
    /// The same for BLI.
    pub bli_corners: Vec<(TriangleId, VertexId)>,
    /// Sheets where red is the majority.
    pub majority_failures: Vec<MajorityFailure>,
}

/// Colours everything.
pub fn colour(topology: &Topology, contours: &[TangledContour]) -> Colours {
    let cut_off = contours.iter().flat_map(|tangled| &tangled.regions.cuts).flat_map(|cut| &cut.smaller_by_count);
    let (red_vertices, _) = marked(topology.vertex_count(), cut_off.copied(), VertexId::index);
    Colours { gia: gia_regions(contours), ..Colours::around(topology, red_vertices, contours) }
}

impl Colours {
    /// The colours of edges and triangles, and the majorities, that follow from red vertices (sorted) and contours; no regions.
    pub fn around(topology: &Topology, red_vertices: Vec<VertexId>, contours: &[TangledContour]) -> Self {
        let mut is_red = vec![false; topology.vertex_count()];
        red_vertices.iter().for_each(|vertex| is_red[vertex.index()] = true);
        let crossing_edges = contours.iter().flat_map(|tangled| tangled.contour.points.iter().map(|point| point.edge));
        let edges_at_red = red_vertices.iter().flat_map(|&vertex| topology.vertex_edges(vertex).iter().copied());
        let (red_edges, is_red_edge) = marked(topology.edge_count(), edges_at_red.chain(crossing_edges), EdgeId::index);
        let crossing_triangles = contours.iter().flat_map(|tangled| tangled.contour.segments.iter().flatten().copied());
        let triangles_at_red =
            red_vertices.iter().flat_map(|&vertex| topology.vertex_triangles(vertex).iter().copied());
        let (red_triangles, _) =
            marked(topology.triangle_count(), triangles_at_red.chain(crossing_triangles), TriangleId::index);
        let has_green_neighbour = |&vertex: &VertexId| topology.ring(vertex).any(|other| !is_red[other.index()]);
        let outermost_red_vertices = red_vertices.iter().copied().filter(has_green_neighbour).collect();
        let green_cornered =
            |triangle: &&TriangleId| topology.triangle(**triangle).iter().all(|at| !is_red[at.index()]);
        let only_red_edge = |&triangle: &TriangleId| {
            let mut red = topology.triangle_edges(triangle).into_iter().filter(|edge| is_red_edge[edge.index()]);
            let first = red.next()?;
            red.next().is_none().then_some((triangle, first))
        };
        let red_star_triangles = red_triangles.iter().filter(green_cornered).filter_map(only_red_edge).collect();
        let corners_of = |kind: ContourKind| {
            let of_kind = contours.iter().filter(|tangled| tangled.kind == kind);
            sorted(of_kind.flat_map(|tangled| tangled.contour.loop_corners()))
        };
        Self {
            majority_failures: majority_failures(topology, &red_vertices),
            red_vertices,
            red_edges,
            red_triangles,
            outermost_red_vertices,
            red_star_triangles,
            ll_corners: corners_of(ContourKind::Ll),
            bli_corners: corners_of(ContourKind::Bli),
            ..Self::default()
        }
    }
}

fn gia_regions(contours: &[TangledContour]) -> Vec<GiaRegion> {
    let mut regions = Vec::new();
    for (contour, tangled) in contours.iter().enumerate() {
        for cut in tangled.regions.cuts.iter().filter(|cut| cut.separation == Separation::Divides) {
            let colour = match cut.traces {
                CutTraces::One(Trace::First) => GiaColour::Black,
                CutTraces::One(Trace::Second) => GiaColour::White,
                CutTraces::Both => GiaColour::Red,
            };
            regions.push(GiaRegion { contour, colour, vertices: cut.smaller_by_area.clone() });
        }
    }
    regions
}

fn majority_failures(topology: &Topology, red_vertices: &[VertexId]) -> Vec<MajorityFailure> {
    let components = sorted(red_vertices.iter().map(|&vertex| topology.component(vertex)));
    if components.is_empty() {
        return Vec::new();
    }
    let mut counts = vec![(0, 0); topology.component_count()];
    for vertex in (0..topology.vertex_count()).map(VertexId::new) {
        counts[topology.component(vertex)].1 += 1;
    }
    for &vertex in red_vertices {
        counts[topology.component(vertex)].0 += 1;
    }
    components
        .into_iter()
        .map(|component| MajorityFailure {
            component,
            red_vertices: counts[component].0,
            vertices: counts[component].1,
        })
        .filter(|failure| 2 * failure.red_vertices > failure.vertices)
        .collect()
}

/// The different ones of some things, sorted, and a mark for each thing that is among them.
fn marked<T: Ord + Copy>(
    count: usize,
    things: impl Iterator<Item = T>,
    index: impl Fn(T) -> usize,
) -> (Vec<T>, Vec<bool>) {
    let mut marks = vec![false; count];
    let mut found: Vec<T> = things.filter(|&thing| !std::mem::replace(&mut marks[index(thing)], true)).collect();
    found.sort_unstable();
    (found, marks)
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
