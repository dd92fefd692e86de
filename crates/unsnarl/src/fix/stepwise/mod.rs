//! Untangling step by step: edge shortening with contact on, and what it does where steps alone do not get on.
//!
//! This is the measure that most garments need, and the one that an interactive program drives itself
//! ([`Untangling`]). Between steps cloth is moved out of bodies, into its order, unfolded, parted, laid out or
//! smoothed; every such move is tried here and judged by the next look. (Cha 2022, figure 2.2)

mod account;
mod anew;
mod classic;
mod folds;
mod home;
mod measures;
mod motion;
mod out_of_bodies;
pub(super) mod pinched;
mod retreat;
pub(super) mod sizes;
mod touching;
mod untangling;
mod watch;
mod window;

pub use account::Assumptions;
pub use untangling::Untangling;
pub use watch::{Advance, Best, Watch};

use super::{FixMethod, FixSettings, FixStage, Observe, Outcome, Patient, ResolverCounts, Stop, report};
