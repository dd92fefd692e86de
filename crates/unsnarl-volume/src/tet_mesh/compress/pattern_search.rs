//! Pattern search for one node: the place with the best worst element. (Bridson 2003, 5.5, table 5.1)
//!
//! Quality of a node = the least quality of its elements, plus on the boundary the least of its triangles. Directions
//! are tried in a fixed order and the first gain is taken; a round without gain halves the step; after four the node
//! is left.

use super::mean_normal;
use crate::tet_mesh::quality::{Limits, Shape, triangle_quality};
use unsnarl_geometry::DVec3;

/// Directions that spread over the sphere.
pub const INNER_DIRECTIONS: [DVec3; 7] = [
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

/// What a search improves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The least quality of the elements plus, on the boundary, the least of the triangles, with no element below a
    /// grade.
    Quality {
        /// The grade.
        floor: f64,
    },
    /// The sum of `grade^-4` over the elements, smaller being better: nearly the worst grade alone, but a node whose
    /// worst element cannot be helped still helps the others. No element may fall below a grade.
    Grades {
        /// The grade.
        floor: f64,
    },
}

/// The surroundings of a node, gathered once for many trials.
pub struct Neighbourhood {
    /// What elements are graded against.
    pub limits: Limits,
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

    /// The shape of the element with its other corner at a point, as [`crate::tet_mesh::quality::shape_of`]; none where
    /// it has no volume.
    #[inline]
    fn shape(&self, point: DVec3) -> Option<Shape> {
        let [u, v, w] = self.corners.map(|corner| corner - point);
        let volume = self.normal.dot(u);
        if volume <= 0.0 {
            return None;
        }
        let normals = [w.cross(v), u.cross(w), v.cross(u)];
        let [first, second, third] = normals.map(|normal| normal.length());
        let inverse = [first, second, third].map(f64::recip);
        let [p, q, r] = [0, 1, 2].map(|i| self.normal.dot(normals[i]) * self.inverse_area * inverse[i]);
        let cosine = |i: usize, j: usize| normals[i].dot(normals[j]) * (inverse[i] * inverse[j]);
        let [s, t, o] = [cosine(0, 1), cosine(0, 2), cosine(1, 2)];
        let longest = u.length_squared().max(v.length_squared()).max(w.length_squared()).max(self.longest_squared);
        let largest = self.area.max(first).max(second).max(third);
        Some(Shape {
            slimness: volume / (largest * longest.sqrt()),
            least_cosine: p.min(q).min(r).min(s.min(t).min(o)),
            most_cosine: p.max(q).max(r).max(s.max(t).max(o)),
        })
    }

    /// Six times the volume of the element.
    #[inline]
    fn volume(&self, point: DVec3) -> f64 {
        self.normal.dot(self.corners[0] - point)
    }
}

