//! Untangling under way, step by step: what `fix` drives, and what an interactive program drives itself.
//!
//! A step shortens rest shapes, proposes a motion and lets contact decide. Between steps, [`Untangling::judge`] moves
//! cloth out of bodies, separates what touches, watches for progress and takes stronger measures where there is none.

use super::account::Account;
use super::anew::{Calm, Ease, InputStrain, LayOut, QUIET_STEPS};
use super::folds::Folding;
use super::home::{Journey, WayHome};
use super::measures::Order;
use super::pinched::Pinched;
use super::watch::{Advance, Watch};
use super::window::Window;
use super::{FixMethod, FixSettings, FixStage, Observe, Outcome, Patient, ResolverCounts, Stop, home, sizes};
use crate::analysis::{self, Assembly, Tangle};
use crate::contact::{self, ContactMesh};
use crate::dynamics;
use crate::fix::Pose;
use crate::fix::rings::rings_around;
use crate::model::Model;
use crate::state::State;
use crate::untangle::body_push::BodyPush;
use crate::untangle::esef::{self, EsefSettings, Pull};
use crate::untangle::fold::{self, style_at};
use crate::untangle::tally::Tally;
use crate::untangle::tearing::{Tear, Tearing};
use crate::untangle::{ColourRules, FoldStyle, Remedy, mainland};
use std::borrow::Cow;
use std::sync::Arc;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Untangling under way, step by step: what [`untangle`] drives, and what an interactive program drives itself.
pub struct Untangling {
    /// The cloth.
    pub model: Model,
    /// Its state. Positions may be changed between steps.
    pub state: State,
    /// Vertices to hold at a point during the next steps: pins and drags.
    pub holds: Vec<(VertexId, DVec3)>,
    /// Asked between rounds of long work whether to stop.
    pub stop: Stop,
    pub(super) assembly: Assembly,
    pub(super) body_positions: Vec<DVec3>,
    pub(super) settings: FixSettings,
    pub(super) pulls: Vec<Pull>,
    tally: Tally,
    pub(super) account: Account,
    pub(super) mesh: ContactMesh,
    pub(super) thickness: Vec<f64>,
    /// Vertices that have been near a tangle: only they move.
    pub(super) active: Vec<bool>,
    /// The size of the mesh at each vertex, metres.
    pub(super) local_size: Vec<f64>,
    /// The rest length of every edge, metres.
    pub(super) rest_lengths: Vec<f64>,
    pub(super) resolvers: ResolverCounts,
    red_history: Vec<usize>,
    pub(super) steps: usize,
    pub(super) strength: usize,
    pub(super) touching_rounds: usize,
    pub(super) watch: Watch,
    /// Where cloth was at first.
    pub(super) first_positions: Vec<DVec3>,
    calm_steps: usize,
    /// Where vertices belong that were in order at first.
    pub(super) homes: Vec<Option<DVec3>>,
    /// Parted cloth on its way home.
    way_home: Option<WayHome>,
    /// Whether pieces have been parted.
    pub(super) is_parted: bool,
    /// Whether pieces have been laid flat or made anew.
    pub(super) is_laid_out: bool,
    /// How laying each piece out was last tried.
    pub(super) lay_out_tries: Vec<Option<LayOut>>,
    /// The least strained of the clean states so far.
    pub(super) calmest: Option<Calm>,
    /// Where cloth was before anything was done.
    pub(super) input_positions: Vec<DVec3>,
    /// How strained it was there, once that was asked for.
    pub(super) input_strain: Option<InputStrain>,
    pub(super) bodies: BodyPush,
    /// Cloth that bodies pinch.
    pub(super) pinched: Pinched,
    pub(super) body_pushes: usize,
    /// What came of the last try to put pieces in order.
    pub(super) order: Order,
    /// Whether that ever helped.
    pub(super) has_been_ordered: bool,
    tearing: Tearing,
    /// Hinges of folds that are flat while they are torn, with their rest angles.
    torn_angles: Vec<(usize, f64)>,
    /// What was done about folds.
    pub(super) folding: Folding,
    /// Whether cloth grows back after a retreat.
    pub(super) phase: Phase,
    /// The farthest move of the last step, as a share of the local size.
    pub(super) last_move: f64,
    /// A look at where everything is, if one was needed before it was asked for.
    pub(super) seen: Option<(Vec<DVec3>, Tangle)>,
    pub(super) analysis_workspace: analysis::Workspace,
    /// What contact looks at, if that is not everything.
    pub(super) window: Option<Window>,
    /// With as many vertices that may move, or more, a window would hold nearly everything.
    pub(super) no_window_from: usize,
    pub(super) dynamics_workspace: dynamics::Workspace,
    pub(super) contact_workspace: contact::Workspace,
}

