//! All pairs that meet, found through tree and fan proofs, against trying every pair.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use unsnarl_geometry::intersection::{
    Relation, crossings_of_pair, find_crossing_pairs, find_intersecting_pairs, relation, triangle_tree,
};
use unsnarl_geometry::{DVec3, Topology, TriangleId};

fn agree_with_trying_every_pair(positions: &[DVec3], triangles: &[[u32; 3]]) {
    let topology = Topology::new(positions.len(), triangles).unwrap();
    let tree = triangle_tree(&topology, positions);
    let found: Vec<_> = find_intersecting_pairs(&topology, positions, &tree, |_, _| true)
        .into_iter()
        .map(|pair| (pair.first, pair.second, pair.relation))
        .collect();
    let crossing = find_crossing_pairs(&topology, positions, &tree, |_, _| true);
    let (mut expected, mut expected_crossing) = (Vec::new(), Vec::new());
    for first in 0..triangles.len() {
        for second in first + 1..triangles.len() {
            let (first, second) = (TriangleId::new(first), TriangleId::new(second));
            let corners = (topology.triangle(first), topology.triangle(second));
            let relation = relation(corners.0, corners.1, positions);
            if relation != Relation::Apart {
                expected.push((first, second, relation));
            }
            let (crossings, count) = crossings_of_pair(corners.0, corners.1, positions);
            if count > 0 {
                expected_crossing.push((first, second, crossings));
            }
        }
    }
    assert_eq!(found, expected);
    assert_eq!(crossing, expected_crossing);
}

/// Points of a small grid, so that many coincide, align or lie in one plane.
fn grid_points(count: usize) -> impl Strategy<Value = Vec<DVec3>> {
    prop::collection::vec(prop::array::uniform3(-2i8..=2), count)
        .prop_map(|points| points.into_iter().map(|point| DVec3::from(point.map(f64::from))).collect())
}

/// Points near a circle around the first one: fans that are mostly graphs, and sometimes turn twice.
fn ring_points(count: usize) -> impl Strategy<Value = Vec<DVec3>> {
    (prop::collection::vec((0.0..1.0f64, -0.4..0.4f64), count), 0.5..2.5f64, 0.0..6.3f64).prop_map(
        move |(points, turns, tilt)| {
            let place = |(at, (jitter, height)): (usize, (f64, f64))| {
                let angle = turns * std::f64::consts::TAU * (at as f64 + 0.5 * jitter) / count as f64;
                let flat = DVec3::new(angle.cos(), angle.sin(), height);
                DVec3::new(flat.x, flat.y * tilt.cos() - flat.z * tilt.sin(), flat.y * tilt.sin() + flat.z * tilt.cos())
            };
            std::iter::once(DVec3::ZERO).chain(points.into_iter().enumerate().map(place)).collect()
        },
    )
}

/// Triangles around vertex 0, in a ring of the others.
fn fan(ring: u32, closed: bool) -> Vec<[u32; 3]> {
    let last = if closed { ring } else { ring - 1 };
    (0..last).map(|at| [0, 1 + at, 1 + (at + 1) % ring]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fans_on_grids(points in grid_points(8), closed: bool) {
        agree_with_trying_every_pair(&points, &fan(7, closed));
    }

    #[test]
    fn fans_that_turn(points in ring_points(9), closed: bool, flipped in 0usize..8) {
        let mut triangles = fan(9, closed);
        agree_with_trying_every_pair(&points, &triangles);
        triangles[flipped].swap(1, 2);
        agree_with_trying_every_pair(&points, &triangles);
    }

    #[test]
    fn two_fans_at_one_vertex(points in ring_points(8), other in ring_points(4)) {
        let count = points.len() as u32;
        let mut positions = points;
        positions.extend(other.into_iter().skip(1).map(|point| point * 0.7));
        let mut triangles = fan(8, true);
        triangles.extend(fan(4, false).into_iter().map(|[_, a, b]| [0, a + count - 1, b + count - 1]));
        agree_with_trying_every_pair(&positions, &triangles);
    }

    #[test]
    fn any_triangles_on_grids(
        points in grid_points(9),
        corners in prop::collection::vec((0u32..9, 1u32..8, 1u32..8), 1..30),
    ) {
        let triangles: Vec<[u32; 3]> = corners
            .into_iter()
            .map(|(a, b, c)| [a, (a + b) % 9, (a + c) % 9])
            .filter(|[_, b, c]| b != c)
            .collect();
        agree_with_trying_every_pair(&points, &triangles);
    }
}
