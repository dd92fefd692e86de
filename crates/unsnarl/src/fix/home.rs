//! Home: where cloth was before untangling, for all of it that was in order there.
//!
//! Edge shortening drags the surroundings of a tangle along, and elasticity alone does not bring cloth back to a place. Once
//! everything is clean, vertices that were not part of the tangle and whose triangles had about their rest size are drawn
//! back by springs that fade, with contact on.

use crate::analysis::{Assembly, Tangle};
use crate::dynamics::Guidance;
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Triangles within these stretches have about their size.
const IN_ORDER: [f64; 2] = [0.8, 1.25];

/// Where each vertex of cloth belongs; `None` for those that cross, are red, or belong to strained cloth.
pub(super) fn homes(model: &Model, assembly: &Assembly, tangle: &Tangle, positions: &[DVec3]) -> Vec<Option<DVec3>> {
    let mut homes: Vec<Option<DVec3>> = positions.iter().copied().map(Some).collect();
    let topology = &model.topology;
    for (triangle, corners) in topology.triangles().iter().enumerate() {
        let places = corners.map(|corner| positions[corner.index()]);
        let stretches = principal_stretches(&model.rest_shapes[triangle], places);
        let is_in_order = |[largest, least]: [f64; 2]| least > IN_ORDER[0] && largest < IN_ORDER[1];
        if !stretches.is_some_and(is_in_order) {
            corners.iter().for_each(|corner| homes[corner.index()] = None);
        }
    }
    let red =
        tangle.colours.red_triangles.iter().flat_map(|&triangle: &TriangleId| assembly.topology().triangle(triangle));
    for vertex in red.chain(tangle.colours.red_vertices.iter().copied()) {
        if let Some(home) = homes.get_mut(VertexId::index(vertex)) {
            *home = None;
        }
    }
    homes
}

/// Springs to the homes, of this stiffness per mass, N/(m kg).
pub(super) fn guidance(homes: &[Option<DVec3>], masses: &[f64], positions: &[DVec3], stiffness: f64) -> Guidance {
    const NEGLIGIBLE: f64 = 1.0;
    if homes.is_empty() || stiffness < NEGLIGIBLE {
        return Guidance::default();
    }
    let of_vertex = |(home, mass): (&Option<DVec3>, &f64)| home.map_or(0.0, |_| stiffness * mass);
    let stiffnesses: Vec<f64> = homes.iter().zip(masses).map(of_vertex).collect();
    let force = |((home, position), stiffness): ((&Option<DVec3>, &DVec3), &f64)| {
        home.map_or(DVec3::ZERO, |home| *stiffness * (home - *position))
    };
    let forces = homes.iter().zip(positions).zip(&stiffnesses).map(force).collect();
    Guidance { forces, stiffness: stiffnesses, ..Guidance::default() }
}
