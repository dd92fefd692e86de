//! A part of the cloth as cloth of its own, for work that stays in one place.

use super::{Model, Piece, hinges};
use crate::dynamics::pattern::Pattern;
use crate::geometry::{DVec3, Topology, TriangleId, VertexId};
use crate::state::State;

impl Model {
    /// The given triangles, rising, and the vertices at their corners, in their order. Masses, fabrics, rest shapes and
    /// rest angles are those of the whole; threads stay where all their vertices do. `None` without triangles.
    pub fn part(&self, state: &State, triangles: &[TriangleId]) -> Option<ModelPart> {
        let mut vertices: Vec<VertexId> = triangles.iter().flat_map(|&at| self.topology.triangle(at)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let own = |vertex: VertexId| vertices.binary_search(&vertex).ok();
        let number = |vertex: VertexId| own(vertex).unwrap_or_default() as u32;
        let corners: Vec<[u32; 3]> = triangles.iter().map(|&at| self.topology.triangle(at).map(number)).collect();
        let topology = Topology::new(vertices.len(), &corners).ok().filter(|_| !triangles.is_empty())?;
        let of_triangles = |shapes: &[_]| triangles.iter().map(|at| shapes[at.index()]).collect::<Vec<_>>();
        let of_vertices = |places: &[DVec3]| vertices.iter().map(|at| places[at.index()]).collect::<Vec<_>>();
        let (rest_shapes, shapes_in_force) = (of_triangles(&self.rest_shapes), of_triangles(&state.rest_shapes));
        let triangle_fabric: Vec<u32> = triangles.iter().map(|at| self.triangle_fabric[at.index()]).collect();
        let hinges = hinges(&topology, &rest_shapes, &self.fabrics, &triangle_fabric);
        let of_hinges = |angles: &[f64]| -> Vec<f64> {
            let hinge = |edge| {
                let [a, b] = topology.edge(edge).map(|end| vertices[end.index()]);
                self.topology.find_edge(a, b).and_then(|edge| self.hinge_at(edge))
            };
            hinges.iter().map(|own| hinge(own.edge).map_or(0.0, |at| angles[at])).collect()
        };
        let (rest_angles, angles_in_force) = (of_hinges(&self.rest_angles), of_hinges(&state.rest_angles));
        let pins = self.pins.iter().filter_map(|&pin| own(pin).map(VertexId::new)).collect();
        let (mut stitches, mut stitch_gaps) = (Vec::new(), Vec::new());
        for (stitch, gap) in self.stitches.iter().zip(&self.stitch_gaps) {
            if let [Some(a), Some(b), Some(c)] = stitch.vertices.map(own) {
                stitches.push(super::Stitch { vertices: [a, b, c].map(VertexId::new), ..*stitch });
                stitch_gaps.push(*gap);
            }
        }
        let pattern = Pattern::new(&topology, &hinges, &stitches);
        let state = State::at_rest(of_vertices(&state.positions), shapes_in_force, angles_in_force);
        let model = Self {
            pieces: self.pieces_of(&vertices, triangles),
            masses: vertices.iter().map(|at| self.masses[at.index()]).collect(),
            fabrics: self.fabrics.clone(),
            topology,
            triangle_fabric,
            rest_shapes,
            hinges,
            rest_angles,
            pins,
            stitches,
            stitch_gaps,
            pattern,
        };
        Some(ModelPart { model, state, vertices })
    }

    /// What is left of each piece.
    fn pieces_of(&self, vertices: &[VertexId], triangles: &[TriangleId]) -> Vec<Piece> {
        let first_vertex = |limit: usize| vertices.partition_point(|vertex| vertex.index() < limit);
        let first_triangle = |limit: usize| triangles.partition_point(|triangle| triangle.index() < limit);
        let part = |piece: &Piece| Piece {
            name: piece.name.clone(),
            vertices: first_vertex(piece.vertices.start)..first_vertex(piece.vertices.end),
            triangles: first_triangle(piece.triangles.start)..first_triangle(piece.triangles.end),
        };
        self.pieces.iter().map(part).filter(|piece| !piece.triangles.is_empty()).collect()
    }
}

/// A part of the cloth, and which part it is.
pub struct ModelPart {
    /// The cloth.
    pub model: Model,
    /// Where it is, with the rest shapes in force; at rest.
    pub state: State,
    /// The number of each vertex in the whole, rising.
    pub vertices: Vec<VertexId>,
}

#[cfg(test)]
mod tests {
    use crate::geometry::{DVec3, TriangleId, VertexId};
    use crate::model::{Cloth, Model, RestAngles, Stitch};
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn a_part_has_the_shapes_angles_pins_and_threads_of_the_whole() {
        let recipe = Recipe { resolution: 10, cut: Cut::Irregular, seed: 3 };
        let mesh = samples::find("hanky").unwrap().make(&recipe).mesh;
        let count = mesh.positions.len();
        let mut cloth = Cloth::new("hanky", mesh);
        cloth.mesh.positions.iter_mut().for_each(|place| *place += DVec3::Y * (9.0 * place.x).sin());
        cloth.rest_angles = RestAngles::AsLoaded;
        cloth.pins = (0..count).step_by(7).map(VertexId::new).collect();
        cloth.stitches = vec![Stitch::pair(VertexId::new(count - 1), VertexId::new(count - 2))];
        let (model, state) = Model::build(&[cloth.clone(), cloth]).unwrap();
        let triangles: Vec<TriangleId> =
            (model.topology.triangle_count() / 3..model.topology.triangle_count()).map(TriangleId::new).collect();
        let part = model.part(&state, &triangles).unwrap();
        assert_eq!(part.model.rest_shapes[..], model.rest_shapes[triangles[0].index()..]);
        for (own, angle) in part.model.hinges.iter().zip(&part.model.rest_angles) {
            let vertices = own.vertices.map(|vertex| part.vertices[vertex.index()]);
            let edge = model.topology.find_edge(vertices[2], vertices[3]).unwrap();
            let whole = model.hinge_at(edge).unwrap();
            assert_eq!((model.rest_angles[whole], model.hinges[whole].vertices), (*angle, vertices));
            assert_eq!(model.hinges[whole].stiffness, own.stiffness);
        }
        assert!(part.model.pins.iter().all(|pin| model.pins.contains(&part.vertices[pin.index()])));
        assert_eq!((part.model.pieces.len(), part.model.stitches.len()), (2, 2));
        assert_eq!(part.model.pieces[1].vertices.end, part.vertices.len());
        assert!(model.part(&state, &[]).is_none());
    }
}
