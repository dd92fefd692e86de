//! The fix report: what others read of an untangling. The fields are fixed by the schema `unsnarl.fix/1`.

use super::{Assumptions, Attempt, PlaceReport, PullCounts, ResolverCounts, Writers};
use crate::analysis::report::CheckReport;
use crate::analysis::{Assembly, Verdict};
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_geometry::{DVec3, VertexId};

/// A machine-readable account of an untangling.
#[derive(Clone, Debug, Serialize)]
pub struct FixReport {
    /// `unsnarl.fix/1`.
    pub schema: &'static str,
    /// The exact check of the result found nothing.
    pub clean: bool,
    /// The check of the input.
    pub before: CheckReport,
    /// The check of the result.
    pub after: CheckReport,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
    /// Vertices that are not where they were.
    pub moved_vertices: usize,
    /// Vertices of cloth; the checks count those of bodies too.
    pub cloth_vertices: usize,
    /// How far those that are not where they were went, metres.
    pub displacement: Displacement,
    /// Largest stretch of each triangle over its rest shape, in the result.
    pub stretch: Spread,
    /// The same in the input.
    pub stretch_before: Spread,
    /// The places of the input, and what became of each.
    pub places: Vec<PlaceReport>,
    /// How many of them each measure solved.
    pub places_solved: BTreeMap<&'static str, usize>,
    /// Where bodies cross themselves and pinch cloth, so that it cannot be clean.
    pub pinched: Vec<PinchedPlace>,
    /// Pairs that meet in the result, but for those of pinched cloth with bodies.
    pub pairs_not_pinched: usize,
}

/// What an untangling took.
#[derive(Clone, Debug, Serialize)]
pub struct Effort {
    /// Steps taken.
    pub steps: usize,
    /// Time taken.
    pub seconds: f64,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Who wrote positions, and how often.
    pub writers: Writers,
    /// Steps in which something crossed, and in how many of them an assumption of the convergence theorem failed.
    pub assumptions: Assumptions,
    /// Pulls of edge shortening off seams, on seams and at darts.
    pub pulls: PullCounts,
    /// The measures that were tried, in order.
    pub measures: Vec<Attempt>,
}

/// Cloth that hangs together and is caught where bodies cross themselves or each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PinchedPlace {
    /// The middle of its vertices, metres.
    pub center: [f64; 3],
    /// How many vertices it has.
    pub vertices: usize,
    /// In how many pairs its triangles meet a body.
    pub pairs: usize,
}

/// The places where bodies pinch cloth and meet it, and how many pairs meet elsewhere. `pinched` is sorted.
pub fn pinched_places(
    assembly: &Assembly,
    positions: &[DVec3],
    verdict: &Verdict,
    pinched: &[VertexId],
) -> (Vec<PinchedPlace>, usize) {
    let topology = assembly.topology();
    let mut group_of: BTreeMap<VertexId, usize> = BTreeMap::new();
    let mut places: Vec<PinchedPlace> = Vec::new();
    for &first in pinched {
        if group_of.contains_key(&first) {
            continue;
        }
        let (group, mut sum, mut count, mut open) = (places.len(), DVec3::ZERO, 0u32, vec![first]);
        group_of.insert(first, group);
        while let Some(vertex) = open.pop() {
            sum += positions[vertex.index()];
            count += 1;
            for next in topology.ring(vertex).filter(|next| pinched.binary_search(next).is_ok()) {
                if group_of.insert(next, group).is_none() {
                    open.push(next);
                }
            }
        }
        places.push(PinchedPlace { center: (sum / f64::from(count)).to_array(), vertices: count as usize, pairs: 0 });
    }
    let mut elsewhere = 0;
    for pair in &verdict.pairs {
        let both = [pair.first, pair.second];
        let is_with_body = both.iter().any(|&triangle| !assembly.is_cloth(topology.triangle(triangle)[0]));
        let corners = both.iter().flat_map(|&triangle| topology.triangle(triangle));
        let group = corners.filter_map(|corner| group_of.get(&corner)).next();
        match group {
            Some(&group) if is_with_body => places[group].pairs += 1,
            _ => elsewhere += 1,
        }
    }
    places.retain(|place| place.pairs > 0);
    (places, elsewhere)
}

/// How far vertices went: metres, and mean edges at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Displacement {
    /// The farthest, metres.
    pub max: f64,
    /// The mean over those that moved, metres.
    pub mean: f64,
    /// The median over all of the cloth, metres.
    pub median: f64,
    /// The 90th percentile over all of the cloth, metres.
    pub p90: f64,
    /// The farthest, in mean edges.
    pub max_edges: f64,
    /// The 90th percentile, in mean edges.
    pub p90_edges: f64,
}

/// Extremes and percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub min: f64,
    pub p01: f64,
    pub p99: f64,
    pub max: f64,
}

impl Displacement {
    /// Between two sets of positions of cloth with such edges at rest, metres; also how many differ.
    pub fn between(before: &[DVec3], after: &[DVec3], mean_edge: f64) -> (usize, Self) {
        let mut ways: Vec<f64> = before.iter().zip(after).map(|(a, b)| a.distance(*b)).collect();
        let moved = before.iter().zip(after).filter(|(a, b)| a != b).count();
        let mean = ways.iter().sum::<f64>() / moved.max(1) as f64;
        let Spread { max, .. } = Spread::of(&mut ways);
        let [median, p90] = [0.5, 0.9].map(|share| percentile(&mut ways, share));
        if moved == 0 {
            return (0, Self::default());
        }
        let edge = mean_edge.max(f64::MIN_POSITIVE);
        (moved, Self { max, mean, median, p90, max_edges: max / edge, p90_edges: p90 / edge })
    }
}

/// The mean length of the sides of triangles at rest, metres.
pub fn mean_rest_edge(model: &Model) -> f64 {
    let sum: f64 = model.rest_shapes.iter().flat_map(|shape| shape.lengths()).sum();
    sum / (3 * model.rest_shapes.len()).max(1) as f64
}

impl Spread {
    /// The largest stretch of every triangle over all directions.
    pub fn of_stretch(model: &Model, positions: &[DVec3]) -> Self {
        let mut stretches: Vec<f64> = model
            .topology
            .triangles()
            .iter()
            .zip(&model.rest_shapes)
            .filter_map(|(corners, shape)| principal_stretches(shape, corners.map(|corner| positions[corner.index()])))
            .map(|[largest, _]| largest)
            .collect();
        Self::of(&mut stretches)
    }

    /// The length of every side of a triangle over its length at rest.
    pub fn of_edges(model: &Model, positions: &[DVec3]) -> Self {
        let mut ratios = Vec::with_capacity(3 * model.rest_shapes.len());
        for (corners, shape) in model.topology.triangles().iter().zip(&model.rest_shapes) {
            for (side, rest) in shape.lengths().into_iter().enumerate() {
                let [from, to] = [corners[side], corners[(side + 1) % 3]].map(|corner| positions[corner.index()]);
                ratios.extend((rest > 0.0).then(|| from.distance(to) / rest));
            }
        }
        Self::of(&mut ratios)
    }

    pub(crate) fn of(values: &mut [f64]) -> Self {
        if values.is_empty() {
            return Self { min: 1.0, p01: 1.0, p99: 1.0, max: 1.0 };
        }
        let mut at = |share: f64| percentile(values, share);
        Self { min: at(0.0), p01: at(0.01), p99: at(0.99), max: at(1.0) }
    }
}

/// The value below which a share of some values lies; 0 of none.
fn percentile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let index = (share * (values.len() - 1) as f64).round() as usize;
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}
