//! Garments and bodies of a call, copied out of Python's memory, as what `fix` and `dress` work on.
//!
//! Guarantees: what is copied outlives the call, so that Ctrl-C can leave it at once.

use crate::arrays::{self, Borrowed, NamedArrays, wrong};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::PyResult;
use std::time::Instant;
use unsnarl::analysis::{self, Examination, SmallestGap, Workspace};
use unsnarl::model::RestAngles;
use unsnarl::scene::garment::{Garment, GarmentDescription, GarmentInput};
use unsnarl::scene::workpiece::{RestWish, Setup, Workpiece};
use unsnarl_geometry::math::DVec2;
use unsnarl_geometry::{DVec3, TriMesh, UvMap};

/// Rest points (three columns) or panels (two) with their triangles.
type RestArrays<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, i32>);
/// A garment: mesh, rest shape, pins.
pub type GarmentArrays<'py> = (NamedArrays<'py>, Option<RestArrays<'py>>, Vec<u32>);

/// Garments and bodies, free of Python's memory.
pub struct Wardrobe {
    garments: Vec<OwnGarment>,
    /// Bodies by name.
    pub bodies: Vec<(String, TriMesh)>,
}

struct OwnGarment {
    name: String,
    mesh: TriMesh,
    rest: Option<OwnRest>,
    pins: Vec<u32>,
}

enum OwnRest {
    Mesh(TriMesh),
    Panels(UvMap),
}

impl Wardrobe {
    /// Copies everything.
    pub fn copy(garments: &[GarmentArrays<'_>], bodies: &[NamedArrays<'_>]) -> PyResult<Self> {
        let mut owned = Vec::new();
        for (mesh, rest, pins) in garments {
            let mesh = arrays::borrow(mesh)?;
            let rest = rest.as_ref().map(own_rest).transpose();
            let rest = rest.map_err(|problem| wrong(format!("{}: rest: {problem}", mesh.name)))?;
            owned.push(OwnGarment { name: mesh.name.to_owned(), mesh: mesh.to_mesh(), rest, pins: pins.clone() });
        }
        let bodies = bodies.iter().map(|body| arrays::borrow(body).map(|own| (own.name.to_owned(), own.to_mesh())));
        Ok(Self { garments: owned, bodies: bodies.collect::<PyResult<_>>()? })
    }

    /// The names of the garments.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.garments.iter().map(|own| own.name.as_str())
    }

    /// What is worked on.
    pub fn workpiece(&self) -> Result<Workpiece, String> {
        let meshes: Vec<Borrowed<'_>> = self.garments.iter().map(|own| Borrowed::of(&own.name, &own.mesh)).collect();
        let bodies = Borrowed::all(&self.bodies);
        let assembly = arrays::assemble(&meshes, &bodies)?;
        let mut garments = Vec::new();
        for OwnGarment { name, mesh, pins, .. } in &self.garments {
            let description = GarmentDescription { pins: vec![pins.clone()], ..GarmentDescription::default() };
            let garment = Garment::build(&GarmentInput::new(mesh, None), &description);
            garments.push(garment.map_err(|error| format!("{name}: {error}"))?);
        }
        let rest = self.garments.iter().map(|own| match &own.rest {
            None => RestWish::Garment,
            Some(OwnRest::Mesh(mesh)) => RestWish::Mesh(mesh),
            Some(OwnRest::Panels(uv)) => RestWish::Panels(uv),
        });
        let all = meshes.iter().chain(&bodies);
        let positions: Vec<DVec3> = all.flat_map(|mesh| mesh.positions.iter().copied()).collect();
        let (rest, rest_angles) = (rest.collect(), RestAngles::AsLoaded);
        let setup = Setup { assembly, positions: &positions, garments, rest, rest_angles };
        Workpiece::build(setup).map_err(|error| error.to_string())
    }
}

/// The positions of every garment.
pub fn parts(workpiece: &Workpiece, all: &[DVec3]) -> Vec<Vec<DVec3>> {
    let garments = &workpiece.assembly.parts()[..workpiece.garments.len()];
    garments.iter().map(|part| all[part.vertices.clone()].to_vec()).collect()
}

/// The exact check of some positions, with the seconds since a start.
pub fn examine(workpiece: &Workpiece, positions: &[DVec3], start: Instant, workspace: &mut Workspace) -> Examination {
    let assembly = &workpiece.assembly;
    let name_of = |triangle| arrays::name_of(assembly, triangle);
    let mut found = analysis::examine(assembly, positions, SmallestGap::Measured, name_of, workspace);
    found.report.seconds = start.elapsed().as_secs_f64();
    found
}

/// Copies a rest shape: the call may be left before the work ends.
fn own_rest((places, triangles): &RestArrays<'_>) -> Result<OwnRest, String> {
    let corners = arrays::triangles(triangles)?.to_vec();
    if places.shape()[1] == 3 {
        return Ok(OwnRest::Mesh(TriMesh { positions: arrays::points(places)?.to_vec(), triangles: corners }));
    }
    let numbers = places.as_slice().map_err(|_| "panels are not C-contiguous float64".to_owned())?;
    if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(format!("panel vertex {} has a coordinate that is not a finite number", at / 2));
    }
    let coordinates = numbers.chunks_exact(2).map(DVec2::from_slice).collect();
    Ok(OwnRest::Panels(UvMap { coordinates, triangles: corners }))
}
