//! All pairs that meet, found through tree and fan proofs, against trying every pair.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use unsnarl_geometry::intersection::{
    Habit, LastSearch, Relation, crossings_of_pair, find_crossing_pairs, find_crossing_pairs_again,
    find_intersecting_pairs, relation, triangle_tree,
};
use unsnarl_geometry::{DVec3, Topology, TriangleId};

fn agree_with_trying_every_pair(positions: &[DVec3], triangles: &[[u32; 3]]) {
    let topology = Topology::new(positions.len(), triangles).unwrap();
    let tree = triangle_tree(&topology, positions);
    let found: Vec<_> = find_intersecting_pairs(&topology, positions, &tree, |_, _| true)
        .into_iter()
        .map(|pair| (pair.first, pair.second, pair.relation))
        .collect();
    let crossing = find_crossing_pairs(&topology, positions, &tree, &mut Habit::default(), |_, _| true);
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

/// A grid of `side` by `side` vertices laid out by a function of two coordinates from 0 to 1.
fn sheet(side: u32, place: impl Fn(f64, f64) -> DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let at = |index: u32| f64::from(index) / f64::from(side - 1);
    let positions = (0..side * side).map(|index| place(at(index % side), at(index / side))).collect();
    let cells = (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| row * side + column));
    let triangles = cells.flat_map(|a| [[a, a + 1, a + side], [a + 1, a + side + 1, a + side]]).collect();
    (positions, triangles)
}

/// Later searches, which look for patches that are graphs, find what the first one does, which looks at every pair.
fn agree_with_the_first_search(positions: &[DVec3], triangles: &[[u32; 3]]) -> usize {
    let topology = Topology::new(positions.len(), triangles).unwrap();
    let tree = triangle_tree(&topology, positions);
    let mut habit = Habit::default();
    let mut search = || find_crossing_pairs(&topology, positions, &tree, &mut habit, |_, _| true);
    let first = search();
    for _ in 0..8 {
        assert_eq!(search(), first);
    }
    first.len()
}

#[test]
fn smooth_sheets_have_no_crossings_with_themselves() {
    let (positions, triangles) = sheet(40, |u, v| DVec3::new(u, v, 0.2 * (5.0 * u).sin() * (4.0 * v).cos()));
    assert_eq!(agree_with_the_first_search(&positions, &triangles), 0);
}

#[test]
fn a_spiral_ramp_that_meets_its_own_start_is_no_graph() {
    // All triangles face up, but after one turn the ramp comes down through its own beginning.
    for turns in [0.9, 1.2, 2.3] {
        let (positions, triangles) = sheet(40, |u, v| {
            let angle = turns * std::f64::consts::TAU * u;
            let height = 0.4 * (2.0 * u - 1.0) * (v - 0.4);
            DVec3::new((1.0 + v) * angle.sin(), (1.0 + v) * angle.cos(), height)
        });
        let crossings = agree_with_the_first_search(&positions, &triangles);
        assert_eq!(crossings > 0, turns > 1.0, "{turns} turns: {crossings}");
    }
}

#[test]
fn a_sheet_that_was_a_graph_is_looked_at_again_as_it_moves() {
    let ramp = |turns: f64| {
        sheet(40, move |u, v| {
            let angle = turns * std::f64::consts::TAU * u;
            DVec3::new((1.0 + v) * angle.sin(), (1.0 + v) * angle.cos(), 0.4 * (2.0 * u - 1.0) * (v - 0.4))
        })
    };
    let (mut positions, triangles) = ramp(0.4);
    let topology = Topology::new(positions.len(), &triangles).unwrap();
    let mut tree = triangle_tree(&topology, &positions);
    let mut habit = Habit::default();
    let mut most = 0;
    for step in 0..30 {
        positions = ramp(0.4 + 0.03 * f64::from(step)).0;
        // Now and then a dent that turns triangles over without reaching the rim.
        if step % 5 == 4 {
            positions[820] += DVec3::new(0.1, 0.06, 0.02);
        }
        tree.refit_on_points(&positions);
        let found = find_crossing_pairs(&topology, &positions, &tree, &mut habit, |_, _| true);
        let expected = find_crossing_pairs(&topology, &positions, &tree, &mut Habit::default(), |_, _| true);
        assert_eq!(found, expected, "step {step}");
        most = most.max(found.len());
    }
    assert!(most > 20, "the ramp meets its start in the end");
}

