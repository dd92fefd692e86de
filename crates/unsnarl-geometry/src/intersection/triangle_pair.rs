//! How two closed triangles of one mesh lie to each other, exactly.
//!
//! Triangles that share a vertex or an edge by connectivity always meet there; what counts is whether they meet anywhere
//! else. A triangle without area stands for the segment or point that it covers.

use super::planar::{Projection, segment_meets_triangle, segments_meet};
use super::separation::{Reach, surely_apart, surely_only_corner, surely_unfolded};
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::predicates::{Sign, orient3d};

/// What two closed triangles have in common beyond what they share by connectivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// Nothing.
    Apart,
    /// Some points, but neither passes through the other: a vertex on a face, edges that meet, coplanar overlap.
    Touching,
    /// Each has corners strictly on both sides of the other, and they meet along a segment of positive length.
    Crossing,
}

/// The relation of two different triangles, given by their vertices.
pub fn relation(a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> Relation {
    relation_within(a, b, positions, Reach::UNKNOWN)
}

/// [`relation`], faster where all coordinates are known to differ by no more than a reach.
#[inline]
pub(super) fn relation_within(a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3], reach: Reach) -> Relation {
    match shared_corners(a, b) {
        (0, ..) if reach.parts(a, b, positions) || reach.parts_between(a, b, positions) => Relation::Apart,
        (0, ..) => relation_of_disjoint(a, b, positions),
        (1, in_a, in_b) => {
            let (a, b) = (turned(a, in_a), turned(b, in_b));
            if reach.parts_at_corner(a, b, positions) { Relation::Apart } else { relation_at_corner(a, b, positions) }
        }
        (2, in_a, in_b) => {
            let ([a, u, v], b) = (turned(a, in_a), b[in_b]);
            relation_at_edge([u, v], a, b, positions)
        }
        _ => Relation::Touching,
    }
}

