//! Where sheets come near each other: density, the directions across cloth, and meetings of different sheets.
//!
//! `D(p) = sum_q a_q / (pi s_t^2) exp(-|p - x_q|_t^2 / s_t^2 - z^2 / s_n^2)`, cut off at an exponent of 6;
//! `s_t = sqrt(3/2) h` along the cloth and `s_n = thick / sqrt(ln 2)` across it: 1 on a sheet whatever its mesh, half
//! of that at `thick`, and 2 where two meet. `thick` is the fabric's, but at least `0.75 h`, else cloth half way
//! between points would be invisible. The larger of the densities before and after the proposed motion counts. (Buffet
//! 2021, 3.2.2, e 3.2)
//!
//! Departs: samples are weighted by area (as published, a lone sheet varies between 0.5 and 1.6); where a neighbourhood
//! has cloth of one sheet with nearly one normal, density is 1 by construction and is not summed.

use super::rasterise::{Raster, box_around};
use super::{Moving, POINT_REACH};
use crate::geometry::{DMat3, DVec3};
use rayon::prelude::*;
use unsnarl_volume::grid::BlockWidth;
use unsnarl_volume::velocity_grid::{NodeSet, Reached};

/// Cloth nearer than this to a point counts in its neighbourhood, in distances between nodes.
const NEAR: f64 = 2.0;
/// Two sheets have to be nearer than this to a point for density there to be worth summing.
const CROWD: f64 = 1.5;
/// Paths that are nearer than this to a point pass through it: half the diagonal of a cell.
const PASSING: f64 = 0.87;
/// Normals of one flat sheet differ by less: a cosine.
const FLAT: f64 = 0.5;
/// Exponents beyond this are cut off.
const CUT: f64 = 6.0;
/// However thick, cloth counts no further than this, in distances between nodes: less than a block.
const FARTHEST: f64 = 7.0;

/// What is known at a point of the lattice: the middle of a cell, or a node.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// 1 where it was not summed.
    pub density: f64,
    /// `sum w n n^T` over the cloth nearby.
    pub directions: DMat3,
    /// Whether paths of two sheets pass through.
    pub meets: bool,
    /// Whether density is worth summing.
    is_crowded: bool,
    patch: u32,
    passing: u32,
    normal: DVec3,
}

/// No patch.
const NOBODY: u32 = u32::MAX;

impl Default for Place {
    fn default() -> Self {
        Self {
            density: 1.0,
            directions: DMat3::ZERO,
            meets: false,
            is_crowded: false,
            patch: NOBODY,
            passing: NOBODY,
            normal: DVec3::ZERO,
        }
    }
}

/// Where points lie from the node that has their number, in distances between nodes: 0.5 for cells, 0 for nodes.
pub type Shift = f64;

/// What is known at the point of every node; density at all of them if `everywhere`.
pub fn places(moving: &Moving, reached: &Reached, raster: &Raster, shift: Shift, everywhere: bool) -> Vec<Place> {
    let blocks = raster.nodes.blocks();
    let look_at = |slot: usize| {
        let mut places = look(moving, blocks[slot], reached.items_at(blocks[slot]), shift);
        for (place, number) in places.iter_mut().zip(raster.nodes.in_block(slot)) {
            place.is_crowded = number.is_some() && (place.is_crowded || everywhere);
        }
        places
    };
    let mut found: Vec<Vec<Place>> = (0..blocks.len()).into_par_iter().map(look_at).collect();
    let is_crowded = |places: &[Place]| places.iter().any(|place| place.is_crowded);
    if found.iter().any(|places| is_crowded(places)) {
        let owners = [0, 1].map(|moment| {
            Reached::new(moving.points.len(), |item| {
                [NodeSet::cell_of(moving.spacing, moving.moments(item)[moment].0).0; 2]
            })
        });
        found.par_iter_mut().zip(blocks).filter(|(places, _)| is_crowded(places)).for_each(|(places, &block)| {
            sum_densities(moving, block, &owners, shift, places);
        });
    }
    let stored = |(slot, places): (usize, Vec<Place>)| {
        let numbered = places.into_iter().zip(raster.nodes.in_block(slot));
        numbered.filter(|(_, number)| number.is_some()).map(|(place, _)| place).collect::<Vec<_>>()
    };
    found.into_iter().enumerate().flat_map(stored).collect()
}

