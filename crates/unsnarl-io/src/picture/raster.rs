//! The rasteriser: a list of screen triangles, drawn in order with a depth buffer and several samples a pixel.
//!
//! The picture is cut into bands of rows that are drawn independently and joined in order, so that the result is the
//! same for any number of threads, and memory is a band's, not the whole supersampled picture's.

use super::style::Colour;
use super::view::Area;
use rayon::prelude::*;
use unsnarl_geometry::{DVec2, DVec3};

/// Samples along each side of a pixel.
const SAMPLES: usize = 3;
/// Rows of pixels in a band.
const BAND_ROWS: usize = 16;

/// How a triangle meets the depth buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Drawn where nearer than what is there, and remembered.
    Surface,
    /// Drawn where nearer than what is there, not remembered.
    Tested,
    /// Always drawn.
    Ignored,
}

/// A triangle in pixels; z is nearness to the eye.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScreenTriangle {
    pub corners: [DVec3; 3],
    pub colours: [Colour; 3],
    /// Edge colour and width in pixels, for wireframes; opacity 0 for none.
    pub edge: (Colour, f32),
    pub depth: Depth,
    /// Translucent triangles of one group do not darken each other.
    pub group: u32,
    /// Nothing is drawn outside of it.
    pub clip: Area,
}

/// Draws the list and returns the rows of the picture, three bytes a pixel.
pub(super) fn render(triangles: &[ScreenTriangle], width: usize, height: usize, background: Colour) -> Vec<u8> {
    let band_count = height.div_ceil(BAND_ROWS);
    let mut bands: Vec<Vec<u32>> = vec![Vec::new(); band_count];
    for (index, triangle) in triangles.iter().enumerate() {
        let [a, b, c] = triangle.corners;
        if !(a.is_finite() && b.is_finite() && c.is_finite()) {
            continue;
        }
        let (top, bottom) = (a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y));
        if bottom < 0.0 || top >= height as f64 {
            continue;
        }
        let first = (top.max(0.0) as usize) / BAND_ROWS;
        let last = (bottom as usize / BAND_ROWS).min(band_count - 1);
        for band in &mut bands[first..=last] {
            band.push(index as u32);
        }
    }
    let rows: Vec<Vec<u8>> = bands
        .par_iter()
        .enumerate()
        .map(|(band, list)| {
            let top = band * BAND_ROWS;
            let mut samples = Samples::new(width, top, BAND_ROWS.min(height - top), background);
            for &index in list {
                samples.draw(&triangles[index as usize]);
            }
            samples.resolve()
        })
        .collect();
    rows.concat()
}

/// The samples of one band.
struct Samples {
    columns: usize,
    rows: usize,
    first_row: usize,
    colours: Vec<[u8; 3]>,
    nearness: Vec<f32>,
    groups: Vec<u32>,
}

impl Samples {
    fn new(width: usize, top: usize, height: usize, background: Colour) -> Self {
        let (columns, rows) = (width * SAMPLES, height * SAMPLES);
        Self {
            columns,
            rows,
            first_row: top * SAMPLES,
            colours: vec![[background.red, background.green, background.blue]; columns * rows],
            nearness: vec![f32::NEG_INFINITY; columns * rows],
            groups: vec![u32::MAX; columns * rows],
        }
    }

    fn draw(&mut self, triangle: &ScreenTriangle) {
        let scale = SAMPLES as f64;
        let corners = triangle.corners.map(|corner| DVec2::new(corner.x, corner.y) * scale);
        let Some(setup) = Setup::new(corners) else { return };
        let low = corners[0].min(corners[1]).min(corners[2]);
        let high = corners[0].max(corners[1]).max(corners[2]);
        let clip = triangle.clip;
        let low = low.max(scale * DVec2::new(clip.left, clip.top));
        let high = high.min(scale * DVec2::new(clip.left + clip.width, clip.top + clip.height));
        let first_row = (low.y - 0.5).ceil().max(self.first_row as f64) as usize;
        let last_row = (high.y - 0.5).floor().min((self.first_row + self.rows) as f64 - 1.0);
        let first_column = (low.x - 0.5).ceil().max(0.0) as usize;
        let last_column = (high.x - 0.5).floor().min(self.columns as f64 - 1.0);
        if last_row < first_row as f64 || last_column < first_column as f64 {
            return;
        }
        for row in first_row..=last_row as usize {
            let height = row as f64 + 0.5;
            let Some((left, right)) = row_span(corners, height) else { continue };
            let first = first_column.max((left - 1.0).max(0.0) as usize);
            let last = last_column.min(right + 1.0);
            if last < first as f64 {
                continue;
            }
            for column in first..=last as usize {
                if let Some(weights) = setup.weights(DVec2::new(column as f64 + 0.5, height)) {
                    let at = (row - self.first_row) * self.columns + column;
                    self.touch(at, triangle, weights, &setup);
                }
            }
        }
    }

