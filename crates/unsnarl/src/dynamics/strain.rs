//! Strain limits after contact: triangles that are drawn out beyond what their fabric bears are drawn together again.
//!
//! Contact moves single vertices and knows no stretch. Here every triangle has three limits: along warp and weft that
//! of its fabric, but not below [`MILD`]; in its longest direction not below [`BIAS`], for woven cloth gives on the
//! bias. With the corners' weights `g` of a direction the stretch along it is `|sum g x|`; a stretch beyond its limit
//! is projected back, `x_i -= w_i g_i d C / sum(w g^2)`, triangle after triangle, in turn with what keeps near pairs
//! from approaching. (Bridson 2003, 1.3 limits springs in this way; triangles, so that slivers are limited too, and
//! contacts are ours)
//!
//! Guarantees: linear and angular momentum of free vertices are kept, but for what contacts with prescribed vertices
//! take; vertices without inverse mass stay; the order is fixed.
//! Does not: prove that nothing crosses on the way; contact does, and stops what would. Strain beyond the limits that
//! was there at the start of the step is worked off by [`RATE`] a step, so that cloth does not snap.

use crate::geometry::{DVec3, Stencil, TriangleId, VertexId};
use crate::model::Model;
use crate::rest_shape::RestShape;
use crate::state::State;
use rayon::prelude::*;

/// The share by which the longest direction may always grow: the bias of woven cloth locks at an angle of about 25
/// degrees.
pub const BIAS: f64 = 0.2;
/// Yarns may always grow by this share: the solve before contact balances mild strain by itself, and it is everywhere
/// where a tight garment lies on a body.
pub const MILD: f64 = 0.05;
/// The part of a stretch from before the step that is undone in a step.
pub const RATE: f64 = 0.1;
/// Nothing is done before a stretch is beyond its limit by this part of it: what was drawn together is not looked after
/// again in every step.
const START: f64 = 0.01;
/// Where something is done, stretches beyond a limit by less than this part of it are left.
const TOLERANCE: f64 = 1e-3;
/// Sweeps over what is drawn out and what is near.
const SWEEPS: u32 = 24;

/// Two points that should not approach much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The points; vertices after those of the cloth are bodies'.
    pub stencil: Stencil,
    /// From the second to the first, length 1.
    pub normal: DVec3,
    /// How far they may approach, metres.
    pub slack: f64,
    /// What kept them apart: times the weights and inverse masses it is how far vertices went along the normal, kg m.
    pub given: f64,
}

/// What is limited.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The cloth.
    pub model: &'a Model,
    /// Where it was at the start of the step.
    pub state: &'a State,
    /// By vertex, those of bodies after those of the cloth, 1/kg; 0 for what stays.
    pub inverse_masses: &'a [f64],
}

/// How far a triangle may be drawn out along its yarns.
fn yarn_limit(model: &Model, triangle: TriangleId) -> f64 {
    1.0 + model.fabric(triangle).stretch_limit.max(MILD)
}

/// How far a triangle may be drawn out.
struct Bounds {
    warp: f64,
    weft: f64,
    longest: f64,
}

impl Bounds {
    /// Those of a triangle of a shape, among vertices that were at `start` when the step began.
    fn new(model: &Model, triangle: TriangleId, shape: &RestShape, start: [DVec3; 3]) -> Option<Self> {
        let limit = yarn_limit(model, triangle);
        let before = Stretch::of(shape, start)?;
        let bound = |limit: f64, before: f64| limit.max((1.0 - RATE) * before);
        Some(Self {
            warp: bound(limit, before.warp()),
            weft: bound(limit, before.weft()),
            longest: bound(limit.max(1.0 + BIAS), before.longest().0),
        })
    }
}

/// How a triangle is drawn out.
struct Stretch {
    /// Weights of the corners for the image of a unit step along warp and weft.
    weights: [[f64; 3]; 2],
    images: [DVec3; 2],
}

