//! Collision flypapering: where a pinched vertex has to be at the end of a step.
//!
//! Each surface that holds a vertex carries it along as if it stuck there: the vertex keeps its place in a frame of the
//! nearest triangle. The goal is the weighted mean of these places. Frames are taken anew in every step, so there is no
//! history, and a vertex may be caught, let go, or change its number of surfaces without a jump. (Baraff, Witkin and Kass
//! 2003, 4.2 and 4.3)
//!
//! Guarantees: bodies that do not move leave the goal exactly where the vertex is, to the last bit; bodies that move
//! together like one rigid body carry it rigidly; the goal never moves farther than the farthest of the places that the
//! surfaces carry it to.
//! Does not: stop anything else from moving the vertex; the caller holds it there.

use crate::dynamics::Hold;
use crate::untangle::bodies::pinch::{BodyMeshes, Pinch};
use std::sync::Arc;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::math::DMat3;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// How much each surface counts for a vertex that several hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlypaperWeights {
    /// One weight per vertex of the bodies, not negative; empty: all count the same. The weight of a place is that of its
    /// triangle's corners. Where all are 0, all count the same.
    pub of_bodies: Vec<f64>,
    /// For single vertices of cloth, weights of the bodies' vertices to use instead; sorted by vertex.
    pub of_vertices: Vec<(VertexId, Arc<[f64]>)>,
}

impl FlypaperWeights {
    fn at(&self, vertex: VertexId, corners: [VertexId; 3], barycentric: [f64; 3]) -> f64 {
        let own = self.of_vertices.binary_search_by_key(&vertex, |entry| entry.0);
        let weights = own.map_or(self.of_bodies.as_slice(), |at| &self.of_vertices[at].1);
        let corner = |k: usize| weights.get(corners[k].index()).copied().unwrap_or(1.0).max(0.0) * barycentric[k];
        (corner(0) + corner(1)) + corner(2)
    }
}

/// Where the pinched vertices have to be at the end of a step in which the bodies move from `start` to `end`.
pub fn goals(
    meshes: &BodyMeshes,
    [start, end]: [&[DVec3]; 2],
    cloth: &[DVec3],
    pinches: &[Pinch],
    weights: &FlypaperWeights,
) -> Vec<(VertexId, Hold)> {
    pinches
        .iter()
        .map(|pinch| {
            let point = cloth[pinch.vertex.index()];
            let carried: Vec<(f64, DVec3)> = pinch
                .triangles
                .iter()
                .map(|&triangle| {
                    let corners = meshes.topology().triangle(triangle);
                    let closest = point_triangle(point, corners.map(|corner| start[corner.index()]));
                    let step = carried_by(meshes.topology(), [start, end], triangle, point);
                    (weights.at(pinch.vertex, corners, closest.weights), step)
                })
                .collect();
            (pinch.vertex, Hold::At(point + mean(&carried)))
        })
        .collect()
}

/// How far a triangle that moves from `start` to `end` carries a point along.
pub(in crate::untangle) fn carried_by(
    topology: &Topology,
    [start, end]: [&[DVec3]; 2],
    triangle: TriangleId,
    point: DVec3,
) -> DVec3 {
    let corners = topology.triangle(triangle);
    let from = corners.map(|corner| start[corner.index()]);
    let to = corners.map(|corner| end[corner.index()]);
    let closest = point_triangle(point, from);
    carried_step(from, to, closest.weights, closest.offset)
}

fn mean(carried: &[(f64, DVec3)]) -> DVec3 {
    let total: f64 = carried.iter().map(|entry| entry.0).sum();
    if total > 0.0 {
        carried.iter().map(|&(weight, step)| step * (weight / total)).sum()
    } else {
        carried.iter().map(|entry| entry.1).sum::<DVec3>() / carried.len().max(1) as f64
    }
}

/// How far a triangle carries a point at `offset` from its point with these barycentric coordinates.
///
/// Differences of frames rather than frames: a triangle that stands still gives exactly 0.
fn carried_step(from: [DVec3; 3], to: [DVec3; 3], barycentric: [f64; 3], offset: DVec3) -> DVec3 {
    let slid: DVec3 = (0..3).map(|k| (to[k] - from[k]) * barycentric[k]).sum();
    let (Some(before), Some(after)) = (frame(from), frame(to)) else { return slid };
    let own = before.transpose() * offset;
    let turned = (after.x_axis - before.x_axis) * own.x
        + (after.y_axis - before.y_axis) * own.y
        + (after.z_axis - before.z_axis) * own.z;
    slid + turned
}

/// An orthonormal frame of a triangle; `None` where it has no area.
fn frame([a, b, c]: [DVec3; 3]) -> Option<DMat3> {
    let along = (b - a).try_normalize()?;
    let normal = (b - a).cross(c - a).try_normalize()?;
    Some(DMat3::from_cols(along, normal.cross(along), normal))
}

#[cfg(test)]
mod tests;
