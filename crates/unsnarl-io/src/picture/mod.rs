//! Pictures without a display: a software rasteriser for meshes, contours, panels and legends, written as PNG.
//!
//! Everything becomes triangles in pixels, kept in a list and drawn when the picture is encoded: a depth buffer, nine
//! samples a pixel, two-sided shading, edges inside triangles, lines and points that may show through surfaces.
//!
//! Guarantees: the same calls give the same bytes on any number of threads; triangles with coordinates that are not
//! finite are left out, never an error; memory grows with the list, not with the number of samples; what a view shows
//! stays in its area, so that captions and other views are not drawn over.
//! Does not: perspective, shadows, textures; characters beyond ASCII show as a box.

mod font;
mod framing;
mod raster;
mod style;
mod view;

pub use framing::Frame;
pub use style::{Colour, MeshStyle, Paint, Visibility, Wireframe};
pub use view::{Area, PanelView, View};

use raster::{Depth, ScreenTriangle};
use unsnarl_geometry::{Aabb, DVec2, DVec3};

/// The largest width and height of a picture, in pixels.
pub const LARGEST_SIDE: usize = 16_384;
/// Pixels per font cell.
const TEXT_SCALE: f64 = 2.0;
/// Pixels between things.
const GAP: f64 = 14.0;
/// Lines that a title may take.
const TITLE_LINES: usize = 3;

/// A picture under construction.
#[derive(Clone, Debug)]
pub struct Picture {
    width: usize,
    height: usize,
    background: Colour,
    triangles: Vec<ScreenTriangle>,
    next_group: u32,
    header: f64,
    /// Where the thing that is being drawn may appear.
    clip: Area,
}

impl Picture {
    /// An empty white picture. Sides are kept within 1 and [`LARGEST_SIDE`].
    pub fn new(width: usize, height: usize) -> Self {
        let (width, height) = (width.clamp(1, LARGEST_SIDE), height.clamp(1, LARGEST_SIDE));
        Self {
            width,
            height,
            background: Colour::WHITE,
            triangles: Vec::new(),
            next_group: 0,
            header: 0.0,
            clip: Area { left: 0.0, top: 0.0, width: width as f64, height: height as f64 },
        }
    }

    /// What is free for drawing: the picture below titles and legends, with a margin.
    pub fn area(&self) -> Area {
        let whole = self.whole();
        Area { top: self.header, height: (whole.height - self.header).max(1.0), ..whole }.inset(GAP)
    }

    fn whole(&self) -> Area {
        Area { left: 0.0, top: 0.0, width: self.width as f64, height: self.height as f64 }
    }

    /// Draws a mesh, shaded on both sides.
    pub fn draw_mesh(&mut self, view: &View, positions: &[DVec3], triangles: &[[u32; 3]], style: &MeshStyle) {
        self.clip = view.area();
        let group = self.new_group();
        let normals = vertex_normals(positions, triangles);
        let places: Vec<DVec3> = positions.iter().map(|&position| view.project(position)).collect();
        let edge = edge_style(style.wireframe, &places, triangles);
        for (index, corners) in triangles.iter().enumerate() {
            let corners = corners.map(|corner| corner as usize);
            if corners.iter().any(|&corner| corner >= positions.len()) {
                continue;
            }
            let [a, b, c] = corners.map(|corner| positions[corner]);
            let face_normal = (b - a).cross(c - a).normalize_or_zero();
            let front = view.faces_eye(face_normal);
            let colours = corners.map(|corner| {
                let smooth = normals[corner].try_normalize().unwrap_or(face_normal);
                let normal = if front { smooth } else { -smooth };
                paint(style.paint, index, corner, front).mix(Colour::new(0, 0, 0), 1.0 - view.brightness(normal))
            });
            let corners = corners.map(|corner| places[corner]);
            let clip = self.clip;
            self.triangles.push(ScreenTriangle { corners, colours, edge, depth: Depth::Surface, group, clip });
        }
    }

    /// Draws lines in space, with a width in pixels.
    pub fn draw_segments(
        &mut self,
        view: &View,
        segments: &[(DVec3, DVec3)],
        colour: Colour,
        width: f64,
        visibility: Visibility,
    ) {
        self.clip = view.area();
        let lift = DVec3::new(0.0, 0.0, view.nearness_of_pixels(1.5));
        for (colour, depth) in passes(colour, visibility) {
            let group = self.new_group();
            for &(from, to) in segments {
                self.push_line(view.project(from) + lift, view.project(to) + lift, colour, width, depth, group);
            }
        }
    }

