//! Unfolding: the flap of a fold that bites into itself goes where it is when there is no fold; and folding over, back again.
//!
//! Folding is a reflection, and so is undoing it: every vertex of the flap is reflected in the plane across the cloth
//! through the ridge of the fold nearest to it, and the bent cloth between is spread out evenly. The plane is shifted to where
//! that cloth is strained least. A flap that lay on both sides of its ground then lies beyond the ridge, on one level or
//! another, and crosses nothing there. Its hinges are bent the other way from then on, the fold's not at all, and dynamics
//! with contact does the rest.
//!
//! It is for folds that do not slide out by themselves. Mesh tearing (Cha 2022, 5.3) needs cloth that wants to be flat; a
//! tube that is turned up does not come down by bending, as its border would have to widen first.
//!
//! Guarantees: lengths within the flap stay, where its fold is straight; of flap and ground the one with fewer vertices moves.
//! Does not: look at what else is beyond the ridge, or under the flap; whoever asks has to look at what crosses afterwards.

use crate::dynamics::hinge;
use crate::model::Model;
use crate::untangle::folds::reflect::fold::{BENT, Fold, Rim, RimFrame, hinges_of, vertices_of};
use crate::untangle::rearrange::smoothing::smooth;
use std::f64::consts::PI;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// The width of the piece of rim that a vertex is reflected at, in edges.
const RIM_WIDTH: f64 = 2.0;
/// The width of the piece of rim that says which way is up for a vertex, in edges.
const FOOT_WIDTH: f64 = 0.5;
/// How evenly the bend is spread out.
const EVENNESS: f64 = 1e3;
/// How far the plane of reflection is shifted, in edges of the rim: from, to, and in how many steps.
const SHIFTS: ([f64; 2], usize) = ([-1.0, 2.0], 12);

/// No hinge is bent more at rest: where two triangles lie on each other the sign of their angle means nothing.
const MOST_BENT: f64 = 2.9;

/// A fold as it is turned: which side of it moves, and which stays.
pub struct Turning<'a> {
    model: &'a Model,
    fold: &'a Fold,
    moving: &'a [TriangleId],
    staying: &'a [TriangleId],
    /// The vertices of the moving side, without those that the sides share.
    flap: Vec<VertexId>,
}

/// How a flap is folded over.
#[derive(Clone, Copy, Debug)]
pub struct Bend {
    /// 1 for the front, -1 for the back.
    pub side: f64,
    /// Radius of the bend, in edges of the rim.
    pub radius: f64,
    /// Angle between the flap and what it lies on, radians.
    pub flare: f64,
}

impl<'a> Turning<'a> {
    /// Of flap and ground the one with fewer vertices moves; `None` where something that would have to move is not free.
    pub fn new(model: &'a Model, fold: &'a Fold, free: &[bool]) -> Option<Self> {
        let topology = &model.topology;
        let mut sides = [&fold.flap, &fold.ground].map(|triangles| (triangles, vertices_of(topology, triangles)));
        if sides[0].1.len() > sides[1].1.len() {
            sides.swap(0, 1);
        }
        let [(moving, mut flap), (staying, fixed)] = sides;
        flap.retain(|vertex| fixed.binary_search(vertex).is_err());
        let is_free = |vertex: &VertexId| free.get(vertex.index()) == Some(&true);
        let can_move = flap.iter().chain(&fold.bend).all(is_free);
        can_move.then_some(Self { model, fold, moving, staying, flap })
    }

    /// Where cloth is without the fold; `None` where the fold has no ridge.
    pub fn unfold(&self, positions: &[DVec3]) -> Option<Vec<DVec3>> {
        let rim = Rim::new(&self.model.topology, self.staying, positions)?;
        let ridge = Ridge::new(&rim, self.tips(), positions)?;
        let mut best: Option<(f64, Vec<DVec3>)> = None;
        let ([from, to], steps) = SHIFTS;
        for step in 0..=steps {
            let shift = rim.size() * (from + (to - from) * step as f64 / steps as f64);
            let mut places = positions.to_vec();
            for vertex in &self.flap {
                let spot = Spot::new(&rim, ridge.reflect(positions[vertex.index()], shift)?)?;
                places[vertex.index()] = spot.foot + spot.across * spot.outward;
            }
            self.spread_out_bend(&mut places);
            let strain = self.strain_of_bend(&places);
            if best.as_ref().is_none_or(|(least, _)| strain < *least) {
                best = Some((strain, places));
            }
        }
        best.map(|(_, places)| places)
    }

    /// What may be farthest out: vertices of the bent cloth that are not of the staying side.
    fn tips(&self) -> Vec<VertexId> {
        let of_bent = vertices_of(&self.model.topology, &self.fold.bent);
        let moves = |vertex: &VertexId| self.flap.binary_search(vertex).is_ok() || self.is_bend(*vertex);
        of_bent.into_iter().filter(moves).collect()
    }

    fn is_bend(&self, vertex: VertexId) -> bool {
        self.fold.bend.binary_search(&vertex).is_ok()
    }

    fn spread_out_bend(&self, positions: &mut [DVec3]) {
        let topology = &self.model.topology;
        let is_bend: Vec<bool> =
            (0..topology.vertex_count()).map(|vertex| self.is_bend(VertexId::new(vertex))).collect();
        let cloth = &mut positions[..is_bend.len()];
        let spread = smooth(topology, cloth, &is_bend, EVENNESS, cloth.to_vec());
        cloth.copy_from_slice(&spread);
    }

