//! Compression by direct optimisation of the elements. (Bridson 2003, 5.5)
//!
//! Five sweeps move boundary nodes a third of their distance along the normal of the mesh, later ones all of it; in
//! every sweep the nodes with elements that are bad for this mesh are improved by pattern search, from the boundary
//! inward and back in turn.
//!
//! Departs: moves along the normal are guarded; a last part, which the text lacks, improves the worst elements only,
//! with boundary nodes kept on the surface while they are tried.

use super::pattern_search::Neighbourhood;
use super::{CompressReport, Observer, Sweep, Workpiece, mean_normal};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// How often a move is halved before it is given up for this sweep.
const HALVINGS: u32 = 6;
/// Nodes of a colour below which another thread does not pay.
const NODES_PER_TASK: usize = 16;

/// A part of the work: sweeps of one kind.
struct Part {
    sweeps: usize,
    /// The share of the distance that boundary nodes move.
    share: f64,
    /// Nodes with an element below this, between the worst (0) and the mean quality (1), are optimised.
    bad: f64,
    /// The least quality that a move along the normal may leave, of what there was.
    kept: f64,
    /// ... or this quality, if that is less.
    floor: f64,
    trials: Trials,
}

/// Where boundary nodes are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trials {
    /// In the plane square to the normal: cheap, and leaves the surface a little.
    Tangential,
    /// On the surface.
    OnSurface,
}

/// Slowly to the surface, all the way, and the worst elements once more.
const PARTS: [Part; 3] = [
    Part { sweeps: 5, share: 1.0 / 3.0, bad: 0.4, kept: 0.2, floor: 0.25, trials: Trials::Tangential },
    Part { sweeps: 6, share: 1.0, bad: 0.5, kept: 0.2, floor: 0.25, trials: Trials::Tangential },
    Part { sweeps: 6, share: 1.0, bad: 0.3, kept: 0.95, floor: 0.3, trials: Trials::OnSurface },
];

/// Moves the boundary to the surface and improves elements.
pub fn optimise(piece: &mut Workpiece<'_>, observer: Observer<'_>) -> CompressReport {
    let mut report = CompressReport::default();
    let mut distances = vec![f64::INFINITY; piece.positions.len()];
    let mut qualities = piece.qualities();
    let mut inward = true;
    for part in &PARTS {
        for _ in 0..part.sweeps {
            let rule = Rule::of(part, &qualities);
            let optimised = sweep(piece, &rule, &qualities, &mut distances, inward, &mut report);
            inward = !inward;
            qualities = piece.qualities();
            let boundary = piece.boundary_nodes().map(|node| distances[node as usize].abs());
            let sweep = Sweep {
                share: optimised as f64 / piece.positions.len().max(1) as f64,
                worst_quality: qualities.iter().copied().fold(f64::INFINITY, f64::min),
                largest_distance: boundary.fold(0.0, f64::max),
            };
            report.sweeps.push(sweep);
            if observer(&sweep).is_break() {
                return report;
            }
        }
    }
    report
}

/// Improves inner nodes only, wherever the boundary is: for meshes that were deformed.
pub fn improve_interior(piece: &mut Workpiece<'_>, sweeps: usize) {
    let rings = std::mem::take(&mut piece.rings);
    for _ in 0..sweeps {
        for nodes in rings.iter().skip(1).flatten() {
            let better = |around: &mut Neighbourhood, &node: &u32| {
                piece.star(node, &mut around.faces);
                around.search(piece.positions[node as usize])
            };
            let found: Vec<Option<DVec3>> =
                nodes.par_iter().with_min_len(NODES_PER_TASK).map_init(Neighbourhood::default, better).collect();
            for (&node, position) in nodes.iter().zip(found) {
                piece.positions[node as usize] = position.unwrap_or(piece.positions[node as usize]);
            }
        }
    }
    piece.rings = rings;
}

/// What a sweep does with a node.
struct Rule<'a> {
    part: &'a Part,
    /// Nodes whose elements are all better than this are left.
    good: f64,
}

