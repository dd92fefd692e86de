//! Step-wise flip: the part of a flap that lies on the wrong side goes through the ground it lies on, front by front.
//!
//! In each step the vertices of the flap that are on the wrong side and end a crossed edge (or else lie next to one on
//! the right side) are wished to the other side of their foot on the ground, the ground by half of that the other way.
//! Only what has such a vertex, and what crosses already, may pass through the ground near the feet; so no vertex
//! that is
//! right becomes wrong, and the contours approach each other until they meet. (Cha 2022, 5.4)
//!
//! A crease flip is the same with a crease in place of the crest: while a hinge of it is bent the wrong way its rest
//! angle is `theta0 + 2 pi sign(theta)`, so that its moment is continuous across pi. (5.4.1)
//!
//! Guarantees: designed angles are as they were when the flip is over.
//! Does not: look for cloth of other sheets, or a body, between flap and ground; contact holds them apart.

use super::bli::Bli;
use super::region::{Region, flood};
use crate::analysis::Tangle;
use crate::dynamics::{Guidance, hinge};
use crate::model::Model;
use crate::untangle::nearest::NearestTriangle;
use crate::untangle::resolvers::crossing_groups::{CrossingGroups, Elements};
use crate::untangle::resolvers::goals::Moves;
use rustc_hash::{FxHashMap, FxHashSet};
use std::f64::consts::{FRAC_PI_2, TAU};
use unsnarl_geometry::{DVec3, EdgeId, Topology, TriangleId, VertexId};

/// Rings beyond the ground's own that heights are measured against.
const GROUND_RINGS: usize = 3;
/// How far a vertex is to be above the ground, in edges.
const HEIGHTS: [f64; 2] = [0.1, 0.5];
/// The longest wish, in edges.
const REACH: f64 = 0.5;
/// Strength of wishes at first, and where a flip counts as stalled.
const GAINS: [f64; 2] = [100.0, 1e6];
/// A flip that has lasted this long is given up, in times of 0.02 s.
const OLDEST: f64 = 200.0;
/// Hinges that are bent more at rest are of the fold, radians.
const FOLDED: f64 = 0.3;
/// The step that gains are meant for, seconds.
const USUAL_STEP: f64 = 0.02;

/// A flip under way.
#[derive(Clone, Debug, PartialEq)]
pub struct FlipJob {
    /// 1 if the flap belongs on the front of the ground, -1 for the back.
    pub side: f64,
    /// The flap, sorted.
    pub flap: Vec<VertexId>,
    /// What heights are measured against, sorted.
    pub ground: Vec<TriangleId>,
    /// The vertices along which it is folded, sorted.
    pub crest: Vec<VertexId>,
    /// The hinges of a crease with their designed angles, in order; empty where the fold has none.
    pub crease: Vec<(usize, f64)>,
    /// Hinges whose rest angles have been negated, in order.
    pub negated: Vec<usize>,
    /// The fewest vertices on the wrong side so far.
    pub least_wrong: usize,
    /// Since when they have not become fewer, in times of 0.02 s.
    pub waited: f64,
    /// Since when it flips, in times of 0.02 s.
    pub age: f64,
    /// Whether it is given up.
    pub is_stalled: bool,
}

/// What a flip looks at.
#[derive(Clone, Copy)]
pub struct FlipScene<'a> {
    /// The cloth.
    pub model: &'a Model,
    /// All meshes.
    pub topology: &'a Topology,
    /// Where everything is.
    pub positions: &'a [DVec3],
    /// What crosses there.
    pub tangle: &'a Tangle,
    /// The size of the mesh at each vertex, metres.
    pub local_size: &'a [f64],
    /// Length of the step, seconds.
    pub step: f64,
    /// What 0.02 s leave of a difference.
    pub gamma: f64,
}

/// A vertex of the flap as seen from the ground.
#[derive(Clone, Copy, Debug)]
struct Stand {
    /// Above the front of the ground, metres.
    height: f64,
    foot: DVec3,
    normal: DVec3,
    triangle: TriangleId,
    weights: [f64; 3],
}

/// Where the vertices of a flap are.
struct Stands(FxHashMap<VertexId, Stand>);

impl Stands {
    fn new(scene: &FlipScene, flap: &[VertexId], ground: &[TriangleId]) -> Self {
        let Some(nearest) = NearestTriangle::among(scene.topology, scene.positions, ground) else {
            return Self(FxHashMap::default());
        };
        let stand = |vertex: VertexId| {
            let place = scene.positions[vertex.index()];
            let found = nearest.to(place, scene.local_size[vertex.index()])?;
            let [a, b, c] = scene.topology.triangle(found.triangle).map(|corner| scene.positions[corner.index()]);
            let normal = (b - a).cross(c - a).try_normalize()?;
            let (foot, height) = (place - found.offset, found.offset.dot(normal));
            Some((vertex, Stand { height, foot, normal, triangle: found.triangle, weights: found.barycentric }))
        };
        Self(flap.iter().filter_map(|&vertex| stand(vertex)).collect())
    }

