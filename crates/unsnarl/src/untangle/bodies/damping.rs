//! Calming: cloth beside a pinch is not faster than the body next to it, or only a little.
//!
//! Pinched vertices are held exactly; their neighbours are free, strained by limbs that have passed through each other, and pressed
//! together. There dynamics proposes moves of a third of an edge in a single step, contact throws most of them back, and what is
//! left of both snaps to and fro although no body moves. In a fold cloth rubs on all sides and does nothing of the kind. So what is
//! proposed for three rings around a pinch, and for cloth that lies beside them, is limited: relative to the nearest place of a body, a
//! vertex is no faster than that place, and a little. The limit doubles with every ring beyond, so that calm cloth passes into free
//! cloth.
//!
//! Guarantees: nothing pinched, nothing changed; strained cloth goes where it would, but slowly; no history, and no jump of positions
//! where a pinch begins or ends.
//! Does not: limit what contact makes of the proposal; nor touch cloth far from all bodies.
//! Departs: Baraff, Witkin and Kass 2003 leave the surroundings of pinched particles to their solver.

use crate::untangle::bodies::flypaper::carried_by;
use crate::untangle::nearest::NearestTriangle;
use unsnarl_geometry::bvh::Bvh;
use unsnarl_geometry::intersection::triangle_box;
use unsnarl_geometry::{Aabb, DVec3, Topology, TriangleId, VertexId};

/// Rings around pinched vertices that are as calm as can be.
const CALM_RINGS: usize = 3;
/// Rings around all that is calm in which the limit grows.
const PASSING_RINGS: i32 = 3;
/// Cloth farther than this from all bodies, metres, is not calmed.
const REACH: f64 = 0.1;

/// The cloth and the bodies of a step.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Connectivity of the cloth.
    pub topology: &'a Topology,
    /// Where the cloth is at the start.
    pub positions: &'a [DVec3],
    /// The size of the mesh at each vertex, metres.
    pub sizes: &'a [f64],
    /// Connectivity of the bodies.
    pub bodies: &'a Topology,
    /// The bodies at both ends of the step.
    pub surfaces: [&'a [DVec3]; 2],
    /// Length of the step, seconds.
    pub step: f64,
}

/// How far vertices may go in a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calm {
    limits: Vec<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    vertex: VertexId,
    /// Where the body next to it would carry it.
    carried_to: DVec3,
    /// How far from there it may end, metres.
    reach: f64,
}

impl Calm {
    /// The limits around pinched vertices; `speed` is what a vertex may have relative to a body that stands still, m/s.
    pub fn around(pinched: &[VertexId], around: &Surroundings, speed: f64) -> Self {
        let rings = rings(around, pinched);
        if rings.is_empty() {
            return Self::default();
        }
        let Surroundings { positions, bodies, surfaces, step, .. } = *around;
        let reached = Aabb::of_points(rings.iter().map(|&(vertex, _)| positions[vertex.index()])).inflated(REACH);
        let is_near = |triangle: &TriangleId| triangle_box(bodies, surfaces[0], triangle.index()).overlaps(&reached);
        let near: Vec<TriangleId> = (0..bodies.triangle_count()).map(TriangleId::new).filter(is_near).collect();
        let Some(nearest) = NearestTriangle::among(bodies, surfaces[0], &near) else { return Self::default() };
        let limit = |(vertex, ring): (VertexId, i32)| {
            let point = positions[vertex.index()];
            let found = nearest.to(point, REACH).filter(|found| found.offset.length() <= REACH)?;
            let carried = carried_by(bodies, surfaces, found.triangle, point);
            let reach = (speed * step + carried.length()) * 2.0_f64.powi(ring);
            Some(Limit { vertex, carried_to: point + carried, reach })
        };
        Self { limits: rings.into_iter().filter_map(limit).collect() }
    }

    /// Limits what is proposed: positions at the end of the step, and velocities.
    pub fn limit(&self, start: &[DVec3], step: f64, positions: &mut [DVec3], velocities: &mut [DVec3]) {
        for &Limit { vertex, carried_to, reach } in &self.limits {
            let at = vertex.index();
            let farther = positions[at] - carried_to;
            if farther.length() > reach {
                positions[at] = carried_to + farther * (reach / farther.length());
                velocities[at] = (positions[at] - start[at]) / step;
            }
        }
    }
}

/// The vertices around pinched ones, each with the number of rings to what is calm: 0 for three rings and for cloth beside them.
fn rings(around: &Surroundings, pinched: &[VertexId]) -> Vec<(VertexId, i32)> {
    if pinched.is_empty() {
        return Vec::new();
    }
    let topology = around.topology;
    let mut is_seen = vec![false; topology.vertex_count()];
    pinched.iter().for_each(|vertex| is_seen[vertex.index()] = true);
    let mut calm: Vec<VertexId> = Vec::new();
    let mut last = pinched.to_vec();
    for _ in 0..CALM_RINGS {
        last = next_ring(topology, &last, &mut is_seen);
        calm.extend(&last);
    }
    let layers = beside(around, &[pinched, &calm].concat(), &mut is_seen);
    calm.extend(layers);
    let mut found: Vec<(VertexId, i32)> = calm.iter().map(|&vertex| (vertex, 0)).collect();
    let mut last = calm;
    for ring in 1..=PASSING_RINGS {
        last = next_ring(topology, &last, &mut is_seen);
        found.extend(last.iter().map(|&vertex| (vertex, ring)));
    }
    found
}

