//! The surface of a level set as a triangle mesh: closed, manifold, facing outward.
//!
//! [`Extraction::SurfaceNets`] puts a vertex into every cell for each loop of the surface through it (the dual, with
//! well-shaped triangles); [`Extraction::Marching`] puts a vertex onto every crossed edge. (Bridson 2003, 6.2 uses surface
//! nets.) Both follow the same table of loops.
//!
//! Guarantees: every edge of the mesh has exactly two triangles that walk it in opposite ways, the triangles around
//! every vertex form one ring, whatever the samples are; the same bits on any number of threads.
//! Does not: promise triangles without self-intersection; surface nets may touch themselves in features thinner than
//! a cell.

mod block;
mod cases;
mod cells;
mod marching;
mod surface_nets;

pub use block::{BlockMesh, BlockMesher};

use super::LevelSet;
use cells::ActiveCells;
use unsnarl_geometry::TriMesh;

/// How the surface is meshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extraction {
    /// A vertex in each cell.
    SurfaceNets,
    /// A vertex on each crossed edge.
    Marching,
}

impl LevelSet {
    /// The surface as a mesh; empty if there is none.
    pub fn to_mesh(&self, extraction: Extraction) -> TriMesh {
        let cells = ActiveCells::find(self);
        match extraction {
            Extraction::SurfaceNets => surface_nets::mesh(self, &cells),
            Extraction::Marching => marching::mesh(self, &cells),
        }
    }
}

#[cfg(test)]
mod tests;
