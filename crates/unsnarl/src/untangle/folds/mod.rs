//! Folds that bite into themselves: found, unfolded, folded over again, by style.

pub mod flip;
pub mod fold;
pub mod style;
pub mod unfolding;
