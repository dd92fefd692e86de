//! Which rows are asked for, and what each is to reach.
//!
//! | `localise` | rows |
//! |---|---|
//! | `complementary` | density above 1.1, or paths of two sheets, or cloth beside a body; what separates is let go |
//! | `or` | density of at least 1, or air that is squeezed (Buffet 2021, e 3.4 as printed) |
//! | `and` | both |
//!
//! With `divergence = "tensor"` a row is `Q : grad v` with `Q = sum w n n^T / sum w` over the cloth and bodies nearby:
//! across one sheet or several parallel ones it is the rate at which they part, without a common direction it is a
//! third of the divergence. The source is `gain max(0, d - 1) / dt`, and moves no row by more than a quarter of the
//! thickness in a step.

use super::density::Place;
use super::rasterise::Raster;
use super::settings::{FieldDivergence, FieldLocalise, FieldSettings, FieldStencil};
use crate::geometry::{DMat3, DVec3};
use unsnarl_volume::velocity_grid::{Row, cell_row, central_row, corner_offset};

/// Density above which two sheets are near.
const CROWDED: f64 = 1.1;
/// The most that a source opens in a step, in distances between nodes: a quarter of the least thickness, `0.75 h`.
const MOST_OPENING: f64 = 0.25 * 0.75;

/// The rows of a step.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// 1/s.
    pub sources: Vec<f64>,
    /// What cloth takes of the field itself in a cell: all of it across layers, nothing along them.
    pub across: Vec<DMat3>,
    /// The node that each row has its number from.
    pub places: Vec<u32>,
    /// The connected part of every node, by number; `NO_PART` for nodes of no row.
    pub part_of_node: Vec<u32>,
    /// How many parts there are.
    pub components: usize,
}

/// Chooses the rows.
pub fn rows(raster: &Raster, places: &[Place], settings: &FieldSettings, step: f64) -> Rows {
    let mut found = Rows::default();
    let has_bodies = raster.inverse_masses.contains(&0.0);
    for (number, place) in places.iter().enumerate() {
        let is_near = has_bodies || place.density > CROWDED || place.meets;
        if settings.localise == FieldLocalise::Complementary && !is_near {
            continue;
        }
        let Some((nodes, count)) = nodes_of(raster, number, settings.stencil) else { continue };
        let nodes_used = &nodes[..count];
        let has_cloth = nodes_used.iter().any(|&node| raster.cloth_masses[node as usize] > 0.0);
        let at_body = nodes_used.iter().any(|&node| raster.inverse_masses[node as usize] == 0.0);
        if !has_cloth {
            continue;
        }
        let directions = directions(raster, nodes_used, place, settings.divergence);
        let row = match settings.stencil {
            FieldStencil::Cell => cell_row(nodes, directions, raster.nodes.spacing()),
            FieldStencil::Central => {
                central_row(std::array::from_fn(|at| nodes[at]), directions, raster.nodes.spacing())
            }
        };
        let is_squeezed = row.apply(&raster.velocities) <= 0.0;
        let is_asked = match settings.localise {
            FieldLocalise::Complementary => place.density > CROWDED || place.meets || at_body,
            FieldLocalise::Or => place.density >= 1.0 || is_squeezed,
            FieldLocalise::And => place.density >= 1.0 && is_squeezed,
        };
        if is_asked {
            let opening = (settings.gain() * (place.density - 1.0).max(0.0)).min(MOST_OPENING);
            found.rows.push(row);
            found.sources.push(opening / step);
            found.across.push(across(directions, settings.divergence));
            found.places.push(number as u32);
        }
    }
    (found.part_of_node, found.components) = parts(&found.rows, raster.nodes.count());
    found
}

/// The nodes of a row and how many they are, if all are stored.
fn nodes_of(raster: &Raster, number: usize, stencil: FieldStencil) -> Option<([u32; 8], usize)> {
    let node = raster.nodes.nodes()[number];
    match stencil {
        FieldStencil::Cell => {
            let corners = raster.nodes.corners_of(node);
            if corners.iter().any(Option::is_none) {
                return None;
            }
            Some((corners.map(|corner| corner.expect("all are stored")), 8))
        }
        FieldStencil::Central => {
            let mut nodes = [0; 8];
            for (at, slot) in nodes.iter_mut().take(6).enumerate() {
                let mut next = node;
                next[at / 2] += if at % 2 == 0 { -1 } else { 1 };
                *slot = raster.nodes.number(next)?;
            }
            Some((nodes, 6))
        }
    }
}

