//! What `cache.json` says.
//!
//! Guarantees: what a reader is given is consistent, so that ranges of it can be taken without another look.

use super::rigid::{self, RigidInfo};
use super::{SCHEMA, refined};
use crate::scene_file::Scene;
use serde::{Deserialize, Serialize};

/// What `cache.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scene's title.
    pub title: String,
    /// Frames per second.
    pub frame_rate: f64,
    /// The last frame that the scene asks for.
    pub frames: u32,
    /// Number of vertices of all pieces.
    pub vertices: usize,
    /// Number of triangles of all pieces.
    pub triangles: usize,
    /// The pieces, in order.
    pub pieces: Vec<PieceInfo>,
    /// Groups of rigid bodies, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rigid: Vec<RigidInfo>,
    /// Checksum of the scene's words.
    pub scene: u32,
    /// The first frame; refined caches may hold a part of their source.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_frame: u32,
    /// Where the frames of a refined cache come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refined_from: Option<refined::RefinedFrom>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A piece of cloth in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceInfo {
    /// Its name.
    pub name: String,
    /// First vertex and number of vertices.
    pub vertices: [usize; 2],
    /// First triangle and number of triangles.
    pub triangles: [usize; 2],
}

impl Info {
    pub(super) fn of(scene: &Scene) -> Self {
        let model = &scene.world.model;
        Self {
            schema: SCHEMA.into(),
            title: scene.title.clone(),
            frame_rate: scene.frame_rate,
            frames: scene.frames,
            vertices: model.masses.len(),
            triangles: model.topology.triangle_count(),
            pieces: (model.pieces.iter())
                .map(|piece| PieceInfo {
                    name: piece.name.clone(),
                    vertices: [piece.vertices.start, piece.vertices.len()],
                    triangles: [piece.triangles.start, piece.triangles.len()],
                })
                .collect(),
            rigid: rigid::infos(&scene.rigid),
            scene: crc32fast::hash(scene.words.as_bytes()),
            first_frame: 0,
            refined_from: None,
        }
    }

    /// Whether pieces follow each other without gaps, and frames have a duration.
    pub(super) fn is_consistent(&self) -> bool {
        follow_each_other(self.pieces.iter().map(|piece| piece.vertices), self.vertices)
            && follow_each_other(self.pieces.iter().map(|piece| piece.triangles), self.triangles)
            && self.frame_rate.is_finite()
            && self.frame_rate > 0.0
    }
}

/// Whether ranges, each a start and a length, cover everything from 0 to a total in order.
fn follow_each_other(mut ranges: impl Iterator<Item = [usize; 2]>, total: usize) -> bool {
    let next = |end: usize, [start, count]: [usize; 2]| (start == end).then(|| end.checked_add(count)).flatten();
    ranges.try_fold(0, next) == Some(total)
}
