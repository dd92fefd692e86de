//! Cloth in closed bodies goes out of them, by the body's own sign, before anything else is done.
//!
//! Only what a body touches moves, and some rings around it: cloth slides over the body until strain is evened out
//! ([`crate::untangle::body_push`]). Where that makes cloth cross cloth, its surroundings are carried along as well,
//! and the way that leaves less to untangle is taken.
//!
//! Guarantees: vertices beyond the rings stay, bit for bit; pinched vertices stay.
//! Does not: keep cloth from crossing cloth; what comes to cross is untangled afterwards, with the body as an obstacle.

use super::Untangling;
use super::report::Spread;
use crate::analysis::{PartKind, Tangle};
use crate::fix::rings::rings_around;
use crate::untangle::body_push::Pushing;
use crate::untangle::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

impl Untangling {
    /// Moves cloth that crosses a body out of it; `false` if none does, or if it has been tried often enough.
    pub(super) fn push_out_of_bodies(&mut self, tangle: &Tangle) -> bool {
        const MOST_PUSHES: usize = 12;
        const PUSH_ROUNDS: usize = 200;
        let crosses_body = |triangles: &[TriangleId; 2]| {
            triangles
                .iter()
                .any(|&triangle| self.assembly.parts()[self.assembly.part_of_triangle(triangle)].kind == PartKind::Body)
        };
        let is_first = self.body_pushes == 0;
        let is_needed = is_first || tangle.contours.iter().any(|tangled| crosses_body(&tangled.contour.segments[0]));
        if self.bodies.is_idle() || !is_needed || self.body_pushes == MOST_PUSHES {
            return false;
        }
        self.body_pushes += 1;
        let (all, free) = (self.all_positions(), self.free());
        let pushing =
            Pushing { assembly: &self.assembly, free: &free, pinched: self.pinched.flags(), rounds: PUSH_ROUNDS };
        let touched = self.bodies.touched(&pushing, &all);
        if touched.is_empty() {
            return false;
        }
        let (rounds, positions) = self.push_out_around(&touched, &pushing, all);
        self.resolvers.body_push += rounds;
        self.place(&positions);
        rounds > 0
    }

    /// Moves cloth out of bodies, and no more of it than some rings around what is touched; twice as many, within
    /// looser bounds, where cloth is strained and that helps. Returns the rounds taken and the positions.
    fn push_out_around(&self, touched: &[VertexId], pushing: &Pushing, from: Vec<DVec3>) -> (usize, Vec<DVec3>) {
        const STRAINED: f64 = 1.05;
        const HELPS: f64 = 0.99;
        const MOST_RINGS: usize = 16;
        let unstrained = STRAINED.max(Spread::of_stretch(&self.model, &self.input_positions).p99);
        let (mut tight, mut loose) = (self.bounds(StrainBounds::TIGHT), self.bounds(StrainBounds::LOOSE));
        let (mut rounds, mut rings, mut best) = (0, self.settings.rings, (f64::INFINITY, from));
        loop {
            let near = rings_around(&self.model.topology, touched.to_vec(), rings);
            let free: Vec<bool> = near.iter().zip(pushing.free).map(|(near, free)| near.is_some() && *free).collect();
            let mut positions = best.1.clone();
            let pushing = Pushing { free: &free, ..*pushing };
            let bounds = if rounds == 0 { &mut tight } else { &mut loose };
            rounds += self.bodies.push_out_smoothly(&pushing, bounds, &mut positions).rounds;
            let strain = Spread::of_stretch(&self.model, &positions[..free.len()]).p99;
            let is_better = strain < HELPS * best.0;
            if is_better {
                best = (strain, positions);
            }
            if !is_better || strain <= unstrained || rings >= MOST_RINGS || (self.stop)() {
                return (rounds, best.1);
            }
            rings *= 2;
        }
    }
}
