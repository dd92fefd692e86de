//! Pictures of a level set: a ray tracer on its interpolating spline.
//!
//! Rays step by the distance and end by bisection on the tricubic spline, whose second derivatives are continuous, so
//! normals show no cells. One light with a shadow ray, ambient occlusion along the normal, and for glossy surfaces a
//! noise finer than a pixel, added to the distance. Where nothing is hit the picture is transparent, or shows a
//! background. (Bridson 2003, 6.2)
//!
//! Guarantees: the same picture on any number of threads.
//! Does not: follow light further than one reflection of the sky in the gloss.

use super::drag::ray_span;
use super::query::bisect;
use super::{CubicSpline, LevelSet};
use crate::field::Field;
use rayon::prelude::*;
use unsnarl_geometry::{Aabb, DVec3};

/// Where a picture is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookout {
    /// Where the eye is, metres.
    pub eye: DVec3,
    /// What it looks at.
    pub at: DVec3,
    /// What is up.
    pub up: DVec3,
    /// The angle between the lower and the upper edge of the picture, radians.
    pub field_of_view: f64,
}

/// How a picture is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSettings {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Rays in a pixel where the surface or its shading changes; elsewhere a quarter of them.
    pub samples: u32,
    /// Where the light comes from.
    pub light: DVec3,
    /// The colour of the surface, linear.
    pub colour: [f64; 3],
    /// Amplitude of the noise on the surface, as a slope; 0 for a matt one.
    pub gloss: f64,
    /// A plane across y that catches the shadow, metres.
    pub shadow_plane: Option<f64>,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            size: [1600, 1200],
            samples: 16,
            light: DVec3::new(0.5, 0.8, 0.6),
            colour: [0.62, 0.58, 0.52],
            gloss: 0.0,
            shadow_plane: None,
        }
    }
}

/// A picture: linear colour, premultiplied, and how much of the pixel is covered.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Width and height.
    pub size: [u32; 2],
    /// Red, green, blue and cover of each pixel, row by row from above.
    pub pixels: Vec<[f32; 4]>,
}

/// A surface that can be looked at; keeps the spline.
pub struct Tracer<'a> {
    level_set: &'a LevelSet,
    spline: CubicSpline,
    bounds: Option<Aabb>,
}

/// Where a ray meets the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceHit {
    /// The point.
    pub point: DVec3,
    /// The outward normal of the spline.
    pub normal: DVec3,
    /// How far along the ray, metres.
    pub along: f64,
}

impl<'a> Tracer<'a> {
    /// Builds the spline. The level set should have its far field: [`LevelSet::extend_far`].
    pub fn new(level_set: &'a LevelSet) -> Self {
        Self { level_set, spline: level_set.spline(), bounds: level_set.band_bounds() }
    }

    /// The first place where a ray goes in. The direction has length one.
    pub fn hit(&self, origin: DVec3, direction: DVec3) -> Option<TraceHit> {
        let [enter, leave] = ray_span(self.bounds?, origin, direction)?;
        let near = self.near(origin, direction, enter, leave)?;
        // The spline and the trilinear function differ by far less than a sample: look for its sign in a sample's length.
        let spacing = self.level_set.frame.spacing;
        let value = |along: f64| self.spline.value(origin + along * direction);
        let (mut before, mut after) = (near - 0.25 * spacing, near + 0.25 * spacing);
        for _ in 0..4 {
            match (value(before) > 0.0, value(after) > 0.0) {
                (true, false) => break,
                (false, _) => before -= 0.5 * spacing,
                (true, true) => after += 0.5 * spacing,
            }
        }
        let along = self.root(value, before, after)?;
        let point = origin + along * direction;
        let normal = self.spline.gradient(point).try_normalize()?;
        Some(TraceHit { point, normal, along })
    }

    /// A root between two places of different sign, by secants kept within bisection.
    fn root(&self, value: impl Fn(f64) -> f64, outside: f64, inside: f64) -> Option<f64> {
        let (mut a, mut b) = (outside, inside);
        let (mut fa, mut fb) = (value(a), value(b));
        if !(fa > 0.0 && fb <= 0.0) {
            return None;
        }
        let enough = 1e-6 * self.level_set.frame.spacing;
        for _ in 0..16 {
            let along = (a + (b - a) * fa / (fa - fb)).clamp(a + 0.01 * (b - a), b - 0.01 * (b - a));
            let f = value(along);
            if f.abs() < enough {
                return Some(along);
            }
            if f > 0.0 {
                (a, fa) = (along, f);
            } else {
                (b, fb) = (along, f);
            }
        }
        Some(bisect(value, a, b))
    }

