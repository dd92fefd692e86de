//! From JOBS to rows: the files of a folder, the matches of a pattern, the lines of a manifest.
//!
//! Guarantees: rows in a fixed order (manifests: as written; files: by path); every mistake is one line with file,
//! line and key, and all of them are told at once.

use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use unsnarl_io::mesh::Format;

/// One sample as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it stands, for messages: `jobs.jsonl:3`.
    pub place: String,
    /// What relative paths in it are relative to.
    pub folder: PathBuf,
    /// Everything that it says: name, command, inputs and options.
    pub keys: Map<String, Value>,
}

/// Reads all rows, or says everything that is wrong.
pub fn read(source: &Path, command: &str) -> Result<Vec<Row>, Vec<String>> {
    let shown = source.display();
    let rows = if source.is_dir() {
        files_of_folder(source, command)?
    } else if source.is_file() {
        // Some editors begin a file with a mark of its encoding.
        let text = std::fs::read_to_string(source).map_err(|error| vec![format!("{shown}: cannot read: {error}")])?;
        match source.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl" | "ndjson") => json_lines(source, text.trim_start_matches('\u{feff}'))?,
            Some("csv") => csv_lines(source, &text)?,
            _ => {
                return Err(vec![format!(
                    "{shown}: expected a folder, a pattern in quotes, or a .jsonl or .csv manifest"
                )]);
            }
        }
    } else if shown.to_string().contains(['*', '?', '[']) {
        matches(&shown.to_string(), command)?
    } else {
        return Err(vec![format!("{shown}: no such file or folder")]);
    };
    if rows.is_empty() {
        let wanted = if is_scene_command(command) { "scenes (.toml)" } else { "meshes" };
        return Err(vec![format!("{shown}: no samples in it; expected {wanted}, or a manifest with rows")]);
    }
    Ok(rows)
}

fn is_scene_command(command: &str) -> bool {
    matches!(command, "sim" | "dress")
}

/// Whether a file of a folder is a sample for the command: a scene, or a mesh; a garment's sidecar is neither.
fn is_input(path: &Path, command: &str) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if name.starts_with('.') || !path.is_file() {
        return false;
    }
    if is_scene_command(command) {
        return name.ends_with(".toml") && !name.ends_with(".garment.toml");
    }
    Format::from_path(path).is_some()
}

fn files_of_folder(folder: &Path, command: &str) -> Result<Vec<Row>, Vec<String>> {
    let fail = |error: std::io::Error| vec![format!("{}: cannot read: {error}", folder.display())];
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        paths.push(entry.map_err(fail)?.path());
    }
    paths.retain(|path| is_input(path, command));
    paths.sort();
    Ok(paths.iter().map(|path| row_of_file(path, folder)).collect())
}

fn matches(pattern: &str, command: &str) -> Result<Vec<Row>, Vec<String>> {
    let found = glob::glob(pattern).map_err(|error| vec![format!("{pattern}: {error}")])?;
    let mut paths = Vec::new();
    for path in found {
        paths.push(path.map_err(|error| vec![format!("{pattern}: {error}")])?);
    }
    paths.retain(|path| is_input(path, command));
    paths.sort();
    // The folders before the first wildcard are not part of the names.
    let fixed: PathBuf = Path::new(pattern)
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .collect();
    Ok(paths.iter().map(|path| row_of_file(path, &fixed)).collect())
}

/// A sample of one file; its name is its path below the folder, without the extension.
fn row_of_file(path: &Path, folder: &Path) -> Row {
    let below = path.strip_prefix(folder).unwrap_or(path).with_extension("");
    let name = below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("-");
    let mut keys = Map::new();
    keys.insert("name".to_owned(), Value::String(name));
    keys.insert("inputs".to_owned(), Value::String(path.display().to_string()));
    Row { place: path.display().to_string(), folder: PathBuf::new(), keys }
}

fn folder_of(source: &Path) -> PathBuf {
    source.parent().map(Path::to_path_buf).unwrap_or_default()
}

fn json_lines(source: &Path, text: &str) -> Result<Vec<Row>, Vec<String>> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{}:{}", source.display(), number + 1);
        match serde_json::from_str(line) {
            Ok(Value::Object(keys)) => rows.push(Row { place, folder: folder_of(source), keys }),
            Ok(_) => problems.push(format!("{place}: expected an object such as {{\"inputs\": \"a.obj\"}}")),
            Err(error) => problems.push(format!("{place}: not JSON: {error}")),
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

/// A header names the keys. An empty cell says nothing; `;` separates the values of a list.
fn csv_lines(source: &Path, text: &str) -> Result<Vec<Row>, Vec<String>> {
    let shown = source.display();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return Err(vec![format!("{shown}:1: {error}")]),
    };
    let mut problems: Vec<String> = (header.iter().enumerate())
        .filter(|(at, key)| header.iter().take(*at).any(|before| before == *key))
        .map(|(_, key)| format!("{shown}:1: {key}: two columns have this name"))
        .collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().map_or(0, csv::Position::line);
                let cells = header.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
                let keys = cells.map(|(key, cell)| (key.to_owned(), cell_value(cell))).collect();
                rows.push(Row { place: format!("{shown}:{line}"), folder: folder_of(source), keys });
            }
            Err(error) => problems.push(match error.kind() {
                csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                    let line = pos.as_ref().map_or(0, csv::Position::line);
                    format!("{shown}:{line}: {len} cells, the header has {expected_len}")
                }
                _ => format!("{shown}: {error}"),
            }),
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(problems) }
}

/// What a cell says: a list where it has `;`.
pub fn cell_value(cell: &str) -> Value {
    match cell {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if cell.contains(';') => cell.split(';').map(|part| Value::String(part.trim().to_owned())).collect(),
        _ => Value::String(cell.to_owned()),
    }
}
