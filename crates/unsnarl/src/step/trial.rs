//! The proposals of a step: what bodies and other layers of cloth support, and what dynamics makes of that.
//!
//! | pass | why |
//! |---|---|
//! | propose | with cushions between layers and pads on bodies that lie within thickness at the start |
//! | propose again | vertices that solids stop are held there; cushions and pads that would pull are let go |
//! | field | where the method is the field, every proposal is carried by it before solids and contact look at it |
//! | contact, to find supports | what surfaces of bodies stop |
//! | propose again, at most three times | cloth leans on these supports; those that would pull are dropped |
//! | contact | an end of the step that crosses nothing new |
//! | strain limits, at most twice | triangles that are drawn out too far (`unstrain.rs`) |
//!
//! Each pass is made only where there is something new for it.

use crate::bodies::{self, Moved, Obstacle, Press};
use crate::contact::{
    CollisionMethod, ContactReport, FieldReport, LayerMethod, Nearby, Part, Proposal, Purpose, Push, Resolved,
};
use crate::coupling;
use crate::dynamics::support::{self, Support};
use crate::dynamics::{self, Cushion, Guidance, Hold, Start};
use crate::geometry::ccd::Motion;
use crate::geometry::{DVec3, VertexId};
use crate::settings::{ClothModel, LinearSolver, Settings};
use crate::simulation::World;
use crate::step::{Stage, Workspace};
use crate::untangle::bodies::damping::Calm;
use crate::untangle::bodies::pinch::PinchRules;

/// A cushion that is drawn out by more than this part of its rest gap pulls.
const MAY_PULL: f64 = 0.001;

/// What a proposal of the step is made from.
pub(super) struct Trial<'a> {
    pub world: &'a World,
    pub solids: &'a [Obstacle<'a>],
    /// The vertices of all bodies at both ends of the step.
    pub surfaces: &'a [Vec<DVec3>; 2],
    pub start: Start<'a>,
    pub guidance: &'a Guidance,
    /// Which pairs are treated differently: around pinched vertices, and as the remedy says.
    pub rules: &'a PinchRules<'a>,
    /// The vertices that bodies pinch, in order.
    pub pinched: &'a [VertexId],
    /// Which vertices of cloth are being untangled: they may be on the wrong side of a body, so bodies do not support
    /// them. All others hang and lie as always, outside corners of triangles that cross a body among them.
    pub is_led: Vec<bool>,
    /// How far cloth beside a pinch may go.
    pub calm: Calm,
    pub settings: &'a Settings,
}

/// An end of the step that crosses nothing new.
pub(super) struct Outcome {
    pub proposed: dynamics::Proposal,
    /// Vertices that solids keep out.
    pub contacts: usize,
    pub collision: ContactReport,
    /// What vertices of bodies took from cloth.
    pub pushes: Vec<(VertexId, Push)>,
    /// What the field did, where it was asked.
    pub field: Option<FieldReport>,
}