    /// Where the trilinear function first changes sign, by stepping along the distance.
    fn near(&self, origin: DVec3, direction: DVec3, enter: f64, leave: f64) -> Option<f64> {
        let level_set = self.level_set;
        let shortest = 0.25 * level_set.frame.spacing;
        let (mut along, mut before) = (enter, level_set.value(origin + enter * direction));
        while along < leave {
            let stride = if before > level_set.half_width { 0.5 * before } else { 0.9 * before };
            let next = along + stride.abs().max(shortest);
            let value = level_set.value(origin + next * direction);
            if before > 0.0 && value <= 0.0 {
                let share = before / (before - value);
                return Some(along + share * (next - along));
            }
            (along, before) = (next, value);
        }
        None
    }

    /// Whether anything lies between a point of the surface and the light.
    fn is_shaded(&self, point: DVec3, normal: DVec3, light: DVec3) -> bool {
        let start = point + 1.5 * self.level_set.frame.spacing * normal;
        let span = self.bounds.and_then(|bounds| ray_span(bounds, start, light));
        let Some([enter, leave]) = span else { return false };
        self.near(start, light, enter, leave).is_some()
    }

    /// The share of the sky that a point sees, from how fast the distance grows along the normal.
    ///
    /// `1 - sum_i 2^-i (d_i - phi(p + d_i n)) / d_i` over five distances.
    fn openness(&self, point: DVec3, normal: DVec3, reach: f64) -> f64 {
        let shut: f64 = (1..=5)
            .map(|number| {
                let away = reach * f64::from(number) / 5.0;
                let found = self.level_set.value(point + away * normal).clamp(0.0, away);
                (away - found) / away * 0.5_f64.powi(number)
            })
            .sum();
        (1.0 - shut).clamp(0.0, 1.0)
    }
}

/// The rays of a picture.
struct Eye {
    eye: DVec3,
    forward: DVec3,
    right: DVec3,
    up: DVec3,
    size: [f64; 2],
    slope: f64,
}

impl Eye {
    fn new(lookout: &Lookout, size: [u32; 2]) -> Option<Self> {
        let forward = (lookout.at - lookout.eye).try_normalize()?;
        let right = forward.cross(lookout.up).try_normalize()?;
        let slope = (0.5 * lookout.field_of_view).tan();
        let size = size.map(f64::from);
        Some(Self { eye: lookout.eye, forward, right, up: right.cross(forward), size, slope })
    }

    fn direction(&self, x: f64, y: f64) -> DVec3 {
        let scale = 2.0 * self.slope / self.size[1];
        let across = (x - 0.5 * self.size[0]) * scale * self.right + (0.5 * self.size[1] - y) * scale * self.up;
        (self.forward + across).normalize_or_zero()
    }
}

/// How much neighbouring pixels may differ before they get all their rays.
const EVEN: f32 = 0.02;

