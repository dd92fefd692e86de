//! `fix`: a tangled garment in, a clean one out, and the proof.
//!
//! The same stages as a simulation, without gravity or inertia: analysis, untangle, dynamics, contact, until nothing
//! crosses; then the rest shapes that were shortened are given back with collisions on. Vertices far from any tangle are
//! held where they are, so they come back bit for bit. (Cha 2022, figure 2.2)
//!
//! Guarantees: the outcome is certified by the exact check of its positions, never by the path that led there; input
//! that is clean comes back unchanged.
//! Does not: promise success. What is left is in the outcome, and the positions are the best that were seen.

pub mod animation;
mod driver;
mod look;
mod measure;
mod measures;
mod places;
pub mod report;
mod rings;
mod score;
mod settings;
mod solved;
mod spacing;
mod stepwise;
mod tools;
mod writers;

pub use crate::untangle::resolvers::tally::{PullCount, PullCounts, SeamPlace};
pub use crate::untangle::{FoldStyle, Method as FixMethod};
pub use driver::Attempt;
pub use measure::{LeftOut, MeasureName, Reason, UnknownMeasure};
pub use score::{Score, Standard};
pub use settings::{FixSettings, Pose, VertexSettings};
pub use solved::{PlaceReport, WhyNot, solved_by_measure};
pub use spacing::{Exempt, GapError, GapWish, examine_gap, gap_fits, open_gap};
pub use stepwise::rungs::RungName;
pub use stepwise::{Advance, Assumptions, Best, Untangling, Watch};
pub use writers::Writers;

use crate::analysis::{Assembly, Tangle, Verdict};
use crate::model::Model;
use crate::state::State;
use std::sync::Arc;
use unsnarl_geometry::{DVec3, VertexId};

/// A garment, or several, with bodies as obstacles.
#[derive(Clone)]
pub struct Patient {
    /// The cloth.
    pub model: Model,
    /// Its state: positions, rest shapes, rest angles.
    pub state: State,
    /// Cloth and bodies, numbered as in the model, then the bodies' vertices.
    pub assembly: Assembly,
    /// Where the bodies' vertices are.
    pub body_positions: Vec<DVec3>,
}

impl Patient {
    /// These positions of the cloth, then those of bodies.
    pub(crate) fn all_positions(&self, cloth: &[DVec3]) -> Vec<DVec3> {
        cloth.iter().chain(&self.body_positions).copied().collect()
    }
}

/// What a step looks like from outside.
pub struct Progress<'a> {
    /// Steps so far.
    pub step: usize,
    /// What crosses.
    pub tangle: &'a Tangle,
    /// Positions of cloth, then of bodies.
    pub positions: &'a [DVec3],
}

/// The stages of a step, in order; the analysis before it is [`Untangling::analyze`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixStage {
    /// What to do about the tangle is decided.
    Untangle,
    /// Dynamics has proposed where cloth goes.
    Propose,
    /// Contact has decided where it may go.
    Contact,
}

/// Hears of every stage as it ends, with the positions of the cloth at that moment.
pub type Observe<'a> = &'a mut dyn FnMut(FixStage, &[DVec3]);

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Yes.
    Yes,
    /// Stop now with the best so far.
    No,
}

/// How often each resolver acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ResolverCounts {
    /// Steps with the attraction of global intersection analysis.
    pub gia: usize,
    /// Steps of contour minimisation.
    pub icm: usize,
    /// Rounds of contour minimisation inside the elastic solve.
    pub contour_minimisation: usize,
    /// Pulls of edge shortening, begun or gone on with.
    pub esef: usize,
    /// Contours torn, over all steps.
    pub tearing: usize,
    /// Flips step by step.
    pub flips: FlipCounts,
    /// Flaps that were unfolded and folded over again as wholes.
    pub reflected: usize,
    /// Folds unfolded by reflection.
    pub unfolding: usize,
    /// Steps that separated what merely touched.
    pub separate_touching: usize,
    /// Rounds of pushing cloth out of bodies.
    pub body_push: usize,
    /// Rounds of putting pieces that cross each other in order.
    pub layering: usize,
    /// Times that pieces were moved apart as wholes, to come back with contact on.
    pub parting: usize,
    /// Pieces that were laid flat as they are at rest, or rebuilt, to come back with contact on.
    pub laying_out: usize,
    /// Retreats: cloth smoothed until clean, to grow back with contact on.
    pub retreat: usize,
    /// Rounds of opening the gap that was asked for.
    pub spacing: usize,
}

