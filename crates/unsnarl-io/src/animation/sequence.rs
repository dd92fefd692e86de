//! Sequences of files whose names differ by a number: `walk_####.obj`, `walk_*.obj`, `walk_{}.obj`, or a folder of
//! them.

use super::{AnimationError, wrong};
use crate::mesh::Format;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of a sequence, in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Number and path.
    pub files: Vec<(u32, PathBuf)>,
}

/// A name with a place for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    after: String,
    /// Digits at least.
    width: usize,
}

impl Pattern {
    /// The pattern of a file name, if it has a place for a number.
    pub fn of(name: &str) -> Option<Self> {
        let (start, end) = if let Some(start) = name.rfind('#') {
            let first = name[..start].rfind(|letter| letter != '#').map_or(0, |at| at + 1);
            // After a letter of several bytes the next boundary is meant.
            let first = (first..=start).find(|&at| name.is_char_boundary(at))?;
            (first, start + 1)
        } else if let Some(start) = name.find("{}") {
            (start, start + 2)
        } else {
            let start = name.find('*')?;
            (start, start + 1)
        };
        let width = if name[start..end].starts_with('#') { end - start } else { 1 };
        Some(Self { before: name[..start].into(), after: name[end..].into(), width })
    }

    /// The name with a number in it.
    pub fn name(&self, number: u32) -> String {
        format!("{}{number:0width$}{}", self.before, self.after, width = self.width)
    }

    /// The number in a name that fits.
    fn number(&self, name: &str) -> Option<u32> {
        let digits = name.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (are_digits && digits.len() >= self.width).then(|| digits.parse().ok()).flatten()
    }
}

/// Whether a path is a pattern: its name has a place for a number, and no file has that very name.
pub fn is_pattern(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Pattern::of(&name).is_some() && !path.exists()
}

/// The files of a pattern or a folder; refused where a number is missing.
pub fn find(path: &Path) -> Result<Sequence, AnimationError> {
    let mut files = if path.is_dir() { in_folder(path)? } else { of_pattern(path)? };
    files.sort();
    if let Some(pair) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (one, other) = (pair[0].1.display(), pair[1].1.display());
        return Err(wrong(path, format!("{one} and {other} have the same number")));
    }
    let steps: Vec<u32> = files.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let step = steps.iter().copied().min().unwrap_or(1);
    if let Some(at) = steps.iter().position(|&own| own != step) {
        let (before, after) = (files[at].1.display(), files[at + 1].1.display());
        let missing = files[at].0 + step;
        return Err(wrong(path, format!("frame {missing} is missing between {before} and {after}")));
    }
    Ok(Sequence { files })
}

fn of_pattern(path: &Path) -> Result<Vec<(u32, PathBuf)>, AnimationError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let pattern = Pattern::of(&name).ok_or_else(|| wrong(path, "expected a name with #### for the number"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut files = Vec::new();
    for own in names_in(folder)? {
        if let Some(number) = pattern.number(&own) {
            let file = if folder == Path::new(".") && path.parent() == Some(Path::new("")) {
                PathBuf::from(own)
            } else {
                folder.join(own)
            };
            files.push((number, file));
        }
    }
    if files.is_empty() {
        return Err(wrong(path, "no file has such a name; # stands for a digit, * for a number"));
    }
    Ok(files)
}

/// The mesh files of a folder; they have to be one sequence.
fn in_folder(folder: &Path) -> Result<Vec<(u32, PathBuf)>, AnimationError> {
    let mut groups: BTreeMap<(String, String), Vec<(u32, PathBuf)>> = BTreeMap::new();
    for name in names_in(folder)? {
        if Format::from_path(Path::new(&name)).is_none() {
            continue;
        }
        let stem_end = name.rfind('.').unwrap_or(name.len());
        let is_digit = |letter: char| letter.is_ascii_digit();
        let Some(end) = name[..stem_end].rfind(is_digit).map(|at| at + 1) else { continue };
        let start = name[..end].rfind(|letter: char| !is_digit(letter)).map_or(0, |at| at + 1);
        let Some(start) = (start..=end).find(|&at| name.is_char_boundary(at)) else { continue };
        let Ok(number) = name[start..end].parse::<u32>() else { continue };
        let key = (name[..start].to_owned(), name[end..].to_owned());
        groups.entry(key).or_default().push((number, folder.join(&name)));
    }
    let names: Vec<String> = groups.keys().map(|(before, after)| format!("{before}#{after}")).collect();
    match groups.len() {
        0 => Err(wrong(folder, "neither a cache nor a folder of mesh files with numbers in their names")),
        1 => Ok(groups.into_values().next().unwrap_or_default()),
        _ => Err(wrong(folder, format!("several sequences: {}; give one of them as a pattern", names.join(", ")))),
    }
}

fn names_in(folder: &Path) -> Result<Vec<String>, AnimationError> {
    let entries = std::fs::read_dir(folder).map_err(|error| wrong(folder, format!("cannot read: {error}")))?;
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}
