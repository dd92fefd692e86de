//! Ejection: cloth that crosses a body goes out, whatever the type of the contour.
//!
//! A body has an inside, so nothing has to be guessed from regions: an end of an edge of cloth is in the body when more
//! crossings lead out than in on some way along the edge from it. (Baraff, Witkin and Kass 2003, section 3: contact
//! with solids is decided particle by particle, by the solid's own sides)
//!
//! Vertices in the body are attracted by its surface and may pass through it, with what is at them. Where a tip or a
//! ridge of the body stands through cloth whose corners are all outside, the triangle is pushed along, and only what
//! crosses already may cross on.
//!
//! Guarantees: no vertex that is outside is drawn in or let in, so the number of vertices in bodies never grows by it.
//! Wishes go along with the body and are no faster than [`ClassicSettings::ejection_speed`](crate::untangle::ClassicSettings) beyond
//! that.
//! Does not: touch pinched vertices and what is at them; bodies carry those.

use crate::analysis::{Assembly, ContourPoint, PartKind, Tangle, TangledContour, Trace};
use crate::untangle::method::{Draft, Scope, crossing_triangles, cut_off_by, triangles_at};
use crate::untangle::nearest::{NearestPoint, NearestTriangle};
use crate::untangle::rearrange::piercing::normal_of;
use crate::untangle::resolvers::crossing_groups::Elements;
use std::collections::BTreeMap;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::predicates::{Sign, orient3d};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// Parts of a body with more vertices that stand through cloth are left to the cloth in them.
const LARGEST_TIP: usize = 64;

/// What crosses bodies, over all contours: an edge may enter by one and leave by another.
#[derive(Clone, Debug, Default)]
pub(in crate::untangle) struct InBodies {
    /// The ends of edges of cloth that are in bodies, sorted.
    ends: Vec<VertexId>,
    /// Where bodies stand through triangles of cloth.
    holes: BTreeMap<TriangleId, Hole>,
}

/// Where bodies stand through a triangle.
#[derive(Clone, Copy, Debug, Default)]
struct Hole {
    /// The middle of the curve along which they cross.
    middle: DVec3,
    /// The mean normal of the bodies there.
    normal: DVec3,
}

impl InBodies {
    /// Looks at all contours of cloth with bodies.
    pub fn new(assembly: &Assembly, positions: &[DVec3], tangle: &Tangle) -> Self {
        let is_body =
            |triangle: TriangleId| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let trace_on_body = |tangled: &TangledContour| {
            Trace::BOTH.into_iter().find(|trace| is_body(tangled.contour.segments[0][trace.index()]))
        };
        let with_bodies: Vec<(&TangledContour, Trace)> =
            tangle.contours.iter().filter_map(|tangled| Some((tangled, trace_on_body(tangled)?))).collect();
        let topology = assembly.topology();
        Self { ends: ends(topology, positions, &with_bodies), holes: holes(topology, positions, &with_bodies) }
    }

    /// Whether an end of a crossing edge is in a body.
    pub fn has(&self, vertex: VertexId) -> bool {
        self.ends.binary_search(&vertex).is_ok()
    }
}

fn ends(topology: &Topology, positions: &[DVec3], with_bodies: &[(&TangledContour, Trace)]) -> Vec<VertexId> {
    let of_cloth = |&(tangled, of_body): &(&TangledContour, Trace)| {
        let points: Vec<ContourPoint> = tangled.contour.points.clone();
        points.into_iter().filter(move |point| point.edge_trace != of_body)
    };
    let mut crossings: Vec<ContourPoint> = with_bodies.iter().flat_map(of_cloth).collect();
    crossings.sort_by(|a, b| {
        let along = a.along.total_cmp(&b.along);
        a.edge.cmp(&b.edge).then(along).then(a.triangle.cmp(&b.triangle))
    });
    let mut inside: Vec<VertexId> = Vec::new();
    for of_edge in crossings.chunk_by(|a, b| a.edge == b.edge) {
        let [first, last] = topology.edge(of_edge[0].edge);
        let is_behind = |vertex: VertexId, point: &ContourPoint| {
            let [a, b, c] = topology.triangle(point.triangle).map(|corner| positions[corner.index()]);
            orient3d(a, b, c, positions[vertex.index()]) == Sign::Positive
        };
        if leads_out(of_edge.iter().map(|point| is_behind(first, point))) {
            inside.push(first);
        }
        if leads_out(of_edge.iter().rev().map(|point| is_behind(last, point))) {
            inside.push(last);
        }
    }
    inside.sort_unstable();
    inside.dedup();
    inside
}

