//! Strain and strain-rate limits by impulses along springs, on velocities.
//!
//! A spring whose length at the end of the step would leave its range gets an impulse that puts it exactly at the border, one
//! spring after the other. The range is the fabric's (10 % longer, no shorter by default), and within it a spring may
//! change by no more than a share of its length per step. (Bridson 2003, 1.3)
//!
//! Guarantees: momentum is kept; led vertices have infinite mass; the same bits on any number of threads.
//! Departs: springs are visited colour by colour (no two springs of a colour share a vertex), so that each colour's impulses can
//! be computed in parallel. Where the two limits conflict, the rate wins: cloth that starts far out of range returns over several steps.

use super::springs::Spring;
use crate::dynamics::Support;
use crate::geometry::DVec3;
use crate::model::Model;
use rayon::prelude::*;

/// Springs of a colour below which threads cost more than they give.
const PARALLEL_SPRINGS: usize = 8192;

/// What the limits need to know.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'a> {
    /// Topology and colours.
    pub model: &'a Model,
    /// The springs.
    pub springs: &'a [Spring],
    /// Points that bodies support: after every round none of them goes below its plane by the end of the step.
    pub supports: &'a [Support],
    /// Inverse mass per vertex, 0 for led ones.
    pub inverse_masses: &'a [f64],
    /// Positions at the start of the step.
    pub positions: &'a [DVec3],
    /// Length of the step, seconds.
    pub step: f64,
    /// Rounds over all springs.
    pub passes: u32,
    /// Largest change per step, as a share of the length at rest.
    pub rate: f64,
}

/// Changes velocities so that no spring leaves its range by the end of the step, as far as the passes reach.
pub fn limit(input: &Limit<'_>, velocities: &mut [DVec3]) {
    for _ in 0..input.passes {
        for colour in &input.model.pattern.spring_colours {
            if colour.len() < PARALLEL_SPRINGS {
                for &edge in colour {
                    if let Some(impulse) = impulse(input, edge, velocities) {
                        apply(input, edge, impulse, velocities);
                    }
                }
            } else {
                let impulses: Vec<Option<DVec3>> =
                    colour.par_iter().map(|&edge| impulse(input, edge, velocities)).collect();
                for (&edge, impulse) in colour.iter().zip(impulses) {
                    if let Some(impulse) = impulse {
                        apply(input, edge, impulse, velocities);
                    }
                }
            }
        }
        for support in input.supports {
            support.stop(input.inverse_masses, input.positions, input.step, velocities);
        }
    }
}

fn impulse(input: &Limit<'_>, edge: u32, velocities: &[DVec3]) -> Option<DVec3> {
    let spring = &input.springs[edge as usize];
    let [a, b] = input.model.topology.edges()[edge as usize].map(|vertex| vertex.index());
    let yielding = input.inverse_masses[a] + input.inverse_masses[b];
    if yielding == 0.0 || spring.rest_length <= 0.0 {
        return None;
    }
    let now = input.positions[b] - input.positions[a];
    let then = now + (velocities[b] - velocities[a]) * input.step;
    let (length, rest) = (then.length(), spring.rest_length);
    if !(length.is_finite() && now.is_finite()) {
        // The step is taken again shorter, or given up, by the caller.
        return None;
    }
    let (here, change) = (now.length(), input.rate * rest);
    let in_range = length.clamp(rest * (1.0 - spring.compression_limit).max(0.0), rest * (1.0 + spring.stretch_limit));
    let wanted = in_range.clamp(here - change, here + change);
    if wanted == length || length == 0.0 {
        return None;
    }
    Some(then * ((length - wanted) / (length * input.step * yielding)))
}

fn apply(input: &Limit<'_>, edge: u32, impulse: DVec3, velocities: &mut [DVec3]) {
    let [a, b] = input.model.topology.edges()[edge as usize].map(|vertex| vertex.index());
    velocities[a] += impulse * input.inverse_masses[a];
    velocities[b] -= impulse * input.inverse_masses[b];
}
