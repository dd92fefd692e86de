//! What others read of garments that were put in order. The fields are fixed by the schema `unsnarl.dress/1`.

use super::active::{Scope, Seen, find_depths, see};
use super::layers::Stack;
use super::{DressSettings, Dressed, Outfit};
use crate::analysis::Examination;
use crate::analysis::report::CheckReport;
use crate::fix::pinched_vertices;
use crate::fix::report::{Displacement, FixReport, PinchedPlace, Spread, pinched_places};
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_geometry::DVec3;
use unsnarl_volume::SheetQuery;

/// A machine-readable account of dressing.
#[derive(Clone, Debug, Serialize)]
pub struct DressReport {
    /// `unsnarl.dress/1`.
    pub schema: &'static str,
    /// The exact check of the result found nothing.
    pub clean: bool,
    /// Pairs that meet in the result, but for those of cloth with bodies that pinch it.
    pub pairs_not_pinched: usize,
    /// The layers, from the inside out, bodies left out.
    pub layers: Vec<LayerReport>,
    /// How far layers that lie over each other are apart.
    pub gaps: Vec<PairGap>,
    /// Vertices by the number of layers that were pooled where they are.
    pub contact: Contact,
    /// Components that crossed themselves and were untangled alone first.
    pub untangled_alone: usize,
    /// Rounds of projection.
    pub rounds: usize,
    /// The largest value of a deformed field at a vertex of its layer after the projection, metres.
    pub residual: f64,
    /// Rounds of settling.
    pub settle_rounds: usize,
    /// What the dressing itself left to `fix`.
    pub left_before_fix: Left,
    /// What `fix` did; nothing where there was nothing left.
    pub fix: Option<FixReport>,
    /// Where bodies cross themselves and pinch cloth, so that it cannot be clean.
    pub pinched: Vec<PinchedPlace>,
    /// Largest stretch of each triangle over its rest shape, in the result, all layers together.
    pub stretch: Spread,
    /// The same in the input, after garments were carried.
    pub stretch_before: Spread,
    /// The check of the input, after garments were carried.
    pub before: CheckReport,
    /// The check of the result.
    pub after: CheckReport,
    /// The order with the least work, by name, where it was asked for.
    pub order_suggested: Option<Vec<String>>,
    /// Time by stage; whoever has a clock sets it.
    pub seconds: BTreeMap<&'static str, f64>,
}

impl DressReport {
    /// What came of dressing: the checks of the input and of the result, which is cloth followed by bodies. Seconds
    /// are left empty.
    pub fn new(
        outfit: &Outfit<'_>,
        settings: &DressSettings,
        dressed: &Dressed,
        (before, after): (Examination, &Examination),
        all: &[DVec3],
    ) -> Self {
        let workpiece = outfit.workpiece;
        let (assembly, cloth_count) = (&workpiece.assembly, workpiece.cloth_count());
        let (start, end) = (&workpiece.state.positions, &all[..cloth_count]);
        let scope = Scope { reach: settings.reach, fade: settings.fade };
        let pinched = pinched_vertices(assembly, cloth_count, all);
        let (places, pairs_not_pinched) = pinched_places(assembly, all, &after.verdict, &pinched);
        let at_fix = workpiece.with_bodies(&dressed.before_fix);
        let met = before.verdict.pairs.len();
        let left = Left {
            pairs: dressed.left.pairs.len(),
            share: if met == 0 { 0.0 } else { dressed.left.pairs.len() as f64 / met as f64 },
            pairs_not_pinched: pinched_places(assembly, &at_fix, &dressed.left, &pinched).1,
        };
        let pooled = dressed.projected.pooled.clone();
        Self {
            schema: "unsnarl.dress/1",
            clean: after.report.clean,
            pairs_not_pinched,
            layers: layer_reports(&dressed.stack, &workpiece.model, (start, end), &dressed.projected.tightness),
            gaps: gaps(&dressed.stack, scope, end),
            contact: Contact { largest: pooled.len(), vertices_by_pooled_layers: pooled },
            untangled_alone: dressed.untangled_alone,
            rounds: dressed.projected.rounds,
            residual: dressed.projected.residual,
            settle_rounds: dressed.settled.rounds,
            left_before_fix: left,
            fix: dressed.fixed.as_ref().map(|fixed| workpiece.report(before.clone(), after, fixed, all)),
            pinched: places,
            stretch: Spread::of_stretch(&workpiece.model, end),
            stretch_before: Spread::of_stretch(&workpiece.model, start),
            before: before.report,
            after: after.report.clone(),
            order_suggested: None,
            seconds: BTreeMap::new(),
        }
    }
}

/// A layer in the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerReport {
    /// Its name; components of one garment are numbered.
    pub name: String,
    /// Its number in the order.
    pub layer: i32,
    /// How much it resisted.
    pub weight: f64,
    /// Its thickness, metres.
    pub thickness: f64,
    /// How many vertices it has.
    pub vertices: usize,
    /// How many of them moved.
    pub moved: usize,
    /// How far, metres.
    pub displacement: Displacement,
    /// Largest stretch of its triangles over their rest shapes.
    pub stretch: Spread,
    /// The mean over its vertices of how far its field was moved, times its weight, metres: how tight it is.
    pub tightness: f64,
}

