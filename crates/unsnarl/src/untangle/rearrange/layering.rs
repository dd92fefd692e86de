//! Pieces that cross each other, put in order: one lies over the other wherever they overlap.
//!
//! Two pieces of cloth that cross along a line lie over each other on one side of it and under on the other. Which side
//! is right is one question for the whole overlap, not one for each contour: the given order of layers answers it (the
//! outer piece lies on the front of the inner one), or else the majority of the vertices that see the other piece.
//! (Baraff, Witkin and Kass 2003, 5.4, take the majority side of a region; Buffet 2021, chapter 2, orders layers)
//!
//! Two flaps of one piece are as good as two pieces: what lies around the two traces of a contour that ends in no loop vertex,
//! as far as that does not meet, is ordered in the same way.
//!
//! Guarantees: those of [`crate::untangle::rearrange::ordering`].
//! Does not: act on folds that bite into themselves, nor where pieces do not lie on each other but stand through each other.

use crate::analysis::{Contour, ContourKind, Tangle, TangledContour};
use crate::untangle::rearrange::ordering::{Look, Ordering, Overlap, Piece, connected};
use crate::untangle::rearrange::parting::{component_of, crossing_components};
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
    for tangled in contours_within_pieces(topology, tangle) {
        let Some(flaps) = flaps(topology, &tangled.contour) else { continue };
        let [Some(a), Some(b)] = flaps.map(|triangles| Piece::new(topology, positions, triangles)) else { continue };
        let [above, below] = if a.vertices.len() > b.vertices.len() { [b, a] } else { [a, b] };
        let looks = ordering.looks(&above, &below, positions);
        let sides = sides(topology, &corners(topology, tangled.contour.segments.iter()), &looks, Order::Majority);
        if !sides.is_empty() {
            overlaps.push(Overlap { above: pieces.len(), below: pieces.len() + 1, sides });
            pieces.extend([above, below]);
        }
    }
    ordering.apply(&mut pieces, &overlaps, positions)
}

/// Contours within one piece of cloth that may be put in order. What is folded and bites into itself is to be unfolded first.
pub fn contours_within_pieces<'a>(topology: &Topology, tangle: &'a Tangle) -> Vec<&'a TangledContour> {
    let components = |tangled: &TangledContour| tangled.contour.segments[0].map(|at| component_of(topology, at));
    let bites = tangle.contours.iter().filter(|tangled| tangled.kind == ContourKind::Bli);
    let biting: FxHashSet<usize> = bites.map(|tangled| components(tangled)[0]).collect();
    let may_be_ordered = |tangled: &&TangledContour| {
        let [a, b] = components(tangled);
        a == b && !biting.contains(&a) && matches!(tangled.kind, ContourKind::Bibi | ContourKind::Bbii)
    };
    tangle.contours.iter().filter(may_be_ordered).collect()
}

/// What lies around the two traces of a contour, in whole rings, as far as the two do not meet; `None` where they do at once.
fn flaps(topology: &Topology, contour: &Contour) -> Option<[Vec<TriangleId>; 2]> {
    const RINGS: usize = 6;
    let around = |trace: usize| corners(topology, contour.segments.iter().map(|pair| &pair[trace..=trace]));
    let mut flaps = [around(0), around(1)];
    let meet = |flaps: &[Vec<VertexId>; 2]| flaps[0].iter().any(|vertex| flaps[1].binary_search(vertex).is_ok());
    if meet(&flaps) {
        return None;
    }
    for _ in 0..RINGS {
        let wider = flaps.clone().map(|flap| {
            let mut wider: Vec<VertexId> =
                flap.iter().flat_map(|&vertex| topology.ring(vertex)).chain(flap.iter().copied()).collect();
            wider.sort_unstable();
            wider.dedup();
            wider
        });
        if meet(&wider) {
            break;
        }
        flaps = wider;
    }
    Some(flaps.map(|flap| {
        let is_own = |triangle: &TriangleId| {
            topology.triangle(*triangle).iter().all(|corner| flap.binary_search(corner).is_ok())
        };
        let mut triangles: Vec<TriangleId> =
            flap.iter().flat_map(|&vertex| topology.vertex_triangles(vertex).iter().copied()).filter(is_own).collect();
        triangles.sort_unstable();
        triangles.dedup();
        triangles
    }))
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
    corners(topology, segments.filter(is_between))
}

/// The corners of some triangles, sorted.
fn corners<'a>(
    topology: &Topology,
    triangles: impl Iterator<Item = impl IntoIterator<Item = &'a TriangleId>>,
) -> Vec<VertexId> {
    let mut corners: Vec<VertexId> = triangles.flatten().flat_map(|&triangle| topology.triangle(triangle)).collect();
    corners.sort_unstable();
    corners.dedup();
    corners
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
            let is_far = |vertex: VertexId| looks.get(&vertex).is_none_or(|look| *look == Look::Nothing);
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
