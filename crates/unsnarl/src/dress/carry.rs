//! Garments carried from one pose of the bodies to another.
//!
//! Every body vertex has a turn, the mean of how its triangles turn from one pose to the other, smoothed over its ring.
//! A garment vertex takes the rigid motion of the body at its nearest point, and the motions are then blended over the
//! garment, so that cloth that bridges two limbs is bent and not torn. (Buffet et al. 2018, 3 and 7, make their input
//! by skinning)
//!
//! Guarantees: where a body moves rigidly, cloth moves with it, to rounding; garments farther than `reach` from bodies
//! stay with what they hang on. The same bits on any number of threads.
//! Does not: keep cloth from crossing anything; that is what is mended afterwards.

use rayon::prelude::*;
use unsnarl_geometry::math::{DMat3, DQuat};
use unsnarl_geometry::{DVec3, Topology, TopologyError, VertexId};
use unsnarl_volume::{SheetField, SheetQuery};

/// Rounds of blending over the garment.
const BLENDS: usize = 6;
/// Rounds of blending over the body.
const BODY_BLENDS: usize = 3;

/// Bodies in two poses: the same triangles, positions of both.
pub struct Poses<'a> {
    /// All triangles of all bodies.
    pub triangles: &'a [[u32; 3]],
    /// Where garments fit.
    pub from: &'a [DVec3],
    /// Where they go.
    pub to: &'a [DVec3],
}

/// A motion: a turn, then a shift.
#[derive(Clone, Copy)]
struct Motion {
    turn: DQuat,
    shift: DVec3,
}

/// Carries cloth with the given connectivity; returns where it is then.
pub fn carry(poses: &Poses<'_>, cloth: &Topology, positions: &[DVec3]) -> Result<Vec<DVec3>, TopologyError> {
    let body = Topology::new(poses.from.len(), poses.triangles)?;
    let turns = body_turns(&body, poses);
    let field = SheetField::new(poses.from.to_vec(), poses.triangles)?;
    let query = SheetQuery { reach: f64::INFINITY, facing: None, hint: None };
    let motion = |point: &DVec3| -> Option<Motion> {
        let sight = field.sight(*point, &query)?;
        let corners = body.triangle(sight.triangle);
        let mean = |of: &[DVec3]| (0..3).map(|k| sight.weights[k] * of[corners[k].index()]).sum::<DVec3>();
        let turn = blend((0..3).map(|k| (turns[corners[k].index()], sight.weights[k])))?;
        Some(Motion { turn, shift: mean(poses.to) - turn * mean(poses.from) })
    };
    let mut motions: Vec<Option<Motion>> = positions.par_iter().map(motion).collect();
    for _ in 0..BLENDS {
        let last = motions.clone();
        let blended = |vertex: usize| {
            let own = last[vertex]?;
            let around: Vec<Motion> = cloth.ring(VertexId::new(vertex)).filter_map(|next| last[next.index()]).collect();
            let count = around.len().max(1) as f64;
            let each = around.iter().map(|motion| (motion.turn, 0.5 / count));
            let turn = blend(each.chain([(own.turn, 0.5)]))?;
            // The shift is that of the point itself: turns about far centres do not add up to large shifts.
            let place = positions[vertex];
            let image = |motion: &Motion| motion.turn * place + motion.shift;
            let mean = around.iter().map(image).sum::<DVec3>() / count;
            let target = if around.is_empty() { image(&own) } else { 0.5 * (mean + image(&own)) };
            Some(Motion { turn, shift: target - turn * place })
        };
        motions = (0..positions.len()).into_par_iter().map(blended).collect();
    }
    let moved = |(place, motion): (&DVec3, &Option<Motion>)| {
        motion.map_or(*place, |motion| motion.turn * *place + motion.shift)
    };
    Ok(positions.iter().zip(&motions).map(moved).collect())
}

/// How the body turns at each of its vertices.
fn body_turns(body: &Topology, poses: &Poses<'_>) -> Vec<DQuat> {
    let frame = |corners: [VertexId; 3], places: &[DVec3]| -> Option<DMat3> {
        let [a, b, c] = corners.map(|corner| places[corner.index()]);
        let along = (b - a).try_normalize()?;
        let normal = (b - a).cross(c - a).try_normalize()?;
        Some(DMat3::from_cols(along, normal, along.cross(normal)))
    };
    let of_triangle = |corners: &[VertexId; 3]| -> Option<DQuat> {
        let (from, to) = (frame(*corners, poses.from)?, frame(*corners, poses.to)?);
        Some(DQuat::from_mat3(&(to * from.transpose())))
    };
    let of_triangles: Vec<Option<DQuat>> = body.triangles().par_iter().map(of_triangle).collect();
    let at_vertex = |vertex: usize| {
        let around = body.vertex_triangles(VertexId::new(vertex)).iter();
        blend(around.filter_map(|triangle| Some((of_triangles[triangle.index()]?, 1.0)))).unwrap_or(DQuat::IDENTITY)
    };
    let mut turns: Vec<DQuat> = (0..body.vertex_count()).into_par_iter().map(at_vertex).collect();
    for _ in 0..BODY_BLENDS {
        let last = turns.clone();
        let blended = |vertex: usize| {
            let around = body.ring(VertexId::new(vertex)).map(|next| (last[next.index()], 1.0));
            blend(std::iter::once((last[vertex], 1.0)).chain(around)).unwrap_or(last[vertex])
        };
        turns = (0..turns.len()).into_par_iter().map(blended).collect();
    }
    turns
}

/// The weighted mean of turns, all taken on the side of the first; `None` without any.
fn blend(turns: impl Iterator<Item = (DQuat, f64)>) -> Option<DQuat> {
    let mut first: Option<DQuat> = None;
    let mut sum = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    for (turn, weight) in turns {
        let side = if first.get_or_insert(turn).dot(turn) < 0.0 { -weight } else { weight };
        sum += turn * side;
    }
    (sum.length_squared() > 1e-12).then(|| sum.normalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn cloth_moves_rigidly_with_a_body_that_moves_rigidly() {
        let body = samples::find("hanky").unwrap().make(&Recipe { resolution: 8, cut: Cut::Irregular, seed: 1 }).mesh;
        let turn = DQuat::from_rotation_y(1.1) * DQuat::from_rotation_x(0.4);
        let shift = DVec3::new(0.3, -0.2, 0.9);
        let to: Vec<DVec3> = body.positions.iter().map(|place| turn * *place + shift).collect();
        let cloth: Vec<DVec3> = body.positions.iter().map(|place| *place + DVec3::new(0.01, 0.02, 0.0)).collect();
        let topology = Topology::new(cloth.len(), &body.triangles).unwrap();
        let poses = Poses { triangles: &body.triangles, from: &body.positions, to: &to };
        for (place, moved) in cloth.iter().zip(carry(&poses, &topology, &cloth).unwrap()) {
            assert!((turn * *place + shift).distance(moved) < 1e-9);
        }
    }
}
