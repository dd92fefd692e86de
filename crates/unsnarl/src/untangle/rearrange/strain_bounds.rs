//! How far triangles may be stretched and compressed, and what brings them back.
//!
//! A triangle beyond its bounds wants the nearest deformation within them: the singular values of its deformation gradient are
//! clamped. (strain limiting by singular values as in Wang, O'Brien and Ramamoorthi 2010)
//!
//! Guarantees: none is asked to be more stretched or compressed than it is.

use crate::rest_shape::{RestShape, principal_stretches};
use rayon::prelude::*;
use unsnarl_geometry::math::{DMat2, DVec2};
use unsnarl_geometry::{DVec3, Topology, TriangleId, VertexId};

/// The least and greatest stretch of every triangle of cloth.
#[derive(Clone)]
pub struct StrainBounds<'a> {
    shapes: &'a [RestShape],
    /// A little off its rest shape, or what it had before.
    of_triangle: Vec<[f64; 2]>,
    /// Triangles that are spared, in order.
    spared: Vec<TriangleId>,
}

impl<'a> StrainBounds<'a> {
    /// Cloth at rest, as near as makes no difference.
    pub const RELAXED: [f64; 2] = [0.99, 1.01];
    /// Cloth about as large as at rest.
    pub const TIGHT: [f64; 2] = [0.95, 1.02];
    /// Cloth that is strained but acceptable: what has to be stretched is shared by more of it.
    pub const LOOSE: [f64; 2] = [0.93, 1.06];

    /// For triangles of these rest shapes, the first ones of the mesh, that were there before.
    pub fn new(topology: &Topology, shapes: &'a [RestShape], before: &[DVec3], around_rest: [f64; 2]) -> Self {
        let of_triangle = |(corners, shape): (&[VertexId; 3], &RestShape)| {
            let stretches = principal_stretches(shape, corners.map(|corner| before[corner.index()]));
            stretches
                .map_or([0.0, f64::INFINITY], |[most, least]| [least.min(around_rest[0]), most.max(around_rest[1])])
        };
        let of_triangle = topology.triangles().iter().zip(shapes).map(of_triangle).collect();
        Self { shapes, of_triangle, spared: Vec::new() }
    }

    /// The same for all triangles of these rest shapes, whatever they were before.
    pub fn around_rest(topology: &Topology, shapes: &'a [RestShape], bounds: [f64; 2]) -> Self {
        Self { shapes, of_triangle: vec![bounds; topology.triangle_count()], spared: Vec::new() }
    }

    /// The rest shapes, triangle by triangle.
    pub fn shapes(&self) -> &'a [RestShape] {
        self.shapes
    }

    /// Spares the most stretched triangles, not quite one in a hundred: they may be stretched up to [`Self::SPARED`]. A rim that is too narrow
    /// for what it goes around has to be stretched; what hangs on it need not be.
    pub fn spare(&mut self, topology: &Topology, positions: &[DVec3]) {
        const SHARE: f64 = 0.008;
        let stretch = |triangle: usize| {
            let corners = topology.triangles()[triangle].map(|corner| positions[corner.index()]);
            principal_stretches(&self.shapes[triangle], corners).map_or(0.0, |[most, _]| most)
        };
        let mut stretched: Vec<(f64, usize)> =
            (0..self.shapes.len()).into_par_iter().map(|triangle| (stretch(triangle), triangle)).collect();
        stretched.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let count = (SHARE * self.shapes.len() as f64) as usize;
        self.spared = stretched[..count].iter().map(|&(_, triangle)| TriangleId::new(triangle)).collect();
        self.spared.sort_unstable();
    }

    /// How far spared triangles may be stretched.
    pub const SPARED: f64 = 1.25;

    /// What is to be added to the images of unit steps along warp and weft; `None` for a triangle that is within its bounds, has no area at
    /// rest, or is so thin that it has no direction.
    pub fn correction(&self, triangle: TriangleId, corners: [DVec3; 3]) -> Option<[DVec3; 2]> {
        const THIN: f64 = 1e-9;
        let (shape, [least, greatest]) = (&self.shapes[triangle.index()], self.of_triangle[triangle.index()]);
        let [most, fewest] = principal_stretches(shape, corners)?;
        if (most <= greatest && fewest >= least) || fewest <= THIN {
            return None;
        }
        let is_spared = self.spared.binary_search(&triangle).is_ok();
        let greatest = if is_spared { greatest.max(Self::SPARED) } else { greatest };
        let inverse = shape.inverse()?;
        let sides = [corners[1] - corners[0], corners[2] - corners[0]];
        let [warp, weft] =
            [inverse.col(0), inverse.col(1)].map(|column: DVec2| sides[0] * column.x + sides[1] * column.y);
        let angle = 0.5 * (2.0 * warp.dot(weft)).atan2(warp.length_squared() - weft.length_squared());
        let axes = DMat2::from_cols(DVec2::from_angle(angle), DVec2::from_angle(angle).perp());
        let change = |stretch: f64| stretch.clamp(least, greatest) / stretch - 1.0;
        let change = axes * DMat2::from_diagonal(DVec2::new(change(most), change(fewest))) * axes.transpose();
        Some([change.col(0), change.col(1)].map(|column| warp * column.x + weft * column.y))
    }
}
