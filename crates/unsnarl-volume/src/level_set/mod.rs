//! Level sets: signed distances on a sparse block grid, exact near the surface.
//!
//! Samples are `f32`, in metres, negative inside, and lie at `origin + spacing * (i, j, k)`; two level sets of one
//! spacing made from meshes share their lattice. Distances are kept in a band around the surface; samples beyond it
//! hold plus or minus the half width. (Bridson 2003, 2.1, 4.3, 6)
//!
//! Guarantees: queries never fail, whatever the point; every operation gives the same bits on any number of threads.
//! Does not: represent surfaces thinner than about two samples; those belong to the triangle pipeline.

pub mod band;
pub mod csg;
pub mod drag;
pub mod eikonal;
pub mod extract;
pub mod far_field;
pub mod flow;
pub mod from_field;
pub mod from_mesh;
pub mod history;
pub mod measure;
pub mod moving;
pub mod query;
pub mod refine;
pub mod sculpt;
mod shape_tools;
pub mod splats;
pub mod spline;
mod stencil;
pub mod trace;
pub mod view_set;

pub use band::Reinitialization;
pub use csg::Csg;
pub use drag::{Aim, Brush, Drag, Mirror, Picking, PointerEvent};
pub use extract::{BlockMesh, BlockMesher, Extraction};
pub use flow::FlowError;
pub use from_mesh::{Beyond, Extent, InnerSheets, MeshError, MeshSettings, winding_number};
pub use history::{History, Journal};
pub use measure::Measures;
pub use moving::{BodyPoint, DeformingBody, DeformingError, RigidBody};
pub use refine::Doubling;
pub use sculpt::{Falloff, Stamp, StampShape, Stroke, StrokeError, Tool};
pub use splats::Splat;
pub use spline::{CubicSpline, Curvature};

use crate::grid::{Background, BlockGrid, BlockWidth, Domain, SampleCoordinates};
use far_field::FarField;
use unsnarl_geometry::DVec3;

/// Where the samples lie in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// The position of sample (0, 0, 0), metres.
    pub origin: DVec3,
    /// The distance between neighbours, metres.
    pub spacing: f64,
}

impl Frame {
    /// The position of a sample.
    pub fn position(&self, sample: SampleCoordinates) -> DVec3 {
        let [x, y, z] = sample.map(f64::from);
        self.origin + self.spacing * DVec3::new(x, y, z)
    }

    /// A point in units of samples.
    #[inline]
    pub fn in_samples(&self, point: DVec3) -> DVec3 {
        (point - self.origin) * self.spacing.recip()
    }
}

/// A signed distance in a band around a surface; see the module.
#[derive(Clone, Debug)]
pub struct LevelSet {
    grid: BlockGrid<f32>,
    frame: Frame,
    half_width: f64,
    far: Option<FarField>,
}

impl LevelSet {
    /// A level set with nothing in it.
    pub fn empty(frame: Frame, width: BlockWidth, half_width: f64, domain: Domain) -> Self {
        let outside = half_width as f32;
        let grid = BlockGrid::new(width, domain, Background { outside, inside: -outside });
        Self { grid, frame, half_width, far: None }
    }

    /// A level set from its parts. The background of the grid must be plus and minus the half width.
    pub fn from_parts(grid: BlockGrid<f32>, frame: Frame) -> Self {
        let half_width = f64::from(grid.background().outside);
        Self { grid, frame, half_width, far: None }
    }

    /// The samples.
    pub fn grid(&self) -> &BlockGrid<f32> {
        &self.grid
    }

    /// Where the samples lie.
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Half the width of the band, metres.
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// The coarse distances beyond the band, if kept.
    pub fn far_field(&self) -> Option<&FarField> {
        self.far.as_ref()
    }

    /// Makes or renews the coarse distances beyond the band; editing a level set drops them.
    pub fn extend_far(&mut self) {
        self.far = FarField::from_band(&self.grid, self.frame.spacing);
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.grid.memory_bytes() + self.far.as_ref().map_or(0, FarField::memory_bytes)
    }
}
