//! Contact that lets no contour come to end in a green vertex.
//!
//! Two triangles that share a vertex and nothing else can only cross from that vertex on: it becomes a loop vertex when one of them
//! comes into the other. Red may cross red, and triangles are red that have one red corner; so the two may share a
//! green one. The guard asks the usual distance of such pairs, wherever the rules behind it let them cross.
//!
//! With it the main component never loses a vertex in a step, see [`crate::untangle::resolvers::main_component`]; but
//! loops often have to pass some green vertices on their way out, so that it is for steps after which red would have
//! grown.

use crate::contact::{PairRules, Rule};
use unsnarl_geometry::ccd::ElementPair;
use unsnarl_geometry::{EdgeId, Topology, VertexId};

/// Rules that keep green vertices from becoming loop vertices.
pub struct LoopGuard<'a> {
    rules: &'a dyn PairRules,
    topology: &'a Topology,
    /// Vertices that shall not become loop vertices.
    is_guarded: Vec<bool>,
}

impl<'a> LoopGuard<'a> {
    /// Guards every vertex but those that are red or loop vertices already.
    pub fn new(
        rules: &'a dyn PairRules,
        topology: &'a Topology,
        red_vertices: &[VertexId],
        loop_vertices: &[VertexId],
    ) -> Self {
        let mut is_guarded = vec![true; topology.vertex_count()];
        for vertex in red_vertices.iter().chain(loop_vertices) {
            is_guarded[vertex.index()] = false;
        }
        Self { rules, topology, is_guarded }
    }

    /// Whether the two are parts of triangles that share a guarded vertex.
    fn would_end_in_green(&self, pair: ElementPair) -> bool {
        match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                let corners = self.topology.triangle(triangle);
                self.topology.ring(vertex).any(|other| self.is_guarded[other.index()] && corners.contains(&other))
            }
            ElementPair::EdgeEdge(first, second) => {
                let around = self.corners_around(second);
                self.corners_around(first)
                    .iter()
                    .any(|corner| self.is_guarded[corner.index()] && around.contains(corner))
            }
        }
    }

    /// The corners of the triangles at an edge.
    fn corners_around(&self, edge: EdgeId) -> Vec<VertexId> {
        let triangles = self.topology.edge_triangles(edge).iter();
        triangles.flat_map(|&triangle| self.topology.triangle(triangle)).collect()
    }
}

impl PairRules for LoopGuard<'_> {
    fn rule(&self, pair: ElementPair) -> Rule {
        match self.rules.rule(pair) {
            Rule::MayCross if self.would_end_in_green(pair) => Rule::Ordinary,
            rule => rule,
        }
    }

    fn largest_separation(&self) -> f64 {
        self.rules.largest_separation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::TriangleId;

    struct AllMayCross;

    impl PairRules for AllMayCross {
        fn rule(&self, _pair: ElementPair) -> Rule {
            Rule::MayCross
        }

        fn largest_separation(&self) -> f64 {
            0.0
        }
    }

    /// Six triangles around vertex 0, and one that has nothing in common with them.
    fn fan() -> Topology {
        let around = (0..6).map(|at: u32| [0, 1 + at, 1 + (at + 1) % 6]);
        Topology::new(10, &around.chain([[7, 8, 9]]).collect::<Vec<_>>()).unwrap()
    }

    fn edge(topology: &Topology, ends: [usize; 2]) -> EdgeId {
        let ends = ends.map(VertexId::new);
        EdgeId::new(topology.edges().iter().position(|edge| *edge == ends).unwrap())
    }

    #[test]
    fn triangles_around_a_green_vertex_may_not_cross() {
        let topology = fan();
        let [one, far] = [1, 7].map(VertexId::new);
        let opposite = TriangleId::new(2);
        let edges = |first, second| ElementPair::EdgeEdge(edge(&topology, first), edge(&topology, second));
        let around_the_hub = [
            ElementPair::VertexTriangle(one, opposite),
            edges([1, 2], [4, 5]),
            edges([0, 1], [3, 4]),
            edges([3, 4], [0, 1]),
        ];
        let all: Vec<VertexId> = (0..10).map(VertexId::new).collect();
        let (hub, rim) = all.split_at(1);
        let green_hub = LoopGuard::new(&AllMayCross, &topology, rim, &[]);
        let (red_hub, loop_hub) =
            (LoopGuard::new(&AllMayCross, &topology, &all, &[]), LoopGuard::new(&AllMayCross, &topology, rim, hub));
        for pair in around_the_hub {
            assert_eq!(green_hub.rule(pair), Rule::Ordinary, "{pair:?}");
            assert_eq!(red_hub.rule(pair), Rule::MayCross, "{pair:?}");
            assert_eq!(loop_hub.rule(pair), Rule::MayCross, "{pair:?}");
        }
        for pair in [ElementPair::VertexTriangle(far, opposite), edges([1, 2], [7, 8])] {
            assert_eq!(green_hub.rule(pair), Rule::MayCross, "{pair:?} share no vertex");
        }
    }
}
