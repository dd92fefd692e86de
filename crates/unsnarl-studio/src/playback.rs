//! A simulation cache, frame by frame.

use crate::packet::Packet;
use serde_json::Value;
use std::path::Path;
use unsnarl_geometry::{DVec3, Topology};
use unsnarl_io::cache::{Cache, CacheError, CacheMesh};

/// A cache that is shown.
pub struct Playback {
    cache: Cache,
    mesh: CacheMesh,
    last_frame: u32,
    reports: Vec<Value>,
}

impl Playback {
    /// Opens a cache folder.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let cache = Cache::open(folder)?;
        let mesh = cache.mesh()?;
        let Some(last_frame) = cache.last_frame() else {
            let path = folder.display().to_string();
            return Err(CacheError::File { path, reason: "no whole frame; run unsnarl sim first".to_owned() });
        };
        let lines = std::fs::read_to_string(folder.join("frames.jsonl")).unwrap_or_default();
        let reports = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { cache, mesh, last_frame, reports })
    }

    /// What stays the same.
    pub fn opened(&self, name: &str) -> Result<Packet, CacheError> {
        let (_, positions) = self.cache.read_positions(0)?;
        let info = &self.cache.info;
        let edges = Topology::new(info.vertices, &self.mesh.triangles).map(|topology| topology.edges().to_vec());
        let edges = edges.unwrap_or_default();
        Ok(Packet::new("opened")
            .field("name", name)
            .field("title", &info.title)
            .field("frame_rate", info.frame_rate)
            .field("last_frame", self.last_frame)
            .field("reports", &self.reports)
            .field("cloth_vertices", info.vertices)
            .field("remarks", Vec::<String>::new())
            .field("parts", info.pieces.iter().map(|piece| {
                serde_json::json!({ "name": piece.name, "kind": "cloth", "vertices": piece.vertices, "triangles": piece.triangles })
            }).collect::<Vec<_>>())
            .reals("positions", reals(&positions))
            .indices("triangles", self.mesh.triangles.iter().flatten().copied())
            .indices("edges", edges.iter().flat_map(|ends| ends.map(|end| end.0)))
            .reals("panels", [])
            .indices("panel_triangles", []))
    }

    /// A frame; a number beyond the end gives the last.
    pub fn frame(&self, number: u32) -> Result<Packet, CacheError> {
        let number = number.min(self.last_frame);
        let (time, positions) = self.cache.read_positions(number)?;
        Ok(Packet::new("cache-frame").field("number", number).field("time", time).reals("positions", reals(&positions)))
    }
}

fn reals(points: &[DVec3]) -> impl Iterator<Item = f32> + '_ {
    points.iter().flat_map(|point| point.to_array().map(|value| value as f32))
}
