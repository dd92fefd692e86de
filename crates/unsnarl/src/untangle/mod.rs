//! Stage 4: what to do about what crosses. A [`crate::analysis::Tangle`] in, a [`Remedy`] out.
//!
//! | folder | in, out |
//! |---|---|
//! | `resolvers` | a tangle to what one step should do |
//! | `rearrange` | positions to positions |
//! | `folds` | folds that bite into themselves |
//! | `bodies` | cloth in and between bodies |
//!
//! [`plan_step`] is what a step of a simulation and of `fix` asks for.

pub mod bodies;
pub mod folds;
pub mod mesh_sizes;
pub mod method;
mod nearest;
pub mod plan_step;
pub mod rearrange;
mod remedy;
pub mod resolvers;

pub use folds::chart::Design;
pub use folds::style::FoldStyle;
pub use method::{ClassicReport, ClassicSettings, Method, Plan, Situation, plan, plan_for_bodies};
pub use plan_step::{FlipReport, Flips, InBodies, StepContext, StepMemory, StepPlan, Tears, plan_step};
pub use remedy::{ColourRules, Remedy};
pub use resolvers::crossing_groups::CrossingGroups;
pub use resolvers::loop_guard::LoopGuard;
