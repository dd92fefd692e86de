//! The input surface as a place for nodes to stay on.
//!
//! A node remembers the triangle it lies on. The closest point to a target is looked for from there, over triangles
//! with a common vertex, as long as it comes closer: a node never jumps to another sheet that happens to lie near.
//! Nodes of an old border walk along it in the same way.
//!
//! Guarantees: the answer is a point of the surface (or of the border). Does not: promise the globally closest one.

use unsnarl_geometry::distance::{point_segment, point_triangle};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// More steps than a node ever needs for a move of about an edge.
const MOST_STEPS: usize = 64;

/// A mesh that does not move.
pub(super) struct Surface<'a> {
    pub topology: &'a Topology,
    pub positions: &'a [DVec3],
    /// The first so many vertices are the input's; the others were put between them.
    pub input: usize,
    normals: Vec<DVec3>,
}

/// Where a node lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Foot {
    pub position: DVec3,
    pub triangle: TriangleId,
}

impl<'a> Surface<'a> {
    pub fn new(topology: &'a Topology, positions: &'a [DVec3], input: usize) -> Self {
        let normal = |corners: &[VertexId; 3]| {
            let [a, b, c] = corners.map(|corner| positions[corner.index()]);
            (b - a).cross(c - a).try_normalize().unwrap_or(DVec3::ZERO)
        };
        let normals = topology.triangles().iter().map(normal).collect();
        Self { topology, positions, input, normals }
    }

    /// The unit normal of a triangle; zero for one without area.
    pub fn normal(&self, triangle: TriangleId) -> DVec3 {
        self.normals[triangle.index()]
    }

    fn corners(&self, triangle: TriangleId) -> [DVec3; 3] {
        self.topology.triangle(triangle).map(|corner| self.positions[corner.index()])
    }

    /// The closest point that a walk from a triangle finds.
    pub fn closest_from(&self, target: DVec3, start: TriangleId) -> Foot {
        let mut here = start;
        let mut best = point_triangle(target, self.corners(here));
        for _ in 0..MOST_STEPS {
            if best.weights.iter().all(|&weight| weight > 0.0) {
                break;
            }
            let before = here;
            for corner in self.topology.triangle(before) {
                for &next in self.topology.vertex_triangles(corner) {
                    let found = point_triangle(target, self.corners(next));
                    if found.distance_squared() < best.distance_squared() {
                        (best, here) = (found, next);
                    }
                }
            }
            if here == before {
                break;
            }
        }
        let [a, b, c] = self.corners(here);
        let [u, v, w] = best.weights;
        // A corner is met exactly, so that a node that stands on one keeps its bits.
        let position = match best.weights {
            [1.0, _, _] => a,
            [_, 1.0, _] => b,
            [_, _, 1.0] => c,
            _ => a * u + b * v + c * w,
        };
        Foot { position, triangle: here }
    }

    /// A triangle at a vertex.
    pub fn triangle_at(&self, vertex: VertexId) -> TriangleId {
        self.topology.vertex_triangles(vertex).first().copied().unwrap_or(TriangleId::new(0))
    }

    /// A border edge at a vertex, if it lies on the border.
    pub fn border_edge_at(&self, vertex: VertexId) -> Option<EdgeId> {
        self.topology.vertex_edges(vertex).iter().copied().find(|&edge| self.topology.is_boundary(edge))
    }

    /// The closest point of the border that a walk from one of its edges finds, and the edge it lies on.
    pub fn closest_on_border(&self, target: DVec3, start: EdgeId) -> (DVec3, EdgeId) {
        let on = |edge: EdgeId| {
            let [a, b] = self.topology.edge(edge).map(|vertex| self.positions[vertex.index()]);
            let along = point_segment(target, a, b);
            if along >= 1.0 { b } else { a + (b - a) * along }
        };
        let (mut here, mut best) = (start, on(start));
        for _ in 0..MOST_STEPS {
            let before = here;
            for vertex in self.topology.edge(before) {
                for &next in self.topology.vertex_edges(vertex) {
                    if !self.topology.is_boundary(next) {
                        continue;
                    }
                    let found = on(next);
                    if found.distance_squared(target) < best.distance_squared(target) {
                        (best, here) = (found, next);
                    }
                }
            }
            if here == before {
                break;
            }
        }
        (best, here)
    }

    /// The direction of an edge.
    pub fn edge_direction(&self, edge: EdgeId) -> DVec3 {
        let [a, b] = self.topology.edge(edge).map(|vertex| self.positions[vertex.index()]);
        (b - a).try_normalize().unwrap_or(DVec3::ZERO)
    }

    /// Whether the surface bends at a vertex by more than the angle of a cosine.
    pub fn bends_beyond(&self, vertex: VertexId, cosine: f64) -> bool {
        let around = self.topology.vertex_triangles(vertex);
        around.iter().enumerate().any(|(at, &first)| {
            around[at + 1..].iter().any(|&second| self.normal(first).dot(self.normal(second)) < cosine)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sheets of 4 x 4 quads, a tenth apart.
    fn two_sheets() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for sheet in 0..2_u32 {
            let first = 25 * sheet;
            for at in 0..25 {
                positions.push(DVec3::new(f64::from(at % 5), f64::from(at / 5), 0.1 * f64::from(sheet)));
            }
            for (x, y) in (0..16).map(|at| (at % 4, at / 4)) {
                let corner = first + x + 5 * y;
                triangles.extend([[corner, corner + 1, corner + 6], [corner, corner + 6, corner + 5]]);
            }
        }
        (positions, triangles)
    }

    #[test]
    fn a_walk_finds_the_closest_point_of_its_own_sheet() {
        let (positions, triangles) = two_sheets();
        let topology = Topology::new(positions.len(), &triangles).unwrap();
        let surface = Surface::new(&topology, &positions, positions.len());
        // Closer to the upper sheet, but the node belongs to the lower one.
        let target = DVec3::new(3.3, 2.8, 0.09);
        let foot = surface.closest_from(target, TriangleId::new(0));
        assert!(foot.position.distance(DVec3::new(3.3, 2.8, 0.0)) < 1e-15);
        let foot = surface.closest_from(target, TriangleId::new(40));
        assert!((foot.position.z - 0.1).abs() < 1e-15);
        let beyond = surface.closest_from(DVec3::new(9.0, 2.0, 1.0), TriangleId::new(0));
        assert_eq!(beyond.position, DVec3::new(4.0, 2.0, 0.0));
    }

    #[test]
    fn a_border_node_walks_along_the_border() {
        let (positions, triangles) = two_sheets();
        let topology = Topology::new(positions.len(), &triangles).unwrap();
        let surface = Surface::new(&topology, &positions, positions.len());
        let start = surface.border_edge_at(VertexId::new(0)).unwrap();
        let (point, _) = surface.closest_on_border(DVec3::new(3.5, 0.4, 0.0), start);
        assert!(point.distance(DVec3::new(3.5, 0.0, 0.0)) < 1e-15);
        assert_eq!(surface.border_edge_at(VertexId::new(12)), None);
    }
}
