//! The verdict: do any two closed triangles meet beyond what they share, and how wide is the smallest gap otherwise?

use super::assembly::Assembly;
use super::{Workspace, in_pool};
use unsnarl_geometry::distance::{edge_edge, point_triangle};
use unsnarl_geometry::intersection::{IntersectingPair, Relation, find_intersecting_pairs};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// All pairs of closed triangles that meet.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The pairs, sorted.
    pub pairs: Vec<IntersectingPair>,
}

impl Verdict {
    /// Whether nothing meets.
    pub fn is_clean(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many pairs touch without crossing.
    pub fn touching_count(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.relation == Relation::Touching).count()
    }
}

/// Tests every pair that is not of two bodies.
pub fn verdict(assembly: &Assembly, positions: &[DVec3], workspace: &mut Workspace) -> Verdict {
    let topology = assembly.topology();
    in_pool(topology, || {
        let tree = workspace.tree(topology, positions);
        Verdict { pairs: find_intersecting_pairs(topology, positions, tree, |a, b| assembly.counts(a, b)) }
    })
}

/// The smallest distance between vertices and triangles, and between edges, that have no vertex in common; `None` for a
/// mesh without such a pair. Zero where something crosses.
pub fn smallest_gap(assembly: &Assembly, positions: &[DVec3], workspace: &mut Workspace) -> Option<f64> {
    let topology = assembly.topology();
    let tree = workspace.tree(topology, positions);
    let at = |vertex: VertexId| positions[vertex.index()];
    let found = tree.closest_pair(f64::INFINITY, |first, second| {
        if !assembly.counts(first, second) {
            return f64::INFINITY;
        }
        triangle_gap_squared([first, second].map(|triangle| topology.triangle(TriangleId::new(triangle))), at)
    });
    found.map(|(gap_squared, _, _)| gap_squared.sqrt())
}

/// Over the vertices of one against the other and the edges of both, leaving out what shares a vertex.
fn triangle_gap_squared([a, b]: [[VertexId; 3]; 2], at: impl Fn(VertexId) -> DVec3) -> f64 {
    let mut gap_squared = f64::INFINITY;
    for (ours, theirs) in [(a, b), (b, a)] {
        for vertex in ours.into_iter().filter(|vertex| !theirs.contains(vertex)) {
            gap_squared = gap_squared.min(point_triangle(at(vertex), theirs.map(&at)).distance_squared());
        }
    }
    for ours in 0..3 {
        let first = [a[ours], a[(ours + 1) % 3]];
        for theirs in 0..3 {
            let second = [b[theirs], b[(theirs + 1) % 3]];
            if first.iter().all(|vertex| !second.contains(vertex)) {
                gap_squared = gap_squared.min(edge_edge(first.map(&at), second.map(&at)).distance_squared());
            }
        }
    }
    gap_squared
}
