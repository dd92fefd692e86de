//! Which crossings belong to one contour, and on which of its two sides, without walking it.
//!
//! Pairs of triangles that share a crossing are linked, in a union-find that also remembers whether two pairs name the
//! contour's sides in the same order. For what only sums over contours that is far cheaper than tracing them.
//!
//! Guarantees: the same sums for the same pairs; two sides are told apart on every contour that has two.

use unsnarl_geometry::intersection::{CrossingPair, PairCrossing, PairSide};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId};

/// An edge that passes through a triangle.
pub(in crate::untangle) type Crossing = (EdgeId, TriangleId);

/// The crossing of a pair of triangles.
pub(in crate::untangle) fn crossing_key(
    topology: &Topology,
    pair: [TriangleId; 2],
    crossing: PairCrossing,
) -> Crossing {
    match crossing.edge_of {
        PairSide::First => (topology.triangle_edges(pair[0])[crossing.edge], pair[1]),
        PairSide::Second => (topology.triangle_edges(pair[1])[crossing.edge], pair[0]),
    }
}

/// Crossing pairs of triangles, linked to contours.
pub(in crate::untangle) struct ContourLinks {
    /// Crossings with their pairs, and whether the edge belongs to the pair's second triangle; sorted.
    ends: Vec<(Crossing, usize, bool)>,
    /// The pair that each pair leads to; itself for the first of a contour.
    parents: Vec<usize>,
    /// Whether each pair names the sides in the other order than its parent.
    is_swapped: Vec<bool>,
}

impl ContourLinks {
    /// Links pairs that share a crossing.
    pub fn new(topology: &Topology, pairs: &[CrossingPair]) -> Self {
        let mut ends: Vec<(Crossing, usize, bool)> = Vec::with_capacity(2 * pairs.len());
        for (at, (first, second, crossings)) in pairs.iter().enumerate() {
            let of_pair = crossings.iter().flatten().map(|&crossing| {
                (crossing_key(topology, [*first, *second], crossing), at, crossing.edge_of == PairSide::Second)
            });
            ends.extend(of_pair);
        }
        ends.sort_unstable();
        let mut links = Self { parents: (0..pairs.len()).collect(), is_swapped: vec![false; pairs.len()], ends };
        for at in 1..links.ends.len() {
            let [(before, a, a_second), (crossing, b, b_second)] = [links.ends[at - 1], links.ends[at]];
            if before == crossing {
                links.link(a, b, a_second != b_second);
            }
        }
        links
    }

    fn link(&mut self, a: usize, b: usize, is_swapped: bool) {
        let ((root, of_a), (other, of_b)) = (self.root(a), self.root(b));
        if root != other {
            self.parents[other] = root;
            self.is_swapped[other] = of_a ^ of_b ^ is_swapped;
        }
    }

    /// The first pair of a contour, and whether a pair names the sides in the other order; shortens the way.
    fn root(&mut self, pair: usize) -> (usize, bool) {
        let (mut root, mut is_swapped) = (pair, false);
        while self.parents[root] != root {
            is_swapped ^= self.is_swapped[root];
            root = self.parents[root];
        }
        let (mut at, mut rest) = (pair, is_swapped);
        while self.parents[at] != root && at != root {
            let (next, was) = (self.parents[at], self.is_swapped[at]);
            (self.parents[at], self.is_swapped[at]) = (root, rest);
            rest ^= was;
            at = next;
        }
        (root, is_swapped)
    }

    /// For each crossing, in order, the mean direction of its contour: as a motion of its edge against its triangle,
    /// as `own` are.
    pub fn common_directions(mut self, own: &[DVec3]) -> Vec<DVec3> {
        let ends = std::mem::take(&mut self.ends);
        let mut sums = vec![(DVec3::ZERO, 0.0); self.parents.len()];
        let mut places: Vec<(usize, f64)> = Vec::with_capacity(own.len());
        for (group, direction) in ends.chunk_by(|a, b| a.0 == b.0).zip(own) {
            let (_, pair, is_second) = group[0];
            let (root, is_swapped) = self.root(pair);
            let sign = if is_swapped ^ is_second { -1.0 } else { 1.0 };
            sums[root].0 += sign * *direction;
            sums[root].1 += 1.0;
            places.push((root, sign));
        }
        places.into_iter().map(|(root, sign)| sign * sums[root].0 / sums[root].1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::samples::{self, Cut, Recipe};
    use std::collections::BTreeSet;

    #[test]
    fn pairs_are_linked_as_contours_are_traced() {
        for name in ["closed", "eight", "cross", "ll", "bbii", "bibi", "bli", "layers-4", "crumpled", "knot-2-5-40"] {
            let recipe = Recipe { resolution: 20, cut: Cut::Irregular, seed: 2 };
            let mesh = samples::find(name).unwrap().make(&recipe).mesh;
            let assembly = Assembly::of_cloth(name, &mesh).unwrap();
            let pairs = Workspace::default().crossing_pairs_again(&assembly, &mesh.positions);
            let mut links = ContourLinks::new(assembly.topology(), &pairs);
            let roots: BTreeSet<usize> = (0..pairs.len()).map(|pair| links.root(pair).0).collect();
            let traced = analyze(&assembly, &mesh.positions, &mut Workspace::default());
            assert_eq!(roots.len(), traced.contours.len(), "{name}");
        }
    }

    /// On a contour between two layers all edges of the upper one have the same sign.
    #[test]
    fn the_sides_of_a_contour_are_told_apart() {
        let recipe = Recipe { resolution: 16, cut: Cut::Irregular, seed: 4 };
        let mesh = samples::find("layers-2").unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth("layers", &mesh).unwrap();
        let topology = assembly.topology();
        let pairs = Workspace::default().crossing_pairs_again(&assembly, &mesh.positions);
        let links = ContourLinks::new(topology, &pairs);
        let mut crossings: Vec<Crossing> = links.ends.iter().map(|end| end.0).collect();
        crossings.dedup();
        let piece = |edge: EdgeId| topology.component(topology.edge(edge)[0]);
        let own: Vec<DVec3> =
            crossings.iter().map(|crossing| if piece(crossing.0) == 0 { DVec3::X } else { -DVec3::X }).collect();
        assert_eq!(links.common_directions(&own), own);
    }
}
