//! Cloth that is to be flat in places, as a part of an elastic solve.
//!
//! A vertex within cloth is flat where it is the mean of its ring, with the cotangent weights of its rest shapes: then
//! `r_i = x_i - sum w_ij x_j` is nothing, however flat cloth is turned, moved or evenly strained. Added to the energy
//! is `sum f_i |r_i|^2`. It resists bending, and pinched vertices most of all. (a linear thin plate)
//!
//! Guarantees: no force on cloth that is flat at rest and lies flat; forces sum to nothing.
//! Does not: flatten borders, nor know of curved rest shapes.

use crate::untangle::rearrange::strain_bounds::StrainBounds;
use unsnarl_geometry::{DVec3, Topology, VertexId};

/// A vertex that is to be flat.
struct FlatVertex {
    stiffness: f64,
    /// Itself and its ring: vertex, row of the system if it is free, weight.
    terms: Vec<(usize, Option<usize>, f64)>,
}

/// The vertices that are to be flat.
pub(super) struct Flatness {
    vertices: Vec<FlatVertex>,
}

impl Flatness {
    /// By how strongly each vertex is to be flat, beside the stiffness of cloth; no entry is nothing.
    pub fn new(topology: &Topology, bounds: &StrainBounds, stiffness: &[f64], row_of: &[Option<usize>]) -> Self {
        let of_vertex = |(vertex, &stiffness): (usize, &f64)| {
            if stiffness <= 0.0 {
                return None;
            }
            let weights = weights(topology, bounds, VertexId::new(vertex))?;
            let term = |(at, weight): (VertexId, f64)| (at.index(), row_of.get(at.index()).copied().flatten(), weight);
            let terms: Vec<_> = weights.into_iter().map(term).collect();
            terms.iter().any(|term| term.1.is_some()).then_some(FlatVertex { stiffness, terms })
        };
        Self { vertices: stiffness.iter().enumerate().filter_map(of_vertex).collect() }
    }

    /// Adds to the matrix of the solve: to its diagonal, and entries right of it.
    pub fn add_to_matrix(&self, diagonal: &mut [f64], entries: &mut Vec<([usize; 2], f64)>) {
        for FlatVertex { stiffness, terms } in &self.vertices {
            for (at, &(_, row, weight)) in terms.iter().enumerate() {
                let Some(row) = row else { continue };
                diagonal[row] += stiffness * weight * weight;
                for &(_, other, of_other) in &terms[at + 1..] {
                    let Some(other) = other else { continue };
                    entries.push(([row.min(other), row.max(other)], stiffness * weight * of_other));
                }
            }
        }
    }

    /// Adds the forces on cloth that is here to those of the rows.
    pub fn add_forces(&self, positions: &[DVec3], forces: &mut [DVec3]) {
        for FlatVertex { stiffness, terms } in &self.vertices {
            let off: DVec3 = terms.iter().map(|&(vertex, _, weight)| weight * positions[vertex]).sum();
            for &(_, row, weight) in terms {
                row.iter().for_each(|&row| forces[row] -= stiffness * weight * off);
            }
        }
    }
}

