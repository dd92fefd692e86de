//! How far elements are apart along the cloth at rest: what no fold can part without stretching.
//!
//! Around every vertex the rest shapes of its surroundings are laid flat into one plane, triangle by triangle. Two
//! elements that lie in such a chart are as far apart at rest as they are in it.
//!
//! Guarantees: exact on cloth that is flat at rest around the pair; the same on any number of threads.
//! Does not: know paths around a hole or a cone. Where shapes do not close around a vertex, as at darts, the triangles
//! that were laid first decide.

use crate::rest_shape::RestShape;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_geometry::ccd::{self, ElementPair};
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{Topology, TriangleId, VertexId};

/// The surroundings of every vertex of cloth, laid flat.
pub struct RestDistances<'a> {
    topology: &'a Topology,
    /// By vertex: where those around it lie, sorted by vertex, metres. None at vertices of bodies.
    charts: Vec<Vec<(VertexId, DVec2)>>,
}

impl<'a> RestDistances<'a> {
    /// For a mesh whose first triangles are cloth of these rest shapes, and for distances below `reach`, metres.
    pub fn new(topology: &'a Topology, shapes: &[RestShape], reach: f64) -> Self {
        let vertices = (0..topology.vertex_count()).into_par_iter().with_min_len(64).map(VertexId::new);
        let charts = vertices.map(|vertex| chart(topology, shapes, vertex, reach)).collect();
        Self { topology, charts }
    }

    /// How far two elements are apart at rest, if that is below `limit`, metres, which is at most the reach.
    pub fn between(&self, pair: ElementPair, limit: f64) -> Option<f64> {
        let vertices = pair.vertices(self.topology);
        let (first, second) = vertices.split_at(pair.first_count());
        // From a corner of either, the other may lie just outside of the chart.
        let seen_from = |&center: &VertexId| {
            let chart = &self.charts[center.index()];
            let place = |vertex: VertexId| {
                let at = chart.binary_search_by_key(&vertex, |&(vertex, _)| vertex).ok()?;
                Some(chart[at].1.extend(0.0))
            };
            let [a, b, c, d] = vertices;
            let points = [place(a)?, place(b)?, place(c)?, place(d)?];
            Some(match pair {
                ElementPair::VertexTriangle(..) => ccd::vertex_triangle_gap(points).distance_squared().sqrt(),
                ElementPair::EdgeEdge(..) => ccd::edge_edge_gap(points).distance_squared().sqrt(),
            })
        };
        let distances = first.iter().chain(second).filter_map(seen_from);
        distances.reduce(f64::min).filter(|&distance| distance < limit)
    }
}

/// Triangles in a chart at most: beside large triangles there may be any number of small ones.
const MOST: usize = 2000;

/// The surroundings of a vertex: all triangles within reach of its own, laid flat around it.
fn chart(topology: &Topology, shapes: &[RestShape], center: VertexId, reach: f64) -> Vec<(VertexId, DVec2)> {
    let own = topology.vertex_triangles(center);
    let Some((&first, shape)) = own.first().and_then(|first| Some((first, shapes.get(first.index())?))) else {
        return Vec::new();
    };
    let longest = own.iter().filter_map(|own| shapes.get(own.index())).flat_map(RestShape::lengths).fold(0.0, f64::max);
    let farthest = reach + longest;
    let corners = topology.triangle(first);
    let start = corners.iter().position(|&corner| corner == center).unwrap_or(0);
    let mut places: FxHashMap<VertexId, DVec2> = FxHashMap::default();
    for (k, &corner) in corners.iter().enumerate() {
        places.insert(corner, shape.side(start, k));
    }
    let mut is_laid: FxHashSet<TriangleId> = FxHashSet::from_iter([first]);
    let mut open = VecDeque::from([first]);
    while let Some(from) = open.pop_front() {
        for edge in topology.triangle_edges(from) {
            let ends = topology.edge(edge);
            let [a, b] = ends.map(|end| places[&end]);
            if distance_from_origin([a, b]) > farthest || is_laid.len() > MOST {
                continue;
            }
            let apex = places[&topology.opposite_vertex(from, edge)];
            for &next in topology.edge_triangles(edge) {
                let Some(shape) = shapes.get(next.index()) else { continue };
                if !is_laid.insert(next) {
                    continue;
                }
                let across = topology.opposite_vertex(next, edge);
                let corner =
                    |vertex: VertexId| topology.triangle(next).iter().position(|&at| at == vertex).unwrap_or(0);
                let [of_a, of_b] = ends.map(corner);
                let place = beyond([a, b], apex, shape.side(of_a, of_b), shape.side(of_a, corner(across)));
                places.entry(across).or_insert(place);
                open.push_back(next);
            }
        }
    }
    let mut chart: Vec<(VertexId, DVec2)> = places.into_iter().collect();
    chart.sort_unstable_by_key(|&(vertex, _)| vertex);
    chart
}

