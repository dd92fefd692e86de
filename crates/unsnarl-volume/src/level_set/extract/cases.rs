//! How a surface passes through a cell, for each of the 256 patterns of inside corners.
//!
//! On every face, crossed edges are joined in pairs; where all four are crossed, the two inside corners are kept
//! apart. Both cells of a face decide alike, so the pairs join up into closed loops around each cell and the loops of
//! all cells into a closed surface without boundary.
//!
//! Corner `i` of a cell lies at `(i & 1, i >> 1 & 1, i >> 2 & 1)`. Edge `4 a + p + 2 q` runs along axis `a` at `p` on the
//! next axis and `q` on the one after.

use std::sync::LazyLock;

/// The loops of one pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// Crossed edges in order, counter-clockwise seen from outside the body.
    pub(super) loops: Vec<Vec<u8>>,
    /// For each edge, the loop it belongs to.
    pub(super) loop_of_edge: [u8; 12],
}

/// All patterns; bit `i` of the index is set if corner `i` is inside.
pub(super) static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| (0..256).map(|pattern| trace(pattern as u8)).collect());

/// The corners of an edge, the one with the smaller coordinate first.
pub(super) fn edge_corners(edge: usize) -> [usize; 2] {
    let [axis, next, last] = [edge / 4, (edge / 4 + 1) % 3, (edge / 4 + 2) % 3];
    let low = (edge & 1) << next | (edge >> 1 & 1) << last;
    [low, low | 1 << axis]
}

/// The corners of a face, counter-clockwise seen from outside the cell.
fn face_corners(axis: usize, high: usize) -> [usize; 4] {
    let [next, last] = [(axis + 1) % 3, (axis + 2) % 3];
    let base = high << axis;
    let around = [base, base | 1 << next, base | 1 << next | 1 << last, base | 1 << last];
    if high == 1 { around } else { [around[0], around[3], around[2], around[1]] }
}

/// The edge between two corners of a cell.
fn edge_between(a: usize, b: usize) -> usize {
    let axis = (a ^ b).trailing_zeros() as usize;
    let low = a & b;
    4 * axis + (low >> ((axis + 1) % 3) & 1) + 2 * (low >> ((axis + 2) % 3) & 1)
}

/// Whether all four edges of a face are crossed; `axis` is the face's normal, `high` its side of the cell.
pub(super) fn face_is_crossed_twice(pattern: u8, axis: usize, high: usize) -> bool {
    let inside = face_corners(axis, high).map(|corner| pattern >> corner & 1);
    inside == [1, 0, 1, 0] || inside == [0, 1, 0, 1]
}

/// Whether all crossed edges of a face lie on one loop.
pub(super) fn face_has_one_loop(pattern: u8, axis: usize, high: usize) -> bool {
    let corners = face_corners(axis, high);
    let case = &CASES[pattern as usize];
    let loops = [0, 1, 2, 3].map(|i| case.loop_of_edge[edge_between(corners[i], corners[(i + 1) % 4])]);
    loops.iter().all(|&l| l == loops[0])
}

fn trace(pattern: u8) -> Case {
    let inside = |corner: usize| pattern >> corner & 1 == 1;
    let mut next_edge = [u8::MAX; 12];
    for axis in 0..3 {
        for high in 0..2 {
            let corners = face_corners(axis, high);
            for i in 0..4 {
                // The walk enters the body between corners i and i + 1; it leaves at the next change of side.
                if inside(corners[i]) || !inside(corners[(i + 1) % 4]) {
                    continue;
                }
                let leaves = (1..4).find(|k| !inside(corners[(i + 1 + k) % 4])).expect("corner i is outside");
                let enter = edge_between(corners[i], corners[(i + 1) % 4]);
                let leave = edge_between(corners[(i + leaves) % 4], corners[(i + 1 + leaves) % 4]);
                next_edge[enter] = leave as u8;
            }
        }
    }
    let mut case = Case { loops: Vec::new(), loop_of_edge: [u8::MAX; 12] };
    for start in 0..12 {
        if next_edge[start] == u8::MAX || case.loop_of_edge[start] != u8::MAX {
            continue;
        }
        let mut edges = Vec::new();
        let mut edge = start;
        while case.loop_of_edge[edge] == u8::MAX {
            case.loop_of_edge[edge] = case.loops.len() as u8;
            edges.push(edge as u8);
            edge = next_edge[edge] as usize;
        }
        case.loops.push(edges);
    }
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crossed_edge_lies_on_exactly_one_loop_and_no_other_edge_does() {
        for (pattern, case) in CASES.iter().enumerate() {
            let mut count = [0; 12];
            case.loops.iter().flatten().for_each(|&edge| count[edge as usize] += 1);
            for edge in 0..12 {
                let [a, b] = edge_corners(edge).map(|corner| pattern >> corner & 1);
                assert_eq!(count[edge], usize::from(a != b), "pattern {pattern}, edge {edge}");
            }
            assert!(case.loops.iter().all(|edges| edges.len() >= 3));
        }
    }

    #[test]
    fn the_loop_around_one_inside_corner_faces_away_from_it() {
        for corner in 0..8 {
            let case = &CASES[1 << corner];
            let at = |corner: usize| [corner & 1, corner >> 1 & 1, corner >> 2 & 1].map(|c| c as f64);
            let middle = |edge: u8| {
                let [a, b] = edge_corners(edge as usize).map(at);
                unsnarl_geometry::DVec3::from_array([0, 1, 2].map(|i| 0.5 * (a[i] + b[i])))
            };
            let [a, b, c] = [0, 1, 2].map(|i| middle(case.loops[0][i]));
            let corner = unsnarl_geometry::DVec3::from_array(at(corner));
            assert!((b - a).cross(c - a).dot(a - corner) > 0.0);
        }
    }

    #[test]
    fn edges_and_corners_agree() {
        for edge in 0..12 {
            let [a, b] = edge_corners(edge);
            assert_eq!(edge_between(a, b), edge);
            assert_eq!(edge_between(b, a), edge);
        }
    }
}
