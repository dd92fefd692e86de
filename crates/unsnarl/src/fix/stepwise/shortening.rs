//! A step of edge shortening: pulls, tears, rules by colour, and what is remembered of them. (Cha 2022, chapter 4)

use super::theorem::Theorem;
use super::{FixStage, Observe, Untangling, return_targets};
use crate::analysis::Tangle;
use crate::fix::rings::rings_around;
use crate::fix::stepwise::rungs::RungName;
use crate::fix::{Pose, Writers};
use crate::untangle::folds::reflect::fold::{self, style_at};
use crate::untangle::folds::tearing::Tear;
use crate::untangle::{
    Design, Flips, FoldStyle, InBodies, Remedy, Situation, StepContext, StepMemory, StepPlan, Tears, plan_step,
};
use unsnarl_geometry::VertexId;

/// Steps in which a tear has not become less deep before all of its piece may move, where tearing is all there is.
const PATIENCE: f64 = 10.0;

/// What edge shortening remembers from step to step.
#[derive(Default)]
pub(super) struct Shortening {
    /// Pulls and tears.
    pub memory: StepMemory,
    /// In how many steps the convergence theorem spoke.
    pub theorem: Theorem,
    /// Red vertices at the start of each step.
    pub red_history: Vec<usize>,
}

impl Untangling {
    /// One step: shorten, propose, keep apart.
    pub fn step(&mut self, tangle: &Tangle) {
        self.step_observed(tangle, &mut |_, _| {});
    }

    /// As [`Untangling::step`]; `observe` hears of every stage as it ends.
    pub fn step_observed(&mut self, tangle: &Tangle, observe: Observe) {
        self.writing(Writers::STEP, |run| run.take_step(tangle, observe));
    }

    fn take_step(&mut self, tangle: &Tangle, observe: Observe) {
        let tangle = &*self.without_pinched(tangle);
        if self.ledger.steps == 0 && self.reference.targets.is_empty() {
            self.set_return_targets(tangle);
        }
        self.shortening.red_history.push(tangle.colours.red_vertices.len());
        self.shortening.theorem.begin(tangle);
        self.activate_around(tangle);
        self.ledger.steps += 1;
        let mut remedy = self.plan(tangle);
        observe(FixStage::Untangle, &self.state.positions);
        if self.settings.untangle.method.is_classic() {
            return self.advance(&remedy, observe);
        }
        if self.is_sliding(tangle) {
            return self.slide(&remedy.rules, self.relaxation.sliding_share(), observe);
        }
        let places = (self.state.positions.as_slice(), self.setup.local_size.as_slice());
        let stiffness = self.return_stiffness();
        let wishes = std::mem::take(&mut remedy.guidance);
        remedy.guidance = return_targets::springs(&self.reference.targets, &self.model.masses, places, stiffness);
        remedy.guidance.lay_over(&wishes);
        self.advance_unless_red_grows(tangle, &remedy, observe);
    }

    /// What the resolver asks for in this step; rest shapes and hinges are the state's from then on.
    fn plan(&mut self, tangle: &Tangle) -> Remedy {
        let tears = match self.has_rung(RungName::Tearing) {
            false => Tears::Off,
            true if self.yields() => Tears::Yielding,
            true => Tears::Elastic,
        };
        let positions = self.all_positions();
        let context = StepContext {
            model: &self.model,
            situation: Situation {
                assembly: &self.setup.assembly,
                positions: &positions,
                tangle,
                local_size: &self.setup.local_size,
                masses: &self.model.masses,
                step: self.settings.step,
                separation: self.settings.separation,
                bodies_at_end: &[],
                pinched: &[],
            },
            settings: &self.settings.untangle,
            bodies: InBodies::PushedOut(self.setup.pinched.flags()),
            tears,
            flips: if self.settings.untangle.method.is_steps_alone() { Flips::Refolding } else { Flips::Off },
            design: Design { styles: &self.settings.vertices.styles, creases: &self.settings.vertices.creases },
            rest_angles: &self.state.rest_angles,
        };
        let StepPlan { mut remedy, classic, shortened, tear, flipped } =
            plan_step(&context, &mut self.shortening.memory);
        let resolvers = &mut self.ledger.resolvers;
        resolvers.gia += usize::from(classic.attracted > 0);
        resolvers.icm += usize::from(classic.pushed > 0);
        if self.settings.untangle.method.is_classic() {
            return remedy;
        }
        resolvers.esef += shortened.pulling;
        resolvers.tearing += tear.contours;
        resolvers.flips.regional += flipped.regions;
        resolvers.flips.crease += flipped.creases;
        self.shortening.theorem.shortened(&shortened);
        self.state.rest_shapes = std::mem::take(&mut remedy.rest_shapes);
        self.state.triangle_stiffness = std::mem::take(&mut remedy.triangle_stiffness);
        self.state.rest_angles = std::mem::take(&mut remedy.rest_angles);
        self.state.hinge_stiffness = std::mem::take(&mut remedy.hinge_stiffness);
        if tears != Tears::Off {
            self.flatten_folds(&tear);
        }
        if tears == Tears::Yielding {
            self.free_wings(&tear);
            self.free_flaps();
        }
        if self.is_largely_red(tangle) {
            remedy.rules.let_near(&self.shortening.memory.pulls);
        }
        remedy
    }

