//! Red-green refinement of the lattice. (Bridson 2003, 5.3)
//!
//! Red: one tetrahedron becomes eight of the same shape and half the size. Green: what is left between levels is
//! closed by splitting one edge, two opposite edges, or the three edges of a face. An edge is split where its
//! midpoint is in a set of nodes, since a midpoint belongs to one edge only; green elements are not kept but made at
//! the end, so none is refined.
//!
//! Guarantees: after [`Forest::close`] the elements conform (tests count the faces of random refinements) and their
//! volumes in integers sum to those of the roots; green aspect is at most sqrt 10.

use super::lattice::{NodeKey, RedTet, midpoint, oriented};
use super::{EDGES, OUTWARD_FACES};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// All six edges.
const ALL_EDGES: u8 = 0b11_1111;
/// The edges of the face opposite each corner, as bits of [`EDGES`].
const FACE_EDGES: [u8; 4] = [0b11_1000, 0b10_0110, 0b01_0101, 0b00_1011];

/// Which green families are allowed: one edge, two opposite ones, three of a face.
fn is_green(mask: u8) -> bool {
    let opposite = [0b10_0001, 0b01_0010, 0b00_1100];
    mask.count_ones() == 1 || opposite.contains(&mask) || FACE_EDGES.contains(&mask)
}

/// The least allowed set of split edges that contains a set.
fn closed_mask(mut mask: u8) -> u8 {
    for face in FACE_EDGES {
        if (mask & face).count_ones() == 2 {
            mask |= face;
        }
    }
    if mask == 0 || is_green(mask) { mask } else { ALL_EDGES }
}

/// Red tetrahedra that are not split red, and the midpoints of split edges.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// By level.
    leaves: Vec<Vec<RedTet>>,
    split: FxHashSet<NodeKey>,
    /// How many levels have split edges: leaves beyond are whole.
    split_levels: usize,
    /// Midpoints of edges split since [`Forest::take_fresh`].
    fresh: Vec<NodeKey>,
    /// The coarsest level with an edge split since the forest was closed.
    coarsest_split: Option<usize>,
    /// How many leaves of each level, the first ones, went through [`Forest::retain_new`].
    settled: Vec<usize>,
}

/// An element of the refined lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Corners, positively oriented.
    pub nodes: [NodeKey; 4],
    /// The level of the red tetrahedron it is, or is a green part of.
    pub level: u8,
    /// That tetrahedron's place among the leaves of the level.
    pub leaf: u32,
}

impl Forest {
    /// A forest of roots without refinement.
    pub fn new(roots: Vec<RedTet>) -> Self {
        Self { leaves: vec![roots], settled: vec![0], ..Self::default() }
    }

    /// Some of the leaves as a forest of their own, without split edges.
    pub fn sample(&self, is_wanted: impl Fn(&RedTet) -> bool) -> Self {
        let of_level = |leaves: &Vec<RedTet>| leaves.iter().copied().filter(&is_wanted).collect();
        let leaves: Vec<Vec<RedTet>> = self.leaves.iter().map(of_level).collect();
        Self { settled: leaves.iter().map(Vec::len).collect(), leaves, ..Self::default() }
    }

    /// The red tetrahedra of a level that are not split red.
    pub fn leaves(&self, level: usize) -> &[RedTet] {
        self.leaves.get(level).map_or(&[], Vec::as_slice)
    }

    /// All red tetrahedra that are not split red.
    pub fn all_leaves(&self) -> impl Iterator<Item = &RedTet> {
        self.leaves.iter().flatten()
    }

    /// How many.
    pub fn leaf_count(&self) -> usize {
        self.leaves.iter().map(Vec::len).sum()
    }

    /// Asks for an edge of a tetrahedron to be split.
    pub fn split_edge(&mut self, tet: &RedTet, [a, b]: [NodeKey; 2]) {
        self.mark(tet.level, midpoint(a, b));
    }

    /// Asks for a tetrahedron to be split red.
    pub fn split_red(&mut self, tet: &RedTet) {
        EDGES.iter().for_each(|&[i, j]| self.mark(tet.level, midpoint(tet.nodes[i], tet.nodes[j])));
    }

    fn mark(&mut self, level: u8, middle: NodeKey) {
        if self.split.insert(middle) {
            self.fresh.push(middle);
            let level = usize::from(level);
            self.split_levels = self.split_levels.max(level + 1);
            self.coarsest_split = Some(self.coarsest_split.map_or(level, |coarsest| coarsest.min(level)));
        }
    }

