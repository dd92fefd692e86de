//! Refined caches: the frames of another cache on a finer mesh, to be shown. `docs/cache.md` says what they hold.
//!
//! Guarantees: as for every cache, files are renamed into place; a frame is believed only when its checksums fit.
//! What a cache says of its own pieces is checked before it is used.

use super::container::{Container, ContainerError};
use super::{Cache, CacheError, CacheMesh, INFO, Info, MESH, PieceInfo, REPORTS, file, points, read_container};
use crate::write_atomically;
use serde::{Deserialize, Serialize};
use std::path::Path;
use unsnarl_geometry::{DVec3, UvMap};

/// Where the frames of a refined cache come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefinedFrom {
    /// The name of the folder of the coarse cache.
    pub cache: String,
    /// Levels of subdivision.
    pub levels: u32,
    /// `loop` or `bounded`.
    pub scheme: String,
    /// Whether simulated vertices were kept where they are.
    pub interpolated: bool,
}

/// The mesh of a refined cache.
#[derive(Clone, Debug)]
pub struct RefinedMesh {
    /// Triangles of all cloth.
    pub triangles: Vec<[u32; 3]>,
    /// The panels of every piece, where it has them.
    pub panels: Vec<Option<UvMap>>,
    /// Triangles of all bodies, by the numbers of their own vertices.
    pub body_triangles: Vec<[u32; 3]>,
}

/// One piece of cloth of a cache, by its own numbering.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Number of vertices.
    pub vertex_count: usize,
    /// Its triangles.
    pub triangles: Vec<[u32; 3]>,
}

impl Cache {
    /// Makes a folder for refined frames, or goes on with one that was made for the very same ones.
    pub fn create_refined(folder: &Path, info: Info, mesh: &RefinedMesh) -> Result<Self, CacheError> {
        if folder.join(INFO).exists() {
            let there = Self::open(folder)?;
            if there.info != info {
                return Err(file(folder, "holds another cache; give another folder"));
            }
            return Ok(there);
        }
        std::fs::create_dir_all(folder).map_err(|error| file(folder, format!("cannot make the folder: {error}")))?;
        let cache = Self { folder: folder.to_path_buf(), info };
        let mut container = Container::default();
        container.push_indices("triangles", mesh.triangles.iter().copied());
        if !mesh.body_triangles.is_empty() {
            container.push_indices("body_triangles", mesh.body_triangles.iter().copied());
        }
        for (piece, uv) in mesh.panels.iter().enumerate() {
            if let Some(uv) = uv {
                container.push_reals(&format!("uv{piece}"), uv.coordinates.iter().map(|uv| [uv.x, uv.y]));
                container.push_indices(&format!("uv{piece}_triangles"), uv.triangles.iter().copied());
            }
        }
        write_atomically(&folder.join(MESH), &container.encode())?;
        let mut text = serde_json::to_string_pretty(&cache.info).unwrap_or_default();
        text.push('\n');
        write_atomically(&folder.join(INFO), text.as_bytes())?;
        Ok(cache)
    }

    /// The pieces, each by its own numbering; refused where they do not follow each other or share vertices.
    pub fn pieces(&self, mesh: &CacheMesh) -> Result<Vec<Piece>, CacheError> {
        let wrong = || file(&self.folder.join(INFO), "its pieces do not fit its mesh");
        let (mut vertex, mut triangle) = (0_usize, 0_usize);
        let mut pieces = Vec::new();
        for PieceInfo { name, vertices, triangles } in &self.info.pieces {
            let fits = vertices[0] == vertex && triangles[0] == triangle;
            let end = [vertex.checked_add(vertices[1]), triangle.checked_add(triangles[1])];
            let ([Some(vertex_end), Some(triangle_end)], true) = (end, fits) else { return Err(wrong()) };
            let corners = mesh.triangles.get(triangle..triangle_end).ok_or_else(wrong)?;
            let own = |corner: u32| (corner as usize).checked_sub(vertex).filter(|&own| own < vertices[1]);
            let local = |corners: &[u32; 3]| {
                let [a, b, c] = corners.map(own);
                Some([a? as u32, b? as u32, c? as u32])
            };
            let triangles: Option<Vec<[u32; 3]>> = corners.iter().map(local).collect();
            let triangles = triangles.ok_or_else(wrong)?;
            pieces.push(Piece { name: name.clone(), vertex_count: vertices[1], triangles });
            (vertex, triangle) = (vertex_end, triangle_end);
        }
        let is_whole = vertex == self.info.vertices && triangle == mesh.triangles.len();
        if is_whole { Ok(pieces) } else { Err(wrong()) }
    }

