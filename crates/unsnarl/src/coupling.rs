//! Two ways between cloth and simulated bodies: what cloth loses to a body in a step, the body gets.
//!
//! For cloth a simulated body is prescribed during a step, and its triangles note every impulse: of repulsion,
//! collisions, zones and friction, and of supports inside the implicit solve. A body that is light beside the cloth on
//! it would be thrown off by what it receives afterwards. So a step begins with what cloth pressed in the step before;
//! where that proves wrong, bodies and cloth move again with a better guess (Aitken's rule per body), a few times at
//! most. What is still missing then changes the velocity at the end of the step.
//!
//! Guarantees: all that was noted is given, linear and angular, so total momentum is kept as well as the solve of the
//! cloth keeps it. Bodies move during the step just as cloth saw them move.
//! Does not: know what the mass-spring model's supports bear; that model gives back what contact takes alone.

use crate::bodies::{Body, Form, Surfaces};
use crate::contact::Push;
use crate::dynamics::Support;
use crate::geometry::{DVec3, VertexId};
use crate::rigid::{self, RigidState, Wrench};
use std::ops::Range;

/// A simulated body among the vertices of contact.
#[derive(Clone, Debug)]
pub(crate) struct Rider {
    /// Its number among the rigid bodies.
    number: usize,
    /// Its vertices.
    vertices: Range<usize>,
}

/// The simulated bodies of a world, in the order of their vertices; cloth has the first `cloth_count`.
pub(crate) fn riders(bodies: &[Body], surfaces: &Surfaces, cloth_count: usize) -> Vec<Rider> {
    let mut first = cloth_count;
    let mut riders = Vec::new();
    for (body, mesh) in bodies.iter().zip(surfaces.meshes()) {
        let vertices = first..first + mesh.positions.len();
        first = vertices.end;
        if let Form::Simulated { number, .. } = body.form {
            riders.push(Rider { number, vertices });
        }
    }
    riders
}

/// What supports gave to cloth in the solve, as pushes on what bears them.
pub(crate) fn pushes_of_supports(borne: &[(Support, f64)]) -> impl Iterator<Item = (VertexId, Push)> {
    borne.iter().flat_map(|(support, impulse)| {
        let push = |share: f64| Push { impulse: support.normal * (-impulse * share), couple: DVec3::ZERO };
        [0, 1, 2].map(|k| (support.bearers[k], push(support.shares[k])))
    })
}

/// What friction at a support took from vertices of cloth, as pushes on what bears it. `change` is the change of the
/// velocity of the point, shared as [`Support::shift`] shares it.
pub(crate) fn pushes_of_friction(support: &Support, change: DVec3, masses: &[f64]) -> [(VertexId, Push); 3] {
    let squares: f64 = support.weights.iter().map(|weight| weight * weight).sum();
    let terms = support.vertices.iter().zip(support.weights);
    let mass: f64 = terms.map(|(vertex, weight)| masses[vertex.index()] * weight / squares).sum();
    let push = |share: f64| Push { impulse: change * (-mass * share), couple: DVec3::ZERO };
    [0, 1, 2].map(|k| (support.bearers[k], push(support.shares[k])))
}

/// What each rigid body receives, about its centre. `positions` are those of all vertices at the start of the step.
pub(crate) fn wrenches(
    riders: &[Rider],
    pushes: &[(VertexId, Push)],
    positions: &[DVec3],
    centres: &RigidState,
) -> Vec<Wrench> {
    let mut wrenches = vec![Wrench::default(); centres.placements.len()];
    for (vertex, push) in pushes {
        let at = vertex.index();
        let after = riders.partition_point(|rider| rider.vertices.end <= at);
        let Some(rider) = riders.get(after).filter(|rider| rider.vertices.contains(&at)) else { continue };
        let Some(wrench) = wrenches.get_mut(rider.number) else { continue };
        let arm = positions[at] - centres.placements[rider.number].position;
        wrench.impulse += push.impulse;
        wrench.angular_impulse += arm.cross(push.impulse) + push.couple;
    }
    wrenches
}

/// A guess of what cloth gives to every body, and how it gets better.
#[derive(Clone, Debug)]
pub(crate) struct Guess {
    /// What bodies are given in advance.
    pub given: Vec<Wrench>,
    /// What was missing in the round before, and the factor with which it was added.
    before: Vec<(Wrench, f64)>,
}

