//! Arrays as meshes: borrowed, looked over, never copied on the way in.
//!
//! Guarantees: points are finite and no larger than files may have them; indices are not negative. Topology refuses the rest.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use unsnarl::analysis::{Assembly, PartKind};
use unsnarl_geometry::{DVec3, TriMesh, TriangleId};
use unsnarl_io::mesh::LARGEST_COORDINATE;

/// A name, points and triangles, as the Python side hands them over.
pub type NamedArrays<'py> = (String, PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, i32>);

/// A mesh whose numbers belong to Python.
#[derive(Clone, Copy)]
pub struct Borrowed<'a> {
    pub name: &'a str,
    pub positions: &'a [DVec3],
    pub triangles: &'a [[u32; 3]],
}

impl<'a> Borrowed<'a> {
    /// A mesh of our own, as if it were borrowed.
    pub fn of(name: &'a str, mesh: &'a TriMesh) -> Self {
        Self { name, positions: &mesh.positions, triangles: &mesh.triangles }
    }

    /// Meshes of our own, as if they were borrowed.
    pub fn all(meshes: &'a [(String, TriMesh)]) -> Vec<Self> {
        meshes.iter().map(|(name, mesh)| Self::of(name, mesh)).collect()
    }

    /// A copy that outlives the call.
    pub fn to_mesh(self) -> TriMesh {
        TriMesh { positions: self.positions.to_vec(), triangles: self.triangles.to_vec() }
    }
}

/// One readable line as an exception.
pub fn wrong(line: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(line.to_string())
}

/// Borrows a mesh and looks it over.
pub fn borrow<'a>((name, points, triangles): &'a NamedArrays<'_>) -> PyResult<Borrowed<'a>> {
    let positions = self::points(points).map_err(|problem| wrong(format!("{name}: {problem}")))?;
    let triangles = self::triangles(triangles).map_err(|problem| wrong(format!("{name}: {problem}")))?;
    if triangles.is_empty() {
        return Err(wrong(format!("{name}: no triangles; expected at least one row of three vertex indices")));
    }
    Ok(Borrowed { name, positions, triangles })
}

/// A copy of a mesh in which every triangle names vertices that are there.
pub fn whole(mesh: &NamedArrays<'_>) -> PyResult<TriMesh> {
    let mesh = borrow(mesh)?;
    let count = mesh.positions.len();
    let beyond = |corners: &[u32; 3]| corners.iter().any(|&corner| corner as usize >= count);
    match mesh.triangles.iter().position(beyond) {
        None => Ok(mesh.to_mesh()),
        Some(at) => {
            let vertex = mesh.triangles[at].iter().max().copied().unwrap_or_default();
            Err(wrong(format!("{}: triangle {at} names vertex {vertex}, the mesh has {count}", mesh.name)))
        }
    }
}

/// Points of an array with three columns.
pub fn points<'a>(array: &'a PyReadonlyArray2<'_, f64>) -> Result<&'a [DVec3], String> {
    let numbers = array.as_slice().map_err(|_| "points are not C-contiguous float64".to_owned())?;
    let points: &[DVec3] =
        bytemuck::try_cast_slice(numbers).map_err(|_| "points do not have three columns".to_owned())?;
    let is_usable = |point: &DVec3| point.abs().max_element() <= LARGEST_COORDINATE && !point.is_nan();
    match points.iter().position(|point| !is_usable(point)) {
        None => Ok(points),
        Some(vertex) if points[vertex].is_finite() => {
            Err(format!("vertex {vertex} has a coordinate beyond {LARGEST_COORDINATE:e} m"))
        }
        Some(vertex) => Err(format!("vertex {vertex} has a coordinate that is not a finite number")),
    }
}

/// Triangles of an array with three columns.
pub fn triangles<'a>(array: &'a PyReadonlyArray2<'_, i32>) -> Result<&'a [[u32; 3]], String> {
    let numbers = array.as_slice().map_err(|_| "triangles are not C-contiguous int32".to_owned())?;
    if let Some(at) = numbers.iter().position(|&index| index < 0) {
        return Err(format!("triangle {} names vertex {}; expected indices from 0", at / 3, numbers[at]));
    }
    bytemuck::try_cast_slice(numbers).map_err(|_| "triangles do not have three columns".to_owned())
}

/// Edges of an array with two columns, between vertices that are there.
pub fn edges(array: &PyReadonlyArray2<'_, i32>, count: usize) -> Result<Vec<[u32; 2]>, String> {
    let numbers = array.as_slice().map_err(|_| "edges are not C-contiguous int32".to_owned())?;
    if let Some(at) = numbers.iter().position(|&index| usize::try_from(index).map_or(true, |index| index >= count)) {
        return Err(format!("edge {} names vertex {}, the mesh has {count}", at / 2, numbers[at]));
    }
    let edges: &[[u32; 2]] =
        bytemuck::try_cast_slice(numbers).map_err(|_| "edges do not have two columns".to_owned())?;
    Ok(edges.to_vec())
}

/// Garments, then bodies, under one numbering.
pub fn assemble(garments: &[Borrowed<'_>], bodies: &[Borrowed<'_>]) -> Result<Assembly, String> {
    let kinds = garments.iter().map(|_| PartKind::Cloth).chain(bodies.iter().map(|_| PartKind::Body));
    let meshes = garments.iter().chain(bodies).zip(kinds);
    let parts = meshes.map(|(mesh, kind)| (mesh.name.to_owned(), kind, mesh.positions.len(), mesh.triangles));
    Assembly::new(parts).map_err(|error| {
        let names: Vec<&str> = garments.iter().chain(bodies).map(|mesh| mesh.name).collect();
        format!("{}: {error}", names.join(", "))
    })
}

/// The name of the mesh that a triangle belongs to.
pub fn name_of(assembly: &Assembly, triangle: TriangleId) -> String {
    assembly.parts()[assembly.part_of_triangle(triangle)].name.clone()
}

/// A new array of points.
pub fn array_of_points<'py>(py: Python<'py>, points: &[DVec3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    reshaped(PyArray1::from_slice(py, bytemuck::cast_slice(points)), points.len(), 3)
}

/// A new array of triangles.
pub fn array_of_triangles<'py>(py: Python<'py>, triangles: &[[u32; 3]]) -> PyResult<Bound<'py, PyArray2<i32>>> {
    reshaped(PyArray1::from_slice(py, bytemuck::cast_slice(triangles)), triangles.len(), 3)
}

/// A row of numbers as a table.
pub fn reshaped<'py, T: numpy::Element>(
    numbers: Bound<'py, PyArray1<T>>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    numbers.reshape([rows, columns]).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