impl Stretch {
    fn of(shape: &RestShape, corners: [DVec3; 3]) -> Option<Self> {
        let (a, b) = shape.gradients()?;
        let image = |weights: [f64; 3]| corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2];
        Some(Self { weights: [a, b], images: [image(a), image(b)] })
    }

    fn warp(&self) -> f64 {
        self.images[0].length()
    }

    fn weft(&self) -> f64 {
        self.images[1].length()
    }

    /// The largest stretch and its direction in warp and weft.
    fn longest(&self) -> (f64, [f64; 2]) {
        let [u, v] = self.images;
        let (uu, vv, uv) = (u.length_squared(), v.length_squared(), u.dot(v));
        let half = 0.5 * (uu - vv);
        let radius = (half * half + uv * uv).sqrt();
        let largest = (0.5 * (uu + vv) + radius).max(0.0).sqrt();
        let (x, y) = if half >= 0.0 { (half + radius, uv) } else { (uv, radius - half) };
        let length = (x * x + y * y).sqrt();
        (largest, if length > 0.0 { [x / length, y / length] } else { [1.0, 0.0] })
    }

    fn exceeds(&self, bounds: &Bounds) -> bool {
        let share = 1.0 + START;
        self.warp() > bounds.warp * share
            || self.weft() > bounds.weft * share
            || self.longest().0 > bounds.longest * share
    }
}

/// The triangles that are drawn out too far, in order. Torn ones and those on their way back are left alone.
pub fn exceeding(model: &Model, state: &State, positions: &[DVec3]) -> Vec<TriangleId> {
    let all = (0..model.topology.triangle_count()).into_par_iter().map(TriangleId::new);
    let exceeds = |triangle: TriangleId| {
        let (shape, corners) = (&model.rest_shapes[triangle.index()], model.topology.triangle(triangle));
        let at = |places: &[DVec3]| corners.map(|corner| places[corner.index()]);
        let Some(stretch) = Stretch::of(shape, at(positions)) else { return false };
        let limit = yarn_limit(model, triangle);
        // Most are within their limits, whatever they were before.
        stretch.longest().0 > limit
            && Bounds::new(model, triangle, shape, at(&state.positions)).is_some_and(|bounds| stretch.exceeds(&bounds))
    };
    all.filter(|&triangle| is_whole(state, triangle) && exceeds(triangle)).collect()
}

/// Whether a triangle is neither torn nor on its way back.
fn is_whole(state: &State, triangle: TriangleId) -> bool {
    !state.tearing.yielded.contains_key(&triangle)
}

/// Draws triangles together until none exceeds its limits or the sweeps are over. `region` lists the triangles to look
/// at, in order; vertices of others that move should have no inverse mass.
pub fn limit(input: &Limits<'_>, region: &[TriangleId], near: &mut [Near], positions: &mut [DVec3]) {
    let Limits { model, state, inverse_masses } = *input;
    let before = positions.to_vec();
    let bounds: Vec<Option<Bounds>> = (region.par_iter())
        .map(|&triangle| {
            let corners = model.topology.triangle(triangle).map(|corner| state.positions[corner.index()]);
            let shape = &model.rest_shapes[triangle.index()];
            if is_whole(state, triangle) { Bounds::new(model, triangle, shape, corners) } else { None }
        })
        .collect();
    let mut moved = Stamps { vertices: vec![1; positions.len()], clock: 1 };
    let (mut seen_triangles, mut seen_pairs) = (vec![0u64; region.len()], vec![0u64; near.len()]);
    for _ in 0..SWEEPS {
        let begun = moved.clock;
        for (at, &triangle) in region.iter().enumerate() {
            let corners = model.topology.triangle(triangle);
            let Some(bounds) = &bounds[at] else { continue };
            if moved.are_newer(&corners, seen_triangles[at]) {
                let shape = &model.rest_shapes[triangle.index()];
                // Its limits disturb each other, so that it looks again after what it did itself.
                seen_triangles[at] = moved.clock;
                draw_together((shape, bounds), corners, inverse_masses, positions, &mut moved);
            }
        }
        for (at, pair) in near.iter_mut().enumerate() {
            if moved.are_newer(&pair.stencil.vertices, seen_pairs[at]) {
                keep_apart(pair, inverse_masses, &before, positions, &mut moved);
                seen_pairs[at] = moved.clock;
            }
        }
        if moved.clock == begun {
            break;
        }
    }
}

