//! Where cloth may go: the collision pipeline.
//!
//! With `method = "field"` the field has changed the proposal before ([`field`]).
//! A proposed motion passes through stages, each of which handles what the one before left: repulsions where cloth is
//! within its thickness, impulses where straight paths meet, impact zones where impulses do not settle, and a last
//! resort that always ends. Bodies are vertices of the same mesh with inverse mass 0: their motion is prescribed.
//! (Bridson 2003, chapter 2)
//!
//! Guarantees: between `start` and the returned positions no pair of elements crosses unless the rules let it, it
//! already touched at the start, or all its vertices are prescribed; pairs that only a prescribed vertex could have
//! saved are counted as `unresolved`. Without contact the proposed positions come back bit for bit. Impulses and zones
//! of free vertices keep linear momentum, and what they lose to prescribed vertices is told as [`Resolved::taken`],
//! but for what the last resort stops far from any body. The result does not depend on threads or on the workspace.
//! Does not: start from intersecting cloth in any helpful way; that is the untangler's work.
//! Departs: zones merge in pair order; see the stages for the rest.

mod admit;
mod constraints;
mod detect;
pub mod field;
mod impact_zone;
mod impulse;
mod last_resort;
mod mesh;
mod proximity;
mod report;
mod repulsion;
mod response;
mod rules;
mod scene;
mod settings;
mod symmetric;
mod taken;
#[cfg(test)]
mod tests;

pub use field::{FieldGrid, FieldMotion, FieldPart, FieldReport};
pub use mesh::ContactMesh;
pub use proximity::{Nearby, Proximity, find_proximities};
pub use report::ContactReport;
pub use rules::{OrdinaryRules, PairRules, Rule};
pub use scene::{ContactScene, ObstacleMesh, Proposal};
pub use settings::{CollisionMethod, ContactSettings, FinalFrameChoice, LastResort, LayerMethod, ZoneMotion};
pub use taken::{Push, pushes_on_bodies};

use crate::dynamics::Support;
use crate::geometry::ccd::{ElementPair, ElementTree, Motion};
use crate::geometry::{DVec3, TriangleId, VertexId};
use constraints::Constraint;
use std::collections::BTreeMap;
use taken::Taken;

/// All that a step of contact looks at. Slices hold one item per vertex of the mesh.
#[derive(Clone, Copy)]
pub struct ContactInput<'a> {
    /// Cloth and bodies, one mesh.
    pub mesh: &'a ContactMesh,
    /// Positions at the start of the step.
    pub start: &'a [DVec3],
    /// Positions that are proposed for the end of the step.
    pub end: &'a [DVec3],
    /// Length of the step, seconds.
    pub step: f64,
    /// One over mass, 1/kg; 0 for pins and bodies, whose proposed motion is kept.
    pub inverse_mass: &'a [f64],
    /// Thickness, metres; two sheets keep the mean of theirs apart.
    pub thickness: &'a [f64],
    /// Coulomb friction; a contact takes the mean of its two sides.
    pub friction: &'a [f64],
    /// Which pairs are treated differently.
    pub rules: &'a dyn PairRules,
}

impl ContactInput<'_> {
    /// What `keep` makes of every pair with a free vertex whose boxes meet, in tree order. Triangles without a free
    /// vertex are not compared with each other: bodies have many.
    fn free_pairs<R: Send>(&self, tree: &ElementTree, keep: impl Fn(ElementPair, &mut Vec<R>) + Sync) -> Vec<R> {
        let topology = self.mesh.topology();
        let is_free = |vertex: &VertexId| self.inverse_mass[vertex.index()] > 0.0;
        let has_free = |triangle: TriangleId| topology.triangle(triangle).iter().any(is_free);
        tree.candidates_of(has_free, |pair, out| {
            if pair.vertices(topology).iter().any(is_free) {
                keep(pair, out);
            }
        })
    }
}

/// A motion without crossings.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Positions at the end of the step.
    pub positions: Vec<DVec3>,
    /// The mean velocity of every vertex during the step, m/s.
    pub velocities: Vec<DVec3>,
    /// Vertices whose motion was changed, in index order.
    pub changed: Vec<VertexId>,
    /// Where repulsion or impulses pushed cloth away from something prescribed, in pair order.
    pub supports: Vec<Support>,
    /// What prescribed vertices took from cloth, in vertex order.
    pub taken: Vec<(VertexId, Push)>,
    /// What was done.
    pub report: ContactReport,
}

/// Memory that is kept between steps: the tree, and the pairs of the last motion. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    tree: Option<ElementTree>,
    candidates: detect::Candidates,
    refits: u32,
    /// Memory of the field.
    pub field: field::Memory,
}

/// Refits after which the tree is built anew, because its shape no longer fits the cloth.
const REFITS_PER_BUILD: u32 = 200;

impl Workspace {
    /// The tree over all elements, fitted to a motion and grown by a margin.
    fn fitted(&mut self, mesh: &ContactMesh, motion: Motion, margin: f64) -> &ElementTree {
        let topology = mesh.topology();
        let usable = self.refits < REFITS_PER_BUILD;
        let tree = match self.tree.take() {
            Some(mut tree) if usable && tree.triangle_count() == topology.triangle_count() => {
                tree.refit(motion, margin);
                self.refits += 1;
                tree
            }
            _ => {
                self.refits = 0;
                ElementTree::build(topology, mesh.ownership(), motion, margin)
            }
        };
        self.tree.insert(tree)
    }
}

