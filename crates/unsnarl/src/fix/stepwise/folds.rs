//! Folds that bite into themselves, put right without a step: unfolded, and turned to one side.
//!
//! What a style asks for is done at once. Where none does a fold is torn first (`untangle::tearing`), and unfolded
//! from where it was at first when nothing becomes better by that. A fold that is to stay is unfolded too, and folded
//! over once cloth has relaxed: then it is even from end to end, and hardly strained.

use super::{FixMethod, Untangling};
use crate::analysis::{self, ContourKind, Tangle};
use crate::dynamics::Guidance;
use crate::untangle::FoldStyle;
use crate::untangle::flip::Flip;
use crate::untangle::fold::{Fold, folds, style_at};
use crate::untangle::strain_bounds::StrainBounds;
use crate::untangle::unfolding::Turning;
use unsnarl_geometry::{DVec3, VertexId};

/// Folds are turned so often at most.
const MOST_TURNS: usize = 4;

/// Once a flap is folded over steps are halved so often, and at most so often.
const FIRST_HALVINGS: i32 = 3;
const MOST_HALVINGS: i32 = 10;

/// What was done about folds.
#[derive(Default)]
pub(super) struct Folding {
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

impl Untangling {
    /// Unfolds folds that bite into themselves and whose styles say what they are to be; `false` if there are none,
    /// or if it does not help.
    pub(super) fn turn_folds(&mut self, tangle: &Tangle) -> bool {
        let takes_part = matches!(self.settings.method, FixMethod::Auto | FixMethod::Retreat);
        if !takes_part || tangle.count(ContourKind::Bli) == 0 {
            return false;
        }
        let styles = self.settings.styles.clone();
        self.unfold(tangle, |vertex| styles.get(vertex.index()).is_some_and(Option::is_some))
    }

    /// Unfolds, from where cloth was at first, folds that did not slide out; `false` if there are none, or if it does
    /// not help.
    pub(super) fn unfold_from_first(&mut self) -> bool {
        if self.folding.turns > 0 {
            return false;
        }
        let rounds = self.touching_rounds;
        let present = std::mem::replace(&mut self.state.positions, self.first_positions.clone());
        while self.separate_touching() {}
        let tangle = self.analyze_unpinched();
        let styles = self.settings.styles.clone();
        let helped = self.unfold(&tangle, |vertex| style_at(&styles, vertex) == FoldStyle::Unfold);
        self.touching_rounds = rounds;
        if !helped {
            self.state.positions = present;
        }
        helped
    }

    /// Unfolds the folds of contours whose loop vertex counts, each if less crosses afterwards.
    fn unfold(&mut self, tangle: &Tangle, counts: impl Fn(VertexId) -> bool) -> bool {
        if self.folding.turns == MOST_TURNS {
            return false;
        }
        let free = self.free();
        let mut positions = self.all_positions();
        let mut least = segments(tangle);
        let mut unfolded: Vec<Fold> = Vec::new();
        for fold in folds(&self.model, (&self.settings.styles, tangle), &positions, counts) {
            let Some(turning) = Turning::new(&self.model, &fold, &free) else { continue };
            let Some(places) = turning.unfold(&positions) else { continue };
            let left = segments(&analysis::analyze(&self.assembly, &places, &mut self.analysis_workspace));
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
            self.resolvers.unfolding += usize::from(fold.style == FoldStyle::Unfold);
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
        const MOST_STEPS: usize = 20;
        let before = self.state.positions.clone();
        let first = segments(&self.analyze_unpinched());
        let mut best = (first, before);
        for _ in 0..MOST_STEPS {
            if best.0 == 0 {
                break;
            }
            self.state.positions = self.propose(&Guidance::default());
            let left = segments(&self.analyze_unpinched());
            if left < best.0 {
                best = (left, self.state.positions.clone());
            }
        }
        self.state.positions = best.1;
    }

    /// Folds over what is to stay folded; `false` if there is nothing.
    pub(super) fn fold_over(&mut self) -> bool {
        let open = std::mem::take(&mut self.folding.open);
        let free = self.free();
        for flip in &open {
            let Some(places) = self.folded_over(flip, &free) else { continue };
            for (hinge, angle) in flip.angles_at_rest(&self.model, &free, &places) {
                self.state.rest_angles[hinge] = angle;
            }
            match flip.fold.style {
                FoldStyle::Crease => self.resolvers.crease_flip += 1,
                _ => self.resolvers.refolded += 1,
            }
            (self.folding.is_folded, self.folding.halvings) = (true, FIRST_HALVINGS);
            self.begin_from(&places);
        }
        !open.is_empty()
    }

    /// Where cloth is when a flap is folded over with the bend that leaves least to cross.
    fn folded_over(&mut self, flip: &Flip, free: &[bool]) -> Option<Vec<DVec3>> {
        let positions = self.all_positions();
        let mut best: Option<(usize, Vec<DVec3>)> = None;
        let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
        let bounds = StrainBounds::new(topology, shapes, &self.input_positions, StrainBounds::TIGHT);
        for bend in flip.bends() {
            let ordering = self.ordering(free, &bounds, 1.0);
            let Some(places) = flip.fold_over(&bend, &self.model, &ordering, &positions) else { continue };
            let left = segments(&analysis::analyze(&self.assembly, &places, &mut self.analysis_workspace));
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
        self.pulls.clear();
        self.move_to(positions);
        self.watch.reset();
        self.calmest = None;
        if self.steps > 0 {
            let tangle = self.analyze_unpinched();
            self.settle(&tangle);
        }
    }

    /// Goes back to the least strained state, with shorter steps from there on, where a step has strained folded cloth.
    pub(super) fn step_back(&mut self) {
        const WORSE: f64 = 1.02;
        if !self.folding.is_folded || self.folding.halvings == MOST_HALVINGS {
            return;
        }
        let strain = self.strain(&self.state.positions);
        if let Some(calmest) = self.calmest.as_ref().filter(|calmest| strain > WORSE * calmest.strain) {
            self.state.positions.clone_from(&calmest.cloth);
            self.folding.halvings += 1;
        }
    }

    /// Lets all of the pieces move whose folds were put right and which are still strained, so that cloth can relax
    /// as a whole; `false` if there are none, or if that has been done often enough.
    pub(super) fn release_folded(&mut self) -> bool {
        const MOST_TIMES: usize = 3;
        let most = if self.folding.is_open() { 1 } else { MOST_TIMES };
        if self.folding.turns == 0 || self.folding.releases >= most || self.is_unstrained(&self.state.positions) {
            return false;
        }
        self.folding.releases += 1;
        let topology = &self.model.topology;
        let mut is_moved = vec![false; topology.component_count()];
        for vertex in (0..self.active.len()).filter(|&vertex| self.active[vertex]) {
            is_moved[topology.component(VertexId::new(vertex))] = true;
        }
        for (vertex, is_free) in self.free().into_iter().enumerate() {
            self.active[vertex] |= is_free && is_moved[self.model.topology.component(VertexId::new(vertex))];
        }
        self.window = None;
        self.calmest = None;
        true
    }
}

/// How long all contours are together, in segments.
fn segments(tangle: &Tangle) -> usize {
    tangle.contours.iter().map(|tangled| tangled.contour.segments.len()).sum()
}
