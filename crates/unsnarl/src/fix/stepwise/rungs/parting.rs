//! Pieces that stand through each other are carried apart as they are, to return with contact on: for what no local
//! method undoes.

use super::{Rung, RungName};
use crate::analysis::Tangle;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::rearrange::parting::{self, Parting};
use unsnarl_geometry::DVec3;

/// Pieces are parted at once where a larger share of one is on the wrong side,
const LARGE: f64 = 0.3;
/// or this one where they were put in order: they lie on each other then, so that there is a way.
const LARGE_IN_ORDER: f64 = 0.1;
/// How far pieces are apart when they are parted, in mean sizes of the mesh.
const GAP: f64 = 0.5;

/// The rung before steps: pieces that stand through each other so far that a good share of one is on the wrong side.
pub struct PartingAtLarge;

impl Rung for PartingAtLarge {
    fn name(&self) -> RungName {
        RungName::PartingAtLarge
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        if !run.is_auto() || run.ledger.is_parted || run.segments_between_pieces(tangle) == 0 {
            return false;
        }
        let counts = run.red_counts(tangle);
        let topology = run.setup.assembly.topology();
        let crossing = parting::crossing_components(topology, run.state.positions.len(), tangle);
        let large = if run.ledger.has_been_ordered { LARGE_IN_ORDER } else { LARGE };
        let is_large = |component: &usize| counts[*component][1] as f64 > large * counts[*component][0] as f64;
        crossing.iter().flatten().any(is_large)
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.part(tangle).then_some(Advance::LookAgain)
    }
}

/// The rung where steps stall: any pieces that cross each other.
pub struct PartingOfAll;

impl Rung for PartingOfAll {
    fn name(&self) -> RungName {
        RungName::Parting
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.is_auto() && !run.ledger.is_parted
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        run.part(tangle).then_some(Advance::LookAgain)
    }
}

impl Untangling {
    /// Moves pieces that cross each other apart as they are, to return once everything is clean; `false` if none do,
    /// or if there is no way.
    fn part(&mut self, tangle: &Tangle) -> bool {
        self.ledger.is_parted = true;
        let size = self.setup.local_size[..self.state.positions.len()].iter().sum::<f64>() / self.active.len() as f64;
        let free = self.free();
        let layers = &self.settings.vertices.layers;
        let parting = Parting { assembly: &self.setup.assembly, free: &free, layers, gap: GAP * size };
        let Some(places) = parting.part(tangle, &self.all_positions()) else { return false };
        if self.ledger.steps == 0 && self.reference.targets.is_empty() {
            self.set_return_targets(tangle);
        }
        self.ledger.resolvers.parting += 1;
        self.return_from(&places);
        true
    }

    /// Moves cloth away, to return once everything is clean.
    pub(super) fn return_from(&mut self, places: &[DVec3]) {
        self.shortening.memory.pulls.clear();
        self.move_to(places);
        self.begin_return();
        self.watch.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::fix::FixSettings;

    #[test]
    fn sheets_through_their_middles_are_parted_once() {
        let (mut run, tangle) = made("crossing-sheets", FixSettings::default());
        assert!(PartingAtLarge.applies(&run, &tangle) && PartingOfAll.applies(&run, &tangle));
        assert_eq!(PartingAtLarge.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert_eq!(run.segments_at(&run.all_positions()), 0);
        assert!(run.relaxation.returning.is_some());
        assert!(!PartingAtLarge.applies(&run, &tangle) && !PartingOfAll.applies(&run, &tangle));
    }

    #[test]
    fn a_corner_through_a_sheet_is_left_to_steps() {
        let (run, tangle) = made("bbii-corner", FixSettings::default());
        assert!(!PartingAtLarge.applies(&run, &tangle));
    }
}
