//! Contacts that all hold at once: impulses go round until none of them changes anything.
//!
//! Every contact asks for a least separating speed. One sweep handles them in the order in which they were found;
//! contacts whose vertices have not changed since they were last looked at are passed over. What one contact pushed
//! too far is given back when another has done its work (the projected Gauss-Seidel method), so many cheap sweeps take
//! the
//! place of rounds of detection. (Bridson 2003, 2.6 to 2.8; keeping contacts from round to round is ours)
//!
//! Guarantees: linear momentum of free vertices is kept; the order is fixed; it ends.
//! Does not: always settle; what is left is found by the next detection.

use super::response::{Contact, Given, Manner, Spring};
use super::{ContactInput, Path};
use crate::geometry::VertexId;
use crate::geometry::ccd::ElementPair;

/// One contact and what it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constraint {
    pub pair: ElementPair,
    pub contact: Contact,
    /// The least separating speed, m/s.
    pub target: f64,
    /// The gap that the pair is to keep if one side of it is a support, metres.
    pub gap: f64,
    pub given: Given,
    /// When it was last looked at.
    seen: u64,
}

impl Constraint {
    pub(super) fn new(pair: ElementPair, contact: Contact, target: f64, gap: f64) -> Self {
        Self { pair, contact, target, gap, given: Given::default(), seen: 0 }
    }
}

/// All contacts of a step so far.
#[derive(Clone, Debug)]
pub(super) struct Constraints {
    list: Vec<Constraint>,
    /// When each vertex was last changed.
    changed: Vec<u64>,
    clock: u64,
    manner: Manner,
}

impl Constraints {
    /// None yet, among so many vertices.
    pub(super) fn new(vertex_count: usize, manner: Manner) -> Self {
        Self { list: Vec::new(), changed: vec![0; vertex_count], clock: 1, manner }
    }

    /// Forgets all contacts, not what they changed.
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn add(&mut self, constraint: Constraint) {
        self.list.push(constraint);
    }

    /// The contacts that have pushed, in the order in which they were found.
    pub(super) fn pushed(&self) -> impl Iterator<Item = &Constraint> {
        self.list.iter().filter(|constraint| constraint.given.along_normal() > 0.0)
    }

    /// Goes once through all contacts with a spring each, in order; none have been handled before.
    pub(super) fn spring(&mut self, input: &ContactInput, path: &mut Path, springs: impl Fn(usize) -> Option<Spring>) {
        for at in 0..self.list.len() {
            self.handle(at, springs(at), input, path);
        }
    }

    /// Sweeps until nothing changes, at most so often.
    pub(super) fn settle(&mut self, input: &ContactInput, path: &mut Path, sweeps: u32) {
        for _ in 0..sweeps {
            let before = self.clock;
            for at in 0..self.list.len() {
                let Constraint { contact, seen, .. } = &self.list[at];
                if contact.stencil.vertices.iter().any(|vertex| self.changed[vertex.index()] >= *seen) {
                    self.handle(at, None, input, path);
                }
            }
            if self.clock == before {
                break;
            }
        }
    }

    fn handle(&mut self, at: usize, spring: Option<Spring>, input: &ContactInput, path: &mut Path) {
        let Constraint { contact, target, given, seen, .. } = &mut self.list[at];
        let before = *given;
        if contact.push((*target, spring), self.manner, given, input.inverse_mass, &mut path.velocities) > 0.0 {
            path.taken.note_contact(input, contact, before, *given);
            for vertex in contact.stencil.vertices {
                if input.inverse_mass[vertex.index()] > 0.0 {
                    self.changed[vertex.index()] = self.clock;
                }
            }
            self.clock += 1;
        }
        *seen = self.clock;
    }

    /// The time, for [`Constraints::changed_since`].
    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    /// The vertices that were changed since a time, in order.
    pub(super) fn changed_since(&self, time: u64) -> Vec<VertexId> {
        (0..self.changed.len()).filter(|&at| self.changed[at] >= time).map(VertexId::new).collect()
    }
}
