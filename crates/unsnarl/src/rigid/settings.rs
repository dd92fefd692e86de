//! Settings of rigid bodies: counts and switches of a step, defined once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How rigid bodies move and touch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Longest step of rigid bodies, seconds; longer ones are split. Shorter: smaller gaps and depths, more time.
    pub step: f64,
    /// Rounds of collisions in a step. More carry a shock through longer lines of bodies.
    pub collision_rounds: usize,
    /// Sweeps of contact over the levels of the contact graph. More make weight felt through higher stacks.
    pub contact_sweeps: usize,
    /// Sweeps after those that stop bodies fully, while one still changes something. Fewer: weight on light bodies
    /// acts late.
    pub settling_sweeps: usize,
    /// Passes over the contacts of a level in one sweep; fewer where nothing changes any more.
    pub passes: usize,
    /// Passes over the contacts of a level in shock propagation. More: less left over, in large groups.
    pub shock_passes: usize,
    /// A pass that changes no velocity by more than this share of the largest change is the last.
    pub tolerance: f64,
    /// The order of a step. `standard` is the one that lets blocks at rest bounce; it is there to compare.
    pub order: StepOrder,
    /// Whether contact stops bodies little by little over its sweeps, or at once in each.
    pub stopping: Stopping,
    /// Whether contact goes up level by level, or takes all bodies as one level.
    pub contact_graph: Switch,
    /// Whether contact begins with the forces of the step before. Without: the same rest, more sweeps.
    pub starting_guess: Switch,
    /// Whether a last sweep takes each level as immovable for those above it.
    pub shock: Switch,
    /// Whether the order in which bodies are treated changes from step to step.
    pub shuffle: Switch,
    /// Whether bodies that still overlap are pushed apart, without a change of velocity.
    pub separation: Switch,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            step: 1.0 / 240.0,
            collision_rounds: 5,
            contact_sweeps: 10,
            settling_sweeps: 20,
            passes: 2,
            shock_passes: 30,
            tolerance: 1e-10,
            order: StepOrder::CollideFirst,
            stopping: Stopping::Gradual,
            contact_graph: Switch::On,
            starting_guess: Switch::On,
            shock: Switch::On,
            shuffle: Switch::On,
            separation: Switch::On,
        }
    }
}

/// A part of the method that can be left out, to see what it is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// In use.
    #[default]
    On,
    /// Left out.
    Off,
}

/// The order of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepOrder {
    /// Collide, change velocities, contact, move.
    #[default]
    CollideFirst,
    /// Change velocities, move, collide, contact: bodies at rest bounce.
    Standard,
}

/// How contact stops bodies that approach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stopping {
    /// The first sweep takes a tenth of the speed (with ten sweeps), the last all of it.
    #[default]
    Gradual,
    /// Every sweep takes all of it.
    AtOnce,
}
