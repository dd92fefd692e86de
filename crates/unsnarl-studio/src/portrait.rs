//! What the page draws: a workpiece as packets.
//!
//! `opened` carries what stays the same (triangles, panels, bodies), `frame` what changes (positions, colours, contours
//! in space and on the panels). Positions are 32-bit there; nothing is computed from them afterwards.

use crate::opening::Opened;
use crate::packet::Packet;
use crate::workpiece::Workpiece;
use serde_json::{Value, json};
use unsnarl::analysis::report::TypeCounts;
use unsnarl::analysis::{PartKind, Tangle, TangledContour, Trace};
use unsnarl_geometry::distance::point_triangle;
use unsnarl_geometry::{Aabb, DVec2, DVec3, TriangleId, UvMap};

/// Contours listed by name; all are drawn.
const MOST_LISTED: usize = 300;

/// The panels of all garments, side by side, with one shift for each.
struct Layout {
    shifts: Vec<DVec2>,
}

impl Layout {
    fn new(opened: &Opened) -> Self {
        let mut right = 0.0;
        let mut shifts = Vec::new();
        for uv in garment_panels(opened) {
            let points = uv.map_or(&[][..], |uv| &uv.coordinates);
            let min = points.iter().copied().fold(DVec2::INFINITY, DVec2::min);
            let max = points.iter().copied().fold(DVec2::NEG_INFINITY, DVec2::max);
            if points.is_empty() {
                shifts.push(DVec2::ZERO);
                continue;
            }
            shifts.push(DVec2::new(right, 0.0) - min);
            right += 1.1 * (max.x - min.x);
        }
        Self { shifts }
    }
}

fn garment_panels(opened: &Opened) -> impl Iterator<Item = Option<&UvMap>> {
    opened.files.iter().take(opened.garment_count).map(|file| file.uv.as_ref())
}

/// What stays the same.
pub fn opened(workpiece: &Workpiece) -> Packet {
    let opened = &workpiece.opened;
    let layout = Layout::new(opened);
    let parts: Vec<Value> = (opened.assembly.parts().iter())
        .map(|part| {
            json!({
                "name": part.name,
                "kind": match part.kind { PartKind::Cloth => "cloth", PartKind::Body => "body" },
                "vertices": [part.vertices.start, part.vertices.len()],
                "triangles": [part.triangles.start, part.triangles.len()],
            })
        })
        .collect();
    let mut panels = Vec::new();
    let mut panel_triangles = Vec::new();
    for (index, uv) in garment_panels(opened).enumerate() {
        let first = opened.assembly.parts()[index].triangles.start;
        let Some(uv) = uv else { continue };
        for triangle in 0..uv.triangles.len() {
            let corners = panel_corners(uv, triangle).map(|at| at + layout.shifts[index]);
            panel_triangles.push((first + triangle) as u32);
            panels.extend(corners.iter().flat_map(|at| [at.x as f32, at.y as f32]));
        }
    }
    let topology = opened.assembly.topology();
    Packet::new("opened")
        .field("name", &opened.name)
        .field("parts", parts)
        .field("cloth_vertices", opened.model.masses.len())
        .field("remarks", &opened.remarks)
        .field("mean_edge", opened.model.mean_rest_edge())
        .reals("positions", reals(&workpiece.all_positions()))
        .indices("triangles", topology.triangles().iter().flat_map(|corners| corners.map(|corner| corner.0)))
        .indices("edges", topology.edges().iter().flat_map(|ends| ends.map(|end| end.0)))
        .reals("panels", panels)
        .indices("panel_triangles", panel_triangles)
}

fn panel_corners(uv: &UvMap, triangle: usize) -> [DVec2; 3] {
    uv.triangles[triangle].map(|at| uv.coordinates[at as usize])
}

/// Where rigid bodies are in a frame of a simulation.
pub fn with_bodies(packet: Packet, workpiece: &Workpiece) -> Packet {
    packet.reals("bodies", reals(&workpiece.opened.body_positions))
}

fn reals(points: &[DVec3]) -> impl Iterator<Item = f32> + '_ {
    points.iter().flat_map(|point| point.to_array().map(|value| value as f32))
}

