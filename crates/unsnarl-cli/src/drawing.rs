//! Pictures of an analysis: the meshes with their contours, and the panels with the traces and colours.

use crate::inputs::Inputs;
use unsnarl::analysis::gap::{self, NearPair};
use unsnarl::analysis::{ContourKind, Tangle, Trace, Verdict};
use unsnarl_geometry::{DVec2, DVec3, TriangleId};
use unsnarl_io::picture::{Colour, Frame, MeshStyle, Paint, PanelView, Picture, View, Visibility, Wireframe};

const WIDTH: usize = 1280;
const HEIGHT: usize = 800;

/// One colour per kind of contour, in the order of [`ContourKind::ALL`].
fn kind_colour(kind: ContourKind) -> Colour {
    Colour::DISTINCT[kind as usize]
}

/// The meshes from two sides, triangles that meet tinted, contours and the nearest places drawn through everything.
pub fn check_picture(inputs: &Inputs, tangle: &Tangle, verdict: &Verdict, nearest: &[NearPair]) -> Picture {
    let frame = frame(inputs, &inputs.positions, verdict);
    let mut picture = Picture::new(WIDTH, HEIGHT);
    picture.title(&format!(
        "{}: {} triangle pairs meet{}",
        inputs.assembly.parts().iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(" + "),
        verdict.pairs.len(),
        frame.remark()
    ));
    if nearest.is_empty() {
        legend(&mut picture, tangle);
    } else {
        let least = nearest.iter().map(|near| near.at_least).fold(f64::INFINITY, f64::min);
        let words = format!("{} nearest places, from {}", nearest.len(), crate::gaps::shown(least));
        picture.legend(&[(NARROW, words.as_str())]);
    }
    let bounds = frame.bounds;
    let front = View::best_direction(bounds);
    let area = picture.area();
    for (column, toward) in [front, back_of(front)].into_iter().enumerate() {
        let view = View::framing(bounds, toward, area.column(column, 2));
        draw_scene(&mut picture, &view, inputs, &inputs.positions, tangle, verdict);
        draw_nearest(&mut picture, &view, inputs, nearest);
    }
    picture
}

/// A mark at each of the nearest places, the outlines of the two triangles there, and a line between them.
fn draw_nearest(picture: &mut Picture, view: &View, inputs: &Inputs, nearest: &[NearPair]) {
    let place = |near: &NearPair| gap::nearest_points(&inputs.assembly, &inputs.positions, near.pair);
    for near in nearest {
        let outlines = gap::triangles(&inputs.assembly, near.pair).map(|triangle| {
            let corners = inputs.assembly.topology().triangle(triangle).map(|corner| inputs.positions[corner.index()]);
            [(corners[0], corners[1]), (corners[1], corners[2]), (corners[2], corners[0])]
        });
        picture.draw_segments(view, &outlines.concat(), NARROW.mix(Colour::WHITE, 0.3), 1.5, Visibility::Faint);
    }
    let points: Vec<DVec3> = nearest.iter().map(place).map(|[a, b]| 0.5 * (a + b)).collect();
    picture.draw_points(view, &points, NARROW, 7.0, Visibility::Faint);
}

/// The colour of narrow places.
const NARROW: Colour = Colour::new(200, 30, 160);

/// The input on the left, the result on the right, seen from the same side.
pub fn before_and_after(
    inputs: &Inputs,
    before: (&Tangle, &Verdict),
    positions: &[DVec3],
    after: (&Tangle, &Verdict),
) -> Picture {
    let frame = frame(inputs, positions, after.1).with(frame(inputs, &inputs.positions, before.1));
    let mut picture = Picture::new(WIDTH, HEIGHT);
    let counts = [before.1.pairs.len(), after.1.pairs.len()];
    picture.title(&format!("before: {} pairs meet; after: {}{}", counts[0], counts[1], frame.remark()));
    legend(&mut picture, before.0);
    let bounds = frame.bounds;
    let toward = View::best_direction(bounds);
    let area = picture.area();
    let columns = [(&inputs.positions[..], before), (positions, after)];
    for (column, (positions, (tangle, verdict))) in columns.into_iter().enumerate() {
        let view = View::framing(bounds, toward, area.column(column, 2));
        draw_scene(&mut picture, &view, inputs, positions, tangle, verdict);
    }
    picture
}

/// What the picture is about: the pieces that meet something, with what is around them, or the largest.
fn frame(inputs: &Inputs, positions: &[DVec3], verdict: &Verdict) -> Frame {
    let meets = meets(inputs, verdict);
    let triangles: Vec<[u32; 3]> =
        inputs.assembly.topology().triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
    Frame::of_mesh(positions, &triangles, |triangle| meets[triangle])
}

/// Which triangles meet another.
fn meets(inputs: &Inputs, verdict: &Verdict) -> Vec<bool> {
    let mut meets = vec![false; inputs.assembly.topology().triangle_count()];
    for pair in &verdict.pairs {
        meets[pair.first.index()] = true;
        meets[pair.second.index()] = true;
    }
    meets
}

fn draw_scene(
    picture: &mut Picture,
    view: &View,
    inputs: &Inputs,
    positions: &[DVec3],
    tangle: &Tangle,
    verdict: &Verdict,
) {
    draw_meshes(picture, view, inputs, positions, verdict);
    for tangled in &tangle.contours {
        let line = tangled.contour.polyline(positions);
        let segments: Vec<(DVec3, DVec3)> = line.windows(2).map(|pair| (pair[0], pair[1])).collect();
        picture.draw_segments(view, &segments, kind_colour(tangled.kind), 3.0, Visibility::Faint);
        let loops: Vec<DVec3> = tangled.contour.loop_vertices().map(|vertex| positions[vertex.index()]).collect();
        picture.draw_points(view, &loops, kind_colour(tangled.kind), 5.0, Visibility::Faint);
    }
}