/// The weights of a vertex and its ring, 1 for itself; `None` on a border, and where triangles are too thin.
fn weights(topology: &Topology, bounds: &StrainBounds, vertex: VertexId) -> Option<Vec<(VertexId, f64)>> {
    if topology.is_boundary_vertex(vertex) {
        return None;
    }
    let mut weights: Vec<(VertexId, f64)> =
        std::iter::once(vertex).chain(topology.ring(vertex)).map(|at| (at, 0.0)).collect();
    for &triangle in topology.vertex_triangles(vertex) {
        let shape = bounds.shapes().get(triangle.index())?;
        let (warp, weft) = shape.gradients()?;
        let corners = topology.triangle(triangle);
        let own = corners.iter().position(|&corner| corner == vertex)?;
        for (k, &corner) in corners.iter().enumerate() {
            let stiffness = shape.area() * (warp[own] * warp[k] + weft[own] * weft[k]);
            weights.iter_mut().find(|weight| weight.0 == corner)?.1 += stiffness;
        }
    }
    let own = weights[0].1;
    weights.iter_mut().for_each(|weight| weight.1 /= own);
    weights.iter().all(|weight| weight.1.is_finite()).then_some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest_shape::RestShape;
    use crate::samples::{self, Cut, Recipe};

    fn flat_sheet() -> (Topology, Vec<RestShape>, Vec<DVec3>) {
        let mesh = samples::find("hanky").unwrap().make(&Recipe { resolution: 8, cut: Cut::Irregular, seed: 4 }).mesh;
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
        let shape = |corners: &[u32; 3]| RestShape::from_world(corners.map(|corner| mesh.positions[corner as usize]));
        (topology, mesh.triangles.iter().map(shape).collect(), mesh.positions)
    }

    fn forces(topology: &Topology, shapes: &[RestShape], positions: &[DVec3]) -> Vec<DVec3> {
        let bounds = StrainBounds::around_rest(topology, shapes, StrainBounds::TIGHT);
        let rows: Vec<Option<usize>> = (0..positions.len()).map(Some).collect();
        let flatness = Flatness::new(topology, &bounds, &vec![2.0; positions.len()], &rows);
        let mut forces = vec![DVec3::ZERO; positions.len()];
        flatness.add_forces(positions, &mut forces);
        forces
    }

    #[test]
    fn flat_cloth_feels_nothing_however_it_is_cut_turned_and_stretched() {
        let (topology, shapes, rest) = flat_sheet();
        let place = |at: &DVec3| DVec3::new(1.3 * at.x + 0.2 * at.z, 0.4 * at.x - 0.7 * at.z, at.z + 5.0);
        let placed: Vec<DVec3> = rest.iter().map(place).collect();
        let largest = forces(&topology, &shapes, &placed).iter().map(|force| force.length()).fold(0.0, f64::max);
        assert!(largest < 1e-12, "{largest}");
    }

    #[test]
    fn forces_are_the_slope_of_the_energy_and_sum_to_nothing() {
        let (topology, shapes, mut positions) = flat_sheet();
        for (at, place) in positions.iter_mut().enumerate() {
            place.y += 0.01 * (at as f64).sin();
        }
        let forces = forces(&topology, &shapes, &positions);
        assert!(forces.iter().sum::<DVec3>().length() < 1e-12);
        let bounds = StrainBounds::around_rest(&topology, &shapes, StrainBounds::TIGHT);
        let energy = |positions: &[DVec3]| -> f64 {
            let of_vertex = |vertex: usize| weights(&topology, &bounds, VertexId::new(vertex));
            let off = |weights: Vec<(VertexId, f64)>| -> DVec3 {
                weights.iter().map(|&(at, weight)| weight * positions[at.index()]).sum()
            };
            (0..positions.len()).filter_map(of_vertex).map(|weights| off(weights).length_squared()).sum()
        };
        let step = 1e-6;
        for vertex in [0, 17, 40] {
            let [mut more, mut less] = [positions.clone(), positions.clone()];
            more[vertex].y += step;
            less[vertex].y -= step;
            // Half of the stiffness of 2 times the square is the square.
            let slope = (energy(&more) - energy(&less)) / (2.0 * step);
            assert!((slope + forces[vertex].y).abs() < 1e-6, "{slope} and {}", forces[vertex].y);
        }
    }

    #[test]
    fn the_matrix_is_the_change_of_the_forces() {
        let (topology, shapes, positions) = flat_sheet();
        let bounds = StrainBounds::around_rest(&topology, &shapes, StrainBounds::TIGHT);
        let rows: Vec<Option<usize>> = (0..positions.len()).map(Some).collect();
        let flatness = Flatness::new(&topology, &bounds, &vec![2.0; positions.len()], &rows);
        let (mut diagonal, mut entries) = (vec![0.0; positions.len()], Vec::new());
        flatness.add_to_matrix(&mut diagonal, &mut entries);
        for vertex in [0, 17, 40] {
            let mut moved = vec![DVec3::ZERO; positions.len()];
            moved[vertex] = DVec3::Y;
            let mut image = vec![DVec3::ZERO; positions.len()];
            flatness.add_forces(&moved, &mut image);
            for (row, force) in image.iter().enumerate() {
                let key = [row.min(vertex), row.max(vertex)];
                let off_diagonal: f64 = entries.iter().filter(|entry| entry.0 == key).map(|entry| entry.1).sum();
                let entry = if row == vertex { diagonal[row] } else { off_diagonal };
                assert!((entry + force.y).abs() < 1e-12, "row {row} of {vertex}");
            }
        }
    }
}
