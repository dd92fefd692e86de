//! Mesh tearing: a fold that bites into itself from the boundary is let go and unfolds.
//!
//! The triangles under the trace from boundary to loop vertex are left out of contact with their own sheet, so that
//! the two wings are free, and hinges around the loop vertex are stiffened, half as many rings as the tear is deep, and
//! flat at rest, so that the fold slides out. The strip is found anew every step. (Cha 2022, 5.3)
//!
//! An elastic strip would hold the fold shut. Here it carries no force: its hinges do not bend back, its triangles are
//! at rest in the shape that they just have, with a share of their stiffness. What leaves the strip goes back to its
//! own shape by `1 / gamma` per 0.02 s, with all of its stiffness. The longer a tear has not become less deep, the
//! stiffer its rings are. A tear that stays as deep at the stiffest is given up: its strip is whole again, and the
//! fold stays as it is.
//!
//! Guarantees: where nothing is torn and nothing yields, rest shapes, angles and stiffness are left alone; angles that
//! were laid flat are given back when the tear is over.
//! Does not: act on bodies' triangles; prove that the fold opens.

use super::bli::{self, Bli};
use crate::analysis::Tangle;
use crate::model::Model;
use crate::rest_shape::RestShape;
use crate::untangle::Remedy;
use std::collections::BTreeMap;
use unsnarl_geometry::math::{DMat2, DVec2, DVec3};
use unsnarl_geometry::{TriangleId, VertexId};

/// What tearing asks for in one step.
#[derive(Clone, Debug, Default)]
pub struct Tear {
    /// Triangles to leave out of contact, sorted.
    pub omitted: Vec<TriangleId>,
    /// The loop vertex of each torn contour and the hinges around it.
    pub folds: Vec<(VertexId, Vec<usize>)>,
    /// How many contours are torn.
    pub contours: usize,
    /// How many triangles all strips have together.
    pub depth: usize,
    /// How many the longest has.
    pub deepest: usize,
    /// How many tears are given up.
    pub stalled: usize,
}

impl Tear {
    fn add(&mut self, model: &Model, bli: &Bli, rings: usize) {
        self.contours += 1;
        self.depth += bli.depth();
        self.deepest = self.deepest.max(bli.depth());
        self.folds.push((bli.loop_vertex, hinges_around(model, bli.loop_vertex, rings.clamp(1, MOST_RINGS))));
        self.omitted.extend(&bli.strip);
    }

    fn finish(mut self) -> Self {
        self.omitted.sort_unstable();
        self.omitted.dedup();
        self
    }
}

/// How much stiffer hinges are around a loop vertex at first,
const STIFFENING: f64 = 300.0;
/// and at most.
const MOST_STIFFENING: f64 = 1e5;
/// A tear is given up when so many times 0.02 s at the stiffest have made it no less deep,
const MOST_WAITED: f64 = 25.0;
/// or when it is this old, in times of 0.02 s.
const OLDEST: f64 = 200.0;
/// The step that `gamma` is meant for, seconds.
const USUAL_STEP: f64 = 0.02;
/// Rings stiffened at most.
const MOST_RINGS: usize = 6;

/// A tear under way.
#[derive(Clone, Debug, PartialEq)]
pub struct TearJob {
    /// Its strip in the last step, sorted.
    pub strip: Vec<TriangleId>,
    /// Its least depth so far.
    pub least_depth: usize,
    /// Since when it has not become less deep, in times of 0.02 s.
    pub waited: f64,
    /// Since when it is torn, in times of 0.02 s.
    pub age: f64,
}

impl TearJob {
    /// Whether it is given up.
    pub fn is_stalled(&self, gamma: f64) -> bool {
        let until_stiffest = (STIFFENING / MOST_STIFFENING).ln() / gamma.ln();
        self.waited > until_stiffest + MOST_WAITED || self.age > OLDEST
    }

    fn stiffening(&self, gamma: f64) -> f64 {
        (STIFFENING * gamma.powf(-self.waited)).min(MOST_STIFFENING)
    }
}

/// Tearing under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tearing {
    /// The tears, in the order of their contours.
    pub jobs: Vec<TearJob>,
    /// Triangles that have yielded, with the rest shapes in force until they have gone back.
    pub yielded: BTreeMap<TriangleId, RestShape>,
    /// Hinges that are flat at rest while they are torn, with their rest angles, in order.
    pub angles: Vec<(usize, f64)>,
}

/// How fast tears go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TearPace {
    /// What 0.02 s leave of a difference.
    pub gamma: f64,
    /// Length of the step, seconds.
    pub step: f64,
    /// What is left of the stiffness of torn triangles.
    pub strip_stiffness: f64,
}

