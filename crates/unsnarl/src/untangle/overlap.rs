//! Closed surfaces that pass through themselves or each other: how often space is covered beside each vertex.
//!
//! A closed oriented surface gives every point of space a winding number `w`: 1 inside, 0 outside, 2 where it overlaps, -1 where
//! it is inside out. The volume that is wrong is `E = integral of (w^2 - w) / 2`. A piece of surface with `k` on its outer side
//! (and `k + 1` on its inner side) changes `E` by `k` per volume when it moves outward, so it is pushed by `-k` along
//! its normal. Unlike the length of contours this has a direction along straight contours too, as between two
//! strands that overlap all along.
//!
//! `k` is carried from vertex to vertex: along an edge it grows by one where the edge enters through a triangle and falls
//! by one where it leaves. It starts at the outermost vertex of each component.
//!
//! Guarantees: enters and leaves are decided exactly, in symbolic general position.
//! Does not: speak of components with a border, without an orientation, or with non-manifold edges.

use std::collections::VecDeque;
use std::f64::consts::TAU;
use unsnarl_geometry::predicates::{IndexedPoint, Side, side_of_plane};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// The closed components of a mesh: which they are, and which way their normals point.
pub struct ClosedComponents {
    /// 1 where normals point outward, -1 where they point inward, 0 for a component that is not closed.
    signs: Vec<i32>,
}

impl ClosedComponents {
    /// Of the first `vertex_count` vertices, which are cloth.
    pub fn new(topology: &Topology, vertex_count: usize, positions: &[DVec3]) -> Self {
        let mut volumes = vec![Some(0.0); topology.component_count()];
        for corners in topology.triangles() {
            let [a, b, c] = corners.map(|corner| positions[corner.index()]);
            if let Some(volume) = &mut volumes[topology.component(corners[0])] {
                *volume += a.dot(b.cross(c));
            }
        }
        for vertex in (0..topology.vertex_count()).map(VertexId::new) {
            let is_regular = topology.is_oriented(vertex) && topology.open_fans(vertex) == Some(0);
            if !is_regular || vertex.index() >= vertex_count {
                volumes[topology.component(vertex)] = None;
            }
        }
        let sign = |volume: &Option<f64>| volume.map_or(0, |volume: f64| if volume < 0.0 { -1 } else { 1 });
        Self { signs: volumes.iter().map(sign).collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.signs.iter().all(|&sign| sign == 0)
    }

    /// Whether a vertex belongs to one.
    pub fn has(&self, topology: &Topology, vertex: VertexId) -> bool {
        self.signs[topology.component(vertex)] != 0
    }

    /// The unit normal of a vertex, out of its component; `None` where it has none.
    pub fn outward(&self, topology: &Topology, positions: &[DVec3], vertex: VertexId) -> Option<DVec3> {
        let normal = |&triangle: &TriangleId| {
            let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
            (b - a).cross(c - a)
        };
        let sum: DVec3 = topology.vertex_triangles(vertex).iter().map(normal).sum();
        sum.try_normalize().map(|normal| normal * f64::from(self.signs[topology.component(vertex)]))
    }
}

/// How often space is covered on the outer side of every vertex by closed components; 0 for vertices of others.
///
/// `crossings` are all edges that pass through triangles, each once, sorted by edge; `loop_vertices` are where contours end.
pub fn coverings(
    topology: &Topology,
    positions: &[DVec3],
    closed: &ClosedComponents,
    crossings: &[(EdgeId, TriangleId)],
    loop_vertices: &[VertexId],
) -> Vec<i32> {
    let mut coverings: Vec<Option<i32>> = vec![None; topology.vertex_count()];
    for (component, first) in outermost(topology, positions).into_iter().enumerate() {
        let Some(first) = first.filter(|_| closed.signs[component] != 0) else { continue };
        coverings[first.index()] = Some(covering_by_others(topology, positions, closed, first));
        let mut front = VecDeque::from([first]);
        while let Some(vertex) = front.pop_front() {
            let covering = coverings[vertex.index()].unwrap_or(0);
            for &edge in topology.vertex_edges(vertex) {
                let next = topology.other_end(edge, vertex);
                if coverings[next.index()].is_none() {
                    let change = change_along(topology, positions, closed, (edge, vertex), crossings);
                    coverings[next.index()] = Some(covering + change);
                    // Around a loop vertex the surface is inside out on one side.
                    if loop_vertices.binary_search(&next).is_err() {
                        front.push_back(next);
                    }
                }
            }
        }
    }
    coverings.into_iter().map(|covering| covering.unwrap_or(0)).collect()
}

/// The vertex of each component that is farthest along x.
fn outermost(topology: &Topology, positions: &[DVec3]) -> Vec<Option<VertexId>> {
    let mut farthest: Vec<Option<VertexId>> = vec![None; topology.component_count()];
    for vertex in (0..topology.vertex_count()).map(VertexId::new) {
        let best = &mut farthest[topology.component(vertex)];
        if best.is_none_or(|best: VertexId| positions[vertex.index()].x > positions[best.index()].x) {
            *best = Some(vertex);
        }
    }
    farthest
}

/// What an edge enters, less what it leaves, from one of its ends to the other.
fn change_along(
    topology: &Topology,
    positions: &[DVec3],
    closed: &ClosedComponents,
    (edge, from): (EdgeId, VertexId),
    crossings: &[(EdgeId, TriangleId)],
) -> i32 {
    let first = crossings.partition_point(|crossing| crossing.0 < edge);
    let of_edge = crossings[first..].iter().take_while(|crossing| crossing.0 == edge);
    let point = |vertex: VertexId| IndexedPoint { vertex, position: positions[vertex.index()] };
    let change = |&(_, triangle): &(EdgeId, TriangleId)| {
        let corners = topology.triangle(triangle);
        let [a, b, c] = corners.map(point);
        // A point below a plane has positive orientation.
        let leaves = side_of_plane(a, b, c, point(from)) == Side::Positive;
        let sign = closed.signs[topology.component(corners[0])];
        if leaves { -sign } else { sign }
    };
    of_edge.map(change).sum()
}

/// How often other closed components cover a vertex.
fn covering_by_others(topology: &Topology, positions: &[DVec3], closed: &ClosedComponents, vertex: VertexId) -> i32 {
    let own = topology.component(vertex);
    let here = positions[vertex.index()];
    let mut angle = 0.0;
    for corners in topology.triangles() {
        let component = topology.component(corners[0]);
        if component == own || closed.signs[component] == 0 {
            continue;
        }
        let [a, b, c] = corners.map(|corner| positions[corner.index()] - here);
        let [p, q, r] = [a.length(), b.length(), c.length()];
        let below = p * q * r + a.dot(b) * r + b.dot(c) * p + c.dot(a) * q;
        angle += f64::from(closed.signs[component]) * a.dot(b.cross(c)).atan2(below);
    }
    (angle / TAU).round() as i32
}
