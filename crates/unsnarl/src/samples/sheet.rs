//! Flat pieces of cloth: a rectangle cut into triangles, open or sewn into a tube.
//!
//! Guarantees: triangles turn counter-clockwise in the panel; every triangle has area, for any resolution and seed; the
//! same arguments give the same sheet.

use super::random::Random;
use unsnarl_geometry::DVec2;

/// How a rectangle is cut into triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangulation {
    /// A grid of squares with parallel diagonals.
    Regular,
    /// A grid of squares with diagonals that take turns.
    Alternating,
    /// A grid with every vertex moved at random, cut along the shorter diagonals.
    Irregular {
        /// Determines the moves.
        seed: u64,
    },
}

/// Whether the left and right borders of a rectangle are sewn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A plain rectangle.
    Open,
    /// Left and right are one seam.
    Tube,
}

/// A triangulated rectangle, centred at the origin of its panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Width and height in metres.
    pub size: DVec2,
    /// Number of squares across and up.
    pub cells: [usize; 2],
    /// Panel coordinates, row by row from the bottom.
    pub coordinates: Vec<DVec2>,
    /// Triangles of panel vertices.
    pub triangles: Vec<[u32; 3]>,
    /// The vertex in space of every panel vertex; a seam has two panel vertices for one.
    pub vertex_of: Vec<u32>,
    /// Number of vertices in space.
    pub vertex_count: usize,
}

impl Sheet {
    /// Cuts a rectangle of the given size into two triangles per cell.
    pub fn new(size: DVec2, cells: [usize; 2], triangulation: Triangulation, shape: Shape) -> Self {
        let smallest = if shape == Shape::Tube { 3 } else { 1 };
        let cells = [cells[0].max(smallest), cells[1].max(1)];
        let coordinates = grid_points(size, cells, triangulation, shape);
        let triangles = grid_triangles(cells, triangulation, &coordinates);
        let row = cells[0] + 1;
        let vertex_of: Vec<u32> = match shape {
            Shape::Open => (0..coordinates.len() as u32).collect(),
            Shape::Tube => {
                (0..coordinates.len()).map(|at| (at / row * cells[0] + at % row % cells[0]) as u32).collect()
            }
        };
        let vertex_count = if shape == Shape::Tube { cells[0] * (cells[1] + 1) } else { coordinates.len() };
        Self { size, cells, coordinates, triangles, vertex_of, vertex_count }
    }

    /// A square handkerchief with `resolution` cells along each side.
    pub fn handkerchief(side: f64, resolution: usize, triangulation: Triangulation) -> Self {
        Self::new(DVec2::splat(side), [resolution; 2], triangulation, Shape::Open)
    }

    /// A rectangle with nearly square cells, `resolution` of them along the shorter side.
    pub fn strip(size: DVec2, resolution: usize, triangulation: Triangulation, shape: Shape) -> Self {
        let cell = size.min_element() / resolution.max(1) as f64;
        let cells = [(size.x / cell).round() as usize, (size.y / cell).round() as usize];
        Self::new(size, cells, triangulation, shape)
    }

    /// The panel vertex at a grid place.
    pub fn at(&self, column: usize, row: usize) -> usize {
        row * (self.cells[0] + 1) + column
    }

    /// The length of a cell's longer side.
    pub fn cell(&self) -> f64 {
        (self.size.x / self.cells[0] as f64).max(self.size.y / self.cells[1] as f64)
    }
}

fn grid_points(size: DVec2, cells: [usize; 2], triangulation: Triangulation, shape: Shape) -> Vec<DVec2> {
    let step = size / DVec2::new(cells[0] as f64, cells[1] as f64);
    let mut points = Vec::with_capacity((cells[0] + 1) * (cells[1] + 1));
    for row in 0..=cells[1] {
        for column in 0..=cells[0] {
            points.push(DVec2::new(column as f64, row as f64) * step - 0.5 * size);
        }
    }
    let Triangulation::Irregular { seed } = triangulation else { return points };
    let mut random = Random::new(seed);
    for row in 0..=cells[1] {
        for column in 0..=cells[0] {
            let mut offset = DVec2::new(random.between(-0.27, 0.27), random.between(-0.27, 0.27)) * step;
            if row == 0 || row == cells[1] {
                offset.y = 0.0;
            }
            if column == 0 || column == cells[0] {
                offset.x = 0.0;
            }
            let at = row * (cells[0] + 1) + column;
            points[at] += offset;
            if shape == Shape::Tube && column == cells[0] {
                points[at].y = points[at - cells[0]].y;
            }
        }
    }
    points
}

fn grid_triangles(cells: [usize; 2], triangulation: Triangulation, points: &[DVec2]) -> Vec<[u32; 3]> {
    let mut triangles = Vec::with_capacity(2 * cells[0] * cells[1]);
    for row in 0..cells[1] {
        for column in 0..cells[0] {
            let south_west = row * (cells[0] + 1) + column;
            let (south_east, north_west) = (south_west + 1, south_west + cells[0] + 1);
            let north_east = north_west + 1;
            let rising = match triangulation {
                Triangulation::Regular => true,
                Triangulation::Alternating => (row + column) % 2 == 0,
                Triangulation::Irregular { .. } => {
                    points[south_west].distance_squared(points[north_east])
                        <= points[south_east].distance_squared(points[north_west])
                }
            };
            let pair = if rising {
                [[south_west, south_east, north_east], [south_west, north_east, north_west]]
            } else {
                [[south_west, south_east, north_west], [south_east, north_east, north_west]]
            };
            triangles.extend(pair.map(|corners| corners.map(|corner| corner as u32)));
        }
    }
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::Topology;

    const KINDS: [Triangulation; 3] =
        [Triangulation::Regular, Triangulation::Alternating, Triangulation::Irregular { seed: 3 }];

    #[test]
    fn triangles_turn_counter_clockwise_and_cover_the_rectangle() {
        for kind in KINDS {
            for seed in 0..20 {
                let kind =
                    if let Triangulation::Irregular { .. } = kind { Triangulation::Irregular { seed } } else { kind };
                let sheet = Sheet::new(DVec2::new(0.6, 0.4), [9, 7], kind, Shape::Open);
                let areas = sheet.triangles.iter().map(|corners| {
                    let [a, b, c] = corners.map(|corner| sheet.coordinates[corner as usize]);
                    0.5 * (b - a).perp_dot(c - a)
                });
                let areas: Vec<f64> = areas.collect();
                assert!(areas.iter().all(|&area| area > 1e-5), "{kind:?}");
                assert!((areas.iter().sum::<f64>() - 0.24).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_sheet_has_one_border_and_a_tube_two() {
        for kind in KINDS {
            for (shape, loops) in [(Shape::Open, 1), (Shape::Tube, 2)] {
                let sheet = Sheet::new(DVec2::new(0.6, 0.4), [9, 7], kind, shape);
                let triangles: Vec<[u32; 3]> = sheet
                    .triangles
                    .iter()
                    .map(|corners| corners.map(|corner| sheet.vertex_of[corner as usize]))
                    .collect();
                let topology = Topology::new(sheet.vertex_count, &triangles).unwrap();
                assert_eq!(topology.boundary_loops().len(), loops);
                assert_eq!(topology.component_count(), 1);
                assert!(
                    (0..topology.edge_count())
                        .all(|edge| topology.edge_triangles(unsnarl_geometry::EdgeId::new(edge)).len() <= 2)
                );
            }
        }
    }
}
