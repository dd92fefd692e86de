//! Surface nets of one block: the polygons of the crossed edges that start in it.
//!
//! Cells beside the block are computed from the same samples as in the neighbour, so vertices that two blocks share have
//! the same bits and there are no cracks. (Bridson 2003, 6.2 makes the nets of near blocks anew for every frame.)
//!
//! Guarantees: the meshes of all blocks together have the triangles of [`super::Extraction::SurfaceNets`], vertex for
//! vertex. A change of a block changes its own mesh and those of the blocks up to one step below or above it.

use super::cases::CASES;
use super::cells::{ActiveCell, active_cell};
use super::surface_nets::{Cells, cell_polygons, cell_vertices, triangulate};
use crate::grid::{BlockCoordinates, Halo, SampleCoordinates};
use crate::level_set::LevelSet;
use crate::level_set::query::trilinear;
use unsnarl_geometry::DVec3;

/// The surface in a block, border vertices included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMesh {
    /// Where the vertices are.
    pub positions: Vec<DVec3>,
    /// Gradients there: outward, of any length.
    pub normals: Vec<DVec3>,
    /// The triangles.
    pub triangles: Vec<[u32; 3]>,
}

/// Makes meshes of blocks, with memory that it keeps from one to the next.
pub struct BlockMesher<'a> {
    level_set: &'a LevelSet,
    halo: Halo<f32>,
    /// The cells of the block and those one step below it, by place; `NONE` where the surface does not pass.
    first_vertex: Vec<u32>,
    patterns: Vec<u8>,
    cells: Vec<(SampleCoordinates, ActiveCell)>,
    /// The first corner of the first cell.
    base: SampleCoordinates,
    side: usize,
}

const NONE: u32 = u32::MAX;

impl Cells for BlockMesher<'_> {
    fn find(&self, sample: SampleCoordinates) -> (u32, u8) {
        let [x, y, z] = [0, 1, 2].map(|axis| (sample[axis] - self.base[axis]) as usize);
        let place = x + self.side * (y + self.side * z);
        (self.first_vertex[place], self.patterns[place])
    }
}

impl<'a> BlockMesher<'a> {
    /// For blocks of a level set.
    pub fn new(level_set: &'a LevelSet) -> Self {
        let side = level_set.grid.width().samples() + 1;
        let volume = side * side * side;
        Self {
            level_set,
            halo: Halo::new(&level_set.grid, 1),
            first_vertex: vec![NONE; volume],
            patterns: vec![0; volume],
            cells: Vec::new(),
            base: [0; 3],
            side,
        }
    }

    /// The level set.
    pub fn level_set(&self) -> &'a LevelSet {
        self.level_set
    }

    /// The surface in a block; empty where there is none.
    pub fn mesh(&mut self, block: BlockCoordinates) -> BlockMesh {
        let mut mesh = BlockMesh::default();
        self.find_cells(block);
        let own = self.own_cells();
        if !self.cells.iter().any(|(sample, _)| own(*sample)) {
            return mesh;
        }
        let mut polygons = Vec::new();
        for (sample, cell) in self.cells.iter().filter(|(sample, _)| own(*sample)) {
            cell_polygons(self.level_set, self, *sample, cell, &mut polygons);
        }
        for (sample, cell) in &self.cells {
            self.push_vertices(*sample, cell, &mut mesh);
        }
        mesh.triangles = triangulate(polygons, &mut mesh.positions);
        self.drop_unused(&mut mesh);
        for at in mesh.normals.len()..mesh.positions.len() {
            mesh.normals.push(self.level_set.gradient(mesh.positions[at]));
        }
        mesh
    }

    /// One vertex with its normal for each loop of the block's own cells.
    pub fn vertices(&mut self, block: BlockCoordinates) -> BlockMesh {
        self.find_cells(block);
        let own = self.own_cells();
        let mut mesh = BlockMesh::default();
        for (sample, cell) in self.cells.iter().filter(|(sample, _)| own(*sample)) {
            self.push_vertices(*sample, cell, &mut mesh);
        }
        mesh
    }

    /// Loops of the surface through the own cells of the block that was meshed last.
    pub fn own_cell_count(&self) -> usize {
        let own = self.own_cells();
        let loops = |cell: &ActiveCell| CASES[cell.pattern as usize].loops.len();
        self.cells.iter().filter(|(sample, _)| own(*sample)).map(|(_, cell)| loops(cell)).sum()
    }

    /// Whether a cell starts in the block itself.
    fn own_cells(&self) -> impl Fn(SampleCoordinates) -> bool + use<> {
        let base = self.base;
        move |sample| (0..3).all(|axis| sample[axis] > base[axis])
    }

    fn find_cells(&mut self, block: BlockCoordinates) {
        let width = self.level_set.grid.width();
        self.base = block.map(|b| width.first_sample(b) - 1);
        self.cells.clear();
        self.first_vertex.fill(NONE);
        self.halo.load(&self.level_set.grid, block);
        let mut count = 0;
        for z in 0..self.side {
            for y in 0..self.side {
                for x in 0..self.side {
                    let at = x + self.halo.side() * (y + self.halo.side() * z);
                    let Some(cell) = active_cell(&self.halo, at, 0) else { continue };
                    let place = x + self.side * (y + self.side * z);
                    self.first_vertex[place] = count;
                    self.patterns[place] = cell.pattern;
                    count += CASES[cell.pattern as usize].loops.len() as u32;
                    let steps = [x, y, z];
                    self.cells.push(([0, 1, 2].map(|axis| self.base[axis] + steps[axis] as i32), cell));
                }
            }
        }
    }

    fn push_vertices(&self, sample: SampleCoordinates, cell: &ActiveCell, mesh: &mut BlockMesh) {
        let frame = self.level_set.frame;
        let corner = frame.position(sample);
        for position in cell_vertices(self.level_set, sample, cell) {
            mesh.positions.push(position);
            mesh.normals.push(trilinear(&cell.corners, (position - corner) / frame.spacing).1);
        }
    }

    /// Leaves out vertices of cells beside the block that no triangle of the block uses.
    fn drop_unused(&self, mesh: &mut BlockMesh) {
        let mut number = vec![NONE; mesh.positions.len()];
        mesh.triangles.iter().flatten().for_each(|&vertex| number[vertex as usize] = 0);
        let mut count = 0;
        for at in 0..number.len() {
            if number[at] == NONE {
                continue;
            }
            number[at] = count as u32;
            mesh.positions[count] = mesh.positions[at];
            if let Some(&normal) = mesh.normals.get(at) {
                mesh.normals[count] = normal;
            }
            count += 1;
        }
        let kept = number[..mesh.normals.len()].iter().filter(|&&number| number != NONE).count();
        mesh.positions.truncate(count);
        mesh.normals.truncate(kept);
        mesh.triangles.iter_mut().flatten().for_each(|vertex| *vertex = number[*vertex as usize]);
    }
}

impl LevelSet {
    /// The surface nets of one block; see the module. For many blocks, keep a [`BlockMesher`].
    pub fn block_mesh(&self, block: BlockCoordinates) -> BlockMesh {
        BlockMesher::new(self).mesh(block)
    }
}
