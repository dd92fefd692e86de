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

use super::{Rung, RungName};
use crate::analysis::{self, Assembly, Tangle};
use crate::fix::rings::rings_around;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::pinched::Pinched;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::bodies::push_out::{BodyPush, Pushing};
use crate::untangle::rearrange::smoothing::smooth;
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// Retreats at most: cloth that grows back is clean, so a second one follows only cloth moved from outside.
const MOST_RETREATS: usize = 4;
/// Rings around the tangle that are tried; the last stands for everything.
const RINGS: [usize; 7] = [1, 2, 4, 8, 16, 32, usize::MAX];
/// Powers of four that are tried for `lambda`.
const LARGEST_EXPONENT: i32 = 9;
/// Rounds of pushing cloth out of bodies after each smoothing.
const PUSH_ROUNDS: usize = 40;

/// The rung.
pub struct Retreat;

impl Rung for Retreat {
    fn name(&self) -> RungName {
        RungName::Retreat
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.rearranges() && run.ledger.retreats < MOST_RETREATS
    }

    /// Smooths cloth around what crosses until nothing does, from the best state or from the first one, whichever
    /// ends nearer to the first one. From the first state flaps would have to be folded over again. Where neither
    /// helps, what comes next begins at the last of the two.
    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.ledger.retreats += 1;
        let mut nearest: Option<(f64, Vec<DVec3>)> = None;
        let best = run.watch.best().map(|best| best.cloth.clone());
        let first = Some(run.reference.start.clone()).filter(|_| !run.folding.is_folded);
        for cloth in [best, first].into_iter().flatten() {
            run.adopt(&cloth);
            let Some(clean) = run.smoothed() else { continue };
            let ways = clean.iter().zip(&run.reference.start).map(|(after, before)| after.distance_squared(*before));
            let moved: f64 = ways.sum();
            if nearest.as_ref().is_none_or(|(least, _)| moved < *least) {
                nearest = Some((moved, clean));
            }
        }
        let (_, clean) = nearest?;
        run.ledger.resolvers.retreat += 1;
        for vertex in 0..run.active.len() {
            run.active[vertex] |= clean[vertex] != run.reference.start[vertex];
        }
        run.adopt(&clean);
        run.contact.window = None;
        run.activate_rings();
        run.shortening.memory.pulls.clear();
        run.ledger.has_retreated = true;
        Some(Advance::LookAgain)
    }
}

impl Untangling {
    /// Clean positions of cloth and bodies near where cloth is.
    fn smoothed(&mut self) -> Option<Vec<DVec3>> {
        let held: Vec<bool> = self.free().into_iter().map(|free| !free).collect();
        let tangle = self.analyze_unpinched();
        let topology = self.setup.assembly.topology();
        let corners = tangle.colours.red_triangles.iter().flat_map(|&red| topology.triangle(red));
        let tangled: Vec<VertexId> = corners.collect();
        let search = Search {
            assembly: &self.setup.assembly,
            positions: &self.all_positions(),
            cloth: &self.model.topology,
            held: &held,
            bodies: &self.setup.bodies,
            pinched: &self.setup.pinched,
            stop: &*self.stop,
        };
        search.find(&tangled, &mut self.memory.analysis)
    }
}

/// Where to retreat from.
struct Search<'a> {
    assembly: &'a Assembly,
    /// Cloth and bodies.
    positions: &'a [DVec3],
    /// The cloth's connectivity: the first vertices of the assembly.
    cloth: &'a Topology,
    /// Vertices that must stay where they are.
    held: &'a [bool],
    bodies: &'a BodyPush,
    pinched: &'a Pinched,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Search<'_> {
    /// Clean positions of cloth and bodies, moved as little as possible around the given vertices.
    fn find(&self, tangled: &[VertexId], workspace: &mut analysis::Workspace) -> Option<Vec<DVec3>> {
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

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::fix::{FixMethod, FixSettings};

    #[test]
    fn an_edge_through_a_sheet_is_smoothed_until_nothing_crosses() {
        let (mut run, tangle) = made("bbii", FixSettings::with_method(FixMethod::Retreat));
        assert!(Retreat.applies(&run, &tangle));
        assert_eq!(Retreat.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert_eq!(run.segments_at(&run.all_positions()), 0);
        assert!(run.ledger.has_retreated);
    }

    #[test]
    fn it_is_not_for_edge_shortening_alone_nor_more_often_than_it_may() {
        let (run, tangle) = made("bbii", FixSettings::with_method(FixMethod::Esef));
        assert!(!Retreat.applies(&run, &tangle));
        let (mut run, tangle) = made("bbii", FixSettings::default());
        run.ledger.retreats = MOST_RETREATS;
        assert!(!Retreat.applies(&run, &tangle));
    }
}
