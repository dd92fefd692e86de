//! Untangling under way, step by step: what `fix` drives, and what an interactive program drives itself.
//!
//! A step shortens rest shapes, proposes a motion and lets contact decide. Between steps, [`Untangling::judge`] moves cloth
//! out of bodies, separates what touches, watches for progress and takes stronger measures where there is none.

use super::retreat::Retreat;
use super::watch::{Advance, Watch};
use super::{FixMethod, FixSettings, FixStage, Observe, Outcome, Patient, ResolverCounts, Stop, sizes, touching};
use crate::analysis::{self, Assembly, PartKind, Tangle};
use crate::contact::{self, ContactInput, ContactMesh, ContactSettings};
use crate::dynamics::{self, Guidance, Hold, Start};
use crate::model::Model;
use crate::scene::environment::Environment;
use crate::settings::{DynamicsSettings, Integration};
use crate::state::State;
use crate::untangle::body_push::BodyPush;
use crate::untangle::esef::{self, EsefSettings, Pull};
use crate::untangle::{ColourRules, Remedy, tearing};
use std::sync::Arc;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Untangling under way, step by step: what [`untangle`] drives, and what an interactive program drives itself.
pub struct Untangling {
    /// The cloth.
    pub model: Model,
    /// Its state. Positions may be changed between steps.
    pub state: State,
    /// Vertices to hold at a point during the next steps: pins and drags.
    pub holds: Vec<(VertexId, DVec3)>,
    /// Asked between rounds of long work whether to stop.
    pub stop: Stop,
    pub(super) assembly: Assembly,
    body_positions: Vec<DVec3>,
    pub(super) settings: FixSettings,
    pulls: Vec<Pull>,
    mesh: ContactMesh,
    thickness: Vec<f64>,
    /// Vertices that have been near a tangle: only they move.
    active: Vec<bool>,
    /// The size of the mesh at each vertex, metres.
    pub(super) local_size: Vec<f64>,
    pub(super) resolvers: ResolverCounts,
    red_history: Vec<usize>,
    steps: usize,
    pub(super) strength: usize,
    touching_rounds: usize,
    watch: Watch,
    /// Where cloth was at first.
    first_positions: Vec<DVec3>,
    calm_steps: usize,
    bodies: BodyPush,
    body_pushes: usize,
    /// Whether cloth grows back after a retreat.
    phase: Phase,
    /// The farthest move of the last step, as a share of the local size.
    last_move: f64,
    analysis_workspace: analysis::Workspace,
    dynamics_workspace: dynamics::Workspace,
    contact_workspace: contact::Workspace,
}

impl Untangling {
    /// Gets ready.
    pub fn new(patient: Patient, settings: FixSettings) -> Self {
        let Patient { model, state, assembly, body_positions } = patient;
        let topology = assembly.topology().clone();
        let thickness = vec![settings.separation; topology.vertex_count()];
        let rest_lengths = sizes::rest_lengths(&assembly, &model, &state, &body_positions);
        let local_size = sizes::local_sizes(&topology, &rest_lengths);
        let all: Vec<DVec3> = state.positions.iter().chain(&body_positions).copied().collect();
        let bodies = BodyPush::new(&assembly, &all, settings.body_separation);
        let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
        Self {
            local_size,
            active: vec![false; state.positions.len()],
            first_positions: state.positions.clone(),
            model,
            state,
            holds: Vec::new(),
            assembly,
            body_positions,
            settings,
            pulls: Vec::new(),
            mesh,
            thickness,
            resolvers: ResolverCounts::default(),
            red_history: Vec::new(),
            steps: 0,
            strength: 0,
            touching_rounds: 0,
            watch: Watch::default(),
            calm_steps: 0,
            bodies,
            body_pushes: 0,
            phase: Phase::Untangling,
            last_move: 0.0,
            stop: Arc::new(|| false),
            analysis_workspace: analysis::Workspace::default(),
            dynamics_workspace: dynamics::Workspace::default(),
            contact_workspace: contact::Workspace::default(),
        }
    }

    /// Positions of cloth, then of bodies.
    pub fn all_positions(&self) -> Vec<DVec3> {
        self.state.positions.iter().chain(&self.body_positions).copied().collect()
    }

    /// What crosses now.
    pub fn analyze(&mut self) -> Tangle {
        let positions = self.all_positions();
        analysis::analyze(&self.assembly, &positions, &mut self.analysis_workspace)
    }

