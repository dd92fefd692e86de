//! Folds that bite into themselves (BLI): found, torn, flipped, by style. (Cha 2022, chapter 5)
//!
//! | file | what it owns |
//! |---|---|
//! | `bli` | a BLI as the cloth sees it: loop vertex, boundary end, inner end, strip |
//! | `chart` | which fold is torn and which is flipped |
//! | `tearing` | the strip leaves contact and forces, rings around the loop vertex stiffen |
//! | `flip` | a flap goes through its ground, front by front; with a crease too |
//! | `region`, `curl`, `paths` | the flap between two BLI and the side on which it lies |
//! | `style` | what becomes of a fold, and who decides |
//! | `reflect` | flaps turned as wholes, the fallback of `auto` in `fix` |

pub mod bli;
pub mod chart;
pub mod curl;
pub mod flip;
mod paths;
pub mod reflect;
pub mod region;
pub mod style;
pub mod tearing;
