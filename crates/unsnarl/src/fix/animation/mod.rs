//! `fix` over an animation: frame after frame, with corrections that are carried along and fade in and out.
//!
//! [`Follower`] goes through frames in order. The correction of a frame (how far cloth is moved) starts from that of
//! the frame before, carried along with the cloth in local axes ([`carry`]). A patch of it whose tangle is gone fades
//! out over a few frames. [`Blend`] then lets corrections fade in before they are needed, and joins blocks of frames
//! that were followed apart. [`Pace`] turns the jumps that are left into ramps. All are pure: frames in, corrections
//! out.
//!
//! Guarantees: every frame that is called clean was certified by the exact check of its numbers as they will be stored,
//! and has the gap if one is asked for. Clean frames that nothing fades into, and vertices without a correction, come
//! back bit for bit. The same bits on any number of threads.
//! Does not: promise that a frame can be untangled; `fix` does not either. Look for cloth that passes through cloth
//! between two frames.

pub mod blend;
pub mod carry;
pub mod pace;

pub use blend::Blend;
pub use carry::Axes;
pub use pace::{GivesWay, Pace};

use super::{Continue, FixSettings, GapWish, Outcome, Patient, Stop, examine_gap, open_gap, untangle_unless};
use crate::analysis::{self, Verdict, Workspace};
use crate::geometry::{DVec3, Topology, VertexId};
use std::collections::BTreeMap;

/// How far the vertices of cloth are moved that are moved, metres, in the axes of the world.
pub type Correction = BTreeMap<u32, DVec3>;

/// The move of one vertex, and what it fades from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trace {
    /// How far it is moved in this frame, metres.
    pub offset: DVec3,
    /// How far it was moved when that was last needed, carried along.
    pub full: DVec3,
    /// How many frames ago that was.
    pub age: u32,
}

/// What happened to a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// The moved vertices of cloth.
    pub traces: BTreeMap<u32, Trace>,
    /// Pairs of triangles that met before.
    pub pairs_before: usize,
    /// Pairs that meet now.
    pub pairs_after: usize,
    /// Pairs nearer than the gap that is asked for.
    pub pairs_below_gap: usize,
    /// How it came to be.
    pub way: Way,
    /// Steps of untangling.
    pub steps: usize,
}

/// How the correction of a frame was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// There is none: the frame comes back as it is.
    Untouched,
    /// Carried along from the frame before.
    Carried,
    /// Untangled, from where the frame before had it.
    Continued,
    /// Untangled by itself.
    Afresh,
}

impl Followed {
    /// Whether the frame is clean and keeps the gap.
    pub fn is_done(&self) -> bool {
        self.pairs_after == 0 && self.pairs_below_gap == 0
    }

    /// The moves alone.
    pub fn correction(&self) -> Correction {
        self.traces.iter().map(|(&vertex, trace)| (vertex, trace.offset)).collect()
    }
}

/// One frame, ready to be looked at.
pub struct Frame<'a> {
    /// Cloth as it came, and bodies.
    pub patient: &'a Patient,
    /// How to untangle it.
    pub settings: &'a FixSettings,
    /// The gap that is asked for.
    pub gap: Option<GapWish>,
    /// Where vertices of cloth are once they are written.
    pub stored: &'a dyn Fn(&[DVec3]) -> Vec<DVec3>,
}

impl Frame<'_> {
    fn input(&self) -> &[DVec3] {
        &self.patient.state.positions
    }

    /// Pairs that meet, and pairs below the gap, with cloth at these positions.
    pub fn judge(&self, cloth: &[DVec3]) -> (Verdict, usize) {
        let all = self.patient.all_positions(cloth);
        let verdict = analysis::verdict(&self.patient.assembly, &all, &mut Workspace::default());
        let below = match self.gap {
            Some(wish) if verdict.is_clean() => examine_gap(self.patient, &all, wish, &verdict).below.len(),
            _ => 0,
        };
        (verdict, below)
    }

    /// Whether a correction leaves the frame clean, with the gap, as it will be stored.
    pub fn keeps(&self, correction: &Correction) -> bool {
        let (verdict, below) = self.judge(&self.moved(correction));
        verdict.is_clean() && below == 0
    }

    /// The correction that puts cloth at the first of these positions.
    pub fn correction_to(&self, positions: &[DVec3]) -> Correction {
        let moved = positions.iter().zip(self.input()).enumerate().filter(|(_, (is, was))| is != was);
        moved.map(|(at, (is, was))| (at as u32, *is - *was)).collect()
    }

    /// Where a correction puts cloth, as it will be stored. Vertices without one stay as they are.
    pub fn moved(&self, correction: &Correction) -> Vec<DVec3> {
        let input = self.input();
        let mut moved = input.to_vec();
        for (&vertex, &offset) in correction {
            moved[vertex as usize] += offset;
        }
        let mut stored = (self.stored)(&moved);
        for (at, place) in stored.iter_mut().enumerate() {
            if !correction.contains_key(&(at as u32)) {
                *place = input[at];
            }
        }
        stored
    }
}