    /// The triangles of all bodies, obstacles first, then simulated ones; none for a scene without.
    pub fn body_triangles(&self) -> Result<Vec<[u32; 3]>, CacheError> {
        let path = self.folder.join(MESH);
        let container = read_container(&path)?;
        let mut triangles: Vec<[u32; 3]> = if container.has("body_triangles") {
            container.indices("body_triangles").map_err(|error| file(&path, error.to_string()))?
        } else {
            Vec::new()
        };
        if !self.info.rigid.is_empty() {
            let obstacles = self.read_obstacles(self.info.first_frame)?.len();
            triangles.extend(self.rigid_triangles(&self.rigid_shapes()?, obstacles as u32));
        }
        Ok(triangles)
    }

    /// Where the bodies are at a frame: obstacles first, then simulated ones.
    pub fn read_bodies(&self, frame: u32) -> Result<Vec<DVec3>, CacheError> {
        let mut positions = self.read_obstacles(frame)?;
        if !self.info.rigid.is_empty() {
            positions.extend(self.rigid_positions(frame, &self.rigid_shapes()?)?);
        }
        Ok(positions)
    }

    fn read_obstacles(&self, frame: u32) -> Result<Vec<DVec3>, CacheError> {
        let path = self.bodies_path(frame);
        points(&read_container(&path)?, "body_positions").map_err(|error| file(&path, error.to_string()))
    }

    /// Writes a refined frame: time, positions of cloth, and how far vertices are from plain subdivision, where they
    /// are.
    pub fn write_refined(
        &self,
        frame: u32,
        time: f64,
        positions: &[DVec3],
        offsets: &[(u32, DVec3)],
    ) -> Result<(), CacheError> {
        let mut container = Container::default();
        container.push_reals("clock", [[time, 0.0]].into_iter());
        container.push_reals("positions", positions.iter().map(DVec3::to_array));
        container.push_indices("stopped", offsets.iter().map(|&(vertex, _)| [vertex]));
        container.push_reals("stopped_offsets", offsets.iter().map(|(_, offset)| offset.to_array()));
        write_atomically(&self.frame_path(frame), &container.encode())?;
        Ok(())
    }

    /// Writes where bodies are at a refined frame; nothing where there are none.
    pub fn write_body_positions(&self, frame: u32, positions: &[DVec3]) -> Result<(), CacheError> {
        if !positions.is_empty() {
            let mut container = Container::default();
            container.push_reals("body_positions", positions.iter().map(DVec3::to_array));
            write_atomically(&self.bodies_path(frame), &container.encode())?;
        }
        Ok(())
    }

    /// The stopped vertices of a refined frame, with their offsets from plain subdivision.
    pub fn read_offsets(&self, frame: u32) -> Result<Vec<(u32, DVec3)>, CacheError> {
        let path = self.frame_path(frame);
        let container = read_container(&path)?;
        let wrong = |error: ContainerError| file(&path, error.to_string());
        let vertices: Vec<[u32; 1]> = container.indices("stopped").map_err(wrong)?;
        let offsets = points(&container, "stopped_offsets").map_err(wrong)?;
        Ok(vertices.into_iter().map(|[vertex]| vertex).zip(offsets).collect())
    }

    /// Whether a frame is there and whole.
    pub fn has_whole_frame(&self, frame: u32) -> bool {
        read_container(&self.frame_path(frame)).is_ok()
    }

    /// The reports that are there, line by line; a line that was cut short is left out.
    pub fn reports(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.join(REPORTS)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Replaces all reports, and removes what killed runs left half-written.
    pub fn write_reports(&self, reports: &[serde_json::Value]) -> Result<(), CacheError> {
        let lines: String = reports.iter().map(|report| format!("{report}\n")).collect();
        write_atomically(&self.folder.join(REPORTS), lines.as_bytes())?;
        let entries = std::fs::read_dir(&self.folder).map_err(|error| file(&self.folder, error.to_string()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(".unsnarl-") && name.ends_with(".tmp") {
                std::fs::remove_file(entry.path()).map_err(|error| file(&entry.path(), error.to_string()))?;
            }
        }
        Ok(())
    }
}
