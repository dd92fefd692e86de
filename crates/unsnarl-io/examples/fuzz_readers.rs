//! Feeds damaged files to the readers for a while: `fuzz_readers [--seconds N] [--count N] [--seed N] [--keep DIR] [READER...]`.
//!
//! Prints a line per reader. Inputs that break a promise are written to DIR. Exit status 1 when there are any.

#[path = "../tests/fuzz_support/mod.rs"]
mod fuzz_support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Arguments {
    seconds: u64,
    count: u64,
    seed: u64,
    keep: Option<PathBuf>,
    readers: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(line) => {
            eprintln!("error: {line}");
            return ExitCode::from(2);
        }
    };
    // Panics are counted, not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut failures = 0;
    for (extension, format) in fuzz_support::READERS {
        if !arguments.readers.is_empty() && !arguments.readers.iter().any(|reader| reader == extension) {
            continue;
        }
        let corpus = fuzz_support::corpus(&folder, extension);
        let start = Instant::now();
        let time = Duration::from_secs(arguments.seconds);
        let tally = fuzz_support::run(*format, &corpus, arguments.seed, arguments.count, time);
        println!(
            "{extension}: {} inputs in {:.0} s, {} became meshes, {} different answers, slowest {:.1} ms, {} failures",
            tally.inputs,
            start.elapsed().as_secs_f64(),
            tally.meshes,
            tally.answers,
            1e3 * tally.slowest.as_secs_f64(),
            tally.failures.len()
        );
        for (index, (bytes, why)) in tally.failures.iter().enumerate() {
            println!("  {why}");
            if let Some(keep) = &arguments.keep {
                let path = keep.join(format!("failure_{index}.{extension}"));
                if let Err(error) = std::fs::create_dir_all(keep).and_then(|()| std::fs::write(&path, bytes)) {
                    eprintln!("error: {}: {error}", path.display());
                }
            }
        }
        failures += tally.failures.len();
    }
    ExitCode::from(u8::from(failures > 0))
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { seconds: 60, count: u64::MAX, seed: 1, keep: None, readers: Vec::new() };
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("{word} takes a number"))?;
            value.parse::<u64>().map_err(|error| format!("{word} {value}: {error}"))
        };
        match word.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--count" => arguments.count = number()?,
            "--seed" => arguments.seed = number()?,
            "--keep" => arguments.keep = Some(words.next().ok_or("--keep takes a folder")?.into()),
            reader if fuzz_support::READERS.iter().any(|(known, _)| *known == reader) => {
                arguments.readers.push(word);
            }
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(arguments)
}
