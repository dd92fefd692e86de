//! Compression by direct optimisation of the elements. (Bridson 2003, 5.5)
//!
//! Five sweeps move boundary nodes a third of their distance along the normal of the mesh, later ones all of it; in
//! every sweep the nodes with elements that are bad for this mesh are improved by pattern search, from the boundary
//! inward and back in turn. [`super::polish`] then works on the worst elements alone.
//!
//! Guarantees: while sweeps run no element falls below the grade [`FLOOR`] that was not there already.
//! Departs: the text has no floor and no guard; there a move may invert an element, and a search may spoil elements
//! for the sake of triangles.

use super::pattern_search::{Goal, Neighbourhood};
use super::polish::polish;
use super::{CompressReport, Observer, Sweep, Workpiece, mean_normal};
use crate::tet_mesh::quality::Limits;
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// How often a move is halved before it is given up for this sweep.
const HALVINGS: u32 = 6;
/// Nodes of a colour below which another thread does not pay.
const NODES_PER_TASK: usize = 16;
/// Elements are graded against this aspect ratio and these dihedral angles, degrees.
pub const LIMITS: (f64, [f64; 2]) = (4.35, [20.0, 142.0]);
/// The grade that no move takes an element below while the boundary comes to the surface.
pub const FLOOR: f64 = 1.0;

/// A part of the work: sweeps of one kind.
struct Part {
    sweeps: usize,
    /// The share of the distance that boundary nodes move.
    share: f64,
    /// Nodes with an element below this, between the worst (0) and the mean quality (1), are optimised.
    bad: f64,
}

/// Slowly to the surface, then all the way.
const PARTS: [Part; 2] = [Part { sweeps: 5, share: 1.0 / 3.0, bad: 0.4 }, Part { sweeps: 6, share: 1.0, bad: 0.5 }];

/// Moves the boundary to the surface and improves elements.
pub fn optimise(piece: &mut Workpiece<'_>, observer: Observer<'_>) -> CompressReport {
    let mut report = CompressReport::default();
    let mut distances = vec![f64::INFINITY; piece.positions.len()];
    let mut qualities = piece.qualities();
    let mut direction = Direction::Inward;
    for part in &PARTS {
        for _ in 0..part.sweeps {
            let rule = Rule::of(part, &qualities);
            let is_wanted = |node: u32, depth: usize| {
                // Deep inside what was measured before the sweep will do to pass over good nodes.
                depth < 2 || piece.node_tets.at(node).iter().any(|&tet| qualities[tet as usize] < rule.good)
            };
            let schedule = Schedule::of(piece, direction, is_wanted);
            let done = schedule.run(piece, &mut distances, |piece, node, distance, around| {
                visit(piece, &rule, node, distance, around)
            });
            report.guarded_moves += done.guarded;
            direction = direction.turned();
            qualities = piece.qualities();
            let worst_quality = qualities.iter().copied().fold(f64::INFINITY, f64::min);
            let sweep = done.sweep(piece, worst_quality, &distances);
            report.sweeps.push(sweep);
            if observer(&sweep).is_break() {
                return report;
            }
        }
    }
    polish(piece, &mut distances, observer, &mut report);
    report
}

/// What elements are graded against.
pub fn limits() -> Limits {
    Limits::new(LIMITS.0, LIMITS.1)
}

/// Improves inner nodes only, wherever the boundary is: for meshes that were deformed.
pub fn improve_interior(piece: &mut Workpiece<'_>, sweeps: usize) {
    let mut distances = vec![0.0; piece.positions.len()];
    for _ in 0..sweeps {
        let schedule = Schedule::of(piece, Direction::Inward, |_, depth| depth > 0);
        schedule.run(piece, &mut distances, |piece, node, _, around| {
            let mut visit = Visit::at(piece.positions[node as usize], 0.0);
            visit.position = around.search(Goal::Quality { floor: 0.0 }, visit.position).unwrap_or(visit.position);
            visit
        });
    }
}

/// Which way a sweep goes through the rings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the boundary.
    Inward,
    /// To the boundary.
    Outward,
}

impl Direction {
    /// The other way.
    pub fn turned(self) -> Self {
        if self == Self::Inward { Self::Outward } else { Self::Inward }
    }
}

/// The nodes of a sweep, as sets that are visited one after the other; nodes of a set share no element.
pub struct Schedule {
    sets: Vec<Vec<u32>>,
}

/// What a sweep did.
#[derive(Clone, Copy, Default)]
pub struct Done {
    optimised: usize,
    /// Moves toward the surface that were shortened.
    pub guarded: usize,
}

impl Done {
    /// As a report.
    pub fn sweep(self, piece: &Workpiece<'_>, worst_quality: f64, distances: &[f64]) -> Sweep {
        let boundary = piece.boundary_nodes().map(|node| distances[node as usize].abs());
        Sweep {
            share: self.optimised as f64 / piece.positions.len().max(1) as f64,
            worst_quality,
            largest_distance: boundary.fold(0.0, f64::max),
        }
    }
}

