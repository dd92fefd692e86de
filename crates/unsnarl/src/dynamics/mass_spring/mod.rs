//! Bridson's cloth: springs and bending modes, explicit in elasticity and implicit in damping, with strain limits.
//!
//! Three orders of the same half steps (Bridson 2003, 1.5): [`Newmark::Central`] (second order, the default),
//! [`Newmark::Monotone`] (one solve, no overshoot under strong damping, constant steps only) and
//! [`Newmark::VariableStep`] (two solves, both virtues). Positions come from the limited half-step velocity; contact
//! may change them; [`finish`] solves for the new velocity from the unlimited half step plus what contact changed.
//!
//! Guarantees: stable whatever the damping, while the step is below [`springs::stable_step`]; led vertices are met
//! exactly.

pub mod springs;
pub mod strain_limit;

use super::air::{self, Air};
use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::{self as cg, Correction, Freedom, Limits, SolverMemory};
use super::sewing;
use super::{DynamicsReport, Guidance, Proposal, Start, Support, constraints};
use crate::geometry::{DMat3, DVec3, VertexId};
use crate::settings::{DynamicsSettings, Newmark};
use rayon::prelude::*;
use springs::{Elements, Spring};
use strain_limit::{Limit, limit};

/// Memory of the mass-spring model.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    elements: Elements,
    matrix: BlockMatrix,
    solver: SolverMemory,
}

/// What [`propose`] leaves for [`finish`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HalfStep {
    velocities: Vec<DVec3>,
    average: Vec<DVec3>,
    goals: Vec<(VertexId, DVec3)>,
    freedom: Vec<Freedom>,
    forces: Vec<DVec3>,
    springs: Vec<Spring>,
    supports: Vec<Support>,
}

/// Candidate positions at the end of the step.
pub fn propose(start: &Start, guidance: &Guidance, settings: &DynamicsSettings, memory: &mut Memory) -> Proposal {
    let state = start.state;
    let (freedom, goals) = constraints(start, guidance);
    let springs = springs::springs(start.model, state, settings.mass_spring.step);
    let forces = outer_forces(start, guidance, settings);
    let supports = guidance.supports.clone();
    let mut half = HalfStep { velocities: Vec::new(), average: Vec::new(), goals, freedom, forces, springs, supports };
    let mut report = DynamicsReport::default();
    let mut half_step = HalfStepInput { start, settings, half: &half, memory, report: &mut report };
    let explicit =
        |half_step: &mut HalfStepInput| half_step.explicit(&state.positions, &state.velocities, &state.velocities);
    let implicit = |half_step: &mut HalfStepInput| half_step.implicit(&state.positions, &state.velocities);
    let (unlimited, mut average) = match settings.mass_spring.newmark {
        Newmark::Central => {
            let velocities = explicit(&mut half_step);
            (velocities.clone(), velocities)
        }
        Newmark::Monotone => (Vec::new(), implicit(&mut half_step)),
        Newmark::VariableStep => (explicit(&mut half_step), implicit(&mut half_step)),
    };
    lead(&mut average, &half, &state.positions, start.step);
    limit_strain(start, settings, &half, &state.positions, &mut average);
    lead(&mut average, &half, &state.positions, start.step);
    let mut positions: Vec<DVec3> =
        state.positions.iter().zip(&average).map(|(position, velocity)| *position + *velocity * start.step).collect();
    for &(vertex, goal) in &half.goals {
        if half.freedom[vertex.index()] == Freedom::Held {
            positions[vertex.index()] = goal;
        }
    }
    half.velocities = if unlimited.is_empty() { average.clone() } else { unlimited };
    half.average = average.clone();
    Proposal { positions, velocities: average, report, borne: Vec::new(), half_step: half }
}

