//! The search for the first time that cannot be proved clear, from time 0 forwards.
//!
//! Cheapest first: boxes, then one direction for the whole motion, then the cubic and directions by turns.
//!
//! Guarantees: every time before the answer was proved clear by one certificate or another; the search ends.

use super::Doubt;
use super::coplanarity::Coplanarity;
use super::hull::{Shape, Sweep};
use crate::math::DVec3;

/// Rounds after which the search gives up and reports the time it has reached, which is safe.
const ROUND_LIMIT: usize = 400;
/// Times nearer than this are not told apart: what moves between them is rounding.
const SHORTEST: f64 = 1e-14;
/// Halvings kept for later. Deeper ones are not split.
const DEPTH_LIMIT: usize = 60;

/// How far to look on both sides of a time for the change of sides that makes a contact certain.
const CROSSING_WINDOWS: [f64; 4] = [1e-13, 1e-11, 1e-9, 1e-7];

/// The first time in [0, 1] that could not be proved clear; `None` if every time was. A direction that proves all of the motion is
/// tried first and kept in `hint`.
pub(super) fn first_contact<S: Shape<N>, const N: usize>(
    hull: &Sweep<S, N>,
    hint: &mut DVec3,
    coplanarity: impl FnOnce() -> Coplanarity,
) -> Option<Doubt> {
    if hull.box_is_clear() || hull.clear_until(*hint, 0.0).is_some_and(|until| until >= 1.0) {
        return None;
    }
    // Neighbours in one sheet: cheaper than the nearest point, and enough for most.
    let middle = hull.middle();
    if hull.clear_until(middle, 0.0).is_some_and(|until| until >= 1.0) {
        *hint = middle;
        return None;
    }
    let Some((mut from, direction)) = hull.clear_from(0.0) else { return Some(Doubt::Possible(0.0)) };
    if from >= 1.0 {
        *hint = direction;
        return None;
    }
    let coplanarity = coplanarity();
    let mut to = 1.0;
    let mut later = [0.0; DEPTH_LIMIT];
    let mut depth = 0;
    for _ in 0..ROUND_LIMIT {
        let width = to - from;
        let mut proved = true;
        if let Some((clipped_from, clipped_to)) = coplanarity.clip(from, to) {
            (from, to) = (clipped_from, clipped_to);
            let Some((until, _)) = hull.clear_from(from) else {
                return Some(doubt(hull, &coplanarity, from));
            };
            proved = until >= to;
            from = until.min(to);
        }
        if proved {
            if depth == 0 {
                return None;
            }
            from = to;
            depth -= 1;
            to = later[depth];
        } else if to - from < SHORTEST {
            return Some(doubt(hull, &coplanarity, from));
        } else if to - from > 0.5 * width && depth < DEPTH_LIMIT {
            later[depth] = to;
            depth += 1;
            to = from + 0.5 * (to - from);
        }
    }
    Some(doubt(hull, &coplanarity, from))
}

/// Certain if the elements change sides around this time while each lies well inside the reach of the other.
fn doubt<S: Shape<N>, const N: usize>(hull: &Sweep<S, N>, coplanarity: &Coplanarity, time: f64) -> Doubt {
    let crosses = CROSSING_WINDOWS.iter().any(|&window| {
        let (before, after) = (time - window, time + window);
        before >= 0.0
            && after <= 1.0
            && hull.covers_origin_during(time, window)
            && coplanarity.changes_sign_between(before, after)
    });
    if crosses { Doubt::Certain(time) } else { Doubt::Possible(time) }
}
