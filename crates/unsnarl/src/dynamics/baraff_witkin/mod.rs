//! The Baraff-Witkin model: stretch and shear per triangle, bend per edge, one implicit solve per step.
//!
//! Backward Euler and BDF2 are one solve: with `x1 = x^ + g v1` the new velocity fulfils `M (v1 - v^) = g f(x1, v1)`.
//! For backward Euler `x^ = x0`, `v^ = v0`, `g` is the step; for BDF2 they extrapolate from the last two steps;
//! without inertia `v^ = 0`. Newton's method starts at `x0`. (Baraff et al. 2003, 3; Cha 2022, 6.1)
//!
//! Guarantees: the matrix is positive definite whatever the shape; constraints hold to the last bit of the update.
//! Does not: search along a Newton step; a step that distorts too much is repeated shorter by the caller.

pub mod bend;
pub mod membrane;

use super::air::{self, Air};
use super::block_matrix::BlockMatrix;
use super::conjugate_gradients::{self as cg, Correction, Freedom, Limits, Solve, SolverMemory};
use super::cushion::add_pushes;
use super::direct::{self, DirectMemory};
use super::mass_spring::HalfStep;
use super::pattern::Pattern;
use super::sewing;
use super::support::add_supports;
use super::{DynamicsReport, Guidance, Proposal, Start, constraints};
use crate::geometry::{DMat3, DVec3, VertexId};
use crate::settings::{DynamicsSettings, Integration, LinearSolver};
use bend::Bend;
use membrane::{Curvature, Membrane, StepWeights};
use rayon::prelude::*;

/// Memory of the implicit solver.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    matrix: BlockMatrix,
    solver: SolverMemory,
    direct: DirectMemory,
    membranes: Vec<Membrane>,
    bends: Vec<Bend>,
    right: Vec<DVec3>,
    change: Vec<DVec3>,
    freedom: Vec<Freedom>,
    live: Live,
}

/// What has to be evaluated: elements and blocks of vertices that are all held change nothing.
#[derive(Clone, Debug, Default)]
struct Live {
    triangles: Vec<bool>,
    hinges: Vec<bool>,
    /// Blocks right of the diagonal, in the order of the pattern's columns.
    upper: Vec<bool>,
}

impl Live {
    fn find(&mut self, start: &Start, freedom: &[Freedom], by_row: &[Freedom]) {
        let model = start.model;
        let is_live = |vertices: &[VertexId]| vertices.iter().any(|vertex| freedom[vertex.index()] != Freedom::Held);
        self.triangles.clear();
        self.triangles.extend(model.topology.triangles().iter().map(|corners| is_live(corners)));
        self.hinges.clear();
        self.hinges.extend(model.hinges.iter().map(|hinge| is_live(&hinge.vertices)));
        let pattern = &model.pattern;
        self.upper.clear();
        for (row, of_row) in by_row.iter().enumerate() {
            let columns = pattern.row_starts[row] as usize..pattern.row_starts[row + 1] as usize;
            let is_held = |column: &u32| by_row[*column as usize] == Freedom::Held;
            let live = pattern.columns[columns].iter().map(|column| *of_row != Freedom::Held || !is_held(column));
            self.upper.extend(live);
        }
    }
}

/// The point from which a step goes: `x1 = position + reach v1`, inertia from `velocity`.
struct Base {
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    reach: f64,
}

