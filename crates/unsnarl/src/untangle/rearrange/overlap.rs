//! Closed surfaces that pass through themselves or each other: how often space is covered beside each vertex.
//!
//! A closed oriented surface gives every point of space a winding number `w`: 1 inside, 0 outside, 2 where it
//! overlaps, -1 where it is inside out. The volume that is wrong is `E = integral of (w^2 - w) / 2`. A piece of
//! surface with `k` on its outer side (and `k + 1` on its inner side) changes `E` by `k` per volume when it moves
//! outward, so it is pushed by `-k` along its normal. Unlike the length of contours this has a direction along
//! straight contours too, as between two strands that overlap all along.
//!
//! `k` is carried from vertex to vertex: along an edge it grows by one where the edge enters through a triangle and
//! falls by one where it leaves. It starts at the outermost vertex of each component.
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
/// `crossings` are all edges that pass through triangles, each once, sorted by edge; `loop_vertices` are where
/// contours end.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace};
    use crate::samples::{self, Cut, Recipe};
    use crate::untangle::rearrange::contour_links::crossing_key;
    use unsnarl_geometry::TriMesh;

    /// The winding number of all triangles at a point, by their solid angles.
    fn winding_number(mesh: &TriMesh, point: DVec3) -> f64 {
        let angle = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize] - point);
            let [p, q, r] = [a.length(), b.length(), c.length()];
            let below = p * q * r + a.dot(b) * r + b.dot(c) * p + c.dot(a) * q;
            2.0 * a.dot(b.cross(c)).atan2(below)
        };
        mesh.triangles.iter().map(angle).sum::<f64>() / (2.0 * TAU)
    }

    fn coverings_of(mesh: &TriMesh) -> (Topology, ClosedComponents, Vec<i32>) {
        let assembly = Assembly::of_cloth("mesh", mesh).unwrap();
        let topology = assembly.topology().clone();
        let pairs = Workspace::default().crossing_pairs_again(&assembly, &mesh.positions);
        let of_pair = |pair: &unsnarl_geometry::intersection::CrossingPair| {
            pair.2.map(|crossing| crossing.map(|crossing| crossing_key(&topology, [pair.0, pair.1], crossing)))
        };
        let mut crossings: Vec<(EdgeId, TriangleId)> = pairs.iter().flat_map(of_pair).flatten().collect();
        crossings.sort_unstable();
        crossings.dedup();
        let closed = ClosedComponents::new(&topology, mesh.positions.len(), &mesh.positions);
        let coverings = coverings(&topology, &mesh.positions, &closed, &crossings, &[]);
        (topology, closed, coverings)
    }

    #[test]
    fn coverings_are_the_winding_numbers_just_outside() {
        for name in ["knot-2-3-40", "knot-3-4-60", "woven-rings-40"] {
            let mesh = samples::find(name).unwrap().make(&Recipe { resolution: 8, cut: Cut::Irregular, seed: 3 }).mesh;
            let (topology, closed, coverings) = coverings_of(&mesh);
            let mut covered = 0;
            for vertex in (0..mesh.positions.len()).map(VertexId::new) {
                let outward = closed.outward(&topology, &mesh.positions, vertex).unwrap();
                let outside = mesh.positions[vertex.index()] + 1e-7 * outward;
                let expected = winding_number(&mesh, outside).round() as i32;
                assert_eq!(coverings[vertex.index()], expected, "{name}, {vertex:?}");
                covered += usize::from(expected > 0);
            }
            assert!(covered > 10, "{name}: {covered} vertices are inside something");
        }
    }

    #[test]
    fn a_surface_turned_inside_out_is_covered_alike() {
        let recipe = Recipe { resolution: 8, cut: Cut::Regular, seed: 1 };
        let mut mesh = samples::find("knot-2-3-40").unwrap().make(&recipe).mesh;
        let before = coverings_of(&mesh).2;
        mesh.triangles.iter_mut().for_each(|corners| corners.swap(1, 2));
        assert_eq!(coverings_of(&mesh).2, before);
    }

    #[test]
    fn cloth_with_a_border_is_not_closed() {
        let mesh = samples::find("closed").unwrap().make(&Recipe { resolution: 12, cut: Cut::Regular, seed: 1 }).mesh;
        let (_, closed, coverings) = coverings_of(&mesh);
        assert!(closed.is_empty() && coverings.iter().all(|&covering| covering == 0));
    }
}
