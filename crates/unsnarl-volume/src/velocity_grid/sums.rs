//! Sums in an order that does not depend on threads.

use rayon::prelude::*;

/// Terms that are added one after the other before partial sums are.
const CHUNK: usize = 4096;

/// The sum of a function of places.
pub(super) fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunk = |start: usize| (start..(start + CHUNK).min(count)).map(&term).sum::<f64>();
    if count <= CHUNK {
        return chunk(0);
    }
    let parts: Vec<f64> = (0..count.div_ceil(CHUNK)).into_par_iter().map(|part| chunk(part * CHUNK)).collect();
    parts.iter().sum()
}

/// The dot product.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a.len(), |at| a[at] * b[at])
}

/// The largest value of a function of places, or 0.
pub(super) fn largest(count: usize, value: impl Fn(usize) -> f64 + Sync + Send) -> f64 {
    (0..count).into_par_iter().with_min_len(CHUNK).map(value).reduce(|| 0.0, f64::max)
}
