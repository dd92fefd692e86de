//! Curl: to which side a flap lies, by the turning of the normal along cuts across its fold.
//!
//! A cut is a straight line on the cloth as it is at rest, from the ground over the fold to the border. With the
//! normals `n_0 .. n_m` of its triangles, the first direction `t_0` and the axis `a = unit(n_0 x t_0)`,
//! `Theta = sum of atan2(a . (n_i x n_i+1), n_i . n_i+1 - (a . n_i)(a . n_i+1))`: the turning of the normal seen
//! along the
//! fold. It telescopes on a cylinder. Near `-pi` the flap lies on the front (it curls out), near `pi` on the back (it
//! curls in). (Cha 2022, appendix E, which gives no formula)
//!
//! Guarantees: turning and mirroring (with reversed triangles) keep Theta; turning inside out negates it.
//! Does not: tell the side of a sharp fold that is nearly shut, where noise of the normals decides; heights do.

use crate::model::Model;
use rustc_hash::FxHashSet;
use std::f64::consts::FRAC_PI_2;
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{DVec3, EdgeId, TriangleId, VertexId};

/// A cut goes so many times as far as its way to the crest.
const BEYOND_CREST: f64 = 1.9;
/// The share of cuts that has to agree on a side.
const AGREEING: f64 = 0.8;
/// A cut ends after so many triangles.
const LONGEST: usize = 10_000;

/// The turning of the normal along a cut, radians; `None` where it has no axis.
pub fn turning(normals: &[DVec3], first_direction: DVec3) -> Option<f64> {
    let axis = normals.first()?.cross(first_direction).try_normalize()?;
    let turn = |pair: &[DVec3]| {
        let [from, to] = [pair[0], pair[1]];
        axis.dot(from.cross(to)).atan2(from.dot(to) - axis.dot(from) * axis.dot(to))
    };
    Some(normals.windows(2).map(turn).sum())
}

/// The turning along a path of triangles from the ground to the border.
pub fn turning_along(model: &Model, positions: &[DVec3], path: &[TriangleId]) -> Option<f64> {
    let corners = |triangle: TriangleId| model.topology.triangle(triangle).map(|corner| positions[corner.index()]);
    let normal = |triangle: &TriangleId| {
        let [a, b, c] = corners(*triangle);
        (b - a).cross(c - a).try_normalize()
    };
    let normals: Option<Vec<DVec3>> = path.iter().map(normal).collect();
    let middle = |at: usize| corners(path[at]).into_iter().sum::<DVec3>() / 3.0;
    turning(&normals?, middle(3.min(path.len() - 1)) - middle(0))
}

/// The triangles of the cut from the middle of a border edge, at right angles to it, [`BEYOND_CREST`] times as far as
/// to
/// the first edge of the crest; from its end to the border. `None` where it meets no crest or another border first.
pub fn cut(model: &Model, border: EdgeId, crest: &FxHashSet<EdgeId>) -> Option<Vec<TriangleId>> {
    let topology = &model.topology;
    let mut sheet = Unfolded::new(model, *topology.edge_triangles(border).first()?);
    let mut entered = topology.triangle_edges(sheet.triangle).iter().position(|edge| *edge == border)?;
    let [from, to] = sheet.side(entered);
    let inward = sheet.corners[(entered + 2) % 3] - from;
    let direction = (to - from).perp().try_normalize()?;
    let direction = if direction.dot(inward) < 0.0 { -direction } else { direction };
    let origin = 0.5 * (from + to);
    let (mut path, mut end) = (vec![sheet.triangle], None);
    for _ in 0..LONGEST {
        let (side, way) = sheet.exit(origin, direction, entered)?;
        if end.is_some_and(|end| way >= end) {
            path.reverse();
            return Some(path);
        }
        let edge = topology.triangle_edges(sheet.triangle)[side];
        if end.is_none() && crest.contains(&edge) {
            end = Some(BEYOND_CREST * way);
        }
        (sheet, entered) = sheet.next(model, side)?;
        path.push(sheet.triangle);
    }
    None
}

/// Triangles of the cloth as it is at rest, laid out one after the other.
struct Unfolded {
    triangle: TriangleId,
    corners: [DVec2; 3],
}

impl Unfolded {
    fn new(model: &Model, triangle: TriangleId) -> Self {
        let [first, second] = model.rest_shapes[triangle.index()].sides;
        Self { triangle, corners: [DVec2::ZERO, first, second] }
    }

    fn side(&self, side: usize) -> [DVec2; 2] {
        [self.corners[side], self.corners[(side + 1) % 3]]
    }

