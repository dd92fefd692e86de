//! Untangling under way, step by step: what `fix` drives, and what an interactive program drives itself.
//!
//! A step shortens rest shapes, proposes a motion and lets contact decide. Between steps, [`Untangling::judge`] takes
//! rungs of the table ([`super::rungs`]), watches for progress, and says when cloth is clean and at rest.

use super::ledger::Ledger;
use super::motion::ContactStage;
use super::reference::Reference;
use super::relaxation::Relaxation;
use super::rungs::folds::Folding;
use super::setup::Setup;
use super::shortening::Shortening;
use super::watch::Watch;
use super::{FixSettings, Outcome, Patient, Stop, sizes};
use crate::analysis::{self, Tangle};
use crate::dynamics;
use crate::fix::Writers;
use crate::model::Model;
use crate::state::State;
use crate::untangle::StepMemory;
use crate::untangle::resolvers::main_component;
use crate::untangle::resolvers::tally::Tally;
use std::borrow::Cow;
use std::sync::Arc;
use unsnarl_geometry::{DVec3, VertexId};

/// Untangling under way, step by step: what [`crate::fix::untangle`] drives, and what an interactive program drives
/// itself.
pub struct Untangling {
    /// The cloth.
    pub model: Model,
    /// Its state. Positions may be changed between steps.
    pub state: State,
    /// Vertices to hold at a point during the next steps: pins and drags.
    pub holds: Vec<(VertexId, DVec3)>,
    /// Asked between rounds of long work whether to stop.
    pub stop: Stop,
    pub(super) settings: FixSettings,
    /// What does not change.
    pub(super) setup: Setup,
    /// Where cloth was.
    pub(super) reference: Reference,
    /// Vertices that have been near a tangle: only they move.
    pub(super) active: Vec<bool>,
    pub(super) shortening: Shortening,
    pub(super) folding: Folding,
    pub(super) relaxation: Relaxation,
    pub(super) watch: Watch,
    /// What was tried.
    pub(super) ledger: Ledger,
    pub(super) contact: ContactStage,
    pub(super) memory: Memory,
}

/// Memory of the stages, and a look at where everything is, if one was needed before it was asked for.
#[derive(Default)]
pub(super) struct Memory {
    pub seen: Option<(Vec<DVec3>, Tangle)>,
    pub analysis: analysis::Workspace,
    pub dynamics: dynamics::Workspace,
}

impl Untangling {
    /// Gets ready.
    pub fn new(patient: Patient, settings: FixSettings) -> Self {
        let Patient { mut model, mut state, assembly, body_positions } = patient;
        sizes::fit_rest_shapes(&mut model, &mut state);
        let setup = Setup::new(assembly, body_positions, (&model, &state), &settings);
        let tally = Tally::new(settings.vertices.seam_places.clone());
        let memory = StepMemory { tally, ..StepMemory::default() };
        Self {
            reference: Reference::new(&model, &state.positions),
            active: vec![false; state.positions.len()],
            contact: ContactStage::new(&setup, settings.separation),
            shortening: Shortening { memory, ..Shortening::default() },
            folding: Folding::default(),
            relaxation: Relaxation::default(),
            watch: Watch::new(settings.untangle.method.is_steps_alone()),
            ledger: Ledger::default(),
            memory: Memory::default(),
            stop: Arc::new(|| false),
            holds: Vec::new(),
            model,
            state,
            settings,
            setup,
        }
    }

    /// Cloth begins elsewhere than in the input: what has moved, and the rings around it, may move on.
    pub fn begin_at(&mut self, cloth: &[DVec3]) {
        self.move_to(cloth);
        self.ledger.writers = Writers::default();
    }

    /// Positions of cloth, then of bodies.
    pub fn all_positions(&self) -> Vec<DVec3> {
        self.setup.all_positions(&self.state.positions)
    }

    /// What crosses now, coloured as the method wants it.
    pub fn analyze(&mut self) -> Tangle {
        let positions = self.all_positions();
        if let Some((_, tangle)) = self.memory.seen.take().filter(|(at, _)| *at == positions) {
            return tangle;
        }
        let mut tangle = analysis::analyze(&self.setup.assembly, &positions, &mut self.memory.analysis);
        self.recolour(&mut tangle);
        tangle
    }

    /// What crosses now, but for what bodies pinch.
    pub(super) fn analyze_unpinched(&mut self) -> Tangle {
        let tangle = self.analyze();
        self.without_pinched(&tangle).into_owned()
    }

    fn present_badness(&mut self) -> usize {
        let tangle = self.analyze_unpinched();
        self.watch.badness(&tangle)
    }

    /// How long all contours would be at these positions of cloth and bodies, in segments.
    pub(super) fn segments_at(&mut self, positions: &[DVec3]) -> usize {
        segment_count(&analysis::analyze(&self.setup.assembly, positions, &mut self.memory.analysis))
    }

    /// A tangle without what bodies pinch.
    pub(super) fn without_pinched<'a>(&self, tangle: &'a Tangle) -> Cow<'a, Tangle> {
        let mut left = self.setup.pinched.leave_out(&self.setup.assembly, tangle);
        if let Cow::Owned(tangle) = &mut left {
            self.recolour(tangle);
        }
        left
    }

    /// Colours a tangle as the method wants it: what is cut off from the main component, unless it is a method
    /// without history.
    pub fn recolour(&self, tangle: &mut Tangle) {
        if !self.settings.untangle.method.is_classic() {
            main_component::recolour(self.setup.assembly.topology(), self.state.positions.len(), tangle);
        }
    }

    /// Whether nothing crosses and every rest shape is its own again.
    pub fn is_done(&self, tangle: &Tangle) -> bool {
        tangle.is_empty() && self.shortening.memory.is_over()
    }

    /// Forgets what was seen so far: cloth has been moved from outside.
    pub fn start_again(&mut self) {
        self.watch.reset();
        self.shortening.theorem.interrupt();
        self.contact.close_window();
        self.relaxation.start_again();
        self.ledger.start_again();
        self.reference.start_again(&self.model, &self.state.positions);
        self.folding = Folding::default();
    }

    /// The exact check of where things are, and the account of what was done. Where the last state still crosses, the
    /// best one counts; where it is more strained than one that was clean before, that one.
    pub fn finish(mut self) -> Outcome {
        self.keep_least_strained();
        if let Some(best) = self.watch.best().cloned()
            && best.badness < self.present_badness()
        {
            self.adopt(&best.cloth);
        }
        // What is not a number meets nothing, and would be certified.
        if !self.state.positions.iter().all(|place| place.is_finite()) {
            let input = self.reference.input.clone();
            self.adopt(&input);
        }
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.setup.assembly, &positions, &mut self.memory.analysis);
        let tangle = self.analyze();
        Outcome {
            positions: self.state.positions,
            verdict,
            tangle,
            steps: self.ledger.steps,
            resolvers: self.ledger.resolvers,
            writers: self.ledger.writers,
            red_history: self.shortening.red_history,
            assumptions: self.shortening.theorem.counts,
            pulls: self.shortening.memory.tally.counts(),
            pinched: self.setup.pinched.vertices().to_vec(),
            attempts: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// How long all contours are, in segments.
pub(super) fn segment_count(tangle: &Tangle) -> usize {
    tangle.contours.iter().map(|tangled| tangled.contour.segments.len()).sum()
}
