//! A fold that bites into itself: its flap, the ground that the flap lies on, and the bent cloth between them.
//!
//! A BLI runs from the border of a flap to a loop vertex on the fold. The bent cloth around the loop vertex is the bend; what
//! it divides from the contour's boundary end is the flap, what it divides from the inner end is the ground. The rim is the
//! border of the ground along the bend: it says where the fold is, which way is out of the ground there, and which way its
//! front looks.
//!
//! Guarantees: flap and ground have no triangle in common; `None` where bent cloth does not divide them.
//! Departs: the source couples two contours and takes the region between them (Cha 2022, 5.4); here both lead to one flap,
//! and it is found from either.

use crate::analysis::{Contour, ContourEnd, ContourKind, Tangle};
use crate::dynamics::hinge;
use crate::model::Model;
use crate::untangle::folds::style::FoldStyle;
use rustc_hash::FxHashSet;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// Hinges bent more than this belong to a fold, radians.
pub const BENT: f64 = 0.5;
/// What is tried, radians, until the bend divides the flap from the ground: on a coarse mesh the bend is as wide as the flap.
const MORE_BENT: [f64; 4] = [BENT, 1.0, 1.5, 2.0];

/// A fold with its flap and what the flap lies on.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The triangles beyond the bend, sorted.
    pub flap: Vec<TriangleId>,
    /// The triangles before it, sorted.
    pub ground: Vec<TriangleId>,
    /// The vertices of the piece that belong to neither, sorted.
    pub bend: Vec<VertexId>,
    /// The triangles of the piece that belong to neither, sorted.
    pub bent: Vec<TriangleId>,
    /// The hinges of the bent cloth, sorted.
    pub hinges: Vec<usize>,
    /// What is to become of it.
    pub style: FoldStyle,
}

/// The style of a contour whose loop vertex is given.
pub fn style_at(styles: &[Option<FoldStyle>], loop_vertex: VertexId) -> FoldStyle {
    styles.get(loop_vertex.index()).copied().flatten().unwrap_or(FoldStyle::Unfold)
}

/// The folds of all BLI contours whose loop vertex counts, each once.
pub fn folds(
    model: &Model,
    (styles, tangle): (&[Option<FoldStyle>], &Tangle),
    positions: &[DVec3],
    counts: impl Fn(VertexId) -> bool,
) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    for tangled in tangle.contours.iter().filter(|tangled| tangled.kind == ContourKind::Bli) {
        let is_cloth = |vertex: &VertexId| vertex.index() < model.topology.vertex_count();
        let Some(loop_vertex) = tangled.contour.loop_vertices().find(is_cloth).filter(|&vertex| counts(vertex)) else {
            continue;
        };
        let fold = fold_at(model, style_at(styles, loop_vertex), &tangled.contour, positions);
        let is_new = |fold: &Fold| {
            let is_other = |other: &Fold| fold.flap.iter().all(|triangle| other.flap.binary_search(triangle).is_err());
            folds.iter().all(is_other)
        };
        folds.extend(fold.filter(is_new));
    }
    folds
}

