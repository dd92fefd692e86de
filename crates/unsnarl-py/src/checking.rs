//! `unsnarl.check`.
//!
//! Guarantees: a single mesh is read where Python keeps it; garments with bodies are joined, which copies their points.
//! Departs: meshes that take long (many triangles, or a gap to measure) are copied first, so that Ctrl-C can leave the
//! call at once; that costs about one percent.

use crate::arrays::{self, Borrowed, NamedArrays, wrong};
use crate::working::{self, Line, Stop};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Instant;
use unsnarl::analysis::{self, Assembly, Examination, GapReport, RestDistances, SmallestGap};
use unsnarl::fix::{Exempt, gap_fits};
use unsnarl::rest_shape::RestShape;
use unsnarl::scene::garment::{Garment, GarmentDescription, GarmentInput};
use unsnarl_geometry::{DVec3, TriMesh};

/// Meshes with more triangles are copied first.
const LARGE: usize = 300_000;

/// The report as JSON, and the pairs of triangles that meet.
type Checked<'py> = (String, Bound<'py, PyArray2<i32>>);
/// The same without Python.
type Found = Result<(String, Vec<i32>), String>;

/// What to look for beside intersections.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wishes {
    /// Whether to measure the smallest gap.
    smallest_gap: bool,
    /// The gap to certify, metres.
    gap: Option<f64>,
    /// Whether no pair is exempt from it.
    gap_strict: bool,
}

/// Looks for everything that meets.
#[pyfunction]
#[pyo3(signature = (garments, bodies, wishes, threads))]
pub fn check<'py>(
    py: Python<'py>,
    garments: Vec<NamedArrays<'py>>,
    bodies: Vec<NamedArrays<'py>>,
    wishes: Wishes,
    threads: Option<usize>,
) -> PyResult<Checked<'py>> {
    let garment_count = garments.len();
    let meshes: Vec<Borrowed<'_>> = garments.iter().chain(&bodies).map(arrays::borrow).collect::<PyResult<_>>()?;
    let (stop, is_quick) = (Stop::default(), !wishes.smallest_gap && wishes.gap.is_none());
    let found = if is_quick && meshes.iter().map(|mesh| mesh.triangles.len()).sum::<usize>() <= LARGE {
        working::run_borrowed(py, threads, &stop, || look(&meshes, garment_count, wishes, &stop))
    } else {
        let own: Vec<(String, TriMesh)> = meshes.iter().map(|mesh| (mesh.name.to_owned(), mesh.to_mesh())).collect();
        let asked = stop.clone();
        let work = move |_: &Line<(), Found>| look(&Borrowed::all(&own), garment_count, wishes, &asked);
        working::run(py, threads, &stop, work, |_, ()| Ok(true))
    };
    let (report, pairs) = found?.map_err(wrong)?;
    let count = pairs.len() / 2;
    Ok((report, arrays::reshaped(PyArray1::from_vec(py, pairs), count, 2)?))
}

/// Where the points and the triangles of a mesh are in memory, as the engine reads them: for tests that nothing is copied.
#[pyfunction]
pub fn addresses(mesh: NamedArrays<'_>) -> PyResult<(usize, usize)> {
    let mesh = arrays::borrow(&mesh)?;
    let positions = joined(std::slice::from_ref(&mesh));
    Ok((positions.as_ptr().addr(), mesh.triangles.as_ptr().addr()))
}

/// The points of all meshes; those of a single one are not copied.
fn joined<'a>(meshes: &[Borrowed<'a>]) -> Cow<'a, [DVec3]> {
    match meshes {
        [mesh] => Cow::Borrowed(mesh.positions),
        _ => meshes.iter().flat_map(|mesh| mesh.positions.iter().copied()).collect(),
    }
}

/// The work itself, as the command does it.
fn look(meshes: &[Borrowed<'_>], garment_count: usize, wishes: Wishes, stop: &Stop) -> Found {
    let start = Instant::now();
    let (garments, bodies) = meshes.split_at(garment_count);
    let assembly = arrays::assemble(garments, bodies)?;
    let positions = joined(meshes);
    let cloth_count = garments.iter().map(|mesh| mesh.positions.len()).sum();
    wishes.gap.map_or(Ok(()), |gap| {
        gap_fits(gap, assembly.topology(), &positions[..cloth_count]).map_err(|error| format!("gap: {error}"))
    })?;
    let is_measured = wishes.smallest_gap || wishes.gap.is_some();
    let smallest = if is_measured { SmallestGap::Measured } else { SmallestGap::LeftOut };
    let name_of = |triangle| arrays::name_of(&assembly, triangle);
    let found = analysis::examine_unless(&assembly, &positions, smallest, name_of, &|| stop.is_set());
    let mut found = found.ok_or("stopped")?;
    let gap = wishes.gap.map(|gap| gap_report(garments, (&assembly, &positions), (gap, wishes.gap_strict), &found));
    let gap = gap.transpose()?;
    found.report.seconds = start.elapsed().as_secs_f64();
    let report = with_gap(serde_json::to_value(&found.report), gap)?;
    let triangles = found.verdict.pairs.iter().flat_map(|pair| [pair.first, pair.second]);
    Ok((report, triangles.map(|triangle| triangle.0 as i32).collect()))
}

/// What gap is kept.
fn gap_report(
    garments: &[Borrowed<'_>],
    (assembly, positions): (&Assembly, &[DVec3]),
    (gap, is_strict): (f64, bool),
    found: &Examination,
) -> Result<GapReport, String> {
    let mut shapes: Vec<RestShape> = Vec::new();
    for own in garments {
        let garment = Garment::build(&GarmentInput::new(&own.to_mesh(), None), &GarmentDescription::default());
        shapes.extend(garment.map_err(|error| format!("{}: {error}", own.name))?.rest_shapes);
    }
    let rest = RestDistances::new(assembly.topology(), &shapes, gap);
    let exemption = exempt(is_strict).by(&rest);
    let findings = analysis::gap::examine(assembly, positions, (gap, exemption), &found.verdict);
    Ok(GapReport::new(&findings, (assembly, positions), |triangle| arrays::name_of(assembly, triangle)))
}

/// Who need not keep a gap.
pub fn exempt(is_strict: bool) -> Exempt {
    if is_strict { Exempt::Nobody } else { Exempt::NearAtRest }
}

/// A report as text, with the gap if one was asked for.
pub fn with_gap(report: serde_json::Result<Value>, gap: Option<GapReport>) -> Result<String, String> {
    let with_gap = || {
        let mut report = report?;
        if let Some(gap) = gap {
            report["gap"] = serde_json::to_value(gap)?;
        }
        serde_json::to_string(&report)
    };
    with_gap().map_err(|error| error.to_string())
}
