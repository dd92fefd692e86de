//! The worst elements once more, and the boundary nodes that lag.
//!
//! After the sweeps most elements are far better than what tables quote. Here only the nodes of elements below a
//! grade, and those around boundary nodes that have not reached the surface, are worked on. Boundary nodes slide on
//! the surface; the goal is the sum of a high power of the grades, so that neighbours of a stuck node give way. The
//! floor sinks a little from round to round, to [`LOWEST`].
//!
//! [`yield_to_fit`] is for nodes that lag when everything else was tried: elements around them may become worse.
//!
//! Guarantees: [`polish`] takes no element below [`LOWEST`] that was not there already, [`yield_to_fit`] none below
//! [`YIELDED`].
//! Does not: bring every boundary node to the surface; where an element would have to be worse the node stays off.
//! Departs: the text ends with its sweeps.

use super::optimise::{Direction, FLOOR, Schedule, Visit, approach, limits};
use super::pattern_search::{Goal, INNER_DIRECTIONS, Neighbourhood};
use super::{CompressReport, Observer, Part, Workpiece, mean_normal, widen};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// Elements below this grade are worked on.
const WANTED: f64 = 1.25;
/// ... and in the first rounds those below this one.
const WANTED_FIRST: f64 = 1.8;
const FIRST_ROUNDS: usize = 2;
/// A boundary node farther from the surface than this share of its mean edge lags.
const LAGGING: f64 = 0.004;
/// Rounds at most.
const ROUNDS: usize = 40;
/// Rounds without gain after which polishing ends.
const IDLE_ROUNDS: usize = 10;
/// Rounds with the floor of the sweeps; then it sinks by a factor in every round.
const FIRM_ROUNDS: usize = 8;
const SINKING: f64 = 0.99;
/// The least floor: an aspect ratio of 4.49, dihedral angles within 19.3 and 143.3 degrees.
pub const LOWEST: f64 = 0.94;
/// The least floor around nodes that lag in the end: an aspect ratio of 5.28, dihedral angles within 16.5 and 148.9.
pub const YIELDED: f64 = 0.68;
/// Rounds in which the floor sinks to that, and all rounds.
const YIELDING_ROUNDS: usize = 20;
const YIELDING: f64 = 0.97;
/// Rings around what is left after the first rounds whose nodes may still move.
const RINGS: usize = 3;
/// Rounds of a search for a place nearer to the surface, and those without gain after which it ends.
const CREEPING_ROUNDS: u32 = 12;
const CREEPING_STRIKES: u32 = 4;

/// Improves the worst elements and brings the last boundary nodes to the surface: in the whole mesh first, then around
/// what is left.
pub fn polish(piece: &mut Workpiece<'_>, distances: &mut [f64], observer: Observer<'_>, report: &mut CompressReport) {
    measure_distances(piece, distances);
    for round in 0..FIRST_ROUNDS {
        let (at_work, count) = nodes_at_work(piece, WANTED_FIRST, distances);
        if count == 0 || polish_once(piece, round, &at_work, distances, observer, report).is_break() {
            return;
        }
    }
    let (mut around, count) = nodes_at_work(piece, WANTED, distances);
    if count == 0 {
        return;
    }
    for _ in 0..RINGS {
        widen(&mut around, piece.tets);
    }
    around.iter_mut().enumerate().for_each(|(node, flag)| *flag &= !piece.is_fixed(node as u32));
    let part = Part::of(&piece.positions, piece.tets, piece.boundary, &around);
    let mut local = part.piece(piece.field);
    let mut distances = vec![f64::INFINITY; local.positions.len()];
    measure_distances(&local, &mut distances);
    polish_part(&mut local, &mut distances, observer, report);
    part.put_back(&local.positions, &mut piece.positions);
}

fn polish_part(piece: &mut Workpiece<'_>, distances: &mut [f64], observer: Observer<'_>, report: &mut CompressReport) {
    let mut idle = Idle { best: usize::MAX, rounds: 0 };
    for round in FIRST_ROUNDS..ROUNDS {
        let (at_work, count) = nodes_at_work(piece, WANTED, distances);
        if count == 0 || (round > FIRM_ROUNDS && idle.is_over(count)) {
            return;
        }
        if polish_once(piece, round, &at_work, distances, observer, report).is_break() {
            return;
        }
    }
}

/// Brings boundary nodes that lag to the surface at the cost of the elements around them.
pub fn yield_to_fit(piece: &mut Workpiece<'_>, observer: Observer<'_>, report: &mut CompressReport) {
    let mut distances = vec![f64::INFINITY; piece.positions.len()];
    measure_distances(piece, &mut distances);
    let mut floor = LOWEST;
    for round in 0..YIELDING_ROUNDS {
        let (at_work, count) = nodes_at_work(piece, 0.0, &distances);
        floor = (YIELDING * floor).max(YIELDED);
        if count == 0 || sweep_once(piece, (round, floor), &at_work, &mut distances, observer, report).is_break() {
            return;
        }
    }
}

/// One round over the nodes at work; breaks where the observer ends the work.
fn polish_once(
    piece: &mut Workpiece<'_>,
    round: usize,
    at_work: &[bool],
    distances: &mut [f64],
    observer: Observer<'_>,
    report: &mut CompressReport,
) -> ControlFlow<()> {
    let sunk = (round + 1).saturating_sub(FIRM_ROUNDS) as i32;
    let floor = (FLOOR * SINKING.powi(sunk)).max(LOWEST);
    sweep_once(piece, (round, floor), at_work, distances, observer, report)
}

