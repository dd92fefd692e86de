//! Regional flip and crease flip: a fold that bites into itself stays folded, its flap all on one side.
//!
//! A BLI runs from the border of a flap to a loop vertex on the fold. The bent cloth around the loop vertex is the fold; what
//! it divides from the contour's boundary end is the flap, what it divides from the inner end is the ground. Flap vertices on
//! the wrong side of the ground are moved through it, the hinges of the fold that were bent the wrong way take the opposite
//! rest angle, and dynamics with contact does the rest. (Cha 2022, 5.4 and 5.4.1)
//!
//! Guarantees: nothing is moved where the fold does not divide flap from ground, or where no style asks for it.
//! Departs: the flap is found from the fold and turned as a whole, where the source connects the loop vertices and the inner
//! ends of two coupled contours and moves the region between them step by step. One contour is enough, and so flaps that
//! cross several times are turned at once.

use super::ordering::{Ordering, Overlap, Piece};
use super::style::FoldStyle;
use crate::analysis::{Contour, ContourEnd, ContourKind, Tangle};
use crate::dynamics::hinge;
use crate::model::Model;
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Hinges bent more than this belong to a fold, radians.
const BENT: f64 = 0.5;
/// What is tried, radians, until the fold divides the flap from the ground: on a coarse mesh the bend is as wide as the flap.
const MORE_BENT: [f64; 4] = [BENT, 1.0, 1.5, 2.0];

/// A fold with its flap and what the flap lies on.
struct Fold {
    flap: Vec<TriangleId>,
    ground: Vec<TriangleId>,
    /// The hinges of the bent cloth between them.
    hinges: Vec<usize>,
    /// 1 if the flap belongs on the front of the ground, -1 for the back.
    side: f64,
    style: FoldStyle,
}

/// What flipping did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlipReport {
    /// Rounds of pushing.
    pub rounds: usize,
    /// Folds turned to the front or the back.
    pub regional: usize,
    /// Folds turned as their crease says.
    pub crease: usize,
    /// Hinges that were bent the wrong way and their new rest angles, radians.
    pub rest_angles: Vec<(usize, f64)>,
}

/// The style of a contour whose loop vertex is given.
pub fn style_at(styles: &[Option<FoldStyle>], loop_vertex: VertexId) -> FoldStyle {
    styles.get(loop_vertex.index()).copied().flatten().unwrap_or(FoldStyle::Unfold)
}

/// Turns every fold that is to stay folded and bites into itself.
pub fn flip(
    model: &Model,
    rest_angles: &[f64],
    ordering: &Ordering,
    (styles, tangle): (&[Option<FoldStyle>], &Tangle),
    positions: &mut [DVec3],
) -> FlipReport {
    let mut report = FlipReport::default();
    let mut pieces = Vec::new();
    let mut overlaps = Vec::new();
    for fold in folds(model, rest_angles, (styles, tangle), positions) {
        let (Some(flap), Some(ground)) = (
            Piece::new(ordering.topology, positions, fold.flap),
            Piece::new(ordering.topology, positions, fold.ground),
        ) else {
            continue;
        };
        let looks = ordering.looks(&flap, &ground, positions).into_iter();
        let sides: FxHashMap<VertexId, f64> =
            looks.filter(|(_, look)| look.height().is_some()).map(|(vertex, _)| (vertex, fold.side)).collect();
        if sides.is_empty() {
            continue;
        }
        match fold.style {
            FoldStyle::Crease => report.crease += 1,
            _ => report.regional += 1,
        }
        let is_wrong = |hinge: &&usize| rest_angles[**hinge] * fold.side > 0.0;
        report.rest_angles.extend(fold.hinges.iter().filter(is_wrong).map(|&hinge| (hinge, -rest_angles[hinge])));
        overlaps.push(Overlap { above: pieces.len(), below: pieces.len() + 1, sides });
        pieces.extend([flap, ground]);
    }
    report.rounds = ordering.apply(&mut pieces, &overlaps, positions);
    report
}

/// The folds of all BLI contours that are to stay folded, each once.
fn folds(
    model: &Model,
    rest_angles: &[f64],
    (styles, tangle): (&[Option<FoldStyle>], &Tangle),
    positions: &[DVec3],
) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    for tangled in tangle.contours.iter().filter(|tangled| tangled.kind == ContourKind::Bli) {
        let is_cloth = |vertex: &VertexId| vertex.index() < model.topology.vertex_count();
        let Some(loop_vertex) = tangled.contour.loop_vertices().find(is_cloth) else { continue };
        let style = style_at(styles, loop_vertex);
        if style == FoldStyle::Unfold {
            continue;
        }
        if let Some(fold) = fold_at(model, rest_angles, style, &tangled.contour, positions)
            && !folds.iter().any(|other| other.flap == fold.flap)
        {
            folds.push(fold);
        }
    }
    folds
}

