//! Parts that touch without crossing, moved apart by a hair.
//!
//! Touching elements have no gap to repel along, so the side comes from the triangles that they belong to: each moves
//! toward the middle of its own triangle. Where that is no help, as in coplanar cloth, the symbolic perturbation
//! decides.

use super::{Rung, RungName};
use crate::analysis::{self, Tangle, Verdict};
use crate::fix::stepwise::Untangling;
use crate::fix::stepwise::watch::Advance;
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::distance::{edge_edge, point_triangle};
use unsnarl_geometry::predicates::{IndexedPoint, Side, side_of_plane};
use unsnarl_geometry::{DVec3, EdgeId, Stencil, Topology, TriangleId, VertexId};

/// Distances below this share of an edge count as touching.
const TOUCHING: f64 = 1e-9;
/// Rounds at most.
const MOST_ROUNDS: usize = 20;

/// The rung.
pub struct Touching;

impl Rung for Touching {
    fn name(&self) -> RungName {
        RungName::Touching
    }

    fn applies(&self, run: &Untangling, _: &Tangle) -> bool {
        run.ledger.touching_rounds < MOST_ROUNDS
    }

    fn act(&self, run: &mut Untangling, _: &Tangle) -> Option<Advance> {
        run.separate_touching().then_some(Advance::LookAgain)
    }
}

impl Untangling {
    /// Moves apart what touches in the input.
    pub(in crate::fix) fn separate_touching_first(&mut self) {
        self.writing(RungName::Touching.name(), |run| run.separate_touching());
    }

    /// Moves apart what touches without crossing; `false` if nothing does, or if it has been tried often enough.
    pub fn separate_touching(&mut self) -> bool {
        if self.ledger.touching_rounds == MOST_ROUNDS || !self.has_rung(RungName::Touching) {
            return false;
        }
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.setup.assembly, &positions, &mut self.memory.analysis);
        let topology = self.setup.assembly.topology();
        let verdict = self.setup.pinched.leave_out_pairs(topology, verdict);
        if verdict.touching_count() == 0 {
            return false;
        }
        self.ledger.touching_rounds += 1;
        self.ledger.resolvers.separate_touching += 1;
        let mut cloth = self.state.positions.clone();
        for (vertex, step) in pushes(topology, &positions, &verdict, self.settings.separation) {
            if let Some(position) = cloth.get_mut(vertex.index()) {
                *position += step;
            }
        }
        self.adopt(&cloth);
        true
    }
}

/// For every vertex that touches something, where to move it, metres. Each side moves by half of `separation`.
fn pushes(topology: &Topology, positions: &[DVec3], verdict: &Verdict, separation: f64) -> Vec<(VertexId, DVec3)> {
    let mut moves: Vec<(VertexId, DVec3)> = Vec::new();
    for pair in &verdict.pairs {
        for (element_pair, owner) in element_pairs(topology, pair.first, pair.second) {
            let partner = if owner == pair.first { pair.second } else { pair.first };
            let apart = middle(topology, positions, owner) - middle(topology, positions, partner);
            if let Some((stencil, direction)) = touching(topology, positions, element_pair, apart) {
                let moved = stencil.vertices.iter().zip(stencil.weights);
                moves.extend(moved.map(|(&vertex, weight)| (vertex, 0.5 * separation * weight * direction)));
            }
        }
    }
    moves.sort_by_key(|&(vertex, _)| vertex);
    moves
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| (group[0].0, group.iter().map(|(_, step)| *step).sum::<DVec3>().clamp_length_max(separation)))
        .collect()
}

fn middle(topology: &Topology, positions: &[DVec3], triangle: TriangleId) -> DVec3 {
    topology.triangle(triangle).map(|corner| positions[corner.index()]).iter().sum::<DVec3>() / 3.0
}

