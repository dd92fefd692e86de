//! Signed distance of a closed triangle mesh, exact everywhere.
//!
//! The distance is that of the closest point; the side comes from the angle-weighted normal of the face, edge or
//! corner where that point lies (Baerentzen and Aanaes 2005). A band of samples would be too thin for coarse
//! elements; this has no band.
//!
//! Guarantees: exact to roundings for a closed oriented manifold that does not meet itself and whose components are
//! nested alternately. [`SignedMesh::new`] checks all of that and refuses other meshes, which go through a level set
//! instead.

use crate::field::Field;
use crate::level_set::{Extraction, LevelSet, MeshError, MeshSettings, winding_number};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{Aabb, DVec3, EdgeId, Topology, TriMesh, VertexId};

/// More components than this are not looked at one by one.
const MOST_COMPONENTS: usize = 64;

/// A mesh with its tree and the normals of its features.
#[derive(Clone, Debug)]
pub struct SignedMesh {
    corners: Vec<[DVec3; 3]>,
    /// For each triangle its own normal, those of its edges (edge `i` from corner `i`) and those of its corners.
    normals: Vec<[DVec3; 7]>,
    tree: Bvh,
    bounds: Aabb,
}

/// How the surface that elements are pushed to was got from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The mesh itself.
    Mesh,
    /// The mesh was open or met itself: a level set of it, by winding numbers.
    Repaired,
    /// A level set.
    LevelSet,
}

impl SignedMesh {
    /// The exact distance of a mesh that is closed and clean; `None` if it is not.
    pub fn new(mesh: &TriMesh) -> Option<Self> {
        if !mesh.positions.iter().all(|position| position.is_finite()) {
            return None;
        }
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).ok()?;
        let oriented = || (0..topology.vertex_count()).all(|vertex| topology.is_oriented(VertexId::new(vertex)));
        if mesh.triangles.is_empty() || !topology.is_closed_manifold() || !oriented() {
            return None;
        }
        let tree = triangle_tree(&topology, &mesh.positions);
        if !find_intersecting_pairs(&topology, &mesh.positions, &tree, |_, _| true).is_empty() {
            return None;
        }
        let turn = nested_turn(mesh, &topology)?;
        Some(Self::of_clean(mesh, &topology, tree, turn))
    }

    /// The surface of a level set as a mesh with distances; `None` if it has no surface.
    pub fn of_level_set(level_set: &LevelSet) -> Option<Self> {
        let mesh = level_set.to_mesh(Extraction::Marching);
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).ok()?;
        let tree = triangle_tree(&topology, &mesh.positions);
        (!mesh.triangles.is_empty()).then(|| Self::of_clean(&mesh, &topology, tree, 1.0))
    }

    /// The distance of any mesh: exact where [`SignedMesh::new`] takes it, else that of a level set with this spacing.
    ///
    /// Triangles that share places but no vertices, as in triangle soups, count as joined.
    pub fn of_any(mesh: &TriMesh, spacing: f64) -> Result<Option<(Self, Source)>, MeshError> {
        if let Some(exact) = Self::new(mesh) {
            return Ok(Some((exact, Source::Mesh)));
        }
        if mesh.bounds().extent().max_element() <= 0.0 {
            return Ok(None);
        }
        let joined = joined(mesh);
        if let Some(exact) = joined.as_ref().and_then(Self::new) {
            return Ok(Some((exact, Source::Mesh)));
        }
        for mesh in joined.iter().chain([mesh]) {
            let level_set = LevelSet::from_mesh(mesh, &MeshSettings::with_spacing(spacing))?;
            if let Some(signed) = Self::of_level_set(&level_set) {
                return Ok(Some((signed, Source::Repaired)));
            }
        }
        Ok(None)
    }

    /// The box around the surface.
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// The area of the surface.
    pub fn area(&self) -> f64 {
        self.corners.iter().map(|[a, b, c]| 0.5 * (*b - *a).cross(*c - *a).length()).sum()
    }

    /// The volume within.
    pub fn volume(&self) -> f64 {
        let center = self.bounds.center();
        let sixfold = |[a, b, c]: &[DVec3; 3]| (*a - center).dot((*b - center).cross(*c - center));
        (self.corners.iter().map(sixfold).sum::<f64>() / 6.0).abs()
    }

    fn of_clean(mesh: &TriMesh, topology: &Topology, tree: Bvh, turn: f64) -> Self {
        let corners: Vec<[DVec3; 3]> =
            mesh.triangles.iter().map(|triangle| triangle.map(|vertex| mesh.positions[vertex as usize])).collect();
        let unit = |[a, b, c]: &[DVec3; 3]| turn * (*b - *a).cross(*c - *a).normalize_or_zero();
        let faces: Vec<DVec3> = corners.iter().map(unit).collect();
        let mut at_corners = vec![DVec3::ZERO; mesh.positions.len()];
        for ((triangle, points), face) in mesh.triangles.iter().zip(&corners).zip(&faces) {
            for i in 0..3 {
                let (to, from) = (points[(i + 1) % 3] - points[i], points[(i + 2) % 3] - points[i]);
                let angle = to.cross(from).length().atan2(to.dot(from));
                at_corners[triangle[i] as usize] += angle * *face;
            }
        }
        let at_edge = |edge: EdgeId| topology.edge_triangles(edge).iter().map(|t| faces[t.index()]).sum::<DVec3>();
        let normals = (0..mesh.triangles.len()).into_par_iter().map(|triangle| {
            let id = unsnarl_geometry::TriangleId::new(triangle);
            let [a, b, c] = topology.triangle_edges(id).map(at_edge);
            let [p, q, r] = mesh.triangles[triangle].map(|vertex| at_corners[vertex as usize]);
            [faces[triangle], a, b, c, p, q, r]
        });
        Self { normals: normals.collect(), bounds: mesh.bounds(), corners, tree }
    }

    /// The closest triangle, and the offset from it.
    fn closest(&self, point: DVec3, bound: f64) -> Option<(usize, [f64; 3], DVec3)> {
        let limit = 1.000_001 * bound * bound;
        let squared = |triangle: usize| point_triangle(point, self.corners[triangle]).distance_squared();
        let (_, triangle) = self.tree.closest_to(point, limit, squared)?;
        let closest = point_triangle(point, self.corners[triangle]);
        Some((triangle, closest.weights, closest.offset))
    }

    /// The normal of the feature where a closest point lies.
    fn feature_normal(&self, triangle: usize, weights: [f64; 3]) -> DVec3 {
        let normals = &self.normals[triangle];
        let at = |i: usize| weights[i] > 0.0;
        match (at(0), at(1), at(2)) {
            (true, true, true) => normals[0],
            (true, true, false) => normals[1],
            (false, true, true) => normals[2],
            (true, false, true) => normals[3],
            (true, false, false) => normals[4],
            (false, true, false) => normals[5],
            _ => normals[6],
        }
    }
}

