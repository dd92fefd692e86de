//! From space and from panels to pixels.

use unsnarl_geometry::{Aabb, DVec2, DVec3};

/// Pixels beyond its area that a view may draw on: half a line of what lies at the edge.
const BLEED: f64 = 6.0;

/// A rectangle of the picture, in pixels from the top left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Column `column` of `count` equal columns.
    pub fn column(self, column: usize, count: usize) -> Self {
        let width = self.width / count.max(1) as f64;
        Self { left: self.left + width * column as f64, width, ..self }
    }

    /// Row `row` of `count` equal rows.
    pub fn row(self, row: usize, count: usize) -> Self {
        let height = self.height / count.max(1) as f64;
        Self { top: self.top + height * row as f64, height, ..self }
    }

    /// This area without a margin on every side.
    pub fn inset(self, margin: f64) -> Self {
        Self {
            left: self.left + margin,
            top: self.top + margin,
            width: (self.width - 2.0 * margin).max(1.0),
            height: (self.height - 2.0 * margin).max(1.0),
        }
    }
}

/// A parallel projection of space onto an area of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    right: DVec3,
    up: DVec3,
    toward: DVec3,
    center: DVec3,
    middle: DVec2,
    pixels_per_metre: f64,
    depth_scale: f64,
    area: Area,
}

impl View {
    /// Looks at a box from the side that `toward` points to (from the box to the eye), so that the box fills the area.
    ///
    /// The y axis points up in the picture; when looking along it, the z axis points down.
    pub fn framing(bounds: Aabb, toward: DVec3, area: Area) -> Self {
        let toward = toward.try_normalize().unwrap_or(DVec3::Z);
        let upright = if toward.y.abs() > 0.999 { -DVec3::Z } else { DVec3::Y };
        let right = upright.cross(toward).try_normalize().unwrap_or(DVec3::X);
        let up = toward.cross(right);
        let bounds = usable(bounds);
        let half = 0.5 * bounds.extent();
        let half_along = |axis: DVec3| half.dot(axis.abs()).max(1e-12);
        let scale = (0.5 * area.width / half_along(right)).min(0.5 * area.height / half_along(up));
        Self {
            right,
            up,
            toward,
            center: bounds.center(),
            middle: DVec2::new(area.left + 0.5 * area.width, area.top + 0.5 * area.height),
            pixels_per_metre: scale,
            depth_scale: half_along(toward).recip(),
            area,
        }
    }

    /// Where it draws: nothing appears beside it.
    pub(super) fn area(&self) -> Area {
        self.area.inset(-BLEED)
    }

    /// A direction that shows a box well: its broadest face, a little from above and from the side.
    pub fn best_direction(bounds: Aabb) -> DVec3 {
        let extent = usable(bounds).extent();
        if extent.y < 0.5 * extent.x.min(extent.z) {
            DVec3::new(0.35, 1.0, 0.7)
        } else if extent.x < 0.6 * extent.z {
            DVec3::new(1.0, 0.3, 0.4)
        } else {
            DVec3::new(0.4, 0.3, 1.0)
        }
    }

    /// The point's place in the picture (pixels, y down) and its nearness to the eye (about -1 to 1).
    pub fn project(&self, point: DVec3) -> DVec3 {
        let offset = point - self.center;
        DVec3::new(
            self.middle.x + self.pixels_per_metre * offset.dot(self.right),
            self.middle.y - self.pixels_per_metre * offset.dot(self.up),
            self.depth_scale * offset.dot(self.toward),
        )
    }

    /// How bright a surface with this unit normal is: 0 to 1. The light stands above the eye's left shoulder.
    pub(super) fn brightness(&self, normal: DVec3) -> f64 {
        let light = (self.toward + 0.55 * self.up - 0.4 * self.right).normalize_or_zero();
        let wrapped = 0.5 + 0.5 * normal.dot(light);
        0.38 + 0.62 * wrapped * wrapped
    }

    /// Whether a normal points to the eye.
    pub(super) fn faces_eye(&self, normal: DVec3) -> bool {
        normal.dot(self.toward) >= 0.0
    }

    /// Nearness that corresponds to a number of pixels, to lift lines off the surface they lie on.
    pub(super) fn nearness_of_pixels(&self, pixels: f64) -> f64 {
        pixels / self.pixels_per_metre * self.depth_scale
    }
}

/// A flat map from panel coordinates (y up) to an area of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanelView {
    center: DVec2,
    middle: DVec2,
    pixels_per_unit: f64,
    area: Area,
}

impl PanelView {
    /// Fits the rectangle from `min` to `max` into the area, the same scale both ways.
    pub fn framing(min: DVec2, max: DVec2, area: Area) -> Self {
        let (min, max) =
            if (max - min).is_finite() && min.cmple(max).all() { (min, max) } else { (DVec2::ZERO, DVec2::ONE) };
        let size = (max - min).max(DVec2::splat(1e-12));
        Self {
            center: 0.5 * (min + max),
            middle: DVec2::new(area.left + 0.5 * area.width, area.top + 0.5 * area.height),
            pixels_per_unit: (area.width / size.x).min(area.height / size.y),
            area,
        }
    }

    /// Where it draws: nothing appears beside it.
    pub(super) fn area(&self) -> Area {
        self.area.inset(-BLEED)
    }

    /// The point's place in the picture, in pixels, y down.
    pub fn project(&self, point: DVec2) -> DVec2 {
        let offset = self.pixels_per_unit * (point - self.center);
        self.middle + DVec2::new(offset.x, -offset.y)
    }
}

/// The box itself, or a unit box when there is nothing to frame.
fn usable(bounds: Aabb) -> Aabb {
    if bounds.is_empty() || !bounds.extent().is_finite() {
        return Aabb { min: DVec3::splat(-0.5), max: DVec3::splat(0.5) };
    }
    bounds
}
