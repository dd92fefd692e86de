//! Where the rest shapes of a garment come from: its panels, or its shape at load.
//!
//! Sewing software exports panels in true size; games export texture charts, whose scale means nothing. The rule: with
//! the ratio of uv length to length in space of every edge of every triangle, panels are believed when the median is
//! within [`USUAL_MEDIAN`] and the 90th percentile is at most [`LARGEST_SPREAD`] times the 10th. The same is asked with
//! uv coordinates in the mesh's own length unit. Otherwise each triangle's shape at load is its rest shape.
//!
//! Does not: know a crumpled mesh with true panels from a smooth one with charts. Whoever knows says so.

use crate::geometry::math::DVec3;
use crate::geometry::{TriMesh, UvMap};
use crate::rest_shape::RestShape;
use std::ops::RangeInclusive;

/// Medians of uv length over length in space that panels in true size have.
pub const USUAL_MEDIAN: RangeInclusive<f64> = 0.5..=2.0;

/// The largest ratio of the 90th to the 10th percentile that panels in true size have.
///
/// A sewn dress at load has 1.00; texture charts of real garments start at 1.58.
pub const LARGEST_SPREAD: f64 = 1.3;

/// What the user wants rest shapes to come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RestChoice {
    /// By the rule of this module.
    #[default]
    Auto,
    /// The panels, with this many metres to a uv unit.
    Panels {
        /// Metres per uv unit.
        scale: f64,
    },
    /// The shape at load.
    ShapeAtLoad,
}

/// Where rest shapes came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RestSource {
    /// The panels, with this many metres to a uv unit.
    Panels {
        /// Metres per uv unit.
        scale: f64,
    },
    /// The shape at load, because there is no uv or the user said so.
    ShapeAtLoad,
    /// The shape at load, because the uv coordinates look like texture charts.
    NotPanels(UvLengths),
}

/// How uv lengths compare with lengths in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UvLengths {
    /// The median of uv length over length in space.
    pub median: f64,
    /// The 90th percentile over the 10th.
    pub spread: f64,
}

impl UvLengths {
    /// Over all sides of all triangles that have a length in space; `None` when there are none.
    pub fn measure(mesh: &TriMesh, uv: &UvMap) -> Option<Self> {
        let mut ratios = Vec::with_capacity(3 * mesh.triangles.len());
        for (corners, uv_corners) in mesh.triangles.iter().zip(&uv.triangles) {
            let points = corners.map(|corner| mesh.positions[corner as usize]);
            let flat = uv_corners.map(|corner| uv.coordinates[corner as usize]);
            for side in 0..3 {
                let length = points[side].distance(points[(side + 1) % 3]);
                if length > 0.0 {
                    ratios.push(flat[side].distance(flat[(side + 1) % 3]) / length);
                }
            }
        }
        ratios.sort_unstable_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let percentile = |percent: usize| ratios[last * percent / 100];
        Some(Self { median: percentile(50), spread: percentile(90) / percentile(10) })
    }

    /// Whether panels with this many metres to a uv unit would be in true size.
    pub fn are_panels(&self, scale: f64) -> bool {
        USUAL_MEDIAN.contains(&(self.median * scale)) && self.spread <= LARGEST_SPREAD
    }
}

/// One rest shape per triangle, and where they come from. `length_unit` is the mesh file's, in metres.
pub(super) fn rest_shapes(
    mesh: &TriMesh,
    uv: Option<&UvMap>,
    choice: RestChoice,
    length_unit: f64,
) -> (Vec<RestShape>, RestSource) {
    let source = match (uv, choice) {
        (None, _) | (_, RestChoice::ShapeAtLoad) => RestSource::ShapeAtLoad,
        (Some(_), RestChoice::Panels { scale }) => RestSource::Panels { scale },
        (Some(uv), RestChoice::Auto) => match UvLengths::measure(mesh, uv) {
            None => RestSource::ShapeAtLoad,
            Some(lengths) => match [1.0, length_unit].into_iter().find(|&scale| lengths.are_panels(scale)) {
                Some(scale) => RestSource::Panels { scale },
                None => RestSource::NotPanels(lengths),
            },
        },
    };
    let shapes = match (source, uv) {
        (RestSource::Panels { scale }, Some(uv)) => uv
            .triangles
            .iter()
            .map(|corners| RestShape::from_panel(corners.map(|corner| uv.coordinates[corner as usize] * scale)))
            .collect(),
        _ => {
            let at = |corner: u32| -> DVec3 { mesh.positions[corner as usize] };
            mesh.triangles.iter().map(|corners| RestShape::from_world(corners.map(at))).collect()
        }
    };
    (shapes, source)
}
