//! A workpiece: garments with bodies as obstacles, ready to be untangled.
//!
//! The one way from garments to a [`Patient`] and its [`FixSettings`], for the command, the page, benches and Python:
//! rest shapes as wished, angles of creases, pins, layers, styles, places of seams.
//!
//! Guarantees: everything fits the assembly, or an error names the garment; the same input gives the same bits
//! whoever calls.
//! Does not: read files, or build garments; `scene::garment` does.

mod account;
pub mod styles;

pub use styles::StyleWish;

use crate::analysis::{Assembly, PartKind};
use crate::fix::{FixSettings, FoldStyle, Patient, SeamPlace, VertexSettings};
use crate::geometry::math::DVec3;
use crate::geometry::{TriMesh, UvMap, VertexId};
use crate::model::{Cloth, Model, ModelError, Rest, RestAngles};
use crate::rest_shape::RestShape;
use crate::scene::garment::Garment;
use crate::state::State;
use thiserror::Error;

/// What a workpiece is built from.
pub struct Setup<'a> {
    /// Garments, then bodies, under one numbering.
    pub assembly: Assembly,
    /// Where all of them are, metres.
    pub positions: &'a [DVec3],
    /// The garments, in the order of the assembly.
    pub garments: Vec<Garment>,
    /// Where each garment's rest shapes come from. Empty: from the garments.
    pub rest: Vec<RestWish<'a>>,
    /// How cloth is bent at rest, but for creases, which say that themselves.
    pub rest_angles: RestAngles,
}

/// Where the rest shapes of a garment come from.
#[derive(Clone, Copy, Debug)]
pub enum RestWish<'a> {
    /// Those that it was built with.
    Garment,
    /// Its triangles as they are.
    AsLoaded,
    /// Panels, metres.
    Panels(&'a UvMap),
    /// A mesh with the same triangles; it may have other vertices behind those. Cloth takes its shape where nothing
    /// else helps.
    Mesh(&'a TriMesh),
}

/// Garments and bodies, checked and put together.
#[derive(Clone, Debug)]
pub struct Workpiece {
    /// Garments, then bodies, under one numbering.
    pub assembly: Assembly,
    /// The garments.
    pub garments: Vec<Garment>,
    /// The cloth.
    pub model: Model,
    /// The cloth as it came.
    pub state: State,
    /// Where the bodies are.
    pub body_positions: Vec<DVec3>,
    /// Where cloth is in the meshes that gave it its rest shapes; empty without them.
    pub rest_pose: Vec<DVec3>,
}

/// Why garments cannot be put together.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WorkpieceError {
    /// Something is wrong with the cloth.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A rest mesh has other triangles.
    #[error("its {given} triangles are not those of the garment ({expected}); a rest mesh has the same triangles")]
    RestTriangles {
        /// How many it has.
        given: usize,
        /// How many the garment has.
        expected: usize,
    },
    /// There is not one entry for each garment.
    #[error("{what}: {given} for {expected} garments; give one for each")]
    Count {
        /// What was given.
        what: &'static str,
        /// How many.
        given: usize,
        /// How many garments there are.
        expected: usize,
    },
    /// A wish for a style that means nothing.
    #[error("style {0}")]
    Style(String),
}

impl Workpiece {
    /// Puts garments and bodies together.
    pub fn build(setup: Setup<'_>) -> Result<Self, WorkpieceError> {
        let Setup { assembly, positions, garments, rest, rest_angles } = setup;
        let is_cloth = |kind: PartKind| kind == PartKind::Cloth;
        let expected = assembly.parts().iter().filter(|part| is_cloth(part.kind)).count();
        let count = |what, given| match given == expected {
            true => Ok(()),
            false => Err(WorkpieceError::Count { what, given, expected }),
        };
        count("garments", garments.len())?;
        if !rest.is_empty() {
            count("rest shapes", rest.len())?;
        }
        let cloth_count = garments.iter().map(|garment| garment.topology.vertex_count()).sum();
        let mut cloths = Vec::new();
        let mut rest_pose = Vec::new();
        for (index, (part, garment)) in assembly.parts().iter().zip(&garments).enumerate() {
            let corners = garment.topology.triangles().iter();
            let mesh = TriMesh {
                positions: positions[part.vertices.clone()].to_vec(),
                triangles: corners.map(|corners| corners.map(|corner| corner.0)).collect(),
            };
            let wish = rest.get(index).copied().unwrap_or(RestWish::Garment);
            let rest = rest_of(wish, garment, &mesh)?;
            if let RestWish::Mesh(rest) = wish {
                let mut places = rest.positions.clone();
                places.resize(part.vertices.len(), DVec3::ZERO);
                rest_pose.extend(places);
            }
            let mut cloth = Cloth::new(part.name.clone(), mesh);
            cloth.rest = rest;
            cloth.rest_angles = rest_angles.clone();
            cloth.pins = garment.pins.clone();
            cloths.push(cloth);
        }
        if rest_pose.len() != cloth_count {
            rest_pose.clear();
        }
        let (model, mut state) = Model::build(&cloths)?;
        bend_creases(&assembly, &garments, &model, &mut state);
        let body_positions = positions[cloth_count..].to_vec();
        Ok(Self { assembly, garments, model, state, body_positions, rest_pose })
    }

