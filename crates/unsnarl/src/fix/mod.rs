//! `fix`: a tangled garment in, a clean one out, and the proof.
//!
//! The same stages as a simulation, without gravity or inertia: analysis, untangle, dynamics, contact, until nothing
//! crosses; then the rest shapes that were shortened are given back with collisions on. Vertices far from any tangle are
//! held where they are, so they come back bit for bit. (Cha 2022, figure 2.2)
//!
//! Guarantees: the outcome is certified by the exact check of its positions, never by the path that led there; input
//! that is clean comes back unchanged.
//! Does not: promise success. What is left is in the outcome, and the positions are the best that were seen.

mod classic;
pub mod report;
mod settings;
mod touching;

pub use crate::untangle::Method as FixMethod;
pub use settings::FixSettings;

use crate::analysis::{self, Assembly, Tangle, Verdict};
use crate::contact::{self, ContactInput, ContactMesh, ContactSettings};
use crate::dynamics::{self, Guidance, Hold, Start};
use crate::model::Model;
use crate::rest_shape::RestShape;
use crate::scene::environment::Environment;
use crate::settings::{DynamicsSettings, Integration};
use crate::state::State;
use crate::untangle::esef::{self, EsefSettings, Pull};
use crate::untangle::{ColourRules, Method, Remedy, tearing};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

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
///
/// When nothing has improved for a while a stronger measure is taken, see [`Untangling::strengthen`]; when there is none
/// left, it ends with the best state it has seen.
pub fn untangle(patient: Patient, settings: &FixSettings, observe: &mut dyn FnMut(&Progress) -> Continue) -> Outcome {
    let mut untangling = Untangling::new(patient, settings.clone());
    untangling.separate_touching();
    let mut watch = Watch::default();
    let mut calm_steps = 0;
    for step in 0..settings.largest_step_count {
        let tangle = untangling.analyze();
        let positions = untangling.all_positions();
        if observe(&Progress { step, tangle: &tangle, positions: &positions }) == Continue::No {
            break;
        }
        if untangling.is_done(&tangle) {
            if untangling.separate_touching() {
                continue;
            }
            calm_steps += 1;
            if calm_steps > settings.relaxation_steps || untangling.steps == 0 {
                break;
            }
        } else {
            calm_steps = 0;
            let better = watch.look(&tangle, &positions, &untangling.state.positions);
            if better > settings.patience {
                if !untangling.strengthen() {
                    break;
                }
                watch.wait_again();
            }
        }
        untangling.step(&tangle);
    }
    untangling.finish(watch.best)
}

/// Watches for progress: red triangles first, then the length of the contours.
#[derive(Default)]
struct Watch {
    least: Option<(usize, f64)>,
    /// Cloth at the best moment so far.
    best: Option<(usize, Vec<DVec3>)>,
    steps_since: usize,
}

impl Watch {
    /// Returns for how many steps nothing has become better.
    fn look(&mut self, tangle: &Tangle, positions: &[DVec3], cloth: &[DVec3]) -> usize {
        let length: f64 = tangle.contours.iter().map(|tangled| tangled.contour.length(positions)).sum();
        let red = tangle.colours.red_triangles.len();
        let better =
            self.least.is_none_or(|(least, shortest)| red < least || (red == least && length < 0.98 * shortest));
        if better {
            self.least = Some((red, length));
            self.best = Some((red, cloth.to_vec()));
            self.steps_since = 0;
        } else {
            self.steps_since += 1;
        }
        self.steps_since
    }