/// The fold of one contour; `None` where bent cloth does not divide the flap from the ground.
fn fold_at(
    model: &Model,
    rest_angles: &[f64],
    style: FoldStyle,
    contour: &Contour,
    positions: &[DVec3],
) -> Option<Fold> {
    let topology = &model.topology;
    let (boundary, trace, loop_vertex) = match contour.ends? {
        [ContourEnd::Boundary(trace), ContourEnd::Loop(vertex)] => (contour.segments.first()?, trace, vertex),
        [ContourEnd::Loop(vertex), ContourEnd::Boundary(trace)] => (contour.segments.last()?, trace, vertex),
        _ => return None,
    };
    let is_cloth = |triangle: &TriangleId| triangle.index() < topology.triangle_count();
    if !boundary.iter().all(is_cloth) {
        return None;
    }
    let (bent, flap, ground) = MORE_BENT.into_iter().find_map(|least| {
        let bent = bent_triangles(model, loop_vertex, least, positions);
        let [flap, ground] = [trace, trace.other()].map(|of| flood(model, boundary[of.index()], &bent));
        (!flap.is_empty() && !ground.is_empty() && flap != ground).then_some((bent, flap, ground))
    })?;
    let hinges = hinges_of(model, &bent);
    let side = match style {
        FoldStyle::FoldIn => -1.0,
        FoldStyle::Crease => {
            let bend: f64 = hinges.iter().map(|&hinge| rest_angles[hinge]).filter(|angle| angle.abs() > BENT).sum();
            -bend.signum()
        }
        _ => 1.0,
    };
    Some(Fold { flap, ground, hinges, side, style })
}

/// The hinges of all bent cloth that hangs together with a vertex: the fold from end to end.
pub fn whole_fold(model: &Model, start: VertexId, positions: &[DVec3]) -> Vec<usize> {
    hinges_of(model, &bent_triangles(model, start, BENT, positions))
}

fn hinges_of(model: &Model, triangles: &FxHashSet<TriangleId>) -> Vec<usize> {
    let edges = triangles.iter().flat_map(|&triangle| model.topology.triangle_edges(triangle));
    let mut hinges: Vec<usize> = edges.filter_map(|edge| model.hinge_at(edge)).collect();
    hinges.sort_unstable();
    hinges.dedup();
    hinges
}

/// Triangles at hinges bent by more than `least` radians that hang together with a vertex.
fn bent_triangles(model: &Model, start: VertexId, least: f64, positions: &[DVec3]) -> FxHashSet<TriangleId> {
    let topology = &model.topology;
    let is_bent = |triangle: TriangleId| {
        topology.triangle_edges(triangle).into_iter().filter_map(|edge| model.hinge_at(edge)).any(|hinge| {
            let points = model.hinges[hinge].vertices.map(|vertex| positions[vertex.index()]);
            hinge::angle(points).is_none_or(|angle| angle.abs() > least)
        })
    };
    let mut reached = FxHashSet::default();
    let mut front = vec![start];
    let mut seen = FxHashSet::from_iter([start]);
    while let Some(vertex) = front.pop() {
        for &triangle in topology.vertex_triangles(vertex) {
            if is_bent(triangle) && reached.insert(triangle) {
                front.extend(topology.triangle(triangle).into_iter().filter(|&corner| seen.insert(corner)));
            }
        }
    }
    reached
}

/// Triangles that hang together with one over edges, without bent ones; sorted.
fn flood(model: &Model, start: TriangleId, bent: &FxHashSet<TriangleId>) -> Vec<TriangleId> {
    let topology = &model.topology;
    let mut reached = FxHashSet::default();
    let mut front: Vec<TriangleId> = [start].into_iter().filter(|triangle| !bent.contains(triangle)).collect();
    reached.extend(front.iter().copied());
    while let Some(triangle) = front.pop() {
        for edge in topology.triangle_edges(triangle) {
            for &other in topology.edge_triangles(edge) {
                if !bent.contains(&other) && reached.insert(other) {
                    front.push(other);
                }
            }
        }
    }
    let mut triangles: Vec<TriangleId> = reached.into_iter().collect();
    triangles.sort_unstable();
    triangles
}
