//! Garments are projected onto their deformed fields.
//!
//! All fields are those of the garments as they came. In rounds: every vertex goes along the gradient to where the
//! deformed field of its layer is zero, and cloth takes its shape again within strain bounds
//! ([`crate::untangle::rearrange::sliding`], or edge by edge as in Buffet 2021, 2.4.3).
//!
//! Guarantees: the same bits on any number of threads; vertices that nothing asks to move stay.
//! Does not: leave triangles in order that are coarser than the gap; [`super::settle`] does that.

use super::active::{Deformed, Glance, Memory, Scope, Seen, deformed, see_again};
use super::edges;
use super::layers::Stack;
use super::settings::{DressSettings, Tangential};
use crate::model::Model;
use crate::untangle::rearrange::sliding::Sliding;
use crate::untangle::rearrange::strain_bounds::StrainBounds;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;
use unsnarl_volume::SheetQuery;

/// How far triangles may be compressed and stretched beside their rest shapes: cloth that is compressed folds.
pub const STRAIN: [f64; 2] = [0.6, 1.04];
/// How strongly cloth that is moved takes its surroundings along.
pub const CARRYING: f64 = 0.1;

/// A field is zero below this share of the reach.
const NOTHING: f64 = 1e-9;

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

/// Projects. `positions` are those of cloth.
pub fn project(
    stack: &Stack,
    model: &Model,
    settings: &DressSettings,
    stop: &dyn Fn() -> bool,
    positions: &mut [DVec3],
) -> Projected {
    let scope = Scope { reach: settings.reach, fade: settings.fade };
    let mut looks = Looks { of: vec![Glance::Never; stack.layers.len() * positions.len()], details: Vec::new(), scope };
    let mut report = Projected::default();
    looks.details = details(stack, scope, positions);
    let first = looks.fields(stack, positions);
    count_pooled(stack, &first, &mut report);
    if first.iter().flatten().all(|field| field.value.abs() < NOTHING * settings.reach) {
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
                report.residual = looks.step(stack, 1.0, positions);
            }),
            None => {
                let share = if round + 3 >= settings.rounds as usize { 1.0 } else { settings.step };
                edges::relax(stack, model, positions);
                report.residual = looks.step(stack, share, positions);
            }
        }
        if report.residual < 0.1 * least && round >= 4 {
            break;
        }
    }
    report
}

/// How far each vertex lies off the sheet that its own layer is where it faces: hems that are turned in, pockets.
/// Metres.
fn details(stack: &Stack, scope: Scope, positions: &[DVec3]) -> Vec<f64> {
    let detail = |vertex: usize| -> f64 {
        let Some(layer) = stack.layer_of(vertex) else { return 0.0 };
        let query = SheetQuery { reach: scope.reach, facing: Some(stack.facings[vertex]), hint: None };
        let sight = stack.layers[layer].sight(positions[vertex], &query);
        sight.map_or(0.0, |sight| sight.value)
    };
    (0..positions.len()).into_par_iter().with_min_len(64).map(detail).collect()
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

/// What every vertex last saw of every layer, and how far it lies off its own.
struct Looks {
    of: Vec<Glance>,
    details: Vec<f64>,
    scope: Scope,
}

impl Looks {
    /// The deformed field of every vertex's layer, where it is, less what the vertex lies off its own layer.
    fn fields(&mut self, stack: &Stack, positions: &[DVec3]) -> Vec<Option<Deformed>> {
        let (scope, details) = (self.scope, &self.details);
        let layer_count = stack.layers.len();
        let of_vertex = |(vertex, glances): (usize, &mut [Glance])| {
            let layer = stack.layer_of(vertex)?;
            let mut seen: Vec<Seen> = Vec::with_capacity(layer_count);
            let mut memory = Memory::default();
            for (other, glance) in glances.iter_mut().enumerate() {
                let from = (positions[vertex], stack.facings[vertex]);
                if let Some(mut found) = see_again(stack, other, from, scope, glance) {
                    if other == layer {
                        found.share = 1.0;
                    }
                    seen.push(found);
                }
            }
            let mut field = deformed(stack, layer, &mut seen, &mut memory)?;
            let half = 0.5 * stack.layers[layer].thickness;
            let detail = details[vertex];
            field.value -= if field.pooled > 1 { detail.clamp(-half, half) } else { detail };
            Some(field)
        };
        self.of.par_chunks_mut(layer_count.max(1)).enumerate().with_min_len(64).map(of_vertex).collect()
    }

    /// Every vertex goes a share of its way to the field; returns the longest way that there was.
    fn step(&mut self, stack: &Stack, share: f64, positions: &mut [DVec3]) -> f64 {
        // Averaged gradients of layers that do not look the same way are short: the way is bounded.
        const SHORT: f64 = 0.25;
        let fields = self.fields(stack, positions);
        let mut longest = 0.0_f64;
        for (place, field) in positions.iter_mut().zip(fields) {
            let Some(field) = field else { continue };
            longest = longest.max(field.value.abs());
            *place -= share * field.value / field.gradient.length_squared().max(SHORT) * field.gradient;
        }
        longest
    }
}
