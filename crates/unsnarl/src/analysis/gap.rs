//! The certified gap: how far apart all vertices and triangles, and all edges, are that have no common vertex.
//!
//! The tree lists every pair whose boxes come within a distance of each other; each of them gets a lower bound of its
//! distance that holds whatever was rounded ([`unsnarl_geometry::distance::certified`]).
//!
//! Guarantees: a pair that is not listed is farther apart than the distance that was asked about, for the numbers as
//! given; the list has the same order for any number of threads. Pairs of two bodies do not count.
//! Does not: see crossings. Triangles that pass through each other have gaps too: ask for the verdict as well.

use super::rest_distance::RestDistances;
use super::{Assembly, Verdict, Workspace, smallest_gap};
use serde::Serialize;
use unsnarl_geometry::ccd::{self, ElementPair, ElementTree, Motion, Ownership};
use unsnarl_geometry::distance::certified::{edge_edge_at_least, point_triangle_at_least};
use unsnarl_geometry::{Aabb, DVec3, TriangleId, VertexId};

/// Two elements and how far they are apart at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearPair {
    /// Which.
    pub pair: ElementPair,
    /// A lower bound of their distance, metres.
    pub at_least: f64,
}

/// Which pairs need not keep the gap.
#[derive(Clone, Copy)]
pub enum Exemption<'a> {
    /// Those that are nearer along the cloth at rest already.
    AtRest(&'a RestDistances<'a>),
    /// None.
    Nobody,
}

/// Pairs that are as far apart at rest as the gap, up to this share, are exempt too: rounding would decide.
const AS_NEAR: f64 = 1e-4;

impl Exemption<'_> {
    /// How far two elements are apart at rest, if that is below a gap, or as much, and thereby frees them from it.
    pub fn of(&self, pair: ElementPair, gap: f64) -> Option<f64> {
        match self {
            Self::AtRest(rest) => rest.between(pair, gap * (1.0 + AS_NEAR)),
            Self::Nobody => None,
        }
    }
}

/// What was found out about a gap.
#[derive(Clone, Debug, Default)]
pub struct GapFindings {
    /// The gap that was asked for, metres.
    pub asked: f64,
    /// All pairs that are not exempt are at least so far apart, metres; infinite where there is no pair.
    pub certified: f64,
    /// Pairs that are not proved to keep the gap, the nearest first.
    pub below: Vec<NearPair>,
    /// Pairs below the gap that are exempt.
    pub exempt: usize,
    /// The least distance at rest of exempt pairs: a gap up to it would exempt none of them.
    pub reachable: Option<f64>,
    /// The nearest pairs that are not exempt, at most as many as are worth telling.
    pub nearest: Vec<NearPair>,
}

impl GapFindings {
    /// Whether every pair that is not exempt keeps the gap.
    pub fn is_kept(&self) -> bool {
        self.below.is_empty()
    }
}

/// The gap of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapReport {
    /// What was asked for, metres.
    pub asked: f64,
    /// All pairs that are not exempt are at least so far apart, metres; `null` where there is no such pair.
    pub certified: Option<f64>,
    /// Pairs that are not proved to keep the gap.
    pub pairs_below: usize,
    /// Pairs below the gap that are nearer at rest already.
    pub exempt: usize,
    /// A gap that would exempt none of those, metres.
    pub reachable: Option<f64>,
    /// The nearest places, the nearest first.
    pub nearest: Vec<NearPlace>,
}

/// A place where cloth is near something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearPlace {
    /// At least so far apart, metres.
    pub distance: f64,
    /// Where, metres: in the middle between the two.
    pub center: [f64; 3],
    /// The names of the two sheets.
    pub sheets: [String; 2],
}

/// How many places a report names.
pub const PLACES: usize = 10;