/// The cloth of the frame before.
struct Before {
    axes: Axes,
    traces: BTreeMap<u32, Trace>,
}

/// Goes through frames in order.
pub struct Follower {
    fade: u32,
    before: Option<Before>,
}

impl Follower {
    /// Begins; corrections fade out over this many frames.
    pub fn new(fade: u32) -> Self {
        Self { fade, before: None }
    }

    /// Goes on after a frame that was followed before.
    pub fn resume(fade: u32, topology: &Topology, positions: &[DVec3], traces: BTreeMap<u32, Trace>) -> Self {
        Self { fade, before: Some(Before { axes: Axes::of(topology, positions), traces }) }
    }

    /// The next frame. `stop` is asked within the steps of untangling.
    pub fn next(&mut self, frame: &Frame<'_>, stop: &Stop) -> Followed {
        let topology = &frame.patient.model.topology;
        let axes = Axes::of(topology, frame.input());
        let (verdict, below) = frame.judge(frame.input());
        let carried = self.before.take().map_or_else(BTreeMap::new, |before| {
            let tangled = tangled_vertices(frame.patient, &verdict);
            faded(topology, carry_traces(&before, &axes), &tangled, self.fade)
        });
        let pairs_before = verdict.pairs.len();
        let followed = if verdict.is_clean() && below == 0 {
            without_need(frame, carried)
        } else {
            with_need(frame, carried, pairs_before, stop)
        };
        self.before = Some(Before { axes, traces: followed.traces.clone() });
        followed
    }
}

fn carry_traces(before: &Before, axes: &Axes) -> BTreeMap<u32, Trace> {
    let carried = |(&vertex, trace): (&u32, &Trace)| {
        let turned = |offset: DVec3| before.axes.carry(axes, vertex as usize, offset);
        (vertex, Trace { offset: turned(trace.offset), full: turned(trace.full), age: trace.age })
    };
    before.traces.iter().map(carried).collect()
}

/// Vertices of cloth of the triangles that meet.
fn tangled_vertices(patient: &Patient, verdict: &Verdict) -> Vec<bool> {
    let cloth_count = patient.state.positions.len();
    let mut tangled = vec![false; cloth_count];
    for triangle in verdict.pairs.iter().flat_map(|pair| [pair.first, pair.second]) {
        for vertex in patient.assembly.topology().triangle(triangle) {
            if let Some(is) = tangled.get_mut(vertex.index()) {
                *is = true;
            }
        }
    }
    tangled
}

/// Patches of a correction, connected along edges, that no tangle needs any more lose a part of what they had; those
/// that one needs keep what they have.
fn faded(topology: &Topology, mut traces: BTreeMap<u32, Trace>, tangled: &[bool], fade: u32) -> BTreeMap<u32, Trace> {
    let mut left: Vec<u32> = traces.keys().rev().copied().collect();
    let mut seen: BTreeMap<u32, ()> = BTreeMap::new();
    while let Some(first) = left.pop() {
        if seen.contains_key(&first) {
            continue;
        }
        let (mut patch, mut next) = (Vec::new(), vec![first]);
        seen.insert(first, ());
        while let Some(vertex) = next.pop() {
            patch.push(vertex);
            for other in topology.ring(VertexId(vertex)) {
                if traces.contains_key(&other.0) && seen.insert(other.0, ()).is_none() {
                    next.push(other.0);
                }
            }
        }
        let is_near = |vertex: u32| {
            tangled[vertex as usize] || topology.ring(VertexId(vertex)).any(|other| tangled[other.index()])
        };
        let is_needed = patch.iter().any(|&vertex| is_near(vertex));
        for vertex in patch {
            let Some(trace) = traces.get_mut(&vertex) else { continue };
            if is_needed {
                *trace = Trace { offset: trace.offset, full: trace.offset, age: 0 };
            } else {
                trace.age += 1;
                trace.offset = trace.full * (1.0 - f64::from(trace.age) / f64::from(fade + 1));
            }
        }
    }
    traces.retain(|_, trace| trace.age <= fade && trace.offset != DVec3::ZERO);
    traces
}

