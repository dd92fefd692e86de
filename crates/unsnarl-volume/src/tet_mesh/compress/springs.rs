//! Compression by masses and springs: along edges and along altitudes. (Bridson 2003, 5.5)
//!
//! Rest lengths are those of the candidate. Altitude springs act between a corner and its face and resist collapse,
//! which springs along edges alone do not.

use super::physics::{Law, Pull, altitude_forces, altitudes, relax};
use super::{CompressReport, Observer, Workpiece};
use crate::tet_mesh::EDGES;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// Stiffness of altitude springs against those of edges.
const ALTITUDE_STIFFNESS: f64 = 2.0;

/// Springs of all elements, at rest in the candidate.
pub struct Springs {
    edges: Vec<[f64; 6]>,
    altitudes: Vec<[f64; 4]>,
}

impl Springs {
    /// At rest where the mesh is.
    pub fn at_rest(piece: &Workpiece<'_>) -> Self {
        let corners = |tet: &[u32; 4]| tet.map(|node| piece.positions[node as usize]);
        let edges = piece.tets.par_iter().map(|tet| {
            let corners = corners(tet);
            EDGES.map(|[i, j]| corners[i].distance(corners[j]))
        });
        let heights = piece.tets.par_iter().map(|tet| altitudes(corners(tet)));
        Self { edges: edges.collect(), altitudes: heights.collect() }
    }
}

impl Law for Springs {
    /// Force `1 - length / rest` along every edge, and the same along altitudes, times the rest length of the element's
    /// first edge: all elements are of one material.
    fn pull(&self, tet: usize, corners: [DVec3; 4]) -> Pull {
        let (rest, scale) = (&self.edges[tet], self.edges[tet][0]);
        let mut forces = [DVec3::ZERO; 4];
        for (edge, [i, j]) in EDGES.into_iter().enumerate() {
            let along = corners[j] - corners[i];
            let length = along.length();
            if length > 0.0 {
                let pull = scale * (1.0 - length / rest[edge]) / length * along;
                forces[j] += pull;
                forces[i] -= pull;
            }
        }
        let push = |ratio: f64| ALTITUDE_STIFFNESS * scale * (1.0 - ratio);
        altitude_forces(corners, self.altitudes[tet], push, &mut forces);
        let stiffness = [0, 1, 2, 3].map(|corner| {
            let of_edges: f64 = (EDGES.iter().zip(rest))
                .filter(|(ends, _)| ends.contains(&corner))
                .map(|(_, length)| scale / length)
                .sum();
            let of_altitudes: f64 = self.altitudes[tet].iter().map(|height| scale / height).sum();
            of_edges + 0.5 * ALTITUDE_STIFFNESS * of_altitudes
        });
        Pull { forces, stiffness }
    }
}

/// Moves the boundary to the surface.
pub fn compress(piece: &mut Workpiece<'_>, observer: Observer<'_>) -> CompressReport {
    let springs = Springs::at_rest(piece);
    relax(piece, &springs, observer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners() -> [DVec3; 4] {
        [DVec3::ZERO, DVec3::X, DVec3::new(0.5, 0.5, -0.5), DVec3::new(0.5, 0.5, 0.5)]
    }

    fn springs() -> Springs {
        let corners = corners();
        let edges = vec![EDGES.map(|[i, j]| corners[i].distance(corners[j]))];
        Springs { edges, altitudes: vec![altitudes(corners)] }
    }

    #[test]
    fn an_element_at_rest_pulls_nothing_and_a_moved_one_neither_shifts_nor_turns() {
        let springs = springs();
        assert!(springs.pull(0, corners()).forces.iter().all(|force| force.length() < 1e-12));
        let moved = [DVec3::new(0.1, -0.2, 0.05), DVec3::new(1.2, 0.1, 0.0), corners()[2], corners()[3] * 0.9];
        let forces = springs.pull(0, moved).forces;
        assert!(forces.iter().sum::<DVec3>().length() < 1e-12);
        let torque: DVec3 = forces.iter().zip(moved).map(|(force, at)| at.cross(*force)).sum();
        assert!(torque.length() < 1e-12 && forces[0].length() > 0.01);
    }

    #[test]
    fn a_flattened_element_is_pushed_apart() {
        let mut flat = corners();
        flat[0].y += 0.4;
        flat[1].y += 0.4;
        assert!(springs().pull(0, flat).forces[0].y < 0.0);
    }
}
