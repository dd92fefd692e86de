//! How garments are put in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `unsnarl dress`. Lengths are metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DressSettings {
    /// When of the scene to dress: bodies stand as they do then, seconds.
    pub time: f64,
    /// Garments fit the bodies as they are at this time and are carried to `time`, seconds. Not given: garments stay.
    pub carry_from: Option<f64>,
    /// How far layers see each other. Larger: deeper overlaps are put right; slower.
    #[schemars(range(min = 0.0))]
    pub reach: f64,
    /// Past its border a layer loses its influence over this distance.
    #[schemars(range(min = 0.0))]
    pub fade: f64,
    /// Rounds of projection onto the deformed fields, at most.
    #[schemars(range(max = 1000))]
    pub rounds: u32,
    /// Share of the way to the field that a round goes; the last three rounds go all of it. Only with `edges`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub step: f64,
    /// What keeps triangles in shape while they are projected.
    pub tangential: Tangential,
    /// Rounds of settling layers against each other as they are then, at most. 0: none.
    #[schemars(range(max = 10000))]
    pub settle_rounds: u32,
    /// Where weights come from.
    pub weights: Weights,
    /// What is done about what is left.
    pub certify: Certify,
}

/// What keeps triangles in shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tangential {
    /// Strain is bounded by one linear solve a round.
    #[default]
    Sliding,
    /// Edges take their length in the tangent plane, one by one (Buffet 2021, 2.4.3).
    Edges,
}

/// Where the weights of layers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// From the scene: `weight`, or the fabric.
    #[default]
    Given,
    /// Each layer is a thousand times heavier than the next: outer layers make way. A baseline.
    InsideFirst,
}

/// What is done about what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certify {
    /// It is untangled as `unsnarl fix` does.
    #[default]
    Fix,
    /// It is reported.
    Check,
}

impl Default for DressSettings {
    fn default() -> Self {
        Self {
            time: 0.0,
            carry_from: None,
            reach: 0.08,
            fade: 0.03,
            rounds: 15,
            step: 0.3,
            tangential: Tangential::default(),
            settle_rounds: 60,
            weights: Weights::default(),
            certify: Certify::default(),
        }
    }
}
