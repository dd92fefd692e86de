//! The retreat: cloth around a tangle is smoothed until nothing crosses, and grows back with contact on.
//!
//! With `L` the graph Laplacian of the mesh, `(I + lambda L) u = x` is solved for the vertices within some rings of
//! anything red, all others held. The larger `lambda` and the region, the more the cloth becomes a taut membrane:
//! folds that bite, borders that cut in and waves that cross go flat or draw back. Of all clean answers the one that
//! moves cloth least is taken. Continuous collision then keeps cloth clean while elasticity brings its size back.
//!
//! Guarantees: what is returned is clean by the exact check.
//! Does not: always find an answer; a rim that is itself tangled stays so until the region reaches beyond it, and
//! pieces whose middles coincide never part.

use super::pinched::Pinched;
use crate::analysis::{self, Assembly};
use crate::fix::rings::rings_around;
use crate::untangle::body_push::{BodyPush, Pushing};
use crate::untangle::smoothing::smooth;
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// Where to retreat from.
pub(super) struct Retreat<'a> {
    pub assembly: &'a Assembly,
    /// Cloth and bodies.
    pub positions: &'a [DVec3],
    /// The cloth's connectivity: the first vertices of the assembly.
    pub cloth: &'a Topology,
    /// Vertices that must stay where they are.
    pub held: &'a [bool],
    pub bodies: &'a BodyPush,
    pub pinched: &'a Pinched,
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Rings around the tangle that are tried; the last stands for everything.
const RINGS: [usize; 7] = [1, 2, 4, 8, 16, 32, usize::MAX];
/// Powers of four that are tried for `lambda`.
const LARGEST_EXPONENT: i32 = 9;
/// Rounds of pushing cloth out of bodies after each smoothing.
const PUSH_ROUNDS: usize = 40;

impl Retreat<'_> {
    /// Clean positions of cloth and bodies, moved as little as possible around the given vertices.
    pub fn find(&self, tangled: &[VertexId], workspace: &mut analysis::Workspace) -> Option<Vec<DVec3>> {
        let mut best: Option<(f64, Vec<DVec3>)> = None;
        let mut last_size = 0;
        for rings in RINGS {
            let free = self.region(tangled, rings);
            let size = free.iter().filter(|&&free| free).count();
            let found_before = best.is_some();
            if size > last_size {
                last_size = size;
                if let Some(found) = self.smooth_until_clean(&free, workspace)
                    && best.as_ref().is_none_or(|best| found.0 < best.0)
                {
                    best = Some(found);
                }
            }
            if found_before || (self.stop)() {
                break;
            }
        }
        best.map(|(_, positions)| positions)
    }

    /// The least smoothing of a region that is clean, with the sum of squares of what it moves.
    fn smooth_until_clean(&self, free: &[bool], workspace: &mut analysis::Workspace) -> Option<(f64, Vec<DVec3>)> {
        let mut smoothed = self.positions[..free.len()].to_vec();
        for exponent in -1..=LARGEST_EXPONENT {
            if (self.stop)() {
                return None;
            }
            smoothed = smooth(self.cloth, &self.positions[..free.len()], free, 4f64.powi(exponent), smoothed);
            let mut all = self.positions.to_vec();
            all[..free.len()].copy_from_slice(&smoothed);
            let pushing = Pushing { assembly: self.assembly, free, pinched: self.pinched.flags(), rounds: PUSH_ROUNDS };
            self.bodies.push_out(&pushing, &mut all);
            let verdict = analysis::verdict(self.assembly, &all, workspace);
            if self.pinched.leave_out_pairs(self.assembly.topology(), verdict).is_clean() {
                let moved = all.iter().zip(self.positions).map(|(after, before)| after.distance_squared(*before)).sum();
                return Some((moved, all));
            }
        }
        None
    }

    /// Vertices of cloth within some rings of the tangled ones that may move.
    fn region(&self, tangled: &[VertexId], rings: usize) -> Vec<bool> {
        let count = self.cloth.vertex_count();
        let own = tangled.iter().copied().filter(|vertex| vertex.index() < count).collect();
        let near = rings_around(self.cloth, own, rings);
        near.iter().zip(self.held).map(|(near, &held)| near.is_some() && !held).collect()
    }
}