/// `Q`: trace 1, or the identity.
fn directions(raster: &Raster, nodes: &[u32], place: &Place, divergence: FieldDivergence) -> DMat3 {
    if divergence == FieldDivergence::Isotropic {
        return DMat3::IDENTITY;
    }
    let trace = |m: &DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    let outer = |n: DVec3| DMat3::from_cols(n * n.x, n * n.y, n * n.z);
    let bodies = nodes.iter().map(|&node| outer(raster.away[node as usize]));
    // A body counts as much as all the cloth nearby.
    let of_bodies = bodies.fold(DMat3::ZERO, |sum, part| sum + part);
    let parts = [place.directions, of_bodies].map(|part| (part, trace(&part)));
    let known: Vec<DMat3> =
        parts.into_iter().filter(|part| part.1 > 0.0).map(|(part, trace)| part * trace.recip()).collect();
    if known.is_empty() {
        return DMat3::IDENTITY * (1.0 / 3.0);
    }
    known.iter().fold(DMat3::ZERO, |sum, part| sum + *part) * (known.len() as f64).recip()
}

/// `Q` over its largest eigenvalue.
fn across(directions: DMat3, divergence: FieldDivergence) -> DMat3 {
    if divergence == FieldDivergence::Isotropic {
        return DMat3::IDENTITY;
    }
    let trace = |m: &DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    let mut power = directions;
    for _ in 0..5 {
        power = power * power;
        power = power * trace(&power).recip();
    }
    let largest = trace(&(directions * power));
    directions * largest.recip()
}

/// No part.
pub const NO_PART: u32 = u32::MAX;

/// The parts into which rows fall that share no node: the part of every node, and how many there are.
fn parts(rows: &[Row], node_count: usize) -> (Vec<u32>, usize) {
    let mut parents: Vec<u32> = (0..rows.len() as u32).collect();
    let mut row_of = vec![NO_PART; node_count];
    for (number, row) in rows.iter().enumerate() {
        for (&node, _) in row.nodes.iter().zip(&row.weights).filter(|(_, weight)| **weight != DVec3::ZERO) {
            let other = &mut row_of[node as usize];
            if *other == NO_PART {
                *other = number as u32;
                continue;
            }
            let roots = [root(&mut parents, number as u32), root(&mut parents, *other)];
            parents[roots[0].max(roots[1]) as usize] = roots[0].min(roots[1]);
        }
    }
    let mut part_of_root = vec![NO_PART; rows.len()];
    let mut count = 0;
    for row in 0..rows.len() {
        if parents[row] == row as u32 {
            part_of_root[row] = count;
            count += 1;
        }
    }
    for row in row_of.iter_mut().filter(|row| **row != NO_PART) {
        *row = part_of_root[root(&mut parents, *row) as usize];
    }
    (row_of, count as usize)
}

fn root(parents: &mut [u32], mut at: u32) -> u32 {
    while parents[at as usize] != at {
        parents[at as usize] = parents[parents[at as usize] as usize];
        at = parents[at as usize];
    }
    at
}

/// For every node the row of the cell above it that pushes; `NO_ROW` where there is none.
pub fn pushing(rows: &Rows, pressures: &[f64], node_count: usize) -> Vec<u32> {
    let mut of_node = vec![NO_ROW; node_count];
    for (number, (&place, &pressure)) in rows.places.iter().zip(pressures).enumerate() {
        if pressure != 0.0 {
            of_node[place as usize] = number as u32;
        }
    }
    of_node
}

/// No row.
pub const NO_ROW: u32 = u32::MAX;

/// The cell of a point as the number of its lowest node.
pub fn cell_number(corners: &[Option<u32>; 8]) -> Option<usize> {
    debug_assert_eq!(corner_offset(0), [0, 0, 0]);
    corners[0].map(|node| node as usize)
}
