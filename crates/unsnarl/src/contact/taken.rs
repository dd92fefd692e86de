//! What prescribed vertices take from cloth: the other side of every impulse of a step of contact.
//!
//! Weights of a contact sum to zero, so what it gives to free vertices it takes from prescribed ones, at their points.
//! A zone with prescribed vertices, and the last resort, take the change of momentum and of its moment that they made.
//!
//! Guarantees: all impulses on free vertices and those noted here sum to zero, linear and angular (about the points of
//! the start of the step), but for what the last resort stops far from any prescribed surface.

use super::ContactInput;
use super::response::{Contact, Given};
use crate::dynamics::strain::Near;
use crate::geometry::{DVec3, Stencil, VertexId};
use std::collections::BTreeMap;

/// What was given to something at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Push {
    /// N s.
    pub impulse: DVec3,
    /// N m s, besides the moment of the impulse at its point.
    pub couple: DVec3,
}

impl std::ops::AddAssign for Push {
    fn add_assign(&mut self, other: Self) {
        self.impulse += other.impulse;
        self.couple += other.couple;
    }
}

/// What bodies take of what kept near pairs apart during strain limiting, in the order of the pairs. Vertices from
/// `cloth_count` on are bodies'.
pub fn pushes_on_bodies(near: &[Near], cloth_count: usize, positions: &[DVec3], step: f64) -> Vec<(VertexId, Push)> {
    let pushes = |pair: &Near| {
        let Stencil { vertices, weights } = pair.stencil;
        let impulse = pair.normal * (pair.given / step);
        let moment = pair.stencil.apply(positions).cross(impulse);
        let is_bearer = |k: &usize| vertices[*k].index() >= cloth_count && weights[*k] != 0.0;
        let whole: f64 = (0..4).filter(is_bearer).map(|k| weights[k].abs()).sum();
        let push = move |k: usize| Push { impulse: impulse * weights[k], couple: moment * (-weights[k].abs() / whole) };
        (0..4).filter(is_bearer).map(|k| (vertices[k], push(k))).collect::<Vec<_>>()
    };
    near.iter().filter(|pair| pair.given > 0.0).flat_map(pushes).collect()
}

/// What every prescribed vertex has taken so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(BTreeMap<VertexId, Push>);

impl Taken {
    pub(super) fn into_list(self) -> Vec<(VertexId, Push)> {
        self.0.into_iter().collect()
    }

    /// Notes what a contact gave between two moments.
    pub(super) fn note_contact(&mut self, input: &ContactInput, contact: &Contact, before: Given, after: Given) {
        let compliance = contact.stencil.compliance(input.inverse_mass);
        if compliance <= 0.0 {
            return;
        }
        let along = contact.normal * (after.along_normal() - before.along_normal());
        let impulse = (along + after.rubbed - before.rubbed) / compliance;
        let prescribed = || {
            let all = contact.stencil.vertices.into_iter().zip(contact.stencil.weights);
            all.filter(|(vertex, _)| input.inverse_mass[vertex.index()] == 0.0)
        };
        // The two sides are apart at the start, so that their impulses have a moment.
        let moment = contact.stencil.apply(input.start).cross(impulse);
        let whole: f64 = prescribed().map(|(_, weight)| weight.abs()).sum();
        for (vertex, weight) in prescribed().filter(|(_, weight)| *weight != 0.0) {
            let push = Push { impulse: impulse * weight, couple: moment * (-weight.abs() / whole) };
            *self.0.entry(vertex).or_default() += push;
        }
    }

    /// Notes that vertices changed from one velocity to another on account of some prescribed ones, which share what
    /// was lost by weights that sum to 1.
    pub(super) fn note_change(
        &mut self,
        input: &ContactInput,
        changed: &[VertexId],
        (before, after): (&[DVec3], &[DVec3]),
        bearers: &[(VertexId, f64)],
    ) {
        let mut lost = Push::default();
        for at in changed.iter().map(|vertex| vertex.index()).filter(|&at| input.inverse_mass[at] > 0.0) {
            let impulse = (before[at] - after[at]) / input.inverse_mass[at];
            lost += Push { impulse, couple: input.start[at].cross(impulse) };
        }
        let moment: DVec3 =
            bearers.iter().map(|(bearer, share)| input.start[bearer.index()].cross(lost.impulse * *share)).sum();
        for &(bearer, share) in bearers {
            let push = Push { impulse: lost.impulse * share, couple: (lost.couple - moment) * share };
            *self.0.entry(bearer).or_default() += push;
        }
    }
}
