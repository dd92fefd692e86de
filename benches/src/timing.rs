//! Times of repeated calls.

use std::hint::black_box;
use std::time::Instant;

/// Seconds of the fastest and of the middle call.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The fastest.
    pub best: f64,
    /// The middle one.
    pub median: f64,
}

/// Calls a function `rounds` times, once more before that to warm up.
pub fn measure<R>(rounds: usize, mut call: impl FnMut() -> R) -> Timing {
    black_box(call());
    let mut seconds: Vec<f64> = (0..rounds.max(1))
        .map(|_| {
            let start = Instant::now();
            black_box(call());
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    Timing { best: seconds[0], median: seconds[seconds.len() / 2] }
}
