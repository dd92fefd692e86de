//! A body's own sign: how far a point is from a closed body, and on which side.
//!
//! The nearest point of the body's triangles gives the distance; the normal there, weighted by angles at corners and
//! edges, gives the side. (Baraff, Witkin and Kass 2003, 5.4, decide between cloth and solids by the solid's normals)
//!
//! Guarantees: the right sign near a closed body whose triangles are consistently turned and do not cross.
//! Does not: know inside from outside where a body overlaps itself; there the nearest sheet decides.

use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::intersection::triangle_tree;
use unsnarl_geometry::{Aabb, DVec3, EdgeId, Topology, TopologyError, TriangleId, VertexId};

/// A closed body, ready to be asked.
pub struct BodySurface {
    topology: Topology,
    positions: Vec<DVec3>,
    tree: Bvh,
}

/// The body as seen from a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// Distance to the body, metres; negative inside.
    pub signed_distance: f64,
    /// The way out, length 1.
    pub outward: DVec3,
    /// The nearest triangle.
    pub triangle: TriangleId,
    /// Where in it the nearest point is.
    pub weights: [f64; 3],
    /// Whether the nearest point lies on the border of an open surface: then there is no side.
    pub is_past_border: bool,
}

/// Below this distance, metres, the direction comes from the normals and not from the nearest point.
const ON_SURFACE: f64 = 1e-7;

impl BodySurface {
    /// Gets a body ready. Its triangles have to face outward.
    pub fn new(positions: Vec<DVec3>, triangles: &[[u32; 3]]) -> Result<Self, TopologyError> {
        let topology = Topology::new(positions.len(), triangles)?;
        let tree = triangle_tree(&topology, &positions);
        Ok(Self { topology, positions, tree })
    }

    /// Moves the body.
    pub fn place(&mut self, positions: Vec<DVec3>) {
        self.positions = positions;
        self.tree.refit_on_points(&self.positions);
    }

    /// Calls `visit` with every triangle whose box meets a given box.
    pub fn triangles_in(&self, region: &Aabb, mut visit: impl FnMut(TriangleId)) {
        self.tree.query(region, |triangle| visit(TriangleId::new(triangle)));
    }

    /// The body as seen from a point; `None` when it is farther than `reach`, metres.
    pub fn seen_from(&self, point: DVec3, reach: f64) -> Option<Sight> {
        let corners =
            |triangle: usize| self.topology.triangles()[triangle].map(|corner| self.positions[corner.index()]);
        let distance_squared = |triangle: usize| point_triangle(point, corners(triangle)).distance_squared();
        let (_, nearest) = self.tree.closest_to(point, reach * reach, distance_squared)?;
        let closest = point_triangle(point, corners(nearest));
        let normal = self.normal_at(TriangleId::new(nearest), closest.weights);
        let distance = closest.offset.length();
        let side = if closest.offset.dot(normal) < 0.0 { -1.0 } else { 1.0 };
        let outward = match closest.offset.try_normalize() {
            Some(direction) if distance > ON_SURFACE => side * direction,
            _ => normal.normalize_or_zero(),
        };
        Some(Sight {
            signed_distance: side * distance,
            outward,
            triangle: TriangleId::new(nearest),
            weights: closest.weights,
            is_past_border: self.is_on_border(TriangleId::new(nearest), closest.weights),
        })
    }

    fn is_on_border(&self, triangle: TriangleId, weights: [f64; 3]) -> bool {
        let corners = self.topology.triangle(triangle);
        let is_border = |edge: &EdgeId| self.topology.is_boundary(*edge);
        match inside(corners, weights)[..] {
            [vertex] => self.topology.vertex_edges(vertex).iter().any(is_border),
            [a, b] => self.topology.find_edge(a, b).is_some_and(|edge| is_border(&edge)),
            _ => false,
        }
    }

    /// The normal of the face, edge or corner that a point with these weights lies on; not of unit length.
    fn normal_at(&self, triangle: TriangleId, weights: [f64; 3]) -> DVec3 {
        match inside(self.topology.triangle(triangle), weights)[..] {
            [vertex] => self.vertex_normal(vertex),
            [a, b] => match self.topology.find_edge(a, b) {
                Some(edge) => self.topology.edge_triangles(edge).iter().map(|&face| self.face_normal(face)).sum(),
                None => self.face_normal(triangle),
            },
            _ => self.face_normal(triangle),
        }
    }

    fn at(&self, vertex: VertexId) -> DVec3 {
        self.positions[vertex.index()]
    }

    fn face_normal(&self, triangle: TriangleId) -> DVec3 {
        let [a, b, c] = self.topology.triangle(triangle).map(|corner| self.at(corner));
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// The sum of the normals around a vertex, each weighed by its angle there.
    fn vertex_normal(&self, vertex: VertexId) -> DVec3 {
        let of_triangle = |&triangle: &TriangleId| {
            let corners = self.topology.triangle(triangle);
            let corner = corners.iter().position(|&corner| corner == vertex).unwrap_or(0);
            let [here, next, last] = [0, 1, 2].map(|step| self.at(corners[(corner + step) % 3]));
            let (first, second) = ((next - here).normalize_or_zero(), (last - here).normalize_or_zero());
            first.dot(second).clamp(-1.0, 1.0).acos() * self.face_normal(triangle)
        };
        self.topology.vertex_triangles(vertex).iter().map(of_triangle).sum()
    }
}

/// The corners that a point with these weights depends on.
fn inside(corners: [VertexId; 3], weights: [f64; 3]) -> Vec<VertexId> {
    const NONE: f64 = 1e-9;
    (0..3).filter(|&k| weights[k] > NONE).map(|k| corners[k]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::random::Random;

    /// A tetrahedron with a sharp tip: the nearest feature of many points is an edge or a corner.
    fn spike() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions = vec![
            DVec3::new(0.0, 0.0, 3.0),
            DVec3::new(1.0, 0.0, 0.0),
            DVec3::new(-0.5, 0.8, 0.0),
            DVec3::new(-0.5, -0.8, 0.0),
        ];
        (positions, vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    }

    #[test]
    fn the_sign_is_that_of_the_planes_of_a_convex_body() {
        let (positions, triangles) = spike();
        let surface = BodySurface::new(positions.clone(), &triangles).unwrap();
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let point = 3.0 * random.direction() * random.between(0.0, 1.3);
            let heights = triangles.iter().map(|corners| {
                let [a, b, c] = corners.map(|corner| positions[corner as usize]);
                (b - a).cross(c - a).normalize().dot(point - a)
            });
            let highest = heights.fold(f64::NEG_INFINITY, f64::max);
            let sight = surface.seen_from(point, f64::INFINITY).unwrap();
            assert_eq!(sight.signed_distance > 0.0, highest > 0.0, "{point}");
            if highest < 0.0 {
                assert!((sight.signed_distance - highest).abs() < 1e-12, "inside the nearest plane decides");
            }
            let out = point + (1e-3 - sight.signed_distance) * sight.outward;
            assert!(surface.seen_from(out, f64::INFINITY).unwrap().signed_distance > 0.0, "{point} goes out");
        }
    }

    #[test]
    fn what_is_out_of_reach_is_not_seen() {
        let (positions, triangles) = spike();
        let surface = BodySurface::new(positions, &triangles).unwrap();
        assert_eq!(surface.seen_from(DVec3::new(0.0, 0.0, 5.0), 1.5), None);
        assert!(surface.seen_from(DVec3::new(0.0, 0.0, 5.0), 2.5).is_some());
    }
}
