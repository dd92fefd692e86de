//! What is written for a frame: its own correction, with what fades in from frames to come, and with the seam between
//! two blocks of frames.
//!
//! A correction that is larger in a later frame begins early: a part of the difference, carried back, that falls from
//! frame to frame. Where two blocks were followed apart, their corrections go over into each other within the frames
//! that both have.
//!
//! Guarantees: the result is clean (and keeps the gap) as it will be stored, or it is what the follower certified.

use super::{Axes, Correction, Frame};
use crate::geometry::{DVec3, Topology};

/// How corrections of neighbouring frames come together.
#[derive(Clone, Copy, Debug)]
pub struct Blend {
    /// Over how many frames corrections fade in.
    pub fade: u32,
}

/// A frame near the one in question.
pub struct Neighbour<'a> {
    /// The cloth as it came.
    pub positions: &'a [DVec3],
    /// How it is moved.
    pub correction: &'a Correction,
}

/// Shares of what fades in that are tried.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];

impl Blend {
    /// The positions to write for a frame. `certified` is its own correction as it was followed, `own` the one that it
    /// should have (the same but for seams between blocks), `later` the frames after it, at most as many as the fade.
    pub fn resolve(
        &self,
        frame: &Frame<'_>,
        certified: &Correction,
        own: &Correction,
        later: &[Neighbour<'_>],
    ) -> Vec<DVec3> {
        let extra = self.fading_in(&frame.patient.model.topology, frame.input(), own, later);
        let is_done = |stored: &[DVec3]| {
            let (verdict, below) = frame.judge(stored);
            verdict.is_clean() && below == 0
        };
        if !extra.is_empty() {
            for share in SHARES {
                let mut whole = own.clone();
                for (&vertex, &offset) in &extra {
                    *whole.entry(vertex).or_default() += share * offset;
                }
                let stored = frame.moved(&whole);
                if is_done(&stored) {
                    return stored;
                }
            }
        }
        if own != certified {
            let stored = frame.moved(own);
            if is_done(&stored) {
                return stored;
            }
        }
        frame.moved(certified)
    }

    /// What later frames add: for every vertex the largest of their parts.
    fn fading_in(
        &self,
        topology: &Topology,
        positions: &[DVec3],
        own: &Correction,
        later: &[Neighbour<'_>],
    ) -> Correction {
        let mut extra = Correction::new();
        if later.iter().all(|neighbour| neighbour.correction.is_empty()) {
            return extra;
        }
        let here = Axes::of(topology, positions);
        for (steps, neighbour) in later.iter().enumerate().take(self.fade as usize) {
            if neighbour.correction.is_empty() {
                continue;
            }
            let weight = 1.0 - (steps + 1) as f64 / f64::from(self.fade + 1);
            let there = Axes::of(topology, neighbour.positions);
            for (&vertex, &offset) in neighbour.correction {
                let back = there.carry(&here, vertex as usize, offset);
                let now = own.get(&vertex).copied().unwrap_or_default();
                if back.length_squared() <= now.length_squared() {
                    continue;
                }
                let part = weight * (back - now);
                let kept = extra.entry(vertex).or_insert(DVec3::ZERO);
                if part.length_squared() > kept.length_squared() {
                    *kept = part;
                }
            }
        }
        extra.retain(|_, offset| *offset != DVec3::ZERO);
        extra
    }
}

/// A correction between two, `share` of the way from the first to the second.
pub fn between(first: &Correction, second: &Correction, share: f64) -> Correction {
    let mut both = Correction::new();
    for (&vertex, &offset) in first {
        *both.entry(vertex).or_default() += (1.0 - share) * offset;
    }
    for (&vertex, &offset) in second {
        *both.entry(vertex).or_default() += share * offset;
    }
    both.retain(|_, offset| *offset != DVec3::ZERO);
    both
}