impl Tearing {
    /// The tears of this step with strips that stay elastic and are not remembered.
    pub fn apply_elastic(&mut self, model: &Model, folds: &[Bli], stiffening: f64, remedy: &mut Remedy) -> Tear {
        self.yielded.clear();
        let mut tear = Tear::default();
        folds.iter().for_each(|bli| tear.add(model, bli, bli.depth()));
        for &hinge in tear.folds.iter().flat_map(|(_, hinges)| hinges) {
            remedy.hinge_stiffness[hinge] = stiffening;
        }
        tear.finish()
    }

    /// The tears of this step, made in rest shapes, angles and stiffness; all of them are those of cloth that is not
    /// torn before.
    pub fn apply(
        &mut self,
        model: &Model,
        (folds, positions): (&[Bli], &[DVec3]),
        pace: TearPace,
        remedy: &mut Remedy,
    ) -> Tear {
        self.jobs = folds.iter().map(|bli| self.continued(bli, pace.step / USUAL_STEP)).collect();
        let mut tear = Tear::default();
        for (bli, job) in folds.iter().zip(&self.jobs) {
            if job.is_stalled(pace.gamma) {
                tear.stalled += 1;
                continue;
            }
            tear.add(model, bli, bli.depth().div_ceil(2));
            let stiffening = job.stiffening(pace.gamma);
            for &hinge in tear.folds.last().into_iter().flat_map(|(_, hinges)| hinges) {
                remedy.hinge_stiffness[hinge] = remedy.hinge_stiffness[hinge].max(stiffening);
            }
        }
        let tear = tear.finish();
        self.lay_flat(&tear, &mut remedy.rest_angles);
        let gamma = pace.gamma.powf(pace.step / USUAL_STEP);
        let is_torn = |triangle: &TriangleId| tear.omitted.binary_search(triangle).is_ok();
        self.yielded
            .retain(|triangle, shape| is_torn(triangle) || go_back(shape, &model.rest_shapes[triangle.index()], gamma));
        for &triangle in &tear.omitted {
            let corners = model.topology.triangle(triangle).map(|corner| positions[corner.index()]);
            if let Some(shape) = as_it_is(&model.rest_shapes[triangle.index()], corners) {
                self.yielded.insert(triangle, shape);
            }
            remedy.triangle_stiffness[triangle.index()] = pace.strip_stiffness;
            for edge in model.topology.triangle_edges(triangle) {
                model.hinge_at(edge).into_iter().for_each(|hinge| remedy.hinge_stiffness[hinge] = 0.0);
            }
        }
        for (triangle, shape) in &self.yielded {
            remedy.rest_shapes[triangle.index()] = *shape;
        }
        tear
    }

    /// The job of a fold, one step older: that whose last strip has its loop vertex, else that with most of its
    /// triangles, else a new one. The loop vertex moves within the last strip, because contact keeps all else apart.
    fn continued(&self, bli: &Bli, step: f64) -> TearJob {
        let mut strip = bli.strip.clone();
        strip.sort_unstable();
        let shared = |job: &TearJob| strip.iter().filter(|triangle| job.strip.binary_search(triangle).is_ok()).count();
        let last = bli.strip.last();
        let has_loop = |job: &&TearJob| last.is_some_and(|last| job.strip.binary_search(last).is_ok());
        let nearest = self.jobs.iter().rev().max_by_key(|job| shared(job)).filter(|job| shared(job) > 0);
        let depth = strip.len();
        match self.jobs.iter().find(has_loop).or(nearest) {
            None => TearJob { strip, least_depth: depth, waited: 0.0, age: 0.0 },
            Some(job) => {
                let waited = if depth < job.least_depth { 0.0 } else { job.waited + step };
                TearJob { strip, least_depth: job.least_depth.min(depth), waited, age: job.age + step }
            }
        }
    }

    /// Lays hinges of torn folds flat. What was flat before and is not any more has its own angle already.
    fn lay_flat(&mut self, tear: &Tear, rest_angles: &mut [f64]) {
        let mut hinges: Vec<usize> = tear.folds.iter().flat_map(|(_, hinges)| hinges.iter().copied()).collect();
        hinges.sort_unstable();
        hinges.dedup();
        self.angles = hinges.into_iter().map(|hinge| (hinge, rest_angles[hinge])).collect();
        self.angles.iter().for_each(|&(hinge, _)| rest_angles[hinge] = 0.0);
    }

    /// Gives hinges their own angles back.
    pub fn give_back_angles(&mut self, rest_angles: &mut [f64]) {
        for (hinge, angle) in self.angles.drain(..) {
            rest_angles[hinge] = angle;
        }
    }

    /// Hinges that are to stay flat.
    pub fn keep_flat(&mut self, hinges: &[usize]) {
        self.angles.retain(|(hinge, _)| !hinges.contains(hinge));
    }

