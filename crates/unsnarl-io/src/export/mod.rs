//! From a cache to files that other tools open: USD with time samples, glTF with morph targets, OBJ sequences, PC2.
//!
//! Rigid bodies follow cloth. USD and glTF hold the mesh of a group once and a transform per body and frame; OBJ and
//! PC2, which know no transforms, hold all their points.
//!
//! Guarantees: frames are read one at a time; a single file is written beside its target and renamed.
//! Does not: keep more than 32 bits of a coordinate in glTF and PC2, whose formats have no more.

mod gltf;
mod obj_sequence;
mod pc2;
mod usd;

use crate::cache::{Cache, CacheError, CacheMesh};
use std::io::{BufWriter, Write};
use std::path::Path;
use thiserror::Error;
use unsnarl::rigid::Placement;
use unsnarl_geometry::{DVec3, TriMesh};

/// Why an export failed.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The cache cannot be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The output cannot be written.
    #[error("{path}: cannot write: {reason}")]
    Write {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The output is of no known kind.
    #[error("{path}: expected a name that ends in .usda, .glb, .obj or .pc2")]
    Kind {
        /// The file.
        path: String,
    },
    /// The output is of a kind that the Python package writes.
    #[error(
        "{path}: the Python package writes this: pip install 'unsnarl[{extra}]', then the same command; or choose .usda or .glb"
    )]
    NeedsPython {
        /// The file.
        path: String,
        /// The extra of the package that is needed.
        extra: &'static str,
    },
    /// There is nothing to write.
    #[error("{path}: no frame from {first} to {last}; the cache ends at {end}")]
    Empty {
        /// The cache or file.
        path: String,
        /// First frame asked for.
        first: u32,
        /// Last frame asked for.
        last: u32,
        /// Last frame there is.
        end: u32,
    },
    /// A format cannot hold so much.
    #[error("{path}: {reason}")]
    TooLarge {
        /// The file.
        path: String,
        /// What is too large, and what to do.
        reason: String,
    },
}

/// Which frames to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first frame.
    pub first: u32,
    /// The last frame; those that the cache does not have are left out.
    pub last: u32,
    /// Every how many frames.
    pub every: u32,
}

impl Default for Selection {
    fn default() -> Self {
        Self { first: 0, last: u32::MAX, every: 1 }
    }
}

/// A cache, opened for export.
struct Source<'a> {
    cache: &'a Cache,
    mesh: CacheMesh,
    /// One surface per group of rigid bodies.
    shapes: Vec<TriMesh>,
    frames: Vec<u32>,
}

impl Source<'_> {
    /// Cloth at a frame.
    fn positions(&self, frame: u32) -> Result<Vec<DVec3>, ExportError> {
        Ok(self.cache.read_positions(frame)?.1)
    }

    /// Cloth at a frame, then all rigid bodies.
    fn all_positions(&self, frame: u32) -> Result<Vec<DVec3>, ExportError> {
        let mut positions = self.positions(frame)?;
        positions.extend(self.cache.rigid_positions(frame, &self.shapes)?);
        Ok(positions)
    }

    /// How many points that is.
    fn point_count(&self) -> usize {
        let of_groups = self.cache.info.rigid.iter().zip(&self.shapes);
        self.cache.info.vertices
            + of_groups.map(|(group, shape)| group.bodies[1] * shape.positions.len()).sum::<usize>()
    }

    /// Where every body of every group is at every frame.
    fn placements(&self) -> Result<Vec<Vec<Vec<Placement>>>, ExportError> {
        Ok(self.frames.iter().map(|&frame| self.cache.rigid_placements(frame)).collect::<Result<_, _>>()?)
    }

    /// Triangles of a piece, counted from its own first vertex.
    fn piece_triangles(&self, piece: usize) -> impl Iterator<Item = [u32; 3]> + '_ {
        let info = &self.cache.info.pieces[piece];
        let first = info.vertices[0] as u32;
        let range = info.triangles[0]..info.triangles[0] + info.triangles[1];
        self.mesh.triangles[range].iter().map(move |corners| corners.map(|corner| corner - first))
    }
}

/// Writes a cache in the format that the target's name asks for; returns the number of frames.
pub fn export(cache: &Cache, target: &Path, selection: Selection) -> Result<usize, ExportError> {
    let path = target.display().to_string();
    let end = cache.last_frame().unwrap_or(0);
    let frames: Vec<u32> = (selection.first.max(cache.info.first_frame)..=selection.last.min(end))
        .step_by(selection.every.max(1) as usize)
        .collect();
    if frames.is_empty() {
        return Err(ExportError::Empty { path, first: selection.first, last: selection.last, end });
    }
    let source = Source { cache, mesh: cache.mesh()?, shapes: cache.rigid_shapes()?, frames };
    let extension = target.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "usda" => write_streaming(target, |out| usd::write(&source, out))?,
        "glb" => gltf::write(&source, target)?,
        "obj" => obj_sequence::write(&source, target)?,
        "pc2" => write_streaming(target, |out| pc2::write(&source, out))?,
        "usdc" | "usd" | "usdz" => return Err(ExportError::NeedsPython { path, extra: "usd" }),
        "abc" => return Err(ExportError::NeedsPython { path, extra: "abc" }),
        _ => return Err(ExportError::Kind { path }),
    }
    Ok(source.frames.len())
}

/// What a format's writer may run into.
enum Failed {
    Export(ExportError),
    Io(std::io::Error),
}

impl From<ExportError> for Failed {
    fn from(error: ExportError) -> Self {
        Self::Export(error)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes a file piece by piece beside its target, then renames it.
fn write_streaming(target: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), Failed>) -> Result<(), ExportError> {
    let fail =
        |error: std::io::Error| ExportError::Write { path: target.display().to_string(), reason: error.to_string() };
    let file = crate::temporary_beside(target).map_err(fail)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    match write(&mut out) {
        Ok(()) => {}
        Err(Failed::Export(error)) => return Err(error),
        Err(Failed::Io(error)) => return Err(fail(error)),
    }
    let file = out.into_inner().map_err(|error| fail(error.into_error()))?;
    file.persist(target).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests;
