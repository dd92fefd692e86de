//! Which cloth is inside which closed body, told by the body's own triangles.
//!
//! Every crossing of a cloth edge with the body enters or leaves it. Adding these up along the edges of a sheet gives how
//! many times the body is around each vertex, up to a constant: the least wrapped vertex of a sheet is taken to be
//! outside. (Baraff, Witkin and Kass 2003, 5.4, decide between cloth and solids by the solid's normals as well.)
//!
//! Guarantees: exact for a closed body with consistent triangles, also where it overlaps itself.
//! Does not: notice a sheet that crosses a body without being outside of it anywhere.

use super::assembly::{Assembly, PartKind};
use super::contour::{Contour, Trace};
use rustc_hash::FxHashMap;
use unsnarl_geometry::predicates::{IndexedPoint, Side, side_of_plane};
use unsnarl_geometry::{DVec3, EdgeId, Topology, VertexId};

/// For every body that cloth crosses, how often it is around the vertices of the sheets that cross it.
#[derive(Default)]
pub struct BodyInsides {
    windings: FxHashMap<usize, FxHashMap<VertexId, i32>>,
}

impl BodyInsides {
    /// Looks at all contours between cloth and closed bodies.
    pub fn new(assembly: &Assembly, positions: &[DVec3], contours: &[Contour]) -> Self {
        let topology = assembly.topology();
        let mut entries: FxHashMap<usize, FxHashMap<EdgeId, i32>> = FxHashMap::default();
        let mut starts: Vec<(usize, VertexId)> = Vec::new();
        for contour in contours {
            let Some((body, trace)) = body_of(assembly, contour) else { continue };
            let of_body = entries.entry(body).or_default();
            for point in contour.points.iter().filter(|point| point.edge_trace == trace) {
                let at = |vertex: VertexId| IndexedPoint { vertex, position: positions[vertex.index()] };
                let [a, b, c] = topology.triangle(point.triangle).map(at);
                let end = topology.edge(point.edge)[1];
                // A point below a counter-clockwise triangle has positive orientation.
                let entered = if side_of_plane(a, b, c, at(end)) == Side::Positive { 1 } else { -1 };
                *of_body.entry(point.edge).or_default() += entered;
                starts.push((body, end));
            }
        }
        let mut windings: FxHashMap<usize, FxHashMap<VertexId, i32>> = FxHashMap::default();
        for (body, start) in starts {
            let known = windings.entry(body).or_default();
            if !known.contains_key(&start) {
                add_sheet(topology, &entries[&body], start, known);
            }
        }
        Self { windings }
    }

    /// The vertices inside a body that can be reached from the crossed edges without leaving it, sorted.
    pub(super) fn reached_from(&self, topology: &Topology, body: usize, crossed: &[EdgeId]) -> Vec<VertexId> {
        let Some(windings) = self.windings.get(&body) else { return Vec::new() };
        let is_inside = |vertex: &VertexId| windings.get(vertex).is_some_and(|&winding| winding > 0);
        let mut reached: Vec<VertexId> =
            crossed.iter().flat_map(|&edge| topology.edge(edge)).filter(|vertex| is_inside(vertex)).collect();
        reached.sort_unstable();
        reached.dedup();
        let mut seen: rustc_hash::FxHashSet<VertexId> = reached.iter().copied().collect();
        let mut next = 0;
        while next < reached.len() {
            for neighbour in topology.ring(reached[next]) {
                if is_inside(&neighbour) && seen.insert(neighbour) {
                    reached.push(neighbour);
                }
            }
            next += 1;
        }
        reached.sort_unstable();
        reached
    }
}

/// The closed body that a contour runs along, and the trace on the cloth.
fn body_of(assembly: &Assembly, contour: &Contour) -> Option<(usize, Trace)> {
    Trace::BOTH.into_iter().find_map(|trace| {
        let part = assembly.part_of_triangle(contour.segments[0][trace.index()]);
        let is_body = assembly.parts()[part].kind == PartKind::Body && assembly.parts()[part].is_closed;
        (is_body && assembly.parts().len() > 1).then_some((part, trace.other()))
    })
}

/// Spreads over the sheet of a vertex and takes the least wrapped of its vertices as outside.
fn add_sheet(
    topology: &Topology,
    entries: &FxHashMap<EdgeId, i32>,
    start: VertexId,
    known: &mut FxHashMap<VertexId, i32>,
) {
    let mut sheet = vec![start];
    known.insert(start, 0);
    let (mut least, mut next) = (0, 0);
    while next < sheet.len() {
        let vertex = sheet[next];
        next += 1;
        let winding = known[&vertex];
        least = least.min(winding);
        for &edge in topology.vertex_edges(vertex) {
            let neighbour = topology.other_end(edge, vertex);
            if known.contains_key(&neighbour) {
                continue;
            }
            let entered = entries.get(&edge).copied().unwrap_or(0);
            let forward = topology.edge(edge)[0] == vertex;
            known.insert(neighbour, if forward { winding + entered } else { winding - entered });
            sheet.push(neighbour);
        }
    }
    for vertex in sheet {
        if let Some(winding) = known.get_mut(&vertex) {
            *winding -= least;
        }
    }
}
