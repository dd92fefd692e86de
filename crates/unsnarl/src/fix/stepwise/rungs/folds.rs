//! Folds that bite into themselves, put right without a step: unfolded, and turned to one side.
//!
//! What a style asks for is done at once. Where none does a fold is torn first (`untangle::tearing`), and unfolded
//! from where it was at first when nothing becomes better by that. A fold that is to stay is unfolded too, and folded
//! over once cloth has relaxed: then it is even from end to end, and hardly strained.

use super::{Rung, RungName};
use crate::analysis::{self, ContourKind, Tangle};
use crate::dynamics::Guidance;
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::relaxation::RETURN_STEPS;
use crate::fix::stepwise::untangling::segment_count;
use crate::fix::stepwise::watch::Advance;
use crate::untangle::FoldStyle;
use crate::untangle::folds::reflect::flip::Flip;
use crate::untangle::folds::reflect::fold::{Fold, folds, style_at};
use crate::untangle::folds::reflect::unfolding::Turning;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, VertexId};

/// Folds are turned so often at most.
const MOST_TURNS: usize = 4;

/// Once a flap is folded over steps are halved so often, and at most so often.
const FIRST_HALVINGS: i32 = 3;
const MOST_HALVINGS: i32 = 10;
/// Steps of dynamics alone at most, to smooth what was unfolded.
const MOST_SMOOTHING_STEPS: usize = 20;
/// Folded cloth goes back where a step has strained it by more than this factor.
const WORSE: f64 = 1.02;
/// All of a piece whose folds were put right is let go so often at most; once while some are open.
const MOST_RELEASES: usize = 3;

/// What was done about folds.
#[derive(Default)]
pub(in crate::fix::stepwise) struct Folding {
    /// How often folds were unfolded.
    pub turns: usize,
    /// How often all of their pieces were let go.
    releases: usize,
    /// Folds that are unfolded and to be folded over.
    open: Vec<Flip>,
    /// Whether some were folded over, and so lie on what they belong to.
    pub is_folded: bool,
    /// How often steps were halved since then.
    halvings: i32,
}

impl Folding {
    /// Whether some folds have yet to be folded over.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The share of a step that cloth takes at once. Where a flap lies tightly on its ground long steps throw it to
    /// and fro.
    pub fn pace(&self) -> f64 {
        0.5_f64.powi(self.halvings)
    }
}

/// The rung for folds that bite into themselves and whose styles say what they are to be.
pub struct StyledFolds;

impl Rung for StyledFolds {
    fn name(&self) -> RungName {
        RungName::StyledFolds
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        run.rearranges() && run.folding.turns < MOST_TURNS && tangle.count(ContourKind::Bli) > 0
    }

    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance> {
        let styles = run.settings.vertices.styles.clone();
        let is_styled = |vertex: VertexId| styles.get(vertex.index()).is_some_and(Option::is_some);
        run.unfold(tangle, is_styled).then_some(Advance::LookAgain)
    }
}

/// The rung where steps stall: folds that did not slide out are unfolded from where cloth was at first.
pub struct Unfolding;

impl Rung for Unfolding {
    fn name(&self) -> RungName {
        RungName::Unfolding
    }

    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool {
        run.is_auto() && run.folding.turns == 0 && !run.has_no_shape_to_keep(tangle)
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        let rounds = run.ledger.touching_rounds;
        let (present, start) = (run.state.positions.clone(), run.reference.start.clone());
        run.adopt(&start);
        while run.separate_touching() {}
        let tangle = run.analyze_unpinched();
        let styles = run.settings.vertices.styles.clone();
        let helped = run.unfold(&tangle, |vertex| style_at(&styles, vertex) == FoldStyle::Unfold);
        run.ledger.touching_rounds = rounds;
        if !helped {
            run.adopt(&present);
        }
        helped.then_some(Advance::LookAgain)
    }
}

/// The rung for clean cloth whose folds were put right and which is still strained: all of its pieces may move, so
/// that it can relax as a whole.
pub struct ReleaseFolded;

