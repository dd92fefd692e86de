//! The field: velocities on a sparse grid, changed by one solve for all surfaces, that carry cloth. (Buffet 2021,
//! chapter 3)
//!
//! Dynamics proposes without looking at collisions. The proposed velocities are put on a grid (`rasterise`), cells
//! where surfaces come near are found (`density`, `localise`), one solve keeps the air in them from being squeezed
//! ([`unsnarl_volume::velocity_grid`]), and cloth is carried by the result (`carry`). It costs the same for any number of
//! surfaces and does not mind crossings that exist. `docs/field.md` says what follows from each setting.
//!
//! Guarantees: where nothing is asked of the field the proposal comes back bit for bit; so do held vertices; the same
//! bits on any number of threads.
//! Does not: prove a clean step. That is the pipeline's work, after it.
//! Departs: the solve is one-sided, by mass, on cells, and along the directions across cloth; see the parts.

mod carry;
mod density;
mod localise;
mod rasterise;
mod report;
mod samples;
mod settings;
#[cfg(test)]
mod tests;

pub use report::FieldReport;
pub use settings::{Certify, FieldDivergence, FieldLocalise, FieldSettings, FieldSolve, FieldStencil, FieldTransfer};

use super::ContactInput;
use crate::geometry::math::is_finite;
use crate::geometry::{DVec3, VertexId};
use crate::model::Model;
use carry::{Carried, Change};
use localise::Rows;
use rasterise::{Raster, box_around};
use rayon::prelude::*;
use samples::Samples;
use std::sync::Arc;
use unsnarl_volume::velocity_grid::{
    Effort, LeastSquares, NodeSet, Projected, Projection, Reached, Sense, least_squares, project,
};

/// The parts of the field, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPart {
    /// Velocities are on the grid.
    Rasterise,
    /// The cells where surfaces come near are known.
    Density,
    /// The solve is done.
    Solve,
    /// Cloth has been carried.
    Carry,
}

/// Memory that is kept between steps. Dropping it changes no result.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    samples: Option<Arc<Samples>>,
    /// Whether the grid of the last step is kept.
    pub keeps_grid: bool,
    /// The grid of the last step.
    pub grid: Option<FieldGrid>,
}

/// The grid of one step, to be looked at. One item per node.
#[derive(Clone, Debug)]
pub struct FieldGrid {
    /// The nodes.
    pub nodes: NodeSet,
    /// Density in the cell above the node; see [`FieldSettings`].
    pub density: Vec<f64>,
    /// Velocities after the solve, m/s.
    pub velocities: Vec<DVec3>,
    /// Whether the cell above the node has a row.
    pub is_constrained: Vec<bool>,
    /// The impulse of that row, kg m^2/s.
    pub pressures: Vec<f64>,
}

/// What became of a proposal.
#[derive(Clone, Debug)]
pub struct FieldMotion {
    /// Where cloth ends.
    pub positions: Vec<DVec3>,
    /// Vertices that do not end where it was proposed, in order.
    pub changed: Vec<VertexId>,
    /// What was done.
    pub report: FieldReport,
}

/// Scenes without air still have this much in the grid, kg/m^3: else nodes between sheets had no mass.
const USUAL_AIR: f64 = 1.2;
/// How far a sample counts in densities along the cloth, in distances between nodes: `sqrt(6)` widths of `sqrt(3/2)`.
const POINT_REACH: f64 = 3.0;
/// How far cells around the path of a sample look for it, in distances between nodes.
const BESIDE: f64 = 2.5;
/// The longest path that is looked at in a step, in distances between nodes.
const LONGEST_PATH: f64 = 32.0;
/// Cloth counts as at least this thick, in distances between nodes.
const LEAST_THICKNESS: f64 = 0.75;

