//! Flaps turned as wholes: a fold is unfolded by reflection and folded over again. The fallback of `auto` in `fix`.

pub mod flip;
pub mod fold;
pub mod unfolding;
