//! Frames of a cache, refined one by one into another cache: for `unsnarl refine` and for `unsnarl sim` as it writes.

use crate::session::Failure;
use serde::Serialize;
use std::path::Path;
use unsnarl::analysis::{self, Assembly, PartKind};
use unsnarl::output::attributes::split_uv;
use unsnarl::output::{Collisions, Ladder, LevelReport, RefineError, RefineSettings, refine};
use unsnarl_geometry::{DVec3, UvMap};
use unsnarl_io::cache::refined::{Piece, RefinedFrom, RefinedMesh};
use unsnarl_io::cache::{Cache, Info, PieceInfo};
use unsnarl_io::mesh::LARGEST_COORDINATE;

/// The mesh that all frames of a cache share, and its refinement.
pub struct FrameRefiner {
    ladder: Ladder,
    settings: RefineSettings,
    body_count: usize,
}

/// What a cache is made of.
pub struct Coarse {
    /// Cloth, piece by piece.
    pub pieces: Vec<Piece>,
    /// The panels of every piece.
    pub panels: Vec<Option<UvMap>>,
    /// The triangles of all bodies, by their own numbers.
    pub body_triangles: Vec<[u32; 3]>,
    /// How many vertices bodies have.
    pub body_count: usize,
}

/// One frame. It says nothing of time, so that it is the same in every run.
#[derive(Clone, Debug, Serialize)]
pub struct FrameLine {
    pub frame: u32,
    pub time: f64,
    pub certified: bool,
    pub pairs_at_start: usize,
    pub intersecting_triangle_pairs: usize,
    pub levels: Vec<LevelReport>,
}

/// Why a frame was not refined.
pub enum FrameFailure {
    /// It was not clean, or became so.
    NotClean(String),
    /// Files.
    Other(Failure),
}

impl FrameRefiner {
    /// How many levels it is.
    pub fn levels(&self) -> u32 {
        self.ladder.levels() as u32
    }

    /// How far the last level of plain subdivision moves a vertex of a frame.
    pub fn last_displacement(&self, cloth: &[DVec3], bodies: &[DVec3]) -> Result<f64, RefineError> {
        let bodies = if self.body_count == 0 { &[] } else { bodies };
        let settings = RefineSettings { collisions: Collisions::Ignore, ..self.settings };
        let mut last = 0.0;
        refine(&self.ladder, &[cloth, bodies].concat(), &settings, &mut |level, _, _| last = level.displacement.max)?;
        Ok(last)
    }

    /// Prepares the levels.
    pub fn new(coarse: &Coarse, levels: u32, settings: RefineSettings, folder: &Path) -> Result<Self, Failure> {
        let named = |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", folder.display()));
        let cloth = (coarse.pieces.iter())
            .map(|piece| (piece.name.clone(), PartKind::Cloth, piece.vertex_count, piece.triangles.as_slice()));
        let bodies = (!coarse.body_triangles.is_empty())
            .then(|| ("bodies".to_owned(), PartKind::Body, coarse.body_count, coarse.body_triangles.as_slice()));
        let assembly = Assembly::new(cloth.chain(bodies)).map_err(|error| named(&error))?;
        let ladder = Ladder::build(assembly, &[], levels).map_err(|error| named(&error))?;
        Ok(Self { ladder, settings, body_count: if coarse.body_triangles.is_empty() { 0 } else { coarse.body_count } })
    }

    /// What the refined cache says of itself.
    pub fn info(&self, source: &Info, name: String, scheme: &str, [first, last]: [u32; 2]) -> Info {
        let finest = self.ladder.finest();
        let cloth = finest.parts().iter().filter(|part| part.kind == PartKind::Cloth);
        let interpolated = self.settings.smoothing.old_vertices == unsnarl_geometry::subdivision::OldVertices::Kept;
        Info {
            frames: last,
            vertices: cloth.clone().map(|part| part.vertices.len()).sum(),
            triangles: cloth.clone().map(|part| part.triangles.len()).sum(),
            pieces: cloth
                .map(|part| PieceInfo {
                    name: part.name.clone(),
                    vertices: [part.vertices.start, part.vertices.len()],
                    triangles: [part.triangles.start, part.triangles.len()],
                })
                .collect(),
            // Rigid bodies are among the bodies of a refined cache.
            rigid: Vec::new(),
            first_frame: first,
            refined_from: Some(RefinedFrom {
                cache: name,
                levels: self.ladder.levels() as u32,
                scheme: scheme.to_owned(),
                interpolated,
            }),
            ..source.clone()
        }
    }

