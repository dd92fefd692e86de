//! How cloth moves in `fix`: dynamics without gravity and inertia proposes, contact decides.

use super::window::{Whole, Window};
use super::{FixStage, Observe, Untangling};
use crate::contact::{self, ContactInput, ContactSettings};
use crate::dynamics::{self, Guidance, Hold, Proposal, Start};
use crate::model::Model;
use crate::scene::environment::Environment;
use crate::settings::{DynamicsSettings, Integration};
use crate::state::State;
use crate::untangle::Remedy;
use unsnarl_geometry::{DVec3, VertexId};

impl Untangling {
    /// Dynamics and contact under the rules and forces of a remedy.
    pub(super) fn advance(&mut self, remedy: &Remedy, observe: Observe) {
        let mut proposed = self.propose(&remedy.guidance);
        observe(FixStage::Propose, &proposed.positions);
        let from = self.all_positions();
        let to: Vec<DVec3> = proposed.positions.iter().chain(&self.body_positions).copied().collect();
        let mean_mass = self.model.masses.iter().sum::<f64>() / self.model.masses.len() as f64;
        let mut free: Vec<bool> = (0..from.len()).map(|vertex| self.active.get(vertex) == Some(&true)).collect();
        for (vertex, _) in &self.holds {
            free[vertex.index()] = false;
        }
        let inverse_mass: Vec<f64> = free.iter().map(|&free| if free { 1.0 / mean_mass } else { 0.0 }).collect();
        // A drag moves what it holds: what is held is in the window too.
        self.holds.iter().for_each(|(vertex, _)| free[vertex.index()] = true);
        self.fit_window(&from, &free);
        let friction = vec![0.0; from.len()];
        let whole = ContactInput {
            mesh: &self.mesh,
            start: &from,
            end: &to,
            step: self.step_length(),
            inverse_mass: &inverse_mass,
            thickness: &self.thickness,
            friction: &friction,
            rules: &remedy.rules,
        };
        // Large zones strain cloth more than slowing it down does, and cost more.
        let contact_settings = ContactSettings {
            recovery: 0.5,
            stiffness: 1e4,
            impulse_rounds: 6,
            zone_rounds: 4,
            ..ContactSettings::default()
        };
        let (workspace, stop) = (&mut self.contact_workspace, &*self.stop);
        let resolved = match &self.window {
            None => contact::resolve_unless(&whole, &contact_settings, workspace, stop).positions,
            Some(window) => window.resolve(&whole, &contact_settings, workspace, stop),
        };
        let moves = resolved.iter().zip(&from).zip(&self.local_size);
        self.last_move = moves.map(|((to, from), size)| to.distance(*from) / size).fold(0.0, f64::max);
        proposed.positions.copy_from_slice(&resolved[..self.state.positions.len()]);
        let start = start(&self.model, &self.state, self.step_length());
        self.state = dynamics::finish(&start, proposed, &dynamics_settings(), &mut self.dynamics_workspace);
        observe(FixStage::Contact, &self.state.positions);
    }

    /// Makes the window of contact anew if it does not fit any more.
    fn fit_window(&mut self, positions: &[DVec3], free: &[bool]) {
        let topology = self.assembly.topology();
        let whole = Whole {
            topology,
            positions,
            free,
            local_size: &self.local_size,
            rest_lengths: &self.rest_lengths,
            thickness: self.settings.separation,
        };
        let free_count = free.iter().filter(|&&free| free).count();
        if !self.window.as_ref().is_some_and(|window| window.is_good(&whole)) && free_count < self.no_window_from {
            let tree = self.analysis_workspace.tree(topology, positions);
            self.window = Window::open(&whole, tree);
            self.contact_workspace = contact::Workspace::default();
            self.no_window_from = self.window.as_ref().map_or(free_count, |_| usize::MAX);
        }
    }

    /// Where dynamics alone would move cloth. What is not active is held.
    pub(super) fn propose(&mut self, guidance: &Guidance) -> Proposal {
        let frozen = (0..self.active.len()).filter(|&vertex| !self.active[vertex]).map(VertexId::new);
        let held =
            frozen.map(|vertex| (vertex, self.state.positions[vertex.index()])).chain(self.holds.iter().copied());
        let guidance =
            Guidance { holds: held.map(|(vertex, point)| (vertex, Hold::At(point))).collect(), ..guidance.clone() };
        let start = start(&self.model, &self.state, self.step_length());
        let mut proposed = dynamics::propose(&start, &guidance, &dynamics_settings(), &mut self.dynamics_workspace);
        self.limit_motion(&mut proposed.positions);
        proposed
    }

    /// The length of a step of dynamics, seconds.
    fn step_length(&self) -> f64 {
        self.folding.pace() * self.settings.step
    }

    /// Shortens moves that are longer than a share of the edges around.
    fn limit_motion(&self, end: &mut [DVec3]) {
        for (vertex, end) in end.iter_mut().enumerate() {
            let start = self.state.positions[vertex];
            *end = start + (*end - start).clamp_length_max(self.settings.largest_move * self.local_size[vertex]);
        }
    }
}

fn start<'a>(model: &'a Model, state: &'a State, step: f64) -> Start<'a> {
    Start { model, state, environment: &Environment::NOTHING, step }
}

fn dynamics_settings() -> DynamicsSettings {
    DynamicsSettings { integration: Integration::QuasiStatic, ..DynamicsSettings::default() }
}
