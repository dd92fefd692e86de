//! Signed distance to an open sheet of triangles, as layers of garments ask for it.
//!
//! The nearest point of the sheet (the foot) gives the distance; the angle-weighted normal there gives the side. Where
//! the foot lies on the border, the value is the height above the tangent plane: the sheet goes on past its border
//! without lids. How far past the border a point is (the co-variant field of Buffet 2021, 2.2) comes from the same
//! query. Far from every border the winding number of the sheet with lids overrules the normal: a point inside a sleeve
//! stays inside the garment although the torso beside it is nearer. (Buffet 2021, 2.2 and 2.5.5)
//!
//! Guarantees: asked with a `facing`, only triangles whose front looks that way count, and a fold behind which they do
//! not is a border; the value is continuous across straight parts of the border, and up to the cosine of half the bend
//! at its corners.
//! Does not: know a side where a sheet is folded back on itself.

use crate::field::Field;
use crate::winding_tree::WindingTree;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::intersection::triangle_tree;
use unsnarl_geometry::{DVec3, EdgeId, Topology, TopologyError, TriangleId, VertexId};

/// A sheet, open or closed, ready to be asked.
pub struct SheetField {
    topology: Topology,
    positions: Vec<DVec3>,
    tree: Bvh,
    face_normals: Vec<DVec3>,
    vertex_normals: Vec<DVec3>,
    /// Distance of each vertex from the border, along edges; infinite on a closed sheet.
    border_distances: Vec<f64>,
    winding: Option<WindingTree>,
    /// Where the foot is farther than this from every border, the winding number decides, metres.
    reach: f64,
}

/// What to ask of a sheet.
#[derive(Clone, Copy, Debug)]
pub struct SheetQuery {
    /// How far to look, metres.
    pub reach: f64,
    /// Only triangles whose normal has a positive product with this direction count.
    pub facing: Option<DVec3>,
    /// A triangle that may be near: the search is faster.
    pub hint: Option<TriangleId>,
}

/// A sheet as seen from a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetSight {
    /// Signed distance, or the height above the tangent plane past the border, metres.
    pub value: f64,
    /// The gradient of the value, of length 1.
    pub gradient: DVec3,
    /// Past the border: the distance from it along the tangent plane. Else minus the distance of the foot from the
    /// border.
    pub past_border: f64,
    /// The triangle with the foot.
    pub triangle: TriangleId,
    /// Where in it the foot is.
    pub weights: [f64; 3],
}

/// Below this distance, metres, the direction comes from the normal and not from the foot.
const ON_SURFACE: f64 = 1e-7;
/// A corner with a smaller weight does not carry the foot.
const NO_WEIGHT: f64 = 1e-9;

impl SheetField {
    /// Gets a sheet ready. Fronts face outward.
    pub fn new(positions: Vec<DVec3>, triangles: &[[u32; 3]]) -> Result<Self, TopologyError> {
        let topology = Topology::new(positions.len(), triangles)?;
        let tree = triangle_tree(&topology, &positions);
        let border_distances = border_distances(&topology, &positions);
        let mut field = Self {
            topology,
            positions,
            tree,
            face_normals: Vec::new(),
            vertex_normals: Vec::new(),
            border_distances,
            winding: None,
            reach: f64::INFINITY,
        };
        field.find_normals();
        Ok(field)
    }

    /// Lets the winding number overrule normals where the foot is farther than `reach`, metres, from every border.
    pub fn with_winding(mut self, reach: f64) -> Self {
        let triangles = self.topology.own_triangles(0..self.topology.triangle_count(), 0);
        self.winding = Some(WindingTree::new(&self.positions, &triangles));
        self.reach = reach;
        self
    }

    /// Moves the sheet. The winding number is dropped, border distances are kept.
    pub fn place(&mut self, positions: Vec<DVec3>) {
        self.positions = positions;
        self.tree.refit_on_points(&self.positions);
        self.winding = None;
        self.find_normals();
    }

    /// Its connectivity.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Where its vertices are.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The angle-weighted unit normal of a vertex; zero where there is none.
    pub fn vertex_normal(&self, vertex: VertexId) -> DVec3 {
        self.vertex_normals[vertex.index()]
    }

