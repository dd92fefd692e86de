//! Inside or outside, by the winding number along the rows of the grid.
//!
//! A closed mesh is cut by every plane of samples, the cuts by every row; walking a row along x, each crossing adds or
//! takes one turn. A sample is inside where the number is at least one. Both triangles of an edge compute the cut of
//! that edge from the same numbers in the same order, and rows belong to half-open intervals between cuts, so no row
//! slips between two triangles.
//!
//! Guarantees: for a closed mesh, self-intersecting or not, the side is that of the exact winding number for every
//! sample further from the surface than rounding. Results do not depend on threads: a layer of blocks is one task.

use super::super::super::grid::BlockCoordinates;
use unsnarl_geometry::DVec3;

/// One layer of blocks: what to cut, and where its samples lie.
pub(super) struct Layer<'a> {
    /// Samples along a block's side.
    pub(super) width: usize,
    /// The first block of the domain.
    pub(super) first: BlockCoordinates,
    /// The number of blocks along x and y.
    pub(super) extent: [u32; 2],
    /// The coordinate of the layer's blocks along z.
    pub(super) z: i32,
    /// The triangles that meet the layer, corners in sample coordinates.
    pub(super) triangles: &'a [[DVec3; 3]],
    /// 1 if the mesh faces outward, -1 if inward.
    pub(super) turn: i32,
    /// The stored blocks of the layer, by y, then by x.
    pub(super) blocks: &'a [BlockCoordinates],
}

/// What the cut of a layer tells beyond the signs of samples.
#[derive(Default)]
pub(super) struct LayerSides {
    /// Blocks that are inside and not stored.
    pub(super) inside: Vec<BlockCoordinates>,
    /// The number of stored blocks of the layer.
    pub(super) block_count: usize,
    /// Stored blocks (by their number in the layer) where the mesh winds more than once, or backwards.
    pub(super) overlapping: Vec<u32>,
}

struct Crossing {
    row: i32,
    x: f64,
    turn: i32,
}

impl Layer<'_> {
    /// Negates the samples that lie inside; `samples` holds the layer's blocks one after the other.
    pub(super) fn apply_sides(&self, samples: &mut [f32]) -> LayerSides {
        let mut sides = LayerSides::default();
        let mut crossings = Vec::new();
        let mut row_starts = Vec::new();
        let mut overlapping = vec![false; self.blocks.len()];
        for plane in 0..self.width {
            self.cut_plane(self.z * self.width as i32 + plane as i32, &mut crossings);
            self.index_rows(&crossings, &mut row_starts);
            self.walk_stored(plane, &crossings, &row_starts, samples, &mut overlapping);
            if plane == 0 {
                self.walk_uniform(&crossings, &row_starts, &mut sides.inside);
            }
        }
        sides.block_count = self.blocks.len();
        sides.overlapping = (0..self.blocks.len() as u32).filter(|&block| overlapping[block as usize]).collect();
        sides
    }

    fn cut_plane(&self, z: i32, crossings: &mut Vec<Crossing>) {
        crossings.clear();
        let height = f64::from(z);
        for corners in self.triangles {
            let mut cuts = [None, None];
            for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                let [from, to] = [corners[from], corners[to]];
                if (from.z <= height) != (to.z <= height) {
                    let rises = from.z <= height;
                    let (low, high) = if rises { (from, to) } else { (to, from) };
                    let along = (height - low.z) / (high.z - low.z);
                    cuts[usize::from(rises)] =
                        Some((low.y + along * (high.y - low.y), low.x + along * (high.x - low.x)));
                }
            }
            if let [Some(falling), Some(rising)] = cuts {
                let (start, end, turn) =
                    if rising.0 < falling.0 { (rising, falling, self.turn) } else { (falling, rising, -self.turn) };
                for row in start.0.ceil() as i32..end.0.ceil() as i32 {
                    let along = (f64::from(row) - start.0) / (end.0 - start.0);
                    crossings.push(Crossing { row, x: start.1 + along * (end.1 - start.1), turn });
                }
            }
        }
        crossings.sort_unstable_by(|a, b| a.row.cmp(&b.row).then(a.x.total_cmp(&b.x)).then(a.turn.cmp(&b.turn)));
    }

    fn index_rows(&self, crossings: &[Crossing], row_starts: &mut Vec<usize>) {
        let first_row = self.first[1] * self.width as i32;
        let row_count = self.extent[1] as usize * self.width;
        row_starts.clear();
        let mut at = 0;
        for row in 0..=row_count {
            while at < crossings.len() && crossings[at].row < first_row + row as i32 {
                at += 1;
            }
            row_starts.push(at);
        }
    }

    fn row<'c>(&self, crossings: &'c [Crossing], row_starts: &[usize], y: i32) -> &'c [Crossing] {
        let row = (y - self.first[1] * self.width as i32) as usize;
        &crossings[row_starts[row]..row_starts[row + 1]]
    }

    fn walk_stored(
        &self,
        plane: usize,
        crossings: &[Crossing],
        row_starts: &[usize],
        samples: &mut [f32],
        overlapping: &mut [bool],
    ) {
        let width = self.width;
        let mut start = 0;
        for block_row in self.blocks.chunk_by(|a, b| a[1] == b[1]) {
            for y in 0..width {
                let row = self.row(crossings, row_starts, block_row[0][1] * width as i32 + y as i32);
                let (mut next, mut winding) = (0, 0);
                for (number, block) in block_row.iter().enumerate() {
                    let number = start + number;
                    let first = block[0] * width as i32;
                    let line = &mut samples[number * width * width * width + width * (y + width * plane)..][..width];
                    for (x, sample) in line.iter_mut().enumerate() {
                        let here = f64::from(first + x as i32);
                        while next < row.len() && row[next].x <= here {
                            winding += row[next].turn;
                            next += 1;
                        }
                        if winding >= 1 {
                            *sample = -*sample;
                        }
                        overlapping[number] |= !(0..=1).contains(&winding);
                    }
                }
            }
            start += block_row.len();
        }
    }

    fn walk_uniform(&self, crossings: &[Crossing], row_starts: &[usize], inside: &mut Vec<BlockCoordinates>) {
        let mut stored = self.blocks.iter().peekable();
        for block_y in self.first[1]..self.first[1] + self.extent[1] as i32 {
            let row = self.row(crossings, row_starts, block_y * self.width as i32);
            let (mut next, mut winding) = (0, 0);
            for block_x in self.first[0]..self.first[0] + self.extent[0] as i32 {
                let block = [block_x, block_y, self.z];
                let here = f64::from(block_x * self.width as i32);
                while next < row.len() && row[next].x <= here {
                    winding += row[next].turn;
                    next += 1;
                }
                let is_stored = stored.next_if(|&&stored| stored == block).is_some();
                if winding >= 1 && !is_stored {
                    inside.push(block);
                }
            }
        }
    }
}

/// Six times the signed volume of a closed mesh: positive if it faces outward.
pub(super) fn signed_volume(corners: &[[DVec3; 3]]) -> f64 {
    corners.iter().map(|[a, b, c]| a.dot(b.cross(*c))).sum()
}
