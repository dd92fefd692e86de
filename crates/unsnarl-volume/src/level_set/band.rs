//! Keeping the band: distances restored after an edit, blocks stored ahead of the surface and released behind it.
//!
//! Samples beside a change of sign are divided by the slope there, so that a distance stays as it is; all others start
//! from the half width and are swept. Blocks that the band can reach are stored first; blocks without a sample in
//! the band are released to their side. (Bridson 2003, 6.1)
//!
//! Guarantees: signs never change, so the surface moves by less than a sample; the band holds every sample nearer than
//! the half width; sheets that separate inside from inside vanish.

use super::LevelSet;
use super::eikonal::fast_sweeping::Known;
use super::eikonal::{fast_marching, fast_sweeping, front, pde};
use super::history::Journal;
use crate::grid::{Background, BlockCoordinates, BlockGrid, BlockSlot, BlockWidth, Halo, Side};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// How distances are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reinitialization {
    /// Coupled sweeps: first order, the fastest, in parallel.
    #[default]
    FastSweeping,
    /// Fast marching: first order, on one thread.
    FastMarching,
    /// Sweeps, then a differential equation of fifth order run to rest: for curvature and for many steps in a row.
    FifthOrder,
}

impl LevelSet {
    /// Makes the function a distance again, everywhere in the band, and renews the blocks.
    pub fn reinitialize(&mut self, method: Reinitialization) {
        self.far = None;
        let all: Vec<BlockCoordinates> = self.grid.blocks().to_vec();
        self.restore(&all, method, Trust::Interface, &mut Journal::off());
    }

    /// Widens or narrows the band.
    pub fn set_half_width(&mut self, half_width: f64, method: Reinitialization) {
        let wider = half_width > self.half_width;
        self.far = None;
        let known = self.grid.background().outside;
        self.half_width = half_width;
        let outside = half_width as f32;
        self.grid.set_background(Background { outside, inside: -outside });
        self.grid.samples_mut().par_iter_mut().for_each(|value| {
            if value.abs() >= known.min(outside) {
                *value = outside.copysign(*value);
            }
        });
        if !wider {
            self.release_empty(None, &mut Journal::off());
            return;
        }
        match method {
            Reinitialization::FastMarching => {
                fast_marching::march(&mut self.grid, self.frame.spacing, |value| value.abs() < known);
            }
            Reinitialization::FastSweeping | Reinitialization::FifthOrder => {
                let reach = (half_width / self.frame.spacing).ceil() as i32 + 1;
                let blocks: Vec<BlockCoordinates> = self.grid.blocks().to_vec();
                let corrected = self.corrected(&blocks, Trust::Interface);
                let boxes: Vec<_> = corrected.into_iter().flatten().filter_map(|block| block.interface).collect();
                for block in blocks_around(self.grid.width(), &boxes, reach) {
                    self.grid.store(block);
                }
                let slots = all_slots(&self.grid);
                let rounds = rounds(&self.grid, reach);
                let spacing = self.frame.spacing;
                fast_sweeping::sweep(&mut self.grid, &slots, spacing, rounds, Known::Below(known));
                if method == Reinitialization::FifthOrder {
                    pde::relax(&mut self.grid, self.frame.spacing, 2 * reach as usize, known);
                }
            }
        }
        self.release_empty(None, &mut Journal::off());
    }