/// The points of a block that lie in a box, with their places in it.
fn points_in(
    block: [i32; 3],
    [low, high]: [[i32; 3]; 2],
    shift: Shift,
    spacing: f64,
) -> impl Iterator<Item = (usize, DVec3)> {
    let width = BlockWidth::DEFAULT;
    let first = block.map(|at| width.first_sample(at));
    let side = width.samples() as i32;
    let span = move |axis: usize| low[axis].max(first[axis])..=high[axis].min(first[axis] + side - 1);
    span(2).flat_map(move |z| {
        span(1).flat_map(move |y| {
            span(0).map(move |x| {
                let place = width.place([x - first[0], y - first[1], z - first[2]].map(|at| at as usize));
                (place, (DVec3::new(f64::from(x), f64::from(y), f64::from(z)) + shift) * spacing)
            })
        })
    })
}

/// Who is near each point of a block, and who passes through.
fn look(moving: &Moving, block: [i32; 3], items: &[u32], shift: Shift) -> Vec<Place> {
    let (spacing, width) = (moving.spacing, BlockWidth::DEFAULT);
    let mut places = vec![Place::default(); width.volume()];
    let near = NEAR * spacing;
    for &item in items {
        let item = item as usize;
        let (sample, normal) = (&moving.samples.list[item], moving.normals[item]);
        for (at, point) in moving.path(item).enumerate() {
            let around = box_around(point - shift * spacing, near, spacing);
            for (place, center) in points_in(block, around, shift, spacing) {
                let distance = (center - point).length();
                if distance >= near {
                    continue;
                }
                let place = &mut places[place];
                if distance < CROWD * spacing {
                    if place.patch == NOBODY {
                        (place.patch, place.normal) = (sample.patch, normal);
                    }
                    place.is_crowded = place.is_crowded
                        || place.normal.dot(normal).abs() < FLAT
                        || moving.samples.are_apart(place.patch, sample.patch);
                }
                // Borders have half the density of the middle, but are no less there.
                if distance < PASSING * spacing {
                    if place.passing == NOBODY {
                        place.passing = sample.patch;
                    }
                    place.meets |= moving.samples.are_apart(place.passing, sample.patch);
                }
                if at == 0 {
                    let weighted = normal * (sample.area * (near - distance));
                    place.directions += DMat3::from_cols(weighted * normal.x, weighted * normal.y, weighted * normal.z);
                }
            }
        }
    }
    places
}

/// Sums densities at the crowded points of a block, from samples sorted by the block in which they start, and end.
fn sum_densities(moving: &Moving, block: [i32; 3], owners: &[Reached; 2], shift: Shift, places: &mut [Place]) {
    let spacing = moving.spacing;
    let along_squared = 1.5 * spacing * spacing;
    let scale = (std::f64::consts::PI * along_squared).recip();
    let mut ends = vec![[0.0; 2]; places.len()];
    let [lowest, highest] = crowded_box(block, places);
    for (moment, owners) in owners.iter().enumerate() {
        // What counts lies less than a block away.
        let beside = (0..27).map(|at| [at % 3 - 1, at / 3 % 3 - 1, at / 9 - 1]);
        let beside = beside.map(|step| [0, 1, 2].map(|axis| block[axis] + step[axis]));
        for item in beside.flat_map(|block| owners.items_at(block)).map(|&item| item as usize) {
            let (point, normal) = moving.moments(item)[moment];
            let across_squared = moving.thickness(item).powi(2) / std::f64::consts::LN_2;
            let far = (POINT_REACH * spacing).max((CUT * across_squared).sqrt()).min(FARTHEST * spacing);
            let [low, high] = box_around(point - shift * spacing, far, spacing);
            let bound =
                |a: [i32; 3], b: [i32; 3], pick: fn(i32, i32) -> i32| [0, 1, 2].map(|axis| pick(a[axis], b[axis]));
            let around = [bound(low, lowest, i32::max), bound(high, highest, i32::min)];
            for (place, center) in points_in(block, around, shift, spacing) {
                if !places[place].is_crowded {
                    continue;
                }
                let away = center - point;
                let z_squared = away.dot(normal).powi(2);
                let exponent = (away.length_squared() - z_squared) / along_squared + z_squared / across_squared;
                if exponent < CUT {
                    ends[place][moment] += moving.samples.list[item].area * scale * (-exponent).exp();
                }
            }
        }
    }
    for (place, ends) in places.iter_mut().zip(ends).filter(|(place, _)| place.is_crowded) {
        place.density = ends[0].max(ends[1]);
    }
}

/// The box around the crowded points of a block.
fn crowded_box(block: [i32; 3], places: &[Place]) -> [[i32; 3]; 2] {
    let width = BlockWidth::DEFAULT;
    let crowded = (0..places.len()).filter(|&at| places[at].is_crowded);
    crowded.fold([[i32::MAX; 3], [i32::MIN; 3]], |[mut low, mut high], place| {
        let local = width.local(place);
        for axis in 0..3 {
            let at = width.first_sample(block[axis]) + local[axis] as i32;
            (low[axis], high[axis]) = (low[axis].min(at), high[axis].max(at));
        }
        [low, high]
    })
}
