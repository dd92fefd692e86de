//! `dress`: garments in layers on bodies, put in order a chosen distance apart, and the proof.
//!
//! Layers are fields of space; their order is an isotonic fit at every point ([`operator`]); garments are projected
//! onto the fitted fields ([`project`]), settle against each other as triangles ([`settle`]), and what is left goes to
//! [`crate::fix`] with the order as its layers. (Buffet 2021, chapter 2; Buffet, Rohmer and Cani 2018)
//!
//! Guarantees: the outcome is certified by the exact check of its positions; garments that are clean, in order and far
//! enough apart come back unchanged; bodies stay; the same bits on any number of threads.
//! Does not: promise that an untangled state exists; what is left is in the outcome.

pub mod active;
pub mod carry;
mod edges;
pub mod layers;
pub mod operator;
pub mod operator_distance;
mod own;
pub mod project;
pub mod report;
mod settings;
pub mod settle;

pub use layers::{Front, GarmentWish, LayersError};
pub use settings::{Certify, DressSettings, Tangential, Weights};

use crate::analysis::{self, Verdict, Workspace};
use crate::fix::{self, Continue, FixSettings, Outcome, Patient, Pose, Progress, Stop};
use crate::scene::workpiece::Workpiece;
use crate::untangle::rearrange::sliding::take_back;
use active::Scope;
use layers::Stack;
use project::{Projected, project};
use settle::{Against, Settled, Settling};
use unsnarl_geometry::DVec3;

/// Garments, what is asked of each, and the thickness of bodies.
pub struct Outfit<'a> {
    /// Garments and bodies.
    pub workpiece: &'a Workpiece,
    /// One wish for each garment.
    pub wishes: &'a [GarmentWish],
    /// The thickness of bodies, metres.
    pub body_thickness: f64,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Fields are made.
    Fields,
    /// Garments are projected.
    Project,
    /// Garments settle.
    Settle,
    /// What is left is untangled.
    Fix,
    /// Done.
    Done,
}

/// What came of it.
pub struct Dressed {
    /// Where cloth is.
    pub positions: Vec<DVec3>,
    /// Where cloth was when it was handed to `fix`.
    pub before_fix: Vec<DVec3>,
    /// The layers as they ended.
    pub stack: Stack,
    /// The projection.
    pub projected: Projected,
    /// The settling.
    pub settled: Settled,
    /// Components that crossed themselves and were untangled alone first.
    pub untangled_alone: usize,
    /// Pairs that met before `fix` was called.
    pub left: Verdict,
    /// What `fix` did; none where nothing was left, or where it was not asked for.
    pub fixed: Option<Outcome>,
}

/// Puts garments in order. `observe` hears of every stage as it begins; `stop` is asked between rounds.
pub fn dress(
    outfit: &Outfit<'_>,
    settings: &DressSettings,
    stop: &Stop,
    observe: &mut dyn FnMut(Stage),
) -> Result<Dressed, LayersError> {
    let workpiece = outfit.workpiece;
    let cloth_count = workpiece.cloth_count();
    let scope = Scope { reach: settings.reach, fade: settings.fade };
    observe(Stage::Fields);
    let mut all = workpiece.positions();
    let place = (all.as_slice(), outfit.body_thickness);
    let mut stack = Stack::new(workpiece, outfit.wishes, place, (settings.reach, settings.weights))?;
    let is_stopped = || stop();
    let alone = own::untangle_alone(&stack, &workpiece.model, stop, &mut all[..cloth_count]);
    if alone > 0 {
        stack.place(&all);
    }
    if settings.carry_from.is_some() {
        relax(&mut stack, workpiece, settings, &is_stopped, &mut all);
    }
    observe(Stage::Project);
    let projected = project(&stack, &workpiece.model, settings, &is_stopped, &mut all[..cloth_count]);
    observe(Stage::Settle);
    let mut settling = Settling {
        stack: &mut stack,
        model: &workpiece.model,
        assembly: &workpiece.assembly,
        scope: Scope { reach: scope.reach.min(SETTLE_REACH), ..scope },
        against: Against::All,
        rounds: settings.settle_rounds as usize,
    };
    let settled = settling.run(&is_stopped, &mut all);
    settling.push(&is_stopped, &mut all);
    // The solves move all cloth, if only by rounding.
    take_back(HARDLY * settle::thinnest(&stack), &workpiece.state.positions, &mut all[..cloth_count]);
    stack.place(&all);
    let left = analysis::verdict(&workpiece.assembly, &all, &mut Workspace::default());
    let mut positions = all[..cloth_count].to_vec();
    let before_fix = positions.clone();
    let mut fixed = None;
    if !left.is_clean() && settings.certify == Certify::Fix {
        observe(Stage::Fix);
        let outcome = untangle(workpiece, &stack, &positions, stop);
        positions.clone_from(&outcome.positions);
        fixed = Some(outcome);
    }
    stack.place(&positions);
    observe(Stage::Done);
    Ok(Dressed { positions, before_fix, stack, projected, settled, untangled_alone: alone, left, fixed })
}

/// What has moved by less than this share of the thinnest layer has not moved.
const HARDLY: f64 = 0.01;

/// Once layers are in order they see each other only as far as this while they settle, metres.
const SETTLE_REACH: f64 = 0.03;
/// Rounds in which garments that were carried take their shape again.
const RELAX_ROUNDS: usize = 80;

/// Garments that were carried take their shape again, each on the bodies alone; layers stand and face as they do then.
fn relax(
    stack: &mut Stack,
    workpiece: &Workpiece,
    settings: &DressSettings,
    stop: &dyn Fn() -> bool,
    all: &mut [DVec3],
) {
    let mut settling = Settling {
        stack,
        model: &workpiece.model,
        assembly: &workpiece.assembly,
        scope: Scope { reach: settings.reach, fade: settings.fade },
        against: Against::Bodies,
        rounds: RELAX_ROUNDS,
    };
    settling.run(stop, all);
    stack.place(all);
    stack.face_anew(&workpiece.model.topology);
}

/// What is left, untangled with the order of the layers.
fn untangle(workpiece: &Workpiece, stack: &Stack, positions: &[DVec3], stop: &Stop) -> Outcome {
    let mut patient: Patient = workpiece.patient();
    patient.state.positions.copy_from_slice(positions);
    let mut settings = FixSettings { pose: Pose::Kept, ..workpiece.settings() };
    settings.vertices.layers = stack.ranks();
    let late = stop.clone();
    fix::untangle_unless(patient, &settings, stop.clone(), &mut |_: &Progress| {
        if late() { Continue::No } else { Continue::Yes }
    })
}
