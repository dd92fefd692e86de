//! The published methods side by side: a tangle in, a remedy out, one interface for all of them.
//!
//! The classic methods keep no history. Each looks at one contour at a time and says where its vertices should go and which
//! elements may pass through each other; what all contours ask for together becomes one [`Remedy`]. Contours that a method
//! has nothing to say about are counted as out of scope and are left as they are.
//!
//! Guarantees: the remedy depends on the situation alone; contours are treated in order.
//! Does not: include edge shortening, which remembers its pulls between steps (`esef`).

use super::{ColourRules, Remedy};
use crate::analysis::colour::colour;
use crate::analysis::region::{Cut, CutTraces, Separation};
use crate::analysis::{Assembly, PartKind, Tangle, TangledContour, Trace};
use crate::untangle::bodies::depenetration;
use crate::untangle::bodies::depenetration::InBodies;
use crate::untangle::resolvers::crossing_groups::CrossingGroups;
use crate::untangle::resolvers::gia;
use crate::untangle::resolvers::goals::Moves;
use crate::untangle::resolvers::icm;
use crate::untangle::resolvers::repulsive_icm;
use crate::untangle::resolvers::sim_prev;
use crate::untangle::resolvers::uir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// Which untangler works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// None: what crosses stays as it is.
    Off,
    /// Global intersection analysis: what passed through each other is attracted.
    Gia,
    /// Contour minimisation, local and global.
    Icm,
    /// Contour minimisation with repulsive normals.
    RepulsiveIcm,
    /// The unified pipeline: regions first, boundaries otherwise.
    Uir,
    /// The four before this one together, each where it is best.
    SimPrev,
    /// Edge shortening with epsilon finessing, alone: folds that bite into themselves stay as they are.
    Esef,
    /// Mesh tearing alone: what is no such fold stays as it is.
    Tear,
    /// Regional and crease flips alone: folds that nothing asks to keep, and all else, stay as they are.
    Flip,
    /// Edge shortening, and tearing or flipping as the design of a fold says; no fallback.
    Blir,
    /// Cloth is smoothed until nothing crosses and grows back with contact on. Only where there is no history: in `fix`.
    Retreat,
    /// Whatever this program does best: edge shortening, tearing and flipping, and fallbacks where they stall.
    #[default]
    Auto,
}

impl Method {
    /// All, in the order of their history.
    pub const ALL: [Self; 12] = [
        Self::Off,
        Self::Gia,
        Self::Icm,
        Self::RepulsiveIcm,
        Self::Uir,
        Self::SimPrev,
        Self::Esef,
        Self::Tear,
        Self::Flip,
        Self::Blir,
        Self::Retreat,
        Self::Auto,
    ];

    /// Those that keep no history.
    pub const CLASSIC: [Self; 5] = [Self::Gia, Self::Icm, Self::RepulsiveIcm, Self::Uir, Self::SimPrev];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Gia => "gia",
            Self::Icm => "icm",
            Self::RepulsiveIcm => "repulsive-icm",
            Self::Uir => "uir",
            Self::SimPrev => "sim-prev",
            Self::Esef => "esef",
            Self::Tear => "tear",
            Self::Flip => "flip",
            Self::Blir => "blir",
            Self::Retreat => "retreat",
            Self::Auto => "auto",
        }
    }

    /// Whether it is one of those that keep no history, for which [`plan`] speaks.
    pub fn is_classic(self) -> bool {
        Self::CLASSIC.contains(&self)
    }

    /// Whether it shortens edges.
    pub fn shortens(self) -> bool {
        matches!(self, Self::Esef | Self::Blir | Self::Retreat | Self::Auto)
    }

    /// Whether it tears folds that bite into themselves.
    pub fn tears(self) -> bool {
        matches!(self, Self::Tear | Self::Blir | Self::Retreat | Self::Auto)
    }

    /// Whether it flips them, where their design says that they stay folded.
    pub fn flips(self) -> bool {
        matches!(self, Self::Flip | Self::Blir | Self::Auto)
    }

    /// Whether steps are all that it has: nothing is rearranged where they stall.
    pub fn is_steps_alone(self) -> bool {
        matches!(self, Self::Esef | Self::Tear | Self::Flip | Self::Blir)
    }
}

/// No method has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no untangler called {0}: choose off, gia, icm, repulsive-icm, uir, sim-prev, esef, tear, flip, blir, \
     retreat or auto"
)]
pub struct UnknownMethod(pub String);

