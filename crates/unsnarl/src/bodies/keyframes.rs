//! Motion on rails: positions and turns at given times, straight and evenly in between.

use crate::geometry::DVec3;
use crate::geometry::math::DQuat;

/// One key: where something is at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// Seconds.
    pub time: f64,
    /// Where the origin is.
    pub position: DVec3,
    /// How it is turned.
    pub rotation: DQuat,
}

/// Keys in order of time. Before the first and after the last it stands still.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyframes {
    keys: Vec<Keyframe>,
}

/// Where something is, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Where the origin is.
    pub position: DVec3,
    /// How it is turned.
    pub rotation: DQuat,
    /// Velocity of the origin over the step, m/s.
    pub velocity: DVec3,
    /// Turning over the step, rad/s.
    pub spin: DVec3,
}

impl Keyframes {
    /// Sorts the keys by time. No key at all means the world's origin.
    pub fn new(mut keys: Vec<Keyframe>) -> Self {
        keys.sort_by(|a, b| a.time.total_cmp(&b.time));
        if keys.is_empty() {
            keys.push(Keyframe { time: 0.0, position: DVec3::ZERO, rotation: DQuat::IDENTITY });
        }
        Self { keys }
    }

    /// Something that stays at a point.
    pub fn fixed(position: DVec3) -> Self {
        Self::new(vec![Keyframe { time: 0.0, position, rotation: DQuat::IDENTITY }])
    }

    /// The keys, in order of time.
    pub fn keys(&self) -> &[Keyframe] {
        &self.keys
    }

    /// Position and turn at a time.
    pub fn at(&self, time: f64) -> (DVec3, DQuat) {
        let after = self.keys.partition_point(|key| key.time <= time);
        let (before, after) = (self.keys[after.saturating_sub(1)], self.keys[after.min(self.keys.len() - 1)]);
        let length = after.time - before.time;
        let share = if length > 0.0 { ((time - before.time) / length).clamp(0.0, 1.0) } else { 0.0 };
        let is_turned = before.rotation != after.rotation;
        let rotation = if is_turned { before.rotation.slerp(after.rotation, share) } else { before.rotation };
        (before.position + (after.position - before.position) * share, rotation)
    }

    /// Where it is at a time, with the velocities that brought it there in one step.
    pub fn placement(&self, time: f64, step: f64) -> Placement {
        let ((from, turned), (position, rotation)) = (self.at(time - step), self.at(time));
        let turn = rotation * turned.inverse();
        let turn = if turn.w < 0.0 { -turn } else { turn };
        Placement { position, rotation, velocity: (position - from) / step, spin: turn.to_scaled_axis() / step }
    }
}

impl Placement {
    /// From world to body coordinates.
    pub fn to_body(&self, point: DVec3) -> DVec3 {
        self.rotation.inverse() * (point - self.position)
    }

    /// The velocity of the body at a point of the world.
    pub fn velocity_at(&self, point: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(point - self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_equal_keys_nothing_moves_to_the_last_bit() {
        let (position, rotation) = (DVec3::new(0.1, 0.7, -1.3), DQuat::from_rotation_y(0.3));
        let key = |time| Keyframe { time, position, rotation };
        let motion = Keyframes::new(vec![key(0.0), key(0.7)]);
        assert!((0..100).all(|at| motion.at(0.01 * f64::from(at)) == (position, rotation)));
    }

    #[test]
    fn keys_are_met_and_between_them_motion_is_even() {
        let key = |time: f64, x: f64, turn: f64| Keyframe {
            time,
            position: DVec3::X * x,
            rotation: DQuat::from_rotation_y(turn),
        };
        let motion = Keyframes::new(vec![key(2.0, 3.0, 1.0), key(1.0, 1.0, 0.0)]);
        assert_eq!(motion.at(0.0).0.x, 1.0);
        assert_eq!(motion.at(5.0).0.x, 3.0);
        let placement = motion.placement(1.5, 0.1);
        assert!((placement.position.x - 2.0).abs() < 1e-12);
        assert!((placement.velocity.x - 2.0).abs() < 1e-9);
        assert!((placement.spin - DVec3::Y).length() < 1e-9);
        assert!((placement.velocity_at(placement.position + DVec3::X) - DVec3::new(2.0, 0.0, -1.0)).length() < 1e-9);
    }
}
