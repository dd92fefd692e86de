//! Corrections that change by no more than a limit from frame to frame, as far as the cloth of the frames lets them.
//!
//! Two neighbouring frames whose corrections differ by more than the limit are drawn together: one moves towards the
//! other, carried along with the cloth, until the limit is left between them. It moves as cloth of a refinement does:
//! what would collide stops before it ([`crate::output`]), so that what is clean stays clean. Sweeps over all frames,
//! backwards and forwards ([`visits`]), turn a jump of a correction into a ramp.
//!
//! Guarantees: a frame that is changed is clean (and keeps the gap) as it will be stored. Only vertices whose
//! corrections differ by more than the limit move.
//! Does not: keep the limit where states in between would cross: there the jump stays.

use super::{Axes, Correction, Frame, blend::Neighbour};
use crate::analysis::Assembly;
use crate::geometry::VertexId;
use crate::output::ladder::Rung;
use crate::output::stop::{Room, Surroundings, stop_before_contact};
use std::ops::Range;

/// Cloth stops so far from what it would meet, against the mean length of its edges.
const SEPARATION: f64 = 1e-3;
/// Differences above the limit by less than this part of it are left.
const SLACK: f64 = 0.01;

/// Shares of the way that are tried: stopping looks at crossings, not at a gap that is asked for, nor at rounding.
const SHARES: [f64; 2] = [1.0, 0.25];

/// Which of two corrections gives way to the other. Sweeps take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivesWay {
    /// The smaller one: a correction begins before it is needed, and ends later.
    Smaller,
    /// The larger one: what is not needed is taken back.
    Larger,
}

/// How fast corrections may change.
pub struct Pace {
    surface: Rung,
    /// The most that a correction should change from frame to frame, metres.
    pub most: f64,
}

impl Pace {
    /// For the cloth and bodies of an assembly, whose cloth comes first.
    pub fn new(assembly: Assembly, most: f64) -> Self {
        Self { surface: Rung::new(assembly, Vec::new()), most }
    }

    /// The correction of a frame, drawn to that of its neighbour; `None` if there is nothing to do, or nothing can be
    /// done. `own` has to be certified.
    pub fn drawn(
        &self,
        frame: &Frame<'_>,
        own: &Correction,
        neighbour: &Neighbour<'_>,
        gives_way: GivesWay,
    ) -> Option<Correction> {
        let goals = self.goals(frame, own, neighbour, gives_way)?;
        let start = frame.patient.all_positions(&frame.moved(own));
        SHARES.iter().find_map(|&share| {
            let mut targets = start.clone();
            for (&vertex, &offset) in &goals {
                let target = &mut targets[vertex as usize];
                *target += share * (frame.input()[vertex as usize] + offset - *target);
            }
            let motion = (start.clone(), &targets[..]);
            let stopped = stop_before_contact(&self.surface, motion, self.room(frame), Surroundings::Stay);
            let drawn = frame.correction_to(&stopped.end.unwrap_or(targets));
            (frame.keeps(&drawn) && drawn != *own).then_some(drawn)
        })
    }

    /// Where vertices of this frame go that differ too much from the neighbour.
    fn goals(
        &self,
        frame: &Frame<'_>,
        own: &Correction,
        neighbour: &Neighbour<'_>,
        gives_way: GivesWay,
    ) -> Option<Correction> {
        let topology = &frame.patient.model.topology;
        let (there, here) = (Axes::of(topology, neighbour.positions), Axes::of(topology, frame.input()));
        let mut goals = Correction::new();
        for &vertex in own.keys().chain(neighbour.correction.keys()) {
            let theirs = neighbour.correction.get(&vertex).copied().unwrap_or_default();
            let theirs = there.carry(&here, vertex as usize, theirs);
            let ours = own.get(&vertex).copied().unwrap_or_default();
            let is_smaller = ours.length_squared() < theirs.length_squared();
            let difference = (ours - theirs).length();
            if difference > (1.0 + SLACK) * self.most && is_smaller == (gives_way == GivesWay::Smaller) {
                goals.insert(vertex, theirs + self.most / difference * (ours - theirs));
            }
        }
        (!goals.is_empty()).then_some(goals)
    }

    fn room(&self, frame: &Frame<'_>) -> Room {
        let topology = &frame.patient.model.topology;
        let input = frame.input();
        let length = |[a, b]: [VertexId; 2]| (input[a.index()] - input[b.index()]).length();
        let sum: f64 = topology.edges().iter().map(|&ends| length(ends)).sum();
        let separation = SEPARATION * sum / topology.edge_count().max(1) as f64;
        Room { separation, reach: 1.0 }
    }
}

/// The visits of one sweep over a block of frames: each frame and the neighbour that it is drawn to, backwards and
/// then forwards. Neighbours may lie outside of the block.
pub fn visits(block: Range<usize>, frames: usize) -> impl Iterator<Item = (usize, usize)> {
    let backwards = block.clone().rev().filter(move |at| at + 1 < frames).map(|at| (at, at + 1));
    let forwards = block.filter(|&at| at > 0).map(|at| (at, at - 1));
    backwards.chain(forwards)
}
