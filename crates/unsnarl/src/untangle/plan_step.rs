//! One step of the chosen resolver: what a simulation and `fix` both ask for.
//!
//! Methods without history speak through [`plan`]. For edge shortening the tangle of the step begins, continues and
//! gives back pulls; the rest shapes that they leave, the rules by colour and the hinges of torn folds are the remedy.
//! (Cha 2022, chapters 4 and 5; figure 2.2)
//!
//! Guarantees: the memory is all that is remembered; with nothing tangled and no pull under way rest shapes are those
//! of the model.
//! Does not: promise an end while bodies press cloth into a tangle again and again.

use super::{ClassicReport, ColourRules, Method, Plan, Remedy, Situation, plan, plan_for_bodies};
use crate::analysis::{Colours, ContourKind, Tangle, TangledContour};
use crate::model::Model;
use crate::settings::{TearSettings, UntangleSettings};
use crate::untangle::folds::bli::{self, Bli};
use crate::untangle::folds::chart::{self, Design, Kept, Owners};
use crate::untangle::folds::flip::{FlipJob, FlipScene};
use crate::untangle::folds::tearing::{Tear, TearPace, Tearing};
use crate::untangle::resolvers::crossing_groups::CrossingGroups;
use crate::untangle::resolvers::esef::{self, EsefReport, EsefSettings, Pull};
use crate::untangle::resolvers::main_component;
use crate::untangle::resolvers::tally::Tally;
use std::borrow::Cow;
use unsnarl_geometry::{Topology, TriangleId, VertexId};

/// What edge shortening remembers from step to step.
#[derive(Clone, Debug, Default)]
pub struct StepMemory {
    /// Pulls under way.
    pub pulls: Vec<Pull>,
    /// How many there were, and where.
    pub tally: Tally,
    /// Strips that are torn.
    pub tearing: Tearing,
    /// Flaps that are flipped.
    pub flips: Vec<FlipJob>,
}

impl StepMemory {
    /// Whether every rest shape is its own.
    pub fn is_over(&self) -> bool {
        self.pulls.is_empty() && self.tearing.is_over()
    }

    /// Whether there is nothing to go on with or to give back.
    fn is_idle(&self) -> bool {
        self.is_over() && self.tearing.is_idle() && self.flips.is_empty()
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
    /// Whether flaps are flipped, where the method does that.
    pub flips: Flips,
    /// What folds are designed to be.
    pub design: Design<'a>,
    /// The rest angles in force, radians.
    pub rest_angles: &'a [f64],
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

/// Whether flaps are flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flips {
    /// They are not.
    Off,
    /// They are; rest angles stay, but for those of creases while they flip.
    On,
    /// They are, and folds are bent the other way at rest once they are on the right side.
    Refolding,
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
    /// What was flipped.
    pub flipped: FlipReport,
}

/// What flips did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlipReport {
    /// Regions that flip.
    pub regions: usize,
    /// Creases that flip.
    pub creases: usize,
    /// Flips that are given up.
    pub stalled: usize,
    /// Vertices on the wrong side.
    pub wrong: usize,
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
    planned.remedy.guidance.lay_over(&led_out.remedy.guidance);
    planned.remedy.leads = led_out.remedy.leads;
    planned.remedy.rules.let_through_as(led_out.remedy.rules);
    planned
}

