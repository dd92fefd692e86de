//! How far a batch is: a bar on a terminal, a line every ten seconds elsewhere, with rate and time left.

use crate::session::Session;
use indicatif::ProgressBar;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between lines where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Counts samples as they end, from any thread.
pub struct Progress<'a> {
    session: &'a Session,
    bar: ProgressBar,
    all: usize,
    begun: Instant,
    counts: Mutex<Counts>,
}

struct Counts {
    before: usize,
    ended: usize,
    failed: usize,
    logged: Instant,
}

impl<'a> Progress<'a> {
    /// All samples of this run, and how many of them were there before.
    pub fn new(session: &'a Session, all: usize, before: usize) -> Self {
        let bar = session.progress(all as u64, "samples");
        bar.set_position(before as u64);
        bar.reset_eta();
        let begun = Instant::now();
        let counts = Mutex::new(Counts { before, ended: 0, failed: 0, logged: begun });
        Self { session, bar, all, begun, counts }
    }

    /// Another sample has ended.
    pub fn count(&self, failed: bool) {
        let mut counts = self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts.ended += 1;
        counts.failed += usize::from(failed);
        let rate = counts.ended as f64 / self.begun.elapsed().as_secs_f64().max(1e-9);
        let there = counts.before + counts.ended;
        let left = (self.all - there.min(self.all)) as f64 / rate;
        self.bar.set_message(format!("samples, {rate:.2}/s, {} failed", counts.failed));
        self.bar.inc(1);
        if counts.logged.elapsed() >= LOG_INTERVAL {
            counts.logged = Instant::now();
            let failed = counts.failed;
            self.session.log(format!("{there} of {}, {failed} failed, {rate:.2}/s, {left:.0} s left", self.all));
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