/// The velocity at the end of the step, from the positions that contact left.
pub fn finish(start: &Start, resolved: &Proposal, settings: &DynamicsSettings, memory: &mut Memory) -> Vec<DVec3> {
    let half = &resolved.half_step;
    let moved = start.state.positions.iter().zip(&resolved.positions).map(|(from, to)| (*to - *from) / start.step);
    let begun: Vec<DVec3> = moved
        .zip(half.average.iter().zip(&half.velocities))
        .map(|(now, (proposed, velocity))| *velocity + (now - *proposed))
        .collect();
    let mut report = DynamicsReport::default();
    let mut half_step = HalfStepInput { start, settings, half, memory, report: &mut report };
    let mut velocities = match settings.mass_spring.newmark {
        Newmark::Central | Newmark::VariableStep => half_step.implicit(&resolved.positions, &begun),
        Newmark::Monotone => half_step.explicit(&resolved.positions, &begun, &begun),
    };
    if settings.mass_spring.newmark != Newmark::Monotone {
        limit_strain(start, settings, half, &resolved.positions, &mut velocities);
    }
    lead(&mut velocities, half, &start.state.positions, start.step);
    velocities
}

/// Gives led directions the velocity that takes them to their goals.
fn lead(velocities: &mut [DVec3], half: &HalfStep, positions: &[DVec3], step: f64) {
    for &(vertex, goal) in &half.goals {
        let at = vertex.index();
        let wanted = (goal - positions[at]) / step;
        let free = half.freedom[at];
        velocities[at] = free.filter(velocities[at]) + (wanted - free.filter(wanted));
    }
}

fn limit_strain(
    start: &Start,
    settings: &DynamicsSettings,
    half: &HalfStep,
    positions: &[DVec3],
    velocities: &mut [DVec3],
) {
    let masses = start.model.masses.iter().zip(&half.freedom);
    let inverse_masses: Vec<f64> =
        masses.map(|(mass, free)| if *free == Freedom::Held { 0.0 } else { 1.0 / mass }).collect();
    let input = Limit {
        model: start.model,
        springs: &half.springs,
        supports: &half.supports,
        inverse_masses: &inverse_masses,
        positions,
        step: start.step,
        passes: settings.mass_spring.strain_passes,
        rate: settings.mass_spring.strain_rate,
    };
    limit(&input, velocities);
}

/// Gravity, guidance and sewing threads. A guided force of stiffness `s` counts as `f / (1 + h^2 s / m)`: what it
/// would still be at the end of an implicit step.
fn outer_forces(start: &Start, guidance: &Guidance, settings: &DynamicsSettings) -> Vec<DVec3> {
    let (model, step) = (start.model, start.step);
    let mut forces: Vec<DVec3> = model.masses.iter().map(|mass| start.environment.gravity * *mass).collect();
    for (vertex, push) in guidance.forces.iter().enumerate() {
        let stiffness = guidance.stiffness.get(vertex).copied().unwrap_or(0.0);
        forces[vertex] += *push / (1.0 + step * step * stiffness / model.masses[vertex]);
    }
    let threads = sewing::threads(start, &start.state.positions, settings);
    for (stitch, thread) in model.stitches.iter().zip(threads) {
        let ends = || stitch.vertices.iter().zip(stitch.factors());
        let yielding: f64 = ends().map(|(vertex, factor)| factor * factor / model.masses[vertex.index()]).sum();
        let pull = thread.pull / (1.0 + step * step * settings.sewing * yielding);
        for (vertex, factor) in ends() {
            forces[vertex.index()] -= pull * factor;
        }
    }
    forces
}

/// One half step of velocities.
struct HalfStepInput<'a> {
    start: &'a Start<'a>,
    settings: &'a DynamicsSettings,
    half: &'a HalfStep,
    memory: &'a mut Memory,
    report: &'a mut DynamicsReport,
}

