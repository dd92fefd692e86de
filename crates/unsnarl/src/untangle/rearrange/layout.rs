//! The flat layout of a piece of cloth: where its vertices are when it lies at rest in a plane.
//!
//! Triangles are laid beside each other by their rest lengths alone, from one on, so a panel, panels sewn along straight
//! seams and a mesh that is flat at rest without uv are one case. The plane is the one that fits the piece as it is.
//!
//! Other cloth can be spread instead ([`crate::untangle::rearrange::tutte_layout`]).
//!
//! Guarantees: every edge of a flat layout has its rest length to a thousandth; `None` where there is none (tubes, darts, closed
//! cloth).
//! Does not: tell whether a layout overlaps itself, or anything else.

use crate::model::Model;
use crate::untangle::rearrange::tutte_layout::spread;
use std::collections::VecDeque;
use unsnarl_geometry::math::{DMat2, DMat3, DVec2};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Edges may differ from their rest length by this share.
const TOLERANCE: f64 = 1e-3;

/// The vertices of a piece of cloth and where they lie, flat, as near as possible to where they are.
pub fn lay_flat(model: &Model, component: usize, positions: &[DVec3]) -> Option<Vec<(VertexId, DVec3)>> {
    let flat = unroll(model, component)?.into_iter().map(|(vertex, point)| (vertex, point.extend(0.0)));
    Some(carry(flat.collect(), positions))
}

/// The same for cloth that is not flat at rest, spread as far as it goes before it is told to stop.
pub fn lay_spread(
    model: &Model,
    component: usize,
    positions: &[DVec3],
    stop: &dyn Fn() -> bool,
) -> Option<Vec<(VertexId, DVec3)>> {
    Some(carry(spread(model, component, stop)?, positions))
}

/// Turns and moves a layout so that its plane fits where its vertices are.
fn carry(layout: Vec<(VertexId, DVec3)>, positions: &[DVec3]) -> Vec<(VertexId, DVec3)> {
    let count = layout.len() as f64;
    let middle = layout.iter().map(|&(_, point)| point).sum::<DVec3>() / count;
    let center = layout.iter().map(|(vertex, _)| positions[vertex.index()]).sum::<DVec3>() / count;
    let (mut along, mut across) = (DVec3::ZERO, DVec3::ZERO);
    for &(vertex, point) in &layout {
        let (place, point) = (positions[vertex.index()] - center, point - middle);
        along += point.x * place;
        across += point.y * place;
    }
    let [right, up] = nearest_frame(along, across);
    let turned = DMat3::from_cols(right, up, right.cross(up));
    layout.into_iter().map(|(vertex, point)| (vertex, center + turned * (point - middle))).collect()
}

/// The two unit vectors at a right angle that are nearest to two vectors: `M (M^T M)^(-1/2)`.
fn nearest_frame(along: DVec3, across: DVec3) -> [DVec3; 2] {
    let (a, b, c) = (along.length_squared(), along.dot(across), across.length_squared());
    let determinant = (a * c - b * b).max(0.0).sqrt();
    let trace = (a + c + 2.0 * determinant).sqrt();
    if determinant <= 1e-9 * (a + c) {
        let right = if a > c { along } else { across }.normalize_or(DVec3::X);
        let [right, up] =
            if a > c { [right, right.any_orthonormal_vector()] } else { [right.any_orthonormal_vector(), right] };
        return [right, up];
    }
    // The square root of a symmetric matrix S is (S + sqrt(det S) I) / trace, so its inverse is that one's.
    let root = DMat2::from_cols(DVec2::new(a + determinant, b), DVec2::new(b, c + determinant)) * (1.0 / trace);
    let inverse = root.inverse();
    let column = |at: usize| along * inverse.col(at).x + across * inverse.col(at).y;
    [column(0), column(1)]
}

