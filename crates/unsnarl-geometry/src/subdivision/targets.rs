//! Where the vertices of a split mesh would lie on a smooth surface.
//!
//! | vertex | rule |
//! |---|---|
//! | new, inner edge | `3/8 (a + b) + 1/8 (c + d)`; with bounded curvature the circulant of its ends whose valence is not 6 |
//! | new, border or crease | the middle |
//! | old, inner, also the end of a crease | `(1 - n beta) v + beta sum(ring)` |
//! | old, on a border or crease | `3/4 v + 1/8 (a + b)` |
//! | old, where three creases meet, on an edge of three triangles, or with one triangle | it stays |
//!
//! With [`OldVertices::Kept`] old vertices stay, and new ones follow the butterfly (Zorin, Schröder and Sweldens
//! 1996), which interpolates: along borders `9/16 (a + b) - 1/16 (c + d)`. Its weights are partly negative.

use super::Split;
use super::masks::{LARGEST_BOUNDED_VALENCE, RingMask, Scheme, butterfly_ring_weight, loop_ring_weight};
use super::rings::{EdgeKind, EdgeKinds, VertexKind, walk_around};
use crate::ids::{EdgeId, TriangleId, VertexId};
use crate::math::DVec3;
use crate::topology::Topology;
use std::collections::BTreeMap;

/// What becomes of old vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldVertices {
    /// They are smoothed like all others.
    #[default]
    Smoothed,
    /// They stay where they are, and new ones are put on a surface through them.
    Kept,
}

/// How a mesh is smoothed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smoothing {
    /// The masks.
    pub scheme: Scheme,
    /// Whether old vertices move.
    pub old_vertices: OldVertices,
}

impl Split {
    /// The smooth positions of all vertices of the fine mesh. Creases are edges of the coarse mesh, by their vertices.
    pub fn targets(
        &self,
        topology: &Topology,
        positions: &[DVec3],
        creases: &[[VertexId; 2]],
        smoothing: Smoothing,
    ) -> Vec<DVec3> {
        let rules = Rules::new(topology, positions, creases, smoothing);
        match smoothing.old_vertices {
            OldVertices::Smoothed => self.fill(
                positions,
                |vertex| rules.old_vertex(VertexId::new(vertex)),
                |edge| rules.new_vertex(EdgeId::new(edge)),
            ),
            OldVertices::Kept => {
                self.fill(positions, |vertex| positions[vertex], |edge| rules.interpolated(EdgeId::new(edge)))
            }
        }
    }
}

struct Rules<'a> {
    topology: &'a Topology,
    positions: &'a [DVec3],
    kinds: EdgeKinds,
    /// Loop's weight of ring vertices, by valence; the masks with bounded curvature where they differ from Loop's.
    ring_weights: Vec<f64>,
    bounded: BTreeMap<usize, RingMask>,
}

impl<'a> Rules<'a> {
    fn new(topology: &'a Topology, positions: &'a [DVec3], creases: &[[VertexId; 2]], smoothing: Smoothing) -> Self {
        let valence = |vertex: usize| topology.vertex_edges(VertexId::new(vertex)).len();
        let mut valences: Vec<usize> = (0..topology.vertex_count()).map(valence).collect();
        valences.sort_unstable();
        valences.dedup();
        let largest = valences.last().copied().unwrap_or(0);
        let ring_weights = (0..=largest).map(|valence| loop_ring_weight(valence.max(1))).collect();
        let bounded = match smoothing.scheme {
            Scheme::Loop => BTreeMap::new(),
            Scheme::BoundedCurvature => (valences.iter().filter(|&&valence| valence >= 3))
                .map(|&valence| (valence, RingMask::bounded(valence)))
                .filter(|(valence, mask)| *mask != RingMask::of_loop(*valence))
                .collect(),
        };
        Self { topology, positions, kinds: EdgeKinds::new(topology, creases), ring_weights, bounded }
    }

    fn at(&self, vertex: VertexId) -> DVec3 {
        self.positions[vertex.index()]
    }

    fn old_vertex(&self, vertex: VertexId) -> DVec3 {
        let here = self.at(vertex);
        match self.kinds.of_vertex(self.topology, vertex) {
            VertexKind::Corner => here,
            VertexKind::Along([a, b]) => 0.75 * here + 0.125 * (self.at(a) + self.at(b)),
            VertexKind::Smooth => {
                let valence = self.topology.vertex_edges(vertex).len();
                let weight = match self.bounded_mask(vertex, &mut Vec::new()) {
                    Some(mask) => mask.ring_weight,
                    None => self.ring_weights[valence],
                };
                let ring: DVec3 = self.topology.ring(vertex).map(|neighbour| self.at(neighbour)).sum();
                (1.0 - valence as f64 * weight) * here + weight * ring
            }
        }
    }

