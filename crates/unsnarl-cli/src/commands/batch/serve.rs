//! `--serve`: a worker that stays, for schedulers that hand out samples as they go, such as Ray.
//!
//! Every line on standard input names samples by their places in the jobs, as in `3,4,5`. They are run like those of
//! any other run; then a line such as `{"samples":3,"failed":1}` says so on standard output. The jobs are read once.
//!
//! Guarantees: the same commits as every run, so that samples may be handed out again to another worker.
//! The end of the input, or Ctrl-C, ends the worker: a sample that is under way is given up and stays pending.

use super::plan::Sample;
use super::progress::Progress;
use super::store::Store;
use super::{Flags, crew, pending};
use crate::session::{Failure, Session};
use serde::Serialize;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Time between looks for Ctrl-C while nothing is to be done.
const LISTEN: Duration = Duration::from_millis(100);

#[derive(Serialize)]
struct Answer {
    samples: usize,
    failed: usize,
}

/// Runs what it is told until the input ends.
pub fn serve(
    flags: &Flags,
    samples: &[Sample],
    store: &Store,
    stop: &Arc<AtomicBool>,
    session: &Session,
) -> Result<ExitCode, Failure> {
    let (line, lines) = mpsc::channel();
    let at_end = Arc::clone(stop);
    // Not joined: it may wait for input for ever.
    std::thread::spawn(move || {
        for text in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.send(text).is_err() {
                return;
            }
        }
        at_end.store(true, Ordering::SeqCst);
    });
    while !stop.load(Ordering::SeqCst) {
        let text = match lines.recv_timeout(LISTEN) {
            Ok(text) => text,
            Err(mpsc::RecvTimeoutError::Timeout) => continue,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        };
        let told = parse(&text, samples)?;
        let left = pending(flags, &told, store)?;
        let progress = Progress::new(session, told.len(), told.len() - left.len());
        if !left.is_empty() {
            crew(flags, left.len(), store, (stop, &progress), session)?.run(&left).map_err(Failure::input)?;
        }
        progress.end();
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let failed = told.iter().filter_map(|sample| store.row(sample)).filter(|row| row.failed()).count();
        answer(&Answer { samples: told.len(), failed })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The samples that a line names.
fn parse<'a>(text: &str, samples: &'a [Sample]) -> Result<Vec<&'a Sample>, Failure> {
    let find = |word: &str| {
        let index = word.trim().parse::<usize>().ok();
        index.and_then(|index| samples.get(index)).ok_or_else(|| {
            let last = samples.len().saturating_sub(1);
            Failure::usage(format!("--serve: `{word}` is not the index of a sample; expected 0 to {last}"))
        })
    };
    text.split(',').map(find).collect()
}

fn answer(answer: &Answer) -> Result<(), Failure> {
    let text = serde_json::to_string(answer).map_err(|error| Failure::usage(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|error| Failure::usage(format!("--serve: nobody reads the answers: {error}")))
}
