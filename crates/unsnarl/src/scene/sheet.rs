//! Plain pieces of cloth by size and resolution: sheets, strips and discs, with their panels.

use crate::geometry::{DVec2, DVec3, TriMesh, UvMap};

/// How the squares of a sheet are cut into triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagonals {
    /// Herring bone: the diagonal changes from column to column, so that no direction is favoured.
    Alternating,
    /// The same diagonal everywhere.
    OneWay,
    /// Rows of equilateral triangles; the number of rows follows from the spacing of the columns.
    Equilateral,
}

/// A sheet in the plane z = 0, its lower left corner at the origin, with panel coordinates in metres (x is warp).
pub fn sheet(size: DVec2, columns: usize, rows: usize, diagonals: Diagonals) -> (TriMesh, UvMap) {
    let (columns, rows) = (columns.max(1), rows.max(1));
    let rows = match diagonals {
        Diagonals::Equilateral => (size.y / (size.x / columns as f64 * 0.75f64.sqrt())).round().max(1.0) as usize,
        _ => rows,
    };
    let mut points = Vec::with_capacity((columns + 1) * (rows + 1));
    for row in 0..=rows {
        for column in 0..=columns {
            let shift = if diagonals == Diagonals::Equilateral && row % 2 == 1 { 0.5 } else { 0.0 };
            let x = (column as f64 + shift) / columns as f64;
            points.push(DVec2::new(x * size.x, row as f64 / rows as f64 * size.y));
        }
    }
    let mut triangles = Vec::with_capacity(2 * columns * rows);
    for row in 0..rows {
        for column in 0..columns {
            let corner = |i: usize, j: usize| ((row + j) * (columns + 1) + column + i) as u32;
            let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
            let rising = match diagonals {
                Diagonals::Alternating => (row + column) % 2 == 0,
                Diagonals::OneWay => true,
                Diagonals::Equilateral => row % 2 == 1,
            };
            triangles.extend(if rising { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
    }
    with_panel(points, triangles)
}

/// A disc around the origin in the plane z = 0, made of rings of nearly equal triangles.
pub fn disc(radius: f64, rings: usize) -> (TriMesh, UvMap) {
    let rings = rings.max(1);
    let mut points = vec![DVec2::ZERO];
    let mut triangles = Vec::new();
    let mut inner_start = 0usize;
    for ring in 1..=rings {
        let (start, count, inner) = (points.len(), 6 * ring, (6 * (ring - 1)).max(1));
        for step in 0..count {
            let angle = std::f64::consts::TAU * step as f64 / count as f64;
            points.push(DVec2::from_angle(angle) * (radius * ring as f64 / rings as f64));
        }
        for sector in 0..6 {
            for step in 0..ring {
                let outer = |k: usize| (start + (sector * ring + k) % count) as u32;
                let within = |k: usize| (inner_start + (sector * (ring - 1) + k) % inner) as u32;
                triangles.push([within(step), outer(step), outer(step + 1)]);
                if step + 1 < ring {
                    triangles.push([within(step), outer(step + 1), within(step + 1)]);
                }
            }
        }
        inner_start = start;
    }
    with_panel(points, triangles)
}

fn with_panel(points: Vec<DVec2>, triangles: Vec<[u32; 3]>) -> (TriMesh, UvMap) {
    let positions = points.iter().map(|point| DVec3::new(point.x, point.y, 0.0)).collect();
    let uv = UvMap { coordinates: points, triangles: triangles.clone() };
    (TriMesh { positions, triangles }, uv)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Topology;
    use crate::rest_shape::RestShape;

    fn area(mesh: &TriMesh) -> f64 {
        let corner = |index: u32| mesh.positions[index as usize];
        mesh.triangles.iter().map(|t| RestShape::from_world(t.map(corner)).area()).sum()
    }

    #[test]
    fn sheets_cover_their_size_with_front_sides_up() {
        for diagonals in [Diagonals::Alternating, Diagonals::OneWay] {
            let (mesh, uv) = sheet(DVec2::new(2.0, 1.0), 7, 4, diagonals);
            assert!((area(&mesh) - 2.0).abs() < 1e-12);
            assert_eq!(mesh.positions.len(), 40);
            for triangle in &uv.triangles {
                let [a, b, c] = triangle.map(|index| uv.coordinates[index as usize]);
                assert!((b - a).perp_dot(c - a) > 0.0);
            }
        }
    }

    #[test]
    fn equilateral_triangles_are_equilateral() {
        let (mesh, _) = sheet(DVec2::new(1.0, 0.75f64.sqrt()), 10, 1, Diagonals::Equilateral);
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|index| mesh.positions[index as usize]);
            for length in [(a - b).length(), (b - c).length(), (c - a).length()] {
                assert!((length - 0.1).abs() < 1e-12, "{length}");
            }
        }
    }

    #[test]
    fn a_disc_is_one_sheet_with_one_border() {
        let (mesh, _) = disc(0.15, 20);
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
        assert_eq!(topology.boundary_loops().len(), 1);
        assert_eq!(topology.component_count(), 1);
        let exact = std::f64::consts::PI * 0.15 * 0.15;
        assert!((area(&mesh) / exact - 1.0).abs() < 2e-3);
    }
}
