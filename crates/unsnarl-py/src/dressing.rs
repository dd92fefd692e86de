//! `unsnarl.dress`: as the command dresses, with garments as arrays instead of a scene.

use crate::arrays::{self, NamedArrays, wrong};
use crate::garments::{self, GarmentArrays, Wardrobe, examine};
use crate::working::{self, Line, Stop};
use numpy::PyArray2;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use unsnarl::analysis::Workspace;
use unsnarl::dress::report::DressReport;
use unsnarl::dress::{Certify, DressSettings, Front, GarmentWish, Outfit, dress as put_in_order};
use unsnarl_geometry::{DVec3, Topology};

/// Positions of every garment, and the report as JSON.
type Fitted<'py> = (Vec<Bound<'py, PyArray2<f64>>>, String);

/// How to dress.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wishes {
    /// One for each garment, from the inside out.
    layers: Vec<i32>,
    /// Thickness of each garment, metres.
    thickness: Vec<f64>,
    /// How much each garment resists, beside the others.
    weights: Vec<f64>,
    /// Thickness of bodies, metres.
    body_thickness: f64,
    /// How far layers see each other, metres.
    reach: f64,
    /// Whether what is left is untangled.
    fix: bool,
    max_seconds: f64,
}

/// Puts garments in order.
#[pyfunction]
#[pyo3(signature = (garments, bodies, wishes, threads))]
pub fn dress<'py>(
    py: Python<'py>,
    garments: Vec<GarmentArrays<'py>>,
    bodies: Vec<NamedArrays<'py>>,
    wishes: Wishes,
    threads: Option<usize>,
) -> PyResult<Fitted<'py>> {
    let wardrobe = Wardrobe::copy(&garments, &bodies)?;
    let stop = Stop::default();
    let asked = stop.clone();
    let work = move |_: &Line<(), Done>| put_on(&wardrobe, &wishes, &asked);
    let (parts, report) = working::run(py, threads, &stop, work, |_, ()| Ok(true))?.map_err(wrong)?;
    let arrays = parts.iter().map(|points| arrays::array_of_points(py, points)).collect::<PyResult<_>>()?;
    Ok((arrays, report))
}

/// Positions of every garment, and the report.
type Done = Result<(Vec<Vec<DVec3>>, String), String>;

/// The work itself, as the command does it.
fn put_on(wardrobe: &Wardrobe, wishes: &Wishes, stop: &Stop) -> Done {
    let start = Instant::now();
    for (name, mesh) in &wardrobe.bodies {
        let topology = Topology::new(mesh.positions.len(), &mesh.triangles);
        let topology = topology.map_err(|error| format!("{name}: {error}"))?;
        if topology.boundary_loops().iter().any(|border| !border.is_empty()) {
            return Err(format!("{name}: the body is open; a rigid layer has an inside: close its holes"));
        }
    }
    let workpiece = wardrobe.workpiece()?;
    let wishes_of = wardrobe.names().enumerate().map(|(at, name)| GarmentWish {
        name: name.to_owned(),
        layer: wishes.layers[at],
        weight: wishes.weights[at],
        thickness: wishes.thickness[at],
        front: Front::AsGiven,
    });
    let garments: Vec<GarmentWish> = wishes_of.collect();
    let certify = if wishes.fix { Certify::Fix } else { Certify::Check };
    let settings = DressSettings { reach: wishes.reach, certify, ..DressSettings::default() };
    let (limit, asked) = (wishes.max_seconds, stop.clone());
    let late: unsnarl::fix::Stop = Arc::new(move || asked.is_set() || start.elapsed().as_secs_f64() > limit);
    let workspace = &mut Workspace::default();
    let before = examine(&workpiece, &workpiece.positions(), start, workspace);
    let outfit = Outfit { workpiece: &workpiece, wishes: &garments, body_thickness: wishes.body_thickness };
    let dressed = put_in_order(&outfit, &settings, &late, &mut |_| {}).map_err(|error| error.to_string())?;
    let all = workpiece.with_bodies(&dressed.positions);
    let after = examine(&workpiece, &all, start, workspace);
    let mut report = DressReport::new(&outfit, &settings, &dressed, (before, &after), &all);
    report.seconds.insert("total", start.elapsed().as_secs_f64());
    let report = serde_json::to_string(&report).map_err(|error| error.to_string())?;
    Ok((garments::parts(&workpiece, &all), report))
}
