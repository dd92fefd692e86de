//! Untangling step by step: edge shortening with contact on, and what it does where steps alone do not get on.
//!
//! This is the measure that most garments need, and the one that an interactive program drives itself
//! ([`Untangling`]). A look at what crosses decides what comes next: a rung of the table in [`rungs`] that moves cloth
//! without a step, a step, or the end. (Cha 2022, figure 2.2)
//!
//! | file | what it owns |
//! |---|---|
//! | `untangling` | the run: new, look, step, finish |
//! | `decide` | the phases, and which comes next |
//! | `rungs` | the table of rearrangements, one file each |
//! | `setup`, `reference` | what does not change; where cloth was, and how strained |
//! | `shortening`, `motion`, `relaxation` | a step with pulls; dynamics and contact; clean cloth on its way to rest |
//! | `adopt` | the one writer of positions |
//! | `ledger` | what was tried |

mod adopt;
mod decide;
mod ledger;
mod motion;
pub(super) mod pinched;
mod reference;
mod relaxation;
mod return_targets;
pub(super) mod rungs;
mod setup;
mod shortening;
pub(super) mod sizes;
mod theorem;
mod untangling;
mod watch;
mod window;

pub use theorem::Assumptions;
pub use untangling::Untangling;
pub use watch::{Advance, Best, Watch};

use super::{FixMethod, FixSettings, FixStage, Observe, Outcome, Patient, ResolverCounts, Stop, report};
