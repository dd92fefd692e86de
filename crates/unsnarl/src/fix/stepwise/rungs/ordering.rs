//! Pieces that cross each other, or a piece that crosses itself like two, are put in order: one lies over the other.

use super::{Rung, RungName};
use crate::analysis::{self, Tangle, TangledContour};
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::ledger::Order;
use crate::fix::stepwise::untangling::segment_count;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::rearrange::layering;
use crate::untangle::rearrange::ordering::Ordering;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// What the upper of two crossing pieces goes of the way, in the order of trial: one of the two may have no room.
const UPPER_SHARES: [f64; 3] = [1.0, 0.5, 0.0];
/// Where a larger share of a piece is red, relaxing a part of it would not help.
const LARGE: f64 = 0.25;

/// The rung.
pub struct PutInOrder;

impl Rung for PutInOrder {
    fn name(&self) -> RungName {
        RungName::Ordering
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        run.rearranges() && run.ledger.order != Order::Over && !tangle.is_empty()
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        let among_cloth = run.among_cloth(tangle);
        let segments = run.segments_to_order(&among_cloth);
        if segments == 0 || matches!(run.ledger.order, Order::Helped(most) if segments >= most) {
            return None;
        }
        let Some(positions) = run.best_order(tangle, &among_cloth, segments) else {
            run.ledger.order = Order::Over;
            return None;
        };
        run.ledger.order = Order::Helped(segments);
        run.ledger.has_been_ordered = true;
        // Cloth that slid is at ease: only what still crosses has to move on.
        if run.is_unstrained(&positions[..run.state.positions.len()]) {
            run.place(&positions);
        } else {
            run.activate_moved(&positions);
            run.place(&positions);
            if run.reference.was_strained() {
                run.free_pieces(tangle);
            }
        }
        Some(Advance::LookAgain)
    }
}

impl Untangling {
    /// The order that leaves least to cross; `None` if no share of the way leaves less to order than there is.
    fn best_order(&mut self, tangle: &Tangle, among_cloth: &Tangle, segments: usize) -> Option<Vec<DVec3>> {
        let free = self.free();
        let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
        let bounds = StrainBounds::new(topology, shapes, &self.reference.input, StrainBounds::TIGHT);
        let others = segment_count(tangle).saturating_sub(segments);
        let mut best: Option<(usize, Vec<DVec3>)> = None;
        for upper_share in UPPER_SHARES {
            let mut positions = self.all_positions();
            // Bodies are left out: they are not ordered, and have many triangles.
            let ordering = Ordering { topology: &self.model.topology, ..self.ordering(&free, &bounds, upper_share) };
            let cloth = &mut positions[..free.len()];
            let rounds = layering::put_in_order(&ordering, &self.settings.vertices.layers, among_cloth, cloth);
            self.ledger.resolvers.layering += rounds;
            if rounds == 0 {
                break; // nothing overlaps, whoever moves
            }
            let after = analysis::analyze(&self.setup.assembly, &positions, &mut self.memory.analysis);
            let left = segment_count(&after);
            let is_better = self.segments_to_order(&self.among_cloth(&after)) < segments;
            if is_better && best.as_ref().is_none_or(|(least, _)| left < *least) {
                best = Some((left, positions));
            }
            let is_good = |(left, _): &(usize, _)| 2 * left.saturating_sub(others) < segments;
            if best.as_ref().is_some_and(is_good) || (self.stop)() {
                break;
            }
        }
        best.map(|(_, positions)| positions)
    }

    /// Lets the whole of every crossing piece move where a good share of one is on the wrong side of another:
    /// relaxing a part of them would not help.
    fn free_pieces(&mut self, tangle: &Tangle) {
        let counts = self.red_counts(tangle);
        if counts.iter().all(|&[all, red]| red as f64 <= LARGE * all as f64) {
            return;
        }
        let topology = self.setup.assembly.topology();
        for vertex in (0..self.active.len()).map(VertexId::new) {
            let crosses = counts[topology.component(vertex)][1] > 0;
            self.active[vertex.index()] |= crosses && !self.setup.pinched.has(vertex);
        }
    }

    /// How many vertices each piece has, and how many of them are red.
    pub(super) fn red_counts(&self, tangle: &Tangle) -> Vec<[usize; 2]> {
        let topology = self.setup.assembly.topology();
        let mut counts = vec![[0, 0]; topology.component_count()];
        (0..self.active.len()).for_each(|vertex| counts[topology.component(VertexId::new(vertex))][0] += 1);
        tangle.colours.red_vertices.iter().for_each(|&vertex| counts[topology.component(vertex)][1] += 1);
        counts
    }

    /// The contours of cloth with cloth.
    fn among_cloth(&self, tangle: &Tangle) -> Tangle {
        let is_cloth = |triangle: &TriangleId| triangle.index() < self.model.topology.triangle_count();
        let is_own = |tangled: &&TangledContour| tangled.contour.segments.iter().flatten().all(is_cloth);
        Tangle { contours: tangle.contours.iter().filter(is_own).cloned().collect(), ..Tangle::default() }
    }

    /// What it takes to move surfaces over each other.
    pub(super) fn ordering<'a>(&'a self, free: &'a [bool], bounds: &'a StrainBounds, upper_share: f64) -> Ordering<'a> {
        Ordering {
            topology: self.setup.assembly.topology(),
            local_size: &self.setup.local_size,
            free,
            separation: self.settings.separation,
            upper_share,
            bounds,
            bodies: &self.setup.bodies,
        }
    }

    /// How long contours of cloth are that can be put in order, in segments.
    fn segments_to_order(&self, among_cloth: &Tangle) -> usize {
        let within = layering::contours_within_pieces(self.setup.assembly.topology(), among_cloth);
        let within = within.iter().map(|tangled| tangled.contour.segments.len()).sum::<usize>();
        self.segments_between_pieces(among_cloth) + within
    }

    /// How long contours between different pieces of cloth are, in segments.
    pub(super) fn segments_between_pieces(&self, tangle: &Tangle) -> usize {
        let count = self.state.positions.len();
        let segments = tangle.contours.iter().flat_map(|tangled| &tangled.contour.segments);
        let is_between = |pair: &&[TriangleId; 2]| match pair.map(|triangle| self.setup.piece(triangle, count)) {
            [Some(a), Some(b)] => a != b,
            _ => false,
        };
        segments.filter(is_between).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::fix::{FixMethod, FixSettings};

    #[test]
    fn wavy_layers_are_put_over_each_other() {
        let (mut run, tangle) = made("layers-2", FixSettings::default());
        assert!(PutInOrder.applies(&run, &tangle));
        let before = segment_count(&tangle);
        assert_eq!(PutInOrder.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert!(run.segments_at(&run.all_positions()) < before);
    }

    #[test]
    fn it_is_not_for_edge_shortening_alone_nor_once_it_has_not_helped() {
        let (run, tangle) = made("layers-2", FixSettings::with_method(FixMethod::Esef));
        assert!(!PutInOrder.applies(&run, &tangle));
        let (mut run, tangle) = made("ll", FixSettings::default());
        let before = run.state.positions.clone();
        if PutInOrder.act(&mut run, &tangle).is_none() {
            assert_eq!(run.state.positions, before);
        }
        run.ledger.order = Order::Over;
        assert!(!PutInOrder.applies(&run, &tangle));
    }
}
