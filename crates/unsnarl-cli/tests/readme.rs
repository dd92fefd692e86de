//! The shell blocks of README.md run as they stand, beside `samples/`, `scenes/` and `assets/`.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Run, root};
use std::path::Path;
use std::process::Command;

/// The fenced blocks of a language in a Markdown text.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn shell_blocks_run() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = blocks(&readme, "sh");
    assert!(!blocks.is_empty(), "README.md has no sh block");
    let folder = tempfile::tempdir().unwrap();
    for name in ["samples", "scenes", "assets"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), folder.path().join(name)).unwrap();
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_unsnarl")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(binaries.to_path_buf()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    for block in blocks {
        for line in block.lines().filter(|line| line.starts_with("unsnarl ")) {
            let output =
                Command::new("sh").args(["-c", line]).current_dir(folder.path()).env("PATH", &path).output().unwrap();
            let run = Run::from(output);
            let expected = if line.starts_with("unsnarl check") { 1 } else { 0 };
            assert_eq!(run.status, expected, "{line}: {}{}", run.out, run.err);
        }
    }
}