/// Changes a proposed motion so that surfaces do not meet in it, as far as the grid can tell.
pub fn carry_by_field(
    input: &ContactInput,
    model: &Model,
    air_density: f64,
    settings: &FieldSettings,
    memory: &mut Memory,
    observe: &mut dyn FnMut(FieldPart),
) -> FieldMotion {
    let spacing = settings.spacing(model.mean_rest_edge());
    let unchanged =
        |report| FieldMotion { positions: input.end[..model.masses.len()].to_vec(), changed: Vec::new(), report };
    let refused = FieldReport { refused: 1, ..FieldReport::default() };
    memory.grid = None;
    if !fits(input, spacing) {
        return unchanged(refused);
    }
    let moving = Moving::new(input, model, memory.samples(model, spacing));
    let reached = Reached::new(moving.points.len(), |item| moving.reached_box(item));
    let air = if air_density > 0.0 { air_density } else { USUAL_AIR };
    let Some(mut raster) = Raster::new(&moving, &reached, air, settings.most_voxels as usize) else {
        return unchanged(refused);
    };
    let cloth_count = model.masses.len();
    let triangles = input.mesh.topology().triangles()[model.topology.triangle_count()..].iter();
    let of_bodies: Vec<[usize; 3]> = triangles.map(|corners| corners.map(|corner| corner.index())).collect();
    debug_assert!(of_bodies.iter().flatten().all(|&corner| corner >= cloth_count));
    raster.hold_at_bodies(&of_bodies, [input.start, input.end], input.step);
    observe(FieldPart::Rasterise);
    let shift = if settings.stencil == FieldStencil::Cell { 0.5 } else { 0.0 };
    let everywhere = settings.localise != FieldLocalise::Complementary || memory.keeps_grid;
    let places = density::places(&moving, &reached, &raster, shift, everywhere);
    let rows = localise::rows(&raster, &places, settings, input.step);
    observe(FieldPart::Density);
    let mut after = raster.velocities.clone();
    let solved = solve(&rows, &raster, settings, &mut after);
    observe(FieldPart::Solve);
    let pushing = localise::pushing(&rows, &solved.pressures, raster.nodes.count());
    let mut report = report_of(&rows, &raster, &after, &solved);
    let has_pushed = solved.pressures.iter().any(|&pressure| pressure != 0.0);
    let done = if has_pushed || settings.transfer == FieldTransfer::Field {
        let change = Change { raster: &raster, after: &after, rows: &rows, pushing: &pushing };
        let Carried { positions, is_changed } = carry::carry(input, model, &change, settings);
        let changed: Vec<VertexId> = (0..cloth_count).filter(|&at| is_changed[at]).map(VertexId::new).collect();
        measure(input, model, &positions, &changed, &mut report);
        FieldMotion { positions, changed, report }
    } else {
        unchanged(report)
    };
    if memory.keeps_grid {
        memory.grid = Some(grid(raster, &places, &rows, &solved, after));
    }
    observe(FieldPart::Carry);
    done
}

impl Memory {
    fn samples(&mut self, model: &Model, spacing: f64) -> Arc<Samples> {
        match &self.samples {
            Some(known) if known.spacing == spacing => Arc::clone(known),
            _ => Arc::clone(self.samples.insert(Arc::new(Samples::new(model, spacing)))),
        }
    }
}

/// Whether everything has a place on the lattice.
fn fits(input: &ContactInput, spacing: f64) -> bool {
    /// Block numbers need 21 bits.
    const LIMIT: f64 = 4e6;
    let fits = |point: &DVec3| is_finite(*point) && point.abs().max_element() / spacing < LIMIT;
    spacing > 0.0 && input.start.par_iter().chain(input.end).all(fits)
}

/// The samples of cloth and how they move in a step.
struct Moving {
    samples: Arc<Samples>,
    spacing: f64,
    step: f64,
    points: Vec<DVec3>,
    velocities: Vec<DVec3>,
    /// Unit normals at the start and the end; zero where a triangle has no area.
    normals: Vec<DVec3>,
    end_normals: Vec<DVec3>,
    /// Of the fabric, metres.
    thicknesses: Vec<f64>,
}

impl Moving {
    fn new(input: &ContactInput, model: &Model, samples: Arc<Samples>) -> Self {
        let of = |positions: &[DVec3]| -> Vec<DVec3> {
            samples.list.par_iter().map(|sample| sample.apply(model, positions)).collect()
        };
        let (points, ends) = (of(input.start), of(input.end));
        let velocities = points.par_iter().zip(&ends).map(|(start, end)| (*end - *start) / input.step).collect();
        let normals = |positions: &[DVec3]| -> Vec<DVec3> {
            let normal = |corners: &[VertexId; 3]| {
                let [a, b, c] = corners.map(|corner| positions[corner.index()]);
                (b - a).cross(c - a).normalize_or_zero()
            };
            let of_triangles: Vec<DVec3> = model.topology.triangles().par_iter().map(normal).collect();
            samples.list.par_iter().map(|sample| of_triangles[sample.triangle as usize]).collect()
        };
        let (start_normals, end_normals) = (normals(input.start), normals(input.end));
        let thickness = |sample: &samples::Sample| {
            let first = model.topology.triangles()[sample.triangle as usize][0];
            input.thickness[first.index()]
        };
        let thicknesses = samples.list.iter().map(thickness).collect();
        let (spacing, step) = (samples.spacing, input.step);
        Self { samples, spacing, step, points, velocities, normals: start_normals, end_normals, thicknesses }
    }

    fn reach(&self, item: usize) -> f64 {
        rasterise::reach(self.velocities[item].length(), self.step, self.spacing)
    }

    fn thickness(&self, item: usize) -> f64 {
        self.thicknesses[item].max(LEAST_THICKNESS * self.spacing)
    }

    /// The way in a step, at most so long that neighbours hear of it.
    fn way(&self, item: usize) -> DVec3 {
        (self.velocities[item] * self.step).clamp_length_max(LONGEST_PATH * self.spacing)
    }

    fn end(&self, item: usize) -> DVec3 {
        self.points[item] + self.way(item)
    }

    /// Place and normal before and after the step.
    fn moments(&self, item: usize) -> [(DVec3, DVec3); 2] {
        [(self.points[item], self.normals[item]), (self.end(item), self.end_normals[item])]
    }

