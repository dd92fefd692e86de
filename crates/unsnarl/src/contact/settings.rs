//! The settings of contact.

use super::field::{Certify, FieldSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How cloth keeps apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContactSettings {
    /// What is kept apart.
    pub method: CollisionMethod,
    /// Distance that no pair goes below during a step, metres; about a thousandth of the thickness. Larger: safer against
    /// rounding in other programs, and more collisions. Pairs that start nearer may stay, but not come much nearer.
    pub separation: f64,
    /// Stiffness of the repulsion within the thickness, N/m. Larger: cloth that is harder to compress.
    pub stiffness: f64,
    /// Largest part of the overlap that repulsion undoes in one step.
    pub recovery: f64,
    /// Passes over the repulsions. More: fewer collisions in stacks of cloth.
    pub repulsion_passes: u32,
    /// How layers of cloth press on each other.
    pub layers: LayerMethod,
    /// Rounds of collision impulses before impact zones take over. More: livelier cloth, more time.
    pub impulse_rounds: u32,
    /// How impact zones move.
    pub zones: ZoneMotion,
    /// Rounds of growing impact zones before the last resort.
    pub zone_rounds: u32,
    /// What is slowed down where nothing else helps.
    pub last_resort: LastResort,
    /// Radius of the ball that vertices feel in place of a sharp tip of a mesh body, in edges of the cloth. Larger: cloth slides
    /// off more easily, and stands off from the tip's sides. 0: tips are sharp, and cloth may snag.
    pub tip_radius: f64,
    /// What is shown where cloth is inside a body at the end of a frame.
    pub final_frame: FinalFrameChoice,
    /// What only `method = "field"` has.
    pub field: FieldSettings,
}

impl Default for ContactSettings {
    fn default() -> Self {
        Self {
            method: CollisionMethod::Pipeline,
            separation: 1e-6,
            stiffness: 50.0,
            recovery: 0.1,
            repulsion_passes: 3,
            layers: LayerMethod::Impulses,
            impulse_rounds: 12,
            zones: ZoneMotion::Affine,
            zone_rounds: 60,
            last_resort: LastResort::Surroundings,
            tip_radius: 1.0,
            final_frame: FinalFrameChoice::MapOut,
            field: FieldSettings::default(),
        }
    }
}

impl ContactSettings {
    /// Whether the pipeline proves every step.
    pub fn is_proved(&self) -> bool {
        match self.method {
            CollisionMethod::Pipeline => true,
            CollisionMethod::Field => self.field.certify == Certify::Pipeline,
            CollisionMethod::Solids => false,
        }
    }
}

/// What is kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollisionMethod {
    /// Cloth from itself, from other cloth and from bodies: repulsions, impulses, impact zones.
    Pipeline,
    /// The same, after a field of velocities on a grid has led all surfaces past each other at once: for heaps of cloth.
    Field,
    /// Only single vertices from solids; cloth passes through cloth and through meshes.
    Solids,
}

/// What is shown where cloth is inside a body at the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FinalFrameChoice {
    /// Cloth is shown outside, deep wrinkles nearer to the body than shallow ones. The simulation goes on from where it was.
    MapOut,
    /// Cloth is shown where it is.
    AsSimulated,
}

/// How layers of cloth press on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerMethod {
    /// By impulses after the solve, contact by contact. Friction between resting layers holds best.
    Impulses,
    /// By springs inside the implicit solve, and by impulses that settle among all contacts of the step: for stacks and wound-up
    /// cloth. Folds at rest on a slope creep by a fraction of a millimetre a second.
    Implicit,
}

/// How impact zones move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneMotion {
    /// As rigid bodies: six modes, the strongest damping.
    Rigid,
    /// Stretching and shearing too: twelve modes; a zone that would flatten falls back to rigid.
    Affine,
}

/// What is slowed down where neither impulses nor impact zones have helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LastResort {
    /// What collides, with more and more of its surroundings: the fewest rounds.
    Surroundings,
    /// The colliding vertices alone, as long as that may help: everything around them goes on. For cloth that is to come out of a
    /// tangle, where hundreds of pairs collide at once.
    Vertices,
}
