//! Surfaces that cross, moved through each other until one lies over the other.
//!
//! A vertex of the upper surface sees the lower one at its nearest point. If it is on the wrong side there, or nearer than
//! the separation, the two share the way; where triangles cross although their corners are right, the middles of
//! the holes go apart. Cloth slides on the way ([`crate::untangle::rearrange::sliding`]), so that what was moved is
//! not torn from what was not. It is what pushes cloth out of bodies, between surfaces that both may move.
//!
//! Guarantees: only free vertices move; the result depends on neither threads nor order.
//! Does not: say which side is right, nor keep either surface from crossing anything else.

use crate::untangle::bodies::push_out::BodyPush;
use crate::untangle::bodies::surface::{BodySurface, Sight};
use crate::untangle::rearrange::piercing::{holes_of, mean_pushes, normal_of};
use crate::untangle::rearrange::sliding::{Sliding, take_back};
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_geometry::intersection::{CrossingPair, crossings_of_pair};
use unsnarl_geometry::{Aabb, DVec3, Topology, TriangleId, VertexId};

/// What surfaces are ordered by.
#[derive(Clone, Copy)]
pub struct Ordering<'a> {
    /// Cloth and bodies.
    pub topology: &'a Topology,
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// Which vertices of cloth may move.
    pub free: &'a [bool],
    /// Distance that surfaces keep, metres.
    pub separation: f64,
    /// What the upper surface goes of the way, 0 to 1; the lower one goes the rest.
    pub upper_share: f64,
    /// How far triangles may be stretched on the way.
    pub bounds: &'a StrainBounds<'a>,
    /// Bodies that cloth is kept out of on the way.
    pub bodies: &'a BodyPush,
}

/// A part of the cloth, ready to be seen from other parts.
pub struct Piece {
    /// Its vertices, sorted.
    pub vertices: Vec<VertexId>,
    /// Its triangles, sorted.
    pub triangles: Vec<TriangleId>,
    surface: BodySurface,
}

/// Vertices of one piece that see another one, and the side of it where they belong.
pub struct Overlap {
    /// The piece whose vertices these are.
    pub above: usize,
    /// The piece that they see.
    pub below: usize,
    /// 1 if they belong on the front of its triangles, -1 for the back; by vertex.
    pub sides: FxHashMap<VertexId, f64>,
}

/// How a vertex sees a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// From above or below.
    At(Sight),
    /// Past its border, where it has no sides.
    PastBorder,
    /// It is out of reach.
    Nothing,
}

impl Look {
    /// How far the vertex is above the front of the piece, metres.
    pub fn height(&self) -> Option<f64> {
        match self {
            Self::At(sight) => Some(sight.signed_distance),
            _ => None,
        }
    }
}

/// Other pieces are seen from this many times the size of the mesh.
const REACH: f64 = 4.0;
/// Rounds of pushing, once cloth has slid.
const ROUNDS: usize = 60;
/// What moves by less than this share of the separation is at rest.
const STILL: f64 = 0.1;
/// Rounds are given up when pushes have not become less by this factor for as many rounds as this.
const LESS: f64 = 0.95;
const PATIENCE: usize = 12;

impl Piece {
    /// A piece of the given triangles, sorted; `None` where they are no surface.
    pub fn new(topology: &Topology, positions: &[DVec3], triangles: Vec<TriangleId>) -> Option<Self> {
        let mut vertices: Vec<VertexId> = triangles.iter().flat_map(|&triangle| topology.triangle(triangle)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let own = |vertex: VertexId| vertices.binary_search(&vertex).unwrap_or(0) as u32;
        let corners: Vec<[u32; 3]> = triangles.iter().map(|&triangle| topology.triangle(triangle).map(own)).collect();
        let places = vertices.iter().map(|vertex| positions[vertex.index()]).collect();
        Some(Self { surface: BodySurface::new(places, &corners).ok()?, vertices, triangles })
    }
}

impl Ordering<'_> {
    /// How every vertex of one piece sees another.
    pub fn looks(&self, piece: &Piece, seen: &Piece, positions: &[DVec3]) -> FxHashMap<VertexId, Look> {
        let look = |&vertex: &VertexId| (vertex, self.look(seen, vertex, positions));
        piece.vertices.par_iter().map(look).collect::<Vec<_>>().into_iter().collect()
    }

