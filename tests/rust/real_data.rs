//! Real meshes for the tests of every crate: the bundled `assets`, or the larger optional set beside the project.
//!
//! A test that finds neither returns early; it says so, and appends one line to the file that `UNSNARL_SKIPPED`
//! names, which `./test` counts and prints at its end. `UNSNARL_DATA` names another folder than `../shared/data` for
//! the optional set.

use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of the assets or of the optional set; `None`, said aloud and counted, where neither has it.
pub fn real_data(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let optional = std::env::var_os("UNSNARL_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    let found = [root.join("assets"), optional].into_iter().map(|folder| folder.join(path)).find(|path| path.exists());
    if found.is_none() {
        count_as_skipped(path);
    }
    found
}

fn count_as_skipped(path: &str) {
    let thread = std::thread::current();
    let line = format!("{} {}: no {path}\n", env!("CARGO_PKG_NAME"), thread.name().unwrap_or("a test"));
    print!("skipped: {line}");
    let Some(list) = std::env::var_os("UNSNARL_SKIPPED") else { return };
    // One write of a short line to a file opened for appending: tests that end at the same time do not mix their lines.
    let written = std::fs::OpenOptions::new().create(true).append(true).open(list);
    if let Err(error) = written.and_then(|mut list| list.write_all(line.as_bytes())) {
        println!("cannot count it: {error}");
    }
}
