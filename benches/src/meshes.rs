//! Meshes that benches make themselves, so that every peer gets the same one.

use std::f64::consts::PI;
use unsnarl_geometry::{DMat3, DVec2, DVec3, TriMesh};

/// Triangles of a grid of `columns` x `rows` cells whose vertices are numbered row by row.
fn grid_triangles(columns: usize, rows: usize, wrap: Wrap) -> Vec<[u32; 3]> {
    let width = match wrap {
        Wrap::Open => columns + 1,
        Wrap::Around => columns,
    };
    let at = |column: usize, row: usize| (row * width + column % width) as u32;
    let mut triangles = Vec::with_capacity(2 * columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let [a, b] = [at(column, row), at(column + 1, row)];
            let [c, d] = [at(column, row + 1), at(column + 1, row + 1)];
            triangles.extend(if (row + column) % 2 == 0 { [[a, b, d], [a, d, c]] } else { [[a, b, c], [b, d, c]] });
        }
    }
    triangles
}

/// Whether the last column of a grid meets the first.
enum Wrap {
    Open,
    Around,
}

/// A sheet of 1,000,000 triangles with 2 mm edges, folded back and forth into 40 layers 2 mm apart with round folds, and
/// turned so that nothing is parallel to an axis. Nothing meets.
pub fn folded_sheet() -> TriMesh {
    const EDGE: f64 = 0.002;
    const CELLS_ALONG: usize = 2000;
    const CELLS_ACROSS: usize = 250;
    const LAYERS: f64 = 40.0;
    let length = EDGE * CELLS_ALONG as f64;
    let turn = 0.5 * EDGE * PI;
    let straight = (length - (LAYERS - 1.0) * turn) / LAYERS;
    let place = |along: f64| {
        let layer = (along / (straight + turn)).floor().min(LAYERS - 1.0);
        let rest = along - layer * (straight + turn);
        let (x, z) = if rest <= straight {
            (rest, 0.0)
        } else {
            let angle = (rest - straight) / turn * PI;
            (straight + 0.5 * EDGE * angle.sin(), 0.5 * EDGE * (1.0 - angle.cos()))
        };
        let x = if layer % 2.0 == 0.0 { x } else { straight - x };
        (x, layer * EDGE + z)
    };
    let turned = DMat3::from_rotation_z(0.4) * DMat3::from_rotation_x(0.7);
    let positions = (0..=CELLS_ACROSS)
        .flat_map(|row| {
            (0..=CELLS_ALONG).map(move |column| {
                let (x, z) = place(length * column as f64 / CELLS_ALONG as f64);
                turned * DVec3::new(x, EDGE * row as f64, z)
            })
        })
        .collect();
    TriMesh { positions, triangles: grid_triangles(CELLS_ALONG, CELLS_ACROSS, Wrap::Open) }
}

/// A skirt of 18,000 vertices, flattened so that front and back hang 2 cm apart; tangled, the front is pushed through
/// the back in 20 places.
pub fn skirt(state: SkirtState) -> TriMesh {
    const AROUND: usize = 150;
    const ROWS: usize = 119;
    let mut positions: Vec<DVec3> = (0..=ROWS)
        .flat_map(|row| {
            let down = row as f64 / ROWS as f64;
            (0..AROUND).map(move |column| {
                // Nothing of the front lies exactly before its like on the back.
                let angle = std::f64::consts::TAU * (column as f64 + 0.3) / AROUND as f64;
                let sag = 0.004 * (3.0 * angle + 1.0).sin();
                let half_width = 0.18 + 0.12 * down;
                let pleat = 0.002 * (14.0 * angle).sin();
                DVec3::new(
                    half_width * angle.cos(),
                    0.95 - 0.7 * down - sag,
                    (0.01 + 0.2 * pleat) * flattened(angle) + pleat,
                )
            })
        })
        .collect();
    if state == SkirtState::Tangled {
        for place in 0..20 {
            let center = DVec3::new(-0.12 + 0.06 * f64::from(place % 5), 0.83 - 0.14 * f64::from(place / 5), 0.0);
            for position in positions.iter_mut().filter(|position| position.z > 0.0) {
                let away = (*position - center).with_z(0.0).length_squared() / (0.018 * 0.018);
                position.z -= 0.05 * (-away).exp();
            }
        }
    }
    TriMesh { positions, triangles: grid_triangles(AROUND, ROWS, Wrap::Around) }
}

/// The sine, but nearly flat on both sides.
fn flattened(angle: f64) -> f64 {
    let sine = angle.sin();
    sine.signum() * sine.abs().powf(0.2)
}

/// How the skirt hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkirtState {
    /// Front and back apart.
    Clean,
    /// The front through the back in 20 places.
    Tangled,
}

/// A sheet folded to and fro along x into layers that lie within thickness, with round folds: heavy self-contact.
pub struct Layers {
    /// The folded sheet; layers are stacked along z.
    pub mesh: TriMesh,
    /// The flat sheet.
    pub uv: Vec<DVec2>,
}

impl Layers {
    /// Metres. Layers are 0.8 of it apart.
    pub const THICKNESS: f64 = 1e-3;
    const COUNT: usize = 20;
    const RADIUS: f64 = 0.4 * Self::THICKNESS;
    const STRAIGHT: f64 = 0.4;

    /// About so many vertices.
    pub fn new(vertices: usize) -> Self {
        let rows = ((vertices as f64 / Self::COUNT as f64).sqrt() as usize).max(4);
        let columns = vertices / rows;
        let length = Self::COUNT as f64 * (Self::STRAIGHT + PI * Self::RADIUS) - PI * Self::RADIUS;
        let (mut positions, mut uv) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let across = 0.4 * row as f64 / (rows - 1) as f64;
            for column in 0..columns {
                let along = length * column as f64 / (columns - 1) as f64;
                positions.push(Self::place(along, across));
                uv.push(DVec2::new(along, across));
            }
        }
        Self { mesh: TriMesh { positions, triangles: grid_triangles(columns - 1, rows - 1, Wrap::Open) }, uv }
    }

    fn place(along: f64, across: f64) -> DVec3 {
        let layer_length = Self::STRAIGHT + PI * Self::RADIUS;
        let layer = (along / layer_length) as usize;
        let rest = along - layer as f64 * layer_length;
        let (x, lift) = if rest <= Self::STRAIGHT {
            (rest, 0.0)
        } else {
            let angle = (rest - Self::STRAIGHT) / Self::RADIUS;
            (Self::STRAIGHT + Self::RADIUS * angle.sin(), Self::RADIUS * (1.0 - angle.cos()))
        };
        let x = if layer.is_multiple_of(2) { x } else { Self::STRAIGHT - x };
        DVec3::new(x, across, 2.0 * Self::RADIUS * layer as f64 + lift)
    }

    /// A velocity that presses the layers together and stirs them.
    pub fn stirring(point: DVec3, seed: f64) -> DVec3 {
        let wave = |a: f64, b: f64, phase: f64| (a * point.x + b * point.y + 400.0 * point.z + phase + seed).sin();
        let stir = DVec3::new(wave(20.0, 13.0, 0.0), wave(-17.0, 11.0, 1.0), 2.0 * wave(25.0, 31.0, 2.0));
        0.2 * stir + DVec3::new(0.0, 0.0, -20.0 * (point.z - 8e-3))
    }
}