/// The parts of contact, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A part of the field, before everything else.
    Field(FieldPart),
    /// Repulsions within the thickness.
    Repulsion,
    /// Collision impulses.
    Impulses,
    /// Impact zones and the last resort.
    Zones,
}

/// Changes a proposed motion so that nothing crosses.
pub fn resolve(input: &ContactInput, settings: &ContactSettings, workspace: &mut Workspace) -> Resolved {
    resolve_for((Purpose::Resolve, None), input, settings, workspace, &mut |_| {})
}

/// What contact is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A motion without crossings.
    Resolve,
    /// Where bodies support cloth. The motion is without crossings only if there are no supports.
    FindSupports,
}

/// Rounds of impulses after which the supports of a step are known well enough.
const SUPPORT_ROUNDS: u32 = 2;

/// As [`resolve`], for a purpose and with what is near at the start if that is known; `observe` hears of every part as
/// it ends.
pub(crate) fn resolve_for(
    (purpose, nearby): (Purpose, Option<&Nearby>),
    input: &ContactInput,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    observe: &mut dyn FnMut(Part),
) -> Resolved {
    let path = Path { purpose, nearby, ..Path::new(input, &|| false) };
    run(path, settings, workspace, observe)
}

/// As [`resolve`], but asks between rounds whether to stop. Once it is told to, nothing moves in this step: cloth that
/// stays where it is crosses nothing new.
pub fn resolve_unless(
    input: &ContactInput,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    stop: &(dyn Fn() -> bool + Sync),
) -> Resolved {
    run(Path::new(input, stop), settings, workspace, &mut |_| {})
}

fn run(
    mut path: Path,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    observe: &mut dyn FnMut(Part),
) -> Resolved {
    let input = path.input;
    let mut report = ContactReport::default();
    let mut constraints = repulsion::repel(input, settings, &mut path, workspace, &mut report);
    observe(Part::Repulsion);
    let mut left = impulse::collide(input, settings, &mut path, &mut constraints, workspace, &mut report);
    observe(Part::Impulses);
    if path.has_found_supports() {
        return path.finish(report);
    }
    if !left.is_empty() {
        left = impact_zone::merge(input, settings, &mut path, left, workspace, &mut report);
    }
    if !left.is_empty() {
        last_resort::slow_down(input, settings, &mut path, left, workspace, &mut report);
    }
    observe(Part::Zones);
    if path.is_stopped {
        path.halt();
    }
    path.finish(report)
}

/// The motion as it stands: velocities and the positions to which they lead.
struct Path<'a> {
    input: &'a ContactInput<'a>,
    velocities: Vec<DVec3>,
    end: Vec<DVec3>,
    /// Whether a vertex differs from what was proposed.
    changed: Vec<bool>,
    /// Where something prescribed has pushed cloth.
    supports: BTreeMap<ElementPair, Support>,
    /// What prescribed vertices took from cloth.
    taken: Taken,
    purpose: Purpose,
    /// What is within thickness at the start, if it is known already.
    nearby: Option<&'a Nearby>,
    stop: &'a (dyn Fn() -> bool + Sync),
    is_stopped: bool,
}

impl<'a> Path<'a> {
    fn new(input: &'a ContactInput<'a>, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        let velocities = input.start.iter().zip(input.end).map(|(&from, &to)| (to - from) / input.step).collect();
        let changed = vec![false; input.end.len()];
        let (supports, purpose) = (BTreeMap::new(), Purpose::Resolve);
        Self {
            input,
            velocities,
            end: input.end.to_vec(),
            changed,
            supports,
            taken: Taken::default(),
            purpose,
            nearby: None,
            stop,
            is_stopped: false,
        }
    }

    /// Whether it was all about supports, and there are some.
    fn has_found_supports(&self) -> bool {
        self.purpose == Purpose::FindSupports && !self.supports.is_empty()
    }

    /// Asks whether to stop; the answer is kept.
    fn asks_to_stop(&mut self) -> bool {
        self.is_stopped = self.is_stopped || (self.stop)();
        self.is_stopped
    }

    /// Leaves every free vertex where the step began.
    fn halt(&mut self) {
        for vertex in (0..self.end.len()).filter(|&vertex| self.input.inverse_mass[vertex] > 0.0) {
            self.velocities[vertex] = DVec3::ZERO;
            self.end[vertex] = self.input.start[vertex];
            self.changed[vertex] = true;
        }
    }

    fn motion(&self) -> Motion<'_> {
        Motion { start: self.input.start, end: &self.end }
    }

    /// Moves the end of every vertex whose velocity was changed to where it now leads.
    fn follow(&mut self, vertices: &[VertexId]) {
        for vertex in vertices.iter().map(|vertex| vertex.index()) {
            self.end[vertex] = self.input.start[vertex] + self.velocities[vertex] * self.input.step;
            self.changed[vertex] = true;
        }
    }

    /// Notes that two elements pushed each other, and the gap that they are to keep.
    fn note_push(&mut self, constraint: &Constraint) {
        if let Some(support) = constraint.contact.support(self.input, constraint.pair, constraint.gap) {
            self.supports.insert(constraint.pair, support);
        }
    }

    fn finish(self, report: ContactReport) -> Resolved {
        let marked = |marks: &[bool]| (0..marks.len()).filter(|&at| marks[at]).map(VertexId::new).collect();
        let (changed, supports) = (marked(&self.changed), self.supports.into_values().collect());
        let taken = self.taken.into_list();
        Resolved { positions: self.end, velocities: self.velocities, changed, supports, taken, report }
    }
}
