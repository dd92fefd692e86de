//! What acts on all cloth at once: gravity, air and wind.

use crate::geometry::DVec3;

/// Gravity and air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Environment {
    /// Acceleration of free fall, m/s².
    pub gravity: DVec3,
    /// Density of the air, kg/m³; 0 switches drag, lift and wind off.
    pub air_density: f64,
    /// The moving air.
    pub wind: Wind,
}

/// Wind that is the same everywhere, with gusts over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wind {
    /// Mean velocity, m/s.
    pub velocity: DVec3,
    /// How much of the mean speed the gusts add and take away, 0 to 1.
    pub gusts: f64,
    /// Length of the slowest gust, seconds.
    pub gust_period: f64,
}

impl Default for Environment {
    fn default() -> Self {
        Self { gravity: DVec3::new(0.0, -9.81, 0.0), air_density: 1.2, wind: Wind::default() }
    }
}

impl Default for Wind {
    fn default() -> Self {
        Self { velocity: DVec3::ZERO, gusts: 0.0, gust_period: 2.0 }
    }
}

impl Environment {
    /// No gravity and no air: what the standalone untangler uses.
    pub const NOTHING: Self = Self {
        gravity: DVec3::ZERO,
        air_density: 0.0,
        wind: Wind { velocity: DVec3::ZERO, gusts: 0.0, gust_period: 2.0 },
    };
}

impl Wind {
    /// The velocity of the air at a time.
    ///
    /// Gusts are three sines whose periods have irrational ratios, so that they do not repeat: the same wind on every
    /// run and every machine that computes the same sines.
    pub fn velocity_at(&self, time: f64) -> DVec3 {
        if self.gusts == 0.0 {
            return self.velocity;
        }
        let phase = std::f64::consts::TAU * time / self.gust_period;
        let swell = 0.5 * phase.sin() + 0.3 * (phase * 2.236_067_977).sin() + 0.2 * (phase * 5.196_152_423).sin();
        self.velocity * (1.0 + self.gusts * swell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gusts_stay_within_their_share_of_the_mean() {
        let wind = Wind { velocity: DVec3::X * 10.0, gusts: 0.4, gust_period: 1.5 };
        let speeds: Vec<f64> = (0..2000).map(|step| wind.velocity_at(f64::from(step) * 0.01).x).collect();
        assert!(speeds.iter().all(|speed| (6.0..=14.0).contains(speed)));
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        assert!((mean - 10.0).abs() < 0.5, "{mean}");
    }
}
