//! The opened folder: the only place that the page can have files read from or written to.
//!
//! Guarantees: a path from the page is relative, has no `..`, and after all links are followed it lies in the folder;
//! a file that exists is not written over unless the page says so; a target is never a link.
//! Does not: defend against another program of the same user that swaps links while a file is opened.

use crate::sculpt_desk::is_volume;
use serde::Serialize;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;
use unsnarl_io::mesh::Format;

/// A folder that has been opened.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// Why a path is refused.
#[derive(Debug, Error)]
pub enum PathError {
    /// It leads out of the folder.
    #[error("{0}: outside the opened folder; start the studio on the folder that holds it")]
    Outside(String),
    /// It is not there or cannot be read.
    #[error("{0}: cannot read: {1}")]
    Unreadable(String, std::io::Error),
    /// It is too large to open.
    #[error("{0}: {1} MB; the studio opens files of up to {2} MB")]
    TooLarge(String, u64, u64),
    /// Something is there already.
    #[error("{0}: exists already; choose another name, or say that it may be replaced")]
    Exists(String),
}

/// What may happen to a file that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Existing {
    /// It stays; saving is refused.
    #[default]
    Keep,
    /// It is replaced.
    Replace,
}

/// An entry of a listing.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Path within the folder, with `/`.
    pub path: String,
    /// `mesh`, `volume` or `cache`.
    pub kind: &'static str,
    /// Size in bytes of a mesh file.
    pub bytes: u64,
}

/// The largest file that is opened.
pub const LARGEST_FILE: u64 = 512 << 20;
const LARGEST_LISTING: usize = 200;
const DEEPEST_LISTING: usize = 3;

impl Folder {
    /// Opens a folder; links to it are followed once, here.
    pub fn open(path: &Path) -> Result<Self, PathError> {
        let name = path.display().to_string();
        let root = path.canonicalize().map_err(|error| PathError::Unreadable(name.clone(), error))?;
        if root.is_dir() {
            return Ok(Self { root });
        }
        let error = std::io::Error::new(std::io::ErrorKind::NotADirectory, "not a folder");
        Err(PathError::Unreadable(name, error))
    }

    /// The path of something that exists in the folder.
    pub fn existing(&self, relative: &str) -> Result<PathBuf, PathError> {
        let path = self.root.join(plain(relative)?);
        let path = path.canonicalize().map_err(|error| PathError::Unreadable(relative.to_owned(), error))?;
        if path.starts_with(&self.root) { Ok(path) } else { Err(PathError::Outside(relative.to_owned())) }
    }

    /// The bytes of a file in the folder.
    pub fn read(&self, relative: &str) -> Result<Vec<u8>, PathError> {
        let path = self.existing(relative)?;
        let unreadable = |error| PathError::Unreadable(relative.to_owned(), error);
        let length = std::fs::metadata(&path).map_err(unreadable)?.len();
        if length > LARGEST_FILE {
            return Err(PathError::TooLarge(relative.to_owned(), length >> 20, LARGEST_FILE >> 20));
        }
        std::fs::read(&path).map_err(unreadable)
    }

    /// A path that may be written.
    pub fn target(&self, relative: &str, existing: Existing) -> Result<PathBuf, PathError> {
        let plain = plain(relative)?;
        let outside = || PathError::Outside(relative.to_owned());
        let name = plain.file_name().ok_or_else(outside)?;
        let parent = match plain.parent().and_then(Path::to_str) {
            Some("") | None => self.root.clone(),
            Some(parent) => self.existing(parent)?,
        };
        let target = parent.join(name);
        match std::fs::symlink_metadata(&target) {
            Err(_) => Ok(target),
            Ok(found) if found.is_symlink() => Err(outside()),
            Ok(found) if found.is_file() && existing == Existing::Replace => Ok(target),
            Ok(_) => Err(PathError::Exists(relative.to_owned())),
        }
    }

    /// Mesh files and simulation caches, sorted by path.
    pub fn list(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.list_into(&self.root, "", DEEPEST_LISTING, &mut entries);
        entries.sort_by(|a, b| (a.path.matches('/').count(), &a.path).cmp(&(b.path.matches('/').count(), &b.path)));
        entries.truncate(LARGEST_LISTING);
        entries
    }