    /// Makes the function a distance again within some blocks and those that the band reaches from them.
    pub(super) fn restore(
        &mut self,
        blocks: &[BlockCoordinates],
        method: Reinitialization,
        trust: Trust,
        journal: &mut Journal,
    ) {
        let spacing = self.frame.spacing;
        let reach = (self.half_width / spacing).ceil() as i32 + 1;
        let rounds = rounds(&self.grid, reach);
        let corrected = self.corrected(blocks, trust);
        let mut slots = Vec::with_capacity(blocks.len());
        let mut known = Vec::with_capacity(blocks.len());
        let mut starts = Vec::with_capacity(blocks.len());
        let mut steep = false;
        let mut boxes = Vec::with_capacity(blocks.len());
        let mut beside = BTreeSet::new();
        for (block, corrected) in blocks.iter().zip(corrected) {
            let (Some(corrected), Some(slot)) = (corrected, self.grid.slot(*block)) else { continue };
            journal.note(&self.grid, *block);
            self.grid.block_mut(slot).copy_from_slice(&corrected.samples);
            slots.push(slot);
            boxes.extend(corrected.interface);
            beside.extend(corrected.blocks_beside(*block));
            known.push(corrected.known);
            starts.push(corrected.unknown);
            steep |= corrected.steep;
        }
        // A band wider than a block reaches past the blocks beside; then boxes are near enough.
        let wide = self.half_width > (self.grid.width().samples() - 1) as f64 * spacing;
        let needed = if wide { blocks_around(self.grid.width(), &boxes, reach) } else { beside };
        for block in needed {
            if self.grid.slot(block).is_none() {
                slots.push(journal.store(&mut self.grid, block));
                known.push(vec![false; self.grid.width().volume()]);
                starts.push(Vec::new());
            }
        }
        let touched: Vec<BlockCoordinates> = slots.iter().map(|slot| self.grid.blocks()[slot.index()]).collect();
        match method {
            Reinitialization::FastMarching => {
                let edge = self.grid.background().outside;
                fast_marching::march(&mut self.grid, spacing, |value| value.abs() < edge);
            }
            Reinitialization::FastSweeping if trust == Trust::Neighborhood => {
                // What is known touches nothing beyond the band, unless the function leaps across it.
                if steep {
                    starts = front::all_starts(&self.grid, &slots, &known, spacing);
                }
                let blocks = front::Unfinished { slots: &slots, known: &known, starts: &starts };
                front::advance(&mut self.grid, blocks, spacing);
            }
            Reinitialization::FastSweeping => {
                fast_sweeping::sweep(&mut self.grid, &slots, spacing, rounds, Known::Masks(&known));
            }
            Reinitialization::FifthOrder => {
                fast_sweeping::sweep(&mut self.grid, &slots, spacing, rounds, Known::Masks(&known));
                pde::relax(&mut self.grid, spacing, 2 * reach as usize, 0.0);
            }
        }
        self.release_empty(Some(&touched), journal);
    }

    /// New samples for blocks: where the function can be trusted, the value over the slope; elsewhere, the half width.
    fn corrected(&self, blocks: &[BlockCoordinates], trust: Trust) -> Vec<Option<Corrected>> {
        let grid = &self.grid;
        let edge = grid.background().outside;
        let spacing = self.frame.spacing as f32;
        let width = grid.width().samples();
        let reach_squared = (self.half_width / self.frame.spacing).powi(2);
        let correct = |(halo, slopes): &mut (Halo<f32>, Slopes), block: BlockCoordinates| {
            grid.slot(block)?;
            halo.load_across_faces(grid, block);
            let first = block.map(|b| grid.width().first_sample(b));
            // All rows at once, the margins between them in vain: one long loop is faster than many short ones.
            let start = halo.place([0; 3]);
            slopes.measure(halo.values(), start, halo.strides(), edge);
            slopes.trust(trust);
            slopes.divide(&halo.values()[start..], spacing, edge);
            let mut corrected = Corrected {
                samples: Vec::with_capacity(width.pow(3)),
                known: Vec::with_capacity(width.pow(3)),
                unknown: Vec::new(),
                steep: false,
                interface: None,
                beside: 0,
            };
            for [z, y] in (0..width * width).map(|row| [row / width, row % width]) {
                let row = halo.place([0, y, z]) - start..halo.place([0, y, z]) - start + width;
                corrected.samples.extend_from_slice(&slopes.size[row.clone()]);
                corrected.known.extend(slopes.state[row.clone()].iter().map(|&state| state & KNOWN != 0));
                for (x, &state) in slopes.state[row].iter().enumerate() {
                    if state & (KNOWN | IN_BAND) == IN_BAND {
                        corrected.unknown.push((x + width * (y + width * z)) as u32);
                    }
                    if state & CROSSED != 0 {
                        corrected.steep |= state & AMID == 0;
                        corrected.include([first[0] + x as i32, first[1] + y as i32, first[2] + z as i32]);
                        corrected.reach_out([x, y, z], width, reach_squared);
                    }
                }
            }
            Some(corrected)
        };
        let start = || {
            let halo = Halo::new(grid, 1);
            let length = halo.place([width - 1; 3]) + 1 - halo.place([0; 3]);
            (halo, Slopes::of_length(length))
        };
        blocks.par_iter().with_min_len(16).map_init(start, |work, &block| correct(work, block)).collect()
    }