impl Neighbourhood {
    /// Nothing around yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, faces: Vec::new(), sides: Vec::new() }
    }

    /// The least quality of the elements with the node at a point, and their least grade; zeros where one is inverted.
    pub fn worst(&self, point: DVec3) -> (f64, f64) {
        let shape = |face: &Face| face.shape(point).unwrap_or(Shape::FLAT);
        self.faces.iter().map(shape).fold((f64::INFINITY, f64::INFINITY), |(quality, grade), shape| {
            (shape.quality().min(quality), shape.grade(&self.limits).min(grade))
        })
    }

    /// The least quality of the triangles with the node at a point; 0 inside.
    fn triangles_quality(&self, point: DVec3) -> f64 {
        let least = |least: f64, &[a, b]: &[DVec3; 2]| least.min(triangle_quality([point, a, b]));
        if self.sides.is_empty() { 0.0 } else { self.sides.iter().fold(f64::INFINITY, least) }
    }

    /// The score of the node at a point, or `None` as soon as it cannot exceed a value. The element that failed comes
    /// first in later trials.
    fn score_above(&mut self, goal: Goal, point: DVec3, value: f64) -> Option<f64> {
        match goal {
            Goal::Quality { floor } => {
                let triangles = self.triangles_quality(point);
                let limit = value - triangles;
                let mut least = f64::INFINITY;
                for at in 0..self.faces.len() {
                    let shape = self.faces[at].shape(point).unwrap_or(Shape::FLAT);
                    let quality = shape.quality();
                    if quality <= limit || shape.grade(&self.limits) < floor || quality <= 0.0 {
                        self.faces.swap(0, at);
                        return None;
                    }
                    least = least.min(quality);
                }
                Some(least + triangles)
            }
            Goal::Grades { floor } => {
                let mut score = 0.0;
                for at in 0..self.faces.len() {
                    let grade = self.faces[at].shape(point)?.grade(&self.limits);
                    score -= (grade * grade * grade * grade).recip();
                    if score <= value || grade < floor {
                        self.faces.swap(0, at);
                        return None;
                    }
                }
                Some(score)
            }
        }
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
    pub fn search(&mut self, goal: Goal, start: DVec3) -> Option<DVec3> {
        self.search_through(goal, start, |trial, _| trial)
    }

    /// As [`Neighbourhood::search`], with every trial put where `place` says, given the step.
    pub fn search_through(&mut self, goal: Goal, start: DVec3, place: impl Fn(DVec3, f64) -> DVec3) -> Option<DVec3> {
        let mut step = FIRST_STEP * self.least_altitude(start);
        if !(step > 0.0 && step.is_finite()) {
            return None;
        }
        let (directions, count) = self.directions(start)?;
        let mut best = self.score_above(goal, start, f64::NEG_INFINITY)?;
        let mut point = start;
        let mut strikes = 0;
        for _ in 0..ROUNDS {
            let mut gained = false;
            for &direction in &directions[..count] {
                let trial = place(point + step * direction, step);
                if let Some(score) = self.score_above(goal, trial, best) {
                    (point, best, gained) = (trial, score, true);
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

    const QUALITY: Goal = Goal::Quality { floor: 0.0 };

    fn limits() -> Limits {
        Limits::new(4.4, [19.0, 143.0])
    }

    #[test]
    fn qualities_of_faces_are_those_of_elements() {
        let corners = [DVec3::X, DVec3::Y, DVec3::new(0.2, 0.3, 1.1)];
        for point in [DVec3::ZERO, DVec3::new(-0.4, 0.2, 0.1), DVec3::ONE] {
            let [a, b, c] = corners;
            let expected = crate::tet_mesh::quality::shape_of([point, a, b, c]);
            let found = Face::new(corners).shape(point).unwrap_or(Shape::FLAT);
            assert!((found.quality() - expected.quality()).abs() < 1e-12);
            assert!((found.grade(&limits()) - expected.grade(&limits())).abs() < 1e-12);
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
        let mut around = Neighbourhood { faces, ..Neighbourhood::new(limits()) };
        let start = DVec3::new(0.25, -0.2, 0.3);
        assert!(around.is_positive(start));
        let mut point = start;
        while let Some(better) = around.search(QUALITY, point) {
            assert!(around.worst(better).0 > around.worst(point).0);
            point = better;
        }
        assert!(around.worst(point).0 > 1.2 * around.worst(start).0);
    }

    #[test]
    fn boundary_nodes_move_square_to_the_normal_of_the_mesh() {
        let ring = [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y];
        let faces = (0..4).map(|i| Face::new([-DVec3::Z, ring[(i + 1) % 4], ring[i]])).collect();
        let sides = (0..4).map(|i| [ring[i], ring[(i + 1) % 4]]).collect();
        let mut around = Neighbourhood { faces, sides, ..Neighbourhood::new(limits()) };
        let start = DVec3::new(0.3, 0.1, 0.0);
        let found = around.search(QUALITY, start).expect("the middle is better");
        assert!(found.z.abs() < 1e-12 && found.length() < start.length());
    }
}
