//! What to simulate: fabrics, wind and the scene from which a model and a first state are built.

pub mod environment;
pub mod fabric;
pub mod garment;
pub mod pattern;
pub mod sheet;
pub mod workpiece;
