//! From errors and paths to lines of the file.

use std::fmt;
use toml::de::{DeTable, DeValue};

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key of a table.
    Name(String),
    /// An entry of a list.
    Index(usize),
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<usize> for Key {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

/// `a.0.b`.
pub fn dotted(path: &[Key]) -> String {
    path.iter().map(Key::to_string).collect::<Vec<_>>().join(".")
}

/// The line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The line that a parser's error points at.
pub fn line_of_error(text: &str, error: &toml::de::Error) -> usize {
    error.span().map_or(1, |span| line_of(text, span.start))
}

/// A parser's message without line breaks.
pub fn one_line(error: &toml::de::Error) -> String {
    error.message().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line of the value at a path, or of the nearest table around it that is written in the file.
pub fn line_of_path(text: &str, path: &[Key]) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let mut byte = 0;
    let mut table = Some(document.get_ref());
    let mut list = None;
    for key in path {
        let next = match (key, table, list) {
            (Key::Name(name), Some(table), _) => {
                table.iter().find(|(key, _)| key.get_ref() == name).map(|(key, value)| (key.span().start, value))
            }
            (Key::Index(index), _, Some(list)) => {
                let list: &toml::de::DeArray<'_> = list;
                list.get(*index).map(|value| (value.span().start, value))
            }
            _ => None,
        };
        let Some((start, value)) = next else { break };
        byte = start;
        (table, list) = match value.get_ref() {
            DeValue::Table(inner) => (Some(inner), None),
            DeValue::Array(inner) => (None, Some(inner)),
            _ => (None, None),
        };
    }
    line_of(text, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_lines() {
        let text = "[scene]\nframes = 3\n\n[[cloth]]\nname = \"a\"\n\n[[cloth]]\nname = \"b\"\nfabric = \"steel\"\n";
        let path = |keys: &[&str], index: usize| vec![Key::from(keys[0]), Key::from(index), Key::from(keys[1])];
        assert_eq!(line_of_path(text, &path(&["cloth", "fabric"], 1)), 9);
        assert_eq!(line_of_path(text, &path(&["cloth", "fabric"], 0)), 4);
        assert_eq!(line_of_path(text, &[Key::from("scene"), Key::from("frames")]), 2);
        assert_eq!(line_of_path(text, &[Key::from("body")]), 1);
    }
}
