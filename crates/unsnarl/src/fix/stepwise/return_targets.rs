//! Return targets: where cloth was before untangling, for all of it that was in order there.
//!
//! Edge shortening drags the surroundings of a tangle along, and elasticity alone does not bring cloth back to a
//! place. Once everything is clean, vertices that were not part of the tangle and whose triangles had about their
//! rest size are drawn back by springs that fade, with contact on. Pieces that were parted come all the way back
//! before the springs fade, as long as they get nearer at a good pace and are not crumpled by what is in their way.

use crate::analysis::{Assembly, Tangle};
use crate::dynamics::Guidance;
use crate::dynamics::hinge::angle;
use crate::model::{Hinge, Model};
use crate::rest_shape::principal_stretches;
use unsnarl_geometry::{DVec3, TriangleId, VertexId};

/// Triangles within these stretches have about their size.
const IN_ORDER: [f64; 2] = [0.8, 1.25];

/// Where each vertex of cloth belongs; `None` for those that cross, are red, or belong to strained cloth.
pub(super) fn targets(model: &Model, assembly: &Assembly, tangle: &Tangle, positions: &[DVec3]) -> Vec<Option<DVec3>> {
    let mut targets: Vec<Option<DVec3>> = positions.iter().copied().map(Some).collect();
    let topology = &model.topology;
    for (triangle, corners) in topology.triangles().iter().enumerate() {
        let places = corners.map(|corner| positions[corner.index()]);
        let stretches = principal_stretches(&model.rest_shapes[triangle], places);
        let is_in_order = |[largest, least]: [f64; 2]| least > IN_ORDER[0] && largest < IN_ORDER[1];
        if !stretches.is_some_and(is_in_order) {
            corners.iter().for_each(|corner| targets[corner.index()] = None);
        }
    }
    let red =
        tangle.colours.red_triangles.iter().flat_map(|&triangle: &TriangleId| assembly.topology().triangle(triangle));
    for vertex in red.chain(tangle.colours.red_vertices.iter().copied()) {
        if let Some(target) = targets.get_mut(VertexId::index(vertex)) {
            *target = None;
        }
    }
    targets
}

/// Springs to the targets, of this stiffness per mass, N/(m kg); none pulls as if it were longer than its vertex's
/// `reach`, metres.
pub(super) fn springs(
    targets: &[Option<DVec3>],
    masses: &[f64],
    (positions, reach): (&[DVec3], &[f64]),
    stiffness: f64,
) -> Guidance {
    const NEGLIGIBLE: f64 = 1.0;
    if targets.is_empty() || stiffness < NEGLIGIBLE {
        return Guidance::default();
    }
    let of_vertex = |(target, mass): (&Option<DVec3>, &f64)| target.map_or(0.0, |_| stiffness * mass);
    let stiffnesses: Vec<f64> = targets.iter().zip(masses).map(of_vertex).collect();
    let force = |(vertex, target): (usize, &Option<DVec3>)| {
        let way = target.map_or(DVec3::ZERO, |target| target - positions[vertex]);
        stiffnesses[vertex] * way.clamp_length_max(reach[vertex])
    };
    let forces = targets.iter().enumerate().map(force).collect();
    Guidance { forces, stiffness: stiffnesses, ..Guidance::default() }
}

/// Parted cloth on its way back.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnProgress {
    /// How far it still was when last looked at, summed over its vertices, metres.
    distance: f64,
    /// It is bent at most this much more than at rest, metre-radians: see [`bending`].
    most_bending: f64,
}

/// What the way back is judged by.
pub(super) struct Return<'a> {
    pub model: &'a Model,
    pub targets: &'a [Option<DVec3>],
    pub rest_angles: &'a [f64],
    pub positions: &'a [DVec3],
    /// The longest move of each vertex in a step, metres.
    pub longest_moves: &'a [f64],
}

impl Return<'_> {
    /// Cloth sets out.
    pub fn begin(&self) -> ReturnProgress {
        const MOST_BENDING: f64 = 3.0;
        let mut areas = vec![0.0; self.model.topology.component_count()];
        for (corners, shape) in self.model.topology.triangles().iter().zip(&self.model.rest_shapes) {
            areas[self.model.topology.component(corners[0])] += shape.area();
        }
        let across: f64 = areas.iter().map(|area| area.sqrt()).sum();
        ReturnProgress { distance: f64::INFINITY, most_bending: self.bending() + MOST_BENDING * across }
    }

    /// Whether cloth is to go on: it came nearer at a tenth of its free pace at least, and is not crumpled.
    pub fn go_on(&self, way: ReturnProgress) -> Option<ReturnProgress> {
        const LEAST_PACE: f64 = 0.1;
        let far = self.targets.iter().zip(self.positions).zip(self.longest_moves);
        let ways = far.filter_map(|((target, place), longest)| Some((target.as_ref()?.distance(*place), *longest)));
        let (mut distance, mut pace) = (0.0, 0.0);
        for (way, longest) in ways {
            distance += way;
            pace += way.min(longest);
        }
        let is_nearer = way.distance - distance > LEAST_PACE * pace;
        (is_nearer && self.bending() <= way.most_bending).then_some(ReturnProgress { distance, ..way })
    }

    /// How much cloth is bent from its rest angles, each edge by its length: a fold across a sheet counts the same
    /// however fine the mesh is.
    fn bending(&self) -> f64 {
        let of_hinge = |(hinge, rest): (&Hinge, &f64)| {
            let points = hinge.vertices.map(|vertex| self.positions[vertex.index()]);
            angle(points).map_or(0.0, |angle| (angle - rest).abs() * points[2].distance(points[3]))
        };
        self.model.hinges.iter().zip(self.rest_angles).map(of_hinge).sum()
    }
}
