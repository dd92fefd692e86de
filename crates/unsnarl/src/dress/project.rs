//! Garments are projected onto their deformed fields.
//!
//! All fields are those of the garments as they came. In rounds: every vertex goes along the gradient to where the deformed field of its
//! layer is zero, and cloth takes its shape again within strain bounds ([`crate::untangle::sliding`], or edge by edge as in Buffet 2021,
//! 2.4.3).
//!
//! Guarantees: the same bits on any number of threads; vertices that nothing asks to move stay.
//! Does not: leave triangles in order that are coarser than the gap; [`super::settle`] does that.

use super::active::{Deformed, Memory, Scope, Seen, deformed, see};
use super::edges;
use super::layers::Stack;
use super::settings::{DressSettings, Tangential};
use crate::model::Model;
use crate::untangle::sliding::Sliding;
use crate::untangle::strain_bounds::StrainBounds;
use rayon::prelude::*;
use unsnarl_geometry::{DVec3, TriangleId};
use unsnarl_volume::SheetQuery;

/// How far triangles may be compressed and stretched beside their rest shapes.
pub const STRAIN: [f64; 2] = [0.85, 1.04];
/// How strongly cloth that is moved takes its surroundings along.
pub const CARRYING: f64 = 0.1;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Projected {
    /// Rounds taken.
    pub rounds: usize,
    /// The largest value of a deformed field at a vertex of its layer, metres.
    pub residual: f64,
    /// How many vertices lie in a run of so many layers in contact; from 1 on.
    pub pooled: Vec<usize>,
    /// How far the field of each vertex's layer is moved where it began, times its weight: where it is tight, metres.
    pub tightness: Vec<f64>,
}

/// A triangle of every layer that was near every vertex.
struct Hints {
    of: Vec<Option<TriangleId>>,
    layer_count: usize,
}

/// Projects. `positions` are those of cloth.
pub fn project(
    stack: &Stack,
    model: &Model,
    settings: &DressSettings,
    stop: &dyn Fn() -> bool,
    positions: &mut [DVec3],
) -> Projected {
    let scope = Scope { reach: settings.reach, fade: settings.fade };
    let layer_count = stack.layers.len();
    let mut hints = Hints { of: vec![None; layer_count * positions.len()], layer_count };
    let normals: Vec<DVec3> = (0..positions.len()).map(|vertex| stack.normal(vertex)).collect();
    let mut report = Projected::default();
    let first = fields(stack, &normals, scope, positions, &mut hints);
    count_pooled(stack, &first, &mut report);
    if first.iter().flatten().all(|field| field.value == 0.0) {
        return report;
    }
    let bounds = StrainBounds::around_rest(&model.topology, &model.rest_shapes, STRAIN);
    let free = vec![true; positions.len()];
    let mut sliding = match settings.tangential {
        Tangential::Sliding => Sliding::new(&model.topology, &bounds, &free, CARRYING, positions),
        Tangential::Edges => None,
    };
    let least = stack.layers.iter().map(|layer| layer.thickness).fold(f64::INFINITY, f64::min);
    for round in 0..settings.rounds as usize {
        if stop() {
            break;
        }
        report.rounds = round + 1;
        match &mut sliding {
            Some(sliding) => sliding.round(&bounds, positions, &mut |positions| {
                step(stack, &normals, (scope, 1.0), positions, &mut hints);
            }),
            None => {
                let share = if round + 3 >= settings.rounds as usize { 1.0 } else { settings.step };
                edges::relax(stack, model, &normals, positions);
                step(stack, &normals, (scope, share), positions, &mut hints);
            }
        }
        let fields = fields(stack, &normals, scope, positions, &mut hints);
        report.residual = fields.iter().flatten().map(|field| field.value.abs()).fold(0.0, f64::max);
        if report.residual < 0.1 * least && round >= 4 {
            break;
        }
    }
    report
}

fn count_pooled(stack: &Stack, fields: &[Option<Deformed>], report: &mut Projected) {
    report.tightness = vec![0.0; fields.len()];
    for (vertex, field) in fields.iter().enumerate() {
        let Some(field) = field else { continue };
        if report.pooled.len() < field.pooled {
            report.pooled.resize(field.pooled, 0);
        }
        report.pooled[field.pooled - 1] += 1;
        let weight = stack.layer_of(vertex).map_or(0.0, |layer| stack.layers[layer].weight);
        report.tightness[vertex] = weight * field.value.abs();
    }
}

/// The deformed field of every vertex's layer, where it is.
fn fields(
    stack: &Stack,
    normals: &[DVec3],
    scope: Scope,
    positions: &[DVec3],
    hints: &mut Hints,
) -> Vec<Option<Deformed>> {
    let layer_count = hints.layer_count;
    let of_vertex = |(vertex, hints): (usize, &mut [Option<TriangleId>])| {
        let layer = stack.layer_of(vertex)?;
        let mut seen: Vec<Seen> = Vec::with_capacity(layer_count);
        let mut memory = Memory::default();
        for (other, hint) in hints.iter_mut().enumerate() {
            let query = SheetQuery { reach: scope.reach, facing: Some(normals[vertex]), hint: *hint };
            let found = see(stack, other, positions[vertex], &query, scope);
            if let Some(mut found) = found {
                *hint = Some(found.triangle);
                if other == layer {
                    found.share = 1.0;
                }
                seen.push(found);
            }
        }
        deformed(stack, layer, &mut seen, &mut memory)
    };
    hints.of.par_chunks_mut(layer_count.max(1)).enumerate().with_min_len(64).map(of_vertex).collect()
}

/// Every vertex goes a share of its way to the field.
fn step(
    stack: &Stack,
    normals: &[DVec3],
    (scope, share): (Scope, f64),
    positions: &mut [DVec3],
    hints: &mut Hints,
) {
    // Averaged gradients of layers that do not look the same way are short: the way is bounded.
    const SHORT: f64 = 0.25;
    let fields = fields(stack, normals, scope, positions, hints);
    for (place, field) in positions.iter_mut().zip(fields) {
        let Some(field) = field else { continue };
        *place -= share * field.value / field.gradient.length_squared().max(SHORT) * field.gradient;
    }
}