/// A frame that is clean by itself: what fades is kept as far as it crosses nothing.
fn without_need(frame: &Frame<'_>, carried: BTreeMap<u32, Trace>) -> Followed {
    let done = |traces: BTreeMap<u32, Trace>| {
        let way = if traces.is_empty() { Way::Untouched } else { Way::Carried };
        Followed { traces, pairs_before: 0, pairs_after: 0, pairs_below_gap: 0, way, steps: 0 }
    };
    for share in SHARES {
        let traces = shared(&carried, share);
        if traces.is_empty() {
            break;
        }
        let stored = frame.moved(&offsets(&traces));
        let (verdict, below) = frame.judge(&stored);
        if verdict.is_clean() && below == 0 {
            return done(kept(frame, traces, &stored));
        }
    }
    done(BTreeMap::new())
}

/// A frame that is tangled, or below the gap.
fn with_need(frame: &Frame<'_>, carried: BTreeMap<u32, Trace>, pairs_before: usize, stop: &Stop) -> Followed {
    let start = frame.moved(&offsets(&carried));
    if !carried.is_empty() {
        let (verdict, below) = frame.judge(&start);
        if verdict.is_clean() && below == 0 {
            let traces = kept(frame, carried, &start);
            let way = Way::Carried;
            return Followed { traces, pairs_before, pairs_after: 0, pairs_below_gap: 0, way, steps: 0 };
        }
        let continued = untangled(frame, &start, (&carried, Way::Continued), pairs_before, stop);
        if continued.is_done() {
            return continued;
        }
        let afresh = untangled(frame, frame.input(), (&BTreeMap::new(), Way::Afresh), pairs_before, stop);
        let key = |followed: &Followed| (followed.pairs_after, followed.pairs_below_gap);
        return if key(&afresh) < key(&continued) { afresh } else { continued };
    }
    untangled(frame, frame.input(), (&carried, Way::Afresh), pairs_before, stop)
}

/// Untangles a frame from a start.
fn untangled(
    frame: &Frame<'_>,
    start: &[DVec3],
    (carried, way): (&BTreeMap<u32, Trace>, Way),
    pairs_before: usize,
    stop: &Stop,
) -> Followed {
    let mut patient = frame.patient.clone();
    patient.state.positions = start.to_vec();
    let is_late = stop.clone();
    let go_on = move || if is_late() { Continue::No } else { Continue::Yes };
    let mut outcome: Outcome = untangle_unless(patient, frame.settings, stop.clone(), &mut |_| go_on());
    if let Some(wish) = frame.gap {
        outcome = open_gap(frame.patient, outcome, wish, frame.stored, &|| stop());
    }
    let input = frame.input();
    let stored = frame.moved(&frame.correction_to(&outcome.positions));
    let (verdict, below) = frame.judge(&stored);
    let mut traces = BTreeMap::new();
    for (at, place) in stored.iter().enumerate().filter(|(at, place)| **place != input[*at]) {
        let offset = *place - input[at];
        let is_fading = |trace: &&Trace| trace.age > 0 && outcome.positions[at] == start[at];
        let fresh = Trace { offset, full: offset, age: 0 };
        let trace = carried.get(&(at as u32)).filter(is_fading).map_or(fresh, |trace| Trace { offset, ..*trace });
        traces.insert(at as u32, trace);
    }
    let steps = outcome.steps;
    Followed { traces, pairs_before, pairs_after: verdict.pairs.len(), pairs_below_gap: below, way, steps }
}

/// Shares of a correction that are tried where all of it crosses something.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];

fn offsets(traces: &BTreeMap<u32, Trace>) -> Correction {
    traces.iter().map(|(&vertex, trace)| (vertex, trace.offset)).collect()
}

fn shared(traces: &BTreeMap<u32, Trace>, share: f64) -> BTreeMap<u32, Trace> {
    let part = |(&vertex, trace): (&u32, &Trace)| {
        (vertex, Trace { offset: share * trace.offset, full: share * trace.full, age: trace.age })
    };
    traces.iter().map(part).collect()
}

/// Traces with the moves that are left after rounding.
fn kept(frame: &Frame<'_>, traces: BTreeMap<u32, Trace>, stored: &[DVec3]) -> BTreeMap<u32, Trace> {
    let input = frame.input();
    let rounded = |(vertex, trace): (u32, Trace)| {
        let offset = stored[vertex as usize] - input[vertex as usize];
        (offset != DVec3::ZERO).then_some((vertex, Trace { offset, ..trace }))
    };
    traces.into_iter().filter_map(rounded).collect()
}

#[cfg(test)]
mod tests;