/// One sweep over the nodes at work with a floor; its direction depends on the round.
fn sweep_once(
    piece: &mut Workpiece<'_>,
    (round, floor): (usize, f64),
    at_work: &[bool],
    distances: &mut [f64],
    observer: Observer<'_>,
    report: &mut CompressReport,
) -> ControlFlow<()> {
    let direction = if round.is_multiple_of(2) { Direction::Inward } else { Direction::Outward };
    let schedule = Schedule::of(piece, direction, |node, _| at_work[node as usize]);
    let done =
        schedule.run(piece, distances, |piece, node, distance, around| visit(piece, floor, node, distance, around));
    report.guarded_moves += done.guarded;
    let sweep = done.sweep(piece, piece.worst_quality(), distances);
    report.sweeps.push(sweep);
    observer(&sweep)
}

/// Whether rounds still gain.
struct Idle {
    best: usize,
    rounds: usize,
}

impl Idle {
    fn is_over(&mut self, count: usize) -> bool {
        self.rounds = if count < self.best { 0 } else { self.rounds + 1 };
        self.best = self.best.min(count);
        self.rounds > IDLE_ROUNDS
    }
}

/// Sweeps leave bounds of distances; here they are needed.
fn measure_distances(piece: &Workpiece<'_>, distances: &mut [f64]) {
    let measure = |(node, distance): (usize, &mut f64)| {
        if piece.is_boundary(node as u32) && !piece.is_fixed(node as u32) {
            *distance = piece.field.value_within(piece.positions[node], distance.abs());
        }
    };
    distances.par_iter_mut().enumerate().with_min_len(256).for_each(measure);
}

/// The nodes of bad elements, and of all elements at boundary nodes that lag; and how many elements those are.
fn nodes_at_work(piece: &Workpiece<'_>, wanted: f64, distances: &[f64]) -> (Vec<bool>, usize) {
    let lags = |sides: &mut Vec<_>, node: u32| {
        piece.fan(node, sides);
        let (at, count) = (piece.positions[node as usize], sides.len().max(1) as f64);
        let edge = sides.iter().map(|side: &[_; 2]| at.distance(side[0])).sum::<f64>() / count;
        !sides.is_empty() && !piece.is_fixed(node) && distances[node as usize].abs() > LAGGING * edge
    };
    let node_count = piece.positions.len() as u32;
    let lagging: Vec<bool> = (0..node_count).into_par_iter().with_min_len(256).map_init(Vec::new, lags).collect();
    let mut at_work = vec![false; piece.positions.len()];
    let mut count = 0;
    for (tet, grade) in piece.tets.iter().zip(piece.grades(&limits())) {
        if grade < wanted || tet.iter().any(|&node| lagging[node as usize]) {
            tet.iter().for_each(|&node| at_work[node as usize] = true);
            count += 1;
        }
    }
    (at_work, count)
}

fn visit(piece: &Workpiece<'_>, floor: f64, node: u32, bound: f64, around: &mut Neighbourhood) -> Visit {
    let mut visit = Visit::at(piece.positions[node as usize], bound);
    visit.optimised = true;
    let goal = Goal::Grades { floor: floor.min(around.worst(visit.position).1) };
    if !piece.is_boundary(node) {
        visit.position = around.search(goal, visit.position).unwrap_or(visit.position);
        return visit;
    }
    let (at, distance) = (visit.position, bound);
    let Some(normal) = mean_normal(at, &around.sides) else { return visit };
    let found = around.search_through(goal, at, |trial, step| {
        // As far from the surface as before: a node that lags does not jump.
        let bound = distance.abs() + trial.distance(at) + step;
        trial - (piece.field.value_within(trial, bound) - distance) * normal
    });
    if let Some(better) = found {
        visit.position = better;
        visit.distance = distance.abs() + better.distance(at);
    }
    approach(piece, 1.0, floor, around, &mut visit);
    visit.distance = piece.field.value_within(visit.position, visit.distance.abs());
    let edge = at.distance(around.sides.first().map_or(at, |side| side[0]));
    if visit.distance.abs() > 0.5 * LAGGING * edge {
        creep(piece, floor, around, &mut visit);
    }
    visit
}

/// Looks for a place nearer to the surface with all elements above the floor: toward the closest point, then any way.
/// Along creases the normal of the mesh may lead past the surface for ever.
fn creep(piece: &Workpiece<'_>, floor: f64, around: &Neighbourhood, visit: &mut Visit) {
    let least = floor.min(around.worst(visit.position).1);
    let mut step = visit.distance.abs();
    let mut strikes = 0;
    for _ in 0..CREEPING_ROUNDS {
        let (distance, gradient) = piece.field.value_and_gradient(visit.position);
        let toward = -distance.signum() * gradient;
        let nearer = |direction: unsnarl_geometry::DVec3| {
            let trial = visit.position + step * direction;
            let reached = piece.field.value_within(trial, distance.abs() + step);
            let is_fine = reached.abs() < 0.95 * distance.abs() && around.is_positive(trial);
            (is_fine && around.worst(trial).1 >= least).then_some((trial, reached))
        };
        match std::iter::once(toward).chain(INNER_DIRECTIONS).find_map(nearer) {
            Some((trial, reached)) => (visit.position, visit.distance) = (trial, reached),
            None => {
                strikes += 1;
                step *= 0.5;
                if strikes == CREEPING_STRIKES {
                    return;
                }
            }
        }
    }
}
