//! Stage 7: what is shown. Frames are taken out of bodies ([`final_frame`]) and refined ([`refine`]) without touching
//! the state.

pub mod attributes;
mod ease;
pub mod final_frame;
pub mod ladder;
pub mod refine;
mod slide;
pub(crate) mod stop;

pub use ladder::Ladder;
pub use refine::{
    Collisions, Depth, Finest, LevelReport, RefineError, RefineSettings, Refined, StartPairs, refine, refine_once,
};