    /// The sheet as seen from a point; `None` when nothing that counts is within reach.
    pub fn sight(&self, point: DVec3, query: &SheetQuery) -> Option<SheetSight> {
        let triangle = self.nearest(point, query)?;
        let closest = point_triangle(point, self.corners(triangle));
        let carriers = Carriers::of(self.topology.triangle(triangle), closest.weights);
        let (normal, edge_of_sheet) = self.normal_at(triangle, &carriers, query);
        let (value, gradient, past_border) = if edge_of_sheet {
            let height = closest.offset.dot(normal);
            (height, normal, (closest.offset - height * normal).length())
        } else {
            let distance = closest.offset.length();
            let inner = self.border_distance(triangle, closest.weights);
            let side = self.side(point, closest.offset.dot(normal), inner);
            let gradient = match closest.offset.try_normalize() {
                Some(direction) if distance > ON_SURFACE => side * direction,
                _ => normal,
            };
            (side * distance, gradient, -inner)
        };
        Some(SheetSight { value, gradient, past_border, triangle, weights: closest.weights })
    }

    fn side(&self, point: DVec3, height: f64, inner: f64) -> f64 {
        let by_normal = if height < 0.0 { -1.0 } else { 1.0 };
        match &self.winding {
            Some(winding) if inner > self.reach => {
                if winding.at(point) > 0.5 {
                    -1.0
                } else {
                    1.0
                }
            }
            _ => by_normal,
        }
    }

    fn nearest(&self, point: DVec3, query: &SheetQuery) -> Option<TriangleId> {
        let distance_squared = |triangle: usize| {
            if !self.counts(TriangleId::new(triangle), query) {
                return f64::INFINITY;
            }
            point_triangle(point, self.corners(TriangleId::new(triangle))).distance_squared()
        };
        let mut limit = query.reach * query.reach;
        if let Some(hint) = query.hint.filter(|hint| hint.index() < self.face_normals.len()) {
            limit = limit.min(distance_squared(hint.index()) * (1.0 + 1e-9) + f64::MIN_POSITIVE);
        }
        self.tree.closest_to(point, limit, distance_squared).map(|(_, triangle)| TriangleId::new(triangle))
    }

    fn corners(&self, triangle: TriangleId) -> [DVec3; 3] {
        self.topology.triangle(triangle).map(|corner| self.positions[corner.index()])
    }

    fn border_distance(&self, triangle: TriangleId, weights: [f64; 3]) -> f64 {
        let corners = self.topology.triangle(triangle);
        let carrying = (0..3).filter(|&k| weights[k] > 0.0);
        carrying.map(|k| weights[k] * self.border_distances[corners[k].index()]).sum()
    }

    fn counts(&self, triangle: TriangleId, query: &SheetQuery) -> bool {
        query.facing.is_none_or(|facing| self.face_normals[triangle.index()].dot(facing) > 0.0)
    }

    /// The unit normal of the face, edge or corner that carries the foot, of triangles that count; and whether the
    /// sheet ends there: at its border, or at a fold behind which triangles do not count.
    fn normal_at(&self, triangle: TriangleId, carriers: &Carriers, query: &SheetQuery) -> (DVec3, bool) {
        let face = |face: TriangleId| self.face_normals[face.index()];
        let (normal, is_end) = match *carriers {
            Carriers::Corner(vertex) => {
                let around = self.topology.vertex_triangles(vertex);
                if around.iter().all(|&at| self.counts(at, query)) {
                    (self.vertex_normals[vertex.index()], self.topology.is_boundary_vertex(vertex))
                } else {
                    let own = around.iter().filter(|&&at| self.counts(at, query));
                    (own.map(|&at| self.angle(at, vertex) * face(at)).sum(), true)
                }
            }
            Carriers::Side(a, b) => match self.topology.find_edge(a, b) {
                Some(edge) => {
                    let own = self.topology.edge_triangles(edge).iter().filter(|&&at| self.counts(at, query));
                    let (sum, count) = own.fold((DVec3::ZERO, 0), |(sum, count), &at| (sum + face(at), count + 1));
                    (sum, count == 1)
                }
                None => (face(triangle), false),
            },
            Carriers::Inside => (face(triangle), false),
        };
        (normal.try_normalize().unwrap_or_else(|| face(triangle)), is_end)
    }

