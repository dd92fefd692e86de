//! Closed manifolds from any samples, volumes of known bodies.

use super::*;
use crate::grid::{Background, BlockGrid, BlockWidth, Domain, Side};
use crate::level_set::Frame;
use proptest::prelude::*;
use std::collections::BTreeMap;
use unsnarl_geometry::DVec3;

/// Every directed edge once, its reverse once; one ring of triangles around each vertex.
fn assert_closed_manifold(mesh: &TriMesh) {
    let mut edges: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for t in &mesh.triangles {
        assert!(t[0] != t[1] && t[1] != t[2] && t[2] != t[0], "a triangle repeats a vertex");
        for i in 0..3 {
            *edges.entry((t[i], t[(i + 1) % 3])).or_default() += 1;
        }
    }
    for (&(a, b), &count) in &edges {
        assert_eq!(count, 1, "edge {a} {b} is walked {count} times");
        assert!(edges.contains_key(&(b, a)), "edge {a} {b} has one triangle");
    }
    let mut next: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    for t in &mesh.triangles {
        for i in 0..3 {
            next.entry(t[i]).or_default().insert(t[(i + 1) % 3], t[(i + 2) % 3]);
        }
    }
    for (vertex, ring) in next {
        let start = *ring.keys().next().unwrap();
        let (mut at, mut steps) = (ring[&start], 1);
        while at != start {
            at = ring[&at];
            steps += 1;
        }
        assert_eq!(steps, ring.len(), "the triangles around vertex {vertex} are more than one ring");
    }
}

fn volume(mesh: &TriMesh) -> f64 {
    let corner = |vertex: u32| mesh.positions[vertex as usize];
    mesh.triangles.iter().map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2])))).sum::<f64>() / 6.0
}

fn sampled(width: u32, blocks: i32, value: impl Fn([i32; 3]) -> f32) -> LevelSet {
    let background = Background { outside: 3.0, inside: -3.0 };
    let mut grid = BlockGrid::new(BlockWidth::new(width).unwrap(), Domain::Unbounded, background);
    for place in 0..blocks.pow(3) {
        let block = [place % blocks, place / blocks % blocks, place / blocks.pow(2)].map(|b| b - blocks / 2);
        let slot = grid.store(block);
        for at in 0..grid.width().volume() {
            let local = grid.width().local(at);
            let sample = [0, 1, 2].map(|axis| grid.width().first_sample(block[axis]) + local[axis] as i32);
            grid.block_mut(slot)[at] = value(sample);
        }
    }
    LevelSet::from_parts(grid, Frame { origin: DVec3::ZERO, spacing: 1.0 })
}

#[test]
fn a_sphere_keeps_its_volume_to_second_order() {
    let radius = 15.3;
    let sphere =
        sampled(7, 6, |s| (DVec3::from_array(s.map(f64::from)).distance(DVec3::new(0.1, 0.4, -0.3)) - radius) as f32);
    let exact = 4.0 / 3.0 * std::f64::consts::PI * f64::powi(radius, 3);
    for (extraction, error) in [(Extraction::SurfaceNets, 2e-2), (Extraction::Marching, 1e-2)] {
        let mesh = sphere.to_mesh(extraction);
        assert_closed_manifold(&mesh);
        assert!((volume(&mesh) / exact - 1.0).abs() < error, "{extraction:?}: {}", volume(&mesh) / exact);
    }
}

#[test]
fn a_body_that_fills_whole_blocks_without_a_band_is_still_closed() {
    let background = Background { outside: 3.0, inside: -3.0 };
    let mut grid = BlockGrid::new(BlockWidth::new(5).unwrap(), Domain::Unbounded, background);
    for block in [[0, 0, 0], [1, 0, 0], [1, 1, 1], [-2, -3, 4]] {
        grid.set_side(block, Side::Inside);
    }
    let body = LevelSet::from_parts(grid, Frame { origin: DVec3::ZERO, spacing: 0.5 });
    for extraction in [Extraction::SurfaceNets, Extraction::Marching] {
        let mesh = body.to_mesh(extraction);
        assert!(!mesh.triangles.is_empty());
        assert_closed_manifold(&mesh);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Noise has every pattern, every ambiguous face and vertices that would touch.
    #[test]
    fn noise_gives_closed_manifolds(seed in any::<u64>(), share in 0.05_f32..0.95) {
        let noise = sampled(5, 2, |s| {
            let mut hash = seed ^ (s[0] as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (s[1] as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
                ^ (s[2] as u64).wrapping_mul(0x1656_67B1_9E37_79F9);
            hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            hash = (hash ^ (hash >> 32)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (hash >> 40) as f32 / (1 << 24) as f32 - share
        });
        for extraction in [Extraction::SurfaceNets, Extraction::Marching] {
            assert_closed_manifold(&noise.to_mesh(extraction));
        }
    }
}