impl Trial<'_> {
    /// Proposes and resolves. What bodies stop is held there while dynamics solves again, so that cloth hangs on it;
    /// else the rest would fall on, and bodies would take the momentum of the stopped vertices alone.
    pub fn run(&self, workspace: &mut Workspace, observe: &mut dyn FnMut(Stage)) -> Outcome {
        let Start { model, state, step, .. } = self.start;
        let settings = &self.settings.dynamics;
        let is_pipeline = self.settings.collision.is_proved();
        let mut near = if is_pipeline { self.near(workspace) } else { Near::default() };
        observe(Stage::Contact(Part::Repulsion));
        let guidance = near.guided(self.guidance);
        let mut proposed = dynamics::propose(&self.start, &guidance, settings, &mut workspace.dynamics);
        self.calm.limit(&state.positions, step, &mut proposed.positions, &mut proposed.velocities);
        let presses = bodies::presses(self.solids, model, self.guidance, &state.positions, &proposed.positions, step);
        let holds: Vec<(VertexId, Hold)> = presses.iter().map(Press::hold).collect();
        if near.drop_pulling(&proposed.positions, settings.solver) || !holds.is_empty() {
            self.propose_again(&holds, &[], &near, &mut proposed, workspace);
        }
        observe(Stage::Propose);
        let mut field = self.carry_by_field(&mut proposed, workspace, observe);
        let mut contacts = self.keep_out(&presses, &mut proposed);
        observe(Stage::KeepOut);
        if !is_pipeline {
            let pushes = coupling::pushes_of_supports(&proposed.borne).collect();
            return Outcome { proposed, contacts, collision: ContactReport::default(), pushes, field };
        }
        let mut pushes = Vec::new();
        let mut resolved = self.resolve(Purpose::FindSupports, &proposed, &mut near, workspace, observe);
        if !resolved.supports.is_empty() {
            let first = resolved.report;
            resolved.supports.retain(|support| !self.leads(&support.vertices));
            let supports = self.lean(&holds, resolved.supports, &near, &mut proposed, workspace);
            observe(Stage::Propose);
            field = self.carry_by_field(&mut proposed, workspace, observe).or(field);
            contacts = self.keep_out(&presses, &mut proposed);
            pushes = self.rub(&supports, &mut proposed);
            observe(Stage::KeepOut);
            resolved = self.resolve(Purpose::Resolve, &proposed, &mut near, workspace, observe);
            resolved.report.join(&first);
        }
        pushes.extend(coupling::pushes_of_supports(&proposed.borne));
        pushes.append(&mut resolved.taken);
        let collision = take_over(resolved, &mut proposed);
        pushes.extend(self.unstrain(&mut proposed, workspace));
        Outcome { proposed, contacts, collision, pushes, field }
    }

    /// Lets the field lead surfaces past each other, where the method asks for it.
    fn carry_by_field(
        &self,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
        observe: &mut dyn FnMut(Stage),
    ) -> Option<FieldReport> {
        let settings = &self.settings.collision;
        if settings.method != CollisionMethod::Field {
            return None;
        }
        let held: Vec<VertexId> = self.guidance.holds.iter().map(|hold| hold.0).collect();
        let mut listen = |part| observe(Stage::Contact(Part::Field(part)));
        let (world, memory) = (self.world, &mut workspace.contact.field);
        let given = (&world.model, world.environment.air_density);
        let proposal = self.motion(&proposed.positions, &held);
        let carried = world.contact.carry_by_field(&proposal, given, &settings.field, memory, &mut listen);
        for vertex in carried.changed.iter().map(|vertex| vertex.index()) {
            proposed.positions[vertex] = carried.positions[vertex];
            proposed.velocities[vertex] =
                (carried.positions[vertex] - self.start.state.positions[vertex]) / self.start.step;
        }
        Some(carried.report)
    }

    /// What lies within thickness, and the springs between it that dynamics takes over.
    fn near(&self, workspace: &mut Workspace) -> Near {
        let Start { state, step, .. } = self.start;
        let held: Vec<VertexId> = self.guidance.holds.iter().map(|hold| hold.0).collect();
        let nearby = self.world.contact.nearby(&self.motion(&state.positions, &held), &mut workspace.contact);
        let is_implicit = self.settings.dynamics.model == ClothModel::BaraffWitkin
            && self.settings.collision.layers == LayerMethod::Implicit;
        let stiffness = self.settings.collision.stiffness;
        let mut cushions = if is_implicit { nearby.cushions(&state.velocities, step, stiffness) } else { Vec::new() };
        cushions.retain(|(_, cushion)| !self.leads(&cushion.stencil.vertices));
        let mut pads = if is_implicit { nearby.pads(&state.velocities, step, stiffness) } else { Vec::new() };
        pads.retain(|(_, pad)| !self.leads(&pad.vertices));
        Near { nearby, cushions, pads }
    }

    /// Whether one of some vertices is being untangled.
    fn leads(&self, vertices: &[VertexId]) -> bool {
        vertices.iter().any(|vertex| self.is_led.get(vertex.index()).copied().unwrap_or(false))
    }

    /// Proposes with supports under the cloth; those that would pull are dropped. Returns the others, and how far cloth
    /// would have sunk below each.
    fn lean(
        &self,
        holds: &[(VertexId, Hold)],
        supports: Vec<Support>,
        near: &Near,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
    ) -> Vec<(Support, f64)> {
        let mut supports: Vec<(Support, f64)> =
            supports.into_iter().map(|support| (support, support.depth(&proposed.positions))).collect();
        for _ in 0..support::ROUNDS {
            if supports.is_empty() {
                break;
            }
            let given: Vec<Support> = supports.iter().map(|support| support.0).collect();
            self.propose_again(holds, &given, near, proposed, workspace);
            supports.retain(|(support, _)| support.pushes(&proposed.positions));
            if supports.len() == given.len() {
                break;
            }
        }
        supports
    }

    /// Lets supported points rub by Coulomb's law; returns what bodies take.
    fn rub(&self, supports: &[(Support, f64)], proposed: &mut dynamics::Proposal) -> Vec<(VertexId, Push)> {
        let (start, step) = (&self.start.state.positions, self.start.step);
        let mut pushes = Vec::new();
        for (support, pressed) in supports {
            let motion = support.apply(&proposed.positions) - support.apply(start) - support.carried;
            let slide = motion - support.normal * motion.dot(support.normal);
            let rubbed = bodies::rub(slide, support.friction * pressed.max(0.0));
            support.shift(-rubbed, &mut proposed.positions);
            support.shift(-rubbed / step, &mut proposed.velocities);
            pushes.extend(coupling::pushes_of_friction(support, -rubbed / step, &self.start.model.masses));
        }
        pushes
    }

    fn propose_again(
        &self,
        holds: &[(VertexId, Hold)],
        supports: &[Support],
        near: &Near,
        proposed: &mut dynamics::Proposal,
        workspace: &mut Workspace,
    ) {
        let mut guidance = near.guided(self.guidance);
        guidance.holds.extend(holds);
        guidance.supports.extend(supports);
        guidance.guess.clone_from(&proposed.velocities);
        let before = proposed.report;
        let Start { state, step, .. } = self.start;
        *proposed = dynamics::propose(&self.start, &guidance, &self.settings.dynamics, &mut workspace.dynamics);
        self.calm.limit(&state.positions, step, &mut proposed.positions, &mut proposed.velocities);
        proposed.report.join(before);
    }

    fn keep_out(&self, presses: &[Press], proposed: &mut dynamics::Proposal) -> usize {
        let mut moved = Moved {
            start: &self.start.state.positions,
            positions: &mut proposed.positions,
            velocities: &mut proposed.velocities,
            step: self.start.step,
        };
        bodies::rub_presses(presses, &mut moved);
        bodies::keep_out(self.solids, self.start.model, self.guidance, moved).max(presses.len())
    }

    fn resolve(
        &self,
        purpose: Purpose,
        proposed: &dynamics::Proposal,
        near: &mut Near,
        workspace: &mut Workspace,
        observe: &mut dyn FnMut(Stage),
    ) -> Resolved {
        let held: Vec<VertexId> = self.guidance.holds.iter().map(|hold| hold.0).collect();
        near.nearby.note(&near.forces(&proposed.positions), self.start.step);
        let mut listen = |part| observe(Stage::Contact(part));
        let (contact, settings) = (&self.world.contact, &self.settings.collision);
        let proposal = self.motion(&proposed.positions, &held);
        contact.resolve_for(purpose, &proposal, &near.nearby, settings, &mut workspace.contact, &mut listen)
    }

    /// The motion of everything to where cloth would go.
    fn motion<'a>(&'a self, end: &'a [DVec3], held: &'a [VertexId]) -> Proposal<'a> {
        let [from, to] = self.surfaces;
        Proposal {
            cloth: Motion { start: &self.start.state.positions, end },
            obstacles: Motion { start: from, end: to },
            step: self.start.step,
            held,
            rules: self.rules,
        }
    }
}