    /// The mesh of the refined cache.
    pub fn mesh(&self, coarse: &Coarse) -> RefinedMesh {
        let finest = self.ladder.finest();
        let cloth_triangles: usize =
            finest.parts().iter().filter(|part| part.kind == PartKind::Cloth).map(|part| part.triangles.len()).sum();
        let split = |uv: &Option<UvMap>| {
            uv.as_ref().map(|uv| (0..self.ladder.levels()).fold(uv.clone(), |uv, _| split_uv(&uv)))
        };
        RefinedMesh {
            triangles: finest.topology().own_triangles(0..cloth_triangles, 0),
            panels: coarse.panels.iter().map(split).collect(),
            body_triangles: coarse.body_triangles.clone(),
        }
    }

    /// Refines one frame and writes it with its bodies.
    pub fn refine(
        &self,
        frame: u32,
        (time, cloth): (f64, &[DVec3]),
        bodies: &[DVec3],
        target: &Cache,
    ) -> Result<FrameLine, FrameFailure> {
        let bodies = if self.body_count == 0 { &[] } else { bodies };
        let positions = [cloth, bodies].concat();
        let is_usual = |point: &DVec3| point.is_finite() && point.abs().max_element() <= LARGEST_COORDINATE;
        if let Some(vertex) = positions.iter().position(|point| !is_usual(point)) {
            let line = format!("frame {frame}: vertex {vertex} is not at a usable position; simulate it again");
            return Err(FrameFailure::Other(Failure::input(line)));
        }
        let mut levels = Vec::new();
        let refined = refine(&self.ladder, &positions, &self.settings, &mut |level, _, _| levels.push(level));
        let refined = refined.map_err(|error| match error {
            RefineError::NotClean { .. } => FrameFailure::NotClean(format!("frame {frame}: {error}")),
            RefineError::Positions { .. } | RefineError::Split(_) => {
                FrameFailure::Other(Failure::input(format!("frame {frame}: {error}")))
            }
        })?;
        let verdict = analysis::verdict(self.ladder.finest(), &refined.positions, &mut analysis::Workspace::default());
        let line = FrameLine {
            frame,
            time,
            certified: verdict.is_clean() && refined.start.is_clean(),
            pairs_at_start: refined.start.pairs.len(),
            intersecting_triangle_pairs: verdict.pairs.len(),
            levels,
        };
        if !line.certified && self.settings.start_pairs == unsnarl::output::StartPairs::Refuse {
            let pairs = line.intersecting_triangle_pairs;
            return Err(FrameFailure::NotClean(format!("frame {frame}: {pairs} triangle pairs meet after refinement")));
        }
        let write = || {
            target.write_body_positions(frame, bodies)?;
            let shown = &refined.positions[..refined.positions.len() - bodies.len()];
            target.write_refined(frame, time, shown, &refined.offsets)
        };
        write().map_err(|error| FrameFailure::Other(Failure::input(error)))?;
        Ok(line)
    }
}

/// The largest change of the offset from plain subdivision between two frames, metres: what an eye may see as a jump.
pub fn popping(before: &[(u32, DVec3)], after: &[(u32, DVec3)]) -> f64 {
    let changes_against = |theirs: &[(u32, DVec3)], ours: &[(u32, DVec3)]| {
        let other = |vertex: u32| {
            theirs.binary_search_by_key(&vertex, |&(own, _)| own).map_or(DVec3::ZERO, |place| theirs[place].1)
        };
        ours.iter().map(|&(vertex, offset)| offset.distance(other(vertex))).fold(0.0, f64::max)
    };
    changes_against(before, after).max(changes_against(after, before))
}
