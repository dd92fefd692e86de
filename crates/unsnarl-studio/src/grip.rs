//! Cloth held by the pointer.

use std::collections::BTreeMap;
use unsnarl::fix::Untangling;
use unsnarl_geometry::{DVec3, VertexId};

/// Where each held vertex was when it was grabbed, and how far it follows.
pub struct Grip {
    /// Vertex, place, share.
    pub vertices: Vec<(VertexId, DVec3, f64)>,
}

impl Grip {
    /// Takes hold of the cloth around a vertex, as far as `radius` along it.
    pub fn new(untangling: &Untangling, vertex: VertexId, radius: f64) -> Self {
        let positions = &untangling.state.positions;
        let reached = reach(untangling, vertex, radius).into_iter();
        Self { vertices: reached.map(|(vertex, share)| (vertex, positions[vertex.index()], share)).collect() }
    }
}

/// The vertices within a distance along edges, with the share of a drag that each follows: 1 at the vertex itself,
/// falling smoothly to 0.
fn reach(untangling: &Untangling, from: VertexId, radius: f64) -> Vec<(VertexId, f64)> {
    let topology = &untangling.model.topology;
    let positions = &untangling.state.positions;
    let center = positions[from.index()];
    let mut reached = BTreeMap::from([(from, 1.0)]);
    let mut front = vec![from];
    while let Some(vertex) = front.pop() {
        for next in topology.ring(vertex) {
            let distance = positions[next.index()].distance(center) / radius.max(1e-9);
            if distance < 1.0 && !reached.contains_key(&next) {
                let rest = 1.0 - distance * distance;
                reached.insert(next, rest * rest);
                front.push(next);
            }
        }
    }
    reached.into_iter().collect()
}
