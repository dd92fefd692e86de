//! The table of measures: what `fix` can do, when each applies, how often it is tried.
//!
//! | measure | applies where | gives | may |
//! |---|---|---|---|
//! | contour minimisation | closed surfaces cross; cloth of its size crosses densely; everything else was tried | fewer pairs, nothing else promised | cross on its way |
//! | places | cloth is large, and crosses in places | those places clean that can be by themselves | as steps |
//! | steps | something crosses, or a rearrangement left cloth strained | clean cloth at rest, or what is left | stretch cloth on its way |
//! | previous methods | all else has failed | whatever regions and contours alone can do | stretch cloth on its way |
//! | laying out | what keeps the pose has failed | as steps | lose the pose of pieces |
//!
//! The driver takes the first of the table that applies. A measure works on a copy; the driver alone adopts what it
//! gives, and only if the one score says that it is better.

use super::Patient;
use super::look::Look;
use super::measures::{contour_minimisation, laying_out, places, previous_methods, steps};
use super::stepwise::rungs::RungName;
use super::tools::Tools;
use serde::Serialize;
use unsnarl_geometry::DVec3;

/// The name of a measure, as reports say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasureName {
    /// Contours and overlaps made smaller, without contact.
    ContourMinimisation,
    /// Every place by itself, with the cloth around it.
    Places,
    /// Edge shortening with contact on, and its own rearrangements.
    Steps,
    /// The methods before edge shortening, together.
    PreviousMethods,
    /// Steps that may lay pieces out.
    LayingOut,
}

impl MeasureName {
    /// All, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::ContourMinimisation, Self::Places, Self::Steps, Self::PreviousMethods, Self::LayingOut];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContourMinimisation => "contour-minimisation",
            Self::Places => "places",
            Self::Steps => "steps",
            Self::PreviousMethods => "previous-methods",
            Self::LayingOut => "laying-out",
        }
    }
}

/// What a run does without, to see what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// A measure of this table.
    Measure(MeasureName),
    /// A rung of the table within steps.
    Rung(RungName),
}

/// Neither a measure nor a rung has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no measure called {0}: choose contour-minimisation, places, steps, previous-methods or laying-out, or a \
     rung of steps (docs/methods.md)"
)]
pub struct UnknownMeasure(pub String);

impl std::str::FromStr for LeftOut {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<Self, UnknownMeasure> {
        let measure = MeasureName::ALL.into_iter().find(|measure| measure.name() == name).map(Self::Measure);
        let rung = || RungName::ALL.into_iter().find(|rung| rung.name() == name).map(Self::Rung);
        measure.or_else(rung).ok_or_else(|| UnknownMeasure(name.to_owned()))
    }
}

/// Why a measure is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Something crosses.
    Tangled,
    /// A closed surface crosses: it has an inside.
    Closed,
    /// Crossings are as many as vertices, and cloth has its size.
    Dense,
    /// Nothing crosses, but cloth is strained by what untangled it.
    Strained,
    /// The measures before it did not get on.
    LastResort,
}

/// A new state, and what it took.
pub struct Candidate {
    /// Where the cloth would be.
    pub positions: Vec<DVec3>,
}

/// Something that `fix` can do.
pub trait Measure: Sync {
    /// Its name.
    fn name(&self) -> MeasureName;

    /// How often it is tried at most.
    fn budget(&self) -> usize;

    /// Why it should be tried on a state, if it should. `tried` are the measures tried so far, in order.
    fn applies(&self, look: &Look, tried: &[MeasureName]) -> Option<Reason>;

    /// Tries it on a copy.
    fn attempt(&self, patient: &Patient, look: &Look, tools: &mut Tools) -> Option<Candidate>;
}

/// All measures, in the order in which they are asked.
pub static TABLE: [&dyn Measure; 5] = [
    &contour_minimisation::ContourMeasure,
    &places::Places,
    &steps::Steps,
    &previous_methods::PreviousMethods,
    &laying_out::LayingOut,
];
