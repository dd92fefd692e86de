//! Parts of the boundary that pass through each other are drawn apart.
//!
//! In gaps thinner than an element both sides may reach the surface and yet cross, since triangles are flat. The nodes
//! of crossing triangles then move into the body, a step at a time, as far as their elements allow.
//!
//! Guarantees: pairs are found by exact predicates; no element falls below [`LOWEST`] that was not there already; what
//! is left is counted. Does not: promise that nothing is left.

use super::Workpiece;
use super::mean_normal;
use super::optimise::{Direction, Schedule, Visit};
use super::pattern_search::Neighbourhood;
use super::polish::LOWEST;
use unsnarl_geometry::Topology;
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};

/// Rounds at most.
const ROUNDS: usize = 12;
/// A step, in mean edges of the boundary at a node.
const STEP: f64 = 0.08;
/// How often a step is halved before it is given up for this round.
const HALVINGS: u32 = 3;

/// Draws crossing parts apart; how many pairs of triangles still meet.
pub fn retreat(piece: &mut Workpiece<'_>) -> usize {
    let Ok(topology) = Topology::new(piece.positions.len(), piece.boundary) else { return 0 };
    let mut distances = vec![f64::INFINITY; piece.positions.len()];
    for round in 0..=ROUNDS {
        let tree = triangle_tree(&topology, &piece.positions);
        let pairs = find_intersecting_pairs(&topology, &piece.positions, &tree, |_, _| true);
        if pairs.is_empty() || round == ROUNDS {
            return pairs.len();
        }
        let mut is_crossing = vec![false; piece.positions.len()];
        for triangle in pairs.iter().flat_map(|pair| [pair.first, pair.second]) {
            topology.triangle(triangle).iter().for_each(|node| is_crossing[node.index()] = true);
        }
        let schedule = Schedule::of(piece, Direction::Inward, |node, _| is_crossing[node as usize]);
        schedule.run(piece, &mut distances, |piece, node, _, around| step_back(piece, node, around));
    }
    0
}

fn step_back(piece: &Workpiece<'_>, node: u32, around: &Neighbourhood) -> Visit {
    let start = piece.positions[node as usize];
    let mut visit = Visit::at(start, f64::INFINITY);
    let Some(normal) = mean_normal(start, &around.sides) else { return visit };
    let edge = around.sides.iter().map(|side| start.distance(side[0])).sum::<f64>() / around.sides.len().max(1) as f64;
    let least = LOWEST.min(around.worst(start).1);
    let mut step = STEP * edge;
    for _ in 0..HALVINGS {
        let trial = start - step * normal;
        if around.is_positive(trial) && around.worst(trial).1 >= least {
            visit.position = trial;
            return visit;
        }
        step *= 0.5;
    }
    visit
}
