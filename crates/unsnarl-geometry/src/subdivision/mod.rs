//! Subdivision of triangle meshes: every triangle into four, and where the vertices of the fine mesh would lie on a
//! smooth surface.
//!
//! [`Split`] is connectivity alone: old vertices first, then one vertex per edge; triangle `t` becomes `4t..4t + 4`,
//! three corners and the middle. [`Split::midpoints`] puts the fine mesh into the coarse one; [`Split::targets`]
//! smooths it by Loop's masks ([`masks`], [`targets`]). (Bridson 2003, 3.2; the masks are Loop's of 1987, the rules
//! of borders and creases those of Hoppe et al. 1994)
//!
//! Guarantees: numbering depends on the triangles alone. Several parts keep their order, each with its own new
//! vertices after its old ones; vertices after all parts (bodies) are kept as they are. Weights of every mask but the
//! butterfly's are not negative and sum to 1.
//! Does not: ask for a manifold. Vertices of edges with three triangles stay, and those edges get midpoints.
//! Departs: [`Scheme::BoundedCurvature`] has masks of our own that fulfil the conditions of Loop 2001; see [`masks`].

pub mod limit;
pub mod masks;
mod rings;
pub mod targets;
#[cfg(test)]
mod tests;

pub use masks::Scheme;
pub use targets::{OldVertices, Smoothing};

use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::math::DVec3;
use crate::topology::Topology;
use rayon::prelude::*;
use std::ops::Range;
use thiserror::Error;

/// Most triangles of a fine mesh: three times as many are still below 2^32.
pub const MOST_TRIANGLES: usize = 1_400_000_000;

/// A fine mesh would have more triangles than can be numbered.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{triangles} triangles after {levels} levels; at most {MOST_TRIANGLES} can be numbered")]
pub struct TooManyTriangles {
    /// How many there would be.
    pub triangles: u128,
    /// After how many levels.
    pub levels: u32,
}

/// Whether a mesh can be split this many times.
pub fn check_size(triangle_count: usize, levels: u32) -> Result<(), TooManyTriangles> {
    let triangles =
        (triangle_count as u128).saturating_mul(1u128.checked_shl(levels.saturating_mul(2)).unwrap_or(u128::MAX));
    if triangles > MOST_TRIANGLES as u128 { Err(TooManyTriangles { triangles, levels }) } else { Ok(()) }
}

/// How the vertices of a fine mesh come from those of a coarse one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    parts: Vec<SplitPart>,
    /// Vertices of the coarse mesh that are kept as they are: those after all parts.
    kept: Range<usize>,
}

/// One part of a [`Split`]: its vertices and edges in the coarse mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SplitPart {
    vertices: Range<usize>,
    edges: Range<usize>,
}

impl Split {
    /// Splits the triangles of some parts. Parts are ranges of vertices that follow each other from 0; what comes after
    /// them is not split.
    pub fn new(topology: &Topology, parts: &[Range<usize>]) -> Self {
        let first_edge = |vertex: usize| topology.edges().partition_point(|edge| edge[0].index() < vertex);
        let edges = |part: &Range<usize>| first_edge(part.start)..first_edge(part.end);
        let end = parts.last().map_or(0, |part| part.end);
        let parts = parts.iter().map(|part| SplitPart { vertices: part.clone(), edges: edges(part) });
        Self { parts: parts.collect(), kept: end..topology.vertex_count() }
    }

    /// Number of vertices of the fine mesh.
    pub fn vertex_count(&self) -> usize {
        self.split_vertex_count() + self.kept.len()
    }

    /// Number of vertices of all parts in the fine mesh.
    pub fn split_vertex_count(&self) -> usize {
        self.parts.iter().map(|part| part.vertices.len() + part.edges.len()).sum()
    }

    /// The vertices of every part in the fine mesh.
    pub fn part_vertices(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.parts.iter().map(|part| part.vertices.start + part.edges.start..part.vertices.end + part.edges.end)
    }

    /// The vertex of the fine mesh that an old vertex becomes.
    pub fn of_vertex(&self, vertex: VertexId) -> VertexId {
        let at = self.parts.partition_point(|part| part.vertices.end <= vertex.index());
        let edges_before = self
            .parts
            .get(at)
            .or(self.parts.last())
            .map_or(0, |part| if at < self.parts.len() { part.edges.start } else { part.edges.end });
        VertexId::new(vertex.index() + edges_before)
    }

