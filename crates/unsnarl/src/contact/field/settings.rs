//! The settings of the field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How velocities are changed on a grid before the pipeline looks at them. Only `method = "field"` reads this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FieldSettings {
    /// Distance between nodes in mean edges of the cloth; 1 unless `size` is given. Larger: faster, and cloth stays further apart.
    #[schemars(range(min = 0.0))]
    pub voxel: Option<f64>,
    /// The same in metres.
    #[schemars(range(min = 0.0))]
    pub size: Option<f64>,
    /// What is solved.
    pub solve: FieldSolve,
    /// Where differences are taken.
    pub stencil: FieldStencil,
    /// What may not shrink.
    pub divergence: FieldDivergence,
    /// Which cells are asked not to shrink.
    pub localise: FieldLocalise,
    /// The part of the excess of density that is blown apart in one step; 1 with `certify = "off"`, 0 otherwise.
    /// Larger: cloth moves apart faster, and floats.
    #[schemars(range(min = 0.0))]
    pub source: Option<f64>,
    /// Weight of the squares of rows, for `solve = "least-squares"`. 1 leaves a third of the closing speed.
    #[schemars(range(min = 0.0))]
    pub divergence_weight: f64,
    /// What anchors of nodes at bodies are multiplied by, for `solve = "least-squares"`.
    #[schemars(range(min = 0.0))]
    pub kinematic_weight: f64,
    /// Parts in which cloth is carried through a step. More: fewer crossings, more time.
    #[schemars(range(min = 1, max = 1000))]
    pub substeps: u32,
    /// Passes over edges after each part that give them the lengths which dynamics proposed. More: less stretch.
    #[schemars(range(max = 1000))]
    pub length_passes: u32,
    /// What cloth takes from the grid.
    pub transfer: FieldTransfer,
    /// Residual at which the solver stops, as a share of the one at the start.
    #[schemars(range(min = 0.0))]
    pub tolerance: f64,
    /// Iterations of the solver at most.
    pub iterations: u32,
    /// Whether the pipeline proves the step.
    pub certify: Certify,
    /// The most nodes that a step may store; beyond, it goes on without the field and says so.
    pub most_voxels: u32,
}

impl Default for FieldSettings {
    fn default() -> Self {
        Self {
            voxel: None,
            size: None,
            solve: FieldSolve::Projection,
            stencil: FieldStencil::Cell,
            divergence: FieldDivergence::Tensor,
            localise: FieldLocalise::Complementary,
            source: None,
            divergence_weight: 100.0,
            kinematic_weight: 5.0,
            substeps: 10,
            length_passes: 2,
            transfer: FieldTransfer::Change,
            tolerance: 1e-3,
            iterations: 200,
            certify: Certify::Pipeline,
            most_voxels: 20_000_000,
        }
    }
}

impl FieldSettings {
    /// Distance between nodes, metres, on cloth with edges of a mean length.
    pub fn spacing(&self, mean_edge: f64) -> f64 {
        self.size.unwrap_or_else(|| self.voxel.unwrap_or(1.0) * mean_edge)
    }

    /// The part of the excess of density that is blown apart in one step.
    pub fn gain(&self) -> f64 {
        let usual = if self.certify == Certify::Off { 1.0 } else { 0.0 };
        self.source.unwrap_or(usual)
    }
}

/// What is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldSolve {
    /// The nearest velocities by mass, of cloth and air, under which nothing shrinks. Keeps momentum.
    Projection,
    /// Weighted squares, as published. Leaves some of the closing speed.
    LeastSquares,
}

/// Where differences are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldStencil {
    /// Over cells, from their eight nodes.
    Cell,
    /// At nodes, over two cells, as published.
    Central,
}

/// What may not shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldDivergence {
    /// Lengths across the cloth nearby; volume where it has no common direction. Layers slide freely.
    Tensor,
    /// Volume.
    Isotropic,
}

/// Which cells are asked not to shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldLocalise {
    /// Where different sheets, or cloth and a body, come near; what separates is let go.
    Complementary,
    /// Where density is at least 1 or air is squeezed, as printed; what separates is bound.
    Or,
    /// Where density is at least 1 and air is squeezed.
    And,
}

/// What cloth takes from the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FieldTransfer {
    /// The change of velocity; across layers that meet, the velocity itself.
    Change,
    /// The velocity itself wherever there is one, as published. Motion is smoothed at large voxels.
    Field,
}

/// Whether the pipeline proves the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certify {
    /// Nothing crosses.
    Pipeline,
    /// Cloth goes where the field carries it, as published; crossings are counted at frames.
    Off,
}
