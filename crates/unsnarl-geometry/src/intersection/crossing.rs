//! Edges that pass through triangles, in the symbolically perturbed mesh.

use super::separation::{Reach, surely_apart, surely_only_corner};
use super::triangle_pair::{shared_corners, turned};
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::predicates::{BoundedOrientation, IndexedPoint, Side};

/// One of the two triangles of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairSide {
    /// The first.
    First,
    /// The second.
    Second,
}

/// An edge of one triangle of a pair passes through the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairCrossing {
    /// Which triangle the edge belongs to.
    pub edge_of: PairSide,
    /// Which of its edges: edge `k` joins corner `k` to corner `k + 1`.
    pub edge: usize,
}

/// The crossings of a pair of triangles: two, or one when they share a vertex (the contour then runs into that loop
/// vertex), or none.
///
/// An edge that shares a vertex with the other triangle does not cross it.
pub fn crossings_of_pair(
    a: [VertexId; 3],
    b: [VertexId; 3],
    positions: &[DVec3],
) -> ([Option<PairCrossing>; 2], usize) {
    crossings_within(a, b, positions, Reach::UNKNOWN)
}

/// [`crossings_of_pair`], faster where all coordinates are known to differ by no more than a reach.
#[inline]
pub(super) fn crossings_within(
    a: [VertexId; 3],
    b: [VertexId; 3],
    positions: &[DVec3],
    reach: Reach,
) -> ([Option<PairCrossing>; 2], usize) {
    match shared_corners(a, b) {
        (0, ..) if !reach.parts(a, b, positions) => {
            crossings_of_disjoint(a, b, positions, reach.orientation).into_parts()
        }
        (1, in_a, in_b) if !reach.parts_at_corner(turned(a, in_a), turned(b, in_b), positions) => {
            crossings_at_corner((a, in_a), (b, in_b), positions, reach.orientation).into_parts()
        }
        _ => NO_CROSSING,
    }
}

const NO_CROSSING: ([Option<PairCrossing>; 2], usize) = ([None; 2], 0);

#[inline(never)]
fn crossings_of_disjoint(
    a: [VertexId; 3],
    b: [VertexId; 3],
    positions: &[DVec3],
    orientation: BoundedOrientation,
) -> Found {
    let at = |vertex: VertexId| positions[vertex.index()];
    let mut found = Found::default();
    if surely_apart(a.map(at), b.map(at)) {
        return found;
    }
    let (a, b) = (a.map(|vertex| indexed(vertex, positions)), b.map(|vertex| indexed(vertex, positions)));
    let b_sides = b.map(|p| orientation.side_of_plane(a[0], a[1], a[2], p));
    if all_equal(b_sides) {
        return found;
    }
    let a_sides = a.map(|p| orientation.side_of_plane(b[0], b[1], b[2], p));
    if all_equal(a_sides) {
        return found;
    }
    for edge in 0..3 {
        let next = (edge + 1) % 3;
        if a_sides[edge] != a_sides[next] && line_pierces(orientation, a[edge], a[next], b) {
            found.push(PairSide::First, edge);
        }
        if b_sides[edge] != b_sides[next] && line_pierces(orientation, b[edge], b[next], a) {
            found.push(PairSide::Second, edge);
        }
    }
    found
}

/// For triangles of which these corners are one and the same vertex: only the edges opposite can cross.
#[inline(never)]
fn crossings_at_corner(
    (a, in_a): ([VertexId; 3], usize),
    (b, in_b): ([VertexId; 3], usize),
    positions: &[DVec3],
    orientation: BoundedOrientation,
) -> Found {
    let at = |vertex: VertexId| positions[vertex.index()];
    let mut found = Found::default();
    if surely_only_corner(turned(a, in_a).map(at), turned(b, in_b).map(at)) {
        return found;
    }
    let (a, b) = (a.map(|vertex| indexed(vertex, positions)), b.map(|vertex| indexed(vertex, positions)));
    let opposite = |corner: usize| ((corner + 1) % 3, (corner + 2) % 3);
    let ((a_start, a_end), (b_start, b_end)) = (opposite(in_a), opposite(in_b));
    if edge_pierces(orientation, a[a_start], a[a_end], b) {
        found.push(PairSide::First, a_start);
    }
    if edge_pierces(orientation, b[b_start], b[b_end], a) {
        found.push(PairSide::Second, b_start);
    }
    found
}

fn indexed(vertex: VertexId, positions: &[DVec3]) -> IndexedPoint {
    IndexedPoint { vertex, position: positions[vertex.index()] }
}

#[derive(Default)]
struct Found {
    crossings: [Option<PairCrossing>; 2],
    count: usize,
}

impl Found {
    fn into_parts(self) -> ([Option<PairCrossing>; 2], usize) {
        (self.crossings, self.count)
    }

    fn push(&mut self, edge_of: PairSide, edge: usize) {
        // In general position two triangles meet in one segment, which has two ends.
        self.crossings[self.count] = Some(PairCrossing { edge_of, edge });
        self.count += 1;
    }
}

fn all_equal(sides: [Side; 3]) -> bool {
    sides[0] == sides[1] && sides[1] == sides[2]
}

/// Whether an edge without an end in one of its corners passes through a triangle.
fn edge_pierces(
    orientation: BoundedOrientation,
    p: IndexedPoint,
    q: IndexedPoint,
    triangle: [IndexedPoint; 3],
) -> bool {
    let [a, b, c] = triangle;
    orientation.side_of_plane(a, b, c, p) != orientation.side_of_plane(a, b, c, q)
        && line_pierces(orientation, p, q, triangle)
}

/// Whether the line through two points passes inside the three sides of a triangle.
fn line_pierces(
    orientation: BoundedOrientation,
    p: IndexedPoint,
    q: IndexedPoint,
    [a, b, c]: [IndexedPoint; 3],
) -> bool {
    let first = orientation.side_of_plane(p, q, a, b);
    first == orientation.side_of_plane(p, q, b, c) && first == orientation.side_of_plane(p, q, c, a)
}