/// A search that remembers the last one finds what one that does not finds, whatever share of the mesh has moved.
#[test]
fn what_has_not_moved_need_not_be_searched_again() {
    let crumpled = |u: f64, v: f64| DVec3::new(u, 0.6 * v, 0.2 * (17.0 * u * v).sin() + 0.3 * (5.0 * v).cos() * u);
    let (mut positions, triangles) = sheet(40, crumpled);
    for (at, position) in positions.iter_mut().enumerate().filter(|(at, _)| at % 7 == 0) {
        position.z += 0.15 * ((at * 31 % 17) as f64 / 17.0 - 0.5);
    }
    let topology = Topology::new(positions.len(), &triangles).unwrap();
    let mut tree = triangle_tree(&topology, &positions);
    let (mut habit, mut last) = (Habit::default(), LastSearch::default());
    let mut counts = Vec::new();
    for step in 0..24_usize {
        // A growing patch, none of it every fifth time, all of it every eleventh.
        let reach = if step % 5 == 4 { 0 } else { 3 * step % 40 };
        let is_near = |at: usize| step % 11 == 10 || (at % 40 < reach && at / 40 < reach);
        for (at, position) in positions.iter_mut().enumerate().filter(|(at, _)| is_near(*at)) {
            *position += 0.02 * DVec3::new((at as f64).sin(), (at * step) as f64 % 3.0 - 1.0, (at as f64).cos());
        }
        tree.refit_on_points(&positions);
        let found = find_crossing_pairs_again(&topology, &positions, &tree, (&mut habit, &mut last), |_, _| true);
        let expected = find_crossing_pairs(&topology, &positions, &tree, &mut Habit::default(), |_, _| true);
        assert_eq!(found, expected, "step {step}");
        counts.push(found.len());
    }
    assert!(counts.iter().filter(|&&count| count > 50).count() > 12, "{counts:?}");
}

#[test]
fn layers_facing_both_ways_cross_each_other_but_not_themselves() {
    let (front, triangles) = sheet(40, |u, v| DVec3::new(u, v, 0.05 * (9.0 * u).sin()));
    let (back, _) = sheet(40, |u, v| DVec3::new(u + 0.001, v + 0.002, 0.03 * (7.0 * v).sin() - 0.01));
    let count = front.len() as u32;
    let mut both = triangles.clone();
    both.extend(triangles.iter().map(|[a, b, c]| [a + count, c + count, b + count]));
    assert!(agree_with_the_first_search(&[front, back].concat(), &both) > 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bent_sheets_agree(
        bend in -3.0..3.0f64,
        twist in -2.0..2.0f64,
        waves in prop::array::uniform3(0.0..0.3f64),
        flipped in prop::collection::vec(0usize..2000, 0..3),
        torn in prop::collection::vec(0usize..2000, 0..3),
    ) {
        let (positions, mut triangles) = sheet(36, |u, v| {
            let angle = bend * (u - 0.5) + twist * (v - 0.5);
            let radius = 1.0 + waves[0] * (9.0 * v).sin() + waves[1] * (8.0 * u).cos();
            DVec3::new(radius * angle.sin(), v + waves[2] * (7.0 * u).sin(), radius * angle.cos())
        });
        for at in flipped {
            triangles[at].swap(0, 1);
        }
        for at in torn {
            triangles.remove(at % triangles.len());
        }
        agree_with_the_first_search(&positions, &triangles);
    }
}
