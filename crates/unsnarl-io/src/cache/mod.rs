//! Caches: a folder with one file per frame, from which a simulation goes on bit for bit.
//!
//! `cache.json` says what it is, `mesh.unsnarl` holds the triangles and panels, `frame_000012.unsnarl` the state at
//! frame 12, `frames.jsonl` one report per frame. See `docs/cache.md`.
//!
//! Guarantees: every file is written beside its target and renamed, so a run killed at any moment loses at most the
//! frame in progress; a frame is believed only when all its checksums fit.

pub mod container;
mod folds;
mod info;
pub mod refined;
mod rigid;

pub use info::{Info, PieceInfo};
pub use rigid::RigidInfo;

use crate::scene_file::Scene;
use crate::{WriteError, write_atomically};
use container::{Container, ContainerError};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use thiserror::Error;
use unsnarl::bodies::{Body, Form, Moment};
use unsnarl::model::Model;
use unsnarl::rest_shape::RestShape;
use unsnarl::rigid::RigidState;
use unsnarl::simulation::World;
use unsnarl::state::{Previous, State};
use unsnarl::untangle::resolvers::esef::Pull;
use unsnarl_geometry::{DVec2, DVec3, UvMap, VertexId};

/// The `schema` of `cache.json`.
pub const SCHEMA: &str = "unsnarl.cache/1";
const INFO: &str = "cache.json";
const MESH: &str = "mesh.unsnarl";
const REPORTS: &str = "frames.jsonl";

/// Why a cache cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// A file cannot be read or is not as it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An open cache.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// What it is.
    pub info: Info,
}

/// Triangles and panels of all pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheMesh {
    /// All triangles.
    pub triangles: Vec<[u32; 3]>,
    /// The panels of every piece, where it has them.
    pub panels: Vec<Option<UvMap>>,
}

impl Cache {
    /// Makes a folder for a scene. A folder that holds a cache already is refused.
    pub fn create(folder: &Path, scene: &Scene) -> Result<Self, CacheError> {
        if folder.join(INFO).exists() {
            return Err(file(folder, "holds a simulation already; give --resume to go on, or another folder"));
        }
        std::fs::create_dir_all(folder).map_err(|error| file(folder, format!("cannot make the folder: {error}")))?;
        let cache = Self { folder: folder.to_path_buf(), info: Info::of(scene) };
        cache.write_scene(scene)?;
        Ok(cache)
    }

