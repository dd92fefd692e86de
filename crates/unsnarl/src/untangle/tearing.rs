//! Mesh tearing: a fold that bites into itself from the boundary is let go and unfolds.
//!
//! The triangles under the trace from boundary to loop vertex are left out of contact, so that the two wings are free, and
//! hinges around the loop vertex are stiffened, as many rings as the tear is deep, so that the fold slides out. The strip
//! keeps its elastic forces. It is found anew every step: a triangle that no longer lies under a BLI is back at once.
//! (Cha 2022, 5.3)

use crate::analysis::{ContourEnd, ContourKind, Tangle};
use crate::model::Model;
use unsnarl_geometry::{TriangleId, VertexId};

/// What tearing asks for in one step.
#[derive(Clone, Debug, Default)]
pub struct Tear {
    /// Triangles to leave out of contact, sorted.
    pub omitted: Vec<TriangleId>,
    /// Hinges to stiffen, sorted.
    pub stiffened_hinges: Vec<usize>,
    /// The loop vertex of each torn contour and the hinges around it.
    pub folds: Vec<(VertexId, Vec<usize>)>,
    /// How many contours are torn.
    pub contours: usize,
}

/// The strips of all BLI contours on cloth. Triangles beyond the model belong to bodies and are never torn.
pub fn tear(model: &Model, tangle: &Tangle) -> Tear {
    let mut tear = Tear::default();
    for tangled in tangle.contours.iter().filter(|tangled| tangled.kind == ContourKind::Bli) {
        let contour = &tangled.contour;
        let (trace, loop_vertex) = match contour.ends {
            Some([ContourEnd::Boundary(trace), ContourEnd::Loop(vertex)])
            | Some([ContourEnd::Loop(vertex), ContourEnd::Boundary(trace)]) => (trace, vertex),
            _ => continue,
        };
        let mut strip: Vec<TriangleId> = contour.segments.iter().map(|pair| pair[trace.index()]).collect();
        strip.sort_unstable();
        strip.dedup();
        tear.contours += 1;
        let hinges = hinges_around(model, loop_vertex, strip.len().clamp(1, MOST_RINGS));
        tear.stiffened_hinges.extend(&hinges);
        tear.folds.push((loop_vertex, hinges));
        tear.omitted.extend(strip.into_iter().filter(|triangle| triangle.index() < model.topology.triangle_count()));
    }
    tear.omitted.sort_unstable();
    tear.omitted.dedup();
    tear.stiffened_hinges.sort_unstable();
    tear.stiffened_hinges.dedup();
    tear
}

/// Rings stiffened at most.
const MOST_RINGS: usize = 6;

fn hinges_around(model: &Model, center: VertexId, rings: usize) -> Vec<usize> {
    let topology = &model.topology;
    if center.index() >= topology.vertex_count() {
        return Vec::new();
    }
    let mut reached = vec![center];
    let mut front = vec![center];
    for _ in 0..rings {
        let mut next: Vec<VertexId> = front.iter().flat_map(|&vertex| topology.ring(vertex)).collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|vertex| !reached.contains(vertex));
        reached.extend(&next);
        front = next;
    }
    reached.iter().flat_map(|&vertex| topology.vertex_edges(vertex)).filter_map(|&edge| model.hinge_at(edge)).collect()
}