impl Untangling {
    /// Gets ready.
    pub fn new(patient: Patient, settings: FixSettings) -> Self {
        let Patient { mut model, mut state, assembly, body_positions } = patient;
        sizes::fit_rest_shapes(&mut model, &mut state);
        let topology = assembly.topology().clone();
        let thickness = vec![settings.separation; topology.vertex_count()];
        let rest_lengths = sizes::rest_lengths(&assembly, &model, &state, &body_positions);
        let local_size = sizes::local_sizes(&topology, &rest_lengths);
        let all: Vec<DVec3> = state.positions.iter().chain(&body_positions).copied().collect();
        let bodies = BodyPush::new(&assembly, &all, settings.body_separation);
        let pinched = Pinched::find(&assembly, state.positions.len(), &all);
        let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
        Self {
            local_size,
            rest_lengths,
            active: vec![false; state.positions.len()],
            first_positions: state.positions.clone(),
            input_positions: state.positions.clone(),
            input_strain: None,
            model,
            state,
            holds: Vec::new(),
            assembly,
            body_positions,
            tally: Tally::new(settings.seam_places.clone()),
            account: Account::default(),
            settings,
            pulls: Vec::new(),
            mesh,
            thickness,
            resolvers: ResolverCounts::default(),
            red_history: Vec::new(),
            steps: 0,
            strength: 0,
            touching_rounds: 0,
            watch: Watch::default(),
            calm_steps: 0,
            homes: Vec::new(),
            way_home: None,
            is_parted: false,
            is_laid_out: false,
            lay_out_tries: Vec::new(),
            calmest: None,
            bodies,
            pinched,
            body_pushes: 0,
            order: Order::Untried,
            has_been_ordered: false,
            tearing: Tearing::default(),
            torn_angles: Vec::new(),
            folding: Folding::default(),
            phase: Phase::Untangling,
            last_move: 0.0,
            stop: Arc::new(|| false),
            seen: None,
            analysis_workspace: analysis::Workspace::default(),
            window: None,
            no_window_from: usize::MAX,
            dynamics_workspace: dynamics::Workspace::default(),
            contact_workspace: contact::Workspace::default(),
        }
    }

    /// Cloth begins elsewhere than in the input: what has moved, and the rings around it, may move on.
    pub fn begin_at(&mut self, cloth: &[DVec3]) {
        self.move_to(cloth);
    }

    /// Positions of cloth, then of bodies.
    pub fn all_positions(&self) -> Vec<DVec3> {
        self.state.positions.iter().chain(&self.body_positions).copied().collect()
    }

    /// What crosses now, coloured as the method wants it.
    pub fn analyze(&mut self) -> Tangle {
        let positions = self.all_positions();
        if let Some((_, tangle)) = self.seen.take().filter(|(at, _)| *at == positions) {
            return tangle;
        }
        let mut tangle = analysis::analyze(&self.assembly, &positions, &mut self.analysis_workspace);
        self.recolour(&mut tangle);
        tangle
    }