/// What happened to a node.
#[derive(Clone, Copy)]
pub struct Visit {
    /// Where it goes.
    pub position: DVec3,
    /// Its distance from the surface, or a bound of it; nothing for inner nodes.
    pub distance: f64,
    /// Whether a move toward the surface was shortened.
    pub guarded: bool,
    /// Whether a better place was looked for.
    pub optimised: bool,
}

impl Visit {
    /// A visit that leaves a node where it is.
    pub fn at(position: DVec3, distance: f64) -> Self {
        Self { position, distance, guarded: false, optimised: false }
    }
}

impl Schedule {
    /// The nodes that are wanted, given their ring, ring by ring.
    pub fn of(piece: &Workpiece<'_>, direction: Direction, is_wanted: impl Fn(u32, usize) -> bool + Sync) -> Self {
        let wanted = |(depth, ring): (usize, &Vec<Vec<u32>>)| -> Vec<Vec<u32>> {
            let is_wanted = |node: &u32| !piece.is_fixed(*node) && is_wanted(*node, depth);
            ring.iter().map(|set| set.iter().copied().filter(is_wanted).collect()).collect()
        };
        let mut rings: Vec<Vec<Vec<u32>>> = piece.rings.iter().enumerate().map(wanted).collect();
        if direction == Direction::Outward {
            rings.reverse();
        }
        Self { sets: rings.into_iter().flatten().filter(|set| !set.is_empty()).collect() }
    }

    /// Visits the nodes, those of a set at the same time, with what is around each gathered.
    pub fn run(
        &self,
        piece: &mut Workpiece<'_>,
        distances: &mut [f64],
        visit: impl Fn(&Workpiece<'_>, u32, f64, &mut Neighbourhood) -> Visit + Sync,
    ) -> Done {
        let limits = limits();
        let mut done = Done::default();
        for nodes in &self.sets {
            let look = |around: &mut Neighbourhood, &node: &u32| {
                piece.star(node, &mut around.faces);
                piece.fan(node, &mut around.sides);
                visit(piece, node, distances[node as usize], around)
            };
            let visits: Vec<Visit> =
                nodes.par_iter().with_min_len(NODES_PER_TASK).map_init(|| Neighbourhood::new(limits), look).collect();
            for (&node, visit) in nodes.iter().zip(&visits) {
                piece.positions[node as usize] = visit.position;
                distances[node as usize] = visit.distance;
                done.optimised += usize::from(visit.optimised);
                done.guarded += usize::from(visit.guarded);
            }
        }
        done
    }
}

/// What a sweep does with a node.
struct Rule<'a> {
    part: &'a Part,
    /// Nodes whose elements are all better than this are left.
    good: f64,
}

impl<'a> Rule<'a> {
    fn of(part: &'a Part, qualities: &[f64]) -> Self {
        let worst = qualities.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = qualities.iter().sum::<f64>() / qualities.len().max(1) as f64;
        Self { part, good: worst + part.bad * (mean - worst) }
    }
}

fn visit(piece: &Workpiece<'_>, rule: &Rule<'_>, node: u32, bound: f64, around: &mut Neighbourhood) -> Visit {
    let mut visit = Visit::at(piece.positions[node as usize], bound);
    if piece.is_boundary(node) {
        approach(piece, rule.part.share, FLOOR, around, &mut visit);
    }
    let (quality, grade) = around.worst(visit.position);
    if quality >= rule.good {
        return visit;
    }
    visit.optimised = true;
    let goal = Goal::Quality { floor: FLOOR.min(grade) };
    if let Some(better) = around.search(goal, visit.position) {
        visit.distance = visit.distance.abs() + better.distance(visit.position);
        visit.position = better;
    }
    visit
}

/// Moves a boundary node a share of its way to the surface, or as far as its elements allow: none falls below the
/// floor, or where it was below that before. The distance is then a bound from above.
pub fn approach(piece: &Workpiece<'_>, share: f64, floor: f64, around: &Neighbourhood, visit: &mut Visit) {
    let start = visit.position;
    let distance = if visit.distance.is_finite() {
        piece.field.value_within(start, visit.distance.abs())
    } else {
        piece.field.value(start)
    };
    visit.distance = distance;
    let Some(normal) = mean_normal(start, &around.sides) else { return };
    let least = floor.min(around.worst(start).1);
    let mut step = -share * distance;
    for _ in 0..HALVINGS {
        let trial = start + step * normal;
        if around.is_positive(trial) && around.worst(trial).1 >= least {
            visit.position = trial;
            visit.distance = distance.abs() + step.abs();
            return;
        }
        visit.guarded = true;
        step *= 0.5;
    }
}
