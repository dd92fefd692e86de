//! What a step or a frame did, for people and for files.

use crate::analysis::report::TypeCounts;
use crate::contact::{ContactReport, FieldReport};
use crate::dynamics::DynamicsReport;
use crate::geometry::VertexId;
use crate::rigid;
use serde::Serialize;

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// What the solver did.
    pub dynamics: DynamicsReport,
    /// Vertices that touched a solid.
    pub contacts: usize,
    /// What contact did.
    pub collision: ContactReport,
    /// What the field did, with `method = "field"`.
    pub field: Option<FieldReport>,
    /// Contours at the start of the step; 0 where nobody looked.
    pub contours: usize,
    /// Red vertices at the start of the step.
    pub red_vertices: usize,
    /// Edges that the untangler shortens or gives back.
    pub pulls: usize,
    /// Vertices that bodies pinch and carry, in order.
    pub pinched: Vec<VertexId>,
    /// The largest stretch of a triangle at the end, over all directions; 1 is unstretched.
    pub largest_stretch: f64,
    /// What simulated bodies did; `None` where there are none.
    pub rigid: Option<rigid::Report>,
    /// How often bodies and cloth were moved until they agreed on what they give each other.
    pub coupling_rounds: u32,
}

/// What one frame did: the steps added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FrameReport {
    /// Steps taken.
    pub steps: u32,
    /// Steps that were thrown away and taken again at half the length.
    pub halved_steps: u32,
    /// Steps that distorted cloth too far and could not be halved again.
    pub forced_steps: u32,
    /// Iterations of the linear solver.
    pub solver_iterations: u32,
    /// Vertices that touched a solid in the last step.
    pub contacts: usize,
    /// What contact did.
    pub collision: CollisionSummary,
    /// What the field did, the worst of all steps; absent with other methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<FieldReport>,
    /// Steps at whose start something crossed; 0 with the untangler off, which does not look.
    pub tangled_steps: u32,
    /// Edges that the untangler shortens or gives back in the last step.
    pub pulls: usize,
    /// Vertices that bodies pinched and carried in the last step.
    pub pinched: usize,
    /// Pairs of closed triangles that meet at the end of the frame, cloth with cloth or with bodies.
    pub intersecting_triangle_pairs: usize,
    /// The same in the frame as it is shown; see [`crate::final_frame`].
    pub shown_triangle_pairs: usize,
    /// Contours at the end of the frame, by type.
    pub intersections: TypeCounts,
    /// The largest stretch at the end of the frame; 1 is unstretched.
    pub largest_stretch: f64,
    /// 99 % of the triangles are stretched less at the end of the frame.
    pub stretch_99: f64,
    /// 99.9 % of the triangles are stretched less at the end of the frame.
    pub stretch_99_9: f64,
    /// What simulated bodies did; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rigid: Option<rigid::Report>,
    /// The most times that bodies and cloth were moved in one step until they agreed on what they give each other;
    /// absent without simulated bodies.
    #[serde(skip_serializing_if = "is_zero")]
    pub coupling_rounds: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What contact did in the steps of a frame, added up unless said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CollisionSummary {
    /// Pairs whose boxes met and that were tested over the motion.
    pub tested_pairs: usize,
    /// Pairs within thickness at the start of the last step.
    pub proximities: usize,
    /// Pairs that received a repulsion.
    pub repulsions: usize,
    /// Colliding pairs, all rounds together.
    pub collisions: usize,
    /// Rounds of impulses.
    pub impulse_rounds: usize,
    /// Impact zones.
    pub zones: usize,
    /// Vertices of the largest of them.
    pub largest_zone: usize,
    /// Rounds of growing zones.
    pub zone_rounds: usize,
    /// Vertices that the last resort slowed down or stopped.
    pub slowed_vertices: usize,
    /// Colliding pairs that nothing could separate, because prescribed vertices meet in them.
    pub unresolved: usize,
    /// Most pairs that touched at the start of a step already.
    pub touching_at_start: usize,
    /// The smallest distance of a pair at the start of any step, metres; `None` if nothing was within thickness.
    pub smallest_gap: Option<f64>,
}

impl CollisionSummary {
    fn add(&mut self, step: &ContactReport) {
        self.tested_pairs += step.tested_pairs;
        self.proximities = step.proximities;
        self.repulsions += step.repulsions;
        self.collisions += step.collisions;
        self.impulse_rounds += step.impulse_rounds;
        self.zones += step.zones.len();
        self.largest_zone = step.zones.iter().copied().fold(self.largest_zone, usize::max);
        self.zone_rounds += step.zone_rounds;
        self.slowed_vertices += step.slowed_vertices;
        self.unresolved += step.unresolved;
        self.touching_at_start = self.touching_at_start.max(step.touching_at_start);
        self.smallest_gap = [self.smallest_gap, step.smallest_gap].into_iter().flatten().reduce(f64::min);
    }
}

impl FrameReport {
    /// Adds a step.
    pub fn add(&mut self, step: &StepReport) {
        self.steps += 1;
        self.solver_iterations += step.dynamics.iterations;
        self.contacts = step.contacts;
        self.collision.add(&step.collision);
        if let Some(later) = step.field {
            self.field = Some(self.field.map_or(later, |before| before.join(later)));
        }
        self.tangled_steps += u32::from(step.contours > 0);
        self.pulls = step.pulls;
        self.pinched = step.pinched.len();
        self.largest_stretch = step.largest_stretch;
        if let Some(later) = step.rigid {
            self.rigid = Some(self.rigid.map_or(later, |before| before.merge(later)));
        }
        self.coupling_rounds = self.coupling_rounds.max(step.coupling_rounds);
    }
}
