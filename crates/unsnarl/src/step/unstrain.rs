//! The last pass of a step: strain that contact made, or that was there, is limited.
//!
//! Limits move cloth a little from where contact left it, bodies stand where they end, and the motion is followed as
//! far as it crosses nothing. What stopped it is near then and counts in the next round. (Bridson 2003, 2.3 limits
//! strain after the velocity solve; that the limited motion is proved again is ours)
//!
//! Guarantees: the end crosses nothing that the motion before did not; linear momentum of cloth and simulated bodies is
//! kept. Without strain nothing changes.
//! Does not: move what is held or being untangled, nor what is pinched or beside that.

use super::Workspace;
use super::trial::Trial;
use crate::contact::{Proposal, Push, pushes_on_bodies};
use crate::dynamics::strain::{self, Limits};
use crate::dynamics::{self, Start};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, Topology, TriangleId, VertexId};

/// Rings around a strained triangle that may follow it.
const RINGS: u32 = 4;
/// Rings around pinched vertices that are left alone: cloth that is held between surfaces that go apart is drawn out,
/// and drawing its surroundings together leaves all of that to a few triangles.
const PINCHED_RINGS: u32 = 3;

impl Trial<'_> {
    /// Limits the strain of a resolved end of the step; returns what bodies take.
    pub(super) fn unstrain(
        &self,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
    ) -> Vec<(VertexId, Push)> {
        let Start { model, state, step, .. } = self.start;
        let mut pushes = Vec::new();
        for _ in 0..self.settings.dynamics.strain_rounds {
            let strained = strain::exceeding(model, state, &proposed.positions);
            if strained.is_empty() {
                break;
            }
            let (region, is_inside) = surroundings(&model.topology, &strained);
            let mut inverse_masses = self.inverse_masses(&is_inside);
            let may_be_near = |pair: &strain::Near| {
                pair.stencil.vertices.iter().all(|vertex| is_inside.get(vertex.index()).is_none_or(|inside| *inside))
            };
            let held: Vec<VertexId> =
                (0..inverse_masses.len()).filter(|&vertex| inverse_masses[vertex] == 0.0).map(VertexId::new).collect();
            let bodies = &self.surfaces[1];
            let motion = |end| Proposal {
                cloth: Motion { start: &proposed.positions, end },
                obstacles: Motion::at_rest(bodies),
                step,
                held: &held,
                rules: self.rules,
            };
            let mut near = self.world.contact.nearby(&motion(&proposed.positions), &mut workspace.contact).slack();
            // Cloth further away would take momentum without moving.
            near.retain(may_be_near);
            let mut goals = [proposed.positions.as_slice(), bodies].concat();
            inverse_masses.resize(goals.len(), 0.0);
            let limits = Limits { model, state, inverse_masses: &inverse_masses };
            strain::limit(&limits, &region, &mut near, &mut goals);
            pushes.extend(pushes_on_bodies(&near, model.masses.len(), &goals, step));
            goals.truncate(model.masses.len());
            let contact = &self.world.contact;
            let reached = contact.admit(&motion(&goals), &self.settings.collision, &mut workspace.contact);
            // The impulses of limits sum to zero, but for what bodies take; where a vertex stops, contact of the next
            // step takes what is left of its impulse, as from any other motion.
            for (vertex, (place, goal)) in reached.into_iter().zip(goals).enumerate() {
                let way: DVec3 = goal - proposed.positions[vertex];
                proposed.positions[vertex] = place;
                if way != DVec3::ZERO {
                    proposed.velocities[vertex] += way / step;
                }
            }
        }
        pushes
    }

    /// One over the mass of every vertex of cloth that may move, 0 for the others.
    fn inverse_masses(&self, is_inside: &[bool]) -> Vec<f64> {
        let model = self.start.model;
        let mut inverse: Vec<f64> =
            model.masses.iter().zip(is_inside).map(|(mass, inside)| if *inside { mass.recip() } else { 0.0 }).collect();
        let led = (0..self.is_led.len()).filter(|&vertex| self.is_led[vertex]).map(VertexId::new);
        let held = self.guidance.holds.iter().map(|hold| hold.0);
        for vertex in led.chain(held).chain(model.pins.iter().copied()) {
            inverse[vertex.index()] = 0.0;
        }
        if !self.pinched.is_empty() {
            let is_beside = around(&model.topology, self.pinched.iter().copied(), PINCHED_RINGS);
            inverse.iter_mut().zip(is_beside).filter(|(_, beside)| *beside).for_each(|(inverse, _)| *inverse = 0.0);
        }
        inverse
    }
}

/// The triangles of some rings around others, in order, and their vertices.
fn surroundings(topology: &Topology, triangles: &[TriangleId]) -> (Vec<TriangleId>, Vec<bool>) {
    let corners = || triangles.iter().flat_map(|&triangle| topology.triangle(triangle));
    let is_inside = around(topology, corners(), RINGS);
    let has_inside =
        |triangle: &TriangleId| topology.triangle(*triangle).iter().any(|corner| is_inside[corner.index()]);
    let region = (0..topology.triangle_count()).map(TriangleId::new).filter(has_inside).collect();
    (region, around(topology, corners(), RINGS + 1))
}

/// Marks some vertices and so many rings around them.
fn around(topology: &Topology, vertices: impl Iterator<Item = VertexId>, rings: u32) -> Vec<bool> {
    let mut is_inside = vec![false; topology.vertex_count()];
    let mut border: Vec<VertexId> = vertices.collect();
    for ring in 0..=rings {
        border.retain(|vertex| !std::mem::replace(&mut is_inside[vertex.index()], true));
        if ring < rings {
            let ends = |vertex: &VertexId| {
                let edges = topology.vertex_edges(*vertex).iter();
                edges.map(|&edge| topology.other_end(edge, *vertex)).collect::<Vec<_>>()
            };
            border = border.iter().flat_map(ends).collect();
        }
    }
    is_inside
}
