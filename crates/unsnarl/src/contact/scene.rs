//! A model's cloth and the meshes around it as one contact mesh, with masses, thickness and friction from the fabrics.
//!
//! Cloth vertices come first, so their ids are the model's; obstacle vertices follow. A thin or open mesh is an
//! obstacle like any other: it goes through the same triangle pipeline, as cloth of infinite mass. (Bridson 2003, 2.1)

use super::field::{self, FieldMotion, FieldPart, FieldSettings};
use super::{
    ContactInput, ContactMesh, ContactSettings, Nearby, PairRules, Part, Purpose, Resolved, Workspace, admit,
    resolve_for,
};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, EdgeId, Topology, TopologyError, TriMesh, VertexId};
use crate::model::Model;

/// A mesh that cloth may not cross and that cloth does not move.
#[derive(Clone, Debug)]
pub struct ObstacleMesh {
    /// Its triangles, and where its vertices are at first.
    pub mesh: TriMesh,
    /// Thickness, metres.
    pub thickness: f64,
    /// Coulomb friction.
    pub friction: f64,
}

/// Everything that meets everything in a scene. It never changes.
#[derive(Clone, Debug)]
pub struct ContactScene {
    mesh: ContactMesh,
    cloth_count: usize,
    inverse_mass: Vec<f64>,
    thickness: Vec<f64>,
    friction: Vec<f64>,
}

/// The motion that a step proposes.
#[derive(Clone, Copy)]
pub struct Proposal<'a> {
    /// Cloth.
    pub cloth: Motion<'a>,
    /// All obstacles, one after the other.
    pub obstacles: Motion<'a>,
    /// Length of the step, seconds.
    pub step: f64,
    /// Cloth vertices that are led, besides the model's pins.
    pub held: &'a [VertexId],
    /// Which pairs are treated differently.
    pub rules: &'a dyn PairRules,
}

