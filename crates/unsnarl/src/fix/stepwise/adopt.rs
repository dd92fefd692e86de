//! The one writer of positions, and which vertices may move after it has written.
//!
//! Guarantees: nothing else in this folder changes where cloth is; an interactive program does, between steps, and
//! says so ([`Untangling::start_again`]).

use super::Untangling;
use crate::analysis::Tangle;
use crate::fix::Writers;
use crate::fix::rings::rings_around;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

impl Untangling {
    /// Cloth is here from now on.
    pub(super) fn adopt(&mut self, cloth: &[DVec3]) {
        let count = self.state.positions.len();
        if self.state.positions != cloth[..count] {
            self.ledger.writers.note(self.ledger.writer.unwrap_or(Writers::RETURN));
        }
        self.state.positions.copy_from_slice(&cloth[..count]);
    }

    /// Cloth was rearranged, and needs no more motion for that. Before the first step this is where it starts.
    pub(super) fn place(&mut self, positions: &[DVec3]) {
        self.adopt(positions);
        self.contact.window = None;
        if self.ledger.steps == 0 {
            self.reference.start.copy_from_slice(&self.state.positions);
        }
    }

    /// Cloth was rearranged; what moved, and the rings around it, may move from then on.
    pub(super) fn move_to(&mut self, positions: &[DVec3]) {
        self.activate_moved(positions);
        self.place(positions);
        self.activate_rings();
    }

    /// What is to move to these positions may move from then on.
    pub(super) fn activate_moved(&mut self, positions: &[DVec3]) {
        for (vertex, place) in self.state.positions.iter().enumerate() {
            self.active[vertex] |= *place != positions[vertex];
        }
    }

    /// Marks what lies within some rings of anything red; it stays free from then on.
    pub(super) fn activate_around(&mut self, tangle: &Tangle) {
        let count = self.model.topology.vertex_count();
        let is_cloth = |vertex: &VertexId| vertex.index() < count;
        let corners = |&triangle: &TriangleId| self.setup.assembly.topology().triangle(triangle);
        let front = tangle.colours.red_triangles.iter().flat_map(corners).filter(is_cloth).collect();
        self.activate_rings_around(front);
    }

    /// Lets the rings around everything that may move, move too.
    pub(super) fn activate_rings(&mut self) {
        let active = (0..self.active.len()).filter(|&vertex| self.active[vertex]).map(VertexId::new).collect();
        self.activate_rings_around(active);
    }

    /// Lets vertices move, and the rings around them but for what bodies pinch there.
    fn activate_rings_around(&mut self, front: Vec<VertexId>) {
        let near = rings_around(&self.model.topology, front, self.settings.rings);
        for (vertex, ring) in near.into_iter().enumerate() {
            let may_move = ring.is_some_and(|ring| ring == 0 || !self.setup.pinched.has(VertexId::new(vertex)));
            self.active[vertex] |= may_move;
        }
    }

    /// Which vertices of cloth rearrangements may move.
    pub(super) fn free(&self) -> Vec<bool> {
        let mut free = vec![true; self.state.positions.len()];
        for vertex in self.model.pins.iter().chain(self.holds.iter().map(|(vertex, _)| vertex)) {
            free[vertex.index()] = false;
        }
        self.setup.pinched.vertices().iter().for_each(|vertex| free[vertex.index()] = false);
        free
    }
}
