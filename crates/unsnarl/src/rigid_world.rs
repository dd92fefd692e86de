//! The rigid bodies of a world: simulated ones, and the obstacles that they bump into.
//!
//! An obstacle on rails is a static or kinematic rigid body: before a step it gets the velocity that takes it to its
//! next key, after the step it stands just where the keys say. Skinned bodies deform, so rigid bodies pass through
//! them.

use crate::bodies::{Body, Form};
use crate::geometry::DVec3;
use crate::rigid::{Bodies, Kind, Placement, RigidState};

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct RigidWorld {
    /// All of them.
    pub bodies: Bodies,
    /// Those that move on rails.
    pub prescribed: Vec<Prescribed>,
}

/// A rigid body that an obstacle of the world leads.
#[derive(Clone, Copy, Debug)]
pub struct Prescribed {
    /// Its number among the rigid bodies.
    pub number: usize,
    /// The obstacle's number among the bodies of the world.
    pub body: usize,
    /// The frame of the rigid body in that of the obstacle.
    pub frame: Placement,
}

impl RigidWorld {
    /// Puts led bodies where they are at a time, with the velocities that take them through a step.
    pub fn prescribe(&self, obstacles: &[Body], state: &mut RigidState, time: f64, step: f64) {
        for led in &self.prescribed {
            let (Some(from), Some(to)) = (led.at(obstacles, time), led.at(obstacles, time + step)) else { continue };
            state.placements[led.number] = from;
            if self.bodies.bodies[led.number].kind == Kind::Kinematic {
                let turn = to.rotation * from.rotation.inverse();
                let turn = if turn.w < 0.0 { -turn } else { turn };
                let is_turned = from.rotation != to.rotation;
                let spin = if is_turned { turn.to_scaled_axis() / step } else { DVec3::ZERO };
                state.velocities[led.number] = (to.position - from.position) / step;
                state.set_spin(&self.bodies, led.number, spin);
            }
        }
    }

    /// Puts led bodies where they are at the end of a step, to the last bit.
    pub fn arrive(&self, obstacles: &[Body], state: &mut RigidState, time: f64) {
        for led in &self.prescribed {
            if let Some(there) = led.at(obstacles, time) {
                state.placements[led.number] = there;
            }
        }
    }
}

impl Prescribed {
    fn at(&self, obstacles: &[Body], time: f64) -> Option<Placement> {
        let (position, rotation) = match &obstacles.get(self.body)?.form {
            Form::Solid { motion, .. } => motion.at(time),
            Form::Mesh(mesh) => mesh.motion().at(time),
            Form::Simulated { .. } => return None,
        };
        Some(Placement { position, rotation }.of(self.frame))
    }
}