impl std::str::FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// How strongly the classic methods act.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClassicSettings {
    /// Longest move that is wished for in one step, as a share of the mesh size at the vertex. Larger: faster, more jerks.
    pub reach: f64,
    /// Stiffness of a wish against the vertex's inertia over a step. Larger: elasticity resists less.
    pub gain: f64,
    /// Share of the direction that a whole contour agrees on in contour minimisation; the rest is each crossing's own.
    pub global_share: f64,
    /// How fast cloth leaves a body that it is in, relative to the body, m/s. Larger: faster, more jerks.
    pub ejection_speed: f64,
    /// Gradients of contour length well below this move cloth in proportion; larger ones move it the whole reach.
    pub soft_gradient: f64,
}

impl Default for ClassicSettings {
    fn default() -> Self {
        Self { reach: 0.25, gain: 100.0, global_share: 0.5, ejection_speed: 0.08, soft_gradient: 0.3 }
    }
}

/// What a method looks at. Vertices are cloth first, then bodies.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// All meshes.
    pub assembly: &'a Assembly,
    /// Where they are.
    pub positions: &'a [DVec3],
    /// What crosses.
    pub tangle: &'a Tangle,
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// Mass of every vertex of cloth, kg. There are as many as cloth has vertices.
    pub masses: &'a [f64],
    /// Length of the step, seconds.
    pub step: f64,
    /// Distance that cloth keeps, metres.
    pub separation: f64,
    /// Where the vertices of bodies are at the end of the step; empty where they do not move.
    pub bodies_at_end: &'a [DVec3],
    /// Vertices that bodies carry, sorted. Nobody moves them.
    pub pinched: &'a [VertexId],
}

/// What a method wants, and what it made of the contours.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// For dynamics and contact.
    pub remedy: Remedy,
    /// For the reader.
    pub report: ClassicReport,
}

/// What a method made of the contours of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassicReport {
    /// Contours that it works on.
    pub treated: usize,
    /// Contours that it has nothing to say about.
    pub out_of_scope: usize,
    /// Vertices attracted by what they passed through.
    pub attracted: usize,
    /// Crossings that push along the gradient of contour length.
    pub pushed: usize,
    /// Crossings on a straight stretch, where the pull vanishes.
    pub straight: usize,
    /// Crossings whose edge grazes the triangle, where the normal part is unbounded.
    pub grazing: usize,
    /// Crossings whose pull is at right angles to the edge, where the normal part vanishes.
    pub upright: usize,
}

/// Whether a method works on a contour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Treated,
    Out,
}

/// What a classic method wants of this step; nothing for the others.
pub fn plan(method: Method, situation: &Situation, settings: &ClassicSettings) -> Plan {
    let mut draft = Draft::new(*situation, *settings);
    for index in 0..situation.tangle.contours.len() {
        let scope = match method {
            Method::Gia => gia::treat(&mut draft, index),
            Method::Icm => icm::treat(&mut draft, index),
            Method::RepulsiveIcm => repulsive_icm::treat(&mut draft, index),
            Method::Uir => uir::treat(&mut draft, index),
            Method::SimPrev => sim_prev::treat(&mut draft, index),
            _ => Scope::Out,
        };
        match scope {
            Scope::Treated => draft.report.treated += 1,
            Scope::Out => draft.report.out_of_scope += 1,
        }
    }
    draft.finish()
}

/// What becomes of cloth that crosses bodies, and the rest of the tangle. A body has an inside, so no method has to be chosen for it.
pub fn plan_for_bodies<'a>(situation: &Situation<'a>, settings: &ClassicSettings) -> (Plan, Cow<'a, Tangle>) {
    let mut draft = Draft::new(*situation, *settings);
    let tangle = situation.tangle;
    let is_left: Vec<bool> =
        (0..tangle.contours.len()).map(|index| depenetration::depenetrate(&mut draft, index) == Scope::Out).collect();
    draft.report.treated = is_left.iter().filter(|&&left| !left).count();
    draft.report.out_of_scope = is_left.len() - draft.report.treated;
    if draft.report.treated == 0 {
        return (Plan::default(), Cow::Borrowed(tangle));
    }
    let left = tangle.contours.iter().zip(&is_left).filter(|(_, left)| **left);
    let contours: Vec<TangledContour> = left.map(|(contour, _)| contour.clone()).collect();
    let colours = colour(draft.topology(), &contours);
    (draft.finish(), Cow::Owned(Tangle { contours, colours }))
}

/// A plan in the making.
pub(super) struct Draft<'a> {
    pub situation: Situation<'a>,
    pub settings: ClassicSettings,
    pub moves: Moves,
    pub groups: CrossingGroups,
    pub report: ClassicReport,
    pub in_bodies: InBodies,
    /// Vertices that are led out of bodies.
    pub led: Vec<VertexId>,
}