    /// Vertices of cloth; those of bodies come behind them.
    pub fn cloth_count(&self) -> usize {
        self.state.positions.len()
    }

    /// Positions of cloth as it came, then of bodies.
    pub fn positions(&self) -> Vec<DVec3> {
        self.with_bodies(&self.state.positions)
    }

    /// Cloth at some positions, then the bodies.
    pub fn with_bodies(&self, cloth: &[DVec3]) -> Vec<DVec3> {
        cloth.iter().chain(&self.body_positions).copied().collect()
    }

    /// Everything that untangling starts from.
    pub fn patient(&self) -> Patient {
        Patient {
            model: self.model.clone(),
            state: self.state.clone(),
            assembly: self.assembly.clone(),
            body_positions: self.body_positions.clone(),
        }
    }

    /// The default settings for these garments: their own layers, styles of their design, places of seams, the rest
    /// pose.
    pub fn settings(&self) -> FixSettings {
        let vertices = VertexSettings {
            layers: self.layers_by(|garment| self.garments[garment].layer),
            styles: self.garments.iter().flat_map(FoldStyle::chart).collect(),
            creases: self.creases(),
            rest_pose: self.rest_pose.clone(),
            seam_places: self.garments.iter().flat_map(SeamPlace::chart).collect(),
        };
        FixSettings { vertices, ..FixSettings::default() }
    }

    /// The edges of all creases with their angles at rest, radians.
    fn creases(&self) -> Vec<([VertexId; 2], f64)> {
        let mut creases = Vec::new();
        for (part, garment) in self.assembly.parts().iter().zip(&self.garments) {
            let in_model = |vertex: VertexId| VertexId::new(vertex.index() + part.vertices.start);
            let own = garment.creases.iter();
            creases.extend(own.map(|crease| (garment.topology.edge(crease.edge).map(in_model), crease.rest_angle)));
        }
        creases
    }

    /// The layer of every vertex of cloth: one number for each garment, from the inside out. Empty: the garments' own.
    pub fn layers(&self, wish: &[i32]) -> Result<Vec<i32>, WorkpieceError> {
        let expected = self.garments.len();
        if !wish.is_empty() && wish.len() != expected {
            return Err(WorkpieceError::Count { what: "layers", given: wish.len(), expected });
        }
        Ok(self.layers_by(|garment| wish.get(garment).copied().unwrap_or(self.garments[garment].layer)))
    }

    fn layers_by(&self, layer: impl Fn(usize) -> i32) -> Vec<i32> {
        let mut layers = Vec::new();
        for (garment, part) in self.assembly.parts()[..self.garments.len()].iter().enumerate() {
            layers.resize(part.vertices.end, layer(garment));
        }
        layers
    }
}

fn rest_of(wish: RestWish<'_>, garment: &Garment, mesh: &TriMesh) -> Result<Rest, WorkpieceError> {
    Ok(match wish {
        RestWish::Garment => Rest::Shapes(garment.rest_shapes.clone()),
        RestWish::AsLoaded => Rest::AsLoaded,
        RestWish::Panels(uv) => Rest::Panels(uv.clone()),
        RestWish::Mesh(rest) => {
            let is_within = |corners: &[u32; 3]| corners.iter().all(|&corner| (corner as usize) < rest.positions.len());
            if rest.triangles != mesh.triangles || !rest.triangles.iter().all(is_within) {
                let (given, expected) = (rest.triangles.len(), mesh.triangles.len());
                return Err(WorkpieceError::RestTriangles { given, expected });
            }
            let shape =
                |corners: &[u32; 3]| RestShape::from_world(corners.map(|corner| rest.positions[corner as usize]));
            Rest::Shapes(rest.triangles.iter().map(shape).collect())
        }
    })
}

/// Gives creases their angles at rest, whatever all other edges do.
fn bend_creases(assembly: &Assembly, garments: &[Garment], model: &Model, state: &mut State) {
    for (part, garment) in assembly.parts().iter().zip(garments) {
        let in_model = |vertex: VertexId| VertexId::new(vertex.index() + part.vertices.start);
        for crease in &garment.creases {
            let [a, b] = garment.topology.edge(crease.edge).map(in_model);
            if let Some(hinge) = model.topology.find_edge(a, b).and_then(|edge| model.hinge_at(edge)) {
                state.rest_angles[hinge] = crease.rest_angle;
            }
        }
    }
}

#[cfg(test)]
mod tests;
