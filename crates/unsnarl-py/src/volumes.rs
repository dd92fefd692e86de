//! `unsnarl.tetrahedralize` and `unsnarl.trim`: a body filled with tetrahedra, a surface cut along a level set.
//!
//! Both take what they work with as a level set or as a mesh, as the commands do, and give the commands' reports.

use crate::arrays::{self, NamedArrays, wrong};
use crate::level_set::Levels;
use crate::working::{self, Line, Stop};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use unsnarl_cli::reports;
use unsnarl_geometry::TriMesh;
use unsnarl_volume::level_set::MeshSettings;
use unsnarl_volume::tet_mesh::compress::Method;
use unsnarl_volume::tet_mesh::exact_distance::{SignedMesh, Source};
use unsnarl_volume::tet_mesh::{self, Body, Criterion, Settings, Size, TetMesh, measure};
use unsnarl_volume::trim::{self as surface, Keep, TrimSettings, Trimmed};
use unsnarl_volume::{Field, LevelSet};

/// As many halvings as the command takes.
const MOST_LEVELS: u8 = 10;
/// Tetrahedra, if neither an edge nor a number is given, as the command has it.
const USUAL_COUNT: usize = 50_000;

/// A body as Python hands it over.
#[derive(FromPyObject)]
pub enum BodyArrays<'py> {
    /// A level set.
    Levels(Bound<'py, Levels>),
    /// A mesh.
    Mesh(NamedArrays<'py>),
}

/// The same, free of Python's memory.
enum Shape {
    Levels(Arc<LevelSet>),
    Mesh(TriMesh),
}

impl BodyArrays<'_> {
    fn shape(&self) -> PyResult<Shape> {
        match self {
            Self::Levels(levels) => Ok(Shape::Levels(levels.get().shared())),
            Self::Mesh(mesh) => arrays::whole(mesh).map(Shape::Mesh),
        }
    }
}

/// How to fill a body.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TetWishes {
    edge: Option<f64>,
    count: Option<usize>,
    levels: u8,
    criterion: String,
    compress: String,
}

/// Nodes, tetrahedra, the level of each, the triangles of the boundary, and the report as JSON.
type Filled<'py> =
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray2<i32>>, String);

/// Fills a body with tetrahedra.
#[pyfunction]
#[pyo3(signature = (body, wishes, threads))]
pub fn tetrahedralize<'py>(
    py: Python<'py>,
    body: BodyArrays<'py>,
    wishes: TetWishes,
    threads: Option<usize>,
) -> PyResult<Filled<'py>> {
    let (shape, settings) = (body.shape()?, wishes.settings().map_err(wrong)?);
    let stop = Stop::default();
    let asked = stop.clone();
    let work = move |_: &Line<(), Result<(TetMesh, String), String>>| fill(&shape, &settings, &asked);
    let (mesh, report) = working::run(py, threads, &stop, work, |_, ()| Ok(true))?.map_err(wrong)?;
    let corners = PyArray1::from_slice(py, bytemuck::cast_slice(&mesh.tets));
    let tets = arrays::reshaped(corners, mesh.tets.len(), 4)?;
    let boundary = arrays::array_of_triangles(py, &mesh.boundary())?;
    let levels = PyArray1::from_slice(py, &mesh.levels);
    Ok((arrays::array_of_points(py, &mesh.positions)?, tets, levels, boundary, report))
}

impl TetWishes {
    fn settings(&self) -> Result<Settings<'static>, String> {
        let size = match (self.edge, self.count) {
            (Some(_), Some(_)) => return Err("edge, count: give one of them".to_owned()),
            (Some(edge), _) if !(edge.is_finite() && edge > 0.0) => {
                return Err("edge: expected metres above 0".to_owned());
            }
            (Some(edge), _) => Size::Edge(edge),
            (None, Some(0)) => return Err("count: expected a number from 1 on".to_owned()),
            (None, count) => Size::Count(count.unwrap_or(USUAL_COUNT)),
        };
        if self.levels > MOST_LEVELS {
            return Err(format!("levels: expected a number from 0 to {MOST_LEVELS}, found {}", self.levels));
        }
        let criterion = match self.criterion.as_str() {
            "error" => Criterion::Error(Criterion::DEFAULT_ERROR),
            "curvature" => Criterion::Curvature(Criterion::DEFAULT_CURVATURE),
            "uniform" => Criterion::Uniform,
            other => return Err(format!("criterion: `{other}` is none of error, curvature, uniform")),
        };
        let method = match self.compress.as_str() {
            "optimise" => Method::Optimise,
            "springs" => Method::Springs,
            "elements" => Method::Elements,
            other => return Err(format!("compress: `{other}` is none of optimise, springs, elements")),
        };
        Ok(Settings { levels: self.levels, criterion, method, ..Settings::with_size(size) })
    }
}

