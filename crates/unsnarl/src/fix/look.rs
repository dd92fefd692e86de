//! What is known about a state: facts that measures decide by, and never change.

use super::Patient;
use super::report::pinched_places;
use super::score::{Score, Standard};
use super::stepwise::{pinched::Pinched, sizes};
use crate::analysis::{self, Verdict, Workspace};
use crate::untangle::rearrange::overlap::ClosedComponents;
use unsnarl_geometry::intersection::IntersectingPair;
use unsnarl_geometry::{DVec3, VertexId};

/// A state of the cloth and what was found out about it.
#[derive(Clone, Debug)]
pub struct Look {
    /// Where the cloth is.
    pub positions: Vec<DVec3>,
    /// Every pair that meets there.
    pub verdict: Verdict,
    /// How good it is.
    pub score: Score,
    /// Pairs of triangles of one and the same piece that meet.
    pub self_pairs: usize,
    /// Whether a closed surface crosses itself or something else of the cloth.
    pub closed_crosses: bool,
    /// Whether this is the input.
    pub is_input: bool,
    /// Whether the input had a shape that is worth keeping.
    pub has_shape: bool,
    /// Whether cloth is more strained than it may stay.
    pub is_strained: bool,
}

impl Look {
    /// Whether something crosses that should not.
    pub fn is_tangled(&self) -> bool {
        self.score.pairs > 0
    }

    /// Pairs in which pieces meet themselves, per vertex. Pieces that cross each other are put in order instead.
    pub fn density(&self) -> f64 {
        self.self_pairs as f64 / self.positions.len().max(1) as f64
    }
}

/// What looks have in common.
pub(super) struct Looker {
    input: Vec<DVec3>,
    pub standard: Standard,
    pub pinched: Pinched,
    /// The size of the mesh at each vertex, metres.
    pub local_size: Vec<f64>,
    closed: ClosedComponents,
}

impl Looker {
    /// By the input.
    pub fn new(patient: &Patient) -> Self {
        let Patient { model, state, assembly, body_positions } = patient;
        let input = state.positions.clone();
        let all = patient.all_positions(&input);
        let lengths = sizes::rest_lengths(assembly, model, state, body_positions);
        Self {
            standard: Standard::new(model, &input),
            pinched: Pinched::find(assembly, input.len(), &all),
            local_size: sizes::local_sizes(assembly.topology(), &lengths),
            closed: ClosedComponents::new(assembly.topology(), input.len(), &all),
            input,
        }
    }

    /// Finds out about a state.
    pub fn look(&self, patient: &Patient, positions: Vec<DVec3>) -> Look {
        let is_finite = positions.iter().all(|place| place.is_finite());
        // What is not a number meets nothing, and would be certified.
        let positions = if is_finite { positions } else { self.input.clone() };
        let all = patient.all_positions(&positions);
        let verdict = analysis::verdict(&patient.assembly, &all, &mut Workspace::default());
        let pairs = pinched_places(&patient.assembly, &all, &verdict, self.pinched.vertices()).1;
        let score = Score::of(&patient.model, &positions, &self.input, pairs);
        let topology = patient.assembly.topology();
        let corners =
            |pair: &IntersectingPair| [pair.first, pair.second].map(|triangle| topology.triangle(triangle)[0]);
        let is_own = |[a, b]: [VertexId; 2]| topology.component(a) == topology.component(b);
        let is_closed = |corners: [VertexId; 2]| corners.iter().any(|&corner| self.closed.has(topology, corner));
        Look {
            self_pairs: verdict.pairs.iter().filter(|pair| is_own(corners(pair))).count(),
            closed_crosses: verdict.pairs.iter().any(|pair| is_closed(corners(pair))),
            is_input: positions == self.input,
            has_shape: self.standard.has_shape(),
            is_strained: score.strain > self.standard.bearable(),
            positions,
            verdict,
            score,
        }
    }
}
