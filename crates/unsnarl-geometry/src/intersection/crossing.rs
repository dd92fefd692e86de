//! Edges that pass through triangles, in the symbolically perturbed mesh.

use super::separation::{Reach, surely_only_corner};
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
        (0, ..) if !reach.parts(a, b, positions) => crossings_of_disjoint(a, b, positions, reach).into_parts(),
        (1, in_a, in_b) if !reach.parts_at_corner(turned(a, in_a), turned(b, in_b), positions) => {
            crossings_at_corner((a, in_a), (b, in_b), positions, reach.orientation).into_parts()
        }
        _ => NO_CROSSING,
    }
}

const NO_CROSSING: ([Option<PairCrossing>; 2], usize) = ([None; 2], 0);

/// Triangles that straddle each other's plane cut the line common to both planes with two edges each, those at the
/// corner that has its side for itself. Four orientations tell how the four points lie on the line, and so which edges
/// end in the other triangle.
#[inline(never)]
fn crossings_of_disjoint(a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3], reach: Reach) -> Found {
    let mut found = Found::default();
    if reach.parts(b, a, positions) || reach.parts_between(a, b, positions) {
        return found;
    }
    let (a, b) = (a.map(|vertex| indexed(vertex, positions)), b.map(|vertex| indexed(vertex, positions)));
    let Some(a_lone) = lone_corner(reach.orientation.sides_of_plane(b, a)) else { return found };
    let Some(b_lone) = lone_corner(reach.orientation.sides_of_plane(a, b)) else { return found };
    let (a_edges, b_edges) = (edges_at(a_lone), edges_at(b_lone));
    let ends = |triangle: [IndexedPoint; 3], lone: usize, edge: usize| {
        let other = if edge == lone { (lone + 1) % 3 } else { edge };
        [triangle[lone], triangle[other]]
    };
    let order = a_edges.map(|ours| {
        b_edges.map(|theirs| {
            let ([p, q], [u, v]) = (ends(a, a_lone, ours), ends(b, b_lone, theirs));
            reach.orientation.side_of_plane(p, q, u, v)
        })
    });
    for edge in 0..2 {
        if order[edge][0] != order[edge][1] {
            found.push(PairSide::First, a_edges[edge]);
        }
        if order[0][edge] != order[1][edge] {
            found.push(PairSide::Second, b_edges[edge]);
        }
    }
    found
}

/// The corner on a side of its own, if all are not on one side.
fn lone_corner([first, second, third]: [Side; 3]) -> Option<usize> {
    match (first == second, second == third) {
        (true, true) => None,
        (true, false) => Some(2),
        (false, true) => Some(0),
        (false, false) => Some(1),
    }
}

/// The two edges at a corner: edge `k` joins corner `k` to corner `k + 1`.
fn edges_at(corner: usize) -> [usize; 2] {
    [corner, (corner + 2) % 3]
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
