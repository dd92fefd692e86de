//! All pairs of a mesh that meet, or that cross symbolically, through a tree and in parallel. A mesh of which only a part has
//! moved since it was last searched is searched in that part.

use super::crossing::{PairCrossing, crossings_within};
use super::fan::unproved_fans;
use super::patch::{Graphs, Habit, Place};
use super::separation::Reach;
use super::triangle_pair::{Relation, relation_within};
use crate::aabb::Aabb;
use crate::bvh::Bvh;
use crate::ids::{TriangleId, VertexId};
use crate::math::DVec3;
use crate::topology::Topology;
use rayon::prelude::*;

/// Fewer fans than this are not worth another thread.
const FANS_PER_TASK: usize = 64;

/// Meshes of fewer triangles are done before another thread would have woken up.
pub const SMALL_MESH: usize = 1500;

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

/// Two triangles that cross, the one with the smaller index first, and their one or two crossings.
pub type CrossingPair = (TriangleId, TriangleId, [Option<PairCrossing>; 2]);

/// The box of a triangle.
pub fn triangle_box(topology: &Topology, positions: &[DVec3], triangle: usize) -> Aabb {
    let [a, b, c] = topology.triangles()[triangle].map(|vertex| positions[vertex.index()]);
    Aabb { min: a.min(b).min(c), max: a.max(b).max(c) }
}

/// A tree over all triangles where they are; triangles with a common vertex are passed over as pairs.
pub fn triangle_tree(topology: &Topology, positions: &[DVec3]) -> Bvh {
    Bvh::build_on_points(positions, topology.triangle_count(), |triangle| {
        topology.triangles()[triangle].map(|vertex| vertex.0)
    })
}

