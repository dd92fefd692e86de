//! What the two physical compressions share: a damped relaxation whose boundary is pushed to the surface.
//!
//! Every step adds up the forces of the elements, divides by the stiffness at each node (mass scaled to one step
//! length), and keeps a part of the last step. Boundary nodes follow the forces in tangential directions only and get
//! a share of `-phi` along the normal of the mesh. (Bridson 2003, 5.5) [`super::polish`] ends the work.
//!
//! Guarantees: steps that would take an element beyond limits are halved at its nodes until none does; the same bits on
//! any number of threads, since every node adds up its own elements in order.

use super::polish::polish;
use super::{CompressReport, Observer, Sweep, Workpiece, mean_normal};
use crate::tet_mesh::quality::{Limits, shape_of};
use rayon::prelude::*;
use unsnarl_geometry::DVec3;

/// Steps in which the boundary comes closer by a small share of its distance.
const SLOW_STEPS: usize = 160;
/// Steps in which it goes all the way, for the fit.
const FULL_STEPS: usize = 20;
/// The small share.
const SLOW_SHARE: f64 = 0.05;
/// The part of a step that is kept for the next.
const MOMENTUM: f64 = 0.8;
/// The part of a Jacobi step that is taken.
const RELAXATION: f64 = 0.3;
/// Steps between two reports.
const STEPS_PER_REPORT: usize = 20;
/// The aspect ratio and dihedral angles, degrees, that no step takes an element beyond.
const LIMITS: (f64, [f64; 2]) = (6.3, [17.3, 146.7]);
/// Rounds of halving after which the rest is put back.
const HALVINGS: usize = 8;

/// Forces of an element on its corners, and the stiffness that each corner feels.
pub struct Pull {
    /// On each corner.
    pub forces: [DVec3; 4],
    /// At each corner, positive.
    pub stiffness: [f64; 4],
}

/// A law of forces: the element's number and where its corners are.
pub trait Law: Sync {
    /// The forces of one element.
    fn pull(&self, tet: usize, corners: [DVec3; 4]) -> Pull;
}

/// Runs a law to rest while the boundary goes to the surface.
pub fn relax(piece: &mut Workpiece<'_>, law: &dyn Law, observer: Observer<'_>) -> CompressReport {
    let mut report = CompressReport::default();
    let mut last = vec![DVec3::ZERO; piece.positions.len()];
    for step in 0..SLOW_STEPS + FULL_STEPS {
        let share = if step < SLOW_STEPS { SLOW_SHARE } else { 1.0 };
        let moves = proposed_moves(piece, law, &last, share);
        last = guarded(piece, moves, &mut report);
        for (position, step) in piece.positions.iter_mut().zip(&last) {
            *position += *step;
        }
        if (step + 1) % STEPS_PER_REPORT == 0 {
            let worst_quality = piece.worst_quality();
            let sweep = Sweep { share: 1.0, worst_quality, largest_distance: piece.largest_distance() };
            report.sweeps.push(sweep);
            if observer(&sweep).is_break() {
                return report;
            }
        }
    }
    let mut distances: Vec<f64> = vec![f64::INFINITY; piece.positions.len()];
    polish(piece, &mut distances, observer, &mut report);
    report
}

