//! Pattern search for one node: the place with the best worst element. (Bridson 2003, 5.5, table 5.1)
//!
//! Quality of a node = the least quality of its elements, plus on the boundary the least of its triangles. Directions
//! are tried in a fixed order and the first gain is taken; a round without gain halves the step; after four the node
//! is left.

use super::mean_normal;
use crate::tet_mesh::quality::triangle_quality;
use unsnarl_geometry::DVec3;

/// Directions that spread over the sphere.
const INNER_DIRECTIONS: [DVec3; 7] = [
    DVec3::new(1.0, 0.0, 0.0),
    DVec3::new(0.2188, 0.9758, 0.0),
    DVec3::new(0.2188, -0.5972, -0.7717),
    DVec3::new(-0.0541, 0.2364, 0.9701),
    DVec3::new(-0.9017, -0.3457, 0.2596),
    DVec3::new(0.2186, -0.8664, 0.4489),
    DVec3::new(-0.5882, 0.3562, -0.7260),
];

/// The first step, in distances of the node from its nearest opposite face.
const FIRST_STEP: f64 = 0.05;
/// Rounds without gain after which a node is left.
const STRIKES: u32 = 4;
/// Rounds at most.
const ROUNDS: u32 = 24;

/// The surroundings of a node, gathered once for many trials.
#[derive(Default)]
pub struct Neighbourhood {
    /// Faces opposite the node, one for each element.
    pub faces: Vec<Face>,
    /// Sides opposite the node, one for each boundary triangle; empty inside.
    pub sides: Vec<[DVec3; 2]>,
}

/// A face opposite a node that moves, with what does not depend on the node.
#[derive(Clone, Copy, Debug)]
pub struct Face {
    corners: [DVec3; 3],
    normal: DVec3,
    /// Twice the area.
    area: f64,
    inverse_area: f64,
    longest_squared: f64,
}

impl Face {
    /// With a node in front the corners make a positive element.
    #[inline]
    pub fn new(corners: [DVec3; 3]) -> Self {
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a);
        let longest_squared = (b - a).length_squared().max((c - a).length_squared()).max((c - b).length_squared());
        let area = normal.length();
        Self { corners, normal, area, inverse_area: area.recip(), longest_squared }
    }

    /// The quality of the element with its other corner at a point, as [`crate::tet_mesh::quality::tet_quality`].
    #[inline]
    fn quality(&self, point: DVec3) -> f64 {
        let [u, v, w] = self.corners.map(|corner| corner - point);
        let volume = self.normal.dot(u);
        if volume <= 0.0 {
            return 0.0;
        }
        let normals = [w.cross(v), u.cross(w), v.cross(u)];
        let [first, second, third] = normals.map(|normal| normal.length());
        let inverse = [first, second, third].map(f64::recip);
        let base = normals.map(|normal| self.normal.dot(normal) * self.inverse_area);
        let least = (base[0] * inverse[0]).min(base[1] * inverse[1]).min(base[2] * inverse[2]);
        let cosine = |i: usize, j: usize| normals[i].dot(normals[j]) * (inverse[i] * inverse[j]);
        let least = least.min(cosine(0, 1)).min(cosine(0, 2)).min(cosine(1, 2));
        let longest = u.length_squared().max(v.length_squared()).max(w.length_squared()).max(self.longest_squared);
        let largest = self.area.max(first).max(second).max(third);
        volume / (largest * longest.sqrt()) + 0.25 * (1.0 + least)
    }

    /// Six times the volume of the element.
    #[inline]
    fn volume(&self, point: DVec3) -> f64 {
        self.normal.dot(self.corners[0] - point)
    }
}

impl Neighbourhood {
    /// The least quality of the elements with the node at a point.
    pub fn tets_quality(&self, point: DVec3) -> f64 {
        self.faces.iter().map(|face| face.quality(point)).fold(f64::INFINITY, f64::min)
    }

    /// The least quality of the triangles with the node at a point; 0 inside.
    fn triangles_quality(&self, point: DVec3) -> f64 {
        let least = |least: f64, &[a, b]: &[DVec3; 2]| least.min(triangle_quality([point, a, b]));
        if self.sides.is_empty() { 0.0 } else { self.sides.iter().fold(f64::INFINITY, least) }
    }

    /// The quality of the node at a point, or `None` as soon as it cannot exceed a value. The element that failed comes
    /// first in later trials.
    fn quality_above(&mut self, point: DVec3, value: f64) -> Option<f64> {
        let triangles = self.triangles_quality(point);
        let limit = value - triangles;
        let mut least = f64::INFINITY;
        for at in 0..self.faces.len() {
            let quality = self.faces[at].quality(point);
            if quality <= limit || quality <= 0.0 {
                self.faces.swap(0, at);
                return None;
            }
            least = least.min(quality);
        }
        Some(least + triangles)
    }