    fn new_vertex(&self, edge: EdgeId) -> DVec3 {
        let [a, b] = self.topology.edge(edge);
        let ends = self.at(a) + self.at(b);
        if self.kinds.of(edge) != EdgeKind::Smooth {
            return 0.5 * ends;
        }
        if !self.bounded.is_empty() {
            let ring = &mut Vec::new();
            let by_ends: Vec<DVec3> = [a, b].into_iter().filter_map(|end| self.bounded_edge(end, edge, ring)).collect();
            if !by_ends.is_empty() {
                return by_ends.iter().sum::<DVec3>() / by_ends.len() as f64;
            }
        }
        let across: DVec3 = self.topology.edge_triangles(edge).iter().map(|&own| self.opposite(own, edge)).sum();
        0.375 * ends + 0.125 * across
    }

    fn opposite(&self, triangle: TriangleId, edge: EdgeId) -> DVec3 {
        self.at(self.topology.opposite_vertex(triangle, edge))
    }

    /// The mask with bounded curvature around a vertex, where it differs from Loop's and the vertex has one closed
    /// smooth ring.
    fn bounded_mask(&self, vertex: VertexId, ring: &mut Vec<VertexId>) -> Option<&RingMask> {
        let edges = self.topology.vertex_edges(vertex);
        let mask = self.bounded.get(&edges.len())?;
        let is_disc =
            self.kinds.are_smooth_at(self.topology, vertex) && walk_around(self.topology, vertex, edges[0], ring);
        is_disc.then_some(mask)
    }

    fn bounded_edge(&self, end: VertexId, edge: EdgeId, ring: &mut Vec<VertexId>) -> Option<DVec3> {
        let mask = self.bounded_mask(end, ring)?;
        walk_around(self.topology, end, edge, ring);
        let around = ring.iter().zip(&mask.edge_ring).map(|(&vertex, &weight)| weight * self.at(vertex));
        Some(mask.edge_center * self.at(end) + around.sum::<DVec3>())
    }

    /// The butterfly.
    fn interpolated(&self, edge: EdgeId) -> DVec3 {
        let [a, b] = self.topology.edge(edge);
        let middle = 0.5 * (self.at(a) + self.at(b));
        match self.kinds.of(edge) {
            EdgeKind::Fixed => middle,
            EdgeKind::Sharp => match (self.beyond(a, b), self.beyond(b, a)) {
                (Some(before), Some(after)) => 1.125 * middle - 0.0625 * (before + after),
                (Some(before), None) => 0.375 * self.at(b) + 0.75 * self.at(a) - 0.125 * before,
                (None, Some(after)) => 0.375 * self.at(a) + 0.75 * self.at(b) - 0.125 * after,
                (None, None) => middle,
            },
            EdgeKind::Smooth => {
                let ring = &mut Vec::new();
                let by_ends: Vec<(usize, DVec3)> =
                    [a, b].into_iter().filter_map(|end| self.butterfly_at(end, edge, ring)).collect();
                match by_ends[..] {
                    [] => middle,
                    [(_, only)] => only,
                    // A regular end says nothing that the other does not know better.
                    [(6, _), (valence, other)] | [(valence, other), (6, _)] if valence != 6 => other,
                    [(_, one), (_, other), ..] => 0.5 * (one + other),
                }
            }
        }
    }

    /// The vertex that follows on a border or crease that comes from one vertex through another.
    fn beyond(&self, vertex: VertexId, from: VertexId) -> Option<DVec3> {
        match self.kinds.of_vertex(self.topology, vertex) {
            VertexKind::Along([a, b]) if a == from => Some(self.at(b)),
            VertexKind::Along([a, b]) if b == from => Some(self.at(a)),
            _ => None,
        }
    }

    /// The butterfly around one end, with its valence.
    fn butterfly_at(&self, end: VertexId, edge: EdgeId, ring: &mut Vec<VertexId>) -> Option<(usize, DVec3)> {
        let valence = self.topology.vertex_edges(end).len();
        let is_disc = (3..=LARGEST_BOUNDED_VALENCE).contains(&valence)
            && self.kinds.are_smooth_at(self.topology, end)
            && walk_around(self.topology, end, edge, ring);
        if !is_disc {
            return None;
        }
        let weighted = |(at, &vertex): (usize, &VertexId)| butterfly_ring_weight(valence, at) * self.at(vertex);
        Some((valence, 0.75 * self.at(end) + ring.iter().enumerate().map(weighted).sum::<DVec3>()))
    }
}