impl Field for SignedMesh {
    fn value(&self, point: DVec3) -> f64 {
        self.value_and_gradient(point).0
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        self.value_and_gradient(point).1
    }

    fn value_within(&self, point: DVec3, bound: f64) -> f64 {
        match self.closest(point, bound) {
            Some((triangle, weights, offset)) => {
                let outside = offset.dot(self.feature_normal(triangle, weights)) >= 0.0;
                if outside { offset.length() } else { -offset.length() }
            }
            None => self.value(point),
        }
    }

    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        let far = self.bounds.extent().length() + 2.0 * point.distance(self.bounds.center());
        let Some((triangle, weights, offset)) = self.closest(point, far) else { return (f64::INFINITY, DVec3::ZERO) };
        let normal = self.feature_normal(triangle, weights);
        let side = if offset.dot(normal) < 0.0 { -1.0 } else { 1.0 };
        let distance = offset.length();
        let gradient = if distance > 0.0 { side * offset / distance } else { normal.normalize_or_zero() };
        (side * distance, gradient)
    }
}

/// The mesh with one vertex at each place, without the triangles that are flat then; none if nothing would change.
fn joined(mesh: &TriMesh) -> Option<TriMesh> {
    let key = |vertex: u32| {
        mesh.positions.get(vertex as usize).map(|position| position.to_array().map(|x| (x + 0.0).to_bits()))
    };
    let mut first = FxHashMap::default();
    let own: Vec<u32> =
        (0..mesh.positions.len() as u32).map(|vertex| *first.entry(key(vertex)).or_insert(vertex)).collect();
    let is_same = own.iter().enumerate().all(|(vertex, &own)| vertex == own as usize);
    if is_same {
        return None;
    }
    let join = |triangle: &[u32; 3]| triangle.map(|vertex| own.get(vertex as usize).copied().unwrap_or(vertex));
    let is_flat = |[a, b, c]: &[u32; 3]| a == b || b == c || c == a;
    let triangles = mesh.triangles.iter().map(join).filter(|triangle| !is_flat(triangle)).collect();
    Some(TriMesh { positions: mesh.positions.clone(), triangles })
}

/// 1 or -1 where all components, each turned that way, are nested alternately: bodies outward, hollows inward.
fn nested_turn(mesh: &TriMesh, topology: &Topology) -> Option<f64> {
    let count = topology.component_count();
    let mut parts = vec![TriMesh::default(); count.min(MOST_COMPONENTS + 1)];
    if count > MOST_COMPONENTS {
        return None;
    }
    for triangle in &mesh.triangles {
        parts[topology.component(VertexId(triangle[0]))].triangles.push(*triangle);
    }
    parts.retain(|part| !part.triangles.is_empty());
    let volumes: Vec<f64> = parts.iter().map(|part| signed_volume(mesh, &part.triangles)).collect();
    let turn = if volumes.iter().sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
    if parts.len() == 1 {
        return Some(turn);
    }
    let alternates = |index: usize| {
        let point = mesh.positions[parts[index].triangles[0][0] as usize];
        let others: Vec<[u32; 3]> =
            (0..parts.len()).filter(|&other| other != index).flat_map(|other| parts[other].triangles.clone()).collect();
        let around = winding_number(&TriMesh { positions: mesh.positions.clone(), triangles: others }, point) * turn;
        let expected = if volumes[index] * turn > 0.0 { 0.0 } else { 1.0 };
        (around - expected).abs() < 0.25
    };
    (0..parts.len()).all(alternates).then_some(turn)
}