impl Rung for ReleaseFolded {
    fn name(&self) -> RungName {
        RungName::ReleaseFolded
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        let most = if run.folding.is_open() { 1 } else { MOST_RELEASES };
        run.folding.turns > 0 && run.folding.releases < most && !run.is_unstrained(&run.state.positions)
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.folding.releases += 1;
        let topology = &run.model.topology;
        let mut is_moved = vec![false; topology.component_count()];
        for vertex in (0..run.active.len()).filter(|&vertex| run.active[vertex]) {
            is_moved[topology.component(VertexId::new(vertex))] = true;
        }
        for (vertex, is_free) in run.free().into_iter().enumerate() {
            run.active[vertex] |= is_free && is_moved[run.model.topology.component(VertexId::new(vertex))];
        }
        run.contact.window = None;
        run.relaxation.least_strained = None;
        run.relaxation.clean_steps = RETURN_STEPS;
        Some(Advance::Step)
    }
}

/// The rung for clean cloth with a fold that is to stay and was unfolded: it is folded over again.
pub struct FoldOver;

impl Rung for FoldOver {
    fn name(&self) -> RungName {
        RungName::FoldOver
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.folding.is_open()
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.fold_over();
        Some(Advance::LookAgain)
    }
}

impl Untangling {
    /// Unfolds the folds of contours whose loop vertex counts, each if less crosses afterwards.
    fn unfold(&mut self, tangle: &Tangle, counts: impl Fn(VertexId) -> bool) -> bool {
        let free = self.free();
        let mut positions = self.all_positions();
        let mut least = segment_count(tangle);
        let mut unfolded: Vec<Fold> = Vec::new();
        for fold in folds(&self.model, (&self.settings.vertices.styles, tangle), &positions, counts) {
            let Some(turning) = Turning::new(&self.model, &fold, &free) else { continue };
            let Some(places) = turning.unfold(&positions) else { continue };
            let left = self.segments_at(&places);
            if left < least {
                (least, positions) = (left, places);
                unfolded.push(fold);
            }
        }
        if unfolded.is_empty() {
            return false;
        }
        for fold in unfolded {
            let Some(turning) = Turning::new(&self.model, &fold, &free) else { continue };
            let angles = turning.unfolded_angles(&positions);
            self.ledger.resolvers.unfolding += usize::from(fold.style == FoldStyle::Unfold);
            self.folding.open.extend(Flip::new(fold, &self.state.rest_angles));
            angles.into_iter().for_each(|(hinge, angle)| self.state.rest_angles[hinge] = angle);
        }
        self.folding.turns += 1;
        (self.folding.is_folded, self.folding.halvings) = (false, 0);
        self.begin_from(&positions);
        self.smooth_unfolded();
        true
    }

    /// Cloth that was unfolded and still crosses itself does so in small kinks, which dynamics alone takes out.
    fn smooth_unfolded(&mut self) {
        let before = self.state.positions.clone();
        let first = segment_count(&self.analyze_unpinched());
        let mut best = (first, before);
        for _ in 0..MOST_SMOOTHING_STEPS {
            if best.0 == 0 {
                break;
            }
            let proposed = self.propose(&Guidance::default());
            self.adopt(&proposed);
            let left = segment_count(&self.analyze_unpinched());
            if left < best.0 {
                best = (left, self.state.positions.clone());
            }
        }
        self.adopt(&best.1);
    }

    /// Folds over what is to stay folded.
    fn fold_over(&mut self) {
        let open = std::mem::take(&mut self.folding.open);
        let free = self.free();
        for flip in &open {
            let Some(places) = self.folded_over(flip, &free) else { continue };
            for (hinge, angle) in flip.angles_at_rest(&self.model, &free, &places) {
                self.state.rest_angles[hinge] = angle;
            }
            self.ledger.resolvers.reflected += 1;
            (self.folding.is_folded, self.folding.halvings) = (true, FIRST_HALVINGS);
            self.begin_from(&places);
        }
    }

