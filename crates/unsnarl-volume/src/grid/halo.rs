//! A block with its surroundings, copied into one array so that stencils need not know of blocks.

use super::{BlockCoordinates, BlockGrid, BlockState};

/// A copy of a block and of a margin around it. Work through a halo is plain array code.
#[derive(Clone, Debug)]
pub struct Halo<T> {
    margin: usize,
    side: usize,
    values: Vec<T>,
}

impl<T: Copy + Send + Sync> Halo<T> {
    /// An empty halo for blocks of a grid; the margin is at most the block width.
    pub fn new(grid: &BlockGrid<T>, margin: usize) -> Self {
        assert!(margin <= grid.width().samples(), "a margin reaches no further than the next block");
        let side = grid.width().samples() + 2 * margin;
        Self { margin, side, values: vec![grid.background().outside; side * side * side] }
    }

    /// Copies a block and its margin.
    pub fn load(&mut self, grid: &BlockGrid<T>, block: BlockCoordinates) {
        for dz in -1..=1 {
            for dy in -1..=1 {
                for dx in -1..=1 {
                    self.load_part(grid, block, [dx, dy, dz]);
                }
            }
        }
    }

    /// Copies a block and what lies across its faces; edges and corners of the margin keep what they held. Enough for
    /// stencils that reach along one axis at a time.
    pub fn load_across_faces(&mut self, grid: &BlockGrid<T>, block: BlockCoordinates) {
        for step in [[0, 0, 0], [-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]] {
            self.load_part(grid, block, step);
        }
    }

    /// Samples along one side, margins included.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The values; x runs fastest.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values, to change.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The distances in the array between neighbours along x, y and z.
    pub fn strides(&self) -> [usize; 3] {
        [1, self.side, self.side * self.side]
    }

    /// The place of a sample of the block itself.
    #[inline]
    pub fn place(&self, local: [usize; 3]) -> usize {
        let [x, y, z] = local.map(|c| c + self.margin);
        x + self.side * (y + self.side * z)
    }

    fn load_part(&mut self, grid: &BlockGrid<T>, block: BlockCoordinates, step: [i32; 3]) {
        let width = grid.width().samples();
        if self.margin == 0 && step != [0, 0, 0] {
            return;
        }
        // Along each axis: where the part starts in the halo, where in the neighbour, and how long it is.
        let spans = step.map(|s| match s {
            -1 => (0, width - self.margin, self.margin),
            0 => (self.margin, 0, width),
            _ => (self.margin + width, 0, self.margin),
        });
        let neighbor = [block[0] + step[0], block[1] + step[1], block[2] + step[2]];
        let state = grid.state(neighbor);
        for z in 0..spans[2].2 {
            for y in 0..spans[1].2 {
                let to = spans[0].0 + self.side * (spans[1].0 + y + self.side * (spans[2].0 + z));
                let row = &mut self.values[to..to + spans[0].2];
                match state {
                    BlockState::Uniform(side) => row.fill(grid.background().on(side)),
                    BlockState::Stored(slot) => {
                        let from = grid.width().place([spans[0].1, spans[1].1 + y, spans[2].1 + z]);
                        // Rows are short: a loop is faster than a call that copies memory.
                        for (to, &from) in row.iter_mut().zip(&grid.block(slot)[from..]) {
                            *to = from;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn a_halo_reads_what_the_grid_reads() {
        let background = Background { outside: -1, inside: -2 };
        let mut grid = BlockGrid::new(BlockWidth::new(6).unwrap(), Domain::Unbounded, background);
        for block in [[0, 0, 0], [1, 0, 0], [0, -1, 0], [1, 1, 1], [-1, -1, -1]] {
            let slot = grid.store(block);
            for (place, value) in grid.block_mut(slot).iter_mut().enumerate() {
                *value = slot.0 as i32 * 1000 + place as i32;
            }
        }
        grid.set_side([0, 1, 0], Side::Inside);
        let mut halo = Halo::new(&grid, 3);
        halo.load(&grid, [0, 0, 0]);
        for z in -3..9 {
            for y in -3..9 {
                for x in -3..9_i32 {
                    let place = (x + 3) as usize + 12 * ((y + 3) as usize + 12 * (z + 3) as usize);
                    assert_eq!(halo.values()[place], grid.sample([x, y, z]));
                }
            }
        }
    }
}
