//! Contour minimisation with repulsive normals: where it is known which side of a surface an edge belongs to, the
//! normal part of its direction points there.
//!
//! With pull `R`, edge `E` and normal `N` of the triangle, `G = R + T`, `T = -((E . R) / (E . N)) N`. Where the
//! contour cuts off one end of the edge, or the triangle belongs to a closed body, the repulsive normal `N'` leads
//! from the
//! wrong
//! side to the right one and `T` becomes `|T| N'`. (Cha 2022, 3.2.1, after Ye and Zhao 2012)
//!
//! Degenerate crossings are counted: straight (`R` vanishes), upright (`E` at right angles to `R`, so `T` vanishes)
//! and grazing (`E . N` vanishes). A known repulsive normal then acts with a least length; without one only what is
//! left
//! of
//! `R` acts, and where that is nothing the crossing does not move.
//!
//! Departs: garments have no outside, so repulsive normals of cloth come from the region that is cut off, found anew
//! in every step, instead of from the orientation of the mesh.

use crate::analysis::TangledContour;
use crate::untangle::method::{Draft, Scope, cut_off_by, cut_off_by_both};
use crate::untangle::resolvers::contour_gradient::{PulledCrossing, pulled};
use crate::untangle::resolvers::icm::{STEEPEST, pull_loop_vertices, push};
use unsnarl_geometry::{DVec3, VertexId};

/// Below this share a part of a direction counts as vanished.
const VANISHED: f64 = 0.05;
/// What a repulsive normal weighs at least, where the pull is 1 or so.
const LEAST_REPULSION: f64 = 0.5;

/// Shortens one contour, to the right side where that is known.
pub(in crate::untangle) fn treat(draft: &mut Draft, index: usize) -> Scope {
    shorten(draft, index);
    draft.let_through(index, [&[], &[]]);
    Scope::Treated
}

/// Pushes every crossing of a contour, and says nothing about what may cross.
pub(in crate::untangle) fn shorten(draft: &mut Draft, index: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::samples::{self, Cut, Recipe};
    use crate::untangle::{ClassicSettings, Situation};

    /// Where a contour cuts off one end of an edge, the normal part leads from there to the other end, however the
    /// triangle is oriented.
    #[test]
    fn repulsive_normals_lead_from_the_wrong_end_of_an_edge_to_the_right_one() {
        let recipe = Recipe { resolution: 14, cut: Cut::Irregular, seed: 2 };
        let mesh = samples::find("closed").unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth("closed", &mesh).unwrap();
        let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
        let count = mesh.positions.len();
        let situation = Situation {
            assembly: &assembly,
            positions: &mesh.positions,
            tangle: &tangle,
            local_size: &vec![0.02; count],
            masses: &vec![1e-4; count],
            step: 0.02,
            separation: 1e-4,
            bodies_at_end: &[],
            pinched: &[],
        };
        let draft = Draft::new(situation, ClassicSettings::default());
        let tangled = draft.contour(0);
        let found = pulled(draft.topology(), draft.situation.positions, &tangled.contour);
        let mut sided = 0;
        for crossing in &found.crossings {
            let wrong = cut_off_by(tangled, crossing.point.edge_trace).unwrap();
            let [start, end] = crossing.ends.map(|vertex| wrong.contains(&vertex));
            let Some(normal) = repulsive_normal(&draft, tangled, crossing) else { continue };
            assert_ne!(start, end);
            let to_right = if start { crossing.edge } else { -crossing.edge };
            assert!(normal.dot(to_right) > 0.0 && (normal.length() - 1.0).abs() < 1e-9);
            // The whole direction has at least the least repulsion along it.
            let along = (direction(crossing, Some(normal)) - crossing.pull).dot(normal);
            assert!((LEAST_REPULSION - 1e-9..=STEEPEST + 1e-9).contains(&along), "{along}");
            sided += 1;
        }
        assert!(sided > found.crossings.len() / 2, "{sided} of {}", found.crossings.len());
    }

    /// `G = R - ((E . R) / (E . N)) N` where nothing is known: it is at right angles to the edge, so that sliding along it
    /// is the whole motion.
    #[test]
    fn without_a_side_the_direction_is_at_right_angles_to_the_edge() {
        let recipe = Recipe { resolution: 14, cut: Cut::Irregular, seed: 2 };
        let mesh = samples::find("bibi").unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth("bibi", &mesh).unwrap();
        let tangle = analyze(&assembly, &mesh.positions, &mut Workspace::default());
        let mut counted = 0;
        for tangled in &tangle.contours {
            for crossing in pulled(assembly.topology(), &mesh.positions, &tangled.contour).crossings {
                let slope = crossing.slope().unwrap_or(f64::INFINITY);
                if is_grazing(&crossing) || slope.abs() >= STEEPEST {
                    continue;
                }
                let along = direction(&crossing, None).dot(crossing.edge);
                assert!(along.abs() < 1e-9 * crossing.edge.length().max(1e-3), "{along}");
                counted += 1;
            }
        }
        assert!(counted > 0);
    }
}
