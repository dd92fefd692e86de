//! Stage 4: what to do about what crosses.

pub mod esef;
pub mod fan;
