//! The marching variant: a vertex on every crossed edge, a polygon for every loop of a cell.
//!
//! Loops of three and four edges are cut without a new vertex; longer ones get one in their middle, so that no cut lies
//! in a face where the neighbour could make the same one.

use super::cases::CASES;
use super::cells::{ActiveCell, ActiveCells};
use crate::level_set::LevelSet;
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, TriMesh};

/// A crossed edge: three times the place of its first sample, plus its axis.
type EdgeKey = u32;

struct Marching<'a> {
    level_set: &'a LevelSet,
    cells: &'a ActiveCells,
    /// For each block, the crossed edges that start in it, sorted.
    edges: Vec<Vec<EdgeKey>>,
    /// For each block, the number of its first vertex.
    first_vertex: Vec<u32>,
}

pub(super) fn mesh(level_set: &LevelSet, cells: &ActiveCells) -> TriMesh {
    let edges: Vec<Vec<EdgeKey>> = cells
        .cells
        .par_iter()
        .map(|block| block.iter().flat_map(|cell| own_axes(cell).map(|axis| 3 * cell.place + axis as u32)).collect())
        .collect();
    let mut count = 0;
    let first_vertex = edges
        .iter()
        .map(|block| {
            let first = count;
            count += block.len() as u32;
            first
        })
        .collect();
    let marching = Marching { level_set, cells, edges, first_vertex };
    let blocks = 0..cells.blocks.len();
    let mut positions: Vec<DVec3> =
        blocks.clone().into_par_iter().flat_map_iter(|block| marching.vertices(block)).collect();
    let polygons: Vec<Vec<u32>> = blocks.into_par_iter().flat_map_iter(|block| marching.polygons(block)).collect();
    let mut triangles = Vec::with_capacity(2 * polygons.len());
    for ring in polygons {
        match ring[..] {
            [a, b, c] => triangles.push([a, b, c]),
            [a, b, c, d] => triangles.extend([[a, b, c], [a, c, d]]),
            _ => {
                let sum: DVec3 = ring.iter().map(|&vertex| positions[vertex as usize]).sum();
                let center = positions.len() as u32;
                positions.push(sum / ring.len() as f64);
                triangles.extend((0..ring.len()).map(|i| [ring[i], ring[(i + 1) % ring.len()], center]));
            }
        }
    }
    TriMesh { positions, triangles }
}

/// The axes along which an edge from the first corner of a cell is crossed.
fn own_axes(cell: &ActiveCell) -> impl Iterator<Item = usize> {
    let pattern = cell.pattern;
    (0..3).filter(move |axis| (pattern & 1) != (pattern >> (1 << axis) & 1))
}

impl Marching<'_> {
    fn vertices(&self, block: usize) -> Vec<DVec3> {
        let mut positions = Vec::with_capacity(self.edges[block].len());
        for cell in &self.cells.cells[block] {
            let corner = self.level_set.frame.position(self.cells.sample(self.level_set, block, cell));
            positions
                .extend(own_axes(cell).map(|axis| corner + self.level_set.frame.spacing * cell.crossing(4 * axis)));
        }
        positions
    }

    fn polygons(&self, block: usize) -> Vec<Vec<u32>> {
        let mut polygons = Vec::new();
        for cell in &self.cells.cells[block] {
            let sample = self.cells.sample(self.level_set, block, cell);
            for edges in &CASES[cell.pattern as usize].loops {
                polygons.push(edges.iter().map(|&edge| self.vertex(sample, edge as usize)).collect());
            }
        }
        polygons
    }

    fn vertex(&self, sample: [i32; 3], edge: usize) -> u32 {
        let axis = edge / 4;
        let mut start = sample;
        start[(axis + 1) % 3] += (edge & 1) as i32;
        start[(axis + 2) % 3] += (edge >> 1 & 1) as i32;
        let grid = &self.level_set.grid;
        let (block, local) = grid.split(start);
        let key = 3 * grid.width().place(local) as u32 + axis as u32;
        let block = self.cells.blocks.binary_search(&block).expect("the block of a crossed edge was looked at");
        let edge = self.edges[block].binary_search(&key).expect("a crossed edge has a vertex");
        self.first_vertex[block] + edge as u32
    }
}
