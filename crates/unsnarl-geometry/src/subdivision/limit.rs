//! Normals of the limit surface of Loop's scheme, from tangents that are eigenvectors of its rings.
//!
//! Inner vertices: `sum cos(2 pi i/n) r_i` and `sum sin(2 pi i/n) r_i`, which are tangents for every circulant rule
//! of edges. Border vertices: along the border, and across it by the left eigenvector that rises from the border as a
//! sine (Hoppe et al. 1994).
//!
//! Guarantees: every normal has length 1 and lies on the front side of the triangles where these agree.
//! Does not: give two normals at a crease. There, where triangles do not run alike, and where tangents vanish, the
//! mean of the triangles' normals by area is given.

use super::rings::{EdgeKind, EdgeKinds, Fan, FanMemory, VertexKind, oriented_fan};
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::topology::Topology;
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

/// The normal at every vertex. Creases are edges, by their vertices.
pub fn normals(topology: &Topology, positions: &[DVec3], creases: &[[VertexId; 2]]) -> Vec<DVec3> {
    let kinds = EdgeKinds::new(topology, creases);
    let normal = |memory: &mut FanMemory, vertex: usize| {
        let vertex = VertexId::new(vertex);
        let smooth = limit_normal(topology, positions, &kinds, vertex, memory);
        smooth.or_else(|| mean_normal(topology, positions, vertex).try_normalize()).unwrap_or(DVec3::Y)
    };
    (0..topology.vertex_count()).into_par_iter().map_init(FanMemory::default, normal).collect()
}

fn limit_normal(
    topology: &Topology,
    positions: &[DVec3],
    kinds: &EdgeKinds,
    vertex: VertexId,
    memory: &mut FanMemory,
) -> Option<DVec3> {
    let inner_is_smooth = |fan| match (fan, kinds.of_vertex(topology, vertex)) {
        (Fan::Closed, VertexKind::Smooth) => kinds.are_smooth_at(topology, vertex),
        (Fan::Open, VertexKind::Along(_)) => {
            let is_sharp = |edge: &&crate::ids::EdgeId| kinds.of(**edge) == EdgeKind::Sharp;
            topology.vertex_edges(vertex).iter().filter(is_sharp).all(|&edge| topology.is_boundary(edge))
        }
        (Fan::Open, VertexKind::Corner) => topology.vertex_triangles(vertex).len() == 1,
        _ => false,
    };
    let fan = oriented_fan(topology, vertex, memory).filter(|&fan| inner_is_smooth(fan))?;
    let ring = &memory.ring;
    let here = positions[vertex.index()];
    // Relative to the vertex: tangents do not depend on where it is, and rounding stays small.
    let at = |place: usize| positions[ring[place].index()] - here;
    let [u, v] = match fan {
        Fan::Closed => {
            let turn = TAU / ring.len() as f64;
            let sum = |wave: fn(f64) -> f64| (0..ring.len()).map(|k| wave(turn * k as f64) * at(k)).sum::<DVec3>();
            [sum(f64::cos), sum(f64::sin)]
        }
        Fan::Open => {
            let last = ring.len() - 1;
            let across = if ring.len() == 2 {
                at(0) + at(1)
            } else {
                // Left eigenvector of the border's rules: sin(k t) inside, and x at both ends of the border, where
                // x (1/4 - lambda) = (cot(t/2) - sin t) / 8 and lambda = 3/8 + cos(t)/4.
                let turn = PI / last as f64;
                let at_ends = -((0.5 * turn).tan().recip() - turn.sin()) / (1.0 + 2.0 * turn.cos());
                let inner: DVec3 = (1..last).map(|k| (turn * k as f64).sin() * at(k)).sum();
                inner + at_ends * (at(0) + at(last))
            };
            [at(0) - at(last), across]
        }
    };
    let normal = u.cross(v);
    // Tangents that are parallel but for rounding say nothing.
    (normal.length() > 1e-12 * u.length() * v.length()).then(|| normal.try_normalize()).flatten()
}

fn mean_normal(topology: &Topology, positions: &[DVec3], vertex: VertexId) -> DVec3 {
    let normal = |triangle: &crate::ids::TriangleId| {
        let [a, b, c] = topology.triangle(*triangle).map(|corner| positions[corner.index()]);
        (b - a).cross(c - a)
    };
    topology.vertex_triangles(vertex).iter().map(normal).sum()
}
