//! What came of a trim: measured on the result, not on what the sweeps believed.

use super::compress::{Kind, Work};
use super::envelope::Selection;
use super::quality::angles_degrees;
use super::surface::Surface;
use super::{Sided, Trimmed};
use rayon::prelude::*;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::{Aabb, DVec3, EdgeId, TriMesh, TriangleId, VertexId};

/// A border node farther from the zero than this share of its mean edge lags.
pub(super) const LAGGING: f64 = 0.01;
/// An inner node farther beyond the zero than this share of its mean edge is counted.
const BEYOND: f64 = 0.1;
/// Angles above this are counted.
const OBTUSE_DEGREES: f64 = 130.0;

/// Angles of some triangles, degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angles {
    /// Triangles.
    pub triangles: usize,
    /// The smallest angle; 0 without triangles.
    pub smallest: f64,
    /// The largest angle.
    pub largest: f64,
    /// Angles above 130 degrees.
    pub obtuse: usize,
}

/// The new border.
#[derive(Clone, Debug, PartialEq)]
pub struct BorderReport {
    /// Its nodes.
    pub nodes: usize,
    /// Its curves: loops, or chains that end on an old border.
    pub curves: usize,
    /// Nodes where it is not simple although the input is.
    pub tangled_nodes: usize,
    /// Inner edges between two border nodes, one of them new.
    pub chords: usize,
    /// Triangles with three border nodes, one of them new.
    pub triangles_on_border: usize,
    /// The largest distance from the zero, in mean edges at the node.
    pub largest_gap: f64,
    /// The mean of it.
    pub mean_gap: f64,
    /// Nodes farther than a hundredth of an edge.
    pub lagging_nodes: usize,
}

/// What was done and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrimReport {
    /// Vertices and triangles of the input.
    pub input: [usize; 2],
    /// Vertices and triangles of the result.
    pub output: [usize; 2],
    /// Pieces of the result.
    pub components: usize,
    /// Nodes enveloped by the rule.
    pub enveloped: usize,
    /// Nodes enveloped to make the border simple.
    pub mended: usize,
    /// Passes that did so.
    pub passes: usize,
    /// Edges split since enveloping could not mend them, or below wide angles.
    pub split_edges: usize,
    /// Edges swapped.
    pub flipped_edges: usize,
    /// Vertices that refining the input added where nodes would lag or angles stay wide.
    pub refined: usize,
    /// Nodes that are not where they were in the input.
    pub moved: usize,
    /// The largest distance of a node from the input surface, metres.
    pub surface_gap: f64,
    /// Inner nodes on the far side of the zero, by more than a tenth of an edge.
    pub nodes_beyond: usize,
    /// The new border.
    pub border: BorderReport,
    /// Angles of triangles with a node that moved or is new.
    pub changed: Angles,
    /// Angles of the triangles that are as they were.
    pub unchanged: Angles,
    /// Angles of the input's triangles at the nodes that moved.
    pub before: Angles,
    /// The share of movable nodes that each sweep searched for.
    pub searched: Vec<f64>,
}

impl TrimReport {
    /// What is better the smaller it is: nodes where the border is not simple, nodes that lag, wide angles.
    pub(super) fn faults(&self) -> (usize, usize, usize) {
        (self.border.tangled_nodes, self.border.lagging_nodes, self.changed.obtuse)
    }
}

/// What a report is made of.
pub(super) struct Parts<'a> {
    pub input: &'a TriMesh,
    pub surface: &'a Surface<'a>,
    pub psi: &'a Sided<'a>,
    pub selection: &'a Selection,
    pub work: Work<'a>,
    pub shares: Vec<f64>,
}

/// A trimmed surface, and where it falls short.
pub(super) struct Finished {
    pub trimmed: Trimmed,
    /// The triangles of the surface under nodes that lag or have a wide angle, ascending.
    pub trouble: Vec<TriangleId>,
}

