//! A simulation cache beside the workpiece that shows it: frames, reports, and how many contours each frame has.

use crate::packet::Packet;
use serde_json::Value;
use std::path::Path;
use unsnarl::analysis::{self, Assembly};
use unsnarl_geometry::{DVec3, TriMesh};
use unsnarl_io::cache::{Cache, CacheError};

/// A cache that is shown.
pub struct Playback {
    cache: Cache,
    /// One surface per group of rigid bodies.
    shapes: Vec<TriMesh>,
    last_frame: u32,
    reports: Vec<Value>,
    /// The next frame whose contours are to be counted.
    next_count: u32,
    workspace: analysis::Workspace,
}

/// A frame of a cache.
pub struct PlayedFrame {
    /// Its number.
    pub number: u32,
    /// Seconds.
    pub time: f64,
    /// Positions of cloth.
    pub cloth: Vec<DVec3>,
    /// Positions of rigid bodies.
    pub bodies: Vec<DVec3>,
}

impl Playback {
    /// Opens a cache folder.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let cache = Cache::open(folder)?;
        let Some(last_frame) = cache.last_frame() else {
            let path = folder.display().to_string();
            return Err(CacheError::File { path, reason: "no whole frame; run unsnarl sim first".to_owned() });
        };
        let lines = std::fs::read_to_string(folder.join("frames.jsonl")).unwrap_or_default();
        let reports = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let next_count = cache.info.first_frame;
        let shapes = cache.rigid_shapes()?;
        Ok(Self { cache, shapes, last_frame, reports, next_count, workspace: analysis::Workspace::default() })
    }

    /// The cache itself.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Adds what the page needs to play it.
    pub fn describe(&self, packet: Packet) -> Packet {
        packet
            .field("title", &self.cache.info.title)
            .field("frame_rate", self.cache.info.frame_rate)
            .field("last_frame", self.last_frame)
            .field("reports", &self.reports)
    }

    /// A frame; a number beyond the end gives the last.
    pub fn frame(&self, number: u32) -> Result<PlayedFrame, CacheError> {
        let number = number.clamp(self.cache.info.first_frame, self.last_frame);
        let (time, cloth) = self.cache.read_positions(number)?;
        let bodies = self.cache.rigid_positions(number, &self.shapes)?;
        Ok(PlayedFrame { number, time, cloth, bodies })
    }

    /// Counts the contours of one more frame; `None` when all are counted.
    pub fn count_next(&mut self, assembly: &Assembly) -> Option<Packet> {
        let number = self.next_count;
        if number > self.last_frame {
            return None;
        }
        self.next_count += 1;
        let contours = match self.frame(number) {
            Ok(PlayedFrame { cloth, bodies, .. }) => {
                analysis::analyze(assembly, &[cloth, bodies].concat(), &mut self.workspace).contours.len()
            }
            Err(_) => 0,
        };
        Some(Packet::new("strip").field("number", number).field("contours", contours))
    }
}