fn distance_from_origin([a, b]: [DVec2; 2]) -> f64 {
    let side = b - a;
    let length_squared = side.length_squared();
    let along = if length_squared > 0.0 { (-a.dot(side) / length_squared).clamp(0.0, 1.0) } else { 0.0 };
    (a + along * side).length()
}

/// Where the third corner of a triangle lies beyond an edge, seen from a point before it. `side` is that edge at rest,
/// and `third` the way from its start to the third corner.
fn beyond([a, b]: [DVec2; 2], before: DVec2, side: DVec2, third: DVec2) -> DVec2 {
    let (Some(along), Some(rest)) = ((b - a).try_normalize(), side.try_normalize()) else { return a + third };
    let up = if along.perp_dot(before - a) > 0.0 { -along.perp() } else { along.perp() };
    a + along * rest.dot(third) + up * rest.perp_dot(third).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::DVec3;

    /// A strip of squares with sides of 1, cut along diagonals.
    fn strip(squares: u32) -> (Topology, Vec<RestShape>) {
        let places: Vec<DVec3> =
            (0..=squares).flat_map(|x| [0.0, 1.0].map(|y| DVec3::new(f64::from(x), y, 0.0))).collect();
        let triangles: Vec<[u32; 3]> =
            (0..squares).map(|at| 2 * at).flat_map(|at| [[at, at + 2, at + 1], [at + 1, at + 2, at + 3]]).collect();
        let topology = Topology::new(places.len(), &triangles).unwrap();
        let shapes = triangles.iter().map(|corners| RestShape::from_world(corners.map(|at| places[at as usize])));
        let shapes = shapes.collect();
        (topology, shapes)
    }

    #[test]
    fn elements_that_hang_together_are_as_far_as_in_the_flat() {
        let (topology, shapes) = strip(5);
        let rest = RestDistances::new(&topology, &shapes, 10.0);
        let across_a_diagonal = ElementPair::VertexTriangle(VertexId(0), TriangleId(1));
        let way = rest.between(across_a_diagonal, 1.0).unwrap();
        assert!((way - 0.5_f64.sqrt()).abs() < 1e-12, "the height of half a square, not {way}");
        let farther = ElementPair::VertexTriangle(VertexId(1), TriangleId(6));
        let way = rest.between(farther, 10.0).unwrap();
        assert!((way - 3.0).abs() < 1e-12, "three squares lie between them: {way}");
        assert_eq!(rest.between(farther, 2.9), None);
        let flat = |vertex: u32| DVec3::new(f64::from(vertex / 2), f64::from(vertex % 2), 0.0);
        for vertex in 0..12 {
            for triangle in (0..10).map(TriangleId) {
                let corners = topology.triangle(triangle);
                if corners.contains(&VertexId(vertex)) {
                    continue;
                }
                let points = [flat(vertex), flat(corners[0].0), flat(corners[1].0), flat(corners[2].0)];
                let true_distance = ccd::vertex_triangle_gap(points).distance_squared().sqrt();
                let found = rest.between(ElementPair::VertexTriangle(VertexId(vertex), triangle), 10.0).unwrap();
                assert!((found - true_distance).abs() < 1e-9, "{vertex} {triangle:?}: {found}, not {true_distance}");
            }
        }
    }

    #[test]
    fn bodies_have_no_rest() {
        let (topology, shapes) = strip(2);
        let rest = RestDistances::new(&topology, &shapes[..0], 10.0);
        assert_eq!(rest.between(ElementPair::VertexTriangle(VertexId(0), TriangleId(1)), 10.0), None);
    }
}
