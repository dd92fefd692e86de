//! `unsnarl.check`.

use crate::arrays::{self, Borrowed, NamedArrays, wrong};
use crate::working::{self, Line, Stop};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::time::Instant;
use unsnarl::analysis::{self, SmallestGap, Workspace};
use unsnarl_geometry::{DVec3, TriMesh};

/// Meshes with more triangles are copied first, so that Ctrl-C can leave the call at once; that costs about one percent.
const LARGE: usize = 300_000;

/// The report as JSON, and the pairs of triangles that meet.
type Checked<'py> = (String, Bound<'py, PyArray2<i32>>);
/// The same without Python.
type Found = Result<(String, Vec<i32>), String>;

/// Looks for everything that meets.
#[pyfunction]
#[pyo3(signature = (garments, bodies, smallest_gap, threads))]
pub fn check<'py>(
    py: Python<'py>,
    garments: Vec<NamedArrays<'py>>,
    bodies: Vec<NamedArrays<'py>>,
    smallest_gap: bool,
    threads: Option<usize>,
) -> PyResult<Checked<'py>> {
    let garment_count = garments.len();
    let meshes: Vec<Borrowed<'_>> = garments.iter().chain(&bodies).map(arrays::borrow).collect::<PyResult<_>>()?;
    let gap = if smallest_gap { SmallestGap::Measured } else { SmallestGap::LeftOut };
    let found = if meshes.iter().map(|mesh| mesh.triangles.len()).sum::<usize>() <= LARGE {
        working::run_borrowed(py, threads, || look(&meshes, garment_count, gap))
    } else {
        let own: Vec<(String, TriMesh)> = meshes.iter().map(|mesh| (mesh.name.to_owned(), mesh.to_mesh())).collect();
        let work = move |_: &Line<(), Found>| {
            let meshes: Vec<Borrowed<'_>> = own.iter().map(|(name, mesh)| Borrowed::of(name, mesh)).collect();
            look(&meshes, garment_count, gap)
        };
        working::run(py, threads, &Stop::default(), work, |_, ()| Ok(true))
    };
    let (report, pairs) = found?.map_err(wrong)?;
    let count = pairs.len() / 2;
    Ok((report, arrays::reshaped(PyArray1::from_vec(py, pairs), count, 2)?))
}

/// The work itself, as the command does it.
fn look(meshes: &[Borrowed<'_>], garment_count: usize, gap: SmallestGap) -> Found {
    let start = Instant::now();
    let (garments, bodies) = meshes.split_at(garment_count);
    let assembly = arrays::assemble(garments, bodies)?;
    let positions: Cow<'_, [DVec3]> = match meshes {
        [mesh] => Cow::Borrowed(mesh.positions),
        _ => meshes.iter().flat_map(|mesh| mesh.positions.iter().copied()).collect(),
    };
    let name_of = |triangle| assembly.parts()[assembly.part_of_triangle(triangle)].name.clone();
    let mut found = analysis::examine(&assembly, &positions, gap, name_of, &mut Workspace::default());
    found.report.seconds = start.elapsed().as_secs_f64();
    let report = serde_json::to_string(&found.report).map_err(|error| error.to_string())?;
    let triangles = found.verdict.pairs.iter().flat_map(|pair| [pair.first, pair.second]);
    Ok((report, triangles.map(|triangle| triangle.0 as i32).collect()))
}