    fn look(&self, seen: &Piece, vertex: VertexId, positions: &[DVec3]) -> Look {
        let reach = REACH * self.local_size[vertex.index()];
        match seen.surface.seen_from(positions[vertex.index()], reach) {
            None => Look::Nothing,
            Some(sight) if sight.is_past_border => Look::PastBorder,
            Some(sight) => Look::At(sight),
        }
    }

    /// Moves pieces through each other until they are in order; returns the number of rounds.
    pub fn apply(&self, pieces: &mut [Piece], overlaps: &[Overlap], positions: &mut [DVec3]) -> usize {
        const SLIDES: usize = 40;
        const CARRYING: f64 = 2.0;
        if overlaps.is_empty() {
            return 0;
        }
        let before = positions.to_vec();
        let free = self.surroundings(pieces, overlaps, positions);
        let Some(mut sliding) = Sliding::new(self.topology, self.bounds, &free, CARRYING, positions) else {
            return self.push(pieces, overlaps, positions);
        };
        let mut slack = vec![0.0; free.len()];
        let mut asked = positions[..free.len()].to_vec();
        let mut last = positions.to_vec();
        let mut slides = 0;
        while slides < SLIDES && (slides == 0 || farthest_move(&last, positions) > STILL * self.separation) {
            last.copy_from_slice(positions);
            slides += 1;
            sliding.round(self.bounds, positions, &mut |positions| {
                let mut pushes = self.pushes(pieces, overlaps, positions);
                pushes.extend(self.bodies.pushes_since(&mut asked, &mut slack, positions));
                pushes.retain(|push| free[push.0]);
                self.step(pushes, positions);
            });
        }
        let rounds = slides + self.push(pieces, overlaps, positions);
        take_back(STILL * self.separation, &before, positions);
        rounds
    }

    /// Which vertices may move: those that are to change sides, what they see, and rings around both.
    fn surroundings(&self, pieces: &[Piece], overlaps: &[Overlap], positions: &[DVec3]) -> Vec<bool> {
        const RINGS: usize = 8;
        let seen = |overlap: &Overlap, vertex: VertexId| match self.look(&pieces[overlap.below], vertex, positions) {
            Look::At(sight) if self.upper_share < 1.0 => {
                self.topology.triangle(pieces[overlap.below].triangles[sight.triangle.index()]).to_vec()
            }
            _ => Vec::new(),
        };
        let own = |overlap: &Overlap| overlap.sides.keys().copied().collect::<Vec<VertexId>>();
        let mut front: Vec<VertexId> = overlaps.iter().flat_map(own).collect();
        for overlap in overlaps {
            front.extend(overlap.sides.keys().flat_map(|&vertex| seen(overlap, vertex)));
        }
        let mut near = vec![false; self.free.len()];
        for _ in 0..=RINGS {
            front.retain(|vertex| near.get(vertex.index()) == Some(&false));
            front.iter().for_each(|vertex| near[vertex.index()] = true);
            front = front.iter().flat_map(|&vertex| self.topology.ring(vertex)).collect();
        }
        near.iter().zip(self.free).map(|(near, free)| *near && *free).collect()
    }

    /// Rounds of pushes until nothing is on the wrong side, or until they no longer become less.
    pub fn push(&self, pieces: &mut [Piece], overlaps: &[Overlap], positions: &mut [DVec3]) -> usize {
        let (mut least, mut least_round) = (f64::INFINITY, 0);
        for round in 0..ROUNDS {
            let pushes = self.pushes(pieces, overlaps, positions);
            let total: f64 = pushes.iter().map(|push| push.1.length()).sum();
            if total < LESS * least {
                (least, least_round) = (total, round);
            }
            if pushes.is_empty() || round > least_round + PATIENCE {
                return round;
            }
            self.step(pushes, positions);
        }
        ROUNDS
    }

