//! Random small tangles: sheets, tubes and spheres, folded, thrown about and pushed through each other.
//!
//! Coordinates are whole numbers below two million, so that exact arithmetic on them is quick; by chance alone some
//! tangles are degenerate.

use super::Part;
use unsnarl::samples::random::Random;

pub type Piece = (Part, Vec<[f64; 3]>, Vec<[u32; 3]>);

/// The tangle of a seed: a word about it, and its pieces.
pub fn tangle(seed: u64) -> (&'static str, Vec<Piece>) {
    let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(11));
    let random = &mut random;
    let cells = |random: &mut Random, most: f64| random.between(1.0, most) as usize;
    match seed % 9 {
        0 => (
            "a folded sheet",
            vec![folded(random, Part::Cloth, |random| sheet(cells(random, 6.0), cells(random, 6.0)))],
        ),
        1 => {
            let flat = sheet(cells(random, 4.0), cells(random, 4.0));
            ("an exploded sheet", vec![thrown(random, flat)])
        }
        2 => {
            let (first, second) = (bumpy(random), bumpy(random));
            (TWO_CLEAN_SHEETS, vec![first, second])
        }
        3 => {
            let first = folded(random, Part::Cloth, |random| sheet(cells(random, 5.0), cells(random, 4.0)));
            let second = folded(random, Part::Cloth, |random| sheet(cells(random, 5.0), cells(random, 4.0)));
            ("two folded sheets", vec![first, second])
        }
        4 => (
            "a folded tube",
            vec![folded(random, Part::Cloth, |random| tube(2 + cells(random, 5.0), cells(random, 5.0)))],
        ),
        5 => {
            let ball = folded(random, Part::Cloth, |_| sphere(3, 3));
            ("a folded ball and a sheet", vec![ball, bumpy(random)])
        }
        6 => ("a roll", vec![roll(random)]),
        7 => {
            let ball = round(random);
            ("a sheet and a body", vec![bumpy(random), ball])
        }
        _ => {
            let first = folded(random, Part::Cloth, |random| tube(2 + cells(random, 4.0), cells(random, 4.0)));
            ("a folded tube and a bumpy sheet", vec![first, bumpy(random)])
        }
    }
}

/// The kind of tangle that never crosses itself within a component.
pub const TWO_CLEAN_SHEETS: &str = "two bumpy sheets";

/// Parts whose vertices lie on a small integer grid, so that most of what meets is degenerate.
pub fn degenerate_tangle(seed: u64) -> Vec<Piece> {
    let mut random = Random::new(seed.wrapping_add(77));
    let random = &mut random;
    let part_count = 1 + seed % 2;
    (0..part_count)
        .map(|_| {
            let (points, triangles) = match random.bits() % 4 {
                0 => tube(3, random.between(1.0, 3.0) as usize),
                1 => sphere(3, random.between(1.0, 3.0) as usize),
                _ => sheet(random.between(1.0, 4.0) as usize, random.between(1.0, 4.0) as usize),
            };
            let size = random.between(1.0, 3.5).floor();
            let flat = random.bits().is_multiple_of(3);
            let place = |random: &mut Random| random.between(-size, size + 1.0).floor();
            let points =
                points.iter().map(|_| [place(random), place(random), if flat { 0.0 } else { place(random) }]).collect();
            (Part::Cloth, points, triangles)
        })
        .collect()
}

type Flat = (Vec<[f64; 3]>, Vec<[u32; 3]>);

fn grid_triangles(columns: usize, rows: usize, at: impl Fn(usize, usize) -> usize) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let [a, b, c, d] =
                [at(column, row), at(column + 1, row), at(column + 1, row + 1), at(column, row + 1)].map(|v| v as u32);
            if (row + column) % 2 == 0 {
                triangles.extend([[a, b, c], [a, c, d]]);
            } else {
                triangles.extend([[a, b, d], [b, c, d]]);
            }
        }
    }
    triangles
}

/// A rectangle around the origin, about one wide.
fn sheet(columns: usize, rows: usize) -> Flat {
    let mut points = Vec::new();
    for row in 0..=rows {
        for column in 0..=columns {
            points.push([column as f64 / columns as f64 - 0.5, row as f64 / rows as f64 - 0.5, 0.0]);
        }
    }
    (points, grid_triangles(columns, rows, |column, row| row * (columns + 1) + column))
}

/// An open cylinder.
fn tube(columns: usize, rows: usize) -> Flat {
    let mut points = Vec::new();
    for row in 0..=rows {
        for column in 0..columns {
            let (sin, cos) = (std::f64::consts::TAU * column as f64 / columns as f64).sin_cos();
            points.push([0.4 * cos, 0.4 * sin, row as f64 / rows as f64 - 0.5]);
        }
    }
    (points, grid_triangles(columns, rows, |column, row| row * columns + column % columns))
}

