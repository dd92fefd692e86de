//! `unsnarl.check`.

use crate::arrays::{self, NamedArrays, wrong};
use crate::working;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::time::Instant;
use unsnarl::analysis::{self, SmallestGap, Workspace};
use unsnarl_geometry::DVec3;

/// The report as JSON, and the pairs of triangles that meet.
type Checked<'py> = (String, Bound<'py, PyArray2<i32>>);

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
    let garments: Vec<_> = garments.iter().map(arrays::borrow).collect::<PyResult<_>>()?;
    let bodies: Vec<_> = bodies.iter().map(arrays::borrow).collect::<PyResult<_>>()?;
    let gap = if smallest_gap { SmallestGap::Measured } else { SmallestGap::LeftOut };
    let (report, pairs) = working::run_borrowed(py, threads, |_| {
        let start = Instant::now();
        let assembly = arrays::assemble(&garments, &bodies)?;
        let positions: Cow<'_, [DVec3]> = match (&garments[..], &bodies[..]) {
            ([garment], []) => Cow::Borrowed(garment.positions),
            _ => garments.iter().chain(&bodies).flat_map(|mesh| mesh.positions.iter().copied()).collect(),
        };
        let name_of = |triangle| assembly.parts()[assembly.part_of_triangle(triangle)].name.clone();
        let mut found = analysis::examine(&assembly, &positions, gap, name_of, &mut Workspace::default());
        found.report.seconds = start.elapsed().as_secs_f64();
        let report = serde_json::to_string(&found.report).map_err(wrong)?;
        let pairs: Vec<i32> =
            found.verdict.pairs.iter().flat_map(|pair| [pair.first, pair.second].map(|own| own.0 as i32)).collect();
        Ok::<_, PyErr>((report, pairs))
    })??;
    let count = pairs.len() / 2;
    Ok((report, arrays::reshaped(PyArray1::from_vec(py, pairs), count, 2)?))
}