    fn step(&self, pushes: Vec<(usize, DVec3)>, positions: &mut [DVec3]) {
        for (vertex, step) in mean_pushes(pushes) {
            if self.free.get(vertex) == Some(&true) {
                positions[vertex] += step;
            }
        }
    }

    /// What pushes vertices to their right side and, where they are about there, holes apart; empty when pieces are in order.
    fn pushes(&self, pieces: &mut [Piece], overlaps: &[Overlap], positions: &[DVec3]) -> Vec<(usize, DVec3)> {
        let mut seen: Vec<usize> = overlaps.iter().map(|overlap| overlap.below).collect();
        seen.sort_unstable();
        seen.dedup();
        for piece in seen {
            let piece = &mut pieces[piece];
            piece.surface.place(piece.vertices.iter().map(|vertex| positions[vertex.index()]).collect());
        }
        let seen = |overlap: &Overlap| &pieces[overlap.below];
        let of_vertices = overlaps.iter().flat_map(|overlap| self.vertex_pushes(overlap, seen(overlap), positions));
        let mut pushes: Vec<(usize, DVec3)> = of_vertices.collect();
        if pushes.iter().all(|push| push.1.length() < 0.25 * self.separation) {
            let of_holes = self.hole_pushes(pieces, overlaps, positions);
            if of_holes.is_empty() {
                return Vec::new();
            }
            pushes.extend(of_holes);
        }
        pushes
    }

    fn vertex_pushes(&self, overlap: &Overlap, seen: &Piece, positions: &[DVec3]) -> Vec<(usize, DVec3)> {
        let mut vertices: Vec<(VertexId, f64)> = overlap.sides.iter().map(|(&vertex, &side)| (vertex, side)).collect();
        vertices.sort_unstable_by_key(|&(vertex, _)| vertex);
        let pushes = |&(vertex, side): &(VertexId, f64)| {
            let Look::At(sight) = self.look(seen, vertex, positions) else { return None };
            let lacking = self.separation - side * sight.signed_distance;
            let step = lacking * side * sight.outward;
            let squares: f64 = sight.weights.iter().map(|weight| weight * weight).sum();
            let corners = self.topology.triangle(seen.triangles[sight.triangle.index()]);
            let back = corners.into_iter().zip(sight.weights);
            let lower_step = -(1.0 - self.upper_share) / squares * step;
            let back = back.map(move |(corner, weight)| (corner.index(), weight * lower_step));
            let all = std::iter::once((vertex.index(), self.upper_share * step)).chain(back).collect::<Vec<_>>();
            (lacking > 0.0).then_some(all)
        };
        vertices.par_iter().filter_map(pushes).flatten().collect()
    }

    /// Where triangles cross although their corners are on the right side, the middles of the holes go apart.
    fn hole_pushes(&self, pieces: &[Piece], overlaps: &[Overlap], positions: &[DVec3]) -> Vec<(usize, DVec3)> {
        let sides = Sides::of(self.topology.triangle_count(), pieces, overlaps);
        let between = |upper, lower| sides.between(upper, lower).map(|overlap| &overlaps[overlap]);
        let wanted = |a: TriangleId, b: TriangleId| sides.between(a, b).or(sides.between(b, a)).is_some();
        let mut pushes = Vec::new();
        let pairs = self.crossing_pairs(pieces, overlaps, positions);
        for hole in holes_of(pairs, self.topology, positions, &wanted) {
            let (overlap, above, push) = match between(hole.triangle, hole.other) {
                Some(overlap) => (overlap, hole.triangle, self.upper_share * hole.normal),
                None => {
                    let Some(overlap) = between(hole.other, hole.triangle) else { continue };
                    let down = -normal_of(self.topology, positions, hole.triangle);
                    (overlap, hole.other, (1.0 - self.upper_share) * down)
                }
            };
            let side = self.topology.triangle(above).iter().find_map(|corner| overlap.sides.get(corner));
            let Some(side) = side else { continue };
            let corners = self.topology.triangle(hole.triangle);
            let weights = hole.weights_in(corners.map(|corner| positions[corner.index()]));
            let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
            let step = 2.0 * *side * self.separation * push;
            let moved = corners.into_iter().zip(weights);
            pushes.extend(moved.map(|(corner, weight)| (corner.index(), weight / squares * step)));
        }
        pushes
    }
}

