//! The mesh of contact: connectivity, and which vertices are near each other at rest.
//!
//! On a fine mesh with thick cloth, neighbours lie within thickness even when nothing is folded. Repulsion would push
//! them apart for ever, so pairs that are joined by a short path along the cloth get a thickness below that path.

use crate::geometry::ccd::Ownership;
use crate::geometry::{Topology, VertexId};
use rayon::prelude::*;

/// Cloth and bodies as contact sees them. It never changes.
#[derive(Clone, Debug)]
pub struct ContactMesh {
    topology: Topology,
    ownership: Ownership,
    /// Vertices within thickness along the edges, with the length of the way; sorted by vertex.
    near_at_rest: Vec<Vec<(VertexId, f64)>>,
}

/// Pairs may come as near as this part of the way between them along the cloth before they are repelled.
const PART_OF_WAY: f64 = 0.5;

impl ContactMesh {
    /// Looks around every vertex as far as its thickness, along edges of the given rest length, metres.
    pub fn new(topology: Topology, rest_lengths: &[f64], thickness: &[f64]) -> Self {
        let ownership = Ownership::new(&topology);
        let near_at_rest = (0..topology.vertex_count())
            .into_par_iter()
            .map(|vertex| surroundings(&topology, rest_lengths, VertexId::new(vertex), thickness[vertex] / PART_OF_WAY))
            .collect();
        Self { topology, ownership, near_at_rest }
    }

    /// The connectivity.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Which triangle owns which element.
    pub(super) fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// The thickness that is left of `thickness` for elements that are joined by a short way along the cloth.
    pub(super) fn thickness_between(&self, first: &[VertexId], second: &[VertexId], thickness: f64) -> f64 {
        let mut shortest = f64::INFINITY;
        for from in first {
            let near = &self.near_at_rest[from.index()];
            if near.is_empty() {
                continue;
            }
            for to in second {
                if let Ok(at) = near.binary_search_by_key(to, |&(vertex, _)| vertex) {
                    shortest = shortest.min(near[at].1);
                }
            }
        }
        thickness.min(PART_OF_WAY * shortest)
    }
}

/// All vertices within `reach` of one along edges, by shortest way.
fn surroundings(topology: &Topology, rest_lengths: &[f64], center: VertexId, reach: f64) -> Vec<(VertexId, f64)> {
    let mut settled: Vec<(VertexId, f64)> = Vec::new();
    let mut open: Vec<(VertexId, f64)> = vec![(center, 0.0)];
    while let Some(next) =
        (0..open.len()).min_by(|&a, &b| open[a].1.total_cmp(&open[b].1).then(open[a].0.cmp(&open[b].0)))
    {
        let (vertex, way) = open.swap_remove(next);
        if settled.iter().any(|&(known, _)| known == vertex) {
            continue;
        }
        settled.push((vertex, way));
        for &edge in topology.vertex_edges(vertex) {
            let longer = way + rest_lengths[edge.index()];
            if longer < reach {
                open.push((topology.other_end(edge, vertex), longer));
            }
        }
    }
    settled.retain(|&(vertex, _)| vertex != center);
    settled.sort_unstable_by_key(|&(vertex, _)| vertex);
    settled
}