fn signed_volume(mesh: &TriMesh, triangles: &[[u32; 3]]) -> f64 {
    let center = mesh.bounds().center();
    let sixfold = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize] - center);
        a.dot(b.cross(c))
    };
    triangles.iter().map(sixfold).sum::<f64>() / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(low: f64, high: f64) -> TriMesh {
        let positions =
            (0..8).map(|i| DVec3::from_array([i & 1, i >> 1 & 1, i >> 2].map(|b| [low, high][b]))).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        TriMesh { positions, triangles }
    }

    fn cube_distance(point: DVec3) -> f64 {
        let q = point.abs() - DVec3::ONE;
        q.max(DVec3::ZERO).length() + q.max_element().min(0.0)
    }

    #[test]
    fn a_cube_has_its_distance_everywhere_near_faces_edges_and_corners() {
        let cube = SignedMesh::new(&cube(-1.0, 1.0)).expect("a cube is clean");
        for i in 0..1000 {
            let at = |k: f64| 2.5 * (f64::from(i) * k).sin();
            let point = DVec3::new(at(1.3), at(2.7), at(5.1));
            let (value, gradient) = cube.value_and_gradient(point);
            assert!((value - cube_distance(point)).abs() < 1e-12, "{point}");
            assert!((gradient.length() - 1.0).abs() < 1e-9);
        }
        assert!((cube.volume() - 8.0).abs() < 1e-12 && (cube.area() - 24.0).abs() < 1e-12);
    }

    #[test]
    fn hollows_count_inside_out_and_doubled_bodies_are_refused() {
        let mut hollow = cube(-1.0, 1.0);
        let mut inner = cube(-0.5, 0.5);
        inner.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        hollow.append(&inner);
        let hollow = SignedMesh::new(&hollow).expect("a hollow cube is clean");
        assert!((hollow.value(DVec3::ZERO) - 0.5).abs() < 1e-12);
        assert!((hollow.value(DVec3::X * 0.75) + 0.25).abs() < 1e-12);
        let mut doubled = cube(-1.0, 1.0);
        doubled.append(&cube(-0.5, 0.5));
        assert!(SignedMesh::new(&doubled).is_none());
    }

    #[test]
    fn a_soup_of_triangles_is_the_body_it_makes_and_a_point_is_none() {
        let cube = cube(-1.0, 1.0);
        let corners: Vec<DVec3> =
            cube.triangles.iter().flatten().map(|&vertex| cube.positions[vertex as usize]).collect();
        let triangles = (0..cube.triangles.len() as u32).map(|at| [3 * at, 3 * at + 1, 3 * at + 2]).collect();
        let soup = TriMesh { positions: corners, triangles };
        assert!(SignedMesh::new(&soup).is_none());
        let (joined, _) = SignedMesh::of_any(&soup, 0.1).expect("a body").expect("with a surface");
        assert!((joined.volume() - 8.0).abs() < 0.4 && (joined.value(DVec3::ZERO) + 1.0).abs() < 0.1);
        let mut open = soup.clone();
        open.triangles.pop();
        let (repaired, source) = SignedMesh::of_any(&open, 0.1).expect("a body").expect("with a surface");
        assert!(source == Source::Repaired && (repaired.volume() - 8.0).abs() < 0.4, "{}", repaired.volume());
        let point = TriMesh { positions: vec![DVec3::ONE; 3], triangles: vec![[0, 1, 2]] };
        assert!(SignedMesh::of_any(&point, 0.0).expect("no error").is_none());
    }

    #[test]
    fn open_crossing_and_inside_out_meshes_are_told_apart() {
        let mut open = cube(-1.0, 1.0);
        open.triangles.pop();
        assert!(SignedMesh::new(&open).is_none());
        let mut crossing = cube(-1.0, 1.0);
        crossing.append(&cube(0.0, 2.0));
        assert!(SignedMesh::new(&crossing).is_none());
        let (repaired, source) = SignedMesh::of_any(&crossing, 0.1).expect("a body").expect("with a surface");
        assert_eq!(source, Source::Repaired);
        assert!((repaired.volume() - 15.0).abs() < 0.4, "{}", repaired.volume());
        let mut turned = cube(-1.0, 1.0);
        turned.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        assert!(SignedMesh::new(&turned).expect("only turned").value(DVec3::ZERO) < 0.0);
    }
}