    fn touch(&mut self, at: usize, triangle: &ScreenTriangle, weights: [f64; 3], setup: &Setup) {
        let [a, b, c] = triangle.corners;
        let nearness = (weights[0] * a.z + weights[1] * b.z + weights[2] * c.z) as f32;
        if triangle.depth != Depth::Ignored && nearness < self.nearness[at] {
            return;
        }
        let mut colour = blend_corners(&triangle.colours, weights);
        let opacity = triangle.colours[0].opacity;
        if triangle.edge.0.opacity > 0 {
            let width = f64::from(triangle.edge.1) * SAMPLES as f64;
            let distance = (0..3).map(|side| weights[side] * setup.heights[side]).fold(f64::INFINITY, f64::min);
            let cover = (0.5 * width - distance + 0.5).clamp(0.0, 1.0);
            colour = over(colour, triangle.edge.0, cover);
        }
        if opacity < 255 {
            if self.groups[at] == triangle.group {
                return;
            }
            self.groups[at] = triangle.group;
            let ink = Colour { red: colour[0], green: colour[1], blue: colour[2], opacity };
            colour = over(self.colours[at], ink, 1.0);
        }
        self.colours[at] = colour;
        if triangle.depth == Depth::Surface {
            self.nearness[at] = nearness;
        }
    }

    /// Averages the samples of each pixel.
    fn resolve(&self) -> Vec<u8> {
        let (width, height) = (self.columns / SAMPLES, self.rows / SAMPLES);
        let count = (SAMPLES * SAMPLES) as u32;
        let mut bytes = Vec::with_capacity(width * height * 3);
        for row in 0..height {
            for column in 0..width {
                let mut sum = [count / 2; 3];
                for sample in 0..SAMPLES * SAMPLES {
                    let (down, across) = (sample / SAMPLES, sample % SAMPLES);
                    let at = (row * SAMPLES + down) * self.columns + column * SAMPLES + across;
                    for channel in 0..3 {
                        sum[channel] += u32::from(self.colours[at][channel]);
                    }
                }
                bytes.extend(sum.map(|channel| (channel / count) as u8));
            }
        }
        bytes
    }
}

/// The barycentric weights of a triangle as affine functions, and its three heights in samples.
struct Setup {
    corners: [DVec2; 3],
    inverse_area: f64,
    heights: [f64; 3],
}

impl Setup {
    fn new(corners: [DVec2; 3]) -> Option<Self> {
        let [a, b, c] = corners;
        let area = (b - a).perp_dot(c - a);
        if area == 0.0 || !area.is_finite() {
            return None;
        }
        let heights = [(c - b).length(), (a - c).length(), (b - a).length()].map(|side| area.abs() / side);
        Some(Self { corners, inverse_area: area.recip(), heights })
    }

    fn weights(&self, place: DVec2) -> Option<[f64; 3]> {
        let [a, b, c] = self.corners;
        let first = (b - place).perp_dot(c - place) * self.inverse_area;
        let second = (c - place).perp_dot(a - place) * self.inverse_area;
        let third = (a - place).perp_dot(b - place) * self.inverse_area;
        (first >= 0.0 && second >= 0.0 && third >= 0.0).then_some([first, second, third])
    }
}

/// Where the line at this height enters and leaves the triangle.
fn row_span(corners: [DVec2; 3], height: f64) -> Option<(f64, f64)> {
    let mut span: Option<(f64, f64)> = None;
    for side in 0..3 {
        let (from, to) = (corners[side], corners[(side + 1) % 3]);
        if (from.y > height) == (to.y > height) {
            continue;
        }
        let across = from.x + (to.x - from.x) * ((height - from.y) / (to.y - from.y));
        span = Some(span.map_or((across, across), |(left, right)| (left.min(across), right.max(across))));
    }
    span
}

fn blend_corners(colours: &[Colour; 3], weights: [f64; 3]) -> [u8; 3] {
    let mix = |channel: fn(&Colour) -> u8| {
        let sum: f64 = colours.iter().zip(weights).map(|(colour, weight)| weight * f64::from(channel(colour))).sum();
        (sum + 0.5) as u8
    };
    [mix(|colour| colour.red), mix(|colour| colour.green), mix(|colour| colour.blue)]
}

fn over(below: [u8; 3], ink: Colour, cover: f64) -> [u8; 3] {
    let share = cover * f64::from(ink.opacity) / 255.0;
    let blend = |from: u8, to: u8| (f64::from(from) + share * (f64::from(to) - f64::from(from)) + 0.5) as u8;
    [blend(below[0], ink.red), blend(below[1], ink.green), blend(below[2], ink.blue)]
}
