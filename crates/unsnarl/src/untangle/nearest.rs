//! The nearest of some triangles to a point.

use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::intersection::triangle_box;
use unsnarl_geometry::{Aabb, DVec3, Topology, TriangleId};

/// Some triangles of a mesh, to be asked which is nearest.
pub struct NearestTriangle<'a> {
    topology: &'a Topology,
    positions: &'a [DVec3],
    triangles: &'a [TriangleId],
    tree: Bvh,
}

/// A point of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestPoint {
    /// The triangle.
    pub triangle: TriangleId,
    /// Barycentric coordinates of the point.
    pub barycentric: [f64; 3],
    /// From the point of the triangle to the asked point.
    pub offset: DVec3,
}

impl<'a> NearestTriangle<'a> {
    /// `None` where there is no triangle.
    pub fn among(topology: &'a Topology, positions: &'a [DVec3], triangles: &'a [TriangleId]) -> Option<Self> {
        if triangles.is_empty() {
            return None;
        }
        let tree = Bvh::build_from(triangles.len(), |at| triangle_box(topology, positions, triangles[at].index()));
        Some(Self { topology, positions, triangles, tree })
    }

    /// The triangles.
    pub fn triangles(&self) -> &'a [TriangleId] {
        self.triangles
    }

    /// The nearest point of all triangles; of equally near ones that of the smallest triangle. `first_reach`, metres, is a
    /// guess of the distance.
    pub fn to(&self, point: DVec3, first_reach: f64) -> Option<NearestPoint> {
        self.to_any_of(point, first_reach, |_| true)
    }

    /// The same among the triangles that pass a test.
    pub fn to_any_of(
        &self,
        point: DVec3,
        first_reach: f64,
        counts: impl Fn(TriangleId) -> bool,
    ) -> Option<NearestPoint> {
        let bounds = self.tree.bounds();
        let farthest = (bounds.min - point).abs().max((bounds.max - point).abs()).length();
        let mut reach = first_reach.max(1e-9 * farthest).max(f64::MIN_POSITIVE);
        loop {
            let mut best: Option<(f64, NearestPoint)> = None;
            let region = Aabb { min: point - DVec3::splat(reach), max: point + DVec3::splat(reach) };
            self.tree.query(&region, |at| {
                let triangle = self.triangles[at];
                if !counts(triangle) {
                    return;
                }
                let corners = self.topology.triangle(triangle).map(|corner| self.positions[corner.index()]);
                let closest = point_triangle(point, corners);
                let key = closest.distance_squared();
                let nearer =
                    best.is_none_or(|(least, nearest)| key < least || (key == least && triangle < nearest.triangle));
                if nearer {
                    let nearest = NearestPoint { triangle, barycentric: closest.weights, offset: closest.offset };
                    best = Some((key, nearest));
                }
            });
            match best {
                Some((key, nearest)) if key <= reach * reach => return Some(nearest),
                _ if reach > 2.0 * farthest => return best.map(|(_, nearest)| nearest),
                _ => reach *= 2.0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn it_is_the_nearest_of_all() {
        let recipe = Recipe { resolution: 8, cut: Cut::Irregular, seed: 2 };
        let mesh = samples::find("closed").unwrap().make(&recipe).mesh;
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
        let triangles: Vec<TriangleId> = (0..topology.triangle_count()).step_by(3).map(TriangleId::new).collect();
        let nearest = NearestTriangle::among(&topology, &mesh.positions, &triangles).unwrap();
        for point in mesh.positions.iter().map(|&position| position * 1.3 + DVec3::new(0.01, 0.2, -0.03)) {
            let found = nearest.to(point, 1e-3).unwrap();
            let least = triangles
                .iter()
                .map(|&triangle| {
                    let corners = topology.triangle(triangle).map(|corner| mesh.positions[corner.index()]);
                    point_triangle(point, corners).distance_squared()
                })
                .fold(f64::INFINITY, f64::min);
            assert_eq!(found.offset.length_squared(), least);
        }
    }
}
