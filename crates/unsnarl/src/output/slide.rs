//! Where stopped vertices of a refinement may slide: what is left of their ways, without what leads into contacts.
//!
//! Every pair that stopped something is a contact with the normal that it has now. Ways are changed by inelastic
//! impulses between equal masses, pair after pair, until no contact closes by more than a part of its gap. (Bridson
//! 2003, 2.8 and 3.2)
//!
//! Guarantees: only vertices of cloth that are not at their targets move, and each towards it. The same bits on any
//! number of threads: contacts are gone through in the order of pairs.
//! Does not: promise that the ways are free; they go through the stop rule.

use crate::geometry::ccd::{self, ElementPair, Motion};
use crate::geometry::{DVec3, Stencil, Topology, VertexId};

/// Passes over all contacts.
const PASSES: usize = 12;
/// Contacts may close by this part of their gap; the rest is for later levels.
const CLOSING: f64 = 0.2;

/// A pair that is in the way.
struct Contact {
    stencil: Stencil,
    /// From the second element to the first.
    normal: DVec3,
    gap: f64,
    /// One over the sum of squared weights of what can move.
    stiffness: f64,
}

/// Goals of all vertices on the way from where they are (`left.start`) to their targets (`left.end`); `None` where
/// nothing can go on. `pairs` are sorted.
pub(super) fn slid(topology: &Topology, cloth_count: usize, pairs: &[ElementPair], left: Motion) -> Option<Vec<DVec3>> {
    let can_move = |vertex: VertexId| {
        let at = vertex.index();
        at < cloth_count && left.start[at] != left.end[at]
    };
    let contacts: Vec<Contact> =
        pairs.iter().filter_map(|&pair| Contact::of(topology, pair, left.start, can_move)).collect();
    let mut goals = left.start.to_vec();
    for at in (0..cloth_count).filter(|&at| left.start[at] != left.end[at]) {
        goals[at] = left.end[at];
    }
    for _ in 0..PASSES {
        let mut has_changed = false;
        for contact in &contacts {
            has_changed |= contact.settle(&mut goals, left.start, can_move);
        }
        if !has_changed {
            break;
        }
    }
    let mut moves = false;
    for at in 0..cloth_count {
        let (way, wanted) = (goals[at] - left.start[at], left.end[at] - left.start[at]);
        if way == DVec3::ZERO {
            continue;
        }
        // Farther from the target than now, or not worth it.
        if 2.0 * way.dot(wanted) <= way.length_squared() || !goals[at].is_finite() {
            goals[at] = left.start[at];
        } else {
            moves = true;
        }
    }
    moves.then_some(goals)
}

impl Contact {
    /// The contact of a pair at some positions; `None` where its gap has no direction or nothing can move.
    fn of(
        topology: &Topology,
        pair: ElementPair,
        positions: &[DVec3],
        can_move: impl Fn(VertexId) -> bool,
    ) -> Option<Self> {
        let points = pair.vertices(topology).map(|vertex| positions[vertex.index()]);
        let (stencil, offset) = match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                let closest = ccd::vertex_triangle_gap(points);
                (Stencil::vertex_triangle(vertex, topology.triangle(triangle), closest.weights), closest.offset)
            }
            ElementPair::EdgeEdge(first, second) => {
                let closest = ccd::edge_edge_gap(points);
                (Stencil::edge_edge(topology.edge(first), topology.edge(second), closest.along), closest.offset)
            }
        };
        let normal = offset.try_normalize()?;
        let of_movable = |k: usize| if can_move(stencil.vertices[k]) { stencil.weights[k].powi(2) } else { 0.0 };
        let sum: f64 = (0..4).map(of_movable).sum();
        (sum > 1e-9).then(|| Self { stencil, normal, gap: offset.length(), stiffness: 1.0 / sum })
    }

    /// Keeps it from closing; whether that changed something.
    fn settle(&self, goals: &mut [DVec3], from: &[DVec3], can_move: impl Fn(VertexId) -> bool) -> bool {
        let opening = (self.stencil.apply(goals) - self.stencil.apply(from)).dot(self.normal);
        let missing = -CLOSING * self.gap - opening;
        if missing <= 1e-9 * self.gap {
            return false;
        }
        for (vertex, weight) in self.stencil.vertices.into_iter().zip(self.stencil.weights) {
            if can_move(vertex) {
                goals[vertex.index()] += (missing * self.stiffness * weight) * self.normal;
            }
        }
        true
    }
}