/// Forces over stiffness plus momentum; on the boundary tangential, with the approach to the surface on top.
fn proposed_moves(piece: &Workpiece<'_>, law: &dyn Law, last: &[DVec3], share: f64) -> Vec<DVec3> {
    let at = |tet: usize| piece.tets[tet].map(|node| piece.positions[node as usize]);
    let pulls: Vec<Pull> =
        (0..piece.tets.len()).into_par_iter().with_min_len(256).map(|tet| law.pull(tet, at(tet))).collect();
    let step = |sides: &mut Vec<[DVec3; 2]>, node: u32| {
        let (mut force, mut stiffness) = (DVec3::ZERO, 0.0);
        for &tet in piece.node_tets.at(node) {
            let corner = piece.tets[tet as usize].iter().position(|&other| other == node).unwrap_or(0);
            force += pulls[tet as usize].forces[corner];
            stiffness += pulls[tet as usize].stiffness[corner];
        }
        let free = if stiffness > 0.0 { RELAXATION * force / stiffness } else { DVec3::ZERO };
        let free = free + MOMENTUM * last[node as usize];
        if !piece.is_boundary(node) {
            return free;
        }
        piece.fan(node, sides);
        let point = piece.positions[node as usize];
        match mean_normal(point, sides) {
            Some(normal) => free - free.dot(normal) * normal - share * piece.field.value(point) * normal,
            None => DVec3::ZERO,
        }
    };
    (0..piece.positions.len() as u32).into_par_iter().with_min_len(64).map_init(Vec::new, step).collect()
}

/// Halves the moves at elements that would turn bad; puts back what does not help.
fn guarded(piece: &Workpiece<'_>, mut moves: Vec<DVec3>, report: &mut CompressReport) -> Vec<DVec3> {
    let limits = Limits::new(LIMITS.0, LIMITS.1);
    let at = |tet: u32| piece.tets[tet as usize].map(|node| piece.positions[node as usize]);
    let mut looked_at: Vec<u32> = (0..piece.tets.len() as u32).collect();
    for round in 0..=4 * HALVINGS {
        let is_bad = |tet: u32| {
            let nodes = piece.tets[tet as usize];
            let corners = nodes.map(|node| piece.positions[node as usize] + moves[node as usize]);
            let grade = shape_of(corners).grade(&limits);
            grade < 1.0 && (grade <= 0.0 || grade < shape_of(at(tet)).grade(&limits))
        };
        let bad: Vec<u32> = looked_at.into_par_iter().with_min_len(512).filter(|&tet| is_bad(tet)).collect();
        if bad.is_empty() {
            return moves;
        }
        report.guarded_moves += bad.len();
        let factor = if round < HALVINGS { 0.5 } else { 0.0 };
        let mut nodes: Vec<u32> = bad.iter().flat_map(|&tet| piece.tets[tet as usize]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for &node in &nodes {
            moves[node as usize] *= factor;
        }
        // Only elements at these nodes have changed.
        looked_at = nodes.iter().flat_map(|&node| piece.node_tets.at(node)).copied().collect();
        looked_at.sort_unstable();
        looked_at.dedup();
    }
    vec![DVec3::ZERO; moves.len()]
}

/// The forces of springs along the four altitudes: `weight(ratio)` times the outward direction, by the ratio of
/// length to rest length; positive pushes the corner away from its face.
pub fn altitude_forces(corners: [DVec3; 4], rest: [f64; 4], weight: impl Fn(f64) -> f64, forces: &mut [DVec3; 4]) {
    for (corner, face) in crate::tet_mesh::OUTWARD_FACES.into_iter().enumerate() {
        let [a, b, c] = face.map(|at| corners[at]);
        let normal = (b - a).cross(c - a);
        let squared = normal.length_squared();
        if squared <= 0.0 {
            continue;
        }
        let length = squared.sqrt();
        let direction = -normal / length;
        let height = (corners[corner] - a).dot(direction);
        let push = weight(height / rest[corner]);
        if push == 0.0 {
            continue;
        }
        // Barycentric coordinates of the foot, so that the spring turns nothing.
        let foot = corners[corner] - height * direction;
        let share = |p: DVec3, q: DVec3| (p - foot).cross(q - foot).dot(normal) / squared;
        let weights = [share(b, c), share(c, a), share(a, b)];
        forces[corner] += push * direction;
        for (at, weight) in face.into_iter().zip(weights) {
            forces[at] -= push * weight * direction;
        }
    }
}

/// The four altitudes.
pub fn altitudes(corners: [DVec3; 4]) -> [f64; 4] {
    let volume = crate::tet_mesh::quality::sixfold_volume(corners);
    crate::tet_mesh::quality::outward_normals(corners).map(|normal| volume / normal.length())
}