/// What changes.
pub fn frame(workpiece: &Workpiece, activity: &str) -> Packet {
    let Workpiece { opened, tangle, looked_at, .. } = workpiece;
    let mut order: Vec<(f64, &TangledContour)> =
        tangle.contours.iter().map(|tangled| (tangled.contour.length(looked_at), tangled)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let total_length: f64 = order.iter().map(|(length, _)| length).sum();
    let listed: Vec<Value> =
        order.iter().take(MOST_LISTED).map(|(length, tangled)| describe(opened, tangled, *length, looked_at)).collect();
    let lines = Lines::new(opened, &order, looked_at);
    Packet::new("frame")
        .field("activity", activity)
        .field("steps", workpiece.steps)
        .field("verdict", verdict(workpiece))
        .field("types", TypeCounts::new(tangle))
        .field("contour_count", tangle.contours.len())
        .field("contours", listed)
        .field("red_vertices", tangle.colours.red_vertices.len())
        .field("contour_length", total_length)
        .field("stage_times", workpiece.stage_times)
        .field("undo_depth", workpiece.undo_depth())
        .reals("positions", reals(workpiece.shown_positions()))
        .bytes("vertex_colours", vertex_colours(looked_at.len(), tangle))
        .bytes("triangle_colours", triangle_colours(opened, tangle))
        .indices("pins", workpiece.pins())
        .reals("lines", lines.points)
        .indices("line_contours", lines.contours)
        .reals("panel_lines", lines.panel_points)
        .indices("panel_line_contours", lines.panel_contours)
        .bytes("panel_line_traces", lines.panel_traces)
}

fn verdict(workpiece: &Workpiece) -> Value {
    match &workpiece.verdict {
        None => json!("tangled"),
        Some(verdict) if verdict.is_clean() => json!("clean"),
        Some(verdict) => json!({ "touching": verdict.pairs.len() }),
    }
}

fn describe(opened: &Opened, tangled: &TangledContour, length: f64, positions: &[DVec3]) -> Value {
    let bounds = Aabb::of_points(tangled.contour.polyline(positions));
    json!({
        "type": tangled.kind.name(),
        "length": length,
        "segments": tangled.contour.segments.len(),
        "sheets": tangled.contour.segments[0].map(|triangle| opened.sheet_name(triangle)),
        "regions": Trace::BOTH.map(|trace| tangled.regions.vertices_cut_off_by(trace)),
        "center": bounds.center().to_array(),
        "radius": 0.5 * bounds.extent().length(),
        "loop_vertices": tangled.contour.loop_vertices().map(|vertex| vertex.0).collect::<Vec<u32>>(),
    })
}

fn vertex_colours(count: usize, tangle: &Tangle) -> Vec<u8> {
    let mut colours = vec![0; count];
    for vertex in &tangle.colours.red_vertices {
        colours[vertex.index()] = 1;
    }
    colours
}

/// 0 green, 1 with a red corner, 2 crossing without a red corner, 3 the triangle in which a red tip ends.
fn triangle_colours(opened: &Opened, tangle: &Tangle) -> Vec<u8> {
    let topology = opened.assembly.topology();
    let colours = &tangle.colours;
    let mut marks = vec![0; topology.triangle_count()];
    for &triangle in &colours.red_triangles {
        let has_red_corner =
            topology.triangle(triangle).iter().any(|corner| colours.red_vertices.binary_search(corner).is_ok());
        marks[triangle.index()] = if has_red_corner { 1 } else { 2 };
    }
    for (triangle, _) in &colours.red_star_triangles {
        marks[triangle.index()] = 3;
    }
    marks
}

/// Contours as segments: in space, and both traces on the panels.
#[derive(Default)]
struct Lines {
    points: Vec<f32>,
    contours: Vec<u32>,
    panel_points: Vec<f32>,
    panel_contours: Vec<u32>,
    panel_traces: Vec<u8>,
}

impl Lines {
    fn new(opened: &Opened, order: &[(f64, &TangledContour)], positions: &[DVec3]) -> Self {
        let layout = Layout::new(opened);
        let mut lines = Self::default();
        for (number, (_, tangled)) in order.iter().enumerate() {
            let line = tangled.contour.polyline(positions);
            for (segment, ends) in line.windows(2).enumerate() {
                lines.points.extend(reals(ends));
                lines.contours.push(number as u32);
                let Some(triangles) = tangled.contour.segments.get(segment) else { continue };
                for trace in Trace::BOTH {
                    let place = |point: &DVec3| on_panel(opened, &layout, positions, triangles[trace.index()], *point);
                    let [Some(from), Some(to)] = [&ends[0], &ends[1]].map(place) else { continue };
                    lines.panel_points.extend([from.x, from.y, to.x, to.y].map(|value| value as f32));
                    lines.panel_contours.push(number as u32);
                    lines.panel_traces.push(trace.index() as u8);
                }
            }
        }
        lines
    }
}

/// Where a point of a triangle lies on the panels.
fn on_panel(
    opened: &Opened,
    layout: &Layout,
    positions: &[DVec3],
    triangle: TriangleId,
    point: DVec3,
) -> Option<DVec2> {
    let index = opened.assembly.part_of_triangle(triangle);
    let uv = opened.files[index].uv.as_ref().filter(|_| index < opened.garment_count)?;
    let own = triangle.index() - opened.assembly.parts()[index].triangles.start;
    let panel = panel_corners(uv, own);
    let corners = opened.assembly.topology().triangle(triangle).map(|corner| positions[corner.index()]);
    let weights = point_triangle(point, corners).weights;
    Some(panel[0] * weights[0] + panel[1] * weights[1] + panel[2] * weights[2] + layout.shifts[index])
}
