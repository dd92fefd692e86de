//! Binary USD: crate files (`.usdc`, and `.usd` that hold one) and packages (`.usdz`), read into the same [`Layer`]
//! as USD text.
//!
//! A crate file is a table of sections: tokens, fields, sets of fields, paths and specs, whose integers are packed
//! and compressed; values lie anywhere and are found through 64-bit representations. A package is an archive whose
//! first file is the layer. The layout is that of the open-source release of USD, versions 0.4 to 0.x of the format.
//!
//! Guarantees: every offset, index and count is checked against the file; nothing recurses; damaged files are refused
//! with the byte where that is known. What a text layer says of meshes, a binary one says too.
//! Does not: read values of kinds that meshes do not use, nor other files of a package.

mod container;
mod layer;
mod package;
mod packed;
mod value;

pub(super) use layer::read_layer;
pub(super) use package::first_file;

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;

/// Whether bytes are a crate file.
pub(super) fn is_crate(bytes: &[u8]) -> bool {
    bytes.starts_with(container::MAGIC)
}

/// Whether bytes are an archive.
pub(super) fn is_package(bytes: &[u8]) -> bool {
    bytes.starts_with(package::MAGIC)
}

fn damaged(at: usize, what: &str) -> Flaw {
    Flaw::new(Place::Byte(at), FindingKind::Syntax, format!("damaged binary USD: {what}"))
}