/// Folds that were flipped step by step, over all steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct FlipCounts {
    /// Flaps moved through their ground.
    pub regional: usize,
    /// Creases bent the other way.
    pub crease: usize,
}

impl std::ops::AddAssign for ResolverCounts {
    fn add_assign(&mut self, other: Self) {
        self.gia += other.gia;
        self.icm += other.icm;
        self.contour_minimisation += other.contour_minimisation;
        self.esef += other.esef;
        self.tearing += other.tearing;
        self.flips.regional += other.flips.regional;
        self.flips.crease += other.flips.crease;
        self.reflected += other.reflected;
        self.unfolding += other.unfolding;
        self.separate_touching += other.separate_touching;
        self.body_push += other.body_push;
        self.layering += other.layering;
        self.parting += other.parting;
        self.laying_out += other.laying_out;
        self.retreat += other.retreat;
        self.spacing += other.spacing;
    }
}

/// What came of it.
pub struct Outcome {
    /// Positions of the cloth.
    pub positions: Vec<DVec3>,
    /// The exact check of these positions.
    pub verdict: Verdict,
    /// The contours that are left.
    pub tangle: Tangle,
    /// Steps taken.
    pub steps: usize,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Who wrote positions, and how often.
    pub writers: Writers,
    /// Red vertices at the start of each step.
    pub red_history: Vec<usize>,
    /// In how many steps an assumption of the convergence theorem failed.
    pub assumptions: Assumptions,
    /// Pulls of edge shortening, by where they were.
    pub pulls: PullCounts,
    /// Vertices of cloth that bodies pinch, in order.
    pub pinched: Vec<VertexId>,
    /// The measures that were tried, in order.
    pub attempts: Vec<Attempt>,
    /// The places of the input, and what became of each.
    pub places: Vec<PlaceReport>,
}

impl Outcome {
    /// Clean input, as it was.
    pub fn untouched(positions: Vec<DVec3>) -> Self {
        Self {
            positions,
            verdict: Verdict::default(),
            tangle: Tangle::default(),
            steps: 0,
            resolvers: ResolverCounts::default(),
            writers: Writers::default(),
            red_history: Vec::new(),
            assumptions: Assumptions::default(),
            pulls: PullCounts::default(),
            pinched: Vec::new(),
            attempts: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// Vertices of cloth that lie between surfaces of bodies which have passed through each other or themselves, in order.
pub fn pinched_vertices(assembly: &Assembly, cloth_count: usize, positions: &[DVec3]) -> Vec<VertexId> {
    stepwise::pinched::Pinched::find(assembly, cloth_count, positions).vertices().to_vec()
}

/// Asked between rounds of long work whether to stop.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Untangles. `observe` sees every step and may stop it.
///
/// Measures are taken from the table in [`measure`] until nothing crosses or none is left; the result is the best
/// state by [`Score`].
pub fn untangle(patient: Patient, settings: &FixSettings, observe: &mut dyn FnMut(&Progress) -> Continue) -> Outcome {
    untangle_unless(patient, settings, Arc::new(|| false), observe)
}

/// As [`untangle`], and also asks `stop` within steps, so that a limit of time holds where a single step is long.
pub fn untangle_unless(
    patient: Patient,
    settings: &FixSettings,
    stop: Stop,
    observe: &mut dyn FnMut(&Progress) -> Continue,
) -> Outcome {
    driver::untangle(patient, settings, (stop, driver::Log::Places), observe)
}
