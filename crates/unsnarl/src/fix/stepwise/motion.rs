//! How cloth moves in `fix`: dynamics without gravity and inertia proposes, contact decides.

use super::rungs::RungName;
use super::setup::Setup;
use super::window::{Whole, Window};
use super::{FixStage, Observe, Untangling};
use crate::analysis::{self, Tangle};
use crate::contact::{self, ContactInput, ContactMesh, ContactSettings, LastResort, PairRules};
use crate::dynamics::support::{self, Support};
use crate::dynamics::{self, Guidance, Hold, Start};
use crate::model::Model;
use crate::scene::environment::Environment;
use crate::settings::{DynamicsSettings, Integration};
use crate::state::State;
use crate::untangle::rearrange::sliding::Sliding;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use crate::untangle::{ColourRules, LoopGuard, Remedy};
use unsnarl_geometry::{DVec3, VertexId};

/// Contact, and the part of the mesh that it looks at.
pub(super) struct ContactStage {
    mesh: ContactMesh,
    /// Of every vertex, metres.
    thickness: Vec<f64>,
    /// What contact looks at, if that is not everything.
    pub window: Option<Window>,
    /// With as many vertices that may move, or more, a window would hold nearly everything.
    no_window_from: usize,
    workspace: contact::Workspace,
}

impl ContactStage {
    /// For everything.
    pub fn new(setup: &Setup, separation: f64) -> Self {
        let topology = setup.assembly.topology().clone();
        let thickness = vec![separation; topology.vertex_count()];
        Self {
            mesh: ContactMesh::new(topology, &setup.rest_lengths, &thickness),
            thickness,
            window: None,
            no_window_from: usize::MAX,
            workspace: contact::Workspace::default(),
        }
    }

    /// Anything may have moved.
    pub fn close_window(&mut self) {
        self.window = None;
        self.no_window_from = usize::MAX;
    }

    /// Opens the window of contact again if it does not fit any more. `analysis` has a tree of all triangles.
    fn fit_window(&mut self, whole: &Whole, analysis: &mut analysis::Workspace) {
        let free_count = whole.free.iter().filter(|&&free| free).count();
        if !self.window.as_ref().is_some_and(|window| window.is_good(whole)) && free_count < self.no_window_from {
            self.window = Window::open(whole, analysis.tree(whole.topology, whole.positions));
            self.workspace = contact::Workspace::default();
            self.no_window_from = self.window.as_ref().map_or(free_count, |_| usize::MAX);
        }
    }
}

impl Untangling {
    /// Dynamics and contact under the rules and forces of a remedy.
    pub(super) fn advance(&mut self, remedy: &Remedy, observe: Observe) {
        let proposed = self.propose(&remedy.guidance);
        observe(FixStage::Propose, &proposed);
        self.resolve(&proposed, &remedy.rules, &contact_settings(&remedy.rules));
        observe(FixStage::Contact, &self.state.positions);
    }

    /// The same; where more would be red than before, contact is asked again, and lets no contour come to end in
    /// green vertices. Red may still grow where a contour that does not cut becomes one that does.
    pub(super) fn advance_unless_red_grows(&mut self, tangle: &Tangle, remedy: &Remedy, observe: Observe) {
        let (start, time) = (self.state.positions.clone(), self.state.time);
        let proposed = self.propose(&remedy.guidance);
        let settings = contact_settings(&remedy.rules);
        observe(FixStage::Propose, &proposed);
        self.resolve(&proposed, &remedy.rules, &settings);
        let is_guarded = !tangle.is_empty() && self.has_rung(RungName::RedGuard);
        if is_guarded && self.shortening.theorem.is_lawful() && self.has_red_grown() {
            self.shortening.theorem.counts.retaken_steps += 1;
            self.adopt(&start);
            self.state.time = time;
            let topology = self.setup.assembly.topology().clone();
            let guard = LoopGuard::new(&remedy.rules, &topology, &tangle.colours.red_vertices, &tangle.loop_vertices());
            self.resolve(&proposed, &guard, &settings);
        }
        observe(FixStage::Contact, &self.state.positions);
    }

