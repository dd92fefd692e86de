//! Sewing threads, drawn in over time: each is a spring that only pulls, and whose length at rest goes from the gap at the start of the scene
//! to nothing within `sewing-time`.
//!
//! Guarantees: forces of a thread sum to zero; the stiffness is positive semidefinite and, beside the change of the length at rest, the
//! exact derivative of the pull.

use super::Start;
use super::air::outer;
use crate::geometry::{DMat3, DVec3};
use crate::settings::DynamicsSettings;

/// A thread at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thread {
    /// From the vertex toward the point of the edge, newtons.
    pub pull: DVec3,
    /// N/m.
    pub stiffness: DMat3,
}

/// All threads, in the order of the model's stitches, as they pull at the end of the step.
pub fn threads(start: &Start, positions: &[DVec3], settings: &DynamicsSettings) -> Vec<Thread> {
    let time = start.state.time + start.step;
    let left = if settings.sewing_time > 0.0 { (1.0 - time / settings.sewing_time).max(0.0) } else { 0.0 };
    let stitches = start.model.stitches.iter().zip(&start.model.stitch_gaps);
    stitches.map(|(stitch, gap)| thread(stitch.gap(positions), gap * left, settings.sewing)).collect()
}

fn thread(gap: DVec3, slack: f64, stiffness: f64) -> Thread {
    let length = gap.length();
    if slack == 0.0 {
        return Thread { pull: gap * stiffness, stiffness: DMat3::IDENTITY * stiffness };
    }
    if length <= slack {
        return Thread { pull: DVec3::ZERO, stiffness: DMat3::ZERO };
    }
    let (direction, taut) = (gap / length, 1.0 - slack / length);
    let along = outer(direction);
    Thread { pull: gap * (stiffness * taut), stiffness: (along + (DMat3::IDENTITY - along) * taut) * stiffness }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stiffness_is_the_slope_of_the_pull() {
        let gap = DVec3::new(0.3, -0.2, 0.5);
        for slack in [0.0, 0.2, 0.7] {
            let here = thread(gap, slack, 40.0);
            for axis in 0..3 {
                let moved = |step: f64| thread(gap + DVec3::AXES[axis] * step, slack, 40.0).pull;
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope - here.stiffness.col(axis)).length() < 1e-6, "{slack}");
            }
        }
        assert_eq!(thread(gap, 0.7, 40.0).pull, DVec3::ZERO);
    }
}
