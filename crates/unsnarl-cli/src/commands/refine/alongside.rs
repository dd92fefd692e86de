//! Refined frames beside simulated ones, as `unsnarl sim` writes them: `[output] refine = N` in a scene.
//!
//! They are a cache of their own in the folder `refined` of the simulation's. Frames that are not clean are refined
//! too, and named in a warning: a simulation goes on.

use super::frames::{Coarse, FrameFailure, FrameRefiner};
use super::size;
use crate::session::Failure;
use std::path::Path;
use unsnarl::output::{Depth, RefineSettings, StartPairs};
use unsnarl_io::cache::Cache;
use unsnarl_io::cache::refined::Piece;
use unsnarl_io::scene_file::Scene;

/// The folder beside the frames.
const FOLDER: &str = "refined";

/// A refined cache that grows with a simulation.
pub struct Alongside {
    refiner: FrameRefiner,
    target: Cache,
    has_bodies: bool,
}

impl Alongside {
    /// Opens it where the scene asks for it. Frames up to `last` that are missing are refined from the cache; later
    /// ones are removed.
    pub fn open(scene: &Scene, cache: &Cache, folder: &Path, last: u32) -> Result<Option<Self>, Failure> {
        if scene.refine == 0 {
            return Ok(None);
        }
        let coarse = coarse(scene);
        let triangles = coarse.pieces.iter().map(|piece| piece.triangles.len()).sum();
        let size = size::Coarse { triangles, frames_at_once: 1 };
        size::fitting(Depth::Levels(scene.refine), &size, "output.refine")?;
        let settings = RefineSettings {
            separation: scene.settings.collision.separation,
            start_pairs: StartPairs::LeaveOut,
            ..RefineSettings::default()
        };
        let refiner = FrameRefiner::new(&coarse, scene.refine, settings, folder)?;
        let info = refiner.info(&cache.info, "..".to_owned(), "loop", [0, cache.info.frames]);
        let own = folder.join(FOLDER);
        // What an earlier version of the scene left cannot go on.
        if Cache::open(&own).is_ok_and(|there| there.info != info && there.info.refined_from.is_some()) {
            std::fs::remove_dir_all(&own)
                .map_err(|error| Failure::input(format!("{}: cannot remove it: {error}", own.display())))?;
        }
        let target = Cache::create_refined(&own, info, &refiner.mesh(&coarse)).map_err(Failure::input)?;
        target.truncate(last).map_err(Failure::input)?;
        let alongside = Self { refiner, target, has_bodies: !coarse.body_triangles.is_empty() };
        for frame in (0..=last).filter(|&frame| !alongside.target.has_whole_frame(frame)) {
            alongside.write(frame, cache)?;
        }
        Ok(Some(alongside))
    }

    /// Refines a frame that was just written; a warning where it is not clean.
    pub fn write(&self, frame: u32, cache: &Cache) -> Result<Option<String>, Failure> {
        let (time, cloth) = cache.read_positions(frame).map_err(Failure::input)?;
        let bodies = if self.has_bodies { cache.read_bodies(frame).map_err(Failure::input)? } else { Vec::new() };
        let line = match self.refiner.refine(frame, (time, &cloth), &bodies, &self.target) {
            Ok(line) => line,
            Err(FrameFailure::NotClean(what)) => return Ok(Some(what)),
            Err(FrameFailure::Other(failure)) => return Err(failure),
        };
        self.target.append_report(&line).map_err(Failure::input)?;
        Ok((!line.certified).then(|| {
            let (before, after) = (line.pairs_at_start, line.intersecting_triangle_pairs);
            format!("frame {frame}: {before} triangle pairs meet, {after} after refinement")
        }))
    }
}

fn coarse(scene: &Scene) -> Coarse {
    let model = &scene.world.model;
    let pieces = model.pieces.iter().map(|piece| Piece {
        name: piece.name.clone(),
        vertex_count: piece.vertices.len(),
        triangles: model.topology.own_triangles(piece.triangles.clone(), piece.vertices.start),
    });
    let mut body_triangles = Vec::new();
    let mut body_count = 0;
    for mesh in scene.world.surfaces.meshes() {
        let first = body_count as u32;
        body_triangles.extend(mesh.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
        body_count += mesh.positions.len();
    }
    Coarse { pieces: pieces.collect(), panels: scene.panels.clone(), body_triangles, body_count }
}
