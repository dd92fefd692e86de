//! Rings: what lies within some edges of given vertices.

use unsnarl_geometry::{Topology, VertexId};

/// For every vertex, the ring around the given ones that it lies in, if it is one of the first `rings`; the given
/// vertices are ring 0.
pub fn rings_around(topology: &Topology, mut front: Vec<VertexId>, rings: usize) -> Vec<Option<usize>> {
    let mut ring_of = vec![None; topology.vertex_count()];
    for ring in 0..=rings {
        front.sort_unstable();
        front.dedup();
        front.retain(|vertex| ring_of[vertex.index()].is_none());
        if front.is_empty() {
            break;
        }
        front.iter().for_each(|vertex| ring_of[vertex.index()] = Some(ring));
        if ring < rings {
            front = front.iter().flat_map(|&vertex| topology.ring(vertex)).collect();
        }
    }
    ring_of
}