    /// Whether a fold was torn in the last step.
    pub fn has(&self, bli: &Bli) -> bool {
        bli.strip.last().is_some_and(|last| self.jobs.iter().any(|job| job.strip.binary_search(last).is_ok()))
    }

    /// For how many times 0.02 s no tear has become less deep, at most.
    pub fn waited(&self) -> f64 {
        self.jobs.iter().map(|job| job.waited).fold(0.0, f64::max)
    }

    /// Whether everything has its own shape at rest.
    pub fn is_over(&self) -> bool {
        self.yielded.is_empty()
    }

    /// Whether there is nothing to go on with or to give back.
    pub fn is_idle(&self) -> bool {
        self.is_over() && self.jobs.is_empty() && self.angles.is_empty()
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
    let mut tear = Tear::default();
    for bli in bli::find(tangle, model.topology.triangle_count()) {
        tear.add(model, &bli, bli.depth());
    }
    tear.finish()
}

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
    use crate::rest_shape::principal_stretches;
    use crate::samples::Cut;
    use crate::state::State;
    use crate::untangle::folds::bli::tests::made;

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

    fn apply(tearing: &mut Tearing, model: &Model, tangle: &Tangle, state: &State) -> (Tear, Remedy) {
        let mut remedy = Remedy {
            rest_shapes: model.rest_shapes.clone(),
            triangle_stiffness: vec![1.0; model.rest_shapes.len()],
            rest_angles: vec![0.7; model.hinges.len()],
            hinge_stiffness: vec![1.0; model.hinges.len()],
            ..Remedy::default()
        };
        let folds = bli::find(tangle, model.topology.triangle_count());
        let pace = TearPace { gamma: 0.8, step: 0.02, strip_stiffness: 0.0 };
        (tearing.apply(model, (&folds, &state.positions), pace, &mut remedy), remedy)
    }

    fn stiffest(remedy: &Remedy) -> f64 {
        remedy.hinge_stiffness.iter().copied().fold(0.0, f64::max)
    }

    #[test]
    fn a_tear_lets_its_strip_go_and_stiffens_more_the_longer_it_stalls() {
        let (model, state, _, tangle) = made("bli", Cut::Irregular, 1);
        let mut tearing = Tearing::default();
        let (tear, first) = apply(&mut tearing, &model, &tangle, &state);
        assert!(tear.contours > 0 && !tearing.is_over());
        assert_eq!(stiffest(&first), STIFFENING);
        for &triangle in &tear.omitted {
            assert_eq!(first.triangle_stiffness[triangle.index()], 0.0);
            for hinge in model.topology.triangle_edges(triangle).into_iter().filter_map(|edge| model.hinge_at(edge)) {
                assert_eq!(first.hinge_stiffness[hinge], 0.0);
            }
        }
        for &hinge in &tear.folds[0].1 {
            assert_eq!(first.rest_angles[hinge], 0.0, "a ring is flat");
        }
        let (_, later) = apply(&mut tearing, &model, &tangle, &state);
        assert!((stiffest(&later) - STIFFENING / 0.8).abs() < 1e-9);
    }

    #[test]
    fn after_the_last_tear_stiffness_is_one_and_angles_are_given_back() {
        let (model, state, _, tangle) = made("bli", Cut::Irregular, 1);
        let mut tearing = Tearing::default();
        let (_, mut torn) = apply(&mut tearing, &model, &tangle, &state);
        assert!(!tearing.is_idle());
        tearing.give_back_angles(&mut torn.rest_angles);
        assert!(torn.rest_angles.iter().all(|&angle| angle == 0.7));
        let steps = (0..100).take_while(|_| {
            let (_, clean) = apply(&mut tearing, &model, &Tangle::default(), &state);
            assert!(clean.hinge_stiffness.iter().chain(&clean.triangle_stiffness).all(|&factor| factor == 1.0));
            !tearing.is_idle()
        });
        assert!(steps.count() < 60);
    }

    #[test]
    fn a_tear_that_does_not_become_less_deep_is_given_up() {
        let (model, state, _, tangle) = made("bli", Cut::Regular, 1);
        let mut tearing = Tearing::default();
        // ln(1e5 / 300) / ln(1 / 0.8) = 26.03 steps until the stiffest, 25 more, and the first, which has not waited.
        let steps = (0..100).take_while(|_| apply(&mut tearing, &model, &tangle, &state).0.stalled == 0);
        assert_eq!(steps.count(), 52);
        let (tear, whole) = apply(&mut tearing, &model, &tangle, &state);
        assert!(tear.omitted.is_empty() && whole.triangle_stiffness.iter().all(|&factor| factor == 1.0));
    }
}
