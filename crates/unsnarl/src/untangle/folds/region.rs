//! The region of a regional flip: a stretch of border between two BLI, the flap behind it, the ground it lies on.
//!
//! BLI are neighbours if nothing but border lies between their boundary ends. The loop vertices of two neighbours are
//! joined along edges, on the crest of the fold; their inner ends are joined over triangles. Both contours and these
//! two
//! paths bound the region; the crest divides it into the flap, which has the border, and the ground. (Cha 2022, 5.4)
//!
//! Guarantees: flap and ground have no triangle in common; the crest lies in the region, and half of it is bent.
//! Departs: neighbours must be of one border and of one sheet.

use super::bli::Bli;
use super::paths::{along_edges, over_triangles, rest_lengths};
use crate::dynamics::hinge;
use crate::model::Model;
use rustc_hash::FxHashSet;
use std::f64::consts::PI;
use unsnarl_geometry::{DVec3, EdgeId, VertexId};

/// Hinges bent more than this are of a fold, radians.
pub const BENT: f64 = 0.5;
/// How much longer a flat edge is than one that is folded shut, less one.
const FLAT_COST: f64 = 4.0;

/// Two BLI with only border between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The BLI at its start and at its end, as numbers in the list.
    pub folds: [usize; 2],
    /// The border vertices between them, in order.
    pub border: Vec<VertexId>,
}

/// The intervals of all borders, border by border, the shorter ones first.
pub fn intervals(model: &Model, folds: &[Bli]) -> Vec<Interval> {
    let mut all = Vec::new();
    for border in model.topology.boundary_loops() {
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for (number, bli) in folds.iter().enumerate() {
            let edge = model.topology.edge(bli.boundary_edge);
            let is_edge = |at: &usize| {
                let pair = [border[*at], border[(at + 1) % border.len()]];
                pair == edge || pair == [edge[1], edge[0]]
            };
            ends.extend((0..border.len()).find(is_edge).map(|at| (at, number)));
        }
        ends.sort_unstable();
        if ends.len() < 2 {
            continue;
        }
        let mut own: Vec<Interval> = (0..ends.len())
            .map(|at| {
                let ((start, first), (end, second)) = (ends[at], ends[(at + 1) % ends.len()]);
                let length = (end + border.len() - start) % border.len();
                let vertex = |step: usize| border[(start + step) % border.len()];
                Interval { folds: [first, second], border: (1..=length).map(vertex).collect() }
            })
            .collect();
        own.sort_by_key(|interval| (interval.border.len(), interval.folds));
        all.extend(own);
    }
    all
}

/// The region of an interval. All lists are sorted but for the crest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The vertices between the border and the crest.
    pub flap: Vec<VertexId>,
    /// The vertices that they lie on, between the crest and the path from inner end to inner end.
    pub ground: Vec<VertexId>,
    /// From loop vertex to loop vertex.
    pub crest: Vec<VertexId>,
    /// Its edges.
    pub crest_edges: Vec<EdgeId>,
}

/// How much each edge is bent, radians; 0 at borders.
pub fn bending(model: &Model, positions: &[DVec3]) -> Vec<f64> {
    let mut angles = vec![0.0; model.topology.edge_count()];
    for hinge in &model.hinges {
        let points = hinge.vertices.map(|vertex| positions[vertex.index()]);
        angles[hinge.edge.index()] = hinge::angle(points).unwrap_or(PI);
    }
    angles
}

/// The region of an interval; `taken` is what regions found before have of its sheet. `None` where there is none that
/// is sound.
pub fn region(
    model: &Model,
    positions: &[DVec3],
    folds: [&Bli; 2],
    border: &[VertexId],
    taken: &FxHashSet<VertexId>,
) -> Option<Region> {
    let (lengths, angles) = (rest_lengths(model), bending(model, positions));
    let [first, second] = folds;
    let mut cut: FxHashSet<EdgeId> = first.crossed.iter().chain(&second.crossed).copied().collect();
    let loops = [first.loop_vertex, second.loop_vertex];
    let cost = |edge: EdgeId| {
        let share = (angles[edge.index()].abs() / PI).min(1.0);
        lengths[edge.index()] * (1.0 + FLAT_COST * (1.0 - share))
    };
    let is_free = |vertex: VertexId| !taken.contains(&vertex) || loops.contains(&vertex);
    let crest =
        along_edges(model, loops[0], |at| at == loops[1], cost, |edge, to| !cut.contains(&edge) && is_free(to))?;
    let crest_edges: FxHashSet<EdgeId> = crest.edges.iter().copied().collect();
    let is_open = |edge: EdgeId| !cut.contains(&edge) && !crest_edges.contains(&edge);
    let inner = over_triangles(model, first.inner_triangle, second.inner_triangle, is_open)?;
    cut.extend(inner.edges);
    let walls: FxHashSet<VertexId> = crest.places.iter().copied().collect();
    let whole = flood(model, border, |edge| !cut.contains(&edge), |vertex| loops.contains(&vertex));
    let flap = flood(model, border, |edge| !cut.contains(&edge), |vertex| walls.contains(&vertex));
    let ground: Vec<VertexId> =
        whole.iter().copied().filter(|at| flap.binary_search(at).is_err() && !walls.contains(at)).collect();
    let found = Region { flap, ground, crest: crest.places, crest_edges: crest.edges };
    let is_bent = |edge: &&EdgeId| angles[edge.index()].abs() > BENT;
    let bent = found.crest_edges.iter().filter(is_bent).count();
    let inside = |vertex: &VertexId| loops.contains(vertex) || whole.binary_search(vertex).is_ok();
    let is_sound = !found.flap.is_empty()
        && !found.ground.is_empty()
        && found.crest.iter().all(inside)
        && 2 * bent >= found.crest_edges.len()
        && !share_triangle(model, &found);
    is_sound.then_some(found)
}