fn holes(
    topology: &Topology,
    positions: &[DVec3],
    with_bodies: &[(&TangledContour, Trace)],
) -> BTreeMap<TriangleId, Hole> {
    let mut sums: BTreeMap<TriangleId, (Hole, f64)> = BTreeMap::new();
    for &(tangled, of_body) in with_bodies {
        let contour = &tangled.contour;
        for (at, segment) in contour.segments.iter().enumerate() {
            let [Some(from), Some(to)] = contour.segment_points(at) else { continue };
            let [from, to] = [from, to].map(|point| contour.points[point].position);
            let length = from.distance(to) + 1e-9;
            let (sum, total) = sums.entry(segment[of_body.other().index()]).or_default();
            sum.middle += (from + to) * (0.5 * length);
            sum.normal += normal_of(topology, positions, segment[of_body.index()]) * length;
            *total += length;
        }
    }
    let mean = |(sum, total): (Hole, f64)| Hole { middle: sum.middle / total, normal: sum.normal / total };
    sums.into_iter().map(|(triangle, sum)| (triangle, mean(sum))).collect()
}

/// Whether a way through surfaces leads out more often than in at some point of it.
fn leads_out(crossings: impl Iterator<Item = bool>) -> bool {
    let mut balance = 0_i32;
    let mut is_out = false;
    for outward in crossings {
        balance += if outward { 1 } else { -1 };
        is_out |= balance > 0;
    }
    is_out
}

/// Ejects what one contour of cloth with a body shows; other contours are out of scope.
pub(in crate::untangle) fn depenetrate(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    let Some(of_body) = Trace::BOTH.into_iter().find(|&trace| draft.is_on_body(tangled, trace)) else {
        return Scope::Out;
    };
    let of_cloth = of_body.other();
    if draft.is_on_body(tangled, of_cloth) {
        return Scope::Out;
    }
    let topology = draft.topology();
    let sunk = sunk(draft, tangled, of_cloth);
    let deep = sunk.len().max(tangled.contour.segments.len());
    let rings = 2 + (deep as f64).sqrt().ceil() as usize;
    let wall = grown(topology, crossing_triangles(tangled, of_body), rings);
    let Some(nearest) = NearestTriangle::among(topology, draft.situation.positions, &wall) else { return Scope::Out };
    for &vertex in &sunk {
        draw_out(draft, &nearest, vertex);
    }
    // The neighbours of sunk vertices are outside and have to stay there.
    draft.groups.add_elements([Elements::around(topology, &sunk), Elements::of_triangles(topology, &wall)]);
    push_along(draft, tangled, of_body, &sunk, &nearest);
    Scope::Treated
}

/// The vertices of cloth that a contour says are in the body, without pinched ones: the ends of crossing edges that
/// are, and what it cuts off, if most of that end there. Sorted.
fn sunk(draft: &Draft, tangled: &TangledContour, of_cloth: Trace) -> Vec<VertexId> {
    let topology = draft.topology();
    let crossing = tangled.contour.points.iter().filter(|point| point.edge_trace == of_cloth);
    let mut ends: Vec<VertexId> = crossing.flat_map(|point| topology.edge(point.edge)).collect();
    ends.retain(|&vertex| draft.in_bodies.has(vertex));
    ends.sort_unstable();
    ends.dedup();
    if let Some(region) = cut_off_by(tangled, of_cloth) {
        let inside = ends.iter().filter(|vertex| region.binary_search(vertex).is_ok()).count();
        if 2 * inside >= ends.len() && !ends.is_empty() {
            ends.extend(region);
            ends.sort_unstable();
            ends.dedup();
        }
    }
    ends.retain(|&vertex| !draft.is_pinched(vertex));
    ends
}

/// Wishes that a vertex in a body goes out by the shortest way.
fn draw_out(draft: &mut Draft, wall: &NearestTriangle, vertex: VertexId) {
    let size = draft.situation.local_size[vertex.index()];
    let Some(found) = wall.to(draft.position(vertex), size) else { return };
    let Some(out) = (-found.offset).try_normalize().or_else(|| normal(draft, found.triangle)) else { return };
    let wish = out * step_out(draft, found.offset.length()) + carried(draft, &found);
    draft.moves.add(vertex, 1.0, wish);
    draft.led.push(vertex);
    draft.report.attracted += 1;
}

/// How far cloth at some depth goes out in one step: a little beyond the surface, no faster than allowed.
fn step_out(draft: &Draft, depth: f64) -> f64 {
    let limit = draft.settings.ejection_speed * draft.situation.step;
    (depth + 2.0 * draft.situation.separation).min(limit)
}

