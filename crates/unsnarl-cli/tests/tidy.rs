//! The lines of the architecture, held: who may name whom, what the engine may not touch, paths that documents name,
//! and files that grow too long.

#![allow(clippy::unwrap_used)]

mod running;

use running::root;
use std::path::{Path, PathBuf};

/// Which crates of the project each crate may depend on outside its tests.
const MAY_NAME: [(&str, &[&str]); 7] = [
    ("unsnarl-geometry", &[]),
    ("unsnarl-volume", &["unsnarl-geometry"]),
    ("unsnarl", &["unsnarl-geometry", "unsnarl-volume"]),
    ("unsnarl-io", &["unsnarl-geometry", "unsnarl-volume", "unsnarl"]),
    ("unsnarl-studio", &["unsnarl-geometry", "unsnarl-volume", "unsnarl", "unsnarl-io"]),
    ("unsnarl-cli", &["unsnarl-geometry", "unsnarl-volume", "unsnarl", "unsnarl-io", "unsnarl-studio"]),
    ("unsnarl-py", &["unsnarl-geometry", "unsnarl-volume", "unsnarl", "unsnarl-io", "unsnarl-cli"]),
];

/// The stages of a step. No stage names another, but all may read the analysis and the remedy of `untangle`.
const STAGES: [&str; 6] = ["rigid", "bodies", "analysis", "untangle", "dynamics", "contact"];
const READ_BY_ALL: [&str; 2] = ["analysis", "untangle"];

/// What the pure crates may not touch: files, clocks, processes, the environment, threads of their own, and output.
const IMPURE: [&str; 12] = [
    "std::fs",
    "std::time",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "ThreadPoolBuilder",
    "static mut",
    "thread_local!",
    "println!",
    "eprintln!",
    "SystemTime",
];

fn crates() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    found.sort();
    found
}

/// All files of an extension below a folder, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Source without its tests and without comments.
fn code(path: &Path) -> String {
    let text = read(path);
    let library = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    library.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test_source(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"))
        || path.components().any(|component| component.as_os_str() == "tests")
}

#[test]
fn crates_name_only_those_below_them() {
    for (name, folder) in crates() {
        let allowed = MAY_NAME.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("{name}: a crate that the architecture does not know"));
        let manifest = read(&folder.join("Cargo.toml"));
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for line in dependencies.lines().filter(|line| line.starts_with("unsnarl")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            assert!(allowed.contains(&dependency), "{name} depends on {dependency}");
        }
    }
}

#[test]
fn geometry_volume_and_engine_touch_no_file_clock_or_global() {
    for name in ["unsnarl-geometry", "unsnarl-volume", "unsnarl"] {
        for path in files(&root().join("crates").join(name).join("src"), "rs") {
            if is_test_source(&path) {
                continue;
            }
            let code = code(&path);
            for word in IMPURE {
                assert!(!code.contains(word), "{}: {word}", path.display());
            }
        }
    }
}

#[test]
fn stages_do_not_call_each_other() {
    let engine = root().join("crates/unsnarl/src");
    for stage in STAGES {
        for path in files(&engine.join(stage), "rs") {
            if is_test_source(&path) {
                continue;
            }
            let code = code(&path);
            for other in STAGES.iter().filter(|other| **other != stage && !READ_BY_ALL.contains(other)) {
                for call in ["propose(", "finish(", "resolve(", "place(", "keep_out(", "advance("] {
                    let call = format!("{other}::{call}");
                    assert!(!code.contains(&call), "{}: calls {call}), which is for step.rs", path.display());
                }
            }
            for call in ["analysis::analyze(", "untangle::plan("] {
                assert!(!code.contains(call), "{}: calls {call}), which is for step.rs", path.display());
            }
        }
    }
}

/// `path/with/slashes` or `file.ext` in back quotes that names something of the repository.
fn named_paths(text: &str) -> Vec<&str> {
    let known = ["assets", "crates/", "docs/", "benches/", "samples", "scenes", "tests/", ".ci/", "studio/"];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|quoted| known.iter().any(|start| quoted.starts_with(start)) || quoted.ends_with(".md"))
        .filter(|quoted| {
            !quoted.contains([' ', '*', '<', '{'])
                && !quoted.chars().any(|letter| letter.is_ascii_uppercase() && quoted.contains("NAME"))
        })
        .collect()
}

