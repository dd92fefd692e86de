//! Shared pieces of the benches: timing and the meshes they make.

pub mod meshes;
pub mod timing;