impl ContactScene {
    /// Puts cloth and obstacles together. Fails if an obstacle's triangles make no mesh.
    pub fn new(model: &Model, obstacles: &[ObstacleMesh]) -> Result<Self, TopologyError> {
        let cloth_count = model.topology.vertex_count();
        let mut triangles: Vec<[u32; 3]> =
            model.topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
        let mut inverse_mass: Vec<f64> = model.masses.iter().map(|mass| mass.recip()).collect();
        for pin in &model.pins {
            inverse_mass[pin.index()] = 0.0;
        }
        let fabric = |vertex: usize| {
            let triangles = model.topology.vertex_triangles(VertexId::new(vertex));
            triangles.first().map(|&triangle| model.fabric(triangle))
        };
        let of_cloth = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<f64> {
            (0..cloth_count).map(|vertex| value(vertex).unwrap_or(0.0)).collect()
        };
        let mut thickness = of_cloth(&|vertex| fabric(vertex).map(|fabric| fabric.thickness));
        let mut friction = of_cloth(&|vertex| fabric(vertex).map(|fabric| fabric.friction));
        let mut obstacle_positions: Vec<DVec3> = Vec::new();
        for obstacle in obstacles {
            let first = (cloth_count + obstacle_positions.len()) as u32;
            // The obstacle alone is checked first, so that an error names its own indices.
            Topology::new(obstacle.mesh.positions.len(), &obstacle.mesh.triangles)?;
            triangles.extend(obstacle.mesh.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
            obstacle_positions.extend(&obstacle.mesh.positions);
            thickness.resize(cloth_count + obstacle_positions.len(), obstacle.thickness);
            friction.resize(cloth_count + obstacle_positions.len(), obstacle.friction);
        }
        inverse_mass.resize(cloth_count + obstacle_positions.len(), 0.0);
        let topology = Topology::new(inverse_mass.len(), &triangles)?;
        let rest_lengths = rest_lengths(&topology, model, &obstacle_positions);
        let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
        Ok(Self { mesh, cloth_count, inverse_mass, thickness, friction })
    }

    /// The mesh of cloth and obstacles.
    pub fn mesh(&self) -> &ContactMesh {
        &self.mesh
    }

    /// Keeps the cloth of a step from crossing anything; see [`super::resolve`]. The answer holds cloth vertices only.
    pub fn resolve(&self, proposal: &Proposal, settings: &ContactSettings, workspace: &mut Workspace) -> Resolved {
        let nearby = self.nearby(proposal, workspace);
        self.resolve_for(Purpose::Resolve, proposal, &nearby, settings, workspace, &mut |_| {})
    }

    /// What is within thickness at the start of a step; where cloth ends does not matter.
    pub fn nearby(&self, proposal: &Proposal, workspace: &mut Workspace) -> Nearby {
        self.with_input(proposal, |input| Nearby::find(input, workspace))
    }

    /// The same, for a purpose; `observe` hears of every part of contact as it ends.
    pub fn resolve_for(
        &self,
        purpose: Purpose,
        proposal: &Proposal,
        nearby: &Nearby,
        settings: &ContactSettings,
        workspace: &mut Workspace,
        observe: &mut dyn FnMut(Part),
    ) -> Resolved {
        let mut resolved = self
            .with_input(proposal, |input| resolve_for((purpose, Some(nearby)), input, settings, workspace, observe));
        resolved.positions.truncate(self.cloth_count);
        resolved.velocities.truncate(self.cloth_count);
        resolved.changed.retain(|vertex| vertex.index() < self.cloth_count);
        resolved
    }

    /// Follows a small motion of cloth as far as it crosses nothing; see [`admit`].
    pub fn admit(&self, proposal: &Proposal, settings: &ContactSettings, workspace: &mut Workspace) -> Vec<DVec3> {
        let mut end = self.with_input(proposal, |input| admit::admit(input, settings, workspace));
        end.truncate(self.cloth_count);
        end
    }

    /// Lets the field change where cloth would go; see [`field::carry_by_field`]. The model is the one this was made
    /// of.
    pub fn carry_by_field(
        &self,
        proposal: &Proposal,
        (model, air_density): (&Model, f64),
        settings: &FieldSettings,
        memory: &mut field::Memory,
        observe: &mut dyn FnMut(FieldPart),
    ) -> FieldMotion {
        self.with_input(proposal, |input| field::carry_by_field(input, model, air_density, settings, memory, observe))
    }

    /// Puts cloth and obstacles together for one step.
    fn with_input<R>(&self, proposal: &Proposal, use_it: impl FnOnce(&ContactInput) -> R) -> R {
        let joined = |cloth: &[DVec3], obstacles: &[DVec3]| [cloth, obstacles].concat();
        let start = joined(proposal.cloth.start, proposal.obstacles.start);
        let end = joined(proposal.cloth.end, proposal.obstacles.end);
        let mut inverse_mass = self.inverse_mass.clone();
        for held in proposal.held {
            inverse_mass[held.index()] = 0.0;
        }
        use_it(&ContactInput {
            mesh: &self.mesh,
            start: &start,
            end: &end,
            step: proposal.step,
            inverse_mass: &inverse_mass,
            thickness: &self.thickness,
            friction: &self.friction,
            rules: proposal.rules,
        })
    }
}

/// The rest length of every edge: of the fabric for cloth, as loaded for obstacles.
fn rest_lengths(topology: &Topology, model: &Model, obstacle_positions: &[DVec3]) -> Vec<f64> {
    let first_obstacle = model.topology.vertex_count();
    (0..topology.edge_count())
        .map(EdgeId::new)
        .map(|edge| {
            let triangle = topology.edge_triangles(edge)[0];
            let [a, b] = topology.edge(edge);
            match model.rest_shapes.get(triangle.index()) {
                Some(shape) => {
                    let side = topology.triangle_edges(triangle).iter().position(|&other| other == edge);
                    shape.lengths()[side.expect("an edge is a side of its triangles")]
                }
                None => {
                    let at = |vertex: VertexId| obstacle_positions[vertex.index() - first_obstacle];
                    at(a).distance(at(b))
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::OrdinaryRules;
    use crate::model::Cloth;

    fn square(z: f64, size: f64) -> TriMesh {
        let corner = |x: f64, y: f64| DVec3::new(x * size, y * size, z);
        TriMesh {
            positions: vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        }
    }

    #[test]
    fn cloth_falls_on_an_open_mesh_and_stays_above_it() {
        let (model, state) = Model::build(&[Cloth::new("cloth", square(0.01, 0.5))]).unwrap();
        let floor = ObstacleMesh { mesh: square(0.0, 1.0), thickness: 1e-3, friction: 0.5 };
        let scene = ContactScene::new(&model, std::slice::from_ref(&floor)).unwrap();
        let end: Vec<DVec3> = state.positions.iter().map(|p| *p - DVec3::Z * 0.1).collect();
        let proposal = Proposal {
            cloth: Motion { start: &state.positions, end: &end },
            obstacles: Motion::at_rest(&floor.mesh.positions),
            step: 0.01,
            held: &[],
            rules: &OrdinaryRules,
        };
        let settings = ContactSettings::default();
        let resolved = scene.resolve(&proposal, &settings, &mut Workspace::default());
        assert_eq!(resolved.positions.len(), 4);
        assert!(resolved.positions.iter().all(|p| p.z > settings.separation), "{:?}", resolved.positions);
        assert_eq!(resolved.report.unresolved, 0);
    }

    #[test]
    fn an_obstacle_without_a_mesh_is_refused() {
        let (model, _) = Model::build(&[Cloth::new("cloth", square(0.0, 1.0))]).unwrap();
        let mut floor = ObstacleMesh { mesh: square(0.0, 1.0), thickness: 1e-3, friction: 0.5 };
        floor.mesh.triangles[1] = [0, 2, 9];
        let error = ContactScene::new(&model, &[floor]).unwrap_err();
        assert_eq!(error.to_string(), "triangle 1 names vertex 9, the mesh has 4");
    }
}
