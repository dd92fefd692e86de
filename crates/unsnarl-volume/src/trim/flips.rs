//! Edge swaps: two flat triangles that share an edge get the other diagonal where that is better.
//!
//! Guarantees: every swap raises the worse quality of the two; none makes an edge that was there, an edge between two
//! border nodes, or touches a pair that bends by more than 20 degrees, so that the surface stays what it was.

use unsnarl_geometry::{DVec3, EdgeId, Topology, VertexId};

/// Pairs better than this are left alone: an angle of about 115 degrees.
const GOOD_ENOUGH: f64 = 0.85;
/// Triangles worse than this, with an angle of about 150 degrees, have no normal worth the name.
const SLIVER: f64 = 0.5;
/// The cosine of the largest bend of a pair: 20 degrees.
const FLAT_COSINE: f64 = 0.939_692_620_785_908_4;
/// What a swap must gain.
const GAIN: f64 = 0.02;

/// What a swap asks of the mesh.
pub(super) trait Shapes {
    /// Whether a node may move, and edges at it be swapped.
    fn is_movable(&self, node: VertexId) -> bool;
    /// The quality of a triangle that these nodes would make.
    fn quality(&self, corners: [VertexId; 3]) -> f64;
    /// Its unit normal.
    fn normal(&self, corners: [VertexId; 3]) -> DVec3;
}

/// Whether a pair with a sliver, whose normal says little, becomes a flat one that faces where the other triangle did.
fn replaces_sliver(shapes: &impl Shapes, before: [[VertexId; 3]; 2], after: [[VertexId; 3]; 2]) -> bool {
    let better = if shapes.quality(before[0]) > shapes.quality(before[1]) { before[0] } else { before[1] };
    let normal = shapes.normal(better);
    after.iter().all(|corners| shapes.normal(*corners).dot(normal) > FLAT_COSINE)
}

/// The triangles after all swaps that pay, no triangle swapped twice; and how many there were.
pub(super) fn better(topology: &Topology, shapes: &impl Shapes) -> (Vec<[u32; 3]>, usize) {
    let judge = |corners: [[VertexId; 3]; 2]| {
        corners.into_iter().map(|corners| shapes.quality(corners)).fold(f64::INFINITY, f64::min)
    };
    let mut triangles: Vec<[u32; 3]> =
        topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect();
    let mut is_done = vec![false; triangles.len()];
    let mut made: Vec<[VertexId; 2]> = Vec::new();
    let mut flipped = 0;
    for edge in (0..topology.edge_count()).map(EdgeId::new) {
        let &[first, second] = topology.edge_triangles(edge) else { continue };
        if is_done[first.index()]
            || is_done[second.index()]
            || !topology.edge(edge).iter().any(|&end| shapes.is_movable(end))
        {
            continue;
        }
        let before = [first, second].map(|triangle| topology.triangle(triangle));
        let worst = judge(before);
        let is_flat = shapes.normal(before[0]).dot(shapes.normal(before[1])) > FLAT_COSINE;
        if worst >= GOOD_ENOUGH || !(is_flat || worst < SLIVER) {
            continue;
        }
        let [apex, other] = [first, second].map(|triangle| topology.opposite_vertex(triangle, edge));
        let exists = topology.find_edge(apex, other).is_some() || made.contains(&[apex.min(other), apex.max(other)]);
        let is_chord = topology.is_boundary_vertex(apex) && topology.is_boundary_vertex(other);
        if apex == other || exists || is_chord {
            continue;
        }
        // The first triangle runs from, to, apex; the second must run along the edge the other way.
        let Some(at) = before[0].iter().position(|&corner| corner == apex) else { continue };
        let (from, to) = (before[0][(at + 1) % 3], before[0][(at + 2) % 3]);
        let Some(at) = before[1].iter().position(|&corner| corner == other) else { continue };
        if before[1][(at + 1) % 3] != to {
            continue;
        }
        let after = [[apex, from, other], [apex, other, to]];
        if judge(after) > worst + GAIN && (is_flat || replaces_sliver(shapes, before, after)) {
            for (triangle, corners) in [first, second].into_iter().zip(after) {
                triangles[triangle.index()] = corners.map(|corner| corner.0);
                is_done[triangle.index()] = true;
            }
            made.push([apex.min(other), apex.max(other)]);
            flipped += 1;
        }
    }
    (triangles, flipped)
}
