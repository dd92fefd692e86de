//! The meshes of all levels of a refinement: connectivity only, made once for all frames.
//!
//! Cloth parts are split, bodies are kept. Creases follow their edges: each level halves them.

use crate::analysis::{Assembly, Part, PartKind};
use crate::geometry::ccd::Ownership;
use crate::geometry::subdivision::{Split, TooManyTriangles, check_size};
use crate::geometry::{Topology, TopologyError, VertexId};
use std::ops::Range;
use thiserror::Error;

/// Why a mesh cannot be split.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LadderError {
    /// Too many triangles.
    #[error(transparent)]
    TooManyTriangles(#[from] TooManyTriangles),
    /// The fine triangles make no mesh.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// A coarse mesh and its finer and finer splits.
#[derive(Clone, Debug)]
pub struct Ladder {
    rungs: Vec<Rung>,
    /// The splits between one and the next.
    splits: Vec<Split>,
}

/// One level.
#[derive(Clone, Debug)]
pub(crate) struct Rung {
    pub assembly: Assembly,
    pub ownership: Ownership,
    pub creases: Vec<[VertexId; 2]>,
}

impl Ladder {
    /// Splits the cloth of an assembly, whose parts come before all bodies. Creases are edges of cloth, by their
    /// vertices.
    pub fn build(assembly: Assembly, creases: &[[VertexId; 2]], levels: u32) -> Result<Self, LadderError> {
        check_size(assembly.topology().triangle_count(), levels)?;
        let mut ladder = Self { rungs: vec![Rung::new(assembly, creases.to_vec())], splits: Vec::new() };
        for _ in 0..levels {
            let (split, finer) = ladder.finest_rung().split()?;
            ladder.splits.push(split);
            ladder.rungs.push(finer);
        }
        Ok(ladder)
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.splits.len()
    }

    /// The coarse mesh.
    pub fn coarsest(&self) -> &Assembly {
        &self.rungs[0].assembly
    }

    /// The mesh of the last level.
    pub fn finest(&self) -> &Assembly {
        &self.finest_rung().assembly
    }

    /// The creases of the last level.
    pub fn finest_creases(&self) -> &[[VertexId; 2]] {
        &self.finest_rung().creases
    }

    /// How one level comes from the one before.
    pub fn split(&self, level: usize) -> &Split {
        &self.splits[level]
    }

    /// The connectivity of a level; 0 is the coarse mesh.
    pub fn topology(&self, level: usize) -> &Topology {
        self.rungs[level].assembly.topology()
    }

    pub(super) fn rung(&self, level: usize) -> &Rung {
        &self.rungs[level]
    }

    fn finest_rung(&self) -> &Rung {
        &self.rungs[self.rungs.len() - 1]
    }
}

impl Rung {
    pub fn new(assembly: Assembly, creases: Vec<[VertexId; 2]>) -> Self {
        Self { ownership: Ownership::new(assembly.topology()), assembly, creases }
    }

    /// Number of vertices of all cloth.
    pub fn cloth_count(&self) -> usize {
        let is_cloth = |part: &&Part| part.kind == PartKind::Cloth;
        self.assembly.parts().iter().filter(is_cloth).map(|part| part.vertices.end).max().unwrap_or(0)
    }

    /// The next level, and how it comes from this one.
    pub fn split(&self) -> Result<(Split, Self), TopologyError> {
        let topology = self.assembly.topology();
        let cloth: Vec<Range<usize>> = (self.assembly.parts().iter())
            .filter(|part| part.kind == PartKind::Cloth)
            .map(|part| part.vertices.clone())
            .collect();
        let split = Split::new(topology, &cloth);
        let finer = Topology::of_triangles(split.vertex_count(), split.triangles(topology))?;
        let mut vertices = split.part_vertices().collect::<Vec<_>>().into_iter();
        let (mut first_vertex, mut first_triangle) = (0, 0);
        let parts = self.assembly.parts().iter().map(|part| {
            let of_cloth = vertices.next();
            let own = of_cloth.unwrap_or(first_vertex..first_vertex + part.vertices.len());
            let count = if part.kind == PartKind::Cloth { 4 * part.triangles.len() } else { part.triangles.len() };
            (first_vertex, first_triangle) = (own.end, first_triangle + count);
            Part { vertices: own, triangles: first_triangle - count..first_triangle, ..part.clone() }
        });
        let assembly = Assembly::of_parts(finer, parts.collect());
        let creases = split.halves(topology, &self.creases);
        Ok((split, Self::new(assembly, creases)))
    }
}
