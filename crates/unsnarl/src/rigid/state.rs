//! What changes while rigid bodies move. Saved and loaded, it goes on bit for bit.

use super::{Bodies, Kind};
use crate::geometry::math::{DMat3, DQuat};
use crate::geometry::{DVec3, math};
use serde::{Deserialize, Serialize};

/// Where a body is: its centre of mass, and the turn of its principal axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The centre of mass, in the world.
    pub position: DVec3,
    /// Turns the body's frame into the world's; of length 1.
    pub rotation: DQuat,
}

impl Default for Placement {
    fn default() -> Self {
        Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY }
    }
}

impl Placement {
    /// A point of the body's frame, in the world.
    pub fn to_world(&self, point: DVec3) -> DVec3 {
        self.position + self.rotation * point
    }

    /// A point of the world, in the body's frame.
    pub fn to_body(&self, point: DVec3) -> DVec3 {
        self.rotation.conjugate() * (point - self.position)
    }

    /// First this placement's inner frame, then this: `outer.of(inner)` places what `inner` places, inside `outer`.
    pub fn of(&self, inner: Self) -> Self {
        Self { position: self.to_world(inner.position), rotation: (self.rotation * inner.rotation).normalize() }
    }

    /// The placement that undoes this one.
    pub fn inverse(&self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { position: -(rotation * self.position), rotation }
    }

    /// After a step at a velocity and a spin, first order: `x + dt v`, `q + dt/2 omega q` at length 1.
    pub fn moved(&self, step: f64, velocity: DVec3, spin: DVec3) -> Self {
        let turn = DQuat::from_xyzw(spin.x, spin.y, spin.z, 0.0) * self.rotation;
        let rotation = self.rotation + turn * (0.5 * step);
        // A body that does not turn keeps its bits.
        let rotation = if spin == DVec3::ZERO { self.rotation } else { rotation.normalize() };
        Self { position: self.position + step * velocity, rotation }
    }

    /// Moments of inertia in the world: `R D R^T`, from those along the body's axes.
    pub fn inertia(&self, moments: DVec3) -> DMat3 {
        let turn = DMat3::from_quat(self.rotation);
        turn * DMat3::from_diagonal(moments) * turn.transpose()
    }
}

/// What a contact pressed with in the last step; the next one begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pressing {
    /// The bodies, the lower number first.
    pub bodies: [u32; 2],
    /// Which sample of which body touches.
    pub key: u64,
    /// Mean force on the first body, N.
    pub force: DVec3,
    /// Mean couple on the first body, N m.
    pub couple: DVec3,
}

impl Pressing {
    /// What lists are sorted by.
    pub(super) fn order(&self) -> ([u32; 2], u64) {
        (self.bodies, self.key)
    }
}

/// All that changes: one entry per body in each list but the last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RigidState {
    /// Where each body is.
    pub placements: Vec<Placement>,
    /// Velocity of each centre of mass, m/s. Zero for static bodies; prescribed for kinematic ones.
    pub velocities: Vec<DVec3>,
    /// Angular momentum of each body about its centre, kg m^2/s; that of a kinematic body stands for its spin.
    pub angular_momenta: Vec<DVec3>,
    /// All bodies, in the order in which they are treated; a permutation.
    pub order: Vec<u32>,
    /// Where the generator that changes the order stands.
    pub random: u64,
    /// Contacts that pressed in the last step, sorted by bodies and key.
    pub pressing: Vec<Pressing>,
}

impl RigidState {
    /// Bodies at rest at given places. One seed gives one simulation.
    pub fn at_rest(placements: Vec<Placement>, seed: u64) -> Self {
        let count = placements.len();
        Self {
            velocities: vec![DVec3::ZERO; count],
            angular_momenta: vec![DVec3::ZERO; count],
            order: (0..count as u32).collect(),
            placements,
            random: seed,
            pressing: Vec::new(),
        }
    }

    /// The angular velocity of a body, rad/s.
    pub fn spin(&self, bodies: &Bodies, body: usize) -> DVec3 {
        self.spin_at(bodies, body, &self.placements[body])
    }

    /// The same, if the body were placed elsewhere.
    pub(super) fn spin_at(&self, bodies: &Bodies, body: usize, placement: &Placement) -> DVec3 {
        let local = placement.rotation.conjugate() * self.angular_momenta[body];
        placement.rotation * (local / bodies.bodies[body].inertia)
    }

    /// Gives a body an angular velocity, rad/s.
    pub fn set_spin(&mut self, bodies: &Bodies, body: usize, spin: DVec3) {
        let rotation = self.placements[body].rotation;
        self.angular_momenta[body] = rotation * ((rotation.conjugate() * spin) * bodies.bodies[body].inertia);
    }

    /// Kinetic energy of simulated bodies, joules.
    pub fn kinetic_energy(&self, bodies: &Bodies) -> f64 {
        let of = |(at, body): (usize, &super::Body)| {
            let linear = 0.5 * body.mass * self.velocities[at].length_squared();
            linear + 0.5 * self.angular_momenta[at].dot(self.spin(bodies, at))
        };
        bodies.bodies.iter().enumerate().filter(|(_, body)| body.kind == Kind::Simulated).map(of).sum()
    }

    /// Whether lists fit the bodies, numbers are numbers and the order is a permutation: what a file must satisfy.
    pub fn is_valid(&self, bodies: &Bodies) -> bool {
        let count = bodies.bodies.len();
        let lengths = [self.placements.len(), self.velocities.len(), self.angular_momenta.len(), self.order.len()];
        let mut seen = vec![false; count];
        lengths == [count; 4]
            && self.placements.iter().all(|at| {
                math::is_finite(at.position) && at.rotation.is_finite() && (at.rotation.length() - 1.0).abs() < 1e-6
            })
            && self.velocities.iter().chain(&self.angular_momenta).all(|&vector| math::is_finite(vector))
            && self.pressing.iter().all(|at| {
                at.bodies[0] < at.bodies[1]
                    && (at.bodies[1] as usize) < count
                    && math::is_finite(at.force)
                    && math::is_finite(at.couple)
            })
            && self.pressing.windows(2).all(|two| two[0].order() < two[1].order())
            && self
                .order
                .iter()
                .all(|&body| seen.get_mut(body as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
    }
}