impl HalfStepInput<'_> {
    /// `from + h/2 a(positions, rate)`.
    fn explicit(&mut self, positions: &[DVec3], from: &[DVec3], rate: &[DVec3]) -> Vec<DVec3> {
        let air = self.assemble(positions, rate, 0.0);
        let model = self.start.model;
        let pattern = &model.pattern;
        let rows: Vec<DVec3> = pattern.vertex_of.iter().map(|&vertex| rate[vertex as usize]).collect();
        let mut drag = vec![DVec3::ZERO; rows.len()];
        self.memory.matrix.multiply(pattern, &rows, &mut drag);
        (0..from.len())
            .into_par_iter()
            .map(|vertex| {
                let row = pattern.row(VertexId::new(vertex));
                let force = self.force(&air, vertex, row) - drag[row];
                from[vertex] + force * (0.5 * self.start.step / model.masses[vertex])
            })
            .collect()
    }

    /// The solution of `(M + h/2 D) v = M from + h/2 f(positions)`.
    fn implicit(&mut self, positions: &[DVec3], from: &[DVec3]) -> Vec<DVec3> {
        let air = self.assemble(positions, from, 1.0);
        let model = self.start.model;
        let pattern = &model.pattern;
        let reach = 0.5 * self.start.step;
        let of = |row: usize| pattern.vertex_of[row] as usize;
        let right: Vec<DVec3> = (0..from.len())
            .into_par_iter()
            .map(|row| from[of(row)] * model.masses[of(row)] + self.force(&air, of(row), row) * reach)
            .collect();
        let freedom: Vec<Freedom> = (0..from.len()).map(|row| self.half.freedom[of(row)]).collect();
        let mut guess = from.to_vec();
        lead(&mut guess, self.half, &self.start.state.positions, self.start.step);
        let mut solution: Vec<DVec3> = (0..from.len()).map(|row| guess[of(row)]).collect();
        let limits = Limits {
            tolerance: self.settings.tolerance,
            usual: &[],
            iterations: self.settings.iterations,
            correction: Correction::None,
        };
        let Memory { matrix, solver, .. } = &mut *self.memory;
        self.report.add(cg::solve(matrix, pattern, &right, &freedom, &mut solution, limits, solver));
        (0..from.len()).map(|vertex| solution[pattern.row(VertexId::new(vertex))]).collect()
    }

    /// Evaluates the elements and gathers the matrix: damping `D`, or `M + h/2 D` with `inertia` 1.
    fn assemble(&mut self, positions: &[DVec3], velocities: &[DVec3], inertia: f64) -> Vec<Air> {
        let start = self.start;
        let (model, pattern) = (start.model, &start.model.pattern);
        let air = air::drag(model, start.environment, start.state.time, positions, velocities);
        let Memory { elements, matrix, .. } = &mut *self.memory;
        elements.evaluate(model, start.state, &self.half.springs, positions);
        matrix.reshape(pattern);
        let scale = if inertia > 0.0 { 0.5 * start.step } else { 1.0 };
        let row_count = pattern.row_count();
        let (elements, air_ref) = (&*elements, &air);
        matrix.upper.par_iter_mut().enumerate().for_each(|(at, block)| {
            *block = elements.damping(pattern, row_count + at) * scale;
        });
        matrix.diagonal.par_iter_mut().enumerate().for_each(|(row, block)| {
            let vertex = pattern.vertex_of[row] as usize;
            let drag = air_ref.get(vertex).map_or(DMat3::ZERO, |air| air.drag);
            *block =
                (elements.damping(pattern, row) + drag) * scale + DMat3::IDENTITY * (model.masses[vertex] * inertia);
        });
        air
    }

    fn force(&self, air: &[Air], vertex: usize, row: usize) -> DVec3 {
        let pushed = air.get(vertex).map_or(DVec3::ZERO, |air| air.drag * air.wind);
        self.half.forces[vertex] + pushed + self.memory.elements.force(&self.start.model.pattern, row)
    }
}

#[cfg(test)]
mod tests;
