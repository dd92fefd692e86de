//! `unsnarl.LevelSet`: signed distances, asked for in bulk.

use crate::arrays::{self, NamedArrays, wrong};
use crate::working::{self, Stop};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::level_set_file;
use unsnarl_volume::LevelSet;
use unsnarl_volume::level_set::{Csg, Extraction, MeshSettings};

/// Points that are asked about between two looks for Ctrl-C.
const PORTION: usize = 1 << 16;

/// A level set that does not change.
#[pyclass(frozen)]
pub struct Levels {
    inner: Arc<LevelSet>,
}

#[pymethods]
impl Levels {
    /// From a closed mesh.
    #[staticmethod]
    fn from_mesh(
        py: Python<'_>,
        mesh: NamedArrays<'_>,
        spacing: Option<f64>,
        resolution: u32,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let mesh = arrays::borrow(&mesh)?.to_mesh();
        if resolution == 0 {
            return Err(wrong("resolution: expected a number of samples above 0"));
        }
        let settings = match spacing {
            Some(spacing) => MeshSettings::with_spacing(spacing),
            None => MeshSettings::with_resolution(&mesh, resolution),
        };
        Self::make(py, threads, move || LevelSet::from_mesh(&mesh, &settings).map_err(|error| error.to_string()))
    }

    /// From a file of `unsnarl levelset`.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| level_set_file::read(&path)).map_err(wrong)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| level_set_file::write(&path, &self.inner)).map_err(wrong)
    }

    /// Signed distances and gradients at points.
    #[allow(clippy::type_complexity)]
    fn query<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        let points = arrays::points(&points).map_err(wrong)?;
        let stop = Stop::default();
        let answers: Vec<(f64, DVec3)> = working::run_borrowed(py, threads, &stop, || {
            let portions = points.chunks(PORTION).take_while(|_| !stop.is_set());
            portions.flat_map(|portion| self.inner.values_and_gradients(portion)).collect()
        })?;
        let values: Vec<f64> = answers.iter().map(|(value, _)| *value).collect();
        let gradients: Vec<DVec3> = answers.iter().map(|(_, gradient)| *gradient).collect();
        Ok((PyArray1::from_vec(py, values), arrays::array_of_points(py, &gradients)?))
    }

    /// The nearest points of the surface, as far as it is found; rows of NaN elsewhere.
    fn closest<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = arrays::points(&points).map_err(wrong)?;
        let stop = Stop::default();
        let nearest = |point: &DVec3| match stop.is_set() {
            true => DVec3::NAN,
            false => self.inner.closest_point(*point).unwrap_or(DVec3::NAN),
        };
        let found: Vec<DVec3> = working::run_borrowed(py, threads, &stop, || points.par_iter().map(nearest).collect())?;
        arrays::array_of_points(py, &found)
    }

    /// Points and triangles of the surface.
    #[allow(clippy::type_complexity)]
    fn to_mesh<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i32>>)> {
        let extraction = match method {
            "surface-nets" => Extraction::SurfaceNets,
            "marching" => Extraction::Marching,
            _ => return Err(wrong(format!("method: `{method}` is none of surface-nets, marching"))),
        };
        let levels = self.shared();
        let work = move |_: &working::Line<(), TriMesh>| levels.to_mesh(extraction);
        let mesh = working::run(py, threads, &Stop::default(), work, |_, ()| Ok(true))?;
        Ok((arrays::array_of_points(py, &mesh.positions)?, arrays::array_of_triangles(py, &mesh.triangles)?))
    }

    /// A new one from two.
    fn combine(&self, py: Python<'_>, other: &Self, operation: &str, blend: f64) -> PyResult<Self> {
        let operation = match operation {
            "union" => Csg::Union,
            "intersection" => Csg::Intersection,
            "difference" => Csg::Difference,
            _ => return Err(wrong(format!("`{operation}` is none of union, intersection, difference"))),
        };
        if !(blend.is_finite() && blend >= 0.0) {
            return Err(wrong("blend: expected metres, at least 0"));
        }
        let (mut first, second) = (LevelSet::clone(&self.inner), Arc::clone(&other.inner));
        Self::make(py, None, move || {
            first.combine(&second, operation, blend);
            Ok(first)
        })
    }

    /// Spacing, half the width of the band, bytes.
    fn facts(&self) -> (f64, f64, usize) {
        (self.inner.frame().spacing, self.inner.half_width(), self.inner.memory_bytes())
    }
}

impl Levels {
    /// The level set itself.
    pub fn shared(&self) -> Arc<LevelSet> {
        Arc::clone(&self.inner)
    }

    fn make(
        py: Python<'_>,
        threads: Option<usize>,
        make: impl FnOnce() -> Result<LevelSet, String> + Send + 'static,
    ) -> PyResult<Self> {
        let stop = Stop::default();
        let work = move |_: &working::Line<(), Result<LevelSet, String>>| make();
        let made = working::run(py, threads, &stop, work, |_, ()| Ok(true))?.map_err(wrong)?;
        Ok(Self { inner: Arc::new(made) })
    }
}