    fn is_wrong(&self, vertex: VertexId, side: f64) -> bool {
        self.0.get(&vertex).is_some_and(|stand| stand.height * side < 0.0)
    }
}

/// What a flip asks for in a step.
#[derive(Default)]
pub struct FlipPlan {
    /// Wishes as forces.
    pub guidance: Guidance,
    /// Vertices on the wrong side.
    pub wrong: usize,
}

impl FlipJob {
    /// The flip of a region to a side.
    pub fn regional(model: &Model, region: &Region, side: f64) -> Self {
        let mut near: FxHashSet<VertexId> = region.ground.iter().chain(&region.crest).copied().collect();
        // Rings around the crest would reach the flap of the neighbouring stretch of border.
        let mut front: Vec<VertexId> = region.ground.clone();
        for _ in 0..GROUND_RINGS {
            let ring = front.iter().flat_map(|&at| model.topology.ring(at));
            front = ring.filter(|at| region.flap.binary_search(at).is_err() && !near.contains(at)).collect();
            near.extend(front.iter().copied());
        }
        let is_ground = |at: &TriangleId| model.topology.triangle(*at).iter().all(|corner| near.contains(corner));
        let ground = (0..model.topology.triangle_count()).map(TriangleId::new).filter(is_ground).collect();
        Self::new(side, (region.flap.clone(), ground, region.crest.clone()), Vec::new())
    }

    /// The flip of a BLI whose fold has a crease through its loop vertex, which divides its two ends; `creases` are
    /// all
    /// hinges with a designed angle. `None` where there is no such crease.
    pub fn of_crease(model: &Model, bli: &Bli, creases: &[(usize, f64)]) -> Option<Self> {
        let topology = &model.topology;
        let ends = |hinge: usize| topology.edge(model.hinges[hinge].edge);
        // What hangs together with the crease nearest to the loop vertex.
        let mut crest: FxHashSet<VertexId> = FxHashSet::default();
        let near: Vec<VertexId> = std::iter::once(bli.loop_vertex).chain(topology.ring(bli.loop_vertex)).collect();
        let first = near.iter().find(|at| creases.iter().any(|(hinge, _)| ends(*hinge).contains(at)))?;
        crest.insert(*first);
        loop {
            let is_next = |hinge: usize| ends(hinge).iter().filter(|end| crest.contains(end)).count() == 1;
            let more: Vec<VertexId> =
                creases.iter().filter(|(hinge, _)| is_next(*hinge)).flat_map(|(hinge, _)| ends(*hinge)).collect();
            if more.is_empty() {
                break;
            }
            crest.extend(more);
        }
        let own = |hinge: usize| ends(hinge).iter().all(|end| crest.contains(end));
        let mut crease: Vec<(usize, f64)> = creases.iter().copied().filter(|(hinge, _)| own(*hinge)).collect();
        crease.sort_by_key(|(hinge, _)| *hinge);
        let flap = flood(model, &topology.edge(bli.boundary_edge), |_| true, |at| crest.contains(&at));
        let is_flap = |corner: &VertexId| flap.binary_search(corner).is_ok();
        if flap.is_empty() || topology.triangle(bli.inner_triangle).iter().any(is_flap) {
            return None;
        }
        let sheet = topology.component(bli.loop_vertex);
        let is_ground = |at: &TriangleId| {
            let corners = topology.triangle(*at);
            topology.component(corners[0]) == sheet && !corners.iter().any(is_flap)
        };
        let ground = (0..topology.triangle_count()).map(TriangleId::new).filter(is_ground).collect();
        let side = -crease.iter().map(|(_, angle)| angle).sum::<f64>().signum();
        Some(Self::new(side, (flap, ground, crest.into_iter().collect()), crease))
    }

    fn new(
        side: f64,
        (flap, ground, mut crest): (Vec<VertexId>, Vec<TriangleId>, Vec<VertexId>),
        crease: Vec<(usize, f64)>,
    ) -> Self {
        crest.sort_unstable();
        Self {
            side,
            least_wrong: flap.len(),
            flap,
            ground,
            crest,
            crease,
            negated: Vec::new(),
            waited: 0.0,
            age: 0.0,
            is_stalled: false,
        }
    }