/// Edge shortening and tearing.
fn shorten(context: &StepContext, tangle: &Tangle, memory: &mut StepMemory) -> StepPlan {
    let StepContext { model, situation, settings, bodies, tears, rest_angles, .. } = *context;
    if bodies == InBodies::LedOut && tangle.is_empty() && memory.is_idle() {
        return StepPlan::default();
    }
    let topology = situation.assembly.topology();
    let mut angles = rest_angles.to_vec();
    memory.tearing.give_back_angles(&mut angles);
    memory.flips.iter().for_each(|job| job.give_back(&mut angles));
    let folds = bli::find(tangle, model.topology.triangle_count());
    let owners = owners(context, (&folds, tangle), memory);
    let to_tear = settings.method.tears() && tears != Tears::Off;
    let torn = folds.iter().zip(&owners).filter(|(_, owner)| to_tear && owner.is_none());
    let torn: Vec<Bli> = torn.map(|(bli, _)| bli.clone()).collect();
    let mut colours = colours_to_shorten(topology, tangle, settings.method);
    if tears == Tears::Yielding && !torn.is_empty() && settings.method.shortens() {
        leave_strips_alone(topology, &torn, colours.to_mut());
    }
    if owners.iter().any(Option::is_some) && settings.method.shortens() {
        leave_flaps_alone(&memory.flips, model, colours.to_mut());
    }
    let esef_settings = EsefSettings { gamma: settings.gamma, ..EsefSettings::default() };
    let pace = (situation.step, &esef_settings);
    let shortened = esef::update_counting(model, &mut memory.pulls, &colours, pace, &mut memory.tally);
    let mut remedy = Remedy {
        rest_shapes: esef::rest_shapes(model, &memory.pulls),
        triangle_stiffness: vec![1.0; model.rest_shapes.len()],
        rest_angles: angles,
        hinge_stiffness: vec![1.0; model.hinges.len()],
        ..Remedy::default()
    };
    let (flipped, groups) = flip(context, (&folds, &owners, tangle), memory, &mut remedy);
    let tear = match tears {
        Tears::Off => Tear::default(),
        Tears::Elastic => memory.tearing.apply_elastic(model, &torn, settings.tear_stiffening, &mut remedy),
        Tears::Yielding => {
            let TearSettings { strip_stiffness } = settings.tear;
            let pace = TearPace { gamma: settings.gamma, step: situation.step, strip_stiffness };
            memory.tearing.apply(model, (&torn, situation.positions), pace, &mut remedy)
        }
    };
    if !tangle.is_empty() || bodies != InBodies::LedOut {
        let separation = situation.local_size.iter().map(|size| settings.red_green_separation * size).collect();
        remedy.rules = ColourRules::from_colours(topology, &colours, separation);
        remedy.rules.omit(topology, &tear.omitted);
        remedy.rules.let_through(groups.finish());
    }
    if let InBodies::PushedOut(pinched) = bodies {
        remedy.rules.keep_usual_from(situation.masses.len());
        remedy.rules.let_through_bodies(pinched);
    }
    StepPlan { remedy, shortened, tear, flipped, ..StepPlan::default() }
}

/// What flips look at.
fn flip_scene<'a>(context: &StepContext<'a>, tangle: &'a Tangle) -> FlipScene<'a> {
    let StepContext { model, situation, settings, .. } = *context;
    FlipScene {
        model,
        topology: situation.assembly.topology(),
        positions: situation.positions,
        tangle,
        local_size: situation.local_size,
        step: situation.step,
        gamma: settings.gamma,
    }
}

/// Which flip each fold belongs to.
fn owners(context: &StepContext, (folds, tangle): (&[Bli], &Tangle), memory: &mut StepMemory) -> Owners {
    if context.flips == Flips::Off || !context.settings.method.flips() {
        memory.flips.clear();
        return vec![None; folds.len()];
    }
    let kept = if context.settings.method == Method::Auto { Kept::Creases } else { Kept::CreasesAndFlaps };
    let memory = (&mut memory.flips, &memory.tearing);
    chart::decide(&flip_scene(context, tangle), folds, (context.design, kept), memory)
}

/// Goes on with all flips: wishes and angles in the remedy, and what may cross.
fn flip(
    context: &StepContext,
    (folds, owners, tangle): (&[Bli], &Owners, &Tangle),
    memory: &mut StepMemory,
    remedy: &mut Remedy,
) -> (FlipReport, CrossingGroups) {
    let (mut report, mut groups) = (FlipReport::default(), CrossingGroups::default());
    let scene = flip_scene(context, tangle);
    for (at, job) in memory.flips.iter_mut().enumerate() {
        let own: Vec<&Bli> =
            folds.iter().zip(owners).filter(|(_, owner)| **owner == Some(at)).map(|(bli, _)| bli).collect();
        if job.is_stalled {
            report.stalled += 1;
            continue;
        }
        let angles = (remedy.rest_angles.as_mut_slice(), context.flips == Flips::Refolding);
        let planned = job.plan(&scene, &own, &mut groups, angles);
        remedy.guidance.lay_over(&planned.guidance);
        report.wrong += planned.wrong;
        report.regions += usize::from(job.crease.is_empty());
        report.creases += usize::from(!job.crease.is_empty());
    }
    (report, groups)
}

