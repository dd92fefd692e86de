//! A moment: all that the placement of a body depends on, whatever moves the body.

use super::{Body, Form};
use crate::geometry::DVec3;
use crate::geometry::math::DQuat;
use crate::rigid::Placement;

/// When, and where simulated bodies are then.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Seconds of the scene, for bodies on rails and skinned ones.
    pub time: f64,
    /// One pose per simulated body.
    pub poses: &'a [Placement],
}

impl Moment<'static> {
    /// A moment of a world without simulated bodies.
    pub fn at(time: f64) -> Self {
        Self { time, poses: &[] }
    }
}

impl Moment<'_> {
    /// Origin and turn of a body whose surface keeps its shape in its own frame; `None` for one that is skinned. A
    /// simulated body without a pose lies at the origin.
    pub fn frame_of(&self, body: &Body) -> Option<(DVec3, DQuat)> {
        match &body.form {
            Form::Solid { motion, .. } => Some(motion.at(self.time)),
            Form::Mesh(_) => None,
            Form::Simulated { number, .. } => {
                let pose = self.poses.get(*number);
                Some(pose.map_or((DVec3::ZERO, DQuat::IDENTITY), |pose| (pose.position, pose.rotation)))
            }
        }
    }

    /// The vertices of a skinned body.
    pub(super) fn own_positions_of(&self, body: &Body) -> Vec<DVec3> {
        match &body.form {
            Form::Mesh(mesh) => mesh.positions_at(self.time),
            Form::Solid { .. } | Form::Simulated { .. } => Vec::new(),
        }
    }
}
