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

/// Goals of the vertices that can go on, on the way from where they are (`left.start`) to their targets (`left.end`),
/// in order. `pairs` are sorted.
pub(super) fn slid(
    topology: &Topology,
    cloth_count: usize,
    pairs: &[ElementPair],
    left: Motion,
) -> Vec<(VertexId, DVec3)> {
    let has_way = |at: &usize| left.start[*at] != left.end[*at];
    let mut goals: Vec<(VertexId, DVec3)> =
        (0..cloth_count).filter(has_way).map(|at| (VertexId::new(at), left.end[at])).collect();
    let contacts: Vec<Contact> =
        pairs.iter().filter_map(|&pair| Contact::of(topology, pair, left.start, &goals)).collect();
    for _ in 0..PASSES {
        let mut has_changed = false;
        for contact in &contacts {
            has_changed |= contact.settle(&mut goals, left.start);
        }
        if !has_changed {
            break;
        }
    }
    goals.retain(|&(vertex, goal)| {
        let at = vertex.index();
        let (way, wanted) = (goal - left.start[at], left.end[at] - left.start[at]);
        // Not farther from the target than now.
        goal.is_finite() && way != DVec3::ZERO && 2.0 * way.dot(wanted) > way.length_squared()
    });
    goals
}

/// A pair that is in the way.
struct Contact {
    stencil: Stencil,
    /// Where the goals of its vertices are, of those that can move.
    slots: [Option<usize>; 4],
    /// From the second element to the first.
    normal: DVec3,
    gap: f64,
    /// One over the sum of squared weights of what can move.
    stiffness: f64,
}

impl Contact {
    /// The contact of a pair at some positions; `None` where its gap has no direction or nothing can move.
    fn of(topology: &Topology, pair: ElementPair, positions: &[DVec3], goals: &[(VertexId, DVec3)]) -> Option<Self> {
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
        let slots = stencil.vertices.map(|vertex| goals.binary_search_by_key(&vertex, |&(own, _)| own).ok());
        let of_movable = |k: usize| if slots[k].is_some() { stencil.weights[k].powi(2) } else { 0.0 };
        let sum: f64 = (0..4).map(of_movable).sum();
        (sum > 1e-9).then(|| Self { stencil, slots, normal, gap: offset.length(), stiffness: 1.0 / sum })
    }

    /// Keeps it from closing; whether that changed something.
    fn settle(&self, goals: &mut [(VertexId, DVec3)], from: &[DVec3]) -> bool {
        let end = |k: usize| self.slots[k].map_or(from[self.stencil.vertices[k].index()], |slot| goals[slot].1);
        let opening = (self.stencil.sum([0, 1, 2, 3].map(end)) - self.stencil.apply(from)).dot(self.normal);
        let missing = -CLOSING * self.gap - opening;
        if missing <= 1e-9 * self.gap {
            return false;
        }
        for (slot, weight) in self.slots.into_iter().zip(self.stencil.weights) {
            if let Some(slot) = slot {
                goals[slot].1 += (missing * self.stiffness * weight) * self.normal;
            }
        }
        true
    }
}
