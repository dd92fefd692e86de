//! One linear condition on the velocities of a few nodes.

use crate::grid::SampleCoordinates;
use unsnarl_geometry::{DMat3, DVec3};

/// `sum weights[i] . u[nodes[i]]`, in 1/s for velocities in m/s. Unused places have weight 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The nodes.
    pub nodes: [u32; 8],
    /// What each counts, 1/m.
    pub weights: [DVec3; 8],
}

impl Row {
    /// What the row makes of velocities.
    #[inline]
    pub fn apply(&self, velocities: &[DVec3]) -> f64 {
        let terms = self.nodes.iter().zip(&self.weights);
        terms.map(|(&node, weight)| weight.dot(velocities[node as usize])).sum()
    }
}

/// Where a corner of a cell lies from its lowest one: bits of its number, x lowest.
#[inline]
pub fn corner_offset(corner: usize) -> SampleCoordinates {
    [(corner & 1) as i32, (corner >> 1 & 1) as i32, (corner >> 2 & 1) as i32]
}

/// The mean of `Q : grad u` over a cell, of the trilinear field between its eight corners. `Q` is symmetric; the
/// identity gives the divergence.
pub fn cell_row(nodes: [u32; 8], directions: DMat3, spacing: f64) -> Row {
    let weights = std::array::from_fn(|corner| {
        let sign = DVec3::from_array(corner_offset(corner).map(|bit| f64::from(2 * bit - 1)));
        directions * sign / (4.0 * spacing)
    });
    Row { nodes, weights }
}

/// `Q : grad u` at a node by central differences over twice the spacing. Nodes come as `[-x, +x, -y, +y, -z, +z]`. It
/// skips the node itself, so odd and even nodes do not hear of each other. (Buffet 2021, 3.3.2)
pub fn central_row(nodes: [u32; 6], directions: DMat3, spacing: f64) -> Row {
    let mut row = Row { nodes: [nodes[0]; 8], weights: [DVec3::ZERO; 8] };
    for (at, &node) in nodes.iter().enumerate() {
        let sign = if at % 2 == 0 { -1.0 } else { 1.0 };
        row.nodes[at] = node;
        row.weights[at] = directions.col(at / 2) * (sign / (2.0 * spacing));
    }
    row
}
