//! Moving bodies: rigid ones carry one level set in body space; deforming ones have one at each key time.
//!
//! Between keys, values, gradients and velocities are interpolated linearly in time. A deforming body's velocity is
//! that of the nearest point of its surface, at every sample of the band; beyond the band it is read where the way to the
//! surface enters it. (Bridson 2003, 2.1)
//!
//! Guarantees: at a key time the answers are those of the key. Does not: keep the distance exact between keys; with
//! surface motion of less than the half width from key to key the error is second order in the time between.

use super::from_mesh::{self, MeshError, MeshSettings};
use super::{Frame, LevelSet};
use crate::field::Field;
use crate::grid::BlockGrid;
use unsnarl_geometry::{DVec3, TriMesh, math::DQuat};

/// A body at one instant: what contact asks of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPoint {
    /// Signed distance, metres.
    pub value: f64,
    /// Its gradient.
    pub gradient: DVec3,
    /// The velocity of the body there, metres per second.
    pub velocity: DVec3,
}

/// A rigid body: a level set in body space and a motion.
#[derive(Clone, Debug)]
pub struct RigidBody<'a> {
    /// The shape, in body space.
    pub shape: &'a LevelSet,
    /// Where the origin of body space lies.
    pub position: DVec3,
    /// How body space is turned.
    pub orientation: DQuat,
    /// The velocity of the origin of body space.
    pub linear_velocity: DVec3,
    /// The angular velocity, radians per second, in world space.
    pub angular_velocity: DVec3,
}

impl RigidBody<'_> {
    /// Distance, gradient and velocity at a point of world space.
    pub fn at(&self, point: DVec3) -> BodyPoint {
        let arm = point - self.position;
        let (value, gradient) = self.shape.value_and_gradient(self.orientation.inverse() * arm);
        let velocity = self.linear_velocity + self.angular_velocity.cross(arm);
        BodyPoint { value, gradient: self.orientation * gradient, velocity }
    }
}

/// A body that changes shape: level sets and velocities at key times.
#[derive(Clone, Debug)]
pub struct DeformingBody {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    time: f64,
    shape: LevelSet,
    velocity: VelocityBand,
}

/// Why a deforming body cannot be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DeformingError {
    /// A key's mesh cannot become a level set.
    #[error("key {key}: {source}")]
    Mesh {
        /// The key.
        key: usize,
        /// Why.
        source: MeshError,
    },
    /// Key times do not rise, or are not numbers.
    #[error("key {key} is at {time} s: key times are finite and rise")]
    Time {
        /// The key.
        key: usize,
        /// Its time.
        time: f64,
    },
    /// No key, or one with another number of vertices.
    #[error("key {key} has {found} vertices: expected {expected}")]
    VertexCount {
        /// The key.
        key: usize,
        /// Its vertices.
        found: usize,
        /// Those of the first key, at least one.
        expected: usize,
    },
}

impl DeformingBody {
    /// From a mesh whose vertices move: `(time, positions)` for each key, one set of triangles.
    pub fn from_keys(
        triangles: &[[u32; 3]],
        keys: &[(f64, Vec<DVec3>)],
        settings: &MeshSettings,
    ) -> Result<Self, DeformingError> {
        let expected = keys.first().map_or(0, |(_, positions)| positions.len());
        if expected == 0 {
            return Err(DeformingError::VertexCount { key: 0, found: 0, expected: 1 });
        }
        for (key, (time, positions)) in keys.iter().enumerate() {
            if !time.is_finite() || (key > 0 && *time <= keys[key - 1].0) {
                return Err(DeformingError::Time { key, time: *time });
            }
            if positions.len() != expected {
                return Err(DeformingError::VertexCount { key, found: positions.len(), expected });
            }
        }
        let build = |key: usize| {
            let (time, positions) = &keys[key];
            let mesh = TriMesh { positions: positions.clone(), triangles: triangles.to_vec() };
            let fail = |source| DeformingError::Mesh { key, source };
            let shape = LevelSet::from_mesh(&mesh, settings).map_err(fail)?;
            let velocities = key_velocities(keys, key);
            let samples = from_mesh::extend(&mesh, settings, &shape, &velocities);
            Ok(Key { time: *time, velocity: VelocityBand { samples, frame: shape.frame() }, shape })
        };
        let keys = (0..keys.len()).map(build).collect::<Result<_, _>>()?;
        Ok(Self { keys })
    }

