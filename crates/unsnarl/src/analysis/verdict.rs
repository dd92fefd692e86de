//! The verdict: do any two closed triangles meet beyond what they share, and how wide is the smallest gap otherwise?

use super::assembly::Assembly;
use super::{Workspace, in_pool};
use unsnarl_geometry::distance::{edge_edge, point_triangle};
use unsnarl_geometry::intersection::{IntersectingPair, Relation, find_intersecting_pairs};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// All pairs of closed triangles that meet.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The pairs, sorted.
    pub pairs: Vec<IntersectingPair>,
}

impl Verdict {
    /// Whether nothing meets.
    pub fn is_clean(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many pairs touch without crossing.
    pub fn touching_count(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.relation == Relation::Touching).count()
    }
}

/// Tests every pair that is not of two bodies.
pub fn verdict(assembly: &Assembly, positions: &[DVec3], workspace: &mut Workspace) -> Verdict {
    verdict_unless(assembly, positions, workspace, &|| false)
}

/// As [`verdict`]; once `stop` says so, pairs are passed over, and what comes out means nothing.
pub(super) fn verdict_unless(
    assembly: &Assembly,
    positions: &[DVec3],
    workspace: &mut Workspace,
    stop: &(impl Fn() -> bool + Sync),
) -> Verdict {
    let topology = assembly.topology();
    if stop() {
        return Verdict::default();
    }
    in_pool(topology, || {
        let tree = workspace.tree(topology, positions);
        if stop() {
            return Verdict::default();
        }
        let counts = |a, b| !stop() && assembly.counts(a, b);
        Verdict { pairs: find_intersecting_pairs(topology, positions, tree, counts) }
    })
}

/// The smallest distance between vertices and triangles, and between edges, that have no vertex in common; `None` for a
/// mesh without such a pair. Zero where something meets, which the verdict on the same positions says.
pub fn smallest_gap(
    assembly: &Assembly,
    positions: &[DVec3],
    verdict: &Verdict,
    workspace: &mut Workspace,
) -> Option<f64> {
    if !verdict.is_clean() {
        return Some(0.0);
    }
    let topology = assembly.topology();
    let tree = workspace.tree(topology, positions);
    let at = |vertex: VertexId| positions[vertex.index()];
    let mut least = f64::INFINITY;
    let found = tree.closest_pair(f64::INFINITY, |first, second| {
        if !assembly.counts(first, second) {
            return f64::INFINITY;
        }
        let pair = [first, second].map(|triangle| topology.triangle(TriangleId::new(triangle)));
        if are_farther(pair, at, least) {
            return f64::INFINITY;
        }
        let gap_squared = triangle_gap_squared(pair, at);
        least = least.min(gap_squared.sqrt());
        gap_squared
    });
    found.map(|(gap_squared, _, _)| gap_squared.sqrt())
}

/// Whether the plane of one of two triangles, or a plane upright on it along one of its sides, proves that they are farther
/// apart than a distance, metres. Of triangles with a common vertex, it is the side opposite to it that has to be far from the other triangle, for both.
/// Quick, and proves most of it; `false` says nothing.
fn are_farther([a, b]: [[VertexId; 3]; 2], at: impl Fn(VertexId) -> DVec3, distance: f64) -> bool {
    if distance == f64::INFINITY {
        return false;
    }
    let is_far = |ours: [VertexId; 3], theirs: [VertexId; 3]| {
        is_beyond(ours.map(&at), theirs.into_iter().filter(|vertex| !ours.contains(vertex)).map(&at), distance)
    };
    match a.iter().filter(|vertex| b.contains(vertex)).count() {
        0 => is_far(a, b) || is_far(b, a),
        1 => is_far(a, b) && is_far(b, a),
        _ => false,
    }
}

/// Whether such a plane of a triangle has some points on its outer side, all farther away than a distance.
fn is_beyond(triangle: [DVec3; 3], points: impl Iterator<Item = DVec3> + Clone, distance: f64) -> bool {
    // Far above what rounding can do to coordinates relative to a corner, far below any gap worth telling.
    const ROUNDING: f64 = 1e-9;
    let [first, second] = [triangle[1] - triangle[0], triangle[2] - triangle[0]];
    let Some(normal) = first.cross(second).try_normalize() else { return false };
    let farthest = points.clone().map(|point| (point - triangle[0]).abs().max_element()).fold(0.0, f64::max);
    let enough = distance + ROUNDING * (distance + first.abs().max_element() + farthest);
    let are_above = |corner: DVec3, up: DVec3| points.clone().all(|point| (point - corner).dot(up) > enough);
    are_above(triangle[0], normal)
        || are_above(triangle[0], -normal)
        || (0..3).any(|corner| {
            let side = triangle[(corner + 1) % 3] - triangle[corner];
            are_above(triangle[corner], side.cross(normal).normalize_or_zero())
        })
}

/// Over the vertices of one against the other and the edges of both, leaving out what shares a vertex.
fn triangle_gap_squared([a, b]: [[VertexId; 3]; 2], at: impl Fn(VertexId) -> DVec3) -> f64 {
    let mut gap_squared = f64::INFINITY;
    for (ours, theirs) in [(a, b), (b, a)] {
        for vertex in ours.into_iter().filter(|vertex| !theirs.contains(vertex)) {
            gap_squared = gap_squared.min(point_triangle(at(vertex), theirs.map(&at)).distance_squared());
        }
    }
    for ours in 0..3 {
        let first = [a[ours], a[(ours + 1) % 3]];
        for theirs in 0..3 {
            let second = [b[theirs], b[(theirs + 1) % 3]];
            if first.iter().all(|vertex| !second.contains(vertex)) {
                gap_squared = gap_squared.min(edge_edge(first.map(&at), second.map(&at)).distance_squared());
            }
        }
    }
    gap_squared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, Cut, Recipe};

    #[test]
    fn the_gap_is_the_least_over_all_pairs() {
        for (case, seed) in [("hanky", 1), ("spiral-roll", 2), ("exploded-whole", 3)] {
            let mesh = samples::find(case).unwrap().make(&Recipe { resolution: 10, cut: Cut::Irregular, seed }).mesh;
            let name = [(case.to_owned(), crate::analysis::PartKind::Cloth, mesh.positions.len(), &mesh.triangles[..])];
            let assembly = Assembly::new(name).unwrap();
            let gap = smallest_gap(&assembly, &mesh.positions, &Verdict::default(), &mut Workspace::default());
            let corners = assembly.topology().triangles();
            let pairs = (0..corners.len()).flat_map(|a| (0..a).map(move |b| [a, b]));
            let at = |vertex: VertexId| mesh.positions[vertex.index()];
            let gaps = pairs.map(|pair| triangle_gap_squared(pair.map(|triangle| corners[triangle]), at));
            let (gap, least) = (gap.unwrap(), gaps.fold(f64::INFINITY, f64::min).sqrt());
            // Which of two triangles comes first may change the last bit.
            assert!((gap - least).abs() <= 1e-12 * least, "{case}: {gap}, not {least}");
        }
    }
}