/// A closed surface with two poles, its triangles counter-clockwise from outside.
fn sphere(columns: usize, rows: usize) -> Flat {
    let (columns, rows) = (columns.max(3), rows.max(1));
    let mut points = Vec::new();
    for row in 0..rows {
        let height = (row as f64 + 1.0) / (rows as f64 + 1.0) * 2.0 - 1.0;
        let radius = (1.0 - height * height).sqrt();
        for column in 0..columns {
            let (sin, cos) = (std::f64::consts::TAU * column as f64 / columns as f64).sin_cos();
            points.push([0.45 * radius * cos, 0.45 * radius * sin, 0.45 * height]);
        }
    }
    let at = |column: usize, row: usize| row * columns + column % columns;
    let mut triangles = grid_triangles(columns, rows - 1, at);
    let (south, north) = (points.len() as u32, points.len() as u32 + 1);
    points.extend([[0.0, 0.0, -0.45], [0.0, 0.0, 0.45]]);
    for column in 0..columns {
        triangles.push([at(column + 1, 0) as u32, at(column, 0) as u32, south]);
        triangles.push([at(column, rows - 1) as u32, at(column + 1, rows - 1) as u32, north]);
    }
    (points, triangles)
}

fn snapped(point: [f64; 3]) -> [f64; 3] {
    point.map(|x| (x * f64::from(1 << 19)).round())
}

/// Long waves that push every vertex further than the sheet is long, and some noise.
fn folded(random: &mut Random, part: Part, flat: impl Fn(&mut Random) -> Flat) -> Piece {
    let (points, triangles) = flat(random);
    let strength = random.between(0.1, 0.6);
    let noise = random.between(0.0, 0.2);
    let waves: Vec<([f64; 3], f64, [f64; 3])> = (0..4)
        .map(|_| {
            let direction = random.direction().to_array().map(|x| x * 7.0);
            (direction, random.between(0.0, 7.0), random.direction().to_array().map(|x| x * strength))
        })
        .collect();
    let points = points
        .into_iter()
        .map(|point| {
            let mut moved = point;
            for (direction, phase, push) in &waves {
                let wave = (point[0] * direction[0] + point[1] * direction[1] + point[2] * direction[2] + phase).sin();
                for axis in 0..3 {
                    moved[axis] += push[axis] * wave;
                }
            }
            snapped(moved.map(|x| x + noise * random.between(-1.0, 1.0)))
        })
        .collect();
    (part, points, triangles)
}

/// A strip rolled up, in the middle with its turns in the wrong order.
fn roll(random: &mut Random) -> Piece {
    let (points, triangles) = sheet(random.between(12.0, 17.0) as usize, random.between(4.0, 7.0) as usize);
    let half_turns = random.between(2.2, 2.8);
    let wrongness = random.between(4.0, 5.5);
    let noise = random.between(0.0, 0.01);
    let points = points
        .into_iter()
        .map(|[x, y, _]| {
            let turns = 2.0 * half_turns * x + 0.013;
            let order = 0.3 + (wrongness - 0.3) * (-(y / 0.3).powi(2)).exp();
            let distance = 0.4 * (1.0 + 0.045 * (turns.powi(3) - order * turns));
            let (sin, cos) = (std::f64::consts::PI * turns).sin_cos();
            let place = [distance * sin, -distance * cos, 0.11 * x - y];
            snapped(place.map(|x| x + noise * random.between(-1.0, 1.0)))
        })
        .collect();
    (Part::Cloth, points, triangles)
}

/// Every vertex at a random place.
fn thrown(random: &mut Random, (points, triangles): Flat) -> Piece {
    let points = points.iter().map(|_| snapped([0, 1, 2].map(|_| random.between(-0.5, 0.5)))).collect();
    (Part::Cloth, points, triangles)
}

/// A sheet with bumps, turned at random: it does not cross itself.
fn bumpy(random: &mut Random) -> Piece {
    let (points, triangles) = sheet(random.between(1.0, 6.0) as usize, random.between(1.0, 6.0) as usize);
    let bump = random.between(0.0, 0.35);
    let (x, y, z) = frame(random);
    let offset = [0, 1, 2].map(|_| random.between(-0.25, 0.25));
    let points = points
        .into_iter()
        .map(|point| {
            let height = random.between(-bump, bump);
            snapped([0, 1, 2].map(|axis| point[0] * x[axis] + point[1] * y[axis] + height * z[axis] + offset[axis]))
        })
        .collect();
    (Part::Cloth, points, triangles)
}

/// A body around the origin, seen whole from there: it does not cross itself.
fn round(random: &mut Random) -> Piece {
    let (points, triangles) = sphere(random.between(3.0, 6.0) as usize, random.between(1.0, 4.0) as usize);
    let dent = random.between(0.0, 0.6);
    let points = points
        .into_iter()
        .map(|point| {
            let reach = 1.0 - random.between(0.0, dent);
            snapped(point.map(|x| x * reach + 1e-4))
        })
        .collect();
    (Part::Body, points, triangles)
}

/// Three directions at right angles.
fn frame(random: &mut Random) -> ([f64; 3], [f64; 3], [f64; 3]) {
    let x = random.direction();
    let y = x.any_orthonormal_vector();
    (x.to_array(), y.to_array(), x.cross(y).to_array())
}
