//! Holes: where one surface stands through a triangle of another, and pushes that close them.

use crate::analysis::Workspace;
use crate::analysis::contour::crossing_point;
use std::collections::BTreeMap;
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::intersection::{CrossingPair, PairCrossing, PairSide};
use unsnarl_geometry::{DVec3, Topology, TriangleId};

/// Where another surface stands through a triangle.
pub(crate) struct Hole {
    /// The triangle that has the hole.
    pub triangle: TriangleId,
    /// One of the triangles that stand through it.
    pub other: TriangleId,
    /// The middle of the curve along which they cross.
    pub middle: DVec3,
    /// The mean normal of the other surface there.
    pub normal: DVec3,
}

impl Hole {
    /// The weights of the middle in the triangle, whose corners are given.
    pub fn weights_in(&self, corners: [DVec3; 3]) -> [f64; 3] {
        point_triangle(self.middle, corners).weights
    }
}

/// One hole for each triangle that crosses another one, by triangle. `wanted` says of a triangle and one that may stand
/// through it whether they count.
pub(crate) fn holes(
    topology: &Topology,
    positions: &[DVec3],
    memory: &mut Workspace,
    wanted: &(dyn Fn(TriangleId, TriangleId) -> bool + Sync),
) -> Vec<Hole> {
    let either = |a: usize, b: usize| {
        let (a, b) = (TriangleId::new(a), TriangleId::new(b));
        wanted(a, b) || wanted(b, a)
    };
    holes_of(memory.crossing_pairs(topology, positions, either), topology, positions, wanted)
}

/// The same for pairs of triangles that are known to cross.
pub(crate) fn holes_of(
    pairs: Vec<CrossingPair>,
    topology: &Topology,
    positions: &[DVec3],
    wanted: &(dyn Fn(TriangleId, TriangleId) -> bool + Sync),
) -> Vec<Hole> {
    let mut sums: BTreeMap<TriangleId, (Hole, f64)> = BTreeMap::new();
    for (first, second, crossings) in pairs {
        let points: Vec<DVec3> = crossings
            .into_iter()
            .flatten()
            .map(|crossing| pair_point(topology, positions, [first, second], crossing))
            .collect();
        let length = 1e-9 + points.first().zip(points.last()).map_or(0.0, |(a, b)| a.distance(*b));
        let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        for (triangle, other) in [(first, second), (second, first)] {
            if !wanted(triangle, other) {
                continue;
            }
            let none = || (Hole { triangle, other, middle: DVec3::ZERO, normal: DVec3::ZERO }, 0.0);
            let (hole, total) = sums.entry(triangle).or_insert_with(none);
            hole.middle += length * middle;
            hole.normal += length * normal_of(topology, positions, other);
            *total += length;
        }
    }
    sums.into_values()
        .map(|(hole, length)| Hole { middle: hole.middle / length, normal: hole.normal.normalize_or_zero(), ..hole })
        .collect()
}

/// The normal of a triangle, or 0 where it has no area.
pub(crate) fn normal_of(topology: &Topology, positions: &[DVec3], triangle: TriangleId) -> DVec3 {
    let [a, b, c] = topology.triangle(triangle).map(|corner| positions[corner.index()]);
    (b - a).cross(c - a).normalize_or_zero()
}

/// Where an edge of one triangle of a pair passes the other.
fn pair_point(topology: &Topology, positions: &[DVec3], [a, b]: [TriangleId; 2], crossing: PairCrossing) -> DVec3 {
    let (owner, pierced) = match crossing.edge_of {
        PairSide::First => (a, b),
        PairSide::Second => (b, a),
    };
    crossing_point(topology, positions, topology.triangle_edges(owner)[crossing.edge], pierced).1
}

/// One push for each vertex: the mean, each weighed by its own length.
pub(crate) fn mean_pushes(mut pushes: Vec<(usize, DVec3)>) -> Vec<(usize, DVec3)> {
    pushes.sort_by_key(|push| push.0);
    pushes
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| {
            let weight: f64 = group.iter().map(|(_, push)| push.length()).sum();
            let sum: DVec3 = group.iter().map(|(_, push)| push.length() * *push).sum();
            (group[0].0, if weight > 0.0 { sum / weight } else { DVec3::ZERO })
        })
        .collect()
}
