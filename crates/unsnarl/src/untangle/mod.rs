//! Stage 4: what to do about what crosses. A [`crate::analysis::Tangle`] in, a [`Remedy`] out.

pub mod esef;
pub mod fan;
mod remedy;
pub mod tearing;

pub use remedy::{ColourRules, Remedy};
