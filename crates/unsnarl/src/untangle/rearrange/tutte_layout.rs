//! A piece of cloth made anew from its rest shapes alone, without overlaps: cloth with darts, tubes, shirts.
//!
//! The longest border goes on a circle of the area of the cloth, each edge with its share of the way around. Holes are closed,
//! each by a vertex joined to all of its border, and every other vertex goes to the mean of its neighbours: then no two
//! triangles overlap. (Tutte 1963) Where there are holes each vertex is then raised by how far the cloth is from the longest
//! border, so that tubes stand up; over a plane in which nothing overlaps, whatever is raised crosses nothing either. From
//! there cloth slides toward its size, as long as it is clean by the exact check.
//!
//! Guarantees: what is returned does not cross itself; `None` for closed cloth, cloth with handles and cloth without size.
//! Does not: bring cloth with holes to its size; it grows on with contact on.

use crate::analysis::{Assembly, PartKind, Workspace, verdict};
use crate::model::Model;
use crate::untangle::rearrange::sliding::Sliding;
use crate::untangle::rearrange::smoothing::smooth;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use std::f64::consts::{PI, TAU};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// How much more a vertex is drawn to its neighbours than to the middle of the circle.
const EVENNESS: f64 = 1e6;
/// Cloth slides for so many rounds, is looked at, and slides on.
const ROUNDS: usize = 10;
const LOOKS: usize = 30;

/// The vertices of a piece of cloth and where they lie, the longest border around the origin in the plane z = 0. Asks between looks whether to stop
/// with what there is.
pub fn spread(model: &Model, component: usize, stop: &dyn Fn() -> bool) -> Option<Vec<(VertexId, DVec3)>> {
    let piece = Piece::new(model, component)?;
    let mut workspace = Workspace::default();
    let mut is_clean = |places: &[DVec3]| verdict(&piece.assembly, places, &mut workspace).is_clean();
    if stop() {
        return None;
    }
    let mut places = piece.even_out()?;
    piece.raise(&mut places);
    if stop() || !is_clean(&places) {
        return None;
    }
    let bounds = StrainBounds::around_rest(&model.topology, &model.rest_shapes, StrainBounds::RELAXED);
    if let Some(mut sliding) = Sliding::new(&model.topology, &bounds, &piece.is_own, 0.0, &places) {
        for _ in (0..LOOKS).take_while(|_| !stop()) {
            let before = places.clone();
            (0..ROUNDS).for_each(|_| sliding.round(&bounds, &mut places, &mut |_| {}));
            if !is_clean(&places) {
                places = before;
                break;
            }
        }
    }
    let own = (0..places.len()).filter(|&vertex| piece.is_own[vertex]);
    Some(own.map(|vertex| (VertexId::new(vertex), places[vertex])).collect())
}

/// A piece of cloth without all others.
pub(in crate::untangle) fn alone(model: &Model, component: usize) -> Option<Assembly> {
    let topology = &model.topology;
    let own = |corners: &&[VertexId; 3]| topology.component(corners[0]) == component;
    let corners: Vec<[u32; 3]> =
        topology.triangles().iter().filter(own).map(|corners| corners.map(|corner| corner.0)).collect();
    Assembly::new([(String::new(), PartKind::Cloth, topology.vertex_count(), corners.as_slice())]).ok()
}