#[inline(never)]
fn relation_of_disjoint(a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> Relation {
    let at = |vertex: VertexId| positions[vertex.index()];
    let (a, b) = (a.map(at), b.map(at));
    if surely_apart(a, b) { Relation::Apart } else { disjoint(a, b) }
}

/// The first corners are one and the same vertex.
#[inline(never)]
fn relation_at_corner(a: [VertexId; 3], b: [VertexId; 3], positions: &[DVec3]) -> Relation {
    let at = |vertex: VertexId| positions[vertex.index()];
    let (a, b) = (a.map(at), b.map(at));
    if surely_only_corner(a, b) { Relation::Apart } else { sharing_vertex(a, b) }
}

#[inline]
fn relation_at_edge([u, v]: [VertexId; 2], a: VertexId, b: VertexId, positions: &[DVec3]) -> Relation {
    let at = |vertex: VertexId| positions[vertex.index()];
    let (u, v, a, b) = (at(u), at(v), at(a), at(b));
    if surely_unfolded([u, v], a, b) { Relation::Apart } else { sharing_edge([u, v], a, b) }
}

/// A triangle that begins with another of its corners.
#[inline]
pub(super) fn turned([a, b, c]: [VertexId; 3], first: usize) -> [VertexId; 3] {
    match first {
        0 => [a, b, c],
        1 => [b, c, a],
        _ => [c, a, b],
    }
}

/// How many vertices two triangles share, and the corner of each that tells where: the shared one if there is one, the
/// one that is not shared if there are two.
#[inline]
pub(super) fn shared_corners(a: [VertexId; 3], b: [VertexId; 3]) -> (usize, usize, usize) {
    let row = |vertex: VertexId| {
        u32::from(vertex == b[0]) | (u32::from(vertex == b[1]) << 1) | (u32::from(vertex == b[2]) << 2)
    };
    let equal = row(a[0]) | (row(a[1]) << 3) | (row(a[2]) << 6);
    match equal {
        0 => (0, 0, 0),
        only if only & (only - 1) == 0 => {
            let place = only.trailing_zeros() as usize;
            (1, place / 3, place % 3)
        }
        _ => {
            let apart_in_a = (0..3).find(|row| (equal >> (3 * row)) & 0b111 == 0).unwrap_or(0);
            let apart_in_b = (0..3).find(|column| (equal >> column) & 0b001_001_001 == 0).unwrap_or(0);
            (equal.count_ones() as usize, apart_in_a, apart_in_b)
        }
    }
}

fn signs_of_corners([a, b, c]: [DVec3; 3], points: [DVec3; 3]) -> [Sign; 3] {
    points.map(|point| orient3d(a, b, c, point))
}

fn straddles(signs: &[Sign]) -> bool {
    signs.contains(&Sign::Positive) && signs.contains(&Sign::Negative)
}

fn strictly_on_one_side(signs: &[Sign]) -> bool {
    signs.iter().all(|&sign| sign == Sign::Positive) || signs.iter().all(|&sign| sign == Sign::Negative)
}

fn touching_if(meets: bool) -> Relation {
    if meets { Relation::Touching } else { Relation::Apart }
}

/// Two triangles without a common vertex.
#[inline(never)]
fn disjoint(a: [DVec3; 3], b: [DVec3; 3]) -> Relation {
    let b_signs = signs_of_corners(a, b);
    if strictly_on_one_side(&b_signs) {
        return Relation::Apart;
    }
    let a_signs = signs_of_corners(b, a);
    if strictly_on_one_side(&a_signs) {
        return Relation::Apart;
    }
    if straddles(&a_signs) && straddles(&b_signs) {
        return along_the_common_line(a, a_signs, b, b_signs);
    }
    touching_if(closed_sets_meet(a, b))
}

/// Both triangles cut the common line of their planes in an interval; how do the intervals lie?
///
/// With the lone corners turned to positive sides, interval starts and ends compare by the orientation of two edges
/// (Devillers and Guigue 2002).
fn along_the_common_line(a: [DVec3; 3], a_signs: [Sign; 3], b: [DVec3; 3], b_signs: [Sign; 3]) -> Relation {
    let (mut a, a_lone_sign) = lone_first(a, a_signs);
    let (mut b, b_lone_sign) = lone_first(b, b_signs);
    if a_lone_sign == Sign::Negative {
        b.swap(1, 2);
    }
    if b_lone_sign == Sign::Negative {
        a.swap(1, 2);
    }
    let start = orient3d(a[0], a[1], b[0], b[1]);
    let end = orient3d(a[0], a[2], b[0], b[2]);
    match (start, end) {
        (Sign::Positive, _) | (_, Sign::Negative) => Relation::Apart,
        (Sign::Negative, Sign::Positive) => Relation::Crossing,
        _ => Relation::Touching,
    }
}

/// Rotates the corner that has its side for itself to the front.
fn lone_first(corners: [DVec3; 3], signs: [Sign; 3]) -> ([DVec3; 3], Sign) {
    let count = |wanted: Sign| signs.iter().filter(|&&sign| sign == wanted).count();
    let lone_sign = if count(Sign::Positive) == 1 { Sign::Positive } else { Sign::Negative };
    let lone = signs.iter().position(|&sign| sign == lone_sign).expect("a straddling triangle has both signs");
    ([0, 1, 2].map(|at| corners[(lone + at) % 3]), lone_sign)
}

/// Whether two closed triangles share a point, for the cases without a proper crossing.
fn closed_sets_meet(a: [DVec3; 3], b: [DVec3; 3]) -> bool {
    let sides = |[p, q, r]: [DVec3; 3]| [[p, q], [q, r], [r, p]];
    match (Projection::of_triangle(a), Projection::of_triangle(b)) {
        (Some(on_a), Some(on_b)) => {
            sides(a).into_iter().any(|side| segment_meets_triangle(side, b, on_b))
                || sides(b).into_iter().any(|side| segment_meets_triangle(side, a, on_a))
        }
        (Some(on_a), None) => sides(b).into_iter().any(|side| segment_meets_triangle(side, a, on_a)),
        (None, Some(on_b)) => sides(a).into_iter().any(|side| segment_meets_triangle(side, b, on_b)),
        (None, None) => sides(a).into_iter().any(|ours| sides(b).into_iter().any(|theirs| segments_meet(ours, theirs))),
    }
}

/// Two triangles whose first corners are one and the same vertex.
///
/// A common point beyond it lies on a ray from it that stays in both until it leaves one through the opposite side.
#[inline(never)]
fn sharing_vertex(a: [DVec3; 3], b: [DVec3; 3]) -> Relation {
    let [v, a1, a2] = a;
    let [_, b1, b2] = b;
    let a_signs = [orient3d(v, b1, b2, a1), orient3d(v, b1, b2, a2)];
    if strictly_on_one_side(&a_signs) {
        return Relation::Apart;
    }
    let b_signs = [orient3d(v, a1, a2, b1), orient3d(v, a1, a2, b2)];
    if strictly_on_one_side(&b_signs) {
        return Relation::Apart;
    }
    let meets = match (Projection::of_triangle(a), Projection::of_triangle(b)) {
        (Some(on_a), Some(on_b)) => {
            segment_meets_triangle([a1, a2], b, on_b) || segment_meets_triangle([b1, b2], a, on_a)
        }
        (Some(on_a), None) => [b1, b2].into_iter().any(|end| ray_enters(v, end, a, on_a)),
        (None, Some(on_b)) => [a1, a2].into_iter().any(|end| ray_enters(v, end, b, on_b)),
        (None, None) => [a1, a2].into_iter().any(|end| [b1, b2].into_iter().any(|other| same_direction(v, end, other))),
    };
    if meets && straddles(&a_signs) && straddles(&b_signs) { Relation::Crossing } else { touching_if(meets) }
}

/// Whether the segment from `corner` to `end` has points of the triangle, whose first corner is `corner`, beyond it.
fn ray_enters(corner: DVec3, end: DVec3, [_, b, c]: [DVec3; 3], projection: Projection) -> bool {
    if end == corner || orient3d(corner, b, c, end) != Sign::Zero {
        return false;
    }
    let turn = projection.orient(corner, b, c);
    let (from_b, to_c) = (projection.orient(corner, b, end), projection.orient(corner, end, c));
    let opposite = -turn;
    from_b != opposite
        && to_c != opposite
        && (from_b == turn || to_c == turn || same_direction(corner, end, b) || same_direction(corner, end, c))
}

/// Whether two rays from one point have one direction.
fn same_direction(from: DVec3, a: DVec3, b: DVec3) -> bool {
    if a == from || b == from || Projection::of_triangle([from, a, b]).is_some() {
        return false;
    }
    (0..3).all(|axis| {
        let (toward_a, toward_b) = (a[axis].partial_cmp(&from[axis]), b[axis].partial_cmp(&from[axis]));
        toward_a == toward_b
    })
}

/// Two triangles with a common edge `u v` and third corners `a`, `b`: they meet beyond it when one is folded flat on the
/// other.
#[inline(never)]
fn sharing_edge([u, v]: [DVec3; 2], a: DVec3, b: DVec3) -> Relation {
    if orient3d(u, v, a, b) != Sign::Zero {
        return Relation::Apart;
    }
    match (Projection::of_triangle([u, v, a]), Projection::of_triangle([u, v, b])) {
        (Some(projection), Some(_)) => touching_if(projection.orient(u, v, a) == projection.orient(u, v, b)),
        (Some(_), None) | (None, Some(_)) => Relation::Apart,
        (None, None) if u == v => touching_if(same_direction(u, a, b)),
        (None, None) => {
            let before = |p: DVec3, q: DVec3| (p.x, p.y, p.z) < (q.x, q.y, q.z);
            let (low, high) = if before(u, v) { (u, v) } else { (v, u) };
            touching_if((before(high, a) && before(high, b)) || (before(a, low) && before(b, low)))
        }
    }
}