/// Where the vertices of a piece lie in the plane.
fn unroll(model: &Model, component: usize) -> Option<Vec<(VertexId, DVec2)>> {
    let topology = &model.topology;
    let is_own = |triangle: &TriangleId| topology.component(topology.triangle(*triangle)[0]) == component;
    let own: Vec<TriangleId> = (0..topology.triangle_count()).map(TriangleId::new).filter(is_own).collect();
    let mut points: Vec<Option<DVec2>> = vec![None; topology.vertex_count()];
    let mut is_queued = vec![false; topology.triangle_count()];
    let first = *own.first()?;
    let start = topology.triangle(first);
    points[start[0].index()] = Some(DVec2::ZERO);
    points[start[1].index()] = Some(DVec2::new(model.rest_shapes[first.index()].lengths()[0], 0.0));
    is_queued[first.index()] = true;
    let mut queue = VecDeque::from([first]);
    while let Some(triangle) = queue.pop_front() {
        place_last_corner(model, triangle, &mut points)?;
        for edge in topology.triangle_edges(triangle) {
            for other in topology.edge_triangles(edge) {
                if !std::mem::replace(&mut is_queued[other.index()], true) {
                    queue.push_back(*other);
                }
            }
        }
    }
    let fits = |triangle: &TriangleId| {
        let corners = topology.triangle(*triangle).map(|corner| points[corner.index()]);
        model.rest_shapes[triangle.index()].lengths().into_iter().enumerate().all(|(side, rest)| {
            let ends = corners[side].zip(corners[(side + 1) % 3]);
            ends.is_some_and(|(from, to)| (from.distance(to) - rest).abs() <= TOLERANCE * rest)
        })
    };
    let vertices = points.iter().enumerate().filter_map(|(vertex, point)| Some((VertexId::new(vertex), (*point)?)));
    own.iter().all(fits).then(|| vertices.collect())
}

/// Places the corner of a triangle that has no place yet, to the left of the side between the other two.
fn place_last_corner(model: &Model, triangle: TriangleId, points: &mut [Option<DVec2>]) -> Option<()> {
    let corners = model.topology.triangle(triangle);
    let Some(missing) = corners.iter().position(|corner| points[corner.index()].is_none()) else { return Some(()) };
    let [from, to] = [1, 2].map(|ahead| points[corners[(missing + ahead) % 3].index()]);
    let (from, to) = (from?, to?);
    let lengths = model.rest_shapes[triangle.index()].lengths();
    let [after, base, before] = [missing, (missing + 1) % 3, (missing + 2) % 3].map(|side| lengths[side]);
    let direction = (to - from).try_normalize()?;
    let along = (base * base + after * after - before * before) / (2.0 * base);
    let height = (after * after - along * along).max(0.0).sqrt();
    points[corners[missing].index()] = Some(from + along * direction + height * direction.perp());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cloth, Rest};
    use crate::samples::{self, Cut, Recipe};

    fn model(name: &str) -> (Model, Vec<DVec3>) {
        let sample = samples::find(name).unwrap().make(&Recipe { resolution: 16, cut: Cut::Irregular, seed: 4 });
        let mut cloth = Cloth::new(name, sample.mesh.clone());
        cloth.rest = Rest::Panels(sample.uv);
        (Model::build(&[cloth]).unwrap().0, sample.mesh.positions)
    }

    #[test]
    fn a_sheet_that_is_flat_at_rest_stays_where_it_is() {
        let (model, positions) = model("hanky");
        for (vertex, place) in lay_flat(&model, 0, &positions).unwrap() {
            assert!(place.distance(positions[vertex.index()]) < 1e-9, "{vertex:?}");
        }
    }

    #[test]
    fn a_roll_becomes_flat_with_all_its_edges_at_rest_and_a_tube_does_not() {
        let (roll, positions) = model("spiral-roll");
        let layout = lay_flat(&roll, 0, &positions).unwrap();
        assert_eq!(layout.len(), positions.len());
        let origin = layout[0].1;
        let [u, v] = [layout[1].1 - origin, layout[layout.len() - 1].1 - origin];
        let normal = u.cross(v).normalize();
        for (corners, shape) in roll.topology.triangles().iter().zip(&roll.rest_shapes) {
            let [a, b, c] = corners.map(|corner| layout[corner.index()].1);
            assert!((a - origin).dot(normal).abs() < 1e-9);
            for (length, rest) in [a.distance(b), b.distance(c), c.distance(a)].into_iter().zip(shape.lengths()) {
                assert!((length / rest - 1.0).abs() < 1e-6);
            }
        }
        let (tube, positions) = model("nested-tubes");
        assert!(lay_flat(&tube, 0, &positions).is_none());
    }
}
