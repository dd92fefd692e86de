//! The decision chart: which fold is torn, which is flipped, and what goes on from the step before.
//!
//! | asked in this order | answer |
//! |---|---|
//! | it goes on with a flip or a tear of the step before | the same |
//! | its style is a crease, and one through its loop vertex divides its ends | crease flip |
//! | its style is to fold out (in), and with a neighbour it bounds a flap that curls in (out) | regional flip |
//! | else | tear |
//!
//! Along a border flaps curl in and out by turns, so each BLI bounds one flap at most that is to be flipped, and
//! couples
//! do not depend on the order of contours. The height of the flap has to say the same as its curl. (Cha 2022, 5.5 and
//! figure 5.7)
//!
//! Departs: the label of a panel, or the user, asks for folding out; without them folds are torn. Regional flips are
//! made
//! only where the method asks for them ([`Kept`]): on collars they get on too slowly to be the default.

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

/// Which folds are flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Those with a crease; others are torn.
    Creases,
    /// Those with a crease, and flaps between two BLI that are to be folded out or in.
    CreasesAndFlaps,
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
    (design, kept): (Design, Kept),
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
    for (at, bli) in folds.iter().enumerate() {
        if is_open(at, &owners) && design.style(bli) == FoldStyle::Crease {
            owners[at] = owner(bli, flips);
            if owners[at].is_none()
                && let Some(job) = FlipJob::of_crease(scene.model, bli, &creases)
            {
                owners[at] = Some(flips.len());
                flips.push(job);
            }
        }
    }
    let side_of = |at: usize| match design.style(&folds[at]) {
        FoldStyle::FoldOut if kept == Kept::CreasesAndFlaps => Some(1.0),
        FoldStyle::FoldIn if kept == Kept::CreasesAndFlaps => Some(-1.0),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};
    use crate::scene::garment::CreasePath;
    use crate::untangle::folds::bli::{self, tests::made};
    use crate::untangle::mesh_sizes::mesh_sizes;

    /// The flips and the owners of all folds of a made case, in the given order of folds.
    fn decided(name: &str, style: Option<FoldStyle>, is_reversed: bool) -> (Vec<FlipJob>, Owners) {
        let (model, state, _, tangle) = made(name, Cut::Irregular, 3);
        let case = samples::find(name).unwrap();
        let recipe = Recipe { resolution: case.default_resolution, cut: Cut::Irregular, seed: 3 };
        let mut creases = Vec::new();
        for crease in &case.make(&recipe).description.creases {
            let CreasePath::Edges(edges) = &crease.path else { continue };
            creases.extend(edges.iter().map(|ends| (ends.map(VertexId), crease.rest_angle)));
        }
        let styles = vec![style; model.masses.len()];
        let scene = FlipScene {
            model: &model,
            topology: &model.topology,
            positions: &state.positions,
            tangle: &tangle,
            local_size: &mesh_sizes(&model, model.masses.len()),
            step: 0.02,
            gamma: 0.8,
        };
        let mut folds = bli::find(&tangle, model.topology.triangle_count());
        if is_reversed {
            folds.reverse();
        }
        let (mut flips, design) = (Vec::new(), Design { styles: &styles, creases: &creases });
        let owners = decide(&scene, &folds, (design, Kept::CreasesAndFlaps), (&mut flips, &Tearing::default()));
        (flips, owners)
    }

    #[test]
    fn without_a_style_folds_are_torn() {
        for name in ["bli", "collar", "lapel", "sleeve", "skirt"] {
            for style in [None, Some(FoldStyle::Unfold)] {
                let (flips, owners) = decided(name, style, false);
                assert!(flips.is_empty() && owners.iter().all(Option::is_none), "{name}");
            }
        }
    }

    #[test]
    fn a_crease_through_the_loop_vertex_is_flipped_to_its_side_and_without_one_the_fold_is_torn() {
        let (flips, owners) = decided("lapel", Some(FoldStyle::Crease), false);
        assert_eq!((flips.len(), owners), (1, vec![Some(0)]));
        assert_eq!(flips[0].side, 1.0, "a negative angle is to the front");
        assert!(!flips[0].crease.is_empty());
        assert_eq!(decided("collar", Some(FoldStyle::Crease), false).0, Vec::new());
    }

    #[test]
    fn the_stretch_that_curls_in_is_folded_out_and_the_other_one_in_whatever_the_order() {
        for name in ["collar", "sleeve", "skirt"] {
            let (flips, owners) = decided(name, Some(FoldStyle::FoldOut), false);
            assert_eq!((flips.len(), owners), (1, vec![Some(0); 2]), "{name}");
            let (again, _) = decided(name, Some(FoldStyle::FoldOut), true);
            assert_eq!(flips[0].flap, again[0].flap, "{name}");
            if name != "collar" {
                let (inward, _) = decided(name, Some(FoldStyle::FoldIn), false);
                assert_eq!(inward.len(), 1, "{name}");
                let is_of_both = |vertex: &VertexId| flips[0].flap.binary_search(vertex).is_ok();
                assert!(!inward[0].flap.iter().any(is_of_both), "{name}");
            }
        }
    }
}
