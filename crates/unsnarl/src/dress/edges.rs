//! Edges take their length again, one by one, in the tangent plane of their layer (Buffet 2021, 2.4.3).
//!
//! Every edge asks its ends to lie at its rest length apart, symmetric about its middle, in the plane at right angles
//! to the gradient there; a vertex goes where its edges ask it to on average.
//!
//! Guarantees: the same bits on any number of threads; the middle of an edge alone in space stays.
//! Does not: bound the strain of what is too small for what it goes around; [`super::project`] slides by default.

use super::layers::Stack;
use crate::model::Model;
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, EdgeId};

/// One pass over all edges.
pub fn relax(stack: &Stack, model: &Model, positions: &mut [DVec3]) {
    let topology = &model.topology;
    let lengths = rest_lengths(model);
    let wish = |edge: usize| -> Option<DVec3> {
        let [a, b] = topology.edge(EdgeId::new(edge)).map(|end| end.index());
        stack.layer_of(a)?;
        let normal = (stack.facings[a] + stack.facings[b]).try_normalize()?;
        let along = positions[b] - positions[a];
        let flat = (along - along.dot(normal) * normal).try_normalize()?;
        // The height between the ends is kept: details would fight the projection.
        let height = along.dot(normal);
        let width = (lengths[edge] * lengths[edge] - height * height).max(0.0).sqrt();
        Some(flat * width + height * normal - along)
    };
    let wishes: Vec<Option<DVec3>> = (0..topology.edge_count()).into_par_iter().map(wish).collect();
    let mut sums = vec![(DVec3::ZERO, 0_u32); positions.len()];
    for (edge, wish) in wishes.iter().enumerate() {
        let Some(wish) = wish else { continue };
        let [a, b] = topology.edge(EdgeId::new(edge)).map(|end| end.index());
        sums[a].0 -= 0.5 * *wish;
        sums[b].0 += 0.5 * *wish;
        sums[a].1 += 1;
        sums[b].1 += 1;
    }
    for (place, (sum, count)) in positions.iter_mut().zip(sums) {
        *place += sum / f64::from(count.max(1));
    }
}

/// The mean length of every edge at rest over its triangles, metres.
fn rest_lengths(model: &Model) -> Vec<f64> {
    let topology = &model.topology;
    let mut sums = vec![(0.0, 0_u32); topology.edge_count()];
    for (triangle, shape) in model.rest_shapes.iter().enumerate() {
        let corners = topology.triangles()[triangle];
        for (side, length) in shape.lengths().into_iter().enumerate() {
            if let Some(edge) = topology.find_edge(corners[side], corners[(side + 1) % 3]) {
                sums[edge.index()].0 += length;
                sums[edge.index()].1 += 1;
            }
        }
    }
    sums.into_iter().map(|(sum, count)| sum / f64::from(count.max(1))).collect()
}