    /// What crosses now, but for what bodies pinch.
    pub(super) fn analyze_unpinched(&mut self) -> Tangle {
        let tangle = self.analyze();
        self.without_pinched(&tangle).into_owned()
    }

    /// A tangle without what bodies pinch.
    pub(super) fn without_pinched<'a>(&self, tangle: &'a Tangle) -> Cow<'a, Tangle> {
        let mut left = self.pinched.leave_out(self.assembly.topology(), tangle);
        if let Cow::Owned(tangle) = &mut left {
            self.recolour(tangle);
        }
        left
    }

    /// Colours a tangle as the method wants it: what is cut off from the mainland, unless it is a method without
    /// history.
    pub fn recolour(&self, tangle: &mut Tangle) {
        if !self.settings.method.is_classic() {
            mainland::recolour(self.assembly.topology(), self.state.positions.len(), tangle);
        }
    }

    /// Whether nothing crosses and every rest shape is its own again.
    pub fn is_done(&self, tangle: &Tangle) -> bool {
        tangle.is_empty() && self.pulls.is_empty() && self.tearing.is_over()
    }

    /// One step: shorten, propose, keep apart.
    pub fn step(&mut self, tangle: &Tangle) {
        self.step_observed(tangle, &mut |_, _| {});
    }

    /// As [`Untangling::step`]; `observe` hears of every stage as it ends.
    pub fn step_observed(&mut self, tangle: &Tangle, observe: Observe) {
        let tangle = &*self.without_pinched(tangle);
        if self.steps == 0 && self.homes.is_empty() {
            self.settle(tangle);
        }
        self.red_history.push(tangle.colours.red_vertices.len());
        self.account.begin(tangle);
        self.grow_active(tangle);
        self.steps += 1;
        if self.settings.method.is_classic() {
            return self.classic_step(tangle, observe);
        }
        let esef_settings = EsefSettings { gamma: self.settings.gamma, ..EsefSettings::default() };
        let pace = (self.settings.step, &esef_settings);
        let report = esef::update_counting(&self.model, &mut self.pulls, &tangle.colours, pace, &mut self.tally);
        self.resolvers.esef += report.pulling;
        self.account.shortened(&report);
        self.state.rest_shapes = esef::rest_shapes(&self.model, &self.pulls);
        self.state.hinge_stiffness.fill(1.0);
        let tear = self.tear(tangle);
        let separation = self.local_size.iter().map(|size| self.settings.red_green_separation * size).collect();
        let mut rules = ColourRules::from_colours(self.assembly.topology(), &tangle.colours, separation);
        rules.omit(self.assembly.topology(), &tear.omitted);
        if self.is_largely_red(tangle) {
            rules.let_near(&self.pulls);
        }
        rules.keep_usual_from(self.state.positions.len());
        rules.let_through_bodies(self.pinched.flags());
        if self.is_sliding(tangle) {
            observe(FixStage::Untangle, &self.state.positions);
            return self.slide(&rules, SLIDING_DECAY.powi(self.calm_steps as i32), observe);
        }
        let places = (self.state.positions.as_slice(), self.local_size.as_slice());
        let guidance = home::guidance(&self.homes, &self.model.masses, places, self.homing());
        observe(FixStage::Untangle, &self.state.positions);
        self.advance_unless_red_grows(tangle, &Remedy { rules, guidance, ..Remedy::default() }, observe);
    }

    /// Whether strips that are torn yield: where tearing is all there is, or nothing stronger keeps the pose. Else
    /// folds that do not slide out soon are unfolded as wholes, which strains them less.
    fn yields(&self) -> bool {
        self.folding.turns == 0 && (self.settings.method == FixMethod::Esef || self.settings.pose == Pose::Kept)
    }

    /// Tears folds that bite into themselves.
    fn tear(&mut self, tangle: &Tangle) -> Tear {
        let yields = self.yields();
        let tear = match yields {
            true => self.tearing.apply(&self.model, tangle, self.settings.gamma, &mut self.state),
            false => self.tearing.apply_elastic(&self.model, tangle, &mut self.state),
        };
        self.resolvers.tearing += tear.contours;
        self.flatten_folds(&tear);
        if yields {
            self.free_wings(&tear);
        }
        tear
    }

    /// Cloth around a tear must be free to slide out: as far as it is deep, or, where tearing is all there is, three
    /// times as far, and all of a piece where that does not help.
    fn free_wings(&mut self, tear: &Tear) {
        const PATIENCE: usize = 10;
        let loops = tear.folds.iter().map(|(vertex, _)| *vertex).filter(|vertex| vertex.index() < self.active.len());
        let loops: Vec<VertexId> = loops.collect();
        if loops.is_empty() {
            return;
        }
        let is_stalled = self.tearing.steps_since() > PATIENCE;
        let rings = match (self.settings.method, is_stalled) {
            (FixMethod::Esef, true) => usize::MAX,
            (FixMethod::Esef, false) => 3 * tear.depth,
            _ => tear.deepest,
        };
        let near = rings_around(&self.model.topology, loops, rings);
        for (vertex, ring) in near.into_iter().enumerate() {
            self.active[vertex] |= ring.is_some() && !self.pinched.has(VertexId::new(vertex));
        }
    }

    /// A fold that is to be unfolded is flat at rest from then on, whatever its crease or its first shape says:
    /// around its loop vertex, and all along where a style asks for it. Other folds are while they are torn.
    fn flatten_folds(&mut self, tear: &Tear) {
        for (hinge, angle) in self.torn_angles.drain(..).rev() {
            self.state.rest_angles[hinge] = angle;
        }
        for (loop_vertex, hinges) in &tear.folds {
            let is_own = loop_vertex.index() < self.state.positions.len();
            if !is_own {
                continue;
            }
            if style_at(&self.settings.styles, *loop_vertex) != FoldStyle::Unfold {
                if !self.yields() {
                    continue;
                }
                self.torn_angles.extend(hinges.iter().map(|&hinge| (hinge, self.state.rest_angles[hinge])));
            }
            hinges.iter().for_each(|&hinge| self.state.rest_angles[hinge] = 0.0);
            let is_asked_for = self.settings.styles.get(loop_vertex.index()) == Some(&Some(FoldStyle::Unfold));
            if is_asked_for {
                for hinge in fold::whole_fold(&self.model, *loop_vertex, &self.state.positions) {
                    self.state.rest_angles[hinge] = 0.0;
                }
            }
        }
    }

    /// Where cloth is now is its home, for all that is in order.
    pub(super) fn settle(&mut self, tangle: &Tangle) {
        self.homes = home::homes(&self.model, &self.assembly, tangle, &self.state.positions);
    }

    /// Whether parted cloth is still on its way home.
    fn is_coming_home(&mut self) -> bool {
        let longest: Vec<f64> = self.local_size.iter().map(|size| self.settings.largest_move * size).collect();
        self.way_home = self.way_home.and_then(|way| self.journey(&longest).go_on(way));
        self.way_home.is_some()
    }

    /// Parted cloth sets out for its home.
    pub(super) fn set_out(&mut self) {
        self.way_home = Some(self.journey(&[]).begin());
    }

    fn journey<'a>(&'a self, longest_moves: &'a [f64]) -> Journey<'a> {
        Journey {
            model: &self.model,
            homes: &self.homes,
            rest_angles: &self.state.rest_angles,
            positions: &self.state.positions,
            longest_moves,
        }
    }

    /// Whether clean cloth has nothing to do but to become less strained: no fold to bend, no way to go.
    fn is_sliding(&mut self, tangle: &Tangle) -> bool {
        let is_led = self.is_parted
            || self.is_laid_out
            || self.folding.turns > 0
            || self.way_home.is_some()
            || !self.holds.is_empty()
            || self.was_strained();
        self.is_done(tangle) && self.phase == Phase::Untangling && !is_led
    }

    /// How strongly cloth is drawn home in this step, N/m per kilogram: strongly when it has just become clean or is
    /// on its way back, and less with every step from then on.
    fn homing(&self) -> f64 {
        let share = if self.calm_steps == 0 { 0.0 } else { HOMING_DECAY.powi(self.calm_steps as i32) };
        share / (self.settings.step * self.settings.step)
    }

    /// Marks what lies within some rings of anything red; it stays free from then on.
    fn grow_active(&mut self, tangle: &Tangle) {
        let topology = &self.model.topology;
        let colours = &tangle.colours;
        let is_cloth = |vertex: &VertexId| vertex.index() < topology.vertex_count();
        let front: Vec<VertexId> = colours
            .red_triangles
            .iter()
            .flat_map(|&triangle: &TriangleId| self.assembly.topology().triangle(triangle))
            .filter(is_cloth)
            .collect();
        self.free_rings_around(front);
    }

    /// Lets vertices move, and the rings around them but for what bodies pinch there.
    pub(super) fn free_rings_around(&mut self, front: Vec<VertexId>) {
        let near = rings_around(&self.model.topology, front, self.settings.rings);
        for (vertex, ring) in near.into_iter().enumerate() {
            let may_move = ring.is_some_and(|ring| ring == 0 || !self.pinched.has(VertexId::new(vertex)));
            self.active[vertex] |= may_move;
        }
    }

    /// Decides what to do about a tangle that was just found.
    ///
    /// Cloth in bodies is moved out first, then pieces that cross each other are put in order and folds with a style
    /// are put right, then what merely touches is moved apart; all are seen by the next look. Where nothing crosses
    /// cloth relaxes until it is at rest. Cloth beyond recognition is laid out at once. Where something else crosses
    /// and nothing has become better for `patience` steps (or not by a tenth, where cloth has no shape to keep; a
    /// third of them where most of a sheet is red), or where pulls throw cloth about, folds are unfolded that were
    /// torn in vain, or cloth retreats: it is smoothed until nothing crosses, and grows back with contact on. Methods
    /// without history let more cloth move instead, and edge shortening alone gives up.
    pub fn judge(&mut self, tangle: &Tangle) -> Advance {
        let tangle = self.without_pinched(tangle);
        let advance = self.decide(&tangle);
        if advance == Advance::LookAgain {
            self.account.interrupt();
            if self.pulls.is_empty() {
                self.tally.forget_open();
            }
        }
        advance
    }

    fn decide(&mut self, tangle: &Tangle) -> Advance {
        if !self.settings.method.is_classic() && self.push_out_of_bodies(tangle) {
            return Advance::LookAgain;
        }
        if self.put_in_order(tangle) || self.part_at_large(tangle) || self.turn_folds(tangle) {
            return Advance::LookAgain;
        }
        if self.is_done(tangle) {
            self.step_back();
            let is_coming_home = self.is_coming_home();
            self.calm_steps = if is_coming_home { 1 } else { self.calm_steps + 1 };
            let is_still = self.calm_steps > HOMING_STEPS && self.last_move < self.settings.stillness;
            let is_sliding = self.is_sliding(tangle);
            let (least_steps, quiet_steps) =
                if is_sliding { (SLIDING_STEPS, SLIDING_QUIET_STEPS) } else { (HOMING_STEPS, QUIET_STEPS) };
            let ease = if is_coming_home { Ease::Uneasy } else { self.ease(quiet_steps) };
            if ease == Ease::Stuck && self.phase == Phase::GrowingBack && self.lay_out_strained() {
                return Advance::LookAgain;
            }
            let is_stuck = ease == Ease::Stuck && self.phase == Phase::Untangling;
            let is_at_ease = (ease == Ease::Settled && self.calm_steps > least_steps) || self.is_unstrained_at_once();
            let most = match self.phase {
                Phase::Untangling => self.settings.relaxation_steps,
                Phase::GrowingBack => self.settings.growth_steps,
            };
            let untouched = self.steps == 0 && !self.active.contains(&true);
            let is_over = untouched || is_still || is_stuck || is_at_ease || self.calm_steps > most;
            return match is_over {
                false => Advance::Step,
                true if self.separate_touching() => Advance::LookAgain,
                true if self.lay_out_strained() => Advance::LookAgain,
                true if self.release_folded() => {
                    self.calm_steps = HOMING_STEPS;
                    Advance::Step
                }
                true if self.fold_over() => Advance::LookAgain,
                true => Advance::Done,
            };
        }
        self.calm_steps = 0;
        let positions = self.all_positions();
        if self.settings.method == FixMethod::Off {
            return Advance::GaveUp;
        }
        if self.is_beyond_recognition(tangle) && self.lay_out_shapeless(tangle) {
            return Advance::LookAgain;
        }
        let waited = self.watch.look(tangle, &positions, &self.state.positions);
        let haste = if tangle.colours.majority_failures.is_empty() { 1 } else { MAJORITY_HASTE };
        let is_slow = self.watch.is_slow(self.settings.patience / haste) && self.has_nothing_to_lose(tangle);
        let is_hopeless = is_slow || self.is_thrown_about();
        if waited <= self.settings.patience && !is_hopeless && self.settings.method != FixMethod::Retreat {
            return Advance::Step;
        }
        self.watch.wait_again();
        self.strengthen(tangle)
    }

    /// Forgets what was seen so far: cloth has been moved from outside.
    pub fn start_again(&mut self) {
        self.watch.reset();
        self.account.interrupt();
        self.window = None;
        self.no_window_from = usize::MAX;
        self.calm_steps = 0;
        self.body_pushes = 0;
        self.order = Order::Untried;
        self.has_been_ordered = false;
        self.homes.clear();
        self.way_home = None;
        self.is_parted = false;
        self.is_laid_out = false;
        self.lay_out_tries.clear();
        self.calmest = None;
        self.input_positions.copy_from_slice(&self.state.positions);
        self.input_strain = None;
        self.folding = Folding::default();
        self.touching_rounds = 0;
    }

    /// The exact check of where things are, and the account of what was done. Where the last state still crosses, the
    /// best one counts; where it is more strained than one that was clean before, that one.
    pub fn finish(mut self) -> Outcome {
        self.calm_down();
        if let Some(best) = self.watch.best().cloned()
            && best.red_triangles < self.analyze_unpinched().colours.red_triangles.len()
        {
            self.state.positions = best.cloth;
        }
        // What is not a number meets nothing, and would be certified.
        if !self.state.positions.iter().all(|place| place.is_finite()) {
            self.state.positions.clone_from(&self.input_positions);
        }
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.assembly, &positions, &mut self.analysis_workspace);
        let tangle = self.analyze();
        Outcome {
            positions: self.state.positions,
            verdict,
            tangle,
            steps: self.steps,
            resolvers: self.resolvers,
            red_history: self.red_history,
            assumptions: self.account.counts,
            pulls: self.tally.counts(),
            pinched: self.pinched.vertices().to_vec(),
            attempts: Vec::new(),
        }
    }
}

/// Where most of a sheet is red, colours do not say which side is wrong, and patience is divided by this.
const MAJORITY_HASTE: usize = 3;
/// Steps in which cloth is drawn home before it may count as at rest.
const HOMING_STEPS: usize = 12;
/// Springs that draw cloth home are weaker by this factor in every step.
const HOMING_DECAY: f64 = 0.7;
/// The same where cloth slides.
const SLIDING_STEPS: usize = 4;
const SLIDING_DECAY: f64 = 0.5;
/// Cloth that slides carries strain across all of it in one step, so that a few without effect are enough.
const SLIDING_QUIET_STEPS: usize = 3;

/// What untangling is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Edges shorten.
    Untangling,
    /// After a retreat cloth is clean and grows back.
    GrowingBack,
}