fn share_triangle(model: &Model, region: &Region) -> bool {
    model.topology.triangles().iter().any(|corners| {
        let has = |of: &[VertexId]| corners.iter().any(|corner| of.binary_search(corner).is_ok());
        has(&region.flap) && has(&region.ground)
    })
}

/// What hangs together with some vertices over open edges, without walls; sorted.
pub fn flood(
    model: &Model,
    from: &[VertexId],
    is_open: impl Fn(EdgeId) -> bool,
    is_wall: impl Fn(VertexId) -> bool,
) -> Vec<VertexId> {
    let topology = &model.topology;
    let mut is_reached = vec![false; topology.vertex_count()];
    let mut reached: Vec<VertexId> = Vec::new();
    let mut visit = |vertex: VertexId, reached: &mut Vec<VertexId>| {
        if !is_wall(vertex) && !std::mem::replace(&mut is_reached[vertex.index()], true) {
            reached.push(vertex);
        }
    };
    from.iter().for_each(|&vertex| visit(vertex, &mut reached));
    let mut next = 0;
    while next < reached.len() {
        let at = reached[next];
        for &edge in topology.vertex_edges(at).iter().filter(|&&edge| is_open(edge)) {
            visit(topology.other_end(edge, at), &mut reached);
        }
        next += 1;
    }
    reached.sort_unstable();
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Cut;
    use crate::untangle::folds::bli::{self, tests::made};
    use crate::untangle::folds::curl;

    /// The couples of a made case whose region is sound, and the curl of each.
    fn couples(name: &str, cut: Cut, seed: u64) -> Vec<(Region, Option<f64>)> {
        let (model, state, _, tangle) = made(name, cut, seed);
        let folds = bli::find(&tangle, model.topology.triangle_count());
        let (mut taken, mut found) = (FxHashSet::default(), Vec::new());
        for Interval { folds: [first, second], border } in intervals(&model, &folds) {
            let both = [&folds[first], &folds[second]];
            let Some(region) = region(&model, &state.positions, both, &border, &taken) else { continue };
            taken.extend(region.flap.iter().chain(&region.crest).copied());
            let crest = region.crest_edges.iter().copied().collect();
            let value = curl::interval(&model, &state.positions, &border, &crest);
            found.push((region, value));
        }
        found
    }

    /// The turned-in stretch of the collar is its shorter one; sleeve and skirt are turned in over less than half of
    /// their hem, and out over the rest: the sample says which.
    #[test]
    fn made_folds_have_a_region_that_curls_in_and_tubes_one_that_curls_out_too() {
        for cut in [Cut::Regular, Cut::Irregular] {
            for seed in [1, 2, 3] {
                let collar = couples("collar", cut, seed);
                assert!(collar.first().is_some_and(|(_, curl)| curl.is_some_and(|curl| curl > 2.0)), "{cut:?} {seed}");
                for name in ["sleeve", "skirt"] {
                    let tube = couples(name, cut, seed);
                    assert_eq!(tube.len(), 2, "{name} {cut:?} {seed}");
                    let [first, second] = [0, 1].map(|at| tube[at].1.unwrap());
                    assert!(first > 2.0 && second < -2.0, "{name} {cut:?} {seed}: {first} {second}");
                }
            }
        }
    }

    #[test]
    fn a_flood_is_what_brute_force_finds() {
        let (model, ..) = made("collar", Cut::Irregular, 4);
        let topology = &model.topology;
        let is_open = |edge: EdgeId| !edge.index().is_multiple_of(3);
        let is_wall = |vertex: VertexId| vertex.index().is_multiple_of(17);
        for start in [3, 40, 111] {
            let found = flood(&model, &[VertexId::new(start)], is_open, is_wall);
            let mut is_in = vec![false; topology.vertex_count()];
            is_in[start] = true;
            for _ in 0..topology.vertex_count() {
                for (edge, ends) in topology.edges().iter().enumerate() {
                    let [a, b] = ends.map(|end| is_in[end.index()]);
                    if a != b && is_open(EdgeId::new(edge)) && !ends.iter().any(|&end| is_wall(end)) {
                        ends.iter().for_each(|end| is_in[end.index()] = true);
                    }
                }
            }
            let brute: Vec<VertexId> = (0..is_in.len()).filter(|&at| is_in[at]).map(VertexId::new).collect();
            assert_eq!(found, brute);
        }
    }
}
