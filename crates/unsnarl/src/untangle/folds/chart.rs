//! The decision chart: which fold is torn, which is flipped, and what goes on from the step before.
//!
//! | asked in this order | answer |
//! |---|---|
//! | it goes on with a flip or a tear of the step before | the same |
//! | its style is a crease, and one through its loop vertex divides its ends | crease flip |
//! | its style is to fold out (in), and with a neighbour it bounds a flap that curls in (out) | regional flip |
//! | else | tear |
//!
//! Along a border flaps curl in and out by turns, so each BLI bounds one flap at most that is to be flipped, and couples
//! do not depend on the order of contours. The height of the flap has to say the same as its curl. (Cha 2022, 5.5 and
//! figure 5.7)
//!
//! Departs: the label of a panel, or the user, asks for folding out; without them folds are torn.

use super::bli::Bli;
use super::curl;
use super::flip::{FlipJob, FlipScene};
use super::region::{Interval, intervals, region};
use super::style::FoldStyle;
use super::tearing::Tearing;
use crate::model::Model;
use rustc_hash::FxHashSet;
use unsnarl_geometry::{EdgeId, VertexId};

/// What is known of the design of folds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Design<'a> {
    /// The style of every vertex of cloth; none where it says nothing.
    pub styles: &'a [Option<FoldStyle>],
    /// The edges of creases with their angles at rest, radians.
    pub creases: &'a [([VertexId; 2], f64)],
}

impl Design<'_> {
    fn style(&self, bli: &Bli) -> FoldStyle {
        self.styles.get(bli.loop_vertex.index()).copied().flatten().unwrap_or(FoldStyle::Unfold)
    }

    /// The hinges of creases.
    pub fn crease_hinges(&self, model: &Model) -> Vec<(usize, f64)> {
        let hinge = |ends: &[VertexId; 2]| model.hinge_at(model.topology.find_edge(ends[0], ends[1])?);
        self.creases.iter().filter_map(|(ends, angle)| Some((hinge(ends)?, *angle))).collect()
    }
}

/// Which flip each BLI belongs to; `None` for those to be torn.
pub type Owners = Vec<Option<usize>>;

/// Decides about all folds of a step. Flips that are over are left out of `flips`, new ones added.
pub fn decide(
    scene: &FlipScene,
    folds: &[Bli],
    design: Design,
    (flips, tearing): (&mut Vec<FlipJob>, &Tearing),
) -> Owners {
    let topology = &scene.model.topology;
    flips.retain(|job| {
        let has_own = folds.iter().any(|bli| job.has(topology, bli));
        has_own || (!job.is_stalled && job.wrong(scene) > 0)
    });
    let owner = |bli: &Bli, flips: &[FlipJob]| flips.iter().position(|job| job.has(topology, bli));
    let mut owners: Owners = folds.iter().map(|bli| owner(bli, flips)).collect();
    // What a flip has given up on is torn, and never flipped again.
    let is_open = |at: usize, owners: &Owners| owners[at].is_none() && !tearing.has(&folds[at]);
    let creases = design.crease_hinges(scene.model);
    for at in 0..folds.len() {
        if is_open(at, &owners) && design.style(&folds[at]) == FoldStyle::Crease {
            owners[at] = owner(&folds[at], flips);
            if owners[at].is_none()
                && let Some(job) = FlipJob::of_crease(scene.model, &folds[at], &creases)
            {
                owners[at] = Some(flips.len());
                flips.push(job);
            }
        }
    }
    let side_of = |at: usize| match design.style(&folds[at]) {
        FoldStyle::FoldOut => Some(1.0),
        FoldStyle::FoldIn => Some(-1.0),
        FoldStyle::Unfold | FoldStyle::Crease => None,
    };
    if (0..folds.len()).any(|at| is_open(at, &owners) && side_of(at).is_some()) {
        let mut taken: FxHashSet<VertexId> = FxHashSet::default();
        for Interval { folds: [first, second], border } in intervals(scene.model, folds) {
            let Some(side) = side_of(first).filter(|_| side_of(first) == side_of(second)) else { continue };
            if !is_open(first, &owners) || !is_open(second, &owners) {
                continue;
            }
            let both = [&folds[first], &folds[second]];
            let Some(region) = region(scene.model, scene.positions, both, &border, &taken) else { continue };
            taken.extend(region.flap.iter().chain(&region.crest).copied());
            let crest: FxHashSet<EdgeId> = region.crest_edges.iter().copied().collect();
            let curl = curl::interval(scene.model, scene.positions, &border, &crest);
            let job = FlipJob::regional(scene.model, &region, side);
            if curl.is_some_and(|curl| curl * side > 0.0 && job.mean_height(scene) * side < 0.0) {
                owners[first] = Some(flips.len());
                owners[second] = Some(flips.len());
                flips.push(job);
            }
        }
    }
    owners.iter().map(|owner| owner.filter(|&job| !flips[job].is_stalled)).collect()
}