    /// The midpoints of edges that were split since this was asked: the corners of new leaves are among them.
    pub fn take_fresh(&mut self) -> Vec<NodeKey> {
        std::mem::take(&mut self.fresh)
    }

    /// Lets go of leaves that are new since this was asked.
    pub fn retain_new(&mut self, keep: impl Fn(&RedTet) -> bool + Sync) {
        for (leaves, settled) in self.leaves.iter_mut().zip(&mut self.settled) {
            let fresh = &leaves[*settled..];
            let kept: Vec<RedTet> = fresh.par_iter().with_min_len(1024).filter(|tet| keep(tet)).copied().collect();
            leaves.truncate(*settled);
            leaves.extend(kept);
            *settled = leaves.len();
        }
    }

    /// Splits until only allowed families are left.
    pub fn close(&mut self) {
        // A split edge matters to leaves of its level and, as half an edge, to those of the level above.
        let Some(coarsest) = self.coarsest_split.take() else { return };
        let mut from = coarsest.saturating_sub(1);
        loop {
            while let Some(coarsest) = self.complete_masks(from) {
                from = from.min(coarsest.saturating_sub(1));
            }
            self.coarsest_split = None;
            let Some(coarsest) = self.split_complete(from) else { return };
            from = coarsest.saturating_sub(1);
        }
    }

    /// Adds the midpoints that leaves lack for an allowed set; the coarsest level where any was added.
    fn complete_masks(&mut self, from: usize) -> Option<usize> {
        let split = &self.split;
        let missing = |tet: &RedTet| {
            let level = tet.level;
            let middles = EDGES.map(|[i, j]| midpoint(tet.nodes[i], tet.nodes[j]));
            let mask = self.mask(&middles);
            let wanted = match closed_mask(mask) {
                0 => 0,
                green if green != ALL_EDGES && self.is_split_below(tet, &middles, mask) => ALL_EDGES,
                closed => closed,
            };
            (0..6).filter(move |&edge| (wanted & !mask) >> edge & 1 == 1).map(move |edge| (level, middles[edge]))
        };
        let found: Vec<(u8, NodeKey)> = (self.leaves[from..self.split_levels].par_iter())
            .flat_map(|leaves| leaves.par_iter().with_min_len(1024).flat_map_iter(missing))
            .filter(|(_, middle)| !split.contains(middle))
            .collect();
        found.iter().for_each(|&(level, middle)| self.mark(level, middle));
        found.iter().map(|(level, _)| usize::from(*level)).min()
    }

    fn mask(&self, middles: &[NodeKey; 6]) -> u8 {
        (0..6).fold(0, |mask, edge| mask | u8::from(self.split.contains(&middles[edge])) << edge)
    }

    /// Whether an edge of a child on the border of a tetrahedron is split: half an edge, or a side of a face's middle
    /// triangle.
    fn is_split_below(&self, tet: &RedTet, middles: &[NodeKey; 6], mask: u8) -> bool {
        if self.split_levels <= usize::from(tet.level) + 1 {
            return false;
        }
        let split = |a: NodeKey, b: NodeKey| self.split.contains(&midpoint(a, b));
        let halves = (0..6).filter(|&edge| mask >> edge & 1 == 1).any(|edge| {
            let [i, j] = EDGES[edge];
            split(tet.nodes[i], middles[edge]) || split(middles[edge], tet.nodes[j])
        });
        let faces = || {
            FACE_EDGES.into_iter().filter(|face| mask & face == *face).any(|face| {
                let mut of_face = (0..6).filter(|edge| face >> edge & 1 == 1).map(|edge| middles[edge]);
                match (of_face.next(), of_face.next(), of_face.next()) {
                    (Some(a), Some(b), Some(c)) => split(a, b) || split(b, c) || split(a, c),
                    _ => false,
                }
            })
        };
        halves || faces()
    }

