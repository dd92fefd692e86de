//! Mesh tearing: a fold that bites into itself from the boundary is let go and unfolds.
//!
//! The triangles under the trace from boundary to loop vertex are left out of contact, so that the two wings are free, and
//! hinges around the loop vertex are stiffened, half as many rings as the tear is deep, so that the fold slides out.
//! The strip is found anew every step. (Cha 2022, 5.3)
//!
//! An elastic strip would hold the fold shut. With [`Tearing`] it yields: at rest its triangles have the shape that
//! they just have, and its hinges do not bend back. What leaves the strip goes back to its own shape by `1 / gamma` a
//! step. The longer a tear has not become less deep, the stiffer its rings are.
//!
//! Guarantees: where nothing is torn and nothing yields, rest shapes and hinges are left alone.
//! Does not: act on bodies' triangles, or remember anything in a simulation, whose strips stay elastic.

use crate::analysis::{ContourEnd, ContourKind, Tangle};
use crate::model::Model;
use crate::rest_shape::RestShape;
use std::collections::BTreeMap;
use unsnarl_geometry::math::{DMat2, DVec2, DVec3};
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
    /// How many triangles all strips have together.
    pub depth: usize,
    /// How many the longest has.
    pub deepest: usize,
}

/// How much stiffer hinges are around a loop vertex at first,
const STIFFENING: f64 = 300.0;
/// and at most.
const MOST_STIFFENING: f64 = 1e5;

/// Tearing under way.
#[derive(Clone, Debug, Default)]
pub struct Tearing {
    /// The least depth so far.
    least_depth: Option<usize>,
    /// Steps since then.
    steps_since: i32,
    /// Triangles that have yielded, with the rest shapes in force until they have gone back.
    yielded: BTreeMap<TriangleId, RestShape>,
}

impl Tearing {
    /// The tears of this step with strips that stay elastic.
    pub fn apply_elastic(
        &mut self,
        model: &Model,
        tangle: &Tangle,
        stiffening: f64,
        hinge_stiffness: &mut [f64],
    ) -> Tear {
        self.yielded.clear();
        let tear = tear(model, tangle);
        tear.stiffened_hinges.iter().for_each(|&hinge| hinge_stiffness[hinge] = stiffening);
        tear
    }

    /// The tears of this step, made in rest shapes and hinges. `gamma` is what a step leaves of a difference.
    pub fn apply(
        &mut self,
        model: &Model,
        (tangle, positions): (&Tangle, &[DVec3]),
        gamma: f64,
        (rest_shapes, hinge_stiffness): (&mut [RestShape], &mut [f64]),
    ) -> Tear {
        let tear = tear_with(model, tangle, |depth| depth.div_ceil(2));
        let is_lower = tear.contours > 0 && self.least_depth.is_none_or(|least| tear.depth < least);
        (self.least_depth, self.steps_since) = match (tear.contours, is_lower) {
            (0, _) => (None, 0),
            (_, true) => (Some(tear.depth), 0),
            (_, false) => (self.least_depth, self.steps_since + 1),
        };
        let stiffening = (STIFFENING * gamma.powi(-self.steps_since)).min(MOST_STIFFENING);
        tear.stiffened_hinges.iter().for_each(|&hinge| hinge_stiffness[hinge] = stiffening);
        let is_torn = |triangle: &TriangleId| tear.omitted.binary_search(triangle).is_ok();
        self.yielded
            .retain(|triangle, shape| is_torn(triangle) || go_back(shape, &model.rest_shapes[triangle.index()], gamma));
        for &triangle in &tear.omitted {
            let corners = model.topology.triangle(triangle).map(|corner| positions[corner.index()]);
            if let Some(shape) = as_it_is(&model.rest_shapes[triangle.index()], corners) {
                self.yielded.insert(triangle, shape);
            }
            for edge in model.topology.triangle_edges(triangle) {
                model.hinge_at(edge).into_iter().for_each(|hinge| hinge_stiffness[hinge] = 0.0);
            }
        }
        for (triangle, shape) in &self.yielded {
            rest_shapes[triangle.index()] = *shape;
        }
        tear
    }

    /// For how many steps no tear has become less deep.
    pub fn steps_since(&self) -> usize {
        self.steps_since.unsigned_abs() as usize
    }

    /// Whether everything has its own shape at rest.
    pub fn is_over(&self) -> bool {
        self.yielded.is_empty()
    }
}

/// A shape goes back to its own by a share of the way; `false` once it is there.
fn go_back(shape: &mut RestShape, own: &RestShape, gamma: f64) -> bool {
    const NEGLIGIBLE: f64 = 0.01;
    let difference = [0, 1].map(|side| shape.sides[side] - own.sides[side]);
    shape.sides = [0, 1].map(|side: usize| own.sides[side] + gamma * difference[side]);
    let size = own.sides[0].length().max(own.sides[1].length());
    difference.iter().any(|difference| difference.length() > NEGLIGIBLE * size)
}