/// Round to the other side, keeping the height of the eye.
fn back_of(toward: DVec3) -> DVec3 {
    DVec3::new(-toward.x, toward.y, -toward.z)
}

fn legend(picture: &mut Picture, tangle: &Tangle) {
    let named: Vec<(Colour, String)> = ContourKind::ALL
        .into_iter()
        .filter(|&kind| tangle.count(kind) > 0)
        .map(|kind| (kind_colour(kind), format!("{} {}", tangle.count(kind), kind.name())))
        .collect();
    let entries: Vec<(Colour, &str)> = named.iter().map(|(colour, text)| (*colour, text.as_str())).collect();
    picture.legend(&entries);
}

fn draw_meshes(picture: &mut Picture, view: &View, inputs: &Inputs, positions: &[DVec3], verdict: &Verdict) {
    let meets = meets(inputs, verdict);
    for (index, file) in inputs.files.iter().enumerate() {
        let part = &inputs.assembly.parts()[index];
        let (plain, wireframe) = if index < inputs.garment_count {
            (garment_colour(index), MeshStyle::CLOTH.wireframe)
        } else {
            (Colour::BODY, Wireframe::Off)
        };
        let colours: Vec<Colour> = part
            .triangles
            .clone()
            .map(|triangle| if meets[triangle] { plain.mix(Colour::RED, 0.55) } else { plain })
            .collect();
        let style = MeshStyle { paint: Paint::PerTriangle(&colours), wireframe };
        picture.draw_mesh(view, &positions[part.vertices.clone()], &file.mesh.triangles, &style);
    }
}

fn garment_colour(index: usize) -> Colour {
    if index == 0 { Colour::CLOTH_FRONT } else { Colour::DISTINCT[index % 8].mix(Colour::WHITE, 0.65) }
}

/// The panels of the garments that have uv: red regions filled, both traces of every contour drawn.
pub fn panel_picture(inputs: &Inputs, tangle: &Tangle) -> Option<Picture> {
    let with_uv: Vec<usize> = (0..inputs.garment_count).filter(|&index| inputs.files[index].uv.is_some()).collect();
    if with_uv.is_empty() {
        return None;
    }
    let mut picture = Picture::new(WIDTH, HEIGHT);
    picture.title("panels: red is cut off, lines are the two traces of each contour");
    legend(&mut picture, tangle);
    let area = picture.area();
    for (column, &index) in with_uv.iter().enumerate() {
        let uv = inputs.files[index].uv.as_ref()?;
        let min = uv.coordinates.iter().copied().fold(DVec2::INFINITY, DVec2::min);
        let max = uv.coordinates.iter().copied().fold(DVec2::NEG_INFINITY, DVec2::max);
        let view = PanelView::framing(min, max, area.column(column, with_uv.len()));
        let colours = panel_colours(inputs, tangle, index);
        picture.fill_panels(&view, &uv.coordinates, &uv.triangles, &colours, MeshStyle::CLOTH.wireframe);
        for tangled in &tangle.contours {
            for trace in Trace::BOTH {
                let segments = trace_segments(inputs, index, tangled, trace);
                let width = if trace == Trace::First { 3.0 } else { 1.6 };
                picture.draw_panel_segments(&view, &segments, kind_colour(tangled.kind), width);
            }
        }
    }
    Some(picture)
}

fn panel_colours(inputs: &Inputs, tangle: &Tangle, index: usize) -> Vec<Colour> {
    let colours = &tangle.colours;
    let topology = inputs.assembly.topology();
    let part = &inputs.assembly.parts()[index];
    let tint = |triangle: usize| {
        let id = TriangleId::new(triangle);
        let has_red_corner =
            topology.triangle(id).iter().any(|corner| colours.red_vertices.binary_search(corner).is_ok());
        if has_red_corner {
            Colour::RED.mix(Colour::WHITE, 0.35)
        } else if colours.red_star_triangles.iter().any(|(star, _)| *star == id) {
            Colour::new(250, 200, 90)
        } else if colours.red_triangles.binary_search(&id).is_ok() {
            Colour::RED.mix(Colour::WHITE, 0.7)
        } else {
            Colour::GREEN.mix(Colour::WHITE, 0.7)
        }
    };
    part.triangles.clone().map(tint).collect()
}

/// The pieces of one trace that lie on one garment, in panel coordinates.
fn trace_segments(
    inputs: &Inputs,
    index: usize,
    tangled: &unsnarl::analysis::TangledContour,
    trace: Trace,
) -> Vec<(DVec2, DVec2)> {
    let part = &inputs.assembly.parts()[index];
    let Some(uv) = &inputs.files[index].uv else { return Vec::new() };
    let topology = inputs.assembly.topology();
    let contour = &tangled.contour;
    let line = contour.polyline(&inputs.positions);
    let mut segments = Vec::new();
    for (segment, triangles) in contour.segments.iter().enumerate() {
        let triangle = triangles[trace.index()];
        if !part.triangles.contains(&triangle.index()) {
            continue;
        }
        let (Some(&from), Some(&to)) = (line.get(segment), line.get(segment + 1)) else { continue };
        let corners = topology.triangle(triangle).map(|corner| inputs.positions[corner.index()]);
        let panel = uv.triangles[triangle.index() - part.triangles.start].map(|at| uv.coordinates[at as usize]);
        let place = |point: DVec3| {
            let weights = unsnarl_geometry::distance::point_triangle(point, corners).weights;
            panel[0] * weights[0] + panel[1] * weights[1] + panel[2] * weights[2]
        };
        segments.push((place(from), place(to)));
    }
    segments
}
