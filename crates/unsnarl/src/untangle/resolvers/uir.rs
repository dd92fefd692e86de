//! The unified resolver: where a contour tells which region is on the wrong side, the region goes back by the smallest
//! displacement; where it does not, one sheet is pushed to the other's boundary.
//!
//! CLOSED and EIGHT: both regions attract each other. BBII: the region that the border-to-border trace cuts off goes
//! back through the other sheet, and the contour shrinks with it. BIBI: the sheets slide apart along the contour, each
//! toward the other's border. LL: the contour shrinks between its loop vertices, and the region may pass through
//! itself. (Cha 2022, 2.1 and 3.2, on Ye et al. 2017; regions and boundaries as in the abstract of Ye, Nyberg and Xiong
//! on discrete intersection detection)
//!
//! Does not: act on CROSS and BLI, which the source's table leaves out.
//! Departs: the paper itself is not at hand. What had to be decided is listed in `docs/methods.md`.

use crate::analysis::{ContourEnd, ContourKind, Trace};
use crate::untangle::bodies::depenetration;
use crate::untangle::method::{Draft, Scope, crossing_triangles, cut_off_by, cut_off_by_both, triangles_at};
use crate::untangle::resolvers::contour_gradient::pulled;
use crate::untangle::resolvers::gia;
use crate::untangle::resolvers::icm;
use crate::untangle::resolvers::repulsive_icm;
use unsnarl_geometry::DVec3;

/// Undoes one contour.
pub(in crate::untangle) fn treat(draft: &mut Draft, index: usize) -> Scope {
    if depenetration::depenetrate(draft, index) == Scope::Treated {
        return Scope::Treated;
    }
    match draft.contour(index).kind {
        ContourKind::Closed | ContourKind::Eight => gia::attract_regions(draft, index),
        ContourKind::Bbii => pull_back(draft, index),
        ContourKind::Bibi => slide_apart(draft, index),
        ContourKind::Ll => shrink_loop(draft, index),
        ContourKind::Cross | ContourKind::Bli | ContourKind::Other => Scope::Out,
    }
}

/// BBII: what one trace cuts off goes back through the sheet around the other trace.
fn pull_back(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    let topology = draft.topology();
    let cut = Trace::BOTH.into_iter().find_map(|trace| cut_off_by(tangled, trace).map(|region| (trace, region)));
    let Some((trace, region)) = cut else { return Scope::Out };
    let rings = 1 + (region.len() as f64).sqrt().ceil() as usize;
    let wall = depenetration::grown(topology, crossing_triangles(tangled, trace.other()), rings);
    gia::attract(draft, region, &wall);
    repulsive_icm::shorten(draft, index);
    let flap = triangles_at(topology, region);
    match trace {
        Trace::First => draft.let_through(index, [&flap, &wall]),
        Trace::Second => draft.let_through(index, [&wall, &flap]),
    }
    Scope::Treated
}

/// BIBI: each sheet moves along the contour, away from its own border, which so comes to the border of the other.
fn slide_apart(draft: &mut Draft, index: usize) -> Scope {
    let contour = &draft.contour(index).contour;
    let Some([ContourEnd::Boundary(at_start), _]) = contour.ends else { return Scope::Out };
    let (Some(start), Some(end)) = (contour.points.first(), contour.points.last()) else { return Scope::Out };
    let Some(along) = (end.position - start.position).try_normalize() else { return Scope::Out };
    // A short last piece still moves the whole reach, so that the borders pass each other.
    let towards = |trace: Trace| if trace == at_start { along } else { -along };
    let directions: Vec<(Trace, DVec3)> = Trace::BOTH.map(|trace| (trace, towards(trace))).to_vec();
    let topology = draft.topology();
    for (trace, direction) in directions {
        for triangle in crossing_triangles(draft.contour(index), trace) {
            for corner in topology.triangle(triangle) {
                let wish = direction * draft.reach(corner);
                draft.moves.add(corner, 1.0, wish);
            }
            draft.report.pushed += 1;
        }
    }
    draft.let_through(index, [&[], &[]]);
    Scope::Treated
}

/// LL: contour minimisation, with the whole region free to pass through itself.
fn shrink_loop(draft: &mut Draft, index: usize) -> Scope {
    let tangled = draft.contour(index);
    let topology = draft.topology();
    let pulled = pulled(topology, draft.situation.positions, &tangled.contour);
    for crossing in &pulled.crossings {
        let slope = crossing.slope().unwrap_or(0.0).clamp(-icm::STEEPEST, icm::STEEPEST);
        let wish = draft.softened(crossing.pull - crossing.normal * slope);
        icm::push(draft, crossing, wish);
    }
    icm::pull_loop_vertices(draft, &pulled.loop_vertices);
    let red = cut_off_by_both(tangled).map_or_else(Vec::new, |region| triangles_at(topology, region));
    draft.let_through(index, [&red, &red]);
    Scope::Treated
}