    /// Draws points in space as discs, with a radius in pixels.
    pub fn draw_points(&mut self, view: &View, points: &[DVec3], colour: Colour, radius: f64, visibility: Visibility) {
        self.clip = view.area();
        let lift = DVec3::new(0.0, 0.0, view.nearness_of_pixels(2.0));
        for (colour, depth) in passes(colour, visibility) {
            let group = self.new_group();
            for &point in points {
                self.push_disc(view.project(point) + lift, radius, colour, depth, group);
            }
        }
    }

    /// Fills panels, one colour per triangle (missing ones are light grey); later triangles cover earlier ones.
    pub fn fill_panels(
        &mut self,
        view: &PanelView,
        coordinates: &[DVec2],
        triangles: &[[u32; 3]],
        colours: &[Colour],
        wireframe: Wireframe,
    ) {
        self.clip = view.area();
        let group = self.new_group();
        let places: Vec<DVec3> = coordinates.iter().map(|&point| view.project(point).extend(0.0)).collect();
        let edge = edge_style(wireframe, &places, triangles);
        for (index, corners) in triangles.iter().enumerate() {
            if corners.iter().any(|&corner| corner as usize >= places.len()) {
                continue;
            }
            let colour = colours.get(index).copied().unwrap_or(Colour::new(225, 225, 225));
            let corners = corners.map(|corner| places[corner as usize]);
            let (colours, clip) = ([colour; 3], self.clip);
            self.triangles.push(ScreenTriangle { corners, colours, edge, depth: Depth::Ignored, group, clip });
        }
    }

    /// Draws lines on panels, with a width in pixels.
    pub fn draw_panel_segments(&mut self, view: &PanelView, segments: &[(DVec2, DVec2)], colour: Colour, width: f64) {
        self.clip = view.area();
        let group = self.new_group();
        for &(from, to) in segments {
            let (from, to) = (view.project(from).extend(0.0), view.project(to).extend(0.0));
            self.push_line(from, to, colour, width, Depth::Ignored, group);
        }
    }

    /// Draws points on panels as discs, with a radius in pixels.
    pub fn draw_panel_points(&mut self, view: &PanelView, points: &[DVec2], colour: Colour, radius: f64) {
        self.clip = view.area();
        let group = self.new_group();
        for &point in points {
            self.push_disc(view.project(point).extend(0.0), radius, colour, Depth::Ignored, group);
        }
    }

    /// Writes a text with its top left corner at a place in pixels. Capitals are 14 pixels high.
    pub fn text(&mut self, place: DVec2, text: &str, colour: Colour) {
        self.clip = self.whole();
        let group = self.new_group();
        for cell in font::cells(text) {
            self.push_box(place + TEXT_SCALE * cell, DVec2::splat(TEXT_SCALE), colour, group);
        }
    }

    /// Writes at the top, below earlier titles and legends, and takes its room from [`Picture::area`]. A long title
    /// is broken between words; what does not fit into three lines is cut.
    pub fn title(&mut self, text: &str) {
        let columns = ((self.width as f64 - 2.0 * GAP) / (font::ADVANCE * TEXT_SCALE)) as usize;
        for line in font::broken(text, columns.max(4), TITLE_LINES) {
            self.text(DVec2::new(GAP, self.header + GAP), &line, Colour::INK);
            self.header += GAP + font::CAP_ROWS * TEXT_SCALE + 4.0;
        }
    }

    /// Writes colour patches with their meanings at the top, as many on a line as fit, and takes their room.
    pub fn legend(&mut self, entries: &[(Colour, &str)]) {
        if entries.is_empty() {
            return;
        }
        let patch = font::CAP_ROWS * TEXT_SCALE;
        let mut place = DVec2::new(GAP, self.header + GAP);
        for &(colour, meaning) in entries {
            let width = patch + 8.0 + font::width(meaning) * TEXT_SCALE + 2.0 * GAP;
            if place.x > GAP && place.x + width > self.width as f64 {
                place = DVec2::new(GAP, place.y + patch + GAP);
            }
            self.clip = self.whole();
            let group = self.new_group();
            self.push_box(place, DVec2::splat(patch), colour, group);
            self.text(place + DVec2::new(patch + 8.0, 0.0), meaning, Colour::INK);
            place.x += width;
        }
        self.header = place.y + patch + 4.0;
    }

    /// The picture as a PNG file.
    pub fn encode_png(&self) -> Vec<u8> {
        let pixels = raster::render(&self.triangles, self.width, self.height, self.background);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("a header is written to memory, its size is not zero");
        writer.write_image_data(&pixels).expect("the rows have the size that the header says");
        writer.finish().expect("the end is written to memory");
        bytes
    }

