//! All pairs of a mesh that meet, or that cross symbolically, through a tree and in parallel.

use super::crossing::{PairCrossing, crossings_within};
use super::separation::Reach;
use super::triangle_pair::{Relation, relation_within};
use crate::aabb::Aabb;
use crate::bvh::Bvh;
use crate::ids::TriangleId;
use crate::math::DVec3;
use crate::topology::Topology;

/// Two triangles that meet beyond what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntersectingPair {
    /// The triangle with the smaller index.
    pub first: TriangleId,
    /// The other.
    pub second: TriangleId,
    /// How they meet: never [`Relation::Apart`].
    pub relation: Relation,
}

/// The box of a triangle.
pub fn triangle_box(topology: &Topology, positions: &[DVec3], triangle: usize) -> Aabb {
    let [a, b, c] = topology.triangles()[triangle].map(|vertex| positions[vertex.index()]);
    Aabb { min: a.min(b).min(c), max: a.max(b).max(c) }
}

/// A tree over all triangles where they are.
pub fn triangle_tree(topology: &Topology, positions: &[DVec3]) -> Bvh {
    Bvh::build_from(topology.triangle_count(), |triangle| triangle_box(topology, positions, triangle))
}

/// Every pair of closed triangles that meet beyond what they share by connectivity, sorted.
///
/// `wanted(a, b)` chooses the pairs that count, by triangle index. The tree holds the boxes of these positions.
pub fn find_intersecting_pairs(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    wanted: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<IntersectingPair> {
    let triangles = topology.triangles();
    let reach = Reach::within(&tree.bounds());
    let mut pairs = tree.self_overlaps(|a, b, out: &mut Vec<IntersectingPair>| {
        if !wanted(a, b) {
            return;
        }
        let relation = relation_within(triangles[a], triangles[b], positions, reach);
        if relation != Relation::Apart {
            out.push(IntersectingPair { first: TriangleId::new(a), second: TriangleId::new(b), relation });
        }
    });
    pairs.sort_unstable();
    pairs
}

/// Every pair of triangles that cross in the symbolically perturbed mesh, with its one or two crossings, sorted.
pub fn find_crossing_pairs(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    wanted: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<(TriangleId, TriangleId, [Option<PairCrossing>; 2])> {
    let triangles = topology.triangles();
    let reach = Reach::within(&tree.bounds());
    let mut pairs = tree.self_overlaps(|a, b, out: &mut Vec<_>| {
        if !wanted(a, b) {
            return;
        }
        let (crossings, count) = crossings_within(triangles[a], triangles[b], positions, reach);
        if count > 0 {
            out.push((TriangleId::new(a), TriangleId::new(b), crossings));
        }
    });
    pairs.sort_unstable();
    pairs
}
