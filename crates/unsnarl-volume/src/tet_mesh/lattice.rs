//! The body-centred cubic lattice on integers. (Bridson 2003, 5.2)
//!
//! Two cubic grids of side `a`, shifted by half a cell. A tetrahedron is an axis edge of one grid and one of the other
//! that it passes at right angles: twelve to a cell, all congruent.
//!
//! Guarantees: nodes are whole numbers of the unit, so midpoints are exact for every level that [`Lattice`] was made
//! for and nodes are found by comparing integers. No floating-point geometry decides what is connected to what.

use thiserror::Error;
use unsnarl_geometry::{Aabb, DVec3};

/// A node: three coordinates of 21 bits each. The sum of two keys halved is the key of the midpoint.
pub type NodeKey = u64;

/// Bits of one coordinate.
const BITS: u32 = 21;
/// The largest coordinate.
const LARGEST: u64 = (1 << BITS) - 1;
/// Levels beyond those asked for that repairs may use.
pub const REPAIR_LEVELS: u8 = 2;
/// Those, and the midpoints of their edges.
const SPARE_LEVELS: u32 = REPAIR_LEVELS as u32 + 1;

/// Packs coordinates.
pub fn pack([x, y, z]: [u64; 3]) -> NodeKey {
    x | y << BITS | z << (2 * BITS)
}

/// The coordinates of a node.
pub fn unpack(key: NodeKey) -> [i64; 3] {
    [key & LARGEST, key >> BITS & LARGEST, key >> (2 * BITS)].map(|c| c as i64)
}

/// The middle of two nodes whose coordinates differ by even numbers.
pub fn midpoint(a: NodeKey, b: NodeKey) -> NodeKey {
    (a + b) >> 1
}

/// A lattice tetrahedron: corners 0 and 1 are one long edge, 2 and 3 the other; positively oriented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RedTet {
    /// How often it was halved.
    pub level: u8,
    /// The corners.
    pub nodes: [NodeKey; 4],
}

/// Why a body cannot be tiled.
#[derive(Debug, Error, PartialEq)]
pub enum LatticeError {
    /// The edge is no length.
    #[error("the edge length is {0}: expected a positive number of metres")]
    Edge(f64),
    /// The body has no size.
    #[error("the body has no extent: there is nothing to fill")]
    NoExtent,
    /// Too many cells for the integers or for memory.
    #[error("an edge of {edge} m is too small for a body of {extent} m: use a larger one")]
    TooFine {
        /// The edge asked for.
        edge: f64,
        /// The longest side of the body.
        extent: f64,
    },
}

/// Where the lattice lies in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// The position of the node 0, 0, 0.
    pub origin: DVec3,
    /// Metres per integer.
    pub unit: f64,
    /// The side of a cell at level 0, in integers.
    side: u64,
    /// Cells along each axis.
    cells: [u64; 3],
}

impl Lattice {
    /// A lattice around a box whose cells at level `levels` have the side `edge`.
    pub fn covering(bounds: &Aabb, edge: f64, levels: u8) -> Result<Self, LatticeError> {
        if !(edge.is_finite() && edge > 0.0) {
            return Err(LatticeError::Edge(edge));
        }
        let extent = bounds.extent();
        if bounds.is_empty() || !extent.is_finite() || extent.max_element() <= 0.0 {
            return Err(LatticeError::NoExtent);
        }
        let side = 1_u64 << (u32::from(levels) + SPARE_LEVELS + 1);
        let cell = edge * f64::from(1_u32 << levels);
        // Two cells on every side at level 0 leave room for elements that repairs add.
        let cells = (extent / cell).to_array().map(|count| count.ceil() + 4.0);
        let too_fine = LatticeError::TooFine { edge, extent: extent.max_element() };
        if cells.iter().any(|&count| count * side as f64 > LARGEST as f64) || cells.iter().product::<f64>() > 2e8 {
            return Err(too_fine);
        }
        let spread = DVec3::from_array(cells) * cell;
        let origin = bounds.center() - 0.5 * spread;
        Ok(Self { origin, unit: cell / side as f64, side, cells: cells.map(|count| count as u64) })
    }

    /// Where a node lies.
    pub fn position(&self, node: NodeKey) -> DVec3 {
        let [x, y, z] = unpack(node).map(|c| c as f64);
        self.origin + self.unit * DVec3::new(x, y, z)
    }

    /// The length of the longest edge of a red tetrahedron at a level, metres.
    pub fn edge_length(&self, level: u8) -> f64 {
        self.unit * (self.side >> level) as f64
    }

    /// The number of tetrahedra at level 0 before any is discarded.
    pub fn root_count(&self) -> f64 {
        12.0 * self.cells.iter().map(|&count| count as f64).product::<f64>()
    }

    /// The tetrahedra of level 0 that `keep` wants: four around every axis edge of the grid of corners that is inside.
    pub fn roots(&self, keep: impl Fn(&RedTet) -> bool) -> Vec<RedTet> {
        let mut kept = Vec::new();
        for z in 0..self.cells[2] {
            for y in 0..self.cells[1] {
                for x in 0..self.cells[0] {
                    kept.extend(self.roots_of_cell([x, y, z]).filter(|tet| keep(tet)));
                }
            }
        }
        kept
    }

