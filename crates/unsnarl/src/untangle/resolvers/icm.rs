//! Intersection contour minimisation: edges and triangles that cross move so that the contour becomes shorter.
//!
//! For each crossing the edge and the triangle move in opposite directions along `G = R - 2 (E . R) / (E . N) N`, the
//! steepest way for the two together (`contour_gradient`). The global direction is the mean of all `G` of a contour, as a
//! motion of the first trace's sheet against the second's; crossings follow a mixture of their own and the global one.
//! (Volino and Magnenat-Thalmann 2006, as cited by Cha 2022, 2.1)
//!
//! Does not: know sides; a contour may shrink by going on as well as by going back.
//! Departs: near-grazing edges have their normal part bounded.

use crate::analysis::Trace;
use crate::untangle::method::{Draft, Scope};
use crate::untangle::resolvers::contour_gradient::{PulledCrossing, pulled};
use unsnarl_geometry::{DVec3, VertexId};

/// The normal part of a direction is at most this many times as long as its pull can be.
pub(in crate::untangle) const STEEPEST: f64 = 4.0;

/// Shortens one contour.
pub(in crate::untangle) fn treat(draft: &mut Draft, index: usize) -> Scope {
    let contour = &draft.contour(index).contour;
    let pulled = pulled(draft.topology(), draft.situation.positions, contour);
    let directions: Vec<DVec3> = pulled.crossings.iter().map(symmetric_direction).collect();
    let signed = pulled.crossings.iter().zip(&directions).map(|(crossing, &direction)| sign(crossing) * direction);
    let global = signed.sum::<DVec3>() / directions.len().max(1) as f64;
    let global_share = draft.settings.global_share;
    for (crossing, &direction) in pulled.crossings.iter().zip(&directions) {
        let own = draft.softened(direction) * (1.0 - global_share);
        let common = draft.softened(global) * (sign(crossing) * global_share);
        push(draft, crossing, own + common);
    }
    pull_loop_vertices(draft, &pulled.loop_vertices);
    draft.let_through(index, [&[], &[]]);
    Scope::Treated
}

/// 1 where the edge is on the first trace's sheet, -1 where it is on the second's.
fn sign(crossing: &PulledCrossing) -> f64 {
    match crossing.point.edge_trace {
        Trace::First => 1.0,
        Trace::Second => -1.0,
    }
}

/// `R - 2 tau N`.
fn symmetric_direction(crossing: &PulledCrossing) -> DVec3 {
    let slope = crossing.slope().unwrap_or(0.0).clamp(-STEEPEST, STEEPEST);
    crossing.pull - crossing.normal * (2.0 * slope)
}

/// Moves the edge of a crossing against its triangle; `direction` 1 long is the whole reach.
pub(in crate::untangle) fn push(draft: &mut Draft, crossing: &PulledCrossing, direction: DVec3) {
    let reach = crossing.ends.iter().chain(&crossing.corners).map(|&vertex| draft.reach(vertex)).fold(0.0, f64::max);
    let [start, end] = crossing.ends;
    let ours = [(start, 1.0 - crossing.along), (end, crossing.along)];
    let theirs: [(VertexId, f64); 3] = std::array::from_fn(|k| (crossing.corners[k], crossing.barycentric[k]));
    draft.moves.add_relative(&ours, &theirs, direction * (2.0 * reach));
    draft.report.pushed += 1;
}

/// Loop vertices go along the contour.
pub(in crate::untangle) fn pull_loop_vertices(draft: &mut Draft, loop_vertices: &[(VertexId, DVec3)]) {
    for &(vertex, pull) in loop_vertices {
        let wish = draft.softened(pull) * draft.reach(vertex);
        draft.moves.add(vertex, 1.0, wish);
    }
}
