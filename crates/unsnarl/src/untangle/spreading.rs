//! A piece of cloth with one border and no holes, spread in a plane without overlaps whatever its rest shapes are: cloth with darts.
//!
//! The border goes on a circle of the area of the cloth, each edge with its share of the way around, and every other vertex to the mean of its
//! neighbours: then no two triangles overlap. (Tutte 1963) From there cloth slides toward its size, as long as no triangle turns over.
//!
//! Guarantees: every triangle has an area, and none is turned over; `None` for tubes, cloth with holes, closed and non-manifold cloth.
//! Does not: tell whether the border comes to cross itself while cloth slides.

use super::sliding::Sliding;
use super::smoothing::smooth;
use super::strain_bounds::StrainBounds;
use crate::model::Model;
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// How much more a vertex is drawn to its neighbours than to the middle of the circle.
const EVENNESS: f64 = 1e6;
/// Rounds of sliding at most.
const ROUNDS: usize = 100;

/// The vertices of a piece of cloth and where they lie in the plane.
pub fn spread(model: &Model, component: usize) -> Option<Vec<(VertexId, DVec2)>> {
    let piece = Piece::new(model, component)?;
    let mut places = piece.even_out();
    let sides: Vec<f64> = piece.sides(&places);
    if sides.contains(&0.0) {
        return None;
    }
    let topology = &model.topology;
    let bounds = StrainBounds::around_rest(topology, &model.rest_shapes, StrainBounds::RELAXED);
    if let Some(mut sliding) = Sliding::new(topology, &bounds, &piece.is_own, 0.0, &places) {
        for _ in 0..ROUNDS {
            let before = places.clone();
            sliding.round(&bounds, &mut places, &mut |_| {});
            if piece.sides(&places) != sides {
                places = before;
                break;
            }
        }
    }
    let own = (0..places.len()).filter(|&vertex| piece.is_own[vertex]);
    Some(own.map(|vertex| (VertexId::new(vertex), places[vertex].truncate())).collect())
}

/// A piece of cloth that is a disc.
struct Piece<'a> {
    model: &'a Model,
    is_own: Vec<bool>,
    triangles: Vec<TriangleId>,
    border: Vec<VertexId>,
}

impl<'a> Piece<'a> {
    fn new(model: &'a Model, component: usize) -> Option<Self> {
        let topology = &model.topology;
        let is_in = |vertex: VertexId| topology.component(vertex) == component;
        let is_own: Vec<bool> = (0..topology.vertex_count()).map(|vertex| is_in(VertexId::new(vertex))).collect();
        let own = |triangle: &TriangleId| is_in(topology.triangle(*triangle)[0]);
        let triangles: Vec<TriangleId> = (0..topology.triangle_count()).map(TriangleId::new).filter(own).collect();
        let vertex_count = is_own.iter().filter(|&&own| own).count();
        let edge_count = topology.edges().iter().filter(|ends| is_in(ends[0])).count();
        let is_disc = vertex_count + triangles.len() == edge_count + 1;
        let mut borders = topology.boundary_loops().into_iter().filter(|border| is_in(border[0]));
        match (borders.next(), borders.next()) {
            (Some(border), None) if is_disc => Some(Self { model, is_own, triangles, border }),
            _ => None,
        }
    }

    /// The border on a circle, everything else evenly between.
    fn even_out(&self) -> Vec<DVec3> {
        let area: f64 = self.triangles.iter().map(|triangle| self.model.rest_shapes[triangle.index()].area()).sum();
        let radius = (area / PI).sqrt();
        let middle = DVec3::splat(radius);
        let mut places = vec![middle; self.is_own.len()];
        let mut is_free = self.is_own.clone();
        let next = self.border.iter().cycle().skip(1);
        let lengths: Vec<f64> = self.border.iter().zip(next).map(|(&from, &to)| self.rest_length(from, to)).collect();
        let around: f64 = lengths.iter().sum();
        let mut way = 0.0;
        for (vertex, length) in self.border.iter().zip(lengths) {
            let (sine, cosine) = (TAU * way / around).sin_cos();
            places[vertex.index()] = middle + radius * DVec3::new(cosine, sine, 0.0);
            is_free[vertex.index()] = false;
            way += length;
        }
        smooth(&self.model.topology, &places.clone(), &is_free, EVENNESS, places)
    }

    /// The rest length of the edge between two vertices, in its first triangle.
    fn rest_length(&self, from: VertexId, to: VertexId) -> f64 {
        let topology = &self.model.topology;
        let triangle = topology.find_edge(from, to).map(|edge| topology.edge_triangles(edge)[0]);
        triangle.map_or(0.0, |triangle| {
            let corners = topology.triangle(triangle);
            let side = (0..3).find(|&side| ![from, to].contains(&corners[(side + 2) % 3])).unwrap_or(0);
            self.model.rest_shapes[triangle.index()].lengths()[side]
        })
    }

    /// Whether each triangle turns left (1), right (-1) or has no area (0).
    fn sides(&self, places: &[DVec3]) -> Vec<f64> {
        let side = |triangle: &TriangleId| {
            let [a, b, c] = self.model.topology.triangle(*triangle).map(|corner| places[corner.index()].truncate());
            let turn = (b - a).perp_dot(c - a);
            if turn == 0.0 { 0.0 } else { turn.signum() }
        };
        self.triangles.iter().map(side).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, PartKind, Workspace, verdict};
    use crate::fix::report::Spread;
    use crate::model::{Cloth, Rest};
    use crate::samples::{self, Cut, Recipe};

    fn model(name: &str) -> (Model, Vec<[u32; 3]>) {
        let sample = samples::find(name).unwrap().make(&Recipe { resolution: 16, cut: Cut::Regular, seed: 4 });
        let mut cloth = Cloth::new(name, sample.mesh.clone());
        cloth.rest = Rest::Panels(sample.uv);
        (Model::build(&[cloth]).unwrap().0, sample.mesh.triangles)
    }

    #[test]
    fn cloth_with_a_dart_lies_in_a_plane_hardly_strained_and_nothing_overlaps() {
        let (model, triangles) = model("exploded-sewn");
        let places: Vec<DVec3> = spread(&model, 0).unwrap().into_iter().map(|(_, point)| point.extend(0.0)).collect();
        assert_eq!(places.len(), model.topology.vertex_count());
        let assembly = Assembly::new([("sewn".to_owned(), PartKind::Cloth, places.len(), &*triangles)]).unwrap();
        assert!(verdict(&assembly, &places, &mut Workspace::default()).is_clean());
        let edges = Spread::of_edges(&model, &places);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{edges:?}");
    }

    #[test]
    fn a_tube_is_not_spread() {
        assert!(spread(&model("nested-tubes").0, 0).is_none());
    }
}