/// Looks for the smallest gap, and for all pairs that do not keep the one that is asked for. `verdict` is that of the
/// same positions: where something meets, nothing is certified.
pub fn examine(
    assembly: &Assembly,
    positions: &[DVec3],
    (asked, exemption): (f64, Exemption<'_>),
    verdict: &Verdict,
) -> GapFindings {
    let mut findings = GapFindings { asked, ..GapFindings::default() };
    for near in near_pairs(assembly, positions, asked) {
        match exemption.of(near.pair, asked) {
            Some(rest) => {
                findings.exempt += 1;
                findings.reachable = Some(findings.reachable.map_or(rest, |least| least.min(rest)));
            }
            None => findings.below.push(near),
        }
    }
    findings.nearest = findings.below.clone();
    if findings.nearest.is_empty() {
        findings.nearest = beyond(assembly, positions, (asked, exemption));
    }
    findings.certified = findings.nearest.first().map_or(f64::INFINITY, |near| near.at_least);
    if !verdict.is_clean() {
        findings.certified = 0.0;
    }
    findings.nearest = apart(assembly, positions, &findings.nearest);
    findings
}

/// The nearest pairs of a mesh in which none that is not exempt is below a gap.
fn beyond(assembly: &Assembly, positions: &[DVec3], (asked, exemption): (f64, Exemption<'_>)) -> Vec<NearPair> {
    let size = Aabb::of_points(positions.iter().copied()).extent().length();
    let smallest = smallest_gap(assembly, positions, &Verdict::default(), &mut Workspace::default());
    let mut reach = 1.001 * smallest.unwrap_or(f64::INFINITY).max(asked);
    while reach < 2.0 * size {
        let mut found = near_pairs(assembly, positions, reach);
        // What is exempt from the gap is not what the rest is measured by.
        found.retain(|near| near.at_least >= asked || exemption.of(near.pair, asked).is_none());
        if !found.is_empty() {
            return found;
        }
        reach *= 2.0;
    }
    Vec::new()
}

/// Every pair that counts and is not proved to be at least `reach` apart, the nearest first.
pub fn near_pairs(assembly: &Assembly, positions: &[DVec3], reach: f64) -> Vec<NearPair> {
    let topology = assembly.topology();
    if topology.triangle_count() == 0 || reach.is_nan() || reach <= 0.0 {
        return Vec::new();
    }
    let tree = ElementTree::build(topology, &Ownership::new(topology), Motion::at_rest(positions), 0.5 * reach);
    let mut found = tree.candidates(|pair, out| out.extend(near_pair(assembly, positions, pair, reach)));
    found.sort_unstable_by(|a, b| a.at_least.total_cmp(&b.at_least).then(a.pair.cmp(&b.pair)));
    found
}

fn near_pair(assembly: &Assembly, positions: &[DVec3], pair: ElementPair, reach: f64) -> Option<NearPair> {
    let vertices = pair.vertices(assembly.topology());
    let points = vertices.map(|vertex| positions[vertex.index()]);
    if is_far(&points, pair, reach) || !counts(assembly, vertices) {
        return None;
    }
    let [a, b, c, d] = points;
    let at_least = match pair {
        ElementPair::VertexTriangle(..) => point_triangle_at_least(a, [b, c, d]),
        ElementPair::EdgeEdge(..) => edge_edge_at_least([a, b], [c, d]),
    };
    (at_least < reach).then_some(NearPair { pair, at_least })
}

/// Whether a pair has cloth. The first vertex belongs to the first element, the last one to the second.
fn counts(assembly: &Assembly, vertices: [VertexId; 4]) -> bool {
    assembly.is_cloth(vertices[0]) || assembly.is_cloth(vertices[3])
}

/// Whether the direction between the middles of two elements proves, with much to spare for rounding, that they are
/// farther apart than `reach`.
fn is_far(points: &[DVec3; 4], pair: ElementPair, reach: f64) -> bool {
    let (first, second) = points.split_at(pair.first_count());
    let origin = points[0];
    let middle = |points: &[DVec3]| points.iter().map(|&point| point - origin).sum::<DVec3>() / points.len() as f64;
    let across = middle(first) - middle(second);
    let heights = |points: &[DVec3]| {
        let heights = points.iter().map(|&point| across.dot(point - origin));
        heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], at| [low.min(at), high.max(at)])
    };
    let ([low, top], [bottom, high]) = (heights(first), heights(second));
    let rounding = 1e-9 * (low.abs().max(top.abs()) + high.abs().max(bottom.abs()));
    low - high > (1.0 + 1e-9) * reach * across.length() + rounding
}

/// The nearest points of two elements: that of the first, then that of the second.
pub fn nearest_points(assembly: &Assembly, positions: &[DVec3], pair: ElementPair) -> [DVec3; 2] {
    let points = pair.vertices(assembly.topology()).map(|vertex| positions[vertex.index()]);
    match pair {
        ElementPair::VertexTriangle(..) => [points[0], points[0] - ccd::vertex_triangle_gap(points).offset],
        ElementPair::EdgeEdge(..) => {
            let closest = ccd::edge_edge_gap(points);
            let on_first = points[0].lerp(points[1], closest.along[0]);
            [on_first, on_first - closest.offset]
        }
    }
}

/// The nearest of pairs that lie at different places: pairs of elements that touch those of a nearer one are left out.
fn apart(assembly: &Assembly, positions: &[DVec3], pairs: &[NearPair]) -> Vec<NearPair> {
    let topology = assembly.topology();
    let mut kept: Vec<NearPair> = Vec::new();
    let mut taken: Vec<(DVec3, f64)> = Vec::new();
    for near in pairs {
        let vertices = near.pair.vertices(topology).map(|vertex| positions[vertex.index()]);
        let [on_first, on_second] = nearest_points(assembly, positions, near.pair);
        let place = 0.5 * (on_first + on_second);
        if taken.iter().any(|&(other, size)| other.distance(place) < size) {
            continue;
        }
        kept.push(*near);
        taken.push((place, Aabb::of_points(vertices).extent().length()));
        if kept.len() == PLACES {
            break;
        }
    }
    kept
}

impl GapReport {
    /// Writes up findings. `name_of` gives the name of the sheet that a triangle belongs to.
    pub fn new(
        findings: &GapFindings,
        (assembly, positions): (&Assembly, &[DVec3]),
        name_of: impl Fn(TriangleId) -> String,
    ) -> Self {
        let place = |near: &NearPair| {
            let [on_first, on_second] = nearest_points(assembly, positions, near.pair);
            NearPlace {
                distance: near.at_least,
                center: (0.5 * (on_first + on_second)).to_array(),
                sheets: triangles(assembly, near.pair).map(&name_of),
            }
        };
        Self {
            asked: findings.asked,
            certified: Some(findings.certified).filter(|certified| certified.is_finite()),
            pairs_below: findings.below.len(),
            exempt: findings.exempt,
            reachable: findings.reachable,
            nearest: findings.nearest.iter().map(place).collect(),
        }
    }
}

/// A triangle of each of two elements.
pub fn triangles(assembly: &Assembly, pair: ElementPair) -> [TriangleId; 2] {
    let topology = assembly.topology();
    match pair {
        ElementPair::VertexTriangle(vertex, triangle) => [topology.vertex_triangles(vertex)[0], triangle],
        ElementPair::EdgeEdge(first, second) => [first, second].map(|edge| topology.edge_triangles(edge)[0]),
    }
}

#[cfg(test)]
mod tests;
