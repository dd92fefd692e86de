//! Meshes with known answers, and a reader of the shared bodies.
#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../../../tests/rust/real_data.rs"]
mod real;

use real::real_data;
use std::f64::consts::TAU;
use unsnarl_geometry::{DVec3, TriMesh};

/// A surface of revolution around z from a closed or pole-to-pole profile; faces outward.
pub fn torus(major: f64, minor: f64, around: u32, along: u32) -> TriMesh {
    let mut mesh = TriMesh::default();
    for i in 0..around {
        for j in 0..along {
            let [u, v] = [TAU * f64::from(i) / f64::from(around), TAU * f64::from(j) / f64::from(along)];
            let radius = major + minor * v.cos();
            mesh.positions.push(DVec3::new(radius * u.cos(), radius * u.sin(), minor * v.sin()));
        }
    }
    let at = |i: u32, j: u32| (i % around) * along + j % along;
    for i in 0..around {
        for j in 0..along {
            mesh.triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            mesh.triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    mesh
}

/// A sphere of `rings` rings, facing outward.
pub fn sphere(center: DVec3, radius: f64, rings: u32) -> TriMesh {
    let around = 2 * rings;
    let mut mesh = TriMesh::default();
    mesh.positions.push(center - radius * DVec3::Z);
    for i in 1..rings {
        let polar = 0.5 * TAU * f64::from(i) / f64::from(rings);
        for j in 0..around {
            let angle = TAU * f64::from(j) / f64::from(around);
            let direction = DVec3::new(polar.sin() * angle.cos(), polar.sin() * angle.sin(), -polar.cos());
            mesh.positions.push(center + radius * direction);
        }
    }
    mesh.positions.push(center + radius * DVec3::Z);
    let top = mesh.positions.len() as u32 - 1;
    let at = |i: u32, j: u32| 1 + (i - 1) * around + j % around;
    for j in 0..around {
        mesh.triangles.push([0, at(1, j + 1), at(1, j)]);
        mesh.triangles.push([top, at(rings - 1, j), at(rings - 1, j + 1)]);
        for i in 1..rings - 1 {
            mesh.triangles.push([at(i, j), at(i, j + 1), at(i + 1, j + 1)]);
            mesh.triangles.push([at(i, j), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    mesh
}

/// The axis-aligned box between two corners, facing outward.
pub fn cuboid(low: DVec3, high: DVec3) -> TriMesh {
    let positions = (0..8)
        .map(|i| {
            let pick = |bit: usize, axis: usize| if i >> bit & 1 == 0 { low[axis] } else { high[axis] };
            DVec3::new(pick(0, 0), pick(1, 1), pick(2, 2))
        })
        .collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh { positions, triangles }
}

/// A real body, or `None`, said and counted, if it is not there.
pub fn shared(name: &str) -> Option<TriMesh> {
    let path = real_data(name)?;
    if name.ends_with(".ply") {
        return Some(bundled_ply(&std::fs::read(path).unwrap()));
    }
    let text = std::fs::read_to_string(path).unwrap();
    let mut mesh = TriMesh::default();
    if name.ends_with(".off") {
        let mut numbers = text.split_whitespace().skip(1).map(|word| word.parse::<f64>().unwrap());
        let counts: Vec<usize> = numbers.by_ref().take(3).map(|n| n as usize).collect();
        for _ in 0..counts[0] {
            let [x, y, z] = [0; 3].map(|_| numbers.next().unwrap());
            mesh.positions.push(DVec3::new(x, y, z));
        }
        for _ in 0..counts[1] {
            let [three, a, b, c] = [0; 4].map(|_| numbers.next().unwrap() as u32);
            assert_eq!(three, 3);
            mesh.triangles.push([a, b, c]);
        }
        return Some(mesh);
    }
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let [x, y, z] = [0; 3].map(|_| words.next().unwrap().parse().unwrap());
                mesh.positions.push(DVec3::new(x, y, z));
            }
            Some("f") => {
                let corners: Vec<u32> =
                    words.map(|word| word.split('/').next().unwrap().parse::<u32>().unwrap() - 1).collect();
                for i in 2..corners.len() {
                    mesh.triangles.push([corners[0], corners[i - 1], corners[i]]);
                }
            }
            _ => {}
        }
    }
    Some(mesh)
}

/// The binary layout that `assets/convert` writes with `double`.
fn bundled_ply(bytes: &[u8]) -> TriMesh {
    let end = bytes.windows(11).position(|window| window == b"end_header\n").unwrap() + 11;
    let header = std::str::from_utf8(&bytes[..end]).unwrap();
    assert!(header.contains("property double x") && header.contains("list uchar ushort"));
    let counts: Vec<usize> = (header.lines().filter(|line| line.starts_with("element ")))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    let (points, corners) = bytes[end..].split_at(24 * counts[0]);
    let number = |bytes: &[u8], at: usize| f64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
    let corner = |bytes: &[u8], at: usize| u32::from(u16::from_le_bytes([bytes[1 + 2 * at], bytes[2 + 2 * at]]));
    let positions = points.chunks_exact(24).map(|row| DVec3::new(number(row, 0), number(row, 1), number(row, 2)));
    let triangles = corners.chunks_exact(7).map(|row| [0, 1, 2].map(|at| corner(row, at)));
    TriMesh { positions: positions.collect(), triangles: triangles.collect() }
}

/// The distance from a point to a triangle by another road than the crate's: the edges, and the foot if it is within.
pub fn triangle_distance(point: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let segment = |from: DVec3, to: DVec3| {
        let squared = from.distance_squared(to);
        let along = if squared > 0.0 { ((point - from).dot(to - from) / squared).clamp(0.0, 1.0) } else { 0.0 };
        point.distance(from.lerp(to, along))
    };
    let edges = segment(a, b).min(segment(b, c)).min(segment(c, a));
    let normal = (b - a).cross(c - a);
    let within = [(a, b), (b, c), (c, a)].iter().all(|&(p, q)| (q - p).cross(point - p).dot(normal) > 0.0);
    match normal.try_normalize() {
        Some(unit) if within => edges.min((point - a).dot(unit).abs()),
        _ => edges,
    }
}

/// The distance from a point to a mesh, by trying every triangle.
pub fn brute_force_distance(mesh: &TriMesh, point: DVec3) -> f64 {
    mesh.triangles
        .iter()
        .map(|t| triangle_distance(point, t.map(|vertex| mesh.positions[vertex as usize])))
        .fold(f64::INFINITY, f64::min)
}

/// Reproducible numbers from 0 to 1.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn point(&mut self, low: DVec3, high: DVec3) -> DVec3 {
        let share = DVec3::new(self.next(), self.next(), self.next());
        low + share * (high - low)
    }
}
