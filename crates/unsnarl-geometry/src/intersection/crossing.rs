//! Edges that pass through triangles, in the symbolically perturbed mesh.

use super::triangle_pair::surely_apart;
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::predicates::{IndexedPoint, Side, side_of_plane};

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
    let point = |vertex: VertexId| IndexedPoint { vertex, position: positions[vertex.index()] };
    let (a, b) = (a.map(point), b.map(point));
    let mut found = Found { crossings: [None; 2], count: 0 };
    let shared_count = a.iter().filter(|p| b.iter().any(|q| q.vertex == p.vertex)).count();
    match shared_count {
        0 => {
            if surely_apart(a.map(|p| p.position), b.map(|p| p.position)) {
                return (found.crossings, 0);
            }
            let b_sides = b.map(|p| side_of_plane(a[0], a[1], a[2], p));
            if all_equal(b_sides) {
                return (found.crossings, 0);
            }
            let a_sides = a.map(|p| side_of_plane(b[0], b[1], b[2], p));
            if all_equal(a_sides) {
                return (found.crossings, 0);
            }
            for edge in 0..3 {
                let next = (edge + 1) % 3;
                if a_sides[edge] != a_sides[next] && line_pierces(a[edge], a[next], b) {
                    found.push(PairSide::First, edge);
                }
                if b_sides[edge] != b_sides[next] && line_pierces(b[edge], b[next], a) {
                    found.push(PairSide::Second, edge);
                }
            }
        }
        1 => {
            for edge in 0..3 {
                if edge_pierces(a[edge], a[(edge + 1) % 3], b) {
                    found.push(PairSide::First, edge);
                }
                if edge_pierces(b[edge], b[(edge + 1) % 3], a) {
                    found.push(PairSide::Second, edge);
                }
            }
        }
        _ => {}
    }
    (found.crossings, found.count)
}

struct Found {
    crossings: [Option<PairCrossing>; 2],
    count: usize,
}

impl Found {
    fn push(&mut self, edge_of: PairSide, edge: usize) {
        // In general position two triangles meet in one segment, which has two ends.
        self.crossings[self.count] = Some(PairCrossing { edge_of, edge });
        self.count += 1;
    }
}

fn all_equal(sides: [Side; 3]) -> bool {
    sides[0] == sides[1] && sides[1] == sides[2]
}

/// Whether a whole edge passes through a triangle; an edge with an end in one of its corners does not.
fn edge_pierces(p: IndexedPoint, q: IndexedPoint, triangle: [IndexedPoint; 3]) -> bool {
    let [a, b, c] = triangle;
    triangle.iter().all(|corner| corner.vertex != p.vertex && corner.vertex != q.vertex)
        && side_of_plane(a, b, c, p) != side_of_plane(a, b, c, q)
        && line_pierces(p, q, triangle)
}

/// Whether the line through two points passes inside the three sides of a triangle.
fn line_pierces(p: IndexedPoint, q: IndexedPoint, [a, b, c]: [IndexedPoint; 3]) -> bool {
    let first = side_of_plane(p, q, a, b);
    first == side_of_plane(p, q, b, c) && first == side_of_plane(p, q, c, a)
}