pub(super) fn finish(parts: Parts<'_>) -> Finished {
    let Parts { input: mesh, surface, psi, selection, work, shares } = parts;
    let of_input = |vertex: u32| Some(vertex).filter(|&vertex| (vertex as usize) < mesh.positions.len());
    let origin: Vec<Option<u32>> = work.origin.iter().map(|origin| origin.and_then(of_input)).collect();
    let positions: Vec<DVec3> = work.feet.iter().map(|foot| foot.position).collect();
    let topology = &work.topology;
    let triangles: Vec<[u32; 3]> = topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
    let has_moved: Vec<bool> = (0..positions.len())
        .map(|node| origin[node].is_none_or(|vertex| mesh.positions[vertex as usize] != positions[node]))
        .collect();
    let touched = |corners: &[VertexId; 3]| corners.iter().any(|corner| has_moved[corner.index()]);
    let corners_of = |corners: &[VertexId; 3]| corners.map(|corner| positions[corner.index()]);
    let changed = topology.triangles().iter().filter(|corners| touched(corners)).map(corners_of);
    let unchanged = topology.triangles().iter().filter(|corners| !touched(corners)).map(corners_of);
    let mut was_moved = vec![false; mesh.positions.len()];
    (0..positions.len())
        .filter(|&node| has_moved[node])
        .filter_map(|node| origin[node])
        .for_each(|vertex| was_moved[vertex as usize] = true);
    let before = mesh
        .triangles
        .iter()
        .filter(|triangle| triangle.iter().any(|&vertex| was_moved[vertex as usize]))
        .map(|triangle| triangle.map(|vertex| mesh.positions[vertex as usize]));
    let beyond = |&node: &usize| {
        let is_inner = !topology.is_boundary_vertex(VertexId::new(node));
        is_inner && psi.value(positions[node]) > BEYOND * work.mean_edge(node)
    };
    let Border { report: border, edges, lagging } = Border::of(&work, &positions, psi);
    let is_wide = |corners: &&[VertexId; 3]| {
        touched(corners) && angles_degrees(corners_of(corners)).iter().any(|&angle| angle > OBTUSE_DEGREES)
    };
    let wide = topology.triangles().iter().filter(is_wide).flatten().map(|corner| corner.index());
    let mut trouble: Vec<TriangleId> = lagging.into_iter().chain(wide).map(|node| work.feet[node].triangle).collect();
    trouble.sort_unstable();
    trouble.dedup();
    let report = TrimReport {
        input: [mesh.positions.len(), mesh.triangles.len()],
        output: [positions.len(), triangles.len()],
        components: topology.component_count(),
        enveloped: selection.enveloped,
        mended: selection.mended,
        passes: selection.passes,
        split_edges: work.split_edges,
        flipped_edges: work.flipped_edges,
        refined: surface.positions.len() - mesh.positions.len(),
        moved: has_moved.iter().filter(|&&moved| moved).count(),
        surface_gap: surface_gap(surface, &positions, &has_moved),
        nodes_beyond: (0..positions.len()).filter(beyond).count(),
        border,
        changed: angles(changed),
        unchanged: angles(unchanged),
        before: angles(before),
        searched: shares,
    };
    let mesh = TriMesh { positions, triangles };
    Finished { trimmed: Trimmed { mesh, origin, border: edges, report }, trouble }
}

fn angles(triangles: impl Iterator<Item = [DVec3; 3]>) -> Angles {
    let mut found = Angles { triangles: 0, smallest: f64::INFINITY, largest: 0.0, obtuse: 0 };
    for corners in triangles {
        found.triangles += 1;
        for angle in angles_degrees(corners) {
            found.smallest = found.smallest.min(angle);
            found.largest = found.largest.max(angle);
            found.obtuse += usize::from(angle > OBTUSE_DEGREES);
        }
    }
    if found.triangles == 0 {
        found.smallest = 0.0;
    }
    found
}