impl<'a> Draft<'a> {
    pub fn new(situation: Situation<'a>, settings: ClassicSettings) -> Self {
        let Situation { assembly, positions, tangle, .. } = situation;
        Self {
            in_bodies: InBodies::new(assembly, positions, tangle),
            moves: Moves::none(situation.masses.len()),
            groups: CrossingGroups::default(),
            report: ClassicReport::default(),
            led: Vec::new(),
            situation,
            settings,
        }
    }

    pub fn contour(&self, index: usize) -> &'a TangledContour {
        &self.situation.tangle.contours[index]
    }

    pub fn topology(&self) -> &'a Topology {
        self.situation.assembly.topology()
    }

    pub fn position(&self, vertex: VertexId) -> DVec3 {
        self.situation.positions[vertex.index()]
    }

    /// The longest wish at a vertex, metres.
    pub fn reach(&self, vertex: VertexId) -> f64 {
        self.settings.reach * self.situation.local_size[vertex.index()]
    }

    /// The whole reach along a gradient, less where the gradient is small.
    pub fn softened(&self, gradient: DVec3) -> DVec3 {
        gradient / (gradient.length_squared() + self.settings.soft_gradient.powi(2)).sqrt()
    }

    /// Lets both sides of a contour through each other: what crosses, and more triangles of each side.
    pub fn let_through(&mut self, index: usize, more: [&[TriangleId]; 2]) {
        let tangled = self.contour(index);
        let [first, second] =
            Trace::BOTH.map(|trace| [crossing_triangles(tangled, trace).as_slice(), more[trace.index()]].concat());
        self.groups.add(self.topology(), &first, &second);
    }

    /// Whether bodies carry a vertex.
    pub fn is_pinched(&self, vertex: VertexId) -> bool {
        self.situation.pinched.binary_search(&vertex).is_ok()
    }

    /// How far a vertex of a body moves in this step, metres.
    pub fn body_motion(&self, vertex: VertexId) -> DVec3 {
        let Situation { masses, bodies_at_end, .. } = self.situation;
        let end = vertex.index().checked_sub(masses.len()).and_then(|at| bodies_at_end.get(at));
        end.map_or(DVec3::ZERO, |&end| end - self.position(vertex))
    }

    /// Whether a trace of a contour runs on a body.
    pub fn is_on_body(&self, tangled: &TangledContour, trace: Trace) -> bool {
        let assembly = self.situation.assembly;
        let part = assembly.part_of_triangle(tangled.contour.segments[0][trace.index()]);
        assembly.parts()[part].kind == PartKind::Body
    }

    fn finish(self) -> Plan {
        let Situation { masses, step, .. } = self.situation;
        let guidance = self.moves.guidance(masses, step, self.settings.gain);
        let mut rules = ColourRules::default();
        rules.let_through(self.groups.finish());
        Plan { remedy: Remedy { guidance, leads: self.led, rules, ..Remedy::default() }, report: self.report }
    }
}

/// The triangles along a trace, sorted.
pub(super) fn crossing_triangles(tangled: &TangledContour, trace: Trace) -> Vec<TriangleId> {
    let mut triangles: Vec<TriangleId> =
        tangled.contour.segments.iter().map(|segment| segment[trace.index()]).collect();
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

/// What a trace alone cuts off, by area, sorted; `None` if it cuts nothing off.
pub(super) fn cut_off_by(tangled: &TangledContour, trace: Trace) -> Option<&[VertexId]> {
    let is_of_trace = |cut: &&Cut| cut.traces == CutTraces::One(trace) && cut.separation == Separation::Divides;
    tangled.regions.cuts.iter().find(is_of_trace).map(|cut| cut.smaller_by_area.as_slice())
}

/// What both traces cut off together, by area, sorted.
pub(super) fn cut_off_by_both(tangled: &TangledContour) -> Option<&[VertexId]> {
    let cuts = tangled.regions.cuts.iter();
    cuts.filter(|cut| cut.traces == CutTraces::Both && cut.separation == Separation::Divides)
        .map(|cut| cut.smaller_by_area.as_slice())
        .next()
}

/// The triangles with a corner among some vertices, sorted.
pub(super) fn triangles_at(topology: &Topology, vertices: &[VertexId]) -> Vec<TriangleId> {
    let mut triangles: Vec<TriangleId> =
        vertices.iter().flat_map(|&vertex| topology.vertex_triangles(vertex)).copied().collect();
    triangles.sort_unstable();
    triangles.dedup();
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        assert!("gaia".parse::<Method>().is_err());
    }
}