/// How far the place of a body moves in this step.
fn carried(draft: &Draft, found: &NearestPoint) -> DVec3 {
    let corners = draft.topology().triangle(found.triangle);
    (0..3).map(|k| draft.body_motion(corners[k]) * found.barycentric[k]).sum()
}

fn normal(draft: &Draft, triangle: TriangleId) -> Option<DVec3> {
    normal_of(draft.topology(), draft.situation.positions, triangle).try_normalize()
}

/// Pushes triangles that a tip or a ridge of the body stands through and that have no corner in it.
fn push_along(draft: &mut Draft, tangled: &TangledContour, of_body: Trace, sunk: &[VertexId], wall: &NearestTriangle) {
    let topology = draft.topology();
    let of_cloth = of_body.other();
    // Beside a pinch one body would push cloth into the other.
    let is_beside_pinch = |vertex: VertexId| {
        let mut edges = topology.vertex_edges(vertex).iter();
        draft.is_pinched(vertex) || edges.any(|&edge| draft.is_pinched(topology.other_end(edge, vertex)))
    };
    let is_held = |vertex: VertexId| is_beside_pinch(vertex) || sunk.binary_search(&vertex).is_ok();
    let mut pierced = crossing_triangles(tangled, of_cloth);
    pierced.retain(|&triangle| !topology.triangle(triangle).into_iter().any(is_held));
    if pierced.is_empty() {
        return;
    }
    let tip = cut_off_by(tangled, of_body).filter(|tip| tip.len() <= LARGEST_TIP).unwrap_or(&[]);
    let wishes: Vec<(TriangleId, DVec3, DVec3)> = if tip.is_empty() {
        pierced.iter().filter_map(|&triangle| off_ridge(draft, wall, triangle)).collect()
    } else {
        tip.iter().filter_map(|&vertex| off_tip(draft, &pierced, vertex)).collect()
    };
    for (triangle, point, wish) in wishes {
        let corners = topology.triangle(triangle);
        let weights = point_triangle(point, corners.map(|corner| draft.position(corner))).weights;
        for (corner, weight) in corners.into_iter().zip(weights) {
            draft.moves.add(corner, weight, wish);
            draft.led.push(corner);
        }
        draft.report.attracted += 1;
    }
    let crossing = tangled.contour.points.iter().filter(|point| point.edge_trace == of_cloth);
    let cloth = Elements::given(&[], crossing.map(|point| point.edge), pierced);
    let around = [wall.triangles(), &triangles_at(topology, tip)].concat();
    draft.groups.add_elements([cloth, Elements::of_triangles(topology, &around)]);
}

/// The wish of a triangle through which a ridge stands: the middle of the hole goes out, as its sides agree or else by
/// the shortest way.
fn off_ridge(draft: &Draft, wall: &NearestTriangle, triangle: TriangleId) -> Option<(TriangleId, DVec3, DVec3)> {
    /// Sides whose mean normal is shorter are too different to agree.
    const AGREE: f64 = 0.3;
    let hole = draft.in_bodies.holes.get(&triangle)?;
    let size = draft.situation.local_size[draft.topology().triangle(triangle)[0].index()];
    let found = wall.to(hole.middle, size)?;
    let front = normal(draft, found.triangle)?;
    let is_inside = found.offset.dot(front) < 0.0;
    let out = match hole.normal.try_normalize().filter(|_| hole.normal.length() > AGREE) {
        Some(normal) => normal,
        None if is_inside => (-found.offset).try_normalize().unwrap_or(front),
        None => front,
    };
    let depth = if is_inside { found.offset.length() } else { 0.0 };
    Some((triangle, hole.middle, out * step_out(draft, depth) + carried(draft, &found)))
}

/// The wish of the triangle nearest to a tip: it goes there.
fn off_tip(draft: &Draft, pierced: &[TriangleId], tip: VertexId) -> Option<(TriangleId, DVec3, DVec3)> {
    let (topology, positions) = (draft.topology(), draft.situation.positions);
    let found = NearestTriangle::among(topology, positions, pierced)?.to(draft.position(tip), 1e-2)?;
    let out = found.offset.try_normalize()?;
    let wish = out * step_out(draft, found.offset.length()) + draft.body_motion(tip);
    Some((found.triangle, draft.position(tip) - found.offset, wish))
}

/// Triangles and some rings around them, sorted.
pub(in crate::untangle) fn grown(topology: &Topology, mut triangles: Vec<TriangleId>, rings: usize) -> Vec<TriangleId> {
    for _ in 0..rings {
        let mut vertices: Vec<VertexId> = triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        triangles = triangles_at(topology, &vertices);
    }
    triangles
}
