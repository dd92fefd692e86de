//! Animations of one mesh: sequences of mesh files, PC2 point caches with their mesh, USD time samples, our own caches.
//!
//! [`Animation::open`] finds out what it is and looks at every frame before anything else is done: all frames have the
//! same vertices and triangles, no frame is missing between the first and the last. [`output::Output`] writes the same
//! kind again; [`body::BodyMotion`] is a body beside it.
//!
//! Guarantees: frames are read one at a time (time samples of USD are held as a whole); a frame that does not fit is
//! named with what was expected; nothing is allocated for what a header promises and the file does not hold.
//! Does not: follow triangles that change, or several garments in files of their own.

pub mod body;
pub mod output;
pub mod pc2;
pub mod sequence;

use crate::cache::{Cache, CacheError};
use crate::mesh::{self, Format, KeepSource, MeshFile, MeshFileError, ReadOptions};
use pc2::PointCache;
use rayon::prelude::*;
use sequence::Sequence;
use std::path::{Path, PathBuf};
use thiserror::Error;
use unsnarl_geometry::{DVec3, TriMesh};

/// Why an animation cannot be used.
#[derive(Debug, Error)]
pub enum AnimationError {
    /// A file or folder is not as it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file or folder.
        path: String,
        /// What was expected, and what to do.
        reason: String,
    },
    /// A mesh file cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshFileError),
    /// A cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::WriteError),
}

pub(crate) fn wrong(path: &Path, reason: impl Into<String>) -> AnimationError {
    AnimationError::File { path: path.display().to_string(), reason: reason.into() }
}

/// A frame of an animation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameInfo {
    /// Its number, in the name of its file or from the start of its cache.
    pub number: u32,
    /// Its time, seconds.
    pub seconds: f64,
}

/// An animation that was looked over.
#[derive(Clone, Debug)]
pub struct Animation {
    /// What was given.
    pub path: PathBuf,
    /// The frames, in order; there is at least one.
    pub frames: Vec<FrameInfo>,
    /// The pieces of cloth with their names, as they are in the first frame.
    pub pieces: Vec<(String, MeshFile)>,
    pub(crate) source: Source,
}

/// Where frames come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Sequence(Sequence, ReadOptions),
    PointCache(PointCache),
    Samples { frames: Vec<Vec<DVec3>>, rate: f64 },
    Cache(Cache),
}

/// What is needed beside the path.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How to read mesh files.
    pub read: ReadOptions,
    /// The mesh of a PC2 file.
    pub mesh: Option<PathBuf>,
    /// Frames per second, where the files do not say.
    pub frame_rate: f64,
}

impl Animation {
    /// Whether a path is an animation: a folder, a pattern, a PC2 file, or USD with time samples.
    pub fn is_one(path: &Path, options: &ReadOptions) -> bool {
        let is_usd = Format::from_path(path) == Some(Format::Usda);
        path.is_dir()
            || pc2::is_named_so(path)
            || sequence::is_pattern(path)
            || is_usd && mesh::read_motion(path, options).is_ok_and(|motion| motion.frames.len() > 1)
    }

