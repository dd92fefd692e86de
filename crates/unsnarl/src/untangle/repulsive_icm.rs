//! Contour minimisation with repulsive normals: where it is known which side of a surface an edge belongs to, the normal
//! part of its direction points there.
//!
//! With pull `R`, edge `E` and normal `N` of the triangle, `G = R + T`, `T = -((E . R) / (E . N)) N`. Where the contour
//! cuts off one end of the edge, or the triangle belongs to a closed body, the repulsive normal `N'` leads from the wrong
//! side to the right one and `T` becomes `|T| N'`. (Cha 2022, 3.2.1, after Ye and Zhao 2012)
//!
//! Degenerate crossings are counted: straight (`R` vanishes), upright (`E` at right angles to `R`, so `T` vanishes) and
//! grazing (`E . N` vanishes). A known repulsive normal then acts with a least length; without one only what is left of
//! `R` acts, and where that is nothing the crossing does not move.
//!
//! Departs: garments have no outside, so repulsive normals of cloth come from the region that is cut off, found anew in
//! every step, instead of from the orientation of the mesh.

use super::contour_gradient::{PulledCrossing, pulled};
use super::icm::{STEEPEST, pull_loop_vertices, push};
use super::method::{Draft, Scope, cut_off_by, cut_off_by_both};
use crate::analysis::TangledContour;
use unsnarl_geometry::{DVec3, VertexId};

/// Below this share a part of a direction counts as vanished.
const VANISHED: f64 = 0.05;
/// What a repulsive normal weighs at least, where the pull is 1 or so.
const LEAST_REPULSION: f64 = 0.5;

/// Shortens one contour, to the right side where that is known.
pub(super) fn treat(draft: &mut Draft, index: usize) -> Scope {
    shorten(draft, index);
    draft.let_through(index, [&[], &[]]);
    Scope::Treated
}

/// Pushes every crossing of a contour, and says nothing about what may cross.
pub(super) fn shorten(draft: &mut Draft, index: usize) {
    let tangled = draft.contour(index);
    let pulled = pulled(draft.topology(), draft.situation.positions, &tangled.contour);
    for crossing in &pulled.crossings {
        count_degenerate(draft, crossing);
        let direction = direction(crossing, repulsive_normal(draft, tangled, crossing));
        let wish = draft.softened(direction);
        push(draft, crossing, wish);
    }
    pull_loop_vertices(draft, &pulled.loop_vertices);
}

fn count_degenerate(draft: &mut Draft, crossing: &PulledCrossing) {
    let (edge, pull) = (crossing.edge.length(), crossing.pull.length());
    let report = &mut draft.report;
    if pull < VANISHED {
        report.straight += 1;
    } else if crossing.edge.dot(crossing.pull).abs() < VANISHED * edge * pull {
        report.upright += 1;
    }
    report.grazing += usize::from(is_grazing(crossing));
}

fn is_grazing(crossing: &PulledCrossing) -> bool {
    crossing.edge.dot(crossing.normal).abs() < VANISHED * crossing.edge.length()
}

/// `G = R + T`, with `T` along the repulsive normal where there is one.
fn direction(crossing: &PulledCrossing, repulsive_normal: Option<DVec3>) -> DVec3 {
    let slope = if is_grazing(crossing) { 0.0 } else { crossing.slope().unwrap_or(0.0).clamp(-STEEPEST, STEEPEST) };
    match repulsive_normal {
        Some(normal) => crossing.pull + normal * slope.abs().max(LEAST_REPULSION),
        None => crossing.pull - crossing.normal * slope,
    }
}

/// The unit normal of the triangle that leads the edge of a crossing to where it belongs.
fn repulsive_normal(draft: &Draft, tangled: &TangledContour, crossing: &PulledCrossing) -> Option<DVec3> {
    let trace = crossing.point.edge_trace;
    if draft.is_on_body(tangled, trace.other()) {
        return Some(crossing.normal);
    }
    let wrong = cut_off_by(tangled, trace).or_else(|| cut_off_by_both(tangled))?;
    let is_wrong = |vertex: VertexId| wrong.binary_search(&vertex).is_ok();
    let from_start = crossing.edge.dot(crossing.normal).signum();
    match crossing.ends.map(is_wrong) {
        [true, false] => Some(crossing.normal * from_start),
        [false, true] => Some(crossing.normal * -from_start),
        _ => None,
    }
}
