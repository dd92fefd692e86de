//! A body beside an animation: a mesh that stands still, a sequence of meshes, USD with time samples, or a character
//! that plays a clip.

use super::{Animation, AnimationError, OpenOptions, sequence, wrong};
use crate::mesh::{self, Character, Format, MeshFile};
use std::path::{Path, PathBuf};
use unsnarl_geometry::{DVec3, TriMesh};

/// Where a body is, frame by frame.
pub struct BodyMotion {
    path: PathBuf,
    /// Its mesh at first.
    pub mesh: TriMesh,
    source: Source,
}

enum Source {
    Still,
    Sequence(Box<Animation>),
    /// Seconds from the first sample, and positions.
    Samples(Vec<(f64, Vec<DVec3>)>),
    Clip(Box<Character>, usize),
}

impl BodyMotion {
    /// Opens a body. A clip, if one is named, is looked for in glTF files.
    pub fn open(path: &Path, clip: Option<&str>, options: &OpenOptions) -> Result<Self, AnimationError> {
        let format = Format::from_path(path);
        let (mesh, source) = if path.is_dir() || sequence::is_pattern(path) {
            let animation = Animation::open(path, options)?;
            (animation.pieces[0].1.mesh.clone(), Source::Sequence(Box::new(animation)))
        } else if let (Some(name), Some(Format::Gltf | Format::Glb)) = (clip, format) {
            let character = mesh::read_character(path, &options.read)?;
            let Some(at) = character.clips.iter().position(|own| own.name == name) else {
                let names: Vec<&str> = character.clips.iter().map(|clip| clip.name.as_str()).collect();
                return Err(wrong(path, format!("no clip {name}; the file has {}", names.join(", "))));
            };
            (character.file.mesh.clone(), Source::Clip(Box::new(character), at))
        } else if format == Some(Format::Usda) {
            let motion = mesh::read_motion(path, &options.read)?;
            let MeshFile { mesh, .. } = motion.file;
            let start = motion.frames.first().map_or(0.0, |frame| frame.0);
            let samples = motion.frames.into_iter().map(|(seconds, points)| (seconds - start, points)).collect();
            (mesh, Source::Samples(samples))
        } else {
            (mesh::read(path, &options.read)?.mesh, Source::Still)
        };
        Ok(Self { path: path.to_path_buf(), mesh, source })
    }

    /// Where it is in a frame: by its number in a sequence, else by the seconds since the first frame.
    pub fn positions(&self, number: u32, seconds: f64) -> Result<Vec<DVec3>, AnimationError> {
        match &self.source {
            Source::Still => Ok(self.mesh.positions.clone()),
            Source::Samples(samples) => Ok(between(samples, seconds).unwrap_or_else(|| self.mesh.positions.clone())),
            Source::Clip(character, clip) => Ok(character.positions_at(&character.clips[*clip], seconds)),
            Source::Sequence(animation) => {
                let own = animation.frames.iter().position(|frame| frame.number == number);
                let missing = || wrong(&self.path, format!("has no frame {number}, which the cloth has"));
                animation.positions(own.ok_or_else(missing)?)
            }
        }
    }
}

/// Straight between two samples, held outside of them.
fn between(samples: &[(f64, Vec<DVec3>)], seconds: f64) -> Option<Vec<DVec3>> {
    let after = samples.partition_point(|sample| sample.0 <= seconds);
    let before = samples.get(after.saturating_sub(1))?;
    let Some(next) = samples.get(after).filter(|_| after > 0) else { return Some(before.1.clone()) };
    let share = (seconds - before.0) / (next.0 - before.0);
    Some(before.1.iter().zip(&next.1).map(|(from, to)| *from + (*to - *from) * share).collect())
}
