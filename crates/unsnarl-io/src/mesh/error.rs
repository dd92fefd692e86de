//! The one line that a refused file gets: where, what, and what to do.

use super::findings::FindingKind;
use std::fmt;
use thiserror::Error;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(usize),
    /// A byte of a binary file, counted from 0.
    Byte(usize),
    /// The file as a whole.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, ":{line}"),
            Self::Byte(byte) => write!(f, ": byte {byte}"),
            Self::Whole => Ok(()),
        }
    }
}

/// Why a mesh file cannot be read or written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{path}{place}: {detail}; {}", kind.advice())]
pub struct MeshFileError {
    /// The file.
    pub path: String,
    /// Where in the file.
    pub place: Place,
    /// The row of the table of findings that this is.
    pub kind: FindingKind,
    /// What was found and what was expected.
    pub detail: String,
}

/// A [`MeshFileError`] before the file's name is known.
#[derive(Clone, Debug)]
pub(super) struct Flaw {
    pub place: Place,
    pub kind: FindingKind,
    pub detail: String,
}

impl Flaw {
    pub fn new(place: Place, kind: FindingKind, detail: impl Into<String>) -> Self {
        Self { place, kind, detail: detail.into() }
    }

    pub fn syntax(place: Place, detail: impl Into<String>) -> Self {
        Self::new(place, FindingKind::Syntax, detail)
    }

    pub fn in_file(self, path: impl Into<String>) -> MeshFileError {
        MeshFileError { path: path.into(), place: self.place, kind: self.kind, detail: self.detail }
    }
}