#[test]
fn paths_named_in_documents_exist() {
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(&root().join(document));
        let paths = named_paths(&text);
        for path in &paths {
            assert!(root().join(path).exists(), "{document} names {path}, which is not there");
        }
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            assert!(file.is_empty() || root().join(file).exists(), "{document} links to {target}, which is not there");
        }
    }
    assert!(named_paths(&read(&root().join("ARCHITECTURE.md"))).len() > 5, "ARCHITECTURE.md names its folders");
}

#[test]
fn every_crate_and_every_stage_is_in_the_architecture() {
    let text = read(&root().join("ARCHITECTURE.md"));
    for (name, _) in crates() {
        assert!(text.contains(&format!("`crates/{name}`")), "ARCHITECTURE.md does not name crates/{name}");
    }
    let engine = root().join("crates/unsnarl/src");
    for entry in std::fs::read_dir(engine).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        assert!(text.contains(&format!("`{name}/`")), "ARCHITECTURE.md does not name the engine's folder {name}");
    }
}

#[test]
fn source_files_begin_with_what_they_are_and_stay_short() {
    for (_, folder) in crates() {
        for path in files(&folder.join("src"), "rs") {
            let text = read(&path);
            assert!(text.starts_with("//! ") || is_test_source(&path), "{}: no header", path.display());
            let lines = text.lines().count();
            assert!(lines <= 650, "{}: {lines} lines; split it", path.display());
        }
    }
}

/// The fields of each struct of a source, by its name.
fn structs(code: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for line in code.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.iter().position(|word| *word == "struct").and_then(|at| words.get(at + 1));
        match name {
            Some(name) if !line.starts_with(' ') && line.ends_with('{') => {
                found.push((name.trim_end_matches('{').to_owned(), 0));
                is_inside = true;
            }
            _ if line == "}" => is_inside = false,
            _ => {
                let is_field = line.starts_with("    ") && !line.starts_with("     ") && line.contains(": ");
                if let Some((_, count)) = found.last_mut().filter(|_| is_inside && is_field) {
                    *count += 1;
                }
            }
        }
    }
    found
}

#[test]
fn types_of_fix_have_few_fields() {
    let mut largest = 0;
    for path in files(&root().join("crates/unsnarl/src/fix"), "rs") {
        for (name, fields) in structs(&code(&path)) {
            assert!(fields <= 15, "{}: {name} has {fields} fields", path.display());
            largest = largest.max(fields);
        }
    }
    assert!(largest > 10, "structs are found");
}

#[test]
fn the_driver_of_fix_is_short() {
    let lines = code(&root().join("crates/unsnarl/src/fix/driver.rs")).lines().count();
    assert!(lines < 150, "{lines} lines");
}

#[test]
fn positions_are_written_in_one_place_while_cloth_is_untangled() {
    let folder = root().join("crates/unsnarl/src/fix/stepwise");
    for path in files(&folder, "rs").into_iter().filter(|path| !path.ends_with("stepwise/adopt.rs")) {
        for line in code(&path).lines() {
            let after = line.split("state.positions").nth(1).map(str::trim_start).unwrap_or_default();
            let writes = [".copy_from_slice", ".clone_from", ".iter_mut", ".get_mut", ".fill"];
            let is_written = writes.iter().any(|call| after.starts_with(call))
                || (after.starts_with("= ") || after.starts_with("+= ") || after.starts_with("-= "));
            assert!(!is_written, "{}: writes positions: {}", path.display(), line.trim());
        }
    }
}

/// Temporary files are for their owner alone unless somebody takes care; one function does.
#[test]
fn outputs_begin_in_one_place() {
    for (_, folder) in crates() {
        for path in files(&folder.join("src"), "rs").into_iter().filter(|path| !is_test_source(path)) {
            let is_the_place = path.ends_with("unsnarl-io/src/lib.rs");
            let makes_one = ["tempfile_in", "NamedTempFile"].iter().any(|word| code(&path).contains(word));
            assert!(is_the_place || !makes_one, "{}: makes its own temporary files", path.display());
        }
    }
}

#[test]
fn nothing_is_left_to_do_in_the_sources() {
    let marks = ["TODO", "FIXME", "XXX", concat!("#[", "ignore")].map(|mark| mark.to_owned());
    for (_, folder) in crates() {
        for path in files(&folder, "rs").into_iter().filter(|path| !path.ends_with("tests/tidy.rs")) {
            let text = read(&path);
            for mark in &marks {
                assert!(!text.contains(mark.as_str()), "{}: {mark}", path.display());
            }
        }
    }
}
