//! Fans of triangles around a vertex that surely do not meet beyond the edges they share.
//!
//! Nearly all pairs of triangles whose boxes overlap are neighbours in one smooth sheet. If some coordinate plane sees
//! all triangles around a vertex from one side, and sees them turn about the vertex less than once (or once, where they
//! close), then the fan is a graph over that plane, and none of its pairs needs a look.
//!
//! Turns are counted where triangles pass the line through the vertex along an axis. A triangle passes such a line at
//! just one of its corners, the one between the other two in height, so one walk over all triangles counts for all
//! vertices. Of equal heights the one with the smaller vertex index is lower: that is a symbolic perturbation, which
//! turns no triangle of a strict graph.
//!
//! Guarantees: a proof holds for the coordinates as stored, and strictly: the symbolically perturbed fan is a graph too.
//! Dropping a coordinate is exact, and the side from which a triangle is seen is the sign of a float determinant above
//! its error bound.
//! Does not: prove sharp folds, or fans whose triangles disagree about their orientation. Nothing is said of those.

use super::separation::Reach;
use crate::ids::VertexId;
use crate::math::DVec3;
use crate::topology::Topology;
use fearless_simd::{Level, dispatch, f64x4, prelude::*};

/// Vertices with more triangles than this would overflow their counts.
const MOST_TRIANGLES: usize = 255;

/// What the triangles around a vertex have in common.
#[derive(Clone, Copy)]
struct Fan {
    /// From where all are surely seen to turn counter-clockwise, as [`views`] tells.
    views: u8,
    /// How many pass the two halves of a line through the vertex: eight bits for each half and each height axis.
    passes: u64,
}

/// The vertices whose fans are not proved, in index order; nothing is asked of those that are settled (none, if the list
/// is empty).
pub(super) fn unproved_fans(
    topology: &Topology,
    positions: &[DVec3],
    reach: Reach,
    is_settled: &[bool],
) -> Vec<VertexId> {
    let mut fans = vec![Fan { views: u8::MAX, passes: 0 }; topology.vertex_count()];
    let is_settled = |vertex: VertexId| is_settled.get(vertex.index()).copied().unwrap_or(false);
    let unsettled = topology.triangles().iter().filter(|corners| !corners.iter().all(|&corner| is_settled(corner)));
    dispatch!(Level::new(), simd => survey(simd, unsettled, positions, reach, &mut fans));
    let vertices = (0..topology.vertex_count()).map(VertexId::new).filter(|&vertex| !is_settled(vertex));
    vertices.filter(|&vertex| !fans[vertex.index()].is_graph(topology, vertex)).collect()
}

#[inline(always)]
fn survey<'a, S: Simd>(
    simd: S,
    triangles: impl Iterator<Item = &'a [VertexId; 3]>,
    positions: &[DVec3],
    reach: Reach,
    fans: &mut [Fan],
) {
    for &corners in triangles {
        let points = corners.map(|corner| positions[corner.index()]);
        let views = views(points, reach);
        for corner in corners {
            fans[corner.index()].views &= views;
        }
        let [a, b, c] = points.map(|point| f64x4::from_slice(simd, &[point.x, point.y, point.z, 0.0]));
        let below = |low: f64x4<S>, high: f64x4<S>, tie: bool| {
            let ties = if tie { low.simd_eq(high).to_bitmask() } else { 0 };
            (low.simd_lt(high).to_bitmask() | ties) as usize
        };
        let a_below_b = below(a, b, corners[0] < corners[1]);
        let b_below_c = below(b, c, corners[1] < corners[2]);
        let c_below_a = below(c, a, corners[2] < corners[0]);
        for height_axis in 0..3 {
            let bit = |mask: usize| mask >> height_axis & 1;
            let order = bit(a_below_b) | bit(b_below_c) << 1 | bit(c_below_a) << 2;
            let (middle, half) = MIDDLES[order];
            fans[corners[middle].index()].passes += 1 << (8 * (2 * height_axis + half));
        }
    }
}

/// For the bits "a below b", "b below c", "c below a": the corner between the others, and which half of the line through
/// it the triangle passes. They are never all equal.
const MIDDLES: [(usize, usize); 8] = [(0, 0), (2, 0), (0, 0), (1, 1), (1, 0), (0, 1), (2, 1), (0, 0)];

/// From where a triangle is surely seen to turn counter-clockwise: bit `2 k` for the positive end of axis `k`, bit
/// `2 k + 1` for its negative end.
#[inline(always)]
pub(super) fn views([a, b, c]: [DVec3; 3], reach: Reach) -> u8 {
    let normal = (b - a).cross(c - a);
    let seen = |height: f64| u8::from(height > reach.planar_error()) | u8::from(height < -reach.planar_error()) << 1;
    seen(normal.x) | seen(normal.y) << 2 | seen(normal.z) << 4
}

impl Fan {
    /// A closed fan passes each half of a line as often as it turns. So one pass without an open fan is one closed fan
    /// that turns once; a half that nothing passes, with one open fan, is that fan alone, and it turns by less than once.
    fn is_graph(self, topology: &Topology, vertex: VertexId) -> bool {
        let triangle_count = topology.vertex_triangles(vertex).len();
        if triangle_count < 2 {
            return true;
        }
        if self.views == 0 || triangle_count > MOST_TRIANGLES {
            return false;
        }
        let view_axis = self.views.trailing_zeros() / 2;
        let height_axis = (view_axis + 2) % 3;
        let passes = [0, 1].map(|half| self.passes >> (8 * (2 * height_axis + half)) & 0xff);
        match topology.open_fans(vertex) {
            Some(0) => passes[0] == 1,
            Some(1) => passes.contains(&0),
            _ => false,
        }
    }
}
