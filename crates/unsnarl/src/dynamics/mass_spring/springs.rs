//! Springs along the edges of the mesh, and the bending mode at every hinge.
//!
//! A spring pulls with `k (l - l0) / l0`, where `k = E (A1 + A2) / l0` (newtons), so that the speed of sound belongs to the
//! fabric and not to the mesh; on equilateral meshes `E` is Young's modulus exactly. `E` is the fabric's stretch along the
//! spring's direction in its panel. Bending pulls along the mode with `2 (sin(angle/2) - sin(rest/2))`. (Bridson 2003, 1.2, 1.4)
//!
//! Guarantees: forces of every element sum to zero and have no moment.
//! Departs: a spring that the wanted step could not carry is softened, and strain limiting holds it (1.3). Damping acts on the rate
//! of the same strain and of the same angle, with the fabric's damping time, so that it converges like the elastic part.

use crate::dynamics::hinge;
use crate::dynamics::pattern::Pattern;
use crate::geometry::{DMat3, DVec3, EdgeId, VertexId};
use crate::model::Model;
use crate::state::State;
use rayon::prelude::*;

/// A spring as the rest shapes in force make it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spring {
    /// Metres.
    pub rest_length: f64,
    /// Newtons per strain.
    pub stiffness: f64,
    /// Seconds.
    pub damping: f64,
    /// Largest extension as a share of the length at rest.
    pub stretch_limit: f64,
    /// Largest compression.
    pub compression_limit: f64,
}

/// A spring at its place: `force on the end vertex = -pull`, damping matrix `resistance d d^T`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stretched {
    direction: DVec3,
    tension: f64,
    resistance: f64,
}

/// A hinge at its place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Folded {
    gradient: [DVec3; 4],
    moment: f64,
    resistance: f64,
}

impl Stretched {
    /// Elastic force on the first or second vertex.
    pub fn force(&self, corner: usize) -> DVec3 {
        if corner == 0 { self.direction * self.tension } else { self.direction * -self.tension }
    }

    /// Damping block.
    pub fn block(&self, row: usize, column: usize) -> DMat3 {
        let sign = if row == column { self.resistance } else { -self.resistance };
        crate::dynamics::air::outer(self.direction) * sign
    }
}

impl Folded {
    /// Elastic force on a corner.
    pub fn force(&self, corner: usize) -> DVec3 {
        self.gradient[corner] * -self.moment
    }

    /// Damping block.
    pub fn block(&self, row: usize, column: usize) -> DMat3 {
        let (left, right) = (self.gradient[row] * self.resistance, self.gradient[column]);
        DMat3::from_cols(left * right.x, left * right.y, left * right.z)
    }
}

/// All springs, in the order of the edges. `softest_step`: springs that could not be stepped this far are softened;
/// 0 softens none.
pub fn springs(model: &Model, state: &State, softest_step: f64) -> Vec<Spring> {
    let mut springs: Vec<Spring> =
        (0..model.topology.edge_count()).into_par_iter().map(|edge| spring(model, state, EdgeId::new(edge))).collect();
    if softest_step > 0.0 {
        let allowed = (1.2 / softest_step) * (1.2 / softest_step);
        let rates = stretch_rates(model, &springs);
        let share = |vertex: VertexId| (allowed / rates[vertex.index()]).min(1.0);
        for (spring, [a, b]) in springs.iter_mut().zip(model.topology.edges()) {
            spring.stiffness *= share(*a).min(share(*b));
        }
    }
    springs
}

fn spring(model: &Model, state: &State, edge: EdgeId) -> Spring {
    let mut out = Spring::default();
    let triangles = model.topology.edge_triangles(edge);
    for &triangle in triangles {
        let sides = model.topology.triangle_edges(triangle);
        let side = sides.iter().position(|&other| other == edge).expect("the edge is a side of its triangles");
        let shape = &state.rest_shapes[triangle.index()];
        let along = shape.side(side, (side + 1) % 3);
        let length = along.length();
        let fabric = model.fabric(triangle);
        out.rest_length += length;
        out.damping += fabric.stretch_damping;
        out.stretch_limit += fabric.stretch_limit;
        out.compression_limit += fabric.compression_limit;
        if length > 0.0 {
            let stretch = fabric.stretch_along(along.x / length, along.y / length) * shape.area() / length;
            out.stiffness += state.triangle_stiffness[triangle.index()] * stretch;
        }
    }
    let share = 1.0 / triangles.len().max(1) as f64;
    for number in [&mut out.rest_length, &mut out.damping, &mut out.stretch_limit, &mut out.compression_limit] {
        *number *= share;
    }
    out
}