    /// Whether all elements are positive with the node at a point.
    pub fn is_positive(&self, point: DVec3) -> bool {
        self.faces.iter().all(|face| face.volume(point) > 0.0)
    }

    /// The least distance of a point from an opposite face.
    pub fn least_altitude(&self, point: DVec3) -> f64 {
        let altitude = |face: &Face| if face.area > 0.0 { face.volume(point) * face.inverse_area } else { 0.0 };
        self.faces.iter().map(altitude).fold(f64::INFINITY, f64::min)
    }

    /// A better place for a node, if there is one.
    pub fn search(&mut self, start: DVec3) -> Option<DVec3> {
        self.search_through(start, |trial, _| trial)
    }

    /// As [`Neighbourhood::search`], with every trial put where `place` says, given the step.
    pub fn search_through(&mut self, start: DVec3, place: impl Fn(DVec3, f64) -> DVec3) -> Option<DVec3> {
        let mut step = FIRST_STEP * self.least_altitude(start);
        if !(step > 0.0 && step.is_finite()) {
            return None;
        }
        let (directions, count) = self.directions(start)?;
        let (mut point, mut best) = (start, self.tets_quality(start) + self.triangles_quality(start));
        let mut strikes = 0;
        for _ in 0..ROUNDS {
            let mut gained = false;
            for &direction in &directions[..count] {
                let trial = place(point + step * direction, step);
                if let Some(quality) = self.quality_above(trial, best) {
                    (point, best, gained) = (trial, quality, true);
                }
            }
            if !gained {
                strikes += 1;
                step *= 0.5;
                if strikes == STRIKES {
                    break;
                }
            }
        }
        (point != start).then_some(point)
    }

    /// Seven directions inside; on the boundary five square to the normal of the mesh.
    fn directions(&self, point: DVec3) -> Option<([DVec3; 7], usize)> {
        if self.sides.is_empty() {
            return Some((INNER_DIRECTIONS, 7));
        }
        let normal = mean_normal(point, &self.sides)?;
        let along = normal.any_orthonormal_vector();
        let across = normal.cross(along);
        let mut directions = [DVec3::ZERO; 7];
        for (i, direction) in directions[..5].iter_mut().enumerate() {
            let (sine, cosine) = (f64::from(i as u32) * std::f64::consts::TAU / 5.0).sin_cos();
            *direction = cosine * along + sine * across;
        }
        Some((directions, 5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualities_of_faces_are_those_of_elements() {
        let corners = [DVec3::X, DVec3::Y, DVec3::new(0.2, 0.3, 1.1)];
        for point in [DVec3::ZERO, DVec3::new(-0.4, 0.2, 0.1), DVec3::ONE] {
            let [a, b, c] = corners;
            let expected = crate::tet_mesh::quality::tet_quality([point, a, b, c]);
            assert!((Face::new(corners).quality(point) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn directions_are_unit_vectors_that_nearly_cancel() {
        for direction in INNER_DIRECTIONS {
            assert!((direction.length() - 1.0).abs() < 1e-3);
        }
        assert!(INNER_DIRECTIONS.iter().sum::<DVec3>().length() < 0.9);
    }

    #[test]
    fn a_node_off_the_middle_of_an_octahedron_improves_its_worst_element() {
        let ring = [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y];
        let faces =
            (0..4).flat_map(|i| [[DVec3::Z, ring[i], ring[(i + 1) % 4]], [-DVec3::Z, ring[(i + 1) % 4], ring[i]]]);
        let faces = faces.map(Face::new).collect();
        let mut around = Neighbourhood { faces, sides: Vec::new() };
        let start = DVec3::new(0.25, -0.2, 0.3);
        assert!(around.is_positive(start));
        let mut point = start;
        while let Some(better) = around.search(point) {
            assert!(around.tets_quality(better) > around.tets_quality(point));
            point = better;
        }
        assert!(around.tets_quality(point) > 1.2 * around.tets_quality(start));
    }

    #[test]
    fn boundary_nodes_move_square_to_the_normal_of_the_mesh() {
        let ring = [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y];
        let faces = (0..4).map(|i| Face::new([-DVec3::Z, ring[(i + 1) % 4], ring[i]])).collect();
        let sides = (0..4).map(|i| [ring[i], ring[(i + 1) % 4]]).collect();
        let mut around = Neighbourhood { faces, sides };
        let start = DVec3::new(0.3, 0.1, 0.0);
        let found = around.search(start).expect("the middle is better");
        assert!(found.z.abs() < 1e-12 && found.length() < start.length());
    }
}
