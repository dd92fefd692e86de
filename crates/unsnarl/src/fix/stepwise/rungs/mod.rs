//! The table of rungs: what moves cloth without a step, when each applies, and in which order they are asked.
//!
//! | phase | rung | applies where | may |
//! |---|---|---|---|
//! | prepare | out-of-bodies | cloth crosses a body, and once at the start | make cloth cross cloth |
//! | rearrange | ordering | pieces cross each other, or a piece itself like two | move both of two pieces |
//! | rearrange | parting-at-large | much of a piece is on the wrong side of another | carry pieces away, to return |
//! | rearrange | styled-folds | a fold with a style bites into itself | bend cloth the other way |
//! | rearrange | laying-out-at-once | most is red, it has no shape, colours do not tell | lose the pose |
//! | untangle | parting | steps stall, pieces cross each other | carry pieces away, to return |
//! | untangle | laying-out-shapeless | steps stall, a red piece has no shape to keep | lose the pose |
//! | untangle | laying-out-red | steps stall, most of the cloth is red | lose the pose |
//! | untangle | unfolding | steps stall, cloth has a shape, no fold was turned yet | bend cloth the other way |
//! | untangle | retreat | steps stall | smooth folds away, which grow back |
//! | untangle | laying-out-tangled | all of this has failed | lose the pose |
//! | untangle | widening | a method without history stalls | move more cloth |
//! | grow back | laying-out-strained | cloth stays strained | lose the pose |
//! | relax | touching | parts touch without crossing | move cloth by a hair |
//! | relax | laying-out-strained | as above | lose the pose |
//! | relax | release-folded | cloth whose folds were turned is strained | move all of a piece |
//! | relax | fold-over | a fold that is to stay was unfolded | fold it over again |
//!
//! The first rung of a phase that applies and helps is taken; then cloth is looked at again.

pub(in crate::fix::stepwise) mod folds;
mod laying_out;
mod ordering;
mod out_of_bodies;
mod parting;
mod retreat;
mod touching;
mod widening;

use super::decide::Phase;
use super::watch::Advance;
use super::{FixMethod, Untangling};
use crate::analysis::Tangle;
use serde::Serialize;

/// Something that moves cloth without a step.
pub(in crate::fix::stepwise) trait Rung: Sync {
    /// Its name.
    fn name(&self) -> RungName;

    /// Whether it should be tried.
    fn applies(&self, run: &Untangling, tangle: &Tangle) -> bool;

    /// Tries it; `None` where it does not help, and then nothing has changed.
    fn act(&self, run: &mut Untangling, tangle: &Tangle) -> Option<Advance>;
}

/// Which rung belongs to which phase, in the order in which they are asked.
pub(in crate::fix::stepwise) static TABLE: [(Phase, &dyn Rung); 17] = [
    (Phase::Prepare, &out_of_bodies::OutOfBodies),
    (Phase::Rearrange, &ordering::PutInOrder),
    (Phase::Rearrange, &parting::PartingAtLarge),
    (Phase::Rearrange, &folds::StyledFolds),
    (Phase::Rearrange, &laying_out::AtOnce),
    (Phase::Untangle, &parting::PartingOfAll),
    (Phase::Untangle, &laying_out::Shapeless),
    (Phase::Untangle, &laying_out::Red),
    (Phase::Untangle, &folds::Unfolding),
    (Phase::Untangle, &retreat::Retreat),
    (Phase::Untangle, &laying_out::Tangled),
    (Phase::Untangle, &widening::Widening),
    (Phase::GrowBack, &laying_out::Strained),
    (Phase::Relax, &touching::Touching),
    (Phase::Relax, &laying_out::Strained),
    (Phase::Relax, &folds::ReleaseFolded),
    (Phase::Relax, &folds::FoldOver),
];

/// The name of a rung, or of a part of a step that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum RungName {
    OutOfBodies,
    Ordering,
    PartingAtLarge,
    StyledFolds,
    LayingOutAtOnce,
    Parting,
    LayingOutShapeless,
    LayingOutRed,
    Unfolding,
    Retreat,
    LayingOutTangled,
    Widening,
    Touching,
    LayingOutStrained,
    ReleaseFolded,
    FoldOver,
    /// In a step: folds that bite into themselves are torn.
    Tearing,
    /// In a step: it is taken again where red has grown.
    RedGuard,
    /// In a step: clean cloth slides instead of bending.
    Sliding,
    /// In a step: clean cloth is drawn back to where it was.
    Returning,
}