    /// The squares of the strains of the bent cloth's edges, summed.
    fn strain_of_bend(&self, positions: &[DVec3]) -> f64 {
        let of_triangle = |triangle: &TriangleId| -> f64 {
            let corners = self.model.topology.triangle(*triangle).map(|corner| positions[corner.index()]);
            let lengths = self.model.rest_shapes[triangle.index()].lengths();
            let strain = |side: usize| corners[side].distance(corners[(side + 1) % 3]) / lengths[side] - 1.0;
            (0..3).map(|side| strain(side).powi(2)).sum()
        };
        self.fold.bent.iter().map(of_triangle).sum()
    }

    /// How the hinges of the fold and of what moves are bent at rest once it is unfolded: as they are now, but for kinks, which are
    /// of the tangle.
    pub fn unfolded_angles(&self, positions: &[DVec3]) -> Vec<(usize, f64)> {
        let mut hinges = hinges_of(self.model, self.moving);
        hinges.extend(&self.fold.hinges);
        hinges.sort_unstable();
        hinges.dedup();
        let smooth = |angle: f64| if angle.abs() > BENT { 0.0 } else { angle };
        hinges.into_iter().map(|hinge| (hinge, smooth(self.angle(hinge, positions)))).collect()
    }

    /// How the hinges of the fold are bent at rest once it is folded over: as they are now.
    pub fn folded_angles(&self, positions: &[DVec3]) -> Vec<(usize, f64)> {
        let angle = |&hinge: &usize| (hinge, self.angle(hinge, positions).clamp(-MOST_BENT, MOST_BENT));
        self.fold.hinges.iter().map(angle).collect()
    }

    fn angle(&self, hinge: usize, positions: &[DVec3]) -> f64 {
        hinge::angle(self.model.hinges[hinge].vertices.map(|vertex| positions[vertex.index()])).unwrap_or(0.0)
    }

    /// Where cloth that was unfolded is when its flap is folded over, around a bend in the middle of what was bent before.
    pub fn fold_over(&self, bend: &Bend, positions: &[DVec3]) -> Option<Vec<DVec3>> {
        let topology = &self.model.topology;
        let [rim, far_rim] = [self.staying, self.moving].map(|side| Rim::new(topology, side, positions));
        let (rim, far_rim) = (rim?, far_rim?);
        let radius = bend.radius * rim.size();
        let quarter = 0.5 * PI * radius;
        let mut places = positions.to_vec();
        for vertex in self.flap.iter().chain(&self.fold.bend) {
            let place = positions[vertex.index()];
            let Spot { foot, across, outward, normal } = Spot::new(&rim, place)?;
            let ridge = 0.5 * (far_rim.seen_from(foot, RIM_WIDTH)?.at - foot).dot(outward).max(0.0);
            let from_start = across - ridge + quarter;
            if from_start > 0.0 {
                let (up, along) = around_bend(from_start, radius, bend.flare);
                places[vertex.index()] = foot + (ridge - quarter + along) * outward + bend.side * up * normal;
            }
        }
        Some(places)
    }
}

/// A point beyond the rim of cloth without a fold, as seen from the rim.
struct Spot {
    /// The place of the rim that it is straight across from.
    foot: DVec3,
    /// How far it is from there, metres.
    across: f64,
    outward: DVec3,
    normal: DVec3,
}

impl Spot {
    fn new(rim: &Rim, point: DVec3) -> Option<Self> {
        let RimFrame { at, outward, .. } = rim.seen_from(point, RIM_WIDTH)?;
        let across = (point - at).dot(outward);
        let foot = point - across * outward;
        let frame = rim.seen_from(foot, FOOT_WIDTH)?;
        let normal = (frame.normal - frame.normal.dot(outward) * outward).try_normalize()?;
        Some(Self { foot: foot - (foot - frame.at).dot(normal) * normal, across, outward, normal })
    }
}

/// Where cloth lies that is so far past the start of a bend, metres: how far up, and how far along.
fn around_bend(from_start: f64, radius: f64, flare: f64) -> (f64, f64) {
    let length = PI * radius;
    if from_start < length {
        let angle = from_start / radius;
        (radius * (1.0 - angle.cos()), radius * angle.sin())
    } else {
        let flap = from_start - length;
        (2.0 * radius + flap * flare.sin(), -flap * flare.cos())
    }
}

/// Where the bend is farthest out.
struct Ridge<'a> {
    rim: &'a Rim,
    /// Vertices of the bend and how far they are beyond the rim, metres.
    tips: Vec<(DVec3, f64)>,
}

impl<'a> Ridge<'a> {
    fn new(rim: &'a Rim, bend: Vec<VertexId>, positions: &[DVec3]) -> Option<Self> {
        let mut tips = Vec::new();
        for vertex in bend {
            let place = positions[vertex.index()];
            let RimFrame { at, outward, .. } = rim.seen_from(place, RIM_WIDTH)?;
            tips.push((place, (place - at).dot(outward).max(0.0)));
        }
        Some(Self { rim, tips })
    }

    /// How far the ridge is beyond the rim near a point: a mean in which those farthest out count most, `sum of w h^3 / sum
    /// of w h^2`.
    fn beyond_rim(&self, point: DVec3) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (place, height) in &self.tips {
            let weight = (height / (place.distance_squared(point) + self.rim.size().powi(2))).powi(2);
            sum += weight * height;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// A point, reflected in the plane across the cloth so far beyond the ridge.
    fn reflect(&self, point: DVec3, shift: f64) -> Option<DVec3> {
        let RimFrame { at, outward, .. } = self.rim.seen_from(point, RIM_WIDTH)?;
        Some(point + 2.0 * ((at - point).dot(outward) + self.beyond_rim(point) + shift) * outward)
    }
}