    /// Releases stored blocks without a sample in the band: all, or those among the given ones.
    pub(super) fn release_empty(&mut self, among: Option<&[BlockCoordinates]>, journal: &mut Journal) {
        let edge = self.grid.background().outside;
        let candidates: Vec<BlockCoordinates> = among.map_or_else(|| self.grid.blocks().to_vec(), <[_]>::to_vec);
        let empty: Vec<(BlockCoordinates, Side)> = candidates
            .par_iter()
            .filter_map(|&block| {
                let samples = self.grid.block(self.grid.slot(block)?);
                let uniform = samples.iter().all(|value| value.abs() >= edge);
                let side = if samples[0] < 0.0 { Side::Inside } else { Side::Outside };
                uniform.then_some((block, side))
            })
            .collect();
        for (block, side) in empty {
            journal.release(&mut self.grid, block, side);
        }
    }
}

/// Which samples keep their value over the slope, and which are found anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those beside a change of sign: for any function.
    Interface,
    /// Those whose neighbours all lie in the band: for a distance that was bent gently.
    Neighborhood,
}

/// A block with its slopes divided out.
struct Corrected {
    samples: Vec<f32>,
    known: Vec<bool>,
    /// The places in the band that are not known.
    unknown: Vec<u32>,
    /// Whether the sign changes beside a sample beyond the band.
    steep: bool,
    /// The box of the samples beside a change of sign.
    interface: Option<([i32; 3], [i32; 3])>,
    /// A bit for each of the 27 blocks around (x fastest) that one of those samples is near enough to.
    beside: u32,
}

impl Corrected {
    fn include(&mut self, sample: [i32; 3]) {
        let (low, high) = self.interface.get_or_insert((sample, sample));
        for axis in 0..3 {
            low[axis] = low[axis].min(sample[axis]);
            high[axis] = high[axis].max(sample[axis]);
        }
    }
}

impl Corrected {
    /// Marks the blocks that have a sample within the half width (squared, in samples) of a sample of this one.
    fn reach_out(&mut self, local: [usize; 3], width: usize, reach_squared: f64) {
        if self.beside == EVERY_BLOCK_BESIDE {
            return;
        }
        let away = |c: usize| [((c + 1) * (c + 1)) as f64, 0.0, ((width - c) * (width - c)) as f64];
        let [along_x, along_y, along_z] = [away(local[0]), away(local[1]), away(local[2])];
        for z in 0..3 {
            for y in 0..3 {
                for x in 0..3 {
                    let near = along_x[x] + along_y[y] + along_z[z] < reach_squared;
                    self.beside |= u32::from(near) << (x + 3 * (y + 3 * z));
                }
            }
        }
    }

    fn blocks_beside(&self, block: BlockCoordinates) -> impl Iterator<Item = BlockCoordinates> {
        let beside = self.beside;
        (0..27).filter(move |bit| beside >> bit & 1 == 1).map(move |bit| {
            let step = [bit % 3 - 1, bit / 3 % 3 - 1, bit / 9 - 1];
            [0, 1, 2].map(|axis| block[axis] + step[axis])
        })
    }
}

/// All 27 bits.
const EVERY_BLOCK_BESIDE: u32 = (1 << 27) - 1;