    /// Replaces the leaves with six split edges by their children; the coarsest level where that was so.
    fn split_complete(&mut self, from: usize) -> Option<usize> {
        let mut coarsest = None;
        for level in from..self.split_levels {
            let leaves = std::mem::take(&mut self.leaves[level]);
            let complete =
                |tet: &RedTet| EDGES.iter().all(|&[i, j]| self.split.contains(&midpoint(tet.nodes[i], tet.nodes[j])));
            let flags: Vec<bool> = leaves.par_iter().with_min_len(1024).map(complete).collect();
            if !flags.contains(&true) {
                self.leaves[level] = leaves;
                continue;
            }
            coarsest = coarsest.or(Some(level));
            if self.leaves.len() == level + 1 {
                self.leaves.push(Vec::new());
                self.settled.push(0);
            }
            let settled = &mut self.settled[level];
            *settled -= flags[..*settled].iter().filter(|flag| **flag).count();
            let (parents, rest): (Vec<_>, Vec<_>) = leaves.into_iter().zip(&flags).partition(|(_, flag)| **flag);
            self.leaves[level] = rest.into_iter().map(|(tet, _)| tet).collect();
            let children: Vec<RedTet> =
                (parents.par_iter().with_min_len(256)).flat_map_iter(|(tet, _)| red_children(tet)).collect();
            self.leaves[level + 1].extend(children);
        }
        coarsest
    }

    /// The elements of a closed forest: red leaves as they are, and the green families of the others.
    pub fn elements(&self) -> Vec<Element> {
        let family = |(leaf, tet): (usize, &RedTet)| {
            let middles = EDGES.map(|[i, j]| midpoint(tet.nodes[i], tet.nodes[j]));
            let (level, leaf) = (tet.level, leaf as u32);
            let mask = if usize::from(level) < self.split_levels { self.mask(&middles) } else { 0 };
            green_children(tet.nodes, mask).into_iter().map(move |nodes| Element { nodes, level, leaf })
        };
        let of_level = |leaves: &Vec<RedTet>| -> Vec<Element> {
            leaves.par_iter().enumerate().with_min_len(1024).flat_map_iter(family).collect()
        };
        self.leaves.iter().flat_map(of_level).collect()
    }
}

/// The eight children of a lattice tetrahedron: its corners, and four around the line between its long edges'
/// midpoints.
pub fn red_children(tet: &RedTet) -> [RedTet; 8] {
    let [a, b, c, d] = tet.nodes;
    let [ab, ac, ad, bc, bd, cd] = EDGES.map(|[i, j]| midpoint(tet.nodes[i], tet.nodes[j]));
    [
        [a, ab, ac, ad],
        [ab, b, bc, bd],
        [c, cd, ac, bc],
        [cd, d, ad, bd],
        [ab, cd, ac, ad],
        [ab, cd, ad, bd],
        [ab, cd, bd, bc],
        [ab, cd, bc, ac],
    ]
    .map(|nodes| oriented(tet.level + 1, nodes))
}

/// The green family of a tetrahedron for an allowed set of split edges; the tetrahedron itself for none.
fn green_children(nodes: [NodeKey; 4], mask: u8) -> Vec<[NodeKey; 4]> {
    if let Some(apex) = FACE_EDGES.iter().position(|&face| face == mask) {
        return face_family(nodes, apex);
    }
    let mut family = vec![nodes];
    for (edge, [i, j]) in EDGES.into_iter().enumerate() {
        if mask >> edge & 1 == 1 {
            let middle = midpoint(nodes[i], nodes[j]);
            let halves = |tet: [NodeKey; 4]| {
                [i, j].map(|replaced| {
                    let mut half = tet;
                    half[replaced] = middle;
                    half
                })
            };
            family = family.into_iter().flat_map(halves).collect();
        }
    }
    family
}

