//! A picture of all samples, each with its contours drawn through the cloth.

use unsnarl::analysis::{Assembly, ContourKind, Workspace, analyze};
use unsnarl::samples::{self, Case, Cut, Recipe};
use unsnarl_geometry::{DVec2, DVec3};
use unsnarl_io::picture::{Area, Colour, MeshStyle, Paint, Picture, View, Visibility};

const COLUMNS: usize = 6;
const CELL: DVec2 = DVec2::new(300.0, 250.0);
/// Room for the legend.
const TOP: f64 = 70.0;

/// Draws every case at its own resolution.
pub fn picture_of_all() -> Picture {
    let cases: Vec<&Case> = samples::cases().collect();
    let size = DVec2::new(COLUMNS as f64, cases.len().div_ceil(COLUMNS) as f64) * CELL;
    let mut picture = Picture::new(size.x as usize, (size.y + TOP) as usize);
    let entries: Vec<(Colour, &str)> = ContourKind::ALL
        .iter()
        .filter(|&&kind| kind != ContourKind::Other)
        .map(|&kind| (colour(kind), kind.name()))
        .collect();
    picture.legend(&entries);
    for (index, case) in cases.iter().enumerate() {
        let (column, row) = (index % COLUMNS, index / COLUMNS);
        let corner = DVec2::new(column as f64 * CELL.x, TOP + row as f64 * CELL.y);
        picture.text(corner + DVec2::new(12.0, 4.0), case.name, Colour::INK);
        let area = Area { left: corner.x, top: corner.y + 18.0, width: CELL.x, height: CELL.y - 18.0 };
        draw(&mut picture, case, area.inset(14.0));
    }
    picture
}

fn draw(picture: &mut Picture, case: &Case, area: Area) {
    let sample = case.make(&Recipe { resolution: case.default_resolution, cut: Cut::Irregular, seed: 1 });
    let bounds = sample.mesh.bounds();
    let view = View::framing(bounds, View::best_direction(bounds), area);
    let colours: Vec<Colour> = sample.part_of_triangle().iter().map(|&part| part_colour(part as usize)).collect();
    let style = match sample.parts.len() {
        1 => MeshStyle::CLOTH,
        _ => MeshStyle { paint: Paint::PerTriangle(&colours), ..MeshStyle::CLOTH },
    };
    picture.draw_mesh(&view, &sample.mesh.positions, &sample.mesh.triangles, &style);
    let Ok(assembly) = Assembly::of_cloth(case.name, &sample.mesh) else { return };
    for tangled in &analyze(&assembly, &sample.mesh.positions, &mut Workspace::default()).contours {
        let line = tangled.contour.polyline(&sample.mesh.positions);
        let segments: Vec<(DVec3, DVec3)> = line.windows(2).map(|pair| (pair[0], pair[1])).collect();
        picture.draw_segments(&view, &segments, colour(tangled.kind), 2.0, Visibility::Faint);
    }
}

fn colour(kind: ContourKind) -> Colour {
    Colour::DISTINCT[kind as usize]
}

fn part_colour(part: usize) -> Colour {
    match part {
        0 => Colour::CLOTH_FRONT,
        1 => Colour::CLOTH_BACK,
        _ => Colour::DISTINCT[part % Colour::DISTINCT.len()].mix(Colour::WHITE, 0.65),
    }
}
