//! Closed meshes as level sets: bodies that single cloth vertices feel by their distance, as they feel analytic solids.
//!
//! A mesh that keeps its shape has one level set in its own space, moved with it. A mesh that deforms gets one for the
//! end of every step, with the velocities that its surface has over the step. (Bridson 2003, 2.1)
//!
//! Guarantees: an open mesh is refused when a scene is built. The triangles of the mesh stay in contact, so a step is
//! proved against them however coarse the samples are. Answers depend on the mesh at both ends of the step alone.
//! Does not: see what is thinner than about two samples; such parts are left to the triangles.
//! Departs: key shapes are not interpolated. A limb may move farther than the band from key to key, and a level set for
//! every step is as exact as the mesh.

use super::moving_mesh::MovingMesh;
use crate::geometry::{Aabb, DVec3, EdgeId, Topology, TopologyError, TriMesh};
use std::sync::Arc;
use thiserror::Error;
use unsnarl_volume::level_set::{DeformingBody, DeformingError, MeshError, MeshSettings};
use unsnarl_volume::{Field, LevelSet};

/// Samples along the longest side of a mesh, unless somebody asks for a spacing.
const SAMPLES_ACROSS: f64 = 160.0;
/// A mesh with a larger share of its edges on a border is open. Small holes, such as eyes, are closed over.
const OPEN_SHARE: f64 = 0.05;

/// The inside of a mesh body.
#[derive(Clone, Debug)]
pub struct Volume {
    settings: MeshSettings,
    /// In the space of the mesh, where it keeps its shape.
    rigid: Option<Arc<LevelSet>>,
}

/// A volume at the end of a step.
#[derive(Clone, Debug)]
pub(super) enum Instant<'a> {
    /// In the space of the mesh.
    Rigid(&'a LevelSet),
    /// In the world, with its velocities.
    Deforming(Box<DeformingBody>),
    /// In the world, for distances alone.
    Still(Box<LevelSet>),
}

/// Why a mesh has no inside.
#[derive(Debug, PartialEq, Error)]
pub enum VolumeError {
    /// The triangles make no mesh.
    #[error("{0}")]
    Topology(#[from] TopologyError),
    /// It has borders.
    #[error(
        "{borders} of its {edges} edges are on a border; a level set needs a closed mesh, an open one collides by its triangles"
    )]
    Open {
        /// Edges with one triangle.
        borders: usize,
        /// All edges.
        edges: usize,
    },
    /// The level set cannot be made.
    #[error("{0}")]
    Mesh(#[from] MeshError),
    /// The level set of a moving mesh cannot be made.
    #[error("{0}")]
    Deforming(#[from] DeformingError),
}

impl Volume {
    /// The inside of a mesh, sampled at a distance, metres; by default a small part of its size.
    pub fn of(mesh: &MovingMesh, spacing: Option<f64>) -> Result<Self, VolumeError> {
        let settings = settings_of(mesh, spacing)?;
        let first = TriMesh { positions: mesh.own_positions().to_vec(), triangles: mesh.triangles().to_vec() };
        let shape = LevelSet::from_mesh(&first, &settings)?;
        Ok(Self { settings, rigid: mesh.keeps_shape().then(|| Arc::new(shape)) })
    }

    /// The volume at the end of a step. A shape of which no level set can be made is left to its triangles.
    pub(super) fn at(&self, mesh: &MovingMesh, end: f64, step: f64) -> Option<Instant<'_>> {
        if let Some(shape) = &self.rigid {
            return Some(Instant::Rigid(shape));
        }
        let positions = [mesh.positions_at(end - step), mesh.positions_at(end)];
        let body = DeformingBody::over_step(mesh.triangles(), &positions, step, &self.settings).ok()?;
        Some(Instant::Deforming(Box::new(body)))
    }
}

/// The inside of a mesh at a time, in the world and for distances alone, whether the mesh deforms or not.
pub(super) fn still(mesh: &MovingMesh, time: f64) -> Option<Instant<'static>> {
    let settings = settings_of(mesh, None).ok()?;
    let there = TriMesh { positions: mesh.positions_at(time), triangles: mesh.triangles().to_vec() };
    Some(Instant::Still(Box::new(LevelSet::from_mesh(&there, &settings).ok()?)))
}

/// How a mesh is sampled. Open ones are refused.
fn settings_of(mesh: &MovingMesh, spacing: Option<f64>) -> Result<MeshSettings, VolumeError> {
    let positions = mesh.own_positions();
    let topology = Topology::new(positions.len(), mesh.triangles())?;
    let edges = topology.edge_count();
    let borders = (0..edges).filter(|&edge| topology.edge_triangles(EdgeId::new(edge)).len() == 1).count();
    if borders as f64 > OPEN_SHARE * edges as f64 {
        return Err(VolumeError::Open { borders, edges });
    }
    let across = Aabb::of_points(positions.iter().copied()).extent().max_element();
    Ok(MeshSettings::with_spacing(spacing.unwrap_or(across / SAMPLES_ACROSS)))
}

/// The signed distance and the direction in which it grows.
pub(super) fn distance(shape: &LevelSet, point: DVec3) -> (f64, DVec3) {
    let (value, gradient) = shape.value_and_gradient(point);
    (value, gradient.try_normalize().unwrap_or(DVec3::Y))
}
