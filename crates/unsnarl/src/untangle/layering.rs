//! Pieces that cross each other, put in order: one lies over the other wherever they overlap.
//!
//! Two pieces of cloth that cross along a line lie over each other on one side of it and under on the other. Which side
//! is right is one question for the whole overlap, not one for each contour: the given order of layers answers it (the
//! outer piece lies on the front of the inner one), or else the majority of the vertices that see the other piece.
//! (Baraff, Witkin and Kass 2003, 5.4, take the majority side of a region; Buffet 2021, chapter 2, orders layers)
//!
//! Guarantees: those of [`super::ordering`].
//! Does not: act on a piece that crosses itself, nor where pieces do not lie on each other but stand through each other.

use super::ordering::{Look, Ordering, Overlap, Piece, connected};
use super::parting::{component_of, crossing_components};
use crate::analysis::Tangle;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// Moves pieces through each other where they are on the wrong side; returns the number of rounds.
///
/// `layers` holds the layer of each vertex of cloth, from the inside out; where layers are equal or missing no order is
/// given.
pub fn put_in_order(ordering: &Ordering, layers: &[i32], tangle: &Tangle, positions: &mut [DVec3]) -> usize {
    let topology = ordering.topology;
    let layer_of = |vertex: VertexId| layers.get(vertex.index()).copied().unwrap_or(0);
    let crossing = crossing_components(topology, ordering.free.len(), tangle);
    let mut components: Vec<usize> = crossing.iter().flatten().copied().collect();
    components.sort_unstable();
    components.dedup();
    let mut pieces = Vec::new();
    for &component in &components {
        let is_own = |triangle: &TriangleId| component_of(topology, *triangle) == component;
        let triangles = (0..topology.triangle_count()).map(TriangleId::new).filter(is_own).collect();
        let Some(piece) = Piece::new(topology, positions, triangles) else { return 0 };
        pieces.push(piece);
    }
    let index = |component: usize| components.binary_search(&component).unwrap_or(0);
    let mut overlaps = Vec::new();
    for pair in crossing {
        let [a, b] = pair.map(index);
        let [first, second] = [a, b].map(|piece| layer_of(pieces[piece].vertices[0]));
        let order = if first == second { Order::Majority } else { Order::Given };
        // What is seen is the inner layer where layers are given, else the larger piece.
        let is_below = match order {
            Order::Given => first < second,
            Order::Majority => pieces[a].vertices.len() > pieces[b].vertices.len(),
        };
        let [above, below] = if is_below { [b, a] } else { [a, b] };
        let seeds = seeds(topology, pair, tangle);
        let looks = ordering.looks(&pieces[above], &pieces[below], positions);
        let sides = sides(topology, &seeds, &looks, order);
        if !sides.is_empty() {
            overlaps.push(Overlap { above, below, sides });
        }
    }
    ordering.apply(&mut pieces, &overlaps, positions)
}

/// Who says which side is right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The layers: the front.
    Given,
    /// Most of the vertices.
    Majority,
}

/// Corners of the triangles along which two components cross, sorted.
fn seeds(topology: &Topology, pair: [usize; 2], tangle: &Tangle) -> Vec<VertexId> {
    let is_between = |triangles: &&[TriangleId; 2]| {
        let [a, b] = triangles.map(|triangle| component_of(topology, triangle));
        [a.min(b), a.max(b)] == pair
    };
    let segments = tangle.contours.iter().flat_map(|tangled| &tangled.contour.segments);
    let corners = segments.filter(is_between).flatten().flat_map(|&triangle| topology.triangle(triangle));
    let mut seeds: Vec<VertexId> = corners.collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// The right side of every vertex that is to move: those at the contour, and those on the wrong side that hang together
/// with them. The question is asked once for each overlap: vertices that see the other piece and hang together.
///
/// Where the wrong side goes on out of reach, pieces do not lie on each other but go through each other at large, and
/// nothing moves.
fn sides(
    topology: &Topology,
    seeds: &[VertexId],
    looks: &FxHashMap<VertexId, Look>,
    order: Order,
) -> FxHashMap<VertexId, f64> {
    let height = |vertex: VertexId| looks.get(&vertex).and_then(Look::height);
    let seeds: Vec<VertexId> = seeds.iter().copied().filter(|&vertex| height(vertex).is_some()).collect();
    let mut sides = FxHashMap::default();
    for &seed in &seeds {
        if sides.contains_key(&seed) {
            continue;
        }
        let region = connected(topology, seed, |vertex| height(vertex).is_some());
        let front = region.iter().filter(|&&vertex| height(vertex) > Some(0.0)).count();
        let side = if order == Order::Given || 2 * front >= region.len() { 1.0 } else { -1.0 };
        sides.extend(region.into_iter().map(|vertex| (vertex, side)));
    }
    let is_wrong =
        |vertex: VertexId| sides.get(&vertex).zip(height(vertex)).is_some_and(|(side, height)| side * height < 0.0);
    let mut moving: FxHashSet<VertexId> = FxHashSet::default();
    for &seed in &seeds {
        if is_wrong(seed) && !moving.contains(&seed) {
            let wrong = connected(topology, seed, is_wrong);
            let is_far = |vertex: VertexId| looks.get(&vertex) == Some(&Look::Nothing);
            if wrong.iter().any(|&vertex| topology.ring(vertex).any(is_far)) {
                return FxHashMap::default();
            }
            moving.extend(wrong);
        }
    }
    moving.extend(seeds);
    sides.retain(|vertex, _| moving.contains(vertex));
    sides
}
