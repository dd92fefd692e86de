//! Surfaces of solids as triangles.
//!
//! Guarantees: closed, apart from a half space, with normals outward; every vertex lies on the solid, so curved
//! surfaces lie inside it by the sag of their edges.
//! Departs: a half space becomes a square of [`HALF_SPACE`] to each side; beyond it only vertices are stopped.

use super::shape::Shape;
use crate::geometry::{DVec3, TriMesh};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Half the side of the square that stands for a half space, metres.
const HALF_SPACE: f64 = 100.0;
/// Segments around a round solid.
const SEGMENTS: std::ops::RangeInclusive<f64> = 24.0..=96.0;

/// The surface of a solid with edges of about a length where it is curved.
pub(crate) fn surface(shape: &Shape, edge: f64) -> TriMesh {
    let around = |radius: f64| {
        let wanted = (TAU * radius / edge.max(f64::MIN_POSITIVE)).ceil();
        let least = *SEGMENTS.start();
        // An even number, so that half of it goes from pole to pole.
        2 * (0.5 * if wanted.is_finite() { wanted.clamp(least, *SEGMENTS.end()) } else { least }) as usize
    };
    match *shape {
        Shape::Plane => {
            let corner = |x: f64, z: f64| DVec3::new(x * HALF_SPACE, 0.0, z * HALF_SPACE);
            let positions = vec![corner(-1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0), corner(1.0, -1.0)];
            TriMesh { positions, triangles: vec![[0, 1, 2], [0, 2, 3]] }
        }
        Shape::Box { half } => cuboid(half),
        Shape::Sphere { radius } => {
            let count = around(radius);
            revolve(&arc(radius, 0.0, -FRAC_PI_2, FRAC_PI_2, count / 2), count)
        }
        Shape::Capsule { radius, half_length } => {
            let count = around(radius);
            let mut profile = arc(radius, -half_length, -FRAC_PI_2, 0.0, count / 4);
            let spacing = TAU * radius / count as f64;
            profile.extend(straight(radius, half_length, spacing));
            profile.extend(arc(radius, half_length, 0.0, FRAC_PI_2, count / 4));
            revolve(&profile, count)
        }
        Shape::Cylinder { radius, half_height } => {
            let count = around(radius);
            let mut profile = vec![(0.0, -half_height), (radius, -half_height)];
            profile.extend(straight(radius, half_height, TAU * radius / count as f64));
            profile.extend([(radius, half_height), (0.0, half_height)]);
            revolve(&profile, count)
        }
    }
}

/// Points (distance from the axis, height) on a circle around a height, from one latitude to another.
fn arc(radius: f64, height: f64, from: f64, to: f64, count: usize) -> Vec<(f64, f64)> {
    (0..=count)
        .map(|at| {
            let latitude = from + (to - from) * at as f64 / count as f64;
            let out = if latitude.abs() >= 0.5 * PI - 1e-12 { 0.0 } else { radius * latitude.cos() };
            (out, height + radius * latitude.sin())
        })
        .collect()
}

/// Points strictly between the ends of a side wall.
fn straight(radius: f64, half: f64, spacing: f64) -> impl Iterator<Item = (f64, f64)> {
    let parts = (2.0 * half / spacing).ceil().clamp(1.0, 400.0) as usize;
    (1..parts).map(move |at| (radius, half * (2.0 * at as f64 / parts as f64 - 1.0)))
}

