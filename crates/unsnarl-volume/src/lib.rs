//! Functions of space. Knows no cloth.
//!
//! [`grid`] holds samples near a surface, [`level_set`] makes signed distances of them, [`tet_mesh`] fills bodies with
//! tetrahedra, [`velocity_grid`] keeps air between surfaces, [`field`] is what a reader of any needs to know. Distances
//! are in the unit of the mesh (metres), negative inside.

pub mod field;
pub mod grid;
pub mod level_set;
pub mod sheet_field;
pub mod tet_mesh;
pub mod trim;
pub mod velocity_grid;
pub mod winding_tree;

pub use field::Field;
pub use grid::{BlockGrid, BlockWidth};
pub use level_set::{Frame, LevelSet};
pub use sheet_field::{SheetField, SheetQuery, SheetSight};
pub use tet_mesh::TetMesh;