impl Tracer<'_> {
    /// Takes a picture. `None` if the eye looks nowhere.
    pub fn picture(&self, lookout: &Lookout, settings: &TraceSettings) -> Option<Picture> {
        let eye = Eye::new(lookout, settings.size)?;
        let light = settings.light.try_normalize()?;
        let [width, height] = settings.size.map(|n| n as usize);
        let few = (settings.samples / 16).max(1);
        let row = |y: usize, count: u32, wants: &(dyn Fn(usize) -> bool + Sync)| -> Vec<Option<[f32; 4]>> {
            (0..width).map(|x| wants(x).then(|| self.pixel(&eye, light, settings, [x, y], count))).collect()
        };
        let mut pixels: Vec<[f32; 4]> =
            (0..height).into_par_iter().flat_map_iter(|y| row(y, few, &|_| true).into_iter().flatten()).collect();
        if settings.samples > few {
            let uneven = |x: usize, y: usize| {
                let own = pixels[x + width * y];
                let beside = [(1, 0), (-1, 0), (0, 1), (0, -1)];
                beside.iter().any(|&(dx, dy)| {
                    let (x, y) = (x as i64 + dx, y as i64 + dy);
                    let within = (0..width as i64).contains(&x) && (0..height as i64).contains(&y);
                    within && {
                        let other = pixels[x as usize + width * y as usize];
                        (0..4).any(|channel| (own[channel] - other[channel]).abs() > EVEN)
                    }
                })
            };
            let again: Vec<Vec<Option<[f32; 4]>>> =
                (0..height).into_par_iter().map(|y| row(y, settings.samples, &|x| uneven(x, y))).collect();
            for (pixel, again) in pixels.iter_mut().zip(again.into_iter().flatten()) {
                *pixel = again.unwrap_or(*pixel);
            }
        }
        Some(Picture { size: settings.size, pixels })
    }

    fn pixel(&self, eye: &Eye, light: DVec3, settings: &TraceSettings, at: [usize; 2], count: u32) -> [f32; 4] {
        let mut sum = [0.0; 4];
        for number in 0..count {
            let [dx, dy] = if count == 1 { [0.5, 0.5] } else { spread(number, count) };
            let direction = eye.direction(at[0] as f64 + dx, at[1] as f64 + dy);
            let seed = (at[0] as u64) << 40 ^ (at[1] as u64) << 16 ^ u64::from(number);
            let colour = self.colour(eye, direction, light, settings, seed);
            (0..4).for_each(|channel| sum[channel] += colour[channel]);
        }
        sum.map(|value| (value / f64::from(count)) as f32)
    }

    fn colour(&self, eye: &Eye, direction: DVec3, light: DVec3, settings: &TraceSettings, seed: u64) -> [f64; 4] {
        let Some(hit) = self.hit(eye.eye, direction) else {
            return self.floor(eye.eye, direction, light, settings);
        };
        // A noise finer than a pixel on the distance tilts the normal from ray to ray.
        let tilt = DVec3::new(noise(seed, 1), noise(seed, 2), noise(seed, 3)) * settings.gloss;
        let normal = (hit.normal + tilt - hit.normal * tilt.dot(hit.normal)).try_normalize().unwrap_or(hit.normal);
        let facing = normal.dot(light).max(0.0);
        let lit = if facing > 0.0 && !self.is_shaded(hit.point, hit.normal, light) { facing } else { 0.0 };
        let open = self.openness(hit.point, hit.normal, 24.0 * self.level_set.frame.spacing);
        let sky = 0.5 + 0.5 * normal.y;
        let mirrored = direction - 2.0 * direction.dot(normal) * normal;
        let shine = if settings.gloss > 0.0 {
            let edge = (1.0 + direction.dot(normal)).clamp(0.0, 1.0).powi(5);
            let glint = mirrored.dot(light).max(0.0).powi(60) * if lit > 0.0 { 0.8 } else { 0.0 };
            (0.05 + 0.5 * edge) * (0.35 + 0.5 * mirrored.y.max(0.0)) * open + glint
        } else {
            0.0
        };
        let mut colour = [0.0, 0.0, 0.0, 1.0];
        for channel in 0..3 {
            let ambient = (0.16 + 0.22 * sky) * open;
            colour[channel] = settings.colour[channel] * (ambient + 0.95 * lit) + shine;
        }
        colour
    }

    /// What a ray that misses the body sees: nothing, or the shadow on the plane.
    fn floor(&self, eye: DVec3, direction: DVec3, light: DVec3, settings: &TraceSettings) -> [f64; 4] {
        let Some(height) = settings.shadow_plane else { return [0.0; 4] };
        let along = (height - eye.y) / direction.y;
        if !(along.is_finite() && along > 0.0) {
            return [0.0; 4];
        }
        let point = eye + along * direction;
        let shaded = self.is_shaded(point, DVec3::Y * direction.y.signum() * -1.0, light);
        let contact = 1.0 - self.openness(point, DVec3::Y * -direction.y.signum(), 40.0 * self.level_set.frame.spacing);
        [0.0, 0.0, 0.0, (if shaded { 0.5 } else { 0.0 } + 0.35 * contact).min(0.85)]
    }
}

/// Places in a pixel: a lattice turned so that no two share a row.
fn spread(number: u32, count: u32) -> [f64; 2] {
    let x = (f64::from(number) + 0.5) / f64::from(count);
    let y = (f64::from(number) * 0.618_033_988_749_894_9 + 0.25).fract();
    [x, y]
}

/// A number from -1 to 1 for a ray.
fn noise(seed: u64, stream: u64) -> f64 {
    let mut hash = (seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x1656_67B1_9E37_79F9);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (hash >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