    /// The side by which a line leaves, and how far along the line that is.
    fn exit(&self, origin: DVec2, direction: DVec2, entered: usize) -> Option<(usize, f64)> {
        let ways = (0..3).filter(|&side| side != entered).filter_map(|side| {
            let [a, b] = self.side(side);
            let across = direction.perp_dot(b - a);
            let way = (a - origin).perp_dot(b - a) / across;
            let share = (a - origin).perp_dot(direction) / across;
            let is_on = way.is_finite() && (-1e-9..=1.0 + 1e-9).contains(&share);
            is_on.then_some((side, way))
        });
        ways.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The triangle beyond a side, and which side of it that is.
    fn next(&self, model: &Model, side: usize) -> Option<(Self, usize)> {
        let topology = &model.topology;
        let edge = topology.triangle_edges(self.triangle)[side];
        let &[first, second] = topology.edge_triangles(edge) else { return None };
        let triangle = if first == self.triangle { second } else { first };
        let own = Self::new(model, triangle);
        let entered = topology.triangle_edges(triangle).iter().position(|other| *other == edge)?;
        let [start, end] = [self.corners[side], self.corners[(side + 1) % 3]];
        let is_along = topology.triangle(triangle)[entered] == topology.triangle(self.triangle)[side];
        let [here, there] = if is_along { [start, end] } else { [end, start] };
        let [from, to] = own.side(entered);
        let (unit, target) = ((to - from).try_normalize()?, (there - here).try_normalize()?);
        // Neighbours lie on different sides of their edge, however their rest shapes are turned.
        let own_side = target.perp_dot(self.corners[(side + 2) % 3] - here).signum();
        let place = |point: DVec2| {
            let (along, off) = ((point - from).dot(unit), unit.perp_dot(point - from).abs());
            here + along * target - own_side * off * target.perp()
        };
        Some((Self { triangle, corners: own.corners.map(place) }, entered))
    }
}

/// The value of an interval of the border: the median over its cuts; `None` where too few agree on a side. Border
/// edges
/// within two edges of a corner are left out, unless nothing else is left.
pub fn interval(model: &Model, positions: &[DVec3], border: &[VertexId], crest: &FxHashSet<EdgeId>) -> Option<f64> {
    let edges: Vec<EdgeId> = border.windows(2).filter_map(|pair| model.topology.find_edge(pair[0], pair[1])).collect();
    let inner = if edges.len() > 8 { &edges[2..edges.len() - 2] } else { &edges };
    let turns = inner.iter().filter_map(|&edge| turning_along(model, positions, &cut(model, edge, crest)?));
    let mut turns: Vec<f64> = turns.collect();
    turns.sort_by(f64::total_cmp);
    let median = *turns.get(turns.len() / 2)?;
    let agrees = |turn: &&f64| turn.abs() > FRAC_PI_2 && (**turn > 0.0) == (median > 0.0);
    let agreeing = turns.iter().filter(agrees).count();
    (agreeing as f64 >= AGREEING * turns.len() as f64).then_some(median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;
    use std::f64::consts::PI;
    use unsnarl_geometry::math::{DMat3, DQuat};

    /// A fold of a cylinder with noise: points and normals of a cut, and its side (1: to the front).
    fn fold(random: &mut Random, hinges: usize, noise: f64) -> (Vec<DVec3>, Vec<DVec3>, f64) {
        let side = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        let (radius, flare) = (0.002 + 0.018 * random.unit(), 0.3 * random.unit());
        let total = side * (PI - flare);
        let mut points = vec![DVec3::new(-0.1, 0.0, 0.0)];
        let mut normals = Vec::new();
        for at in 0..hinges + 2 {
            let angle = total * (at as f64 / hinges as f64).min(1.0);
            let mut around = || noise * (2.0 * random.unit() - 1.0);
            let tilt = DVec3::new(around(), around(), around());
            normals.push((DVec3::new(-angle.sin(), 0.0, angle.cos()) + tilt).normalize());
            let length = if at == 0 || at == hinges + 1 { 0.05 } else { PI * radius / hinges as f64 };
            let last = points[at];
            points.push(last + length * DVec3::new(angle.cos(), 0.0, angle.sin()));
        }
        (points, normals, side)
    }

    fn theta(points: &[DVec3], normals: &[DVec3]) -> f64 {
        turning(normals, points[1] - points[0]).unwrap()
    }

    #[test]
    fn the_sign_tells_the_side_of_random_folds_turned_mirrored_and_inside_out() {
        let mut random = Random::new(7);
        for round in 0..2000 {
            let hinges = 2 + (7.0 * random.unit()) as usize;
            let (points, normals, side) = fold(&mut random, hinges, 0.15);
            let value = theta(&points, &normals);
            assert!(value * side < 0.0, "round {round}: folded to the front is negative");
            let q = [0; 4].map(|_| 2.0 * random.unit() - 1.0);
            let turn = DMat3::from_quat(DQuat::from_xyzw(q[0], q[1], q[2], q[3]).normalize());
            let map = |all: &[DVec3], of: &dyn Fn(DVec3) -> DVec3| all.iter().map(|at| of(*at)).collect::<Vec<_>>();
            let turned = theta(&map(&points, &|at| turn * at), &map(&normals, &|at| turn * at));
            let mirror = |at: DVec3| DVec3::new(-at.x, at.y, at.z);
            let mirrored = theta(&map(&points, &mirror), &map(&normals, &mirror));
            let inside_out = theta(&points, &map(&normals, &|at| -at));
            assert!((turned - value).abs() < 1e-9 && (mirrored - value).abs() < 1e-9, "round {round}");
            assert!((inside_out + value).abs() < 1e-9, "round {round}");
        }
    }

    #[test]
    fn on_a_cylinder_it_is_the_angle_between_the_first_and_the_last_normal() {
        let mut random = Random::new(3);
        for hinges in 1..9 {
            let (points, normals, side) = fold(&mut random, hinges, 0.0);
            let angle = normals[0].dot(normals[hinges + 1]).clamp(-1.0, 1.0).acos();
            assert!((theta(&points, &normals) + side * angle).abs() < 1e-12, "{hinges} hinges");
        }
    }

    #[test]
    fn eight_times_as_large_it_has_the_same_bits() {
        let mut random = Random::new(5);
        let (points, normals, _) = fold(&mut random, 6, 0.15);
        let large: Vec<DVec3> = points.iter().map(|at| 8.0 * *at).collect();
        assert_eq!(theta(&points, &normals).to_bits(), theta(&large, &normals).to_bits());
    }
}
