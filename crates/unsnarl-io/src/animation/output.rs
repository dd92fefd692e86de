//! What becomes of an animation: the same kind again, frame by frame where frames are files, at the end where one file
//! holds all of them.

use super::sequence::Pattern;
use super::{Animation, AnimationError, Source, pc2, wrong};
use crate::cache::refined::{RefinedFrom, RefinedMesh};
use crate::cache::{Cache, Info};
use crate::mesh::{self, Format, MeshFile};
use std::path::{Path, PathBuf};
use unsnarl_geometry::DVec3;

/// Where an animation is written.
#[derive(Clone, Debug)]
pub struct Output {
    kind: Kind,
    /// What was asked for.
    pub path: PathBuf,
}

#[derive(Clone, Debug)]
enum Kind {
    /// One file for every frame.
    Files(Vec<PathBuf>),
    PointCache,
    Usd,
    Cache,
}

impl Output {
    /// Where to write an animation; refused where the name does not fit. Nothing is written yet.
    pub fn plan(animation: &Animation, path: &Path) -> Result<Self, AnimationError> {
        let kind = match &animation.source {
            Source::Sequence(sequence, _) => Kind::Files(files(path, &sequence.files)?),
            Source::PointCache(_) if pc2::is_named_so(path) => Kind::PointCache,
            Source::PointCache(_) => return Err(wrong(path, "a point cache becomes one again; give a name in .pc2")),
            Source::Samples { .. } if Format::for_output(path) == Some(Format::Usda) => Kind::Usd,
            Source::Samples { .. } => return Err(wrong(path, "time samples are written as USD text; give a .usda")),
            Source::Cache(_) if path.extension().is_some_and(|_| Format::from_path(path).is_some()) => {
                return Err(wrong(path, "a cache becomes a cache; give a folder, and export it afterwards"));
            }
            Source::Cache(_) => {
                let same = path.canonicalize().ok().zip(animation.path.canonicalize().ok());
                if same.is_some_and(|(one, other)| one == other) {
                    return Err(wrong(path, "this is the cache that is read; give another folder"));
                }
                if path.join("cache.json").exists() && Some(Cache::open(path)?.info) != fixed_info(animation) {
                    return Err(wrong(path, "holds another cache; give another folder"));
                }
                Kind::Cache
            }
        };
        Ok(Self { kind, path: path.to_path_buf() })
    }

    /// Where the vertices of all pieces are once they are written.
    pub fn stored(&self, at: usize, files: &[MeshFile], positions: &[DVec3]) -> Vec<DVec3> {
        match &self.kind {
            Kind::Cache => positions.to_vec(),
            Kind::PointCache => positions.iter().map(|&point| pc2::stored(point, &files[0].conversion)).collect(),
            Kind::Usd => files[0].with_positions(positions.to_vec()).stored_positions(Format::Usda),
            Kind::Files(targets) => {
                let file = files[0].with_positions(positions.to_vec());
                match file.format_for(&targets[at]) {
                    Some(format) => file.stored_positions(format),
                    None => positions.to_vec(),
                }
            }
        }
    }

    /// Whether every frame is written by itself.
    pub fn is_by_frame(&self) -> bool {
        matches!(self.kind, Kind::Files(_) | Kind::Cache)
    }

    /// Makes the folder that frames go into.
    pub fn begin(&self, animation: &Animation) -> Result<(), AnimationError> {
        match &self.kind {
            Kind::Files(targets) => {
                let Some(folder) = targets.first().and_then(|target| target.parent()) else { return Ok(()) };
                std::fs::create_dir_all(folder)
                    .map_err(|error| wrong(folder, format!("cannot make this folder: {error}")))
            }
            Kind::Cache => self.cache(animation).map(|_| ()),
            Kind::PointCache | Kind::Usd => Ok(()),
        }
    }