    /// Whether strips that are torn yield: where tearing is all there is, or nothing stronger keeps the pose. Else
    /// folds that do not slide out soon are unfolded as wholes, which strains them less.
    fn yields(&self) -> bool {
        let is_all_there_is = self.settings.untangle.method.is_steps_alone() || self.settings.pose == Pose::Kept;
        self.folding.turns == 0 && is_all_there_is
    }

    /// Cloth around a tear must be free to slide out: as far as it is deep, or, where tearing is all there is, three
    /// times as far, and all of a piece where that does not help.
    fn free_wings(&mut self, tear: &Tear) {
        let loops = tear.folds.iter().map(|(vertex, _)| *vertex).filter(|vertex| vertex.index() < self.active.len());
        let loops: Vec<VertexId> = loops.collect();
        if loops.is_empty() {
            return;
        }
        let is_stalled = self.shortening.memory.tearing.waited() > PATIENCE;
        let rings = match (self.settings.untangle.method.is_steps_alone(), is_stalled) {
            (true, true) => usize::MAX,
            (true, false) => 3 * tear.depth,
            _ => tear.deepest,
        };
        let near = rings_around(&self.model.topology, loops, rings);
        for (vertex, ring) in near.into_iter().enumerate() {
            self.active[vertex] |= ring.is_some() && !self.setup.pinched.has(VertexId::new(vertex));
        }
    }

    /// Flaps that flip, and what they lie on, must be free to move.
    fn free_flaps(&mut self) {
        let topology = &self.model.topology;
        let mut front: Vec<VertexId> = Vec::new();
        for job in self.shortening.memory.flips.iter().filter(|job| !job.is_stalled) {
            front.extend(job.flap.iter().chain(&job.crest));
            if job.crease.is_empty() {
                front.extend(job.ground.iter().flat_map(|&triangle| topology.triangle(triangle)));
            }
        }
        if front.is_empty() {
            return;
        }
        let near = rings_around(topology, front, self.settings.rings);
        for (vertex, ring) in near.into_iter().enumerate() {
            self.active[vertex] |= ring.is_some() && !self.setup.pinched.has(VertexId::new(vertex));
        }
    }

    /// A fold that is to be unfolded is flat at rest from then on, whatever its crease or its first shape says:
    /// around its loop vertex, and all along where a style asks for it. Other folds are only while they are torn.
    fn flatten_folds(&mut self, tear: &Tear) {
        let styles = &self.settings.vertices.styles;
        for (loop_vertex, hinges) in &tear.folds {
            if style_at(styles, *loop_vertex) != FoldStyle::Unfold {
                continue;
            }
            self.shortening.memory.tearing.keep_flat(hinges);
            hinges.iter().for_each(|&hinge| self.state.rest_angles[hinge] = 0.0);
            let is_asked_for = styles.get(loop_vertex.index()) == Some(&Some(FoldStyle::Unfold));
            if is_asked_for {
                for hinge in fold::whole_fold(&self.model, *loop_vertex, &self.state.positions) {
                    self.state.rest_angles[hinge] = 0.0;
                }
            }
        }
    }
}
