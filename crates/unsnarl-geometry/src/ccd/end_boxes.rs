//! A first look at pairs of moving elements: the box of each at the start, and at the end.
//!
//! Swept boxes of elements that move together meet although the elements never come near each other. Where along one axis one
//! element is above the other at the start and at the end, it is at every time between, because vertices move along straight lines.
//!
//! Guarantees: pairs that are told to stay apart stay farther apart than twice the margin at all times.
//! Does not: see pairs apart along a slanted direction.

use super::candidates::{ElementPair, Motion};
use crate::bvh::near_origin;
use crate::bvh::small_box::{RoundedPoint, SmallBox};
use crate::topology::Topology;
use glam::Vec3A;
use rayon::prelude::*;

/// The boxes of all elements of a mesh at both ends of a motion, grown by a margin.
#[derive(Clone, Debug)]
pub struct EndBoxes {
    vertices: Vec<Ends>,
    edges: Vec<Ends>,
    triangles: Vec<Ends>,
}

/// The boxes of one element: least and largest coordinates at the start, then at the end.
#[derive(Clone, Copy, Debug)]
struct Ends([Vec3A; 4]);

/// Fewer elements than this are not worth another thread.
const ELEMENTS_PER_TASK: usize = 2048;

impl EndBoxes {
    /// For the elements of a mesh.
    pub fn new(topology: &Topology, motion: Motion, margin: f64) -> Self {
        let origin = near_origin(motion.start.first().copied());
        let [start, end] =
            [motion.start, motion.end].map(|points| RoundedPoint::all_swept(points, points, margin, origin));
        let of = |corners: [u32; 3]| {
            let [from, to] = [&start, &end].map(|points| RoundedPoint::span(points, corners));
            Ends::new(from, to)
        };
        let all = |count: usize, corners: &(dyn Fn(usize) -> [u32; 3] + Sync)| {
            (0..count).into_par_iter().with_min_len(ELEMENTS_PER_TASK).map(|element| of(corners(element))).collect()
        };
        Self {
            vertices: all(motion.start.len(), &|vertex| [vertex as u32; 3]),
            edges: all(topology.edge_count(), &|edge| {
                let [a, b] = topology.edges()[edge];
                [a.0, b.0, b.0]
            }),
            triangles: all(topology.triangle_count(), &|triangle| {
                topology.triangles()[triangle].map(|vertex| vertex.0)
            }),
        }
    }

    /// Whether the boxes alone prove that the elements of a pair stay apart.
    pub fn prove_apart(&self, pair: ElementPair) -> bool {
        let (first, second) = match pair {
            ElementPair::VertexTriangle(vertex, triangle) => {
                (&self.vertices[vertex.index()], &self.triangles[triangle.index()])
            }
            ElementPair::EdgeEdge(first, second) => (&self.edges[first.index()], &self.edges[second.index()]),
        };
        first.is_above(second) || second.is_above(first)
    }
}

impl Ends {
    fn new(start: SmallBox, end: SmallBox) -> Self {
        Self([start.min, start.max, end.min, end.max].map(Vec3A::from_array))
    }

    /// Whether it is above another along some axis at both ends.
    fn is_above(&self, other: &Self) -> bool {
        let ([start, _, end, _], [_, their_start, _, their_end]) = (self.0, other.0);
        (start.cmpgt(their_start) & end.cmpgt(their_end)).any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EdgeId, TriangleId, VertexId};
    use crate::math::DVec3;
    use proptest::prelude::*;

    /// Two triangles; coordinates on a coarse lattice, so that they often meet exactly.
    fn points() -> impl Strategy<Value = Vec<DVec3>> {
        prop::collection::vec(prop::array::uniform3(-8..9_i32), 6)
            .prop_map(|points| points.into_iter().map(|at| DVec3::from(at.map(|x| f64::from(x) / 8.0))).collect())
    }

    proptest! {
        #[test]
        fn what_is_proved_apart_never_meets(start in points(), end in points(), margin in 0.0..0.1_f64) {
            let topology = Topology::new(6, &[[0, 1, 2], [3, 4, 5]]).unwrap();
            let motion = Motion { start: &start, end: &end };
            let boxes = EndBoxes::new(&topology, motion, margin);
            let faces = (0..3).map(|vertex| ElementPair::VertexTriangle(VertexId::new(vertex), TriangleId::new(1)));
            let edges = (0..9).map(|at| ElementPair::EdgeEdge(EdgeId::new(at / 3), EdgeId::new(3 + at % 3)));
            for pair in faces.chain(edges).filter(|pair| boxes.prove_apart(*pair)) {
                prop_assert_eq!(pair.first_contact(&topology, motion, 2.0 * margin), None, "{:?}", pair);
            }
        }
    }

    #[test]
    fn elements_that_move_together_are_apart() {
        let start: Vec<DVec3> = (0..6).map(|k| DVec3::new(f64::from(k % 3), f64::from(k / 3 * 5), 0.0)).collect();
        let end: Vec<DVec3> = start.iter().map(|point| *point + DVec3::new(0.0, 20.0, 0.0)).collect();
        let topology = Topology::new(6, &[[0, 1, 2], [3, 4, 5]]).unwrap();
        let motion = Motion { start: &start, end: &end };
        let pair = ElementPair::VertexTriangle(VertexId(0), TriangleId(1));
        assert!(pair.boxes_meet(&topology, motion, 0.0));
        assert!(EndBoxes::new(&topology, motion, 1.0).prove_apart(pair));
        assert!(!EndBoxes::new(&topology, motion, 2.5).prove_apart(pair));
    }
}