/// Candidate positions and velocities at the end of the step.
pub fn propose(start: &Start, guidance: &Guidance, settings: &DynamicsSettings, memory: &mut Memory) -> Proposal {
    let base = base(start, settings.integration);
    let (freedom, goals) = constraints(start, guidance);
    let air =
        air::drag(start.model, start.environment, start.state.time, &start.state.positions, &start.state.velocities);
    let loads = Loads { start, guidance, air: &air, settings };
    let pattern = &start.model.pattern;
    memory.matrix.reshape(pattern);
    memory.matrix.ties.set(&guidance.cushions, pattern, base.reach);
    memory.freedom.clear();
    memory.freedom.extend(pattern.vertex_of.iter().map(|&vertex| freedom[vertex as usize]));
    memory.live.find(start, &freedom, &memory.freedom);
    let masses = pattern.vertex_of.iter().map(|&vertex| start.model.masses[vertex as usize]);
    let weight: Vec<DVec3> = masses.map(|mass| start.environment.gravity * (mass * base.reach)).collect();
    let mut positions = start.state.positions.clone();
    let mut velocities: Vec<DVec3> =
        positions.iter().zip(&base.positions).map(|(here, from)| (*here - *from) / base.reach).collect();
    let mut report = DynamicsReport::default();
    let rounds = settings.newton.max(1);
    let mut support_stiffness = Vec::new();
    for round in 0..rounds {
        let mut direct = std::mem::take(&mut memory.direct);
        let prepare = || {
            if settings.solver == LinearSolver::Direct {
                direct.prepare(pattern, &guidance.cushions);
            }
        };
        rayon::join(prepare, || {
            if guidance.guess.is_empty() || rounds > 1 {
                evaluate_elements(start, &positions, &velocities, StepWeights::of(base.reach), memory);
            }
            assemble(&loads, &base, &positions, &velocities, memory);
        });
        memory.direct = direct;
        let system = (&mut memory.matrix, memory.right.as_mut_slice());
        support_stiffness = add_supports(&guidance.supports, pattern, &positions, base.reach, system);
        add_pushes(&guidance.cushions, pattern, &positions, base.reach, &mut memory.right);
        memory.change.clear();
        memory.change.resize(velocities.len(), DVec3::ZERO);
        if round == 0 {
            for (row, &vertex) in pattern.vertex_of.iter().enumerate() {
                let vertex = vertex as usize;
                let guess = guidance.guess.get(vertex).unwrap_or(&base.velocities[vertex]);
                memory.change[row] = freedom[vertex].filter(*guess - velocities[vertex]);
            }
        }
        for &(vertex, goal) in &goals {
            let (at, row) = (vertex.index(), pattern.row(vertex));
            let wanted = (goal - base.positions[at]) / base.reach - velocities[at];
            let free = freedom[at].filter(memory.change[row]);
            memory.change[row] = free + (wanted - freedom[at].filter(wanted));
        }
        let limits = Limits {
            tolerance: settings.tolerance,
            usual: &weight,
            iterations: settings.iterations,
            correction: Correction::Coarse,
        };
        report.add(solve_linear(pattern, settings.solver, limits, memory));
        for (row, &vertex) in pattern.vertex_of.iter().enumerate() {
            let vertex = vertex as usize;
            velocities[vertex] += memory.change[row];
            positions[vertex] = base.positions[vertex] + velocities[vertex] * base.reach;
        }
    }
    // A force acts over the whole step, whose reach is shorter in a two-step scheme.
    let over_step = start.step / (base.reach * base.reach);
    let borne = (guidance.supports.iter().zip(support_stiffness))
        .map(|(support, stiffness)| (*support, stiffness * support.depth(&positions) * over_step))
        .collect();
    for &(vertex, goal) in &goals {
        if freedom[vertex.index()] == Freedom::Held {
            positions[vertex.index()] = goal;
        }
    }
    Proposal { positions, velocities, report, borne, half_step: HalfStep::default() }
}

/// Solves for the change of velocity.
fn solve_linear(pattern: &Pattern, solver: LinearSolver, limits: Limits<'_>, memory: &mut Memory) -> Solve {
    let Memory { matrix, solver: iterative, direct, right, change, freedom, .. } = memory;
    let factored = match solver {
        LinearSolver::Direct => direct::solve(matrix, pattern, right, freedom, change, direct),
        LinearSolver::ConjugateGradients => None,
    };
    factored.unwrap_or_else(|| cg::solve(matrix, pattern, right, freedom, change, limits, iterative))
}

/// For BDF2 with `w` the ratio of this step to the last:
/// `x^ = ((1+w)^2 x0 - w^2 x-1) / (1+2w)`, the same for `v^`, and reach `h (1+w) / (1+2w)`.
fn base(start: &Start, integration: Integration) -> Base {
    let state = start.state;
    match (integration, &state.previous) {
        (Integration::Bdf2, Some(previous)) => {
            let ratio = start.step / previous.step;
            let whole = 1.0 + 2.0 * ratio;
            let (near, far) = ((1.0 + ratio) * (1.0 + ratio) / whole, ratio * ratio / whole);
            let mix = |now: &[DVec3], before: &[DVec3]| -> Vec<DVec3> {
                now.iter().zip(before).map(|(now, before)| *now * near - *before * far).collect()
            };
            Base {
                positions: mix(&state.positions, &previous.positions),
                velocities: mix(&state.velocities, &previous.velocities),
                reach: start.step * (1.0 + ratio) / whole,
            }
        }
        (Integration::QuasiStatic, _) => Base {
            positions: state.positions.clone(),
            velocities: vec![DVec3::ZERO; state.positions.len()],
            reach: start.step,
        },
        (Integration::BackwardEuler | Integration::Bdf2, _) => {
            Base { positions: state.positions.clone(), velocities: state.velocities.clone(), reach: start.step }
        }
    }
}

/// All that pulls at cloth besides its elasticity.
struct Loads<'a> {
    start: &'a Start<'a>,
    guidance: &'a Guidance,
    air: &'a [Air],
    settings: &'a DynamicsSettings,
}