    /// From a mesh that a step moves: its shape at the end, and the velocities that led there. It is the same at all times.
    pub fn over_step(
        triangles: &[[u32; 3]],
        [start, end]: &[Vec<DVec3>; 2],
        step: f64,
        settings: &MeshSettings,
    ) -> Result<Self, DeformingError> {
        if start.len() != end.len() || end.is_empty() {
            return Err(DeformingError::VertexCount { key: 1, found: end.len(), expected: start.len().max(1) });
        }
        let mesh = TriMesh { positions: end.clone(), triangles: triangles.to_vec() };
        let shape = LevelSet::from_mesh(&mesh, settings).map_err(|source| DeformingError::Mesh { key: 1, source })?;
        let velocities: Vec<DVec3> = start.iter().zip(end).map(|(&from, &to)| (to - from) / step).collect();
        let samples = from_mesh::extend(&mesh, settings, &shape, &velocities);
        let key = Key { time: 0.0, velocity: VelocityBand { samples, frame: shape.frame() }, shape };
        Ok(Self { keys: vec![key] })
    }

    /// Distance, gradient and velocity at a point and a time; before the first key and after the last, those of the key.
    pub fn at(&self, point: DVec3, time: f64) -> BodyPoint {
        let after = self.keys.partition_point(|key| key.time <= time);
        let (Some(from), Some(to)) = (after.checked_sub(1).and_then(|i| self.keys.get(i)), self.keys.get(after)) else {
            let key = if after == 0 { &self.keys[0] } else { &self.keys[after - 1] };
            return key.at(point);
        };
        let share = (time - from.time) / (to.time - from.time);
        let [a, b] = [from.at(point), to.at(point)];
        BodyPoint {
            value: a.value + share * (b.value - a.value),
            gradient: a.gradient.lerp(b.gradient, share),
            velocity: a.velocity.lerp(b.velocity, share),
        }
    }

    /// The level sets and their times.
    pub fn keys(&self) -> impl Iterator<Item = (f64, &LevelSet)> {
        self.keys.iter().map(|key| (key.time, &key.shape))
    }
}

impl Key {
    fn at(&self, point: DVec3) -> BodyPoint {
        let (value, gradient) = self.shape.value_and_gradient(point);
        // Deep inside or far outside, the velocity of the surface point on the way out.
        let reach = 0.5 * self.shape.half_width();
        let beyond = (value.abs() - reach).max(0.0).copysign(value);
        let toward = gradient.try_normalize().unwrap_or(DVec3::ZERO);
        BodyPoint { value, gradient, velocity: self.velocity.at(point - beyond * toward) }
    }
}

/// Velocities on the samples of a band.
#[derive(Clone, Debug)]
struct VelocityBand {
    samples: BlockGrid<[f32; 3]>,
    frame: Frame,
}

impl VelocityBand {
    fn at(&self, point: DVec3) -> DVec3 {
        let limit = DVec3::splat(f64::from(crate::grid::COORDINATE_LIMIT) - 2.0);
        let at = self.frame.in_samples(point).clamp(-limit, limit);
        let floor = at.floor();
        let base = floor.to_array().map(|c| c as i32);
        let t = at - floor;
        let mut sum = DVec3::ZERO;
        for corner in 0..8 {
            let bits = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
            let weight: f64 = (0..3).map(|axis| if bits[axis] == 1 { t[axis] } else { 1.0 - t[axis] }).product();
            let value = self.samples.sample([0, 1, 2].map(|axis| base[axis] + bits[axis]));
            sum += weight * DVec3::from_array(value.map(f64::from));
        }
        sum
    }
}

/// Vertex velocities at a key: differences to the keys beside it.
fn key_velocities(keys: &[(f64, Vec<DVec3>)], key: usize) -> Vec<DVec3> {
    let (before, after) = (&keys[key.saturating_sub(1)], &keys[(key + 1).min(keys.len() - 1)]);
    let duration = after.0 - before.0;
    let velocity = |(from, to): (&DVec3, &DVec3)| if duration > 0.0 { (*to - *from) / duration } else { DVec3::ZERO };
    before.1.iter().zip(&after.1).map(velocity).collect()
}