    /// Whether nothing crosses and every rest shape is its own again.
    pub fn is_done(&self, tangle: &Tangle) -> bool {
        tangle.is_empty() && self.pulls.is_empty()
    }

    /// One step: shorten, propose, keep apart.
    pub fn step(&mut self, tangle: &Tangle) {
        self.step_observed(tangle, &mut |_, _| {});
    }

    /// As [`Untangling::step`]; `observe` hears of every stage as it ends.
    pub fn step_observed(&mut self, tangle: &Tangle, observe: Observe) {
        self.red_history.push(tangle.colours.red_vertices.len());
        self.grow_active(tangle);
        self.steps += 1;
        if self.settings.method.is_classic() {
            return self.classic_step(tangle, observe);
        }
        let esef_settings = EsefSettings { gamma: self.settings.gamma, ..EsefSettings::default() };
        let report = esef::update(&self.model, &mut self.pulls, &tangle.colours, self.settings.step, &esef_settings);
        self.resolvers.esef += report.pulling;
        let tear = tearing::tear(&self.model, tangle);
        self.resolvers.tearing += tear.contours;
        self.state.rest_shapes = esef::rest_shapes(&self.model, &self.pulls);
        self.state.hinge_stiffness.fill(1.0);
        for &hinge in &tear.stiffened_hinges {
            self.state.hinge_stiffness[hinge] = self.settings.tear_stiffening;
        }
        let separation = self.local_size.iter().map(|size| self.settings.red_green_separation * size).collect();
        let mut rules = ColourRules::from_colours(self.assembly.topology(), &tangle.colours, separation);
        rules.omit(self.assembly.topology(), &tear.omitted);
        rules.keep_usual_from(self.state.positions.len());
        observe(FixStage::Untangle, &self.state.positions);
        self.advance(&Remedy { rules, ..Remedy::default() }, observe);
    }