/// Gathers the matrix and the right-hand side of one Newton round.
fn assemble(loads: &Loads, base: &Base, positions: &[DVec3], velocities: &[DVec3], memory: &mut Memory) {
    let weights = StepWeights::of(base.reach);
    let pattern = &loads.start.model.pattern;
    let stitches = &loads.start.model.stitches;
    let threads = sewing::threads(loads.start, positions, loads.settings);
    let Memory { matrix, membranes, bends, right, freedom, live, .. } = memory;
    let elastic = |slot: usize| {
        let mut sum = DMat3::ZERO;
        for item in pattern.triangles.at(slot) {
            sum += membranes[item.element as usize].block(item.row as usize, item.column as usize);
        }
        for item in pattern.hinges.at(slot) {
            sum += bends[item.element as usize].block(item.row as usize, item.column as usize);
        }
        for item in pattern.stitches.at(slot) {
            let factors = stitches[item.element as usize].factors();
            let product = factors[item.row as usize] * factors[item.column as usize];
            sum += threads[item.element as usize].stiffness * (weights.stiffness * product);
        }
        sum
    };
    let row_count = pattern.row_count();
    matrix.upper.par_iter_mut().zip(&live.upper).enumerate().for_each(|(at, (block, is_live))| {
        *block = if *is_live { elastic(row_count + at) } else { DMat3::ZERO };
    });
    right.resize(row_count, DVec3::ZERO);
    matrix.diagonal.par_iter_mut().zip(right.par_iter_mut()).enumerate().for_each(|(row, (block, right))| {
        let vertex = pattern.vertex_of[row] as usize;
        if freedom[row] == Freedom::Held {
            (*block, *right) = (DMat3::IDENTITY * loads.start.model.masses[vertex], DVec3::ZERO);
            return;
        }
        let (mut force, extra) = outer_loads(loads, vertex, positions[vertex], velocities[vertex], weights);
        for item in pattern.triangles.at(row) {
            force += membranes[item.element as usize].force(item.row as usize);
        }
        for item in pattern.hinges.at(row) {
            force += bends[item.element as usize].force(item.row as usize);
        }
        for item in pattern.stitches.at(row).iter().filter(|item| item.row == item.column) {
            let factor = stitches[item.element as usize].factors()[item.row as usize];
            force -= threads[item.element as usize].pull * factor;
        }
        let mass = loads.start.model.masses[vertex];
        *block = elastic(row) + extra + DMat3::IDENTITY * mass;
        *right = (base.velocities[vertex] - velocities[vertex]) * mass + force * base.reach;
    });
}

fn evaluate_elements(
    start: &Start,
    positions: &[DVec3],
    velocities: &[DVec3],
    weights: StepWeights,
    memory: &mut Memory,
) {
    let (model, state) = (start.model, start.state);
    let points = |vertex: VertexId| positions[vertex.index()];
    let speeds = |vertex: VertexId| velocities[vertex.index()];
    let Memory { membranes, bends, live, .. } = memory;
    membranes.resize(live.triangles.len(), Membrane::default());
    membranes.par_iter_mut().enumerate().filter(|(at, _)| live.triangles[*at]).for_each(|(at, out)| {
        let (corners, shape) = (model.topology.triangles()[at], &state.rest_shapes[at]);
        let fabric = &model.fabrics[model.triangle_fabric[at] as usize];
        let (places, rates) = (corners.map(points), corners.map(speeds));
        let whole = membrane::evaluate(shape, places, rates, fabric, weights, Curvature::Positive);
        let factor = state.triangle_stiffness[at];
        *out = if factor == 1.0 { whole } else { whole.scaled(factor) };
    });
    bends.resize(live.hinges.len(), Bend::default());
    bends.par_iter_mut().enumerate().filter(|(at, _)| live.hinges[*at]).for_each(|(at, out)| {
        let hinge = &model.hinges[at];
        let stiffness = hinge.stiffness * state.hinge_stiffness[at];
        let spring = bend::Spring { stiffness, damping: hinge.damping, rest_angle: state.rest_angles[at] };
        *out = bend::evaluate(hinge.vertices.map(points), hinge.vertices.map(speeds), spring, weights);
    });
}

/// Gravity, air and guidance on one vertex: force, and what they add to the matrix.
fn outer_loads(loads: &Loads, vertex: usize, position: DVec3, velocity: DVec3, weights: StepWeights) -> (DVec3, DMat3) {
    let start = loads.start;
    let mut force = start.environment.gravity * start.model.masses[vertex];
    let mut matrix = DMat3::ZERO;
    if let Some(air) = loads.air.get(vertex) {
        force += air.drag * (air.wind - velocity);
        matrix += air.drag * weights.damping;
    }
    if let Some(&push) = loads.guidance.forces.get(vertex) {
        force += push;
    }
    if let Some(&stiffness) = loads.guidance.stiffness.get(vertex) {
        force -= (position - start.state.positions[vertex]) * stiffness;
        matrix += DMat3::IDENTITY * (stiffness * weights.stiffness);
    }
    (force, matrix)
}
