//! The rest mesh of a garment, put where the garment is: a start without strain from which cloth of any shape can be undone.
//!
//! Guarantees: shapes are those of the rest mesh, in the size of the rest shapes in force; only turned and moved. `None` where a piece
//! of the rest mesh crosses itself.
//! Does not: tell whether it crosses anything else where it is put.

use crate::analysis::{Workspace, verdict};
use crate::model::Model;
use crate::untangle::rearrange::tutte_layout::alone;
use std::f64::consts::PI;
use unsnarl_geometry::math::{DMat3, DQuat};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// The vertices of a piece of cloth and where they are in the rest mesh, once that is turned and moved to where the piece is.
pub fn place(model: &Model, component: usize, rest: &[DVec3], positions: &[DVec3]) -> Option<Vec<(VertexId, DVec3)>> {
    if !verdict(&alone(model, component)?, rest, &mut Workspace::default()).is_clean() {
        return None;
    }
    let topology = &model.topology;
    let is_own = |vertex: &VertexId| topology.component(*vertex) == component;
    let own: Vec<VertexId> = (0..topology.vertex_count()).map(VertexId::new).filter(is_own).collect();
    let mean = |of: &[DVec3]| own.iter().map(|vertex| of[vertex.index()]).sum::<DVec3>() / own.len().max(1) as f64;
    let (middle, center) = (mean(rest), mean(positions));
    let size = size(model, component, rest);
    let pairs = own.iter().map(|vertex| (rest[vertex.index()] - middle, positions[vertex.index()] - center));
    let turn = nearest_rotation(&pairs.collect::<Vec<_>>());
    let at = |vertex: VertexId| (vertex, center + size * (turn * (rest[vertex.index()] - middle)));
    Some(own.iter().copied().map(at).collect())
}

/// How much larger rest shapes are than the rest mesh.
fn size(model: &Model, component: usize, rest: &[DVec3]) -> f64 {
    let topology = &model.topology;
    let (mut wanted, mut there) = (0.0, 0.0);
    for triangle in (0..topology.triangle_count()).map(TriangleId::new) {
        let corners = topology.triangle(triangle);
        if topology.component(corners[0]) == component {
            let [a, b, c] = corners.map(|corner| rest[corner.index()]);
            wanted += model.rest_shapes[triangle.index()].area();
            there += 0.5 * (b - a).cross(c - a).length();
        }
    }
    (wanted / there.max(f64::MIN_POSITIVE)).sqrt()
}

/// The rotation that takes the first points nearest to the second ones; none where they have hardly anything in common, as in
/// cloth that was crumpled at random. (by turning along the remaining torque, Müller et al. 2016, from several starts: a half
/// turn about an axis of symmetry has no torque)
fn nearest_rotation(pairs: &[(DVec3, DVec3)]) -> DQuat {
    const ROUNDS: usize = 100;
    const ALIKE: f64 = 0.5;
    let mut moment = DMat3::ZERO;
    let (mut first, mut second) = (0.0, 0.0);
    for &(from, to) in pairs {
        moment += DMat3::from_cols(to * from.x, to * from.y, to * from.z);
        first += from.length_squared();
        second += to.length_squared();
    }
    let columns = |turn: DQuat| {
        let turned = DMat3::from_quat(turn);
        [0, 1, 2].map(|at| (turned.col(at), moment.col(at)))
    };
    let fit = |turn: DQuat| columns(turn).iter().map(|(turned, wanted)| turned.dot(*wanted)).sum::<f64>();
    let improve = |start: DQuat| {
        let mut turn = start;
        for _ in 0..ROUNDS {
            let torque: DVec3 = columns(turn).iter().map(|(turned, wanted)| turned.cross(*wanted)).sum();
            let step = torque / fit(turn).abs().max(f64::MIN_POSITIVE);
            turn = (DQuat::from_scaled_axis(step.clamp_length_max(1.0)) * turn).normalize();
        }
        turn
    };
    let half_turns = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| improve(DQuat::from_axis_angle(axis, PI)));
    let better = |best: DQuat, other: DQuat| if fit(other) > fit(best) { other } else { best };
    let turn = half_turns.into_iter().fold(improve(DQuat::IDENTITY), better);
    if fit(turn) > ALIKE * (first * second).sqrt() { turn } else { DQuat::IDENTITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cloth;
    use crate::samples::{self, Cut, Recipe};

    fn tube() -> (Model, Vec<DVec3>) {
        let sample =
            samples::find("nested-tubes").unwrap().make(&Recipe { resolution: 16, cut: Cut::Regular, seed: 1 });
        let rest = sample.mesh.positions.clone();
        (Model::build(&[Cloth::new("tubes", sample.mesh)]).unwrap().0, rest)
    }

    #[test]
    fn a_mesh_that_was_turned_and_moved_is_found_again() {
        let (model, rest) = tube();
        let axis = DVec3::new(1.0, -2.0, 0.5).normalize();
        let turns = [(0.3, axis), (2.0, axis), (3.1, axis), (PI, DVec3::X), (PI, DVec3::Y), (PI, DVec3::Z)];
        for (angle, axis) in turns {
            let turn = DQuat::from_scaled_axis(angle * axis);
            let positions: Vec<DVec3> = rest.iter().map(|&place| turn * place + DVec3::new(1.0, 2.0, 3.0)).collect();
            for (vertex, place) in place(&model, 0, &rest, &positions).unwrap() {
                assert!(place.distance(positions[vertex.index()]) < 1e-6, "{angle}: {vertex:?}");
            }
        }
    }

    #[test]
    fn a_rest_mesh_that_crosses_itself_is_no_start() {
        let mesh = samples::find("ll").unwrap().make(&Recipe { resolution: 16, cut: Cut::Regular, seed: 1 }).mesh;
        let rest = mesh.positions.clone();
        let model = Model::build(&[Cloth::new("ll", mesh)]).unwrap().0;
        assert!(place(&model, 0, &rest, &rest).is_none());
    }

    #[test]
    fn crumpled_cloth_is_not_turned() {
        let (model, rest) = tube();
        let crumpled: Vec<DVec3> = (0..rest.len())
            .map(|at| 0.1 * DVec3::new((7 * at) as f64, (11 * at) as f64, (13 * at) as f64).map(f64::sin))
            .collect();
        let placed = place(&model, 0, &rest, &crumpled).unwrap();
        let (first, from) = placed[0];
        for (vertex, place) in placed {
            let way = rest[vertex.index()] - rest[first.index()];
            assert!((place - from).distance(way) < 1e-9, "{vertex:?}");
        }
    }
}
