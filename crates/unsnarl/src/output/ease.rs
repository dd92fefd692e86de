//! What surrounds stopped vertices of a refinement goes a part of their way with them, so that they leave no kink.
//!
//! A vertex that stops alone is the tip of a cone: the next level would smooth it by three eighths of its height, and
//! at the places of all contacts displacements would fall by half from level to level instead of to a quarter. So the
//! offset of every stopped vertex from its target is spread over some rings by a bump without a slope in its middle
//! and at its end, `(1 - (d / (R + 1))^2)^2` at ring d. Where bumps meet, the farthest offset counts.
//!
//! The bump is higher than the offset by [`LIFT`], which covers what later levels take of it: they go on smoothing what
//! was stopped here, by a quarter of the displacement of this level and a few hundredths of the bump at the next, and
//! so on, about `0.3 + 0.3^2 + ... = 0.43` in all. (Ours; Bridson 2003, 3.2 stops single vertices)
//!
//! Guarantees: only vertices of cloth within a few rings of a stopped one get a goal. The same bits on any number of
//! threads.
//! Does not: promise that the ways there are free; they go through the stop rule.

use crate::geometry::{DVec3, Topology, VertexId};
use std::collections::BTreeMap;

/// How many rings around a stopped vertex go with it.
const RINGS: u32 = 4;
/// How much farther from its target a stopped vertex goes, as a part of its offset.
const LIFT: f64 = 0.5;
/// Rings do not go on beyond vertices with more edges: a hub would carry them over the whole mesh, again and again.
const MOST_EDGES: usize = 64;

/// Goals of stopped vertices and of what surrounds them, in order: vertices are at `end` and were stopped on their way
/// to `targets`.
pub(super) fn eased(
    topology: &Topology,
    cloth_count: usize,
    end: &[DVec3],
    targets: &[DVec3],
) -> Vec<(VertexId, DVec3)> {
    let offset_of = |vertex: usize| end[vertex] - targets[vertex];
    let mut goals: BTreeMap<VertexId, DVec3> = BTreeMap::new();
    let mut rings = Rings::new(end.len());
    for vertex in (0..cloth_count).filter(|&vertex| end[vertex] != targets[vertex]) {
        let offset = (1.0 + LIFT) * offset_of(vertex);
        let mut raise = |other: VertexId, ring: u32| {
            let own = bump(ring) * offset;
            let farthest = goals.entry(other).or_insert_with(|| offset_of(other.index()));
            if own.length_squared() > farthest.length_squared() {
                *farthest = own;
            }
        };
        raise(VertexId::new(vertex), 0);
        rings.around(topology, VertexId::new(vertex), raise);
    }
    let goals = goals.into_iter().filter(|&(vertex, offset)| offset != offset_of(vertex.index()) && offset.is_finite());
    let goals = goals.map(|(vertex, offset)| (vertex, targets[vertex.index()] + offset));
    goals.filter(|&(vertex, goal)| goal != end[vertex.index()]).collect()
}

fn bump(ring: u32) -> f64 {
    (1.0 - (f64::from(ring) / f64::from(RINGS + 1)).powi(2)).powi(2)
}

/// Walks over the rings around vertices.
struct Rings {
    /// For every vertex, the number of the last walk that came to it.
    walks: Vec<u32>,
    walk: u32,
    seen: Vec<VertexId>,
}

impl Rings {
    fn new(vertex_count: usize) -> Self {
        Self { walks: vec![0; vertex_count], walk: 0, seen: Vec::new() }
    }

    /// Calls `visit` with every vertex within [`RINGS`] edges and the number of its ring, ring after ring.
    fn around(&mut self, topology: &Topology, vertex: VertexId, mut visit: impl FnMut(VertexId, u32)) {
        self.walk += 1;
        self.walks[vertex.index()] = self.walk;
        self.seen.clear();
        self.seen.push(vertex);
        let mut last = 0..1;
        for ring in 1..=RINGS {
            for at in last.clone() {
                let from = self.seen[at];
                if topology.vertex_edges(from).len() > MOST_EDGES {
                    continue;
                }
                for other in topology.ring(from) {
                    if self.walks[other.index()] != self.walk {
                        self.walks[other.index()] = self.walk;
                        self.seen.push(other);
                        visit(other, ring);
                    }
                }
            }
            last = last.end..self.seen.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::subdivision::{Smoothing, Split};

    /// A flat grid of cells cut alike, and the vertex in its middle.
    fn grid() -> (Topology, Vec<DVec3>, usize) {
        let count = 24_u32;
        let row = count + 1;
        let positions = (0..row * row).map(|k| DVec3::new(f64::from(k % row), 0.0, f64::from(k / row))).collect();
        let cell = |k: u32| {
            let a = k / count * row + k % count;
            [[a, a + 1, a + row], [a + 1, a + row + 1, a + row]]
        };
        let triangles: Vec<[u32; 3]> = (0..count * count).flat_map(cell).collect();
        (Topology::new((row * row) as usize, &triangles).unwrap(), positions, (row * row / 2) as usize)
    }

    #[test]
    fn a_spike_that_is_followed_is_hardly_smoothed_at_the_next_level() {
        let (topology, targets, middle) = grid();
        let mut lone = targets.clone();
        lone[middle].y += 1.0;
        let mut followed = lone.clone();
        for (vertex, goal) in eased(&topology, targets.len(), &lone, &targets) {
            followed[vertex.index()] = goal;
        }
        assert_eq!(followed[middle].y, 1.0 + LIFT);
        let next = |positions: &[DVec3]| {
            let split = Split::new(&topology, std::slice::from_ref(&(0..positions.len())));
            let start = split.midpoints(&topology, positions);
            let targets = split.targets(&topology, positions, &[], Smoothing::default());
            start.iter().zip(&targets).map(|(a, b)| (b.y - a.y).abs()).fold(0.0, f64::max)
        };
        // The mask of valence 6 leaves five eighths of a spike.
        assert!((next(&lone) - 0.375).abs() < 1e-12);
        let later = next(&followed) / followed[middle].y;
        assert!(later < 0.25 * 0.375, "{later}");
        // Smoothing takes a quarter as much at every level as at the one before, and of the bump what it takes here.
        let each = 0.25 + later;
        assert!(each / (1.0 - each) < LIFT, "{each}");
    }

    #[test]
    fn the_farthest_offset_counts_and_nothing_beyond_the_rings_moves() {
        let (topology, targets, middle) = grid();
        let mut end = targets.clone();
        end[middle].y = 1.0;
        end[middle + 1].y = 0.1;
        let mut goals = end.clone();
        for (vertex, goal) in eased(&topology, targets.len(), &end, &targets) {
            goals[vertex.index()] = goal;
        }
        assert!((goals[middle + 1].y - (1.0 + LIFT) * bump(1)).abs() < 1e-15);
        assert_eq!(goals[middle].y, 1.0 + LIFT);
        for (vertex, goal) in goals.iter().enumerate() {
            let away = (targets[vertex] - targets[middle]).abs().max_element();
            let moves = *goal != end[vertex];
            assert!(!moves || away <= f64::from(RINGS) + 1.0, "vertex {vertex}");
            assert!(goal.y >= end[vertex].y && goal.y <= 1.0 + LIFT);
        }
        assert!(eased(&topology, targets.len(), &targets, &targets).is_empty());
        assert_eq!(bump(0), 1.0);
        assert_eq!(bump(RINGS + 1), 0.0);
    }
}