/// When vertices were moved.
struct Stamps {
    vertices: Vec<u64>,
    clock: u64,
}

impl Stamps {
    fn are_newer(&self, vertices: &[VertexId], time: u64) -> bool {
        vertices.iter().any(|vertex| self.vertices[vertex.index()] > time)
    }

    fn note(&mut self, vertices: &[VertexId], inverse_masses: &[f64]) {
        self.clock += 1;
        for vertex in vertices.iter().filter(|vertex| inverse_masses[vertex.index()] > 0.0) {
            self.vertices[vertex.index()] = self.clock;
        }
    }
}

/// Projects a triangle on its limits, one after the other.
fn draw_together(
    (shape, bounds): (&RestShape, &Bounds),
    corners: [VertexId; 3],
    inverse_masses: &[f64],
    positions: &mut [DVec3],
    moved: &mut Stamps,
) {
    for which in 0..3 {
        let Some(stretch) = Stretch::of(shape, corners.map(|corner| positions[corner.index()])) else { return };
        let (bound, length, [along, across]) = match which {
            0 => (bounds.warp, stretch.warp(), [1.0, 0.0]),
            1 => (bounds.weft, stretch.weft(), [0.0, 1.0]),
            _ => {
                let (length, direction) = stretch.longest();
                (bounds.longest, length, direction)
            }
        };
        if length <= bound * (1.0 + TOLERANCE) {
            continue;
        }
        let weights: [f64; 3] = std::array::from_fn(|k| along * stretch.weights[0][k] + across * stretch.weights[1][k]);
        let yielding: f64 = (0..3).map(|k| weights[k] * weights[k] * inverse_masses[corners[k].index()]).sum();
        if yielding <= 0.0 {
            continue;
        }
        let image = stretch.images[0] * along + stretch.images[1] * across;
        let by = image * ((length - bound) / (length * yielding));
        for (corner, weight) in corners.iter().zip(weights) {
            positions[corner.index()] -= by * (weight * inverse_masses[corner.index()]);
        }
        moved.note(&corners, inverse_masses);
    }
}

