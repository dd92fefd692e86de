//! A mesh that moves: positions of all vertices at key times, straight lines between, and a motion on rails on top.
//!
//! Guarantees: at a key time the positions are those of the key; before the first and after the last it keeps its shape, and
//! between two equal keys it rests to the last bit.

use super::keyframes::Keyframes;
use crate::geometry::DVec3;
use thiserror::Error;

/// Triangles whose vertices move.
#[derive(Clone, Debug)]
pub struct MovingMesh {
    triangles: Vec<[u32; 3]>,
    keys: Vec<MeshKey>,
    motion: Keyframes,
}

/// All vertices at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshKey {
    /// Seconds.
    pub time: f64,
    /// One point per vertex.
    pub positions: Vec<DVec3>,
}

/// Why keys make no moving mesh.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum KeyError {
    /// There is none.
    #[error("it has no frame")]
    None,
    /// A key has another number of vertices than the first.
    #[error("frame {key} has {found} vertices, the first has {expected}")]
    VertexCount {
        /// Which, from 0.
        key: usize,
        /// Its vertices.
        found: usize,
        /// Those of the first.
        expected: usize,
    },
    /// Times do not rise.
    #[error("frame {key} is at {time} s; times must rise")]
    Time {
        /// Which, from 0.
        key: usize,
        /// When.
        time: f64,
    },
}

impl MovingMesh {
    /// Keys in order of time, all with the same vertices; `motion` moves the whole.
    pub fn new(triangles: Vec<[u32; 3]>, keys: Vec<MeshKey>, motion: Keyframes) -> Result<Self, KeyError> {
        let expected = keys.first().ok_or(KeyError::None)?.positions.len();
        for (at, key) in keys.iter().enumerate() {
            let found = key.positions.len();
            if found != expected {
                return Err(KeyError::VertexCount { key: at, found, expected });
            }
            if !key.time.is_finite() || (at > 0 && key.time <= keys[at - 1].time) {
                return Err(KeyError::Time { key: at, time: key.time });
            }
        }
        Ok(Self { triangles, keys, motion })
    }

    /// A mesh that keeps its shape.
    pub fn rigid(triangles: Vec<[u32; 3]>, positions: Vec<DVec3>, motion: Keyframes) -> Self {
        Self { triangles, keys: vec![MeshKey { time: 0.0, positions }], motion }
    }

    /// Its triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Its vertices at the first key, before the motion moves them.
    pub fn own_positions(&self) -> &[DVec3] {
        &self.keys[0].positions
    }

    /// The motion of the whole.
    pub fn motion(&self) -> &Keyframes {
        &self.motion
    }

    /// Whether only the motion moves it.
    pub fn keeps_shape(&self) -> bool {
        self.keys.len() == 1
    }

    /// Where its vertices are at a time.
    pub fn positions_at(&self, time: f64) -> Vec<DVec3> {
        let (origin, rotation) = self.motion.at(time);
        let after = self.keys.partition_point(|key| key.time <= time);
        let before = &self.keys[after.saturating_sub(1)];
        let place = |point: DVec3| origin + rotation * point;
        match self.keys.get(after).filter(|_| after > 0) {
            None => before.positions.iter().map(|&point| place(point)).collect(),
            Some(next) => {
                let share = (time - before.time) / (next.time - before.time);
                let pairs = before.positions.iter().zip(&next.positions);
                pairs.map(|(&from, &to)| place(from + (to - from) * share)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_met_and_vertices_go_straight_between_them() {
        let key = |time: f64, x: f64| MeshKey { time, positions: vec![DVec3::X * x, DVec3::Y] };
        let mesh = MovingMesh::new(vec![], vec![key(1.0, 1.0), key(3.0, 2.0)], Keyframes::fixed(DVec3::Z)).unwrap();
        for (time, x) in [(0.0, 1.0), (1.0, 1.0), (1.5, 1.25), (3.0, 2.0), (9.0, 2.0)] {
            assert_eq!(mesh.positions_at(time), [DVec3::new(x, 0.0, 1.0), DVec3::new(0.0, 1.0, 1.0)]);
        }
        let still = Keyframes::fixed(DVec3::ZERO);
        let wrong = MovingMesh::new(vec![], vec![key(1.0, 1.0), key(1.0, 2.0)], still.clone()).unwrap_err();
        assert_eq!(wrong.to_string(), "frame 1 is at 1 s; times must rise");
        assert_eq!(MovingMesh::new(vec![], vec![], still).unwrap_err(), KeyError::None);
    }
}