/// A sample lies in the band.
const IN_BAND: u32 = 1;
/// A neighbour has the other sign.
const CROSSED: u32 = 2;
/// The sample and its neighbours lie in the band.
const AMID: u32 = 4;
/// The sample lies on a kink.
const KINK: u32 = 8;
/// The value over the slope is a distance.
const KNOWN: u32 = 16;

/// The slopes of a stretch of samples.
struct Slopes {
    /// Per sample: central differences, or the steepest where those vanish on a kink.
    size: Vec<f32>,
    /// What is said of each sample, in the bits above.
    state: Vec<u32>,
}

impl Slopes {
    fn of_length(length: usize) -> Self {
        Self { size: vec![0.0; length], state: vec![0; length] }
    }

    fn measure(&mut self, values: &[f32], start: usize, strides: [usize; 3], edge: f32) {
        let length = self.size.len();
        let stretch = |from: usize| &values[from..from + length];
        let here = stretch(start);
        let [[x0, x1], [y0, y1], [z0, z1]] = strides.map(|stride| [stretch(start - stride), stretch(start + stride)]);
        let (size, state) = (&mut self.size[..length], &mut self.state[..length]);
        for at in 0..length {
            let value = here[at];
            let (mut central_squared, mut steepest_squared) = (0.0, 0.0);
            let (mut crossed, mut amid) = (false, value.abs() < edge);
            for (below, above) in [(x0[at], x1[at]), (y0[at], y1[at]), (z0[at], z1[at])] {
                let central = 0.5 * (above - below);
                let steepest = (above - value).abs().max((value - below).abs());
                central_squared += central * central;
                steepest_squared += steepest * steepest;
                crossed |= ((below < 0.0) != (value < 0.0)) | ((above < 0.0) != (value < 0.0));
                amid &= (below.abs() < edge) & (above.abs() < edge);
            }
            let kink = central_squared < 0.25 * steepest_squared;
            size[at] = if kink { steepest_squared } else { central_squared }.sqrt();
            let bit = |set: bool, bit: u32| if set { bit } else { 0 };
            state[at] = bit(value.abs() < edge, IN_BAND) | bit(crossed, CROSSED) | bit(amid, AMID) | bit(kink, KINK);
        }
    }

    fn trust(&mut self, trust: Trust) {
        for state in &mut self.state {
            let whole = (*state & (AMID | KINK) == AMID) & (trust == Trust::Neighborhood);
            *state |= if whole | (*state & CROSSED != 0) { KNOWN } else { 0 };
        }
    }

    /// Values over slopes take the place of the slopes; the half width, where nothing is known.
    fn divide(&mut self, values: &[f32], spacing: f32, edge: f32) {
        for ((size, &value), &state) in self.size.iter_mut().zip(values).zip(&self.state) {
            let distance = value * spacing / size.max(1e-3 * spacing);
            let fresh = if state & KNOWN != 0 { distance } else { edge.copysign(value) };
            let limit = if state & CROSSED != 0 { 0.999 * edge } else { edge };
            *size = fresh.min(limit).max(-limit);
        }
    }
}

/// Blocks within `reach` samples of some boxes of samples.
fn blocks_around(width: BlockWidth, boxes: &[([i32; 3], [i32; 3])], reach: i32) -> BTreeSet<BlockCoordinates> {
    let mut needed = BTreeSet::new();
    for (low, high) in boxes {
        let first = low.map(|c| width.split(c - reach).0);
        let last = high.map(|c| width.split(c + reach).0);
        for z in first[2]..=last[2] {
            for y in first[1]..=last[1] {
                needed.extend((first[0]..=last[0]).map(|x| [x, y, z]));
            }
        }
    }
    needed
}

fn all_slots(grid: &BlockGrid<f32>) -> Vec<BlockSlot> {
    (0..grid.blocks().len() as u32).map(BlockSlot).collect()
}

/// Enough rounds for news to cross the band block by block, and back around a corner.
fn rounds(grid: &BlockGrid<f32>, reach: i32) -> usize {
    4 + 4 * (reach as usize).div_ceil(grid.width().samples())
}