/// Three corners and the middle of the face opposite the apex, each joined to the apex.
fn face_family(nodes: [NodeKey; 4], apex: usize) -> Vec<[NodeKey; 4]> {
    let face = OUTWARD_FACES[apex];
    let corner = |at: usize| {
        let mut tet = nodes;
        for other in face.into_iter().filter(|&other| other != at) {
            tet[other] = midpoint(nodes[at], nodes[other]);
        }
        tet
    };
    let mut middle = nodes;
    for (i, at) in face.into_iter().enumerate() {
        middle[at] = midpoint(nodes[at], nodes[face[(i + 1) % 3]]);
    }
    vec![corner(face[0]), corner(face[1]), corner(face[2]), middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tet_mesh::lattice::{Lattice, sixfold_volume, unpack};
    use crate::tet_mesh::quality::aspect_ratio;
    use rustc_hash::FxHashMap;
    use unsnarl_geometry::{Aabb, DVec3};

    /// The tetrahedra of level 0 in the middle of a lattice.
    fn forest(levels: u8) -> Forest {
        let bounds = Aabb { min: DVec3::ZERO, max: DVec3::ONE };
        let lattice = Lattice::covering(&bounds, 1.0 / f64::from(1_u32 << levels), levels).expect("a plain box");
        let near = |tet: &RedTet| {
            tet.nodes.iter().all(|&node| (lattice.position(node) - DVec3::splat(0.5)).abs().max_element() < 1.1)
        };
        Forest::new(lattice.roots(near))
    }

    #[test]
    fn red_children_are_lattice_tetrahedra_of_half_size_that_fill_the_parent() {
        for root in forest(3).all_leaves() {
            let children = red_children(root);
            let volume: i64 = children.iter().map(|child| sixfold_volume(child.nodes)).sum();
            assert_eq!(volume, sixfold_volume(root.nodes));
            for child in children {
                assert_eq!(8 * sixfold_volume(child.nodes), sixfold_volume(root.nodes));
                let squared = |[i, j]: [usize; 2]| {
                    let [a, b] = [child.nodes[i], child.nodes[j]].map(unpack);
                    (0..3).map(|axis| (a[axis] - b[axis]).pow(2)).sum::<i64>()
                };
                let long = squared([0, 1]);
                assert_eq!(squared([2, 3]), long);
                assert!([[0, 2], [0, 3], [1, 2], [1, 3]].iter().all(|&edge| 4 * squared(edge) == 3 * long));
            }
        }
    }

    /// The area of the faces that belong to one tetrahedron only; no face may belong to three.
    fn border_area<'a>(tets: impl Iterator<Item = &'a [NodeKey; 4]>) -> f64 {
        let mut faces: FxHashMap<[NodeKey; 3], usize> = FxHashMap::default();
        for tet in tets {
            for face in OUTWARD_FACES {
                let mut nodes = face.map(|at| tet[at]);
                nodes.sort_unstable();
                *faces.entry(nodes).or_default() += 1;
            }
        }
        assert!(faces.values().all(|&count| count <= 2));
        let area = |nodes: &[NodeKey; 3]| {
            let [a, b, c] = nodes.map(|n| DVec3::from_array(unpack(n).map(|c| c as f64)));
            (b - a).cross(c - a).length()
        };
        faces.iter().filter(|(_, count)| **count == 1).map(|(nodes, _)| area(nodes)).sum()
    }

    /// A T-junction would leave faces alone that overlap others: the area of lone faces would exceed that of the
    /// border.
    fn assert_conforming(forest: &Forest, volume: i64, border: f64) {
        let elements = forest.elements();
        for element in &elements {
            assert!(sixfold_volume(element.nodes) > 0);
            let corners = element.nodes.map(|n| DVec3::from_array(unpack(n).map(|c| c as f64)));
            assert!(aspect_ratio(corners) <= 10.0_f64.sqrt() + 1e-9);
        }
        assert_eq!(elements.iter().map(|element| sixfold_volume(element.nodes)).sum::<i64>(), volume);
        let alone = border_area(elements.iter().map(|element| &element.nodes));
        assert!((alone / border - 1.0).abs() < 1e-9, "{alone} of {border}");
    }

    #[test]
    fn a_thousand_random_refinements_conform_with_exact_volume_and_promised_aspect() {
        let mut state = 12345_u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize
        };
        for _ in 0..1000 {
            let mut forest = forest(3);
            let volume = forest.all_leaves().map(|tet| sixfold_volume(tet.nodes)).sum();
            let border = border_area(forest.all_leaves().map(|tet| &tet.nodes));
            for _ in 0..1 + random() % 4 {
                let leaves: Vec<RedTet> = forest.all_leaves().copied().collect();
                let tet = leaves[random() % leaves.len()];
                if tet.level >= 3 {
                    continue;
                }
                match random() % 2 {
                    0 => forest.split_red(&tet),
                    _ => {
                        let [i, j] = EDGES[random() % 6];
                        forest.split_edge(&tet, [tet.nodes[i], tet.nodes[j]]);
                    }
                }
                forest.close();
            }
            assert_conforming(&forest, volume, border);
        }
    }

    #[test]
    fn masks_close_to_one_edge_two_opposite_three_of_a_face_or_all() {
        for mask in 0..64_u8 {
            let closed = closed_mask(mask);
            assert_eq!(closed & mask, mask);
            assert_eq!(closed_mask(closed), closed);
            assert!(closed == 0 || closed == ALL_EDGES || is_green(closed));
        }
        assert_eq!(closed_mask(0b00_0011), 0b00_1011);
    }
}
