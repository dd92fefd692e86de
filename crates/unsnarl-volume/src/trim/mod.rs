//! Trimmed surfaces: the part of a triangle mesh where a second level set is negative, with good triangles and a border
//! on its zero.
//!
//! The scheme of tetrahedral meshes one dimension down (Bridson 2003, 5.7 with 5.4 and 5.5): nodes that lie inside
//! with at least a quarter of all their edges are enveloped, their triangles are kept ([`envelope`]), and the border
//! of what is kept is compressed to the zero of the level set while a pattern search keeps triangles good
//! ([`compress`]). Nodes stay on the input surface: every move ends in a walk to the closest point of it
//! ([`surface`]).
//!
//! Guarantees: where the input is a manifold the new border is a set of simple curves, no inner edge joins two of its
//! nodes and no triangle has three; every node is a point of the input surface; nodes more than a few rings from the
//! new border keep their bits; the same bits from run to run.
//! Does not: represent features of the level set smaller than an edge: the input's edges decide what is seen.
//! Departs: crossings on edges are found by bisection, since a narrow band does not hold distances as long as an
//! edge; moves are halved until triangles keep their side; an old border (of an open input) stays, and the new one
//! ends on it; where nodes lag or angles stay wide the input is refined and cut again ([`refine`]).

mod compress;
mod envelope;
mod flips;
mod quality;
mod refine;
mod report;
mod surface;

pub use report::{Angles, BorderReport, TrimReport};

use crate::field::Field;
use thiserror::Error;
use unsnarl_geometry::{DVec3, Topology, TopologyError, TriMesh};

/// How to trim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimSettings {
    /// Which side of the level set stays.
    pub keep: Keep,
    /// How much of every edge of an enveloped node must lie inside, 0 to 1.
    pub inside_share: f64,
    /// How many rings of nodes around the new border may move.
    pub rings: usize,
    /// Sweeps that move border nodes a third of the way.
    pub third_sweeps: usize,
    /// Sweeps that move them all the way.
    pub full_sweeps: usize,
    /// Nodes where the surface bends more than this do not slide, degrees.
    pub crease_degrees: f64,
}

impl Default for TrimSettings {
    fn default() -> Self {
        Self {
            keep: Keep::Inside,
            inside_share: 0.25,
            rings: 5,
            third_sweeps: 5,
            full_sweeps: 10,
            crease_degrees: 45.0,
        }
    }
}

/// Which side of a level set stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Where it is negative.
    #[default]
    Inside,
    /// Where it is positive.
    Outside,
}

/// Why a mesh cannot be trimmed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TrimError {
    /// The triangles are no mesh.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A coordinate is not a number.
    #[error("vertex {vertex} has a coordinate that is not a finite number")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// Nothing would be left.
    #[error(
        "no vertex of the mesh lies well inside the level set ({inside} of {vertices} lie inside at all): nothing would be \
         left; choose the other side or refine the mesh"
    )]
    Nothing {
        /// Vertices inside.
        inside: usize,
        /// All vertices.
        vertices: usize,
    },
}

/// A trimmed surface.
#[derive(Clone, Debug)]
pub struct Trimmed {
    /// What is left.
    pub mesh: TriMesh,
    /// The vertex of the input that each vertex was; none for those that a split added.
    pub origin: Vec<Option<u32>>,
    /// The new border: edges by vertices of the result, each in the direction of its triangle.
    pub border: Vec<[u32; 2]>,
    /// What was done and what came of it.
    pub report: TrimReport,
}

/// A level set of which the side to keep is negative.
struct Sided<'a> {
    field: &'a dyn Field,
    sign: f64,
}

impl Sided<'_> {
    fn value(&self, point: DVec3) -> f64 {
        let value = self.sign * self.field.value(point);
        if value.is_nan() { f64::INFINITY } else { value }
    }

    fn value_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        let (value, gradient) = self.field.value_and_gradient(point);
        (self.sign * value, self.sign * gradient)
    }
}

/// Trims a mesh by a level set. `observe` hears the number of every finished sweep.
pub fn trim(
    mesh: &TriMesh,
    by: &dyn Field,
    settings: &TrimSettings,
    mut observe: impl FnMut(usize),
) -> Result<Trimmed, TrimError> {
    if let Some(vertex) = mesh.positions.iter().position(|position| !position.is_finite()) {
        return Err(TrimError::NotFinite { vertex });
    }
    let sign = if settings.keep == Keep::Inside { 1.0 } else { -1.0 };
    let psi = Sided { field: by, sign };
    let input = mesh.positions.len();
    let topology = Topology::new(input, &mesh.triangles)?;
    let surface = surface::Surface::new(&topology, &mesh.positions, input);
    let mut best = cut(mesh, &surface, &psi, settings, &mut observe)?;
    let mut finer = refine::around(&surface, &best.trouble);
    for _ in 0..REFINEMENTS {
        if best.trouble.is_empty() {
            break;
        }
        let topology = Topology::new(finer.positions.len(), &finer.triangles)?;
        let surface = surface::Surface::new(&topology, &finer.positions, input);
        let Ok(found) = cut(mesh, &surface, &psi, settings, &mut observe) else { break };
        let next = refine::around(&surface, &found.trouble);
        if found.trimmed.report.faults() < best.trimmed.report.faults() {
            best = found;
        }
        finer = next;
    }
    Ok(best.trimmed)
}

/// How often the input is refined where nodes lag or angles stay wide.
const REFINEMENTS: usize = 6;

/// Cuts a surface that is the input's, refined or not.
fn cut(
    input: &TriMesh,
    surface: &surface::Surface<'_>,
    psi: &Sided<'_>,
    settings: &TrimSettings,
    observe: &mut dyn FnMut(usize),
) -> Result<report::Finished, TrimError> {
    let mut dropped = vec![false; surface.positions.len()];
    let mut best: Option<report::Finished> = None;
    for _ in 0..CHOICES {
        let selection = envelope::select(surface.topology, surface.positions, psi, settings.inside_share, &dropped);
        if !selection.kept.contains(&true) {
            let nothing = TrimError::Nothing { inside: selection.inside, vertices: surface.positions.len() };
            return best.ok_or(nothing);
        }
        let patch = envelope::Patch::new(surface, &selection);
        let mut work = compress::Work::new(surface, psi, &patch, settings);
        let shares = work.run(settings, observe);
        let mut is_new = false;
        for vertex in work.lagging_outside() {
            for shallow in selection.shallow_around(surface, psi, vertex) {
                is_new |= !std::mem::replace(&mut dropped[shallow.index()], true);
            }
        }
        let parts = report::Parts { input, surface, psi, selection: &selection, work, shares };
        let found = report::finish(parts);
        if best.as_ref().is_none_or(|best| found.trimmed.report.faults() < best.trimmed.report.faults()) {
            best = Some(found);
        }
        if !is_new {
            break;
        }
    }
    best.ok_or(TrimError::Nothing { inside: 0, vertices: surface.positions.len() })
}

/// How often triangles are chosen: where border nodes stay outside, their shallow enveloped neighbours are given up, so
/// that the border comes in.
const CHOICES: usize = 4;