impl Ordering<'_> {
    /// Pairs of triangles that cross, one with a corner that has a side and one that is below it in the same overlap; sorted.
    fn crossing_pairs(&self, pieces: &[Piece], overlaps: &[Overlap], positions: &[DVec3]) -> Vec<CrossingPair> {
        let topology = self.topology;
        let of_overlap = |overlap: &Overlap| {
            let [above, below] = [overlap.above, overlap.below].map(|piece| &pieces[piece]);
            let around = overlap.sides.keys().flat_map(|&vertex| topology.vertex_triangles(vertex).iter().copied());
            let mut upper: Vec<TriangleId> = around.filter(|at| above.triangles.binary_search(at).is_ok()).collect();
            upper.sort_unstable();
            upper.dedup();
            let crossed = |&upper: &TriangleId| {
                let mut crossed = Vec::new();
                let region = Aabb::of_points(topology.triangle(upper).map(|corner| positions[corner.index()]));
                below.surface.triangles_in(&region, |lower| {
                    let lower = below.triangles[lower.index()];
                    let [a, b] = [upper.min(lower), upper.max(lower)];
                    let (crossings, count) = crossings_of_pair(topology.triangle(a), topology.triangle(b), positions);
                    if count > 0 {
                        crossed.push((a, b, crossings));
                    }
                });
                crossed
            };
            upper.par_iter().flat_map_iter(crossed).collect::<Vec<CrossingPair>>()
        };
        let mut pairs: Vec<CrossingPair> = overlaps.iter().flat_map(of_overlap).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// How far a vertex has moved at most.
fn farthest_move(before: &[DVec3], after: &[DVec3]) -> f64 {
    before.iter().zip(after).map(|(before, after)| before.distance_squared(*after)).fold(0.0, f64::max).sqrt()
}

/// Which overlaps a triangle is above or below in: one bit for each, so that pairs are told quickly.
struct Sides {
    above: Vec<u64>,
    below: Vec<u64>,
    words: usize,
}

impl Sides {
    fn of(triangle_count: usize, pieces: &[Piece], overlaps: &[Overlap]) -> Self {
        let words = overlaps.len().div_ceil(64);
        let mark = |piece_of: &dyn Fn(&Overlap) -> usize| {
            let mut marks = vec![0; triangle_count * words];
            for (at, overlap) in overlaps.iter().enumerate() {
                for triangle in &pieces[piece_of(overlap)].triangles {
                    marks[triangle.index() * words + at / 64] |= 1 << (at % 64);
                }
            }
            marks
        };
        Self { above: mark(&|overlap| overlap.above), below: mark(&|overlap| overlap.below), words }
    }

    /// The first overlap in which one triangle is above and the other below.
    fn between(&self, upper: TriangleId, lower: TriangleId) -> Option<usize> {
        let word =
            |at: usize| self.above[upper.index() * self.words + at] & self.below[lower.index() * self.words + at];
        let at = (0..self.words).find(|&at| word(at) != 0)?;
        Some(64 * at + word(at).trailing_zeros() as usize)
    }
}

/// The vertices that can be reached from one over vertices that count.
pub(in crate::untangle) fn connected(
    topology: &Topology,
    seed: VertexId,
    counts: impl Fn(VertexId) -> bool,
) -> Vec<VertexId> {
    let mut reached = FxHashSet::from_iter([seed]);
    let mut order = vec![seed];
    let mut at = 0;
    while at < order.len() {
        for other in topology.ring(order[at]) {
            if counts(other) && reached.insert(other) {
                order.push(other);
            }
        }
        at += 1;
    }
    order
}
