//! One step of the chosen resolver: what a simulation and `fix` both ask for.
//!
//! Methods without history speak through [`plan`]. For edge shortening the tangle of the step begins, continues and
//! gives back pulls; the rest shapes that they leave, the rules by colour and the hinges of torn folds are the remedy.
//! (Cha 2022, chapters 4 and 5; figure 2.2)
//!
//! Guarantees: the memory is all that is remembered; with nothing tangled and no pull under way rest shapes are those
//! of the model.
//! Does not: promise an end while bodies press cloth into a tangle again and again.

use super::{ClassicReport, ColourRules, Plan, Remedy, Situation, plan, plan_for_bodies};
use crate::analysis::Tangle;
use crate::model::Model;
use crate::settings::UntangleSettings;
use crate::untangle::resolvers::esef::{self, EsefReport, EsefSettings, Pull};
use crate::untangle::resolvers::main_component;
use crate::untangle::resolvers::tally::Tally;
use crate::untangle::resolvers::tearing::{Tear, Tearing};
use std::borrow::Cow;

/// What edge shortening remembers from step to step.
#[derive(Clone, Debug, Default)]
pub struct StepMemory {
    /// Pulls under way.
    pub pulls: Vec<Pull>,
    /// How many there were, and where.
    pub tally: Tally,
    /// Strips that are torn.
    pub tearing: Tearing,
}

impl StepMemory {
    /// Whether every rest shape is its own.
    pub fn is_over(&self) -> bool {
        self.pulls.is_empty() && self.tearing.is_over()
    }
}

/// What is known of a step.
#[derive(Clone, Copy)]
pub struct StepContext<'a> {
    /// The cloth.
    pub model: &'a Model,
    /// What crosses, and where everything is.
    pub situation: Situation<'a>,
    /// How to untangle.
    pub settings: &'a UntangleSettings,
    /// What becomes of cloth in bodies.
    pub bodies: InBodies<'a>,
    /// What becomes of folds that bite into themselves.
    pub tears: Tears,
}

/// What becomes of cloth in bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InBodies<'a> {
    /// The remedy leads it out.
    LedOut,
    /// It was pushed out before. Elements with one of these vertices of cloth pass through bodies, all others keep the
    /// usual distance.
    PushedOut(&'a [bool]),
}

/// What becomes of folds that bite into themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tears {
    /// Nothing.
    Off,
    /// Torn strips stay elastic.
    Elastic,
    /// Torn strips yield to the shape that they have.
    Yielding,
}

/// What to do in a step, and what was made of the tangle.
#[derive(Clone, Debug, Default)]
pub struct StepPlan {
    /// For dynamics and contact.
    pub remedy: Remedy,
    /// What a method without history made of the contours.
    pub classic: ClassicReport,
    /// What became of pulls.
    pub shortened: EsefReport,
    /// What was torn.
    pub tear: Tear,
}

/// Plans one step.
pub fn plan_step(context: &StepContext, memory: &mut StepMemory) -> StepPlan {
    let StepContext { situation, settings, bodies, .. } = *context;
    let tangle = situation.tangle;
    if settings.method.is_classic() && (!tangle.is_empty() || bodies != InBodies::LedOut) {
        let Plan { remedy, report } = plan(settings.method, &situation, &settings.classic);
        return StepPlan { remedy, classic: report, ..StepPlan::default() };
    }
    if bodies != InBodies::LedOut || tangle.is_empty() {
        return shorten(context, tangle, memory);
    }
    let (led_out, mut left) = plan_for_bodies(&situation, &settings.classic);
    if let Cow::Owned(left) = &mut left {
        main_component::recolour(situation.assembly.topology(), situation.masses.len(), left);
    }
    let mut planned = shorten(context, &left, memory);
    planned.remedy.guidance = led_out.remedy.guidance;
    planned.remedy.rules.let_through_as(led_out.remedy.rules);
    planned
}

/// Edge shortening and tearing.
fn shorten(context: &StepContext, tangle: &Tangle, memory: &mut StepMemory) -> StepPlan {
    let StepContext { model, situation, settings, bodies, tears } = *context;
    if bodies == InBodies::LedOut && tangle.is_empty() && memory.is_over() {
        return StepPlan::default();
    }
    let esef_settings = EsefSettings { gamma: settings.gamma, ..EsefSettings::default() };
    let pace = (situation.step, &esef_settings);
    let shortened = esef::update_counting(model, &mut memory.pulls, &tangle.colours, pace, &mut memory.tally);
    let mut rest_shapes = esef::rest_shapes(model, &memory.pulls);
    let mut hinge_stiffness = vec![1.0; model.hinges.len()];
    let tear = match tears {
        Tears::Off => Tear::default(),
        Tears::Elastic => memory.tearing.apply_elastic(model, tangle, settings.tear_stiffening, &mut hinge_stiffness),
        Tears::Yielding => {
            let rest = (rest_shapes.as_mut_slice(), hinge_stiffness.as_mut_slice());
            memory.tearing.apply(model, (tangle, situation.positions), settings.gamma, rest)
        }
    };
    let mut rules = ColourRules::default();
    if !tangle.is_empty() || bodies != InBodies::LedOut {
        let topology = situation.assembly.topology();
        let separation = situation.local_size.iter().map(|size| settings.red_green_separation * size).collect();
        rules = ColourRules::from_colours(topology, &tangle.colours, separation);
        rules.omit(topology, &tear.omitted);
    }
    if let InBodies::PushedOut(pinched) = bodies {
        rules.keep_usual_from(situation.masses.len());
        rules.let_through_bodies(pinched);
    }
    let remedy = Remedy { rest_shapes, hinge_stiffness, rules, ..Remedy::default() };
    StepPlan { remedy, shortened, tear, ..StepPlan::default() }
}