    fn wait_again(&mut self) {
        self.steps_since = 0;
    }
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
    /// The size of the mesh at each vertex, metres.
    local_size: Vec<f64>,
    resolvers: ResolverCounts,
    red_history: Vec<usize>,
    steps: usize,
    strength: usize,
    /// How far the corners of red triangles go toward the mean of their neighbours in a step, 0 to 1.
    smoothing: f64,
    touching_rounds: usize,
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
        let local_size = local_sizes(&topology, &rest_lengths);
        let mesh = ContactMesh::new(topology, &rest_lengths, &thickness);
        Self {
            local_size,
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
            strength: 0,
            smoothing: 0.0,
            touching_rounds: 0,
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
        self.steps += 1;
        if !matches!(self.settings.method, Method::Auto | Method::Esef) {
            return self.classic_step(tangle);
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
        self.advance(&Remedy { rules, ..Remedy::default() }, &tangle.colours.red_triangles);
    }

    /// Dynamics and contact under the rules and forces of a remedy.
    fn advance(&mut self, remedy: &Remedy, red_triangles: &[TriangleId]) {
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
        self.smooth(&mut proposed.positions, red_triangles);
        self.limit_motion(&mut proposed.positions);
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
        let contact_settings = ContactSettings { recovery: 0.5, stiffness: 1e4, ..ContactSettings::default() };
        let resolved = contact::resolve(&input, &contact_settings, &mut self.contact_workspace);
        proposed.positions.copy_from_slice(&resolved.positions[..self.state.positions.len()]);
        self.state = dynamics::finish(&start, proposed, &dynamics_settings, &mut self.dynamics_workspace);
    }

    /// Moves the corners of red triangles toward the mean of their neighbours: small folds that bite come undone.
    fn smooth(&self, end: &mut [DVec3], red_triangles: &[TriangleId]) {
        if self.smoothing == 0.0 {
            return;
        }
        let topology = &self.model.topology;
        let cloth = red_triangles.iter().filter(|triangle| triangle.index() < topology.triangle_count());
        let mut corners: Vec<VertexId> = cloth.flat_map(|&triangle| topology.triangle(triangle)).collect();
        corners.sort_unstable();
        corners.dedup();
        let means: Vec<(usize, DVec3)> = corners
            .into_iter()
            .filter(|vertex| self.holds.iter().all(|(held, _)| held != vertex))
            .map(|vertex| {
                let ring: Vec<DVec3> = topology.ring(vertex).map(|neighbour| end[neighbour.index()]).collect();
                (vertex.index(), ring.iter().sum::<DVec3>() / ring.len() as f64)
            })
            .collect();
        for (vertex, mean) in means {
            end[vertex] = end[vertex].lerp(mean, self.smoothing);
        }
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

    /// Takes the next stronger measure against a tangle that does not come undone; `false` if there is none left.
    ///
    /// First, edges shorten faster, more cloth may move, and hinges that cross lose the bend they were loaded with; then
    /// red triangles are smoothed; last, torn folds are stiffened more and still more cloth moves.
    pub fn strengthen(&mut self) -> bool {
        self.strength += 1;
        if !matches!(self.settings.method, Method::Auto | Method::Esef) {
            return self.widen();
        }
        match self.strength {
            1 => {
                self.settings.gamma = self.settings.gamma.min(0.6);
                self.settings.rings *= 2;
                self.flatten_red_hinges();
            }
            2 => self.smoothing = 0.5,
            3 => {
                self.settings.rings *= 4;
                self.settings.tear_stiffening *= 10.0;
            }
            _ => return false,
        }
        true
    }

    fn flatten_red_hinges(&mut self) {
        let tangle = self.analyze();
        let is_red = |triangle: &TriangleId| tangle.colours.red_triangles.binary_search(triangle).is_ok();
        for (hinge, angle) in self.model.hinges.iter().zip(&mut self.state.rest_angles) {
            if hinge.triangles.iter().any(is_red) {
                *angle = 0.0;
            }
        }
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
    pub fn finish(mut self, best: Option<(usize, Vec<DVec3>)>) -> Outcome {
        if let Some((red, positions)) = best
            && red < self.analyze().colours.red_triangles.len()
        {
            self.state.positions = positions;
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

/// The size of the mesh at each vertex: the mean of its edges, but at most a few times the least height of its triangles,
/// so that slivers are not asked to keep a distance that they do not have.
fn local_sizes(topology: &Topology, rest_lengths: &[f64]) -> Vec<f64> {
    const HEIGHTS_PER_EDGE: f64 = 2.0;
    let height = |triangle: TriangleId| {
        let [a, b, c] = topology.triangle_edges(triangle).map(|edge| rest_lengths[edge.index()]);
        let half = 0.5 * (a + b + c);
        let area = (half * (half - a) * (half - b) * (half - c)).max(0.0).sqrt();
        2.0 * area / a.max(b).max(c).max(f64::MIN_POSITIVE)
    };
    (0..topology.vertex_count())
        .map(|vertex| {
            let (edges, triangles) =
                (topology.vertex_edges(VertexId::new(vertex)), topology.vertex_triangles(VertexId::new(vertex)));
            let mean = edges.iter().map(|edge| rest_lengths[edge.index()]).sum::<f64>() / edges.len().max(1) as f64;
            let least = triangles.iter().map(|&triangle| height(triangle)).fold(f64::INFINITY, f64::min);
            mean.min(HEIGHTS_PER_EDGE * least)
        })
        .collect()
}