/// All pairs of elements of two triangles that share no vertex, each with the triangle that has its first element.
fn element_pairs(topology: &Topology, a: TriangleId, b: TriangleId) -> Vec<(ElementPair, TriangleId)> {
    let mut pairs = Vec::new();
    for (ours, theirs) in [(a, b), (b, a)] {
        let corners = topology.triangle(theirs);
        let apart = topology.triangle(ours).into_iter().filter(|vertex| !corners.contains(vertex));
        pairs.extend(apart.map(|vertex| (ElementPair::VertexTriangle(vertex, theirs), ours)));
    }
    for first in topology.triangle_edges(a) {
        for second in topology.triangle_edges(b) {
            let ends: [VertexId; 2] = topology.edge(second);
            if first != second && !topology.edge(first).iter().any(|vertex| ends.contains(vertex)) {
                let owner = if first < second { a } else { b };
                pairs.push((ElementPair::EdgeEdge(EdgeId::min(first, second), EdgeId::max(first, second)), owner));
            }
        }
    }
    pairs
}

/// The stencil of a touching pair and the direction in which its first element lies; `None` if it does not touch.
fn touching(topology: &Topology, positions: &[DVec3], pair: ElementPair, apart: DVec3) -> Option<(Stencil, DVec3)> {
    let vertices = pair.vertices(topology);
    let [a, b, c, d] = vertices.map(|vertex| positions[vertex.index()]);
    let [ia, ib, ic, id] = vertices.map(|vertex| IndexedPoint { vertex, position: positions[vertex.index()] });
    match pair {
        ElementPair::VertexTriangle(..) => {
            let closest = point_triangle(a, [b, c, d]);
            let size = b.distance(c).max(b.distance(d));
            if closest.distance_squared().sqrt() > TOUCHING * size {
                return None;
            }
            let normal = (c - b).cross(d - b).try_normalize()?;
            let sign = sign_along(normal, apart, size, || side_of_plane(ib, ic, id, ia));
            let stencil =
                Stencil::vertex_triangle(vertices[0], [vertices[1], vertices[2], vertices[3]], closest.weights);
            Some((stencil, sign * normal))
        }
        ElementPair::EdgeEdge(..) => {
            let closest = edge_edge([a, b], [c, d]);
            let size = a.distance(b).max(c.distance(d));
            if closest.distance_squared().sqrt() > TOUCHING * size {
                return None;
            }
            let normal = (b - a).cross(d - c).try_normalize()?;
            let sign = sign_along(normal, apart, size, || side_of_plane(ia, ib, ic, id));
            let stencil = Stencil::edge_edge([vertices[0], vertices[1]], [vertices[2], vertices[3]], closest.along);
            Some((stencil, sign * normal))
        }
    }
}

/// On which side of a normal the first element belongs. A point below a plane has positive orientation.
fn sign_along(normal: DVec3, apart: DVec3, size: f64, symbolic: impl Fn() -> Side) -> f64 {
    let height = normal.dot(apart);
    if height.abs() > 1e-6 * size {
        height.signum()
    } else if symbolic() == Side::Positive {
        -1.0
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::of_cloth;
    use super::*;
    use crate::fix::FixSettings;
    use unsnarl_geometry::TriMesh;

    /// Two triangles, the upper with a corner at some height over the middle of the lower.
    fn over(height: f64) -> TriMesh {
        let lower = [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];
        let upper = [DVec3::new(0.25, 0.25, height), DVec3::new(0.3, 0.2, 1.0), DVec3::new(0.2, 0.3, 1.0)];
        TriMesh { positions: [lower, upper].concat(), triangles: vec![[0, 1, 2], [3, 4, 5]] }
    }

    #[test]
    fn a_corner_that_touches_is_lifted() {
        let (mut run, tangle) = of_cloth(over(0.0), FixSettings::default());
        assert!(Touching.applies(&run, &tangle));
        assert_eq!(Touching.act(&mut run, &tangle), Some(Advance::LookAgain));
        let verdict = analysis::verdict(&run.setup.assembly, &run.all_positions(), &mut run.memory.analysis);
        assert!(verdict.is_clean());
        assert!(run.state.positions[3].z > 0.0 && run.state.positions[3].z < 2.0 * run.settings.separation);
    }

    #[test]
    fn what_does_not_touch_stays_and_rounds_are_limited() {
        let (mut run, tangle) = of_cloth(over(0.1), FixSettings::default());
        assert_eq!(Touching.act(&mut run, &tangle), None);
        run.ledger.touching_rounds = MOST_ROUNDS;
        assert!(!Touching.applies(&run, &tangle));
    }
}