/// The largest distance of moved nodes from the input, by a search over all of it.
fn surface_gap(surface: &Surface<'_>, positions: &[DVec3], has_moved: &[bool]) -> f64 {
    let corners = |triangle: usize| {
        surface.topology.triangle(TriangleId::new(triangle)).map(|corner| surface.positions[corner.index()])
    };
    let tree = Bvh::build_from(surface.topology.triangle_count(), |triangle| Aabb::of_points(corners(triangle)));
    let gap_squared = |node: usize| {
        let point = positions[node];
        let found = tree
            .closest_to(point, f64::INFINITY, |triangle| point_triangle(point, corners(triangle)).distance_squared());
        found.map_or(0.0, |(squared, _)| squared)
    };
    let gaps: Vec<f64> =
        (0..positions.len()).into_par_iter().filter(|&node| has_moved[node]).map(gap_squared).collect();
    gaps.into_iter().fold(0.0, f64::max).sqrt()
}

/// The new border, measured.
struct Border {
    report: BorderReport,
    edges: Vec<[u32; 2]>,
    lagging: Vec<usize>,
}

impl Border {
    fn of(work: &Work<'_>, positions: &[DVec3], psi: &Sided<'_>) -> Self {
        let topology = &work.topology;
        let degrees: Vec<[usize; 2]> =
            (0..positions.len()).map(|node| work.border_degrees(VertexId::new(node))).collect();
        let is_new = |node: VertexId| degrees[node.index()][0] > 0;
        let is_border = |node: VertexId| degrees[node.index()] != [0, 0];
        let on_border =
            |nodes: &[VertexId]| nodes.iter().all(|&node| is_border(node)) && nodes.iter().any(|&n| is_new(n));
        let chords = (0..topology.edge_count())
            .map(EdgeId::new)
            .filter(|&edge| !topology.is_boundary(edge) && on_border(&topology.edge(edge)))
            .count();
        let mut edges = Vec::new();
        for triangle in (0..topology.triangle_count()).map(TriangleId::new) {
            let corners = topology.triangle(triangle);
            for (side, &edge) in topology.triangle_edges(triangle).iter().enumerate() {
                if topology.is_boundary(edge) && !work.is_old(edge) {
                    edges.push([corners[side].0, corners[(side + 1) % 3].0]);
                }
            }
        }
        let gaps: Vec<(usize, f64)> = (0..positions.len())
            .filter(|&node| matches!(work.kinds[node], Kind::Border | Kind::Corner) || is_new(VertexId::new(node)))
            .map(|node| (node, psi.value(positions[node]).abs() / work.mean_edge(node)))
            .collect();
        let lagging: Vec<usize> = gaps.iter().filter(|(_, gap)| *gap > LAGGING).map(|&(node, _)| node).collect();
        let tangled = |degrees: &&[usize; 2]| degrees[0] > 0 && degrees[0] + degrees[1] != 2;
        let report = BorderReport {
            nodes: gaps.len(),
            curves: curves(&edges),
            tangled_nodes: degrees.iter().filter(tangled).count(),
            chords,
            triangles_on_border: topology.triangles().iter().filter(|corners| on_border(&corners[..])).count(),
            largest_gap: gaps.iter().map(|gap| gap.1).fold(0.0, f64::max),
            mean_gap: gaps.iter().map(|gap| gap.1).sum::<f64>() / gaps.len().max(1) as f64,
            lagging_nodes: lagging.len(),
        };
        Self { report, edges, lagging }
    }
}

/// The number of connected pieces of the border edges.
fn curves(edges: &[[u32; 2]]) -> usize {
    let mut nodes: Vec<u32> = edges.iter().flatten().copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |node: u32| nodes.binary_search(&node).unwrap_or(0);
    let mut parent: Vec<usize> = (0..nodes.len()).collect();
    for &[a, b] in edges {
        let (a, b) = (root(&mut parent, place(a)), root(&mut parent, place(b)));
        parent[a.max(b)] = a.min(b);
    }
    (0..parent.len()).filter(|&at| parent[at] == at).count()
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}