    /// Opens a cache.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let path = folder.join(INFO);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| file(&path, format!("{error}; expected a folder that unsnarl sim wrote")))?;
        let info: Info = serde_json::from_str(&text).map_err(|error| file(&path, error.to_string()))?;
        if info.schema != SCHEMA {
            return Err(file(&path, format!("schema {}; this program reads {SCHEMA}", info.schema)));
        }
        if !info.is_consistent() {
            return Err(file(&path, "its frame rate, or the ranges of its pieces, cannot be; write the cache again"));
        }
        Ok(Self { folder: folder.to_path_buf(), info })
    }

    /// Whether the cache was made from this very scene.
    pub fn is_of(&self, scene: &Scene) -> bool {
        self.info == Info::of(scene)
    }

    /// Whether states of the cache fit the scene's cloth and rigid bodies.
    pub fn fits(&self, scene: &Scene) -> bool {
        let other = Info::of(scene);
        self.info.pieces == other.pieces && self.info.rigid == other.rigid && self.info.frame_rate == other.frame_rate
    }

    /// Describes another scene with the same cloth from now on.
    pub fn adopt(&mut self, scene: &Scene) -> Result<(), CacheError> {
        self.info = Info::of(scene);
        self.write_scene(scene)
    }

    fn write_scene(&self, scene: &Scene) -> Result<(), CacheError> {
        let model = &scene.world.model;
        let mut mesh = Container::default();
        mesh.push_indices("triangles", model.topology.triangles().iter().map(|corners| corners.map(|corner| corner.0)));
        if scene.world.bodies.iter().any(is_obstacle) {
            mesh.push_indices("body_triangles", body_triangles(&scene.world));
        }
        rigid::push_shapes(&mut mesh, &scene.rigid);
        for (piece, uv) in scene.panels.iter().enumerate() {
            if let Some(uv) = uv {
                mesh.push_reals(&format!("uv{piece}"), uv.coordinates.iter().map(|uv| [uv.x, uv.y]));
                mesh.push_indices(&format!("uv{piece}_triangles"), uv.triangles.iter().copied());
            }
        }
        write_atomically(&self.folder.join(MESH), &mesh.encode())?;
        let mut text = serde_json::to_string_pretty(&self.info).unwrap_or_default();
        text.push('\n');
        write_atomically(&self.folder.join(INFO), text.as_bytes())?;
        Ok(())
    }

    /// The path of a frame.
    pub fn frame_path(&self, frame: u32) -> PathBuf {
        self.folder.join(format!("frame_{frame:06}.unsnarl"))
    }

    /// Triangles and panels.
    pub fn mesh(&self) -> Result<CacheMesh, CacheError> {
        let path = self.folder.join(MESH);
        let container = read_container(&path)?;
        let wrong = |error: ContainerError| file(&path, error.to_string());
        let triangles: Vec<[u32; 3]> = container.indices("triangles").map_err(wrong)?;
        let is_in_its_piece = |piece: &PieceInfo| {
            let ([first, count], [from, number]) = (piece.vertices, piece.triangles);
            let corners = triangles[from..from + number].iter().flatten();
            corners.into_iter().all(|&corner| (first..first + count).contains(&(corner as usize)))
        };
        if triangles.len() != self.info.triangles || !self.info.pieces.iter().all(is_in_its_piece) {
            return Err(file(&path, "its triangles do not fit cache.json"));
        }
        let mut panels = Vec::new();
        for (piece, info) in self.info.pieces.iter().enumerate() {
            if !container.has(&format!("uv{piece}")) {
                panels.push(None);
                continue;
            }
            let coordinates: Vec<[f64; 2]> = container.reals(&format!("uv{piece}")).map_err(wrong)?;
            let triangles: Vec<[u32; 3]> = container.indices(&format!("uv{piece}_triangles")).map_err(wrong)?;
            if triangles.len() != info.triangles[1]
                || triangles.iter().flatten().any(|&v| v as usize >= coordinates.len())
            {
                return Err(file(&path, format!("the panels of {} do not fit its triangles", info.name)));
            }
            panels
                .push(Some(UvMap { coordinates: coordinates.into_iter().map(DVec2::from_array).collect(), triangles }));
        }
        Ok(CacheMesh { triangles, panels })
    }

    /// Writes the state at a frame, and where its cloth is shown if that is not where it is.
    pub fn write_frame(
        &self,
        frame: u32,
        model: &Model,
        state: &State,
        shown: Option<&[DVec3]>,
    ) -> Result<(), CacheError> {
        let mut container = encode_state(model, state);
        rigid::push_state(&mut container, state);
        if let Some(shown) = shown {
            container.push_reals("shown", shown.iter().map(DVec3::to_array));
        }
        write_atomically(&self.frame_path(frame), &container.encode())?;
        Ok(())
    }

    /// The path of the bodies at a frame.
    pub fn bodies_path(&self, frame: u32) -> PathBuf {
        self.folder.join(format!("bodies_{frame:06}.unsnarl"))
    }

    /// Writes where the surfaces of obstacles are at a frame, and which vertices of cloth bodies pinch; nothing for a
    /// world without bodies. Simulated bodies are in the frame itself.
    pub fn write_bodies(&self, frame: u32, world: &World, time: f64, pinched: &[VertexId]) -> Result<(), CacheError> {
        if !world.bodies.is_empty() {
            let mut container = Container::default();
            // Simulated bodies come last.
            let obstacles = world.bodies.partition_point(is_obstacle);
            let positions = world.surfaces.positions_at(&world.bodies[..obstacles], Moment::at(time));
            container.push_reals("body_positions", positions.iter().map(DVec3::to_array));
            container.push_indices("pinched", pinched.iter().map(|vertex| [vertex.0]));
            write_atomically(&self.bodies_path(frame), &container.encode())?;
        }
        Ok(())
    }

    /// The state at a frame, complete.
    pub fn read_state(&self, frame: u32, world: &World) -> Result<State, CacheError> {
        let (model, rigid_bodies) = (&world.model, &world.rigid.bodies);
        let path = self.frame_path(frame);
        let container = read_container(&path)?;
        let mut state = decode_state(model, &container).map_err(|error| file(&path, error.to_string()))?;
        rigid::read_state(&container, &mut state).map_err(|error| file(&path, error.to_string()))?;
        if !state.rigid.is_valid(rigid_bodies) || ![0, rigid_bodies.bodies.len()].contains(&state.loads.len()) {
            return Err(file(&path, "belongs to other rigid bodies than the scene's"));
        }
        let fits = state.positions.len() == model.masses.len()
            && state.velocities.len() == model.masses.len()
            && state.rest_shapes.len() == model.rest_shapes.len()
            && state.rest_angles.len() == model.hinges.len()
            && state.hinge_stiffness.len() == model.hinges.len()
            && state.triangle_stiffness.len() == model.rest_shapes.len();
        if fits { Ok(state) } else { Err(file(&path, "belongs to other cloth than the scene's")) }
    }

    /// Time at a frame, and the positions to show.
    pub fn read_positions(&self, frame: u32) -> Result<(f64, Vec<DVec3>), CacheError> {
        let path = self.frame_path(frame);
        let container = read_container(&path)?;
        let wrong = |error: ContainerError| file(&path, error.to_string());
        let clock: Vec<[f64; 2]> = container.reals("clock").map_err(wrong)?;
        let name = if container.has("shown") { "shown" } else { "positions" };
        let positions = points(&container, name).map_err(wrong)?;
        if positions.len() != self.info.vertices {
            return Err(file(&path, format!("{} vertices; cache.json says {}", positions.len(), self.info.vertices)));
        }
        Ok((clock.first().map_or(0.0, |clock| clock[0]), positions))
    }

    /// The last frame of the unbroken row from the first whose files are whole.
    pub fn last_frame(&self) -> Option<u32> {
        let mut frame = (self.info.first_frame..).take_while(|&frame| self.frame_path(frame).exists()).last()?;
        while read_container(&self.frame_path(frame)).is_err() {
            frame = frame.checked_sub(1).filter(|&frame| frame >= self.info.first_frame)?;
        }
        Some(frame)
    }

    /// Removes frames after one, reports of them, and what killed runs left half-written.
    pub fn truncate(&self, last: u32) -> Result<(), CacheError> {
        let entries = std::fs::read_dir(&self.folder).map_err(|error| file(&self.folder, error.to_string()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let frame = name
                .strip_prefix("frame_")
                .or_else(|| name.strip_prefix("bodies_"))
                .and_then(|rest| rest.strip_suffix(".unsnarl"));
            let late = frame.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number > last);
            let stale = name.starts_with(".unsnarl-") && name.ends_with(".tmp");
            if late || stale {
                std::fs::remove_file(entry.path()).map_err(|error| file(&entry.path(), error.to_string()))?;
            }
        }
        let path = self.folder.join(REPORTS);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(()) };
        let mut kept = String::new();
        for line in text.lines() {
            let frame = serde_json::from_str::<serde_json::Value>(line).ok().and_then(|value| value["frame"].as_u64());
            if frame.is_some_and(|frame| frame <= u64::from(last)) {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        write_atomically(&path, kept.as_bytes())?;
        Ok(())
    }

    /// Adds one line to the reports.
    pub fn append_report(&self, report: &impl Serialize) -> Result<(), CacheError> {
        let path = self.folder.join(REPORTS);
        let mut line = serde_json::to_string(report).map_err(|error| file(&path, error.to_string()))?;
        line.push('\n');
        let mut out = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| file(&path, format!("cannot write: {error}")))?;
        out.write_all(line.as_bytes()).map_err(|error| file(&path, format!("cannot write: {error}")))
    }
}