    /// Whether a BLI is one of the contours that this flip moves.
    pub fn has(&self, topology: &Topology, bli: &Bli) -> bool {
        let is_crest = |vertex: VertexId| self.crest.binary_search(&vertex).is_ok();
        let is_flap = |vertex: VertexId| self.flap.binary_search(&vertex).is_ok();
        let is_ground = |triangle: &TriangleId| self.ground.binary_search(triangle).is_ok();
        let vertex = bli.loop_vertex;
        let is_at_fold = is_crest(vertex)
            || is_flap(vertex)
            || topology.ring(vertex).any(is_crest)
            || (self.crease.is_empty() && topology.vertex_triangles(vertex).iter().any(is_ground));
        is_at_fold && topology.edge(bli.boundary_edge).into_iter().any(is_flap)
    }

    /// The mean height of the flap over the ground, metres; 0 where it sees none. Feet farther than some edges off do
    /// not
    /// count.
    pub fn mean_height(&self, scene: &FlipScene) -> f64 {
        const FAR: f64 = 4.0;
        let stands = Stands::new(scene, &self.flap, &self.ground);
        let (mut sum, mut count) = (0.0, 0.0);
        for vertex in &self.flap {
            let Some(stand) = stands.0.get(vertex) else { continue };
            let place = scene.positions[vertex.index()];
            if place.distance(stand.foot) < FAR * scene.local_size[vertex.index()] {
                sum += stand.height;
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// How many vertices of the flap are on the wrong side.
    pub fn wrong(&self, scene: &FlipScene) -> usize {
        let stands = Stands::new(scene, &self.flap, &self.ground);
        self.flap.iter().filter(|&&vertex| stands.is_wrong(vertex, self.side)).count()
    }

    /// One step: wishes, and what may cross, with the BLI that are its own. `rest_angles` are those in force; where
    /// `may_negate`, hinges of the fold are bent the other way at rest once they are on the right side.
    pub fn plan(
        &mut self,
        scene: &FlipScene,
        own: &[&Bli],
        groups: &mut CrossingGroups,
        (rest_angles, may_negate): (&mut [f64], bool),
    ) -> FlipPlan {
        let stands = Stands::new(scene, &self.flap, &self.ground);
        let is_wrong = |vertex: &VertexId| stands.is_wrong(*vertex, self.side);
        let wrong: Vec<VertexId> = self.flap.iter().copied().filter(is_wrong).collect();
        let share = scene.step / USUAL_STEP;
        self.waited = if wrong.len() < self.least_wrong { 0.0 } else { self.waited + share };
        self.least_wrong = self.least_wrong.min(wrong.len());
        self.age += share;
        let gain = GAINS[0] * scene.gamma.powf(-self.waited);
        self.is_stalled = gain >= GAINS[1] || self.age > OLDEST;
        if self.is_stalled {
            return FlipPlan { wrong: wrong.len(), ..FlipPlan::default() };
        }
        if may_negate {
            self.negate(scene.model, &stands, rest_angles);
        }
        self.drive(scene, rest_angles);
        for bli in own {
            groups.add(scene.topology, &bli.strip, &bli.inner);
        }
        if self.crease.is_empty() {
            self.let_through_crossing(scene, groups);
        }
        let active = self.active(scene, &wrong, own);
        let mut feet: Vec<TriangleId> = Vec::new();
        let mut moves = Moves::none(scene.model.masses.len());
        for &vertex in &active {
            let Some(stand) = stands.0.get(&vertex) else { continue };
            let corners = scene.topology.triangle(stand.triangle);
            feet.extend(corners.iter().flat_map(|&corner| scene.topology.vertex_triangles(corner)));
            let size = scene.local_size[vertex.index()];
            let height = stand.height.abs().clamp(HEIGHTS[0] * size, HEIGHTS[1] * size);
            let goal = stand.foot + self.side * height * stand.normal;
            let way = (goal - scene.positions[vertex.index()]).clamp_length_max(REACH * size);
            let is_held = |corner: &VertexId| scene.model.pins.binary_search(corner).is_ok();
            if corners.iter().any(is_held) {
                moves.add(vertex, 1.0, way);
            } else {
                let ground: Vec<(VertexId, f64)> = corners.into_iter().zip(stand.weights).collect();
                moves.add_relative(&[(vertex, 1.0)], &ground, way);
            }
        }
        feet.sort_unstable();
        feet.dedup();
        feet.retain(|triangle| self.ground.binary_search(triangle).is_ok());
        let sides = [Elements::around(scene.topology, &active), Elements::of_triangles(scene.topology, &feet)];
        groups.add_elements(sides);
        FlipPlan { guidance: moves.guidance(&scene.model.masses, scene.step, gain), wrong: wrong.len() }
    }

    /// What crosses between flap and ground may cross on, whatever its contour has become.
    fn let_through_crossing(&self, scene: &FlipScene, groups: &mut CrossingGroups) {
        let is_flap = |triangle: TriangleId| {
            scene.topology.triangle(triangle).iter().any(|corner| self.flap.binary_search(corner).is_ok())
        };
        let is_ground = |triangle: TriangleId| self.ground.binary_search(&triangle).is_ok();
        let (mut flap, mut ground) = (Vec::new(), Vec::new());
        for &[first, second] in scene.tangle.contours.iter().flat_map(|tangled| &tangled.contour.segments) {
            for [one, other] in [[first, second], [second, first]] {
                if is_flap(one) && is_ground(other) {
                    flap.push(one);
                    ground.push(other);
                }
            }
        }
        groups.add(scene.topology, &flap, &ground);
    }

    /// The wrong vertices that end a crossed edge; if there are none, those next to a right one. Beside a crease only
    /// edges of its own BLI count: what else crosses there is for edge shortening.
    fn active(&self, scene: &FlipScene, wrong: &[VertexId], own: &[&Bli]) -> Vec<VertexId> {
        let topology = scene.topology;
        let points = scene.tangle.contours.iter().flat_map(|tangled| &tangled.contour.points);
        let edges: Vec<EdgeId> = match self.crease.is_empty() {
            true => points.map(|point| point.edge).collect(),
            false => own.iter().flat_map(|bli| bli.crossed.iter().copied()).collect(),
        };
        let crossed: FxHashSet<VertexId> = edges.into_iter().flat_map(|edge| topology.edge(edge)).collect();
        let first: Vec<VertexId> = wrong.iter().copied().filter(|vertex| crossed.contains(vertex)).collect();
        if !first.is_empty() {
            return first;
        }
        let is_right = |at: VertexId| self.flap.binary_search(&at).is_ok() && wrong.binary_search(&at).is_err();
        wrong.iter().copied().filter(|&vertex| topology.ring(vertex).any(is_right)).collect()
    }

    /// Drives the hinges of the crease that are bent the wrong way on across pi.
    fn drive(&self, scene: &FlipScene, rest_angles: &mut [f64]) {
        for &(at, designed) in &self.crease {
            let points = scene.model.hinges[at].vertices.map(|vertex| scene.positions[vertex.index()]);
            rest_angles[at] = driven(hinge::angle(points).unwrap_or(designed), designed);
        }
    }

    /// Gives the crease its designed angles back.
    pub fn give_back(&self, rest_angles: &mut [f64]) {
        self.crease.iter().for_each(|&(hinge, angle)| rest_angles[hinge] = angle);
    }

    /// Bends hinges of the fold the other way at rest once every vertex of the flap around them is on the right side.
    fn negate(&mut self, model: &Model, stands: &Stands, rest_angles: &mut [f64]) {
        if !self.crease.is_empty() {
            return;
        }
        let is_crest = |vertex: &VertexId| self.crest.binary_search(vertex).is_ok();
        let mut near: FxHashSet<VertexId> = self.crest.iter().copied().collect();
        for _ in 0..2 {
            let ring: Vec<VertexId> = near.iter().flat_map(|&at| model.topology.ring(at)).collect();
            near.extend(ring);
        }
        for (at, hinge) in model.hinges.iter().enumerate() {
            let is_of_fold =
                hinge.vertices.iter().all(|vertex| near.contains(vertex)) && rest_angles[at].abs() > FOLDED;
            if !is_of_fold || self.negated.binary_search(&at).is_ok() {
                continue;
            }
            let around = hinge.vertices.iter().flat_map(|&vertex| model.topology.ring(vertex));
            let around: Vec<VertexId> = around.chain(hinge.vertices).collect();
            let touches = around.iter().any(|vertex| self.flap.binary_search(vertex).is_ok() || is_crest(vertex));
            if touches && !around.iter().any(|&vertex| stands.is_wrong(vertex, self.side)) {
                if rest_angles[at] * self.side > 0.0 {
                    rest_angles[at] = -rest_angles[at];
                }
                self.negated.push(at);
                self.negated.sort_unstable();
            }
        }
    }
}

/// The rest angle of a hinge of a crease, radians: beyond pi while it is folded the wrong way.
fn driven(angle: f64, designed: f64) -> f64 {
    let is_wrong = angle * designed < 0.0 && angle.abs() > FRAC_PI_2;
    if is_wrong { designed + TAU * angle.signum() } else { designed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn the_moment_of_a_crease_is_continuous_across_pi() {
        for designed in [-2.9, 2.9] {
            let moment = |angle: f64| angle - driven(angle, designed);
            let sign = -f64::signum(designed);
            let jump = moment(sign * (PI - 1e-9)) - moment(-sign * (PI - 1e-9));
            assert!(jump.abs() < 1e-8, "{jump}");
            assert_eq!(driven(designed, designed).to_bits(), designed.to_bits());
            assert_eq!(driven(0.1 * sign, designed), designed, "a flat hinge bends the short way");
            let plain = (sign * (PI - 1e-9) - designed) - (-sign * (PI - 1e-9) - designed);
            assert!((plain.abs() - TAU).abs() < 1e-8, "without it the moment jumps by a full turn");
        }
    }
}