/// The fold of one contour.
fn fold_at(model: &Model, style: FoldStyle, contour: &Contour, positions: &[DVec3]) -> Option<Fold> {
    let topology = &model.topology;
    let (boundary, trace, loop_vertex) = match contour.ends? {
        [ContourEnd::Boundary(trace), ContourEnd::Loop(vertex)] => (contour.segments.first()?, trace, vertex),
        [ContourEnd::Loop(vertex), ContourEnd::Boundary(trace)] => (contour.segments.last()?, trace, vertex),
        _ => return None,
    };
    let is_cloth = |triangle: &TriangleId| triangle.index() < topology.triangle_count();
    if !boundary.iter().all(is_cloth) {
        return None;
    }
    let (bent, flap, ground) = MORE_BENT.into_iter().find_map(|least| {
        let bent = bent_triangles(model, loop_vertex, least, positions);
        let [flap, ground] = [trace, trace.other()].map(|of| flood(topology, boundary[of.index()], &bent));
        (!flap.is_empty() && !ground.is_empty() && flap != ground).then_some((bent, flap, ground))
    })?;
    let flap = along_border(topology, boundary[trace.index()], (flap, &ground), &bent);
    let known: FxHashSet<VertexId> =
        flap.iter().chain(&ground).flat_map(|&triangle| topology.triangle(triangle)).collect();
    let piece = topology.component(loop_vertex);
    let is_between = |vertex: &VertexId| topology.component(*vertex) == piece && !known.contains(vertex);
    let bend = (0..topology.vertex_count()).map(VertexId::new).filter(is_between).collect();
    let is_other = |triangle: &TriangleId| {
        let is_in = |side: &[TriangleId]| side.binary_search(triangle).is_ok();
        topology.component(topology.triangle(*triangle)[0]) == piece && !is_in(&flap) && !is_in(&ground)
    };
    let hinges = hinges_of(model, &bent);
    let bent = (0..topology.triangle_count()).map(TriangleId::new).filter(is_other).collect();
    Some(Fold { flap, ground, bend, bent, hinges, style })
}

/// A flap with all that lies along the same border of the cloth: where the flap passes through the ground it is bent itself,
/// and may be cut in two by that.
fn along_border(
    topology: &Topology,
    boundary: TriangleId,
    (flap, ground): (Vec<TriangleId>, &[TriangleId]),
    bent: &FxHashSet<TriangleId>,
) -> Vec<TriangleId> {
    let is_border = |edge: &EdgeId| topology.is_boundary(*edge);
    let ends = topology.triangle_edges(boundary).into_iter().filter(is_border).flat_map(|edge| topology.edge(edge));
    let ends: Vec<VertexId> = ends.collect();
    let mut all: FxHashSet<TriangleId> = flap.into_iter().collect();
    let loops = topology.boundary_loops().into_iter();
    for vertex in loops.filter(|border| ends.iter().any(|end| border.contains(end))).flatten() {
        for &triangle in topology.vertex_triangles(vertex) {
            if !all.contains(&triangle) && ground.binary_search(&triangle).is_err() {
                all.extend(flood(topology, triangle, bent));
            }
        }
    }
    let mut flap: Vec<TriangleId> = all.into_iter().collect();
    flap.sort_unstable();
    flap
}

/// The hinges of all bent cloth that hangs together with a vertex: the fold from end to end.
pub fn whole_fold(model: &Model, start: VertexId, positions: &[DVec3]) -> Vec<usize> {
    hinges_of(model, &bent_triangles(model, start, BENT, positions))
}

/// The hinges at the edges of triangles, sorted.
pub fn hinges_of<'a>(model: &Model, triangles: impl IntoIterator<Item = &'a TriangleId>) -> Vec<usize> {
    let edges = triangles.into_iter().flat_map(|&triangle| model.topology.triangle_edges(triangle));
    let mut hinges: Vec<usize> = edges.filter_map(|edge| model.hinge_at(edge)).collect();
    hinges.sort_unstable();
    hinges.dedup();
    hinges
}

/// Triangles at hinges bent by more than `least` radians that hang together with a vertex.
fn bent_triangles(model: &Model, start: VertexId, least: f64, positions: &[DVec3]) -> FxHashSet<TriangleId> {
    let topology = &model.topology;
    let is_bent = |triangle: TriangleId| {
        topology.triangle_edges(triangle).into_iter().filter_map(|edge| model.hinge_at(edge)).any(|hinge| {
            let points = model.hinges[hinge].vertices.map(|vertex| positions[vertex.index()]);
            hinge::angle(points).is_none_or(|angle| angle.abs() > least)
        })
    };
    let mut reached = FxHashSet::default();
    let mut front = vec![start];
    let mut seen = FxHashSet::from_iter([start]);
    while let Some(vertex) = front.pop() {
        for &triangle in topology.vertex_triangles(vertex) {
            if is_bent(triangle) && reached.insert(triangle) {
                front.extend(topology.triangle(triangle).into_iter().filter(|&corner| seen.insert(corner)));
            }
        }
    }
    reached
}

