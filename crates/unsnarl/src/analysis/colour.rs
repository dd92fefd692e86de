//! Colours: which vertices, edges and triangles are on the wrong side.
//!
//! Two colourings of one analysis. The global intersection analysis pairs what two surfaces have pushed through each other
//! (black and white) and marks what folded through itself (red), by area. (Baraff, Witkin and Kass 2003, 5.4)
//! Edge shortening marks red what is cut off by vertex count, whatever crosses, and green the rest, over all contours
//! together. (Cha 2022, 3.1)

use super::TangledContour;
use super::contour::Trace;
use super::region::{CutTraces, Separation};
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
    /// Sheets where red is the majority.
    pub majority_failures: Vec<MajorityFailure>,
}

/// Colours everything.
pub fn colour(topology: &Topology, contours: &[TangledContour]) -> Colours {
    let red_vertices = sorted(
        contours.iter().flat_map(|tangled| &tangled.regions.cuts).flat_map(|cut| cut.smaller_by_count.iter().copied()),
    );
    let is_red = |vertex: VertexId| red_vertices.binary_search(&vertex).is_ok();
    let crossing_edges = contours.iter().flat_map(|tangled| tangled.contour.points.iter().map(|point| point.edge));
    let red_edges = sorted(
        red_vertices.iter().flat_map(|&vertex| topology.vertex_edges(vertex).iter().copied()).chain(crossing_edges),
    );
    let crossing_triangles = contours.iter().flat_map(|tangled| tangled.contour.segments.iter().flatten().copied());
    let red_triangles = sorted(
        red_vertices
            .iter()
            .flat_map(|&vertex| topology.vertex_triangles(vertex).iter().copied())
            .chain(crossing_triangles),
    );
    let outermost_red_vertices =
        red_vertices.iter().copied().filter(|&vertex| topology.ring(vertex).any(|other| !is_red(other))).collect();
    let red_star_triangles = red_triangles
        .iter()
        .filter(|&&triangle| !topology.triangle(triangle).iter().any(|&corner| is_red(corner)))
        .filter_map(|&triangle| {
            let red: Vec<EdgeId> = topology
                .triangle_edges(triangle)
                .into_iter()
                .filter(|edge| red_edges.binary_search(edge).is_ok())
                .collect();
            match red[..] {
                [edge] => Some((triangle, edge)),
                _ => None,
            }
        })
        .collect();
    Colours {
        gia: gia_regions(contours),
        majority_failures: majority_failures(topology, &red_vertices),
        red_vertices,
        red_edges,
        red_triangles,
        outermost_red_vertices,
        red_star_triangles,
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

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
