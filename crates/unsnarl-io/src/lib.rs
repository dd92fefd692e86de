//! The only crate that knows formats.

pub mod animation;
pub mod cache;
pub mod export;
pub mod field_file;
pub mod garment_file;
pub mod level_set_file;
pub mod mesh;
pub mod pattern_file;
pub mod photo;
pub mod picture;
pub mod scene_file;
pub mod stroke_file;
pub mod tet_file;

#[cfg(test)]
#[path = "../../../tests/rust/real_data.rs"]
mod real_data;

use std::io::Write;
use std::path::Path;
use thiserror::Error;

/// A file that could not be written, with the reason.
#[derive(Debug, Error)]
#[error("{path}: cannot write: {source}")]
pub struct WriteError {
    path: String,
    source: std::io::Error,
}

/// Writes a whole file beside its target and renames it, so that a reader sees the old file or the new one, never half.
/// Its permissions are those of any new file, as the umask has them.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let fail = |source| WriteError { path: path.display().to_string(), source };
    let mut file = temporary_beside(path).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// A new temporary file in the folder of a target, to be renamed to it. Every output of the project begins here.
///
/// Left to itself, a temporary file is for its owner alone; this one has the permissions that the umask gives to any
/// new file.
fn temporary_beside(target: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unsnarl-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
