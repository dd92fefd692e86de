//! `fix`: a tangled garment in, a clean one out, and the proof.
//!
//! The same stages as a simulation, without gravity or inertia: analysis, untangle, dynamics, contact, until nothing
//! crosses; then the rest shapes that were shortened are given back with collisions on. Vertices far from any tangle are
//! held where they are, so they come back bit for bit. (Cha 2022, figure 2.2)
//!
//! Guarantees: the outcome is certified by the exact check of its positions, never by the path that led there; input
//! that is clean comes back unchanged.
//! Does not: promise success. What is left is in the outcome, and the positions are the best that were seen.

pub mod report;
mod settings;

pub use settings::{FixMethod, FixSettings};

use crate::analysis::{self, Assembly, Tangle, Verdict};
use crate::contact::{self, ContactInput, ContactMesh, ContactSettings};
use crate::dynamics::{self, Guidance, Hold, Start};
use crate::model::Model;
use crate::rest_shape::RestShape;
use crate::scene::environment::Environment;
use crate::settings::{DynamicsSettings, Integration};
use crate::state::State;
use crate::untangle::esef::{self, EsefSettings, Pull};
use crate::untangle::{ColourRules, tearing};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// A garment, or several, with bodies as obstacles.
pub struct Patient {
    /// The cloth.
    pub model: Model,
    /// Its state: positions, rest shapes, rest angles.
    pub state: State,
    /// Cloth and bodies, numbered as in the model, then the bodies' vertices.
    pub assembly: Assembly,
    /// Where the bodies' vertices are.
    pub body_positions: Vec<DVec3>,
}

/// What a step looks like from outside.
pub struct Progress<'a> {
    /// Steps so far.
    pub step: usize,
    /// What crosses.
    pub tangle: &'a Tangle,
    /// Positions of cloth, then of bodies.
    pub positions: &'a [DVec3],
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Yes.
    Yes,
    /// Stop now with the best so far.
    No,
}

/// How often each resolver acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ResolverCounts {
    /// Steps with the attraction of global intersection analysis.
    pub gia: usize,
    /// Steps of contour minimisation.
    pub icm: usize,
    /// Pulls of edge shortening, begun or gone on with.
    pub esef: usize,
    /// Contours torn, over all steps.
    pub tearing: usize,
    /// Couples of BLI flipped.
    pub regional_flip: usize,
    /// Creases flipped.
    pub crease_flip: usize,
    /// Steps that separated what merely touched.
    pub separate_touching: usize,
}

/// What came of it.
pub struct Outcome {
    /// Positions of the cloth.
    pub positions: Vec<DVec3>,
    /// The exact check of these positions.
    pub verdict: Verdict,
    /// The contours that are left.
    pub tangle: Tangle,
    /// Steps taken.
    pub steps: usize,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Red vertices at the start of each step.
    pub red_history: Vec<usize>,
}

impl Outcome {
    /// Clean input, as it was.
    pub fn untouched(positions: Vec<DVec3>) -> Self {
        Self {
            positions,
            verdict: Verdict::default(),
            tangle: Tangle::default(),
            steps: 0,
            resolvers: ResolverCounts::default(),
            red_history: Vec::new(),
        }
    }
}

/// Untangles. `observe` sees every step and may stop it.
pub fn untangle(patient: Patient, settings: &FixSettings, observe: &mut dyn FnMut(&Progress) -> Continue) -> Outcome {
    let mut untangling = Untangling::new(patient, settings.clone());
    let mut calm_steps = 0;
    for step in 0..settings.largest_step_count {
        let tangle = untangling.analyze();
        let positions = untangling.all_positions();
        if observe(&Progress { step, tangle: &tangle, positions: &positions }) == Continue::No {
            break;
        }
        if untangling.is_done(&tangle) {
            calm_steps += 1;
            if calm_steps > settings.relaxation_steps || untangling.steps == 0 {
                break;
            }
        } else {
            calm_steps = 0;
        }
        untangling.step(&tangle);
    }
    untangling.finish()
}