    /// Dynamics and contact under the rules and forces of a remedy.
    pub(super) fn advance(&mut self, remedy: &Remedy, observe: Observe) {
        let frozen = (0..self.active.len()).filter(|&vertex| !self.active[vertex]).map(VertexId::new);
        let held =
            frozen.map(|vertex| (vertex, self.state.positions[vertex.index()])).chain(self.holds.iter().copied());
        let guidance = Guidance {
            holds: held.map(|(vertex, point)| (vertex, Hold::At(point))).collect(),
            ..remedy.guidance.clone()
        };
        let dynamics_settings =
            DynamicsSettings { integration: Integration::QuasiStatic, ..DynamicsSettings::default() };
        let start = Start {
            model: &self.model,
            state: &self.state,
            environment: &Environment::NOTHING,
            step: self.settings.step,
        };
        let mut proposed = dynamics::propose(&start, &guidance, &dynamics_settings, &mut self.dynamics_workspace);
        self.limit_motion(&mut proposed.positions);
        observe(FixStage::Propose, &proposed.positions);
        let from = self.all_positions();
        let to: Vec<DVec3> = proposed.positions.iter().chain(&self.body_positions).copied().collect();
        let mean_mass = self.model.masses.iter().sum::<f64>() / self.model.masses.len() as f64;
        let mut inverse_mass: Vec<f64> = (0..from.len())
            .map(|vertex| if self.active.get(vertex) == Some(&true) { 1.0 / mean_mass } else { 0.0 })
            .collect();
        for (vertex, _) in &self.holds {
            inverse_mass[vertex.index()] = 0.0;
        }
        let input = ContactInput {
            mesh: &self.mesh,
            start: &from,
            end: &to,
            step: self.settings.step,
            inverse_mass: &inverse_mass,
            thickness: &self.thickness,
            friction: &vec![0.0; from.len()],
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
        let resolved = contact::resolve_unless(&input, &contact_settings, &mut self.contact_workspace, &*self.stop);
        let moves = resolved.positions.iter().zip(&from).zip(&self.local_size);
        self.last_move = moves.map(|((to, from), size)| to.distance(*from) / size).fold(0.0, f64::max);
        proposed.positions.copy_from_slice(&resolved.positions[..self.state.positions.len()]);
        self.state = dynamics::finish(&start, proposed, &dynamics_settings, &mut self.dynamics_workspace);
        observe(FixStage::Contact, &self.state.positions);
    }

    /// Shortens moves that are longer than a share of the edges around.
    fn limit_motion(&self, end: &mut [DVec3]) {
        for (vertex, end) in end.iter_mut().enumerate() {
            let start = self.state.positions[vertex];
            *end = start + (*end - start).clamp_length_max(self.settings.largest_move * self.local_size[vertex]);
        }
    }

    /// Marks what lies within some rings of anything red; it stays free from then on.
    fn grow_active(&mut self, tangle: &Tangle) {
        let topology = &self.model.topology;
        let colours = &tangle.colours;
        let is_cloth = |vertex: &VertexId| vertex.index() < topology.vertex_count();
        let front: Vec<VertexId> = colours
            .red_triangles
            .iter()
            .flat_map(|&triangle: &TriangleId| self.assembly.topology().triangle(triangle))
            .filter(is_cloth)
            .collect();
        self.free_rings_around(front);
    }

    fn free_rings_around(&mut self, mut front: Vec<VertexId>) {
        let topology = &self.model.topology;
        let mut seen = vec![false; self.active.len()];
        for ring in 0..=self.settings.rings {
            front.sort_unstable();
            front.dedup();
            front.retain(|vertex| !seen[vertex.index()]);
            for vertex in &front {
                seen[vertex.index()] = true;
                self.active[vertex.index()] = true;
            }
            if ring < self.settings.rings {
                front = front.iter().flat_map(|&vertex| topology.ring(vertex)).collect();
            }
        }
    }

    /// Decides what to do about a tangle that was just found.
    ///
    /// Cloth in bodies is moved out first, then what merely touches is moved apart; both are seen by the next look. Where
    /// nothing crosses cloth relaxes until it is at rest. Where something does and nothing has become better for
    /// `patience` steps, cloth retreats: it is smoothed until nothing crosses, and grows back with contact on. Methods
    /// without history let more cloth move instead, and edge shortening alone gives up.
    pub fn judge(&mut self, tangle: &Tangle) -> Advance {
        if !self.settings.method.is_classic() && self.push_out_of_bodies(tangle) {
            return Advance::LookAgain;
        }
        if self.is_done(tangle) {
            if self.separate_touching() {
                return Advance::LookAgain;
            }
            self.calm_steps += 1;
            let is_still = self.calm_steps > 3 && self.last_move < self.settings.stillness;
            let most = match self.phase {
                Phase::Untangling => self.settings.relaxation_steps,
                Phase::GrowingBack => self.settings.growth_steps,
            };
            let untouched = self.steps + self.resolvers.body_push + self.resolvers.retreat == 0;
            return if untouched || is_still || self.calm_steps > most { Advance::Done } else { Advance::Step };
        }
        self.calm_steps = 0;
        let positions = self.all_positions();
        if self.settings.method == FixMethod::Off {
            return Advance::GaveUp;
        }
        let waited = self.watch.look(tangle, &positions, &self.state.positions);
        if waited <= self.settings.patience && self.settings.method != FixMethod::Retreat {
            return Advance::Step;
        }
        self.watch.wait_again();
        self.strengthen()
    }

    /// Forgets what was seen so far: cloth has been moved from outside.
    pub fn start_again(&mut self) {
        self.watch.reset();
        self.calm_steps = 0;
        self.body_pushes = 0;
        self.touching_rounds = 0;
    }

    fn strengthen(&mut self) -> Advance {
        self.strength += 1;
        let (method, is_early) = (self.settings.method, self.strength <= MOST_RETREATS);
        match method {
            FixMethod::Off | FixMethod::Esef => Advance::GaveUp,
            FixMethod::Auto | FixMethod::Retreat => {
                if is_early && self.retreat() {
                    Advance::LookAgain
                } else {
                    Advance::GaveUp
                }
            }
            _ if self.widen() => Advance::Step,
            _ => Advance::GaveUp,
        }
    }

    /// Smooths cloth around what crosses until nothing does, from the best state or from the first one, whichever ends
    /// nearer to the first one; `false` if neither helps.
    fn retreat(&mut self) -> bool {
        let mut held = vec![false; self.state.positions.len()];
        for vertex in self.model.pins.iter().chain(self.holds.iter().map(|(vertex, _)| vertex)) {
            held[vertex.index()] = true;
        }
        let stop = self.stop.clone();
        let mut nearest: Option<(f64, Vec<DVec3>)> = None;
        for start in [self.watch.best().map(|best| best.cloth.clone()), Some(self.first_positions.clone())] {
            let Some(cloth) = start else { continue };
            self.state.positions = cloth;
            let tangle = self.analyze();
            let corners = tangle.colours.red_triangles.iter().flat_map(|&red| self.assembly.topology().triangle(red));
            let tangled: Vec<VertexId> = corners.collect();
            let positions = self.all_positions();
            let retreat = Retreat {
                assembly: &self.assembly,
                positions: &positions,
                cloth: &self.model.topology,
                held: &held,
                bodies: &self.bodies,
                stop: &*stop,
            };
            let Some(clean) = retreat.find(&tangled, &mut self.analysis_workspace) else { continue };
            let moved = clean.iter().zip(&self.first_positions).map(|(after, before)| after.distance_squared(*before));
            let moved: f64 = moved.sum();
            if nearest.as_ref().is_none_or(|(least, _)| moved < *least) {
                nearest = Some((moved, clean));
            }
        }
        let Some((_, clean)) = nearest else { return false };
        self.resolvers.retreat += 1;
        for vertex in 0..self.state.positions.len() {
            self.active[vertex] |= clean[vertex] != self.first_positions[vertex];
        }
        self.state.positions.copy_from_slice(&clean[..self.active.len()]);
        self.grow_active_by_rings();
        self.pulls.clear();
        self.phase = Phase::GrowingBack;
        true
    }

    /// Moves cloth that crosses a body out of it; `false` if none does, or if it has been tried often enough.
    fn push_out_of_bodies(&mut self, tangle: &Tangle) -> bool {
        const MOST_PUSHES: usize = 12;
        const ROUNDS: usize = 200;
        let crosses_body = |triangles: &[TriangleId; 2]| {
            triangles
                .iter()
                .any(|&triangle| self.assembly.parts()[self.assembly.part_of_triangle(triangle)].kind == PartKind::Body)
        };
        let is_first = self.body_pushes == 0;
        let is_needed = is_first || tangle.contours.iter().any(|tangled| crosses_body(&tangled.contour.segments[0]));
        if self.bodies.is_idle() || !is_needed || self.body_pushes == MOST_PUSHES {
            return false;
        }
        self.body_pushes += 1;
        let mut positions = self.all_positions();
        let pins = &self.model.pins;
        let is_free = |vertex: usize| pins.binary_search(&VertexId::new(vertex)).is_err();
        let report = self.bodies.push_out_smoothly(&self.assembly, &mut positions, &is_free, ROUNDS);
        self.resolvers.body_push += report.rounds;
        for (vertex, place) in self.state.positions.iter_mut().enumerate() {
            self.active[vertex] |= *place != positions[vertex];
            *place = positions[vertex];
        }
        if is_first {
            self.first_positions.copy_from_slice(&self.state.positions);
        }
        if report.rounds > 0 {
            self.grow_active_by_rings();
        }
        report.rounds > 0
    }

    /// Lets the rings around everything that may move, move too.
    fn grow_active_by_rings(&mut self) {
        let active = (0..self.active.len()).filter(|&vertex| self.active[vertex]).map(VertexId::new).collect();
        self.free_rings_around(active);
    }

    /// Moves apart what touches without crossing; `false` if nothing does, or if it has been tried often enough.
    pub fn separate_touching(&mut self) -> bool {
        const MOST_ROUNDS: usize = 20;
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.assembly, &positions, &mut self.analysis_workspace);
        if verdict.touching_count() == 0 || self.touching_rounds == MOST_ROUNDS {
            return false;
        }
        self.touching_rounds += 1;
        self.resolvers.separate_touching += 1;
        let separation = self.settings.separation;
        for (vertex, step) in touching::pushes(self.assembly.topology(), &positions, &verdict, separation) {
            if let Some(position) = self.state.positions.get_mut(vertex.index()) {
                *position += step;
            }
        }
        true
    }

    /// The exact check of where things are, and the account of what was done. Where the last state still crosses, the
    /// best one counts.
    pub fn finish(mut self) -> Outcome {
        if let Some(best) = self.watch.best().cloned()
            && best.red_triangles < self.analyze().colours.red_triangles.len()
        {
            self.state.positions = best.cloth;
        }
        let positions = self.all_positions();
        let verdict = analysis::verdict(&self.assembly, &positions, &mut self.analysis_workspace);
        let tangle = self.analyze();
        Outcome {
            positions: self.state.positions,
            verdict,
            tangle,
            steps: self.steps,
            resolvers: self.resolvers,
            red_history: self.red_history,
        }
    }
}

/// Retreats at most: cloth that grows back is clean, so a second one follows only cloth moved from outside.
const MOST_RETREATS: usize = 4;

/// What untangling is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Edges shorten.
    Untangling,
    /// After a retreat cloth is clean and grows back.
    GrowingBack,
}