/// What lies within thickness at the start of the step.
#[derive(Default)]
struct Near {
    nearby: Nearby,
    /// What dynamics does about it, with the numbers of the pairs.
    cushions: Vec<(usize, Cushion)>,
    /// The same between cloth and bodies.
    pads: Vec<(usize, Support)>,
}

impl Near {
    /// Guidance with the cushions.
    fn guided(&self, guidance: &Guidance) -> Guidance {
        let mut guidance = guidance.clone();
        guidance.cushions = self.cushions.iter().map(|cushion| cushion.1).collect();
        guidance.supports.extend(self.pads.iter().map(|pad| pad.1));
        guidance
    }

    /// What cushions and pads push with where the solve ended, N, with the numbers of the pairs.
    fn forces(&self, positions: &[DVec3]) -> Vec<(usize, f64)> {
        let cushions = self.cushions.iter().filter(|(_, cushion)| cushion.stiffness > 0.0);
        let of_cushions = cushions.map(|(at, cushion)| (*at, cushion.stiffness * cushion.compression(positions)));
        let of_pads = self.pads.iter().map(|(at, pad)| (*at, pad.stiffness.unwrap_or_default() * pad.depth(positions)));
        of_cushions.chain(of_pads).collect()
    }

    /// Lets go of the cushions and pads that pull; says whether there were any. A factor keeps its plan while they are
    /// there without strength.
    fn drop_pulling(&mut self, positions: &[DVec3], solver: LinearSolver) -> bool {
        let mut has_pulled = false;
        for (_, cushion) in &mut self.cushions {
            if cushion.compression(positions) <= -MAY_PULL * cushion.rest_gap {
                cushion.stiffness = 0.0;
                has_pulled = true;
            }
        }
        if solver != LinearSolver::Direct {
            self.cushions.retain(|(_, cushion)| cushion.stiffness > 0.0);
        }
        let count = self.pads.len();
        self.pads.retain(|(_, pad)| pad.pushes(positions));
        has_pulled || self.pads.len() < count
    }
}

/// What contact changed takes the mean velocity of the step, from which dynamics finishes.
fn take_over(resolved: Resolved, proposed: &mut dynamics::Proposal) -> ContactReport {
    for vertex in resolved.changed.iter().map(|vertex| vertex.index()) {
        proposed.velocities[vertex] = resolved.velocities[vertex];
    }
    proposed.positions = resolved.positions;
    resolved.report
}