    /// Where cloth is when a flap is folded over with the bend that leaves least to cross.
    fn folded_over(&mut self, flip: &Flip, free: &[bool]) -> Option<Vec<DVec3>> {
        let positions = self.all_positions();
        let mut best: Option<(usize, Vec<DVec3>)> = None;
        let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
        let bounds = StrainBounds::new(topology, shapes, &self.reference.input, StrainBounds::TIGHT);
        for bend in flip.bends() {
            let ordering = self.ordering(free, &bounds, 1.0);
            let Some(places) = flip.fold_over(&bend, &self.model, &ordering, &positions) else { continue };
            let left = segment_count(&analysis::analyze(&self.setup.assembly, &places, &mut self.memory.analysis));
            if best.as_ref().is_none_or(|(least, _)| left < *least) {
                best = Some((left, places));
            }
            if left == 0 {
                break;
            }
        }
        best.map(|(_, places)| places)
    }

    /// Goes on from where a fold was put: what was before does not count.
    fn begin_from(&mut self, positions: &[DVec3]) {
        self.shortening.memory.pulls.clear();
        self.move_to(positions);
        self.watch.reset();
        self.relaxation.least_strained = None;
        if self.ledger.steps > 0 {
            let tangle = self.analyze_unpinched();
            self.set_return_targets(&tangle);
        }
    }

    /// Goes back to the least strained state, with shorter steps from there on, where a step has strained folded cloth.
    pub(in crate::fix::stepwise) fn step_back(&mut self) {
        if !self.folding.is_folded || self.folding.halvings == MOST_HALVINGS {
            return;
        }
        let strain = self.strain(&self.state.positions);
        let best = self.relaxation.least_strained.as_ref().filter(|best| strain > WORSE * best.strain);
        if let Some(cloth) = best.map(|best| best.cloth.clone()) {
            self.adopt(&cloth);
            self.folding.halvings += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made;
    use super::*;
    use crate::fix::{FixMethod, FixSettings, VertexSettings};

    fn styled(style: Option<FoldStyle>) -> FixSettings {
        let styles = vec![style; 100_000];
        FixSettings { vertices: VertexSettings { styles, ..VertexSettings::default() }, ..FixSettings::default() }
    }

    #[test]
    fn a_fold_with_a_style_is_unfolded_at_once() {
        let (mut run, tangle) = made("lapel", styled(Some(FoldStyle::Unfold)));
        assert!(StyledFolds.applies(&run, &tangle));
        let before = segment_count(&tangle);
        assert_eq!(StyledFolds.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert!(run.segments_at(&run.all_positions()) < before);
        assert_eq!((run.folding.turns, run.folding.is_open()), (1, false));
    }

    #[test]
    fn a_fold_that_is_to_stay_is_folded_over_once_it_is_open() {
        let (mut run, tangle) = made("lapel", styled(Some(FoldStyle::FoldOut)));
        assert!(!FoldOver.applies(&run, &tangle));
        assert_eq!(StyledFolds.act(&mut run, &tangle), Some(Advance::LookAgain));
        assert!(FoldOver.applies(&run, &tangle));
        FoldOver.act(&mut run, &tangle);
        assert!(!FoldOver.applies(&run, &tangle), "once");
    }

    #[test]
    fn folds_without_a_style_are_torn_first() {
        let (mut run, tangle) = made("bli", styled(None));
        let before = run.state.positions.clone();
        assert_eq!(StyledFolds.act(&mut run, &tangle), None);
        assert_eq!(run.state.positions, before);
        assert!(Unfolding.applies(&run, &tangle), "where steps stall");
        let (run, tangle) = made("bli", FixSettings::with_method(FixMethod::Esef));
        assert!(!StyledFolds.applies(&run, &tangle) && !Unfolding.applies(&run, &tangle));
    }

    #[test]
    fn pieces_are_released_only_after_their_folds_were_turned_and_while_they_are_strained() {
        let (mut run, tangle) = made("hanky", FixSettings::default());
        let drawn_out: Vec<DVec3> = run.state.positions.iter().map(|place| 1.3 * *place).collect();
        run.adopt(&drawn_out);
        assert!(!ReleaseFolded.applies(&run, &tangle));
        run.folding.turns = 1;
        run.active[0] = true;
        assert!(ReleaseFolded.applies(&run, &tangle));
        assert_eq!(ReleaseFolded.act(&mut run, &tangle), Some(Advance::Step));
        assert!(!run.active.contains(&false));
    }
}
