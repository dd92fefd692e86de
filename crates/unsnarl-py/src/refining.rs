//! `unsnarl.refine`: as the command refines meshes, with creases given as edges instead of by sidecars.
//!
//! Guarantees: what comes back is certified by an exact check of these very numbers, unless `force` was asked for; the
//! report has the command's fields.

use crate::arrays::{self, Borrowed, NamedArrays, wrong};
use crate::working::{self, Line, Stop};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::time::Instant;
use unsnarl::analysis::{self, Assembly, Verdict, Workspace};
use unsnarl::output::{Depth, LevelReport, RefineError, RefineSettings, StartPairs, refine_once};
use unsnarl_geometry::subdivision::{self, OldVertices, Scheme, Smoothing};
use unsnarl_geometry::{DVec3, TriMesh, VertexId};

/// As many levels as the command takes.
const MOST_LEVELS: u32 = 10;
/// As many as the command takes on its way to a displacement.
const MOST_LEVELS_UNTIL: u32 = 6;

/// A garment: its mesh, and edges that stay sharp as rows of two vertices.
type CreasedArrays<'py> = (NamedArrays<'py>, PyReadonlyArray2<'py, i32>);
/// Points, triangles and normals of a garment.
type Fine<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i32>>, Bound<'py, PyArray2<f64>>);
/// The same without Python.
type FineParts = Vec<(TriMesh, Vec<DVec3>)>;
/// What the work ends with: the garments and the report.
type Done = Result<(FineParts, Value), String>;

/// How to refine.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wishes {
    levels: u32,
    /// Levels until smoothing moves no vertex by as many metres any more, instead of a number.
    until: Option<f64>,
    scheme: String,
    interpolate: bool,
    crease_angle: Option<f64>,
    force: bool,
    smallest_gap: bool,
}

/// Everything that refining needs, free of Python's memory.
struct Task {
    garments: Vec<(String, TriMesh)>,
    bodies: Vec<(String, TriMesh)>,
    /// Edges by vertices of all garments, one after the other.
    creases: Vec<[VertexId; 2]>,
    wishes: Wishes,
    scheme: Scheme,
}

/// Refines garments together.
#[pyfunction]
#[pyo3(signature = (garments, bodies, wishes, threads))]
pub fn refine<'py>(
    py: Python<'py>,
    garments: Vec<CreasedArrays<'py>>,
    bodies: Vec<NamedArrays<'py>>,
    wishes: Wishes,
    threads: Option<usize>,
) -> PyResult<(Vec<Fine<'py>>, String)> {
    if !(1..=MOST_LEVELS).contains(&wishes.levels) {
        return Err(wrong(format!("levels: expected a number from 1 to {MOST_LEVELS}, found {}", wishes.levels)));
    }
    if wishes.until.is_some_and(|metres| !(metres.is_finite() && metres > 0.0)) {
        return Err(wrong("until: expected metres above 0"));
    }
    if wishes.crease_angle.is_some_and(|degrees| !(0.0..=180.0).contains(&degrees)) {
        return Err(wrong("crease_angle: expected 0 to 180 degrees"));
    }
    let scheme = match wishes.scheme.as_str() {
        "loop" => Scheme::Loop,
        "bounded" => Scheme::BoundedCurvature,
        other => return Err(wrong(format!("scheme: `{other}` is none of loop, bounded"))),
    };
    let mut task = Task { garments: Vec::new(), bodies: Vec::new(), creases: Vec::new(), wishes, scheme };
    let mut first = 0;
    for (mesh, creases) in &garments {
        let own = arrays::borrow(mesh)?;
        let edges = arrays::edges(creases, own.positions.len());
        let edges = edges.map_err(|problem| wrong(format!("{}: creases: {problem}", own.name)))?;
        task.creases.extend(edges.iter().map(|edge| edge.map(|vertex| VertexId::new(first + vertex as usize))));
        first += own.positions.len();
        task.garments.push((own.name.to_owned(), own.to_mesh()));
    }
    for body in &bodies {
        let own = arrays::borrow(body)?;
        task.bodies.push((own.name.to_owned(), own.to_mesh()));
    }
    let work = move |_: &Line<(), Done>| task.run();
    let (parts, report) = working::run(py, threads, &Stop::default(), work, |_, ()| Ok(true))?.map_err(wrong)?;
    let fine = parts.iter().map(|(mesh, normals)| {
        let points = arrays::array_of_points(py, &mesh.positions)?;
        Ok((points, arrays::array_of_triangles(py, &mesh.triangles)?, arrays::array_of_points(py, normals)?))
    });
    Ok((fine.collect::<PyResult<_>>()?, report.to_string()))
}