    /// Whether the step has left more red than there was. What was seen is kept for the next look.
    fn has_red_grown(&mut self) -> bool {
        let after = self.analyze();
        let has_grown = self.shortening.theorem.has_red_grown(&self.without_pinched(&after));
        self.memory.seen = Some((self.all_positions(), after));
        has_grown
    }

    /// Lets clean cloth slide to where it is less strained, and back to where it was by a share of the way.
    ///
    /// Dynamics would bend it as well, by moves that contact throws back where layers lie on each other: the strain
    /// that this makes does not go away.
    pub(super) fn slide(&mut self, rules: &ColourRules, share: f64, observe: Observe) {
        const ROUNDS: usize = 3;
        let mut free = self.free();
        free.iter_mut().zip(&self.active).for_each(|(free, active)| *free &= active);
        let mut places = self.state.positions.clone();
        let (topology, shapes) = (&self.model.topology, &self.model.rest_shapes);
        let bounds = StrainBounds::around_rest(topology, shapes, StrainBounds::RELAXED);
        if let Some(mut sliding) = Sliding::new(&self.model.topology, &bounds, &free, 0.0, &places) {
            for (vertex, target) in self.reference.targets.iter().enumerate().filter(|(vertex, _)| free[*vertex]) {
                let way = target.map_or(DVec3::ZERO, |target| target - places[vertex]);
                places[vertex] += share * way.clamp_length_max(self.setup.local_size[vertex]);
            }
            let (mut asked, mut slack) = (places.clone(), vec![0.0; places.len()]);
            for _ in 0..ROUNDS {
                sliding.round(&bounds, &mut places, &mut |places| {
                    for (vertex, push) in self.setup.bodies.pushes_since(&mut asked, &mut slack, places) {
                        if free[vertex] {
                            places[vertex] += push;
                        }
                    }
                });
            }
        }
        self.limit_motion(&mut places);
        observe(FixStage::Propose, &places);
        self.resolve(&places, rules, &contact_settings(rules));
        observe(FixStage::Contact, &self.state.positions);
    }

    /// Goes as far as contact lets cloth.
    fn resolve(&mut self, proposed: &[DVec3], rules: &dyn PairRules, settings: &ContactSettings) {
        let from = self.all_positions();
        let to: Vec<DVec3> = proposed.iter().chain(&self.setup.body_positions).copied().collect();
        let mean_mass = self.model.masses.iter().sum::<f64>() / self.model.masses.len() as f64;
        let mut free: Vec<bool> = (0..from.len()).map(|vertex| self.active.get(vertex) == Some(&true)).collect();
        for (vertex, _) in &self.holds {
            free[vertex.index()] = false;
        }
        let inverse_mass: Vec<f64> = free.iter().map(|&free| if free { 1.0 / mean_mass } else { 0.0 }).collect();
        // A drag moves what it holds: what is held is in the window too.
        self.holds.iter().for_each(|(vertex, _)| free[vertex.index()] = true);
        let whole = Whole {
            topology: self.setup.assembly.topology(),
            positions: &from,
            free: &free,
            local_size: &self.setup.local_size,
            rest_lengths: &self.setup.rest_lengths,
            thickness: self.settings.separation,
        };
        self.contact.fit_window(&whole, &mut self.memory.analysis);
        let friction = vec![0.0; from.len()];
        let whole = ContactInput {
            mesh: &self.contact.mesh,
            start: &from,
            end: &to,
            step: self.step_length(),
            inverse_mass: &inverse_mass,
            thickness: &self.contact.thickness,
            friction: &friction,
            rules,
        };
        let (workspace, stop) = (&mut self.contact.workspace, &*self.stop);
        let resolved = match &self.contact.window {
            None => contact::resolve_unless(&whole, settings, workspace, stop).positions,
            Some(window) => window.resolve(&whole, settings, workspace, stop),
        };
        let moves = resolved.iter().zip(&from).zip(&self.setup.local_size);
        self.relaxation.last_move = moves.map(|((to, from), size)| to.distance(*from) / size).fold(0.0, f64::max);
        self.adopt(&resolved);
        self.state.time += self.step_length();
    }

