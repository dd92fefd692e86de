//! Where cloth was, and how strained: what a result is compared with.

use super::Untangling;
use super::ledger::LayOut;
use super::report::Spread;
use super::return_targets;
use crate::analysis::Tangle;
use crate::fix::score::{UNSTRAINED, WORN};
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use unsnarl_geometry::DVec3;

/// A piece of which a larger share was stretched as no worn garment is has no shape to keep.
const SHAPELESS: f64 = 0.1;
/// One of which a larger share was may be rebuilt even if it is not flat at rest.
const LOST: f64 = 0.4;

/// Earlier states of the cloth.
pub(super) struct Reference {
    /// Where cloth was before anything was done.
    pub input: Vec<DVec3>,
    /// How strained it was there.
    pub input_strain: InputStrain,
    /// Where cloth was when steps began, or where it was laid out.
    pub start: Vec<DVec3>,
    /// Where each vertex returns to that was in order there; empty before the first step.
    pub targets: Vec<Option<DVec3>>,
}

impl Reference {
    /// Cloth before anything was done.
    pub fn new(model: &Model, input: &[DVec3]) -> Self {
        let input_strain = InputStrain::of(model, input);
        Self { input: input.to_vec(), input_strain, start: input.to_vec(), targets: Vec::new() }
    }

    /// Cloth was moved from outside: that is the input now.
    pub fn start_again(&mut self, model: &Model, positions: &[DVec3]) {
        self.input.copy_from_slice(positions);
        self.input_strain = InputStrain::of(model, positions);
        self.targets.clear();
    }

    /// Whether more than a tenth of a piece was stretched as no worn garment is: crumpled at random, or exploded.
    /// Where it is less, a place has lost its shape, and the rest of the piece is worth keeping.
    pub fn is_shapeless(&self, component: usize) -> bool {
        self.input_strain.shapeless_shares[component] > SHAPELESS
    }

    /// How a piece may be laid out that is strained or has no shape to keep. One that is not flat at rest loses more,
    /// so that more of it has to be lost already.
    pub fn way_to_lay_out(&self, component: usize) -> LayOut {
        if self.input_strain.shapeless_shares[component] > LOST { LayOut::Anyhow } else { LayOut::Flat }
    }

    /// Whether the input was stretched, so that more than a neighbourhood has to change its size.
    pub fn was_strained(&self) -> bool {
        self.input_strain.stretch > UNSTRAINED
    }

    /// How strained cloth may stay: as the input was, unless some of that had no shape that could be kept.
    pub fn bearable_strain(&self) -> f64 {
        let input = self.input_strain.stretch;
        if input > WORN { UNSTRAINED } else { UNSTRAINED.max(input) }
    }
}

/// How strained the input was.
pub(super) struct InputStrain {
    /// The 99th percentile of stretch.
    pub stretch: f64,
    /// The share of the triangles of each piece that were stretched as no worn garment is.
    shapeless_shares: Vec<f64>,
}

impl InputStrain {
    fn of(model: &Model, positions: &[DVec3]) -> Self {
        let topology = &model.topology;
        let mut counts = vec![[0.0, 0.0]; topology.component_count()];
        for (corners, shape) in topology.triangles().iter().zip(&model.rest_shapes) {
            let stretches = principal_stretches(shape, corners.map(|corner| positions[corner.index()]));
            let [all, stretched] = &mut counts[topology.component(corners[0])];
            *all += 1.0;
            *stretched += f64::from(stretches.is_some_and(|[largest, _]| largest > WORN));
        }
        let shapeless_shares = counts.iter().map(|[all, stretched]| stretched / f64::max(*all, 1.0)).collect();
        Self { stretch: Spread::of_stretch(model, positions).p99, shapeless_shares }
    }
}

impl Untangling {
    /// Where cloth is now is where it returns to, for all that is in order.
    pub(super) fn set_return_targets(&mut self, tangle: &Tangle) {
        self.reference.targets =
            return_targets::targets(&self.model, &self.setup.assembly, tangle, &self.state.positions);
    }

    /// How far triangles may be stretched by rearrangements.
    pub(super) fn bounds(&self, around_rest: [f64; 2]) -> StrainBounds<'_> {
        StrainBounds::new(&self.model.topology, &self.model.rest_shapes, &self.reference.input, around_rest)
    }

    /// How strained cloth is, but for one triangle or edge in a hundred: the larger of how far triangles are
    /// stretched and edges compressed.
    pub(super) fn strain(&self, positions: &[DVec3]) -> f64 {
        let (stretch, edges) = (Spread::of_stretch(&self.model, positions), Spread::of_edges(&self.model, positions));
        stretch.p99.max(1.0 / edges.p01.max(f64::MIN_POSITIVE))
    }

    /// Whether cloth has about its size, whatever it had before.
    pub(super) fn is_unstrained(&self, positions: &[DVec3]) -> bool {
        self.strain(positions) <= UNSTRAINED
    }

    /// Whether cloth is stretched or compressed more than cloth should be, and more than it was.
    pub(super) fn is_strained(&self) -> bool {
        self.strain(&self.state.positions) > self.reference.bearable_strain()
    }
}