/// Factors of corrections stay within these.
const SHARES: std::ops::RangeInclusive<f64> = 1e-4..=1.0;

impl Guess {
    /// What the step before says, for a step of a length.
    pub(crate) fn from_loads(loads: &[Wrench], count: usize, length: f64) -> Self {
        let mut given: Vec<Wrench> = loads.iter().map(|load| scaled(*load, length)).collect();
        given.resize(count, Wrench::default());
        Self { given, before: Vec::new() }
    }

    /// What is missing where cloth really gave `found`.
    pub(crate) fn missing(&self, found: &[Wrench]) -> Vec<Wrench> {
        found.iter().zip(&self.given).map(|(found, given)| sum(*found, scaled(*given, -1.0))).collect()
    }

    /// A better guess: Aitken's factor makes up for how what is missing changed with the last correction. The first one
    /// is as small as if all cloth lay on each body, so that no body leaves it.
    pub(crate) fn correct(&mut self, missing: &[Wrench], bodies: &rigid::Bodies, cloth_mass: f64) {
        let first = self.before.is_empty();
        for (number, &now) in missing.iter().enumerate() {
            let share = match self.before.get(number) {
                None => bodies.bodies[number].mass / (bodies.bodies[number].mass + cloth_mass),
                Some(&(then, share)) => {
                    let change = sum(now, scaled(then, -1.0));
                    let size = product(bodies, number, change, change);
                    let ratio = -product(bodies, number, then, change) / size;
                    if size > 0.0 && ratio.is_finite() {
                        (share * ratio).clamp(*SHARES.start(), *SHARES.end())
                    } else {
                        share
                    }
                }
            };
            self.given[number] = sum(self.given[number], scaled(now, share));
            if first {
                self.before.push((now, share));
            } else {
                self.before[number] = (now, share);
            }
        }
    }
}

/// The largest change of velocity that wrenches would make in a simulated body, m/s, at its centre or at the distance
/// of its inertia.
pub(crate) fn largest_kick(bodies: &rigid::Bodies, wrenches: &[Wrench]) -> f64 {
    let kick = |(number, wrench): (usize, &Wrench)| {
        let mass = bodies.bodies[number].mass;
        (product(bodies, number, *wrench, *wrench) / mass).sqrt()
    };
    wrenches.iter().enumerate().filter(|(number, _)| is_simulated(bodies, *number)).map(kick).fold(0.0, f64::max)
}

fn is_simulated(bodies: &rigid::Bodies, number: usize) -> bool {
    bodies.bodies.get(number).is_some_and(|body| body.kind == rigid::Kind::Simulated)
}

/// Wrenches as a force and moment over a length of time.
pub(crate) fn loads(wrenches: &[Wrench], length: f64) -> Vec<Wrench> {
    wrenches.iter().map(|wrench| scaled(*wrench, 1.0 / length)).collect()
}

/// Changes velocities by what was still missing at the end of a step.
pub(crate) fn give(state: &mut RigidState, bodies: &rigid::Bodies, missing: &[Wrench]) {
    for (number, wrench) in missing.iter().enumerate().filter(|(number, _)| is_simulated(bodies, *number)) {
        state.velocities[number] += wrench.impulse / bodies.bodies[number].mass;
        state.angular_momenta[number] += wrench.angular_impulse;
    }
}

/// Twice the energy that two wrenches share in a body, with its mean moment of inertia.
fn product(bodies: &rigid::Bodies, number: usize, a: Wrench, b: Wrench) -> f64 {
    let body = &bodies.bodies[number];
    let inertia = body.inertia.element_sum() / 3.0;
    a.impulse.dot(b.impulse) / body.mass + a.angular_impulse.dot(b.angular_impulse) / inertia
}

fn sum(a: Wrench, b: Wrench) -> Wrench {
    Wrench { impulse: a.impulse + b.impulse, angular_impulse: a.angular_impulse + b.angular_impulse }
}

fn scaled(wrench: Wrench, by: f64) -> Wrench {
    Wrench { impulse: wrench.impulse * by, angular_impulse: wrench.angular_impulse * by }
}