/// The shape that a triangle has in space, turned in its plane as its rest shape is: `U` of the deformation `F = R U`.
fn as_it_is(own: &RestShape, corners: [DVec3; 3]) -> Option<RestShape> {
    let (warp, weft) = own.gradients()?;
    let image = |weights: [f64; 3]| corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2];
    let (u, v) = (image(warp), image(weft));
    let metric = DMat2::from_cols(DVec2::new(u.dot(u), u.dot(v)), DVec2::new(u.dot(v), v.dot(v)));
    let root = metric.determinant().max(0.0).sqrt();
    let scale = (metric.x_axis.x + metric.y_axis.y + 2.0 * root).sqrt();
    let stretch = (metric + DMat2::from_diagonal(DVec2::splat(root))) * scale.recip();
    let shape = RestShape { sides: own.sides.map(|side| stretch * side) };
    (shape.area() > THIN * own.area()).then_some(shape)
}

/// Thinner triangles, as a share of their area at rest, do not yield.
const THIN: f64 = 0.05;

/// The strips of all BLI contours on cloth, with a stiff ring for every triangle of a strip. Triangles beyond the model
/// belong to bodies and are never torn.
pub fn tear(model: &Model, tangle: &Tangle) -> Tear {
    tear_with(model, tangle, |depth| depth)
}

/// The same with as many stiff rings as `rings` makes of the depth of a strip.
fn tear_with(model: &Model, tangle: &Tangle, rings: fn(usize) -> usize) -> Tear {
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
        tear.depth += strip.len();
        tear.deepest = tear.deepest.max(strip.len());
        let hinges = hinges_around(model, loop_vertex, rings(strip.len()).clamp(1, MOST_RINGS));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Assembly, Workspace, analyze};
    use crate::model::Cloth;
    use crate::rest_shape::principal_stretches;
    use crate::samples::{self, Cut, Recipe};
    use crate::state::State;

    const OWN: RestShape = RestShape { sides: [DVec2::new(0.02, 0.001), DVec2::new(-0.003, 0.015)] };

    #[test]
    fn what_yields_is_unstrained_where_it_is_and_turned_as_it_was() {
        let corners = [DVec3::new(0.1, 0.2, 0.3), DVec3::new(0.13, 0.2, 0.31), DVec3::new(0.1, 0.19, 0.33)];
        let shape = as_it_is(&OWN, corners).unwrap();
        let [most, least] = principal_stretches(&shape, corners).unwrap();
        assert!((most - 1.0).abs() < 1e-9 && (least - 1.0).abs() < 1e-9, "{most} {least}");
        // U is symmetric: no turn within the plane.
        let stretch = DMat2::from_cols(shape.sides[0], shape.sides[1]) * OWN.inverse().unwrap();
        assert!((stretch.x_axis.y - stretch.y_axis.x).abs() < 1e-9);
        assert!(as_it_is(&OWN, [corners[0]; 3]).is_none(), "a point has no shape");
    }

    #[test]
    fn what_has_yielded_goes_back_to_its_own_shape() {
        let mut shape = RestShape { sides: OWN.sides.map(|side| 2.5 * side) };
        let steps = (0..100).take_while(|_| go_back(&mut shape, &OWN, 0.8)).count();
        assert!(
            (20..30).contains(&steps),
            "1.5 of a side are a hundredth after ln(150)/ln(1.25) = 22 steps, not {steps}"
        );
        assert!(shape.sides[0].distance(OWN.sides[0]) < 0.01 * OWN.sides[0].length());
    }

    fn apply(tearing: &mut Tearing, model: &Model, tangle: &Tangle, state: &mut State) -> Tear {
        let rest = (state.rest_shapes.as_mut_slice(), state.hinge_stiffness.as_mut_slice());
        tearing.apply(model, (tangle, &state.positions), 0.8, rest)
    }

    #[test]
    fn a_tear_lets_its_strip_go_and_stiffens_more_the_longer_it_stalls() {
        let recipe = Recipe { resolution: 16, cut: Cut::Irregular, seed: 1 };
        let mesh = samples::find("bli").unwrap().make(&recipe).mesh;
        let assembly = Assembly::of_cloth("bli", &mesh).unwrap();
        let (model, state) = Model::build(&[Cloth::new("bli", mesh)]).unwrap();
        let tangle = analyze(&assembly, &state.positions, &mut Workspace::default());
        let mut tearing = Tearing::default();
        let mut first = state.clone();
        let tear = apply(&mut tearing, &model, &tangle, &mut first);
        let stiffest = |state: &State| state.hinge_stiffness.iter().copied().fold(0.0, f64::max);
        assert!(tear.contours > 0 && !tearing.is_over());
        assert_eq!(stiffest(&first), STIFFENING);
        for &triangle in &tear.omitted {
            for hinge in model.topology.triangle_edges(triangle).into_iter().filter_map(|edge| model.hinge_at(edge)) {
                assert_eq!(first.hinge_stiffness[hinge], 0.0);
            }
        }
        let mut later = state.clone();
        apply(&mut tearing, &model, &tangle, &mut later);
        assert!((stiffest(&later) - STIFFENING / 0.8).abs() < 1e-9);
        let (mut clean, steps) = (state.clone(), 60);
        (0..steps).for_each(|_| drop(apply(&mut tearing, &model, &Tangle::default(), &mut clean)));
        assert!(tearing.is_over());
    }
}
