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
use super::evening;
use super::holes::{Hole, holes, mean_pushes};
use super::smoothing::{CARRIES, carry_along};
use crate::analysis::{Assembly, PartKind, Workspace};
use rayon::prelude::*;
use std::collections::BTreeMap;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// Bodies that cloth is kept out of: the closed ones of an assembly.
pub struct BodyPush {
    surfaces: Vec<BodySurface>,
    /// Cloth keeps this far from bodies, metres.
    separation: f64,
}

/// What may be pushed, and how often.
#[derive(Clone, Copy)]
pub struct Pushing<'a> {
    /// Cloth and bodies.
    pub assembly: &'a Assembly,
    /// Which vertices of cloth may move.
    pub free: &'a [bool],
    /// Which vertices of cloth bodies pinch, so that neither they nor their triangles can come out; empty for none.
    pub pinched: &'a [bool],
    /// Rounds at most, between smoothings.
    pub rounds: usize,
}

impl Pushing<'_> {
    /// Whether a triangle has a pinched corner.
    fn is_pinched(&self, topology: &Topology, triangle: TriangleId) -> bool {
        topology.triangle(triangle).iter().any(|corner| self.pinched.get(corner.index()) == Some(&true))
    }
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
        let topology = assembly.topology();
        let mut surfaces = Vec::new();
        for part in bodies {
            // Each closed piece has an inside of its own, also where pieces overlap.
            let mut pieces: BTreeMap<usize, Vec<[u32; 3]>> = BTreeMap::new();
            for corners in topology.own_triangles(part.triangles.clone(), part.vertices.start) {
                let piece = topology.component(VertexId::new(corners[0] as usize + part.vertices.start));
                pieces.entry(piece).or_default().push(corners);
            }
            let places = &positions[part.vertices.clone()];
            surfaces.extend(pieces.values().filter_map(|piece| BodySurface::new(places.to_vec(), piece).ok()));
        }
        Self { surfaces, separation }
    }

    /// Whether there is no body to keep out of.
    pub fn is_idle(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// Moves cloth out of the bodies. Positions are those of the whole assembly.
    pub fn push_out(&self, pushing: &Pushing, positions: &mut [DVec3]) -> PushReport {
        self.push_out_within(pushing, &mut vec![0.0; pushing.free.len()], positions)
    }

    /// The same with what is known of each vertex from before: one farther out than its slack, metres, cannot have come
    /// near since it was last looked at.
    fn push_out_within(&self, pushing: &Pushing, slack: &mut [f64], positions: &mut [DVec3]) -> PushReport {
        let assembly = pushing.assembly;
        let mut report = PushReport::default();
        if self.is_idle() {
            return report;
        }
        let is_body =
            |triangle: TriangleId| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let wanted = |cloth: TriangleId, body: TriangleId| !is_body(cloth) && is_body(body);
        let mut memory = Workspace::default();
        loop {
            let mut holes = holes(assembly.topology(), positions, &mut memory, &wanted);
            holes.retain(|hole| !pushing.is_pinched(assembly.topology(), hole.triangle));
            report.left = holes.len();
            let mut pushes = self.vertex_pushes(positions, slack);
            pushes.retain(|push| pushing.pinched.get(push.0) != Some(&true));
            let is_out = holes.is_empty() && pushes.iter().all(|push| push.1.length() < 0.5 * self.separation);
            if is_out || report.rounds == pushing.rounds {
                return report;
            }
            report.rounds += 1;
            pushes.extend(self.hole_pushes(assembly.topology(), positions, &holes));
            for (vertex, step) in mean_pushes(pushes) {
                if pushing.free[vertex] {
                    positions[vertex] += step;
                    slack[vertex] -= step.length();
                }
            }
        }
    }

    /// As [`BodyPush::push_out`], and carries the surroundings along: between rounds the displacement is smoothed over the
    /// cloth, so that what was pushed is not torn from what was not, and then strain is evened out, so that cloth slides
    /// over the body. `rest_lengths` are those of all edges, metres.
    pub fn push_out_smoothly(&self, pushing: &Pushing, rest_lengths: &[f64], positions: &mut [DVec3]) -> PushReport {
        const EVENINGS: usize = 150;
        const ROUNDS_BETWEEN: usize = 3;
        let topology = pushing.assembly.topology();
        let before = positions.to_vec();
        let mut report = self.push_out(pushing, positions);
        let mut slack = vec![0.0; pushing.free.len()];
        for carry in 0..CARRIES + EVENINGS {
            if report.rounds == 0 {
                break;
            }
            let mut rounds = pushing.rounds;
            if carry < CARRIES {
                carry_along(topology, &before, positions, pushing.free, 0.02 * self.separation);
                slack.fill(0.0);
            } else {
                let bounds = evening::bounds(topology, rest_lengths, &before);
                let Some(moved) = evening::even_out(topology, &bounds, positions, pushing.free) else { break };
                slack.iter_mut().zip(moved).for_each(|(slack, moved)| *slack -= moved);
                rounds = if carry + 1 < CARRIES + EVENINGS { ROUNDS_BETWEEN } else { rounds };
            }
            let again = self.push_out_within(&Pushing { rounds, ..*pushing }, &mut slack, positions);
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
