//! Parts of the boundary that pass through each other are drawn apart.
//!
//! In gaps thinner than an element both sides may reach the surface and yet cross, since triangles are flat. The nodes
//! of crossing triangles then move into the body, a step at a time, as far as their elements allow.
//!
//! Guarantees: pairs are found by exact predicates; no element falls below [`LOWEST`] that was not there already; what
//! is left is counted. Does not: promise that nothing is left.

use super::optimise::{Direction, Schedule, Visit};
use super::pattern_search::Neighbourhood;
use super::polish::LOWEST;
use super::{Part, Workpiece, mean_normal};
use crate::field::Field;
use unsnarl_geometry::intersection::{find_intersecting_pairs, triangle_tree};
use unsnarl_geometry::{DVec3, Topology};

/// Steps in mean edges of the boundary at a node: what a hundredth of an edge mends is not moved farther.
const STEPS: [f64; 16] =
    [0.002, 0.002, 0.002, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08];
/// How often a step is halved before it is given up for this round.
const HALVINGS: u32 = 3;

/// What is left of crossings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// Pairs of boundary triangles that still meet.
    pub pairs: usize,
    /// The nodes of triangles that met at the start, ascending.
    pub nodes: Vec<u32>,
}

/// Draws crossing parts apart.
pub fn retreat(field: &dyn Field, positions: &mut [DVec3], tets: &[[u32; 4]], boundary: &[[u32; 3]]) -> Crossings {
    let mut found = Crossings::default();
    let Ok(topology) = Topology::new(positions.len(), boundary) else { return found };
    for step in STEPS.into_iter().map(Some).chain([None]) {
        let tree = triangle_tree(&topology, positions);
        let pairs = find_intersecting_pairs(&topology, positions, &tree, |_, _| true);
        found.pairs = pairs.len();
        let Some(step) = step.filter(|_| !pairs.is_empty()) else { break };
        let mut is_crossing = vec![false; positions.len()];
        for triangle in pairs.iter().flat_map(|pair| [pair.first, pair.second]) {
            topology.triangle(triangle).iter().for_each(|node| is_crossing[node.index()] = true);
        }
        if found.nodes.is_empty() {
            found.nodes = (0..is_crossing.len() as u32).filter(|&node| is_crossing[node as usize]).collect();
        }
        let part = Part::of(positions, tets, boundary, &is_crossing);
        let mut piece = part.piece(field);
        let mut distances = vec![f64::INFINITY; piece.positions.len()];
        let schedule = Schedule::of(&piece, Direction::Inward, |node, _| piece.is_boundary(node));
        schedule.run(&mut piece, &mut distances, |piece, node, _, around| step_back(piece, step, node, around));
        part.put_back(&piece.positions, positions);
    }
    found
}

fn step_back(piece: &Workpiece<'_>, share: f64, node: u32, around: &Neighbourhood) -> Visit {
    let start = piece.positions[node as usize];
    let mut visit = Visit::at(start, f64::INFINITY);
    let Some(normal) = mean_normal(start, &around.sides) else { return visit };
    let edge = around.sides.iter().map(|side| start.distance(side[0])).sum::<f64>() / around.sides.len().max(1) as f64;
    let least = LOWEST.min(around.worst(start).1);
    let mut step = share * edge;
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