/// Every pair of closed triangles that meet beyond what they share by connectivity, sorted.
///
/// `wanted(a, b)` chooses the pairs that count, by triangle index. The tree is a [`triangle_tree`] fitted to these positions.
pub fn find_intersecting_pairs(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    wanted: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<IntersectingPair> {
    let reach = Reach::within(&tree.bounds());
    find_pairs(Place { topology, positions, reach }, tree, None, |a, b| {
        if !wanted(a.index(), b.index()) {
            return None;
        }
        let relation = relation_within(topology.triangle(a), topology.triangle(b), positions, reach);
        (relation != Relation::Apart).then_some(IntersectingPair { first: a, second: b, relation })
    })
}

/// Every pair of triangles that cross in the symbolically perturbed mesh, with its one or two crossings, sorted.
///
/// The habit comes from earlier searches of the same mesh through the same tree; a new one will do.
pub fn find_crossing_pairs(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    habit: &mut Habit,
    wanted: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<CrossingPair> {
    let reach = Reach::within(&tree.bounds());
    let place = Place { topology, positions, reach };
    find_pairs(place, tree, habit.graphs(place, tree), |a, b| {
        if !wanted(a.index(), b.index()) {
            return None;
        }
        let (crossings, count) = crossings_within(topology.triangle(a), topology.triangle(b), positions, reach);
        (count > 0).then_some((a, b, crossings))
    })
}

/// What crossed when a mesh was last searched. Results do not depend on it.
#[derive(Clone, Debug, Default)]
pub struct LastSearch {
    positions: Vec<DVec3>,
    pairs: Vec<CrossingPair>,
}

/// As [`find_crossing_pairs`], where `last` comes from an earlier search of the same mesh for the same wanted pairs, or is new:
/// pairs of triangles that have not moved since are not looked at again.
pub fn find_crossing_pairs_again(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    (habit, last): (&mut Habit, &mut LastSearch),
    wanted: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<CrossingPair> {
    let is_still = last.still_triangles(topology, positions);
    let still_count = is_still.iter().filter(|&&is_still| is_still).count();
    let pairs = if still_count as f64 >= LEAST_STILL * topology.triangle_count() as f64 {
        let is_new = |a: usize, b: usize| !(is_still[a] && is_still[b]) && wanted(a, b);
        let mut pairs = find_moved(topology, positions, tree, &is_still, is_new);
        pairs.extend(last.pairs.iter().filter(|(a, b, _)| is_still[a.index()] && is_still[b.index()]));
        pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        pairs
    } else {
        find_crossing_pairs(topology, positions, tree, habit, wanted)
    };
    positions.clone_into(&mut last.positions);
    pairs.clone_into(&mut last.pairs);
    pairs
}

/// With a smaller share of the triangles at rest, patches of the whole mesh prove as much.
const LEAST_STILL: f64 = 0.3;

impl LastSearch {
    /// For each triangle, whether all its corners are where they were; empty, if nothing is known.
    fn still_triangles(&self, topology: &Topology, positions: &[DVec3]) -> Vec<bool> {
        if self.positions.len() != positions.len() {
            return Vec::new();
        }
        let has_moved: Vec<bool> = positions.iter().zip(&self.positions).map(|(now, then)| now != then).collect();
        let is_still = |corners: &[VertexId; 3]| !corners.iter().any(|corner| has_moved[corner.index()]);
        topology.triangles().iter().map(is_still).collect()
    }
}

/// The pairs that are new, where some triangles are still: what is still as a whole is passed over.
fn find_moved(
    topology: &Topology,
    positions: &[DVec3],
    tree: &Bvh,
    is_still: &[bool],
    is_new: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<CrossingPair> {
    let mut is_inner = vec![true; positions.len()];
    let moved = topology.triangles().iter().zip(is_still).filter(|(_, is_still)| !**is_still);
    moved.flat_map(|(corners, _)| corners).for_each(|corner| is_inner[corner.index()] = false);
    let still = Graphs::of_one_group(tree, is_still, is_inner);
    let reach = Reach::within(&tree.bounds());
    find_pairs(Place { topology, positions, reach }, tree, Some(&still), |a, b| {
        let is_new = is_new(a.index(), b.index());
        let (crossings, count) =
            is_new.then(|| crossings_within(topology.triangle(a), topology.triangle(b), positions, reach))?;
        (count > 0).then_some((a, b, crossings))
    })
}

/// What `examine` says of all pairs that may meet, sorted: neighbours from the fans that are not proved, the others from
/// the tree. Patches that are graphs have none of either.
fn find_pairs<R: Send>(
    Place { topology, positions, reach }: Place<'_>,
    tree: &Bvh,
    graphs: Option<&Graphs>,
    examine: impl Fn(TriangleId, TriangleId) -> Option<R> + Sync,
) -> Vec<R> {
    let examine = |a: TriangleId, b: TriangleId| Some(((a, b), examine(a, b)?));
    let nothing = Graphs::default();
    let Graphs { groups, is_inner, .. } = graphs.unwrap_or(&nothing);
    let of_strangers = || {
        let each = |a, b, out: &mut Vec<_>| out.extend(examine(TriangleId::new(a), TriangleId::new(b)));
        tree.self_overlaps_between(groups, each)
    };
    let of_neighbours = || {
        let unproved = unproved_fans(topology, positions, reach, is_inner);
        let of_fan = |&vertex: &VertexId| {
            let mut out = Vec::new();
            for_pairs_of_fan(topology, vertex, &unproved, |a, b| out.extend(examine(a, b)));
            out
        };
        unproved.par_iter().with_min_len(FANS_PER_TASK).map(of_fan).collect::<Vec<Vec<_>>>()
    };
    let (mut pairs, lists) = if topology.triangle_count() < SMALL_MESH {
        (of_strangers(), of_neighbours())
    } else {
        rayon::join(of_strangers, of_neighbours)
    };
    pairs.extend(lists.into_iter().flatten());
    // A pair comes once, so that its place is told by its triangles alone.
    pairs.sort_unstable_by_key(|(triangles, _)| *triangles);
    pairs.into_iter().map(|(_, found)| found).collect()
}

/// The pairs of triangles at a vertex. A pair that shares several vertices comes up at the smallest of them, and not at
/// all if one of their fans is proved.
fn for_pairs_of_fan(
    topology: &Topology,
    vertex: VertexId,
    unproved: &[VertexId],
    mut each: impl FnMut(TriangleId, TriangleId),
) {
    let fan = topology.vertex_triangles(vertex);
    for (at, &first) in fan.iter().enumerate() {
        for &second in &fan[at + 1..] {
            let corners = topology.triangle(second);
            let mut others = topology.triangle(first).into_iter().filter(|&it| it != vertex && corners.contains(&it));
            if others.all(|other| other > vertex && unproved.binary_search(&other).is_ok()) {
                each(first, second);
            }
        }
    }
}
