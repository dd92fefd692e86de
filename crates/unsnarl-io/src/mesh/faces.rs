//! Faces as a file holds them, and their triangles.
//!
//! A polygon becomes a fan from its first corner; where that would turn a triangle over (a corner bends inwards) or
//! make one without area, a fan from another corner is taken, and ears are cut off where no fan serves.
//!
//! Guarantees: a polygon with `n` different corners gives `n - 2` triangles, in the order of faces; convex polygons
//! always give the fan from the first corner.
//! Does not: split polygons that cross themselves sensibly; ears are looked for up to 64 corners.

use unsnarl_geometry::DVec3;

/// The faces of a file that are not all plain triangles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faces {
    /// Where each face starts in `corners`; one more entry than faces.
    pub starts: Vec<u32>,
    /// Vertex indices, face after face.
    pub corners: Vec<u32>,
    /// Uv indices beside `corners`; empty without uv.
    pub uv_corners: Vec<u32>,
    /// The face of every triangle, ascending. A face without usable triangles has none.
    pub triangle_face: Vec<u32>,
}

impl Faces {
    /// Number of faces.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no face.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The corners of a face.
    pub fn corners(&self, face: usize) -> &[u32] {
        &self.corners[self.starts[face] as usize..self.starts[face + 1] as usize]
    }

    /// The uv corners of a face; empty without uv.
    pub fn uv_corners(&self, face: usize) -> &[u32] {
        if self.uv_corners.is_empty() {
            return &[];
        }
        &self.uv_corners[self.starts[face] as usize..self.starts[face + 1] as usize]
    }
}

/// Most corners among which ears are looked for, and starts of fans tried.
const MOST_CORNERS_TO_SEARCH: usize = 64;

/// Triangles of a polygon as positions in its list of corners; those that would name a vertex twice are left out.
pub(super) fn triangulate(corners: &[u32], positions: &[DVec3], triangles: &mut Vec<[usize; 3]>) {
    triangles.clear();
    let kept: Vec<usize> = (0..corners.len()).filter(|&at| corners[at] != corners[(at + 1) % corners.len()]).collect();
    match kept.len() {
        0..3 => {}
        3 => triangles.push([kept[0], kept[1], kept[2]]),
        count => {
            let points: Vec<DVec3> = kept.iter().map(|&at| positions[corners[at] as usize]).collect();
            let start = (0..count.min(MOST_CORNERS_TO_SEARCH)).find(|&start| fan_is_good(&points, start));
            match start {
                Some(start) => triangles.extend(fan(count, start)),
                None if count <= MOST_CORNERS_TO_SEARCH => cut_ears(&points, triangles),
                None => triangles.extend(fan(count, 0)),
            }
            for triangle in triangles.iter_mut() {
                *triangle = triangle.map(|at| kept[at]);
            }
        }
    }
    triangles.retain(|triangle| {
        let [a, b, c] = triangle.map(|at| corners[at]);
        a != b && b != c && a != c
    });
}

fn fan(count: usize, start: usize) -> impl Iterator<Item = [usize; 3]> {
    (1..count - 1).map(move |step| [start, (start + step) % count, (start + step + 1) % count])
}

/// Twice the area vector of a polygon: the sum of its corners' cross products.
fn area_vector(points: &[DVec3]) -> DVec3 {
    let origin = points[0];
    (1..points.len() - 1).map(|at| (points[at] - origin).cross(points[at + 1] - origin)).sum()
}

fn fan_is_good(points: &[DVec3], start: usize) -> bool {
    let up = area_vector(points);
    fan(points.len(), start).all(|triangle| turns_left(triangle.map(|at| points[at]), up))
}

fn turns_left([a, b, c]: [DVec3; 3], up: DVec3) -> bool {
    (b - a).cross(c - b).dot(up) > 0.0
}

/// Cuts corners off that turn left and have no other corner inside; gives up with a fan.
fn cut_ears(points: &[DVec3], triangles: &mut Vec<[usize; 3]>) {
    let up = area_vector(points);
    let mut left: Vec<usize> = (0..points.len()).collect();
    while left.len() > 3 {
        let count = left.len();
        let ear = (0..count).find(|&at| {
            let triangle = [left[(at + count - 1) % count], left[at], left[(at + 1) % count]];
            let [a, b, c] = triangle.map(|corner| points[corner]);
            turns_left([a, b, c], up)
                && left.iter().filter(|corner| !triangle.contains(corner)).all(|&corner| {
                    let point = points[corner];
                    ![[a, b], [b, c], [c, a]].iter().all(|&[from, to]| (to - from).cross(point - from).dot(up) >= 0.0)
                })
        });
        let Some(at) = ear else { break };
        triangles.push([left[(at + count - 1) % count], left[at], left[(at + 1) % count]]);
        left.remove(at);
    }
    triangles.extend((1..left.len() - 1).map(|at| [left[0], left[at], left[at + 1]]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangles_of(points: &[[f64; 2]], corners: &[u32]) -> Vec<[usize; 3]> {
        let positions: Vec<DVec3> = points.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect();
        let mut triangles = Vec::new();
        triangulate(corners, &positions, &mut triangles);
        triangles
    }

    const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];

    #[test]
    fn a_convex_polygon_is_a_fan_from_its_first_corner() {
        assert_eq!(triangles_of(&SQUARE, &[0, 1, 2, 3]), [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn an_arrowhead_is_split_at_its_notch() {
        let arrow = [[0.0, 0.0], [2.0, -1.0], [1.0, 0.0], [2.0, 1.0]];
        let turned = triangles_of(&arrow, &[1, 2, 3, 0]);
        assert_eq!(turned, [[1, 2, 3], [1, 3, 0]]);
    }

    #[test]
    fn a_comb_is_cut_into_ears_of_the_same_area() {
        let comb = [[0.0, 0.0], [5.0, 0.0], [5.0, 3.0], [4.0, 1.0], [3.0, 3.0], [2.0, 1.0], [1.0, 3.0], [0.0, 1.0]];
        let corners: Vec<u32> = (0..8).collect();
        let triangles = triangles_of(&comb, &corners);
        assert_eq!(triangles.len(), 6);
        let area = |[a, b, c]: [[f64; 2]; 3]| 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
        let areas: Vec<f64> = triangles.iter().map(|triangle| area(triangle.map(|at| comb[at]))).collect();
        assert!(areas.iter().all(|&area| area > 0.0), "{areas:?}");
        let shoelace: f64 =
            (0..8).map(|at| 0.5 * (comb[at][0] * comb[(at + 1) % 8][1] - comb[(at + 1) % 8][0] * comb[at][1])).sum();
        assert!((areas.iter().sum::<f64>() - shoelace).abs() < 1e-12);
    }

    #[test]
    fn a_quad_that_repeats_a_corner_is_a_triangle() {
        assert_eq!(triangles_of(&SQUARE, &[0, 1, 1, 2]), [[0, 2, 3]]);
        assert!(triangles_of(&SQUARE, &[0, 1, 0]).is_empty());
    }
}
