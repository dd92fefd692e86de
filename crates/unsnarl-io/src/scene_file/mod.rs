//! Scene files: TOML in, a world and its first state out.
//!
//! Guarantees: an error is one line that names the file, the line where there is one, what was expected and what to do.
//! Unknown keys are errors. `--set path=value` changes go through the same checks.
//! Does not: write anything.

mod body;
mod build;
mod copies;
pub mod dress;
mod field;
mod flypaper;
mod folds;
pub mod format;
mod lines;
mod rest_fields;
mod rigid;

pub use format::SceneFile;
pub use rigid::RigidGroup;

use std::path::{Path, PathBuf};
use thiserror::Error;
use unsnarl::settings::Settings;
use unsnarl::simulation::World;
use unsnarl::state::State;
use unsnarl_geometry::UvMap;

/// The largest scene file that is read, bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// A scene, ready to go.
#[derive(Clone, Debug)]
pub struct Scene {
    /// What the scene shows.
    pub title: String,
    /// What does not change.
    pub world: World,
    /// What does, at frame 0.
    pub state: State,
    /// How it is computed.
    pub settings: Settings,
    /// The last frame.
    pub frames: u32,
    /// Frames per second.
    pub frame_rate: f64,
    /// Levels of subdivision for frames as they are written; 0 for none.
    pub refine: u32,
    /// The panels of every piece, where it has them.
    pub panels: Vec<Option<UvMap>>,
    /// The rigid bodies that move by themselves, group by group.
    pub rigid: Vec<RigidGroup>,
    /// The scene's own text and all changes: two scenes with the same words are the same scene.
    pub words: String,
    /// What is worth knowing but stops nothing.
    pub remarks: Vec<String>,
}

/// Why a scene cannot be used.
#[derive(Debug, Error)]
pub enum SceneError {
    /// The file cannot be read.
    #[error("{path}: cannot read: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A line is wrong.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, what was expected.
        problem: String,
    },
    /// A change from the command line is wrong.
    #[error("--set {change}: {problem}")]
    Change {
        /// The change.
        change: String,
        /// What is wrong, what was expected.
        problem: String,
    },
}

/// Reads a scene and everything it names. `changes` are `path=value` as `--set` takes them.
pub fn read(path: &Path, changes: &[String]) -> Result<Scene, SceneError> {
    let (name, text, folder) = read_text(path)?;
    parse(&name, &text, &folder, changes)
}

/// The name, the text and the folder of a scene file.
fn read_text(path: &Path) -> Result<(String, String, PathBuf), SceneError> {
    let name = path.display().to_string();
    let fail = |reason: String| SceneError::Read { path: name.clone(), reason };
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > LARGEST_FILE {
        return Err(fail(format!("{size} bytes; a scene file has {LARGEST_FILE} at most")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    Ok((name, text, folder))
}

/// The same for a text; meshes are looked for in `folder`.
pub fn parse(name: &str, text: &str, folder: &Path, changes: &[String]) -> Result<Scene, SceneError> {
    let file = tables(name, text, changes)?;
    let mut words = text.to_owned();
    for change in changes {
        words.push('\n');
        words.push_str(change);
    }
    build::build(&file, folder, words).map_err(|problem| at_its_line(name, text, &problem))
}

/// The tables of a scene, changed.
fn tables(name: &str, text: &str, changes: &[String]) -> Result<SceneFile, SceneError> {
    let at_line = |line, problem| SceneError::Line { path: name.to_owned(), line, problem };
    let plain: SceneFile =
        toml::from_str(text).map_err(|error| at_line(lines::line_of_error(text, &error), lines::one_line(&error)))?;
    if changes.is_empty() { Ok(plain) } else { with_changes(text, changes) }
}

fn at_its_line(name: &str, text: &str, problem: &build::Problem) -> SceneError {
    SceneError::Line {
        path: name.to_owned(),
        line: lines::line_of_path(text, &problem.path),
        problem: format!("{}: {}", lines::dotted(&problem.path), problem.text),
    }
}

/// The JSON schema of scene files.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(SceneFile)).unwrap_or_default();
    text.push('\n');
    text
}

fn with_changes(text: &str, changes: &[String]) -> Result<SceneFile, SceneError> {
    let fail = |change: &str, problem: String| SceneError::Change { change: change.to_owned(), problem };
    let last = changes.last().map_or("", String::as_str);
    let table = changed_table(text, changes)?;
    toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| fail(last, lines::one_line(&error)))
}

/// The scene as a table, changed.
fn changed_table(text: &str, changes: &[String]) -> Result<toml::Table, SceneError> {
    let fail = |change: &str, problem: String| SceneError::Change { change: change.to_owned(), problem };
    let mut table: toml::Table = toml::from_str(text).unwrap_or_default();
    for change in changes {
        let (path, value) = change
            .split_once('=')
            .ok_or_else(|| fail(change, "expected path=value, such as scene.frames=10".into()))?;
        let parsed: Result<toml::Table, _> = toml::from_str(&format!("value = {value}"));
        let value = match parsed {
            Ok(mut table) => table.remove("value").unwrap_or_else(|| toml::Value::String(value.to_owned())),
            Err(_) => toml::Value::String(value.to_owned()),
        };
        set(&mut table, path, value).map_err(|problem| fail(change, problem))?;
    }
    Ok(table)
}

/// Puts a value at `a.b.0.c`, where a number counts the entries of a list.
fn set(table: &mut toml::Table, path: &str, value: toml::Value) -> Result<(), String> {
    let keys: Vec<&str> = path.trim().split('.').collect();
    let (last, way) = keys.split_last().ok_or("the path is empty")?;
    let mut place = table
        .entry(way.first().copied().unwrap_or(last).to_owned())
        .or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if way.is_empty() {
        *place = value;
        return Ok(());
    }
    for key in &way[1..] {
        place = step_into(place, key)?;
    }
    match place {
        toml::Value::Table(table) => {
            table.insert((*last).to_owned(), value);
            Ok(())
        }
        other => {
            *step_into(other, last)? = value;
            Ok(())
        }
    }
}

fn step_into<'a>(place: &'a mut toml::Value, key: &str) -> Result<&'a mut toml::Value, String> {
    match place {
        toml::Value::Table(table) => {
            Ok(table.entry(key.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new())))
        }
        toml::Value::Array(list) => {
            let count = list.len();
            let index: usize = key.parse().map_err(|_| format!("{key} is not an entry of a list of {count}"))?;
            list.get_mut(index).ok_or_else(|| format!("there is no entry {index}, the list has {count}"))
        }
        _ => Err(format!("{key} lies inside something that is not a table")),
    }
}

#[cfg(test)]
mod tests;
