//! What goes with the triangles of a refined mesh: panels, labels, lines.
//!
//! Guarantees: panels stay true to size: their new vertices are the midpoints of uv edges, so seams stay seams and each
//! panel covers what it covered. The four children of a triangle inherit its labels.

use crate::geometry::{DVec2, UvMap};

/// A uv map after one split, for triangles that become `4t..4t + 4`.
pub fn split_uv(uv: &UvMap) -> UvMap {
    // Sides of uv triangles by their two uv vertices, the smaller first.
    let mut sides: Vec<(u64, u32)> = Vec::with_capacity(3 * uv.triangles.len());
    for (triangle, corners) in uv.triangles.iter().enumerate() {
        for side in 0..3 {
            let (a, b) = (corners[side], corners[(side + 1) % 3]);
            sides.push(((u64::from(a.min(b)) << 32) | u64::from(a.max(b)), (3 * triangle + side) as u32));
        }
    }
    sides.sort_unstable();
    let mut coordinates = uv.coordinates.clone();
    let mut middles = vec![0_u32; sides.len()];
    let at = |vertex: u32| uv.coordinates.get(vertex as usize).copied().unwrap_or(DVec2::ZERO);
    let mut last = None;
    for (key, side) in sides {
        let (a, b) = ((key >> 32) as u32, key as u32);
        if a == b {
            middles[side as usize] = a;
            continue;
        }
        if last != Some(key) {
            coordinates.push(0.5 * (at(a) + at(b)));
            last = Some(key);
        }
        middles[side as usize] = (coordinates.len() - 1) as u32;
    }
    let children = |(triangle, &[a, b, c]): (usize, &[u32; 3])| {
        let [ab, bc, ca] = [0, 1, 2].map(|side| middles[3 * triangle + side]);
        [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    };
    UvMap { coordinates, triangles: uv.triangles.iter().enumerate().flat_map(children).collect() }
}

/// What each child of each triangle inherits after some levels.
pub fn inherited<T: Copy>(of_triangle: &[T], levels: u32) -> Vec<T> {
    let children = 1_usize << (2 * levels);
    of_triangle.iter().flat_map(|&own| std::iter::repeat_n(own, children)).collect()
}