    /// Writes one frame, where frames are written one by one.
    pub fn write_frame(
        &self,
        animation: &Animation,
        at: usize,
        files: &[MeshFile],
        positions: &[DVec3],
    ) -> Result<(), AnimationError> {
        match &self.kind {
            Kind::Files(targets) => Ok(mesh::write(&targets[at], &files[0].with_positions(positions.to_vec()))?),
            Kind::Cache => {
                let (Some(source), number) = (animation.cache(), animation.frames[at].number) else { return Ok(()) };
                let target = self.cache(animation)?;
                if !source.body_triangles()?.is_empty() {
                    target.write_body_positions(number, &source.read_bodies(number)?)?;
                }
                let (time, input) = source.read_positions(number)?;
                let moved = input.iter().zip(positions).enumerate().filter(|(_, (was, is))| was != is);
                let offsets: Vec<(u32, DVec3)> = moved.map(|(at, (was, is))| (at as u32, *is - *was)).collect();
                Ok(target.write_refined(number, time, positions, &offsets)?)
            }
            Kind::PointCache | Kind::Usd => Ok(()),
        }
    }

    /// Writes the one file that holds all frames, where there is one.
    pub fn finish(
        &self,
        animation: &Animation,
        frame: &dyn Fn(usize) -> Result<Vec<DVec3>, AnimationError>,
    ) -> Result<(), AnimationError> {
        let file = &animation.pieces[0].1;
        match (&self.kind, &animation.source) {
            (Kind::PointCache, Source::PointCache(points)) => points.write(&self.path, &file.conversion, frame),
            (Kind::Usd, Source::Samples { rate, .. }) => {
                let mut samples = Vec::new();
                for (at, info) in animation.frames.iter().enumerate() {
                    samples.push((info.seconds, frame(at)?));
                }
                let bytes = mesh::encode_motion(file, &samples, *rate);
                Ok(crate::write_atomically(&self.path, &bytes)?)
            }
            _ => Ok(()),
        }
    }

    fn cache(&self, animation: &Animation) -> Result<Cache, AnimationError> {
        let Some(source) = animation.cache() else { return Err(wrong(&self.path, "not a cache")) };
        let mesh = source.mesh()?;
        let refined =
            RefinedMesh { triangles: mesh.triangles, panels: mesh.panels, body_triangles: source.body_triangles()? };
        let info = fixed_info(animation).unwrap_or_else(|| source.info.clone());
        Ok(Cache::create_refined(&self.path, info, &refined)?)
    }
}

/// What the cache of a repaired animation says of itself.
fn fixed_info(animation: &Animation) -> Option<Info> {
    let source = animation.cache()?;
    let name = animation.path.canonicalize().ok()?;
    let cache = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let frames = animation.frames.last()?.number;
    let from = RefinedFrom { cache, levels: 0, scheme: "fix".to_owned(), interpolated: true };
    Some(Info { frames, refined_from: Some(from), rigid: Vec::new(), ..source.info.clone() })
}

/// The file of every frame: the pattern with its numbers, or a folder with the names of the input.
fn files(path: &Path, inputs: &[(u32, PathBuf)]) -> Result<Vec<PathBuf>, AnimationError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let targets: Vec<PathBuf> = match Pattern::of(&name).filter(|_| !path.is_dir()) {
        Some(pattern) => inputs.iter().map(|&(number, _)| path.with_file_name(pattern.name(number))).collect(),
        None if Format::from_path(path).is_some() && !path.is_dir() => {
            return Err(wrong(path, "one file for many frames; give a folder, or a name with #### for the number"));
        }
        None => inputs.iter().map(|(_, file)| path.join(file.file_name().unwrap_or_default())).collect(),
    };
    if let Some(target) = targets.iter().find(|target| Format::for_output(target).is_none()) {
        return Err(wrong(target, "the name does not say a kind of mesh file that is written, such as .obj or .usda"));
    }
    let same = |target: &&PathBuf| {
        let own = target.canonicalize().ok();
        own.is_some() && inputs.iter().any(|(_, input)| input.canonicalize().ok() == own)
    };
    match targets.iter().find(same) {
        Some(target) => Err(wrong(target, "a frame of the input would be written over; give another folder or name")),
        None => Ok(targets),
    }
}
