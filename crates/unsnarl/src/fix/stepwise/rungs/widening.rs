//! More cloth may move where a method without history stalls; then it has to be content with what it reached.

use super::{Rung, RungName};
use crate::analysis::Tangle;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::watch::Advance;

/// How often more cloth may move when nothing becomes better.
const MOST: usize = 2;
/// By what the rings around a tangle are multiplied.
const FACTOR: usize = 4;

/// The rung.
pub struct Widening;

impl Rung for Widening {
    fn name(&self) -> RungName {
        RungName::Widening
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.settings.untangle.method.is_classic() && run.ledger.widenings < MOST
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.settings.rings *= FACTOR;
        run.ledger.widenings += 1;
        Some(Advance::Step)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::fix::{FixMethod, FixSettings};

    #[test]
    fn methods_without_history_may_move_more_cloth_twice() {
        let (mut run, tangle) = made("bbii", FixSettings::with_method(FixMethod::Icm));
        let rings = run.settings.rings;
        for _ in 0..MOST {
            assert!(Widening.applies(&run, &tangle));
            Widening.act(&mut run, &tangle);
        }
        assert_eq!(run.settings.rings, 16 * rings);
        assert!(!Widening.applies(&run, &tangle));
    }

    #[test]
    fn edge_shortening_does_not() {
        let (run, tangle) = made("bbii", FixSettings::default());
        assert!(!Widening.applies(&run, &tangle));
    }
}