/// A piece of cloth without handles.
struct Piece<'a> {
    model: &'a Model,
    assembly: Assembly,
    is_own: Vec<bool>,
    triangles: Vec<TriangleId>,
    /// The longest border.
    rim: Vec<VertexId>,
    /// The other ones.
    holes: Vec<Vec<VertexId>>,
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
        let mut holes = topology.boundary_loops();
        holes.retain(|border| is_in(border[0]));
        let has_handles = vertex_count + triangles.len() + holes.len() != edge_count + 2;
        if holes.is_empty() || has_handles {
            return None;
        }
        let assembly = alone(model, component)?;
        let mut piece = Self { model, assembly, is_own, triangles, rim: Vec::new(), holes };
        let length = |border: &Vec<VertexId>| piece.lengths(border).iter().sum::<f64>();
        let longest =
            (0..piece.holes.len()).max_by(|&a, &b| length(&piece.holes[a]).total_cmp(&length(&piece.holes[b])))?;
        piece.rim = piece.holes.swap_remove(longest);
        Some(piece)
    }

    /// The rim on a circle, everything else evenly between, holes closed.
    fn even_out(&self) -> Option<Vec<DVec3>> {
        let count = self.is_own.len();
        let mut corners: Vec<[u32; 3]> =
            self.triangles.iter().map(|&triangle| self.model.topology.triangle(triangle).map(|at| at.0)).collect();
        for (hole, border) in self.holes.iter().enumerate() {
            let next = border.iter().cycle().skip(1);
            corners.extend(border.iter().zip(next).map(|(from, to)| [to.0, from.0, (count + hole) as u32]));
        }
        let closed = Topology::new(count + self.holes.len(), &corners).ok()?;
        let area: f64 = self.triangles.iter().map(|triangle| self.model.rest_shapes[triangle.index()].area()).sum();
        let radius = (area / PI).sqrt();
        let middle = DVec3::splat(radius);
        let mut places = vec![middle; closed.vertex_count()];
        let mut is_free = self.is_own.clone();
        is_free.resize(closed.vertex_count(), true);
        let lengths = self.lengths(&self.rim);
        let around: f64 = lengths.iter().sum();
        if !(radius > 0.0 && around > 0.0) {
            return None;
        }
        let mut way = 0.0;
        for (vertex, length) in self.rim.iter().zip(lengths) {
            let (sine, cosine) = (TAU * way / around).sin_cos();
            places[vertex.index()] = middle + radius * DVec3::new(cosine, sine, 0.0);
            is_free[vertex.index()] = false;
            way += length;
        }
        let mut places = smooth(&closed, &places.clone(), &is_free, EVENNESS, places);
        places.truncate(count);
        places.iter_mut().for_each(|place| *place = (*place - middle).with_z(0.0));
        Some(places)
    }

    /// Raises every vertex by its distance from the rim along edges at rest, where there are holes.
    fn raise(&self, places: &mut [DVec3]) {
        if self.holes.is_empty() {
            return;
        }
        let topology = &self.model.topology;
        let mut distances = vec![f64::INFINITY; places.len()];
        self.rim.iter().for_each(|vertex| distances[vertex.index()] = 0.0);
        let mut front = self.rim.clone();
        while !front.is_empty() {
            let mut next = Vec::new();
            for &vertex in &front {
                for &edge in topology.vertex_edges(vertex) {
                    let other = topology.other_end(edge, vertex);
                    let distance = distances[vertex.index()] + self.rest_length(edge);
                    if distance < distances[other.index()] {
                        distances[other.index()] = distance;
                        next.push(other);
                    }
                }
            }
            front = next;
        }
        for (place, distance) in places.iter_mut().zip(&distances).filter(|(_, distance)| distance.is_finite()) {
            place.z = *distance;
        }
    }

    /// The rest lengths of the edges along a border.
    fn lengths(&self, border: &[VertexId]) -> Vec<f64> {
        let next = border.iter().cycle().skip(1);
        let edge = |(&from, &to)| self.model.topology.find_edge(from, to);
        border.iter().zip(next).map(|ends| edge(ends).map_or(0.0, |edge| self.rest_length(edge))).collect()
    }

    /// The rest length of an edge in its first triangle.
    fn rest_length(&self, edge: EdgeId) -> f64 {
        let topology = &self.model.topology;
        let triangle = topology.edge_triangles(edge)[0];
        let side = topology.triangle_edges(triangle).iter().position(|&other| other == edge).unwrap_or(0);
        self.model.rest_shapes[triangle.index()].lengths()[side]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let places: Vec<DVec3> = spread(&model, 0, &|| false).unwrap().into_iter().map(|(_, place)| place).collect();
        assert!(places.iter().all(|place| place.z == 0.0));
        assert_eq!(places.len(), model.topology.vertex_count());
        let assembly = Assembly::new([("sewn".to_owned(), PartKind::Cloth, places.len(), &*triangles)]).unwrap();
        assert!(verdict(&assembly, &places, &mut Workspace::default()).is_clean());
        let edges = Spread::of_edges(&model, &places);
        assert!(edges.p01 > 0.9 && edges.p99 < 1.1, "{edges:?}");
    }

    /// Places that are not numbers would pass for clean: their boxes meet nothing.
    #[test]
    fn cloth_without_size_is_not_spread() {
        let (mut model, _) = model("exploded-sewn");
        for shape in &mut model.rest_shapes {
            shape.sides = shape.sides.map(|side| 0.0 * side);
        }
        assert!(spread(&model, 0, &|| false).is_none());
    }

    #[test]
    fn a_tube_stands_and_does_not_cross_itself() {
        let (model, triangles) = model("nested-tubes");
        let mut places = vec![DVec3::ZERO; model.topology.vertex_count()];
        let spread = spread(&model, 0, &|| false).unwrap();
        spread.iter().for_each(|&(vertex, place)| places[vertex.index()] = place);
        let own = |corners: &&[u32; 3]| model.topology.component(VertexId(corners[0])) == 0;
        let triangles: Vec<[u32; 3]> = triangles.iter().filter(own).copied().collect();
        let assembly = Assembly::new([("tube".to_owned(), PartKind::Cloth, places.len(), &*triangles)]).unwrap();
        assert!(verdict(&assembly, &places, &mut Workspace::default()).is_clean());
        assert!(spread.len() < places.len() && spread.iter().any(|(_, place)| place.z > 0.1));
    }
}