/// Takes back what a pair approached beyond its slack.
fn keep_apart(pair: &mut Near, inverse_masses: &[f64], before: &[DVec3], positions: &mut [DVec3], moved: &mut Stamps) {
    let approach = pair.normal.dot(pair.stencil.apply(before)) - pair.normal.dot(pair.stencil.apply(positions));
    let compliance = pair.stencil.compliance(inverse_masses);
    if approach <= pair.slack || compliance <= 0.0 {
        return;
    }
    let given = (approach - pair.slack) / compliance;
    for (vertex, weight) in pair.stencil.vertices.iter().zip(pair.stencil.weights) {
        positions[vertex.index()] += pair.normal * (given * weight * inverse_masses[vertex.index()]);
    }
    pair.given += given;
    moved.note(&pair.stencil.vertices, inverse_masses);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::DVec2;
    use crate::model::Cloth;
    use crate::scene::sheet::{Diagonals, sheet};

    /// A sheet of 12 by 9 cells, and numbers between -1 and 1 that depend on a seed.
    fn made(seed: u64) -> (Model, State, impl FnMut() -> f64) {
        let (mesh, _) = sheet(DVec2::new(0.3, 0.2), 12, 9, Diagonals::Alternating);
        let (model, state) = Model::build(&[Cloth::new("sheet", mesh)]).unwrap();
        let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let number = move || {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (model, state, number)
    }

    fn all(model: &Model) -> Vec<TriangleId> {
        (0..model.topology.triangle_count()).map(TriangleId::new).collect()
    }

    /// How far the worst triangle is beyond its limits, as a share of them.
    fn worst(model: &Model, state: &State, positions: &[DVec3]) -> f64 {
        let over = |triangle: TriangleId| {
            let (shape, corners) = (&model.rest_shapes[triangle.index()], model.topology.triangle(triangle));
            let at = |places: &[DVec3]| corners.map(|corner| places[corner.index()]);
            let (stretch, bounds) =
                (Stretch::of(shape, at(positions))?, Bounds::new(model, triangle, shape, at(&state.positions))?);
            let pairs =
                [(stretch.warp(), bounds.warp), (stretch.weft(), bounds.weft), (stretch.longest().0, bounds.longest)];
            Some(pairs.into_iter().map(|(length, bound)| length / bound - 1.0).fold(0.0, f64::max))
        };
        all(model).into_iter().filter_map(over).fold(0.0, f64::max)
    }

    /// Single vertices are thrown out of a sheet, as impulses do it: limits bring the strain back and keep both
    /// momenta.
    #[test]
    fn what_contact_drew_out_comes_back_and_momentum_is_kept() {
        for seed in 1..=8 {
            let (model, state, mut number) = made(seed);
            let mut positions = state.positions.clone();
            for vertex in (0..positions.len()).step_by(11) {
                positions[vertex] += 0.03 * DVec3::new(number(), number(), number());
            }
            let inverse_masses: Vec<f64> = model.masses.iter().map(|mass| mass.recip()).collect();
            let before = positions.clone();
            let strained = worst(&model, &state, &positions);
            assert!(strained > 0.3 && !exceeding(&model, &state, &positions).is_empty(), "seed {seed}: {strained}");
            let limits = Limits { model: &model, state: &state, inverse_masses: &inverse_masses };
            limit(&limits, &all(&model), &mut [], &mut positions);
            let left = worst(&model, &state, &positions);
            assert!(left < 0.1 * strained, "seed {seed}: {strained} to {left}");
            let moved = || before.iter().zip(&positions).zip(&model.masses);
            let momentum: DVec3 = moved().map(|((from, to), mass)| (*to - *from) * *mass).sum();
            let size: f64 = moved().map(|((from, to), mass)| to.distance(*from) * mass).sum();
            assert!(momentum.length() < 1e-12 * size, "seed {seed}: {momentum}");
        }
    }

    #[test]
    fn strain_from_before_the_step_is_worked_off_by_its_rate() {
        let (model, mut state, _) = made(1);
        for point in &mut state.positions {
            point.x *= 2.0;
        }
        let inverse_masses: Vec<f64> = model.masses.iter().map(|mass| mass.recip()).collect();
        let limits = Limits { model: &model, state: &state, inverse_masses: &inverse_masses };
        let mut positions = state.positions.clone();
        for _ in 0..20 {
            limit(&limits, &all(&model), &mut [], &mut positions);
        }
        let largest = all(&model).into_iter().filter_map(|triangle| {
            let corners = model.topology.triangle(triangle).map(|corner| positions[corner.index()]);
            Some(Stretch::of(&model.rest_shapes[triangle.index()], corners)?.longest().0)
        });
        let largest = largest.fold(0.0, f64::max);
        let wanted = 2.0 * (1.0 - RATE);
        assert!((largest - wanted).abs() < 0.01 * wanted, "{largest}");
    }

    /// A corner is drawn out, and a point of a body lies in the way back: the corner comes as near as it may.
    #[test]
    fn what_is_near_keeps_its_slack_and_what_is_held_stays() {
        let (model, state, _) = made(1);
        let count = model.masses.len();
        let mut positions = state.positions.clone();
        let corner = VertexId::new(0);
        let inward = (positions[count / 2] - positions[0]).normalize();
        positions[0] -= inward * 0.02;
        // A wall of three vertices of a body, across the way back.
        let slack = 0.001;
        positions.extend([DVec3::ZERO; 3]);
        let mut inverse_masses: Vec<f64> = model.masses.iter().map(|mass| mass.recip()).collect();
        inverse_masses[5] = 0.0;
        inverse_masses.extend([0.0; 3]);
        let wall = [count, count + 1, count + 2].map(VertexId::new);
        let stencil = Stencil::vertex_triangle(corner, wall, [0.5, 0.25, 0.25]);
        let mut near = [Near { stencil, normal: -inward, slack, given: 0.0 }];
        let (before, held) = (positions[0], positions[5]);
        let limits = Limits { model: &model, state: &state, inverse_masses: &inverse_masses };
        limit(&limits, &all(&model), &mut near, &mut positions);
        let approached = (positions[0] - before).dot(inward);
        assert!((approached - slack).abs() < 1e-9, "{approached}");
        assert!(near[0].given > 0.0);
        assert_eq!(positions[5], held);
    }
}