    /// Points on the way, no further apart than nodes.
    fn path(&self, item: usize) -> impl Iterator<Item = DVec3> {
        let (start, way) = (self.points[item], self.way(item));
        let parts = (way.length() / self.spacing).ceil() as usize;
        (0..=parts).map(move |at| start + way * (at as f64 / parts.max(1) as f64))
    }

    /// The nodes, and the cells above them, that hear of a sample.
    fn reached_box(&self, item: usize) -> [[i32; 3]; 2] {
        let far = self.reach(item).max(BESIDE * self.spacing);
        let [a, b] = [self.points[item], self.end(item)].map(|point| box_around(point, far, self.spacing));
        let along = |axis: usize, pick: fn(i32, i32) -> i32, at: usize| pick(a[at][axis], b[at][axis]);
        [[0, 1, 2].map(|axis| along(axis, i32::min, 0)), [0, 1, 2].map(|axis| along(axis, i32::max, 1))]
    }
}

fn solve(rows: &Rows, raster: &Raster, settings: &FieldSettings, velocities: &mut [DVec3]) -> Projected {
    let effort = Effort { tolerance: settings.tolerance, iterations: settings.iterations };
    let (spacing, inverse_masses) = (raster.nodes.spacing(), raster.inverse_masses.as_slice());
    let (rows, sources) = (rows.rows.as_slice(), rows.sources.as_slice());
    match settings.solve {
        FieldSolve::Projection => {
            let is_one_sided = settings.localise == FieldLocalise::Complementary;
            let sense = if is_one_sided { Sense::AtLeast } else { Sense::Equal };
            project(&Projection { rows, sources, inverse_masses, sense, effort }, velocities)
        }
        FieldSolve::LeastSquares => {
            let anchor = |inverse: &f64| if *inverse == 0.0 { settings.kinematic_weight } else { 1.0 };
            let anchors: Vec<f64> = inverse_masses.iter().map(anchor).collect();
            let weight = settings.divergence_weight;
            least_squares(&LeastSquares { rows, sources, anchors: &anchors, weight, spacing, effort }, velocities)
        }
    }
}

fn report_of(rows: &Rows, raster: &Raster, after: &[DVec3], solved: &Projected) -> FieldReport {
    let of_rows =
        |velocities: &[DVec3]| -> Vec<f64> { rows.rows.par_iter().map(|row| row.apply(velocities)).collect() };
    let closing = |rates: &[f64]| rates.iter().fold(0.0, |most: f64, rate| most.max(-rate)) * raster.nodes.spacing();
    let rates = of_rows(after);
    FieldReport {
        voxels: raster.nodes.count(),
        cells_constrained: rows.rows.len(),
        components: rows.components,
        solver_iterations: solved.iterations,
        active_rounds: solved.rounds,
        residual: solved.residual,
        least_divergence: rates.iter().copied().fold(0.0, f64::min),
        closing_speed_before: closing(&of_rows(&raster.velocities)),
        closing_speed_after: closing(&rates),
        ..FieldReport::default()
    }
}

/// What carrying did to momentum and to lengths.
fn measure(input: &ContactInput, model: &Model, positions: &[DVec3], changed: &[VertexId], report: &mut FieldReport) {
    let (mut total, mut moved) = (DVec3::ZERO, 0.0);
    for at in changed.iter().map(|vertex| vertex.index()) {
        let push = (positions[at] - input.end[at]) * model.masses[at];
        total += push;
        moved += push.length();
    }
    report.carried_vertices = changed.len();
    report.momentum_error = if moved > 0.0 { total.length() / moved } else { 0.0 };
    let is_changed = |vertex: &VertexId| changed.binary_search(vertex).is_ok();
    let edges = model.topology.edges().par_iter().filter(|edge| edge.iter().any(is_changed));
    let mut errors: Vec<f64> = edges
        .map(|edge| {
            let length = |of: &[DVec3]| of[edge[0].index()].distance(of[edge[1].index()]);
            let wanted = length(input.end);
            if wanted > 0.0 { (length(positions) / wanted - 1.0).abs() } else { 0.0 }
        })
        .collect();
    errors.par_sort_unstable_by(f64::total_cmp);
    report.edge_error =
        errors.get((errors.len() * 99 / 100).min(errors.len().saturating_sub(1))).copied().unwrap_or(0.0);
}

fn grid(raster: Raster, places: &[density::Place], rows: &Rows, solved: &Projected, after: Vec<DVec3>) -> FieldGrid {
    let count = raster.nodes.count();
    let (mut is_constrained, mut pressures) = (vec![false; count], vec![0.0; count]);
    for (&place, &pressure) in rows.places.iter().zip(&solved.pressures) {
        is_constrained[place as usize] = true;
        pressures[place as usize] = pressure;
    }
    let density = places.iter().map(|place| place.density).collect();
    FieldGrid { nodes: raster.nodes, density, velocities: after, is_constrained, pressures }
}
