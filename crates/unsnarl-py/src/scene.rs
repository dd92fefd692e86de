//! `unsnarl.Scene`: a scene file, stepped from Python.
//!
//! A frame that Ctrl-C leaves is finished in the background, step by step until it hears of it; the next call waits for
//! that.

use crate::arrays::{self, wrong};
use crate::working::{self, Stop};
use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use unsnarl::bodies::keyframes::Keyframes;
use unsnarl::report::FrameReport;
use unsnarl::settings::Settings;
use unsnarl::simulation::{Flow, Handle, Simulation, World};
use unsnarl_geometry::{DVec3, VertexId};
use unsnarl_io::scene_file::{self, Scene};

/// A scene under way.
#[pyclass(frozen)]
pub struct Simulated {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    simulation: Simulation,
    /// Handles of the scene itself; those of `hold` come behind them.
    own_handles: usize,
    frame: u32,
    frames: u32,
    frame_rate: f64,
    title: String,
}

#[pymethods]
impl Simulated {
    /// Reads a scene file; `changes` are `path=value` as `--set` takes them.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, changes: Vec<String>) -> PyResult<Self> {
        let scene = py.detach(|| scene_file::read(&path, &changes)).map_err(wrong)?;
        let Scene { title, world, state, settings, frames, frame_rate, .. } = scene;
        let own_handles = world.handles.len();
        let simulation = Simulation::new(world, state, settings);
        let inner = Inner { simulation, own_handles, frame: 0, frames, frame_rate, title };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
    }

    /// Goes on by a duration in seconds; gives the report as JSON.
    fn advance(&self, py: Python<'_>, duration: Option<f64>, threads: Option<usize>) -> PyResult<String> {
        if duration.is_some_and(|duration| !(duration.is_finite() && duration > 0.0 && duration <= 1e6)) {
            return Err(wrong("duration: expected seconds above 0"));
        }
        let stop = Stop::default();
        let (shared, own) = (self.inner.clone(), stop.clone());
        let work = move |_: &working::Line<(), Result<FrameReport, String>>| {
            let mut inner = lock(&shared);
            let length = duration.unwrap_or(1.0 / inner.frame_rate);
            let mut observe = |_| if own.is_set() { Flow::Stop } else { Flow::GoOn };
            let report = inner.simulation.advance(length, &mut observe).map_err(|stopped| stopped.to_string())?;
            inner.frame += 1;
            Ok(report)
        };
        let report = working::run(py, threads, &stop, work, |_, ()| Ok(true))?;
        serde_json::to_string(&report.map_err(PyRuntimeError::new_err)?).map_err(wrong)
    }

    /// Where cloth is.
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let positions = self.read(py, |inner| inner.simulation.state.positions.clone());
        arrays::array_of_points(py, &positions)
    }

    /// How fast cloth moves.
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let velocities = self.read(py, |inner| inner.simulation.state.velocities.clone());
        arrays::array_of_points(py, &velocities)
    }

    /// Lays cloth elsewhere; it keeps its velocities.
    fn set_positions(&self, py: Python<'_>, positions: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let places = arrays::points(&positions).map_err(wrong)?.to_vec();
        self.change(py, move |inner| {
            let state = &mut inner.simulation.state;
            if places.len() != state.positions.len() {
                return Err(format!(
                    "positions: {} rows, the scene has {} vertices",
                    places.len(),
                    state.positions.len()
                ));
            }
            (state.positions, state.previous) = (places, None);
            Ok(())
        })
    }

    /// The triangles of the cloth.
    fn triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let triangles: Vec<[u32; 3]> = self.read(py, |inner| {
            let topology = &inner.simulation.world.model.topology;
            topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)).collect()
        });
        arrays::array_of_triangles(py, &triangles)
    }

    /// Name, first vertex and end, first triangle and end, of every piece.
    fn pieces(&self, py: Python<'_>) -> Vec<(String, [usize; 2], [usize; 2])> {
        self.read(py, |inner| {
            let pieces = inner.simulation.world.model.pieces.iter();
            let ends = |range: &std::ops::Range<usize>| [range.start, range.end];
            pieces.map(|piece| (piece.name.clone(), ends(&piece.vertices), ends(&piece.triangles))).collect()
        })
    }

    /// Name, points and triangles of every body at the present time.
    #[allow(clippy::type_complexity)]
    fn bodies<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<(String, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i32>>)>> {
        let bodies: Vec<(String, Vec<DVec3>, Vec<[u32; 3]>)> = self.read(py, |inner| {
            let world = &inner.simulation.world;
            let places = world.surfaces.positions_at(&world.bodies, inner.simulation.state.moment());
            let mut first = 0;
            let mut own = |(body, mesh): (&unsnarl::bodies::Body, &unsnarl_geometry::TriMesh)| {
                let range = first..first + mesh.positions.len();
                first = range.end;
                (body.name.clone(), places[range].to_vec(), mesh.triangles.clone())
            };
            world.bodies.iter().zip(world.surfaces.meshes()).map(&mut own).collect()
        });
        let arrays = bodies.into_iter().map(|(name, places, triangles)| {
            Ok((name, arrays::array_of_points(py, &places)?, arrays::array_of_triangles(py, &triangles)?))
        });
        arrays.collect()
    }

    /// Title, frame, last frame, frames per second, seconds.
    fn clock(&self, py: Python<'_>) -> (String, u32, u32, f64, f64) {
        self.read(py, |inner| {
            let time = inner.simulation.state.time;
            (inner.title.clone(), inner.frame, inner.frames, inner.frame_rate, time)
        })
    }

    /// Vertices that stay where they are.
    fn pins(&self, py: Python<'_>) -> Vec<u32> {
        self.read(py, |inner| inner.simulation.world.model.pins.iter().map(|pin| pin.0).collect())
    }

    /// Pins other vertices, where they are.
    fn set_pins(&self, py: Python<'_>, pins: Vec<u32>) -> PyResult<()> {
        self.change(py, move |inner| {
            let world = &inner.simulation.world;
            let mut model = world.model.clone();
            model.pins = vertices("pins", &pins, model.topology.vertex_count())?;
            model.pins.sort_unstable();
            model.pins.dedup();
            let (environment, bodies, handles) = (world.environment, world.bodies.clone(), world.handles.clone());
            let rigid = world.rigid.clone();
            let mut fresh =
                World::with_rigid(model, environment, bodies, handles, rigid).map_err(|error| error.to_string())?;
            fresh.flypaper_weights = world.flypaper_weights.clone();
            inner.simulation.world = fresh;
            Ok(())
        })
    }

    /// Leads vertices to places from the next step on; without any, lets go of all that were led so.
    fn hold(&self, py: Python<'_>, led: Vec<u32>, places: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let home = arrays::points(&places).map_err(wrong)?.to_vec();
        self.change(py, move |inner| {
            let world = &mut inner.simulation.world;
            let vertices = vertices("vertices", &led, world.model.topology.vertex_count())?;
            if vertices.len() != home.len() {
                return Err(format!("{} vertices and {} positions; give one for each", vertices.len(), home.len()));
            }
            world.handles.truncate(inner.own_handles);
            if !vertices.is_empty() {
                let motion = Keyframes::fixed(DVec3::ZERO);
                world.handles.push(Handle { vertices, home, motion, release: f64::INFINITY });
            }
            Ok(())
        })
    }

    /// All settings as JSON.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |inner| serde_json::to_string(&inner.simulation.settings)).map_err(wrong)
    }

    /// Changes settings: JSON with the groups and names that differ.
    fn set_settings(&self, py: Python<'_>, changes: &str) -> PyResult<()> {
        let changes: Value = serde_json::from_str(changes).map_err(wrong)?;
        self.change(py, move |inner| {
            let settings = &mut inner.simulation.settings;
            let mut all = serde_json::to_value(&*settings).map_err(|error| error.to_string())?;
            merge(&mut all, changes);
            let changed: Settings = serde_json::from_value(all).map_err(|error| format!("settings: {error}"))?;
            *settings = changed;
            Ok(())
        })
    }
}

impl Simulated {
    /// Without the interpreter lock: a frame may be under way.
    fn read<R: Send>(&self, py: Python<'_>, look: impl FnOnce(&Inner) -> R + Send) -> R {
        py.detach(|| look(&lock(&self.inner)))
    }

    fn change(&self, py: Python<'_>, change: impl FnOnce(&mut Inner) -> Result<(), String> + Send) -> PyResult<()> {
        py.detach(|| change(&mut lock(&self.inner))).map_err(wrong)
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn vertices(what: &str, indices: &[u32], count: usize) -> Result<Vec<VertexId>, String> {
    match indices.iter().find(|&&index| index as usize >= count) {
        Some(index) => Err(format!("{what}: there is no vertex {index}, the scene has {count}")),
        None => Ok(indices.iter().map(|&index| VertexId(index)).collect()),
    }
}

/// Puts values of one tree of JSON over those of another.
fn merge(all: &mut Value, changes: Value) {
    match (all, changes) {
        (Value::Object(all), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(all.entry(key).or_insert(Value::Null), value);
            }
        }
        (place, value) => *place = value,
    }
}
