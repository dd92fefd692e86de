//! Triangles, their relations and their motion.
//!
//! This crate knows no time step, mass, fabric or garment. Positions are always arguments (`&[DVec3]`), connectivity is
//! a type ([`topology::Topology`]). Every decision (which side, does it cross) is exact; see [`predicates`].

pub mod aabb;
pub mod bvh;
pub mod ccd;
pub mod distance;
pub mod ids;
pub mod intersection;
pub mod mass_properties;
pub mod math;
pub mod predicates;
pub mod stencil;
pub mod subdivision;
pub mod topology;
pub mod tri_mesh;
pub mod triangulate;

pub use aabb::Aabb;
pub use ids::{EdgeId, TriangleId, VertexId};
pub use mass_properties::MassProperties;
pub use math::{DMat3, DVec2, DVec3};
pub use stencil::Stencil;
pub use topology::{Topology, TopologyError};
pub use tri_mesh::{TriMesh, UvMap};
