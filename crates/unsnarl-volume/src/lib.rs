//! Functions of space. Knows no cloth.
//!
//! [`grid`] holds samples near a surface, [`level_set`] makes signed distances of them, [`field`] is what a reader of
//! either needs to know. Distances are in the unit of the mesh (metres), negative inside.

pub mod field;
pub mod grid;
pub mod level_set;

pub use field::Field;
pub use grid::{BlockGrid, BlockWidth};
pub use level_set::{Frame, LevelSet};