/// Untangling under way, step by step: what [`untangle`] drives, and what an interactive program drives itself.
pub struct Untangling {
    /// The cloth.
    pub model: Model,
    /// Its state. Positions may be changed between steps.
    pub state: State,
    /// Vertices to hold at a point during the next steps: pins and drags.
    pub holds: Vec<(VertexId, DVec3)>,
    assembly: Assembly,
    body_positions: Vec<DVec3>,
    settings: FixSettings,
    pulls: Vec<Pull>,
    mesh: ContactMesh,
    thickness: Vec<f64>,
    /// Vertices that have been near a tangle: only they move.
    active: Vec<bool>,
    mean_edge: f64,
    resolvers: ResolverCounts,
    red_history: Vec<usize>,
    steps: usize,
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
        let rest_lengths = rest_lengths(&assembly, &model, &state, &body_positions);
        let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
        Self {
            mean_edge: model.mean_rest_edge(),
            active: vec![false; state.positions.len()],
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
        self.red_history.push(tangle.colours.red_vertices.len());
        self.grow_active(tangle);
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
        let separation = self.settings.red_green_separation * self.mean_edge;
        let mut rules = ColourRules::from_colours(self.assembly.topology(), &tangle.colours, separation);
        rules.omit(self.assembly.topology(), &tear.omitted);
        self.advance(&rules);
        self.steps += 1;
    }

    /// Dynamics and contact under given rules.
    fn advance(&mut self, rules: &ColourRules) {
        let frozen = (0..self.active.len()).filter(|&vertex| !self.active[vertex]).map(VertexId::new);
        let held =
            frozen.map(|vertex| (vertex, self.state.positions[vertex.index()])).chain(self.holds.iter().copied());
        let guidance =
            Guidance { holds: held.map(|(vertex, point)| (vertex, Hold::At(point))).collect(), ..Guidance::default() };
        let dynamics_settings =
            DynamicsSettings { integration: Integration::QuasiStatic, ..DynamicsSettings::default() };
        let start = Start {
            model: &self.model,
            state: &self.state,
            environment: &Environment::NOTHING,
            step: self.settings.step,
        };
        let mut proposed = dynamics::propose(&start, &guidance, &dynamics_settings, &mut self.dynamics_workspace);
        limit_motion(&mut proposed.positions, &self.state.positions, self.settings.largest_move * self.mean_edge);
        let from = self.all_positions();
        let to: Vec<DVec3> = proposed.positions.iter().chain(&self.body_positions).copied().collect();
        let mut inverse_mass: Vec<f64> = (0..from.len())
            .map(|vertex| if self.active.get(vertex) == Some(&true) { 1.0 / self.model.masses[vertex] } else { 0.0 })
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
            rules,
        };
        let contact_settings = ContactSettings { recovery: 0.5, stiffness: 1e4, ..ContactSettings::default() };
        let resolved = contact::resolve(&input, &contact_settings, &mut self.contact_workspace);
        proposed.positions.copy_from_slice(&resolved.positions[..self.state.positions.len()]);
        self.state = dynamics::finish(&start, proposed, &dynamics_settings, &mut self.dynamics_workspace);
    }

    /// Marks what lies within some rings of anything red; it stays free from then on.
    fn grow_active(&mut self, tangle: &Tangle) {
        let topology = &self.model.topology;
        let colours = &tangle.colours;
        let is_cloth = |vertex: &VertexId| vertex.index() < topology.vertex_count();
        let mut front: Vec<VertexId> = colours
            .red_triangles
            .iter()
            .flat_map(|&triangle: &TriangleId| self.assembly.topology().triangle(triangle))
            .filter(is_cloth)
            .collect();
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

    /// The exact check of where things are, and the account of what was done.
    pub fn finish(mut self) -> Outcome {
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

/// Shortens moves that are longer than a limit.
fn limit_motion(end: &mut [DVec3], start: &[DVec3], longest: f64) {
    for (end, &start) in end.iter_mut().zip(start) {
        *end = start + (*end - start).clamp_length_max(longest);
    }
}

/// The rest length of every edge: from rest shapes for cloth, as they are for bodies.
fn rest_lengths(assembly: &Assembly, model: &Model, state: &State, body_positions: &[DVec3]) -> Vec<f64> {
    let topology = assembly.topology();
    let at = |vertex: VertexId| match state.positions.get(vertex.index()) {
        Some(&position) => position,
        None => body_positions[vertex.index() - state.positions.len()],
    };
    (0..topology.edge_count())
        .map(|edge| {
            let edge = unsnarl_geometry::EdgeId::new(edge);
            let triangle = topology.edge_triangles(edge)[0];
            let ends = topology.edge(edge);
            let shape: Option<&RestShape> = model.rest_shapes.get(triangle.index());
            let corners = topology.triangle(triangle);
            let corner = |vertex: VertexId| corners.iter().position(|&other| other == vertex).unwrap_or(0);
            match shape {
                Some(shape) => shape.side(corner(ends[0]), corner(ends[1])).length(),
                None => at(ends[0]).distance(at(ends[1])),
            }
        })
        .collect()
}