    /// The vertex of the fine mesh in the middle of an edge of some part.
    pub fn of_edge(&self, edge: EdgeId) -> VertexId {
        let at = self.parts.partition_point(|part| part.edges.end <= edge.index());
        VertexId::new(self.parts.get(at).map_or(0, |part| part.vertices.end) + edge.index())
    }

    /// The triangles of the fine mesh: four for each of a part, and those that are kept.
    pub fn triangles(&self, topology: &Topology) -> Vec<[u32; 3]> {
        let split_count = topology.triangles().partition_point(|corners| corners[0].index() < self.kept.start);
        let mut fine = vec![[0; 3]; 4 * split_count];
        let edges = |triangle: usize| topology.triangle_edges(TriangleId::new(triangle));
        fine.par_chunks_mut(4 * TRIANGLES_PER_TASK).enumerate().for_each(|(task, chunk)| {
            for (at, children) in chunk.chunks_exact_mut(4).enumerate() {
                let triangle = task * TRIANGLES_PER_TASK + at;
                let [a, b, c] = topology.triangles()[triangle].map(|corner| self.of_vertex(corner).0);
                let [ab, bc, ca] = edges(triangle).map(|edge| self.of_edge(edge).0);
                children.copy_from_slice(&[[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
            }
        });
        let kept = topology.triangles()[split_count..].iter();
        fine.extend(kept.map(|corners| corners.map(|corner| self.of_vertex(corner).0)));
        fine
    }

    /// Fine positions in the coarse mesh: new vertices in the middle of their edges.
    pub fn midpoints(&self, topology: &Topology, positions: &[DVec3]) -> Vec<DVec3> {
        let at = |vertex: VertexId| positions[vertex.index()];
        self.fill(
            positions,
            |vertex| positions[vertex],
            |edge| {
                let [a, b] = topology.edges()[edge];
                0.5 * (at(a) + at(b))
            },
        )
    }

    /// The halves of some edges of the coarse mesh, as vertices of the fine one.
    pub fn halves(&self, topology: &Topology, edges: &[[VertexId; 2]]) -> Vec<[VertexId; 2]> {
        let half = |&[a, b]: &[VertexId; 2]| {
            let middle = topology.find_edge(a, b).map(|edge| self.of_edge(edge));
            middle.map(|middle| [[self.of_vertex(a), middle], [middle, self.of_vertex(b)]])
        };
        edges.iter().filter_map(half).flatten().collect()
    }

    /// Fine positions from what old vertices and edges become.
    fn fill(
        &self,
        positions: &[DVec3],
        of_vertex: impl Fn(usize) -> DVec3 + Sync,
        of_edge: impl Fn(usize) -> DVec3 + Sync,
    ) -> Vec<DVec3> {
        let mut fine = vec![DVec3::ZERO; self.vertex_count()];
        let mut rest = fine.as_mut_slice();
        for part in &self.parts {
            let (old, more) = rest.split_at_mut(part.vertices.len());
            let (new, more) = more.split_at_mut(part.edges.len());
            rest = more;
            let fill = |slots: &mut [DVec3], first: usize, value: &(dyn Fn(usize) -> DVec3 + Sync)| {
                slots.par_iter_mut().with_min_len(VERTICES_PER_TASK).enumerate().for_each(|(at, slot)| {
                    *slot = value(first + at);
                });
            };
            fill(old, part.vertices.start, &of_vertex);
            fill(new, part.edges.start, &of_edge);
        }
        rest.copy_from_slice(&positions[self.kept.clone()]);
        fine
    }
}

/// Inner edges whose two triangles are bent by more than an angle, radians, against each other.
pub fn edges_bent_beyond(topology: &Topology, positions: &[DVec3], angle: f64) -> Vec<[VertexId; 2]> {
    let normal = |triangle: TriangleId| {
        let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
        (b - a).cross(c - a).try_normalize()
    };
    let is_sharp = |&(_, [left, right]): &(EdgeId, [TriangleId; 2])| match (normal(left), normal(right)) {
        (Some(left), Some(right)) => left.angle_between(right) > angle,
        _ => false,
    };
    topology.hinges().filter(is_sharp).map(|(edge, _)| topology.edge(edge)).collect()
}

/// Fewer triangles than this are not worth another thread.
const TRIANGLES_PER_TASK: usize = 2048;
/// The same for vertices.
const VERTICES_PER_TASK: usize = 2048;