/// The distance of one layer from the next one below it, over the vertices of either that lie over the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairGap {
    /// The layer below; bodies are called `body`.
    pub inner: String,
    /// The layer above.
    pub outer: String,
    /// The distance that their thicknesses ask for, metres.
    pub asked: f64,
    /// Vertices that were measured.
    pub vertices: usize,
    /// The least distance, metres; negative where order is violated.
    pub least: f64,
    /// The first percentile, metres.
    pub p01: f64,
    /// The mean over vertices in contact: nearer than one and a half of what is asked for; metres, or null without
    /// contact.
    pub mean_in_contact: Option<f64>,
    /// The share of vertices that are nearer than 0.99 of what is asked for.
    pub share_below: f64,
}

/// How many layers are in contact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contact {
    /// Vertices in a run of 1, 2, 3, … layers.
    pub vertices_by_pooled_layers: Vec<usize>,
    /// The most layers that were pooled anywhere.
    pub largest: usize,
}

/// What was left before `fix` was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Left {
    /// Pairs of triangles that met.
    pub pairs: usize,
    /// The same as a share of those that met in the input; 0 where none did.
    pub share: f64,
    /// Pairs of triangles that met, but for those of pinched cloth with bodies.
    pub pairs_not_pinched: usize,
}

/// The layers as they ended.
pub fn layer_reports(
    stack: &Stack,
    model: &Model,
    (before, after): (&[DVec3], &[DVec3]),
    tightness: &[f64],
) -> Vec<LayerReport> {
    let of_layer = |layer: &super::layers::Layer| {
        let places = |positions: &[DVec3]| -> Vec<DVec3> {
            layer.vertices.iter().map(|&vertex| positions[vertex as usize]).collect()
        };
        let edge = crate::fix::report::mean_rest_edge(model);
        let (moved, displacement) = Displacement::between(&places(before), &places(after), edge);
        let own = |corners: &[unsnarl_geometry::VertexId; 3]| layer.vertices.binary_search(&corners[0].0).is_ok();
        let stretches = model.topology.triangles().iter().zip(&model.rest_shapes).filter(|(corners, _)| own(corners));
        let mut stretches: Vec<f64> = stretches
            .filter_map(|(corners, shape)| principal_stretches(shape, corners.map(|corner| after[corner.index()])))
            .map(|[most, _]| most)
            .collect();
        let sum: f64 =
            layer.vertices.iter().map(|&vertex| tightness.get(vertex as usize).copied().unwrap_or(0.0)).sum();
        LayerReport {
            name: layer.name.clone(),
            layer: layer.number,
            weight: layer.weight,
            thickness: layer.thickness,
            vertices: layer.vertices.len(),
            moved,
            displacement,
            stretch: Spread::of(&mut stretches),
            tightness: sum / layer.vertices.len().max(1) as f64,
        }
    };
    stack.layers.iter().filter(|layer| !layer.is_rigid()).map(of_layer).collect()
}

/// The two layers, how far apart they are, and how far they are asked to be.
type Measured = ((usize, usize), f64, f64);

/// How far every vertex is from the next layer below and above it, pair by pair. The stack stands where it is measured.
pub fn gaps(stack: &Stack, scope: Scope, positions: &[DVec3]) -> Vec<PairGap> {
    let of_vertex = |vertex: usize| -> Vec<Measured> {
        let Some(own) = stack.layer_of(vertex) else { return Vec::new() };
        let normal = stack.facings[vertex];
        let mut seen: Vec<Seen> = Vec::new();
        for other in 0..stack.layers.len() {
            if other == own {
                seen.push(Seen::at_home(own, normal));
                continue;
            }
            let query = SheetQuery { reach: scope.reach, facing: Some(normal), hint: None };
            seen.extend(see(stack, other, positions[vertex], &query, scope).filter(|seen| seen.share >= 1.0));
        }
        find_depths(stack, &mut seen);
        let Some(at) = seen.iter().position(|entry| entry.layer == own) else { return Vec::new() };
        let below = at
            .checked_sub(1)
            .map(|below| ((seen[below].layer, own), seen[below].value, seen[at].depth - seen[below].depth));
        let above = seen.get(at + 1).map(|above| ((own, above.layer), -above.value, above.depth - seen[at].depth));
        below.into_iter().chain(above).collect()
    };
    let found: Vec<Vec<Measured>> = (0..stack.layer_of.len()).into_par_iter().with_min_len(64).map(of_vertex).collect();
    let mut pairs: BTreeMap<(usize, usize), (f64, Vec<f64>)> = BTreeMap::new();
    for (pair, gap, asked) in found.into_iter().flatten() {
        let entry = pairs.entry(pair).or_default();
        entry.0 = asked;
        entry.1.push(gap);
    }
    let report = |((inner, outer), (asked, mut gaps)): ((usize, usize), (f64, Vec<f64>))| {
        gaps.sort_by(f64::total_cmp);
        let contact: Vec<f64> = gaps.iter().copied().filter(|gap| *gap < 1.5 * asked).collect();
        let below = gaps.iter().filter(|gap| **gap < 0.99 * asked).count();
        PairGap {
            inner: stack.layers[inner].name.clone(),
            outer: stack.layers[outer].name.clone(),
            asked,
            vertices: gaps.len(),
            least: gaps[0],
            p01: gaps[(0.01 * (gaps.len() - 1) as f64).round() as usize],
            mean_in_contact: (!contact.is_empty()).then(|| contact.iter().sum::<f64>() / contact.len() as f64),
            share_below: below as f64 / gaps.len() as f64,
        }
    };
    pairs.into_iter().map(report).collect()
}