/// Triangles that hang together with one over edges, without bent ones; sorted.
fn flood(topology: &Topology, start: TriangleId, bent: &FxHashSet<TriangleId>) -> Vec<TriangleId> {
    let mut reached = FxHashSet::default();
    let mut front: Vec<TriangleId> = [start].into_iter().filter(|triangle| !bent.contains(triangle)).collect();
    reached.extend(front.iter().copied());
    while let Some(triangle) = front.pop() {
        for edge in topology.triangle_edges(triangle) {
            for &other in topology.edge_triangles(edge) {
                if !bent.contains(&other) && reached.insert(other) {
                    front.push(other);
                }
            }
        }
    }
    let mut triangles: Vec<TriangleId> = reached.into_iter().collect();
    triangles.sort_unstable();
    triangles
}

/// The vertices of triangles, sorted.
pub fn vertices_of(topology: &Topology, triangles: &[TriangleId]) -> Vec<VertexId> {
    let mut vertices: Vec<VertexId> = triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

/// The border of one side of a fold along the bend.
pub struct Rim {
    edges: Vec<RimEdge>,
    /// The mean length of its edges, metres.
    size: f64,
}

struct RimEdge {
    middle: DVec3,
    length: f64,
    /// In the plane of the triangle and out of it, as long as the edge: summed over neighbours it is at a right angle to the
    /// rim as a whole, however ragged that is.
    outward: DVec3,
    normal: DVec3,
}

/// The rim as seen from a point.
pub struct RimFrame {
    /// A point of the rim.
    pub at: DVec3,
    /// Out of the cloth that the rim bounds, across the rim; length 1.
    pub outward: DVec3,
    /// The front of that cloth, length 1.
    pub normal: DVec3,
}

impl Rim {
    /// The border of some triangles, sorted, towards others; `None` where there is none.
    pub fn new(topology: &Topology, side: &[TriangleId], positions: &[DVec3]) -> Option<Self> {
        let is_own = |triangle: &TriangleId| side.binary_search(triangle).is_ok();
        let mut edges = Vec::new();
        for &triangle in side {
            let corners = topology.triangle(triangle).map(|corner| positions[corner.index()]);
            let Some(normal) = (corners[1] - corners[0]).cross(corners[2] - corners[0]).try_normalize() else {
                continue;
            };
            for edge in topology.triangle_edges(triangle) {
                let others = topology.edge_triangles(edge);
                if others.len() < 2 || others.iter().all(is_own) {
                    continue;
                }
                let [start, end] = topology.edge(edge).map(|vertex| positions[vertex.index()]);
                let across = (end - start).cross(normal);
                let inside = positions[topology.opposite_vertex(triangle, edge).index()] - start;
                let outward = -across * across.dot(inside).signum();
                edges.push(RimEdge { middle: 0.5 * (start + end), length: start.distance(end), outward, normal });
            }
        }
        let size = edges.iter().map(|edge| edge.length).sum::<f64>() / edges.len() as f64;
        (!edges.is_empty() && size > 0.0).then_some(Self { edges, size })
    }

    /// The mean length of its edges, metres.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The rim around the place nearest to a point: its edges count by `1 / (d^2 + w^2)^2`, with `w` the width in edges.
    pub fn seen_from(&self, point: DVec3, width: f64) -> Option<RimFrame> {
        let (mut at, mut outward, mut normal, mut sum) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO, 0.0);
        for edge in &self.edges {
            let distance_squared = edge.middle.distance_squared(point) + (width * self.size).powi(2);
            let weight = 1.0 / (distance_squared * distance_squared);
            at += weight * edge.length * edge.middle;
            outward += weight * edge.outward;
            normal += weight * edge.length * edge.normal;
            sum += weight * edge.length;
        }
        let outward = outward.try_normalize()?;
        let normal = (normal - normal.dot(outward) * outward).try_normalize()?;
        Some(RimFrame { at: at / sum, outward, normal })
    }
}
