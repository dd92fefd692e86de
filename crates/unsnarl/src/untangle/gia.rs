//! Global intersection analysis as a response: what passed through each other is attracted and let through.
//!
//! Three rules for a vertex and a triangle near it: black and white of one contour attract each other; red of one contour
//! is left alone and may pass through itself; everything else repels, which is contact's ordinary work. (Baraff, Witkin
//! and Kass 2003, section 6)
//!
//! Contours between cloth and a body are another matter (`ejection`).
//!
//! Does not: act on contours of cloth with cloth that end on a boundary, which cut nothing off or only on one side.
//! Departs: every coloured vertex is attracted by the one nearest triangle of the other colour, however far. A triangle
//! counts as white where all corners are white, as in the source, or where the contour runs through it: a tip that
//! pokes through a single triangle leaves no all-white one.

use super::ejection::eject;
use super::method::{Draft, Scope, crossing_triangles, cut_off_by, cut_off_by_both, triangles_at};
use super::nearest::NearestTriangle;
use crate::analysis::{ContourKind, TangledContour, Trace};
use unsnarl_geometry::{TriangleId, VertexId};

/// Attracts and lets through what one contour has coloured.
pub(super) fn treat(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    if Trace::BOTH.into_iter().any(|trace| draft.is_on_body(tangled, trace)) {
        return eject(draft, index);
    }
    match tangled.kind {
        ContourKind::Ll => free_red(draft, index),
        ContourKind::Closed | ContourKind::Eight | ContourKind::Cross => attract_regions(draft, index),
        _ => Scope::Out,
    }
}

/// Red: neither attraction nor repulsion.
pub(super) fn free_red(draft: &mut Draft, index: usize) -> Scope {
    // The last of a loop may cut off no vertex at all; what crosses there is free none the less.
    let red = cut_off_by_both(draft.contour(index)).unwrap_or(&[]);
    let triangles = triangles_at(draft.topology(), red);
    draft.let_through(index, [&triangles, &triangles]);
    Scope::Treated
}

/// Black and white attract each other.
pub(super) fn attract_regions(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    let topology = draft.topology();
    let regions = Trace::BOTH.map(|trace| cut_off_by(tangled, trace));
    let [Some(first), Some(second)] = regions else { return Scope::Out };
    let triangles = [(Trace::First, first), (Trace::Second, second)]
        .map(|(trace, region)| own_triangles(draft, tangled, trace, region));
    attract(draft, first, &triangles[1]);
    attract(draft, second, &triangles[0]);
    let more = [first, second].map(|region| triangles_at(topology, region));
    draft.let_through(index, [&more[0], &more[1]]);
    Scope::Treated
}

/// The triangles that attract for a coloured region: all of whose corners are in it, and those along the trace.
fn own_triangles(draft: &Draft, tangled: &TangledContour, trace: Trace, region: &[VertexId]) -> Vec<TriangleId> {
    let topology = draft.topology();
    let is_inside = |vertex: &VertexId| region.binary_search(vertex).is_ok();
    let mut triangles = triangles_at(topology, region);
    triangles.retain(|&triangle| topology.triangle(triangle).iter().all(is_inside));
    triangles.extend(crossing_triangles(tangled, trace));
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

/// Every vertex of a region goes to the nearest of some triangles, and beyond it by the distance that cloth keeps.
pub(super) fn attract(draft: &mut Draft, region: &[VertexId], triangles: &[TriangleId]) {
    let topology = draft.topology();
    let Some(nearest) = NearestTriangle::among(topology, draft.situation.positions, triangles) else { return };
    for &vertex in region {
        let Some(found) = nearest.to(draft.position(vertex), draft.situation.local_size[vertex.index()]) else {
            continue;
        };
        let corners = topology.triangle(found.triangle);
        if corners.contains(&vertex) {
            continue;
        }
        let [a, b, c] = corners.map(|corner| draft.position(corner));
        let direction = (-found.offset).try_normalize().or_else(|| (b - a).cross(c - a).try_normalize());
        let Some(direction) = direction else { continue };
        let gap = found.offset.length() + 2.0 * draft.situation.separation;
        let wish = direction * gap.min(2.0 * draft.reach(vertex));
        let theirs: [(VertexId, f64); 3] = std::array::from_fn(|k| (corners[k], found.barycentric[k]));
        draft.moves.add_relative(&[(vertex, 1.0)], &theirs, wish);
        draft.report.attracted += 1;
    }
}
