//! Cloth that lies in a body, moved out by the body's own sign.
//!
//! In rounds: a cloth vertex inside the body, or nearer than the separation, goes out along the shortest way; where a
//! corner or an edge of the body stands through a cloth triangle whose own corners are outside, the middle of the hole
//! goes out and takes the corners along, by their weights. All pushes of a round are found first and a vertex follows
//! their mean, the longest weighing most. (Baraff, Witkin and Kass 2003, 5.4: against solids the solid knows)
//!
//! Guarantees: only cloth moves; the result depends on neither threads nor order.
//! Does not: keep cloth from crossing cloth on the way, nor find out of a place where the body crosses itself.

use super::body_surface::BodySurface;
use super::holes::{Hole, holes, mean_pushes};
use super::smoothing::smooth;
use crate::analysis::{Assembly, PartKind};
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, Topology, TriangleId};

/// Bodies that cloth is kept out of: the closed ones of an assembly.
pub struct BodyPush {
    surfaces: Vec<BodySurface>,
    /// Cloth keeps this far from bodies, metres.
    separation: f64,
}

/// What came of pushing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Rounds taken.
    pub rounds: usize,
    /// Pairs of a cloth and a body triangle that still cross.
    pub left: usize,
}

/// Deeper than this cloth is not looked for, metres.
const REACH: f64 = 1.0;

impl BodyPush {
    /// The closed bodies among the parts; open ones have no inside.
    pub fn new(assembly: &Assembly, positions: &[DVec3], separation: f64) -> Self {
        let bodies = assembly.parts().iter().filter(|part| part.kind == PartKind::Body && part.is_closed);
        let surfaces = bodies
            .filter_map(|part| {
                let triangles = assembly.topology().own_triangles(part.triangles.clone(), part.vertices.start);
                BodySurface::new(positions[part.vertices.clone()].to_vec(), &triangles).ok()
            })
            .collect();
        Self { surfaces, separation }
    }

    /// Whether there is no body to keep out of.
    pub fn is_idle(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// Moves cloth out of the bodies, at most `rounds` times. Positions are those of the whole assembly; `is_free` says
    /// which of the cloth's vertices may move.
    pub fn push_out(
        &self,
        assembly: &Assembly,
        positions: &mut [DVec3],
        is_free: &(dyn Fn(usize) -> bool + Sync),
        rounds: usize,
    ) -> PushReport {
        let mut report = PushReport::default();
        if self.is_idle() {
            return report;
        }
        let is_body =
            |triangle: TriangleId| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let wanted = |cloth: TriangleId, body: TriangleId| !is_body(cloth) && is_body(body);
        let cloth_count = cloth_vertex_count(assembly);
        // A vertex farther out than this cannot have come near since it was last looked at.
        let mut slack = vec![0.0f64; cloth_count];
        loop {
            let holes = holes(assembly.topology(), positions, &wanted);
            report.left = holes.len();
            let mut pushes = self.vertex_pushes(positions, &mut slack);
            let is_out = holes.is_empty() && pushes.iter().all(|push| push.1.length() < 0.5 * self.separation);
            if is_out || report.rounds == rounds {
                return report;
            }
            report.rounds += 1;
            pushes.extend(self.hole_pushes(assembly.topology(), positions, &holes));
            for (vertex, step) in mean_pushes(pushes) {
                if is_free(vertex) {
                    positions[vertex] += step;
                    slack[vertex] -= step.length();
                }
            }
        }
    }

    /// As [`BodyPush::push_out`], and carries the surroundings along: between rounds the displacement is smoothed over the
    /// cloth, so that what was pushed is not torn from what was not.
    pub fn push_out_smoothly(
        &self,
        assembly: &Assembly,
        positions: &mut [DVec3],
        is_free: &(dyn Fn(usize) -> bool + Sync),
        rounds: usize,
    ) -> PushReport {
        const PASSES: usize = 3;
        const LAMBDA: f64 = 8.0;
        let before = positions.to_vec();
        let free: Vec<bool> = (0..cloth_vertex_count(assembly)).map(is_free).collect();
        let mut report = self.push_out(assembly, positions, is_free, rounds);
        for _ in 0..PASSES {
            if report.rounds == 0 {
                break;
            }
            let moved: Vec<DVec3> = positions.iter().zip(&before).map(|(after, before)| *after - *before).collect();
            let smoothed = smooth(assembly.topology(), &moved, &free, LAMBDA, moved.clone());
            for vertex in (0..free.len()).filter(|&vertex| free[vertex]) {
                let step = smoothed[vertex];
                let is_worth_it = step.length() > 0.02 * self.separation;
                positions[vertex] = before[vertex] + if is_worth_it { step } else { DVec3::ZERO };
            }
            let again = self.push_out(assembly, positions, is_free, rounds);
            report = PushReport { rounds: report.rounds + again.rounds, left: again.left };
        }
        report
    }

    /// Vertices that are too near or inside, and the way out.
    fn vertex_pushes(&self, positions: &[DVec3], slack: &mut [f64]) -> Vec<(usize, DVec3)> {
        slack
            .par_iter_mut()
            .enumerate()
            .filter(|(_, slack)| **slack <= 0.0)
            .filter_map(|(vertex, slack)| {
                let sights = self.surfaces.iter().filter_map(|surface| surface.seen_from(positions[vertex], REACH));
                let nearest = sights.min_by(|a, b| a.signed_distance.total_cmp(&b.signed_distance));
                let Some(sight) = nearest else {
                    *slack = REACH - self.separation;
                    return None;
                };
                *slack = sight.signed_distance - self.separation;
                (*slack < 0.0).then(|| (vertex, -*slack * sight.outward))
            })
            .collect()
    }

    /// The middles of holes, moved out with the corners of their triangles.
    fn hole_pushes(&self, topology: &Topology, positions: &[DVec3], holes: &[Hole]) -> Vec<(usize, DVec3)> {
        let push = |hole: &Hole| {
            let sights = self.surfaces.iter().filter_map(|surface| surface.seen_from(hole.middle, REACH));
            let sight = sights.min_by(|a, b| a.signed_distance.total_cmp(&b.signed_distance))?;
            let corners = topology.triangle(hole.triangle);
            let weights = hole.weights_in(corners.map(|corner| positions[corner.index()]));
            let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
            let amount = self.separation - sight.signed_distance.min(0.0);
            let direction = if sight.signed_distance < 0.0 { sight.outward } else { hole.normal };
            Some(
                corners
                    .into_iter()
                    .zip(weights)
                    .map(move |(corner, weight)| (corner.index(), amount * weight / squares * direction)),
            )
        };
        holes.iter().filter_map(push).flatten().collect()
    }
}

fn cloth_vertex_count(assembly: &Assembly) -> usize {
    assembly.parts().iter().filter(|part| part.kind == PartKind::Cloth).map(|part| part.vertices.end).max().unwrap_or(0)
}
