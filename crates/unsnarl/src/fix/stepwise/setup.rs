//! What does not change while cloth is untangled: how things are connected, where bodies are, how large the mesh is.

use super::pinched::Pinched;
use super::{FixSettings, sizes};
use crate::analysis::Assembly;
use crate::model::Model;
use crate::state::State;
use crate::untangle::bodies::push_out::BodyPush;
use unsnarl_geometry::{DVec3, TriangleId};

/// Cloth and bodies as they are set up.
pub(super) struct Setup {
    /// Cloth and bodies under one numbering.
    pub assembly: Assembly,
    /// Where the vertices of bodies are.
    pub body_positions: Vec<DVec3>,
    /// Bodies that push cloth out.
    pub bodies: BodyPush,
    /// Cloth that bodies pinch.
    pub pinched: Pinched,
    /// The size of the mesh at each vertex, metres.
    pub local_size: Vec<f64>,
    /// The rest length of every edge, metres.
    pub rest_lengths: Vec<f64>,
}

impl Setup {
    /// Of cloth in its first state.
    pub fn new(
        assembly: Assembly,
        body_positions: Vec<DVec3>,
        (model, state): (&Model, &State),
        settings: &FixSettings,
    ) -> Self {
        let rest_lengths = sizes::rest_lengths(&assembly, model, state, &body_positions);
        let all: Vec<DVec3> = state.positions.iter().chain(&body_positions).copied().collect();
        Self {
            local_size: sizes::local_sizes(assembly.topology(), &rest_lengths),
            rest_lengths,
            bodies: BodyPush::new(&assembly, &all, settings.body_separation),
            pinched: Pinched::find(&assembly, state.positions.len(), &all),
            assembly,
            body_positions,
        }
    }

    /// Positions of cloth, then of bodies.
    pub fn all_positions(&self, cloth: &[DVec3]) -> Vec<DVec3> {
        cloth.iter().chain(&self.body_positions).copied().collect()
    }

    /// The piece that a triangle belongs to, if it is cloth; cloth has so many vertices.
    pub fn piece(&self, triangle: TriangleId, cloth_count: usize) -> Option<usize> {
        let topology = self.assembly.topology();
        let first = topology.triangle(triangle)[0];
        (first.index() < cloth_count).then(|| topology.component(first))
    }
}
