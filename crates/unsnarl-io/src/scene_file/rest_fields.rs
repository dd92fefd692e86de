//! Rest shapes and rest angles that a mesh file itself names, made the garment's.
//!
//! Guarantees: triangles without fields keep the garment's rest shape; angles of pairs without a common inner edge are left out.

use crate::mesh::RestFields;
use unsnarl::dynamics::hinge;
use unsnarl::rest_shape::RestShape;
use unsnarl::scene::garment::Garment;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// An inner edge by its ends, and its angle at rest, radians.
type Bend = ([VertexId; 2], f64);

/// One rest shape per triangle, and the edges that are bent at rest; of two entries for one edge the later counts.
pub(super) fn apply(rest: &RestFields, garment: &Garment) -> (Vec<RestShape>, Vec<Bend>) {
    let named =
        |(at, own): (usize, &RestShape)| rest.corners.get(at).copied().flatten().map_or(*own, RestShape::from_world);
    let shapes = garment.rest_shapes.iter().enumerate().map(named).collect();
    let topology = &garment.topology;
    let mut bends = Vec::new();
    for (edge, triangles) in topology.hinges() {
        let ends = topology.edge(edge);
        let as_shape = |triangle: &TriangleId| rest.bent_as_shape.get(triangle.index()) == Some(&true);
        if triangles.iter().all(as_shape)
            && let Some(angle) = shape_angle(rest, garment, triangles, ends)
        {
            bends.push((ends, angle));
        }
    }
    for &(pair, angle) in &rest.bends {
        let [first, second] = pair.map(|triangle| TriangleId::new(triangle as usize));
        let edges = topology.triangle_edges(first);
        let common = edges.iter().find(|edge| topology.triangle_edges(second).contains(edge));
        if let Some(&edge) = common.filter(|_| first != second) {
            bends.push((topology.edge(edge), angle));
        }
    }
    (shapes, bends)
}

/// The angle between two triangles in their common rest shape; `None` where they lie apart at rest.
fn shape_angle(rest: &RestFields, garment: &Garment, triangles: [TriangleId; 2], [a, b]: [VertexId; 2]) -> Option<f64> {
    let at = |triangle: TriangleId, vertex: VertexId| -> Option<DVec3> {
        let corner = garment.topology.triangle(triangle).iter().position(|&corner| corner == vertex)?;
        Some(rest.corners.get(triangle.index())?.as_ref()?[corner])
    };
    let off = |triangle: TriangleId| garment.topology.triangle(triangle).into_iter().find(|&v| v != a && v != b);
    let corners = garment.topology.triangle(triangles[0]);
    let place = |vertex| corners.iter().position(|&corner| corner == vertex);
    let (start, end) = if (place(a)? + 1) % 3 == place(b)? { (a, b) } else { (b, a) };
    if [start, end].iter().any(|&vertex| at(triangles[0], vertex) != at(triangles[1], vertex)) {
        return None;
    }
    let [p, q] = [at(triangles[0], off(triangles[0])?)?, at(triangles[1], off(triangles[1])?)?];
    hinge::angle([p, q, at(triangles[0], start)?, at(triangles[0], end)?])
}