    fn new_group(&mut self) -> u32 {
        self.next_group += 1;
        self.next_group
    }

    fn push_line(&mut self, from: DVec3, to: DVec3, colour: Colour, width: f64, depth: Depth, group: u32) {
        let along = DVec2::new(to.x - from.x, to.y - from.y).try_normalize().unwrap_or(DVec2::X);
        let half = 0.5 * width;
        let side = DVec3::new(-along.y * half, along.x * half, 0.0);
        let cap = DVec3::new(along.x * half, along.y * half, 0.0) * 0.6;
        let (from, to) = (from - cap, to + cap);
        self.push_plain([from + side, from - side, to - side], colour, depth, group);
        self.push_plain([from + side, to - side, to + side], colour, depth, group);
    }

    fn push_disc(&mut self, center: DVec3, radius: f64, colour: Colour, depth: Depth, group: u32) {
        let corners: [DVec3; 12] = std::array::from_fn(|corner| {
            let angle = std::f64::consts::TAU * corner as f64 / 12.0;
            center + DVec3::new(radius * angle.cos(), radius * angle.sin(), 0.0)
        });
        for corner in 0..corners.len() {
            let next = corners[(corner + 1) % corners.len()];
            self.push_plain([center, corners[corner], next], colour, depth, group);
        }
    }

    fn push_box(&mut self, corner: DVec2, size: DVec2, colour: Colour, group: u32) {
        let at = |x: f64, y: f64| DVec3::new(corner.x + x * size.x, corner.y + y * size.y, 0.0);
        self.push_plain([at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0)], colour, Depth::Ignored, group);
        self.push_plain([at(0.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)], colour, Depth::Ignored, group);
    }

    fn push_plain(&mut self, corners: [DVec3; 3], colour: Colour, depth: Depth, group: u32) {
        let edge = (colour.with_opacity(0), 0.0);
        let clip = self.clip;
        self.triangles.push(ScreenTriangle { corners, colours: [colour; 3], edge, depth, group, clip });
    }
}

/// The drawing passes that a visibility asks for.
fn passes(colour: Colour, visibility: Visibility) -> Vec<(Colour, Depth)> {
    match visibility {
        Visibility::Hidden => vec![(colour, Depth::Tested)],
        Visibility::XRay => vec![(colour, Depth::Ignored)],
        Visibility::Faint => vec![(colour.with_opacity(colour.opacity / 3), Depth::Ignored), (colour, Depth::Tested)],
    }
}

fn paint(paint: Paint, triangle: usize, vertex: usize, front: bool) -> Colour {
    let grey = Colour::new(180, 180, 180);
    let one_sided = match paint {
        Paint::TwoSided { front: colour, .. } if front => return colour,
        Paint::TwoSided { back, .. } => return back,
        Paint::PerTriangle(colours) => colours.get(triangle).copied().unwrap_or(grey),
        Paint::PerVertex(colours) => colours.get(vertex).copied().unwrap_or(grey),
    };
    if front { one_sided } else { one_sided.mix(Colour::new(60, 50, 40).with_opacity(one_sided.opacity), 0.18) }
}

/// Area-weighted normals, not normalised.
fn vertex_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in triangles {
        let [Some(&a), Some(&b), Some(&c)] = corners.map(|corner| positions.get(corner as usize)) else { continue };
        let normal = (b - a).cross(c - a);
        for &corner in corners {
            normals[corner as usize] += normal;
        }
    }
    normals
}

/// The wireframe, faded out as triangles become smaller than about eight pixels.
fn edge_style(wireframe: Wireframe, places: &[DVec3], triangles: &[[u32; 3]]) -> (Colour, f32) {
    let Wireframe::Lines(colour, width) = wireframe else { return (Colour::INK.with_opacity(0), 0.0) };
    let boxes = triangles.iter().filter_map(|corners| {
        let [a, b, c] = corners.map(|corner| places.get(corner as usize).copied());
        let extent = Aabb::of_points([a?, b?, c?]).extent();
        extent.is_finite().then(|| extent.x.max(extent.y))
    });
    let (count, sum) = boxes.fold((0usize, 0.0), |(count, sum), size| (count + 1, sum + size));
    let mean = sum / count.max(1) as f64;
    let share = ((mean - 3.0) / 7.0).clamp(0.0, 1.0);
    (colour.with_opacity((f64::from(colour.opacity) * share) as u8), width as f32)
}

#[cfg(test)]
mod tests;
