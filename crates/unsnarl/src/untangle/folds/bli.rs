//! A BLI as the cloth sees it: one sheet crosses itself from its border to a loop vertex.
//!
//! At the boundary end B one trace reaches the border, the other stops inside, in I; at the other end both meet in the
//! loop vertex L. On the sheet B-L-I is one arc from the border to an inner point. The strip is what the boundary
//! trace runs through. (Cha 2022, 3.2.2 and figure 5.1)

use crate::analysis::{ContourEnd, ContourKind, Tangle, TangledContour, Trace};
use unsnarl_geometry::{EdgeId, TriangleId, VertexId};

/// A fold that bites into itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bli {
    /// Which contour of the tangle it is.
    pub contour: usize,
    /// L.
    pub loop_vertex: VertexId,
    /// The border edge of B.
    pub boundary_edge: EdgeId,
    /// The triangle of I.
    pub inner_triangle: TriangleId,
    /// The triangles of the boundary trace from B to L, in order, each once.
    pub strip: Vec<TriangleId>,
    /// The triangles of the inner trace from I to L, in order, each once.
    pub inner: Vec<TriangleId>,
    /// The edges that either trace crosses, sorted.
    pub crossed: Vec<EdgeId>,
}

impl Bli {
    /// How many triangles the strip has.
    pub fn depth(&self) -> usize {
        self.strip.len()
    }
}

/// All BLI of cloth, which has this many triangles, in the order of their contours.
pub fn find(tangle: &Tangle, cloth_triangle_count: usize) -> Vec<Bli> {
    let of_cloth = |bli: &Bli| bli.strip.iter().chain(&bli.inner).all(|at| at.index() < cloth_triangle_count);
    let contours = tangle.contours.iter().enumerate();
    contours.filter_map(|(at, tangled)| bli(at, tangled)).filter(of_cloth).collect()
}

fn bli(contour: usize, tangled: &TangledContour) -> Option<Bli> {
    if tangled.kind != ContourKind::Bli {
        return None;
    }
    let of = &tangled.contour;
    let (trace, loop_vertex, is_forward) = match of.ends? {
        [ContourEnd::Boundary(trace), ContourEnd::Loop(vertex)] => (trace, vertex, true),
        [ContourEnd::Loop(vertex), ContourEnd::Boundary(trace)] => (trace, vertex, false),
        _ => return None,
    };
    let end = if is_forward { of.points.first()? } else { of.points.last()? };
    let along = |trace: Trace| {
        let mut triangles: Vec<TriangleId> = of.segments.iter().map(|pair| pair[trace.index()]).collect();
        if !is_forward {
            triangles.reverse();
        }
        let mut seen = Vec::with_capacity(triangles.len());
        triangles.retain(|triangle| {
            let is_new = !seen.contains(triangle);
            seen.push(*triangle);
            is_new
        });
        triangles
    };
    let mut crossed: Vec<EdgeId> = of.points.iter().map(|point| point.edge).collect();
    crossed.sort_unstable();
    crossed.dedup();
    let (strip, inner) = (along(trace), along(trace.other()));
    Some(Bli { contour, loop_vertex, boundary_edge: end.edge, inner_triangle: *inner.first()?, strip, inner, crossed })
}

#[cfg(test)]
pub(in crate::untangle) mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::model::{Cloth, Model, Rest};
    use crate::samples::{self, Cut, Recipe};
    use crate::state::State;

    /// A made case at rest as its panels, with what crosses.
    pub fn made(name: &str, cut: Cut, seed: u64) -> (Model, State, Assembly, Tangle) {
        let case = samples::find(name).unwrap();
        let sample = case.make(&Recipe { resolution: case.default_resolution, cut, seed });
        let assembly = Assembly::of_cloth(name, &sample.mesh).unwrap();
        let rest = Rest::Panels(sample.uv.clone());
        let (model, state) = Model::build(&[Cloth { rest, ..Cloth::new(name, sample.mesh) }]).unwrap();
        let tangle = analyze(&assembly, &state.positions, &mut Workspace::default());
        (model, state, assembly, tangle)
    }

    #[test]
    fn a_strip_leads_from_the_border_to_the_loop_vertex_over_edges_that_are_crossed() {
        for name in ["bli", "collar", "lapel", "sleeve", "skirt"] {
            for cut in [Cut::Regular, Cut::Irregular] {
                let (model, _, _, tangle) = made(name, cut, 3);
                let topology = &model.topology;
                let found = find(&tangle, topology.triangle_count());
                assert_eq!(found.len(), tangle.count(ContourKind::Bli), "{name}");
                for bli in found {
                    assert!(topology.is_boundary(bli.boundary_edge));
                    assert!(topology.triangle_edges(bli.strip[0]).contains(&bli.boundary_edge), "{name} {cut:?}");
                    for ends in [bli.strip.last(), bli.inner.last()] {
                        assert!(topology.triangle(*ends.unwrap()).contains(&bli.loop_vertex), "{name} {cut:?}");
                    }
                    for pair in bli.strip.windows(2).chain(bli.inner.windows(2)) {
                        let [first, second] = [0, 1].map(|at| topology.triangle_edges(pair[at]));
                        let shared = first.into_iter().find(|edge| second.contains(edge)).unwrap();
                        assert!(bli.crossed.binary_search(&shared).is_ok(), "{name} {cut:?}");
                    }
                }
            }
        }
    }
}