    fn list_into(&self, folder: &Path, prefix: &str, depth: usize, entries: &mut Vec<Entry>) {
        let Ok(found) = std::fs::read_dir(folder) else { return };
        for entry in found.flatten().take(4 * LARGEST_LISTING) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let hidden = name.starts_with('.') || matches!(name.as_str(), "target" | "node_modules");
            if hidden || entries.len() >= 4 * LARGEST_LISTING {
                continue;
            }
            let path = format!("{prefix}{name}");
            if kind.is_dir() && entry.path().join("cache.json").is_file() {
                entries.push(Entry { path, kind: "cache", bytes: 0 });
            } else if kind.is_dir() && depth > 1 {
                self.list_into(&entry.path(), &format!("{path}/"), depth - 1, entries);
            } else if kind.is_file() && (is_volume(&name) || Format::from_path(Path::new(&name)).is_some()) {
                let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                let kind = if is_volume(&name) { "volume" } else { "mesh" };
                entries.push(Entry { path, kind, bytes });
            }
        }
    }
}

/// A relative path without anything but names.
fn plain(relative: &str) -> Result<PathBuf, PathError> {
    let outside = || PathError::Outside(relative.chars().take(120).collect());
    if relative.contains(['\0', '\\', ':']) || relative.len() > 1024 {
        return Err(outside());
    }
    let path = Path::new(relative);
    let mut names = path.components().peekable();
    if names.peek().is_none() || !names.all(|part| matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    Ok(path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("secret.obj"), "v 0 0 0\n").unwrap();
        let inner = outer.path().join("open");
        std::fs::create_dir_all(inner.join("sub")).unwrap();
        std::fs::write(inner.join("a.obj"), "v 0 0 0\n").unwrap();
        std::fs::write(inner.join("sub/b.ply"), "ply\n").unwrap();
        std::fs::write(inner.join("notes.txt"), "no\n").unwrap();
        let folder = Folder::open(&inner).unwrap();
        (outer, folder)
    }

    #[test]
    fn paths_out_of_the_folder_are_refused() {
        let (outer, folder) = folder();
        for bad in ["../secret.obj", "sub/../../secret.obj", "/etc/passwd", "", ".", "a\0.obj", "C:\\x.obj", "..\\x"] {
            assert!(matches!(folder.read(bad), Err(PathError::Outside(_))), "{bad:?}");
            assert!(matches!(folder.target(bad, Existing::Replace), Err(PathError::Outside(_))), "{bad:?}");
        }
        let absolute = outer.path().join("secret.obj");
        assert!(matches!(folder.read(absolute.to_str().unwrap()), Err(PathError::Outside(_))));
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_refused() {
        let (outer, folder) = folder();
        std::os::unix::fs::symlink(outer.path().join("secret.obj"), outer.path().join("open/link.obj")).unwrap();
        std::os::unix::fs::symlink(outer.path(), outer.path().join("open/up")).unwrap();
        assert!(matches!(folder.read("link.obj"), Err(PathError::Outside(_))));
        assert!(matches!(folder.read("up/secret.obj"), Err(PathError::Outside(_))));
        assert!(matches!(folder.target("link.obj", Existing::Replace), Err(PathError::Outside(_))));
        assert!(matches!(folder.target("up/new.obj", Existing::Keep), Err(PathError::Outside(_))));
    }

    #[test]
    fn files_are_written_over_only_when_the_page_says_so() {
        let (_outer, folder) = folder();
        assert!(folder.target("new.obj", Existing::Keep).is_ok());
        assert!(folder.target("sub/new.obj", Existing::Keep).is_ok());
        assert!(matches!(folder.target("a.obj", Existing::Keep), Err(PathError::Exists(_))));
        assert!(folder.target("a.obj", Existing::Replace).is_ok());
        assert!(matches!(folder.target("sub", Existing::Replace), Err(PathError::Exists(_))));
        assert!(matches!(folder.target("nowhere/new.obj", Existing::Keep), Err(PathError::Unreadable(..))));
    }

    #[test]
    fn a_listing_names_meshes_and_caches() {
        let (outer, folder) = folder();
        std::fs::create_dir_all(outer.path().join("open/run")).unwrap();
        std::fs::write(outer.path().join("open/run/cache.json"), "{}").unwrap();
        let listed: Vec<(String, &str)> = folder.list().into_iter().map(|entry| (entry.path, entry.kind)).collect();
        let expected = [("a.obj", "mesh"), ("run", "cache"), ("sub/b.ply", "mesh")];
        assert_eq!(listed, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }
}
