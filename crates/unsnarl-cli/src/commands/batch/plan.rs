//! From rows to samples: what each of them runs, checked before anything is run.
//!
//! The keys of a row are the long flags of its command, as the command line itself defines them: a flag that a
//! command gains is a key at once, and values are judged by the same parser.
//!
//! Guarantees: names are unique and safe as names of folders; inputs and bodies are there; every mistake is one line
//! with file, line and key.

use super::rows::{Row, cell_value};
use clap::builder::ValueParser;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Commands that samples may run.
pub const RUNNABLE: [&str; 5] = ["check", "fix", "sim", "dress", "refine"];
/// Keys of ours; all others are flags of the command.
const OWN: [&str; 5] = ["name", "command", "inputs", "time-limit", "memory-limit"];
/// Flags that the runner sets, or that make no sense for a sample.
const NOT_KEYS: [&str; 9] = ["output", "json", "threads", "quiet", "verbose", "help", "resume", "from", "schema"];
/// Flags that write a file: `true` puts it into the sample's folder under this name.
const WRITTEN: [(&str, &str); 3] = [("picture", "picture.png"), ("uv-picture", "panels.png"), ("trace", "trace")];
/// The report of the command, in the sample's folder.
pub const COMMAND_REPORT: &str = "report.json";
const LONGEST_NAME: usize = 180;

/// What a sample may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub seconds: Option<f64>,
    pub bytes: Option<u64>,
}

/// What holds for all rows that do not say otherwise.
pub struct Defaults<'a> {
    pub command: &'a str,
    pub keys: &'a [String],
    pub limits: Limits,
}

/// One sample, ready to run.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its place among all samples of the jobs, from 0 on.
    pub index: usize,
    pub name: String,
    pub command: String,
    pub limits: Limits,
    /// Everything that its row says, defaults included: what tells it from another sample of the same name.
    pub row: Map<String, Value>,
    words: Vec<Word>,
}

/// A word of a command line.
#[derive(Clone, Debug)]
enum Word {
    Plain(OsString),
    /// A flag and a path inside the sample's folder.
    Inside(&'static str, String),
}

impl Sample {
    /// The arguments of the child that writes into a folder.
    pub fn arguments(&self, folder: &Path, threads: usize) -> Vec<OsString> {
        let inside = |flag: &str, name: &str| {
            let mut word = OsString::from(flag);
            word.push(folder.join(name));
            word
        };
        let mut arguments = vec![inside("--json=", COMMAND_REPORT), OsString::from(format!("--threads={threads}"))];
        arguments.extend(self.words.iter().map(|word| match word {
            Word::Plain(word) => word.clone(),
            Word::Inside(flag, name) => inside(flag, name),
        }));
        arguments
    }
}

/// Seconds above 0.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

/// A size such as 500M or 2G, or bytes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 500M or 2G".to_owned();
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1u64 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number = digits.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    let bytes = number.ok_or_else(wrong)? * factor as f64;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Turns rows into samples, or says everything that is wrong.
pub fn plan(rows: Vec<Row>, defaults: &Defaults) -> Result<Vec<Sample>, Vec<String>> {
    let grammar = Grammar::new();
    let shared = shared_keys(defaults).map_err(|problem| vec![problem])?;
    let (mut samples, mut problems) = (Vec::with_capacity(rows.len()), Vec::new());
    let mut places: HashMap<String, String> = HashMap::new();
    let mut judged = HashSet::new();
    for (index, row) in rows.into_iter().enumerate() {
        let place = row.place.clone();
        let mut draft = Draft { grammar: &grammar, row, shared: &shared, problems: &mut problems };
        let Some(sample) = draft.sample(index, defaults, &mut judged) else { continue };
        // Some file systems take names in capitals for the same.
        if let Some(first) = places.insert(sample.name.to_lowercase(), place.clone()) {
            problems.push(format!(
                "{place}: name: {} is taken by {first}; give every sample a name of its own",
                sample.name
            ));
        }
        samples.push(sample);
    }
    if problems.is_empty() { Ok(samples) } else { Err(problems) }
}

fn shared_keys(defaults: &Defaults) -> Result<Map<String, Value>, String> {
    let mut shared = Map::new();
    for text in defaults.keys {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => shared.insert(key.to_owned(), cell_value(value)),
            _ => return Err(format!("--with {text}: expected KEY=VALUE")),
        };
    }
    Ok(shared)
}

