//! The working set of one step: placements as matrices, and velocities that impulses change.

use super::{Bodies, Kind, Placement, RigidState, Settings, Wrench};
use crate::geometry::math::DMat3;
use crate::geometry::{Aabb, DVec3};

/// Approach slower than this share of what gravity adds in a step is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// A placement, ready to take many points along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub rotation: DMat3,
    pub position: DVec3,
}

impl Frame {
    pub(super) fn of(placement: &Placement) -> Self {
        Self { rotation: DMat3::from_quat(placement.rotation), position: placement.position }
    }

    /// From this frame's points to another's.
    pub(super) fn seen_from(&self, other: &Self) -> Self {
        let back = other.rotation.transpose();
        Self { rotation: back * self.rotation, position: back * (self.position - other.position) }
    }

    pub(super) fn apply(&self, point: DVec3) -> DVec3 {
        self.rotation * point + self.position
    }

    /// The box around a box of this frame.
    pub(super) fn bounds(&self, local: &Aabb) -> Aabb {
        let (center, half) = (self.apply(local.center()), 0.5 * local.extent());
        let spread = self.rotation.x_axis.abs() * half.x
            + self.rotation.y_axis.abs() * half.y
            + self.rotation.z_axis.abs() * half.z;
        Aabb { min: center - spread, max: center + spread }
    }
}

/// The velocity and spin with which points of a body were looked for, and where they take it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub velocity: DVec3,
    pub spin: DVec3,
    pub then: Frame,
}

impl Seen {
    /// How much faster a point moves now than it was seen to.
    #[inline]
    pub(super) fn change(&self, velocity: DVec3, spin: DVec3, arm: DVec3) -> DVec3 {
        (velocity - self.velocity) + (spin - self.spin).cross(arm)
    }
}

/// How a body moves, and how it answers impulses; immovable bodies do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub velocity: DVec3,
    pub spin: DVec3,
    pub momentum: DVec3,
    pub inverse_mass: f64,
    pub inverse_inertia: DMat3,
}

impl Moving {
    /// The velocity of a point, by its arm from the centre.
    #[inline]
    pub(super) fn at(&self, arm: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(arm)
    }

    /// An impulse at a point.
    #[inline]
    pub(super) fn push(&mut self, arm: DVec3, impulse: DVec3) {
        if self.inverse_mass > 0.0 {
            self.velocity += impulse * self.inverse_mass;
            self.turn(arm.cross(impulse));
        }
    }

    /// An angular impulse.
    #[inline]
    pub(super) fn turn(&mut self, couple: DVec3) {
        if self.inverse_mass > 0.0 {
            self.momentum += couple;
            self.spin += self.inverse_inertia * couple;
        }
    }

    /// No impulse moves it any more.
    pub(super) fn freeze(&mut self) {
        (self.inverse_mass, self.inverse_inertia) = (0.0, DMat3::ZERO);
    }
}

/// What the stages of a step share.
pub(super) struct Step<'a> {
    pub bodies: &'a Bodies,
    pub settings: &'a Settings,
    /// Seconds.
    pub duration: f64,
    /// How far ahead bodies are placed to find what they meet: the step, or nothing in the standard order.
    pub look: f64,
    /// What a body at rest falls in the step.
    pub fall: DVec3,
    /// Where bodies are.
    pub placements: &'a [Placement],
    pub now: Vec<Frame>,
    pub moving: Vec<Moving>,
    /// The place of each body in the list.
    pub rank: Vec<u32>,
    /// Approach below this is rounding, m/s.
    pub negligible: f64,
}

impl<'a> Step<'a> {
    pub(super) fn new(
        bodies: &'a Bodies,
        settings: &'a Settings,
        state: &RigidState,
        placements: &'a [Placement],
        [duration, look]: [f64; 2],
        gravity: DVec3,
    ) -> Self {
        let mut rank = vec![0; placements.len()];
        for (place, &body) in state.order.iter().enumerate() {
            rank[body as usize] = place as u32;
        }
        let moving = |at: usize| {
            let body = &bodies.bodies[at];
            let (inverse_mass, moments) = match body.kind {
                Kind::Simulated => (body.mass.recip(), body.inertia.recip()),
                Kind::Static | Kind::Kinematic => (0.0, DVec3::ZERO),
            };
            let still = body.kind == Kind::Static;
            Moving {
                velocity: if still { DVec3::ZERO } else { state.velocities[at] },
                spin: if still { DVec3::ZERO } else { state.spin_at(bodies, at, &placements[at]) },
                momentum: state.angular_momenta[at],
                inverse_mass,
                inverse_inertia: placements[at].inertia(moments),
            }
        };
        Self {
            bodies,
            settings,
            duration,
            look,
            fall: gravity * (duration * duration),
            placements,
            now: placements.iter().map(Frame::of).collect(),
            moving: (0..placements.len()).map(moving).collect(),
            rank,
            negligible: NEGLIGIBLE * gravity.length() * duration,
        }
    }

    /// What the step adds to a body's velocity and angular momentum.
    pub(super) fn kick(&self, body: usize, gravity: DVec3, external: &[Wrench]) -> (DVec3, DVec3) {
        let of = &self.bodies.bodies[body];
        if of.kind != Kind::Simulated {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let wrench = external.get(body).copied().unwrap_or_default();
        (self.duration * gravity + wrench.impulse / of.mass, wrench.angular_impulse)
    }

    /// Changes velocities by what the step adds.
    pub(super) fn apply(&mut self, kicks: &[(DVec3, DVec3)]) {
        for (moving, kick) in self.moving.iter_mut().zip(kicks) {
            moving.velocity += kick.0;
            moving.turn(kick.1);
        }
    }

    /// Where a body will be, at the velocity that it has after a kick.
    pub(super) fn ahead(&self, body: usize, kick: (DVec3, DVec3)) -> Seen {
        let (velocity, spin) = self.kicked(body, kick);
        let then = if self.bodies.bodies[body].kind == Kind::Static {
            self.now[body]
        } else {
            Frame::of(&self.placements[body].moved(self.look, velocity, spin))
        };
        Seen { velocity, spin, then }
    }

    /// Velocity and spin after a kick.
    pub(super) fn kicked(&self, body: usize, kick: (DVec3, DVec3)) -> (DVec3, DVec3) {
        let moving = &self.moving[body];
        (moving.velocity + kick.0, moving.spin + moving.inverse_inertia * kick.1)
    }

    /// Whether a body that moves thus ends too far from where it was seen for its points to be trusted.
    pub(super) fn is_off(&self, body: usize, velocity: DVec3, spin: DVec3, seen: &Seen) -> bool {
        let shape = self.bodies.shape(body);
        let reach = if shape.is_unbounded() { 0.0 } else { shape.radius() };
        let change = (velocity - seen.velocity).length() + (spin - seen.spin).length() * reach;
        self.bodies.bodies[body].kind == Kind::Simulated && change * self.look > self.slack(body)
    }

    /// How far a point of a body may end from where it was expected before contacts are looked for again.
    pub(super) fn slack(&self, body: usize) -> f64 {
        let shape = self.bodies.shape(body);
        if self.bodies.bodies[body].kind != Kind::Simulated {
            return 0.0;
        }
        2.0 * self.fall.length() + 2e-3 * shape.radius()
    }
}
