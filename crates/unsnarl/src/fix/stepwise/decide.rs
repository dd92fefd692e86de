//! Which comes next: a rung, a step, or the end.
//!
//! | phase | while | what is done |
//! |---|---|---|
//! | prepare | cloth is in bodies | it is pushed out |
//! | rearrange | pieces cross, folds have a style, cloth has no shape | order, parting, unfolding, laying out |
//! | untangle | something crosses | steps; where they stall, the rungs of this phase, weakest first |
//! | grow back | a retreat has left clean cloth that is too small | steps; where they stall, laying out |
//! | relax | nothing crosses | steps until cloth is at rest; then what is left to mend |
//! | done | cloth is clean and at rest | nothing |

use super::report::Spread;
use super::rungs::TABLE;
use super::watch::Advance;
use super::{FixMethod, Untangling};
use crate::analysis::Tangle;
use unsnarl_geometry::TriangleId;

/// Where most of a sheet is red, colours do not say which side is wrong, and patience is divided by this.
const MAJORITY_HASTE: usize = 3;
/// Contours that grow have done harm when strain is this many times what cloth may bear.
const HARM: f64 = 2.0;
/// Cloth that is stretched this many times as much as it may be is ruined.
const RUIN: f64 = 4.0;

/// What untangling is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fix) enum Phase {
    /// Cloth leaves bodies.
    Prepare,
    /// Pieces and folds are put where they belong.
    Rearrange,
    /// Edges shorten; the rungs of this phase are for steps that have stalled.
    Untangle,
    /// After a retreat cloth is clean and grows back.
    GrowBack,
    /// Nothing crosses, and cloth comes to rest; the rungs of this phase are for cloth that has.
    Relax,
}

impl Untangling {
    /// Decides what to do about a tangle that was just found. Cloth that a rung has moved is to be looked at again.
    pub fn judge(&mut self, tangle: &Tangle) -> Advance {
        let tangle = self.without_pinched(tangle);
        let advance = self.decide(&tangle);
        if advance == Advance::LookAgain {
            self.shortening.theorem.interrupt();
            if self.shortening.memory.pulls.is_empty() {
                self.shortening.memory.tally.forget_open();
            }
        }
        advance
    }

    fn decide(&mut self, tangle: &Tangle) -> Advance {
        if let Some(advance) = self.take_rung(Phase::Prepare, tangle) {
            return advance;
        }
        if let Some(advance) = self.take_rung(Phase::Rearrange, tangle) {
            return advance;
        }
        if self.is_done(tangle) {
            return self.relax(tangle);
        }
        self.relaxation.clean_steps = 0;
        if self.settings.untangle.method == FixMethod::Off {
            return Advance::GaveUp;
        }
        if !self.has_stalled(tangle) {
            return Advance::Step;
        }
        self.watch.wait_again();
        self.take_rung(Phase::Untangle, tangle).unwrap_or(Advance::GaveUp)
    }

    /// The first rung of a phase that applies and helps.
    pub(super) fn take_rung(&mut self, phase: Phase, tangle: &Tangle) -> Option<Advance> {
        let mut rungs = TABLE.iter().filter(|(of, _)| *of == phase);
        rungs.find_map(|(_, rung)| {
            let is_open = self.has_rung(rung.name()) && rung.applies(self, tangle);
            if is_open { self.writing(rung.name().name(), |run| rung.act(run, tangle)) } else { None }
        })
    }

    /// Whether nothing has become better for `patience` steps (or not by a tenth, where cloth has no shape to keep; a
    /// third of them where most of a sheet is red), or pulls throw cloth about.
    fn has_stalled(&mut self, tangle: &Tangle) -> bool {
        let positions = self.all_positions();
        let waited = self.watch.look(tangle, &positions, &self.state.positions);
        // Tears and flips know themselves when they do not get on.
        if self.settings.untangle.method.is_steps_alone() && self.is_working_on_folds() {
            return false;
        }
        let haste = if tangle.colours.majority_failures.is_empty() { 1 } else { MAJORITY_HASTE };
        let is_slow = self.watch.is_slow(self.settings.patience / haste) && self.has_no_shape_to_keep(tangle);
        let is_waiting = waited <= self.settings.patience && self.settings.untangle.method != FixMethod::Retreat;
        !is_waiting || is_slow || self.is_thrown_about()
    }

    fn is_working_on_folds(&self) -> bool {
        let (memory, gamma) = (&self.shortening.memory, self.settings.untangle.gamma);
        memory.tearing.jobs.iter().any(|job| !job.is_stalled(gamma)) || memory.flips.iter().any(|job| !job.is_stalled)
    }

    /// Whether steps do harm: contours become longer and longer and cloth far more strained than it may stay, or
    /// after a while cloth is stretched many times as much as that and as it was.
    fn is_thrown_about(&self) -> bool {
        let (is_spreading, is_late) = (self.watch.is_spreading(), self.ledger.steps > self.settings.patience);
        if self.settings.untangle.method != FixMethod::Auto || !(is_spreading || is_late) {
            return false;
        }
        let (bearable, input) = (self.reference.bearable_strain(), self.reference.input_strain.stretch);
        // Pulled edges become short: only stretch tells of ruin.
        let stretch = Spread::of_stretch(&self.model, &self.state.positions).p99;
        stretch > RUIN * bearable.max(input) || (is_spreading && self.strain(&self.state.positions) > HARM * bearable)
    }

    /// Whether there is no shape to keep where something crosses. Cloth whose folds were put right has one.
    pub(super) fn has_no_shape_to_keep(&self, tangle: &Tangle) -> bool {
        let is_auto = self.settings.untangle.method == FixMethod::Auto;
        self.folding.turns == 0 && (self.is_largely_red(tangle) || (is_auto && self.has_shapeless(tangle)))
    }

    /// Whether a piece with anything red has no shape to keep.
    pub(super) fn has_shapeless(&self, tangle: &Tangle) -> bool {
        self.red_components(tangle).into_iter().any(|component| self.reference.is_shapeless(component))
    }

    /// The pieces of cloth with anything red, in order.
    pub(super) fn red_components(&self, tangle: &Tangle) -> Vec<usize> {
        let topology = self.setup.assembly.topology();
        let corners = tangle.colours.red_triangles.iter().map(|&red| topology.triangle(red)[0]);
        let cloth = corners.filter(|vertex| vertex.index() < self.state.positions.len());
        let mut components: Vec<usize> = cloth.map(|vertex| self.model.topology.component(vertex)).collect();
        components.sort_unstable();
        components.dedup();
        components
    }

    /// Whether more than two thirds of the cloth are red.
    pub(super) fn is_largely_red(&self, tangle: &Tangle) -> bool {
        let is_cloth = |triangle: &&TriangleId| triangle.index() < self.model.topology.triangle_count();
        let red = tangle.colours.red_triangles.iter().filter(is_cloth).count();
        self.settings.untangle.method == FixMethod::Auto && 3 * red > 2 * self.model.topology.triangle_count()
    }
}