    /// Four tetrahedra around each of the three axis edges that start in a corner; none on the lattice's lower faces.
    fn roots_of_cell(&self, cell: [u64; 3]) -> impl Iterator<Item = RedTet> + use<> {
        let (side, half) = (self.side, self.side / 2);
        (0..3).filter(move |&axis| cell[(axis + 1) % 3] > 0 && cell[(axis + 2) % 3] > 0).flat_map(move |axis| {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let start = cell.map(|c| c * side);
            let mut end = start;
            end[axis] += side;
            let mut center = start;
            center[axis] += half;
            // Centres of the four cells around the edge, in a ring.
            let ring = [(1, 1), (0, 1), (0, 0), (1, 0)].map(|(up, vp)| {
                let mut at = center;
                at[u] = if up == 1 { at[u] + half } else { at[u] - half };
                at[v] = if vp == 1 { at[v] + half } else { at[v] - half };
                pack(at)
            });
            let (start, end) = (pack(start), pack(end));
            (0..4).map(move |i| oriented(0, [start, end, ring[i], ring[(i + 1) % 4]]))
        })
    }
}

/// Six times the volume in cubes of the unit, exact.
pub fn sixfold_volume(nodes: [NodeKey; 4]) -> i64 {
    let [a, b, c, d] = nodes.map(unpack);
    let [b, c, d] = [b, c, d].map(|p| [p[0] - a[0], p[1] - a[1], p[2] - a[2]]);
    b[0] * (c[1] * d[2] - c[2] * d[1]) - b[1] * (c[0] * d[2] - c[2] * d[0]) + b[2] * (c[0] * d[1] - c[1] * d[0])
}

/// A tetrahedron with its last corners swapped where it would be negative.
pub fn oriented(level: u8, nodes: [NodeKey; 4]) -> RedTet {
    let [a, b, c, d] = nodes;
    let nodes = if sixfold_volume(nodes) < 0 { [a, b, d, c] } else { nodes };
    RedTet { level, nodes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tet_mesh::{EDGES, OUTWARD_FACES};
    use rustc_hash::FxHashMap;

    fn lattice() -> Lattice {
        let bounds = Aabb { min: DVec3::ZERO, max: DVec3::splat(2.0) };
        Lattice::covering(&bounds, 0.5, 1).expect("a plain box")
    }

    #[test]
    fn tetrahedra_have_two_long_edges_right_volume_and_angles_of_60_and_90_degrees() {
        let lattice = lattice();
        let roots = lattice.roots(|_| true);
        let side = lattice.side as i64;
        for tet in &roots {
            assert_eq!(sixfold_volume(tet.nodes), side.pow(3) / 2);
            let p = tet.nodes.map(|node| lattice.position(node));
            let length = |[i, j]: [usize; 2]| p[i].distance(p[j]);
            for edge in [[0, 1], [2, 3]] {
                assert!((length(edge) - 1.0).abs() < 1e-12);
            }
            for edge in &EDGES[1..5] {
                assert!((length(*edge) - 0.75_f64.sqrt()).abs() < 1e-12);
            }
            let normals = OUTWARD_FACES.map(|f| (p[f[1]] - p[f[0]]).cross(p[f[2]] - p[f[0]]).normalize());
            for [i, j] in EDGES {
                let angle = 180.0 - normals[i].angle_between(normals[j]).to_degrees();
                assert!((angle - 60.0).abs() < 1e-9 || (angle - 90.0).abs() < 1e-9, "{angle}");
            }
        }
    }

    #[test]
    fn inner_nodes_have_degree_14_and_inner_faces_two_tetrahedra() {
        let lattice = lattice();
        let roots = lattice.roots(|_| true);
        let mut neighbours: FxHashMap<NodeKey, Vec<NodeKey>> = FxHashMap::default();
        let mut faces: FxHashMap<[NodeKey; 3], usize> = FxHashMap::default();
        for tet in &roots {
            for [i, j] in EDGES {
                neighbours.entry(tet.nodes[i]).or_default().push(tet.nodes[j]);
                neighbours.entry(tet.nodes[j]).or_default().push(tet.nodes[i]);
            }
            for face in OUTWARD_FACES {
                let mut nodes = face.map(|at| tet.nodes[at]);
                nodes.sort_unstable();
                *faces.entry(nodes).or_default() += 1;
            }
        }
        assert!(faces.values().all(|&count| count <= 2));
        let center = pack([3, 3, 3].map(|c| c * lattice.side));
        for node in [center, center + pack([lattice.side / 2; 3])] {
            let mut ring = neighbours[&node].clone();
            ring.sort_unstable();
            ring.dedup();
            assert_eq!(ring.len(), 14);
        }
    }

    #[test]
    fn midpoints_of_keys_are_midpoints_of_coordinates() {
        let (a, b) = ([3, 2_000_000, 4], [9, 1_999_998, 2_097_150]);
        assert_eq!(unpack(midpoint(pack(a), pack(b))), [6, 1_999_999, 1_048_577]);
    }

    #[test]
    fn edges_that_are_no_length_or_far_too_small_are_refused() {
        let bounds = Aabb { min: DVec3::ZERO, max: DVec3::ONE };
        assert!(matches!(Lattice::covering(&bounds, 0.0, 3), Err(LatticeError::Edge(_))));
        assert!(matches!(Lattice::covering(&bounds, f64::NAN, 3), Err(LatticeError::Edge(_))));
        assert!(matches!(Lattice::covering(&bounds, 1e-9, 3), Err(LatticeError::TooFine { .. })));
        assert_eq!(Lattice::covering(&Aabb::EMPTY, 1.0, 3), Err(LatticeError::NoExtent));
    }
}
