//! The gap after untangling: clean cloth in, cloth that keeps a distance out, and what is left to say about it.
//!
//! Guarantees: cloth that keeps the gap as its file would hold it comes back bit for bit; a result is clean and nearer
//! to the gap than what went in, or it is what went in.
//! Does not: promise the gap; [`crate::analysis::gap::examine`] says whether it was reached.

use super::stepwise::sizes;
use super::{Outcome, Patient};
use crate::analysis::gap::{Exemption, examine};
use crate::analysis::{self, GapFindings, RestDistances, Verdict, Workspace};
use crate::model::Model;
use crate::state::State;
use crate::untangle::rearrange::spacing::Spacing;
use thiserror::Error;
use unsnarl_geometry::{Aabb, DVec3, Topology};

/// A gap that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapWish {
    /// The gap, metres.
    pub gap: f64,
    /// Whether pairs that are nearer at rest have to keep it too.
    pub exempt: Exempt,
}

/// Who need not keep a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exempt {
    /// Pairs that are nearer along the cloth at rest already.
    #[default]
    NearAtRest,
    /// Nobody.
    Nobody,
}

impl Exempt {
    /// The exemption by these distances at rest.
    pub fn by<'a>(self, rest: &'a RestDistances<'a>) -> Exemption<'a> {
        match self {
            Self::NearAtRest => Exemption::AtRest(rest),
            Self::Nobody => Exemption::Nobody,
        }
    }
}

/// A gap of more edges than this would exempt nearly all pairs, of which there are too many to list.
const MOST_EDGES: f64 = 6.0;

/// Why cloth has no room for a gap.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum GapError {
    /// It is many edges wide.
    #[error(
        "{gap} m is more than {MOST_EDGES} times the mean edge of {mean_edge:.6} m, so that cloth is nearer to itself \
         everywhere; give a smaller one"
    )]
    ManyEdges {
        /// The gap, metres.
        gap: f64,
        /// The mean edge of the cloth, metres.
        mean_edge: f64,
    },
    /// It is as large as the cloth.
    #[error("{gap} m is as large as the garment, which is {size:.4} m from corner to corner; give a smaller one")]
    LargerThanCloth {
        /// The gap, metres.
        gap: f64,
        /// The diagonal of the box around the cloth, metres.
        size: f64,
    },
}

/// Refuses a gap as large as the cloth itself, or as many of its edges. Cloth has the first vertices.
pub fn gap_fits(gap: f64, topology: &Topology, cloth: &[DVec3]) -> Result<(), GapError> {
    let places = topology.edges().iter().filter_map(|[a, b]| Some((cloth.get(a.index())?, cloth.get(b.index())?)));
    let lengths: Vec<f64> = places.map(|(a, b)| a.distance(*b)).collect();
    let mean_edge = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
    let size = Aabb::of_points(cloth.iter().copied()).extent().max(DVec3::ZERO).length();
    if gap >= size {
        return Err(GapError::LargerThanCloth { gap, size });
    }
    if gap > MOST_EDGES * mean_edge {
        return Err(GapError::ManyEdges { gap, mean_edge });
    }
    Ok(())
}

/// Opens a gap in a clean outcome. `stored` says where vertices of cloth are once they are written; `stop` is asked
/// between rounds.
pub fn open_gap(
    patient: &Patient,
    mut outcome: Outcome,
    wish: GapWish,
    stored: &dyn Fn(&[DVec3]) -> Vec<DVec3>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Outcome {
    if !outcome.verdict.is_clean() {
        return outcome;
    }
    let (model, state) = fitted(patient);
    let assembly = &patient.assembly;
    let with_bodies =
        |cloth: &[DVec3]| -> Vec<DVec3> { cloth.iter().chain(&patient.body_positions).copied().collect() };
    let rounded = stored(&outcome.positions);
    let rounding = outcome.positions.iter().zip(&rounded).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    let target = wish.gap * (1.0 + MARGIN) + 4.0 * rounding;
    let rest = RestDistances::new(assembly.topology(), &model.rest_shapes, target);
    let exemption = wish.exempt.by(&rest);
    let below = |cloth: &[DVec3]| {
        let all = with_bodies(&stored(cloth));
        let verdict = analysis::verdict(assembly, &all, &mut Workspace::default());
        let findings = examine(assembly, &all, (wish.gap, exemption), &verdict);
        verdict.is_clean().then_some(findings.below.len())
    };
    let before = below(&outcome.positions);
    if before == Some(0) {
        return outcome;
    }
    let mut is_free = vec![true; outcome.positions.len()];
    model.pins.iter().for_each(|pin| is_free[pin.index()] = false);
    is_free.resize(assembly.topology().vertex_count(), false);
    let rest_lengths = sizes::rest_lengths(assembly, &model, &state, &patient.body_positions);
    let spacing = Spacing { assembly, target, exemption, is_free, rest_lengths };
    let mut positions = with_bodies(&outcome.positions);
    let opened = spacing.open(&mut positions, stop);
    positions.truncate(outcome.positions.len());
    let after = below(&positions);
    if after.is_some_and(|after| before.is_none_or(|before| after < before)) {
        outcome.positions = positions;
        outcome.resolvers.spacing = opened.rounds;
    }
    outcome
}

/// What gap cloth and bodies keep at these positions, whose verdict is this.
pub fn examine_gap(patient: &Patient, positions: &[DVec3], wish: GapWish, verdict: &Verdict) -> GapFindings {
    let (model, _) = fitted(patient);
    let rest = RestDistances::new(patient.assembly.topology(), &model.rest_shapes, wish.gap);
    examine(&patient.assembly, positions, (wish.gap, wish.exempt.by(&rest)), verdict)
}

/// The cloth with rest shapes of the size that it has.
fn fitted(patient: &Patient) -> (Model, State) {
    let (mut model, mut state) = (patient.model.clone(), patient.state.clone());
    sizes::fit_rest_shapes(&mut model, &mut state);
    (model, state)
}

/// Cloth is parted by this share more than is asked for, so that rounding does not undo it.
const MARGIN: f64 = 1e-4;
