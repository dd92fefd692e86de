//! The grid of one step of the field as NRRD, which ParaView and Slicer open.
//!
//! The box of all nodes is dense, six `f32` per node: density, the three components of velocity (m/s), 1 where the cell
//! above the node has a row, and the row's impulse (kg m²/s). Nodes that are not stored are zero.

use crate::write_atomically;
use std::path::Path;
use thiserror::Error;
use unsnarl::contact::FieldGrid;

/// The most nodes of a dense box.
const DENSE_LIMIT: u64 = 1 << 28;

/// Why a grid cannot be written.
#[derive(Debug, Error)]
pub enum FieldFileError {
    /// The box of all nodes is too large.
    #[error("{path}: the box around all voxels has {nodes} nodes; at most {DENSE_LIMIT} can be written")]
    TooDense {
        /// The file.
        path: String,
        /// How many there would be.
        nodes: u64,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::WriteError),
}

/// Writes the grid of a step.
pub fn write_nrrd(path: &Path, grid: &FieldGrid) -> Result<(), FieldFileError> {
    let nodes = grid.nodes.nodes();
    let bound = |axis: usize, pick: fn(i32, i32) -> i32| nodes.iter().map(|node| node[axis]).reduce(pick).unwrap_or(0);
    let low = [0, 1, 2].map(|axis| bound(axis, i32::min));
    let sizes = [0, 1, 2].map(|axis| (bound(axis, i32::max) - low[axis] + 1) as u64);
    let count: u64 = sizes.iter().product();
    if count > DENSE_LIMIT {
        return Err(FieldFileError::TooDense { path: path.display().to_string(), nodes: count });
    }
    let (h, origin) = (grid.nodes.spacing(), grid.nodes.position(low));
    let header = format!(
        "NRRD0004\n# density, velocity x y z in m/s, constrained, impulse in kg m^2/s\ntype: float\ndimension: 4\n\
         space dimension: 3\nsizes: 6 {} {} {}\nspace directions: none ({h},0,0) (0,{h},0) (0,0,{h})\n\
         kinds: vector domain domain domain\nendian: little\nencoding: raw\nspace origin: ({},{},{})\n\n",
        sizes[0], sizes[1], sizes[2], origin.x, origin.y, origin.z
    );
    let mut values = vec![[0.0_f32; 6]; count as usize];
    for (number, node) in nodes.iter().enumerate() {
        let [x, y, z] = [0, 1, 2].map(|axis| (node[axis] - low[axis]) as u64);
        let velocity = grid.velocities[number];
        let of_node = [
            grid.density[number],
            velocity.x,
            velocity.y,
            velocity.z,
            f64::from(u8::from(grid.is_constrained[number])),
            grid.pressures[number],
        ];
        values[(x + sizes[0] * (y + sizes[1] * z)) as usize] = of_node.map(|value| value as f32);
    }
    let mut bytes = header.into_bytes();
    bytes.extend(values.iter().flatten().flat_map(|value| value.to_le_bytes()));
    Ok(write_atomically(path, &bytes)?)
}