/// What happened to a node.
#[derive(Clone, Copy)]
struct Visit {
    position: DVec3,
    distance: f64,
    guarded: bool,
    optimised: bool,
}

impl<'a> Rule<'a> {
    fn of(part: &'a Part, qualities: &[f64]) -> Self {
        let worst = qualities.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = qualities.iter().sum::<f64>() / qualities.len().max(1) as f64;
        Self { part, good: worst + part.bad * (mean - worst) }
    }
}

/// Visits all nodes ring by ring; how many were optimised.
fn sweep(
    piece: &mut Workpiece<'_>,
    rule: &Rule<'_>,
    qualities: &[f64],
    distances: &mut [f64],
    inward: bool,
    report: &mut CompressReport,
) -> usize {
    let rings = std::mem::take(&mut piece.rings);
    let mut optimised = 0;
    for at in 0..rings.len() {
        let depth = if inward { at } else { rings.len() - 1 - at };
        for nodes in &rings[depth] {
            // Deep inside what was measured before the sweep will do to pass over good nodes.
            let is_good = |node: u32| {
                depth > 1 && piece.node_tets.at(node).iter().all(|&tet| qualities[tet as usize] >= rule.good)
            };
            let nodes: Vec<u32> = nodes.iter().copied().filter(|&node| !is_good(node)).collect();
            let visits: Vec<Visit> = nodes
                .par_iter()
                .with_min_len(NODES_PER_TASK)
                .map_init(Neighbourhood::default, |around, &node| {
                    visit(piece, rule, node, distances[node as usize], around)
                })
                .collect();
            for (&node, visit) in nodes.iter().zip(&visits) {
                piece.positions[node as usize] = visit.position;
                distances[node as usize] = visit.distance;
                optimised += usize::from(visit.optimised);
                report.guarded_moves += usize::from(visit.guarded);
            }
        }
    }
    piece.rings = rings;
    optimised
}

fn visit(piece: &Workpiece<'_>, rule: &Rule<'_>, node: u32, bound: f64, around: &mut Neighbourhood) -> Visit {
    let start = piece.positions[node as usize];
    let mut visit = Visit { position: start, distance: bound, guarded: false, optimised: false };
    piece.star(node, &mut around.faces);
    piece.fan(node, &mut around.sides);
    let is_boundary = piece.is_boundary(node);
    if is_boundary {
        approach(piece, rule, around, &mut visit);
    }
    if around.tets_quality(visit.position) >= rule.good {
        return visit;
    }
    visit.optimised = true;
    let at = visit.position;
    let better = match rule.part.trials {
        Trials::OnSurface if is_boundary => mean_normal(at, &around.sides).and_then(|normal| {
            let distance = visit.distance.abs();
            around.search_through(at, |trial, step| {
                let bound = distance + trial.distance(at) + step;
                trial - piece.field.value_within(trial, bound) * normal
            })
        }),
        _ => around.search(at),
    };
    if let Some(better) = better {
        visit.position = better;
        visit.distance = visit.distance.abs() + better.distance(at);
        if is_boundary && rule.part.trials == Trials::OnSurface {
            visit.distance = piece.field.value_within(better, visit.distance);
        }
    }
    visit
}

/// Moves a boundary node toward the surface, as far as its elements allow. The distance is then a bound from above.
fn approach(piece: &Workpiece<'_>, rule: &Rule<'_>, around: &Neighbourhood, visit: &mut Visit) {
    let start = visit.position;
    let distance = if visit.distance.is_finite() {
        piece.field.value_within(start, visit.distance.abs())
    } else {
        piece.field.value(start)
    };
    visit.distance = distance;
    let Some(normal) = mean_normal(start, &around.sides) else { return };
    let before = around.tets_quality(start);
    let least = (rule.part.kept * before).max(before.min(rule.part.floor));
    let mut step = -rule.part.share * distance;
    for _ in 0..HALVINGS {
        let trial = start + step * normal;
        if around.is_positive(trial) && around.tets_quality(trial) >= least {
            visit.position = trial;
            visit.distance = distance.abs() + step.abs();
            return;
        }
        visit.guarded = true;
        step *= 0.5;
    }
}