    /// The angle of a triangle at one of its corners.
    fn angle(&self, triangle: TriangleId, vertex: VertexId) -> f64 {
        let corners = self.topology.triangle(triangle);
        let corner = corners.iter().position(|&corner| corner == vertex).unwrap_or(0);
        let [here, next, last] = [0, 1, 2].map(|step| self.positions[corners[(corner + step) % 3].index()]);
        let (first, second) = ((next - here).normalize_or_zero(), (last - here).normalize_or_zero());
        first.dot(second).clamp(-1.0, 1.0).acos()
    }

    fn find_normals(&mut self) {
        let at = |vertex: VertexId| self.positions[vertex.index()];
        let mut face_normals = Vec::with_capacity(self.topology.triangle_count());
        let mut sums = vec![DVec3::ZERO; self.positions.len()];
        for corners in self.topology.triangles() {
            let places = corners.map(at);
            let normal = (places[1] - places[0]).cross(places[2] - places[0]).normalize_or_zero();
            for k in 0..3 {
                let [here, next, last] = [0, 1, 2].map(|step| places[(k + step) % 3]);
                let (first, second) = ((next - here).normalize_or_zero(), (last - here).normalize_or_zero());
                sums[corners[k].index()] += first.dot(second).clamp(-1.0, 1.0).acos() * normal;
            }
            face_normals.push(normal);
        }
        self.face_normals = face_normals;
        self.vertex_normals = sums.into_iter().map(DVec3::normalize_or_zero).collect();
    }
}

impl Field for SheetField {
    fn value(&self, point: DVec3) -> f64 {
        self.value_and_gradient(point).0
    }

    fn gradient(&self, point: DVec3) -> DVec3 {
        self.value_and_gradient(point).1
    }

    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        let query = SheetQuery { reach: f64::INFINITY, facing: None, hint: None };
        self.sight(point, &query).map_or((f64::INFINITY, DVec3::ZERO), |sight| (sight.value, sight.gradient))
    }
}

/// What the foot lies on.
enum Carriers {
    Corner(VertexId),
    Side(VertexId, VertexId),
    Inside,
}

impl Carriers {
    fn of(corners: [VertexId; 3], weights: [f64; 3]) -> Self {
        match weights.map(|weight| weight > NO_WEIGHT) {
            [true, false, false] => Self::Corner(corners[0]),
            [false, true, false] => Self::Corner(corners[1]),
            [false, false, true] => Self::Corner(corners[2]),
            [true, true, false] => Self::Side(corners[0], corners[1]),
            [false, true, true] => Self::Side(corners[1], corners[2]),
            [true, false, true] => Self::Side(corners[2], corners[0]),
            _ => Self::Inside,
        }
    }
}