    /// Opens an animation and looks at all of it.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, AnimationError> {
        if path.join("cache.json").is_file() {
            return Self::of_cache(path);
        }
        if pc2::is_named_so(path) {
            return Self::of_point_cache(path, options);
        }
        if !path.is_dir() && !sequence::is_pattern(path) {
            return Self::of_samples(path, options);
        }
        Self::of_sequence(path, options)
    }

    /// Number of vertices of all pieces.
    pub fn vertex_count(&self) -> usize {
        self.pieces.iter().map(|(_, file)| file.mesh.positions.len()).sum()
    }

    /// The pieces as they are in a frame, with all that their file carries.
    pub fn files(&self, at: usize) -> Result<Vec<MeshFile>, AnimationError> {
        if let Source::Sequence(sequence, options) = &self.source {
            return Ok(vec![mesh::read(&sequence.files[at].1, options)?]);
        }
        let mut positions = self.positions(at)?.into_iter();
        let piece = |(_, file): &(String, MeshFile)| {
            file.with_positions(positions.by_ref().take(file.mesh.positions.len()).collect())
        };
        Ok(self.pieces.iter().map(piece).collect())
    }

    /// Where the vertices of all pieces are in a frame.
    pub fn positions(&self, at: usize) -> Result<Vec<DVec3>, AnimationError> {
        match &self.source {
            Source::Sequence(sequence, options) => Ok(mesh::read(&sequence.files[at].1, options)?.mesh.positions),
            Source::PointCache(points) => points.read(at, &self.pieces[0].1.conversion),
            Source::Samples { frames, .. } => Ok(frames[at].clone()),
            Source::Cache(cache) => Ok(cache.read_positions(self.frames[at].number)?.1),
        }
    }

    /// The cache that it is, if it is one.
    pub fn cache(&self) -> Option<&Cache> {
        if let Source::Cache(cache) = &self.source { Some(cache) } else { None }
    }

    /// The file that a frame comes from, or what holds all of them.
    pub fn place(&self, at: usize) -> String {
        match &self.source {
            Source::Sequence(sequence, _) => sequence.files[at].1.display().to_string(),
            _ => format!("{}, frame {}", self.path.display(), self.frames[at].number),
        }
    }

    /// A path beside which a garment's sidecar would lie.
    pub fn sidecar_of(&self, piece: usize) -> PathBuf {
        match &self.source {
            Source::Sequence(sequence, _) => sequence.files[0].1.clone(),
            Source::Cache(_) => self.path.join(&self.pieces[piece].0),
            Source::PointCache(points) => points.mesh.clone(),
            Source::Samples { .. } => self.path.clone(),
        }
    }

    fn of_sequence(path: &Path, options: &OpenOptions) -> Result<Self, AnimationError> {
        let sequence = sequence::find(path)?;
        let read = ReadOptions { keep_source: KeepSource::ForWriting, ..options.read };
        let first = mesh::read(&sequence.files[0].1, &read)?;
        let looked_at: Vec<Result<(), AnimationError>> = sequence.files[1..]
            .par_iter()
            .map(|(_, file)| {
                let quick = ReadOptions { keep_source: KeepSource::Forget, ..options.read };
                fits(&mesh::read(file, &quick)?.mesh, &first.mesh, file, &sequence.files[0].1)
            })
            .collect();
        looked_at.into_iter().collect::<Result<(), AnimationError>>()?;
        let start = sequence.files[0].0;
        let info = |&(number, _): &(u32, PathBuf)| FrameInfo {
            number,
            seconds: f64::from(number - start) / options.frame_rate,
        };
        let frames = sequence.files.iter().map(info).collect();
        let pieces = vec![(name_of(path), first)];
        Ok(Self { path: path.to_path_buf(), frames, pieces, source: Source::Sequence(sequence, read) })
    }

    fn of_point_cache(path: &Path, options: &OpenOptions) -> Result<Self, AnimationError> {
        let Some(mesh_path) = &options.mesh else {
            return Err(wrong(path, "a point cache has no triangles; give its mesh with --mesh MESH"));
        };
        let file = mesh::read(mesh_path, &ReadOptions { keep_source: KeepSource::Forget, ..options.read })?;
        let points = PointCache::open(path, mesh_path)?;
        if points.point_count != file.mesh.positions.len() {
            let (given, expected) = (points.point_count, file.mesh.positions.len());
            let mesh_path = mesh_path.display();
            return Err(wrong(path, format!("{given} points in a frame; {mesh_path} has {expected} vertices")));
        }
        let info = |at: usize| FrameInfo { number: at as u32, seconds: at as f64 / options.frame_rate };
        let frames = (0..points.frame_count).map(info).collect();
        let pieces = vec![(name_of(mesh_path), file)];
        Ok(Self { path: path.to_path_buf(), frames, pieces, source: Source::PointCache(points) })
    }

    fn of_samples(path: &Path, options: &OpenOptions) -> Result<Self, AnimationError> {
        let read = ReadOptions { keep_source: KeepSource::Forget, ..options.read };
        let motion = mesh::read_motion(path, &read)?;
        if motion.frames.is_empty() {
            return Err(wrong(path, "no time samples; a single mesh is given to `unsnarl fix` as it is"));
        }
        let info = |(at, frame): (usize, &(f64, Vec<DVec3>))| FrameInfo { number: at as u32, seconds: frame.0 };
        let frames = motion.frames.iter().enumerate().map(info).collect();
        let pieces = vec![(name_of(path), motion.file)];
        let samples = motion.frames.into_iter().map(|frame| frame.1).collect();
        let source = Source::Samples { frames: samples, rate: motion.rate };
        Ok(Self { path: path.to_path_buf(), frames, pieces, source })
    }

    fn of_cache(path: &Path) -> Result<Self, AnimationError> {
        let cache = Cache::open(path)?;
        let Some(last) = cache.last_frame() else {
            return Err(wrong(path, "no whole frame; run unsnarl sim first"));
        };
        let first = cache.info.first_frame;
        let beyond = (last + 1..=cache.info.frames).find(|&frame| cache.frame_path(frame).exists());
        if let Some(beyond) = beyond {
            let reason = format!("frame {} is missing or damaged, but frame {beyond} is there", last + 1);
            return Err(wrong(path, format!("{reason}; simulate it again with --resume")));
        }
        let mesh = cache.mesh()?;
        let (_, positions) = cache.read_positions(first)?;
        let mut positions = positions.into_iter();
        let mut pieces = Vec::new();
        for (piece, uv) in cache.pieces(&mesh)?.into_iter().zip(&mesh.panels) {
            let own = TriMesh {
                positions: positions.by_ref().take(piece.vertex_count).collect(),
                triangles: piece.triangles,
            };
            pieces.push((piece.name, MeshFile::new(own, uv.clone())));
        }
        let rate = cache.info.frame_rate;
        let info = |number: u32| FrameInfo { number, seconds: f64::from(number) / rate };
        let frames = (first..=last).map(info).collect();
        Ok(Self { path: path.to_path_buf(), frames, pieces, source: Source::Cache(cache) })
    }
}

/// Whether a frame has the vertices and triangles of the first.
fn fits(frame: &TriMesh, first: &TriMesh, path: &Path, first_path: &Path) -> Result<(), AnimationError> {
    let first_name = first_path.display();
    let counts = [
        (frame.triangles.len(), first.triangles.len(), "triangles"),
        (frame.positions.len(), first.positions.len(), "vertices"),
    ];
    for (given, expected, what) in counts {
        if given != expected {
            let reason = format!("{given} {what}, but {first_name} has {expected}; all frames need the same");
            return Err(wrong(path, reason));
        }
    }
    if frame.triangles != first.triangles {
        return Err(wrong(path, format!("has other triangles than {first_name}; all frames need the same")));
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