/// The neighbours of some vertices that have not been seen.
fn next_ring(topology: &Topology, last: &[VertexId], is_seen: &mut [bool]) -> Vec<VertexId> {
    let mut next: Vec<VertexId> = Vec::new();
    for &vertex in last {
        for &edge in topology.vertex_edges(vertex) {
            let other = topology.other_end(edge, vertex);
            if !std::mem::replace(&mut is_seen[other.index()], true) {
                next.push(other);
            }
        }
    }
    next
}

/// The vertices within an edge's length of some others that have not been seen: other layers that would push them.
fn beside(around: &Surroundings, calm: &[VertexId], is_seen: &mut [bool]) -> Vec<VertexId> {
    let Surroundings { positions, sizes, .. } = *around;
    let (place, size) = (|at: usize| positions[calm[at].index()], |at: usize| sizes[calm[at].index()]);
    let tree = Bvh::build_from(calm.len(), |at| Aabb::of_points([place(at)]).inflated(size(at)));
    let bounds = tree.bounds();
    let mut found = Vec::new();
    for vertex in 0..positions.len() {
        let point = positions[vertex];
        if is_seen[vertex] || !bounds.contains(point) {
            continue;
        }
        let mut is_beside = false;
        tree.query(&Aabb::of_points([point]), |at| is_beside |= place(at).distance(point) <= size(at));
        if is_beside {
            is_seen[vertex] = true;
            found.push(VertexId::new(vertex));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_geometry::TriMesh;

    const STEP: f64 = 0.01;
    const SIZE: f64 = 0.1;

    /// A strip of so many squares along x, at a height.
    fn strip(squares: u32, height: f64) -> TriMesh {
        let corner = |at: u32| DVec3::new(f64::from(at / 2) * SIZE, f64::from(at % 2) * SIZE, height);
        let positions = (0..2 * squares + 2).map(corner).collect();
        let square = |at: u32| [[2 * at, 2 * at + 2, 2 * at + 1], [2 * at + 1, 2 * at + 2, 2 * at + 3]];
        TriMesh { positions, triangles: (0..squares).flat_map(square).collect() }
    }

    /// Two layers of cloth over a body that moves by `carried`; the first vertex is pinched, all vertices want to go `wanted` farther.
    /// How far each goes beyond what the body carries it.
    fn moves(pinched: &[VertexId], carried: DVec3, wanted: DVec3) -> Vec<DVec3> {
        let (lower, upper, body) = (strip(10, 0.01), strip(10, 0.03), strip(10, 0.0));
        let below = lower.positions.len() as u32;
        let triangles = upper.triangles.iter().map(|corners| corners.map(|corner| corner + below));
        let triangles: Vec<[u32; 3]> = lower.triangles.iter().copied().chain(triangles).collect();
        let start = [lower.positions, upper.positions].concat();
        let topology = Topology::new(start.len(), &triangles).unwrap();
        let bodies = Topology::new(body.positions.len(), &body.triangles).unwrap();
        let end: Vec<DVec3> = body.positions.iter().map(|&place| place + carried).collect();
        let around = Surroundings {
            topology: &topology,
            positions: &start,
            sizes: &vec![SIZE; start.len()],
            bodies: &bodies,
            surfaces: [&body.positions, &end],
            step: STEP,
        };
        let mut positions: Vec<DVec3> = start.iter().map(|&place| place + carried + wanted).collect();
        let mut velocities = vec![(carried + wanted) / STEP; start.len()];
        Calm::around(pinched, &around, 0.05).limit(&start, STEP, &mut positions, &mut velocities);
        for vertex in 0..start.len() {
            assert!((velocities[vertex] * STEP).distance(positions[vertex] - start[vertex]) < 1e-12);
        }
        positions.iter().zip(&start).map(|(&now, &before)| now - before - carried).collect()
    }

    #[test]
    fn without_a_pinch_nothing_is_limited() {
        let wanted = DVec3::new(0.0, 0.0, 0.02);
        assert!(moves(&[], DVec3::ZERO, wanted).iter().all(|moved| moved.distance(wanted) < 1e-12));
    }

    #[test]
    fn cloth_beside_a_pinch_is_calm_and_so_is_the_layer_above_it() {
        let wanted = DVec3::new(0.0, 0.0, 0.02);
        let moved = moves(&[VertexId(0)], DVec3::ZERO, wanted);
        let calm = 0.05 * STEP;
        let along = |vertex: usize| moved[vertex].dot(wanted) / wanted.length();
        // Vertex 1 is beside the pinch, 22 right above it in the other layer; both go on in the direction that they wanted.
        for vertex in [1, 2, 5, 22, 25] {
            assert!((along(vertex) - calm).abs() < 1e-12, "{vertex}: {}", along(vertex));
        }
        // The limit grows from ring to ring, and far away there is none.
        let lower: Vec<f64> = (0..11).map(|square| along(2 * square + 1)).collect();
        assert!(lower.windows(2).all(|two| two[0] <= two[1] + 1e-12), "{lower:?}");
        assert!(lower.iter().any(|&limit| (limit - 2.0 * calm).abs() < 1e-12), "{lower:?}");
        assert!((lower[10] - wanted.length()).abs() < 1e-12, "{lower:?}");
    }

    #[test]
    fn cloth_goes_along_with_a_moving_body() {
        let carried = DVec3::new(0.004, 0.0, 0.0);
        assert!(moves(&[VertexId(0)], carried, DVec3::ZERO).iter().all(|moved| moved.length() < 1e-12));
        let moved = moves(&[VertexId(0)], carried, DVec3::new(0.0, 0.0, 0.02));
        assert!((moved[1].length() - (0.05 * STEP + carried.length())).abs() < 1e-12);
    }
}