/// The distance of every vertex from the border, along edges; infinite where there is none.
fn border_distances(topology: &Topology, positions: &[DVec3]) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; positions.len()];
    let mut open = std::collections::BinaryHeap::new();
    let ends = (0..topology.edge_count()).map(EdgeId::new).filter(|&edge| topology.is_boundary(edge));
    for vertex in ends.flat_map(|edge| topology.edge(edge)) {
        distances[vertex.index()] = 0.0;
        open.push((std::cmp::Reverse(0_u64), vertex));
    }
    // Lengths that are not negative are in the order of their bits.
    while let Some((std::cmp::Reverse(bits), vertex)) = open.pop() {
        let distance = f64::from_bits(bits);
        if distance > distances[vertex.index()] {
            continue;
        }
        for next in topology.ring(vertex) {
            let longer = distance + positions[vertex.index()].distance(positions[next.index()]);
            if longer < distances[next.index()] {
                distances[next.index()] = longer;
                open.push((std::cmp::Reverse(longer.to_bits()), next));
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// An open tube about the y axis, fronts outward.
    fn tube(center: DVec3, radius: f64, height: f64, [columns, rows]: [u32; 2]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut positions = Vec::new();
        for row in 0..=rows {
            for column in 0..columns {
                let turn = TAU * f64::from(column) / f64::from(columns);
                let level = height * (f64::from(row) / f64::from(rows) - 0.5);
                positions.push(center + DVec3::new(radius * turn.cos(), level, -radius * turn.sin()));
            }
        }
        let mut triangles = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let next = (column + 1) % columns;
                let [a, b] = [row * columns + column, row * columns + next];
                triangles.extend([[a, b, b + columns], [a, b + columns, a + columns]]);
            }
        }
        (positions, triangles)
    }

    #[test]
    fn a_tube_has_the_distance_of_a_cylinder_and_goes_on_past_its_border() {
        let (positions, triangles) = tube(DVec3::ZERO, 1.0, 2.0, [180, 20]);
        let field = SheetField::new(positions, &triangles).unwrap();
        for (radius, level) in [(0.9, 0.0), (1.2, 0.5), (0.7, -0.7), (0.9, 1.2), (1.1, -1.3)] {
            for turn in 0..20 {
                let turn = 0.3 + f64::from(turn);
                let point = DVec3::new(radius * turn.cos(), level, radius * turn.sin());
                let (value, gradient) = field.value_and_gradient(point);
                assert!((value - (radius - 1.0)).abs() < 2e-3, "{point}: {value}");
                assert!(gradient.dot(DVec3::new(turn.cos(), 0.0, turn.sin())) > 0.99, "{point}: {gradient}");
                let query = SheetQuery { reach: 5.0, facing: None, hint: None };
                let past = field.sight(point, &query).unwrap().past_border;
                let expected = f64::abs(level) - 1.0;
                assert!((past - expected).abs() < 0.02, "{point}: {past}, not {expected}");
            }
        }
    }

    #[test]
    fn the_value_is_continuous_across_the_border_up_to_its_bends() {
        let (positions, triangles) = tube(DVec3::ZERO, 1.0, 2.0, [60, 10]);
        let field = SheetField::new(positions, &triangles).unwrap();
        for step in 0..200 {
            let turn = 0.05 * f64::from(step);
            let at = |level: f64| field.value(DVec3::new(1.1 * turn.cos(), level, 1.1 * turn.sin()));
            let bend = 0.1 * (1.0 - (TAU / 120.0).cos());
            assert!((at(1.0 - 1e-9) - at(1.0 + 1e-9)).abs() < bend + 1e-6, "{turn}");
        }
    }

    /// Two tubes of one garment side by side: within the first, near the second.
    #[test]
    fn a_point_in_one_tube_near_another_is_inside_by_winding_and_by_facing() {
        let (mut positions, mut triangles) = tube(DVec3::ZERO, 1.0, 20.0, [90, 40]);
        let (others, more) = tube(DVec3::new(1.7, 0.0, 0.0), 0.5, 20.0, [60, 40]);
        let first = positions.len() as u32;
        positions.extend(others);
        triangles.extend(more.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
        let field = SheetField::new(positions, &triangles).unwrap().with_winding(3.0);
        // 0.02 within the first, where the second begins 0.2 outside of it; then with the second moved nearer than
        // that.
        let inside = DVec3::new(0.98, 0.0, 0.0);
        assert!(field.value(inside) < 0.0);
        let (near, more) = tube(DVec3::new(1.51, 0.0, 0.0), 0.5, 20.0, [60, 40]);
        let (mut positions, mut triangles) = tube(DVec3::ZERO, 1.0, 20.0, [90, 40]);
        positions.extend(near);
        triangles.extend(more.iter().map(|triangle| triangle.map(|vertex| vertex + first)));
        let field = SheetField::new(positions, &triangles).unwrap();
        let point = DVec3::new(0.985, 0.0, 0.0);
        let query = SheetQuery { reach: 1.0, facing: Some(DVec3::X), hint: None };
        let sight = field.sight(point, &query).unwrap();
        assert!((sight.value + 0.015).abs() < 2e-3, "{}", sight.value);
        let outside = DVec3::new(1.008, 0.0, 0.0);
        let other = SheetQuery { facing: Some(-DVec3::X), ..query };
        assert!((field.sight(outside, &other).unwrap().value - 0.002).abs() < 2e-3);
    }

    #[test]
    fn a_hint_changes_nothing() {
        let (positions, triangles) = tube(DVec3::ZERO, 1.0, 2.0, [60, 10]);
        let field = SheetField::new(positions, &triangles).unwrap();
        for step in 0..300 {
            let t = f64::from(step);
            let point = DVec3::new((0.7 * t).sin(), (1.1 * t).sin(), (1.9 * t).sin()) * 1.3;
            let plain = SheetQuery { reach: 3.0, facing: None, hint: None };
            let hinted = SheetQuery { hint: Some(TriangleId::new(step as usize * 3)), ..plain };
            let [a, b] = [plain, hinted].map(|query| field.sight(point, &query).unwrap().value);
            assert!((a.abs() - b.abs()).abs() < 1e-12, "{point}: {a} {b}");
        }
    }
}
