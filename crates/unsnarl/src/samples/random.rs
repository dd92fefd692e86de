//! A small seeded generator: the same seed gives the same sample on every machine.
//!
//! SplitMix64: a counter with an odd step, its bits mixed by two multiplications.

use unsnarl_geometry::DVec3;

/// A stream of numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Random {
    counter: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// Where the stream stands: a seed that goes on from here.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.counter ^ (self.counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A direction, evenly spread over the sphere.
    pub fn direction(&mut self) -> DVec3 {
        let height = self.between(-1.0, 1.0);
        let angle = self.between(0.0, std::f64::consts::TAU);
        let radius = (1.0 - height * height).max(0.0).sqrt();
        DVec3::new(radius * angle.cos(), height, radius * angle.sin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_seed_zero_is_the_published_one() {
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn units_fill_the_interval_evenly() {
        let mut random = Random::new(7);
        let values: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.015, "mean {mean}");
    }
}