/// The work itself, as the command does it.
fn fill(shape: &Shape, settings: &Settings<'_>, stop: &Stop) -> Result<(TetMesh, String), String> {
    let start = Instant::now();
    let found = match shape {
        Shape::Levels(levels) => SignedMesh::of_level_set(levels).map(|signed| (signed, Source::LevelSet)),
        Shape::Mesh(mesh) => {
            let edge = match settings.size {
                Size::Edge(edge) => edge,
                Size::Count(count) => reports::tet::edge_guess(mesh, count),
            };
            SignedMesh::of_any(mesh, edge / reports::tet::SAMPLES_PER_EDGE).map_err(|error| error.to_string())?
        }
    };
    let (signed, source) = found.ok_or("the body has no inside: give a closed surface, or one with small holes")?;
    let body = Body { field: &signed, bounds: signed.bounds(), area: signed.area(), volume: signed.volume() };
    let mut hear = |_: tet_mesh::Stage<'_>| {
        if stop.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The advice names flags of the command; the arguments are called the same.
    let made = tet_mesh::make(body, settings, &mut hear).map_err(|error| error.to_string().replace("--", ""));
    let (mesh, made) = made?;
    let quality = reports::tet::Quality::new(&measure::measure(&mesh));
    let fit = reports::tet::fit(&mesh, &signed);
    let seconds = reports::tet::Seconds { total: start.elapsed().as_secs_f64(), ..Default::default() };
    let report = reports::tet::report(made, quality, fit, source, !stop.is_set(), seconds);
    Ok((mesh, serde_json::to_string(&report).map_err(|error| error.to_string())?))
}

/// How to trim.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TrimWishes {
    keep: String,
    spacing: Option<f64>,
    rings: usize,
}

/// Points and triangles, the vertex of the input that each was or -1, edges of the new border, and the report as JSON.
type Cut<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray2<i32>>,
    String,
);

/// Cuts a surface along a level set.
#[pyfunction]
#[pyo3(signature = (mesh, by, wishes, threads))]
pub fn trim<'py>(
    py: Python<'py>,
    mesh: NamedArrays<'py>,
    by: BodyArrays<'py>,
    wishes: TrimWishes,
    threads: Option<usize>,
) -> PyResult<Cut<'py>> {
    let (mesh, by) = (arrays::whole(&mesh)?, by.shape()?);
    let keep = match wishes.keep.as_str() {
        "inside" => Keep::Inside,
        "outside" => Keep::Outside,
        other => return Err(wrong(format!("keep: `{other}` is none of inside, outside"))),
    };
    if !(1..=1000).contains(&wishes.rings) {
        return Err(wrong(format!("rings: expected a number from 1 to 1000, found {}", wishes.rings)));
    }
    if wishes.spacing.is_some_and(|spacing| !(spacing.is_finite() && spacing > 0.0)) {
        return Err(wrong("spacing: expected metres above 0"));
    }
    if wishes.spacing.is_some() && matches!(by, Shape::Levels(_)) {
        return Err(wrong("spacing: is for a mesh; a level set has its own"));
    }
    let settings = TrimSettings { keep, rings: wishes.rings, ..TrimSettings::default() };
    let work = move |_: &Line<(), Result<(Trimmed, String), String>>| cut(&mesh, &by, wishes.spacing, &settings);
    let (trimmed, report) = working::run(py, threads, &Stop::default(), work, |_, ()| Ok(true))?.map_err(wrong)?;
    let origin: Vec<i32> = trimmed.origin.iter().map(|origin| origin.map_or(-1, |vertex| vertex as i32)).collect();
    let border = PyArray1::from_slice(py, bytemuck::cast_slice(&trimmed.border));
    Ok((
        arrays::array_of_points(py, &trimmed.mesh.positions)?,
        arrays::array_of_triangles(py, &trimmed.mesh.triangles)?,
        PyArray1::from_vec(py, origin),
        arrays::reshaped(border, trimmed.border.len(), 2)?,
        report,
    ))
}

/// The work itself, as the command does it.
fn cut(mesh: &TriMesh, by: &Shape, spacing: Option<f64>, settings: &TrimSettings) -> Result<(Trimmed, String), String> {
    let start = Instant::now();
    let edge = reports::trim::mean_edge(mesh);
    let mut levels = match by {
        Shape::Levels(levels) => LevelSet::clone(levels),
        Shape::Mesh(by) => {
            let spacing = spacing.unwrap_or(reports::trim::SPACING_PER_EDGE * edge);
            LevelSet::from_mesh(by, &MeshSettings::with_spacing(spacing)).map_err(|error| format!("by: {error}"))?
        }
    };
    reports::trim::reach_beyond(&mut levels, edge);
    let field: &dyn Field = &levels;
    let trimmed = surface::trim(mesh, field, settings, |_| ()).map_err(|error| error.to_string())?;
    let report = reports::trim::report(&trimmed.report, start.elapsed().as_secs_f64());
    Ok((trimmed, serde_json::to_string(&report).map_err(|error| error.to_string())?))
}
