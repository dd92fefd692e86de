//! Log lines, with a limit on how many refusals are told, so that a flood of requests is not a flood of lines.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const REFUSALS_PER_SECOND: u32 = 5;

/// Where log lines go. Clones write to the same place.
#[derive(Clone)]
pub struct Log {
    write: Arc<dyn Fn(&str) + Send + Sync>,
    refusals: Arc<Mutex<Refusals>>,
}

struct Refusals {
    second: Instant,
    told: u32,
    kept_back: u32,
}

impl Log {
    /// Hands every line to a function.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let refusals = Refusals { second: Instant::now(), told: 0, kept_back: 0 };
        Self { write: Arc::new(write), refusals: Arc::new(Mutex::new(refusals)) }
    }

    /// A line.
    pub fn line(&self, text: &str) {
        (self.write)(text);
    }

    /// Something that was refused; beyond some a second they are counted instead of told.
    pub fn refusal(&self, reason: &str) {
        let Ok(mut refusals) = self.refusals.lock() else { return };
        if refusals.second.elapsed() >= Duration::from_secs(1) {
            if refusals.kept_back > 0 {
                (self.write)(&format!("refused {} more", refusals.kept_back));
            }
            *refusals = Refusals { second: Instant::now(), told: 0, kept_back: 0 };
        }
        if refusals.told < REFUSALS_PER_SECOND {
            refusals.told += 1;
            (self.write)(&format!("refused: {reason}"));
        } else {
            refusals.kept_back += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_told_in_a_few_lines() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let log = Log::new(move |line| sink.lock().unwrap().push(line.to_owned()));
        for _ in 0..1000 {
            log.refusal("wrong token");
        }
        assert!(lines.lock().unwrap().len() <= 2 * REFUSALS_PER_SECOND as usize);
    }
}
