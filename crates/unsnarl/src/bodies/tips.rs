//! Sharp tips of mesh bodies, rounded virtually so that cloth slides off them instead of snagging.
//!
//! A tip that stands next to a vertex of the cloth can only pass it if the triangles there turn about a point that gives
//! them no leverage; coarse cloth cannot bend that sharply. So vertices of the cloth feel a ball in place of the tip, as
//! large as an edge of the cloth and with the tip at its top: the tip acts on an area of the cloth. (Bridson 2003, 2.1: a
//! suggestion, not a recipe)
//!
//! Guarantees: nothing is changed farther from a tip than the diameter of the ball, nor about triangles in contact.
//! Does not: round sharp edges, along which triangles can turn; look for tips again when a mesh deforms.
//! Departs: single vertices are pushed before contact, as by solids, instead of sharing out impulses of contact; so dynamics
//! knows about it and the rest of the cloth follows.

use crate::geometry::{DVec3, Topology, TriMesh, VertexId};

/// A vertex is a tip if all its edges lie within this angle of their mean direction, degrees. Spikes are tips, corners of plates and
/// boxes are not.
const TIP_ANGLE_DEGREES: f64 = 35.0;

/// A sharp vertex of a mesh and those around it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tip {
    vertex: VertexId,
    around: Vec<VertexId>,
}

/// The tips of a mesh at the end of a step, as balls.
#[derive(Clone, Debug)]
pub(super) struct Balls {
    /// Where each is, and how fast it moves, m/s.
    centers: Vec<(DVec3, DVec3)>,
    radius: f64,
}

/// The tips of a mesh.
pub(super) fn find(mesh: &TriMesh) -> Vec<Tip> {
    let Ok(topology) = Topology::new(mesh.positions.len(), &mesh.triangles) else { return Vec::new() };
    let tip = |vertex: VertexId| {
        let around = topology.vertex_edges(vertex).iter().map(|&edge| topology.other_end(edge, vertex)).collect();
        Tip { vertex, around }
    };
    let least = TIP_ANGLE_DEGREES.to_radians().cos();
    let is_sharp = |tip: &Tip| {
        let Some(axis) = tip.axis(&mesh.positions) else { return false };
        tip.directions(&mesh.positions).all(|direction| direction.dot(axis) >= least)
    };
    (0..topology.vertex_count()).map(VertexId::new).map(tip).filter(is_sharp).collect()
}

impl Tip {
    fn directions(&self, positions: &[DVec3]) -> impl Iterator<Item = DVec3> {
        let at = |vertex: VertexId| positions[vertex.index()];
        self.around.iter().map(move |&other| (at(other) - at(self.vertex)).normalize_or_zero())
    }

    /// From the tip into the body.
    fn axis(&self, positions: &[DVec3]) -> Option<DVec3> {
        self.directions(positions).sum::<DVec3>().try_normalize()
    }

    fn center(&self, positions: &[DVec3], radius: f64) -> DVec3 {
        positions[self.vertex.index()] + self.axis(positions).unwrap_or(DVec3::ZERO) * radius
    }
}

impl Balls {
    /// Balls of a radius, metres, that a step moves.
    pub(super) fn moved(tips: &[Tip], [start, end]: [&[DVec3]; 2], step: f64, radius: f64) -> Self {
        let ball = |tip: &Tip| {
            let (from, to) = (tip.center(start, radius), tip.center(end, radius));
            (to, (to - from) / step)
        };
        Self { centers: tips.iter().map(ball).collect(), radius }
    }

    fn nearest(&self, point: DVec3) -> Option<&(DVec3, DVec3)> {
        let distance = |ball: &(DVec3, DVec3)| (point - ball.0).length_squared();
        self.centers.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The distance to the nearest ball, and the direction away from it.
    pub(super) fn distance(&self, point: DVec3) -> (f64, DVec3) {
        let Some((center, _)) = self.nearest(point) else { return (f64::INFINITY, DVec3::Y) };
        let away = point - *center;
        (away.length() - self.radius, away.try_normalize().unwrap_or(DVec3::Y))
    }

    /// The velocity of the ball nearest to a point, m/s.
    pub(super) fn velocity_at(&self, point: DVec3) -> DVec3 {
        self.nearest(point).map_or(DVec3::ZERO, |ball| ball.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_are_tips_and_corners_of_plates_and_boxes_are_not() {
        let around = |k: u32| {
            let angle = std::f64::consts::TAU * f64::from(k) / 6.0;
            DVec3::new(0.1 * angle.cos(), -1.0, 0.1 * angle.sin())
        };
        let mut spike = TriMesh { positions: vec![DVec3::ZERO], triangles: Vec::new() };
        spike.positions.extend((0..6).map(around));
        spike.triangles.extend((0..6).map(|k| [0, 1 + (k + 1) % 6, 1 + k]));
        let tips = find(&spike);
        assert_eq!(tips.iter().map(|tip| tip.vertex).collect::<Vec<_>>(), [VertexId(0)]);
        assert!((tips[0].center(&spike.positions, 0.1) - DVec3::new(0.0, -0.1, 0.0)).length() < 1e-12);
        let corner = |x: f64, y: f64| DVec3::new(x, y, 0.0);
        let middle = (0..4).map(|k| [4, k, (k + 1) % 4]).collect();
        let positions = vec![corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0), corner(0.5, 0.5)];
        assert!(find(&TriMesh { positions, triangles: middle }).is_empty());
        let cube = super::super::tessellate::surface(&crate::bodies::shape::Shape::Box { half: DVec3::ONE }, 0.1);
        assert!(find(&cube).is_empty());
    }
}