fn is_obstacle(body: &Body) -> bool {
    !matches!(body.form, Form::Simulated { .. })
}

/// The triangles of all obstacles, by the numbers of their vertices one body after the other.
fn body_triangles(world: &World) -> impl Iterator<Item = [u32; 3]> {
    let mut first = 0;
    let mut triangles = Vec::new();
    let obstacles = world.bodies.iter().zip(world.surfaces.meshes()).filter(|(body, _)| is_obstacle(body));
    for (_, mesh) in obstacles {
        triangles.extend(mesh.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
        first += mesh.positions.len() as u32;
    }
    triangles.into_iter()
}

fn file(path: &Path, reason: impl Into<String>) -> CacheError {
    CacheError::File { path: path.display().to_string(), reason: reason.into() }
}

fn read_container(path: &Path) -> Result<Container, CacheError> {
    let bytes = std::fs::read(path).map_err(|error| file(path, format!("cannot read: {error}")))?;
    Container::decode(&bytes).map_err(|error| file(path, error.to_string()))
}

/// Rest shapes, rest angles and stiffness factors are left out where they are the model's own.
fn encode_state(model: &Model, state: &State) -> Container {
    let mut container = Container::default();
    let previous_step = state.previous.as_ref().map_or(0.0, |previous| previous.step);
    container.push_reals("clock", [[state.time, previous_step]].into_iter());
    let mut push = |name: &str, points: &[DVec3]| container.push_reals(name, points.iter().map(DVec3::to_array));
    push("positions", &state.positions);
    push("velocities", &state.velocities);
    if let Some(previous) = &state.previous {
        push("prev_positions", &previous.positions);
        push("prev_velocities", &previous.velocities);
    }
    if state.rest_shapes != model.rest_shapes {
        let sides = |shape: &RestShape| [shape.sides[0].x, shape.sides[0].y, shape.sides[1].x, shape.sides[1].y];
        container.push_reals("rest_shapes", state.rest_shapes.iter().map(sides));
    }
    if state.rest_angles != model.rest_angles {
        container.push_reals("rest_angles", state.rest_angles.iter().map(|&angle| [angle]));
    }
    if state.hinge_stiffness.iter().any(|&factor| factor != 1.0) {
        container.push_reals("hinge_stiffness", state.hinge_stiffness.iter().map(|&factor| [factor]));
    }
    if state.triangle_stiffness.iter().any(|&factor| factor != 1.0) {
        container.push_reals("tri_stiffness", state.triangle_stiffness.iter().map(|&factor| [factor]));
    }
    folds::encode(&state.tearing, &mut container);
    folds::encode_flips(&state.flips, &mut container);
    if !state.pulls.is_empty() {
        let row =
            |pull: &Pull| [pull.subjects[0], *pull.subjects.last().unwrap_or(&pull.target), pull.target].map(|v| v.0);
        container.push_indices("pulls", state.pulls.iter().map(row));
        container.push_reals("pulls_remaining", state.pulls.iter().map(|pull| [pull.remaining]));
    }
    container
}

/// Two equal subjects stand for one.
fn decode_pulls(model: &Model, container: &Container) -> Result<Vec<Pull>, ContainerError> {
    if !container.has("pulls") {
        return Ok(Vec::new());
    }
    let rows: Vec<[u32; 3]> = container.indices("pulls")?;
    let remaining: Vec<[f64; 1]> = container.reals("pulls_remaining")?;
    let usable = |row: &[u32; 3]| row.iter().all(|&vertex| (vertex as usize) < model.masses.len());
    let whole = rows.iter().zip(remaining).filter(|(row, _)| usable(row));
    Ok(whole
        .map(|(&[first, second, target], [remaining])| {
            let subjects =
                if first == second { vec![VertexId(first)] } else { vec![VertexId(first), VertexId(second)] };
            Pull { subjects, target: VertexId(target), remaining }
        })
        .collect())
}

fn decode_state(model: &Model, container: &Container) -> Result<State, ContainerError> {
    let missing = || ContainerError::Missing { name: "clock".into(), kind: "64-bit numbers" };
    let [time, step] = *container.reals("clock")?.first().ok_or_else(missing)?;
    let previous = if container.has("prev_positions") {
        Some(Previous {
            step,
            positions: points(container, "prev_positions")?,
            velocities: points(container, "prev_velocities")?,
        })
    } else {
        None
    };
    let scalars = |name: &str| -> Result<Vec<f64>, ContainerError> {
        Ok(container.reals::<1>(name)?.into_iter().map(|[value]| value).collect())
    };
    let rest_shapes = if container.has("rest_shapes") {
        let shape = |[a, b, c, d]: [f64; 4]| RestShape { sides: [DVec2::new(a, b), DVec2::new(c, d)] };
        container.reals("rest_shapes")?.into_iter().map(shape).collect()
    } else {
        model.rest_shapes.clone()
    };
    let rest_angles = if container.has("rest_angles") { scalars("rest_angles")? } else { model.rest_angles.clone() };
    let hinge_stiffness =
        if container.has("hinge_stiffness") { scalars("hinge_stiffness")? } else { vec![1.0; model.hinges.len()] };
    let triangle_stiffness =
        if container.has("tri_stiffness") { scalars("tri_stiffness")? } else { vec![1.0; model.rest_shapes.len()] };
    Ok(State {
        time,
        positions: points(container, "positions")?,
        velocities: points(container, "velocities")?,
        rest_shapes,
        rest_angles,
        hinge_stiffness,
        triangle_stiffness,
        pulls: decode_pulls(model, container)?,
        tearing: folds::decode(model, container)?,
        flips: folds::decode_flips(model, container)?,
        previous,
        rigid: RigidState::default(),
        loads: Vec::new(),
    })
}

fn points(container: &Container, name: &str) -> Result<Vec<DVec3>, ContainerError> {
    Ok(container.reals(name)?.into_iter().map(DVec3::from_array).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene_file;
    use unsnarl::simulation::{Flow, Simulation};
    use unsnarl::untangle::folds::flip::FlipJob;
    use unsnarl::untangle::folds::tearing::{TearJob, Tearing};
    use unsnarl_geometry::TriangleId;

    fn scene(integration: &str) -> Scene {
        let text = format!(
            "[scene]\nframes = 4\n[[cloth]]\nsheet = {{ size = [0.3, 0.3], cells = [6, 6] }}\npin = [{{ vertices = [0] }}]\n\
             [settings.dynamics]\nintegration = \"{integration}\"\n"
        );
        scene_file::parse("scene.toml", &text, Path::new("."), &[]).unwrap()
    }

    fn run(cache: &Cache, scene: &Scene, first: u32, state: State) {
        let mut simulation = Simulation::new(scene.world.clone(), state, scene.settings.clone());
        for frame in first + 1..=scene.frames {
            simulation.advance(1.0 / scene.frame_rate, &mut |_| Flow::GoOn).unwrap();
            cache.write_frame(frame, &scene.world.model, &simulation.state, simulation.shown.as_deref()).unwrap();
        }
    }

    #[test]
    fn what_cache_json_claims_is_checked_before_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let scene = scene("backward-euler");
        let cache = Cache::create(folder.path(), &scene).unwrap();
        let rejects = |change: &dyn Fn(&mut Info)| {
            let mut info = cache.info.clone();
            change(&mut info);
            std::fs::write(folder.path().join(INFO), serde_json::to_string(&info).unwrap()).unwrap();
            Cache::open(folder.path()).is_err()
        };
        assert!(!rejects(&|_| ()));
        assert!(rejects(&|info| info.pieces[0].triangles[0] = 1 << 31));
        assert!(rejects(&|info| info.pieces[0].triangles[1] = usize::MAX));
        assert!(rejects(&|info| info.pieces[0].vertices = [1, info.vertices - 1]));
        assert!(rejects(&|info| info.vertices += 1));
        assert!(rejects(&|info| info.pieces.clear()));
        assert!(rejects(&|info| info.frame_rate = 0.0));
        // Two pieces whose border lies elsewhere than in the mesh.
        let second = PieceInfo { name: "second".into(), vertices: [9, 40], triangles: [10, 62] };
        assert!(!rejects(&|info| {
            info.pieces[0] = PieceInfo { vertices: [0, 9], triangles: [0, 10], ..info.pieces[0].clone() };
            info.pieces.push(second.clone());
        }));
        assert!(Cache::open(folder.path()).unwrap().mesh().is_err());
    }

    #[test]
    fn a_run_that_goes_on_gives_the_same_bytes() {
        for integration in ["backward-euler", "bdf2"] {
            let folder = tempfile::tempdir().unwrap();
            let scene = scene(integration);
            let whole = Cache::create(&folder.path().join("whole"), &scene).unwrap();
            whole.write_frame(0, &scene.world.model, &scene.state, None).unwrap();
            run(&whole, &scene, 0, scene.state.clone());
            let broken = Cache::create(&folder.path().join("broken"), &scene).unwrap();
            for frame in 0..=2 {
                std::fs::copy(whole.frame_path(frame), broken.frame_path(frame)).unwrap();
            }
            std::fs::write(broken.frame_path(3), b"UNSNARL\0half").unwrap();
            let broken = Cache::open(&folder.path().join("broken")).unwrap();
            let last = broken.last_frame().unwrap();
            assert_eq!(last, 2);
            broken.truncate(last).unwrap();
            run(&broken, &scene, last, broken.read_state(last, &scene.world).unwrap());
            for frame in 0..=4 {
                let [one, other] = [&whole, &broken].map(|cache| std::fs::read(cache.frame_path(frame)).unwrap());
                assert!(one == other, "{integration} frame {frame}");
            }
        }
    }

    #[test]
    fn states_with_changed_rest_shapes_come_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let scene = scene("backward-euler");
        let cache = Cache::create(folder.path(), &scene).unwrap();
        let mut state = scene.state.clone();
        state.rest_shapes[3].sides[0].x *= 0.5;
        state.hinge_stiffness[2] = 7.0;
        state.rest_angles[1] = 0.25;
        state.triangle_stiffness[4] = 0.0;
        state.tearing = Tearing {
            jobs: vec![
                TearJob { strip: vec![TriangleId(1), TriangleId(4)], least_depth: 2, waited: 1.5, age: 3.0 },
                TearJob { strip: vec![TriangleId(0)], least_depth: 1, waited: 0.0, age: 0.5 },
            ],
            yielded: [(TriangleId(3), state.rest_shapes[3])].into(),
            angles: vec![(1, 0.125), (2, -0.5)],
        };
        let flip = |side: f64| FlipJob {
            side,
            flap: vec![VertexId(2), VertexId(5)],
            ground: vec![TriangleId(7)],
            crest: vec![VertexId(3)],
            crease: vec![(4, -2.5), (6, 1.5)],
            negated: vec![1],
            least_wrong: 3,
            waited: 0.5,
            age: 7.0,
            is_stalled: side < 0.0,
        };
        state.flips = vec![flip(1.0), flip(-1.0)];
        state.pulls = vec![
            Pull { subjects: vec![VertexId(3)], target: VertexId(4), remaining: 0.5 },
            Pull { subjects: vec![VertexId(8), VertexId(9)], target: VertexId(16), remaining: 0.25 },
        ];
        state.previous =
            Some(Previous { step: 0.01, positions: state.positions.clone(), velocities: state.velocities.clone() });
        cache.write_frame(0, &scene.world.model, &state, None).unwrap();
        assert_eq!(cache.read_state(0, &scene.world).unwrap(), state);
        assert_eq!(cache.read_positions(0).unwrap().1, state.positions);
    }

    #[test]
    fn what_is_shown_is_read_for_pictures_and_not_for_the_state() {
        let folder = tempfile::tempdir().unwrap();
        let scene = scene("backward-euler");
        let cache = Cache::create(folder.path(), &scene).unwrap();
        let shown: Vec<DVec3> = scene.state.positions.iter().map(|point| *point + DVec3::Y).collect();
        cache.write_frame(0, &scene.world.model, &scene.state, Some(&shown)).unwrap();
        assert_eq!(cache.read_positions(0).unwrap().1, shown);
        assert_eq!(cache.read_state(0, &scene.world).unwrap(), scene.state);
    }

    #[test]
    fn a_folder_in_use_and_a_folder_of_something_else_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let scene = scene("backward-euler");
        let missing = Cache::open(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("expected a folder that unsnarl sim wrote"), "{missing}");
        Cache::create(folder.path(), &scene).unwrap();
        let taken = Cache::create(folder.path(), &scene).unwrap_err().to_string();
        assert!(taken.contains("holds a simulation already"), "{taken}");
        std::fs::write(folder.path().join("cache.json"), "{}").unwrap();
        assert!(Cache::open(folder.path()).is_err());
    }

    #[test]
    fn reports_of_lost_frames_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::create(folder.path(), &scene("backward-euler")).unwrap();
        for frame in 1..=3 {
            cache.append_report(&serde_json::json!({"frame": frame})).unwrap();
        }
        let path = folder.path().join(REPORTS);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"frame\": 4, \"sec");
        std::fs::write(&path, text).unwrap();
        cache.truncate(2).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"frame\":1}\n{\"frame\":2}\n");
    }
}
