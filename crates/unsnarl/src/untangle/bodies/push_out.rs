//! Cloth that lies in a body, moved out by the body's own sign.
//!
//! In rounds: a cloth vertex inside the body, or nearer than the separation, goes out along the shortest way; where a
//! corner or an edge of the body stands through a cloth triangle whose own corners are outside, the middle of the hole
//! goes out and takes the corners along, by their weights. All pushes of a round are found first and a vertex follows
//! their mean, the longest weighing most. (Baraff, Witkin and Kass 2003, 5.4: against solids the solid knows)
//!
//! Guarantees: only cloth moves; the result depends on neither threads nor order.
//! Does not: keep cloth from crossing cloth on the way, nor find out of a place where the body crosses itself.

use crate::analysis::{Assembly, PartKind, Workspace};
use crate::untangle::bodies::surface::{BodySurface, Sight};
use crate::untangle::rearrange::piercing::{Hole, holes, mean_pushes};
use crate::untangle::rearrange::sliding::{Sliding, take_back};
use crate::untangle::rearrange::strain_bounds::StrainBounds;
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
        let assembly = pushing.assembly;
        let mut report = PushReport::default();
        if self.is_idle() {
            return report;
        }
        let mut memory = Workspace::default();
        // One farther out than its slack, metres, cannot have come near since it was last looked at.
        let mut slack = vec![0.0; pushing.free.len()];
        loop {
            let holes = self.holes(pushing, positions, &mut memory);
            report.left = holes.len();
            let mut pushes = self.vertex_pushes(positions, &mut slack);
            pushes.retain(|push| pushing.pinched.get(push.0) != Some(&true));
            let is_out = holes.is_empty() && pushes.iter().all(|push| push.1.length() < 0.5 * self.separation);
            if is_out || report.rounds == pushing.rounds {
                return report;
            }
            report.rounds += 1;
            pushes.extend(self.hole_pushes(assembly.topology(), positions, &holes));
            for (vertex, step) in apply(pushes, pushing.free, positions) {
                slack[vertex] -= step.length();
            }
        }
    }

    /// Vertices of cloth that lie in bodies or too near, and the corners of triangles that bodies stand through; in order.
    pub fn touched(&self, pushing: &Pushing, positions: &[DVec3]) -> Vec<VertexId> {
        if self.is_idle() {
            return Vec::new();
        }
        let topology = pushing.assembly.topology();
        let holes = self.holes(pushing, positions, &mut Workspace::default());
        let corners = holes.iter().flat_map(|hole| topology.triangle(hole.triangle));
        let pushes = self.vertex_pushes(positions, &mut vec![0.0; pushing.free.len()]);
        let inside = pushes.iter().map(|push| VertexId::new(push.0));
        let is_pinched = |vertex: &VertexId| pushing.pinched.get(vertex.index()) == Some(&true);
        let mut touched: Vec<VertexId> = corners.chain(inside).filter(|vertex| !is_pinched(vertex)).collect();
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// As [`BodyPush::push_out`], and cloth slides over the body on the way, so that it is strained no more than it must
    /// ([`crate::untangle::rearrange::sliding`]). Points of triangles that a body has stood through are kept out like
    /// vertices; whether there are more is looked up in some rounds only.
    pub fn push_out_smoothly(
        &self,
        pushing: &Pushing,
        bounds: &mut StrainBounds,
        positions: &mut [DVec3],
    ) -> PushReport {
        const MOST_ROUNDS: usize = 80;
        const BETWEEN_LOOKS: usize = 10;
        const STILL: f64 = 0.1;
        const TAKEN_BACK: f64 = 0.2;
        let topology = pushing.assembly.topology();
        let mut slack = vec![0.0; pushing.free.len()];
        let (mut memory, mut samples) = (Workspace::default(), Samples::default());
        let before = positions[..slack.len()].to_vec();
        let mut last_look = before.clone();
        let mut report = PushReport::default();
        let Some(mut sliding) = Sliding::new(topology, bounds, pushing.free, 0.0, positions) else {
            return self.push_out(pushing, positions);
        };
        let mut asked = positions[..slack.len()].to_vec();
        for round in 0..MOST_ROUNDS {
            if round % BETWEEN_LOOKS == 0 {
                let holes = self.holes(pushing, positions, &mut memory);
                holes.iter().for_each(|hole| samples.remember(topology, positions, hole));
                let moved = positions.iter().zip(&last_look).map(|(now, then)| now.distance(*then));
                if round > 0 && holes.is_empty() && moved.fold(0.0, f64::max) < STILL * self.separation {
                    break;
                }
                last_look.copy_from_slice(&positions[..slack.len()]);
                if round > 0 {
                    bounds.spare(topology, positions);
                }
            }
            sliding.round(bounds, positions, &mut |positions| {
                let mut pushes = self.pushes_since(&mut asked, &mut slack, positions);
                pushes.retain(|push| pushing.pinched.get(push.0) != Some(&true));
                pushes.extend(self.sample_pushes(topology, positions, &samples));
                apply(pushes, pushing.free, positions);
            });
            report.rounds += 1;
        }
        take_back(TAKEN_BACK * self.separation, &before, &mut positions[..before.len()]);
        let again = self.push_out(pushing, positions);
        PushReport { rounds: report.rounds + again.rounds, left: again.left }
    }

    /// Where bodies stand through triangles of cloth that they do not pinch.
    fn holes(&self, pushing: &Pushing, positions: &[DVec3], memory: &mut Workspace) -> Vec<Hole> {
        let assembly = pushing.assembly;
        let is_body =
            |triangle: TriangleId| assembly.parts()[assembly.part_of_triangle(triangle)].kind == PartKind::Body;
        let wanted = |cloth: TriangleId, body: TriangleId| !is_body(cloth) && is_body(body);
        let mut holes = holes(assembly.topology(), positions, memory, &wanted);
        holes.retain(|hole| !pushing.is_pinched(assembly.topology(), hole.triangle));
        holes
    }

    /// The points of triangles that have been in a hole, moved out with the corners of their triangles.
    fn sample_pushes(&self, topology: &Topology, positions: &[DVec3], samples: &Samples) -> Vec<(usize, DVec3)> {
        let push = |(triangle, weights): &(TriangleId, [f64; 3])| {
            let corners = topology.triangle(*triangle);
            let point: DVec3 = (0..3).map(|k| weights[k] * positions[corners[k].index()]).sum();
            let sight = self.sight(point).filter(|sight| sight.signed_distance < self.separation)?;
            let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
            let amount = self.separation - sight.signed_distance;
            Some([0, 1, 2].map(|k| (corners[k].index(), amount * weights[k] / squares * sight.outward)))
        };
        samples.points.par_iter().filter_map(push).collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// The nearest body as seen from a point, or the one that it is deepest in.
    fn sight(&self, point: DVec3) -> Option<Sight> {
        self.sight_within(point, REACH)
    }

    /// The same within a reach, metres.
    pub fn sight_within(&self, point: DVec3, reach: f64) -> Option<Sight> {
        let sights = self.surfaces.iter().filter_map(|surface| surface.seen_from(point, reach));
        sights.min_by(|a, b| a.signed_distance.total_cmp(&b.signed_distance))
    }

    /// As [`BodyPush::vertex_pushes`], for vertices that were last asked about somewhere else, where they had their slack.
    pub fn pushes_since(&self, asked: &mut [DVec3], slack: &mut [f64], positions: &[DVec3]) -> Vec<(usize, DVec3)> {
        for ((slack, asked), place) in slack.iter_mut().zip(asked).zip(positions) {
            *slack -= place.distance(*asked);
            *asked = *place;
        }
        if self.is_idle() { Vec::new() } else { self.vertex_pushes(positions, slack) }
    }

    /// Vertices that are too near or inside, and the way out. One farther out than its slack, metres, cannot have come near since it was
    /// last looked at.
    fn vertex_pushes(&self, positions: &[DVec3], slack: &mut [f64]) -> Vec<(usize, DVec3)> {
        slack
            .par_iter_mut()
            .enumerate()
            .filter(|(_, slack)| **slack <= 0.0)
            .filter_map(|(vertex, slack)| {
                let Some(sight) = self.sight(positions[vertex]) else {
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
            let sight = self.sight(hole.middle)?;
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

/// Points of cloth triangles at which a body has stood through.
#[derive(Default)]
struct Samples {
    /// In order of triangles.
    points: Vec<(TriangleId, [f64; 3])>,
}

impl Samples {
    /// Keeps the middle of a hole; one close to it in the same triangle makes way.
    fn remember(&mut self, topology: &Topology, positions: &[DVec3], hole: &Hole) {
        const SAME: f64 = 0.2;
        let weights = hole.weights_in(topology.triangle(hole.triangle).map(|corner| positions[corner.index()]));
        let first = self.points.partition_point(|point| point.0 < hole.triangle);
        let last = self.points.partition_point(|point| point.0 <= hole.triangle);
        let is_close = |point: &&mut (TriangleId, [f64; 3])| (0..3).all(|k| (point.1[k] - weights[k]).abs() < SAME);
        match self.points[first..last].iter_mut().find(is_close) {
            Some(point) => point.1 = weights,
            None => self.points.insert(last, (hole.triangle, weights)),
        }
    }
}

/// Moves free vertices by the means of what pushes them; returns their steps.
fn apply(pushes: Vec<(usize, DVec3)>, free: &[bool], positions: &mut [DVec3]) -> Vec<(usize, DVec3)> {
    let mut steps = mean_pushes(pushes);
    steps.retain(|step| free[step.0]);
    steps.iter().for_each(|(vertex, step)| positions[*vertex] += *step);
    steps
}