    /// Where dynamics alone would move cloth. What is not active is held.
    pub(super) fn propose(&mut self, guidance: &Guidance) -> Vec<DVec3> {
        let frozen = (0..self.active.len()).filter(|&vertex| !self.active[vertex]).map(VertexId::new);
        let held =
            frozen.map(|vertex| (vertex, self.state.positions[vertex.index()])).chain(self.holds.iter().copied());
        let mut guidance =
            Guidance { holds: held.map(|(vertex, point)| (vertex, Hold::At(point))).collect(), ..guidance.clone() };
        let near = self.planes_of_bodies();
        let start = start(&self.model, &self.state, self.step_length());
        let mut proposed = dynamics::propose(&start, &guidance, &dynamics_settings(), &mut self.memory.dynamics);
        for _ in 0..support::ROUNDS {
            let needed = |plane: &&Support| plane.pushes(&proposed.positions);
            let supports: Vec<Support> = near.iter().filter(needed).copied().collect();
            if supports == guidance.supports {
                break;
            }
            guidance.supports = supports;
            proposed = dynamics::propose(&start, &guidance, &dynamics_settings(), &mut self.memory.dynamics);
        }
        self.limit_motion(&mut proposed.positions);
        proposed.positions
    }

    /// The plane of the body below every vertex that may move and could reach one in a step.
    fn planes_of_bodies(&self) -> Vec<Support> {
        if self.setup.bodies.is_idle() {
            return Vec::new();
        }
        let plane = |vertex: usize| {
            let reach = self.settings.largest_move * self.setup.local_size[vertex];
            let place = self.state.positions[vertex];
            let sight = self.setup.bodies.sight_within(place, reach).filter(|sight| sight.signed_distance > 0.0)?;
            let kept = sight.signed_distance.min(self.settings.body_separation);
            Some(Support {
                vertices: [VertexId::new(vertex); 3],
                weights: [1.0, 0.0, 0.0],
                normal: sight.outward,
                offset: sight.outward.dot(place) - sight.signed_distance + kept,
                friction: 0.0,
                carried: DVec3::ZERO,
                bearers: [VertexId::new(vertex); 3],
                shares: [0.0; 3],
                stiffness: None,
            })
        };
        (0..self.active.len()).filter(|&vertex| self.active[vertex]).filter_map(plane).collect()
    }

    /// The length of a step of dynamics, seconds.
    fn step_length(&self) -> f64 {
        self.folding.pace() * self.settings.step
    }

    /// Shortens moves that are longer than a share of the edges around.
    fn limit_motion(&self, end: &mut [DVec3]) {
        for (vertex, end) in end.iter_mut().enumerate() {
            let start = self.state.positions[vertex];
            let longest = self.settings.largest_move * self.setup.local_size[vertex];
            *end = start + (*end - start).clamp_length_max(longest);
        }
    }
}

fn start<'a>(model: &'a Model, state: &'a State, step: f64) -> Start<'a> {
    Start { model, state, environment: &Environment::NOTHING, step }
}

fn dynamics_settings() -> DynamicsSettings {
    DynamicsSettings { integration: Integration::QuasiStatic, ..DynamicsSettings::default() }
}

/// Large zones strain cloth more than slowing it down does, and cost more. What is tangled does without: in a zone
/// nothing comes out of anything, and the hundreds of pairs that collide there at once would stop all of the cloth.
fn contact_settings(rules: &ColourRules) -> ContactSettings {
    let clean = ContactSettings {
        recovery: 0.5,
        stiffness: 1e4,
        impulse_rounds: 6,
        zone_rounds: 4,
        ..ContactSettings::default()
    };
    match rules.are_of_tangle() {
        false => clean,
        true => ContactSettings { impulse_rounds: 20, zone_rounds: 0, last_resort: LastResort::Vertices, ..clean },
    }
}