impl RungName {
    /// All, in the order of the table, then the parts of a step.
    pub const ALL: [Self; 20] = [
        Self::OutOfBodies,
        Self::Ordering,
        Self::PartingAtLarge,
        Self::StyledFolds,
        Self::LayingOutAtOnce,
        Self::Parting,
        Self::LayingOutShapeless,
        Self::LayingOutRed,
        Self::Unfolding,
        Self::Retreat,
        Self::LayingOutTangled,
        Self::Widening,
        Self::Touching,
        Self::LayingOutStrained,
        Self::ReleaseFolded,
        Self::FoldOver,
        Self::Tearing,
        Self::RedGuard,
        Self::Sliding,
        Self::Returning,
    ];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBodies => "out-of-bodies",
            Self::Ordering => "ordering",
            Self::PartingAtLarge => "parting-at-large",
            Self::StyledFolds => "styled-folds",
            Self::LayingOutAtOnce => "laying-out-at-once",
            Self::Parting => "parting",
            Self::LayingOutShapeless => "laying-out-shapeless",
            Self::LayingOutRed => "laying-out-red",
            Self::Unfolding => "unfolding",
            Self::Retreat => "retreat",
            Self::LayingOutTangled => "laying-out-tangled",
            Self::Widening => "widening",
            Self::Touching => "touching",
            Self::LayingOutStrained => "laying-out-strained",
            Self::ReleaseFolded => "release-folded",
            Self::FoldOver => "fold-over",
            Self::Tearing => "tearing",
            Self::RedGuard => "red-guard",
            Self::Sliding => "sliding",
            Self::Returning => "returning",
        }
    }
}

impl Untangling {
    /// Whether the method is one that rearranges pieces and folds.
    pub(in crate::fix::stepwise) fn rearranges(&self) -> bool {
        matches!(self.settings.untangle.method, FixMethod::Auto | FixMethod::Retreat)
    }

    /// Whether the method is free to do whatever helps.
    pub(in crate::fix::stepwise) fn is_auto(&self) -> bool {
        self.settings.untangle.method == FixMethod::Auto
    }
}

#[cfg(test)]
pub(in crate::fix::stepwise) mod tests {
    use super::*;
    use crate::analysis::Assembly;
    use crate::fix::{FixSettings, Patient};
    use crate::model::{Cloth, Model, Rest};
    use crate::samples::{self, Cut, Recipe};
    use unsnarl_geometry::TriMesh;

    /// A made case before the first step, and what crosses there.
    pub fn made(name: &str, settings: FixSettings) -> (Untangling, Tangle) {
        let case = samples::find(name).unwrap();
        let resolution = case.smallest_resolution.max(10);
        of_cloth(case.make(&Recipe { resolution, cut: Cut::Irregular, seed: 3 }).mesh, settings)
    }

    /// The same, at rest as its panels are.
    pub fn made_of_panels(name: &str, settings: FixSettings) -> (Untangling, Tangle) {
        let case = samples::find(name).unwrap();
        let resolution = case.smallest_resolution.max(10);
        let sample = case.make(&Recipe { resolution, cut: Cut::Irregular, seed: 3 });
        let rest = Rest::Panels(sample.uv.clone());
        begin(Cloth { rest, ..Cloth::new("cloth", sample.mesh.clone()) }, &sample.mesh, settings)
    }

    /// A mesh before the first step, and what crosses there.
    pub fn of_cloth(mesh: TriMesh, settings: FixSettings) -> (Untangling, Tangle) {
        begin(Cloth::new("cloth", mesh.clone()), &mesh, settings)
    }

    fn begin(cloth: Cloth, mesh: &TriMesh, settings: FixSettings) -> (Untangling, Tangle) {
        let assembly = Assembly::of_cloth("cloth", mesh).unwrap();
        let (model, state) = Model::build(&[cloth]).unwrap();
        let mut run = Untangling::new(Patient { model, state, assembly, body_positions: Vec::new() }, settings);
        let tangle = run.analyze();
        (run, tangle)
    }

    #[test]
    fn the_table_names_every_rung_once_in_a_phase_and_in_the_order_of_names() {
        let mut names: Vec<RungName> = TABLE.iter().map(|(_, rung)| rung.name()).collect();
        names.dedup();
        let expected = RungName::ALL.into_iter().filter(|name| names.contains(name)).collect::<Vec<_>>();
        let mut first = Vec::new();
        names.iter().for_each(|name| {
            if !first.contains(name) {
                first.push(*name)
            }
        });
        first.sort_by_key(|name| RungName::ALL.iter().position(|known| known == name));
        assert_eq!(first, expected);
        assert_eq!(expected.len(), 16);
        for (at, (phase, rung)) in TABLE.iter().enumerate() {
            let again = TABLE[at + 1..].iter().any(|(other, next)| other == phase && next.name() == rung.name());
            assert!(!again, "{:?} stands twice in {phase:?}", rung.name());
        }
    }
}