/// For every vertex a bound on the squared frequency of its springs: row sums of the stiffness over the mass.
fn stretch_rates(model: &Model, springs: &[Spring]) -> Vec<f64> {
    (0..model.masses.len())
        .map(|vertex| {
            let edges = model.topology.vertex_edges(VertexId::new(vertex)).iter();
            let sum: f64 = edges
                .map(|edge| &springs[edge.index()])
                .filter(|s| s.rest_length > 0.0)
                .map(|s| s.stiffness / s.rest_length)
                .sum();
            (2.0 * sum / model.masses[vertex]).max(f64::MIN_POSITIVE)
        })
        .collect()
}

/// The longest step that explicit elasticity bears: nine tenths of two over the bound on the highest frequency.
pub fn stable_step(model: &Model, state: &State, softest_step: f64) -> f64 {
    let springs = springs(model, state, softest_step);
    let mut rates = stretch_rates(model, &springs);
    for (index, element) in model.hinges.iter().enumerate() {
        let points = element.vertices.map(|vertex| state.positions[vertex.index()]);
        let Some((_, gradient)) = hinge::angle_and_gradient(points) else { continue };
        let reach: f64 = gradient.iter().map(|slope| slope.length()).sum();
        for (vertex, slope) in element.vertices.iter().zip(gradient) {
            let stiffness = element.stiffness * state.hinge_stiffness[index];
            rates[vertex.index()] += stiffness * slope.length() * reach / model.masses[vertex.index()];
        }
    }
    let highest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    1.8 / highest.sqrt()
}

/// All elements at some positions.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    stretched: Vec<Stretched>,
    folded: Vec<Folded>,
}

impl Elements {
    /// Evaluates springs and hinges.
    pub fn evaluate(&mut self, model: &Model, state: &State, springs: &[Spring], positions: &[DVec3]) {
        let point = |vertex: VertexId| positions[vertex.index()];
        (model.topology.edges().par_iter().zip(springs))
            .map(|(ends, spring)| {
                let across = point(ends[1]) - point(ends[0]);
                let Some(direction) = across.try_normalize() else { return Stretched::default() };
                if spring.rest_length <= 0.0 {
                    return Stretched::default();
                }
                let strain = across.length() / spring.rest_length - 1.0;
                let resistance = spring.stiffness * spring.damping / spring.rest_length;
                Stretched { direction, tension: spring.stiffness * strain, resistance }
            })
            .collect_into_vec(&mut self.stretched);
        (model.hinges.par_iter().zip(&state.rest_angles).zip(&state.hinge_stiffness))
            .map(|((element, &rest), &factor)| {
                let Some((angle, gradient)) = hinge::angle_and_gradient(element.vertices.map(point)) else {
                    return Folded::default();
                };
                let stiffness = element.stiffness * factor;
                let moment = 2.0 * stiffness * ((0.5 * angle).sin() - (0.5 * rest).sin());
                Folded { gradient, moment, resistance: stiffness * element.damping }
            })
            .collect_into_vec(&mut self.folded);
    }

    /// The elastic force on the vertex of a row.
    pub fn force(&self, pattern: &Pattern, row: usize) -> DVec3 {
        let mut sum = DVec3::ZERO;
        for item in pattern.edges.at(row) {
            sum += self.stretched[item.element as usize].force(item.row as usize);
        }
        for item in pattern.hinges.at(row) {
            sum += self.folded[item.element as usize].force(item.row as usize);
        }
        sum
    }

    /// The damping block of a slot.
    pub fn damping(&self, pattern: &Pattern, slot: usize) -> DMat3 {
        let mut sum = DMat3::ZERO;
        for item in pattern.edges.at(slot) {
            sum += self.stretched[item.element as usize].block(item.row as usize, item.column as usize);
        }
        for item in pattern.hinges.at(slot) {
            sum += self.folded[item.element as usize].block(item.row as usize, item.column as usize);
        }
        sum
    }
}
