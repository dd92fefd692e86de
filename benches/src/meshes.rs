//! Meshes that benches make themselves, so that every peer gets the same one.

use unsnarl_geometry::{DMat3, DVec3, TriMesh};

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
    let turn = 0.5 * EDGE * std::f64::consts::PI;
    let straight = (length - (LAYERS - 1.0) * turn) / LAYERS;
    let place = |along: f64| {
        let layer = (along / (straight + turn)).floor().min(LAYERS - 1.0);
        let rest = along - layer * (straight + turn);
        let (x, z) = if rest <= straight {
            (rest, 0.0)
        } else {
            let angle = (rest - straight) / turn * std::f64::consts::PI;
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