impl Task {
    /// The work itself, as the command does it.
    fn run(self) -> Done {
        let start = Instant::now();
        let (garments, bodies) = (Borrowed::all(&self.garments), Borrowed::all(&self.bodies));
        let assembly = arrays::assemble(&garments, &bodies)?;
        let positions: Vec<DVec3> = garments.iter().chain(&bodies).flat_map(|mesh| mesh.positions).copied().collect();
        let creases = self.all_creases(&assembly, &positions)?;
        let mut levels: Vec<Value> = Vec::new();
        let mut last = start;
        let mut hear = |report: LevelReport, assembly: &Assembly, positions: &[DVec3]| {
            let gap = self.wishes.smallest_gap.then(|| smallest_gap(assembly, positions)).flatten();
            let mut level = serde_json::to_value(report).unwrap_or_default();
            level["smallest_gap"] = json!(gap);
            level["seconds"] = json!(last.elapsed().as_secs_f64());
            levels.push(level);
            last = Instant::now();
        };
        let refined = refine_once(assembly, &creases, &positions, self.depth(), &self.settings(), &mut hear);
        let (refined, end) = refined.map_err(|error| advised(&error))?;
        let finest = &end.assembly;
        let verdict = analysis::verdict(finest, &refined.positions, &mut Workspace::default());
        if !verdict.is_clean() && !self.wishes.force {
            return Err(format!(
                "{} triangle pairs meet after refinement: gaps are too small to be split without rounding, or triangles \
                 have no area; give fewer levels or force=True",
                verdict.pairs.len()
            ));
        }
        let normals = subdivision::limit::normals(finest.topology(), &refined.positions, &end.creases);
        let parts = finest.parts()[..self.garments.len()].iter().map(|part| {
            let own = part.vertices.clone();
            let triangles = finest.topology().own_triangles(part.triangles.clone(), own.start);
            let mesh = TriMesh { positions: refined.positions[own.clone()].to_vec(), triangles };
            (mesh, normals[own].to_vec())
        });
        let parts: FineParts = parts.collect();
        let is_asked = self.wishes.smallest_gap && verdict.is_clean();
        let report = json!({
            "schema": "unsnarl.refine/1",
            "certified": verdict.is_clean() && refined.start.is_clean(),
            "scheme": self.wishes.scheme,
            "interpolated": self.wishes.interpolate,
            "vertices": parts.iter().map(|(mesh, _)| mesh.positions.len()).sum::<usize>(),
            "triangles": parts.iter().map(|(mesh, _)| mesh.triangles.len()).sum::<usize>(),
            "pairs_at_start": refined.start.pairs.len(),
            "intersecting_triangle_pairs": verdict.pairs.len(),
            "touching_triangle_pairs": verdict.touching_count(),
            "smallest_gap": is_asked.then(|| smallest_gap(finest, &refined.positions)).flatten(),
            "levels": levels,
            "seconds": start.elapsed().as_secs_f64(),
        });
        Ok((parts, report))
    }

    fn depth(&self) -> Depth {
        match self.wishes.until {
            Some(displacement) => Depth::Until { displacement, most: MOST_LEVELS_UNTIL },
            None => Depth::Levels(self.wishes.levels),
        }
    }

    fn settings(&self) -> RefineSettings {
        let old_vertices = if self.wishes.interpolate { OldVertices::Kept } else { OldVertices::Smoothed };
        RefineSettings {
            smoothing: Smoothing { scheme: self.scheme, old_vertices },
            start_pairs: if self.wishes.force { StartPairs::LeaveOut } else { StartPairs::Refuse },
            ..RefineSettings::default()
        }
    }

    /// The edges that were given, and those that are bent beyond the angle.
    fn all_creases(&self, assembly: &Assembly, positions: &[DVec3]) -> Result<Vec<[VertexId; 2]>, String> {
        let topology = assembly.topology();
        if let Some([a, b]) = self.creases.iter().find(|[a, b]| topology.find_edge(*a, *b).is_none()) {
            return Err(format!("creases: there is no edge from vertex {} to {}", a.0, b.0));
        }
        let mut creases = self.creases.clone();
        if let Some(degrees) = self.wishes.crease_angle {
            creases.extend(subdivision::edges_bent_beyond(topology, positions, degrees.to_radians()));
        }
        Ok(creases)
    }
}

fn smallest_gap(assembly: &Assembly, positions: &[DVec3]) -> Option<f64> {
    analysis::smallest_gap(assembly, positions, &Verdict::default(), &mut Workspace::default())
}

fn advised(error: &RefineError) -> String {
    match error {
        RefineError::NotClean { .. } => format!("{error}; use unsnarl.fix first, or force=True to leave them out"),
        error => error.to_string(),
    }
}
