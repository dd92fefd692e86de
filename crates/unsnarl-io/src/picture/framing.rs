//! What a picture is about: the box that its views should fill.
//!
//! A mesh is sorted into its connected pieces. The box begins with the piece that matters most (most of it is marked,
//! else the largest area) and takes in every piece that leaves it large enough to be seen; then single vertices far
//! away from nearly all others are left out too.
//!
//! Guarantees: the same box for the same mesh, in any order of its triangles; the piece that matters most is in it,
//! but for such vertices; vertices of no triangle and coordinates that are not finite change nothing.
//! Does not: say what is seen of a piece outside the box; a view cuts it off at its area.

use unsnarl_geometry::{Aabb, DVec3};

/// A piece joins as long as the box is at most this many times as large as that of the piece that matters most.
const LARGEST_GROWTH: f64 = 3.0;
/// Surroundings join as long as the box grows by no more than this factor.
const SURROUNDINGS_GROWTH: f64 = 1.6;
/// The share of the vertices that may be far away on either side of an axis, and by how many extents of the others.
const STRAY_SHARE: f64 = 0.005;
const STRAY_DISTANCE: f64 = 1.5;

/// What a view should show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The box to fill a view with.
    pub bounds: Aabb,
    /// Pieces that are outside, wholly or for the most part.
    pub pieces_outside: usize,
}

/// A connected piece.
struct Piece {
    bounds: Aabb,
    area: f64,
    marked: usize,
    first_vertex: usize,
}

impl Frame {
    /// The box of what matters in a mesh; `is_marked` tells triangles that the picture is about.
    pub fn of_mesh(positions: &[DVec3], triangles: &[[u32; 3]], is_marked: impl Fn(usize) -> bool) -> Self {
        let (pieces, piece_of) = pieces(positions, triangles, is_marked);
        let Some(main) =
            pieces.iter().max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))
        else {
            return Self { bounds: Aabb::of_points(positions.iter().copied()), pieces_outside: 0 };
        };
        let limit = LARGEST_GROWTH * size(main.bounds);
        let mut nearest: Vec<&Piece> = pieces.iter().collect();
        let from_main = |piece: &Piece| size(main.bounds.union(piece.bounds));
        nearest.sort_by(|a, b| from_main(a).total_cmp(&from_main(b)).then(a.first_vertex.cmp(&b.first_vertex)));
        let mut bounds = main.bounds;
        let mut inside = vec![false; positions.len()];
        for piece in nearest {
            if size(bounds.union(piece.bounds)) <= limit {
                bounds = bounds.union(piece.bounds);
                inside[piece.first_vertex] = true;
            }
        }
        let pieces_outside = pieces.iter().filter(|piece| !inside[piece.first_vertex]).count();
        let shown = piece_of.iter().enumerate().filter_map(|(vertex, piece)| {
            let piece = (*piece)?;
            inside[piece].then_some(positions[vertex])
        });
        Self { bounds: without_strays(bounds, shown.collect()), pieces_outside }
    }

    /// Both, where a view has to show both; the larger one alone where the other would become too small.
    pub fn with(self, other: Self) -> Self {
        let (large, small) = if size(self.bounds) >= size(other.bounds) { (self, other) } else { (other, self) };
        let both = large.bounds.union(small.bounds);
        let bounds = if size(both) <= LARGEST_GROWTH * size(small.bounds) { both } else { self.bounds };
        Self { bounds, pieces_outside: self.pieces_outside.max(other.pieces_outside) }
    }

    /// Takes in what stands around, such as the body that wears the cloth, unless what matters would become much
    /// smaller.
    pub fn with_surroundings(self, bounds: Aabb) -> Self {
        let all = self.bounds.union(bounds);
        if size(all) <= SURROUNDINGS_GROWTH * size(self.bounds) { Self { bounds: all, ..self } } else { self }
    }

    /// A remark for the caption, where something is outside.
    pub fn remark(&self) -> String {
        match self.pieces_outside {
            0 => String::new(),
            1 => "; 1 piece far away is not shown".to_owned(),
            count => format!("; {count} pieces far away are not shown"),
        }
    }
}

/// What decides which piece matters most.
fn rank(piece: &Piece) -> (usize, f64, std::cmp::Reverse<usize>) {
    (piece.marked, piece.area, std::cmp::Reverse(piece.first_vertex))
}

fn size(bounds: Aabb) -> f64 {
    if bounds.is_empty() { 0.0 } else { bounds.extent().max_element() }
}

/// The pieces of a mesh, and the first vertex of every vertex's piece.
fn pieces(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    is_marked: impl Fn(usize) -> bool,
) -> (Vec<Piece>, Vec<Option<usize>>) {
    let is_usable = |corners: &[u32; 3]| {
        corners.iter().all(|&corner| positions.get(corner as usize).is_some_and(|position| position.is_finite()))
    };
    let mut parent: Vec<usize> = (0..positions.len()).collect();
    for corners in triangles.iter().filter(|corners| is_usable(corners)) {
        for side in 1..3 {
            let (a, b) = (root(&mut parent, corners[0] as usize), root(&mut parent, corners[side] as usize));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut found: Vec<Option<Piece>> = (0..positions.len()).map(|_| None).collect();
    let mut piece_of = vec![None; positions.len()];
    for (index, corners) in triangles.iter().enumerate().filter(|(_, corners)| is_usable(corners)) {
        let first_vertex = root(&mut parent, corners[0] as usize);
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        let empty = || Piece { bounds: Aabb::EMPTY, area: 0.0, marked: 0, first_vertex };
        let piece = found[first_vertex].get_or_insert_with(empty);
        piece.bounds = piece.bounds.with_point(a).with_point(b).with_point(c);
        piece.area += (b - a).cross(c - a).length();
        piece.marked += usize::from(is_marked(index));
        corners.iter().for_each(|&corner| piece_of[corner as usize] = Some(first_vertex));
    }
    (found.into_iter().flatten().collect(), piece_of)
}

/// The smallest vertex of a piece.
fn root(parent: &mut [usize], vertex: usize) -> usize {
    let mut at = vertex;
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

/// The box without single vertices that are much farther away than nearly all others.
fn without_strays(bounds: Aabb, points: Vec<DVec3>) -> Aabb {
    let stray_count = (STRAY_SHARE * points.len() as f64) as usize;
    let mut result = bounds;
    let mut usual = [[0.0; 2]; 3];
    for axis in 0..3 {
        let mut along: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        along.sort_by(f64::total_cmp);
        let [Some(&low), Some(&high)] =
            [stray_count, along.len().saturating_sub(1 + stray_count)].map(|at| along.get(at))
        else {
            return bounds;
        };
        usual[axis] = [low, high];
    }
    let reach = STRAY_DISTANCE * usual.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
    for axis in 0..3 {
        let [low, high] = usual[axis];
        if bounds.min[axis] < low - reach {
            result.min[axis] = low - 0.1 * reach;
        }
        if bounds.max[axis] > high + reach {
            result.max[axis] = high + 0.1 * reach;
        }
    }
    result
}