/// Turns a profile from bottom to top about the y axis; points on the axis become single vertices.
pub(crate) fn revolve(profile: &[(f64, f64)], count: usize) -> TriMesh {
    let mut mesh = TriMesh::default();
    let mut rings: Vec<Vec<u32>> = Vec::new();
    for &(out, height) in profile {
        let first = mesh.positions.len() as u32;
        if out == 0.0 {
            mesh.positions.push(DVec3::new(0.0, height, 0.0));
            rings.push(vec![first; count]);
        } else {
            let angle = |at: usize| TAU * at as f64 / count as f64;
            let place = |at| DVec3::new(out * angle(at).cos(), height, -out * angle(at).sin());
            mesh.positions.extend((0..count).map(place));
            rings.push((first..first + count as u32).collect());
        }
    }
    for pair in rings.windows(2) {
        let (low, high) = (&pair[0], &pair[1]);
        for at in 0..count {
            let next = (at + 1) % count;
            if low[at] != low[next] {
                mesh.triangles.push([low[at], low[next], high[at]]);
            }
            if high[at] != high[next] {
                mesh.triangles.push([low[next], high[next], high[at]]);
            }
        }
    }
    mesh
}

/// Turns a closed profile about the y axis into a tube; counter-clockwise, seen with the axis at the left, faces
/// outward.
pub(crate) fn revolve_closed(profile: &[(f64, f64)], count: usize) -> TriMesh {
    let rows = profile.len();
    let angle = |at: usize| TAU * at as f64 / count as f64;
    let place = |row: usize, at: usize| {
        let (out, height) = profile[row];
        DVec3::new(out * angle(at).cos(), height, -out * angle(at).sin())
    };
    let positions =
        (0..rows).flat_map(|row| (0..count).map(move |at| (row, at))).map(|(row, at)| place(row, at)).collect();
    let vertex = |row: usize, at: usize| ((row % rows) * count + at % count) as u32;
    let quad = |row: usize, at: usize| {
        let [low, low_next, high, high_next] =
            [vertex(row, at), vertex(row, at + 1), vertex(row + 1, at), vertex(row + 1, at + 1)];
        [[low, low_next, high], [low_next, high_next, high]]
    };
    let triangles =
        (0..rows).flat_map(|row| (0..count).map(move |at| (row, at))).flat_map(|(row, at)| quad(row, at)).collect();
    TriMesh { positions, triangles }
}

fn cuboid(half: DVec3) -> TriMesh {
    let corner = |at: u32| {
        let sign = |bit: u32| if at >> bit & 1 == 1 { 1.0 } else { -1.0 };
        half * DVec3::new(sign(0), sign(1), sign(2))
    };
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh { positions: (0..8).map(corner).collect(), triangles }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Topology;

    /// Six times the signed volume by the divergence theorem.
    fn volume(mesh: &TriMesh) -> f64 {
        let at = |corner: u32| mesh.positions[corner as usize];
        mesh.triangles.iter().map(|&[a, b, c]| at(a).dot(at(b).cross(at(c)))).sum::<f64>() / 6.0
    }

    #[test]
    fn surfaces_are_closed_point_outward_and_fill_the_solid() {
        let (r, h) = (0.3, 0.4);
        let rows = [
            (Shape::Sphere { radius: r }, 4.0 / 3.0 * PI * r * r * r),
            (Shape::Box { half: DVec3::new(0.1, 0.2, 0.3) }, 0.2 * 0.4 * 0.6),
            (Shape::Capsule { radius: r, half_length: h }, 4.0 / 3.0 * PI * r * r * r + PI * r * r * 2.0 * h),
            (Shape::Cylinder { radius: r, half_height: h }, PI * r * r * 2.0 * h),
        ];
        for (shape, expected) in rows {
            let mesh = surface(&shape, 0.01);
            let topology = Topology::new(mesh.positions.len(), &mesh.triangles).unwrap();
            assert!(
                (0..topology.edge_count())
                    .all(|edge| { topology.edge_triangles(crate::geometry::EdgeId::new(edge)).len() == 2 })
            );
            let found = volume(&mesh);
            assert!(found <= expected * (1.0 + 1e-12) && found > 0.995 * expected, "{shape:?}: {found} {expected}");
            assert!(mesh.positions.iter().all(|&point| shape.distance(point).0.abs() < 1e-12), "{shape:?}");
        }
    }
}
