//! The fix report: what others read of an untangling. The fields are fixed by the schema `unsnarl.fix/1`.

use super::{Assumptions, PullCounts, ResolverCounts};
use crate::analysis::report::CheckReport;
use crate::model::Model;
use crate::rest_shape::principal_stretches;
use serde::Serialize;
use unsnarl_geometry::DVec3;

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
    /// Steps taken.
    pub steps: usize,
    /// Time taken.
    pub seconds: f64,
    /// Vertices that are not where they were.
    pub moved_vertices: usize,
    /// How far they went, metres.
    pub displacement: Displacement,
    /// Largest stretch of each triangle over its rest shape, in the result.
    pub stretch: Spread,
    /// The same in the input.
    pub stretch_before: Spread,
    /// How often each resolver acted.
    pub resolvers: ResolverCounts,
    /// Steps in which something crossed, and in how many of them an assumption of the convergence theorem failed.
    pub assumptions: Assumptions,
    /// Pulls of edge shortening off seams, on seams and at darts.
    pub pulls: PullCounts,
}

/// How far vertices went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Displacement {
    /// The farthest, metres.
    pub max: f64,
    /// The mean over those that moved, metres.
    pub mean: f64,
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
    /// Between two sets of positions; also how many differ.
    pub fn between(before: &[DVec3], after: &[DVec3]) -> (usize, Self) {
        let moved: Vec<f64> = before.iter().zip(after).filter(|(a, b)| a != b).map(|(a, b)| a.distance(*b)).collect();
        let max = moved.iter().copied().fold(0.0, f64::max);
        let mean = if moved.is_empty() { 0.0 } else { moved.iter().sum::<f64>() / moved.len() as f64 };
        (moved.len(), Self { max, mean })
    }
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

    fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * (values.len().max(1) - 1) as f64).round() as usize;
            values.get(index).copied().unwrap_or(1.0)
        };
        Self { min: at(0.0), p01: at(0.01), p99: at(0.99), max: at(1.0) }
    }
}