/// The colours that edge shortening goes by: without BLI, which leave no side to pull to and whose red would pass
/// through other red; none where the method shortens nothing.
fn colours_to_shorten<'a>(topology: &Topology, tangle: &'a Tangle, method: Method) -> Cow<'a, Colours> {
    if !method.shortens() {
        return Cow::Owned(Colours::default());
    }
    if tangle.count(ContourKind::Bli) == 0 {
        return Cow::Borrowed(&tangle.colours);
    }
    let is_other = |tangled: &&TangledContour| tangled.kind != ContourKind::Bli;
    let others: Vec<TangledContour> = tangle.contours.iter().filter(is_other).cloned().collect();
    Cow::Owned(Colours::around(topology, tangle.colours.red_vertices.clone(), &others))
}

/// Nothing in a strip is pulled or shrinks: it carries no force.
fn leave_strips_alone(topology: &Topology, torn: &[Bli], colours: &mut Colours) {
    let mut strips: Vec<TriangleId> = torn.iter().flat_map(|bli| bli.strip.iter().copied()).collect();
    strips.sort_unstable();
    let is_torn = |triangle: &TriangleId| strips.binary_search(triangle).is_ok();
    colours.outermost_red_vertices.retain(|&vertex| !topology.vertex_triangles(vertex).iter().any(is_torn));
    colours.red_star_triangles.retain(|(triangle, _)| !is_torn(triangle));
}

/// Nothing of a flap that flips, or of what it lies on, is pulled or shrinks while its folds are there.
fn leave_flaps_alone(flips: &[FlipJob], model: &Model, colours: &mut Colours) {
    let mut is_busy = vec![false; model.topology.vertex_count()];
    for job in flips.iter().filter(|job| !job.is_stalled && job.crease.is_empty()) {
        let ground = job.ground.iter().flat_map(|&triangle| model.topology.triangle(triangle));
        ground.chain(job.flap.iter().copied()).for_each(|vertex| is_busy[vertex.index()] = true);
    }
    let busy = |vertex: VertexId| is_busy.get(vertex.index()) == Some(&true);
    colours.outermost_red_vertices.retain(|&vertex| !busy(vertex));
    let is_of_cloth = |triangle: TriangleId| triangle.index() < model.topology.triangle_count();
    let is_free = |triangle: TriangleId| !model.topology.triangle(triangle).into_iter().any(busy);
    colours.red_star_triangles.retain(|&(triangle, _)| !is_of_cloth(triangle) || is_free(triangle));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Cut;
    use crate::untangle::folds::bli::tests::made;

    #[test]
    fn a_bli_adds_no_red_and_starts_no_pull() {
        for name in ["bli", "collar", "lapel", "sleeve", "skirt"] {
            let (model, _, assembly, mut tangle) = made(name, Cut::Irregular, 2);
            tangle.contours.retain(|tangled| tangled.kind == ContourKind::Bli);
            tangle.colours = crate::analysis::colour::colour(assembly.topology(), &tangle.contours);
            assert!(!tangle.colours.red_triangles.is_empty());
            let colours = colours_to_shorten(assembly.topology(), &tangle, Method::Esef);
            assert!(colours.red_triangles.is_empty() && colours.red_edges.is_empty(), "{name}");
            let mut pulls = Vec::new();
            esef::update(&model, &mut pulls, &colours, 0.02, &EsefSettings::default());
            assert!(pulls.is_empty());
        }
    }

    #[test]
    fn other_types_keep_their_colours() {
        let (_, _, assembly, tangle) = made("bbii", Cut::Regular, 2);
        let colours = colours_to_shorten(assembly.topology(), &tangle, Method::Esef);
        assert_eq!(colours.red_triangles, tangle.colours.red_triangles);
        let none = colours_to_shorten(assembly.topology(), &tangle, Method::Tear);
        assert!(none.red_triangles.is_empty(), "tearing alone has no colours");
    }
}