/// The commands and their flags, from the command line's own definition.
struct Grammar {
    commands: Vec<clap::Command>,
}

impl Grammar {
    fn new() -> Self {
        let known = |name: &&str| crate::definition().find_subcommand(name).cloned();
        Self { commands: RUNNABLE.iter().filter_map(known).collect() }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.commands.iter().map(clap::Command::get_name).collect();
        names.join(", ")
    }

    fn command(&self, name: &str) -> Option<&clap::Command> {
        self.commands.iter().find(|command| command.get_name() == name)
    }
}

fn keys(command: &clap::Command) -> impl Iterator<Item = (&str, &clap::Arg)> {
    let long = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    long.filter(|(key, _)| !NOT_KEYS.contains(key))
}

/// A row on its way to a sample.
struct Draft<'a> {
    grammar: &'a Grammar,
    row: Row,
    shared: &'a Map<String, Value>,
    problems: &'a mut Vec<String>,
}

impl Draft<'_> {
    fn sample(&mut self, index: usize, defaults: &Defaults, judged: &mut HashSet<String>) -> Option<Sample> {
        let before = self.problems.len();
        let command = self.text("command").unwrap_or_else(|| defaults.command.to_owned());
        let Some(definition) = self.grammar.command(&command) else {
            let known = self.grammar.names();
            self.complain("command", &format!("{command} cannot be run by batch; expected one of {known}"));
            return None;
        };
        let inputs = self.inputs();
        let name = self.name(&inputs);
        let limits = self.limits(defaults.limits);
        let mut words = vec![Word::Plain(command.clone().into())];
        let mut signature = format!("{command} {}", inputs.len());
        let merged = self.merged();
        for (key, (value, folder)) in &merged {
            if OWN.contains(&key.as_str()) {
                continue;
            }
            let Some((_, arg)) = keys(definition).find(|(known, _)| *known == key.as_str()) else {
                let known: Vec<&str> = OWN.iter().copied().chain(keys(definition).map(|(key, _)| key)).collect();
                let key_words = format!("unknown key; {command} takes {}", known.join(", "));
                self.complain(key, &key_words);
                continue;
            };
            self.option(arg, key, value, folder, (&mut words, &mut signature));
        }
        if let Some(output) = output_name(&command, &inputs) {
            words.push(Word::Inside("--output=", output));
        }
        words.push(Word::Plain("--".into()));
        words.extend(inputs.iter().map(|path| Word::Plain(path.clone().into_os_string())));
        let row = merged.into_iter().map(|(key, (value, _))| (key, value)).collect();
        let sample = Sample { index, name: name.unwrap_or_default(), command, limits, row, words };
        // The parser's own judgement, once for rows that differ in paths only.
        if self.problems.len() == before
            && judged.insert(signature)
            && let Some(problem) = crate::refusal(sample.arguments(Path::new("sample"), 1))
        {
            self.problems.push(format!("{}: {problem}", self.row.place));
        }
        (self.problems.len() == before).then_some(sample)
    }

    fn complain(&mut self, key: &str, what: &str) {
        self.problems.push(format!("{}: {key}: {what}", self.row.place));
    }

    /// All keys with what their paths are relative to: those of the row, then those given for all rows.
    fn merged(&self) -> Vec<(String, (Value, PathBuf))> {
        let own = self.row.keys.iter().map(|(key, value)| (key, value, self.row.folder.clone()));
        let shared = self.shared.iter().filter(|(key, _)| !self.row.keys.contains_key(*key));
        let shared = shared.map(|(key, value)| (key, value, PathBuf::new()));
        let given = own.chain(shared).filter(|(_, value, _)| !value.is_null());
        given.map(|(key, value, folder)| (key.clone(), (value.clone(), folder))).collect()
    }

    fn value(&self, key: &str) -> Option<Value> {
        self.row.keys.get(key).or_else(|| self.shared.get(key)).filter(|value| !value.is_null()).cloned()
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => {
                self.complain(key, "expected text");
                None
            }
        }
    }

    fn inputs(&mut self) -> Vec<PathBuf> {
        let Some(value) = self.value("inputs") else {
            self.complain("inputs", "is missing; expected a file or a list of files");
            return Vec::new();
        };
        let folder = self.row.folder.clone();
        match texts(&value) {
            Some(names) if !names.is_empty() => {
                names.iter().map(|name| self.existing(name, &folder, "inputs")).collect()
            }
            _ => {
                self.complain("inputs", "expected a file or a list of files");
                Vec::new()
            }
        }
    }

    /// A path of a row, complained about where nothing is there.
    fn existing(&mut self, name: &str, folder: &Path, key: &str) -> PathBuf {
        let path = folder.join(name);
        if !path.exists() {
            self.complain(key, &format!("{} is not there", path.display()));
        }
        path
    }

    fn name(&mut self, inputs: &[PathBuf]) -> Option<String> {
        let stem = || inputs.first()?.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = if self.row.keys.contains_key("name") { self.text("name") } else { stem() }?;
        let is_fit = |letter: char| letter.is_alphanumeric() || "._-+=@ ".contains(letter);
        if name.is_empty()
            || name.len() > LONGEST_NAME
            || !name.chars().all(is_fit)
            || name.starts_with(['.', ' ', '-'])
        {
            let fit = "expected letters, digits and ._-+=@, at most 180, beginning with a letter or digit";
            self.complain("name", &format!("{name:?} cannot be a folder; {fit}"));
            return None;
        }
        if name.eq_ignore_ascii_case(super::store::REPORT) {
            self.complain("name", &format!("{name} is the name of the report"));
            return None;
        }
        Some(name)
    }

    fn limits(&mut self, defaults: Limits) -> Limits {
        let mut limits = defaults;
        if let Some(text) = self.text("time-limit") {
            match parse_seconds(&text) {
                Ok(seconds) => limits.seconds = Some(seconds),
                Err(expected) => self.complain("time-limit", &format!("{text}; {expected}")),
            }
        }
        if let Some(text) = self.text("memory-limit") {
            match parse_bytes(&text) {
                Ok(bytes) => limits.bytes = Some(bytes),
                Err(expected) => self.complain("memory-limit", &format!("{text}; {expected}")),
            }
        }
        limits
    }

    /// The words of one option.
    fn option(
        &mut self,
        arg: &clap::Arg,
        key: &str,
        value: &Value,
        folder: &Path,
        (words, signature): (&mut Vec<Word>, &mut String),
    ) {
        if let Some((flag, file)) = WRITTEN.into_iter().find(|(written, _)| *written == key) {
            match value {
                Value::Bool(true) => words.push(Word::Inside(written_flag(flag), file.to_owned())),
                Value::Bool(false) => {}
                _ => self.complain(key, &format!("expected true: it is written into the sample's folder as {file}")),
            }
            return;
        }
        if let Value::Bool(is_on) = value {
            if *is_on {
                words.push(Word::Plain(format!("--{key}").into()));
                signature.push_str(&format!(" --{key}"));
            }
            return;
        }
        let Some(texts) = texts(value) else {
            self.complain(key, "expected text, a number, true or false, or a list of them");
            return;
        };
        let is_path = takes_path(arg.get_value_parser());
        for text in texts {
            let is_path = is_path || key == "rest" && !["auto", "uv", "input"].contains(&text.as_str());
            let mut word = OsString::from(format!("--{key}="));
            if is_path {
                word.push(self.existing(&text, folder, key));
                signature.push_str(&format!(" --{key}=PATH"));
            } else {
                word.push(&text);
                signature.push_str(&format!(" --{key}={text}"));
            }
            words.push(Word::Plain(word));
        }
    }
}

fn takes_path(parser: &ValueParser) -> bool {
    parser.type_id() == TypeId::of::<PathBuf>()
}

fn written_flag(key: &str) -> &'static str {
    match key {
        "picture" => "--picture=",
        "uv-picture" => "--uv-picture=",
        _ => "--trace=",
    }
}

/// What the command writes, inside the sample's folder.
fn output_name(command: &str, inputs: &[PathBuf]) -> Option<String> {
    match (command, inputs) {
        ("check", _) => None,
        ("sim", _) => Some("cache".to_owned()),
        ("dress", _) => Some("dressed".to_owned()),
        (_, [one]) => one.file_name().map(|name| name.to_string_lossy().into_owned()),
        _ => Some("garments".to_owned()),
    }
}

/// A value as the texts of a command line.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::Array(values) => {
            let one = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            values.iter().map(one).collect()
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}
