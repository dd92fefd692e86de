//! The engine of Unsnarl. It touches no file, clock or global, and has no thread pool of its own.

pub use unsnarl_geometry as geometry;

pub mod analysis;
pub mod bodies;
pub mod contact;
mod coupling;
pub mod dress;
pub mod dynamics;
pub mod fix;
pub mod model;
pub mod output;
pub mod report;
pub mod rest_shape;
pub mod rigid;
pub mod rigid_world;
pub mod samples;
pub mod scene;
pub mod settings;
pub mod simulation;
pub mod state;
pub mod step;
pub mod untangle;
