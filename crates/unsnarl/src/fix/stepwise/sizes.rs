//! Lengths of the mesh that `fix` measures by.

use crate::analysis::Assembly;
use crate::model::Model;
use crate::rest_shape::{RestShape, principal_stretches};
use crate::state::State;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// Gives rest shapes the size of cloth that as a whole is larger or smaller than they are: `fix` keeps the size of its
/// input. Cloth that is stretched here and not there keeps its rest shapes.
pub(in crate::fix) fn fit_rest_shapes(model: &mut Model, state: &mut State) {
    const EVEN: f64 = 1.25;
    const WORTH_IT: f64 = 0.05;
    let corners =
        model.topology.triangles().iter().map(|corners| corners.map(|corner| state.positions[corner.index()]));
    let stretches =
        model.rest_shapes.iter().zip(corners).filter_map(|(shape, places)| principal_stretches(shape, places));
    let mut largest: Vec<f64> = stretches.map(|[largest, _]| largest).collect();
    largest.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| largest.get((share * largest.len() as f64) as usize).copied().unwrap_or(1.0);
    let (low, middle, high) = (at(0.05), at(0.5), at(0.95));
    if high > EVEN * low || (middle - 1.0).abs() < WORTH_IT {
        return;
    }
    for shape in model.rest_shapes.iter_mut().chain(&mut state.rest_shapes) {
        shape.sides = shape.sides.map(|side| middle * side);
    }
}

/// The rest length of every edge: from rest shapes for cloth, as they are for bodies.
pub(in crate::fix) fn rest_lengths(
    assembly: &Assembly,
    model: &Model,
    state: &State,
    body_positions: &[DVec3],
) -> Vec<f64> {
    let topology = assembly.topology();
    let at = |vertex: VertexId| match state.positions.get(vertex.index()) {
        Some(&position) => position,
        None => body_positions[vertex.index() - state.positions.len()],
    };
    (0..topology.edge_count())
        .map(|edge| {
            let edge = unsnarl_geometry::EdgeId::new(edge);
            let triangle = topology.edge_triangles(edge)[0];
            let ends = topology.edge(edge);
            let shape: Option<&RestShape> = model.rest_shapes.get(triangle.index());
            let corners = topology.triangle(triangle);
            let corner = |vertex: VertexId| corners.iter().position(|&other| other == vertex).unwrap_or(0);
            match shape {
                Some(shape) => shape.side(corner(ends[0]), corner(ends[1])).length(),
                None => at(ends[0]).distance(at(ends[1])),
            }
        })
        .collect()
}

/// The size of the mesh at each vertex: the mean of its edges, but at most a few times the least height of its
/// triangles, so that slivers are not asked to keep a distance that they do not have.
pub(in crate::fix) fn local_sizes(topology: &Topology, rest_lengths: &[f64]) -> Vec<f64> {
    const HEIGHTS_PER_EDGE: f64 = 2.0;
    let height = |triangle: TriangleId| {
        let [a, b, c] = topology.triangle_edges(triangle).map(|edge| rest_lengths[edge.index()]);
        let half = 0.5 * (a + b + c);
        let area = (half * (half - a) * (half - b) * (half - c)).max(0.0).sqrt();
        2.0 * area / a.max(b).max(c).max(f64::MIN_POSITIVE)
    };
    (0..topology.vertex_count())
        .map(|vertex| {
            let (edges, triangles) =
                (topology.vertex_edges(VertexId::new(vertex)), topology.vertex_triangles(VertexId::new(vertex)));
            let mean = edges.iter().map(|edge| rest_lengths[edge.index()]).sum::<f64>() / edges.len().max(1) as f64;
            let least = triangles.iter().map(|&triangle| height(triangle)).fold(f64::INFINITY, f64::min);
            mean.min(HEIGHTS_PER_EDGE * least)
        })
        .collect()
}
